"""Function words of English, Czech and German: lists of closed classes, without regard to what a word is in a sentence.

Articles, pronouns, prepositions, conjunctions, auxiliary and modal verbs, and particles. A word that belongs to an open
class as well ("down", "kolem", "sein") is in the list if it is a function word in most texts.
"""

from __future__ import annotations

from collections.abc import Iterable

_WORDS = {
    "english": """
        a an the this that these those i me my mine myself you your yours yourself he him his himself she her hers
        herself it its itself we us our ours ourselves they them their theirs themselves who whom whose which what
        whoever whatever one ones someone anyone everyone something anything everything nothing none nobody each
        every either neither both all any some no such other another many much few several more most less least own
        same of in to for on with at by from as into about after over between against under before through during
        without within along across behind beyond among amongst around near upon toward towards since until till off
        above below beside besides despite except per than via throughout onto out up down and or but nor so yet if
        because although though while whereas when where why how whether once unless be am is are was were been
        being have has had having do does did done doing will would shall should can could may might must ought not
        n t s d ll m re ve there here then thus also too very just only even
    """,
    "czech": """
        a i ani nebo či ale však avšak neboť proto tedy že aby jestli jestliže když kdyby dokud než protože ačkoli
        ačkoliv přestože zda jak jako takže tak jen jenom také též už již ještě zas zase asi snad přece prý v ve na
        do z ze s se k ke ku o u po pro při před přede pod pode nad nade mezi za bez od ode přes skrz kolem podle
        proti vedle místo kromě kvůli díky já mě mne mi mně mnou ty tě tebe ti tobě tebou on jeho ho jemu mu něm ním
        něj něho němu ona její jí ji ní ono my nás nám námi vy vás vám vámi oni ony jejich jim jimi nich nim nimi je
        ně si sebe sobě sebou svůj svá své svého svému svou svých svým svými můj má mé mého mému mou mých mým mými
        tvůj tvá tvé náš naše našeho našemu naši našich našim váš vaše vašeho ten ta to toho tomu tom tím té tu tou
        těch těm těmi tento tato toto tohoto tomuto této tuto touto onen taký takový taková takové jaký jaká jaké
        který která které kterého kterému kterém kterým kterou kteří kterých kterými kdo koho komu kom kým co čeho
        čemu čem čím jenž jež něco někdo nic nikdo každý každá každé všichni všechno vše všech všem všemi sám sama
        samo žádný žádná žádné jsem jsi jest jsme jste jsou byl byla bylo byli byly být budu budeš bude budeme
        budete budou bych bys by bychom byste není nejsem nebyl nebyla nebylo ne ano zde tam kde kam kdy pak potom
    """,
    "german": """
        der die das den dem des ein eine einen einem einer eines kein keine keinen keinem keiner keines dieser diese
        dieses diesen diesem jener jene jenes jenen jenem jeder jede jedes jeden jedem welcher welche welches
        welchen welchem solche solcher solches alle allen aller alles beide beiden einige einigen mehrere viele
        vielen ich mich mir mein meine meinen meinem meiner du dich dir dein deine er ihn ihm sein seine seinen
        seinem seiner seines sie ihr ihre ihren ihrem ihrer ihres es wir uns unser unsere euch euer man sich wer wen
        wem wessen was etwas nichts niemand jemand und oder aber denn sondern doch sowie als wie wenn weil dass daß
        ob obwohl während bevor nachdem damit indem bis seit in im an am auf aus bei beim mit nach von vom zu zum
        zur für durch gegen ohne um über unter vor hinter neben zwischen wegen trotz statt innerhalb außerhalb ab
        bin bist ist sind seid war waren wurde wurden worden werden wird werde gewesen habe hast hat haben hatte
        hatten kann können konnte konnten muss müssen musste mussten soll sollen sollte sollten will wollen wollte
        wollten darf dürfen durfte mag möchte würde würden wäre wären nicht auch nur noch schon so sehr dann da hier
        dort wo wohin woher wann warum dabei dazu daher darauf
    """,
}

FUNCTION_WORDS = {language: frozenset(words.split()) for language, words in _WORDS.items()}


def function_words_of(words: Iterable[str]) -> tuple[str, frozenset[str]]:
    """Return the language whose function words are most of some words, and its list.

    Examples
    --------
    >>> function_words_of("the cat sees the dog".split())[0]
    'english'
    """
    words = list(words)
    language = max(FUNCTION_WORDS, key=lambda name: sum(word in FUNCTION_WORDS[name] for word in words))
    return language, FUNCTION_WORDS[language]
