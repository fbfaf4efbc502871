"""Heat map of the kernel matrix, ordered by class or cluster."""

import base64
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from fastgntk._util.arrays import Array, Ints
from fastgntk.report._schema import Group, HeatMap

__all__ = ["Ordered", "heat_map", "order_by_class", "order_by_cluster"]


_ROWS = 300
_TREE = 3000  # graphs up to which a clustering tree is built
_CLUSTERS = 6


class Ordered(NamedTuple):
    """An order of graphs, name and size of each group in that order, and a description."""

    order: Ints
    groups: list[tuple[str, int]]
    description: str


def order_by_class(cosine: Array, axis: Array, numbers: Ints, classes: Sequence[str]) -> Ordered:
    """Order graphs by class, then by similarity; by ``axis`` (n,) in classes of more than 3,000 graphs."""
    parts, groups = [], []
    for number, name in enumerate(classes):
        mine = np.flatnonzero(numbers == number)
        parts.append(mine[_leaves(cosine[np.ix_(mine, mine)], axis[mine])[0]])
        groups.append((name, len(mine)))
    how = "Ordered by class, and within each class by hierarchical clustering."
    return Ordered(np.concatenate(parts), groups, how)


def order_by_cluster(cosine: Array, axis: Array, y: Array) -> Ordered:
    """Order graphs by similarity, in up to six clusters named by their mean target."""
    from scipy.cluster.hierarchy import fcluster

    order, tree = _leaves(cosine, axis)
    if tree is None:
        return Ordered(order, [("all", len(order))], "Ordered by the first principal component.")
    of_graph = fcluster(tree, _CLUSTERS, criterion="maxclust")[order]
    starts = np.flatnonzero(np.diff(of_graph, prepend=-1))
    groups = [
        (f"cluster {i + 1}, mean {y[part].mean():.3g}", len(part))
        for i, part in enumerate(np.split(order, starts[1:]))
        if len(part)
    ]
    return Ordered(order, groups, "Ordered by hierarchical clustering (average linkage).")


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


def heat_map(cosine: Array, ordered: Ordered) -> HeatMap:
    """Return the cosines of ordered graphs as a heat map of at most 300 rows; entries are block means.

    The colour scale starts at the 1 % quantile, so that a single outlier does not use up its range.
    """
    n, order = len(cosine), ordered.order
    size = min(n, _ROWS)
    edges = np.round(np.linspace(0, n, size + 1)).astype(np.int64)
    sums = np.add.reduceat(np.add.reduceat(cosine[np.ix_(order, order)], edges[:-1], axis=0), edges[:-1], axis=1)
    means = sums / np.multiply.outer(np.diff(edges), np.diff(edges))
    low, high = float(np.quantile(means, 0.01)), float(means.max())
    high = high if high > low else low + 1.0
    shades = np.round(255 * np.clip((means - low) / (high - low), 0.0, 1.0)).astype(np.uint8)
    shown, start = [], 0
    for name, count in ordered.groups:
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
        order=ordered.description,
    )
