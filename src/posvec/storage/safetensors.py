"""The safetensors format: named arrays in one file, written as a stream and read as memory-mapped views.

A file is the length of the header (8 bytes, little-endian), the header (JSON: name → dtype, shape and the offsets of
its bytes; ``__metadata__`` → strings), then the raw bytes of the arrays without gaps. Any safetensors reader can read
these files. The ``safetensors`` package is not used because it needs whole contiguous arrays and copies what it reads.
"""

from __future__ import annotations

import json
import math
import mmap
import os
from collections.abc import Mapping
from pathlib import Path
from typing import IO, Any, TypeGuard

import numpy as np
from numpy.typing import NDArray

from posvec.errors import ModelError
from posvec.system.atomic import replacing
from posvec.system.mapping import MappedFile, check_mapped

Tensors = dict[str, NDArray[Any]]


def write_tensors(
    path: str | os.PathLike[str], tensors: Mapping[str, NDArray[Any]], metadata: Mapping[str, str] | None = None
) -> None:
    """Write named arrays as one file, which appears only when it is complete.

    Parameters
    ----------
    path
        The file to write or replace.
    tensors
        Arrays of any strides, by name.
    metadata
        Strings to store in the header, by name.

    Raises
    ------
    ModelError
        If the file cannot be written, or an array has a type that the format does not know.

    Examples
    --------
    >>> import numpy as np
    >>> write_tensors("numbers.safetensors", {"squares": np.arange(4) ** 2}, {"made by": "an example"})
    >>> tensors, metadata = read_tensors("numbers.safetensors")
    >>> tensors["squares"].tolist(), metadata
    ([0, 1, 4, 9], {'made by': 'an example'})
    """
    with replacing(path) as stream:
        dump_tensors(stream, tensors, metadata or {})


def dump_tensors(stream: IO[bytes], tensors: Mapping[str, NDArray[Any]], metadata: Mapping[str, str]) -> None:
    """Write named arrays to a binary stream, a few megabytes at a time, so that no whole table is copied."""
    # Arrays with the widest items come first: the data begins at a multiple of 64 bytes, so every array then begins at
    # a multiple of its item size.
    order = sorted(tensors, key=lambda name: (-tensors[name].dtype.itemsize, name))
    header: dict[str, Any] = {"__metadata__": dict(metadata)} if metadata else {}
    end = 0
    for name in order:
        array = tensors[name]
        check_mapped(array)
        begin, end = end, end + array.nbytes
        header[name] = {"dtype": _dtype_name(name, array), "shape": list(array.shape), "data_offsets": [begin, end]}
    text = json.dumps(header, separators=(",", ":"), ensure_ascii=False).encode()
    text += b" " * (-(8 + len(text)) % _ALIGNMENT)
    stream.write(len(text).to_bytes(8, "little"))
    stream.write(text)
    for name in order:
        _dump_array(stream, tensors[name])


def read_tensors(path: str | os.PathLike[str]) -> tuple[Tensors, dict[str, str]]:
    """Map the arrays of a file into memory.

    Parameters
    ----------
    path
        The file.

    Returns
    -------
    tensors : dict of str to ndarray
        Read-only views of the memory-mapped file: an array is read from the disk when it is used.
    metadata : dict of str to str
        The strings of the header.

    Raises
    ------
    ModelError
        If the file is missing, damaged or not of this format.
    """
    path = Path(path)
    try:
        with path.open("rb") as file:
            size = os.fstat(file.fileno()).st_size
            if size < 8:
                raise _damaged(path, f"it has {size} bytes")
            content = MappedFile(file.fileno(), 0, access=mmap.ACCESS_READ)
            content.path = path
    except OSError as error:
        raise ModelError(f"cannot read {path}: {error.strerror}; check the path and its permissions") from error
    header, data = _read_header(path, content)
    metadata = header.pop("__metadata__", {})
    if not isinstance(metadata, dict) or not all(isinstance(value, str) for value in metadata.values()):
        raise _damaged(path, "its metadata is not a mapping of strings")
    _check_offsets(path, header, len(content) - data)
    return {name: _view(path, content, data, name, entry) for name, entry in header.items()}, metadata


def require_tensor(
    tensors: Mapping[str, NDArray[Any]], name: str, dtype: type, shape: tuple[int | None, ...]
) -> NDArray[Any]:
    """Return the tensor of a name; raise ModelError if it is missing or has another type or shape (None: any size)."""
    found = tensors.get(name)
    if (
        found is None
        or found.dtype != dtype
        or found.ndim != len(shape)
        or any(size not in (None, actual) for size, actual in zip(shape, found.shape, strict=True))
    ):
        sizes = ", ".join("any" if size is None else str(size) for size in shape)
        raise ModelError(f"{name} is missing or is not {np.dtype(dtype)} of shape ({sizes})")
    return found


_ALIGNMENT = 64
_BLOCK_BYTES = 4 << 20
_MAX_AXES = 32  # the limit of NumPy 1; NumPy 2 allows more
_MAX_HEADER = 100_000_000  # the limit of the safetensors library

_DTYPES: dict[str, np.dtype[Any]] = {
    name: np.dtype(code)
    for name, code in {
        "F64": "<f8",
        "F32": "<f4",
        "F16": "<f2",
        "I64": "<i8",
        "I32": "<i4",
        "I16": "<i2",
        "I8": "i1",
        "U64": "<u8",
        "U32": "<u4",
        "U16": "<u2",
        "U8": "u1",
        "BOOL": "?",
    }.items()
}
_NAMES = {dtype: name for name, dtype in _DTYPES.items()}


def _dtype_name(name: str, array: NDArray[Any]) -> str:
    if name == "__metadata__" or array.dtype.newbyteorder("<") not in _NAMES:
        raise ModelError(
            f"cannot save an array {name!r} of type {array.dtype}; numbers of up to 64 bits and booleans can be saved"
        )
    return _NAMES[array.dtype.newbyteorder("<")]


def _dump_array(stream: IO[bytes], array: NDArray[Any]) -> None:
    dtype = array.dtype.newbyteorder("<")
    rows = array.reshape(-1) if array.ndim == 0 or array.flags.c_contiguous else array
    if rows.size == 0:
        return
    step = max(1, _BLOCK_BYTES * len(rows) // rows.nbytes)
    for begin in range(0, len(rows), step):
        # A view if the rows are contiguous, else a copy of these rows only.
        block = np.ascontiguousarray(rows[begin : begin + step], dtype)
        stream.write(block.view(np.uint8).reshape(-1).data)


def _read_header(path: Path, content: mmap.mmap) -> tuple[dict[str, Any], int]:
    """Return the header and the offset at which the data begins."""
    length = int.from_bytes(content[:8], "little")
    if not 2 <= length <= min(_MAX_HEADER, len(content) - 8):
        raise _damaged(path, "its first bytes are not the length of a header")
    try:
        header = json.loads(content[8 : 8 + length].decode(), object_pairs_hook=_without_duplicates)
    except (ValueError, RecursionError) as error:
        raise _damaged(path, "its header is not valid JSON") from error
    if not isinstance(header, dict):
        raise _damaged(path, "its header is not a JSON object")
    return header, 8 + length


def _without_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    mapping = dict(pairs)
    if len(mapping) < len(pairs):
        raise ValueError("duplicate name")
    return mapping


def _check_offsets(path: Path, header: Mapping[str, Any], length: int) -> None:
    """Check that the arrays follow each other without gaps or overlaps and fill the file to its last byte."""
    ranges = []
    for name, entry in header.items():
        if not isinstance(entry, dict):
            raise _damaged(path, f"its header does not describe the array {name!r}")
        dtype, shape, offsets = (entry.get(key) for key in ("dtype", "shape", "data_offsets"))
        if not isinstance(dtype, str) or dtype not in _DTYPES:
            known = ", ".join(_DTYPES)
            raise ModelError(f"{path} has an array {name!r} of type {dtype!r}; the known types are {known}")
        if not _are_counts(shape) or not _are_counts(offsets) or len(offsets) != 2:
            raise _damaged(path, f"its header does not say where the array {name!r} is")
        if len(shape) > _MAX_AXES or max(shape, default=0) >= 2**63:
            raise _damaged(path, f"the array {name!r} cannot have the shape {str(shape)[:80]}")
        if math.prod(shape) * _DTYPES[dtype].itemsize != offsets[1] - offsets[0]:
            raise _damaged(path, f"the shape of the array {name!r} does not fit its number of bytes")
        ranges.append(offsets)
    end = 0
    for begin, stop in sorted(ranges):
        if begin != end:
            raise _damaged(path, "its arrays overlap or leave gaps")
        end = stop
    if end > length:
        raise _damaged(path, f"it ends {end - length} bytes early")
    if end < length:
        raise _damaged(path, f"{length - end} bytes follow its last array")


def _are_counts(values: Any) -> TypeGuard[list[int]]:
    return isinstance(values, list) and all(type(value) is int and value >= 0 for value in values)


def _view(path: Path, content: mmap.mmap, data: int, name: str, entry: Mapping[str, Any]) -> NDArray[Any]:
    dtype, shape = _DTYPES[entry["dtype"]], tuple(entry["shape"])
    try:
        if math.prod(shape) == 0:
            return np.zeros(shape, dtype)
        return np.frombuffer(content, dtype, math.prod(shape), data + entry["data_offsets"][0]).reshape(shape)
    except (ValueError, OverflowError) as error:
        raise _damaged(path, f"the array {name!r} cannot have the shape {shape}") from error


def _damaged(path: Path, reason: str) -> ModelError:
    return ModelError(
        f"{path} is damaged or not a safetensors file: {reason}; restore it from a copy or train it again"
    )
