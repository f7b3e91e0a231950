"""What is measured of a model for each experiment: plain values that JSON holds, small enough to be kept."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from posvec.errors import TrainingError
from posvec.evaluation import analogy, clusters, context_words, masked, similarity
from posvec.initializers import INITIALIZERS, square_root_normal_variance
from posvec.model import Model
from posvec.reproduction.bench import Bench, Recipe
from posvec.reproduction.paper import CLASSES, MASKED_WORDS

_DRAWN = 500_000  # values of each initializer, whose densities and variances are shown
_BINS = 60
_FACTORS = 20  # k up to which the variance is shown
_LISTED = 10  # words of each table
# Context words are looked for among so many of the most frequent words: rarer ones are noise.
_FREQUENT = 20_000


def initial_values(bench: Bench, name: str, seed: int) -> dict[str, Any]:
    """Densities of u, d and u d at D = 1, as the paper draws them; the variance of u d at the D of the models."""
    if name == "square-root uniform":
        samples = {each: _square_root_uniform(seed + i) for i, each in enumerate(("u", "d"))}
        return {"densities": _densities(samples)}
    dim = bench.scale.dim
    drawn = _draw(name, dim, seed)
    return {
        "densities": _densities(_draw(name, 1, seed)),
        "dim": dim,
        "deviations": {each: float(values.std()) for each, values in drawn.items()},
        # in the subword model, the values that take the place of u d are U(+-1/D)
        "variance_ratio": float(np.var(drawn["u"] * drawn["d"])) * 3 * dim**2,
    }


def variances(bench: Bench, name: str, seed: int) -> dict[str, Any]:
    """Var_k[u d] / sigma^2 of the square-root normal distribution that is cut off after k factors."""
    return {"variances": [square_root_normal_variance(k) for k in range(_FACTORS + 1)]}


def training(bench: Bench, recipe: Recipe, seed: int) -> dict[str, Any]:
    """How long it took, and how good the vectors are, by all that is there to measure it."""
    model = bench.model(recipe, seed)
    report = model.report
    assert report is not None
    values = {
        "window": model.config.model.window,
        "positional_dim": model.config.model.positional_dim,
        "dim": model.config.model.dim,
        "seconds": report.seconds,
        "cpu_seconds": bench.cpu_seconds(recipe, seed),
        "threads": report.threads,
        "words": report.words,
        "vocabulary": report.vocabulary,
        "loss": report.loss,
        **_accuracy(bench, model),
    }
    if bench.inputs.pairs:
        files = similarity.evaluate(model, bench.inputs.pairs).files
        values["similarity"] = {file.name: file.spearman for file in files}
    return values


def accuracy(bench: Bench, recipe: Recipe, seed: int) -> dict[str, Any]:
    """Of word analogies; or that training overflowed, which the paper foretells of one initializer."""
    try:
        model = bench.model(recipe, seed)
    except TrainingError as error:
        return {"overflowed": str(error)}
    assert model.report is not None
    shape = model.config.model
    return {
        "window": shape.window,
        "positional_dim": shape.positional_dim,
        "seconds": model.report.seconds,
        "words": model.report.words,
        "loss": model.report.loss,
        **_accuracy(bench, model),
    }


def masked_words(bench: Bench, recipe: Recipe, seed: int) -> dict[str, Any]:
    """The best words for each sentence, and the ranks of the words that the paper, or the user, asks for."""
    model = bench.model(recipe, seed)
    words = [word for word in bench.inputs.words or MASKED_WORDS if word in model.vocabulary]
    found = masked.predict(model, bench.inputs.sentences, _LISTED, words)
    return {
        sentence: {each.word: {"rank": each.rank, "probability": each.probability} for each in predictions}
        for sentence, predictions in zip(found.sentences, found.predictions, strict=True)
    }


def position_importance(bench: Bench, recipe: Recipe, seed: int) -> dict[str, Any]:
    """The scaled norm of each positional vector."""
    return {f"{position:+d}": value for position, value in bench.model(recipe, seed).position_importance().items()}


def feature_clusters(bench: Bench, recipe: Recipe, seed: int) -> dict[str, Any]:
    """Clusters of positional features: their sizes and curves."""
    found = clusters.find(bench.model(recipe, seed))
    return {
        "positions": list(found.positions),
        "silhouette": found.silhouette,
        "clusters": {
            each.name: {"size": len(each.features), "mean": each.mean, "curve": list(each.curve)} for each in found
        },
    }


def classes_of_words(bench: Bench, recipe: Recipe, seed: int) -> dict[str, Any]:
    """The context words that each cluster makes most important, in two orders, and the classes of the words asked for.

    By importance, as the paper has it, and by how much more important the cluster makes them than the next one does.
    """
    model = bench.model(recipe, seed)
    found = clusters.find(model)
    asked = bench.inputs.context_words or [word for words in CLASSES.values() for word in words]
    asked = [word for word in asked if word in model.vocabulary]
    by_importance = context_words.top(model, found, _LISTED, asked, _FREQUENT)
    by_ratio = context_words.top(model, found, _LISTED, (), _FREQUENT, "ratio")
    return {
        "sizes": dict(by_importance.class_sizes),
        "importance": {name: [each.word for each in words] for name, words in by_importance.top.items()},
        "ratio": {name: [each.word for each in words] for name, words in by_ratio.top.items()},
        "classes": {each.word: each.cluster for each in by_importance.words},
    }


def perplexity(bench: Bench, recipe: Recipe, seed: int) -> dict[str, Any]:
    """Of a language model on the vectors: by epoch in validation, and of the best epoch in the test."""
    report = bench.language_model(recipe, seed)
    return {
        "validation": [epoch.validation_perplexity for epoch in report.epochs],
        "test": report.test_perplexity,
        "words": report.words,
        "tokens": list(report.tokens),
        "seconds": sum(epoch.seconds for epoch in report.epochs),
    }


def optimum(bench: Bench, recipe: Recipe, seed: int) -> dict[str, Any]:
    """The settings that the Tree-structured Parzen Estimator finds best by analogies."""
    from posvec.tuning import search

    scale = bench.scale
    space = [f"window=1..{scale.longest_window}"]
    if recipe.model == "constrained":
        step = max(1, scale.dim // 30)
        space.append(f"positional_dim={step}..{scale.dim}:{step}")
    bench.display.note(f"searching for the settings of the {recipe.model} model")
    result = search(
        bench.corpus(recipe.part),
        recipe.model,
        output=bench.folder / "searches" / recipe.model,
        space=space,
        questions=bench.inputs.questions,
        trials=scale.trials,
        config=scale.config(recipe.model, recipe.part, seed=seed, threads=bench.threads),
        display=bench.display,
    )
    trials = [{**trial.settings, **trial.values} for trial in result.ranked()]
    tried = sum(trial.seconds is not None for trial in result.trials)
    return {**trials[0], "trials": trials, "tried": tried}


def _accuracy(bench: Bench, model: Model) -> dict[str, Any]:
    if not bench.inputs.questions:
        return {}
    result = analogy.evaluate(model, bench.inputs.questions)
    groups = {group.name: group.accuracy for group in result.groups}
    return {"accuracy": result.accuracy, "coverage": result.coverage, **groups}


def _draw(name: str, dim: int, seed: int) -> dict[str, NDArray[np.float32]]:
    random = np.random.Generator(np.random.SFC64(seed))
    initializer = INITIALIZERS[name](dim)
    # u is None where it is as in the subword model, whatever d is: U(+-1/D)
    u = initializer.u or INITIALIZERS["vanilla"](dim).d
    return {"u": u(random, (_DRAWN, 1))[:, 0], "d": initializer.d(random, (_DRAWN, 1))[:, 0]}


def _square_root_uniform(seed: int) -> NDArray[np.float32]:
    """U^0.5(0, a), a = 2, exactly: of Gamma(1/2, 1) variates G and H, G + H is Exp(1), and a e^-(G + H) is U(0, a)."""
    gamma = np.random.default_rng(seed).gamma(0.5, size=_DRAWN).astype(np.float32)
    drawn: NDArray[np.float32] = np.float32(2**0.5) * np.exp(-gamma)
    return drawn


def _densities(samples: dict[str, NDArray[np.float32]]) -> dict[str, Any]:
    samples = {**samples, "u·d": samples["u"] * samples["d"]}
    # the tails of the square-root normal distribution are long, and nothing can be seen in them
    limit = max(float(np.quantile(np.abs(values), 0.995)) for values in samples.values())
    limit *= 1.05
    edges = np.linspace(-limit if any(values.min() < 0 for values in samples.values()) else 0.0, limit, _BINS + 1)
    width = edges[1] - edges[0]
    return {
        "values": [round(float(value), 5) for value in edges[:-1] + width / 2],
        **{
            name: [round(float(value), 5) for value in np.histogram(values, edges)[0] / (len(values) * width)]
            for name, values in samples.items()
        },
    }
