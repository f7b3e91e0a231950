"""The experiments of a reproduction, one for each table and figure of the paper.

They run and appear in the report in this order; quick ones are first. The paper's numbers are in ``paper``, its claims
in ``positional_claims`` and ``quality_claims``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from posvec.reproduction import measures, paper, presentation
from posvec.reproduction.claims import Claim
from posvec.reproduction.findings import Findings
from posvec.reproduction.positional_claims import POSITIONAL_CLAIMS
from posvec.reproduction.quality_claims import QUALITY_CLAIMS
from posvec.reproduction.scales import Scale
from posvec.reproduction.workspace import Recipe, Workspace


@dataclass(frozen=True)
class Experiment:
    """One table or figure of the paper."""

    name: str
    title: str
    location: str
    """Where it is in the paper."""
    description: str
    variants: Callable[[Scale], Mapping[str, Recipe | str]]
    """What is measured, by the name of the variant: a model, or a name if no model is trained."""
    measure: Callable[[Workspace, Any, int], dict[str, Any]]
    """Measures a variant with a seed."""
    present: Callable[[Findings, Mapping[str, float]], presentation.Presentation]
    """Makes figures and tables of the findings and the paper's numbers."""
    inputs: tuple[str, ...] = ()
    """The names of the inputs without which the experiment is skipped."""
    extra: tuple[str, str] = ("sklearn", "plots")
    """A module that the experiment imports, and the extra of posvec that installs it."""
    every_seed: bool = True
    """Whether it is repeated with every seed."""
    qualitative: bool = False
    """Whether it is about the positional vectors, which needs no test sets and suits any language."""

    @property
    def published(self) -> Mapping[str, float]:
        """The paper's numbers, by variant."""
        return paper.PUBLISHED.get(self.name, {})

    @property
    def claims(self) -> tuple[Claim, ...]:
        """The claims of the paper about this experiment."""
        return _CLAIMS[self.name]


_CLAIMS = {**POSITIONAL_CLAIMS, **QUALITY_CLAIMS}
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
        "D = 1 as in the paper. The subword model has values from U(±1/D) in place of the product: an initializer "
        "whose product has the same variance (a ratio of 1) keeps the effective learning rate.",
        _names(*_INITIALIZERS, "square-root uniform"),
        measures.initial_values,
        presentation.show_initial_values,
        every_seed=False,
    ),
    Experiment(
        "variances",
        "Variance of the square-root normal distribution",
        "appendix A, figure of Var_k",
        "Var_k[u·d] / σ² if the infinite product in the definition of the distribution is truncated after the factors "
        "0..k; posvec and the paper use k = 9.",
        _names("sqrt_normal"),
        measures.variances,
        presentation.show_variances,
        every_seed=False,
    ),
    Experiment(
        "masked-words",
        "Masked words",
        "table of masked word prediction",
        "The most probable words for the [MASK] of each sentence, and the ranks and probabilities σ(s) of selected "
        "words, by the model of the first seed.",
        _main("constrained", "positional"),
        measures.masked_words,
        presentation.show_masked_words,
        inputs=("sentences",),
        qualitative=True,
    ),
    Experiment(
        "positions",
        "Importance of positions",
        "figure of the importance of positions",
        "The ℓ2 norm of the positional vector of each position, scaled to 0–1 in each model; mean and 95 % interval "
        "over seeds.",
        _main("constrained", "positional"),
        measures.position_importance,
        presentation.show_positions,
        qualitative=True,
    ),
    Experiment(
        "clusters",
        "Clusters of positional features",
        "figure of the importance of positions according to clusters",
        "Ward's clusters of positional features by the side of the masked word that they give more weight to: mean |d| "
        "of each cluster at each position, its size in parentheses. Curves are of the first seed, sizes of all seeds.",
        _main("constrained", "positional"),
        measures.feature_clusters,
        presentation.show_clusters,
        qualitative=True,
    ),
    Experiment(
        "context-words",
        "Importance of context words",
        "section on positional vectors, words named in the text",
        "The context words that each cluster maximizes: by mean |u| over the cluster, as in the paper, and by its "
        "ratio to that of the next cluster. The words are of the first seed, among the 20,000 most frequent.",
        _main("constrained", "positional"),
        measures.context_word_classes,
        presentation.show_context_words,
        qualitative=True,
    ),
    Experiment(
        "models",
        "Training times and accuracy",
        "Table 1, training times",
        "The models with the paper's window sizes and numbers of positional features. Seconds are elapsed time; CPU "
        "seconds are the time of all cores, which other work on the machine changes less. The paper's times are for "
        "2.4 billion words on 8 cores. Accuracy is that of word analogies by 3CosAdd among the 200,000 most frequent "
        "words; the paper has the accuracy of these models only in its figures.",
        _main("subword", "positional", "constrained", "general"),
        measures.training,
        presentation.show_models,
    ),
    Experiment(
        "windows",
        "Accuracy against window size",
        "figure of accuracy against c",
        "Word analogy accuracy of subword and positional models with different window sizes c; mean and 95 % interval "
        "over seeds.",
        _windows,
        measures.accuracy,
        presentation.show_windows,
        inputs=("questions",),
    ),
    Experiment(
        "positional-features",
        "Accuracy against the number of positional features",
        "figure of accuracy against D′",
        "Word analogy accuracy of models with c = 15 and different numbers of positional features D′, from none "
        "(a subword model) to all (the positional model); mean and 95 % interval over seeds.",
        _positional_dims,
        measures.accuracy,
        presentation.show_positional_features,
        inputs=("questions",),
    ),
    Experiment(
        "initializers",
        "Effect of the initializer on training",
        "appendix A, text; accuracies published beside the paper's code",
        "Word analogy accuracy of positional models with different initial values, and whether training with d = 1 "
        "explodes at a large D. The text of the paper describes the square-root normal distribution with variance σ²; "
        "the code of its authors takes the root twice, which is called “as run” here.",
        _initializers,
        measures.accuracy,
        presentation.show_initializers,
        inputs=("questions",),
    ),
    Experiment(
        "language-model",
        "Language modelling",
        "figure and table of perplexities",
        "Perplexity of recurrent language models whose lookup tables are the frozen vectors of each model: validation "
        "by epoch, and test at the best epoch; mean and 95 % interval over seeds. Perplexities of other texts and "
        "vocabularies are not comparable; only the order of the models is.",
        _main("subword", "positional", "constrained"),
        measures.perplexity,
        presentation.show_language_model,
        inputs=("language_data",),
        extra=("torch", "lm"),
    ),
    Experiment(
        "search",
        "Optimal window sizes and numbers of positional features",
        "Table 1, c and D′",
        "The settings with the highest word analogy accuracy that Sequential Model-Based Optimization (Tree-structured "
        "Parzen Estimator) finds. There is one search for each model; with so few trials of models that differ little, "
        "the optimum is only approximate.",
        _searches,
        measures.optimum,
        presentation.show_search,
        inputs=("questions",),
        extra=("optuna", "search"),
        every_seed=False,
    ),
)

NAMES = tuple(experiment.name for experiment in EXPERIMENTS)
