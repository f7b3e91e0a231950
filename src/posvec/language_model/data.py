"""Texts for language modelling: where their training, validation and test parts are, and the same as numbers.

Three layouts are known, each file plain or compressed (.gz, .bz2, .xz, .zst):

- ``train.txt``, ``valid.txt`` and ``test.txt``, or without ``.txt``, perhaps in a folder per language;
- WikiText: ``wiki.train.tokens``, ``wiki.valid.tokens`` and ``wiki.test.tokens``, or ``.raw``;
- the six languages of Botha and Blunsom (2014), as ``icml14-data.tar.bz2`` or unpacked: ``en-de/1m-mono/train.in``,
  ``test.in``, which is for validation, and ``finaltest.in``.

Texts are taken as they are: tokens are what spaces separate, and each line, an empty one too, ends in ``<eos>``.
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

Ids = NDArray[np.int64]
EOS, UNK = "<eos>", "<unk>"
PARTS = ("train", "valid", "test")


@dataclass(frozen=True)
class Texts:
    """The three parts as numbers of words; the words are sorted by their count in the training text."""

    words: list[str]
    counts: NDArray[np.int64]
    """Of the training text."""
    train: Ids
    valid: Ids
    test: Ids

    @property
    def digest(self) -> str:
        digest = hashlib.blake2b("\n".join(self.words).encode(), digest_size=16)
        for part in PARTS:
            digest.update(getattr(self, part).astype("<i8").tobytes())
        return digest.hexdigest()


def read_texts(path: str | Path, config: LanguageModelConfig, language: str | None = None) -> Texts:
    """Read a folder or an archive. The words are those of all three parts: words of the test text too have vectors."""
    index: dict[str, int] = {EOS: 0}
    parts: dict[str, Ids] = {}
    for part, (name, read) in zip(PARTS, find_parts(Path(path), language), strict=True):
        limit = config.train_tokens if part == "train" else config.held_out_tokens
        parts[part] = _numbers(name, read, index, config.lowercase, limit)
        if not len(parts[part]):
            raise CorpusError(f"{name} is empty, and a language model needs text to {_PURPOSE[part]}; check the file")
    return _sorted(list(index), parts, config.max_words)


def split_words(line: str, lowercase: bool) -> list[str]:
    return (line.lower() if lowercase else line).split()


Reader = Callable[[], Iterator[bytes]]

_LAYOUTS = (
    ("train.txt", "valid.txt", "test.txt"),
    ("train", "valid", "test"),
    ("wiki.train.tokens", "wiki.valid.tokens", "wiki.test.tokens"),
    ("wiki.train.raw", "wiki.valid.raw", "wiki.test.raw"),
    ("train.in", "test.in", "finaltest.in"),
)
_ENDINGS = ("", ".gz", ".bz2", ".xz", ".zst")
_PURPOSE = {"train": "train on", "valid": "validate on", "test": "test on"}
# Data that ends its lines itself, as that of Botha and Blunsom does, gets no second end.
_ENDS = frozenset({EOS, "</s>"})


def find_parts(path: Path, language: str | None = None) -> list[tuple[str, Reader]]:
    """The name of each part, and a function that reads its bytes."""
    if language is not None and not language.replace("-", "").isalnum():
        raise CorpusError(f"a language is named by its code, such as de, not {language!r}")
    find = _in_folder(path) if path.is_dir() else _in_archive(path)
    # de/train.txt, and en-de/1m-mono/train.in where the texts of one language of a pair are.
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
                    raise CorpusError(f"{path} has more than one {name}: {several}; name the folder of one as data")
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


def _in_folder(folder: Path) -> Callable[[str], list[tuple[str, Reader]]]:
    def reader(file: Path) -> Reader:
        return lambda: read_blocks(file, lambda _: None)

    return lambda pattern: [(str(file), reader(file)) for file in sorted(folder.glob(pattern)) if file.is_file()]


def _in_archive(path: Path) -> Callable[[str], list[tuple[str, Reader]]]:
    with reading(path):
        is_archive = tarfile.is_tarfile(path)
    if not is_archive:
        raise CorpusError(f"{path} is neither a folder nor a tar archive of texts; name one that is")

    def reader(name: str) -> Reader:
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
    # Patterns begin where the archive does, or in a folder that holds everything.
    tops = {0, 1} if len({file.parts[0] for file in files}) == 1 else {0}

    def find(pattern: str) -> list[tuple[str, Reader]]:
        lengths = {len(PurePosixPath(pattern).parts) + top for top in tops}
        found = [file for file in files if len(file.parts) in lengths and file.match(pattern)]
        return [(str(file), reader(files[file])) for file in found]

    return find


def _numbers(name: str, read: Reader, index: dict[str, int], lowercase: bool, limit: int | None) -> Ids:
    """The tokens of a part as numbers of first appearance; new words are added to the index."""
    numbers = array("q")
    for number, line in enumerate(_lines(read()), 1):
        try:
            words = split_words(line.decode(), lowercase)
        except UnicodeDecodeError as error:
            raise CorpusError(f"line {number} of {name} is not UTF-8; convert the file to UTF-8") from error
        if words and words[-1] in _ENDS:
            words.pop()
        words.append(EOS)
        if limit is not None:
            del words[limit - len(numbers) :]
        numbers.extend([index.setdefault(word, len(index)) for word in words])
        if len(numbers) == limit:
            break
    return np.array(numbers, np.int64)


def _lines(blocks: Iterator[bytes]) -> Iterator[bytes]:
    rest = b""
    for block in blocks:
        *lines, rest = (rest + block).split(b"\n")
        yield from lines
    if rest:
        yield rest


def _sorted(words: list[str], parts: dict[str, Ids], max_words: int | None) -> Texts:
    """Number the words by their count, and give up the rarest for <unk> where there are too many."""
    counts = np.bincount(parts["train"], minlength=len(words))
    if max_words is not None and len(words) > max_words:
        words, parts = _with_unknown(words, parts, counts, max_words)
        counts = np.bincount(parts["train"], minlength=len(words))
    order = np.argsort(-counts, kind="stable")
    places = np.empty(len(words), np.int64)
    places[order] = np.arange(len(words))
    return Texts([words[number] for number in order], counts[order], **{part: places[parts[part]] for part in PARTS})


def _with_unknown(
    words: list[str], parts: dict[str, Ids], counts: NDArray[np.int64], max_words: int
) -> tuple[list[str], dict[str, Ids]]:
    """<eos>, <unk> and the most frequent of the other words; the rest become <unk>."""
    others = [n for n in np.argsort(-counts, kind="stable").tolist() if words[n] not in (EOS, UNK)]
    kept = others[: max(0, max_words - 2)]
    places = np.ones(len(words), np.int64)
    places[0] = 0
    places[kept] = np.arange(2, 2 + len(kept))
    return [EOS, UNK, *(words[n] for n in kept)], {part: places[ids] for part, ids in parts.items()}
