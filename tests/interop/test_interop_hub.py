"""The folder with a model card that is saved for the Hugging Face hub, and the hub, replaced by a local server."""

from __future__ import annotations

import base64
import hashlib
import json
import os
import subprocess
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import urlsplit

import numpy as np
import pytest

import posvec
from posvec import ConfigError, ModelError, PosvecError


@pytest.fixture(scope="module")
def model(corpus, small):
    return posvec.train(corpus, "constrained", **small, validation=0.1)


def same(one, other):
    tables = ("input_vectors", "output_vectors", "positional_vectors")
    return all(np.array_equal(getattr(one, name), getattr(other, name)) for name in tables)


# ---- the folder ---------------------------------------------------------------------------------------------------


def test_a_model_saved_with_a_card_opens_like_any_other(model, tmp_path):
    model.save_pretrained(tmp_path / "model", license="mit", language="en")
    assert same(posvec.load(tmp_path / "model", verify=True), model)
    assert same(posvec.Model.from_pretrained(tmp_path / "model"), model)
    with pytest.raises(ModelError, match="already holds a model"):
        model.save_pretrained(tmp_path / "model")
    model.save_pretrained(tmp_path / "model", overwrite=True)
    assert len(list((tmp_path / "model").iterdir())) == 4


def test_the_card_describes_the_model_its_training_and_how_to_load_it(model, tmp_path):
    model.save_pretrained(tmp_path / "my-model", license="cc-by-4.0", language="en")
    card = (tmp_path / "my-model" / "README.md").read_text(encoding="utf-8")
    header, text = card.removeprefix("---\n").split("---\n", 1)
    yaml = pytest.importorskip("yaml", reason="PyYAML is not installed")
    assert yaml.safe_load(header) == {
        "library_name": "posvec",
        "license": "cc-by-4.0",
        "language": "en",
        "tags": ["word-embeddings", "word-vectors"],
    }
    for part in (
        "# my-model\n",
        f"a constrained model of {len(model.vocabulary)} words and {len(model.rows.bucket_ids)} n-gram rows, D = 16",
        "of which D′ = 4 are weighted by position, window c = 4.",
        f"Trained on {model.report.tokens:,} words in 600 lines of text, 1 epoch",
        f"mean loss per masked word {model.report.loss:.4f}, on held-out lines {model.report.validation_loss:.4f}.",
        "posvec.Model.from_pretrained('my-model')",
        "| `buckets` | 1000 |",
        "## Licence\n\ncc-by-4.0\n",
    ):
        assert part in text


def test_without_a_licence_the_card_asks_for_one(model, tmp_path):
    model.save_pretrained(tmp_path / "model")
    card = (tmp_path / "model" / "README.md").read_text(encoding="utf-8")
    assert "\nlicense: unknown\n" in card
    assert "Not stated yet: name one here" in card


def test_an_invalid_licence_name_is_refused_before_anything_is_written(model, tmp_path):
    with pytest.raises(ConfigError, match=r"^license must be a short name, for example mit, not 'my: own'$"):
        model.save_pretrained(tmp_path / "model", license="my: own")
    assert not (tmp_path / "model").exists()


def test_an_invalid_model_name_is_refused(tmp_path):
    with pytest.raises(ModelError, match=r"^there is no folder .*, and a model on the hub is named owner/name; "):
        posvec.Model.from_pretrained(tmp_path / "nothing")


def test_export_writes_the_same_folder(model, posvec_command, tmp_path):
    model.save(tmp_path / "model")
    arguments = ("export", tmp_path / "model", "--to", "hub", "-o", tmp_path / "hub")
    ended = posvec_command(*arguments, "--license", "mit")
    assert (ended.code, ended.out) == (0, "")
    assert ended.err == f"Open it with: posvec.Model.from_pretrained({str(tmp_path / 'hub')!r})\n"
    assert same(posvec.load(tmp_path / "hub", verify=True), model)
    assert posvec_command(*arguments).code == 1
    ended = posvec_command("export", tmp_path / "none", "--to", "hub", "-o", tmp_path / "other")
    assert (ended.code, ended.err.count("\n")) == (1, 1)
    assert "there is no model at" in ended.err


# ---- the hub ------------------------------------------------------------------------------------------------------


class _Hub(BaseHTTPRequestHandler):
    """The part of the hub that creates, commits to, lists and reads repositories."""

    repositories: dict[str, dict[str, bytes]]
    """The files of each repository, all under one commit."""

    def log_message(self, *arguments: object) -> None: ...

    def do_POST(self):
        path = urlsplit(self.path).path
        body = self.rfile.read(int(self.headers["Content-Length"]))
        if self.headers["Authorization"] != "Bearer hf_right":
            return self.answer(403, {"error": "not yours"})
        if path == "/api/repos/create":
            wanted = json.loads(body)
            name = f"{wanted['organization']}/{wanted['name']}"
            self.repositories.setdefault(name, {})
            return self.answer(200, {"url": f"http://{self.headers['Host']}/{name}"})
        if path == "/api/validate-yaml":
            return self.answer(200, {"errors": [], "warnings": []})
        name, action = self.split(path)
        if action.startswith("preupload/"):
            modes = [
                {"path": file["path"], "uploadMode": "regular", "shouldIgnore": False}
                for file in json.loads(body)["files"]
            ]
            return self.answer(200, {"files": modes})
        if action.startswith("commit/"):
            for line in body.splitlines():
                step = json.loads(line)
                if step["key"] == "file":
                    self.repositories[name][step["value"]["path"]] = base64.b64decode(step["value"]["content"])
                elif step["key"] == "deletedFile":
                    del self.repositories[name][step["value"]["path"]]
            address = f"http://{self.headers['Host']}/{name}/commit/{self.commit(name)}"
            return self.answer(200, {"commitOid": self.commit(name), "commitUrl": address})
        return self.answer(501, {"error": self.path})

    def do_GET(self):
        path = urlsplit(self.path).path
        name, action = self.split(path)
        if name not in self.repositories:
            return self.answer(404, {"error": "not found"}, {"X-Error-Code": "RepoNotFound"})
        files = self.repositories[name]
        if action in ("", "revision/main"):
            siblings = [{"rfilename": file} for file in files]
            return self.answer(200, {"id": name, "sha": self.commit(name), "siblings": siblings})
        if action.startswith("revision/"):
            return self.answer(404, {"error": "no"}, {"X-Error-Code": "RevisionNotFound"})
        if action.startswith("tree/"):
            return self.answer(
                200,
                [
                    {"type": "file", "path": file, "size": len(content), "oid": hashlib.sha1(content).hexdigest()}
                    for file, content in files.items()
                ],
            )
        file = action.split("/", 2)[-1]
        if action.startswith("resolve/") and file in files:
            etag = f'"{hashlib.sha1(files[file]).hexdigest()}"'
            return self.answer(200, files[file], {"ETag": etag, "X-Repo-Commit": self.commit(name)})
        return self.answer(404, {"error": "no file"}, {"X-Error-Code": "EntryNotFound"})

    do_HEAD = do_GET

    def split(self, path: str) -> tuple[str, str]:
        owner, name, *action = path.removeprefix("/api/models").strip("/").split("/")
        return f"{owner}/{name}", "/".join(action)

    def commit(self, name: str) -> str:
        return hashlib.sha1(repr(sorted(self.repositories[name].items())).encode()).hexdigest()

    def answer(self, code, content, headers=None):
        data = content if isinstance(content, bytes) else json.dumps(content).encode()
        self.send_response(code)
        for key, value in {"Content-Length": str(len(data)), **(headers or {})}.items():
            self.send_header(key, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(data)


@pytest.fixture
def hub(tmp_path):
    """Runs a program that uses the server as the hub, and returns the last line that it printed."""
    pytest.importorskip("huggingface_hub", reason="huggingface_hub is not installed")
    handler = type("Hub", (_Hub,), {"repositories": {}})
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    address = f"http://127.0.0.1:{server.server_port}"

    def run(program: str, **environment: str) -> str:
        # A separate process, because huggingface_hub reads the address when it is imported.
        ended = subprocess.run(
            [sys.executable, "-c", program],
            env={**os.environ, "HF_ENDPOINT": address, "HF_HOME": str(tmp_path / "home"), **environment},
            capture_output=True,
            text=True,
        )
        return (ended.stdout if ended.returncode == 0 else ended.stderr).strip().split("\n")[-1]

    run.repositories = handler.repositories
    yield run
    server.shutdown()
    server.server_close()


def test_a_model_survives_a_round_trip_through_the_hub(model, hub, tmp_path):
    model.save(tmp_path / "model")
    hub.repositories["me/words"] = {"notes.txt": b"of somebody else"}
    push = f"""
import posvec
for _ in range(2):
    address = posvec.load({str(tmp_path / "model")!r}).push_to_hub("me/words", token="hf_right", license="mit")
print(address)
"""
    address = hub(push)
    assert address.startswith("http://127.0.0.1:"), address
    assert "/me/words/commit/" in address
    files = hub.repositories["me/words"]
    # The files of the first push are removed; files that posvec did not write stay.
    assert sorted(Path(name).suffix for name in files) == [".json", ".md", ".safetensors", ".txt", ".txt"]
    assert b"posvec.Model.from_pretrained('me/words')" in files["README.md"]
    assert b"\nlicense: mit\n" in files["README.md"]
    pull = f"""
import posvec
posvec.Model.from_pretrained("me/words").save({str(tmp_path / "fetched")!r}, overwrite=True)
print("fetched")
"""
    assert hub(pull) == "fetched"
    assert same(posvec.load(tmp_path / "fetched"), model)
    assert not list((tmp_path / "home").rglob("notes.txt"))
    assert hub(pull, HF_HUB_OFFLINE="1") == "fetched"  # from the cache


def test_errors_of_the_hub_are_reported_in_one_sentence(model, hub, tmp_path):
    model.save(tmp_path / "model")
    hub.repositories["me/other"] = {"config.json": b'{"model_type": "bert"}'}
    program = f"""
import json, posvec
def message(call, *arguments, **named):
    try:
        return call(*arguments, **named)
    except posvec.ModelError as error:
        return str(error)
load = posvec.Model.from_pretrained
push = posvec.load({str(tmp_path / "model")!r}).push_to_hub
print(json.dumps([
    message(load, "me/none"),
    message(load, "me/other"),
    message(load, "me/other", revision="v9"),
    message(push, "me/words", token="hf_wrong"),
    message(push, "my words", token="hf_right"),
]))
"""
    missing, foreign, revision, rights, spaces = json.loads(hub(program))
    for message in (missing, revision, spaces):
        assert "no such model on the hub that you may use; check the spelling and the revision" in message
    assert missing.startswith("there is no folder me/none, and")
    assert "is not a posvec model: its config.json belongs to another program" in foreign
    assert rights.startswith("the hub does not answer for me/words (")
    assert "403" in rights
    assert list(hub.repositories) == ["me/other"]
    unreached = hub("import posvec; posvec.Model.from_pretrained('me/words')", HF_ENDPOINT="http://127.0.0.1:9")
    assert unreached.startswith("posvec.errors.ModelError: the hub does not answer for me/words (")


def test_without_huggingface_hub_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "huggingface_hub", None)
    with pytest.raises(PosvecError, match=r'pip install "posvec\[hub\]"$'):
        posvec.Model.from_pretrained("me/words")
