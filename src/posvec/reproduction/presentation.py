"""Figures and tables of the findings of each experiment, beside the paper's numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from posvec import plots
from posvec.evaluation.clusters import Clusters, FeatureCluster
from posvec.evaluation.results import Table
from posvec.reproduction.findings import Findings, Mean
from posvec.reproduction.paper import CLASSES, SHAPES

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Published = Mapping[str, float]
"""The paper's numbers, by variant."""


@dataclass(frozen=True)
class Presentation:
    """The figures and tables of an experiment."""

    figures: Sequence[tuple[str, Figure]] = ()
    """Each with a description for screen readers."""
    tables: Sequence[Table] = ()
    folded: Sequence[Table] = ()
    """Long tables, which are collapsed at first."""


def show_initial_values(findings: Findings, published: Published) -> Presentation:
    """Plot the densities of the initial values, and list their variances."""
    names = _variants(findings, "initial-values")
    found = {name: findings.first("initial-values", name) or {} for name in names}
    rows = [
        (name, *(values["deviations"][each] for each in ("u", "d")), values["variance_ratio"])
        for name, values in found.items()
        if "deviations" in values
    ]
    dim = next((values["dim"] for values in found.values() if "dim" in values), None)
    columns = ("initializer", "deviation of u", "deviation of d", "Var[u·d] / Var[U(±1/D)]")
    densities = {name: values["densities"] for name, values in found.items()}
    return Presentation(
        [("Densities of u, d and u·d of each initializer", plots.densities(densities))],
        [Table(f"Initial values at D = {dim}", columns, rows, ".4g")],
    )


def show_variances(findings: Findings, published: Published) -> Presentation:
    """Plot Var_k against k."""
    values = (findings.first("variances", "sqrt_normal") or {})["variances"]
    series = {"Var_k[u·d] / σ²": {k: (value, value, value) for k, value in enumerate(values)}}
    figure = plots.curves(series, "last factor k", "Var_k[u·d] / σ²")
    return Presentation(
        [("Variance against k", figure)], [], [Table("Var_k[u·d] / σ²", ("k", "variance"), [*enumerate(values)])]
    )


def show_masked_words(findings: Findings, published: Published) -> Presentation:
    """List the predictions for each sentence."""
    tables = []
    for model in _variants(findings, "masked-words"):
        for sentence, predictions in (findings.first("masked-words", model) or {}).items():
            rows = [(each["rank"], word, each["probability"]) for word, each in predictions.items()]
            tables.append(Table(f"{model}: {sentence}", ("rank", "word", "probability"), rows, ".1%"))
    return Presentation((), tables)


def show_positions(findings: Findings, published: Published) -> Presentation:
    """Plot and list the importance of positions."""
    models = _variants(findings, "positions")
    means: dict[str, dict[int, Mean]] = {}
    for model in models:
        seeds = findings.of("positions", model)
        means[model] = {int(position): Mean.of([each[position] for each in seeds]) for position in seeds[0]}
    figure = plots.position_curves({model: _bands(values) for model, values in means.items()})
    every = sorted({position for each in means.values() for position in each})
    rows = [(f"{position:+d}", *(_format(each.get(position), ".2f") for each in means.values())) for position in every]
    table = Table("Importance of positions", ("position", *models), rows)
    return Presentation([("Importance of positions", figure)], (), [table])


def show_clusters(findings: Findings, published: Published) -> Presentation:
    """Plot the clusters of the first seed, and list the sizes for all seeds."""
    figures, rows = [], []
    for model in _variants(findings, "clusters"):
        seeds = findings.of("clusters", model)
        figures.append((f"Clusters of the {model} model", plots.clusters(_make_clusters(seeds[0]))))
        for number, values in enumerate(seeds, 1):
            sizes = ", ".join(f"{name} {each['size']}" for name, each in values["clusters"].items())
            means = ", ".join(f"{each['mean']:.2f}" for each in values["clusters"].values())
            rows.append((model, number, sizes, means, values["silhouette"]))
    columns = ("model", "seed", "features of each cluster", "mean |d|", "silhouette")
    return Presentation(figures, [Table("Sizes of clusters", columns, rows, ".2f")])


def show_context_words(findings: Findings, published: Published) -> Presentation:
    """List the context words of each class, and the classes of the words of the paper or of the user."""
    tables, classes = [], []
    paper = {word: cluster for cluster, words in CLASSES.items() for word in words}
    for model in _variants(findings, "context-words"):
        seeds = findings.of("context-words", model)
        rows = [
            (name, size, ", ".join(seeds[0]["importance"][name]), ", ".join(seeds[0]["ratio"][name]))
            for name, size in seeds[0]["sizes"].items()
        ]
        columns = ("class", "words", "highest importance", "highest ratio to the next class")
        tables.append(Table(f"Top context words of the {model} model", columns, rows))
        for word in seeds[0]["classes"]:
            ours = [each["classes"][word] for each in seeds if word in each["classes"]]
            classes.append((model, word, paper.get(word, "not mentioned"), ", ".join(ours)))
    if classes:
        tables.append(Table("Classes of words", ("model", "word", "paper", "reproduced (by seed)"), classes))
    return Presentation((), tables)


def show_models(findings: Findings, published: Published) -> Presentation:
    """List the training time and accuracy of each model, and its word similarity if there are test sets."""
    rows, similarities = [], []
    for model in _variants(findings, "models"):
        values = findings.first("models", model) or {}
        shape = (values["window"], values["positional_dim"])
        cpu, elapsed, accuracy = (findings.mean("models", model, key) for key in ("cpu_seconds", "seconds", "accuracy"))
        minutes = published.get(model)
        paper = "" if minutes is None else f"{int(minutes // 60)}h{int(minutes % 60):02}"
        rows.append((model, *shape, paper, _format(elapsed, ".0f"), _format(cpu, ".0f"), _format(accuracy, ".1%")))
        for file in values.get("similarity", {}):
            ours = Mean.of([each["similarity"][file] for each in findings.of("models", model)])
            similarities.append((model, file, ours.format(".3f")))
    columns = ("model", "c", "D′", "paper: time", "reproduced: seconds", "CPU seconds", "accuracy")
    tables = [Table("Models", columns, rows)]
    folded = (
        [Table("Word similarity (Spearman's ρ)", ("model", "pairs", "reproduced"), similarities)]
        if similarities
        else []
    )
    return Presentation((), tables, folded)


def show_windows(findings: Findings, published: Published) -> Presentation:
    """Plot and list the accuracy by window size."""
    series: dict[str, dict[int, Mean]] = {}
    for name in _variants(findings, "windows"):
        model, _, window = name.partition(" ")
        if mean := findings.mean("windows", name, "accuracy"):
            series.setdefault(model, {})[int(window)] = mean
    return _accuracy_by(series, published, "c", "window size c")


def show_positional_features(findings: Findings, published: Published) -> Presentation:
    """Plot and list the accuracy by number of positional features."""
    series: dict[int, Mean] = {}
    scaled: dict[int, int] = {}
    for name in _variants(findings, "positional-features"):
        size = int(name.partition(" ")[2])
        if mean := findings.mean("positional-features", name, "accuracy"):
            series[size] = mean
            scaled[size] = (findings.first("positional-features", name) or {})["positional_dim"]
    if all(size == ours for size, ours in scaled.items()):
        return _accuracy_by({"constrained": series}, published, "D′", "positional features D′")
    return _accuracy_by({"constrained": series}, published, "D′ of 300", "positional features D′, scaled to D = 300")


def show_initializers(findings: Findings, published: Published) -> Presentation:
    """List the accuracy of each initializer, and whether training overflowed."""
    rows = []
    for name in _variants(findings, "initializers"):
        seeds = findings.of("initializers", name)
        overflowed = sum("overflowed" in each for each in seeds)
        ours = findings.mean("initializers", name, "accuracy")
        trained = f"overflowed in {overflowed} of {len(seeds)}" if overflowed else "completed"
        paper = published.get(name)
        rows.append((name, None if paper is None else f"{paper:.1f}%", _format(ours, ".1%"), trained))
    return Presentation((), [Table("Initializers", ("initializer", "paper", "reproduced", "training"), rows)])


def show_language_model(findings: Findings, published: Published) -> Presentation:
    """Plot the validation perplexity by epoch, and list the test perplexity."""
    names = _variants(findings, "language-model")
    series = {}
    for name in names:
        epochs = zip(*(each["validation"] for each in findings.of("language-model", name)), strict=False)
        series[name] = _bands({number: Mean.of(values) for number, values in enumerate(epochs, 1)})
    rows = [
        (name, published.get(name), _format(findings.mean("language-model", name, "test"), ".1f")) for name in names
    ]
    first = findings.first("language-model", names[0]) or {}
    train, valid, test = first["tokens"]
    title = f"Test perplexity ({train:,}, {valid:,} and {test:,} tokens, {first['words']:,} words)"
    figure = plots.curves(series, "epoch", "validation perplexity")
    return Presentation(
        [("Validation perplexity by epoch", figure)], [Table(title, ("vectors", "paper", "reproduced"), rows, ".2f")]
    )


def show_search(findings: Findings, published: Published) -> Presentation:
    """List the best settings of each search, and all its trials."""
    rows, folded = [], []
    for model in _variants(findings, "search"):
        values = findings.first("search", model) or {}
        window, size = SHAPES[model]
        accuracy = f"{values['accuracy']:.1%}"
        rows.append((model, window, values["window"], size, values.get("positional_dim"), accuracy, values["tried"]))
        settings = [name for name in ("window", "positional_dim") if name in values]
        trials = [(*(each[name] for name in settings), each["accuracy"]) for each in values["trials"]]
        folded.append(Table(f"Completed trials of the {model} model", (*settings, "accuracy"), trials, ".1%"))
    columns = ("model", "paper: c", "reproduced: c", "paper: D′", "reproduced: D′", "accuracy", "trials")
    return Presentation((), [Table("Best settings found", columns, rows)], folded)


def _variants(findings: Findings, experiment: str) -> list[str]:
    """Return the variants of an experiment in the order in which they were measured."""
    return list(dict.fromkeys(name for seed in findings.seeds() for name in findings.seed(seed).get(experiment, {})))


def _format(value: Mean | None, number_format: str) -> str:
    return "" if value is None else value.format(number_format)


def _bands(values: Mapping[int, Mean]) -> dict[int, tuple[float, float, float]]:
    """Return each mean with the lower and upper end of its interval."""
    return {
        x: (each.value, each.value - (each.half_width or 0.0), each.value + (each.half_width or 0.0))
        for x, each in values.items()
    }


def _accuracy_by(
    series: Mapping[str, Mapping[int, Mean]], published: Published, column: str, label: str
) -> Presentation:
    """Plot and list the accuracy by a setting."""
    percent = {
        name: {x: tuple(100 * value for value in interval) for x, interval in _bands(values).items()}
        for name, values in series.items()
    }
    rows = []
    for x in sorted({x for values in series.values() for x in values}):
        row: list[Any] = [x]
        for name, values in series.items():
            paper = published.get(f"{name} {x}")
            row += [None if paper is None else f"{paper:.1f}%", _format(values.get(x), ".1%")]
        rows.append(row)
    columns = [column]
    for name in series:
        columns += [f"{name}, paper", f"{name}, reproduced"]
    figure = plots.curves(percent, label, "accuracy (%)")
    return Presentation([(f"Accuracy against {column}", figure)], [Table("Word analogy accuracy", columns, rows)])


def _make_clusters(values: Mapping[str, Any]) -> Clusters:
    """Make clusters with the measured sizes and curves, which are all that the figure shows."""
    found = tuple(
        FeatureCluster(name, tuple(range(each["size"])), tuple(each["curve"]), 0.0)
        for name, each in values["clusters"].items()
    )
    return Clusters(tuple(values["positions"]), found, values["silhouette"], np.empty((0, 0), np.float32))
