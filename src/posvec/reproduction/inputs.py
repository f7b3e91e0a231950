"""What a reproduction needs besides the corpus: test sets, texts for language modelling, sentences and words."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from posvec.errors import ConfigError
from posvec.evaluation.lines import as_paths
from posvec.evaluation.questions import read_pairs, read_questions
from posvec.reproduction.paper import SENTENCES
from posvec.system.files import find_files
from posvec.tuning.objectives import Paths

MISSING = {
    "questions": "no word analogies were given; add --questions FILE",
    "sentences": "no sentences were given; add --sentence 'words with a [MASK] among them'",
    "language_data": "no texts for language modelling were given; add --language-data FOLDER",
}
"""Why an experiment is skipped, by the name of the input that it needs."""


@dataclass(frozen=True)
class Inputs:
    """Everything that the user has given besides the corpus."""

    questions: tuple[Path, ...] = ()
    pairs: tuple[Path, ...] = ()
    language_data: Path | None = None
    language: str | None = None
    sentences: tuple[str, ...] = ()
    words: tuple[str, ...] = ()
    """Words whose ranks in the sentences are reported; if empty, the paper's."""
    context_words: tuple[str, ...] = ()
    """Words whose classes are reported; if empty, the paper's."""


def read_inputs(
    questions: Paths,
    pairs: Paths,
    language_data: str | os.PathLike[str] | None,
    language: str | None,
    sentences: Sequence[str],
    words: Sequence[str],
    context_words: Sequence[str],
    qualitative: bool,
) -> Inputs:
    """Check all inputs by reading them, so that errors are found before hours of training."""
    inputs = Inputs(
        tuple(as_paths(questions)),
        tuple(file for path in as_paths(pairs) for file in find_files(path)),
        None if language_data is None else as_paths(Path(language_data))[0],
        language,
        tuple(sentences) or (() if qualitative else SENTENCES),
        tuple(words),
        tuple(context_words),
    )
    if inputs.questions:
        read_questions(inputs.questions)
    for path in inputs.pairs:
        read_pairs(path)
    if inputs.language_data is not None:
        from posvec.language_model.data import find_parts

        find_parts(inputs.language_data, language)
    for sentence in inputs.sentences:
        if sentence.count("[MASK]") != 1:
            raise ConfigError(
                f"the sentence {sentence!r} must have exactly one [MASK], where a word is to be predicted"
            )
    return inputs
