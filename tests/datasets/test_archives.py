"""Archives: valid, damaged and malicious ones."""

from __future__ import annotations

import io
import tarfile
import zipfile
from pathlib import Path

import pytest

from posvec.datasets import archives
from posvec.datasets.archives import unpack
from posvec.errors import DownloadError


def make_tar(path: Path, files: dict[str, bytes], mode: str = "w:bz2", link: str = "") -> Path:
    with tarfile.open(path, mode) as archive:  # type: ignore[call-overload]
        for name, content in files.items():
            info = tarfile.TarInfo(name)
            info.size = len(content)
            archive.addfile(info, io.BytesIO(content))
        if link:
            info = tarfile.TarInfo("link")
            info.type, info.linkname = tarfile.SYMTYPE, link
            archive.addfile(info)
    return path


def make_zip(path: Path, files: dict[str, bytes]) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return path


FILES = {"en-cs/1m-mono/train.in": b"one\n", "en-cs/1m-mono/test.in": b"two\n", "readme": b""}


@pytest.mark.parametrize("mode", ["w", "w:gz", "w:bz2", "w:xz", "zip"])
def test_archives_of_all_kinds_are_unpacked_regardless_of_their_names(tmp_path: Path, mode: str) -> None:
    path = tmp_path / "data.tar.bz2"
    _ = make_zip(path, FILES) if mode == "zip" else make_tar(path, FILES, mode)
    unpack(path, tmp_path / "out")
    found = {str(file.relative_to(tmp_path / "out")): file for file in (tmp_path / "out").rglob("*") if file.is_file()}
    assert {name: file.read_bytes() for name, file in found.items()} == FILES


def test_only_wanted_files_are_unpacked(tmp_path: Path) -> None:
    path = make_zip(tmp_path / "a.zip", FILES)
    assert unpack(path, tmp_path / "out", lambda name: name == "readme") == [tmp_path / "out" / "readme"]
    assert [file.name for file in (tmp_path / "out").iterdir()] == ["readme"]


@pytest.mark.parametrize("name", ["../evil", "a/../../evil", "/tmp/posvec-evil", "a\\..\\evil", "C:evil"])
def test_nothing_is_written_outside_the_folder(tmp_path: Path, name: str) -> None:
    for path in (make_tar(tmp_path / "a.tar", {name: b"x"}), make_zip(tmp_path / "a.zip", {name: b"x"})):
        with pytest.raises(DownloadError, match="contains a file outside its folder"):
            unpack(path, tmp_path / "deep" / "out")
    assert not list(tmp_path.rglob("*evil*"))
    assert not Path("/tmp/posvec-evil").exists()


def test_links_are_refused(tmp_path: Path) -> None:
    path = make_tar(tmp_path / "a.tar", {}, link="/etc/passwd")
    with pytest.raises(DownloadError, match="contains a link or device, link"):
        unpack(path, tmp_path / "out")


def test_decompression_bombs_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(archives, "LIMIT", 3_000_000)
    for path in (
        make_tar(tmp_path / "a.tar", {"a": bytes(2_000_000), "b": bytes(2_000_000)}),
        make_zip(tmp_path / "a.zip", {"a": bytes(4_000_000)}),
    ):
        with pytest.raises(DownloadError, match="unpacks to more than 3,000,000 bytes"):
            unpack(path, tmp_path / "out")


@pytest.mark.parametrize("keep", [0.0, 0.1, 0.7])
@pytest.mark.parametrize("mode", ["w:gz", "w:bz2", "w:xz", "zip"])
def test_damaged_archives_are_reported_in_one_sentence(tmp_path: Path, mode: str, keep: float) -> None:
    path = tmp_path / "a"
    content = {"a": bytes(range(256)) * 40}
    _ = make_zip(path, content) if mode == "zip" else make_tar(path, content, mode)
    path.write_bytes(path.read_bytes()[: int(keep * path.stat().st_size)])
    with pytest.raises(DownloadError, match=r"is damaged or not an archive \(.*\); fetch it again"):
        unpack(path, tmp_path / "out")


def test_a_false_zstandard_archive_is_reported_in_one_sentence(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_bytes(b"\x28\xb5\x2f\xfd" + make_tar(tmp_path / "b", {"a": b"text"}).read_bytes())
    with pytest.raises(DownloadError, match="is damaged or not an archive"):
        unpack(path, tmp_path / "out")


def test_changed_bytes_are_detected(tmp_path: Path) -> None:
    path = make_tar(tmp_path / "a", {"a": bytes(range(256)) * 40})
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 0xFF
    path.write_bytes(content)
    with pytest.raises(DownloadError, match="is damaged"):
        unpack(path, tmp_path / "out")


def test_a_zip_archive_with_a_file_of_no_name_is_refused(tmp_path: Path) -> None:
    path = make_zip(tmp_path / "a.zip", {"a": b"text"})
    content = bytearray(path.read_bytes())
    lengths = content.rfind(b"PK\1\2") + 28  # of the name and of what follows it, which it becomes
    content[lengths : lengths + 4] = b"\0\0\1\0"
    path.write_bytes(content)
    with pytest.raises(DownloadError, match="damaged or not an archive"):
        unpack(path, tmp_path / "out")
