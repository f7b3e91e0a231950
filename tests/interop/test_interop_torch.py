"""Word vectors as an nn.Embedding."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import posvec
from posvec import PosvecError

torch = pytest.importorskip("torch", reason="PyTorch is not installed")


@pytest.fixture(scope="module")
def model(corpus, small):
    return posvec.train(corpus, "subword", **small)


def rows(embedding, *ids):
    with torch.no_grad():
        return embedding(torch.tensor(ids)).numpy()


def test_row_i_is_the_vector_of_word_i(model):
    embedding = model.vectors.to_torch_embedding()
    assert isinstance(embedding, torch.nn.Embedding)
    assert np.array_equal(rows(embedding, 3, 0), model.vectors.table[[3, 0]])
    assert embedding.num_embeddings == len(model.vocabulary)
    assert embedding.padding_idx is None
    assert not embedding.weight.requires_grad


def test_chosen_words_may_be_outside_the_vocabulary(model):
    words = ["lomol", "karanka", "karan"]
    assert model.vectors.oov("karanka")
    embedding = model.vectors.to_torch_embedding(words=words)
    assert np.array_equal(rows(embedding, 0, 1, 2), np.stack([model.vectors[word] for word in words]))


def test_rows_for_padding_and_unknown_words_follow_the_words(model):
    size = len(model.vocabulary)
    embedding = model.vectors.to_torch_embedding(padding=True, unknown=True)
    assert embedding.padding_idx == size
    assert embedding.num_embeddings == size + 2
    assert not rows(embedding, size).any()
    np.testing.assert_allclose(rows(embedding, size + 1)[0], model.vectors.table.mean(0), atol=1e-6)
    np.testing.assert_array_equal(rows(model.vectors.to_torch_embedding(unknown=True), 0)[0], model.vectors.table[0])


def test_training_the_embedding_does_not_change_the_model(model, tmp_path):
    model.save(tmp_path / "model")
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # torch warns about read-only tables
        vectors = posvec.load(tmp_path / "model").vectors
        embedding = vectors.to_torch_embedding(freeze=False, padding=True)
    before = vectors.table.copy()
    loss = embedding(torch.tensor([[0, 1, len(vectors)]])).square().sum()
    loss.backward()
    torch.optim.SGD(embedding.parameters(), 0.5).step()
    assert not np.array_equal(rows(embedding, 0)[0], before[0])
    assert not rows(embedding, len(vectors)).any()
    assert np.array_equal(vectors.table, before)


def test_invalid_arguments_are_refused(model):
    for words, message in (
        ("lomol", r"not the string 'lomol'"),
        ([], "at least one word"),
        (["쥐"], "no vector for '쥐'"),
    ):
        with pytest.raises(PosvecError, match=message):
            model.vectors.to_torch_embedding(words=words)
