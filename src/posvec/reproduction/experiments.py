"""Every table and figure of the paper, as data: the one list of what a reproduction runs, and of what the paper says.

The order is that of running and of the report: what gives something to look at early comes first.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from posvec.initializers import INITIALIZERS
from posvec.reproduction import measures, showing
from posvec.reproduction.bench import Bench, Recipe
from posvec.reproduction.claims import Claim, Number
from posvec.reproduction.findings import Findings, Seed
from posvec.reproduction.scales import Scale


@dataclass(frozen=True)
class Experiment:
    """One table or figure."""

    name: str
    title: str
    paper: str
    """Where it is in the paper."""
    lead: str
    variants: Callable[[Scale], Mapping[str, Recipe | str]]
    """What is measured one by one, by name: of a model or, where none is trained, of something that has a name."""
    measure: Callable[[Bench, Any, int], dict[str, Any]]
    """Of a variant and a seed."""
    show: Callable[[Findings, Mapping[str, float]], showing.Shown]
    """The findings, beside the paper's numbers."""
    published: Mapping[str, float] = field(default_factory=dict)
    """The paper's numbers, by variant."""
    claims: tuple[Claim, ...] = ()
    needs: tuple[str, ...] = ()
    """Names of inputs without which it is skipped."""
    extra: tuple[str, str] = ("sklearn", "plots")
    """A module that it needs, and the extra that brings it."""
    every_seed: bool = True
    qualitative: bool = False
    """Whether it looks into the positional vectors, which needs no test data and makes sense in any language."""


MISSING = {
    "questions": "no word analogies were given; add --questions FILE",
    "sentences": "no sentences were given; add --sentence 'words with a [MASK] among them'",
    "language_data": "no texts for language modelling were given; add --language-data FOLDER",
}

SENTENCES = ("unlike dogs cats [MASK]", "unlike cats dogs [MASK]", "fruit flies like [MASK]", "[MASK] flies like fruit")
"""The paper's."""

_INITIALIZERS = ("sqrt_normal_as_run", "sqrt_normal", "uniform", "identity", "vanilla")


def _main(*models: str) -> Callable[[Scale], dict[str, Recipe | str]]:
    return lambda scale: {model: Recipe(model, "main") for model in models}


def _windows(scale: Scale) -> dict[str, Recipe | str]:
    return {
        f"{model} {window}": Recipe(model, "sweep", (("window", window),))
        for window in scale.windows
        for model in ("subword", "positional")
    }


def _positional_dims(scale: Scale) -> dict[str, Recipe | str]:
    return {
        f"constrained {size}": Recipe("constrained", "sweep", (("positional_dim", scale.positional_dim(size)),))
        for size in scale.positional_dims
    }


def _initializers(scale: Scale) -> dict[str, Recipe | str]:
    recipes: dict[str, Recipe | str] = {
        name: Recipe("positional", "sweep", (("initializer", name),)) for name in _INITIALIZERS
    }
    large = (("initializer", "identity"), ("dim", scale.explosion_dim))
    return {**recipes, "identity, large D": Recipe("positional", "sweep", large)}


def _searches(scale: Scale) -> dict[str, Recipe | str]:
    return {model: Recipe(model, "sweep") for model in ("subword", "positional", "constrained")}


def _names(*names: str) -> Callable[[Scale], dict[str, Recipe | str]]:
    return lambda scale: {name: name for name in names}


# ---- numbers that claims compare ----------------------------------------------------------------------------------


def _value(experiment: str, variant: str, *keys: str) -> Number:
    def number(seed: Seed) -> float:
        value: Any = seed[experiment][variant]
        for key in keys:
            value = value[key]
        return float(value)

    return number


def _ratio(one: Number, other: Number) -> Number:
    return lambda seed: one(seed) / other(seed)


def _best(model: str) -> Number:
    """The highest accuracy over window sizes."""
    return lambda seed: max(
        values["accuracy"] for name, values in seed["windows"].items() if name.startswith(f"{model} ")
    )


def _near(model: str, *positions: int) -> Number:
    """The mean importance of some positions."""
    return lambda seed: sum(seed["positions"][model][f"{each:+d}"] for each in positions) / len(positions)


def _beyond(model: str, low: float, high: float, left: bool = False) -> Number:
    """The mean importance of positions at some shares of the window from the masked word."""

    def number(seed: Seed) -> float:
        importance = {int(position): value for position, value in seed["positions"][model].items()}
        window = max(importance)
        chosen = [
            value
            for position, value in importance.items()
            if max(2, low * window) < abs(position) <= high * window and not (left and position > 0)
        ]
        return float(sum(chosen) / len(chosen))

    return number


def _spread(model: str) -> Number:
    """Of importance beyond +-2: the deviation from its mean."""

    def number(seed: Seed) -> float:
        values = [value for position, value in seed["positions"][model].items() if abs(int(position)) > 2]
        mean = sum(values) / len(values)
        deviation: float = (sum((value - mean) ** 2 for value in values) / len(values)) ** 0.5
        return deviation

    return number


def _size(model: str, *names: str) -> Number:
    """How many features there are in some clusters, those numbered of one name together."""
    return lambda seed: sum(
        each["size"] for name, each in seed["clusters"][model]["clusters"].items() if name.partition("-")[0] in names
    )


def _in_class(model: str, cluster: str) -> Number:
    """The share of the words, that the paper names for a cluster, which it maximizes here."""

    def number(seed: Seed) -> float:
        classes = seed["context-words"][model]["classes"]
        words = [word for word in measures.CLASSES[cluster] if word in classes]
        found = [word for word in words if classes[word].partition("-")[0] == cluster]
        return len(found) / len(words)

    return number


# ---- the list -----------------------------------------------------------------------------------------------------

EXPERIMENTS = (
    Experiment(
        "initial-values",
        "Initial values",
        "appendix A, figures of densities",
        "Densities of a feature u of an input vector, of a feature d of a positional vector, and of their product, at "
        "D = 1 as in the paper. In the subword model the place of the product is taken by U(±1/D): an initializer "
        "whose product has the same variance (a ratio of 1) keeps the effective learning rate.",
        _names(*_INITIALIZERS, "square-root uniform"),
        measures.initial_values,
        showing.initial_values,
        claims=(
            Claim(
                "The square-root normal distribution keeps the variance of the subword model",
                "a ratio of variances in (0.95, 1] with k = 9",
                _value("initial-values", "sqrt_normal", "variance_ratio"),
                "≈",
                1.0,
                ".3f",
                0.06,
            ),
            Claim(
                "Positions same as vanilla subwords make the variance of the product vanish",
                "1/9D⁴ ≪ 1/3D²",
                _value("initial-values", "vanilla", "variance_ratio"),
                "<",
                0.01,
                ".2g",
            ),
        ),
        every_seed=False,
    ),
    Experiment(
        "variances",
        "Variance of the square-root normal distribution",
        "appendix A, figure of Var_k",
        "Var_k[u·d] / σ² where the infinite product in the definition of the distribution is cut off after the factors "
        "0..k; posvec and the paper use k = 9.",
        _names("sqrt_normal"),
        measures.variances,
        showing.variances,
        claims=(
            Claim(
                "With k = 9 the variance is more than 0.95 of what it is in the limit",
                "in (0.95, 1]",
                lambda seed: seed["variances"]["sqrt_normal"]["variances"][9],
                ">",
                0.95,
                ".3f",
            ),
        ),
        every_seed=False,
    ),
    Experiment(
        "masked-words",
        "Masked words",
        "table of masked word prediction",
        "The best words for the gap of each sentence, and the ranks and probabilities σ(s) of selected words, as the "
        "model of the first seed has them.",
        _main("constrained", "positional"),
        measures.masked_words,
        showing.masked_words,
        claims=(
            Claim(
                "Positional model: after “unlike dogs cats”, mew is more probable than bark",
                "mew 100 %, bark 99.7 %",
                _value("masked-words", "positional", SENTENCES[0], "mew", "probability"),
                ">",
                _value("masked-words", "positional", SENTENCES[0], "bark", "probability"),
                ".1%",
            ),
            Claim(
                "Positional model: after “unlike cats dogs”, mew is less probable than bark",
                "mew 99.8 %, bark 99.9 %",
                _value("masked-words", "positional", SENTENCES[1], "mew", "probability"),
                "<",
                _value("masked-words", "positional", SENTENCES[1], "bark", "probability"),
                ".1%",
            ),
            Claim(
                "Constrained model: moisture is more probable in “fruit flies like …” than in “… flies like fruit”",
                "69.6 % and 42.8 %",
                _value("masked-words", "constrained", SENTENCES[2], "moisture", "probability"),
                ">",
                _value("masked-words", "constrained", SENTENCES[3], "moisture", "probability"),
                ".1%",
            ),
            Claim(
                "Constrained model: vegetable is about as probable in both of these",
                "99.9 % and 99.9 %",
                _value("masked-words", "constrained", SENTENCES[2], "vegetable", "probability"),
                "≈",
                _value("masked-words", "constrained", SENTENCES[3], "vegetable", "probability"),
                ".1%",
                0.05,
            ),
        ),
        needs=("sentences",),
        qualitative=True,
    ),
    Experiment(
        "positions",
        "Importance of positions",
        "figure of the importance of positions",
        "The ℓ2 norm of the positional vector of each position, scaled to 0..1 in each model; mean and 95 % interval "
        "over seeds.",
        _main("constrained", "positional"),
        measures.position_importance,
        showing.positions,
        claims=(
            Claim(
                "Positional model: importance falls sharply from positions ±1 to ±2",
                "a sharp fall, in the figure",
                _near("positional", -1, 1),
                ">",
                _near("positional", -2, 2),
            ),
            Claim(
                "Constrained model: importance falls sharply from positions ±1 to ±2",
                "a sharp fall, in the figure",
                _near("constrained", -1, 1),
                ">",
                _near("constrained", -2, 2),
            ),
            Claim(
                "Positional model: beyond ±2 importance rises with distance (the outer third of the window against the "
                "inner third)",
                "it increases, in the figure",
                _beyond("positional", 2 / 3, 1),
                ">",
                _beyond("positional", 0, 1 / 3),
            ),
            Claim(
                "Positional model: far to the left (p < −12 of 15) it even exceeds that of p = −2",
                "it exceeds, in the figure",
                _beyond("positional", 12 / 15, 1, left=True),
                ">",
                _near("positional", -2),
            ),
            Claim(
                "Constrained model: beyond ±2 importance is almost constant (its deviation is less than 0.1)",
                "almost constant, in the figure",
                _spread("constrained"),
                "<",
                0.1,
            ),
        ),
        qualitative=True,
    ),
    Experiment(
        "clusters",
        "Clusters of positional features",
        "figure of the importance of positions according to clusters",
        "Ward's clusters of positional features by the side of the masked word that they weigh more: mean |d| of each "
        "cluster at each position, its size in parentheses. Curves are those of the first seed, sizes of all.",
        _main("constrained", "positional"),
        measures.feature_clusters,
        showing.clusters,
        claims=(
            Claim(
                "Positional model: the informational cluster is bigger than the antepositional one",
                "bigger; 224 of 300 against some of 76",
                _size("positional", "informational"),
                ">",
                _size("positional", "antepositional"),
                ".0f",
            ),
            Claim(
                "Positional model: the informational cluster is bigger than the postpositional one",
                "bigger; 224 of 300 against some of 76",
                _size("positional", "informational"),
                ">",
                _size("positional", "postpositional"),
                ".0f",
            ),
            Claim(
                "Positional model: about a quarter of the features are ante- or postpositional",
                "76 of 300 (25.3 %)",
                _ratio(
                    _size("positional", "antepositional", "postpositional"),
                    _size("positional", "antepositional", "postpositional", "informational"),
                ),
                "≈",
                76 / 300,
                ".1%",
                0.1,
            ),
            Claim(
                "Constrained model: there are antepositional and postpositional features alone, and of both",
                "two clusters, one for each side",
                lambda seed: min(_size("constrained", name)(seed) for name in ("antepositional", "postpositional")),
                ">",
                0.0,
                ".0f",
            ),
        ),
        qualitative=True,
    ),
    Experiment(
        "context-words",
        "Importance of context words",
        "section on positional vectors, words named in the text",
        "The context words that each cluster maximizes: by mean |u| over the cluster, as in the paper, and by how much "
        "greater it is than over the next cluster. Shown are those of the first seed, among the 20,000 most frequent.",
        _main("constrained", "positional"),
        measures.classes_of_words,
        showing.context_words,
        claims=tuple(
            Claim(
                f"Positional model: the words that the paper names for it are {cluster} ({', '.join(words)}): "
                "at least half of them",
                "all three",
                _in_class("positional", cluster),
                ">",
                0.5,
                ".0%",
            )
            for cluster, words in measures.CLASSES.items()
        ),
        qualitative=True,
    ),
    Experiment(
        "models",
        "Training times and accuracy",
        "Table 1, training times",
        "The models at the paper's window sizes and numbers of positional features. Seconds are by the clock, CPU "
        "seconds those of all cores, which other work on the machine hardly changes; the paper's times are of 2.4 "
        "billion words on 8 cores. Accuracy is of word analogies by 3CosAdd among the 200,000 most frequent words; the "
        "paper has none of these models but in its figures.",
        _main("subword", "positional", "constrained", "general"),
        measures.training,
        showing.models,
        published={"subword": 71.0, "positional": 252.0, "constrained": 125.0},
        claims=(
            Claim(
                "The constrained model trains faster than the positional model (CPU seconds)",
                "2h05 and 4h12",
                _value("models", "constrained", "cpu_seconds"),
                "<",
                _value("models", "positional", "cpu_seconds"),
                ".0f",
            ),
            Claim(
                "The constrained model trains twice as fast as the positional model (CPU seconds)",
                "a ratio of 2.0",
                _ratio(_value("models", "positional", "cpu_seconds"), _value("models", "constrained", "cpu_seconds")),
                "≈",
                2.0,
                ".2f",
                0.5,
            ),
            Claim(
                "The subword model trains faster than the constrained model (CPU seconds)",
                "1h11 and 2h05",
                _value("models", "subword", "cpu_seconds"),
                "<",
                _value("models", "constrained", "cpu_seconds"),
                ".0f",
            ),
            Claim(
                "On all of the text, the positional model is more accurate than the subword model",
                "71.8 % and 65.3 % at their best, in the figure of window sizes",
                _value("models", "positional", "accuracy"),
                ">",
                _value("models", "subword", "accuracy"),
                ".1%",
            ),
            Claim(
                "On all of the text, the constrained model is more accurate than the positional model",
                "75.0 % and 72.4 %, in the figure of D′",
                _value("models", "constrained", "accuracy"),
                ">",
                _value("models", "positional", "accuracy"),
                ".1%",
            ),
        ),
    ),
    Experiment(
        "windows",
        "Accuracy against window size",
        "figure of accuracy against c",
        "Word analogy accuracy of subword and positional models with different window sizes c; mean and 95 % interval "
        "over seeds.",
        _windows,
        measures.accuracy,
        showing.windows,
        published={
            **dict(
                zip(
                    [f"subword {c}" for c in (5, 10, 20, 30, 40, 50)], (65.3, 63.3, 60.7, 58.6, 58.0, 58.2), strict=True
                )
            ),
            **dict(
                zip(
                    [f"positional {c}" for c in (5, 10, 20, 30, 40, 50)],
                    (70.7, 71.8, 71.7, 71.7, 71.7, 70.5),
                    strict=True,
                )
            ),
        },
        claims=(
            Claim(
                "The accuracy of the subword model declines as the window grows from 5 to 50",
                "65.3 % at c = 5, 58.2 % at c = 50",
                _value("windows", "subword 5", "accuracy"),
                ">",
                _value("windows", "subword 50", "accuracy"),
                ".1%",
            ),
            Claim(
                "The positional model copes with windows up to 40: it is at least as accurate there as with 5",
                "70.7 % at c = 5, 71.7 % at c = 40",
                _value("windows", "positional 40", "accuracy"),
                ">",
                _value("windows", "positional 5", "accuracy"),
                ".1%",
            ),
            Claim(
                "At its best window the positional model is more accurate than the subword model at its own",
                "71.8 % and 65.3 %",
                _best("positional"),
                ">",
                _best("subword"),
                ".1%",
            ),
        ),
        needs=("questions",),
    ),
    Experiment(
        "positional-features",
        "Accuracy against the number of positional features",
        "figure of accuracy against D′",
        "Word analogy accuracy of models with c = 15 and different numbers of positional features D′, from none "
        "(a subword model) to all (the positional model); mean and 95 % interval over seeds.",
        _positional_dims,
        measures.accuracy,
        showing.positional_features,
        published=dict(
            zip(
                [f"constrained {size}" for size in (0, 50, 60, 100, 150, 200, 250, 300)],
                (62.0, 74.7, 75.0, 74.2, 74.2, 74.0, 72.9, 72.4),
                strict=True,
            )
        ),
        claims=(
            Claim(
                "Some positional features (D′ = 60) are better than none",
                "75.0 % and 62.0 %",
                _value("positional-features", "constrained 60", "accuracy"),
                ">",
                _value("positional-features", "constrained 0", "accuracy"),
                ".1%",
            ),
            Claim(
                "Some positional features (D′ = 60) are better than all features being positional",
                "75.0 % and 72.4 %",
                _value("positional-features", "constrained 60", "accuracy"),
                ">",
                _value("positional-features", "constrained 300", "accuracy"),
                ".1%",
            ),
        ),
        needs=("questions",),
    ),
    Experiment(
        "initializers",
        "Effect of the initializer on training",
        "appendix A, text; accuracies published beside the paper's code",
        "Word analogy accuracy of positional models with different initial values, and whether training with d = 1 "
        "explodes at a large D. In its text the paper has the square-root normal distribution of variance σ²; its "
        "authors' code took the root twice, which is called as run here.",
        _initializers,
        measures.accuracy,
        showing.initializers,
        published={"vanilla": 51.0, "identity": 75.0, "uniform": 74.3, "sqrt_normal_as_run": 75.0},
        claims=(
            Claim(
                "Positions same as vanilla subwords train worst: worse than the square-root normal distribution as run",
                "51.0 % and 75.0 %",
                _value("initializers", "vanilla", "accuracy"),
                "<",
                _value("initializers", "sqrt_normal_as_run", "accuracy"),
                ".1%",
            ),
            Claim(
                "Identity positions are about as good as the square-root normal distribution as run",
                "75.0 % and 75.0 %",
                _value("initializers", "identity", "accuracy"),
                "≈",
                _value("initializers", "sqrt_normal_as_run", "accuracy"),
                ".1%",
                0.02,
            ),
            Claim(
                "The uniform distribution is about as good as the square-root normal distribution as run",
                "74.3 % and 75.0 %",
                _value("initializers", "uniform", "accuracy"),
                "≈",
                _value("initializers", "sqrt_normal_as_run", "accuracy"),
                ".1%",
                0.02,
            ),
            Claim(
                "Identity positions explode for D > 600 (1: training overflowed, 0: it did not)",
                "NaN as the training continues",
                lambda seed: float("overflowed" in seed["initializers"]["identity, large D"]),
                ">",
                0.0,
                ".0f",
            ),
        ),
        needs=("questions",),
    ),
    Experiment(
        "language-model",
        "Language modelling",
        "figure and table of perplexities",
        "Perplexity of recurrent language models whose lookup tables are the frozen vectors of each model: validation "
        "by epoch, and test at the best epoch; mean and 95 % interval over seeds. Perplexities of different texts and "
        "vocabularies cannot be compared: only the order of the models can.",
        _main("subword", "positional", "constrained"),
        measures.perplexity,
        showing.language_model,
        published={"subword": 360.91, "positional": 347.52, "constrained": 343.13},
        claims=(
            Claim(
                "The positional model gives a lower test perplexity than the subword model",
                "347.52 and 360.91",
                _value("language-model", "positional", "test"),
                "<",
                _value("language-model", "subword", "test"),
                ".1f",
            ),
            Claim(
                "The constrained model gives a lower test perplexity than the subword model",
                "343.13 and 360.91",
                _value("language-model", "constrained", "test"),
                "<",
                _value("language-model", "subword", "test"),
                ".1f",
            ),
            Claim(
                "The constrained model gives a lower test perplexity than the positional model",
                "343.13 and 347.52",
                _value("language-model", "constrained", "test"),
                "<",
                _value("language-model", "positional", "test"),
                ".1f",
            ),
        ),
        needs=("language_data",),
        extra=("torch", "lm"),
    ),
    Experiment(
        "search",
        "Optimal window sizes and numbers of positional features",
        "Table 1, c and D′",
        "What Sequential Model-Based Optimization (Tree-structured Parzen Estimator) finds best by word analogies. One "
        "search of each model: the optimum of so few trials, of models that differ by little, is a rough one.",
        _searches,
        measures.optimum,
        showing.search,
        claims=(
            Claim(
                "The positional model wants a larger window than the subword model",
                "c = 15 and c = 5",
                _value("search", "positional", "window"),
                ">",
                _value("search", "subword", "window"),
                ".0f",
            ),
            Claim(
                "The constrained model wants a larger window than the subword model",
                "c = 15 and c = 5",
                _value("search", "constrained", "window"),
                ">",
                _value("search", "subword", "window"),
                ".0f",
            ),
        ),
        needs=("questions",),
        extra=("optuna", "search"),
        every_seed=False,
    ),
)

NAMES = tuple(experiment.name for experiment in EXPERIMENTS)
assert set(_INITIALIZERS) == set(INITIALIZERS)
