"""One layer, λ ← κ1(λ) and θ ← θ κ0(λ) + κ1(λ), on vectors in registers, with one square root.

On [0, 1], arccos(a) = π sqrt(1 − a²) A(a) with A smooth, so that one root s = sqrt(1 − λ²) serves both:

    κ0(λ) = 1 − s A(λ) for λ ≥ 0,   s A(−λ) for λ < 0          κ1(λ) = λ κ0(λ) + s/π

A interpolates arccos(a) / (π sqrt(1 − a²)) at the 19 Chebyshev points of [0, 1]; the error of κ0 and κ1 is below
1e-15. It is summed as even part + a · odd part, two chains that the processor runs in parallel. Activations other than
ReLU have (1 − t) κ0(λ) + t in place of κ0(λ), and (1 − t) κ1(λ) + t λ in place of κ1(λ).
"""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from llvmlite import ir
from numba.core.cgutils import get_or_insert_function

from fastgntk._util.arrays import Array
from fastgntk.engines._activation import kappas
from fastgntk.engines._simd._polynomials import Polynomial

__all__ = ["NEAR_ONE", "emit_layer", "layer_in_numpy"]

NEAR_ONE = 8 * float(np.finfo(np.float64).eps)
"""λ within this distance of ±1 counts as ±1.

A sum over neighbours that is 1 in real numbers is computed as 1 ± a few ε, and κ0 has an infinite slope there: the
rounding error would grow to 1e-8 and depend on the order of summation.
"""

_EVEN = (
    0.4999999999999994,
    0.24999999994717967,
    0.187499934829877,
    0.15623921912092,
    0.13627740668007857,
    0.11710739823961334,
    0.0817795574962366,
    0.03231780010360398,
    0.004526949541947604,
    8.618691594324804e-05,
)
_ODD = (
    -0.31830988618335343,
    -0.21220658824400163,
    -0.16976424807873847,
    -0.14543273593816305,
    -0.1275063583100797,
    -0.10243716308579279,
    -0.05667930482074756,
    -0.014279892534414746,
    -0.0009083894963170486,
)


class _Emitter:
    """Operations on vectors of one LLVM type."""

    def __init__(self, builder: Any, kind: Any) -> None:
        self.builder, self.kind = builder, kind

    def constant(self, value: float) -> Any:
        return ir.Constant(self.kind, [value] * self.kind.count)

    def function(self, name: str, x: Any) -> Any:
        name = f"{name}.v{self.kind.count}f64"
        module, signature = self.builder.module, ir.FunctionType(self.kind, [self.kind])
        return self.builder.call(get_or_insert_function(module, signature, name), [x])  # type: ignore[no-untyped-call]

    def product(self, a: Any, b: Any) -> Any:
        return self.builder.fmul(a, b, flags=("contract",))

    def product_plus(self, a: Any, b: Any, c: Any) -> Any:
        return self.builder.fadd(self.product(a, b), c, flags=("contract",))

    def polynomial(self, x: Any, coefficients: Sequence[float]) -> Any:
        value = self.constant(coefficients[-1])
        for coefficient in reversed(coefficients[:-1]):
            value = self.product_plus(value, x, self.constant(coefficient))
        return value


def emit_layer(
    builder: Any, lam: Any, theta: Any = None, linear: Any = None, polynomial: Polynomial | None = None
) -> list[Any]:
    """Emit the layer for vectors λ and, if it is given, θ of the same LLVM type; return the new ones.

    ``linear`` is t as such a vector, or None for ReLU. With a polynomial λ must lie in its interval.
    """
    emit = _Emitter(builder, lam.type)
    one, zero = emit.constant(1.0), emit.constant(0.0)
    if polynomial is None:
        size = emit.function("llvm.fabs", lam)
    else:  # λ of colours with norm 0 is 0, below the interval
        lowest = emit.constant(polynomial.lowest)
        size = builder.select(builder.fcmp_ordered(">", lowest, lam), lowest, lam)
    gap = builder.fsub(one, size)
    gap = builder.select(builder.fcmp_ordered(">", gap, emit.constant(NEAR_ONE)), gap, zero)
    a = builder.fsub(one, gap)  # exactly 1 where the gap was closed
    root = emit.function("llvm.sqrt", emit.product(gap, builder.fadd(one, a)))
    if polynomial is None:
        z = builder.fmul(a, a)
        share = emit.product_plus(a, emit.polynomial(z, _ODD), emit.polynomial(z, _EVEN))
        bent = builder.fmul(root, share)
        positive = builder.fcmp_ordered(">=", lam, zero)
        rest = builder.fsub(one, bent)
        kappa0 = builder.select(positive, rest, bent)
        signed = builder.select(positive, rest, builder.fsub(zero, bent))  # κ0 with the sign of λ
        lam = builder.select(positive, a, builder.fsub(zero, a))  # exactly ±1 where the gap was closed
    else:
        kappa0 = signed = builder.fsub(one, builder.fmul(root, emit.polynomial(gap, polynomial.coefficients)))
        lam = a
    if linear is None:
        kappa1 = emit.product_plus(root, emit.constant(1.0 / math.pi), emit.product(a, signed))
    else:
        rest = builder.fsub(one, linear)
        kappa0 = emit.product_plus(rest, kappa0, linear)
        root_share = emit.product(builder.fmul(root, rest), emit.constant(1.0 / math.pi))
        kappa1 = builder.fadd(root_share, emit.product(lam, kappa0), flags=("contract",))
    return [kappa1] if theta is None else [kappa1, emit.product_plus(theta, kappa0, kappa1)]


def layer_in_numpy(lam: Array, theta: Array | None = None, linear: float | None = None) -> None:
    """Apply the layer in place to λ and, if it is given, θ in NumPy, for use with the JIT off."""
    np.copyto(lam, np.sign(lam), where=1.0 - np.abs(lam) <= NEAR_ONE)
    kappa0, work = np.empty_like(lam), np.empty_like(lam)
    kappas(lam, kappa0, lam, work, linear or 0.0)
    if theta is not None:
        theta *= kappa0
        theta += lam
