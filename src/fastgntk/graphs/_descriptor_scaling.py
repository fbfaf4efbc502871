"""Scaling of descriptors as a fitted step: the input of kernels on descriptors."""

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal, Self

import numpy as np
from scipy import sparse

from fastgntk._util.arrays import Array
from fastgntk.errors import InputError, format_numbers
from fastgntk.graphs._descriptors import is_missing

if TYPE_CHECKING:
    from fastgntk.graphs._batch import GraphBatch

__all__ = ["DescriptorScaling", "ScalingKind"]

ScalingKind = Literal["standard", "log", "none"]


@dataclass(frozen=True, eq=False)
class DescriptorScaling:
    """An affine map of the d columns of a block, z = (t(x) − shift) · factor, fitted on the training graphs.

    t(x) is x, or sign(x) log(1 + |x|) if ``log``. Columns of factor 0 are left out. The map that changes nothing
    leaves sparse blocks sparse; any other makes them dense.
    """

    on: str
    shift: Array  # (d,)
    factor: Array  # (d,), 0 or more
    log: bool = False

    @classmethod
    def identity(cls, batch: "GraphBatch", on: str) -> Self:
        """Return the map that changes nothing, for a block of this width."""
        width = _find_block(batch, on).shape[1]
        return cls(on, np.zeros(width), np.ones(width))

    @classmethod
    def fit(cls, batch: "GraphBatch", on: str, kind: ScalingKind, *, centre: bool = False) -> Self:
        """Fit the columns of a block: to mean 0 and variance 1, or unscaled for ``"none"``, then centred on request.

        A column that is constant on these graphs has factor 0, except for ``"none"``.
        """
        values = _to_dense(_find_block(batch, on, finite=True))
        if kind == "log":
            values = _signed_log(values)
        width, n = values.shape[1], len(values)
        shift = values.mean(axis=0) if n and (centre or kind != "none") else np.zeros(width)
        if kind == "none" or not n:
            return cls(on, shift, np.ones(width), kind == "log")
        constant = np.ptp(values, axis=0) == 0.0
        if constant.all():
            raise InputError(
                f"descriptors {on!r} are the same for all {n} training graphs, so there is nothing to learn from them; "
                "leave out the kernel on them."
            )
        centred = values - shift
        largest = np.where(constant, 1.0, np.abs(centred).max(axis=0))  # squares of large numbers would overflow
        deviation = largest * np.sqrt(np.mean((centred / largest) ** 2, axis=0))
        factor = np.divide(1.0, deviation, out=np.zeros(width), where=~constant)
        return cls(on, shift, factor, kind == "log")

    def divided_by(self, unit: float) -> Self:
        """Return the map followed by division by a number above 0."""
        return replace(self, factor=self.factor / unit)

    @property
    def n_columns(self) -> int:
        """Number of columns of the result."""
        return int(np.count_nonzero(self.factor))

    def check(self, batch: "GraphBatch") -> Any:
        """Return the block of these graphs; raise unless all have it, finite and of the fitted width."""
        block = _find_block(batch, self.on, finite=True)
        if block.shape[1] != len(self.shift):
            raise InputError(
                f"the width of the descriptors {self.on!r} is {block.shape[1]}, but {len(self.shift)} in the training "
                "graphs; compute them in the same way."
            )
        return block

    def transform(self, batch: "GraphBatch") -> Any:
        """Return the scaled block z of these graphs."""
        block = self.check(batch)
        if not self.log and not self.shift.any() and (self.factor == 1.0).all():
            return block
        used = self.factor > 0
        values = _to_dense(block)[:, used]
        return ((_signed_log(values) if self.log else values) - self.shift[used]) * self.factor[used]


def _find_block(batch: "GraphBatch", on: str, *, finite: bool = False) -> Any:
    """Return a block that all graphs have; if ``finite``, raise for numbers that are not."""
    block = batch.descriptors.get(on)
    if block is None:
        available = f"only {', '.join(map(repr, batch.descriptors))}" if batch.descriptors else "none"
        raise InputError(
            f"the kernel needs the descriptors {on!r}, but the graphs have {available}; add them with "
            "batch.with_descriptors (--descriptors or --with)."
        )
    missing = np.flatnonzero(is_missing(block))
    if len(missing):
        lacking = format_numbers("graph", missing.tolist())
        verb = "has" if len(missing) == 1 else "have"
        raise InputError(
            f"{lacking} of {len(batch)} {verb} no descriptors {on!r}; add them, or leave these graphs out."
        )
    if finite and not np.isfinite(block.data if sparse.issparse(block) else block).all():
        graph, column = np.argwhere(~np.isfinite(_to_dense(block)))[0].tolist()
        raise InputError(
            f"graph {graph} has {block[graph, column]} in column {column} of the descriptors {on!r}; they must be "
            "finite: fill in or drop missing values first."
        )
    return block


def _to_dense(block: Any) -> Array:
    return np.asarray(block.toarray() if sparse.issparse(block) else block)


def _signed_log(values: Array) -> Array:
    """Return sign(x) log(1 + |x|), which compresses heavy tails and is monotonic."""
    return np.asarray(np.sign(values) * np.log1p(np.abs(values)))
