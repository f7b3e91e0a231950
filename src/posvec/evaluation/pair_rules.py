"""Rules that make minimal pairs, and the word lists that they combine.

A rule has a frame with two cues, {x} and {y}, and for each cue words that go with it at the [MASK] next to {x}. Two
cues and a word of each make a pair: the frame with the cues in one order and in the other, and the two words. Only the
order of the context words says which of them fits.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import combinations

_OFFSETS = 3  # how often each word of a cue is paired with a word of another one


@dataclass(frozen=True)
class MinimalPair:
    """Two sentences that differ in the order of their words, and the word that fits each of them.

    Attributes
    ----------
    language, category
        The language, and what is swapped.
    sentences
        Each with one [MASK].
    words
        The word that fits each of the sentences.

    Examples
    --------
    >>> pair = MinimalPair("english", "article", ("a [MASK] or an", "an [MASK] or a"), ("dog", "apple"))
    >>> pair.words
    ('dog', 'apple')
    """

    language: str
    category: str
    sentences: tuple[str, str]
    words: tuple[str, str]


@dataclass(frozen=True)
class Rule:
    """A frame with two cues, and the words that go with each cue.

    Examples
    --------
    >>> rule = Rule("english", "article and noun", "{x} [MASK] or {y}", {"a": "dog", "an": "apple"})
    >>> [pair.sentences for pair in rule.pairs()]
    [('a [MASK] or an', 'an [MASK] or a')]
    """

    language: str
    category: str
    frame: str
    words: Mapping[str, str]

    def pairs(self) -> Iterator[MinimalPair]:
        """Yield the pairs that the rule makes."""
        for x, y in combinations(self.words, 2):
            sentences = (self.frame.format(x=x, y=y), self.frame.format(x=y, y=x))
            both = set(self.words[x].split()) & set(self.words[y].split())  # these fit either sentence
            of_x, of_y = ([word for word in self.words[cue].split() if word not in both] for cue in (x, y))
            if not of_x or not of_y:
                continue
            found = {
                (of_x[i % len(of_x)], of_y[(i + offset) % len(of_y)]): None
                for offset in range(_OFFSETS)
                for i in range(max(len(of_x), len(of_y)))
            }
            for words in found:
                yield MinimalPair(self.language, self.category, sentences, words)


_RULES = (
    # ---- English
    ("english", "article and noun", "{x} [MASK] or {y}", {
        "a": "house book car dog river city child king ship tree letter school",
        "an": "apple egg island animal engine army artist office orange actor answer hour",
    }),
    ("english", "pronoun and verb", "{x} [MASK] and {y}", {
        "i": "am", "he": "is was has", "they": "are were have",
    }),
    ("english", "preposition and noun", "{x} [MASK] or {y}", {
        "in": "january april august december 1950 1990 europe france london india",
        "on": "monday tuesday friday sunday saturday thursday",
        "at": "night home noon midnight",
    }),
    ("english", "verb and object", "to {x} [MASK] and {y}", {
        "eat": "meat bread fish fruit rice food",
        "drink": "water wine beer milk tea coffee",
        "play": "football chess piano guitar tennis music",
        "wear": "clothes shoes hats uniforms masks",
        "speak": "english french german spanish latin",
    }),
    ("english", "noun and verb", "unlike {y} {x} [MASK]", {
        "dogs": "bark", "cats": "mew meow", "birds": "fly sing", "fish": "swim", "horses": "gallop",
        "bees": "sting", "stars": "shine", "ships": "sail", "plants": "grow", "singers": "sing", "writers": "write",
    }),
    ("english", "parts of names", "{x} [MASK] and {y}", {
        "new": "york zealand jersey hampshire orleans", "los": "angeles", "las": "vegas", "san": "francisco diego jose",
        "hong": "kong", "sri": "lanka", "buenos": "aires", "saudi": "arabia", "costa": "rica", "el": "salvador",
        "puerto": "rico", "united": "states kingdom nations", "santa": "barbara monica cruz", "rio": "grande",
    }),
    ("english", "first and last names", "{x} [MASK] and {y}", {
        "albert": "einstein", "isaac": "newton", "charles": "darwin dickens", "abraham": "lincoln", "karl": "marx",
        "george": "washington", "winston": "churchill", "napoleon": "bonaparte", "ronald": "reagan",
        "bertrand": "russell", "adolf": "hitler", "thomas": "jefferson edison", "julius": "caesar",
    }),
    ("english", "adjective and noun", "{x} [MASK] and {y}", {
        "prime": "minister", "vice": "president", "high": "school", "civil": "war rights", "human": "beings rights",
        "nuclear": "weapons power", "solar": "system", "nobel": "prize", "military": "service forces",
        "natural": "gas selection", "foreign": "policy affairs", "blood": "pressure", "roman": "empire catholic",
    }),
    # ---- Czech
    ("czech", "preposition and noun", "{x} [MASK] a {y}", {
        "do": "města domu lesa prahy školy vody", "v": "městě domě lese praze škole vodě",
        "k": "městu domu lesu praze škole vodě", "s": "městem domem lesem prahou školou vodou",
        "pro": "město školu vodu prahu ženu matku",
    }),
    ("czech", "pronoun and verb", "{x} [MASK] a {y}", {
        "já": "jsem mám vím chci", "ty": "jsi máš víš chceš", "on": "je má ví chce", "my": "jsme máme víme chceme",
        "vy": "jste máte víte chcete", "oni": "jsou mají vědí chtějí",
    }),
    ("czech", "adjective and noun", "{x} [MASK] a {y}", {
        "starý": "muž pán otec dům hrad les", "stará": "žena paní matka chalupa škola cesta",
        "staré": "město dítě slovo okno pivo",
    }),
    ("czech", "pronoun and noun", "{x} [MASK] a {y}", {
        "můj": "otec syn bratr přítel muž", "moje": "matka žena dcera sestra duše",
        "mého": "otce syna bratra přítele muže",
        "mé": "srdce dítě jméno slovo oči",
    }),
    # ---- German
    ("german", "article and noun", "{x} [MASK] oder {y}", {
        "der": "mann sohn könig krieg name fluss staat", "die": "frau stadt kirche schule zeit insel sprache",
        "das": "kind haus land jahr buch schiff schloss",
    }),
    ("german", "article and case", "{x} [MASK] oder {y}", {
        "des": "mannes sohnes königs krieges landes jahres", "dem": "mann sohn könig krieg land jahr",
        "den": "männern söhnen königen ländern jahren",
    }),
    ("german", "pronoun and verb", "{x} [MASK] und {y}", {
        "ich": "bin habe kann", "er": "ist hat kann", "wir": "sind haben können", "du": "bist hast kannst",
    }),
    ("german", "preposition and noun", "{x} [MASK] oder {y}", {
        "im": "januar april august jahr jahre", "am": "montag sonntag abend ende 1", "zum": "beispiel teil könig",
        "zur": "zeit stadt schule", "seit": "jahren 1990 1945",
    }),
    ("german", "parts of names", "{x} [MASK] und {y}", {
        "new": "york", "los": "angeles", "baden": "württemberg", "nordrhein": "westfalen", "rheinland": "pfalz",
        "sachsen": "anhalt", "schleswig": "holstein", "san": "francisco", "bosnien": "herzegowina",
    }),
    ("german", "first and last names", "{x} [MASK] und {y}", {
        "albert": "einstein", "karl": "marx", "adolf": "hitler", "friedrich": "schiller nietzsche",
        "johann": "sebastian wolfgang", "otto": "bismarck", "helmut": "kohl schmidt", "angela": "merkel",
        "willy": "brandt", "konrad": "adenauer",
    }),
)  # fmt: skip


def minimal_pairs() -> list[MinimalPair]:
    """Return all minimal pairs.

    Examples
    --------
    >>> pairs = minimal_pairs()
    >>> pairs[0].sentences, pairs[0].words
    (('a [MASK] or an', 'an [MASK] or a'), ('house', 'apple'))
    >>> sorted({pair.language for pair in pairs})
    ['czech', 'english', 'german']
    """
    return [pair for rule in _RULES for pair in Rule(*rule).pairs()]
