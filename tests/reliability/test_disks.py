"""Disks that are full, read-only or another's: one clear sentence, nothing lost, nothing left, and later it works."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from conftest import Ended
from local_server import local_server
from posvec.datasets import CATALOGUE, Dataset
from posvec.reproduction.scales import SCALES, Scale
from posvec.system.atomic import TEMPORARY
from posvec.training.pipeline import train

PAGE = os.sysconf("SC_PAGE_SIZE")
# Commands that write to a disk, whose folder is {disk}.
COMMANDS = {
    "train": "{corpus} -o {disk}/model --overwrite {flags} -q",
    "train over nothing": "{corpus} -o {disk}/a/b {flags} -q",
    "vocab": "{corpus} -o {disk}/vocabulary.txt --overwrite",
    "convert to text": "{model} {disk}/vectors.txt.gz --overwrite",
    "convert to a model": "{model} {disk}/model --overwrite",
    "compress": "{model} {disk}/model --overwrite",
    "export": "{model} --to sentence-transformers -o {disk}/exported",
    "export to the hub": "{model} --to hub -o {disk}/model --overwrite",
    "index": "{disk}/model -q",
    "sentence-vectors": "{model} {corpus} -o {disk}/sentences.npy",
    "positions": "{model} -o {disk}/positions.csv",
    "search": "{corpus} -o {disk}/study --objective validation_loss --space window=1..3 --trials 2 {flags} -q",
    "reproduce": "--corpus {corpus} -o {disk}/results --only variances --threads 1 -q",
    "lm train": "{model} --data {texts} -o {disk}/lm --hidden 16 --layers 1 --epochs 1 --batch 4 --steps 20 -q",
}
NEEDED = {
    "export": "tokenizers", "export to the hub": "huggingface_hub", "index": "usearch", "search": "optuna",
    "reproduce": "matplotlib", "lm train": "torch",
}  # fmt: skip
CONTINUABLE = ("search", "reproduce", "lm train")  # their partial results stay


class Disk:
    """A small file system."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def fill(self, pages_left: int) -> None:
        (self.folder / "filler").write_bytes(b"")
        free = os.statvfs(self.folder).f_bavail * os.statvfs(self.folder).f_frsize
        (self.folder / "filler").write_bytes(bytes(free - pages_left * PAGE))

    def empty(self) -> None:
        (self.folder / "filler").unlink()

    def remount(self, how: str) -> None:
        subprocess.run(["mount", "-o", f"remount,{how}", self.folder], check=True)

    def contents(self) -> dict[str, bytes]:
        return {
            str(path.relative_to(self.folder)): path.read_bytes() if path.is_file() else b""
            for path in self.folder.rglob("*")
            if path.name != "filler"
        }


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Disk]:
    folder = tmp_path / "disk"
    folder.mkdir()
    if not shutil.which("mount"):
        pytest.skip("there is no command to mount a small file system")
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=4m", "posvec", folder], capture_output=True, text=True
    )
    if mounted.returncode:
        pytest.skip(f"no small file system may be mounted here: {mounted.stderr.strip()}")
    yield Disk(folder)
    subprocess.run(["umount", "-l", folder], check=True)  # lazily: models are still mapped


@pytest.fixture(scope="module")
def model(corpus: Path, small: dict[str, Any], tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("model") / "model"
    train(corpus, "constrained", **small, output=path)
    return path


@pytest.fixture
def give(
    posvec_command: Callable[..., Ended],
    disk: Disk,
    corpus: Path,
    model: Path,
    lm_data: Path,
    flags: list[str],
    monkeypatch: pytest.MonkeyPatch,
) -> Callable[[str], Ended]:
    """Runs a command of the list; a model is on the disk already."""
    tiny = Scale(
        "tiny", "seconds", 1, "posvec", {"main": None, "sweep": 3000}, (5,), (0, 60), 24, 2, 4,
        {"dim": 10, "buckets": 500, "min_count": 1, "sample": 0.0, "negatives": 2}, {},
    )  # fmt: skip
    monkeypatch.setitem(SCALES, "small", tiny)
    shutil.copytree(model, disk.folder / "model")

    def run(name: str) -> Ended:
        if name in NEEDED:
            pytest.importorskip(NEEDED[name])
        words = name.split(" to ")[0].split(" over ")[0].split()
        for word in COMMANDS[name].split():
            words += (
                flags
                if word == "{flags}"
                else [word.format(disk=disk.folder, corpus=corpus, model=model, texts=lm_data)]
            )
        return posvec_command(*words)

    return run


def check_refused(ended: Ended, disk: Disk, remedy: str) -> None:
    assert ended.code == 1, ended.err
    last = ended.err.splitlines()[-1]
    assert re.fullmatch(rf"Error: .*{re.escape(str(disk.folder))}.*; .*({remedy}).*", last), ended.err
    assert "Traceback" not in ended.err


@pytest.mark.parametrize(
    ("name", "pages_left"), [*((name, 0) for name in COMMANDS), ("train", 2), ("sentence-vectors", 2), ("search", 2)]
)
def test_a_full_disk(give: Callable[[str], Ended], disk: Disk, name: str, pages_left: int) -> None:
    disk.fill(pages_left)
    before = disk.contents()
    ended = give(name)
    if not (pages_left and ended.code == 0):  # small results still fit
        check_refused(ended, disk, "free some space")
        after = disk.contents()
        assert before.items() <= after.items()
        assert after == before or name in CONTINUABLE
    disk.empty()
    again = give(name)
    assert again.code == 0 or "--overwrite" in again.err, again.err
    assert not [path for path in disk.contents() if TEMPORARY.fullmatch(Path(path).name)]


@pytest.mark.parametrize("name", COMMANDS)
def test_a_disk_that_is_read_only(give: Callable[[str], Ended], disk: Disk, name: str) -> None:
    before = disk.contents()
    disk.remount("ro")
    check_refused(give(name), disk, "make it writable or choose another path")
    disk.remount("rw")
    assert disk.contents() == before


@pytest.mark.parametrize("full", [False, True])
def test_a_cache_that_cannot_be_written(
    posvec_command: Callable[..., Ended], disk: Disk, corpus: Path, flags: list[str], tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch, full: bool,
) -> None:  # fmt: skip
    monkeypatch.setenv("POSVEC_CACHE", str(disk.folder))
    if full:
        disk.fill(0)
    else:
        disk.remount("ro")
    with local_server() as server:
        entry = Dataset("full", "corpus", "", (server.serve("/f.txt", bytes(100_000)),), "CC0", "")
        monkeypatch.setitem(CATALOGUE, "full", entry)
        for command in (
            ["train", corpus, "-o", tmp_path / "model", "-q", *flags],
            ["data", "fetch", "full", "-q"],
        ):
            check_refused(posvec_command(*command), disk, "free some space there, or set the .* POSVEC_CACHE")
            assert not (tmp_path / "model").exists()
