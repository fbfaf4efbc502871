"""Operations on short vectors that LLVM does not derive from plain loops, and layers on whole arrays.

Sums of a few short rows: in a plain loop each row costs a check for overlapping memory and a round trip of the sum
through memory; here the sum stays in registers (2.7 → 0.9 ns per pair, at 3 rows of 32 pairs). The same holds for the
layers. Transposing 4 × 4 takes four shuffles instead of sixteen scalar stores. LLVM splits vectors of eight on
processors with shorter ones. With the JIT off, the same operations run in NumPy.

All arrays but those of `scatter` are flat, and without bounds checks, since offsets come only from other files here.
``parts`` is LAM or LAM_THETA; its length is part of its type, so that code is compiled for each. A row is LANES entries
of λ, and with LAM_THETA LANES of θ after them. ROWS stands for the arguments (base, first, stride, index, weight,
start, stop), which define the sum Σ_k weight[k] · base[first + index[k] · stride : …] over start ≤ k < stop.

=============================================  ==================================================================
``sum_rows(parts, out, at, ROWS)``             write the sum of rows to out[at : at + len(parts) · LANES]
``sum_rows_of_one(parts, out, at, ROWS)``      write the sum of LANES entries there, once for each part
``add_rows(out, at, ROWS)``                    add the sum of LANES entries to out[at : at + LANES]
``apply_layer(lam, lam_at,                     one layer on LANES entries of λ and of θ, or of λ if θ is None;
theta, theta_at, linear, polynomial)``         ``linear`` is t of the activation, None for ReLU; ``polynomial`` is the
                                               index of one of POLYNOMIALS, or SIGNED
``transpose4(source, s, s_stride,              out[o + j · o_stride + i] = source[s + i · s_stride + j] for i, j < 4
out, o, o_stride)``
=============================================  ==================================================================
"""

import time
from collections.abc import Callable
from typing import Any

import numba
import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic
from numba.np.arrayobj import make_array

from fastgntk._util.arrays import Array, Ints
from fastgntk.engines._simd._jit import compiled
from fastgntk.engines._simd._layer import emit_layer, layer_in_numpy
from fastgntk.engines._simd._polynomials import POLYNOMIALS, SIGNED

__all__ = ["LAM", "LAM_THETA", "LANES", "add_rows", "apply_layer", "sum_rows", "sum_rows_of_one", "transpose4"]
__all__ += ["apply_layers", "layer_nanoseconds", "n_panels", "relation_origin", "scatter"]

LANES = 32
"""Width of a panel: the number of entries that are processed together."""

Parts = tuple[int, ...]
LAM: Parts = (0,)
LAM_THETA: Parts = (0, LANES)
"""Where λ and θ start in a row; a Gaussian process needs λ only."""

_WIDTH = 8
_INT, _LONG = ir.IntType(64), types.int64
_VECTOR, _TWO = ir.VectorType(ir.DoubleType(), _WIDTH), ir.VectorType(ir.DoubleType(), 2)


def _operation(in_numpy: Callable[..., None]) -> Callable[[Callable[..., Any]], Any]:
    """Turn a function into an intrinsic, or replace it by ``in_numpy`` if the JIT is off."""
    jit_is_off = getattr(numba.config, "DISABLE_JIT", False)
    return lambda function: in_numpy if jit_is_off else intrinsic(function)


def _pointer(context: Any, builder: Any, kind: Any, array: Any) -> Any:
    return make_array(kind)(context, builder, array).data  # type: ignore[no-untyped-call]


def _plus(builder: Any, offset: Any, step: int) -> Any:
    return builder.add(offset, ir.Constant(_INT, step))


def _load(builder: Any, pointer: Any, offset: Any, kind: Any = _VECTOR) -> Any:
    address = builder.bitcast(builder.gep(pointer, [offset]), kind.as_pointer())
    return builder.load(address, align=8)


def _store(builder: Any, value: Any, pointer: Any, offset: Any) -> None:
    address = builder.bitcast(builder.gep(pointer, [offset]), value.type.as_pointer())
    builder.store(value, address, align=8)


def _shuffle(builder: Any, a: Any, b: Any, lanes: list[int]) -> Any:
    return builder.shuffle_vector(a, b, ir.Constant(ir.VectorType(ir.IntType(32), len(lanes)), lanes))


def _spread(builder: Any, scalar: Any) -> Any:
    """Emit a vector with the scalar in every lane."""
    vector = builder.insert_element(ir.Constant(_VECTOR, ir.Undefined), scalar, ir.Constant(ir.IntType(32), 0))
    return _shuffle(builder, vector, vector, [0] * _WIDTH)


def _emit_sums(entries: int, context: Any, builder: Any, kinds: Any, rows: Any) -> list[Any]:
    """Emit the loop over k; return the sums of ``entries`` entries, which stay in registers."""
    source, indices, factors = (_pointer(context, builder, kinds[i], rows[i]) for i in (0, 3, 4))
    _, first, stride, _, _, start, stop = rows
    zero = ir.Constant(_VECTOR, [0.0] * _WIDTH)
    before = builder.block
    loop, after = builder.append_basic_block("rows"), builder.append_basic_block("summed")
    builder.cbranch(builder.icmp_signed("<", start, stop), loop, after)

    builder.position_at_end(loop)
    k = builder.phi(_INT)
    old = [builder.phi(_VECTOR) for _ in range(entries // _WIDTH)]
    index = builder.sext(builder.load(builder.gep(indices, [k])), _INT)
    row = builder.add(first, builder.mul(index, stride))
    factor = _spread(builder, builder.load(builder.gep(factors, [k])))
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


def _emit_row_operation(
    entries: int, copies: int, add: bool, context: Any, builder: Any, kinds: Any, values: Any
) -> Any:
    """Emit the sum of rows of ``entries`` entries, and write ``copies`` of it or add it."""
    sums = _emit_sums(entries, context, builder, kinds[2:], values[2:])
    pointer = _pointer(context, builder, kinds[0], values[0])
    for i, value in enumerate(copies * sums):
        offset = _plus(builder, values[1], _WIDTH * i)
        new = builder.fadd(_load(builder, pointer, offset), value) if add else value
        _store(builder, new, pointer, offset)
    return context.get_dummy_value()


def _row_operation_in_numpy(entries: int, copies: int, add: bool, *arguments: Any) -> None:
    out, at, base, first, stride, index, weight, start, stop = arguments
    total = np.zeros(entries)
    for k in range(start, stop):
        row = first + int(index[k]) * stride
        total += weight[k] * base[row : row + entries]
    old = out[at : at + copies * entries]
    old[:] = np.tile(total, copies) + (old if add else 0.0)


def _row_operation_of_parts(shape: Callable[[int], tuple[int, int]]) -> Any:
    """Return the operation that writes sums; ``shape`` returns entries and copies for a number of parts."""

    def in_numpy(parts: Any, *arguments: Any) -> None:
        _row_operation_in_numpy(*shape(len(parts)), False, *arguments)

    @_operation(in_numpy)
    def operation(typing: Any, parts: Any, out: Any, at: Any, base: Any, first: Any, stride: Any, index: Any, weight: Any, start: Any, stop: Any) -> Any:  # noqa: ARG001, E501  # fmt: skip
        def emit(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            return _emit_row_operation(*shape(parts.count), False, context, builder, signature.args[1:], args[1:])

        return types.void(parts, out, _LONG, base, _LONG, _LONG, index, weight, _LONG, _LONG), emit

    return operation


sum_rows = _row_operation_of_parts(lambda parts: (parts * LANES, 1))
sum_rows_of_one = _row_operation_of_parts(lambda parts: (LANES, parts))


def _add_rows_in_numpy(*arguments: Any) -> None:
    _row_operation_in_numpy(LANES, 1, True, *arguments)


@_operation(_add_rows_in_numpy)
def add_rows(typing: Any, out: Any, at: Any, base: Any, first: Any, stride: Any, index: Any, weight: Any, start: Any, stop: Any) -> Any:  # noqa: ARG001, E501  # fmt: skip
    """Add the sum of rows."""

    def emit(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return _emit_row_operation(LANES, 1, True, context, builder, signature.args, args)

    return types.void(out, _LONG, base, _LONG, _LONG, index, weight, _LONG, _LONG), emit


def _apply_layer_in_numpy(lam: Any, lam_at: Any, theta: Any, theta_at: Any, linear: Any, polynomial: Any) -> None:  # noqa: ARG001
    some = None if theta is None else theta[theta_at : theta_at + LANES]
    layer_in_numpy(lam[lam_at : lam_at + LANES], some, linear)


@_operation(_apply_layer_in_numpy)
def apply_layer(typing: Any, lam: Any, lam_at: Any, theta: Any, theta_at: Any, linear: Any, polynomial: Any) -> Any:  # noqa: ARG001
    """Apply one layer."""
    arrays = (0,) if isinstance(theta, types.NoneType) else (0, 2)

    def emit(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        pointers = [_pointer(context, builder, signature.args[i], args[i]) for i in arrays]
        share = None if isinstance(linear, types.NoneType) else _spread(builder, args[4])
        signed, after = (builder.append_basic_block(name) for name in ("signed", "applied"))
        switch = builder.switch(args[5], signed)
        cases = [builder.append_basic_block(f"polynomial{i}") for i in range(len(POLYNOMIALS))]
        for i, block in enumerate(cases):
            switch.add_case(ir.Constant(_INT, i), block)
        for block, chosen in zip((signed, *cases), (None, *POLYNOMIALS), strict=True):
            builder.position_at_end(block)
            for i in range(0, LANES, _WIDTH):
                offsets = [_plus(builder, args[k + 1], i) for k in arrays]
                old = [_load(builder, *each) for each in zip(pointers, offsets, strict=True)]
                new = emit_layer(builder, old[0], old[1] if len(old) == 2 else None, share, chosen)
                for value, pointer, offset in zip(new, pointers, offsets, strict=True):
                    _store(builder, value, pointer, offset)
            builder.branch(after)
        builder.position_at_end(after)
        return context.get_dummy_value()

    return types.void(lam, _LONG, theta, _LONG, linear, _LONG), emit


def _transpose4_in_numpy(source: Any, s: Any, s_stride: Any, out: Any, o: Any, o_stride: Any) -> None:
    for i in range(4):
        for j in range(4):
            out[o + j * o_stride + i] = source[s + i * s_stride + j]


@_operation(_transpose4_in_numpy)
def transpose4(typing: Any, source: Any, s: Any, s_stride: Any, out: Any, o: Any, o_stride: Any) -> Any:  # noqa: ARG001
    """Transpose a matrix of 4 × 4."""

    def emit(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        take, give = (_pointer(context, builder, signature.args[i], args[i]) for i in (0, 3))
        _, s, s_stride, _, o, o_stride = args

        def entry(start: Any, stride: Any, row: int, column: int) -> Any:
            return _plus(builder, builder.add(start, builder.mul(stride, ir.Constant(_INT, row))), column)

        # Halves of rows i and i + 2 are joined while loading, which costs no shuffle.
        joined = []
        for half in (0, 2):
            for i in (0, 1):
                low, high = (_load(builder, take, entry(s, s_stride, row, half), _TWO) for row in (i, i + 2))
                joined.append(_shuffle(builder, low, high, [0, 1, 2, 3]))
        for i, (pair, lanes) in enumerate((p, z) for p in (0, 2) for z in ([0, 4, 2, 6], [1, 5, 3, 7])):
            column = _shuffle(builder, joined[pair], joined[pair + 1], lanes)
            _store(builder, column, give, entry(o, o_stride, i, 0))
        return context.get_dummy_value()

    return types.void(source, _LONG, _LONG, out, _LONG, _LONG), emit


@compiled
def n_panels(count: int) -> int:
    """Return the number of panels that hold ``count`` colours; the last one may not be full."""
    return -(-count // LANES)


@compiled
def relation_origin(relation: int, padded: int, n_features: int, has_residual: bool) -> int:
    """Return the column at which a relation of the operators D starts, from level 2 on.

    Relations are ``padded`` columns wide, whole panels of the colours below; with a residual connection relation 0 is
    ``n_features`` wide.
    """
    return n_features + (relation - 1) * padded if has_residual and relation > 0 else relation * padded


@compiled
def apply_layers(lam: Array, theta: Array | None, entries: int, layers: int, linear: float | None) -> None:
    """Apply ``layers`` layers in place to the first ``entries`` of two flat arrays, or of λ alone.

    ``linear`` is t of the activation, None for ReLU. The length of the arrays must be at least ``entries``
    rounded up to a multiple of LANES; the padding is overwritten.
    """
    for at in range(0, entries, LANES):
        for _ in range(layers):  # 32 entries stay in the first-level cache from layer to layer
            apply_layer(lam, at, theta, at, linear, SIGNED)


@compiled
def scatter(matrix: Array, first: int, factors: Array, buckets: Ints, out: Array) -> None:
    """Add factors[k] times column first + k of the matrix to column buckets[k] of ``out``, for every k.

    This is the product with a sketch that has one entry per column, at one multiply-add per matrix entry.
    """
    for row in range(matrix.shape[0]):
        for k in range(len(factors)):
            out[row, buckets[k]] += factors[k] * matrix[row, first + k]


@compiled
def _repeat_layer(pairs: Array, rows: int, repeats: int, polynomial: int) -> None:
    for _ in range(repeats):
        for at in range(0, rows * 2 * LANES, 2 * LANES):
            apply_layer(pairs, at, pairs, at + LANES, None, polynomial)


def layer_nanoseconds(polynomial: int = SIGNED) -> float:
    """Measure one layer on one pair of (λ, θ) in the first-level cache, on one core: no tile can be faster."""
    rows, repeats = 16, 2000
    pairs = np.random.default_rng(0).random(rows * 2 * LANES)
    _repeat_layer(pairs, rows, 1, polynomial)
    shortest = np.inf
    for _ in range(25):
        start = time.perf_counter()
        _repeat_layer(pairs, rows, repeats, polynomial)
        shortest = min(shortest, time.perf_counter() - start)
    return float(shortest / (repeats * rows * LANES) * 1e9)
