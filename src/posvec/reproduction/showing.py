"""How the findings of each experiment are shown: figures and tables, the paper's numbers beside ours."""

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


@dataclass(frozen=True)
class Shown:
    """Figures, each with what it shows, and tables; folded ones are those of bulk."""

    figures: Sequence[tuple[str, Figure]] = ()
    tables: Sequence[Table] = ()
    folded: Sequence[Table] = ()


def initial_values(findings: Findings, published: Published) -> Shown:
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
    return Shown(
        [("Densities of u, d and u·d of each initializer", plots.densities(densities))],
        [Table(f"Initial values at D = {dim}", columns, rows, ".4g")],
    )


def variances(findings: Findings, published: Published) -> Shown:
    values = (findings.first("variances", "sqrt_normal") or {})["variances"]
    series = {"Var_k[u·d] / σ²": {k: (value, value, value) for k, value in enumerate(values)}}
    figure = plots.curves(series, "last factor k", "Var_k[u·d] / σ²")
    return Shown(
        [("Variance against k", figure)], [], [Table("Var_k[u·d] / σ²", ("k", "variance"), [*enumerate(values)])]
    )


def masked_words(findings: Findings, published: Published) -> Shown:
    tables = []
    for model in _variants(findings, "masked-words"):
        for sentence, predictions in (findings.first("masked-words", model) or {}).items():
            rows = [(each["rank"], word, each["probability"]) for word, each in predictions.items()]
            tables.append(Table(f"{model}: {sentence}", ("rank", "word", "probability"), rows, ".1%"))
    return Shown((), tables)


def positions(findings: Findings, published: Published) -> Shown:
    models = _variants(findings, "positions")
    means: dict[str, dict[int, Mean]] = {}
    for model in models:
        seeds = findings.of("positions", model)
        means[model] = {int(position): Mean.of([each[position] for each in seeds]) for position in seeds[0]}
    figure = plots.position_curves({model: _bands(values) for model, values in means.items()})
    places = sorted({position for each in means.values() for position in each})
    rows = [(f"{place:+d}", *(_shown(each.get(place), ".2f") for each in means.values())) for place in places]
    table = Table("Importance of positions", ("position", *models), rows)
    return Shown([("Importance of positions", figure)], (), [table])


def clusters(findings: Findings, published: Published) -> Shown:
    figures, rows = [], []
    for model in _variants(findings, "clusters"):
        seeds = findings.of("clusters", model)
        figures.append((f"Clusters of the {model} model", plots.clusters(_restored(seeds[0]))))
        for number, values in enumerate(seeds, 1):
            sizes = ", ".join(f"{name} {each['size']}" for name, each in values["clusters"].items())
            means = ", ".join(f"{each['mean']:.2f}" for each in values["clusters"].values())
            rows.append((model, number, sizes, means, values["silhouette"]))
    columns = ("model", "seed", "features of each cluster", "mean |d|", "silhouette")
    return Shown(figures, [Table("Sizes of clusters", columns, rows, ".2f")])


def context_words(findings: Findings, published: Published) -> Shown:
    tables, classes = [], []
    paper = {word: cluster for cluster, words in CLASSES.items() for word in words}
    for model in _variants(findings, "context-words"):
        seeds = findings.of("context-words", model)
        rows = [
            (name, size, ", ".join(seeds[0]["importance"][name]), ", ".join(seeds[0]["ratio"][name]))
            for name, size in seeds[0]["sizes"].items()
        ]
        columns = ("class", "words", "most important", "most at home in it")
        tables.append(Table(f"Top context words of the {model} model", columns, rows))
        for word in seeds[0]["classes"]:
            ours = [each["classes"][word] for each in seeds if word in each["classes"]]
            classes.append((model, word, paper.get(word, "not in it"), ", ".join(ours)))
    if classes:
        tables.append(Table("Classes of words", ("model", "word", "in the paper", "here, seed by seed"), classes))
    return Shown((), tables)


def models(findings: Findings, published: Published) -> Shown:
    rows, similar = [], []
    for model in _variants(findings, "models"):
        values = findings.first("models", model) or {}
        shape = (values["window"], values["positional_dim"])
        cpu, clock, right = (findings.mean("models", model, key) for key in ("cpu_seconds", "seconds", "accuracy"))
        minutes = published.get(model)
        paper = "" if minutes is None else f"{int(minutes // 60)}h{int(minutes % 60):02}"
        rows.append((model, *shape, paper, _shown(clock, ".0f"), _shown(cpu, ".0f"), _shown(right, ".1%")))
        for file in values.get("similarity", {}):
            ours = Mean.of([each["similarity"][file] for each in findings.of("models", model)])
            similar.append((model, file, ours.shown(".3f")))
    columns = ("model", "c", "D′", "time in the paper", "seconds here", "CPU seconds here", "analogies here")
    tables = [Table("Models", columns, rows)]
    folded = [Table("Word similarity (Spearman's ρ)", ("model", "pairs", "here"), similar)] if similar else []
    return Shown((), tables, folded)


def windows(findings: Findings, published: Published) -> Shown:
    series: dict[str, dict[int, Mean]] = {}
    for name in _variants(findings, "windows"):
        model, _, window = name.partition(" ")
        if found := findings.mean("windows", name, "accuracy"):
            series.setdefault(model, {})[int(window)] = found
    return _accuracies(series, published, "c", "window size c")


def positional_features(findings: Findings, published: Published) -> Shown:
    series: dict[int, Mean] = {}
    scaled: dict[int, int] = {}
    for name in _variants(findings, "positional-features"):
        size = int(name.partition(" ")[2])
        if found := findings.mean("positional-features", name, "accuracy"):
            series[size] = found
            scaled[size] = (findings.first("positional-features", name) or {})["positional_dim"]
    if all(size == ours for size, ours in scaled.items()):
        return _accuracies({"constrained": series}, published, "D′", "positional features D′")
    return _accuracies({"constrained": series}, published, "D′ of 300", "positional features D′, in proportion to 300")


def initializers(findings: Findings, published: Published) -> Shown:
    rows = []
    for name in _variants(findings, "initializers"):
        seeds = findings.of("initializers", name)
        overflowed = sum("overflowed" in each for each in seeds)
        ours = findings.mean("initializers", name, "accuracy")
        trained = f"overflowed in {overflowed} of {len(seeds)}" if overflowed else "ended well"
        paper = published.get(name)
        rows.append((name, None if paper is None else f"{paper:.1f}%", _shown(ours, ".1%"), trained))
    return Shown((), [Table("Initializers", ("initializer", "in the paper", "here", "training"), rows)])


def language_model(findings: Findings, published: Published) -> Shown:
    names = _variants(findings, "language-model")
    series = {}
    for name in names:
        epochs = zip(*(each["validation"] for each in findings.of("language-model", name)), strict=False)
        series[name] = _bands({number: Mean.of(values) for number, values in enumerate(epochs, 1)})
    rows = [(name, published.get(name), _shown(findings.mean("language-model", name, "test"), ".1f")) for name in names]
    first = findings.first("language-model", names[0]) or {}
    train, valid, test = first["tokens"]
    title = f"Test perplexity ({train:,}, {valid:,} and {test:,} tokens, {first['words']:,} words)"
    figure = plots.curves(series, "epoch", "validation perplexity")
    return Shown(
        [("Validation perplexity by epoch", figure)], [Table(title, ("vectors", "in the paper", "here"), rows, ".2f")]
    )


def search(findings: Findings, published: Published) -> Shown:
    rows, folded = [], []
    for model in _variants(findings, "search"):
        values = findings.first("search", model) or {}
        window, size = SHAPES[model]
        accuracy = f"{values['accuracy']:.1%}"
        rows.append((model, window, values["window"], size, values.get("positional_dim"), accuracy, values["tried"]))
        settings = [name for name in ("window", "positional_dim") if name in values]
        trials = [(*(each[name] for name in settings), each["accuracy"]) for each in values["trials"]]
        folded.append(Table(f"Completed trials of the {model} model", (*settings, "accuracy"), trials, ".1%"))
    columns = ("model", "c in the paper", "c here", "D′ in the paper", "D′ here", "accuracy", "trials")
    return Shown((), [Table("Best settings found", columns, rows)], folded)


def _variants(findings: Findings, experiment: str) -> list[str]:
    """In the order in which they were measured first."""
    return list(dict.fromkeys(name for seed in findings.seeds() for name in findings.seed(seed).get(experiment, {})))


def _shown(value: Mean | None, number_format: str) -> str:
    return "" if value is None else value.shown(number_format)


def _bands(values: Mapping[int, Mean]) -> dict[int, tuple[float, float, float]]:
    """Each mean with the ends of its interval."""
    return {
        x: (each.value, each.value - (each.half or 0.0), each.value + (each.half or 0.0)) for x, each in values.items()
    }


def _accuracies(series: Mapping[str, Mapping[int, Mean]], published: Published, column: str, label: str) -> Shown:
    percent = {
        name: {x: tuple(100 * value for value in band) for x, band in _bands(values).items()}
        for name, values in series.items()
    }
    rows = []
    for x in sorted({x for values in series.values() for x in values}):
        row: list[Any] = [x]
        for name, values in series.items():
            paper = published.get(f"{name} {x}")
            row += [None if paper is None else f"{paper:.1f}%", _shown(values.get(x), ".1%")]
        rows.append(row)
    columns = [column]
    for name in series:
        columns += [f"{name}, in the paper", f"{name}, here"]
    figure = plots.curves(percent, label, "accuracy (%)")
    return Shown([(f"Accuracy against {column}", figure)], [Table("Word analogy accuracy", columns, rows)])


def _restored(values: Mapping[str, Any]) -> Clusters:
    """The clusters as they were found, but for the features in them, whose number is all that is drawn."""
    found = tuple(
        FeatureCluster(name, tuple(range(each["size"])), tuple(each["curve"]), 0.0)
        for name, each in values["clusters"].items()
    )
    return Clusters(tuple(values["positions"]), found, values["silhouette"], np.empty((0, 0), np.float32))
