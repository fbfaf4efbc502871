"""A few operations on short vectors that LLVM does not find in plain loops, written in its own language.

Sums of a few short rows: as a plain loop each row costs a check for overlapping memory and a round trip of the sum
through memory; here the sum stays in registers (2.7 → 0.9 ns per pair, at 3 rows of 32 pairs). Layers: the same.
Transposing 4 × 4: four shuffles instead of sixteen scalar stores. LLVM splits vectors of eight for machines that have
shorter ones. With the JIT off, the same operations run in NumPy.

All arrays are flat, and nothing is checked: offsets come from `_block` and `_tile` alone. A pair is LANES entries of
λ followed by LANES of θ. ROWS stands for the arguments (base, first, stride, index, weight, start, stop), which
mean Σ_k weight[k] · base[first + index[k] · stride : …] over start ≤ k < stop.

======================================  ==================================================================
``sum_row_pairs(out, at, ROWS)``        write the sum of pairs to out[at : at + 2 LANES]
``sum_rows_twice(out, at, ROWS)``       write the sum of LANES entries there, as λ and as θ
``add_rows(out, at, ROWS)``             add the sum of LANES entries to out[at : at + LANES]
``apply_layer(out, at)``                one ReLU layer on the pair at ``at``
``apply_layer_apart(lam, theta, at)``   the same where λ and θ are in two arrays
``transpose4(source, s, s_stride,       out[o + j · o_stride + i] = source[s + i · s_stride + j] for i, j < 4
out, o, o_stride)``
======================================  ==================================================================
"""

from typing import Any

import numba
import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic
from numba.np.arrayobj import make_array

from fastgntk.engines._simd._layer import emit_layer, layer_in_numpy

__all__ = ["LANES", "add_rows", "apply_layer", "apply_layer_apart", "sum_row_pairs", "sum_rows_twice", "transpose4"]

LANES = 32
"""Width of a panel: entries of one row that are worked on together."""

_WIDTH = 8
_INT, _LONG = ir.IntType(64), types.int64
_VECTOR, _TWO = ir.VectorType(ir.DoubleType(), _WIDTH), ir.VectorType(ir.DoubleType(), 2)


def _pointer(context: Any, builder: Any, kind: Any, array: Any) -> Any:
    return make_array(kind)(context, builder, array).data  # type: ignore[no-untyped-call]


def _plus(builder: Any, offset: Any, step: int) -> Any:
    return builder.add(offset, ir.Constant(_INT, step))


def _load(builder: Any, pointer: Any, offset: Any, kind: Any = _VECTOR) -> Any:
    place = builder.bitcast(builder.gep(pointer, [offset]), kind.as_pointer())
    return builder.load(place, align=8)


def _store(builder: Any, value: Any, pointer: Any, offset: Any) -> None:
    place = builder.bitcast(builder.gep(pointer, [offset]), value.type.as_pointer())
    builder.store(value, place, align=8)


def _store_all(builder: Any, values: list[Any], pointer: Any, at: Any) -> None:
    for i, value in enumerate(values):
        _store(builder, value, pointer, _plus(builder, at, _WIDTH * i))


def _shuffle(builder: Any, a: Any, b: Any, lanes: list[int]) -> Any:
    return builder.shuffle_vector(a, b, ir.Constant(ir.VectorType(ir.IntType(32), len(lanes)), lanes))


def _sums(entries: int, context: Any, builder: Any, kinds: Any, rows: Any) -> list[Any]:
    """Emit the loop over k; returns the sums of ``entries`` entries, still in registers."""
    base, first, stride, index, weight, start, stop = rows
    source, numbers, factors = (_pointer(context, builder, kinds[i], rows[i]) for i in (0, 3, 4))
    del base, index, weight  # used through their pointers
    zero = ir.Constant(_VECTOR, [0.0] * _WIDTH)
    before = builder.block
    loop, after = builder.append_basic_block("rows"), builder.append_basic_block("summed")
    builder.cbranch(builder.icmp_signed("<", start, stop), loop, after)

    builder.position_at_end(loop)
    k = builder.phi(_INT)
    old = [builder.phi(_VECTOR) for _ in range(entries // _WIDTH)]
    number = builder.sext(builder.load(builder.gep(numbers, [k])), _INT)
    row = builder.add(first, builder.mul(number, stride))
    factor = builder.load(builder.gep(factors, [k]))
    factor = builder.insert_element(ir.Constant(_VECTOR, ir.Undefined), factor, ir.Constant(ir.IntType(32), 0))
    factor = _shuffle(builder, factor, factor, [0] * _WIDTH)
    new = []
    for i, sum_so_far in enumerate(old):
        product = builder.fmul(factor, _load(builder, source, _plus(builder, row, _WIDTH * i)), flags=("contract",))
        new.append(builder.fadd(sum_so_far, product, flags=("contract",)))
    following = _plus(builder, k, 1)
    builder.cbranch(builder.icmp_signed("<", following, stop), loop, after)
    k.add_incoming(start, before)
    k.add_incoming(following, loop)

    builder.position_at_end(after)
    totals = [builder.phi(_VECTOR) for _ in new]
    for phis in (old, totals):
        for phi, value in zip(phis, new, strict=True):
            phi.add_incoming(zero, before)
            phi.add_incoming(value, loop)
    return totals


def _row_signature(out: Any, base: Any, index: Any, weight: Any) -> Any:
    return types.void(out, _LONG, base, _LONG, _LONG, index, weight, _LONG, _LONG)


@intrinsic
def _sum_row_pairs(typing: Any, out: Any, at: Any, base: Any, first: Any, stride: Any, index: Any, weight: Any, start: Any, stop: Any) -> Any:  # noqa: ARG001, E501  # fmt: skip
    def emit(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        sums = _sums(2 * LANES, context, builder, signature.args[2:], args[2:])
        _store_all(builder, sums, _pointer(context, builder, signature.args[0], args[0]), args[1])
        return context.get_dummy_value()

    return _row_signature(out, base, index, weight), emit


@intrinsic
def _sum_rows_twice(typing: Any, out: Any, at: Any, base: Any, first: Any, stride: Any, index: Any, weight: Any, start: Any, stop: Any) -> Any:  # noqa: ARG001, E501  # fmt: skip
    def emit(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        sums = _sums(LANES, context, builder, signature.args[2:], args[2:])
        _store_all(builder, sums + sums, _pointer(context, builder, signature.args[0], args[0]), args[1])
        return context.get_dummy_value()

    return _row_signature(out, base, index, weight), emit


@intrinsic
def _add_rows(typing: Any, out: Any, at: Any, base: Any, first: Any, stride: Any, index: Any, weight: Any, start: Any, stop: Any) -> Any:  # noqa: ARG001, E501  # fmt: skip
    def emit(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        sums = _sums(LANES, context, builder, signature.args[2:], args[2:])
        to = _pointer(context, builder, signature.args[0], args[0])
        old = [_load(builder, to, _plus(builder, args[1], i)) for i in range(0, LANES, _WIDTH)]
        _store_all(builder, [builder.fadd(a, b) for a, b in zip(old, sums, strict=True)], to, args[1])
        return context.get_dummy_value()

    return _row_signature(out, base, index, weight), emit


@intrinsic
def _apply_layer(typing: Any, out: Any, at: Any) -> Any:  # noqa: ARG001
    def emit(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        pointer = _pointer(context, builder, signature.args[0], args[0])
        for i in range(0, LANES, _WIDTH):
            places = [_plus(builder, args[1], i), _plus(builder, args[1], i + LANES)]
            new = emit_layer(builder, *(_load(builder, pointer, place) for place in places))
            for value, place in zip(new, places, strict=True):
                _store(builder, value, pointer, place)
        return context.get_dummy_value()

    return types.void(out, _LONG), emit


@intrinsic
def _apply_layer_apart(typing: Any, lam: Any, theta: Any, at: Any) -> Any:  # noqa: ARG001
    def emit(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        pointers = [_pointer(context, builder, signature.args[i], args[i]) for i in (0, 1)]
        for i in range(0, LANES, _WIDTH):
            place = _plus(builder, args[2], i)
            new = emit_layer(builder, *(_load(builder, pointer, place) for pointer in pointers))
            for value, pointer in zip(new, pointers, strict=True):
                _store(builder, value, pointer, place)
        return context.get_dummy_value()

    return types.void(lam, theta, _LONG), emit


@intrinsic
def _transpose4(typing: Any, source: Any, s: Any, s_stride: Any, out: Any, o: Any, o_stride: Any) -> Any:  # noqa: ARG001
    def emit(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        take, give = (_pointer(context, builder, signature.args[i], args[i]) for i in (0, 3))
        _, s, s_stride, _, o, o_stride = args

        def place(start: Any, stride: Any, row: int, column: int) -> Any:
            return _plus(builder, builder.add(start, builder.mul(stride, ir.Constant(_INT, row))), column)

        # Halves of rows i and i + 2 are joined while they are loaded, which costs no shuffle.
        joined = []
        for half in (0, 2):
            for i in (0, 1):
                low, high = (_load(builder, take, place(s, s_stride, row, half), _TWO) for row in (i, i + 2))
                joined.append(_shuffle(builder, low, high, [0, 1, 2, 3]))
        for i, (pair, lanes) in enumerate((p, z) for p in (0, 2) for z in ([0, 4, 2, 6], [1, 5, 3, 7])):
            column = _shuffle(builder, joined[pair], joined[pair + 1], lanes)
            _store(builder, column, give, place(o, o_stride, i, 0))
        return context.get_dummy_value()

    return types.void(source, _LONG, _LONG, out, _LONG, _LONG), emit


def _sum_in_numpy(entries: int, base: Any, first: Any, stride: Any, index: Any, weight: Any, start: Any, stop: Any) -> Any:  # noqa: E501  # fmt: skip
    total = np.zeros(entries)
    for k in range(start, stop):
        row = first + int(index[k]) * stride
        total += weight[k] * base[row : row + entries]
    return total


def _sum_row_pairs_in_numpy(out: Any, at: Any, *rows: Any) -> None:
    out[at : at + 2 * LANES] = _sum_in_numpy(2 * LANES, *rows)


def _sum_rows_twice_in_numpy(out: Any, at: Any, *rows: Any) -> None:
    out[at : at + 2 * LANES] = np.tile(_sum_in_numpy(LANES, *rows), 2)


def _add_rows_in_numpy(out: Any, at: Any, *rows: Any) -> None:
    out[at : at + LANES] += _sum_in_numpy(LANES, *rows)


def _apply_layer_in_numpy(out: Any, at: Any) -> None:
    layer_in_numpy(out[at : at + LANES], out[at + LANES : at + 2 * LANES])


def _apply_layer_apart_in_numpy(lam: Any, theta: Any, at: Any) -> None:
    layer_in_numpy(lam[at : at + LANES], theta[at : at + LANES])


def _transpose4_in_numpy(source: Any, s: Any, s_stride: Any, out: Any, o: Any, o_stride: Any) -> None:
    for i in range(4):
        for j in range(4):
            out[o + j * o_stride + i] = source[s + i * s_stride + j]


_jit = not getattr(numba.config, "DISABLE_JIT", False)
sum_row_pairs: Any = _sum_row_pairs if _jit else _sum_row_pairs_in_numpy
sum_rows_twice: Any = _sum_rows_twice if _jit else _sum_rows_twice_in_numpy
add_rows: Any = _add_rows if _jit else _add_rows_in_numpy
apply_layer: Any = _apply_layer if _jit else _apply_layer_in_numpy
apply_layer_apart: Any = _apply_layer_apart if _jit else _apply_layer_apart_in_numpy
transpose4: Any = _transpose4 if _jit else _transpose4_in_numpy
