"""What counts, encodes and trains: this machine, or a cluster of them (:mod:`posvec.distributed`)."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from typing import Any, Protocol

from posvec.config import Config
from posvec.corpus.encoding import EncodedCorpus, encode
from posvec.corpus.sources import Corpus, ProgressCallback
from posvec.model import Model
from posvec.training.stretches import Crew, Text, Threads
from posvec.vocabulary import Vocabulary


class Engine(Protocol):
    """What the steps of training are asked of; what it encodes, it can train on."""

    def count(self, corpus: Corpus, config: Config, progress: ProgressCallback | None) -> Vocabulary: ...
    def encode(
        self, corpus: Corpus, vocabulary: Vocabulary, config: Config, progress: ProgressCallback | None
    ) -> Text: ...
    def crew(self, model: Model, text: Any) -> AbstractContextManager[Crew]: ...


class ThisMachine:
    """Threads of this process."""

    def count(self, corpus: Corpus, config: Config, progress: ProgressCallback | None) -> Vocabulary:
        return Vocabulary.count(corpus, config.vocabulary, config.training.threads, progress)

    def encode(
        self, corpus: Corpus, vocabulary: Vocabulary, config: Config, progress: ProgressCallback | None
    ) -> EncodedCorpus:
        return encode(corpus, vocabulary, config.training.threads, progress)

    def crew(self, model: Model, text: Any) -> AbstractContextManager[Crew]:
        return nullcontext(Threads(model, text))
