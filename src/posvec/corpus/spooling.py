"""Copies of text that can be read only once: standard input, pipes, iterables, tokens from a user's tokenizer."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from hashlib import blake2b
from typing import IO, Any

from posvec.corpus.cache import cache_folder, writing_to
from posvec.corpus.tokenizers import TOKEN_SEPARATOR
from posvec.errors import CorpusError
from posvec.system.files import BLOCK


class Spool:
    """A copy in a file without a name, which the system removes once no process uses it, even after a crash."""

    def __init__(self, name: str, may_have_bom: bool = False) -> None:
        self.name = name
        self.size = 0
        self.may_have_bom = may_have_bom
        self._digest = blake2b(digest_size=16)
        folder = cache_folder()
        with writing_to(folder):
            folder.mkdir(parents=True, exist_ok=True)
            self._file: IO[bytes] = tempfile.TemporaryFile(dir=folder)  # noqa: SIM115

    @property
    def digest(self) -> str:
        return self._digest.hexdigest()

    def write(self, block: bytes) -> None:
        with writing_to(cache_folder()):
            self._file.write(block)
        self._digest.update(block)
        self.size += len(block)

    def finish(self) -> Spool:
        with writing_to(cache_folder()):
            self._file.flush()
        return self

    def read(self, report: Callable[[int], None]) -> Iterator[bytes]:
        start = 0
        # Not file.read, whose file position two readers would share.
        while block := os.pread(self._file.fileno(), BLOCK, start):
            start += len(block)
            report(start)
            yield block

    def pieces(self, size: int) -> Iterator[SpoolPiece]:
        """Yield copies of the text: other processes cannot open a file without a name."""
        lines, held = 0, b""
        for block in self.read(lambda read: None):
            held += block
            if len(held) >= size and (cut := held.rfind(b"\n") + 1):
                yield (piece := SpoolPiece(self.name, held[:cut], self.may_have_bom and not lines, lines))
                lines, held = lines + piece.text.count(b"\n"), held[cut:]
        if held:
            yield SpoolPiece(self.name, held, self.may_have_bom and not lines, lines)

    def lines_before(self) -> int:
        return 0

    def check_unchanged(self) -> None:
        """Do nothing: no other process can change the file."""

    def close(self) -> None:
        self._file.close()


@dataclass(frozen=True)
class SpoolPiece:
    """Some lines of a spool."""

    name: str
    text: bytes
    may_have_bom: bool
    lines: int
    """The number of lines before it."""

    def read(self, report: Callable[[int], None]) -> Iterator[bytes]:
        for start in range(0, len(self.text), BLOCK):
            yield self.text[start : start + BLOCK]

    def lines_before(self) -> int:
        return self.lines


def spool_stream(name: str, stream: IO[bytes]) -> Spool:
    """Copy the bytes of a pipe."""
    spool = Spool(name, may_have_bom=True)
    while block := stream.read(BLOCK):
        spool.write(block)
    return spool.finish()


def spool_sentences(sentences: Iterable[Any], errors: str) -> tuple[Spool, bool]:
    """Copy sentences, one per line; return the copy and whether they were lists of tokens rather than strings."""
    spool = Spool("the sentences given")
    first: type | None = None
    for number, sentence in enumerate(sentences, 1):
        kind = str if isinstance(sentence, str) else list
        first = first or kind
        if kind is not first or isinstance(sentence, (bytes, bytearray)) or not isinstance(sentence, Iterable):
            raise CorpusError(
                f"sentence {number:,} is a {type(sentence).__name__}; give all sentences as strings, or all as "
                f"lists of tokens"
            )
        where = f"sentence {number:,}"
        if isinstance(sentence, str):
            spool.write(_encode(sentence.replace("\n", " "), errors, where) + b"\n")
        else:
            spool.write(_encode(_join(sentence, where), errors, where) + b"\n")
    return spool.finish(), first is list


def spool_tokenized(
    name: str, blocks: Iterable[bytes], tokenizer: Callable[[str], Iterable[str]], errors: str
) -> Spool:
    """Copy the tokens that a user's tokenizer returns for each line."""
    spool = Spool(name)
    number = 0
    for block in blocks:
        for line in block.removesuffix(b"\n").split(b"\n"):
            number += 1
            where = f"the output of the tokenizer for line {number:,}"
            tokens = tokenizer(line.removesuffix(b"\r").decode())
            if isinstance(tokens, str) or not isinstance(tokens, Iterable):
                raise CorpusError(f"{where} is a {type(tokens).__name__}; it must return a list of tokens")
            spool.write(_encode(_join(tokens, where), errors, where) + b"\n")
    return spool.finish()


def _join(tokens: Iterable[object], where: str) -> str:
    line: list[str] = []
    for token in tokens:
        if not isinstance(token, str):
            raise CorpusError(f"{where} has the token {token!r}, a {type(token).__name__}; tokens are strings")
        if "\n" in token or TOKEN_SEPARATOR in token:
            raise CorpusError(f"{where} has the token {token[:80]!r}; remove the line feed or U+001F that is in it")
        line.append(token)
    return TOKEN_SEPARATOR.join(line)


def _encode(text: str, errors: str, where: str) -> bytes:
    try:
        return text.encode()
    except UnicodeEncodeError as error:
        if errors == "replace":
            return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace").encode()
        raise CorpusError(
            f"{where} has half of a surrogate pair, not a character; correct it, or use errors='replace' to go on"
        ) from error
