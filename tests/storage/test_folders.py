"""Saved folders: complete at every moment, checked when they are read, never written over a user's files."""

from __future__ import annotations

import itertools
import json
import os
import signal
import sys
import tempfile
import traceback
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np
import pytest

from posvec.errors import ModelError
from posvec.storage import folders
from posvec.storage.folders import FORMAT_VERSION, check_output, load_folder, save_folder
from posvec.storage.locks import locked_folder
from posvec.storage.safetensors import dump_tensors, read_tensors
from posvec.system import atomic


def save(path: Path, value: float = 1.0, overwrite: bool = False, size: int = 100) -> None:
    save_folder(
        path,
        {"value": value, "text": "né"},
        {
            "model.safetensors": lambda stream: dump_tensors(stream, {"a": np.full(size, value)}, {}),
            "vocabulary.txt": lambda stream: stream.write(f"{value}\n".encode() * 3),
        },
        overwrite,
    )


def load(path: Path) -> float:
    """Return the value of a folder that ``save`` wrote, checking that all its parts agree."""
    folder = load_folder(path, verify=True)
    arrays, _ = read_tensors(folder.files["model.safetensors"])
    values = {
        folder.config["value"],
        *arrays["a"].tolist(),
        *map(float, folder.files["vocabulary.txt"].read_text().split()),
    }
    (value,) = values
    assert isinstance(value, float)
    return value


def edit_config(path: Path, change: Callable[[dict[str, Any]], object]) -> None:
    config = json.loads((path / "config.json").read_text())
    change(config)
    (path / "config.json").write_text(json.dumps(config))


def contents(path: Path) -> dict[str, bytes]:
    return {file.name: file.read_bytes() for file in path.iterdir()}


def in_another_process(action: Callable[[], object]) -> int:
    """Run an action that would kill this process in a child process; return its status from ``os.waitpid``."""
    child = os.fork()
    if child == 0:
        try:
            action()
            os._exit(0)
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(1)
    return os.waitpid(child, 0)[1]


# Saving and loading


def test_a_saved_folder_is_loaded_unchanged(tmp_path: Path) -> None:
    save(tmp_path / "deep" / "model", 2.5)
    folder = load_folder(tmp_path / "deep" / "model")
    assert folder.config == {"value": 2.5, "text": "né"}
    assert folder.files.keys() == {"model.safetensors", "vocabulary.txt"}
    assert load(tmp_path / "deep" / "model") == 2.5


def test_config_json_lists_files_with_size_and_checksum(tmp_path: Path) -> None:
    import hashlib

    save(tmp_path / "model")
    config = json.loads((tmp_path / "model" / "config.json").read_text("utf-8"))
    assert (config["format"], config["format_version"]) == ("posvec", 1)
    for name, entry in config["files"].items():
        content = (tmp_path / "model" / entry["name"]).read_bytes()
        assert entry["name"].startswith(name.split(".")[0] + "-")
        assert entry["bytes"] == len(content)
        assert entry["blake2b"] == hashlib.blake2b(content, digest_size=20).hexdigest()


def test_overwriting_replaces_the_model_and_leaves_no_old_files(tmp_path: Path) -> None:
    save(tmp_path / "model", 1.0)
    old = contents(tmp_path / "model")
    save(tmp_path / "model", 2.0, overwrite=True)
    new = contents(tmp_path / "model")
    assert load(tmp_path / "model") == 2.0
    assert old.keys() & new.keys() == {"config.json"}
    assert len(new) == 3


def test_a_file_that_the_new_model_does_not_have_is_removed(tmp_path: Path) -> None:
    save(tmp_path / "model")
    save_folder(tmp_path / "model", {}, {"other.bin": lambda stream: stream.write(b"x")}, overwrite=True)
    assert len(contents(tmp_path / "model")) == 2
    assert load_folder(tmp_path / "model", verify=True).files.keys() == {"other.bin"}


def test_arrays_mapped_from_a_model_stay_valid_while_it_is_overwritten(tmp_path: Path) -> None:
    save(tmp_path / "model", 1.0)
    arrays, _ = read_tensors(load_folder(tmp_path / "model").files["model.safetensors"])
    save_folder(
        tmp_path / "model",
        {"value": 1.0},
        {"model.safetensors": lambda stream: dump_tensors(stream, {"a": arrays["a"], "b": arrays["a"]}, {})},
        overwrite=True,
    )
    assert (arrays["a"] == 1).all()
    assert (read_tensors(load_folder(tmp_path / "model").files["model.safetensors"])[0]["b"] == 1).all()


def test_files_that_a_user_put_into_the_folder_stay(tmp_path: Path) -> None:
    save(tmp_path / "model")
    for name in ("README.md", "notes-202611150930.txt", "model.safetensors"):
        (tmp_path / "model" / name).write_text("mine")
    save(tmp_path / "model", 2.0, overwrite=True)
    assert len(contents(tmp_path / "model")) == 6
    assert load(tmp_path / "model") == 2.0


# Paths where a model is not saved


def test_an_existing_model_is_not_overwritten_unless_asked(tmp_path: Path) -> None:
    save(tmp_path / "model", 1.0)
    with pytest.raises(ModelError, match=r"already holds a model; .*--overwrite"):
        check_output(tmp_path / "model")
    with pytest.raises(ModelError, match=r"already holds a model; .*--overwrite"):
        save(tmp_path / "model", 2.0)
    assert load(tmp_path / "model") == 1.0
    check_output(tmp_path / "model", overwrite=True)


@pytest.mark.parametrize("config", [None, "{", "[]", '{"model_type": "bert"}'])
def test_a_folder_that_is_not_a_model_is_never_overwritten(tmp_path: Path, config: str | None) -> None:
    (tmp_path / "letters.txt").write_text("dear")
    if config is not None:
        (tmp_path / "config.json").write_text(config)
    before = contents(tmp_path)
    for overwrite in (False, True):
        with pytest.raises(ModelError, match="neither empty nor a posvec model, so it is not overwritten"):
            check_output(tmp_path, overwrite)
        with pytest.raises(ModelError, match="neither empty nor a posvec model, so it is not overwritten"):
            save(tmp_path, overwrite=overwrite)
    assert contents(tmp_path) == before


def test_an_empty_folder_and_a_new_one_are_fine(tmp_path: Path) -> None:
    check_output(tmp_path)
    check_output(tmp_path / "a" / "b")
    assert list(tmp_path.iterdir()) == []
    save(tmp_path)
    assert load(tmp_path) == 1.0


def test_a_file_in_place_of_the_folder_or_of_its_parent_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_text("text")
    for path, message in ((file, "is a file, and a model is saved as a folder"), (file / "model", "Not a directory")):
        for attempt in (save, check_output):
            with pytest.raises(ModelError, match=message):
                attempt(path)
    assert file.read_text() == "text"


def test_a_folder_without_write_permission_is_refused() -> None:
    def write(path: Path) -> None:
        with atomic.replacing(path):
            pass

    def save_without_permission() -> None:
        if os.geteuid() == 0:  # root may write everywhere
            os.setuid(65534)
        for attempt in (save, check_output, write):
            with pytest.raises(ModelError, match=r"cannot write .*: Permission denied; make it writable"):
                attempt(Path(folder) / "model")

    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o555)
        assert in_another_process(save_without_permission) == 0
        Path(folder).chmod(0o755)
        assert list(Path(folder).iterdir()) == []


def test_a_read_only_file_system_is_refused() -> None:
    for attempt in (save, check_output):
        with pytest.raises(ModelError, match=r"cannot write /proc/model"):
            attempt(Path("/proc/model"))


@pytest.mark.parametrize("name", ["../model.bin", "a/b", "..", "", "config.json", "a b"])
def test_a_file_name_that_is_not_plain_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(ModelError, match="cannot be a file of a saved folder"):
        save_folder(tmp_path / "model", {}, {name: lambda stream: stream.write(b"")})
    assert list(tmp_path.iterdir()) == []


def test_values_that_json_cannot_store_fail_before_anything_is_written(tmp_path: Path) -> None:
    with pytest.raises(TypeError):
        save_folder(tmp_path / "model", {"a": object()}, {})
    with pytest.raises(ModelError, match=r"files in config\.json belong to the storage"):
        save_folder(tmp_path / "model", {"files": 1}, {})
    assert list(tmp_path.iterdir()) == []


# Failures and crashes in the middle


def test_a_writer_that_fails_leaves_the_old_model_and_nothing_else(tmp_path: Path) -> None:
    save(tmp_path / "model", 1.0)
    before = contents(tmp_path / "model")

    def fail(stream: Any) -> None:
        stream.write(b"half")
        raise KeyboardInterrupt

    for path in (tmp_path / "model", tmp_path / "new"):
        with pytest.raises(KeyboardInterrupt):
            save_folder(path, {}, {"good.bin": lambda stream: stream.write(b"x"), "bad.bin": fail}, overwrite=True)
    assert contents(tmp_path / "model") == before
    assert not (tmp_path / "new").exists()


def test_a_full_disk_leaves_the_old_model_and_names_the_cause(tmp_path: Path) -> None:
    save(tmp_path / "model", 1.0)
    before = contents(tmp_path / "model")

    def save_on_a_full_disk() -> None:
        import resource

        resource.setrlimit(resource.RLIMIT_FSIZE, (3_000_000, 3_000_000))  # the kernel refuses to write more
        for name in ("model", "new"):
            with pytest.raises(ModelError) as caught:
                save(tmp_path / name, 2.0, overwrite=True, size=1_000_000)
            assert str(caught.value).startswith(f"cannot write {tmp_path}/{name}/model-")
            assert "File too large; free some space or choose another path" in str(caught.value)

    assert in_another_process(save_on_a_full_disk) == 0
    assert contents(tmp_path / "model") == before
    assert not (tmp_path / "new").exists()


def save_and_crash(path: Path, moment: int) -> int:
    """Save the value 2.0, but kill the process before the nth line of the functions that write to the disk."""
    moments = itertools.count(1)

    def trace(frame: FrameType, event: str, _: Any) -> Any:
        if frame.f_code.co_filename not in (folders.__file__, atomic.__file__):
            return None
        counts = event == "line" and frame.f_code.co_name in ("save_folder", "replacing", "write", "_remove_unlisted")
        if counts and next(moments) == moment:
            os.kill(os.getpid(), signal.SIGKILL)
        return trace

    def save_traced() -> None:
        sys.settrace(trace)
        save(path, 2.0, overwrite=True)

    return in_another_process(save_traced)


@pytest.fixture
def no_waiting_for_the_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    """Disable fsync: a killed process, unlike a loss of power, loses no data that it has written."""
    monkeypatch.setattr(os, "fsync", lambda _: None)


@pytest.mark.usefixtures("no_waiting_for_the_disk")
def test_a_crash_at_any_moment_leaves_the_old_model_or_the_new_one(tmp_path: Path) -> None:
    found = []
    for moment in itertools.count(1):
        path = tmp_path / str(moment)
        save(path, 1.0)
        end = save_and_crash(path, moment)
        found.append(load(path))
        if end == 0:
            break
        assert end == signal.SIGKILL
        save(path, 3.0, overwrite=True)
        assert load(path) == 3.0
        assert len(contents(path)) == 3
    assert found == sorted(found)
    assert found.count(1.0) > 40
    assert found.count(2.0) > 10


@pytest.mark.usefixtures("no_waiting_for_the_disk")
def test_a_crash_in_the_first_save_does_not_block_the_next(tmp_path: Path) -> None:
    crashes = 0
    for moment in itertools.count(1, 3):
        path = tmp_path / str(moment)
        if save_and_crash(path, moment) == 0 or (path / "config.json").exists():
            break
        with pytest.raises(ModelError, match=r"not a posvec model: it has no config\.json|no model at"):
            load_folder(path)
        save(path)
        assert load(path) == 1.0
        assert len(contents(path)) == 3
        crashes += 1
    assert crashes > 15


def test_concurrent_saves_do_not_mix(tmp_path: Path) -> None:
    def meanwhile(stream: Any) -> None:
        with ThreadPoolExecutor() as pool, pytest.raises(ModelError, match="another process is working in"):
            pool.submit(save, tmp_path / "model", 2.0, overwrite=True).result()
        stream.write(b"x")

    save_folder(tmp_path / "model", {}, {"a.bin": meanwhile})
    assert load_folder(tmp_path / "model", verify=True).files.keys() == {"a.bin"}


def test_the_holder_of_a_lock_can_save_and_others_are_refused(tmp_path: Path) -> None:
    with locked_folder(tmp_path / "a" / "model"):
        with ThreadPoolExecutor() as pool, pytest.raises(ModelError, match="another process is working in"):
            pool.submit(save, tmp_path / "a" / "model").result()
        save(tmp_path / "a" / "model")
    save(tmp_path / "a" / "model", 2.0, overwrite=True)
    assert load(tmp_path / "a" / "model") == 2.0


def test_a_lock_removes_the_folder_it_created_after_a_failure(tmp_path: Path) -> None:
    with pytest.raises(KeyError), locked_folder(tmp_path / "a" / "model"):
        raise KeyError
    assert list(tmp_path.iterdir()) == []


# Folders that are damaged, foreign or too new


def test_a_path_without_a_model_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("text")
    for path, message in (
        (tmp_path, r"is not a posvec model: it has no config\.json"),
        (tmp_path / "file", "is not a posvec model: it is a file"),
        (tmp_path / "missing", "there is no model at"),
    ):
        with pytest.raises(ModelError, match=message):
            load_folder(path)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "config.json is missing or damaged: it is not valid JSON"),
        ("[" * 100_000, "config.json is missing or damaged: it is not valid JSON"),
        ("[]", "is not a posvec model: its config.json belongs to another program"),
        ('{"architectures": ["BertModel"]}', "is not a posvec model: its config.json belongs to another program"),
        ('{"format": "posvec"}', "it lacks a version or a list of files"),
        ('{"format": "posvec", "format_version": 1, "files": []}', "it lacks a version or a list of files"),
        ('{"format": "posvec", "format_version": 1, "files": {"a": 1}}', "its file 'a' is not in this folder"),
    ],
)
def test_a_damaged_or_foreign_config_is_refused(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "config.json").write_text(text)
    with pytest.raises(ModelError) as caught:
        load_folder(tmp_path)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_config_that_is_not_utf_8_is_refused(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_bytes(b'{"format": "\xff"}')
    with pytest.raises(ModelError, match="it is not valid JSON"):
        load_folder(tmp_path)


def test_the_error_for_a_newer_format_names_the_upgrade(tmp_path: Path) -> None:
    save(tmp_path / "model")
    edit_config(tmp_path / "model", lambda config: config.update(format_version=FORMAT_VERSION + 1, files="elsewhere"))
    with pytest.raises(ModelError, match=r"was written by a newer posvec \(format 4, .*; upgrade posvec"):
        load_folder(tmp_path / "model")


@pytest.mark.parametrize("name", ["../outside.txt", "/etc/passwd", "..", "", "a/b", "a\\b", "C:secret", 5, None])
def test_a_file_outside_the_folder_is_refused(tmp_path: Path, name: Any) -> None:
    (tmp_path / "outside.txt").write_bytes(b"1.0\n" * 3)
    save(tmp_path / "model")
    edit_config(tmp_path / "model", lambda config: config["files"]["vocabulary.txt"].update(name=name))
    with pytest.raises(ModelError, match=r"its file 'vocabulary\.txt' is not in this folder"):
        load_folder(tmp_path / "model")


def test_missing_truncated_and_altered_files_are_refused(tmp_path: Path) -> None:
    save(tmp_path / "model")
    file = load_folder(tmp_path / "model").files["vocabulary.txt"]
    content = file.read_bytes()
    file.write_bytes(content[::-1])
    load_folder(tmp_path / "model")
    with pytest.raises(ModelError, match="its checksum is not the one"):
        load_folder(tmp_path / "model", verify=True)
    file.write_bytes(content[:-1])
    with pytest.raises(ModelError, match=r"it has 11 bytes where config\.json says 12"):
        load_folder(tmp_path / "model")
    file.unlink()
    with pytest.raises(ModelError, match=r"vocabulary-\w+\.txt is missing or damaged: it is not there"):
        load_folder(tmp_path / "model")
    file.mkdir()
    with pytest.raises(ModelError, match="it is not there"):
        load_folder(tmp_path / "model")
