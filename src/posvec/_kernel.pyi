from collections.abc import Sequence
from typing import Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

_Stored = TypeVar("_Stored", np.float32, np.float64, np.int16)
_Real = TypeVar("_Real", np.float32, np.float64)
_Numbers = NDArray[np.float32] | NDArray[np.int16]

class Tokenizer:
    def __init__(self, token_bits: bytes, lower: Sequence[tuple[int, str]]) -> None: ...
    def split(self, text: bytes) -> list[list[str]]: ...

class WordCounter:
    def __init__(self, tokenizer: Tokenizer) -> None: ...
    def add(self, chunk: bytes) -> None: ...
    def merge(self, other: WordCounter) -> None: ...
    def most_common(self, min_count: int, max_words: int | None) -> tuple[list[str], NDArray[np.int64]]: ...
    @property
    def tokens(self) -> int: ...
    @property
    def distinct(self) -> int: ...

class WordIds:
    def __init__(self, words: list[str]) -> None: ...
    def encode(self, tokenizer: Tokenizer, chunk: bytes) -> tuple[NDArray[np.uint32], NDArray[np.uint64], int]: ...

def find_invalid_utf8(text: bytes) -> int: ...
def alias_table(weights: NDArray[np.float64]) -> tuple[NDArray[np.float32], NDArray[np.uint32]]: ...
def ngrams(word: str, min_n: int, max_n: int) -> list[str]: ...
def ngram_buckets(word: str, min_n: int, max_n: int, buckets: int) -> NDArray[np.uint32]: ...
def subword_rows(
    words: list[str],
    uses: NDArray[np.float64],
    min_n: int,
    max_n: int,
    buckets: int,
    known: NDArray[np.uint32],
) -> tuple[NDArray[np.uint64], NDArray[np.uint32], NDArray[np.uint32]]: ...
def read_vector_lines(chunk: bytes, dim: int, crlf: bool) -> tuple[list[str], NDArray[np.float32], str]: ...
def write_vector_lines(words: list[str], table: NDArray[np.float32]) -> bytes: ...
def find_vector_records(
    bytes: NDArray[np.uint8], begin: int, count: int, delimiter: int, tail: int, line_feeds: bool
) -> tuple[list[str], NDArray[np.uint64], int, str]: ...
def copy_records(
    bytes: NDArray[np.uint8], offsets: NDArray[np.uint64], begin: int, end: int, table: NDArray[np.float32]
) -> None: ...
def find_not_finite(table: NDArray[np.float32], begin: int, end: int) -> int: ...

PAD: int
"""Rows of the tables are padded to a multiple of so many numbers."""
INPUT_UNIT: float
"""The features of a fixed16 table are multiples of it."""
OUTPUT_UNIT: float
INPUT_BOUND: float
"""The largest feature of a fixed16 table."""
OUTPUT_BOUND: float

class KernelOptions:
    window: int
    negatives: int
    negative_reuse: int
    mean_over_words: bool
    exact_gradient: bool
    summed_positional: bool
    train_positions: bool
    shrink: bool
    text_positions: bool
    score_limit: float
    threads: int
    def __init__(self) -> None: ...

class Workspace:
    """The working memory of one thread, for any trainer."""

    def __init__(self) -> None: ...

class _Head(Generic[_Stored, _Real]):
    """The tables of a head: ``output`` and ``positional`` may be parts of wider rows."""

    def __init__(
        self,
        input: NDArray[_Stored],
        output: NDArray[_Stored],
        positional: NDArray[_Real],
        row_begin: NDArray[np.uint64],
        rows: NDArray[np.uint32],
        dim: int,
        rate: float = 1.0,
    ) -> None: ...

class Float32Head(_Head[np.float32, np.float32]): ...
class Float64Head(_Head[np.float64, np.float64]): ...
class Fixed16Head(_Head[np.int16, np.float32]): ...

class _Trainer(Generic[_Stored, _Real]):
    def __init__(
        self,
        heads: Sequence[_Head[_Stored, _Real]],
        keep: NDArray[np.float32],
        alias_probability: NDArray[np.float32],
        alias: NDArray[np.uint32],
        options: KernelOptions,
        cpu: str = "",
    ) -> None: ...
    def train(
        self,
        workspace: Workspace,
        ids: NDArray[np.uint32],
        lines: NDArray[np.uint64],
        begin: int,
        end: int,
        lr: float,
        seed: int,
        validation: float = 0.0,
        held_out: bool = False,
        first_line: int = 0,
    ) -> tuple[int, int, float]: ...
    def draw(
        self,
        ids: NDArray[np.uint32],
        lines: NDArray[np.uint64],
        begin: int,
        end: int,
        seed: int,
        validation: float = 0.0,
        held_out: bool = False,
        first_line: int = 0,
    ) -> dict[str, NDArray[np.uint32]]: ...

class Float32Trainer(_Trainer[np.float32, np.float32]): ...
class Float64Trainer(_Trainer[np.float64, np.float64]): ...
class Fixed16Trainer(_Trainer[np.int16, np.float32]): ...

def encode_fixed16(table: NDArray[np.float32], unit: float, codes: NDArray[np.int16]) -> None:
    """Round a table (n, stride) to multiples of ``unit``; the codes may begin where the table does in memory."""

def decode_fixed16(codes: NDArray[np.int16], unit: float, table: NDArray[np.float32]) -> None:
    """Write the features that codes stand for; the codes may begin where the table does in memory."""

def mean_rows(
    table: NDArray[np.float32],
    row_begin: NDArray[np.uint64],
    rows: NDArray[np.uint32],
    begin: int,
    end: int,
    means: NDArray[np.float32],
) -> None: ...
def extract_deltas(
    rows: _Numbers,
    base: _Numbers,
    snapshot: _Numbers,
    deltas: _Numbers,
    indices: NDArray[np.uint32],
    first: int,
    count: int,
) -> int: ...
def rebase(rows: _Numbers, base: _Numbers, values: _Numbers) -> None: ...
def apply_deltas(rows: _Numbers, indices: Sequence[NDArray[np.uint32]], deltas: Sequence[_Numbers]) -> None: ...
def nearest_centroids(rows: NDArray[np.float32], codebook: NDArray[np.float32], codes: NDArray[np.uint8]) -> None: ...
def cpu_levels() -> list[str]: ...
def fixed16_train_outputs(
    table: NDArray[np.int16],
    rows: NDArray[np.uint32],
    context: NDArray[np.float32],
    step_sizes: NDArray[np.float32],
    seed: int,
    scores: NDArray[np.float32],
    error: NDArray[np.float32],
    quantized_context: NDArray[np.int16],
    weights: NDArray[np.int32],
    moves: NDArray[np.int32],
    cpu: str,
) -> None: ...
def fixed16_sum_inputs(
    table: NDArray[np.int16], rows: NDArray[np.uint32], sum: NDArray[np.float32], cpu: str
) -> None: ...
def fixed16_update_inputs(
    table: NDArray[np.int16],
    rows: NDArray[np.uint32],
    sum: NDArray[np.float32],
    before: NDArray[np.float32],
    seed: int,
    roundings: NDArray[np.int16],
    cpu: str,
) -> None: ...
def fixed16_multiply_add(a: float, b: float, c: float, cpu: str) -> float: ...
def fixed16_lanes(cpu: str) -> int: ...
