"""What the surroundings of a command can get wrong: each is refused in one sentence."""

from __future__ import annotations

import subprocess
import sys

import pytest

from posvec.config import SETTINGS
from posvec.errors import ConfigError, PosvecError
from posvec.evaluation import classification
from posvec.evaluation.bootstrap import resample
from posvec.model import Model
from posvec.presets import make_config

RUN = """
import sys
from posvec.cli import main
for arguments in {}:
    sys.argv = ["posvec", *arguments]
    try:
        main()
    except SystemExit as ended:
        print("exit code", ended.code, file=sys.stderr)
"""


def is_one_sentence(ended):
    return ended.code in (1, 2) and ended.err.startswith(("Error: ", "Usage: ")) and "Traceback" not in ended.err


def test_closed_standard_input(lm_model, tmp_path):
    commands = [["train", "-", "-o", "out"], ["vector", str(lm_model)], ["sentence-vectors", str(lm_model)]]
    ended = subprocess.run(
        ["sh", "-c", 'exec "$@" <&-', "sh", sys.executable, "-c", RUN.format(commands)],
        cwd=tmp_path,
        capture_output=True,
        text=True,
    )
    printed = ended.stderr.split("exit code 1\n")
    assert printed.pop() == ""
    assert len(printed) == len(commands)
    for each in printed:
        assert each.splitlines()[-1].startswith("Error: standard input is closed")
        assert "Traceback" not in each


@pytest.mark.parametrize("text", ["[" * 100_000, '{"dim":' * 100_000])
def test_a_deeply_nested_configuration(posvec_command, corpus, tmp_path, text):
    (tmp_path / "deep.json").write_text(text)
    ended = posvec_command("train", corpus, "-o", tmp_path / "out", "--config", tmp_path / "deep.json")
    assert is_one_sentence(ended)
    assert "nested too deeply" in ended.err


def test_a_cache_folder_of_an_unknown_user(posvec_command, corpus, tmp_path, monkeypatch):
    monkeypatch.setenv("POSVEC_CACHE", "~no-such-user/cache")
    for command in (["train", corpus, "-o", tmp_path / "out"], ["cache", "list"]):
        ended = posvec_command(*command)
        assert is_one_sentence(ended)
        assert "POSVEC_CACHE is ~no-such-user/cache" in ended.err


@pytest.mark.parametrize("name", [name for name, each in SETTINGS.items() if each.type is int])
def test_integers_of_many_digits(name):
    for value in (10**30, -(10**30)):
        with pytest.raises(ConfigError, match=name):
            make_config(**{name: value})


def test_seeds_that_scikit_learn_does_not_take(lm_model, tmp_path):
    (tmp_path / "labels.tsv").write_text("a\tkaran\nb\tlotek\n" * 5)
    with pytest.raises(ConfigError, match="0 to 4,294,967,295"):
        classification.evaluate(Model.load(lm_model), tmp_path / "labels.tsv", seed=2**32)


@pytest.mark.parametrize("given", [{"connectivity": 10**9}, {"effort": 10**12}, {"threads": 10**6}], ids=str)
def test_an_index_that_no_memory_holds(lm_model, given):
    pytest.importorskip("usearch")
    with pytest.raises(PosvecError, match=f"{next(iter(given))} of an index must be"):
        Model.load(lm_model).vectors.build_index(**given)


def test_bootstrap_samples_without_end():
    with pytest.raises(ConfigError, match="samples is"):
        resample(lambda items: items.mean(), 3, samples=10**30)
