"""posvec: position-aware word embeddings.

import posvec

model = posvec.train("corpus.txt.gz", "constrained", threads=8)
model.save("model")
model.vectors.most_similar("cat")
model.predict_masked("unlike dogs cats [MASK]")
"""

from __future__ import annotations

from posvec.system.lazy import lazy_names

TYPE_CHECKING = False  # avoids the import of typing, which takes longer than the rest of this module

__version__ = "0.1.0"

# Public names and their modules, which are imported at their first use, so that ``import posvec`` is fast.
_PUBLIC = {
    "Config": "posvec.config",
    "ConfigError": "posvec.errors",
    "CorpusError": "posvec.errors",
    "DownloadError": "posvec.errors",
    "Model": "posvec.model",
    "ModelError": "posvec.errors",
    "PosvecError": "posvec.errors",
    "PosvecVectorizer": "posvec.interop.sklearn",
    "StopTraining": "posvec.training.callbacks",
    "TrainingError": "posvec.errors",
    "TrainingReport": "posvec.storage.records",
    "UnknownWordError": "posvec.errors",
    "Vocabulary": "posvec.vocabulary",
    "WordVectors": "posvec.vectors",
    "convert": "posvec.formats",
    "dataset_path": "posvec.datasets.library",
    "load": "posvec.training.pipeline",
    "load_vectors": "posvec.formats",
    "make_config": "posvec.presets",
    "resume": "posvec.training.pipeline",
    "train": "posvec.training.pipeline",
}
__all__ = [
    "Config",
    "ConfigError",
    "CorpusError",
    "DownloadError",
    "Model",
    "ModelError",
    "PosvecError",
    "PosvecVectorizer",
    "StopTraining",
    "TrainingError",
    "TrainingReport",
    "UnknownWordError",
    "Vocabulary",
    "WordVectors",
    "convert",
    "dataset_path",
    "load",
    "load_vectors",
    "make_config",
    "resume",
    "train",
]

if TYPE_CHECKING:
    from posvec.config import Config
    from posvec.datasets.library import dataset_path
    from posvec.errors import (
        ConfigError,
        CorpusError,
        DownloadError,
        ModelError,
        PosvecError,
        TrainingError,
        UnknownWordError,
    )
    from posvec.formats import convert, load_vectors
    from posvec.interop.sklearn import PosvecVectorizer
    from posvec.model import Model
    from posvec.presets import make_config
    from posvec.storage.records import TrainingReport
    from posvec.training.callbacks import StopTraining
    from posvec.training.pipeline import load, resume, train
    from posvec.vectors import WordVectors
    from posvec.vocabulary import Vocabulary


__getattr__ = lazy_names(__name__, _PUBLIC)


def __dir__() -> list[str]:
    return sorted(__all__)
