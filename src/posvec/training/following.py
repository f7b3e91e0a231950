"""Count the words of a corpus, and choose the settings that follow their number."""

from __future__ import annotations

from collections.abc import Collection
from contextlib import AbstractContextManager
from typing import Protocol

from posvec.automatic import LEAST_MIN_COUNT, automatic_settings, describe_settings
from posvec.config import Config
from posvec.corpus.sources import Corpus, ProgressCallback
from posvec.training.backend import Backend
from posvec.vocabulary import Vocabulary


class Stages(Protocol):
    """The part of a display that this module needs."""

    def stage(self, name: str) -> AbstractContextManager[ProgressCallback]: ...
    def note(self, text: str) -> None: ...


def follow_corpus(
    corpus: Corpus, config: Config, given: Collection[str], display: Stages, backend: Backend
) -> tuple[Config, Vocabulary]:
    """Return the configuration that suits a corpus, and its vocabulary, and show what was chosen.

    Parameters
    ----------
    corpus
        The text.
    config
        The configuration, of the default preset.
    given
        The names of settings that the user has given, which are not chosen.
    display
        Shows the progress of counting, and what was chosen.
    backend
        Where words are counted.
    """
    counted = config if "min_count" in given else config.replace(min_count=LEAST_MIN_COUNT)
    with display.stage("counting") as progress:
        vocabulary = backend.count(corpus, counted, progress)
    words = vocabulary.total_words
    chosen = {name: value for name, value in automatic_settings(words, config.model.word_dim > 0).items() if name not in given}
    config = config.replace(**chosen)
    display.note(describe_settings(words, config))
    return config, vocabulary.limited(config.vocabulary)
