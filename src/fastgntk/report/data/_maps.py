"""Spectrum of the kernel matrix, and embeddings of graphs in the plane."""

from dataclasses import dataclass

import numpy as np

from fastgntk._util.arrays import Array
from fastgntk._util.threads import single_threaded_blas
from fastgntk.report._schema import Map

__all__ = ["Spectrum", "neighbour_map", "principal_map", "spectrum"]


_FULL = 2000  # graphs up to which all eigenvalues are computed, and t-SNE uses the kernel's own distances
_AXES = 30  # principal components that are kept
_TSNE_GRAPHS = 10  # minimum for t-SNE


@dataclass(frozen=True, eq=False)
class Spectrum:
    """Eigenvalues of the centred cosines, largest first, and principal components."""

    values: Array  # (r,)
    coordinates: Array  # (n, up to 30), columns √λ v
    total: float  # sum of all eigenvalues
    all_known: bool

    @property
    def effective_rank(self) -> float:
        """Participation ratio (Σλ)² / Σλ² of the known eigenvalues."""
        squares = float(np.sum(self.values**2))
        return self.total**2 / squares if squares else 0.0

    @property
    def condition(self) -> float | None:
        """Smallest over largest of the n − 1 eigenvalues that centring leaves; None if they are not all known."""
        if not self.all_known or len(self.values) < 2 or self.values[0] <= 0:
            return None
        return float(max(self.values[-2], 0.0) / self.values[0])


def spectrum(cosine: Array) -> Spectrum:
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


def principal_map(found: Spectrum) -> Map | None:
    """Return graphs on the first two principal components; None for fewer than three or all equal graphs."""
    if len(found.coordinates) < 3 or found.total <= 0:
        return None
    explained = max(0.0, float(found.values[:2].sum())) / found.total
    note = f"Kernel principal components of the cosines; the two axes explain {100 * explained:.0f} % of the variance."
    return _map("principal components", note, found.coordinates[:, :2])


def neighbour_map(cosine: Array, found: Spectrum, seed: int = 0) -> Map | None:
    """Return a t-SNE embedding; None for fewer than 10 graphs.

    Distances are √(2 − 2 cos) for up to 2,000 graphs, otherwise those of the first 30 principal components.
    """
    from sklearn.manifold import TSNE
    from threadpoolctl import threadpool_limits

    n = len(cosine)
    if n < _TSNE_GRAPHS or found.total <= 0:
        return None
    perplexity = float(min(30.0, (n - 1) / 3))
    start = found.coordinates[:, :2].copy()
    spread = float(start[:, 0].std())
    start *= 1e-4 / spread if spread > 0 else 0.0
    # Graphs at equal positions would never separate, and rounding errors must not decide where they go.
    start += 1e-6 * np.random.default_rng(seed).standard_normal(start.shape)
    steps = 750 if n <= 500 else 500 if n <= _FULL else 350  # few are enough from principal components
    how = {"n_components": 2, "perplexity": perplexity, "init": start, "random_state": seed, "max_iter": steps}
    with threadpool_limits(1):  # more threads are several times slower on a busy machine
        if n <= _FULL:
            distance = np.sqrt(np.maximum(2.0 - 2.0 * cosine, 0.0))
            np.fill_diagonal(distance, 0.0)
            points = TSNE(metric="precomputed", **how).fit_transform(distance)
        else:
            points = TSNE(**how).fit_transform(found.coordinates)
    note = (
        "t-SNE embedding: graphs close to each other are similar under the kernel; sizes of groups and distances "
        "between them mean little."
    )
    return _map("neighbours", note, np.asarray(points, dtype=np.float64))


def _map(name: str, note: str, points: Array) -> Map:
    scale = float(np.abs(points).max()) or 1.0
    # Three digits are enough for a screen, and the unit is arbitrary.
    x, y = np.round(points.T / scale, 3).tolist()
    return Map(name=name, note=note, x=x, y=y)
