"""Every table and figure of the paper, as data: the one list of what a reproduction runs. What the paper says of each
is in ``paper``.

The order is that of running and of the report: what gives something to look at early comes first.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from posvec.reproduction import measures, paper, showing
from posvec.reproduction.bench import Bench, Recipe
from posvec.reproduction.claims import Claim
from posvec.reproduction.findings import Findings
from posvec.reproduction.scales import Scale


@dataclass(frozen=True)
class Experiment:
    """One table or figure."""

    name: str
    title: str
    place: str
    """Where it is in the paper."""
    lead: str
    variants: Callable[[Scale], Mapping[str, Recipe | str]]
    """What is measured one by one, by name: of a model or, where none is trained, of something that has a name."""
    measure: Callable[[Bench, Any, int], dict[str, Any]]
    """Of a variant and a seed."""
    show: Callable[[Findings, Mapping[str, float]], showing.Shown]
    """The findings, beside the paper's numbers."""
    needs: tuple[str, ...] = ()
    """Names of inputs without which it is skipped."""
    extra: tuple[str, str] = ("sklearn", "plots")
    """A module that it needs, and the extra that brings it."""
    every_seed: bool = True
    qualitative: bool = False
    """Whether it looks into the positional vectors, which needs no test data and makes sense in any language."""

    @property
    def published(self) -> Mapping[str, float]:
        """The paper's numbers, by variant."""
        return paper.PUBLISHED.get(self.name, {})

    @property
    def claims(self) -> tuple[Claim, ...]:
        """What the paper says of it."""
        return paper.CLAIMS[self.name]


MISSING = {
    "questions": "no word analogies were given; add --questions FILE",
    "sentences": "no sentences were given; add --sentence 'words with a [MASK] among them'",
    "language_data": "no texts for language modelling were given; add --language-data FOLDER",
}

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
        qualitative=True,
    ),
    Experiment(
        "models",
        "Training times and accuracy",
        "Table 1, training times",
        "The models at the paper's window sizes and numbers of positional features. Seconds are by the clock, CPU "
        "seconds those of all cores, which other work on the machine changes less; the paper's are of 2.4 billion "
        "words on 8 cores. Accuracy is of word analogies by 3CosAdd among the 200,000 most frequent words; the paper "
        "has none of these models but in its figures.",
        _main("subword", "positional", "constrained", "general"),
        measures.training,
        showing.models,
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
        needs=("questions",),
        extra=("optuna", "search"),
        every_seed=False,
    ),
)

NAMES = tuple(experiment.name for experiment in EXPERIMENTS)
