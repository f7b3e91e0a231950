"""Text and how it becomes integers: sources, lines, tokenizers, encoding and the cache."""

from posvec.system.lazy import lazy_names

TYPE_CHECKING = False

_PUBLIC = {"Corpus": "posvec.corpus.sources", "open_corpus": "posvec.corpus.sources"}
__all__ = ["Corpus", "open_corpus"]

if TYPE_CHECKING:
    from posvec.corpus.sources import Corpus, open_corpus

__getattr__ = lazy_names(__name__, _PUBLIC)


def __dir__() -> list[str]:
    return sorted(__all__)
