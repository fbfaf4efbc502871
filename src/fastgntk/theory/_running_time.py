"""Operations to build the kernel matrix of n graphs: the running-time theorems, counted.

A product of an (a, b) matrix with a (b, c) matrix counts T(a, b, c) = a b c multiply-adds: classical multiplication, as
BLAS does it, in place of the paper's exponent ω. Pairs i ≤ j are counted once, where the theorems have all n².

Jiang et al. 2022, the text after Fact 5.1 for the decoupled product, Theorems 5.3 and D.1 for sketches, Theorems 4.1
and D.2 for the Kronecker product of Du et al. 2019. The sketched product follows the order in the proof of Theorem 5.3.
"""

from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import ArrayLike

from fastgntk._util.arrays import Array
from fastgntk._util.checks import check_integer
from fastgntk.errors import InputError
from fastgntk.theory._checks import check_counts

__all__ = ["Method", "Operations", "count_operations"]

Method = Literal["kronecker", "decoupled", "sketched"]


@dataclass(frozen=True)
class Operations:
    """The operations of each step, over all pairs of graphs.

    Attributes
    ----------
    once : float
        Products that need one graph only: Â_i S_iᵀ.
    features : float
        H_iᵀ H_j.
    aggregation : float
        All blocks, for Σ and K; K(0) = Σ(0), so that one product serves both in the first block.
    layers : float
        Entries (u, v) times layers times blocks: evaluations of κ0 and κ1, not multiply-adds.
    readout : float
        Additions.
    """

    once: float
    features: float
    aggregation: float
    layers: float
    readout: float

    @property
    def total(self) -> float:
        """The sum of all, each evaluation of κ counted as one operation, as in the theorems."""
        return self.once + self.features + self.aggregation + self.layers + self.readout


def count_operations(
    method: Method, sizes: ArrayLike, d: int, blocks: int, layers: int, rows: ArrayLike | None = None
) -> Operations:
    """Count the operations of a kernel matrix from the sizes of its graphs.

    For one pair and one product of the aggregation, with N, N' nodes and b, b' rows:

        kronecker    (N N')² for the Kronecker product, and (N N')² for its product with vec(Σ)
        decoupled    Â Σ, then times Â':                    N² N' + N N'²
        sketched     S Σ:  b N N';   times S'ᵀ:  b N' b';   (Â Sᵀ) times that:  N b b';   times (S' Â'):  N b' N'

    Parameters
    ----------
    method : {"kronecker", "decoupled", "sketched"}
    sizes : (n,)
        N_i, the nodes of each graph.
    d : int
        Width of the features.
    blocks, layers : int
        L and R.
    rows : (n,), or a number for all
        b_i, the rows of each sketch; for ``"sketched"`` only.

    Examples
    --------
    >>> operations = count_operations("decoupled", [10, 10], d=3, blocks=2, layers=1)
    >>> operations.features, operations.aggregation, operations.layers
    (900.0, 18000.0, 600.0)
    """
    if method not in get_args(Method):
        raise InputError(f"method must be one of {', '.join(get_args(Method))}, but is {method!r}.")
    N = check_counts("sizes", sizes, 0)
    if N.ndim != 1:
        raise InputError(f"sizes must hold one number of nodes for each graph, but has shape {N.shape}.")
    L, R = check_integer("blocks", blocks, 1), check_integer("layers", layers, 1)
    check_integer("d", d, 0)
    b = _check_rows(method, rows, N)
    i, j = np.triu_indices(len(N))
    once, product = 0.0, np.zeros(0)
    if method == "kronecker":
        product = 2.0 * (N[i] * N[j]) ** 2
    elif method == "decoupled":
        product = N[i] ** 2 * N[j] + N[i] * N[j] ** 2
    else:
        once = float(np.sum(N * N * b))
        product = b[i] * N[i] * N[j] + b[i] * N[j] * b[j] + N[i] * b[i] * b[j] + N[i] * b[j] * N[j]
    entries = float(np.sum(N[i] * N[j]))
    return Operations(once, entries * d, float(product.sum()) * (2 * L - 1), entries * L * R, entries)


def _check_rows(method: Method, rows: Any, sizes: Array) -> Array:
    if (rows is None) != (method != "sketched"):
        raise InputError("rows are the rows of each sketch: give them for method='sketched', and only for it.")
    b = np.zeros(len(sizes)) if rows is None else check_counts("rows", rows, 1)
    if b.ndim and b.shape != sizes.shape:
        raise InputError(f"rows must hold one number for each of {len(sizes)} graphs, but has shape {b.shape}.")
    return np.broadcast_to(b, sizes.shape)
