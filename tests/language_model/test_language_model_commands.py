"""posvec lm, comparisons and figures, and features of transformers."""

from __future__ import annotations

import json
import os
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")
torch.set_num_threads(1)  # more threads only slow down such small matrices

from posvec import language_model  # noqa: E402
from posvec.errors import ConfigError, ModelError  # noqa: E402

FLAGS = ["--hidden", "16", "--epochs", "2", "--batch", "8", "--steps", "10"]
SMALL: dict[str, Any] = {"hidden": 16, "epochs": 1, "batch": 8, "steps": 10}
Command = Callable[..., Any]


@pytest.fixture(scope="module")
def runs(lm_model: Path, lm_data: Path, tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    folder = tmp_path_factory.mktemp("runs")
    paths = []
    for baseline in ("none", "random"):
        for seed in (1, 2):
            paths.append(folder / f"{baseline}-{seed}")
            language_model.train(lm_model, lm_data, paths[-1], **{**SMALL, "epochs": 2}, baseline=baseline, seed=seed)
    return paths


# ---- commands --------------------------------------------------------------------------------------------------------


def test_train_score_and_generate(posvec_command: Command, lm_model: Path, lm_data: Path, tmp_path: Path) -> None:
    run = tmp_path / "run"
    ended = posvec_command("lm", "train", lm_model, "--data", lm_data, "-o", run, *FLAGS)
    assert ended.code == 0, ended.err
    assert "test perplexity" in ended.err
    assert "epoch 2/2" in ended.err
    scored = posvec_command("lm", "score", run, "karan lotek", "--json")
    values = json.loads(scored.out)
    assert values["words"] == ["karan", "lotek", "<eos>"]
    assert all(value < 0 for value in values["log_probabilities"])
    assert "perplexity" in posvec_command("lm", "score", run, "karan lotek").out
    generated = posvec_command("lm", "generate", run, "karan", "-n", 5, "--seed", 4)
    assert generated.code == 0
    assert generated.out.split()[0] == "karan"
    assert posvec_command("lm", "generate", run).code == 0


def test_flags_are_the_settings(posvec_command: Command, lm_model: Path, lm_data: Path, tmp_path: Path) -> None:
    run = tmp_path / "run"
    flags = ["--no-freeze", "--no-tie", "--baseline", "random", "--name", "mine", "--max-words", "20", "-q"]
    ended = posvec_command("lm", "train", lm_model, "--data", lm_data, "-o", run, *FLAGS, *flags)
    assert (ended.code, ended.err, ended.out) == (0, "", "")
    report = language_model.load(run).report
    assert (report.config.freeze, report.config.tie, report.config.baseline) == (False, False, "random")
    assert (report.name, report.words, report.coverage.random) == ("mine", 20, 19)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["train", "MODEL", "--data", "nowhere", "-o", "RUN"], "no such file or folder: nowhere"),
        (["train", "nothing", "--data", "DATA", "-o", "RUN"], "there is no model at nothing"),
        (["train", "MODEL", "--data", "DATA", "-o", "RUN"], "--hidden 16"),
        (["train", "MODEL", "--data", "DATA", "-o", "MODEL"], "overwrite"),
        (["score", "MODEL", "karan"], "not a language model"),
        (["resume", "nothing"], "there is no model at nothing"),
        (["compare", "MODEL"], "not a language model"),
    ],
)
def test_invalid_input_is_reported_in_one_line(
    arguments: list[str], message: str, posvec_command: Command, lm_model: Path, lm_data: Path, tmp_path: Path
) -> None:
    paths = {"MODEL": lm_model, "DATA": lm_data, "RUN": tmp_path / "run"}
    ended = posvec_command("lm", *(paths.get(each, each) for each in arguments))
    assert ended.code == 1
    assert message in ended.err
    assert ended.err.count("\n") == 1
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize("flags", [["--lr", "1e30", "--clip", "1e30"], ["--lr", "1e5"]])
def test_divergence_is_reported_and_nothing_is_saved(
    posvec_command: Command, lm_model: Path, lm_data: Path, tmp_path: Path, flags: list[str]
) -> None:
    ended = posvec_command("lm", "train", lm_model, "--data", lm_data, "-o", tmp_path / "run", *FLAGS, *flags)
    assert ended.code == 1
    assert "training diverged: the loss is" in ended.err
    assert f"lower lr (now {float(flags[1]):g})" in ended.err
    assert not (tmp_path / "run").exists()


def test_ctrl_c_saves_and_resume_continues(
    posvec_command: Command, posvec_process: Command, lm_model: Path, lm_data: Path, tmp_path: Path
) -> None:
    run = tmp_path / "run"
    flags = ["--hidden", "16", "--epochs", "100000", "--batch", "8"]
    process = posvec_process("lm", "train", lm_model, "--data", lm_data, "-o", run, *flags)
    for line in iter(process.stderr.readline, b""):
        if line.startswith(b"epoch 2/"):
            break
    process.send_signal(2)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 130
    assert f"continue with: posvec lm resume {run}" in err.decode()
    done = language_model.load(run).report
    assert len(done.epochs) >= 2
    assert done.test_loss is None
    config = json.loads((run / "config.json").read_text())
    config["report"]["config"]["epochs"] = len(done.epochs) + 1
    (run / "config.json").write_text(json.dumps(config))
    assert posvec_command("lm", "resume", run).code == 0
    finished = language_model.load(run).report
    assert finished.epochs[: len(done.epochs)] == done.epochs
    assert finished.test_loss is not None


def test_without_pytorch_the_extra_is_named(
    posvec_command: Command, lm_model: Path, lm_data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)
    ended = posvec_command("lm", "train", lm_model, "--data", lm_data, "-o", tmp_path / "run", *FLAGS)
    assert ended.code == 1
    assert 'pip install "posvec[lm]"' in ended.err


# ---- comparisons -----------------------------------------------------------------------------------------------------


def test_a_comparison_averages_the_seeds_of_each_name(runs: list[Path]) -> None:
    comparison = language_model.compare(runs)
    assert set(comparison.groups()) == {"vectors", "random"}
    rows = {row[0]: row for row in comparison.tables()[0].rows}
    reports = [language_model.load(path).report for path in runs[:2]]
    tests = [report.test_perplexity for report in reports]
    assert rows["vectors"][1] == 2
    assert rows["vectors"][3] == pytest.approx(np.mean(tests))
    assert rows["vectors"][4] == pytest.approx(np.std(tests, ddof=1))
    curves = comparison.curves()
    column = curves.names.index("vectors")
    for epoch in range(2):
        expected = np.mean([report.epochs[epoch].validation_perplexity for report in reports])
        assert curves.perplexities[epoch][column] == pytest.approx(expected)


def test_compare_writes_tables_and_draws_the_figure(posvec_command: Command, runs: list[Path], tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    table, curves, figure = tmp_path / "table.csv", tmp_path / "curves.csv", tmp_path / "figure.svg"
    arguments = ["lm", "compare", *runs, "-o", table, "--curves", curves, "--plot", figure]
    ended = posvec_command(*arguments)
    assert (ended.code, ended.out) == (0, ""), ended.err
    assert table.read_text().startswith("vectors,runs,validation perplexity,test perplexity,deviation\n")
    assert len(curves.read_text().splitlines()) == 3
    drawn = figure.read_bytes()
    assert b"<svg" in drawn
    assert "exists already" in posvec_command(*arguments).err
    assert posvec_command(*arguments, "--overwrite").code == 0
    assert figure.read_bytes() == drawn


def test_compare_prints_and_rejects_unknown_file_formats(
    posvec_command: Command, runs: list[Path], tmp_path: Path
) -> None:
    assert "test perplexity" in posvec_command("lm", "compare", *runs).out
    assert len(json.loads(posvec_command("lm", "compare", *runs, "--json").out)["runs"]) == 4
    for flag in ("--output", "--curves", "--plot"):
        ended = posvec_command("lm", "compare", *runs, flag, tmp_path / "file.docx")
        assert ended.code == 1
        assert "file.docx has no known" in ended.err
    assert not list(tmp_path.iterdir())


def test_runs_of_different_texts_are_not_compared(
    runs: list[Path], lm_model: Path, lm_data: Path, tmp_path: Path
) -> None:
    language_model.train(lm_model, lm_data, tmp_path / "cut", **SMALL, train_tokens=100)
    with pytest.raises(ConfigError, match="different texts"):
        language_model.compare([runs[0], tmp_path / "cut"])


def test_runs_of_one_name_that_differ_in_more_than_the_seed_are_not_compared(
    posvec_command: Command, runs: list[Path], lm_model: Path, lm_data: Path, tmp_path: Path
) -> None:
    longer, named = tmp_path / "longer", tmp_path / "named"
    settings = {**SMALL, "epochs": 3, "dropout": 0.1}
    language_model.train(lm_model, lm_data, longer, **settings)
    ended = posvec_command("lm", "compare", *runs, longer)
    assert ended.code == 1
    assert f"{longer} and {runs[0]} are both named vectors, but differ in dropout, epochs; train" in ended.err
    language_model.train(lm_model, lm_data, named, **settings, name="longer")
    assert set(language_model.compare([*runs, named]).groups()) == {"vectors", "random", "longer"}
    with pytest.raises(ConfigError, match="is named twice"):
        language_model.compare([runs[0], runs[0].parent / "." / runs[0].name])


# ---- features of a transformer ---------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def gpt2(lines: list[str], tmp_path_factory: pytest.TempPathFactory) -> Path:
    transformers = pytest.importorskip("transformers")
    torch.manual_seed(1)
    return save_transformer(
        tmp_path_factory.mktemp("gpt2"),
        lines,
        lambda size: transformers.GPT2Model(
            transformers.GPT2Config(vocab_size=size, n_positions=24, n_embd=8, n_layer=1, n_head=2)
        ),
    )


def save_transformer(folder: Path, lines: list[str], make: Callable[[int], Any]) -> Path:
    """Save a tiny transformer with random weights and a tokenizer that splits words."""
    import transformers
    from tokenizers import Tokenizer, models, pre_tokenizers, trainers

    tokenizer = Tokenizer(models.BPE(unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    tokenizer.train_from_iterator(lines, trainers.BpeTrainer(vocab_size=40, special_tokens=["[UNK]", "[BOS]"]))
    transformers.PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, unk_token="[UNK]", bos_token="[BOS]"
    ).save_pretrained(folder)
    make(tokenizer.get_vocab_size()).save_pretrained(folder)
    return folder


@pytest.mark.parametrize("features", ["hidden", "embeddings"])
def test_vectors_are_trained_together_with_a_transformer(
    features: str, posvec_command: Command, gpt2: Path, lm_model: Path, lm_data: Path, tmp_path: Path
) -> None:
    run = tmp_path / "run"
    flags = ["--transformer", gpt2, "--transformer-features", features, *FLAGS]
    ended = posvec_command("lm", "train", lm_model, "--data", lm_data, "-o", run, *flags)
    assert ended.code == 0, ended.err
    assert "Loading" not in ended.err  # progress bars of other libraries are hidden
    loaded = language_model.load(run)
    assert loaded.network.lstm.input_size == 16 + 8
    assert loaded.network.weight is loaded.network.lookup
    # The features of a word do not depend on what follows, so a line can be read at once or word by word.
    score = loaded.score("karan lotek mimol")
    assert loaded.score("karan lotek").log_probabilities[:2] == pytest.approx(score.log_probabilities[:2], rel=1e-4)
    eos, karan, lotek = (loaded.words.index(word) for word in ("<eos>", "karan", "lotek"))
    _, state = loaded._predict([eos])
    logs, _ = loaded._predict([karan], state, [eos, karan])
    assert logs[-1, lotek].item() == pytest.approx(score.log_probabilities[1], rel=1e-4)
    assert loaded.generate("karan", words=3).startswith("karan")


def test_hidden_states_are_those_of_the_last_token_of_a_word_in_its_line(gpt2: Path) -> None:
    import transformers

    from posvec.language_model.transformer import open_features

    words = ["<eos>", "karan", "lotek", "mimol"]
    features = open_features(gpt2, "hidden", words)
    tokenizer = transformers.AutoTokenizer.from_pretrained(gpt2)
    model = transformers.AutoModel.from_pretrained(gpt2).eval()
    inputs = [0, 1, 2, 0, 3, *[1] * 12]  # two lines, the second too long for 24 positions
    found = features.of(np.array(inputs))
    pieces = [tokenizer(word)["input_ids"] for word in ("karan", "lotek", "mimol")]
    tokens = [tokenizer.bos_token_id, *pieces[0], *pieces[1]]
    with torch.no_grad():
        states = model(torch.tensor([tokens])).last_hidden_state[0].numpy()
    np.testing.assert_allclose(found[0], states[0], atol=1e-5)
    np.testing.assert_allclose(found[1], states[len(pieces[0])], atol=1e-5)
    np.testing.assert_allclose(found[2], states[-1], atol=1e-5)
    np.testing.assert_allclose(found[3], states[0], atol=1e-5)  # a line does not depend on the previous line
    assert (np.abs(found).sum(1) > 0).all()


def test_a_transformer_that_is_not_causal_is_rejected(
    lines: list[str], lm_model: Path, lm_data: Path, tmp_path: Path
) -> None:
    transformers = pytest.importorskip("transformers")
    torch.manual_seed(1)
    small = {"hidden_size": 8, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 8}
    bert = save_transformer(
        tmp_path / "bert", lines, lambda size: transformers.BertModel(transformers.BertConfig(vocab_size=size, **small))
    )
    with pytest.raises(ModelError, match="depend on following words"):
        language_model.train(lm_model, lm_data, **SMALL, transformer=bert)
    trained = language_model.train(lm_model, lm_data, **SMALL, transformer=bert, transformer_features="embeddings")
    assert trained.report.test_perplexity is not None


@pytest.mark.parametrize(
    ("folder", "message"),
    [("nothing", "there is no folder {} with a transformer"), ("", "cannot load a transformer and tokenizer from {}")],
)
def test_a_folder_without_a_transformer_is_rejected(
    folder: str, message: str, posvec_command: Command, lm_model: Path, lm_data: Path, tmp_path: Path
) -> None:
    pytest.importorskip("transformers")
    transformer, run = tmp_path / folder, tmp_path / "run"
    ended = posvec_command("lm", "train", lm_model, "--data", lm_data, "-o", run, "--transformer", transformer, *FLAGS)
    assert ended.code == 1
    assert message.format(transformer) in ended.err
    assert ended.err.count("\n") == 1
    assert not run.exists()


def test_without_transformers_the_extra_is_named(
    posvec_command: Command, lm_model: Path, lm_data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "transformers", None)
    flags = ["-o", tmp_path / "run", "--transformer", tmp_path, *FLAGS]
    ended = posvec_command("lm", "train", lm_model, "--data", lm_data, *flags)
    assert ended.code == 1
    assert 'pip install "posvec[transformers]"' in ended.err


def test_names_may_have_bytes_that_are_not_utf8(
    posvec_command: Command, lm_model: Path, lm_data: Path, tmp_path: Path
) -> None:
    name = os.fsdecode(b"caf\xe9")
    model, data, run = (tmp_path / f"{name}{part}" for part in ("", "-data", "-run"))
    shutil.copytree(lm_model, model)
    shutil.copytree(lm_data, data)
    settings = ["--epochs", 1, "--hidden", 16, "--batch", 2, "--steps", 5]
    ended = posvec_command("lm", "train", model, "--data", data, "-o", run, *settings)
    assert ended.code == 0, ended.err
    assert json.loads((run / "config.json").read_bytes())["report"]["name"] == name
