"""The kernels that model selection tries, and which of them come from one pass."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

from fastgntk._util.arrays import Array
from fastgntk._util.checks import check_flag, check_positive
from fastgntk.errors import InputError
from fastgntk.graphs import GraphBatch
from fastgntk.kernels import GNTK, Edges, Kernel, Scale
from fastgntk.pairwise import Compute, GramPath, combine, gram_path, tangent_leaves

__all__ = ["Candidates", "Grid", "Pass", "check_candidates", "check_engine_of", "passes_of"]

_MANY = 500  # graphs, past which a support vector machine takes long enough to try fewer of them


@dataclass(frozen=True)
class Grid:
    """The kernels and the C that are tried; the order within each is the order in which ties are broken.

    The defaults follow Du et al. 2019 (one to three layers, both scales, with and without jump) at
    a coarser spacing of depth and C. ``Grid.default(n)`` tries fewer of them on more than 500 graphs. ``base`` has the
    options that are the same for all kernels: features, sketch and c_phi.
    """

    blocks: tuple[int, ...] = (1, 2, 3, 5, 8)
    layers: tuple[int, ...] = (1, 2, 3)
    scale: tuple[Scale, ...] = ("uniform", "degree")
    jump: tuple[bool, ...] = (False, True)
    normalize: tuple[bool, ...] = (True, False)
    C: tuple[float, ...] = (0.1, 1.0, 10.0, 100.0, 1_000.0)
    edges: tuple[Edges, ...] = ("plain",)
    base: GNTK = GNTK()

    def __post_init__(self) -> None:
        if not isinstance(self.base, GNTK):
            raise InputError(f"base must be a GNTK, but is {self.base!r}.")
        for f in fields(self):
            if f.name == "base":
                continue
            values = getattr(self, f.name)
            if isinstance(values, str) or not isinstance(values, Iterable):
                raise InputError(f"{f.name} must be a sequence of values to try, but is {values!r}.")
            values = tuple(values)
            if not values:
                raise InputError(f"{f.name} must have at least one value to try.")
            object.__setattr__(self, f.name, tuple(_checked(f.name, value) for value in values))

    @classmethod
    def default(cls, n_graphs: int) -> Grid:
        """Return the grid for that many graphs: the full one, or past 500 one of 20 kernels and three C."""
        if n_graphs <= _MANY:
            return cls()
        return cls(layers=(1, 2), jump=(True,), normalize=(True,), C=(1.0, 10.0, 100.0))

    @classmethod
    def full(cls) -> Grid:
        """Return the grid of the estimators that choose their kernel: every depth up to ten."""
        return cls(blocks=tuple(range(1, 11)))

    def kernels(self) -> list[Kernel]:
        """Return all kernels; those that come from one pass are next to each other."""
        return [kernel.normalized() if n else kernel for kernel in self._tangent() for n in self.normalize]

    def _tangent(self) -> Iterator[GNTK]:
        shared = (
            replace(self.base, layers=R, scale=s, edges=e, jump=True, blocks=1)
            for R in self.layers
            for s in self.scale
            for e in self.edges
        )
        for path in shared:
            for blocks in self.blocks:
                for jump in self.jump:
                    yield replace(path, blocks=blocks, jump=jump)

    def __len__(self) -> int:
        return len(self.kernels())

    def to_dict(self) -> dict[str, Any]:
        """Return the grid as plain Python values."""
        return {f.name: list(getattr(self, f.name)) for f in fields(self) if f.name != "base"} | {
            "base": self.base.to_dict()
        }


def _checked(name: str, value: Any) -> Any:
    """Return one value to try, as a plain one."""
    if name in ("jump", "normalize"):
        return check_flag(f"every value of {name}", value)
    if name == "C":
        return check_positive("every C", value)
    return getattr(GNTK(**{name: value}), name)  # a GNTK checks its options and makes plain values of them


@dataclass(frozen=True)
class Candidates:
    """Kernels to try, and the C of support vector machines that each is tried with."""

    kernels: tuple[Kernel, ...]
    C: tuple[float, ...] = Grid.C

    def __post_init__(self) -> None:
        object.__setattr__(self, "kernels", tuple(check_candidates(self.kernels, Grid())[0]))
        object.__setattr__(self, "C", Grid(C=self.C).C)


def check_candidates(kernels: Any, default: Grid) -> tuple[list[Kernel], tuple[float, ...]]:
    """Return the kernels and the C to try, from a grid, a sequence of kernels, or None for the default grid."""
    if kernels is None:
        kernels = default
    if isinstance(kernels, Grid):
        return kernels.kernels(), kernels.C
    if isinstance(kernels, Candidates):
        return list(kernels.kernels), kernels.C
    listed = list(kernels) if isinstance(kernels, Sequence) and not isinstance(kernels, str) else None
    wrong = [i for i, kernel in enumerate(listed or []) if not isinstance(kernel, Kernel)]
    if not listed or wrong:
        found = f"is a {type(kernels).__name__}" if listed is None else "is empty"
        found += "; pass [kernel]" if isinstance(kernels, Kernel) else ""
        if listed and wrong:
            found = f"item {wrong[0]} is a {type(listed[wrong[0]]).__name__}"
        raise InputError(f"kernels must be a Grid, Candidates or a sequence of kernels to try, but {found}.")
    return listed, Grid().C


def check_engine_of(kernels: Sequence[Kernel], compute: Compute) -> None:
    """Refuse an exact engine for kernels with a sketch, as :func:`fastgntk.gram` does."""
    sketched = (leaf for kernel in kernels for leaf in tangent_leaves(kernel) if leaf.sketch is not None)
    found = next(sketched, None)
    if compute.engine != "auto" and found is not None:
        raise InputError(
            f"engine={compute.engine!r} computes exact kernels, but {found} has a sketch; use engine='auto', or leave "
            "out the sketch."
        )


@dataclass(frozen=True)
class Pass:
    """Kernels whose leaves come from the same passes of :func:`fastgntk.gram_path`: all depths of some kernels."""

    paths: tuple[GNTK, ...]
    """The deepest kernel of each pass."""
    places: tuple[int, ...]
    """Of the kernels among those that were given."""

    def compute(self, batch: GraphBatch, compute: Compute) -> Levels:
        """Compute the passes; the engine of ``compute`` is for exact kernels."""
        found = []
        for i, path in enumerate(self.paths):
            how = compute.for_part(i, len(self.paths))
            found.append(gram_path(batch, path, compute=how if path.sketch is None else replace(how, engine="auto")))
        return Levels(found)


@dataclass(frozen=True, eq=False)
class Levels:
    """The readouts of all levels of some passes, from which kernels are combined."""

    paths: list[GramPath]

    @property
    def engine(self) -> str:
        """What computed them."""
        return " and ".join(dict.fromkeys(path.engine for path in self.paths))

    @property
    def nbytes(self) -> int:
        """Bytes of all readouts."""
        return sum(path.levels.nbytes for path in self.paths)

    def gram(self, kernel: Kernel) -> Array:
        """Return the Gram matrix of a kernel."""
        return combine(kernel, self._leaf)

    def _leaf(self, leaf: Kernel) -> Array:
        assert isinstance(leaf, GNTK)
        path = next(path for path in self.paths if _shallow(path.kernel) == _shallow(leaf))
        return path.at(leaf.blocks, leaf.jump)


def passes_of(kernels: Sequence[Kernel]) -> list[Pass]:
    """Group kernels by the passes that they need, each as deep as its deepest kernel; in order of their first kernel.

    >>> [len(one.places) for one in passes_of(Grid(layers=(1,)).kernels())]
    [20, 20]
    """
    groups: dict[tuple[GNTK, ...], list[int]] = {}
    for place, kernel in enumerate(kernels):
        key = tuple(dict.fromkeys(_shallow(leaf) for leaf in tangent_leaves(kernel)))
        groups.setdefault(key, []).append(place)
    out = []
    for key, places in groups.items():
        leaves = [leaf for place in places for leaf in tangent_leaves(kernels[place])]
        depths = [max(leaf.blocks for leaf in leaves if _shallow(leaf) == path) for path in key]
        paths = tuple(replace(path, blocks=depth) for path, depth in zip(key, depths, strict=True))
        out.append(Pass(paths, tuple(places)))
    return out


def _shallow(kernel: GNTK) -> GNTK:
    """Return what kernels of one pass share."""
    return replace(kernel, blocks=1, jump=True)
