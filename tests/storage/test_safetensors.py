"""The safetensors format: compared with the safetensors library in both directions, and invalid files."""

from __future__ import annotations

import contextlib
import json
import tracemalloc
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from numpy.typing import NDArray

from posvec.errors import ModelError
from posvec.storage.safetensors import read_tensors, write_tensors

oracle = pytest.importorskip("safetensors.numpy")

DTYPES = ["f8", "f4", "f2", "i8", "i4", "i2", "i1", "u8", "u4", "u2", "u1", "?"]

ARRAYS = st.dictionaries(
    st.text(st.characters(codec="utf-8"), min_size=1, max_size=8).filter(lambda name: name != "__metadata__"),
    st.sampled_from(DTYPES).flatmap(lambda dtype: hnp.arrays(dtype, hnp.array_shapes(min_dims=0, min_side=0))),
    max_size=5,
)
METADATA = st.dictionaries(st.text(st.characters(codec="utf-8")), st.text(st.characters(codec="utf-8")), max_size=3)


def assert_equal(found: dict[str, NDArray[Any]], expected: dict[str, NDArray[Any]]) -> None:
    assert found.keys() == expected.keys()
    for name, array in expected.items():
        assert found[name].dtype == array.dtype
        assert found[name].shape == array.shape
        assert found[name].tobytes() == array.tobytes()  # NaN equals itself, too


@settings(deadline=None, max_examples=60)
@given(arrays=ARRAYS, metadata=METADATA)
def test_what_is_written_is_read_back_and_read_by_the_library(
    tmp_path_factory: pytest.TempPathFactory, arrays: dict[str, NDArray[Any]], metadata: dict[str, str]
) -> None:
    from safetensors import safe_open

    path = tmp_path_factory.mktemp("tensors") / "a.safetensors"
    write_tensors(path, arrays, metadata)
    found, found_metadata = read_tensors(path)
    assert_equal(found, arrays)
    assert found_metadata == metadata
    assert_equal(oracle.load_file(path), arrays)
    with safe_open(path, "numpy") as file:
        assert (file.metadata() or {}) == metadata


# Without arrays, version 0.8 of the library writes a header that is not JSON.
@settings(deadline=None, max_examples=60)
@given(arrays=ARRAYS.filter(bool), metadata=METADATA)
def test_what_the_library_writes_is_read(
    tmp_path_factory: pytest.TempPathFactory, arrays: dict[str, NDArray[Any]], metadata: dict[str, str]
) -> None:
    path = tmp_path_factory.mktemp("tensors") / "a.safetensors"
    oracle.save_file(arrays, path, metadata)
    found, found_metadata = read_tensors(path)
    assert_equal(found, arrays)
    assert found_metadata == metadata


@pytest.mark.parametrize(
    "view",
    [
        np.s_[:, :300],
        np.s_[::2],
        np.s_[::-1, 3:7],
        np.s_[:, 5],
        np.s_[5],
    ],
)
def test_strided_views_are_written_correctly(tmp_path: Path, view: Any) -> None:
    table = np.random.default_rng(1).random((9000, 304), np.float32)[view]
    write_tensors(tmp_path / "a", {"table": table, "turned": table.T})
    loaded = oracle.load_file(tmp_path / "a")
    np.testing.assert_array_equal(loaded["table"], table)
    np.testing.assert_array_equal(loaded["turned"], table.T)


def test_arrays_of_the_other_byte_order_are_written_little_endian(tmp_path: Path) -> None:
    write_tensors(tmp_path / "a", {"a": np.arange(5, dtype=">i4")})
    assert read_tensors(tmp_path / "a")[0]["a"].tolist() == [0, 1, 2, 3, 4]


def test_tables_are_written_and_read_without_a_copy(tmp_path: Path) -> None:
    table = np.ones((100_000, 128), np.float32)[:, :120]  # 48 MB
    tracemalloc.start()
    write_tensors(tmp_path / "a", {"table": table})
    found = read_tensors(tmp_path / "a")[0]["table"]
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 16 << 20
    assert not found.flags.owndata
    assert found[99_999, 119] == 1


def test_arrays_read_are_aligned_and_cannot_be_written_to(tmp_path: Path) -> None:
    write_tensors(tmp_path / "a", {"odd": np.ones(3, np.uint8), "wide": np.ones(3), "half": np.ones(5, np.float16)})
    arrays, _ = read_tensors(tmp_path / "a")
    assert arrays["wide"].ctypes.data % 64 == 0
    assert all(array.flags.aligned for array in arrays.values())
    with pytest.raises(ValueError, match="read-only"):
        arrays["wide"][0] = 2


def test_arrays_outlive_the_file_that_they_were_read_from(tmp_path: Path) -> None:
    write_tensors(tmp_path / "a", {"a": np.arange(1000)})
    array = read_tensors(tmp_path / "a")[0]["a"]
    write_tensors(tmp_path / "a", {"a": np.zeros(1000)})
    (tmp_path / "a").unlink()
    assert array.sum() == 999 * 500


def test_an_array_of_objects_is_refused_and_leaves_no_file(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="cannot save an array 'a' of type object"):
        write_tensors(tmp_path / "a", {"a": np.array([None])})
    assert list(tmp_path.iterdir()) == []


# Files that are damaged or foreign


def entry(**changes: Any) -> dict[str, Any]:
    return {"a": {"dtype": "F32", "shape": [2, 3], "data_offsets": [0, 24], **changes}}


def file_of(path: Path, header: Any, data: bytes = bytes(24), length: int | None = None) -> Path:
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    path.write_bytes((len(text) if length is None else length).to_bytes(8, "little") + text + data)
    return path


def test_the_smallest_valid_file_is_read(tmp_path: Path) -> None:
    assert read_tensors(file_of(tmp_path / "a", entry()))[0]["a"].shape == (2, 3)


@pytest.mark.parametrize(
    ("header", "data", "reason"),
    [
        (b"not json, but long enough", b"", "its header is not valid JSON"),
        (b"\xff\xfe{}", b"", "its header is not valid JSON"),
        (b"[" * 100_000, b"", "its header is not valid JSON"),
        (b'{"a": 1, "a": 2}', b"", "its header is not valid JSON"),
        ([1], b"", "its header is not a JSON object"),
        ({"a": 1}, b"", "does not describe the array 'a'"),
        ({"__metadata__": {"a": 1}}, b"", "its metadata is not a mapping of strings"),
        (entry(dtype="BF16"), bytes(24), "an array 'a' of type 'BF16'; the known types are F64"),
        (entry(dtype=["F32"]), bytes(24), "an array 'a' of type"),
        (entry(shape=[2, -3]), bytes(24), "does not say where the array 'a' is"),
        (entry(shape=[2, 3.0]), bytes(24), "does not say where the array 'a' is"),
        (entry(shape=None), bytes(24), "does not say where the array 'a' is"),
        (entry(data_offsets=[0]), bytes(24), "does not say where the array 'a' is"),
        (entry(shape=[2, 4]), bytes(24), "the shape of the array 'a' does not fit its number of bytes"),
        (entry(shape=[0, 2**80], data_offsets=[0, 0]), b"", "the array 'a' cannot have the shape"),
        (entry(shape=[1] * 100 + [6]), bytes(24), "the array 'a' cannot have the shape"),
        (entry(data_offsets=[8, 32]), bytes(32), "its arrays overlap or leave gaps"),
        ({**entry(), "b": entry()["a"]}, bytes(24), "its arrays overlap or leave gaps"),
        (entry(), bytes(20), "it ends 4 bytes early"),
        (entry(), bytes(25), "1 bytes follow its last array"),
    ],
)
def test_a_file_with_a_wrong_header_is_refused_in_one_sentence(
    tmp_path: Path, header: Any, data: bytes, reason: str
) -> None:
    with pytest.raises(ModelError) as caught:
        read_tensors(file_of(tmp_path / "a", header, data))
    assert reason in str(caught.value)
    assert str(tmp_path / "a") in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("length", [0, 1, 10**6, 2**63, 2**64 - 1])
def test_a_file_with_a_wrong_header_length_is_refused(tmp_path: Path, length: int) -> None:
    with pytest.raises(ModelError, match="its first bytes are not the length of a header"):
        read_tensors(file_of(tmp_path / "a", entry(), length=length))


def test_a_truncated_file_is_refused(tmp_path: Path) -> None:
    write_tensors(tmp_path / "a", {"a": np.arange(10.0), "b": np.arange(3)}, {"key": "value"})
    content = (tmp_path / "a").read_bytes()
    for length in range(len(content)):
        (tmp_path / "cut").write_bytes(content[:length])
        with pytest.raises(ModelError, match="is damaged or not a safetensors file"):
            read_tensors(tmp_path / "cut")


@settings(deadline=None, max_examples=60)
@given(position=st.integers(0, 255), value=st.integers(0, 255))
def test_a_file_with_one_wrong_byte_is_read_or_refused(
    tmp_path_factory: pytest.TempPathFactory, position: int, value: int
) -> None:
    path = tmp_path_factory.mktemp("damaged") / "a"
    write_tensors(path, {"a": np.arange(10.0), "b": np.arange(3)}, {"key": "value"})
    content = bytearray(path.read_bytes())
    content[position] = value
    path.write_bytes(content)
    with contextlib.suppress(ModelError):
        arrays, _ = read_tensors(path)
        for array in arrays.values():
            array.sum()


def test_a_missing_file_and_a_folder_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match=r"cannot read .*missing: No such file"):
        read_tensors(tmp_path / "missing")
    with pytest.raises(ModelError, match=r"cannot read .*: Is a directory"):
        read_tensors(tmp_path)
