"""Norms of colours: the recursion of each graph with itself, on its distinct colours."""

import math

import numpy as np
from numpy.typing import NDArray

from fastgntk._util.arrays import Array, Int32s, Ints
from fastgntk.engines._simd._group import ColourRows
from fastgntk.engines._simd._jit import compiled
from fastgntk.engines._simd._layer import NEAR_ONE

__all__ = ["SCALES", "measure_norms"]


_DEGREE, _UNIT = 1, 2
SCALES = {"uniform": 0, "degree": _DEGREE, "unit": _UNIT}
_EPS = float(np.finfo(np.float64).eps)


@compiled
def measure_norms(
    start: int, stop: int, colouring: ColourRows, layers: int, scale: int, gain: float, cancelled: NDArray[np.uint8]
) -> None:
    """Fill q and p of every colour from level 2 on whose owner is one of graphs start..stop − 1.

    With P the norms of level l − 1 and Λ its λ after the layers, q_u² = Σ_ab w_a P_a w_b P_b Λ_ab over the entries a
    and b of a row that are in the same part, and p_u = c_u q_u · gain. A sum that is zero up to rounding gives
    q = p = 0 (the rule of `is_zero_norm`). A norm depends on the content of its colour only; the first graph that has
    the colour writes it, so that threads agree to the last bit. A graph that owns nothing is skipped.
    """
    offsets, colours, at, owner = colouring.offsets, colouring.colours, colouring.at, colouring.owner
    ptr, columns, part, value = colouring.ptr, colouring.columns, colouring.part, colouring.value
    q, p, parts = colouring.q, colouring.p, colouring.parts
    deepest = colours.shape[0] - 1
    most_colours = 1
    for level in range(1, deepest + 1):
        most_colours = max(most_colours, at[level + 1] - at[level])
    place = np.full(most_colours, -1, np.int64)
    most_nodes = 0
    for g in range(start, stop):
        most_nodes = max(most_nodes, offsets[g + 1] - offsets[g])
    old, new = np.empty(most_nodes, np.int64), np.empty(most_nodes, np.int64)
    widest = 0
    for g in range(start, stop):
        if _owns(g, colours, at, offsets[g], offsets[g + 1], owner):
            for level in range(1, deepest + 1):
                widest = max(widest, _distinct(colours[level], offsets[g], offsets[g + 1], place, old))
    lam, sums = np.empty((widest, widest)), np.empty((widest, parts * widest))
    old_p, new_p, new_q = np.empty(widest), np.empty(widest), np.empty(widest)
    dense = np.zeros(parts * colouring.features)
    for g in range(start, stop):
        first, last = offsets[g], offsets[g + 1]
        if not _owns(g, colours, at, first, last, owner):
            continue
        n_old = _distinct(colours[1], first, last, place, old)
        for i in range(n_old):
            old_p[i] = p[at[1] + old[i]]
        _first_level(colouring, old, n_old, layers, dense, lam, cancelled)
        for level in range(2, deepest + 1):
            n_new = _distinct(colours[level], first, last, place, new)
            for i in range(n_old):
                place[old[i]] = i
            for i in range(n_new):
                if cancelled[0]:
                    return
                row = at[level] + new[i]
                new_q[i] = _measure_row(row, colouring, old_p, place, lam, n_old, sums[i])
                new_p[i] = gain * _scale_norm(new_q[i], colouring.sums[row], scale)
                if owner[row] == g:
                    q[row], p[row] = new_q[i], new_p[i]
            if level < deepest:
                for i in range(n_new):
                    if cancelled[0]:
                        return
                    for j in range(i + 1):
                        row = at[level] + new[j]
                        dot = 0.0
                        if new_q[j] > 0.0:
                            for k in range(ptr[row], ptr[row + 1]):
                                other = place[columns[k]]
                                dot += value[k] * (old_p[other] / new_q[j]) * sums[i, part[k] * n_old + other]
                        for _ in range(layers):
                            dot = _kappa1(dot)
                        lam[i, j] = dot
            for i in range(n_old):
                place[old[i]] = -1
            if level < deepest:
                for i in range(n_new):
                    for j in range(i):
                        lam[j, i] = lam[i, j]
            old, new, n_old = new, old, n_new
            old_p, new_p = new_p, old_p


@compiled
def _kappa1(lam: float) -> float:
    """Return κ1(λ), with λ that is ±1 up to rounding taken as ±1."""
    if lam > 1.0 - NEAR_ONE:
        return 1.0
    if lam < NEAR_ONE - 1.0:
        return 0.0
    return (lam * (math.pi - math.acos(lam)) + math.sqrt((1.0 - lam) * (1.0 + lam))) / math.pi


@compiled
def _owns(g: int, colours: Int32s, at: Ints, first: int, last: int, owner: Ints) -> bool:
    """Return whether any colour from level 2 on is to be written by graph g."""
    for level in range(2, colours.shape[0]):
        for u in range(first, last):
            if owner[at[level] + colours[level, u]] == g:
                return True
    return False


@compiled
def _distinct(colours: Int32s, first: int, last: int, place: Ints, out: Ints) -> int:
    """List the distinct colours of nodes first..last − 1; ``place`` is −1 everywhere before and after."""
    count = 0
    for u in range(first, last):
        if place[colours[u]] < 0:
            place[colours[u]] = count
            out[count] = colours[u]
            count += 1
    for i in range(count):
        place[out[i]] = -1
    return count


@compiled
def _first_level(
    colouring: ColourRows, nodes: Ints, count: int, layers: int, dense: Array, lam: Array, cancelled: NDArray[np.uint8]
) -> None:
    """Fill ``lam`` with κ1(…κ1(⟨x_i, x_j⟩)) of unit vectors; ``dense`` is zero before and after."""
    ptr, columns, value, base = colouring.ptr, colouring.columns, colouring.value, colouring.at[1]
    for i in range(count):
        if cancelled[0]:
            return
        row = base + nodes[i]
        for k in range(ptr[row], ptr[row + 1]):
            dense[columns[k]] = value[k]
        for j in range(i + 1):
            other = base + nodes[j]
            dot = 0.0
            for k in range(ptr[other], ptr[other + 1]):
                dot += value[k] * dense[columns[k]]
            for _ in range(layers):
                dot = _kappa1(dot)
            lam[i, j] = dot
            lam[j, i] = dot
        for k in range(ptr[row], ptr[row + 1]):
            dense[columns[k]] = 0.0


@compiled
def _measure_row(
    row: int, colouring: ColourRows, old_p: Array, place: Ints, lam: Array, count: int, sums: Array
) -> float:
    """Return q of a colour, 0 if it is 0 up to rounding, and write Σ_a w_a P_a Λ_a· / q to ``sums``, part by part.

    Everything is divided by the largest |w_a P_a|, so that nothing overflows.
    """
    ptr, columns, part, value = colouring.ptr, colouring.columns, colouring.part, colouring.value
    # Fields are looked up once: inside the loops each look-up would count references.
    magnitude, terms, parts = colouring.magnitude, colouring.terms, colouring.parts
    for j in range(parts * count):
        sums[j] = 0.0
    largest = 0.0
    for k in range(ptr[row], ptr[row + 1]):
        size = abs(value[k] * old_p[place[columns[k]]])
        if size > largest or size != size:  # NaN stays and shows in the result
            largest = size
    if largest == 0.0:
        return 0.0
    for k in range(ptr[row], ptr[row + 1]):
        factor = value[k] * old_p[place[columns[k]]] / largest
        source = lam[place[columns[k]]]
        start = part[k] * count
        for j in range(count):
            sums[start + j] += factor * source[j]
    square, bound = 0.0, 0.0
    for k in range(ptr[row], ptr[row + 1]):
        weight = old_p[place[columns[k]]] / largest
        square += value[k] * weight * sums[part[k] * count + place[columns[k]]]
        bound += magnitude[k] * weight
    if square <= (2.0 * terms[row] + 8.0) * _EPS * bound * bound:
        square = 0.0
    factor = 1.0 / math.sqrt(square) if square != 0.0 else 0.0
    for j in range(parts * count):
        sums[j] *= factor
    return largest * math.sqrt(square)


@compiled
def _scale_norm(q: float, sum_of_weights: float, scale: int) -> float:
    """Return c_u q_u; NaN stays NaN."""
    if scale == _UNIT:
        return q * 0.0 + (1.0 if q > 0.0 else 0.0)
    return q / sum_of_weights if scale == _DEGREE else q
