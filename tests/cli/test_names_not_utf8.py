"""Names of files that are not UTF-8: every command reads them, writes them and finds them again."""

from __future__ import annotations

import csv
import itertools
import json
import os
import shutil
import signal

import pytest

import posvec
from posvec.errors import PosvecError, UnknownWordError
from posvec.evaluation import documents
from posvec.system.utf8 import printable_text

NAME = os.fsdecode(b"caf\xe9")
ESCAPED = r"caf\udce9"


@pytest.fixture(scope="module")
def folder(corpus, lm_model, lines, tmp_path_factory):
    """A folder with a name that is not UTF-8, with a corpus, a model, questions, pairs and texts of such names."""
    folder = tmp_path_factory.mktemp("names") / NAME
    folder.mkdir()
    shutil.copy(corpus, folder / f"{NAME}.txt")
    shutil.copytree(lm_model, folder / NAME)
    words = lines[0].split()
    (folder / f"{NAME}-questions.txt").write_text(f": {words[0]}\n{' '.join(words[:4])}\n{' '.join(words[2:6])}\n")
    pairs = enumerate(itertools.pairwise(words))
    (folder / f"{NAME}-pairs.txt").write_text("".join(f"{one}\t{two}\t{score}\n" for score, (one, two) in pairs))
    return folder


@pytest.fixture
def run(posvec_command, folder):
    """Run a command whose arguments name files of the folder by their endings, as in ``{}-pairs.txt``."""

    def run(*arguments):
        return posvec_command(*(str(each).replace("{}", str(folder / NAME)) for each in arguments))

    return run


def test_interrupted_training_is_saved_and_finds_its_corpus_again(
    posvec_process, posvec_command, folder, long_corpus, flags, tmp_path
):
    text, model = tmp_path / f"{NAME}.txt", tmp_path / f"{NAME}-model"
    shutil.copy(long_corpus, text)
    interrupt = (
        "import os, signal\nfrom posvec.training import callbacks\nseen = []\n"
        "def on_chunk(self, progress):\n    seen.append(progress)\n"
        "    len(seen) == 50 and os.kill(os.getpid(), signal.SIGINT)\n"
        "callbacks.CallbackList.on_chunk = on_chunk\n"
    )
    process = posvec_process("train", text, "-o", model, *flags, before=interrupt)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 130, err
    assert f"posvec resume {printable_text(str(model))}" in err.decode()
    assert json.loads((model / "config.json").read_bytes())["state"]["sources"] == [str(text)]
    ended = posvec_command("resume", model)
    assert ended.code == 0, ended.err
    assert posvec.load(model, verify=True).state is None


@pytest.mark.parametrize(
    "command",
    [
        ["evaluate", "analogy", "{}", "{}-questions.txt", "-o", "{}-out.csv"],
        ["evaluate", "similarity", "{}", "{}-pairs.txt", "-o", "{}-out.json"],
        ["positions", "{}", "-o", "{}-out.csv", "--plot", "{}-out.svg"],
        ["compare", "{}", "{}-other", "--questions", "{}-questions.txt", "-o", "{}-out.json"],
        ["report", "{}", "-o", "{}-out.html", "--questions", "{}-questions.txt", "--pairs", "{}-pairs.txt"],
        ["export", "{}", "--to", "hub", "-o", "{}-out-hub"],
        ["context-words", "{}", "-o", "{}-out.csv"],
        ["convert", "{}", "{}-out.txt"],
        ["compress", "{}", "{}-out-compressed"],
        ["vocab", "{}.txt", "-o", "{}-out.txt"],
    ],
    ids=lambda command: " ".join(part for part in command if part.isalpha()),
)
def test_commands_write_files(run, folder, command):
    shutil.copytree(folder / NAME, folder / f"{NAME}-other", dirs_exist_ok=True)
    ended = run(*command, *(["--overwrite"] if command[0] != "vocab" else []))
    assert ended.code == 0, ended.err
    for path in folder.glob(f"{NAME}-out.*"):
        path.read_bytes().decode()  # UTF-8
        path.unlink()


def test_interrupted_language_models_are_saved_and_resumed(run, folder, lines, monkeypatch):
    pytest.importorskip("torch")
    (folder / f"{NAME}-data").mkdir()
    for name in ("train", "valid", "test"):
        (folder / f"{NAME}-data" / f"{name}.txt").write_text("\n".join(lines[:20]) + "\n")
    flags = ["--hidden", 8, "--no-tie", "--epochs", 2, "--batch", 2, "--steps", 5, "-q"]
    with monkeypatch.context() as patch:
        patch.setattr("posvec.language_model.training.mean_loss", lambda *_: signal.raise_signal(signal.SIGTERM) or 1.0)
        ended = run("lm", "train", "{}", "--data", "{}-data", "-o", "{}-lm", *flags)
    assert ended.code == 130
    assert "posvec lm resume" in ended.err
    assert ESCAPED in ended.err
    ended = run("lm", "resume", "{}-lm", "-q")
    assert ended.code == 0, ended.err
    assert run("lm", "score", "{}-lm", lines[0]).code == 0


def test_results_name_models_by_what_can_be_printed(run, folder):
    assert run("positions", "{}", "-o", "{}-out.csv", "--overwrite").code == 0
    with (folder / f"{NAME}-out.csv").open(encoding="utf-8", newline="") as file:
        assert next(csv.reader(file)) == ["position", ESCAPED]
    assert list(json.loads(run("positions", "{}", "--json").out)["models"]) == [NAME]


def test_a_search_has_a_corpus_and_a_folder_with_such_names(run, folder, flags):
    pytest.importorskip("optuna")
    objective = ["--objective", "validation_loss", "--validation", 0.1, "--space", "window=1..3"]
    ended = run("search", "{}.txt", "-o", "{}-search", "--trials", 1, *objective, *flags[:2], *flags[4:])
    assert ended.code == 0, ended.err
    assert list((folder / f"{NAME}-search").glob("*.json"))


def test_the_explorer_lists_models_by_names_that_a_client_can_send(folder):
    pytest.importorskip("fastapi")
    pytest.importorskip("httpx")
    from starlette.testclient import TestClient

    from posvec.explorer.application import make_application
    from posvec.explorer.loaded_models import load_models

    client = TestClient(make_application(load_models({NAME: folder / NAME})), "http://127.0.0.1")
    assert [model["name"] for model in client.get("/api/models").json()] == [ESCAPED]
    for address in ("model", "positions", "clusters"):
        assert client.get(f"/api/{address}", params={"model": ESCAPED}).status_code == 200
    missing = client.get("/api/model", params={"model": "another"})
    assert missing.status_code == 404
    assert ESCAPED in missing.json()["error"]


# ---- words ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "command",
    [
        ["neighbors", "{}", NAME],
        ["similarity", "{}", "karan", NAME],
        ["analogy", "{}", "karan", NAME, "karan"],
        ["vector", "{}", NAME],
        ["mask", "{}", f"{NAME} [MASK] karan"],
        ["mask", "{}", "karan [MASK]", "--word", NAME],
        ["mask", "{}", "karan [MASK]", "--why", NAME],
    ],
    ids=" ".join,
)
def test_a_word_that_is_not_utf8_is_refused_in_one_sentence(run, command):
    ended = run(*command)
    assert ended.code == 1
    assert ended.err.startswith("Error: ")
    assert ESCAPED in ended.err
    assert ended.err.count("\n") == 1


def test_words_that_are_not_utf8_have_no_vector(run, folder):
    ended = run("vector", "{}", "--unknown", "skip", NAME)
    assert (ended.code, ended.out) == (0, "")
    model = posvec.load(folder / NAME)
    assert not model.vectors.has_vector("\ud800")
    with pytest.raises(UnknownWordError):
        model.vectors.get_vector("\ud800")
    with pytest.raises(PosvecError, match="not UTF-8"):
        model.sentence_vector("\ud800 karan")


def test_texts_that_are_not_utf8_are_refused(folder):
    pytest.importorskip("scipy")
    with pytest.raises(PosvecError, match="not UTF-8"):
        documents.make_documents(posvec.load(folder / NAME), ["karan", "\ud800"])
