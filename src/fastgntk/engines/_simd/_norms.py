"""Norms of colours, from the recursion of each graph with itself."""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from fastgntk._util.arrays import Array, Int32s, Ints
from fastgntk.engines._simd._colour_table import ColourTable, OperatorRows
from fastgntk.engines._simd._jit import compiled
from fastgntk.engines._simd._layer import NEAR_ONE

__all__ = ["SCALES", "NormOptions", "measure_norms"]


_DEGREE, _UNIT, _GIVEN = 1, 2, 3
SCALES = {"uniform": 0, "symmetric": 0, "degree": _DEGREE, "unit": _UNIT, "given": _GIVEN}
_EPS = float(np.finfo(np.float64).eps)


class NormOptions(NamedTuple):
    """What the norms of colours depend on besides the colours."""

    layers: int
    linear: float  # t of the activation
    gain: float  # of the norm by all layers of a block
    scale: int  # from SCALES
    residual: float


class _Work(NamedTuple):
    """Memory for the recursion of one graph with itself; entries are those of the colours of one level."""

    colours: tuple[Ints, Ints]  # of two levels, (nodes,) each
    p: tuple[Array, Array]  # their p_out
    position: Ints  # of a colour among those of the graph and level; −1 for all others
    dense: Array  # a row of features; 0 between uses
    lam: Array  # (colours, colours), λ after the layers
    sums: Array  # (colours, relations · colours), Σ_a w_a P_a Λ_a· / q by relation
    q: Array  # of each colour
    f_q: Array  # f q and g of `mixing_factors`
    g: Array


@compiled
def measure_norms(
    start: int, stop: int, table: ColourTable, options: NormOptions, cancelled: NDArray[np.uint8]
) -> None:
    """Fill in place q and p_out of every colour from level 2 on whose owner is one of graphs start..stop − 1.

    With P the norms p_out of level l − 1 and Λ its λ after the layers, q_u² = Σ_ab w_a P_a w_b P_b Λ_ab over the
    entries a and b of a row with the same relation, and p_out = gain · sqrt((1 − α) c_u² q_u² + α ‖x_u‖²), α = 0
    without a residual connection. A sum that is zero up to rounding gives q = 0 (the rule of `is_zero_norm`). A norm
    depends only on the content of its colour; the first graph with the colour owns it and alone writes its norm, so
    results do not depend on threads. Graphs without colours of their own are skipped.
    """
    work = _allocate(start, stop, table)
    for graph in range(start, stop):
        if _owns(graph, table):
            _measure_graph(graph, table, options, work, cancelled)


@compiled
def _measure_graph(
    graph: int, table: ColourTable, options: NormOptions, work: _Work, cancelled: NDArray[np.uint8]
) -> None:
    """Run the recursion of a graph with itself, level by level."""
    colours, level_start, p_out = table.colours, table.level_start, table.norms.p_out
    first, last = table.offsets[graph], table.offsets[graph + 1]
    position, (old, new), (old_p, new_p) = work.position, work.colours, work.p
    n_old = _distinct(colours[1], first, last, position, old)
    for i in range(n_old):
        old_p[i] = p_out[level_start[1] + old[i]]
    _compare_first_level(table, old[:n_old], options, work, cancelled)
    for level in range(2, len(colours)):
        n_new = _distinct(colours[level], first, last, position, new)
        for i in range(n_old):
            position[old[i]] = i
        rows = level_start[level] + new[:n_new]
        _measure_level(graph, rows, table, options, old_p[:n_old], new_p, work, cancelled)
        if level < len(colours) - 1:
            _compare_level(rows, table, options, old_p[:n_old], work, cancelled)
        for i in range(n_old):
            position[old[i]] = -1
        if cancelled[0]:
            return
        old, new, n_old = new, old, n_new
        old_p, new_p = new_p, old_p


@compiled
def _compare_first_level(
    table: ColourTable, some: Ints, options: NormOptions, work: _Work, cancelled: NDArray[np.uint8]
) -> None:
    """Fill in ``lam`` between some colours of level 1, whose rows are unit vectors."""
    indptr, indices, _, data, _ = table.operators
    dense, lam, base = work.dense, work.lam, table.level_start[1]
    for i in range(len(some)):
        if cancelled[0]:
            return
        row = base + some[i]
        for k in range(indptr[row], indptr[row + 1]):
            dense[indices[k]] = data[k]
        for j in range(i + 1):
            other = base + some[j]
            dot = 0.0
            for k in range(indptr[other], indptr[other + 1]):
                dot += data[k] * dense[indices[k]]
            lam[i, j] = lam[j, i] = _apply_layers(dot, options.layers, options.linear)
        for k in range(indptr[row], indptr[row + 1]):
            dense[indices[k]] = 0.0


@compiled
def _measure_level(
    graph: int,
    rows: Ints,
    table: ColourTable,
    options: NormOptions,
    old_p: Array,
    new_p: Array,
    work: _Work,
    cancelled: NDArray[np.uint8],
) -> None:
    """Compute the norms of some colours, and write those that the graph owns to the table.

    Fills in ``new_p``, and ``q``, ``f_q``, ``g`` and ``sums`` of ``work`` for `_compare_level`.
    """
    q, p_out, feature_norm, scale_operand, _, owner = table.norms
    sums, q_of_graph, f_q, g = work.sums, work.q, work.f_q, work.g
    for i in range(len(rows)):
        if cancelled[0]:
            return
        row = rows[i]
        q_of_graph[i] = _measure_row(row, table, old_p, work, sums[i])
        scaled = _scale_norm(q_of_graph[i], scale_operand[row], options.scale)
        aggregated = math.sqrt(1.0 - options.residual) * scaled
        initial = math.sqrt(options.residual) * feature_norm[row]
        mixed = math.hypot(aggregated, initial)
        f_q[i] = aggregated / mixed if mixed > 0.0 else 0.0
        g[i] = initial / mixed if mixed > 0.0 else 0.0
        new_p[i] = options.gain * mixed
        if owner[row] == graph:
            q[row], p_out[row] = q_of_graph[i], new_p[i]


@compiled
def _measure_row(row: int, table: ColourTable, old_p: Array, work: _Work, sums: Array) -> float:
    """Return q of a colour, 0 if it is 0 up to rounding, and write Σ_a w_a P_a Λ_a· / q to ``sums`` by relation.

    All terms are divided by the largest |w_a P_a| to avoid overflow.
    """
    # Fields are read once, because reading one inside a loop updates its reference count.
    operators, terms, n_relations = table.operators, table.norms.terms, table.n_relations
    indptr, indices, relation, data, abs_data = operators
    position, lam, count = work.position, work.lam, len(old_p)
    first = _first_neighbour(row, operators, table.has_residual)
    for j in range(n_relations * count):
        sums[j] = 0.0
    largest = 0.0
    for k in range(first, indptr[row + 1]):
        size = abs(data[k] * old_p[position[indices[k]]])
        if size > largest or size != size:  # NaN propagates to the result
            largest = size
    if largest == 0.0:
        return 0.0
    for k in range(first, indptr[row + 1]):
        factor = data[k] * old_p[position[indices[k]]] / largest
        source = lam[position[indices[k]]]
        start = relation[k] * count
        for j in range(count):
            sums[start + j] += factor * source[j]
    square, bound = 0.0, 0.0
    for k in range(first, indptr[row + 1]):
        weight = old_p[position[indices[k]]] / largest
        square += data[k] * weight * sums[relation[k] * count + position[indices[k]]]
        bound += abs_data[k] * weight
    if square <= (2.0 * terms[row] + 8.0) * _EPS * bound * bound:
        square = 0.0
    factor = 1.0 / math.sqrt(square) if square != 0.0 else 0.0
    for j in range(n_relations * count):
        sums[j] *= factor
    return largest * math.sqrt(square)


@compiled
def _compare_level(
    rows: Ints,
    table: ColourTable,
    options: NormOptions,
    old_p: Array,
    work: _Work,
    cancelled: NDArray[np.uint8],
) -> None:
    """Fill in ``lam`` between some colours, from what `_measure_level` left in ``work``.

    λ_uv is what the layers make of f_u q_u f_v q_v Σ_b (w_b P_b / q_v) sums_ub + g_u g_v ⟨x̂_u, x̂_v⟩.
    """
    operators, has_residual = table.operators, table.has_residual
    indptr, indices, relation, data, _ = operators
    _, _, position, dense, lam, sums, q, f_q, g = work
    layers, linear, n_old = options.layers, options.linear, len(old_p)
    for i in range(len(rows)):
        if cancelled[0]:
            return
        features_end = _first_neighbour(rows[i], operators, has_residual)
        for k in range(indptr[rows[i]], features_end):
            dense[indices[k]] = data[k]
        for j in range(i + 1):
            row = rows[j]
            middle = _first_neighbour(row, operators, has_residual)
            features, dot = 0.0, 0.0
            for k in range(indptr[row], middle):
                features += data[k] * dense[indices[k]]
            if q[j] > 0.0:
                for k in range(middle, indptr[row + 1]):
                    other = position[indices[k]]
                    dot += data[k] * (old_p[other] / q[j]) * sums[i, relation[k] * n_old + other]
            lam[i, j] = lam[j, i] = _apply_layers(f_q[i] * f_q[j] * dot + g[i] * g[j] * features, layers, linear)
        for k in range(indptr[rows[i]], features_end):
            dense[indices[k]] = 0.0


@compiled
def _first_neighbour(row: int, operators: OperatorRows, has_residual: bool) -> int:
    """Return the first entry of a row that is not a feature of a residual connection; these come first."""
    k, stop = operators.indptr[row], operators.indptr[row + 1]
    if has_residual:
        relation = operators.relation
        while k < stop and relation[k] == 0:
            k += 1
    return int(k)


@compiled
def _scale_norm(q: float, operand: float, scale: int) -> float:
    """Return c_u q_u; NaNs propagate."""
    if scale == _UNIT:
        return q * 0.0 + (1.0 if q > 0.0 else 0.0)
    if scale == _GIVEN:
        return q * operand
    return q / operand if scale == _DEGREE else q


@compiled
def _apply_layers(lam: float, layers: int, linear: float) -> float:
    """Return λ after some layers; within rounding error of ±1 it counts as ±1."""
    for _ in range(layers):
        kappa = _kappa1(lam)
        if linear == 0.0:
            lam = kappa
        else:
            if abs(lam) > 1.0 - NEAR_ONE:
                lam = 1.0 if lam > 0.0 else -1.0
            lam = (1.0 - linear) * kappa + linear * lam
    return lam


@compiled
def _kappa1(lam: float) -> float:
    """Return κ1(λ); λ within rounding error of ±1 counts as ±1."""
    if lam > 1.0 - NEAR_ONE:
        return 1.0
    if lam < NEAR_ONE - 1.0:
        return 0.0
    return (lam * (math.pi - math.acos(lam)) + math.sqrt((1.0 - lam) * (1.0 + lam))) / math.pi


@compiled
def _allocate(start: int, stop: int, table: ColourTable) -> _Work:
    """Return memory that suffices for each of the graphs."""
    offsets, colours, level_start = table.offsets, table.colours, table.level_start
    most = nodes = widest = 1
    for level in range(1, len(colours)):
        most = max(most, level_start[level + 1] - level_start[level])
    for graph in range(start, stop):
        nodes = max(nodes, offsets[graph + 1] - offsets[graph])
    position, listed = np.full(most, -1, np.int64), np.empty(nodes, np.int64)
    for graph in range(start, stop):
        if _owns(graph, table):
            for level in range(1, len(colours)):
                count = _distinct(colours[level], offsets[graph], offsets[graph + 1], position, listed)
                widest = max(widest, count)
    return _Work(
        (listed, np.empty_like(listed)),
        (np.empty(nodes), np.empty(nodes)),
        position,
        np.zeros(table.n_relations * table.n_features),
        np.empty((widest, widest)),
        np.empty((widest, table.n_relations * widest)),
        np.empty(widest),
        np.empty(widest),
        np.empty(widest),
    )


@compiled
def _owns(graph: int, table: ColourTable) -> bool:
    """Return whether a graph owns any colour from level 2 on."""
    colours, level_start, owner = table.colours, table.level_start, table.norms.owner
    for level in range(2, len(colours)):
        for u in range(table.offsets[graph], table.offsets[graph + 1]):
            if owner[level_start[level] + colours[level, u]] == graph:
                return True
    return False


@compiled
def _distinct(colours: Int32s, first: int, last: int, position: Ints, out: Ints) -> int:
    """List the distinct colours of nodes first..last − 1; ``position`` is −1 everywhere before and after."""
    count = 0
    for u in range(first, last):
        if position[colours[u]] < 0:
            position[colours[u]] = count
            out[count] = colours[u]
            count += 1
    for i in range(count):
        position[out[i]] = -1
    return count
