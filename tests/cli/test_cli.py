"""The command line: train, resume, info, vocab, cache and help."""

from __future__ import annotations

import gzip
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

import posvec
from posvec.config import SETTINGS
from posvec.system.signals import STOP_SIGNALS

TABLES = ("input_vectors", "output_vectors", "positional_vectors")


def same(one, other):
    return all(np.array_equal(getattr(one, name), getattr(other, name)) for name in TABLES)


def contents(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir()}


@pytest.fixture(scope="module")
def saved(corpus, small, tmp_path_factory):
    """The folder of a saved constrained and a saved general model."""
    folder = tmp_path_factory.mktemp("models")
    for kind in ("constrained", "general"):
        posvec.train(corpus, kind, **small, output=folder / kind)
    return folder


# ---- train ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["general", "subword", "positional", "constrained"])
def test_train_saves_the_model_that_the_library_would_make(posvec_command, corpus, flags, small, tmp_path, kind):
    ended = posvec_command("train", corpus, "-o", tmp_path / "model", "--model", kind, *flags)
    assert ended.code == 0, ended.err
    assert same(posvec.load(tmp_path / "model", verify=True), posvec.train(corpus, kind, **small))


def test_train_reports_in_plain_lines_without_a_terminal(posvec_command, corpus, flags, tmp_path):
    ended = posvec_command("train", corpus, "-o", tmp_path / "model", *flags, "--epochs", 2, "--validation", 0.1)
    assert ended.out == ""
    assert "\x1b" not in ended.err
    for line in (
        r"^counting: done in \d+\.\d s$",
        r"^encoding: done in \d+\.\d s$",
        r"^epoch 1/2: loss \d\.\d+  validation loss \d\.\d+$",
        r"^epoch 2/2: loss",
        r"^7,200 words: 2 epochs, sample = 0, min_count = 1, D = 16, D' = 16, window 4, rate 0\.05 to 0$",
        r"^ +model +positional, D = 16, D' = 16, c = 4 *$",
        r"^ +corpus +7,200 words in 600 lines *$",
        r"^ +training +\d+\.\d s on 1 thread *$",
        r"^ +speed +[\d,]+ words/s *$",
        r"^ +learning rate +0\.05 to 0 *$",
        r"^ +validation loss +\d\.\d+ *$",
    ):
        assert re.search(line, ended.err, re.MULTILINE), (line, ended.err)


def test_train_can_be_quiet(posvec_command, corpus, flags, tmp_path):
    ended = posvec_command("train", corpus, "-o", tmp_path / "model", *flags, "--quiet")
    assert (ended.code, ended.out, ended.err) == (0, "", "")


def test_train_reads_several_files_folders_and_compressed_files(posvec_command, lines, flags, small, tmp_path):
    (tmp_path / "one.txt").write_text("\n".join(lines[:100]) + "\n")
    with gzip.open(tmp_path / "two.gz", "wt") as file:
        file.write("\n".join(lines[100:200]) + "\n")
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "three").write_text("\n".join(lines[200:]) + "\n")
    corpus = [tmp_path / "one.txt", tmp_path / "two.gz", tmp_path / "folder"]
    ended = posvec_command("train", *corpus, "-o", tmp_path / "model", *flags)
    assert ended.code == 0, ended.err
    assert same(posvec.load(tmp_path / "model"), posvec.train(iter(lines), **small))


def test_train_and_resume_read_standard_input(posvec_process, long_corpus, flags, small, tmp_path):
    model = tmp_path / "model"
    with long_corpus.open("rb") as text:
        process = posvec_process("train", "-", "-o", model, *flags, "--epochs", 6, stdin=text)
        send_after(process, b"epoch 1/6", signal.SIGINT)
    assert process.wait(60) == 130
    alone = posvec_process("resume", model)
    _, err = alone.communicate(timeout=60)
    assert alone.returncode == 1
    assert err.decode() == (
        f"Error: the corpus of {model} did not come from files alone; give it again: posvec resume {model} -\n"
    )
    with long_corpus.open("rb") as text:
        process = posvec_process("resume", model, "-", stdin=text)
        _, err = process.communicate(timeout=60)
    assert process.returncode == 0, err
    assert same(posvec.load(model), posvec.train(long_corpus, **{**small, "epochs": 6}))


def send_after(process, line, number):
    """Send a signal after a line appears on standard error, and return the lines after it."""
    for each in process.stderr:
        if each.startswith(line):
            process.send_signal(number)
            break
    return process.stderr.read().decode()


def test_flags_override_the_settings_of_a_file(posvec_command, corpus, tmp_path, small):
    (tmp_path / "settings.json").write_text(json.dumps({**small, "epochs": 3}))
    ended = posvec_command(
        "train", corpus, "-o", tmp_path / "model", "--config", tmp_path / "settings.json", "--dim", 12,
        "--model", "positional",
    )  # fmt: skip
    assert ended.code == 0, ended.err
    config = posvec.load(tmp_path / "model").config
    assert config == posvec.make_config("positional", **{**small, "epochs": 3, "dim": 12})


def test_train_takes_settings_from_the_config_of_a_model(posvec_command, corpus, saved, tmp_path):
    config = saved / "general" / "config.json"
    ended = posvec_command("train", corpus, "-o", tmp_path / "model", "--config", config)
    assert ended.code == 0, ended.err
    assert same(posvec.load(tmp_path / "model"), posvec.load(saved / "general"))
    refused = posvec_command("train", corpus, "-o", tmp_path / "other", "--config", config, "--model", "positional")
    assert refused.code == 2
    assert "Error: --config already has the kind of the model and all settings; leave out --model" in refused.err
    assert not (tmp_path / "other").exists()


def test_train_uses_a_saved_vocabulary(posvec_command, corpus, flags, tmp_path):
    words = tmp_path / "words.txt"
    assert posvec_command("vocab", corpus, "-o", words, "--max-words", 10).code == 0
    ended = posvec_command("train", corpus, "-o", tmp_path / "model", "--vocabulary", words, *flags)
    assert ended.code == 0, ended.err
    assert len(posvec.load(tmp_path / "model").vocabulary) == 10


def test_train_continues_a_model_on_more_text(posvec_command, saved, tmp_path):
    (tmp_path / "more").write_text("karan purrs lotek\n" * 20)
    ended = posvec_command("train", tmp_path / "more", "-o", tmp_path / "model", "--start", saved / "constrained")
    assert ended.code == 0, ended.err
    model = posvec.load(tmp_path / "model")
    assert "purrs" in model.vocabulary
    assert "sudun" in model.vocabulary
    refused = posvec_command(
        "train", tmp_path / "more", "-o", tmp_path / "other", "--start", saved / "constrained", "--preset", "small"
    )
    assert refused.code == 2
    assert "Error: --start already has the kind of the model and all settings; leave out --preset" in refused.err


def test_train_shows_a_progress_bar_in_a_terminal(corpus, flags, tmp_path):
    code, shown = in_a_terminal("train", corpus, "-o", tmp_path / "model", *flags, "--epochs", 40, "--validation", 0.1)
    assert code == 0, shown
    assert re.search(
        r"training .*━.* \d+ % .*epoch \d+/40  [\d.]+[Mk]? words/s  loss \d\.\d{3}  lr 0\.\d{4}  \d:\d\d left", shown
    )
    assert re.search(r"epoch 40/40: loss \d\.\d+  validation loss \d\.\d+", shown)
    assert "training report" in shown
    # Lines that are too long would break the bar, which is redrawn in place.
    plain = re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", shown)
    assert max(len(line) for line in re.split(r"[\r\n]+", plain) if "training" in line) <= 80


def in_a_terminal(*arguments, columns=80, close_after=None):
    """Run a command in a terminal, which is closed when it has shown something."""
    import fcntl
    import pty
    import struct
    import termios

    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    process = subprocess.Popen(
        [sys.executable, "-c", "from posvec.cli import main; main()", *map(str, arguments)],
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        env={**{k: v for k, v in os.environ.items() if k not in ("COLUMNS", "NO_COLOR")}, "TERM": "xterm-256color"},
        start_new_session=True,
        preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),
    )
    os.close(theirs)
    shown = b""
    while True:
        try:
            piece = os.read(ours, 65536)
        except OSError:  # Linux raises it if the other end is closed
            break
        if not piece:
            break
        shown += piece
        if close_after and close_after in shown:
            break
    os.close(ours)
    return process.wait(timeout=60), shown.decode(errors="replace")


# ---- interruption -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("kind", "validation"), [(signal.SIGINT, 0), *((kind, 0.1) for kind in STOP_SIGNALS[1:])])
def test_a_model_interrupted_by_a_signal_resumes_to_the_same_bytes(
    posvec_process, posvec_command, long_corpus, small, flags, tmp_path, kind, validation
):
    model = tmp_path / "model"
    extra = ["--epochs", 12, "--validation", validation, "--model", "constrained"]
    process = posvec_process("train", long_corpus, "-o", model, *flags, *extra)
    err = send_after(process, b"epoch 2/12", kind)
    assert process.wait(60) == 130
    assert f"Interrupted. The model so far is in {model}; continue with: posvec resume {model}\n" in err
    assert "Traceback" not in err
    done = posvec.load(model, verify=True).state.blocks_done
    assert 2 * 192 <= done < 12 * 192
    shown = posvec_command("info", model)
    assert f"Training was interrupted; continue with: posvec resume {model}" in shown.out
    assert "learning rate 0.05 to 0\n" in shown.out
    assert json.loads(posvec_command("info", model, "--json").out)["interrupted"] is True
    assert posvec_command("resume", model).code == 0
    whole = posvec.train(long_corpus, "constrained", **{**small, "epochs": 12}, validation=validation)
    assert same(posvec.load(model, verify=True), whole)
    again = posvec_command("resume", model)
    assert again.code == 1
    assert again.err.startswith(f"Error: training of {model} is complete; to train it further on more text, use ")


def test_a_killed_process_leaves_its_last_checkpoint(
    posvec_process, posvec_command, long_corpus, small, flags, tmp_path
):
    model = tmp_path / "model"
    extra = ["--epochs", 12, "--checkpoint-minutes", 0.001, "--model", "positional", "--score-limit", 0]
    process = posvec_process("train", long_corpus, "-o", model, *flags, *extra)
    send_after(process, b"epoch 3/12", signal.SIGKILL)
    assert process.wait(60) == -signal.SIGKILL
    assert posvec.load(model, verify=True).state.blocks_done > 0
    ended = posvec_command("resume", model)
    assert ended.code == 0, ended.err
    assert same(
        posvec.load(model, verify=True),
        posvec.train(long_corpus, "positional", **{**small, "epochs": 12}, score_limit=0.0),
    )
    assert len(list(model.iterdir())) == 3  # no temporary files of the killed process


SIGNAL_IN_THE_FINAL_SAVE = """
import os, signal
from posvec.storage import model_files
dump = model_files.save_folder
def save(*arguments, **options):
    os.kill(os.getpid(), signal.{name})
    os.kill(os.getpid(), signal.{name})
    dump(*arguments, **options)
model_files.save_folder = save
"""


@pytest.mark.parametrize("kind", STOP_SIGNALS)
def test_a_signal_during_the_final_save_does_not_lose_the_model(posvec_process, corpus, small, flags, tmp_path, kind):
    model = tmp_path / "model"
    before = SIGNAL_IN_THE_FINAL_SAVE.format(name=kind.name)
    process = posvec_process("train", corpus, "-o", model, "-q", *flags, before=before)
    _, err = process.communicate(timeout=60)
    assert err.decode() == f"Interrupted after training was complete; the model is in {model}.\n"
    assert process.returncode == 130
    assert same(posvec.load(model, verify=True), posvec.train(corpus, **small))
    assert posvec.load(model).state is None


def test_a_closed_terminal_saves_the_model(long_corpus, small, flags, tmp_path):
    model = tmp_path / "model"
    code, shown = in_a_terminal(
        "train", long_corpus, "-o", model, *flags, "--epochs", 12, "--validation", 0.1, close_after=b"epoch 2/12"
    )
    assert code == 130, shown
    assert posvec.load(model, verify=True).state.blocks_done >= 192
    whole = posvec.train(long_corpus, **{**small, "epochs": 12}, validation=0.1)
    assert same(posvec.resume(model), whole)


def test_training_goes_on_when_nobody_reads_its_progress_any_more(posvec_process, long_corpus, small, flags, tmp_path):
    process = posvec_process("train", long_corpus, "-o", tmp_path / "model", *flags, "--epochs", 3)
    process.stderr.readline()
    process.stderr.close()  # as after | head -1
    process.stderr = None
    assert process.wait(60) == 0
    whole = posvec.train(long_corpus, **{**small, "epochs": 3})
    assert same(posvec.load(tmp_path / "model", verify=True), whole)


def test_ctrl_c_before_training_saves_nothing(posvec_process, tmp_path, saved, flags):
    shutil.copytree(saved / "general", tmp_path / "model")
    before = contents(tmp_path / "model")
    process = posvec_process("train", "-", "-o", tmp_path / "model", "--overwrite", *flags, stdin=subprocess.PIPE)
    process.stdin.write(b"one two three\n" * 100_000)  # more than a pipe holds: some of it was read
    process.stdin.flush()
    time.sleep(0.1)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 130
    model = tmp_path / "model"
    assert err.decode() == f"Interrupted before the first checkpoint; nothing was saved; {model} is unchanged.\n"
    assert contents(model) == before


# ---- errors -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nowhere.txt"], r"no such file or folder: nowhere.txt; check the spelling"),
        (["text", "nowhere.txt"], r"no such file or folder: nowhere.txt; check the spelling"),
        (["*.nothing"], r"no file matches the pattern \*.nothing; check"),
        (["empty"], r"there is no text in empty: it is empty; give a source that has some"),
        (["blank"], r"there are no words in blank; give a text that has words"),
        (["latin1"], r"latin1 is not UTF-8 in line 3; convert it, or use errors='replace' \(--errors replace\)"),
        (["cut.gz"], r"cut.gz is damaged or its extension is wrong"),
        (["text", "--min-count", 999], r"no word of text occurs 999 times: .*; lower min_count or give more text"),
        (["text", "--dim", 10, "--positional-dim", 11], r"positional_dim \(D' = 11\) is greater than dim \(D = 10\)"),
        (["text", "--window", 0], r"window is 0, but must be at least 1"),
        (["text", "--patience", 1], r"patience needs a validation loss"),
        (["text", "--initial-lr", "nan"], r"initial_lr is a number, not nan"),
        (["text", "--initial-lr", 1e20], r"the (parameters overflowed|loss grew to) .* lower initial_lr"),
        (["text", "--vocabulary", "nowhere"], r"there is no vocabulary nowhere; check the spelling"),
        (["text", "--vocabulary", "text"], r"text is damaged or not a vocabulary of posvec"),
        (["text", "--start", "nowhere"], r"there is no model at nowhere; check the path"),
        (["text", "--config", "nowhere"], r"there is no configuration nowhere; check the spelling"),
        (["text", "--config", "text"], r"text is not a JSON configuration .*; fix it or give another file"),
        (["text", "--config", "list.json"], r"list.json is not a configuration; it must contain settings"),
        (["text", "--config", "wrong.json"], r"there is no setting 'dims' \(did you mean dim\?\)"),
    ],
)  # fmt: skip
def test_errors_of_train_are_one_line_and_leave_no_files(
    posvec_command, tmp_path, monkeypatch, lines, arguments, message, flags
):
    monkeypatch.chdir(tmp_path)
    files = {
        "text": "\n".join(lines[:50]).encode(),
        "empty": b"",
        "blank": b" \n\n . \n",
        "latin1": b"one two\nthree\nna\xefve\n",
        "cut.gz": gzip.compress(b"one two three\n" * 1000)[:-10],
        "list.json": b"[1, 2]",
        "wrong.json": b'{"dims": 5}',
    }
    for name, content in files.items():
        (tmp_path / name).write_bytes(content)
    ended = posvec_command("train", *arguments[:1], *flags, "-o", "model", "-q", *arguments[1:])
    assert ended.code == 1
    assert re.match(r"Error: " + message, ended.err), ended.err
    assert ended.err.count("\n") == 1
    assert ended.out == ""
    assert not (tmp_path / "model").exists()


def test_invalid_utf_8_can_be_replaced(posvec_command, tmp_path, flags):
    (tmp_path / "latin1").write_bytes(b"one two three\n" * 20 + b"na\xefve two\n")
    ended = posvec_command("train", tmp_path / "latin1", "-o", tmp_path / "model", "--errors", "replace", *flags)
    assert ended.code == 0, ended.err
    assert "ve" in posvec.load(tmp_path / "model").vocabulary


def test_an_existing_model_is_only_replaced_with_overwrite(posvec_command, corpus, flags, tmp_path):
    train = ["train", corpus, "-o", tmp_path / "model", *flags, "-q"]
    assert posvec_command(*train).code == 0
    before = contents(tmp_path / "model")
    refused = posvec_command(*train, "--seed", 2)
    assert refused.code == 1
    assert refused.err == (
        f"Error: {tmp_path / 'model'} already holds a model; choose another output, or pass --overwrite "
        f"(overwrite=True)\n"
    )
    assert contents(tmp_path / "model") == before
    overflowed = posvec_command(*train, "--overwrite", "--initial-lr", 1e20)
    assert overflowed.code == 1
    assert contents(tmp_path / "model") == before
    assert posvec_command(*train, "--seed", 2, "--overwrite").code == 0
    assert posvec.load(tmp_path / "model").config.training.seed == 2


def test_a_folder_that_is_not_a_model_is_never_overwritten(posvec_command, corpus, flags, tmp_path):
    (tmp_path / "mine.txt").write_text("keep me")
    ended = posvec_command("train", corpus, "-o", tmp_path, *flags, "--overwrite")
    assert ended.code == 1
    assert ended.err.startswith(f"Error: {tmp_path} is neither empty nor a posvec model, so it is not overwritten")
    assert contents(tmp_path) == {"mine.txt": b"keep me"}


def test_overflow_is_reported_as_an_error(posvec_process, corpus, flags, tmp_path):
    process = posvec_process("train", corpus, "-o", tmp_path / "model", *flags, "--initial-lr", 1e20, "--threads", 3)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 1
    assert err.decode().splitlines()[-1].startswith("Error: the ")
    assert "training stopped: lower initial_lr (now 1e+20)" in err.decode()


def test_a_full_disk_leaves_existing_files_intact(posvec_process, corpus, saved, flags, tmp_path):
    shutil.copytree(saved / "general", tmp_path / "model")
    before = contents(tmp_path / "model")
    limit = "import resource; resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, 200_000))\n"
    for output in ("model", "new"):
        arguments = ["train", corpus, "-o", tmp_path / output, *flags, "--dim", 300, "--overwrite", "--quiet"]
        process = posvec_process(*arguments, before=limit)
        _, err = process.communicate(timeout=60)
        assert process.returncode == 1
        assert re.fullmatch(r"Error: cannot write .*safetensors: File too large; free some space .*\n", err.decode())
    assert contents(tmp_path / "model") == before
    assert not (tmp_path / "new").exists()


@pytest.mark.parametrize("command", ["info", "resume", "neighbors"])
def test_a_model_of_a_newer_version_is_refused(posvec_command, saved, tmp_path, command):
    shutil.copytree(saved / "general", tmp_path / "model")
    config = json.loads((tmp_path / "model" / "config.json").read_text())
    (tmp_path / "model" / "config.json").write_text(json.dumps({**config, "format_version": 99}))
    ended = posvec_command(command, tmp_path / "model", *(["karan"] if command == "neighbors" else []))
    assert ended.code == 1
    assert re.fullmatch(r"Error: .* was written by a newer posvec .*upgrade posvec to read it\n", ended.err)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["train"], "Missing argument 'CORPUS...'"),
        (["train", "text"], "Missing option '-o' / '--output'"),
        (["train", "text", "-o", "model", "--dim", "many"], "'many' is not a valid integer"),
        (["train", "text", "-o", "model", "--model", "cbow"], "'cbow' is not one of 'two-heads'"),
        (["train", "text", "-o", "model", "--dims", "5"], "No such option"),
        (["vocab", "text", "--top", "-3"], "-3 is not in the range"),
        (["fly"], "No such command 'fly'"),
    ],
)
def test_usage_errors_exit_with_2(posvec_command, arguments, message):
    ended = posvec_command(*arguments)
    assert ended.code == 2
    assert message in ended.err
    assert "Traceback" not in ended.err


# ---- the other commands -----------------------------------------------------------------------------------------


def test_info_shows_settings_and_report(posvec_command, saved):
    ended = posvec_command("info", saved / "constrained", "--verify")
    assert ended.code == 0
    assert ended.out.startswith("<constrained model: 30 words, ")
    assert re.search(r"^ +positional_dim +4 *$", ended.out, re.MULTILINE)
    assert re.search(r"^ +loss +\d\.\d+ *$", ended.out, re.MULTILINE)
    for name in SETTINGS:
        if name != "last_epoch":  # which is shown if the last epoch was cut short
            assert re.search(rf"^ +{name} +\S", ended.out, re.MULTILINE), name


def test_info_gives_json(posvec_command, saved):
    model = posvec.load(saved / "constrained")
    shown = json.loads(posvec_command("info", saved / "constrained", "--json").out)
    assert shown["kind"] == "constrained"
    assert shown["words"] == 30
    assert shown["settings"] == model.config.to_dict()
    assert shown["report"]["loss"] == model.report.loss
    assert shown["interrupted"] is False


def test_info_names_damaged_files(posvec_command, saved, tmp_path):
    shutil.copytree(saved / "general", tmp_path / "model")
    (tensors,) = (tmp_path / "model").glob("model-*")
    content = bytearray(tensors.read_bytes())
    content[-1] ^= 1
    tensors.write_bytes(content)
    assert posvec_command("info", tmp_path / "model").code == 0
    ended = posvec_command("info", tmp_path / "model", "--verify")
    assert ended.code == 1
    assert re.fullmatch(rf"Error: .*{tensors.name} is missing or damaged: its checksum .*\n", ended.err)


def test_vocab_shows_words_counts_and_coverage(posvec_command, tmp_path):
    (tmp_path / "text").write_text("b a c\na b\na d [b] [/b] :smile:\n")
    ended = posvec_command("vocab", tmp_path / "text", "--min-count", 1, "--sample", 0, "--tokenizer", "whitespace")
    assert ended.code == 0, ended.err
    assert "7 words that cover 10 of 10 tokens (100.0%); about 100.0% of tokens survive subsampling" in ended.out
    rows = re.findall(r"^ +(\S+) +(\d+) +[\d.]+% *$", ended.out, re.MULTILINE)
    assert rows[:2] == [("a", "3"), ("b", "2")]
    assert [word for word, _ in rows[2:]] == [":smile:", "[/b]", "[b]", "c", "d"]  # not interpreted as markup
    cut = posvec_command("vocab", tmp_path / "text", "--min-count", 2, "--top", 1)
    assert "2 words that cover" in cut.out
    assert len(re.findall(r"%\s*$", cut.out, re.MULTILINE)) == 1


def test_vocab_shows_the_vocabulary_of_a_model_and_of_a_file(posvec_command, corpus, saved, tmp_path):
    of_model = posvec_command("vocab", saved / "general")
    assert of_model.code == 0, of_model.err
    assert "30 words that cover 7,200 of 7,200 tokens" in of_model.out
    words = tmp_path / "words.txt"
    assert posvec_command("vocab", corpus, "--max-words", 7, "-o", words).code == 0
    assert posvec_command("vocab", words).out.startswith("7 words that cover")
    refused = posvec_command("vocab", words, "--min-count", 3)
    assert refused.code == 1
    assert refused.err == f"Error: {words} is already a vocabulary; leave out min_count, or give its corpus\n"


def test_vocab_only_replaces_a_file_with_overwrite(posvec_command, corpus, tmp_path):
    (tmp_path / "words").write_text("mine")
    refused = posvec_command("vocab", corpus, "-o", tmp_path / "words")
    assert refused.code == 1
    assert "exists already; choose another name or add --overwrite" in refused.err
    assert (tmp_path / "words").read_text() == "mine"
    assert posvec_command("vocab", corpus, "-o", tmp_path / "words", "--overwrite").code == 0


def test_the_cache_can_be_listed_and_cleared(posvec_command, corpus, flags, tmp_path, monkeypatch):
    monkeypatch.setenv("POSVEC_CACHE", str(tmp_path / "cache"))
    assert posvec_command("cache", "list").out == f"0 entries, 0 B in {tmp_path / 'cache'}\n"
    posvec_command("train", corpus, "-o", tmp_path / "model", *flags)
    listed = posvec_command("cache", "list")
    assert listed.code == 0
    assert re.search(rf"^2 entries, .* kB in {re.escape(str(tmp_path / 'cache'))}$", listed.out, re.MULTILINE)
    assert f"{time.localtime().tm_year}-" in listed.out
    cleared = posvec_command("cache", "clear")
    assert re.fullmatch(r"\d+\.\d kB freed\n", cleared.out)
    assert posvec_command("cache", "list").out.startswith("0 entries")


# ---- help and imports -------------------------------------------------------------------------------------------


def test_help_lists_every_command(posvec_command):
    ended = posvec_command("--help")
    assert ended.code == 0
    for command in (
        "train",
        "resume",
        "info",
        "vocab",
        "cache",
        "neighbors",
        "similarity",
        "analogy",
        "vector",
        "sentence-vectors",
        "index",
    ):
        assert re.search(rf"^  {command} +\w", ended.out, re.MULTILINE)


def test_help_of_train_shows_every_setting_with_its_default(posvec_command):
    shown = " ".join(posvec_command("train", "--help").out.split())
    for setting in SETTINGS.values():
        flag = "--" + setting.name.replace("_", "-")
        assert flag + " " in shown
        assert setting.help in shown, setting.name
    assert "[depends on --model]" in shown
    assert "[follows the corpus]" in shown
    assert f"[{SETTINGS['negatives'].default}]" in shown


def test_version(posvec_command):
    assert posvec_command("--version").out == f"posvec, version {posvec.__version__}\n"


def test_importing_posvec_is_fast():
    code = (
        "import time; started = time.process_time(); import posvec; took = time.process_time() - started; import sys; "
        "print([name for name in ('numpy', 'click', 'rich', 'posvec._kernel') if name in sys.modules], took)"
    )
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    names, seconds = shown.rsplit(maxsplit=1)
    assert names == "[]"
    assert float(seconds) < 0.15


def test_help_does_not_import_numpy():
    code = (
        "import sys; sys.argv = ['posvec', 'train', '--help']\n"
        "from posvec.cli import main\n"
        "try: main()\n"
        "except SystemExit: print([name for name in ('numpy', 'rich') if name in sys.modules])"
    )
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert shown.endswith("\n[]\n")


def test_every_public_name_can_be_imported():
    for name in posvec.__all__:
        assert getattr(posvec, name).__name__ == name
    with pytest.raises(AttributeError, match="has no attribute 'trian'"):
        posvec.trian  # noqa: B018
