"""Clusters of positional features: which side of the masked word each feature listens to.

With A = |d|, feature j is described by the c-vector A[+k, j] - A[-k, j], k = 1..c: negative where it weighs the left
side more than the right. Ward's agglomerative clustering of these vectors gives the clusters J; the importance of
position p according to J is the mean of A[p, j] over j in J.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from posvec.errors import ConfigError, PosvecError
from posvec.evaluation.results import Result, Table
from posvec.model import Model
from posvec.system.arrays import FloatArray
from posvec.system.extras import require_extra

ANTE, POST, INFORMATIONAL = "antepositional", "postpositional", "informational"
# "auto" chooses among these numbers of clusters.
_MOST_CLUSTERS = 10

_COLUMNS = ("cluster", "size", "mean |d|", "right − left")


@dataclass(frozen=True)
class Cluster:
    """A set J of positional features."""

    name: str
    features: tuple[int, ...]
    curve: tuple[float, ...]
    """Mean |d_p,j| over j in J, for each position p from left to right."""
    difference: float
    """Mean of A[+k, j] - A[-k, j]: negative where the left side weighs more."""

    @property
    def mean(self) -> float:
        """Mean |d_p,j| over positions and features."""
        return float(np.mean(self.curve))


@dataclass(frozen=True)
class Clusters(Result):
    """All positional features of a model, each in one cluster."""

    positions: tuple[int, ...]
    clusters: tuple[Cluster, ...]
    silhouette: float | None
    """From -1 to 1: how much nearer features are to their own cluster than to the next; None if it has no meaning."""
    weights: FloatArray = field(compare=False, repr=False)
    """|d_p,j|, (2c, D')."""

    @property
    def names(self) -> list[str]:
        return [cluster.name for cluster in self.clusters]

    def __iter__(self) -> Iterator[Cluster]:
        return iter(self.clusters)

    def __len__(self) -> int:
        return len(self.clusters)

    def __getitem__(self, name: str) -> Cluster:
        for cluster in self.clusters:
            if cluster.name == name:
                return cluster
        raise PosvecError(f"there is no cluster {name!r}; this model has {', '.join(self.names)}")

    def tables(self) -> list[Table]:
        sizes = [(each.name, len(each.features), each.mean, each.difference) for each in self.clusters]
        curves = [
            (f"{position:+d}", *(each.curve[row] for each in self.clusters))
            for row, position in enumerate(self.positions)
        ]
        silhouette = "" if self.silhouette is None else f" (silhouette {self.silhouette:.2f})"
        return [
            Table(f"Clusters of positional features{silhouette}", _COLUMNS, sizes),
            Table("Mean |d| at each position", ("position", *self.names), curves),
            Table("Features of each cluster", ("cluster", "features"), [(each.name, _listed(each)) for each in self]),
        ]

    def main_table(self) -> Table:
        """The sizes with the features beside them."""
        sizes, *_ = self.tables()
        rows = [(*row, _listed(each)) for row, each in zip(sizes.rows, self.clusters, strict=True)]
        return Table(sizes.title, (*_COLUMNS, "features"), rows)


def find(model: Model, count: int | Literal["auto"] | None = None) -> Clusters:
    """The clusters of a model's positional features.

    ``count`` is how many: by default the paper's 3 if all features are positional (D' = D) and 2 if some are not;
    "auto" takes the number with the greatest silhouette.
    """
    model.check_positional()
    weights = np.abs(model.positional_vectors)
    window, size = model.config.model.window, weights.shape[1]
    differences = (weights[window:] - weights[:window][::-1]).T
    if count is None:
        count = 3 if size == model.config.model.dim else 2
    if count == "auto":
        if size < 3:
            raise PosvecError(f"a number of clusters can be chosen for 3 positional features or more, not {size}")
        choices = [_ward(differences, each) for each in range(2, min(_MOST_CLUSTERS, size - 1) + 1)]
        labels = max(choices, key=lambda choice: _silhouette(differences, choice) or -1.0)
    else:
        if not isinstance(count, int) or count < 1:
            raise ConfigError(f"the number of clusters is a whole number from 1 or 'auto', not {count!r}")
        if count > size:
            raise PosvecError(f"{size} positional features cannot fall into {count} clusters; ask for fewer")
        labels = _ward(differences, count)
    parts = [np.flatnonzero(labels == label) for label in np.unique(labels)]
    clusters = [
        Cluster(
            name,
            tuple(part.tolist()),
            tuple(weights[:, part].mean(1, dtype=np.float64).tolist()),
            float(differences[part].mean(dtype=np.float64)),
        )
        for name, part in zip(_names(weights, differences, parts), parts, strict=True)
    ]
    ordered = tuple(sorted(clusters, key=lambda each: _ORDER.index(each.name.partition("-")[0])))
    return Clusters(tuple(model.positions), ordered, _silhouette(differences, labels), weights)


_ORDER = (ANTE, POST, INFORMATIONAL)


def _listed(cluster: Cluster) -> str:
    return " ".join(map(str, cluster.features))


def _ward(differences: FloatArray, count: int) -> NDArray[np.intp]:
    if count == 1 or len(differences) == 1:
        return np.zeros(len(differences), np.intp)
    cluster: Any = require_extra("sklearn.cluster", "plots")
    labels: NDArray[np.intp] = cluster.AgglomerativeClustering(count, linkage="ward").fit_predict(differences)
    return labels


def _silhouette(differences: FloatArray, labels: NDArray[np.intp]) -> float | None:
    if not 1 < len(np.unique(labels)) < len(labels):
        return None
    return float(require_extra("sklearn.metrics", "plots").silhouette_score(differences, labels))


def _names(weights: FloatArray, differences: FloatArray, parts: Sequence[NDArray[np.intp]]) -> list[str]:
    """Of three clusters or more, the one of greatest mean |d| is informational; the rest are named by their side.

    Several of one side are numbered, the largest first.
    """
    names = [ANTE if differences[part].mean() < 0 else POST for part in parts]
    if len(parts) > 2:
        names[int(np.argmax([weights[:, part].mean() for part in parts]))] = INFORMATIONAL
    numbers: Counter[str] = Counter()
    repeated = {name for name, times in Counter(names).items() if times > 1}
    for index in sorted(range(len(parts)), key=lambda each: -len(parts[each])):
        if (name := names[index]) in repeated:
            numbers[name] += 1
            names[index] = f"{name}-{numbers[name]}"
    return names
