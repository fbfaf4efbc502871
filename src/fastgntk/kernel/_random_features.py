"""Random features: a vector for each graph, with inner products that approximate the kernel; no pair is ever formed.

A node has a vector s with ⟨s_u, s_v⟩ ≈ Σ_uv and a vector k with ⟨k_u, k_v⟩ ≈ K_uv, both x_u at the start:

    aggregate    s ← B s,  k ← B k                                  (typed: the B_r s of all types side by side)
    layer        z = W s with W (m, ·) Gaussian,                    s ← sqrt(c_φ/m) max(z, 0)
                 k ← [TensorSketch(k, sqrt(c_φ/m) [z > 0]), s]      (⟨·, ·⟩ of the first ≈ K (c_φ/2) κ0, of s ≈ Σ)
    readout      the sum of k over the nodes, of each level that counts

which is the construction of Zandieh et al. (2021) for fully connected networks, carried to graphs. Work is linear in
nodes and edges. Nodes of equal colour have equal vectors, so each level is computed on distinct colours.

Given what enters it, each step has the right expectation. The sum of all does not quite: κ0 and κ1 are not linear in
the error of Σ, so that from the second layer on there is a bias of order 1/m. With ``exact_norms`` each vector is
scaled to the norm that it should have, which is known: κ0(1) = κ1(1) = 1, so a layer multiplies ‖s‖² and the part of
‖k‖² that is sketched by c_φ/2. That makes a bias of order 1/m in the first layer too, and several times less error.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import fft, sparse

from fastgntk.errors import InputError
from fastgntk.graph import GraphBatch
from fastgntk.kernel._colours import Operator, colour
from fastgntk.kernel._operator import inverse
from fastgntk.kernel._spec import GNTK
from fastgntk.sketch import CountSketch, GaussianProjection, TensorSketch

__all__ = ["RandomFeatures"]

Array = NDArray[np.floating]
Readout = Callable[[NDArray[np.int32], Array], Array]
"""From the colour of each node and the vectors of colours to the vectors of what is read out."""

_PANEL = 256
"""Colours that go through the layers of a block at a time, so that their vectors stay in the cache."""


@dataclass(frozen=True)
class _Layer:
    projection: GaussianProjection
    product: TensorSketch


class RandomFeatures:
    """The draws that turn graphs into vectors of ``size`` numbers.

    Graphs come with features of at most ``width`` columns, and with typed edges of ``types`` types, of which the last
    stands for all further ones; what is drawn depends on these numbers, the kernel and the seed alone.
    """

    def __init__(self, spec: GNTK, size: int, width: int, types: int, seed: int, *, exact_norms: bool = True) -> None:
        self.spec, self.size, self.width, self.exact_norms = spec, size, width, exact_norms
        self.types, self.seed = types, seed
        self._slots = 1 + types if spec.typed else 1
        # PCG64 by name: the default generator may change with NumPy, and old results would not come back.
        rng = np.random.Generator(np.random.PCG64(seed))
        self._n_first, shares = _shares(spec, size, width)
        self._first = CountSketch.draw(width, self._n_first, rng) if 0 < self._n_first < width else None
        self._blocks: list[list[_Layer]] = []
        s, k = width, width
        for share in shares:
            s, k = self._slots * s, self._slots * k
            layers = []
            for _ in range(spec.layers):
                sketched = _quick_length(share // 2)
                m = share - sketched
                layers.append(_Layer(GaussianProjection(m, s, rng), TensorSketch(sketched, k, m, rng)))
                s, k = m, share
            self._blocks.append(layers)

    @property
    def n_columns(self) -> int:
        """How many numbers a vector has: ``size``, or fewer if only level 0 counts and has no more."""
        counting = [weight > 0 for weight in self.spec.level_weights[1:]]
        return self._n_first + sum(
            layers[-1].projection.size + layers[-1].product.size
            for layers, counts in zip(self._blocks, counting, strict=True)
            if counts
        )

    @property
    def node_bytes(self) -> int:
        """How many bytes a distinct node takes in single precision: its vectors of two levels."""
        widest = max(2 * layer.projection.size + layer.product.size for layers in self._blocks for layer in layers)
        return 4 * 2 * max(widest, self.width)

    def __call__(self, batch: GraphBatch, dtype: Any = np.float32) -> Array:
        """Return the vectors of the graphs of a batch, shape (n, size)."""

        def readout(level_of_node: NDArray[np.int32], vectors: Array) -> Array:
            sums: Array = _counts(batch, level_of_node, len(vectors), dtype) @ vectors
            return sums

        ones, nodes = np.ones(batch.n_nodes), np.arange(batch.n_nodes)
        owner = sparse.csr_array((ones, nodes, batch.offsets), shape=(len(batch), batch.n_nodes))
        return self._readout(batch, owner, readout, dtype)

    def nodes(self, batch: GraphBatch, dtype: Any = np.float64) -> Array:
        """Return the vectors of the nodes of a batch, shape (N, size); those of a graph add up to its own."""
        return self._readout(batch, sparse.eye_array(batch.n_nodes), lambda of, vectors: vectors[of], dtype)

    def _readout(self, batch: GraphBatch, owner: Any, readout: Readout, dtype: Any) -> Array:
        """Return the levels that count side by side; ``owner`` reads out features, ``readout`` all further levels."""
        spec = self.spec
        colouring = colour(batch, spec.blocks, typed=spec.typed)
        start = np.asarray(_widened(colouring.features, self.width).toarray(), dtype=dtype)
        out = [self._first_level(owner @ _widened(batch.features, self.width), dtype)] if spec.level_weights[0] else []
        s, k = start, start  # (colours, ·)
        for level, (operator, layers) in enumerate(zip(colouring.operators, self._blocks, strict=True), start=1):
            s, k = self._block(operator, layers, s, k)
            weight = spec.level_weights[level]
            if weight:
                out.append(np.sqrt(weight, dtype=dtype) * readout(colouring.colours[level], k))
        return np.hstack(out)

    def _first_level(self, features: sparse.csr_array, dtype: Any) -> Array:
        """Return level 0 of features or sums of them, which is exact if there is room for it."""
        values = features.toarray() if self._first is None else self._first.right(features)
        return np.asarray(np.sqrt(self.spec.level_weights[0]) * values, dtype=dtype)

    def _block(self, operator: Operator, layers: list[_Layer], s: Array, k: Array) -> tuple[Array, Array]:
        """Return the vectors of the colours of the next level."""
        n, last = len(operator.terms), layers[-1]
        new_s = np.empty((n, last.projection.size), dtype=s.dtype)
        new_k = np.empty((n, last.projection.size + last.product.size), dtype=s.dtype)
        for start in range(0, n, _PANEL):
            rows = slice(start, min(start + _PANEL, n))
            columns = self._aggregate(operator, rows, s, k)
            for layer in layers:
                columns = self._through(layer, *columns)
            new_s[rows], new_k[rows] = columns[0].T, columns[1].T
        return new_s, new_k

    def _aggregate(self, operator: Operator, rows: slice, s: Array, k: Array) -> tuple[Array, Array]:
        """Return B times the vectors, of all types below each other; the vectors of nodes are columns now."""
        ptr = operator.ptr[rows.start : rows.stop + 1]
        entries = slice(int(ptr[0]), int(ptr[-1]))
        value, index = operator.value[entries].astype(s.dtype), operator.index[entries]
        shape = (rows.stop - rows.start, len(s))
        parts = []
        for number in range(self._slots):
            own = value
            if self._slots > 1:
                own = np.where(np.minimum(operator.slot[entries], self._slots - 1) == number, value, 0)
            parts.append(sparse.csr_array((own, index, ptr - ptr[0]), shape=shape))
        s, k = (np.concatenate([np.ascontiguousarray((part @ vectors).T) for part in parts]) for vectors in (s, k))
        if self.spec.scale == "degree":
            factor = inverse(operator.sums[rows]).astype(s.dtype)
        elif self.spec.scale == "unit":
            factor = inverse(np.sqrt(np.einsum("ij,ij->j", s, s)))
        else:
            return s, k
        return s * factor, k * factor

    def _through(self, layer: _Layer, s: Array, k: Array) -> tuple[Array, Array]:
        """Return what a layer makes of the vectors of nodes, which are columns here."""
        z = layer.projection(s)
        factor = np.sqrt(self.spec.c_phi / len(z))
        sketched = layer.product(k, (z > 0) * z.dtype.type(factor))
        np.maximum(z, 0, out=z)
        z *= factor
        if self.exact_norms:
            gain = np.sqrt(self.spec.c_phi / 2)
            z, sketched = _scaled_to(z, s, gain), _scaled_to(sketched, k, gain)
        return z, np.concatenate([sketched, z])


def _quick_length(n: int) -> int:
    """Return the largest number up to n of which Fourier transforms are quick."""
    while fft.next_fast_len(n, real=True) != n:
        n -= 1
    return n


def _scaled_to(vectors: Array, like: Array, factor: float) -> Array:
    """Scale columns to so many times the norms that those of another matrix have; zeros stay zeros."""
    found, wanted = (np.sqrt(np.einsum("ij,ij->j", matrix, matrix)) for matrix in (vectors, like))
    vectors *= factor * wanted * inverse(found)
    return vectors


def _widened(features: Any, width: int) -> sparse.csr_array:
    """Return features with so many columns; those beyond are labels that nobody knew, and become one."""
    matrix = sparse.csr_array(features)
    columns = np.minimum(matrix.indices, width - 1)
    return sparse.csr_array((matrix.data, columns, matrix.indptr), shape=(matrix.shape[0], width))


def _counts(batch: GraphBatch, colours: NDArray[np.int32], n_colours: int, dtype: Any) -> sparse.csr_array:
    """Return how often each graph has each colour."""
    ones = np.ones(batch.n_nodes, dtype=dtype)
    return sparse.csr_array((ones, colours, batch.offsets), shape=(len(batch), n_colours))


def _shares(spec: GNTK, size: int, width: int) -> tuple[int, list[int]]:
    """Divide the features among the levels: how many level 0 gets, and each block."""
    counting = [weight > 0 for weight in spec.level_weights]
    least = 2 * sum(counting[1:]) + counting[0]
    if size < max(least, 2):
        raise InputError(f"n_features must be {max(least, 2)} or more for {spec.blocks} blocks, but is {size}.")
    if not any(counting[1:]):  # the features alone, with nothing to approximate
        return min(size, width), [2] * spec.blocks
    first = min(width, size // sum(counting)) if counting[0] else 0
    even, rest = divmod(size - first, sum(counting[1:]))
    shares = iter([even + (i < rest) for i in range(sum(counting[1:]))])
    return first, [next(shares) if counts else even for counts in counting[1:]]
