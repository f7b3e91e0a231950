"""Clusters of positional features, by the side of the masked word towards which each feature is weighted.

With A = |d|, feature j is described by the vector A[+k, j] - A[-k, j] for k = 1..c, which is negative where the feature
has larger weights on the left side than on the right side. Ward's agglomerative clustering of these vectors gives the
clusters J. The importance of position p according to J is the mean of A[p, j] over j in J.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

from posvec.errors import PosvecError
from posvec.evaluation.results import Result, Table
from posvec.model import Model
from posvec.query.parsing import parse_integer
from posvec.system.arrays import FloatArray, IndexArray
from posvec.system.extras import require_extra

ANTE, POST, INFORMATIONAL = "antepositional", "postpositional", "informational"

_ORDER = (ANTE, POST, INFORMATIONAL)
_MAX_FEATURES = 16_384  # whose distances take 1 GB
_MAX_AUTO_CLUSTERS = 10  # the largest number of clusters that "auto" tries
_COLUMNS = ("cluster", "size", "mean |d|", "right − left")


@dataclass(frozen=True)
class FeatureCluster:
    """A set J of positional features.

    Attributes
    ----------
    name
        "antepositional" for features weighted towards the left side, "postpositional" for the right side, and
        "informational" for the cluster with the largest weights if there are three or more; with a number if several
        clusters have the same name.
    features
        The indices j of the features.
    curve
        The mean of |d_p,j| over j in J for each position p, from left to right.
    difference
        The mean of A[+k, j] - A[-k, j]; it is negative if the left side has larger weights.

    Examples
    --------
    >>> from posvec.evaluation.clusters import FeatureCluster
    >>> cluster = FeatureCluster("antepositional", features=(0, 2), curve=(1.0, 0.5), difference=-0.5)
    >>> cluster.mean
    0.75
    """

    name: str
    features: tuple[int, ...]
    curve: tuple[float, ...]
    difference: float

    @property
    def mean(self) -> float:
        """The mean of |d_p,j| over positions and features."""
        return float(np.mean(self.curve))


@dataclass(frozen=True)
class Clusters(Result):
    """A partition of the positional features of a model into clusters; it is a collection of clusters by name.

    Attributes
    ----------
    positions
        The positions of the context window, from left to right.
    clusters
        The clusters: antepositional, postpositional, informational.
    silhouette
        The silhouette coefficient, from -1 to 1: how much nearer features are to their own cluster than to the next;
        None if it is undefined.
    weights
        |d_p,j|, (2c, D'); not written to files.

    Examples
    --------
    >>> import posvec
    >>> from posvec.evaluation import clusters
    >>> found = clusters.find(posvec.load("model"))
    >>> [found[name].name for name in found.names] == [cluster.name for cluster in found]
    True
    """

    positions: tuple[int, ...]
    clusters: tuple[FeatureCluster, ...]
    silhouette: float | None
    weights: FloatArray = field(compare=False, repr=False)

    @property
    def names(self) -> list[str]:
        """The names of the clusters."""
        return [cluster.name for cluster in self.clusters]

    def __iter__(self) -> Iterator[FeatureCluster]:
        return iter(self.clusters)

    def __len__(self) -> int:
        return len(self.clusters)

    def __getitem__(self, name: str) -> FeatureCluster:
        for cluster in self.clusters:
            if cluster.name == name:
                return cluster
        raise PosvecError(f"there is no cluster {name!r}; this model has {', '.join(self.names)}")

    def tables(self) -> list[Table]:
        """Return the sizes, the mean weights at each position, and the features of the clusters."""
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
        """Return the sizes and features of the clusters."""
        sizes, *_ = self.tables()
        rows = [(*row, _listed(each)) for row, each in zip(sizes.rows, self.clusters, strict=True)]
        return Table(sizes.title, (*_COLUMNS, "features"), rows)


def find(model: Model, count: int | Literal["auto"] | None = None) -> Clusters:
    """Cluster the positional features of a model.

    Parameters
    ----------
    model
        A positional or constrained model.
    count
        The number of clusters. "auto" chooses the number with the greatest silhouette. By default it is the number in
        the paper: 3 if all features are positional (D' = D) and 2 otherwise.

    Returns
    -------
    Clusters
        The clusters.

    Examples
    --------
    >>> import posvec
    >>> from posvec.evaluation import clusters
    >>> found = clusters.find(posvec.load("model"))
    >>> len(found)
    3
    >>> sum(len(cluster.features) for cluster in found) == posvec.load("model").config.model.positional_dim
    True
    """
    model.check_positional()
    if model.config.model.positional_dim > _MAX_FEATURES:
        raise PosvecError(
            f"clustering compares all pairs of features, and this model has {model.config.model.positional_dim:,} "
            f"positional ones; at most {_MAX_FEATURES:,} are possible"
        )
    weights = np.abs(model.positional_vectors)
    window, size = model.config.model.window, weights.shape[1]
    differences = (weights[window:] - weights[:window][::-1]).T
    # The clusters do not depend on the scale of the weights, and the squares of very large ones would overflow.
    scaled = np.ldexp(differences, -int(np.frexp(weights.max())[1]))
    if count is None:
        count = 3 if size == model.config.model.dim else 2
    if count == "auto":
        if size < 3:
            raise PosvecError(
                f"count='auto' needs at least 3 positional features, and the model has {size}; give the number of "
                "clusters"
            )
        choices = [_ward(scaled, each) for each in range(2, min(_MAX_AUTO_CLUSTERS, size - 1) + 1)]
        labels = max(choices, key=lambda choice: _silhouette(scaled, choice) or -1.0)
    else:
        count = parse_integer("the number of clusters", count, 1, "; or give 'auto'")
        if count > size:
            raise PosvecError(f"{size} positional features cannot form {count} clusters; use fewer clusters")
        labels = _ward(scaled, count)
    parts = [np.flatnonzero(labels == label) for label in np.unique(labels)]
    clusters = [
        FeatureCluster(
            name,
            tuple(part.tolist()),
            tuple(weights[:, part].mean(1, dtype=np.float64).tolist()),
            float(differences[part].mean(dtype=np.float64)),
        )
        for name, part in zip(_names(weights, differences, parts), parts, strict=True)
    ]
    ordered = tuple(sorted(clusters, key=lambda each: _ORDER.index(each.name.partition("-")[0])))
    return Clusters(tuple(model.positions), ordered, _silhouette(scaled, labels), weights)


def _listed(cluster: FeatureCluster) -> str:
    return " ".join(map(str, cluster.features))


def _ward(differences: FloatArray, count: int) -> IndexArray:
    if count == 1 or len(differences) == 1:
        return np.zeros(len(differences), np.intp)
    cluster: Any = require_extra("sklearn.cluster", "plots")
    labels: IndexArray = cluster.AgglomerativeClustering(count, linkage="ward").fit_predict(differences)
    return labels


def _silhouette(differences: FloatArray, labels: IndexArray) -> float | None:
    if not 1 < len(np.unique(labels)) < len(labels):
        return None
    return float(require_extra("sklearn.metrics", "plots").silhouette_score(differences, labels))


def _names(weights: FloatArray, differences: FloatArray, parts: Sequence[IndexArray]) -> list[str]:
    """Name clusters by their side; of three or more clusters, the one with the greatest mean |d| is informational.

    Several clusters of one side are numbered, the largest first.
    """
    names = [ANTE if differences[part].mean(dtype=np.float64) < 0 else POST for part in parts]
    if len(parts) > 2:
        names[int(np.argmax([weights[:, part].mean(dtype=np.float64) for part in parts]))] = INFORMATIONAL
    numbers: Counter[str] = Counter()
    repeated = {name for name, times in Counter(names).items() if times > 1}
    for index in sorted(range(len(parts)), key=lambda each: -len(parts[each])):
        if (name := names[index]) in repeated:
            numbers[name] += 1
            names[index] = f"{name}-{numbers[name]}"
    return names
