"""posvec reproduce, at a scale that takes seconds."""

from __future__ import annotations

import fcntl
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from posvec import ConfigError, CorpusError, ModelError
from posvec.reproduction import measures, paper, reproduce
from posvec.reproduction.claims import Claim, judge
from posvec.reproduction.experiments import EXPERIMENTS
from posvec.reproduction.findings import Findings, Mean
from posvec.reproduction.inputs import Inputs
from posvec.reproduction.scales import SCALES, Scale
from posvec.reproduction.workspace import Recipe, Workspace
from posvec.training.pipeline import Silent

for module in ("sklearn", "matplotlib", "optuna"):
    pytest.importorskip(module)

TINY = Scale(
    "tiny",
    "seconds",
    seeds=1,
    preset="posvec",
    words={"main": None, "sweep": 3000},
    windows=(5, 40, 50),
    positional_dims=(0, 60, 300),
    explosion_dim=24,
    trials=2,
    max_window=4,
    settings={"dim": 10, "buckets": 500, "min_count": 1, "sample": 0.0, "negatives": 2, "epochs": 1},
    language_model={"hidden": 10, "layers": 1, "epochs": 2, "batch": 4, "steps": 20, "train_tokens": 200},
)
QUALITATIVE = [each.name for each in EXPERIMENTS if each.qualitative]


@pytest.fixture(scope="module")
def given(lines, tmp_path_factory):
    """A folder with a corpus that has the words of the paper, analogies, pairs and texts for language modelling."""
    folder = tmp_path_factory.mktemp("given")
    draw = random.Random(4)
    known = [word for words in paper.CLASSES.values() for word in words]
    known += [
        *paper.MASKED_WORDS,
        *["unlike", "dogs", "cats", "fruit", "flies", "like", "king", "queen", "man", "woman"],
    ]
    text = [*lines[:300], *(" ".join(draw.sample(known, 9)) for _ in range(150))]
    draw.shuffle(text)
    (folder / "corpus.txt").write_text("\n".join(text) + "\n")
    (folder / "questions.txt").write_text(
        ": capital-world\nking queen man woman\n: gram1-plural\ndogs cats fruit flies\n"
    )
    (folder / "pairs.txt").write_text("king queen 9\ndogs cats 8\nfruit bark 1\nin for 3\n")
    (folder / "lm").mkdir()
    for part in ("train", "valid", "test"):
        (folder / "lm" / f"{part}.txt").write_text("\n".join(draw.sample(text, 20)) + "\n")
    return folder


@pytest.fixture(scope="module")
def whole(given, tmp_path_factory):
    """The output of a complete reproduction."""
    pytest.importorskip("torch")
    output = tmp_path_factory.mktemp("whole") / "results"
    report = reproduce(
        given / "corpus.txt", output, scale=TINY, questions=given / "questions.txt", pairs=given / "pairs.txt",
        language_data=given / "lm", threads=1, command="posvec reproduce --corpus corpus.txt",
    )  # fmt: skip
    assert report == output / "report.md"
    return output


def tiny(corpus, output, **options):
    return reproduce(corpus, output, scale=TINY, **{"threads": 1, **options}).read_text()


def measured(output):
    """The contents of the files of findings, and when each was written."""
    return {file.name: (file.stat().st_mtime_ns, json.loads(file.read_text())) for file in output.glob("data/*.json")}


# ---- the report -------------------------------------------------------------------------------------------------


def test_the_report_has_every_experiment_with_its_figures(whole):
    text, page = (whole / "report.md").read_text(), (whole / "report.html").read_text()
    for experiment in EXPERIMENTS:
        assert f"\n## {experiment.title}\n" in text
        assert f"<h2>{experiment.title}</h2>" in page
        assert f"| {experiment.title} | " in text
    assert text.count(" | complete | ") == len(EXPERIMENTS)
    assert "No part is missing." in text
    figures = sorted(file.name for file in (whole / "figures").iterdir())
    assert len(figures) == page.count("<svg") == 8
    assert all(f"](figures/{name})" in text for name in figures)


def test_the_report_has_the_corpus_the_command_and_the_machine(whole):
    text = (whole / "report.md").read_text()
    for fact in ("corpus.txt: 4,950 words", "posvec reproduce --corpus corpus.txt", f"NumPy {np.__version__}".lower(),
                 " of memory", "| commit |", "about 3,000 words, 1 epoch, D = 10"):  # fmt: skip
        assert fact in text
    assert str(whole.parent) not in text


def test_numbers_of_the_paper_are_beside_the_reproduced_ones(whole):
    text = (whole / "report.md").read_text()
    assert "| subword | 360.91 | " in text
    assert "| 5 | 65.3% | " in text
    assert "| positional | 15 | 10 | 4h12 | " in text
    accuracy = measured(whole)["windows-1.json"][1]["variants"]["positional 40"]["accuracy"]
    assert "| 40 | 58.0% | " in text
    assert f"| 71.7% | {accuracy:.1%} |" in text


def test_every_claim_is_judged_and_disagreements_are_listed(whole):
    findings = Findings(whole / "data")
    verdicts = [judge(claim, findings) for each in EXPERIMENTS for claim in each.claims]
    assert all(verdict.agrees is not None for verdict in verdicts)
    text = (whole / "report.md").read_text()
    _, _, rest = text.partition("## Disagreements with the paper\n")
    section, _, _ = rest.partition("\n## ")
    against = [verdict for verdict in verdicts if not verdict.agrees]
    assert against
    assert len(against) < len(verdicts)
    assert section.count("\n- ") == len(against)
    assert f"Of {len(verdicts)} claims that could be compared, {len(verdicts) - len(against)} agree." in section
    for verdict in against:
        assert (
            f"- {verdict.claim.text}. The paper: {verdict.claim.paper}. Here: {verdict.measured}; this disagrees"
            in section
        )


def test_models_are_removed_at_the_end(whole):
    assert sorted(file.name for file in whole.iterdir()) == ["data", "figures", "report.html", "report.md", "run.json"]


# ---- continuing -------------------------------------------------------------------------------------------------


def test_findings_are_not_measured_again_and_seeds_can_be_added(whole, given):
    before = measured(whole)
    options = {"questions": given / "questions.txt"}
    tiny(given / "corpus.txt", whole, **options)
    assert measured(whole) == before
    text = tiny(given / "corpus.txt", whole, seeds=3, only=["positions"], **options)
    after = measured(whole)
    assert {name: after[name] for name in before} == before
    assert set(after) - set(before) == {"positions-2.json", "positions-3.json"}
    assert " ± " in text


KILLED = """
import sys
sys.path.insert(0, sys.argv[1])
from test_reproduction import TINY, QUALITATIVE
from posvec.reproduction import reproduce
reproduce(sys.argv[2], sys.argv[3], scale=TINY, threads=1, seeds=2, only=["variances", *QUALITATIVE])
"""


def test_a_killed_reproduction_continues_with_what_is_missing(given, tmp_path):
    output = tmp_path / "results"
    arguments = [sys.executable, "-c", KILLED, str(Path(__file__).parent), str(given / "corpus.txt"), str(output)]
    process = subprocess.Popen(arguments, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    deadline = time.monotonic() + 300
    while not (output / "data" / "positions-1.json").exists():
        assert process.poll() is None
        assert time.monotonic() < deadline
        time.sleep(0.01)
    process.kill()
    process.wait()
    before = measured(output)
    text = tiny(given / "corpus.txt", output, seeds=2, only=["variances", *QUALITATIVE])
    after = measured(output)
    assert set(after) == {"variances-1.json", *(f"{name}-{seed}.json" for name in QUALITATIVE for seed in (1, 2))}
    done = [
        name for name, (_, content) in before.items() if len(content["variants"]) == 2 or name == "variances-1.json"
    ]
    assert "masked-words-1.json" in done
    assert {name: after[name] for name in done} == {name: before[name] for name in done}
    assert text.count(" | complete | ") == 1 + len(QUALITATIVE)


def test_interrupted_training_resumes_from_its_checkpoint(long_corpus, tmp_path):
    class Interrupting(Silent):
        blocks = 0

        def on_chunk(self, progress):
            self.blocks += 1
            if self.blocks == 40:
                signal.raise_signal(signal.SIGINT)

    def workspace(display):
        return Workspace(str(long_corpus), 96_000, tmp_path, TINY, Inputs(), 1, display)

    recipe = Recipe("constrained", "main")
    uninterrupted = workspace(Silent())
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with pytest.raises(KeyboardInterrupt):
            workspace(Interrupting()).model(recipe, 1)
    finally:
        signal.signal(signal.SIGINT, before)
    resumed = uninterrupted.model(recipe, 1)
    uninterrupted.remove_model(recipe, 1)
    assert uninterrupted.cpu_seconds(recipe, 1) is None
    whole = uninterrupted.model(recipe, 1)
    assert whole.output_vectors.tobytes() == resumed.output_vectors.tobytes()
    seconds = uninterrupted.cpu_seconds(recipe, 1)
    assert seconds is not None
    assert seconds > 0


def test_a_folder_has_one_corpus_unless_overwritten(given, corpus, tmp_path):
    output = tmp_path / "results"
    first = tiny(given / "corpus.txt", output, only=["positions"])
    with pytest.raises(
        ModelError, match=r"another value of corpus; choose another output, or start again with --overwrite"
    ):
        tiny(corpus, output, only=["positions"])
    with pytest.raises(ModelError, match="another value of sentences"):
        tiny(given / "corpus.txt", output, only=["positions"], sentences=["a [MASK]"])
    assert tiny(given / "corpus.txt", output, only=["positions"]) == first
    assert tiny(corpus, output, only=["variances"], overwrite=True) != first
    assert list(measured(output)) == ["variances-1.json"]


def test_two_processes_do_not_work_in_one_folder(given, tmp_path):
    (tmp_path / "results").mkdir()
    lock = os.open(tmp_path / "results", os.O_RDONLY)
    fcntl.flock(lock, fcntl.LOCK_EX)
    with pytest.raises(ModelError, match="another process is working"):
        tiny(given / "corpus.txt", tmp_path / "results", only=["variances"])
    os.close(lock)


def test_a_reproduction_killed_before_it_wrote_its_identity_starts_again(given, tmp_path):
    (tmp_path / "results" / "work").mkdir(parents=True)
    (tmp_path / "results" / ".posvec-0123456789ab.tmp").write_text("{")
    tiny(given / "corpus.txt", tmp_path / "results", only=["variances"])
    names = {path.name for path in (tmp_path / "results").iterdir()}
    assert {"run.json", "report.md"} <= names
    assert not names & {"work", ".posvec-0123456789ab.tmp"}


# ---- inputs -----------------------------------------------------------------------------------------------------


def test_experiments_without_data_are_skipped_with_the_remedy_in_the_report(given, tmp_path):
    text = tiny(given / "corpus.txt", tmp_path / "results", only=["windows", "language-model", "search", "variances"])
    assert "skipped: no word analogies were given; add --questions FILE" in text
    assert "skipped: no texts for language modelling were given; add --language-data FOLDER" in text
    assert "3 parts are missing." in text
    assert list(measured(tmp_path / "results")) == ["variances-1.json"]


def test_a_qualitative_reproduction_in_another_language(given, posvec_command, tmp_path, monkeypatch):
    monkeypatch.setitem(SCALES, "small", TINY)
    output = tmp_path / "česky"
    ended = posvec_command(
        "reproduce", "--corpus", given / "corpus.txt", "-o", output, "--qualitative", "--threads", 1, "--keep-models",
        "--sentence", "karan [MASK] lotek", "--word", "mimol", "--word", "unknown", "--context-word", "nebis",
    )  # fmt: skip
    assert ended.code == 0, ended.err
    text = (output / "report.md").read_text()
    assert "--corpus corpus.txt" in text
    assert str(tmp_path) not in text
    assert "karan [MASK] lotek" in text
    assert "| nebis |" in text
    found = measured(output)
    assert set(found) == {f"{name}-1.json" for name in QUALITATIVE}
    predictions = found["masked-words-1.json"][1]["variants"]["positional"]["karan [MASK] lotek"]
    assert "mimol" in predictions
    assert "unknown" not in predictions
    assert (output / "work" / "models" / "main-positional-1" / "config.json").exists()


def test_a_qualitative_reproduction_has_no_default_sentences(given, tmp_path):
    text = tiny(given / "corpus.txt", tmp_path / "results", only=["masked-words"], qualitative=True)
    assert "no sentences were given; add --sentence" in text
    assert paper.SENTENCES[0] not in text


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"only": ["position"]}, ConfigError, r"no experiment 'position' \(did you mean positions\?\); choose from"),
        ({"only": ["windows"], "qualitative": True}, ConfigError, "none of the given experiments is qualitative"),
        ({"seeds": 0}, ConfigError, "seeds is 0, but must be at least 1"),
        ({"threads": -1}, ConfigError, "threads is -1, but must be at least 0"),
        ({"preset": "papers"}, ConfigError, "no preset 'papers'; choose from posvec"),
        ({"sentences": ["no gap"]}, ConfigError, r"'no gap' must have exactly one \[MASK\]"),
        ({"questions": "nowhere.txt"}, CorpusError, r"nowhere\.txt"),
        ({"language_data": "nowhere"}, CorpusError, "nowhere"),
    ],
)
def test_invalid_options_are_refused_before_anything_is_done(given, tmp_path, options, error, message):
    with pytest.raises(error, match=message):
        tiny(given / "corpus.txt", tmp_path / "results", **options)
    assert not (tmp_path / "results").exists()


def test_an_invalid_scale_or_corpus_is_refused(given, tmp_path):
    with pytest.raises(ConfigError, match="no scale 'huge'; choose from small, medium, full"):
        reproduce(given / "corpus.txt", tmp_path / "results", scale="huge")
    with pytest.raises(ConfigError, match="give files or the name of a dataset"):
        reproduce(["some words here", "and there"], tmp_path / "results", scale=TINY)


def test_a_folder_with_other_files_is_refused(given, posvec_command, tmp_path):
    (tmp_path / "mine.txt").write_text("mine")
    ended = posvec_command("reproduce", "--corpus", given / "corpus.txt", "-o", tmp_path, "--only", "variances")
    assert ended.code == 1
    assert ended.err.startswith(f"Error: {tmp_path} is neither empty nor a reproduction")
    ended = posvec_command("reproduce", "--corpus", given / "corpus.txt", "-o", tmp_path / "mine.txt", "--overwrite")
    assert ended.code == 1
    assert "is a file, but the output must be a folder" in ended.err
    assert [file.name for file in tmp_path.iterdir()] == ["mine.txt"]


def test_damaged_findings_are_named(given, tmp_path):
    tiny(given / "corpus.txt", tmp_path / "results", only=["variances"])
    file = tmp_path / "results" / "data" / "variances-1.json"
    file.write_text(file.read_text()[:50])
    with pytest.raises(ModelError, match=r"variances-1\.json is damaged .* remove it, and it will be measured again"):
        tiny(given / "corpus.txt", tmp_path / "results", only=["variances"])
    file.unlink()
    assert "complete" in tiny(given / "corpus.txt", tmp_path / "results", only=["variances"])
    shutil.rmtree(tmp_path / "results")


# ---- claims -----------------------------------------------------------------------------------------------------


@pytest.fixture
def found(tmp_path):
    """Findings of three seeds: a is 1, 2, 3, little is close to it, and much is much larger."""
    findings = Findings(tmp_path / "data")
    for seed, (little, much) in enumerate([(1.1, 9.0), (1.9, 9.5), (3.2, 10.0)], 1):
        findings.add("x", "v", seed, {"a": float(seed), "little": little, "much": much}, "abc", 1.0)
    findings.add("x", "single", 1, {"a": 1.0}, "abc", 1.0)
    return Findings(tmp_path / "data")


@pytest.mark.parametrize(
    ("one", "relation", "other", "tolerance", "label"),
    [
        ("a", "<", "much", 0, "agrees"),
        ("a", ">", "much", 0, "disagrees"),
        ("a", "<", "little", 0, "agrees (uncertain)"),
        ("a", ">", "little", 0, "disagrees (uncertain)"),
        ("a", "≈", "little", 1, "agrees"),
        ("a", "≈", "little", 0.1, "agrees (uncertain)"),
        ("a", "≈", "little", 0.01, "disagrees (uncertain)"),
        ("a", "≈", "much", 2, "disagrees"),
        ("a", ">", "absent", 0, ""),
    ],
)
def test_claims_are_judged_by_the_mean_difference_and_its_interval(found, one, relation, other, tolerance, label):
    def number(name):
        return lambda seed: seed["x"]["v"][name]

    verdict = judge(Claim("", "", number(one), relation, number(other), tolerance=tolerance), found)
    assert verdict.label == label
    assert (verdict.measured == "not measured") == (not label)


def test_a_verdict_of_one_seed(found):
    verdict = judge(Claim("A is small", "a < 2", lambda seed: seed["x"]["single"]["a"], "<", 2.0, ".1f"), found)
    assert verdict.sentence() == "A is small. The paper: a < 2. Here: 1.0 against 2.0; this agrees (one seed)."


def test_intervals_agree_with_students_t(found):
    stats = pytest.importorskip("scipy.stats")
    values = [each["much"] for each in found.of("x", "v")]
    mean = found.mean("x", "v", "much")
    low, high = stats.ttest_1samp(values, 0).confidence_interval(0.95)
    assert (mean.value - mean.half_width, mean.value + mean.half_width) == pytest.approx((low, high))
    assert mean.format(".1f") == "9.5 ± 1.2"
    assert Mean.of([0.5]).format(".0%") == "50%"
    assert found.mean("x", "v", "absent") is None


# ---- samples and initial values ---------------------------------------------------------------------------------


def test_a_sample_of_the_corpus_has_lines_spread_evenly(tmp_path):
    (tmp_path / "corpus.txt").write_text("".join(f"{number} word\n" for number in range(6000)))
    workspace = Workspace(tmp_path / "corpus.txt", 12_000, tmp_path, TINY, Inputs(), 1, Silent())
    assert workspace.corpus("main") == tmp_path / "corpus.txt"
    numbers = [int(line.split()[0]) for line in workspace.corpus("sweep").read_text().splitlines()]
    assert len(numbers) == 1500
    assert set(np.diff(numbers)) == {4}


def test_positional_features_are_in_proportion_to_the_dim():
    assert [SCALES["small"].positional_dim(size) for size in (0, 60, 300)] == [0, 60, 300]
    assert [TINY.positional_dim(size) for size in (0, 60, 300)] == [0, 2, 10]


def test_the_product_of_square_root_uniform_variables_is_uniform():
    stats = pytest.importorskip("scipy.stats")
    product = measures.sample_square_root_uniform(1) * measures.sample_square_root_uniform(2)
    assert stats.kstest(product[:20_000], stats.uniform(0, 2).cdf).pvalue > 0.01
