"""Analogies: gensim's score on the same vectors, both methods, sections, coverage, subwords, bad input."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import posvec
from posvec import ConfigError, CorpusError, PosvecError, Vocabulary, WordVectors
from posvec.config import SubwordConfig
from posvec.evaluation import analogy, analogy_search
from posvec.evaluation import questions as questions_module
from posvec.evaluation.compare import compare
from posvec.subwords import build_rows

DIM = 12


def relations(seed: int = 0, words: int = 300) -> tuple[list[str], np.ndarray]:
    """Words in pairs that differ by about the same vector, some of them in two cases, so that answers are close."""
    random = np.random.default_rng(seed)
    offset = random.normal(size=DIM)
    names, rows = [], []
    for i in range(words // 2):
        base = random.normal(size=DIM)
        for name, row in ((f"base{i}", base), (f"form{i}", base + offset)):
            names.append(name)
            rows.append(row + 0.6 * random.normal(size=DIM))
            if i % 5 == 0:
                names.append(name.upper())
                rows.append(rows[-1] + 0.3 * random.normal(size=DIM))
    order = random.permutation(len(names))
    return [names[i] for i in order], (np.array(rows)[order] * random.uniform(0.5, 2, (len(rows), 1))).astype("f4")


def write_questions(path: Path, words: list[str], seed: int = 0, count: int = 600) -> Path:
    """Two sections; some questions twice, some with words that are unknown, some in another case."""
    random = np.random.default_rng(seed)
    lines = []
    for section in ("pairs", "gram-pairs"):
        lines.append(f": {section}")
        for i, j in random.integers(len(words) // 2 + 5, size=(count // 2, 2)):
            line = f"base{i} form{i} base{j} form{j}"
            lines += [line.title() if random.random() < 0.3 else line] * (2 if random.random() < 0.1 else 1)
    path.write_text("\n".join(lines) + "\n")
    return path


@pytest.fixture
def questions(tmp_path: Path) -> Path:
    return write_questions(tmp_path / "questions.txt", relations()[0])


@pytest.mark.parametrize("case_fold", [True, False])
@pytest.mark.parametrize("restrict_vocab", [None, 1000, 200])
@pytest.mark.parametrize("seed", [0, 1])
def test_every_section_has_gensim_s_score(
    tmp_path: Path, case_fold: bool, restrict_vocab: int | None, seed: int
) -> None:
    keyedvectors = pytest.importorskip("gensim.models.keyedvectors")
    words, table = relations(seed)
    path = write_questions(tmp_path / "questions.txt", words, seed)
    theirs = keyedvectors.KeyedVectors(DIM)
    theirs.add_vectors(words, table)
    # gensim slices by restrict_vocab, so that None is its default, 300,000.
    score, sections = theirs.evaluate_word_analogies(
        str(path), restrict_vocab=restrict_vocab or 300_000, case_insensitive=case_fold
    )
    ours = analogy.evaluate(
        WordVectors.from_table(words, table), path, restrict_vocab=restrict_vocab, case_fold=case_fold
    )
    assert 0.05 < score < 0.95  # otherwise there would be little to compare
    assert ours.accuracy == score
    assert [(counts.name, counts.correct, counts.total) for counts in ours.sections] == [
        (section["section"], len(section["correct"]), len(section["correct"]) + len(section["incorrect"]))
        for section in sections[:-1]
    ]


def test_a_vocabulary_of_several_chunks_has_gensim_s_score(tmp_path: Path) -> None:
    keyedvectors = pytest.importorskip("gensim.models.keyedvectors")
    words, table = relations(3, words=9000)
    assert len(words) > 2 * analogy_search.CANDIDATE_CHUNK
    path = write_questions(tmp_path / "questions.txt", words, 3, count=200)
    theirs = keyedvectors.KeyedVectors(DIM)
    theirs.add_vectors(words, table)
    score, _ = theirs.evaluate_word_analogies(str(path))
    assert score > 0
    assert analogy.evaluate(WordVectors.from_table(words, table), path).accuracy == score


@pytest.mark.filterwarnings("ignore:Call to deprecated `init_sims`")
def test_3cosmul_answers_as_gensim_s_most_similar_cosmul(questions: Path) -> None:
    keyedvectors = pytest.importorskip("gensim.models.keyedvectors")
    words, table = relations()
    words = [f"{word}_" if word.isupper() else word for word in words]  # no two differ in case alone
    theirs = keyedvectors.KeyedVectors(DIM)
    theirs.add_vectors(words, table)
    expected = []
    for line in questions.read_text().lower().splitlines():
        if not line.startswith(":") and all(word in theirs for word in line.split()):
            a, b, c, d = line.split()
            expected.append(theirs.most_similar_cosmul([b, c], [a], topn=1)[0][0] == d)
    ours = analogy.evaluate(WordVectors.from_table(words, table), questions, method="3cosmul")
    assert (ours.outcomes[ours.outcomes != analogy.SKIPPED] == expected).all()
    assert 0 < ours.accuracy < 1
    added = analogy.evaluate(WordVectors.from_table(words, table), questions)
    assert (ours.outcomes != added.outcomes).any()


def test_totals_add_up_by_section_and_by_kind(questions: Path) -> None:
    result = analogy.evaluate(WordVectors.from_table(*relations()), questions, restrict_vocab=250)
    assert [group.name for group in result.groups] == ["semantic", "syntactic"]
    for parts in (result.sections, result.groups):
        assert sum(counts.correct for counts in parts) == result.correct
        assert sum(counts.total for counts in parts) == result.total
        assert sum(counts.skipped for counts in parts) == result.skipped > 0
    assert result.accuracy == result.correct / result.total
    assert result.coverage == result.total / (result.total + result.skipped) == (result.outcomes >= 0).mean()
    assert "outcomes" not in result.to_dict()
    assert json.loads(result.to_json())["sections"][0]["name"] == "pairs"
    assert result.to_csv().splitlines()[-1].startswith(f"total,{result.accuracy},{result.correct},{result.total},")


def square(*extra: str) -> WordVectors:
    """man + royal = king, woman + royal = queen, and words that point elsewhere."""
    table = [[1, 0, 0, 0], [0, 1, 0, 0], [1, 0, 1, 0], [0, 1, 1, 0], *([[0, 0, 0, 1]] * len(extra))]
    return WordVectors.from_table(["man", "woman", "king", "queen", *extra], np.array(table, np.float32))


def ask(tmp_path: Path, text: str, vectors: WordVectors | None = None, **settings: object) -> analogy.AnalogyResult:
    path = tmp_path / "asked.txt"
    path.write_text(text, encoding="utf-8")
    return analogy.evaluate(vectors or square(), path, **settings)  # type: ignore[arg-type]


def test_any_accepted_answer_is_right_and_unknown_ones_do_not_matter(tmp_path: Path) -> None:
    assert ask(tmp_path, "man\tking\twoman\tempress/queen\n").accuracy == 1
    assert ask(tmp_path, "man king woman man\n").accuracy == 0
    with pytest.raises(
        PosvecError, match=r"^none of the 1 questions of .*asked\.txt can be asked, because each .*: .*empress"
    ):
        ask(tmp_path, "man\tking\twoman\tempress\n")


def test_words_of_the_question_are_excluded_and_without_candidates_the_answer_is_wrong(tmp_path: Path) -> None:
    vectors = WordVectors.from_table(["a", "b", "c"], np.eye(3, dtype=np.float32))
    assert ask(tmp_path, "a b c b\n", vectors).accuracy == 0
    assert ask(tmp_path, "a a a b\n", vectors).accuracy in (0, 1)


def test_of_equal_candidates_the_more_frequent_is_the_answer(tmp_path: Path) -> None:
    vectors = WordVectors.from_table(["a", "b", "c", "first", "second"], np.ones((5, 2), np.float32))
    assert ask(tmp_path, "a b c first\n", vectors).accuracy == 1
    assert ask(tmp_path, "a b c second\n", vectors).accuracy == 0


def test_vectors_of_zeros_are_never_answers_and_change_nothing(tmp_path: Path) -> None:
    words, table = square("nothing").index_to_key, square("nothing").table.copy()
    table[4] = 0
    for method in analogy.METHODS:
        assert ask(tmp_path, "man king woman queen\n", WordVectors.from_table(words, table), method=method).correct == 1


def test_words_outside_the_vocabulary_answer_through_their_subwords_on_request(tmp_path: Path) -> None:
    vocabulary = Vocabulary.from_counts({"walk": 9, "walked": 8, "jump": 7, "other": 5}, posvec.make_config(
        "subword", min_count=1).vocabulary)  # fmt: skip
    rows = build_rows(vocabulary, SubwordConfig(buckets=50_000))
    table = np.random.default_rng(0).normal(size=(rows.table_rows, 200)).astype(np.float32)
    vectors = WordVectors(vocabulary, rows, table)
    text = "walk walked jump jumped\nwalk walked jump other\n"
    skipped = ask(tmp_path, text, vectors)
    assert (skipped.skipped, skipped.total) == (1, 1)
    made = ask(tmp_path, text, vectors, oov="subwords")
    assert made.coverage == 1
    assert made.outcomes.tolist() == [analogy.RIGHT, analogy.WRONG]


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"method": "cos"}, r"^method must be one of 3cosadd, 3cosmul, not 'cos'$"),
        ({"restrict_vocab": 0}, r"^restrict_vocab is 0, but must be at least 1"),
        ({"oov": "guess"}, r"^oov must be skip or subwords, not 'guess'$"),
    ],
)
def test_invalid_settings_are_rejected(tmp_path: Path, settings: dict[str, object], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        ask(tmp_path, "man king woman queen\n", **settings)


def test_malformed_lines_are_named_or_counted(tmp_path: Path) -> None:
    text = ": family\nman king woman queen\nman king woman\n\nman king queen woman\n"
    with pytest.raises(CorpusError, match=r"asked\.txt, line 3: 3 fields instead of four.*--skip-invalid"):
        ask(tmp_path, text)
    result = ask(tmp_path, text, skip_invalid=True)
    assert (result.total, result.invalid_lines) == (2, 1)


@pytest.fixture(scope="module")
def model(corpus: Path, small: dict[str, object], tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("models") / "model"
    posvec.train(corpus, "subword", **small).save(path)  # type: ignore[arg-type]
    return path


def test_the_command_shows_a_table_writes_files_and_keeps_existing_files(
    model: Path, tmp_path: Path, posvec_command: Callable[..., object]
) -> None:
    questions = tmp_path / "questions.txt"
    questions.write_text(": some\nkaran lotek mimol nebis\nSudun taran lobis unknown\n")
    shown = posvec_command("evaluate", "analogy", model, questions)
    assert shown.code == 0, shown.err
    assert "some" in shown.out
    assert "50.0%" in shown.out  # coverage
    expected = analogy.evaluate(posvec.load(model), questions)
    out = tmp_path / "result.json"
    assert posvec_command("evaluate", "analogy", model, questions, "-o", out).code == 0
    assert json.loads(out.read_text()) == json.loads(expected.to_json())
    assert json.loads(posvec_command("evaluate", "analogy", model, questions, "--json").out) == expected.to_dict() | {
        "sections": [vars(counts) for counts in expected.sections]
    }
    again = posvec_command("evaluate", "analogy", model, questions, "-o", out)
    assert again.code == 1
    assert "--overwrite" in again.err
    assert posvec_command("evaluate", "analogy", model, questions, "-o", out, "--overwrite").code == 0


def test_the_command_reports_invalid_input_in_one_line(
    model: Path, tmp_path: Path, posvec_command: Callable[..., object]
) -> None:
    questions = tmp_path / "questions.txt"
    questions.write_text("karan lotek mimol\n")
    for arguments, message in [
        ((model, tmp_path / "none.txt"), "no such file or folder"),
        ((tmp_path / "none", questions), "none"),
        ((model, questions), "line 1: 3 fields"),
        ((model, questions, "-o", tmp_path / "out.txt"), "use the file extension .json or .csv"),
    ]:
        ended = posvec_command("evaluate", "analogy", *arguments)
        assert ended.code == 1
        assert message in ended.err
        assert ended.err.count("\n") == 1
        assert not ended.out


def test_progress_is_reported_and_its_exception_ends_the_evaluation(tmp_path: Path) -> None:
    words, table = relations(words=9000)
    vectors = WordVectors.from_table(words, table)
    path = write_questions(tmp_path / "questions.txt", words, count=20)
    reported: list[float] = []
    result = analogy.evaluate(vectors, path, restrict_vocab=None, progress=reported.append)
    assert reported == [1 / 3, 2 / 3, 1]
    assert result.correct == analogy.evaluate(vectors, path, restrict_vocab=None).correct

    def stop(fraction: float) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        analogy.evaluate(vectors, path, progress=stop)


def test_results_say_that_questions_were_sampled(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    words, table = relations()
    vectors = WordVectors.from_table(words, table)
    text = "".join(f"{one}\t{other}\n" for one, other in zip(words[:40], words[40:80], strict=True))
    everything = ask(tmp_path, text, vectors)
    assert (everything.total + everything.skipped, everything.left_out) == (40 * 39, 0)
    assert "sample" not in everything.tables()[0].title
    monkeypatch.setattr(questions_module, "QUESTION_LIMIT", 400)
    result = ask(tmp_path, text, vectors)
    assert (result.total + result.skipped, result.to_dict()["left_out"]) == (400, 40 * 39 - 400)
    assert "; a random sample of 400 of 1,560 questions" in result.tables()[0].title
    compared = compare({"one": vectors, "other": vectors}, tmp_path / "asked.txt", samples=5)
    assert compared.sampled == {"asked": (400, 1560)}
    assert "; of asked, a random sample of 400 of 1,560 questions" in compared.tables()[1].title


def test_more_given_words_get_fewer_candidates_at_a_time_and_the_same_answers(
    questions: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    vectors = WordVectors.from_table(*relations())
    expected = analogy.evaluate(vectors, questions).outcomes
    shapes: list[tuple[int, ...]] = []
    score_terms = analogy_search._score_terms

    def record(cosines: np.ndarray, method: analogy.AnalogyMethod) -> tuple[np.ndarray, np.ndarray]:
        shapes.append(cosines.shape)
        return score_terms(cosines, method)

    monkeypatch.setattr(analogy_search, "_score_terms", record)
    monkeypatch.setattr(analogy_search, "MAX_SCORES", 1000)
    assert (analogy.evaluate(vectors, questions).outcomes == expected).all()
    assert len(shapes) > 1
    assert all(rows * columns <= 1000 for rows, columns in shapes)


def test_results_of_many_sections_are_counted_in_time_proportional_to_the_questions(tmp_path: Path) -> None:
    started = time.process_time()
    result = ask(tmp_path, "".join(f": {i}\n" + "man king woman queen\n" * 40 for i in range(5000)))
    assert (len(result.sections), result.correct) == (5000, 200_000)
    assert time.process_time() - started < 5
