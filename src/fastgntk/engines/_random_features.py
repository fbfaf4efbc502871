"""Random features: vectors of graphs whose inner products approximate the kernel, without computing any pair.

A node has a norm p, a vector s and a vector k with p_u p_v ⟨s_u, s_v⟩ ≈ Σ_uv and p_u p_v ⟨k_u, k_v⟩ ≈ K_uv. At the
start p = ‖x‖ and s = k = x / ‖x‖. Then

    aggregate    s ← Σ_v B_uv p_v s_v / q_u,  k ← Σ_v B_uv p_v k_v / q_u,  p_u ← q_u, with q_u such that ‖s_u‖ = 1
                 (typed: one sum for each relation, stacked vertically; with a residual connection both are
                 multiplied by f q_u, and r_u x_u / ‖x_u‖ is stacked upon them, f and r as in `mixing_factors`)
    layer        z = W s with W (m, ·) Gaussian,  s ← sqrt(2/m) max(z, 0),  p ← sqrt(c_φ/2) p
                 k ← [TensorSketch(k, sqrt(2/m) [z > 0]), s]      (⟨·, ·⟩ of the first ≈ Θ κ0, of s ≈ κ1)
                 (an activation φ of slope s: φ(z) and φ'(z), with 2/m divided by 1 + s²)
    readout      the sum or mean of p k over the nodes, of each level that counts; for an NNGP of p s, without k

which is the construction of Zandieh et al. (2021) for fully connected networks, extended to graphs. The cost is linear
in nodes and edges. Nodes of equal colour have equal vectors, so each level is computed on colours. Norms are stored
separately in double precision, so that deep kernels and large features do not overflow vectors in single precision.

Each step is unbiased given its input, but their composition is not: κ0 and κ1 are nonlinear in the error of Σ, which
causes a bias of order 1/m from the second layer on. With ``exact_norms`` s and the sketched part of k are rescaled to
their exact norms, which are those before the layer, since κ0(1) = κ1(1) = 1. This adds a bias of order 1/m in the first
layer, but reduces the error several times.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from scipy import fft, sparse

from fastgntk._util.arrays import Array, Floats, Int32s
from fastgntk.engines._activation import block_gain
from fastgntk.engines._aggregation import sum_features
from fastgntk.engines._norms import mixing_factors, safe_reciprocal, unit_rows
from fastgntk.engines._refinement import ColourOperator, refine_colours
from fastgntk.errors import InputError
from fastgntk.graphs import GraphBatch
from fastgntk.kernels import Network
from fastgntk.sketch import CountSketch, GaussianProjection, TensorSketch, generator

__all__ = ["TangentFeatures"]


_PANEL = 256
"""Number of colours that pass through the layers of a block together; their vectors stay in the cache."""


@dataclass(frozen=True)
class _Layer:
    projection: GaussianProjection
    product: TensorSketch | None  # None for an NNGP

    @property
    def width(self) -> int:
        return self.projection.size + (0 if self.product is None else self.product.size)


class _ColourVectors(NamedTuple):
    """Norms p (m,) and vectors s (m, ·) and k (m, ·) of colours; for an NNGP k is s."""

    p: Array
    s: Floats
    k: Floats


class TangentFeatures:
    """A random map from graphs to vectors of length ``size``.

    Graphs may have up to ``width`` feature columns, and with typed edges ``types`` edge types; any further types count
    as the last one. The map depends only on these numbers, the kernel and the seed.
    """

    def __init__(
        self, kernel: Network, size: int, width: int, types: int, seed: int, *, exact_norms: bool = True
    ) -> None:
        self.kernel, self.size, self.width, self.exact_norms = kernel, size, width, exact_norms
        self.types, self.seed = types, seed
        self._n_relations = 1 + types if kernel.uses_edge_labels else 1
        rng = generator(seed)
        self._n_first, sizes = _divide(kernel, size, width)
        self._first = CountSketch.draw(width, self._n_first, rng) if 0 < self._n_first < width else None
        self._blocks: list[list[_Layer]] = []
        s, k = width, width
        for block_size in sizes:
            s, k = (self._n_relations * n + (width if kernel.has_residual else 0) for n in (s, k))
            layers = []
            for _ in range(kernel.layers):
                sketched = _fast_fourier_length(block_size // 2) if kernel.tangent else 0
                m = block_size - sketched
                projection = GaussianProjection(m, s, rng)
                layers.append(_Layer(projection, TensorSketch(sketched, k, m, rng) if kernel.tangent else None))
                s, k = m, block_size
            self._blocks.append(layers)

    @property
    def n_columns(self) -> int:
        """Length of a vector: ``size``, or less if only level 0 is read out and has fewer features."""
        counting = zip(self._blocks, self.kernel.level_weights[1:], strict=False)
        return self._n_first + sum(layers[-1].width for layers, weight in counting if weight)

    @property
    def node_bytes(self) -> int:
        """Memory for one colour in bytes: vectors of two levels in single precision, and one in double for sums."""
        widest = max([layer.width + layer.projection.size for layers in self._blocks for layer in layers], default=0)
        return 4 * 2 * max(widest, self.width) + 8 * widest

    def __call__(self, batch: GraphBatch, dtype: Any = np.float32) -> Array:
        """Return the vectors of the graphs of a batch, shape (n, size), computed with precision ``dtype``."""

        def read_out(colours: Int32s, vectors: _ColourVectors) -> Array:
            shape = len(batch), len(vectors.p)
            sums: Array = sparse.csr_array((vectors.p[colours], colours, batch.offsets), shape=shape) @ vectors.k
            return sums

        sums = self._levels(batch, sum_features(batch), read_out, dtype)
        return sums / np.maximum(batch.sizes, 1)[:, None] if self.kernel.pool == "mean" else sums

    def nodes(self, batch: GraphBatch, dtype: Any = np.float64) -> Array:
        """Return the vectors of the nodes of a batch, shape (N, size); the nodes of a graph add up to its vector."""

        def read_out(colours: Int32s, vectors: _ColourVectors) -> Array:
            return np.asarray(vectors.p[colours, None] * vectors.k[colours])

        terms = self._levels(batch, batch.features, read_out, dtype)
        return terms / batch.sizes[batch.graph_of_node, None] if self.kernel.pool == "mean" else terms

    def _levels(
        self, batch: GraphBatch, features: Any, read_out: Callable[[Int32s, _ColourVectors], Array], dtype: Any
    ) -> Array:
        """Return the levels of nonzero weight side by side: level 0 from ``features``, the others by ``read_out``."""
        weights = self.kernel.level_weights
        out = []
        if weights[0]:  # exact if the features fit
            padded = _pad(features, self.width)
            values = padded.toarray() if self._first is None else self._first.right(padded)
            out.append(np.asarray(np.sqrt(weights[0]) * values))
        colouring = refine_colours(batch, len(self._blocks), **self.kernel.refinement_options)
        directions, norms = unit_rows(_pad(colouring.features, self.width))
        start = np.asarray(directions.toarray(), dtype=dtype)
        initial = vectors = _ColourVectors(norms, start, start)
        for level, (operator, layers) in enumerate(zip(colouring.operators, self._blocks, strict=True), start=1):
            initial_colours = colouring.colours[0][operator.first]
            vectors = self._block(operator, layers, vectors, initial, initial_colours)
            if weights[level]:
                out.append(np.sqrt(weights[level]) * read_out(colouring.colours[level], vectors))
        return np.hstack(out)

    def _block(
        self,
        operator: ColourOperator,
        layers: list[_Layer],
        old: _ColourVectors,
        initial: _ColourVectors,
        initial_colours: Int32s,
    ) -> _ColourVectors:
        """Return norms and vectors of the colours of the next level.

        ``initial`` has those of level 0, and ``initial_colours`` the colour of level 0 of each new colour.
        """
        n, last = len(operator.terms), layers[-1]
        p = np.empty(n)
        s = np.empty((n, last.projection.size), dtype=old.s.dtype)
        k = np.empty((n, last.width), dtype=old.s.dtype) if self.kernel.tangent else s
        for start in range(0, n, _PANEL):
            rows = slice(start, min(start + _PANEL, n))
            p[rows], s_columns, k_columns = self._aggregate(operator, rows, old)
            if self.kernel.has_residual:
                start_colours = initial_colours[rows]
                unit, norms = initial.s[start_colours].T, initial.p[start_colours]
                p[rows], s_columns, k_columns = self._add_residual(p[rows], s_columns, k_columns, unit, norms)
            for layer in layers:
                s_columns, k_columns = self._apply_layer(layer, s_columns, k_columns)
            s[rows], k[rows] = s_columns.T, k_columns.T
        return _ColourVectors(p * block_gain(self.kernel), s, k)

    def _aggregate(self, operator: ColourOperator, rows: slice, old: _ColourVectors) -> tuple[Array, Floats, Floats]:
        """Return norms and vectors of aggregated nodes; vectors are columns, with the relations stacked vertically."""
        indptr = operator.indptr[rows.start : rows.stop + 1]
        entries = slice(int(indptr[0]), int(indptr[-1]))
        indices, lengths = operator.indices[entries], np.diff(indptr)
        row = np.repeat(np.arange(len(lengths)), lengths)
        # Relative to an upper bound of the norm, so that large values do not overflow single precision.
        sizes = operator.abs_data[entries] * old.p[indices]
        bound: Array = np.bincount(row, sizes, minlength=len(lengths)).astype(np.float64)
        data = (operator.data[entries] * old.p[indices] * safe_reciprocal(bound)[row]).astype(old.s.dtype)
        relation = np.minimum(operator.relation[entries], self._n_relations - 1)
        by_relation = [
            sparse.csr_array(
                (np.where(relation == r, data, 0), indices, indptr - indptr[0]), shape=(len(lengths), len(old.p))
            )
            for r in range(self._n_relations)
        ]
        s = np.concatenate([np.ascontiguousarray((Q @ old.s).T) for Q in by_relation])
        k = s if old.k is old.s else np.concatenate([np.ascontiguousarray((Q @ old.k).T) for Q in by_relation])
        length = np.sqrt(np.einsum("ij,ij->j", s, s, dtype=np.float64))
        length[length <= (operator.terms[rows] + 8.0) * np.finfo(s.dtype).eps] = 0.0  # zero up to rounding
        q = bound * length
        if self.kernel.scale == "degree":
            q *= safe_reciprocal(operator.scale_operand[rows])
        elif self.kernel.scale == "given":
            q *= operator.scale_operand[rows]
        elif self.kernel.scale == "unit":
            q = (q > 0).astype(np.float64)
        factor = safe_reciprocal(length).astype(s.dtype)
        unit = s * factor
        return q, unit, unit if k is s else k * factor

    def _add_residual(self, p: Array, s: Floats, k: Floats, unit: Floats, norms: Array) -> tuple[Array, Floats, Floats]:
        """Return norms and vectors of nodes, given as columns, with the features stacked upon the aggregated ones."""
        neighbour_factor, initial_factor, total = mixing_factors(p, p, norms, self.kernel)
        weight = (neighbour_factor * p).astype(s.dtype)
        top = unit * initial_factor.astype(s.dtype)
        new = np.concatenate([top, s * weight])
        return total, new, new if k is s else np.concatenate([top, k * weight])

    def _apply_layer(self, layer: _Layer, s: Floats, k: Floats) -> tuple[Floats, Floats]:
        """Apply a layer to the vectors of nodes, given as columns."""
        z = layer.projection(s)
        slope = self.kernel.slope
        factor = np.sqrt(2.0 / len(z) / (1.0 + slope**2))
        derivative = np.where(z > 0, z.dtype.type(factor), z.dtype.type(slope * factor))
        sketched = None if layer.product is None else layer.product(k, derivative)
        z *= derivative  # φ(z) = z φ'(z)
        if self.exact_norms:
            z = _scale_to(z, s)
        if sketched is None:
            return z, z
        return z, np.concatenate([_scale_to(sketched, k) if self.exact_norms else sketched, z])


def _fast_fourier_length(n: int) -> int:
    """Return the largest length up to n with a fast Fourier transform."""
    while fft.next_fast_len(n, real=True) != n:
        n -= 1
    return n


def _scale_to(vectors: Floats, like: Floats) -> Floats:
    """Scale columns to the norms of the columns of another matrix; zero columns stay zero."""
    norms, wanted = (np.sqrt(np.einsum("ij,ij->j", matrix, matrix)) for matrix in (vectors, like))
    vectors *= wanted * safe_reciprocal(norms)
    return vectors


def _pad(features: Any, width: int) -> sparse.csr_array:
    """Pad features with zero columns to ``width`` columns."""
    matrix = sparse.csr_array(features)
    return sparse.csr_array((matrix.data, matrix.indices, matrix.indptr), shape=(matrix.shape[0], width))


def _divide(kernel: Network, size: int, width: int) -> tuple[int, list[int]]:
    """Divide the features among level 0 and the blocks up to the last one of nonzero weight."""
    counting = [weight > 0 for weight in kernel.level_weights]
    n_blocks = sum(counting[1:])
    minimum = max(2 * n_blocks + counting[0], 2)
    if size < minimum:
        raise InputError(f"n_components must be {minimum} or more for {kernel.blocks} blocks, but is {size}.")
    if not n_blocks:  # the features alone, with nothing to approximate
        return min(size, width), []
    first = min(width, size // sum(counting)) if counting[0] else 0
    even, rest = divmod(size - first, n_blocks)
    sizes = iter([even + (i < rest) for i in range(n_blocks)])
    last = max(level for level, counts in enumerate(counting) if counts)
    return first, [next(sizes) if counts else even for counts in counting[1 : last + 1]]
