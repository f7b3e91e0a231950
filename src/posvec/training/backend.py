"""Where counting, encoding and training run: this machine, or a cluster (:mod:`posvec.distributed`)."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from typing import Any, Protocol

from posvec.config import Config
from posvec.corpus.encoding import EncodedCorpus, encode
from posvec.corpus.sources import Corpus, ProgressCallback
from posvec.model import Model
from posvec.training.chunks import ChunkedCorpus
from posvec.training.executor import Executor
from posvec.training.threads import ThreadExecutor
from posvec.vocabulary import Vocabulary


class Backend(Protocol):
    """Runs the steps of training; it can train on what it has encoded."""

    def count(self, corpus: Corpus, config: Config, progress: ProgressCallback | None) -> Vocabulary: ...
    def encode(
        self, corpus: Corpus, vocabulary: Vocabulary, config: Config, progress: ProgressCallback | None
    ) -> ChunkedCorpus: ...
    def executor(self, model: Model, corpus: Any) -> AbstractContextManager[Executor]: ...


class LocalBackend:
    """Runs everything on threads of this process."""

    def count(self, corpus: Corpus, config: Config, progress: ProgressCallback | None) -> Vocabulary:
        return Vocabulary.count(corpus, config.vocabulary, config.training.threads, progress)

    def encode(
        self, corpus: Corpus, vocabulary: Vocabulary, config: Config, progress: ProgressCallback | None
    ) -> EncodedCorpus:
        return encode(corpus, vocabulary, config.training.threads, progress)

    def executor(self, model: Model, corpus: Any) -> AbstractContextManager[Executor]:
        return nullcontext(ThreadExecutor(model, corpus))
