"""Polynomials for a layer on [c, 1]: if cosines are bounded, λ is never below some c that grows from layer to layer.

Cosines are bounded if features and weights are not negative, for one relation and without a residual connection. On
[0, 1], arccos(λ) = π sqrt(1 − λ²) A(1 − λ) with A smooth; the higher c, the lower its degree for the same error. The
table is the output of tools/layer_polynomials.py.
"""

from functools import lru_cache
from typing import NamedTuple

import numpy as np

from fastgntk._util.arrays import Ints
from fastgntk.engines._activation import kappa1

__all__ = ["POLYNOMIALS", "SIGNED", "Polynomial", "choose_polynomials"]


class Polynomial(NamedTuple):
    """An approximation of arccos(λ) / (π sqrt(1 − λ²)) for λ in [lowest, 1]; the error is below 5.3e-16."""

    lowest: float
    coefficients: tuple[float, ...]  # of powers of 1 − λ


SIGNED = -1
"""In place of the index of a polynomial: λ may have any value in [−1, 1]."""


@lru_cache(maxsize=64)
def choose_polynomials(blocks: int, layers: int, linear: float, cosines_bounded: bool) -> Ints:
    """Return the index of the polynomial for each layer of each block, shape (blocks, layers).

    A layer with t = ``linear`` maps cosines in [c, 1] to [m(c), 1], m(c) = (1 − t) κ1(c) + t c, and sums of vectors
    with cosines of at least c, with weights that are not negative, have cosines of at least c (docs/math.md). So the
    k-th layer gets at least the k-th iterate of m from 0.
    """
    out = np.full((blocks, layers), SIGNED, dtype=np.int64)
    if cosines_bounded:
        c = 0.0
        for k in range(blocks * layers):
            out.flat[k] = max(i for i, polynomial in enumerate(POLYNOMIALS) if polynomial.lowest <= c)
            c = float(kappa1(c, linear))
    return out


POLYNOMIALS: tuple[Polynomial, ...] = (
    Polynomial(  # degree 18, error 5.2e-16
        0.0,
        (
            0.318309886183791,
            0.10610329539433422,
            0.042441318188829645,
            0.01818913490549901,
            0.00808409625986986,
            0.0036740386799198207,
            0.001701258598710335,
            0.0007546632869173122,
            0.0005574771468320913,
            -0.0005150326155507295,
            0.0020333610985579656,
            -0.0041393967503573536,
            0.006842913606495008,
            -0.008421029634131275,
            0.007764550808755023,
            -0.005166139352560752,
            0.002362131370595876,
            -0.0006651944680176464,
            8.866729151003497e-05,
        ),
    ),
    Polynomial(  # degree 14, error 3.9e-16
        0.31,
        (
            0.31830988618379097,
            0.10610329539439353,
            0.04244131817953002,
            0.018189135442144466,
            0.008084080594303555,
            0.0036743097209673897,
            0.0016982099464096206,
            0.0007782983124251605,
            0.00042625213886619335,
            1.9955366793199937e-05,
            0.0004071329358154081,
            -0.000425951302118206,
            0.0004704075796933147,
            -0.00025900589663462064,
            8.263390577513287e-05,
        ),
    ),
    Polynomial(  # degree 12, error 3.2e-16
        0.49,
        (
            0.31830988618379097,
            0.10610329539441456,
            0.042441318177616226,
            0.018189135512337824,
            0.008084079130571725,
            0.0036743309569056463,
            0.0016979761186638185,
            0.0007802360003260337,
            0.00041461146777047145,
            6.924434502256696e-05,
            0.0002630463459081079,
            -0.00014276532931727255,
            0.00011405788978325539,
        ),
    ),
    Polynomial(  # degree 11, error 1.6e-16
        0.6,
        (
            0.3183098861837905,
            0.10610329539469861,
            0.04244131814584321,
            0.018189136906283914,
            0.00808404746979024,
            0.003674756342969188,
            0.001694342247561265,
            0.0008007361418293239,
            0.0003372038294349138,
            0.0002629607958914161,
            -4.54325930011328e-05,
            0.00014036685659420462,
        ),
    ),
    Polynomial(  # degree 10, error 1.9e-16
        0.68,
        (
            0.31830988618379086,
            0.10610329539446396,
            0.04244131817430413,
            0.018189135559486903,
            0.008084080178437758,
            0.0036742924393172553,
            0.0016984493200878793,
            0.0007773509556257895,
            0.0004228706753994232,
            6.77875404253313e-05,
            0.0002062484508203633,
        ),
    ),
    Polynomial(  # degree 9, error 1.3e-16
        0.77,
        (
            0.3183098861837905,
            0.10610329539470192,
            0.042441318142878354,
            0.01818913717846944,
            0.008084037550117586,
            0.0036749415079483628,
            0.0016923916614337037,
            0.0008125737172178384,
            0.0002983300735207011,
            0.0003129900571707282,
        ),
    ),
    Polynomial(  # degree 8, error 2.5e-16
        0.83,
        (
            0.3183098861837909,
            0.10610329539437162,
            0.0424413181929634,
            0.018189134248470067,
            0.008084123627926383,
            0.0036735171738421103,
            0.001706273820378058,
            0.0007335107681025638,
            0.0005417535095604059,
        ),
    ),
)
