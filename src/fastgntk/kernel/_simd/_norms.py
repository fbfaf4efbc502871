"""Norms of colours: the recursion of each graph with itself, on its distinct colours."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from fastgntk.kernel._simd._jit import compiled
from fastgntk.kernel._simd._layer import NEAR_ONE

__all__ = ["UNIFORM", "DEGREE", "UNIT", "measure_norms"]

Ints = NDArray[np.int64]
Shorts = NDArray[np.int32]
Array = NDArray[np.float64]

UNIFORM, DEGREE, UNIT = 0, 1, 2
_EPS = float(np.finfo(np.float64).eps)


@compiled
def measure_norms(
    start: int,
    stop: int,
    offsets: Ints,
    colours: Shorts,
    at: Ints,
    ptr: Ints,
    index: Shorts,
    value: Array,
    magnitude: Array,
    terms: Ints,
    features: int,
    layers: int,
    scale: int,
    gain: float,
    q: Array,
    p: Array,
    known: NDArray[np.uint8],
) -> None:
    """Fill ``q`` and ``p`` for every colour from level 2 on that occurs in graphs start..stop − 1.

    Row ``at[l] + c`` of the CSR matrix (ptr, index, value) belongs to colour c of level l: at level 1 a unit
    vector over features, above it weights over the colours of level l − 1. With P the norms of level l − 1 and Λ
    its λ after the layers, q_u² = Σ_ab w_a P_a w_b P_b Λ_ab, and p_u = c_u q_u · gain. A sum that is zero up to
    rounding gives q = p = 0 (the rule of `kernel._operator`). A colour's norm depends on its content only, so whichever
    graph comes first computes it, and a graph of known colours is skipped.
    """
    deepest = colours.shape[0] - 1
    widest = 0
    for g in range(start, stop):
        widest = max(widest, offsets[g + 1] - offsets[g])
    most = features
    for level in range(1, deepest + 1):
        most = max(most, at[level + 1] - at[level])
    place = np.full(most, -1, np.int64)
    old, new = np.empty(widest, np.int64), np.empty(widest, np.int64)
    lam, sums = np.empty((widest, widest)), np.empty((widest, widest))
    dense = np.zeros(features)
    for g in range(start, stop):
        first, last = offsets[g], offsets[g + 1]
        if _all_known(colours, at, first, last, known):
            continue
        n_old = _distinct(colours[1], first, last, place, old)
        _first_level(at[1], ptr, index, value, old, n_old, layers, dense, lam)
        for level in range(2, deepest + 1):
            for i in range(n_old):
                place[old[i]] = i
            # `place` holds positions of old colours here; the new ones are marked in it only after these are gone
            n_new = _distinct_apart(colours[level], first, last, new)
            below = at[level - 1]
            for i in range(n_new):
                row = at[level] + new[i]
                _sum_neighbours(row, ptr, index, value, p, below, place, lam, n_old, sums[i])
                q[row] = _norm(row, ptr, index, value, magnitude, terms, p, below, place, sums[i], n_old)
                p[row] = gain * _scaled(q[row], row, ptr, value, scale)
                known[row] = 1
            if level < deepest:
                for i in range(n_new):
                    for j in range(i + 1):
                        row = at[level] + new[j]
                        dot = 0.0
                        if q[row] > 0.0:
                            for k in range(ptr[row], ptr[row + 1]):
                                dot += value[k] * (p[below + index[k]] / q[row]) * sums[i, place[index[k]]]
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


@compiled
def _kappa1(lam: float) -> float:
    """Return κ1(λ), with λ that is ±1 up to rounding taken as ±1."""
    if lam > 1.0 - NEAR_ONE:
        return 1.0
    if lam < NEAR_ONE - 1.0:
        return 0.0
    return (lam * (math.pi - math.acos(lam)) + math.sqrt((1.0 - lam) * (1.0 + lam))) / math.pi


@compiled
def _all_known(colours: Shorts, at: Ints, first: int, last: int, known: NDArray[np.uint8]) -> bool:
    for level in range(2, colours.shape[0]):
        for u in range(first, last):
            if known[at[level] + colours[level, u]] == 0:
                return False
    return True


@compiled
def _distinct(colours: Shorts, first: int, last: int, place: Ints, out: Ints) -> int:
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
def _distinct_apart(colours: Shorts, first: int, last: int, out: Ints) -> int:
    """List the distinct colours of a few nodes by sorting, without a table."""
    part = np.sort(colours[first:last])
    count = 0
    for i in range(len(part)):
        if i == 0 or part[i] != part[i - 1]:
            out[count] = part[i]
            count += 1
    return count


@compiled
def _first_level(
    base: int, ptr: Ints, index: Shorts, value: Array, old: Ints, count: int, layers: int, dense: Array, lam: Array
) -> None:
    """Fill ``lam`` with κ1(…κ1(⟨x_i, x_j⟩)) of unit vectors; ``dense`` is zero before and after."""
    for i in range(count):
        row = base + old[i]
        for k in range(ptr[row], ptr[row + 1]):
            dense[index[k]] = value[k]
        for j in range(i + 1):
            other = base + old[j]
            dot = 0.0
            for k in range(ptr[other], ptr[other + 1]):
                dot += value[k] * dense[index[k]]
            for _ in range(layers):
                dot = _kappa1(dot)
            lam[i, j] = dot
            lam[j, i] = dot
        for k in range(ptr[row], ptr[row + 1]):
            dense[index[k]] = 0.0


@compiled
def _sum_neighbours(
    row: int,
    ptr: Ints,
    index: Shorts,
    value: Array,
    p: Array,
    below: int,
    place: Ints,
    lam: Array,
    count: int,
    out: Array,
) -> None:
    """Write Σ_a w_a P_a Λ_a· to ``out``, divided by the largest |w_a P_a| so that nothing overflows."""
    for j in range(count):
        out[j] = 0.0
    largest = _largest(row, ptr, index, value, p, below)
    if largest == 0.0:
        return
    for k in range(ptr[row], ptr[row + 1]):
        factor = value[k] * p[below + index[k]] / largest
        source = lam[place[index[k]]]
        for j in range(count):
            out[j] += factor * source[j]


@compiled
def _norm(
    row: int,
    ptr: Ints,
    index: Shorts,
    value: Array,
    magnitude: Array,
    terms: Ints,
    p: Array,
    below: int,
    place: Ints,
    sums: Array,
    count: int,
) -> float:
    """Return q of a colour and turn its sums into those of the unit vector; 0 if the norm is 0 up to rounding."""
    largest = _largest(row, ptr, index, value, p, below)
    if largest == 0.0:
        return 0.0
    square, bound = 0.0, 0.0
    for k in range(ptr[row], ptr[row + 1]):
        share = p[below + index[k]] / largest
        square += value[k] * share * sums[place[index[k]]]
        bound += magnitude[k] * share
    if square <= (2.0 * terms[row] + 8.0) * _EPS * bound * bound:
        square = 0.0
    factor = 1.0 / math.sqrt(square) if square != 0.0 else 0.0
    for j in range(count):
        sums[j] *= factor
    return largest * math.sqrt(square)


@compiled
def _largest(row: int, ptr: Ints, index: Shorts, value: Array, p: Array, below: int) -> float:
    largest = 0.0
    for k in range(ptr[row], ptr[row + 1]):
        largest = max(largest, abs(value[k] * p[below + index[k]]))
    return largest


@compiled
def _scaled(q: float, row: int, ptr: Ints, value: Array, scale: int) -> float:
    """Return c_u q_u."""
    if scale == UNIT:
        return 1.0 if q > 0.0 else 0.0
    if scale == DEGREE:
        total = 0.0
        for k in range(ptr[row], ptr[row + 1]):
            total += value[k]
        return q / total
    return q
