"""Norms of colours, from the recursion of each graph with itself."""

import math

import numpy as np
from numpy.typing import NDArray

from fastgntk._util.arrays import Array, Int32s, Ints
from fastgntk.engines._simd._colour_rows import ColourRows, OperatorRows
from fastgntk.engines._simd._jit import compiled
from fastgntk.engines._simd._layer import NEAR_ONE

__all__ = ["SCALES", "measure_norms"]


_DEGREE, _UNIT, _GIVEN = 1, 2, 3
SCALES = {"uniform": 0, "symmetric": 0, "degree": _DEGREE, "unit": _UNIT, "given": _GIVEN}
_EPS = float(np.finfo(np.float64).eps)


@compiled
def measure_norms(
    start: int,
    stop: int,
    colouring: ColourRows,
    layers: int,
    linear: float,
    gain: float,
    scale: int,
    residual: float,
    cancelled: NDArray[np.uint8],
) -> None:
    """Fill in place q and p_out of every colour from level 2 on whose owner is one of graphs start..stop − 1.

    With P the norms p_out of level l − 1 and Λ its λ after the layers, q_u² = Σ_ab w_a P_a w_b P_b Λ_ab over the
    entries a and b of a row with the same relation, and p_out = c_u q_u · gain; with a residual α, p_out = gain ·
    sqrt((1 − α) c_u² q_u² + α ‖x_u‖²). A sum that is zero up to rounding gives
    q = p_out = 0 (the rule of `is_zero_norm`). A norm depends only on the content of its colour; the first graph with
    the colour owns it and alone writes its norm, so results do not depend on threads. Graphs without colours of their
    own are skipped.
    """
    offsets, colours, level_start = colouring.offsets, colouring.colours, colouring.level_start
    n_relations, has_residual, operators = colouring.n_relations, colouring.has_residual, colouring.operators
    indptr, indices, relation, data, _ = operators
    q, p_out, feature_norm, scale_operand, _, owner = colouring.norms
    deepest = colours.shape[0] - 1
    most_colours = 1
    for level in range(1, deepest + 1):
        most_colours = max(most_colours, level_start[level + 1] - level_start[level])
    position = np.full(most_colours, -1, np.int64)
    most_nodes = 0
    for g in range(start, stop):
        most_nodes = max(most_nodes, offsets[g + 1] - offsets[g])
    old, new = np.empty(most_nodes, np.int64), np.empty(most_nodes, np.int64)
    widest = 0
    for g in range(start, stop):
        if _owns(g, colours, level_start, offsets[g], offsets[g + 1], owner):
            for level in range(1, deepest + 1):
                widest = max(widest, _distinct(colours[level], offsets[g], offsets[g + 1], position, old))
    lam, sums = np.empty((widest, widest)), np.empty((widest, n_relations * widest))
    old_p, new_p, new_q = np.empty(widest), np.empty(widest), np.empty(widest)
    factor, initial_factor = np.empty(widest), np.empty(widest)  # with a residual: f q and g of `add_residual`
    dense = np.zeros(n_relations * colouring.n_features)
    for g in range(start, stop):
        first, last = offsets[g], offsets[g + 1]
        if not _owns(g, colours, level_start, first, last, owner):
            continue
        n_old = _distinct(colours[1], first, last, position, old)
        for i in range(n_old):
            old_p[i] = p_out[level_start[1] + old[i]]
        _first_level(colouring, old, n_old, layers, linear, dense, lam, cancelled)
        for level in range(2, deepest + 1):
            n_new = _distinct(colours[level], first, last, position, new)
            for i in range(n_old):
                position[old[i]] = i
            for i in range(n_new):
                if cancelled[0]:
                    return
                row = level_start[level] + new[i]
                new_q[i] = _measure_row(row, colouring, old_p, position, lam, n_old, sums[i])
                norm = _scale_norm(new_q[i], scale_operand[row], scale)
                if residual > 0.0:
                    aggregated = math.sqrt(1.0 - residual) * norm
                    initial = math.sqrt(residual) * feature_norm[row]
                    norm = math.hypot(aggregated, initial)
                    factor[i] = aggregated / norm if norm > 0.0 else 0.0
                    initial_factor[i] = initial / norm if norm > 0.0 else 0.0
                new_p[i] = gain * norm
                if owner[row] == g:
                    q[row], p_out[row] = new_q[i], new_p[i]
            if level < deepest:
                for i in range(n_new):
                    if cancelled[0]:
                        return
                    if residual > 0.0:
                        row = level_start[level] + new[i]
                        for k in range(indptr[row], _first_neighbour(row, operators, has_residual)):
                            dense[indices[k]] = data[k]
                    for j in range(i + 1):
                        row = level_start[level] + new[j]
                        dot = 0.0
                        if new_q[j] > 0.0:
                            for k in range(_first_neighbour(row, operators, has_residual), indptr[row + 1]):
                                other = position[indices[k]]
                                dot += data[k] * (old_p[other] / new_q[j]) * sums[i, relation[k] * n_old + other]
                        if residual > 0.0:
                            features = 0.0
                            for k in range(indptr[row], _first_neighbour(row, operators, has_residual)):
                                features += data[k] * dense[indices[k]]
                            dot = factor[i] * factor[j] * dot + initial_factor[i] * initial_factor[j] * features
                        lam[i, j] = _apply_layers(dot, layers, linear)
                    if residual > 0.0:
                        row = level_start[level] + new[i]
                        for k in range(indptr[row], _first_neighbour(row, operators, has_residual)):
                            dense[indices[k]] = 0.0
            for i in range(n_old):
                position[old[i]] = -1
            if level < deepest:
                for i in range(n_new):
                    for j in range(i):
                        lam[j, i] = lam[i, j]
            old, new, n_old = new, old, n_new
            old_p, new_p = new_p, old_p


@compiled
def _first_neighbour(row: int, operators: OperatorRows, has_residual: bool) -> int:
    """Return the first entry of a row that is not a feature of the colour itself."""
    k: int = operators.indptr[row]
    if has_residual:
        relation = operators.relation
        while relation[k] == 0:
            k += 1
    return k


@compiled
def _apply_layers(lam: float, layers: int, linear: float) -> float:
    """Return λ after some layers; within rounding error of ±1 it counts as ±1."""
    for _ in range(layers):
        bent = _kappa1(lam)
        if linear == 0.0:
            lam = bent
        else:
            if abs(lam) > 1.0 - NEAR_ONE:
                lam = 1.0 if lam > 0.0 else -1.0
            lam = (1.0 - linear) * bent + linear * lam
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
def _owns(g: int, colours: Int32s, level_start: Ints, first: int, last: int, owner: Ints) -> bool:
    """Return whether graph g owns any colour from level 2 on."""
    for level in range(2, colours.shape[0]):
        for u in range(first, last):
            if owner[level_start[level] + colours[level, u]] == g:
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


@compiled
def _first_level(
    colouring: ColourRows,
    nodes: Ints,
    count: int,
    layers: int,
    linear: float,
    dense: Array,
    lam: Array,
    cancelled: NDArray[np.uint8],
) -> None:
    """Fill ``lam`` with κ1(…κ1(⟨x_i, x_j⟩)) of unit vectors; ``dense`` is zero before and after."""
    indptr, indices, _, data, _ = colouring.operators
    base = colouring.level_start[1]
    for i in range(count):
        if cancelled[0]:
            return
        row = base + nodes[i]
        for k in range(indptr[row], indptr[row + 1]):
            dense[indices[k]] = data[k]
        for j in range(i + 1):
            other = base + nodes[j]
            dot = 0.0
            for k in range(indptr[other], indptr[other + 1]):
                dot += data[k] * dense[indices[k]]
            lam[i, j] = lam[j, i] = _apply_layers(dot, layers, linear)
        for k in range(indptr[row], indptr[row + 1]):
            dense[indices[k]] = 0.0


@compiled
def _measure_row(
    row: int, colouring: ColourRows, old_p: Array, position: Ints, lam: Array, count: int, sums: Array
) -> float:
    """Return q of a colour, 0 if it is 0 up to rounding, and write Σ_a w_a P_a Λ_a· / q to ``sums`` by relation.

    All terms are divided by the largest |w_a P_a| to avoid overflow.
    """
    # Fields are read once, because reading one inside a loop updates its reference count.
    operators, terms, n_relations = colouring.operators, colouring.norms.terms, colouring.n_relations
    indptr, indices, relation, data, abs_data = operators
    first = _first_neighbour(row, operators, colouring.has_residual)
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
def _scale_norm(q: float, operand: float, scale: int) -> float:
    """Return c_u q_u; NaNs propagate."""
    if scale == _UNIT:
        return q * 0.0 + (1.0 if q > 0.0 else 0.0)
    if scale == _GIVEN:
        return q * operand
    return q / operand if scale == _DEGREE else q
