"""The measurements of each experiment, as values that can be saved in JSON."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from posvec.errors import TrainingError
from posvec.evaluation import analogy, clusters, context_words, masked, similarity
from posvec.initializers import INITIALIZERS, square_root_normal_variance
from posvec.model import Model
from posvec.reproduction.paper import CLASSES, MASKED_WORDS
from posvec.reproduction.workspace import Recipe, Workspace

_DRAWS = 500_000  # values of each initializer, for densities and variances
_BINS = 60
_MAX_FACTOR = 20  # the largest k of the variances
_WORDS_LISTED = 10  # in each table
# Context words are searched among this many most frequent words: rarer words add noise.
_FREQUENT_WORDS = 20_000


def initial_values(workspace: Workspace, name: str, seed: int) -> dict[str, Any]:
    """Measure densities of u, d and u d at D = 1, as in the paper, and the variance of u d at the D of the models."""
    if name == "square-root uniform":
        samples = {each: sample_square_root_uniform(seed + i) for i, each in enumerate(("u", "d"))}
        return {"densities": _densities(samples)}
    dim = workspace.scale.dim
    samples = _draw(name, dim, seed)
    return {
        "densities": _densities(_draw(name, 1, seed)),
        "dim": dim,
        "deviations": {each: float(values.std()) for each, values in samples.items()},
        # In the subword model, the values that correspond to u d are U(+-1/D).
        "variance_ratio": float(np.var(samples["u"] * samples["d"])) * 3 * dim**2,
    }


def variances(workspace: Workspace, name: str, seed: int) -> dict[str, Any]:
    """Compute Var_k[u d] / sigma^2 of the square-root normal distribution, truncated after the factors 0..k."""
    return {"variances": [square_root_normal_variance(k) for k in range(_MAX_FACTOR + 1)]}


def training(workspace: Workspace, recipe: Recipe, seed: int) -> dict[str, Any]:
    """Measure the training time and loss of a model, and its accuracy and similarity if there are test sets."""
    model = workspace.model(recipe, seed)
    report = model.report
    assert report is not None
    values = {
        "window": model.config.model.window,
        "positional_dim": model.config.model.positional_dim,
        "dim": model.config.model.dim,
        "seconds": report.seconds,
        "cpu_seconds": workspace.cpu_seconds(recipe, seed),
        "threads": report.threads,
        "words": report.words,
        "vocabulary": report.vocabulary,
        "loss": report.loss,
        **_analogy_accuracy(workspace, model),
    }
    if workspace.inputs.pairs:
        files = similarity.evaluate(model, workspace.inputs.pairs).files
        values["similarity"] = {file.name: file.spearman for file in files}
    return values


def accuracy(workspace: Workspace, recipe: Recipe, seed: int) -> dict[str, Any]:
    """Measure the accuracy of word analogies, or record that training overflowed, as one initializer is expected to."""
    try:
        model = workspace.model(recipe, seed)
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
        **_analogy_accuracy(workspace, model),
    }


def masked_words(workspace: Workspace, recipe: Recipe, seed: int) -> dict[str, Any]:
    """Predict the most probable words for each [MASK], and the ranks of the words of the paper or of the user."""
    model = workspace.model(recipe, seed)
    words = [word for word in workspace.inputs.words or MASKED_WORDS if word in model.vocabulary]
    # The paper's table weights context words equally, whatever the weighting in training, and ranks by
    # the score.
    sentences = workspace.inputs.sentences
    found = masked.predict(model, sentences, _WORDS_LISTED, words, weighting="equal", ranking="paper")
    return {
        sentence: {each.word: {"rank": each.rank, "probability": each.probability} for each in predictions}
        for sentence, predictions in zip(found.sentences, found.predictions, strict=True)
    }


def position_importance(workspace: Workspace, recipe: Recipe, seed: int) -> dict[str, Any]:
    """Measure the scaled norm of each positional vector."""
    return {f"{position:+d}": value for position, value in workspace.model(recipe, seed).position_importance().items()}


def feature_clusters(workspace: Workspace, recipe: Recipe, seed: int) -> dict[str, Any]:
    """Cluster the positional features; keep the size and the curve of each cluster."""
    found = clusters.find(workspace.model(recipe, seed))
    return {
        "positions": list(found.positions),
        "silhouette": found.silhouette,
        "clusters": {
            each.name: {"size": len(each.features), "mean": each.mean, "curve": list(each.curve)} for each in found
        },
    }


def context_word_classes(workspace: Workspace, recipe: Recipe, seed: int) -> dict[str, Any]:
    """Find the most important context words of each cluster, and the classes of the words of the paper or of the user.

    Words are ordered by importance, as in the paper, and by its ratio to the importance according to the next cluster.
    """
    model = workspace.model(recipe, seed)
    found = clusters.find(model)
    wanted = workspace.inputs.context_words or [word for words in CLASSES.values() for word in words]
    wanted = [word for word in wanted if word in model.vocabulary]
    by_importance = context_words.top(model, found, _WORDS_LISTED, wanted, _FREQUENT_WORDS)
    by_ratio = context_words.top(model, found, _WORDS_LISTED, (), _FREQUENT_WORDS, "ratio")
    return {
        "sizes": dict(by_importance.class_sizes),
        "importance": {name: [each.word for each in words] for name, words in by_importance.top.items()},
        "ratio": {name: [each.word for each in words] for name, words in by_ratio.top.items()},
        "classes": {each.word: each.cluster for each in by_importance.words},
    }


def perplexity(workspace: Workspace, recipe: Recipe, seed: int) -> dict[str, Any]:
    """Measure the perplexity of a language model: validation by epoch, and test after the best epoch."""
    report = workspace.language_model(recipe, seed)
    return {
        "validation": [epoch.validation_perplexity for epoch in report.epochs],
        "test": report.test_perplexity,
        "words": report.words,
        "tokens": list(report.tokens),
        "seconds": sum(epoch.seconds for epoch in report.epochs),
    }


def optimum(workspace: Workspace, recipe: Recipe, seed: int) -> dict[str, Any]:
    """Search the settings with the highest analogy accuracy by the Tree-structured Parzen Estimator."""
    from posvec.tuning import search

    scale = workspace.scale
    space = [f"window=1..{scale.max_window}"]
    if recipe.model == "constrained":
        step = max(1, scale.dim // 30)
        space.append(f"positional_dim={step}..{scale.dim}:{step}")
    workspace.display.note(f"searching for the settings of the {recipe.model} model")
    result = search(
        workspace.corpus(recipe.part),
        recipe.model,
        output=workspace.folder / "searches" / recipe.model,
        space=space,
        questions=workspace.inputs.questions,
        trials=scale.trials,
        config=scale.config(recipe.model, recipe.part, seed=seed, threads=workspace.threads),
        display=workspace.display,
    )
    trials = [{**trial.settings, **trial.values} for trial in result.ranked()]
    tried = sum(trial.seconds is not None for trial in result.trials)
    return {**trials[0], "trials": trials, "tried": tried}


def _analogy_accuracy(workspace: Workspace, model: Model) -> dict[str, Any]:
    if not workspace.inputs.questions:
        return {}
    result = analogy.evaluate(model, workspace.inputs.questions)
    groups = {group.name: group.accuracy for group in result.groups}
    return {"accuracy": result.accuracy, "coverage": result.coverage, **groups}


def _draw(name: str, dim: int, seed: int) -> dict[str, NDArray[np.float32]]:
    random = np.random.Generator(np.random.SFC64(seed))
    initializer = INITIALIZERS[name](dim)
    # u is None if it is initialized as in the subword model: U(+-1/D)
    u = initializer.u or INITIALIZERS["vanilla"](dim).d
    return {"u": u(random, (_DRAWS, 1))[:, 0], "d": initializer.d(random, (_DRAWS, 1))[:, 0]}


def sample_square_root_uniform(seed: int) -> NDArray[np.float32]:
    """Draw from U^0.5(0, a) with a = 2: for Gamma(1/2, 1) variates G and H, a e^-(G + H) is distributed as U(0, a)."""
    gamma = np.random.default_rng(seed).gamma(0.5, size=_DRAWS).astype(np.float32)
    samples: NDArray[np.float32] = np.float32(2**0.5) * np.exp(-gamma)
    return samples


def _densities(samples: dict[str, NDArray[np.float32]]) -> dict[str, Any]:
    samples = {**samples, "u·d": samples["u"] * samples["d"]}
    # The long tails of the square-root normal distribution are left out.
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
