"""All graphs at a glance: the kernel as a picture, its spectrum, and graphs as points in the plane."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fastgntk._util.threads import single_threaded_blas
from fastgntk.report._schema import Group, HeatMap, Map

__all__ = ["Spectrum", "heat_map", "neighbour_map", "order_by_class", "order_by_cluster", "principal_map", "spectrum"]

Array = NDArray[np.float64]
Ints = NDArray[np.int64]

_PICTURE = 300  # rows of a heat map
_FULL = 2000  # graphs up to which all eigenvalues are found, and neighbours are sought by cosines themselves
_AXES = 30  # of the kernel that a map of more graphs starts from
_TREE = 3000  # graphs up to which a tree is built
_CLUSTERS = 6
_LEAST = 10  # graphs for a map by neighbours


@dataclass(frozen=True, eq=False)
class Spectrum:
    """Eigenvalues of the centred cosines, largest first, with the coordinates of graphs on the largest axes."""

    values: Array  # (r,)
    coordinates: Array  # (n, up to 30), columns √λ v
    total: float
    """Sum of all eigenvalues."""
    all_known: bool

    @property
    def effective_rank(self) -> float:
        """How many equal eigenvalues would be as spread out: (Σλ)² / Σλ², from those that are known."""
        squares = float(np.sum(self.values**2))
        return self.total**2 / squares if squares else 0.0

    @property
    def condition(self) -> float | None:
        """The smallest of the n − 1 eigenvalues that centring leaves over the largest; None if they are not known."""
        if not self.all_known or len(self.values) < 2 or self.values[0] <= 0:
            return None
        return float(max(self.values[-2], 0.0) / self.values[0])


def spectrum(cosine: Array) -> Spectrum:
    """Decompose the kernel's cosines (n, n) after centring: kernel principal components.

    Signs are such that the largest coordinate on each axis is positive. Past 2,000 graphs only the largest 30
    eigenvalues are found.
    """
    from scipy.linalg import eigh
    from scipy.sparse.linalg import eigsh

    n = len(cosine)
    means = cosine.mean(axis=0)
    centred = cosine - means - means[:, None] + means.mean()
    with single_threaded_blas():  # quicker on a busy machine, and the same axes on every machine
        if n <= _FULL:
            values, vectors = eigh(centred)
        else:
            start = np.random.default_rng(0).standard_normal(n)
            values, vectors = eigsh(centred, k=_AXES, v0=start)
    order = np.argsort(-values, kind="stable")
    values, vectors = values[order], vectors[:, order[:_AXES]]
    largest = np.abs(vectors).argmax(axis=0)
    vectors = vectors * np.where(vectors[largest, np.arange(vectors.shape[1])] < 0, -1.0, 1.0)
    coordinates = vectors * np.sqrt(np.maximum(values[: vectors.shape[1]], 0.0))
    return Spectrum(values, coordinates, float(np.trace(centred)), n <= _FULL)


def principal_map(found: Spectrum) -> Map | None:
    """Return graphs on the two largest axes; None where there is nothing to see."""
    if len(found.coordinates) < 3 or found.total <= 0:
        return None
    share = max(0.0, float(found.values[:2].sum())) / found.total
    note = (
        "Kernel principal components of the cosines: distances in this plane are those of the kernel as far as two "
        f"axes go, which hold {100 * share:.0f} % of the variance."
    )
    return _map("principal components", note, found.coordinates[:, :2])


def neighbour_map(cosine: Array, found: Spectrum, seed: int = 0) -> Map | None:
    """Return graphs placed so that neighbours stay together (t-SNE); None for fewer than 10 graphs.

    Up to 2,000 graphs distances are those of the kernel, √(2 − 2 cos); of more, those on its 30 largest axes.
    """
    from sklearn.manifold import TSNE
    from threadpoolctl import threadpool_limits

    n = len(cosine)
    if n < _LEAST or found.total <= 0:
        return None
    perplexity = float(min(30.0, (n - 1) / 3))
    start = found.coordinates[:, :2].copy()
    spread = float(start[:, 0].std())
    start *= 1e-4 / spread if spread > 0 else 0.0
    # Graphs at the very same place would never part, and differences in the last digit must not decide where they go.
    start += 1e-6 * np.random.default_rng(seed).standard_normal(start.shape)
    how = {"n_components": 2, "perplexity": perplexity, "init": start, "random_state": seed, "max_iter": _steps(n)}
    with threadpool_limits(1):  # threads that wait for each other take several times as long on a busy machine
        if n <= _FULL:
            distance = np.sqrt(np.maximum(2.0 - 2.0 * cosine, 0.0))
            np.fill_diagonal(distance, 0.0)
            points = TSNE(metric="precomputed", **how).fit_transform(distance)
        else:
            points = TSNE(**how).fit_transform(found.coordinates)
    note = (
        "Neighbour embedding (t-SNE): graphs close by are alike to the kernel; distances between groups, and their "
        "sizes, mean little."
    )
    return _map("neighbours", note, np.asarray(points, dtype=np.float64))


def _steps(n: int) -> int:
    return 750 if n <= 500 else 500 if n <= _FULL else 350  # from a good start the rest moves little


def _map(name: str, note: str, points: Array) -> Map:
    scale = float(np.abs(points).max()) or 1.0
    # Three digits are more than a screen has; the unit of either map means nothing.
    x, y = np.round(points.T / scale, 3).tolist()
    return Map(name=name, note=note, x=x, y=y)


def order_by_class(
    cosine: Array, numbers: Ints, classes: Sequence[str], axis: Array
) -> tuple[Ints, list[tuple[str, int]], str]:
    """Return graphs class after class, and within each like beside like; how many there are of each; and that in words.

    ``axis`` (n,) are coordinates that classes of more than 3,000 graphs are ordered by.
    """
    parts, groups = [], []
    for number, name in enumerate(classes):
        mine = np.flatnonzero(numbers == number)
        parts.append(mine[_leaves(cosine[np.ix_(mine, mine)], axis[mine])[0]])
        groups.append((name, len(mine)))
    return np.concatenate(parts), groups, "by class, and within each class by likeness (leaves of a tree of clusters)"


def order_by_cluster(cosine: Array, axis: Array, y: Array) -> tuple[Ints, list[tuple[str, int]], str]:
    """Return graphs with like beside like, cut into up to six clusters, each called by its mean target."""
    from scipy.cluster.hierarchy import fcluster

    order, tree = _leaves(cosine, axis)
    if tree is None:
        return order, [("all", len(order))], "by the first principal component"
    of_graph = fcluster(tree, _CLUSTERS, criterion="maxclust")[order]
    starts = np.flatnonzero(np.diff(of_graph, prepend=-1))
    groups = [
        (f"cluster {i + 1}, mean {y[part].mean():.3g}", len(part))
        for i, part in enumerate(np.split(order, starts[1:]))
        if len(part)
    ]
    return order, groups, "by cluster (average linkage of distances), like beside like"


def _leaves(cosine: Array, axis: Array) -> tuple[Ints, Array | None]:
    from scipy.cluster.hierarchy import leaves_list, linkage
    from scipy.spatial.distance import squareform

    n = len(cosine)
    if n < 3 or n > _TREE:
        return np.argsort(axis, kind="stable"), None
    distance = np.sqrt(np.maximum(2.0 - cosine - cosine.T, 0.0))
    np.fill_diagonal(distance, 0.0)
    tree = linkage(squareform(distance, checks=False), method="average")
    return leaves_list(tree).astype(np.int64), tree


def heat_map(cosine: Array, order: Ints, groups: Sequence[tuple[str, int]], how: str) -> HeatMap:
    """Return the cosines of ordered graphs as a picture of at most 300 rows, each entry the mean of some.

    The lowest hundredth of the entries is shown like what is just above it, so that one odd graph does not take all
    shades for itself.
    """
    n = len(order)
    size = min(n, _PICTURE)
    edges = np.round(np.linspace(0, n, size + 1)).astype(np.int64)
    ordered = cosine[np.ix_(order, order)]
    sums = np.add.reduceat(np.add.reduceat(ordered, edges[:-1], axis=0), edges[:-1], axis=1)
    means = sums / np.multiply.outer(np.diff(edges), np.diff(edges))
    low, high = float(np.quantile(means, 0.01)), float(means.max())
    high = high if high > low else low + 1.0
    shades = np.round(255 * np.clip((means - low) / (high - low), 0.0, 1.0)).astype(np.uint8)
    shown, start = [], 0
    for name, count in groups:
        first, last = np.searchsorted(edges, [start, start + count]).tolist()
        if last > first:
            shown.append(Group(name=name, start=first, stop=last))
        start += count
    return HeatMap(
        size=size,
        values=base64.b64encode(shades.tobytes()).decode(),
        low=round(low, 6),
        high=round(high, 6),
        groups=shown,
        order=how,
    )
