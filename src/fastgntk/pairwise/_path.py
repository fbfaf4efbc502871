"""Every depth at once."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from fastgntk.errors import InputError
from fastgntk.kernels import GNTK

__all__ = ["GramPath", "combine_levels"]


def combine_levels(levels: NDArray[np.float64], spec: GNTK) -> NDArray[np.float64]:
    """Return the value of the kernel from the readouts of all its levels, shape (L + 1, …)."""
    if isinstance(spec.jump, tuple):
        return np.asarray(np.einsum("l,l...->...", np.array(spec.jump), levels))
    return np.asarray(levels.sum(axis=0)) if spec.jump else np.array(levels[-1])


@dataclass(frozen=True, eq=False)
class GramPath:
    """Hold the readout of every level, from which the kernel of every depth is a sum.

    Attributes
    ----------
    spec : GNTK
        The deepest kernel.
    levels : array of shape (blocks + 1, n, n)
        ``levels[l]`` is Σ_uv K(l)_uv of every pair; level 0 is the features alone.
    engine : str
        What computed it.
    """

    spec: GNTK
    levels: NDArray[np.float64]
    engine: str

    def at(self, blocks: int | None = None, jump: bool | tuple[float, ...] | None = None) -> NDArray[np.float64]:
        """Return the Gram matrix of that depth; what is left out comes from ``spec``."""
        wanted = replace(
            self.spec,
            blocks=self.spec.blocks if blocks is None else blocks,
            jump=self.spec.jump if jump is None else jump,
        )
        if wanted.blocks > self.spec.blocks:
            raise InputError(f"blocks must lie in 1..{self.spec.blocks}, but is {blocks!r}.")
        return combine_levels(self.levels[: wanted.blocks + 1], wanted)
