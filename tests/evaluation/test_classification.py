"""Text classification: hand-computed soft cosines and word mover's distances, metrics, bad input."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import posvec
from posvec import ConfigError, CorpusError, PosvecError, WordVectors
from posvec.evaluation import classification
from posvec.evaluation.documents import (
    make_documents,
    soft_cosine_neighbors,
    term_similarity,
    word_mover_neighbors,
)

pytest.importorskip("scipy")
pytest.importorskip("sklearn")
pytest.importorskip("ot")

TOPICS = {"pets": ["cat", "dog", "hamster", "bird"], "cars": ["truck", "wheel", "engine", "road"]}


def vectors(noise: float = 0.3) -> WordVectors:
    """Words of a topic have the same vector plus noise."""
    random = np.random.default_rng(0)
    words = [word for topic in TOPICS.values() for word in topic]
    table = np.repeat(np.eye(2, 10), 4, axis=0) + noise * random.normal(size=(8, 10))
    return WordVectors.from_table(words, table.astype(np.float32))


def write_texts(path: Path, count: int = 60, seed: int = 0) -> Path:
    random = np.random.default_rng(seed)
    lines = []
    for i in range(count):
        label = list(TOPICS)[i % 2]
        words = random.choice([*TOPICS[label] * 8, *TOPICS["cars"], *TOPICS["pets"], "unseen"], 5)
        lines.append(f"{label}\t{' '.join(words).title()}!")
    path.write_text("\n".join(lines) + "\n")
    return path


def test_a_text_is_the_counts_of_its_words_and_the_mean_of_their_unit_vectors() -> None:
    table = np.array([[3, 0], [0, 2], [1, 1]], np.float32)
    documents = make_documents(WordVectors.from_table(["a", "b", "c"], table), ["A a, b", "x y", "b x"])
    assert documents.counts.toarray().tolist() == [[2, 1], [0, 0], [0, 1]]  # c does not occur
    np.testing.assert_allclose(documents.means(), [[2 / 3, 1 / 3], [0, 0], [0, 1]], rtol=1e-6)
    assert documents.known.tolist() == [True, False, True]
    assert documents.coverage == 4 / 7


def test_term_similarity_is_the_square_of_positive_cosines() -> None:
    vectors = np.array([[1, 0], [0.6, 0.8], [-1, 0], [0, 1]], np.float32)
    expected = [[1, 0.36, 0, 0], [0.36, 1, 0, 0.64], [0, 0, 1, 0], [0, 0.64, 0, 1]]
    np.testing.assert_allclose(term_similarity(vectors).toarray(), expected, atol=1e-6)


def test_term_similarity_keeps_its_nonzero_limit_symmetrically() -> None:
    random = np.random.default_rng(0).normal(size=(700, 5)).astype(np.float32)  # more than one chunk
    vectors = random / np.linalg.norm(random, axis=1, keepdims=True)
    vectors[5] = vectors[6]
    limited = term_similarity(vectors, 10).toarray()
    full = np.maximum(vectors @ vectors.T, 0) ** 2
    assert ((limited > 0).sum(1) <= 10).all()
    assert (limited > 0).sum() > 3000
    assert (limited == limited.T).all()
    np.testing.assert_allclose(limited.diagonal(), 1)
    np.testing.assert_allclose(limited[limited > 0], full[limited > 0], atol=1e-5)
    assert (term_similarity(vectors, 1).toarray() == np.eye(700)).all()


def test_soft_cosine_neighbors_are_those_of_the_formula() -> None:
    random = np.random.default_rng(1)
    words = [f"w{i}" for i in range(40)]
    found = WordVectors.from_table(words, random.normal(size=(40, 6)).astype(np.float32))
    texts = [" ".join(random.choice(words, 6)) for _ in range(50)]
    documents = make_documents(found, texts)
    similarities = term_similarity(documents.vectors)
    train, test = np.arange(35), np.arange(35, 50)
    counts, s = documents.counts.toarray(), similarities.toarray()
    weights = counts * (np.log(36 / (1 + (counts[:35] > 0).sum(0))) + 1)
    products = weights @ s @ weights.T
    measure = products / np.sqrt(np.outer(products.diagonal(), products.diagonal()))
    assert measure.max() <= 1 + 1e-9
    nearest = soft_cosine_neighbors(documents, similarities, train, test, 5)
    for text, near in zip(test, nearest, strict=True):
        np.testing.assert_allclose(measure[text, near], np.sort(measure[text, train])[::-1][:5], rtol=1e-5)


def test_word_mover_neighbors_are_those_of_exhaustive_exact_distances() -> None:
    import ot

    random = np.random.default_rng(2)
    words = [f"w{i}" for i in range(30)]
    found = WordVectors.from_table(words, random.normal(size=(30, 4)).astype(np.float32))
    texts = [" ".join(random.choice(words, random.integers(1, 8))) for _ in range(40)] + ["unknown"]
    documents = make_documents(found, texts)
    train, test = np.array([40, *range(30)]), np.array([*range(30, 41)])
    distances = np.linalg.norm(documents.vectors[:, None] - documents.vectors[None], axis=2).astype(float)
    weights = documents.counts.toarray() / np.maximum(documents.counts.sum(1), 1)[:, None]
    nearest = word_mover_neighbors(documents, train, test, 4)
    assert len(nearest[-1]) == 0
    for text, near in zip(test[:-1], nearest, strict=False):
        exact = [ot.emd2(weights[text], weights[other], distances) for other in train[1:]]
        np.testing.assert_allclose([exact[index - 1] for index in near], np.sort(exact)[:4], atol=1e-5)


def test_word_mover_distance_of_hand_made_texts() -> None:
    # From "a b" to "c", half the weight moves from (1, 0) and half from (0, 1) to (-1, 0), (2 + sqrt(2)) / 2 in all.
    # The distance to "a" is sqrt(2) / 2, and to itself 0.
    found = WordVectors.from_table(["a", "b", "c"], np.array([[1, 0], [0, 1], [-1, 0]], np.float32))
    documents = make_documents(found, ["c", "a", "b a", "a b"])
    assert word_mover_neighbors(documents, np.arange(3), np.array([3]), 3)[0].tolist() == [2, 1, 0]


@pytest.mark.parametrize("method", list(classification.METHODS))
def test_every_method_distinguishes_topics(tmp_path: Path, method: str) -> None:
    train, test = write_texts(tmp_path / "train.tsv"), write_texts(tmp_path / "test.tsv", 40, seed=1)
    result = classification.evaluate(vectors(), train, test, method)  # type: ignore[arg-type]
    (score,) = result.methods
    assert score.accuracy.value > 0.85
    assert score.accuracy.low <= score.accuracy.value <= score.accuracy.high
    assert result.chance == 0.5
    assert result.texts == 40
    crossed = classification.evaluate(vectors(), train, methods=method, folds=3)  # type: ignore[arg-type]
    assert crossed.texts == 60
    assert crossed.methods[0].accuracy.value > 0.85
    assert crossed.validation == "3-fold cross-validation"


def test_equal_vectors_do_not_distinguish_topics(tmp_path: Path) -> None:
    words = [word for topic in TOPICS.values() for word in topic]
    same = WordVectors.from_table(words, np.ones((8, 3), np.float32))
    result = classification.evaluate(same, write_texts(tmp_path / "train.tsv"), write_texts(tmp_path / "test.tsv", 41))
    assert result.methods[0].accuracy.value == pytest.approx(0.5, abs=0.02)


def test_scores_per_label_are_scikit_learn_s(tmp_path: Path) -> None:
    from sklearn.metrics import f1_score, precision_recall_fscore_support

    test = write_texts(tmp_path / "test.tsv", 50, seed=3)
    result = classification.evaluate(vectors(1.5), write_texts(tmp_path / "train.tsv"), test, ["linear", "scm"])
    gold = [line.split("\t")[0] for line in test.read_text().splitlines()]
    for score in result.methods:
        expected = precision_recall_fscore_support(gold, score.predictions)
        assert [each.label for each in score.labels] == ["cars", "pets"]
        np.testing.assert_allclose(
            np.array([(each.precision, each.recall, each.f1, each.texts) for each in score.labels]).T, expected
        )
        assert score.macro_f1 == pytest.approx(f1_score(gold, score.predictions, average="macro"))
    assert [row[0] for row in result.tables()[0].rows] == ["linear", "scm", "chance"]


def test_the_most_frequent_label_of_neighbours_wins_and_ties_go_to_the_nearest() -> None:
    documents = make_documents(vectors(), ["cat"] * 5)
    task = classification._Task(documents, np.array(["x", "y", "y", "x", "x"]), 9)
    nearest = [np.array([1, 0, 2]), np.array([1, 0]), np.array([0, 1]), np.array([], int)]
    assert task._vote(np.arange(5), nearest).tolist() == ["y", "y", "x", "x"]


def test_texts_without_known_words_are_counted_and_get_the_most_frequent_label(tmp_path: Path) -> None:
    test = tmp_path / "test.tsv"
    test.write_text("pets\tunseen words\npets\tcat dog\n")
    train = write_texts(tmp_path / "train.tsv", 21)
    train.write_text(train.read_text() + "cars\tblank\n" * 5)
    for method in classification.METHODS:
        result = classification.evaluate(vectors(), train, test, method)  # type: ignore[arg-type]
        assert result.unknown_texts == 1
        if method != "linear":
            assert result.methods[0].predictions.tolist() == ["cars", "pets"]


@pytest.mark.parametrize(
    ("text", "settings", "error", "message"),
    [
        ("pets\tcat\nno tab\n", {}, CorpusError, r"train\.tsv, line 2: the line should be a label, a tab and a text"),
        ("", {}, CorpusError, r"there is no text in"),
        ("pets\tcat\npets\tdog\n", {}, CorpusError, r"have the label pets; classification needs two"),
        ("pets\tcat\ncars\troad\n", {}, ConfigError, r"one text with the label pets, too few for cross-validation"),
        ("pets\tcat\ncars\troad\n" * 3, {}, ConfigError, r"folds is 5, but must be at least 2 and at most 3"),
        ("pets\tcat\ncars\troad\n" * 3, {"folds": 1}, ConfigError, r"folds is 1"),
        ("pets\tkatze\ncars\tstrasse\n" * 5, {}, PosvecError, r"no word of .*train\.tsv has a vector in this model"),
        (
            "pets\tcat\ncars\troad\n",
            {"methods": "svm"},
            ConfigError,
            r"method must be one of linear, scm, wmd, not 'svm'",
        ),
        ("pets\tcat\ncars\troad\n", {"neighbors": 0}, ConfigError, r"at least one method and one neighbor"),
        ("pets\tcat\ncars\troad\n", {"test": "none.tsv"}, CorpusError, r"no such file or folder: none\.tsv"),
    ],
)
def test_invalid_input_raises_an_error_that_names_it(
    tmp_path: Path, text: str, settings: dict, error: type[PosvecError], message: str
) -> None:
    path = tmp_path / "train.tsv"
    path.write_text(text)
    with pytest.raises(error, match=message):
        classification.evaluate(vectors(), path, **settings)


@pytest.mark.parametrize(
    ("module", "method"), [("sklearn.linear_model", "linear"), ("scipy.sparse", "scm"), ("ot", "wmd")]
)
def test_an_absent_library_names_the_extra(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, module: str, method: str
) -> None:
    path = write_texts(tmp_path / "train.tsv")
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(PosvecError, match=r'pip install "posvec\[classification\]"'):
        classification.evaluate(vectors(), path, path, method)  # type: ignore[arg-type]


def test_the_command_shows_accuracy_beside_chance(
    corpus: Path, small: dict, tmp_path: Path, posvec_command: Callable[..., object]
) -> None:
    posvec.train(corpus, "subword", **small).save(tmp_path / "model")
    texts = tmp_path / "texts.tsv"
    texts.write_text("one\tkaran lotek\nother\tmimol nebis\nbroken\n" * 5)
    command = ("evaluate", "classification", tmp_path / "model", "--train", texts)
    assert "texts.tsv, line 3" in posvec_command(*command).err
    shown = posvec_command(*command, "--skip-invalid", "--method", "linear", "--method", "scm")
    assert shown.code == 0, shown.err
    for word in ("linear", "scm", "chance", "50.0%"):
        assert word in shown.out
    result = json.loads(posvec_command(*command, "--skip-invalid", "--json").out)
    assert (result["invalid_lines"], result["texts"], result["methods"][0]["accuracy"]["value"]) == (5, 10, 1.0)
    assert "Missing option '--train'" in posvec_command(*command[:-2]).err
