"""PosvecVectorizer as a step of scikit-learn."""

from __future__ import annotations

import pickle
import subprocess
import sys

import numpy as np
import pytest

import posvec
from posvec import CorpusError
from posvec.config import SETTINGS

pytest.importorskip("sklearn", reason="scikit-learn is not installed")

from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import check_estimator
from sklearn.utils.validation import validate_data

from posvec import PosvecVectorizer

SMALL = {"dim": 16, "buckets": 1000, "min_count": 1, "threads": 1, "epochs": 2}


@pytest.fixture(scope="module")
def texts(lines):
    return lines[:200]


@pytest.fixture(scope="module")
def fitted(texts):
    return PosvecVectorizer(**SMALL).fit(texts)


def test_a_text_is_the_mean_of_its_words_vectors_those_from_subwords_too(fitted):
    words = fitted.model_.vectors
    assert words.oov("karantek")
    known = ["karan", "lomol", "lomol", "karantek"]
    found = fitted.transform([" ".join(known).upper() + " 쥐"])
    assert found.shape == (1, 16)
    assert found.dtype == np.float32
    np.testing.assert_allclose(found[0], np.mean([words[word] for word in known], axis=0), atol=1e-6)


def test_fit_trains_the_model_that_the_library_would_train(texts, fitted):
    same = posvec.train(iter(texts), **SMALL)
    assert np.array_equal(fitted.model_.input_vectors, same.input_vectors)


def test_sif_weights_words_by_frequency_and_removes_the_first_component_of_the_texts_of_fit(texts):
    fitted = PosvecVectorizer(method="sif", **SMALL).fit(texts)
    model = fitted.model_
    frequency = dict(zip(model.vocabulary.words, model.vocabulary.counts / model.vocabulary.total_words, strict=True))

    def weighted(text):
        return np.mean([1e-3 / (1e-3 + frequency[word]) * model.vectors[word] for word in text.split()], axis=0)

    first = np.linalg.svd(np.array([weighted(text) for text in texts]))[2][0]
    expected = [weighted(text) - weighted(text) @ first * first for text in texts[:3]]
    np.testing.assert_allclose(fitted.transform(texts[:3]), expected, atol=1e-5)
    np.testing.assert_allclose(fitted.transform(texts[:1]), expected[:1], atol=1e-5)  # not that of one text


def test_a_text_without_known_words_is_zeros(texts):
    for method in ("mean", "sif"):
        fitted = PosvecVectorizer("general", method=method, **SMALL).fit(texts)
        assert not fitted.transform(["", "쥐 !", "karantek"]).any()


def test_a_pretrained_model_is_used_as_it_is(texts, fitted, tmp_path):
    fitted.model_.save(tmp_path / "model")
    for ready in (fitted.model_, tmp_path / "model", str(tmp_path / "model")):
        again = PosvecVectorizer(pretrained=ready).fit(["a text that has nothing to do with it"])
        assert np.array_equal(again.transform(texts[:5]), fitted.transform(texts[:5]))
    with pytest.raises(posvec.ConfigError, match=r"^a pretrained model has its own settings; leave out dim$"):
        PosvecVectorizer(pretrained=fitted.model_, dim=8).fit(texts)
    with pytest.raises(posvec.ModelError, match="there is no model at"):
        PosvecVectorizer(pretrained=tmp_path / "nothing").fit(texts)


def test_every_setting_is_a_parameter():
    vectorizer = PosvecVectorizer("general", dim=8, method="sif")
    assert vectorizer.get_params().keys() == {"model", "preset", "pretrained", "method", *SETTINGS}
    assert clone(vectorizer.set_params(window=3)).get_params() == vectorizer.get_params()
    assert repr(vectorizer) == "PosvecVectorizer(dim=8, method='sif', model='general', window=3)"
    with pytest.raises(TypeError, match="has no parameter dimension"):
        PosvecVectorizer(dimension=8)
    with pytest.raises(ValueError, match="Invalid parameter"):
        vectorizer.set_params(dimension=8)


def test_it_works_in_a_pipeline_and_a_grid_search(texts):
    kinds = ["ran" in text for text in texts]
    pipeline = make_pipeline(PosvecVectorizer(**SMALL), LogisticRegression())
    grid = {"posvecvectorizer__dim": [4, 8], "posvecvectorizer__method": ["mean", "sif"]}
    search = GridSearchCV(pipeline, grid, cv=2, error_score="raise").fit(texts, kinds)
    assert len(search.cv_results_["params"]) == 4
    assert search.predict(texts[:3]).shape == (3,)


def test_it_survives_pickling(texts, fitted):
    again = pickle.loads(pickle.dumps(fitted))
    assert np.array_equal(again.transform(texts[:9]), fitted.transform(texts[:9]))


def test_features_have_names(texts, fitted):
    names = fitted.get_feature_names_out()
    assert list(names) == [f"posvecvectorizer{i}" for i in range(16)]
    pandas = pytest.importorskip("pandas", reason="pandas is not installed")
    framed = clone(fitted).fit(texts).set_output(transform="pandas")
    column = pandas.Series(texts[:4], index=[7, 8, 9, 10])
    table = framed.transform(column)
    assert list(table.columns) == list(names)
    np.testing.assert_array_equal(table.to_numpy(), fitted.transform(column.to_list()))


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ("one text", "not a str; put them into a list$"),
        (np.array([["one"], ["two"]]), "not a ndarray of 2 dimensions; "),
        (3, "not a int; "),
        (["one", None], "^text 1 is not a string but None; replace missing texts"),
        ([["one", "two"]], r"^text 0 is not a string but \['one', 'two'\]"),
        ([], "^there are no texts; give at least one$"),
    ],
)
def test_invalid_texts_are_refused(fitted, given, message):
    for refuses in (fitted.transform, PosvecVectorizer(**SMALL).fit):
        with pytest.raises(CorpusError, match=message):
            refuses(given)


def test_invalid_settings_are_reported_by_fit(texts):
    for wrong in ({"method": "median"}, {"model": "grand"}, {"preset": "huge"}, {"dim": 0}):
        with pytest.raises(posvec.ConfigError):
            PosvecVectorizer(**{**SMALL, **wrong}).fit(texts)
    with pytest.raises(NotFittedError):
        PosvecVectorizer().transform(texts)


class _OfNumbers(PosvecVectorizer):
    """Accepts the numeric tables of scikit-learn's checks and makes a text of each row."""

    def fit(self, X, y=None):
        return super().fit(_rows_as_texts(validate_data(self, X)))

    def transform(self, X):
        return super().transform(_rows_as_texts(validate_data(self, X, reset=False)))

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = True
        return tags


_OfNumbers.__init__.__signature__ = PosvecVectorizer.__init__.__signature__


def _rows_as_texts(table):
    return [" ".join(["row", *(f"column{i}is{value:.0f}" for i, value in enumerate(row))]) for row in table]


def test_it_passes_the_checks_of_scikit_learn():
    # scikit-learn checks little of a transformer of texts, because its checks have no texts.
    with pytest.warns(match="requires input"):
        check_estimator(PosvecVectorizer(**SMALL))
    # If each row of numbers is made into a text, all checks apply.
    check_estimator(_OfNumbers("general", sample=0.0, **SMALL))


def test_without_scikit_learn_the_extra_is_named():
    program = "import sys; sys.modules['sklearn'] = None; import posvec; posvec.PosvecVectorizer()"
    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert "PosvecError: this needs sklearn" in ended.stderr
    assert 'pip install "posvec[sklearn]"' in ended.stderr


def test_importing_posvec_imports_no_other_library():
    program = "import sys, posvec, posvec.cli; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout.split()
    assert not {"sklearn", "torch", "gensim", "spacy", "tokenizers", "huggingface_hub", "numpy"} & set(loaded)
