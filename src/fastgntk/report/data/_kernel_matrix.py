"""What the report shows about the kernel matrix: heat map, embeddings of the graphs, distinct nodes and speed."""

import base64
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from fastgntk._util.arrays import Array, Ints
from fastgntk._util.threads import single_threaded_blas
from fastgntk.bench import Baseline
from fastgntk.engines import compiled_code_runs, refine_colours
from fastgntk.kernels import GNTK
from fastgntk.pairwise import PreparedLeaf
from fastgntk.report._schema import Compression, Group, HeatMap, Map, Speed

__all__ = [
    "Ordering",
    "Spectrum",
    "compute_spectrum",
    "count_distinct_nodes",
    "make_heat_map",
    "measure_speed",
    "neighbour_map",
    "order_by_class",
    "order_by_cluster",
    "principal_map",
    "rank_warnings",
]

_ROWS = 300  # rows of the heat map
_TREE_GRAPHS = 3000  # up to which a clustering tree is built
_CLUSTERS = 6
_FULL = 2000  # graphs up to which all eigenvalues are computed, and t-SNE uses the kernel's own distances
_AXES = 30  # principal components that are kept
_TSNE_GRAPHS = 10  # minimum for t-SNE
_SINGULAR = 1e-10  # smallest over largest eigenvalue
_BASELINE_SECONDS = 1.0  # spent on the baseline
_BASELINE_GRAPHS = 60  # from which the baseline's pairs are drawn
_BASELINE_CHUNK = 10  # pairs
_MAX_MULTIPLICATIONS = 2e9  # of one pair by the baseline: some seconds


class Ordering(NamedTuple):
    """An order of graphs, name and size of each group in that order, and a description."""

    order: Ints
    groups: list[tuple[str, int]]
    description: str


def order_by_class(cosine: Array, axis: Array, class_ids: Ints, classes: Sequence[str]) -> Ordering:
    """Order graphs by class, then by similarity; by ``axis`` (n,) in classes of more than 3,000 graphs."""
    members = [np.flatnonzero(class_ids == i) for i in range(len(classes))]
    order = np.concatenate([graphs[_cluster(cosine[np.ix_(graphs, graphs)], axis[graphs])[0]] for graphs in members])
    groups = [(name, len(graphs)) for name, graphs in zip(classes, members, strict=True)]
    return Ordering(order, groups, "Ordered by class, and within each class by hierarchical clustering.")


def order_by_cluster(cosine: Array, axis: Array, y: Array) -> Ordering:
    """Order graphs by similarity, in up to six clusters named by their mean target."""
    from scipy.cluster.hierarchy import fcluster

    order, tree = _cluster(cosine, axis)
    if tree is None:
        return Ordering(order, [("all", len(order))], "Ordered by the first principal component.")
    cluster_of_graph = fcluster(tree, _CLUSTERS, criterion="maxclust")[order]
    starts = np.flatnonzero(np.diff(cluster_of_graph, prepend=-1))
    members = enumerate(np.split(order, starts[1:]), start=1)
    groups = [(f"cluster {i}, mean {y[graphs].mean():.3g}", len(graphs)) for i, graphs in members]
    return Ordering(order, groups, "Ordered by hierarchical clustering (average linkage).")


def _cluster(cosine: Array, axis: Array) -> tuple[Ints, Array | None]:
    """Return the order of the leaves of a clustering tree, and the tree; the order of ``axis`` without a tree."""
    from scipy.cluster.hierarchy import leaves_list, linkage
    from scipy.spatial.distance import squareform

    if len(cosine) < 3 or len(cosine) > _TREE_GRAPHS:
        return np.argsort(axis, kind="stable"), None
    distance = np.sqrt(np.maximum(2.0 - cosine - cosine.T, 0.0))
    np.fill_diagonal(distance, 0.0)
    tree = linkage(squareform(distance, checks=False), method="average")
    return leaves_list(tree).astype(np.int64), tree


def make_heat_map(cosine: Array, ordering: Ordering) -> HeatMap:
    """Return the cosines of ordered graphs as a heat map of at most 300 rows; entries are block means.

    The colour scale starts at the 1 % quantile, so that a single outlier does not use up its range.
    """
    n, order = len(cosine), ordering.order
    size = min(n, _ROWS)
    edges = np.round(np.linspace(0, n, size + 1)).astype(np.int64)
    sums = np.add.reduceat(np.add.reduceat(cosine[np.ix_(order, order)], edges[:-1], axis=0), edges[:-1], axis=1)
    means = sums / np.multiply.outer(np.diff(edges), np.diff(edges))
    low, high = float(np.quantile(means, 0.01)), float(means.max())
    high = high if high > low else low + 1.0
    shades = np.round(255 * np.clip((means - low) / (high - low), 0.0, 1.0)).astype(np.uint8)
    values = base64.b64encode(shades.tobytes()).decode()
    groups, start = [], 0
    for name, count in ordering.groups:
        first, last = np.searchsorted(edges, [start, start + count]).tolist()
        if last > first:
            groups.append(Group(name=name, start=first, stop=last))
        start += count
    low, high = round(low, 6), round(high, 6)
    return HeatMap(size=size, values=values, low=low, high=high, groups=groups, order=ordering.description)


@dataclass(frozen=True, eq=False)
class Spectrum:
    """Eigenvalues of the centred cosines, largest first, and principal components."""

    values: Array  # (r,)
    coordinates: Array  # (n, up to 30), columns √λ v
    total: float  # sum of all eigenvalues
    is_complete: bool  # whether ``values`` are all eigenvalues

    @property
    def effective_rank(self) -> float:
        """Participation ratio (Σλ)² / Σλ² of the computed eigenvalues."""
        squares = float(np.sum(self.values**2))
        return self.total**2 / squares if squares else 0.0

    @property
    def condition(self) -> float | None:
        """Smallest over largest of the n − 1 eigenvalues that centring leaves; None if not all are computed."""
        if not self.is_complete or len(self.values) < 2 or self.values[0] <= 0:
            return None
        return float(max(self.values[-2], 0.0) / self.values[0])


def compute_spectrum(cosine: Array) -> Spectrum:
    """Return kernel principal components of the cosines (n, n).

    The largest coordinate on each axis is positive. For more than 2,000 graphs only 30 eigenvalues are computed.
    """
    from scipy.linalg import eigh
    from scipy.sparse.linalg import eigsh

    n = len(cosine)
    means = cosine.mean(axis=0)
    centred = cosine - means - means[:, None] + means.mean()
    with single_threaded_blas():  # faster on a busy machine, and reproducible
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


def rank_warnings(spectrum: Spectrum, n: int) -> list[str]:
    """Warn of a kernel that hardly distinguishes the graphs."""
    if spectrum.total <= 0:
        return ["All graphs are equal under this kernel, so there is nothing to learn."]
    condition = spectrum.condition
    if condition is None or condition >= _SINGULAR:
        return []
    ratio = f"{condition:.0e}" if condition > 1e-15 else "less than 1e-15"
    return [
        f"The kernel matrix is nearly singular: its smallest eigenvalue is {ratio} of its largest, and the effective "
        f"rank for {n:,} graphs is {spectrum.effective_rank:.1f}. Some graphs are equal or nearly equal under the "
        "kernel; regularisation keeps the fits stable, but finer differences between such graphs are lost."
    ]


def principal_map(spectrum: Spectrum) -> Map | None:
    """Return graphs on the first two principal components; None for fewer than three or all equal graphs."""
    if len(spectrum.coordinates) < 3 or spectrum.total <= 0:
        return None
    explained = max(0.0, float(spectrum.values[:2].sum())) / spectrum.total
    note = f"Kernel principal components of the cosines; the two axes explain {100 * explained:.0f} % of the variance."
    return _map("principal components", note, spectrum.coordinates[:, :2])


def neighbour_map(cosine: Array, spectrum: Spectrum) -> Map | None:
    """Return a t-SNE embedding; None for fewer than 10 graphs.

    Distances are √(2 − 2 cos) for up to 2,000 graphs, otherwise those of the first 30 principal components.
    """
    from sklearn.manifold import TSNE
    from threadpoolctl import threadpool_limits

    n = len(cosine)
    if n < _TSNE_GRAPHS or spectrum.total <= 0:
        return None
    start = spectrum.coordinates[:, :2].copy()
    spread = float(start[:, 0].std())
    start *= 1e-4 / spread if spread > 0 else 0.0
    # Graphs at equal positions would never separate, and rounding errors must not decide where they go.
    start += 1e-6 * np.random.default_rng(0).standard_normal(start.shape)
    steps = 750 if n <= 500 else 500 if n <= _FULL else 350  # few are enough from principal components
    metric, points = "euclidean", spectrum.coordinates
    if n <= _FULL:
        metric, points = "precomputed", np.sqrt(np.maximum(2.0 - 2.0 * cosine, 0.0))
        np.fill_diagonal(points, 0.0)
    tsne = TSNE(perplexity=min(30.0, (n - 1) / 3), init=start, random_state=0, max_iter=steps, metric=metric)
    with threadpool_limits(1):  # more threads are several times slower on a busy machine
        embedding = np.asarray(tsne.fit_transform(points), dtype=np.float64)
    note = (
        "t-SNE embedding: graphs close to each other are similar under the kernel; sizes of groups and distances "
        "between them mean little."
    )
    return _map("neighbours", note, embedding)


def _map(name: str, note: str, points: Array) -> Map:
    scale = float(np.abs(points).max()) or 1.0
    # Three digits are enough for a screen, and the unit is arbitrary.
    x, y = np.round(points.T / scale, 3).tolist()
    return Map(name=name, note=note, x=x, y=y)


def count_distinct_nodes(graphs: PreparedLeaf) -> Compression | None:
    """Return the number of distinct nodes at each level; None without numba, or for a kernel without nodes."""
    batch, kernel = graphs.batch, graphs.leaf
    if not compiled_code_runs() or not batch.n_nodes or kernel.features is None:
        return None
    colours = refine_colours(batch, kernel.depth, **kernel.refinement_options, operators=False)
    return Compression(nodes=batch.n_nodes, distinct=colours.counts)


def measure_speed(graphs: PreparedLeaf, seconds: float, threads: int) -> Speed | None:
    """Return the time of the matrix, and that of one pair at a time in NumPy, extrapolated from some pairs.

    The baseline is assumed to scale perfectly with threads. None if a single pair is too slow, or if the baseline does
    not support the kernel.
    """
    batch, kernel, n = graphs.batch, graphs.leaf, len(graphs.batch)
    if not isinstance(kernel, GNTK) or kernel.uses_edge_labels or n < 2 or not batch.n_nodes:
        return None
    if kernel.has_residual or kernel.activation != "relu":
        return None
    rng = np.random.default_rng(0)
    sample = batch[np.sort(rng.choice(n, min(n, _BASELINE_GRAPHS), replace=False))]
    if 2 * kernel.blocks * 2 * float(sample.sizes.max()) ** 3 > _MAX_MULTIPLICATIONS:
        return None
    pairs = rng.permutation(np.column_stack(np.triu_indices(len(sample))))
    baseline = Baseline(sample, kernel)
    start, pair_seconds, done = time.perf_counter(), 0.0, 0
    with np.errstate(all="ignore"):
        while done < len(pairs) and time.perf_counter() - start < _BASELINE_SECONDS:
            chunk = pairs[done : done + _BASELINE_CHUNK]
            pair_seconds += baseline.time_pairs(chunk)[1]
            done += len(chunk)
    total = pair_seconds / done * n * (n + 1) / 2
    total += baseline.prepare_seconds / baseline.graphs * n
    name, total = "one pair at a time in NumPy", round(total / threads, 3)
    return Speed(seconds=round(seconds, 4), baseline=total, baseline_name=name, measured=False)
