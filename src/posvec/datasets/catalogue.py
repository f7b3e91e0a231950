"""The catalogue of datasets that can be downloaded by name.

Sizes and checksums are as published, or were measured on a copy of exactly the published size; None means unknown.
The licence is as published; if we do not know one, the page that may name it is given.
"""

from __future__ import annotations

from posvec.datasets.definitions import Dataset, Download, DownloadLayout

_GENSIM_DATA = "https://github.com/RaRe-Technologies/gensim-data/releases/download/wiki-english-20171001"
_WIKI_2017 = ("a7d7d7fd41ea7e2d7fa32ec1bb640d71", "b2683e3356ffbca3b6c2dca6e9801f9f",
              "c5cde2a9ae77b3c4ebce804f6df542c2", "00b71144ed5e3aeeb885de84f7452b81")  # fmt: skip

_CORPORA = (
    Dataset(
        "wiki-english-20171001",
        "corpus",
        "the paper's English Wikipedia",
        tuple(
            # Files attached to a GitHub release are smaller than 2 GiB.
            Download(f"{_GENSIM_DATA}/wiki-english-20171001.gz_0{part}", None, f"md5:{checksum}", at_most=2 << 30)
            for part, checksum in enumerate(_WIKI_2017)
        ),
        "CC BY-SA, https://dumps.wikimedia.org/legal.html",
        "Wikimedia Foundation, Wikimedia Downloads, https://dumps.wikimedia.org; extracted by gensim-data",
        "sections",
        published_size=6_516_051_717,
    ),
    Dataset(
        "botha-blunsom",
        "language model",
        "texts for language models: cs de en es fr ru",
        (
            Download(
                "https://github.com/bothameister/bothameister.github.io/raw/master/icml14-data.tar.bz2", 52_346_880
            ),
        ),
        "see https://bothameister.github.io",
        "Botha and Blunsom 2014, Compositional Morphology for Word Representations and Language Modelling, ICML",
        "archive",
    ),
)

_GITHUB = "https://raw.githubusercontent.com"


def _analogies(
    language: str,
    about: str,
    url: str,
    size: int | None,
    citation: str,
    licence: str,
    *,
    checksum: str | None = None,
    member: str = "",
) -> Dataset:
    download = Download(url, size, checksum)
    layout: DownloadLayout = "member" if member else "file"
    return Dataset(f"analogies:{language}", "analogies", about, (download,), licence, citation, layout, member)


_ANALOGIES = (
    _analogies(
        "en",
        "Google's analogies, 19,544 questions",
        "https://github.com/tmikolov/word2vec/raw/master/questions-words.txt",
        603_955,
        "Mikolov et al. 2013, Efficient Estimation of Word Representations in Vector Space, ICLR workshop",
        "Apache-2.0",
        checksum="sha256:8c29b3332afc46f3fb8be04cb5297bf96f39aa7131272dff57869b4485b22a36",
    ),
    _analogies(
        "cs",
        "Czech analogies, 20,838 questions",
        f"{_GITHUB}/Svobikl/cz_corpus/master/corpus/czech_emb_corpus_no_phrase.txt",
        712_906,
        "Svoboda and Brychcín 2016, New Word Analogy Corpus for Exploring Embeddings of Czech Words, CICLing",
        "Apache-2.0",
        checksum="sha256:a235b50f3b4a33dda55565dcd7e9a783d6b4fc35d0e4cc415f7648e6b27051fc",
    ),
    _analogies(
        "de",
        "Google's analogies in German",
        "https://www.ims.uni-stuttgart.de/documents/ressourcen/lexika/analogies_ims/analogies.zip",
        250_507,
        "Köper, Scheible and Schulte im Walde 2015, Multilingual Reliability and 'Semantic' Structure of Continuous "
        "Word Spaces, IWCS",
        "see https://www.ims.uni-stuttgart.de/forschung/ressourcen/lexika/analogies_ims/",
        member="analogies/de_trans_Google_analogies.txt",
    ),
    _analogies(
        "es",
        "Google's analogies in Spanish",
        "https://cs.famaf.unc.edu.ar/~ccardellino/SBWCE/questions-words_sp.txt",
        490_314,
        "Cardellino 2016, Spanish Billion Words Corpus and Embeddings",
        "see https://crscardellino.github.io/SBWCE/",
    ),
    _analogies(
        "fi",
        "Finnish analogies",
        "https://github.com/Witiko/FinSemEvl/releases/download/v1.0/fi.txt",
        30_439,
        "Venekoski and Vankka 2017, Finnish Resources for Evaluating Language Model Semantics, NoDaLiDa",
        "see https://github.com/venekoski/FinSemEvl",
    ),
    *(
        _analogies(
            language,
            f"{english_name} analogies",
            f"https://dl.fbaipublicfiles.com/fasttext/word-analogies/questions-words-{language}.txt",
            size,
            "Grave et al. 2018, Learning Word Vectors for 157 Languages, LREC",
            "see https://fasttext.cc/docs/en/crawl-vectors.html",
        )
        for language, english_name, size in (
            ("fr", "French", 1_073_616),
            ("hi", "Hindi", 2_213_485),
            ("pl", "Polish", 825_883),
        )
    ),
    _analogies(
        "it",
        "Google's analogies in Italian, archived",
        "https://web.archive.org/web/20170511144953if_/http://hlt.isti.cnr.it:80/wordembeddings/questions-words-ITA.txt",
        None,
        "Berardi, Esuli and Marcheggiani 2015, Word Embeddings Go to Italy, IIR",
        "see https://web.archive.org/web/2017/http://hlt.isti.cnr.it/wordembeddings/",
    ),
    _analogies(
        "pt",
        "Google's analogies in Portuguese",
        f"{_GITHUB}/nathanshartmann/portuguese_word_embeddings/master/analogies/testset/LX-4WAnalogies.txt",
        598_795,
        "Rodrigues et al. 2016, LX-DSemVectors: Distributional Semantics Models for Portuguese, PROPOR",
        "see https://github.com/nlx-group/lx-dsemvectors",
    ),
    _analogies(
        "ru",
        "Google's analogies in Russian",
        "https://rusvectores.org/static/testsets/ru_analogy.txt",
        769_508,
        "Kutuzov and Kuzmenko 2017, WebVectors: A Toolkit for Building Web Interfaces for Vector Semantic Models, AIST",
        "see https://rusvectores.org",
    ),
    _analogies(
        "tr",
        "Turkish analogies",
        "https://github.com/Witiko/linguistic-features-in-turkish-word-representations/releases/download/v1.0/tr.txt",
        1_944_843,
        "Güngör and Yıldız 2017, Linguistic Features in Turkish Word Representations, SIU",
        "for research only, https://github.com/onurgu/linguistic-features-in-turkish-word-representations",
    ),
    _analogies(
        "zh",
        "Chinese analogies, 1,124 questions",
        f"{_GITHUB}/Leonard-Xu/CWE/master/data/analogy.txt",
        30_585,
        "Chen et al. 2015, Joint Learning of Character and Word Embeddings, IJCAI",
        "see https://github.com/Leonard-Xu/CWE",
    ),
)


def _similarity(
    name: str, about: str, file: str, size: int | None, citation: str, licence: str = "", checksum: str | None = None
) -> Dataset:
    url = f"{_GITHUB}/mfaruqui/eval-word-vectors/master/data/word-sim/EN-{file}.txt"
    licence = licence or "see https://github.com/mfaruqui/eval-word-vectors"
    return Dataset(name, "similarity", about, (Download(url, size, checksum),), licence, citation)


_FINKELSTEIN = "Finkelstein et al. 2002, Placing Search in Context: The Concept Revisited, TOIS"
_AGIRRE = "Agirre et al. 2009, A Study on Similarity and Relatedness Using Distributional and WordNet-based Approaches"
_GABRILOVICH = "see https://gabrilovich.com/resources/data/wordsim353/wordsim353.html"

_SIMILARITIES = (
    _similarity("ws-353", "WordSim-353", "WS-353-ALL", 7_405, _FINKELSTEIN, _GABRILOVICH),
    _similarity("ws-353-sim", "WordSim-353, similar pairs", "WS-353-SIM", 4_002, _AGIRRE, _GABRILOVICH),
    _similarity("ws-353-rel", "WordSim-353, related pairs", "WS-353-REL", 5_134, _AGIRRE, _GABRILOVICH),
    _similarity(
        "simlex-999",
        "SimLex-999, similarity alone",
        "SIMLEX-999",
        18_024,
        "Hill, Reichart and Korhonen 2015, SimLex-999: Evaluating Semantic Models with (Genuine) Similarity "
        "Estimation, CL",
        "see https://fh295.github.io/simlex.html",
    ),
    _similarity(
        "rw",
        "Stanford's rare words, 2,034 pairs",
        "RW-STANFORD",
        49_851,
        "Luong, Socher and Manning 2013, Better Word Representations with Recursive Neural Networks for Morphology, "
        "CoNLL",
        "see https://nlp.stanford.edu/~lmthang/morphoNLM/",
    ),
    _similarity(
        "mturk-771",
        "MTurk-771",
        "MTurk-771",
        19_628,
        "Halawi et al. 2012, Large-Scale Learning of Word Relatedness with Constraints, KDD",
        checksum="sha256:04dc297c9e86b6fa7cf8ef0e4ba2e2c8d3399ec68d92fb7a53c0b4aae27198b5",
    ),
    _similarity(
        "mturk-287",
        "MTurk-287",
        "MTurk-287",
        None,
        "Radinsky et al. 2011, A Word at a Time: Computing Word Relatedness Using Temporal Semantic Analysis, WWW",
    ),
    _similarity(
        "men",
        "MEN, 3,000 pairs",
        "MEN-TR-3k",
        53_593,
        "Bruni, Tran and Baroni 2014, Multimodal Distributional Semantics, JAIR",
        "see https://staff.fnwi.uva.nl/e.bruni/MEN",
    ),
    _similarity(
        "simverb-3500",
        "SimVerb-3500, verbs",
        "SimVerb-3500",
        None,
        "Gerz et al. 2016, SimVerb-3500: A Large-Scale Evaluation Set of Verb Similarity, EMNLP",
    ),
    _similarity(
        "rg-65",
        "Rubenstein and Goodenough, 65 pairs",
        "RG-65",
        None,
        "Rubenstein and Goodenough 1965, Contextual Correlates of Synonymy, CACM",
    ),
    _similarity(
        "mc-30",
        "Miller and Charles, 30 pairs",
        "MC-30",
        None,
        "Miller and Charles 1991, Contextual Correlates of Semantic Similarity, LCP",
    ),
    _similarity(
        "yp-130",
        "Yang and Powers, 130 pairs of verbs",
        "YP-130",
        None,
        "Yang and Powers 2006, Verb Similarity on the Taxonomy of WordNet, GWC",
    ),
    _similarity(
        "verb-143",
        "143 pairs of verbs",
        "VERB-143",
        None,
        "Baker, Reichart and Korhonen 2014, An Unsupervised Model for Instance Level Subcategorization Acquisition, "
        "EMNLP",
    ),
)

CATALOGUE: dict[str, Dataset] = {dataset.name: dataset for dataset in (*_CORPORA, *_ANALOGIES, *_SIMILARITIES)}
"""All datasets that can be downloaded, by name; Wikipedia dumps are found by :mod:`posvec.datasets.dumps`."""
