"""Corpora: text from files, folders, patterns, URLs, standard input or iterables, read in bounded memory."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, Union, cast

from posvec.config import TextConfig
from posvec.corpus.cache import digest_of
from posvec.corpus.inputs import TextFile, TextInput
from posvec.corpus.lines import TextPiece, text_blocks
from posvec.corpus.spooling import spool_sentences, spool_stream, spool_tokenized
from posvec.errors import CorpusError
from posvec.system.files import find_files, path_exists, reading

Source = Union[str, Path, Iterable[str | Path], Iterable[Sequence[str]], "Corpus"]
ProgressCallback = Callable[[float], None]
"""Called with the fraction of the work that is done, 0 to 1."""

# How many items of a list of strings are checked to decide whether it is a list of paths or of sentences.
_ITEMS_CHECKED = 1000


def open_corpus(
    source: Source, config: TextConfig | None = None, tokenizer: Callable[[str], Iterable[str]] | None = None
) -> Corpus:
    """Open the text of a source, which can then be read as often as needed.

    Text that cannot be read twice (standard input, pipes, iterables, text under your own tokenizer) is copied to a
    temporary file.

    Parameters
    ----------
    source
        A ``str`` or ``Path`` is a file, a folder (all files below it in sorted order, hidden ones skipped), a pattern
        like ``"texts/*.gz"``, a URL, or ``"-"`` for standard input; files with the extensions .gz, .bz2, .xz and .zst
        are decompressed.

        Any other iterable yields sentences, as strings or as lists of tokens. A list or tuple of strings can be either:
        if every string names an existing file, folder or pattern, they are paths; if none does, they are sentences; if
        only some do, that is an error. (If none of the first 1,000 strings is a path, all are sentences.)
    config
        How to read the text; by default, the defaults of the settings.
    tokenizer
        A function that takes a line and returns its tokens, in place of ``config.tokenizer``.

    Returns
    -------
    Corpus
        The text.

    Raises
    ------
    CorpusError
        If a file is missing or unreadable, or there is no text.

    Examples
    --------
    >>> with open_corpus("corpus.txt") as corpus:
    ...     print(corpus.size_hint > 1000, sum(1 for line in corpus.lines()))
    True 2000
    >>> list(open_corpus(["one sentence", "another one"]).lines())
    ['one sentence', 'another one']
    """
    if isinstance(source, Corpus):
        return source
    config = config or TextConfig()
    if tokenizer is not None and not callable(tokenizer):
        raise CorpusError(
            f"tokenizer must be a function from a line to its tokens, not {tokenizer!r}; set a built-in one by name in "
            f"TextConfig"
        )
    paths = _as_paths(source)
    if paths is None:
        spool, tokenized = spool_sentences(cast("Iterable[Any]", source), config.errors)
        if tokenized and tokenizer is not None:
            raise CorpusError("the sentences are lists of tokens already; give them as strings, or give no tokenizer")
        corpus = Corpus(spool.name, "tokens" if tokenized else config.tokenizer, config, [spool])
    else:
        inputs = [each for path in paths for each in _open_inputs(path)]
        corpus = Corpus(_format_paths(paths), config.tokenizer, config, inputs)
    if tokenizer is not None:
        with corpus:
            spool = spool_tokenized(corpus.name, corpus.blocks(), tokenizer, config.errors)
        return Corpus(corpus.name, "tokens", config, [spool])
    return corpus


class Corpus:
    """Lines of text that can be read again and again, made by :func:`open_corpus`.

    Examples
    --------
    >>> corpus = open_corpus(["the cat sees the dog", "the dog hears"])
    >>> list(corpus.blocks())
    [b'the cat sees the dog\\nthe dog hears\\n']
    >>> corpus.close()
    """

    def __init__(self, name: str, tokenizer: str, config: TextConfig, inputs: Sequence[TextInput]) -> None:
        self.name = name
        self.digest = digest_of(*(each.digest for each in inputs))
        """Identifies the text: files by path, size, modification time and samples, other inputs by their content."""
        self.tokenizer = tokenizer
        """``word``, ``whitespace``, or ``tokens`` if the text was given as tokens."""
        self.errors = config.errors
        self.size_hint = sum(each.size for each in inputs)
        """The bytes to read, before decompression."""
        self.paths: list[str] = []
        """The absolute paths of the files from which the same text can be read again; empty unless all of it can."""
        if all(isinstance(each, TextFile) for each in inputs):
            self.paths = [str(each.path.absolute()) for each in inputs if isinstance(each, TextFile)]
        self._inputs = inputs
        if not self.size_hint:
            raise self._empty()

    def blocks(self, progress: ProgressCallback | None = None) -> Iterator[bytes]:
        """Yield the text as UTF-8, in blocks of whole lines of some megabytes.

        A line of more than 4 MB is cut between two words.

        Parameters
        ----------
        progress
            Called with the fraction of the input that was read.
        """
        done, empty = 0, True
        for each in self._inputs:
            for block in text_blocks(each, self.errors, _fraction_reporter(progress, done, self.size_hint)):
                empty = False
                yield block
            done += each.size
        if empty:
            raise self._empty()
        if progress:
            progress(1.0)

    def lines(self) -> Iterator[str]:
        """Yield each line, without its end."""
        for block in self.blocks():
            yield from block.decode().removesuffix("\n").split("\n")

    def pieces(self, size: int) -> Iterator[TextPiece]:
        """Cut the text into pieces of about ``size`` bytes, in order, that other processes can read."""
        for each in self._inputs:
            yield from each.pieces(size)

    def check_unchanged(self) -> None:
        """Raise CorpusError if a file changed since the corpus was opened."""
        for each in self._inputs:
            each.check_unchanged()

    def close(self) -> None:
        """Remove the temporary copy, if there is one; garbage collection of the corpus does the same."""
        for each in self._inputs:
            each.close()

    def __enter__(self) -> Corpus:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<Corpus {self.name}>"

    def _empty(self) -> CorpusError:
        return CorpusError(f"there is no text in {self.name}: it is empty; give a source that has some")


def _as_paths(source: Source) -> list[str | Path] | None:
    """Return the paths that a source consists of, or None if it consists of sentences."""
    if isinstance(source, (str, Path)):
        return [source]
    if isinstance(source, (bytes, bytearray)) or not isinstance(source, Iterable):
        raise CorpusError(f"a corpus is a path or an iterable of sentences, not {type(source).__name__}")
    if not isinstance(source, (list, tuple)) or not source or not all(isinstance(item, (str, Path)) for item in source):
        return None
    items = cast("list[str | Path]", list(source))
    if not any(isinstance(item, Path) or item == "-" or path_exists(item) for item in items[:_ITEMS_CHECKED]):
        return None
    missing = [str(item) for item in items if item != "-" and not path_exists(item)]
    if missing:
        shown = ", ".join(repr(item[:80]) for item in missing[:3]) + (", ..." if len(missing) > 3 else "")
        raise CorpusError(
            f"of {len(items):,} paths, {len(missing):,} do not exist: {shown}; correct or remove them (or, if these "
            f"are sentences, pass iter(...) of them)"
        )
    return items


def _format_paths(paths: Sequence[str | Path]) -> str:
    first = "standard input" if str(paths[0]) == "-" else str(paths[0])
    return first if len(paths) == 1 else f"{first} and {len(paths) - 1:,} more"


def _open_inputs(path: str | Path) -> Iterator[TextInput]:
    if str(path) == "-":
        if sys.stdin is None:  # <&- in the shell
            raise CorpusError("standard input is closed; give a file, or text on standard input")
        yield spool_stream("standard input", sys.stdin.buffer)
        return
    for file in find_files(path):
        if file.exists() and not file.is_file():  # a named pipe, for example from <(...) in the shell
            with reading(file), file.open("rb") as pipe:
                yield spool_stream(str(file), pipe)
        else:
            yield TextFile(file)


def _fraction_reporter(progress: ProgressCallback | None, done: int, size: int) -> Callable[[int], None]:
    """Convert the bytes that were read of one input into the fraction of all inputs."""
    if progress is None or not size:
        return lambda read: None
    return lambda read: progress(min(1.0, (done + read) / size))
