"""Whether training can resume from a checkpoint: its sources, its corpus and its state must fit together.

A checkpoint may have been changed, or may come from somebody else. What it says is compared with what is known before
anything is trained or read from the network.
"""

from __future__ import annotations

import itertools
import os
from pathlib import Path

from posvec.config import Config
from posvec.datasets.embedded import EMBEDDED_CORPORA
from posvec.errors import ModelError
from posvec.storage.records import TrainingState
from posvec.system.remote import is_remote, server_of
from posvec.training.chunks import ChunkedCorpus, content_digest
from posvec.training.schedule import chunks_to_train


def sources_of(state: TrainingState, model: str | os.PathLike[str], allow_network: bool = False) -> list[str | Path]:
    """Return the sources of interrupted training.

    Parameters
    ----------
    state
        The state in the checkpoint.
    model
        The folder or the URL of the checkpoint.
    allow_network
        Whether the sources may be read from any server; otherwise only from the one that ``model`` is read from.

    Raises
    ------
    ModelError
        If a source is gone, is not a file, or may not be read.
    """
    if not state.sources:
        raise ModelError(f"the corpus of {model} did not come from files alone; give it again: posvec resume {model} -")
    known = {"", server_of(str(model)) if is_remote(model) else ""}
    for source in state.sources:
        if is_remote(source):
            if not allow_network and server_of(source) not in known:
                raise ModelError(
                    f"the checkpoint {model} reads its corpus from {source!r:.200}; if you trust it, add "
                    f"--allow-network (allow_network=True), or name the corpus: posvec resume {model} CORPUS"
                )
        elif source not in EMBEDDED_CORPORA and not (Path(source).is_absolute() and Path(source).is_file()):
            raise ModelError(
                f"the corpus {source} that {model} was being trained on is gone; restore it, or name its present path: "
                f"posvec resume {model} CORPUS"
            )
    return [source if is_remote(source) else Path(source) for source in state.sources]


def check_state(
    state: TrainingState, config: Config, corpus: ChunkedCorpus, name: str, model: str | os.PathLike[str]
) -> None:
    """Raise ModelError unless a checkpoint can be of interrupted training of this configuration on this corpus.

    Parameters
    ----------
    state, config
        The state and the configuration in the checkpoint.
    corpus
        The encoded corpus.
    name
        The name of the corpus.
    model
        The folder or the URL of the checkpoint.
    """
    # Files that were moved, touched or compressed may still hold the same text.
    if corpus.digest != state.corpus and content_digest(corpus) != state.content:
        raise ModelError(
            f"the corpus {name} has changed since training of {model} was interrupted; restore it, name its present "
            f"path (posvec resume {model} CORPUS), or train a new model"
        )
    if problem := _problem(state, config, corpus):
        raise ModelError(f"the checkpoint {model} is damaged: {problem}; restore it from a copy, or train a new model")


def _problem(state: TrainingState, config: Config, corpus: ChunkedCorpus) -> str:
    """What is impossible in a state; an empty string if nothing is."""
    done, epochs, chunks = len(state.epochs), config.training.epochs, chunks_to_train(config, corpus.chunks)
    first, last = min(done * corpus.chunks, chunks), min((done + 1) * corpus.chunks, chunks)
    if done > epochs:
        return f"it has {done:,} epochs of {epochs:,}"
    if not first <= state.blocks_done <= last:
        return f"after epoch {done:,}, blocks_done is {first:,} to {last:,}, not {state.blocks_done:,}"
    # Each of these counts is at most the next one.
    chains = (
        ("epoch_masked_words", "epoch_words", "words"),
        ("epoch_masked_words", "masked_words", "words"),
        *([("float32_after", "words")] if state.float32_after is not None else []),
    )
    for names in chains:
        for low, high in itertools.pairwise(names):
            if getattr(state, low) > getattr(state, high):
                return f"{low} is {getattr(state, low):,}, and {high} is {getattr(state, high):,}"
    tokens = corpus.tokens if state.blocks_done > first else 0
    if state.epoch_words > tokens:
        return f"epoch_words is {state.epoch_words:,}, and the epoch has {tokens:,} so far at most"
    if state.words > done * corpus.tokens + state.epoch_words:
        return f"words is {state.words:,}, and {done:,} epochs of the corpus have {done * corpus.tokens:,}"
    return ""
