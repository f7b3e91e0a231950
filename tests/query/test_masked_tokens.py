"""Many masked words at once, against those of single sentences."""

from __future__ import annotations

import numpy as np
import pytest

import posvec
from posvec import Model, Vocabulary
from posvec.query import masked_tokens
from posvec.query.calibrating import fit
from posvec.query.masked_tokens import MaskedTokens, likelihoods, mask_tokens
from posvec.storage.calibration import Calibration

NAMES = ["karan", "lotek", "mimol", "nebis", "kabi", "lomolen", "mitek", "lobi"]
LINES = [["karan", "unseen", "lotek", "mimol"], ["nebis"], ["[PAD]", "kabi", "[PAD]", "lobi", "xyz"], []]
SHAPES = [
    {"subwords": False},
    {"subwords": False, "positional_dim": 0},
    {"subwords": True, "positional_dim": 8},
    {"subwords": True, "context_mean": "words"},
    {"subwords": True, "word_dim": 16, "dim": 32},
    {"subwords": False, "positions": "text"},
]


@pytest.fixture(params=SHAPES, ids=str)
def model(request):
    settings = {"dim": 24, "positional_dim": 20, "window": 2, "min_count": 1, "max_n": 4, **request.param}
    draw = np.random.default_rng(3)
    vocabulary = Vocabulary.from_counts({name: 90 - 9 * i for i, name in enumerate(NAMES)})
    made = Model.create(posvec.make_config("constrained", **settings), vocabulary)
    for table in (*made.trained_tables(), made.positional_vectors):
        table[:] = draw.normal(size=table.shape)
    heads = len(made.config.heads)
    made.calibration = Calibration((0.6,) * heads, (0.1,) * heads, 0.9, 0.8, 1000)
    return made


def test_context_vectors_are_those_of_single_sentences(model):
    tokens = mask_tokens(model, LINES)
    assert len(tokens) >= 4
    for i, vector, length, line, offset in zip(
        tokens.ids, tokens.context_vectors, tokens.lengths, tokens.lines, tokens.offsets, strict=True
    ):
        words = LINES[line]
        assert words[offset] == model.vocabulary.words[i]
        np.testing.assert_allclose(vector, model.context_vector(words, int(offset)), rtol=1e-5, atol=1e-6)
        assert length == len(model.context(words, int(offset)))


def test_every_word_that_can_be_predicted_is_masked(model):
    tokens = mask_tokens(model, LINES)
    found = set(zip(tokens.lines.tolist(), tokens.offsets.tolist(), strict=True))
    for number, line in enumerate(LINES):
        for offset, word in enumerate(line):
            try:
                model.context(line, offset)
            except posvec.PosvecError:
                has_context = False
            else:
                has_context = word in model.vocabulary
            assert ((number, offset) in found) == has_context


def test_likelihoods_are_those_of_predictions(model, monkeypatch):
    monkeypatch.setattr(masked_tokens, "_ROWS", 3)  # several blocks
    tokens = mask_tokens(model, LINES)
    found = likelihoods(model, model.calibrated, tokens)
    for row, (line, offset) in enumerate(zip(tokens.lines, tokens.offsets, strict=True)):
        words = list(LINES[line])
        word, words[offset] = words[offset], "[MASK]"
        (prediction,) = model.predict_masked(words, words=[word])
        (best,) = model.predict_masked(words, topn=1)
        assert found.log_probabilities[row] == pytest.approx(np.log(prediction.probability), rel=1e-4)
        assert found.ranks[row] == prediction.rank
        assert found.confidences[row] == pytest.approx(best.probability, rel=1e-4)


def test_a_part_of_the_words_is_drawn_by_a_seed(model):
    everything = mask_tokens(model, LINES)
    one, same, *others = (mask_tokens(model, LINES, 3, seed) for seed in (1, 1, 2, 3, 4, 5, 6))
    assert len(one) == 3
    assert one.offsets.tolist() == same.offsets.tolist()
    assert any(one.offsets.tolist() != other.offsets.tolist() for other in others)
    pairs = list(zip(everything.lines, everything.offsets, strict=True))
    assert all(pair in pairs for pair in zip(one.lines, one.offsets, strict=True))


def draw_tokens(model, calibration, count=4000):
    """Contexts with masked words that are drawn from the probabilities of a calibration."""
    draw = np.random.default_rng(11)
    dim = model.config.model.dim
    lengths = draw.integers(1, 2 * model.config.model.window + 1, count)
    vectors = (draw.normal(size=(count, dim)) / 3).astype(np.float32)
    factors = model.of_features(masked_tokens.factors_of_heads(model.config, calibration, lengths))
    logits = (vectors * factors) @ model.output_vectors.T + masked_tokens.log_priors(model.vocabulary, calibration)
    ids = (logits + draw.gumbel(size=logits.shape)).argmax(1)
    return MaskedTokens(ids, vectors, lengths, np.zeros(count, np.intp), np.arange(count))


def test_fitting_finds_the_calibration_that_text_was_drawn_from(model):
    heads = len(model.config.heads)
    true = Calibration((0.7,) * heads, (-0.2,) * heads, 0.8, 1.0)
    tokens = draw_tokens(model, true)
    found = fit(model, tokens)
    assert found.masked_words == len(tokens)
    assert found.factors == pytest.approx(true.factors, abs=0.1)
    assert found.length_factors == pytest.approx(true.length_factors, abs=0.15)
    # No other parameters have a higher likelihood.
    best = likelihoods(model, found, tokens).log_probabilities.sum()
    theory = Calibration.of_theory(heads)
    assert best > likelihoods(model, theory, tokens).log_probabilities.sum() + 10
    assert best > likelihoods(model, true, tokens).log_probabilities.sum() - 1
    for name in ("factors", "length_factors"):
        for change in (-0.05, 0.05):
            moved = {**vars(found), name: tuple(each + change for each in getattr(found, name))}
            assert likelihoods(model, Calibration(**moved), tokens).log_probabilities.sum() < best


def test_few_masked_words_leave_the_calibration_of_theory(model):
    tokens = draw_tokens(model, model.calibrated, 50)
    assert fit(model, tokens) == Calibration.of_theory(len(model.config.heads))
