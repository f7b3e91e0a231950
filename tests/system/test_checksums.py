"""Checksums of files."""

from pathlib import Path

import pytest

from posvec.system import checksums
from posvec.system.checksums import ChecksumWriter, file_checksum


@pytest.mark.parametrize("size", [0, 1, 7, 8, 9, 16, 100])
@pytest.mark.parametrize("step", [1, 3, 8, 50])
def test_a_checksum_does_not_depend_on_pieces_and_threads(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, size: int, step: int
) -> None:
    monkeypatch.setattr(checksums, "_UNIT", 8)
    content = bytes(range(size))
    with ChecksumWriter(tmp_path / "file") as file:
        for start in range(0, size, step):
            file.write(content[start : start + step])
            file.flush()
    assert file.size == size
    assert {file_checksum(tmp_path / "file", threads) for threads in (1, 4)} == {file.checksum}


def test_any_changed_byte_and_any_other_length_change_the_checksum(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(checksums, "_UNIT", 8)
    found = set()
    for content in [
        bytes(20),
        *(bytes(i) + b"\1" + bytes(19 - i) for i in range(20)),
        *(bytes(length) for length in (0, 7, 8, 9, 16, 19, 21)),
    ]:
        (tmp_path / "file").write_bytes(content)
        found.add(file_checksum(tmp_path / "file"))
    assert len(found) == 28
