"""The options that model selection tries."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np

from fastgntk.errors import InputError
from fastgntk.kernels import GNTK, Edges, Scale

__all__ = ["Candidate", "Grid"]

_MANY = 500  # graphs, past which a support vector machine takes long enough to try fewer of them


@dataclass(frozen=True)
class Candidate:
    """One kernel of the grid."""

    spec: GNTK
    normalize: bool


@dataclass(frozen=True)
class Grid:
    """Say which kernels and which C are tried; the order within each is the order in which ties are broken.

    The defaults follow Du et al. 2019 (one to three layers, both scales, with and without jump) at
    a coarser spacing of depth and C. ``Grid.default(n)`` tries fewer of them on more than 500 graphs.
    """

    blocks: tuple[int, ...] = (1, 2, 3, 5, 8)
    layers: tuple[int, ...] = (1, 2, 3)
    scale: tuple[Scale, ...] = ("uniform", "degree")
    jump: tuple[bool, ...] = (False, True)
    normalize: tuple[bool, ...] = (True, False)
    C: tuple[float, ...] = (0.1, 1.0, 10.0, 100.0, 1_000.0)
    edges: tuple[Edges, ...] = ("plain",)

    def __post_init__(self) -> None:
        for f in fields(self):
            values = getattr(self, f.name)
            if isinstance(values, str) or not isinstance(values, Iterable):
                raise InputError(f"{f.name} must be a sequence of values to try, but is {values!r}.")
            values = tuple(values)
            if not values:
                raise InputError(f"{f.name} must have at least one value to try.")
            object.__setattr__(self, f.name, values)
        # A GNTK checks its options and makes plain values of them.
        object.__setattr__(self, "blocks", tuple(GNTK(blocks=b).blocks for b in self.blocks))
        object.__setattr__(self, "layers", tuple(GNTK(layers=r).layers for r in self.layers))
        object.__setattr__(self, "scale", tuple(GNTK(scale=s).scale for s in self.scale))
        object.__setattr__(self, "edges", tuple(GNTK(edges=e).edges for e in self.edges))
        if any(not isinstance(j, bool | np.bool_) for j in self.jump):
            raise InputError(f"jump must hold True and False only, but is {self.jump}.")
        object.__setattr__(self, "jump", tuple(bool(j) for j in self.jump))
        if any(not isinstance(n, bool | np.bool_) for n in self.normalize):
            raise InputError(f"normalize must hold True and False only, but is {self.normalize}.")
        object.__setattr__(self, "normalize", tuple(bool(n) for n in self.normalize))
        if any(not isinstance(C, int | float | np.number) or not (np.isfinite(C) and C > 0) for C in self.C):
            raise InputError(f"C must hold numbers above 0, but is {self.C}.")
        object.__setattr__(self, "C", tuple(float(C) for C in self.C))

    @classmethod
    def default(cls, n_graphs: int) -> Grid:
        """Return the grid for that many graphs: the full one, or past 500 one of 20 kernels and three C."""
        if n_graphs <= _MANY:
            return cls()
        return cls(layers=(1, 2), jump=(True,), normalize=(True,), C=(1.0, 10.0, 100.0))

    @classmethod
    def full(cls) -> Grid:
        """Return the grid of the estimators that choose for themselves: every depth up to ten."""
        return cls(blocks=tuple(range(1, 11)))

    def paths(self) -> list[GNTK]:
        """Return the deepest kernel for each choice of layers, scale and edges; the other depths come with it."""
        deepest = max(self.blocks)
        return [GNTK(deepest, R, s, edges=e) for R in self.layers for s in self.scale for e in self.edges]

    def along(self, path: GNTK) -> Iterator[Candidate]:
        """Yield the kernels that one path gives."""
        for blocks in self.blocks:
            for jump in self.jump:
                for normalize in self.normalize:
                    yield Candidate(replace(path, blocks=blocks, jump=jump), normalize)

    def __len__(self) -> int:
        return len(self.paths()) * len(self.blocks) * len(self.jump) * len(self.normalize)

    def to_dict(self) -> dict[str, Any]:
        """Return the grid as plain Python values."""
        return {f.name: list(getattr(self, f.name)) for f in fields(self)}
