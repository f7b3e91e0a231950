"""Texts for language modelling: finding their training, validation and test parts, and converting them to token ids.

Three layouts are supported, with plain or compressed files (.gz, .bz2, .xz, .zst):

- ``train.txt``, ``valid.txt`` and ``test.txt``, or without ``.txt``, optionally in a folder for each language;
- WikiText: ``wiki.train.tokens``, ``wiki.valid.tokens`` and ``wiki.test.tokens``, or ``.raw``;
- the six languages of Botha and Blunsom (2014), as ``icml14-data.tar.bz2`` or unpacked: ``en-de/1m-mono/train.in``,
  ``test.in`` (for validation) and ``finaltest.in``.

Tokens are separated by whitespace, and each line, including empty ones, ends in ``<eos>``.
"""

from __future__ import annotations

import hashlib
import tarfile
from array import array
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

import numpy as np
from numpy.typing import NDArray

from posvec.errors import CorpusError
from posvec.language_model.config import LanguageModelConfig
from posvec.system.files import read_blocks, reading

TokenIds = NDArray[np.int64]
EOS, UNK = "<eos>", "<unk>"
PARTS = ("train", "valid", "test")


@dataclass(frozen=True)
class Texts:
    """The three parts of the data as token ids.

    Attributes
    ----------
    words
        All words, sorted by their count in the training text; the id of a word is its index.
    counts
        The counts of the words in the training text.
    train, valid, test
        The ids of the tokens of each part.
    """

    words: list[str]
    counts: NDArray[np.int64]
    train: TokenIds
    valid: TokenIds
    test: TokenIds

    @property
    def digest(self) -> str:
        """A digest of the words and tokens."""
        digest = hashlib.blake2b("\n".join(self.words).encode(), digest_size=16)
        for part in PARTS:
            digest.update(getattr(self, part).astype("<i8").tobytes())
        return digest.hexdigest()


def read_texts(path: str | Path, config: LanguageModelConfig, language: str | None = None) -> Texts:
    """Read a folder or an archive. The words include those of the validation and test texts, which have vectors too."""
    index: dict[str, int] = {EOS: 0}
    parts: dict[str, TokenIds] = {}
    for part, (name, read) in zip(PARTS, find_parts(Path(path), language), strict=True):
        limit = config.train_tokens if part == "train" else config.held_out_tokens
        parts[part] = _token_ids(name, read, index, config.lowercase, limit)
        if not len(parts[part]):
            raise CorpusError(f"{name} is empty, and a language model needs text to {_PURPOSE[part]}; check the file")
    return _sorted(list(index), parts, config.max_words)


def split_words(line: str, lowercase: bool) -> list[str]:
    """Split a line into tokens at whitespace."""
    return (line.lower() if lowercase else line).split()


OpenPart = Callable[[], Iterator[bytes]]
"""Opens a part of the data and yields its bytes."""

_LAYOUTS = (
    ("train.txt", "valid.txt", "test.txt"),
    ("train", "valid", "test"),
    ("wiki.train.tokens", "wiki.valid.tokens", "wiki.test.tokens"),
    ("wiki.train.raw", "wiki.valid.raw", "wiki.test.raw"),
    ("train.in", "test.in", "finaltest.in"),
)
_ENDINGS = ("", ".gz", ".bz2", ".xz", ".zst")
_PURPOSE = {"train": "train on", "valid": "validate on", "test": "test on"}
# Lines that already end in one of these, as those of Botha and Blunsom do, get no second end.
_ENDS = frozenset({EOS, "</s>"})


def find_parts(path: Path, language: str | None = None) -> list[tuple[str, OpenPart]]:
    """Find the parts of the data; return the name of each part and a function that opens it."""
    if language is not None and not language.replace("-", "").isalnum():
        raise CorpusError(f"language must be a code, for example de, not {language!r}")
    find = _in_folder(path) if path.is_dir() else _in_archive(path)
    # The second pattern is the layout of Botha and Blunsom, where en-de/1m-mono contains German texts.
    folders = ("", "1m-mono/") if language is None else (f"{language}/", f"*-{language}/1m-mono/")
    missing: list[str] = []
    for folder in folders:
        for names in _LAYOUTS:
            found = [[each for ending in _ENDINGS for each in find(folder + name + ending)] for name in names]
            if not all(found):
                lacking = [name for name, files in zip(names, found, strict=True) if not files]
                missing += [folder + name for name in lacking if len(lacking) < len(names)]
                continue
            for name, files in zip(names, found, strict=True):
                if len(files) > 1:
                    several = ", ".join(each for each, _ in files)
                    raise CorpusError(f"{path} has more than one {name}: {several}; use the folder of one as data")
            return [files[0] for files in found]
    if missing:
        raise CorpusError(f"{path} has no {missing[0]} beside its other parts; add the file")
    languages = sorted({PurePosixPath(name).parts[-3].rpartition("-")[2] for name, _ in find("*-*/1m-mono/train.in")})
    if languages:
        raise CorpusError(f"{path} has texts in {', '.join(languages)}; choose one with language (--language)")
    where = f" in {language}" if language else ""
    raise CorpusError(
        f"no texts{where} for language modelling at {path}; put train.txt, valid.txt and test.txt there, or name a "
        f"folder of WikiText or of Botha and Blunsom's data"
    )


def _in_folder(folder: Path) -> Callable[[str], list[tuple[str, OpenPart]]]:
    def opener(file: Path) -> OpenPart:
        return lambda: read_blocks(file, lambda _: None)

    return lambda pattern: [(str(file), opener(file)) for file in sorted(folder.glob(pattern)) if file.is_file()]


def _in_archive(path: Path) -> Callable[[str], list[tuple[str, OpenPart]]]:
    with reading(path):
        is_archive = tarfile.is_tarfile(path)
    if not is_archive:
        raise CorpusError(f"{path} is neither a folder nor a tar archive of texts; name one that is")

    def opener(name: str) -> OpenPart:
        def read() -> Iterator[bytes]:
            with reading(path), tarfile.open(path) as archive:
                file = archive.extractfile(name)
                assert file is not None
                yield file.read()

        return read

    try:
        with reading(path), tarfile.open(path) as archive:
            files = {PurePosixPath(member.name): member.name for member in archive if member.isfile()}
    except tarfile.TarError as error:
        raise CorpusError(f"{path} is a damaged archive ({error}); get it again") from error
    # Patterns match from the root of the archive, or from its only top-level folder.
    tops = {0, 1} if len({file.parts[0] for file in files}) == 1 else {0}

    def find(pattern: str) -> list[tuple[str, OpenPart]]:
        lengths = {len(PurePosixPath(pattern).parts) + top for top in tops}
        found = [file for file in files if len(file.parts) in lengths and file.match(pattern)]
        return [(str(file), opener(files[file])) for file in found]

    return find


def _token_ids(name: str, read: OpenPart, index: dict[str, int], lowercase: bool, limit: int | None) -> TokenIds:
    """The tokens of a part as ids in the order of first occurrence; new words are added to the index."""
    ids = array("q")
    for number, line in enumerate(_lines(read()), 1):
        try:
            words = split_words(line.decode(), lowercase)
        except UnicodeDecodeError as error:
            raise CorpusError(f"line {number} of {name} is not UTF-8; convert the file to UTF-8") from error
        if words and words[-1] in _ENDS:
            words.pop()
        words.append(EOS)
        if limit is not None:
            del words[limit - len(ids) :]
        ids.extend([index.setdefault(word, len(index)) for word in words])
        if len(ids) == limit:
            break
    return np.array(ids, np.int64)


def _lines(blocks: Iterator[bytes]) -> Iterator[bytes]:
    rest = b""
    for block in blocks:
        *lines, rest = (rest + block).split(b"\n")
        yield from lines
    if rest:
        yield rest


def _sorted(words: list[str], parts: dict[str, TokenIds], max_words: int | None) -> Texts:
    """Sort the words by count, after replacing the rarest by <unk> if there are more than ``max_words``."""
    counts = np.bincount(parts["train"], minlength=len(words))
    if max_words is not None and len(words) > max_words:
        words, parts = _with_unknown(words, parts, counts, max_words)
        counts = np.bincount(parts["train"], minlength=len(words))
    order = np.argsort(-counts, kind="stable")
    new_ids = np.empty(len(words), np.int64)
    new_ids[order] = np.arange(len(words))
    return Texts([words[number] for number in order], counts[order], **{part: new_ids[parts[part]] for part in PARTS})


def _with_unknown(
    words: list[str], parts: dict[str, TokenIds], counts: NDArray[np.int64], max_words: int
) -> tuple[list[str], dict[str, TokenIds]]:
    """Keep <eos>, <unk> and the most frequent of the other words, and replace the rest by <unk>."""
    others = [n for n in np.argsort(-counts, kind="stable").tolist() if words[n] not in (EOS, UNK)]
    kept = others[: max(0, max_words - 2)]
    new_ids = np.ones(len(words), np.int64)
    new_ids[0] = 0
    new_ids[kept] = np.arange(2, 2 + len(kept))
    return [EOS, UNK, *(words[n] for n in kept)], {part: new_ids[ids] for part, ids in parts.items()}
