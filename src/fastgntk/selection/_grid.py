"""The candidate kernels of model selection; one pass computes all depths of a kernel."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, fields, replace
from itertools import product
from typing import Any, NamedTuple, Self

from fastgntk._util.arrays import Array
from fastgntk._util.checks import check_flag, check_positive
from fastgntk.errors import InputError
from fastgntk.graphs import GraphBatch
from fastgntk.kernels import GNTK, Edges, Kernel, Leaf, Scale
from fastgntk.pairwise import Compute, GramPath, combine, gram_path

__all__ = [
    "Candidates",
    "Grid",
    "StageProgress",
    "at_leaf",
    "check_candidates",
    "check_sketches",
    "gram_from_paths",
    "group_into_passes",
    "svm_processes",
]

StageProgress = Callable[[str, int, int], None]
"""Called as progress(stage, done, total) with stage "kernel" or "learning"."""

_FULL_GRID_GRAPHS = 500  # beyond this number SVMs are slow, and fewer kernels are tried
_SINGLE_PROCESS_GRAPHS = 300  # up to this number, starting processes takes longer than fitting the SVMs


@dataclass(frozen=True)
class Grid:
    """A grid of kernels and C; ties are broken in favour of earlier values.

    The defaults follow Du et al. 2019 (one to three layers, both scales, with and without jump) with a coarser spacing
    of depth and C. ``Grid.default(n)`` is smaller for more than 500 graphs. ``base`` has the options common to all
    kernels: features, sketch and c_phi.
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
            checked = tuple(_check_option(f.name, value) for value in values)
            if not checked:
                raise InputError(f"{f.name} must have at least one value to try.")
            object.__setattr__(self, f.name, checked)

    @classmethod
    def default(cls, n_graphs: int) -> Self:
        """Return the default grid for this number of graphs; beyond 500 it has 20 kernels and three values of C."""
        if n_graphs <= _FULL_GRID_GRAPHS:
            return cls()
        return cls(layers=(1, 2), jump=(True,), normalize=(True,), C=(1.0, 10.0, 100.0))

    @classmethod
    def full(cls) -> Self:
        """Return the default grid of the estimators that choose their kernel: every depth up to ten."""
        return cls(blocks=tuple(range(1, 11)))

    def kernels(self) -> list[Kernel]:
        """Return all kernels; those of the same pass are adjacent."""
        options = product(self.layers, self.scale, self.edges, self.blocks, self.jump)
        tangent = [
            replace(self.base, layers=layers, scale=scale, edges=edges, blocks=blocks, jump=jump)
            for layers, scale, edges, blocks, jump in options
        ]
        return [kernel.normalized() if n else kernel for kernel in tangent for n in self.normalize]

    def __len__(self) -> int:
        return len(self.kernels())

    def to_dict(self) -> dict[str, Any]:
        """Return the grid as plain Python values."""
        tried = {f.name: list(getattr(self, f.name)) for f in fields(self) if f.name != "base"}
        return tried | {"base": self.base.to_dict()}


def _check_option(name: str, value: Any) -> Any:
    """Check one value of an option and return it as a plain Python value."""
    if name in ("jump", "normalize"):
        return check_flag(f"every value of {name}", value)
    if name == "C":
        return check_positive("every C", value)
    return getattr(GNTK(**{name: value}), name)  # a GNTK checks and converts its options


@dataclass(frozen=True)
class Candidates:
    """Candidate kernels, and the values of C to try with each of them."""

    kernels: tuple[Kernel, ...]
    C: tuple[float, ...] = Grid.C

    def __post_init__(self) -> None:
        object.__setattr__(self, "kernels", tuple(check_candidates(self.kernels, Grid())[0]))
        object.__setattr__(self, "C", Grid(C=self.C).C)


def check_candidates(kernels: Any, default: Grid) -> tuple[list[Kernel], tuple[float, ...]]:
    """Return the kernels and the C to try, from a grid, a sequence of kernels, or None for the default grid."""
    kernels = default if kernels is None else kernels
    if isinstance(kernels, Grid):
        return kernels.kernels(), kernels.C
    if isinstance(kernels, Candidates):
        return list(kernels.kernels), kernels.C
    if isinstance(kernels, Sequence) and not isinstance(kernels, str):
        wrong = [i for i, kernel in enumerate(kernels) if not isinstance(kernel, Kernel)]
        if len(kernels) and not wrong:
            return list(kernels), Grid.C
        found = f"item {wrong[0]} has type {type(kernels[wrong[0]]).__name__}" if wrong else "is empty"
    else:
        found = f"has type {type(kernels).__name__}" + ("; pass [kernel]" if isinstance(kernels, Kernel) else "")
    raise InputError(f"kernels must be a Grid, Candidates or a sequence of kernels to try, but {found}.")


def check_sketches(kernels: Sequence[Kernel], compute: Compute) -> None:
    """Raise an error for kernels with a sketch if an exact engine is requested, as :func:`fastgntk.gram` does."""
    sketched = [leaf for kernel in kernels for leaf in kernel.leaves() if leaf.sketch is not None]
    if compute.engine != "auto" and sketched:
        problem = f"engine={compute.engine!r} computes exact kernels, but {sketched[0]} has a sketch"
        raise InputError(f"{problem}; use engine='auto', or leave out the sketch.")


class Pass(NamedTuple):
    """Kernels whose leaves need the same calls of :func:`fastgntk.gram_path`, which computes all depths."""

    paths: tuple[Leaf, ...]  # the deepest kernel of each call
    members: tuple[int, ...]  # indices of the kernels

    def compute(self, batch: GraphBatch, compute: Compute) -> list[GramPath]:
        """Compute the readouts of all levels; the engine of ``compute`` applies to exact kernels."""
        computed = []
        for i, path in enumerate(self.paths):
            options = compute.for_part(i, len(self.paths))
            options = options if path.sketch is None else replace(options, engine="auto")
            computed.append(gram_path(batch, path, compute=options))
        return computed


def group_into_passes(kernels: Sequence[Kernel]) -> list[Pass]:
    """Group kernels by pass, in the order of the first kernel; a pass is as deep as its deepest kernel.

    >>> [len(group.members) for group in group_into_passes(Grid(layers=(1,)).kernels())]
    [20, 20]
    """
    groups: dict[tuple[Leaf, ...], list[int]] = {}
    for i, kernel in enumerate(kernels):
        key = tuple(dict.fromkeys(leaf.deepened(1) for leaf in kernel.leaves()))
        groups.setdefault(key, []).append(i)
    passes = []
    for key, members in groups.items():
        leaves = [leaf for i in members for leaf in kernels[i].leaves()]
        depths = [max(leaf.depth for leaf in leaves if leaf.deepened(1) == path) for path in key]
        paths = tuple(path.deepened(depth) for path, depth in zip(key, depths, strict=True))
        passes.append(Pass(paths, tuple(members)))
    return passes


def gram_from_paths(kernel: Kernel, paths: Sequence[GramPath]) -> Array:
    """Return the Gram matrix of a kernel from the readouts of its pass."""
    leaves: dict[Kernel, Array] = {leaf: at_leaf(leaf, paths) for leaf in kernel.leaves()}
    return combine(kernel, leaves)


def at_leaf(leaf: Leaf, paths: Sequence[GramPath]) -> Array:
    """Return the Gram matrix of a leaf from the readouts of its pass."""
    return next(path for path in paths if path.kernel.deepened(1) == leaf.deepened(1)).at_kernel(leaf)


def svm_processes(n_graphs: int, compute: Compute) -> int:
    """Return the number of processes in which SVMs are fitted."""
    return compute.threads if n_graphs > _SINGLE_PROCESS_GRAPHS else 1
