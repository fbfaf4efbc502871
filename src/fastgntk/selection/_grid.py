"""The candidate kernels of model selection; one pass computes all depths of a kernel."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, fields, replace
from itertools import product
from typing import Any, NamedTuple, Self

from scipy import sparse

from fastgntk._util.arrays import Array
from fastgntk._util.checks import check_flag, check_positive
from fastgntk.errors import InputError
from fastgntk.graphs import GraphBatch
from fastgntk.kernels import GNTK, RBF, WLOA, Edges, Kernel, Leaf, Linear, Scale, Tanimoto
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

_SINGLE = ("base", "added", "interaction")  # fields of a grid that are not values to try
_FULL_GRID_GRAPHS = 500  # beyond this number SVMs are slow, and fewer kernels are tried
_SINGLE_PROCESS_GRAPHS = 300  # up to this number, starting processes takes longer than fitting the SVMs


@dataclass(frozen=True)
class Grid:
    """A grid of kernels and C; ties are broken in favour of earlier values.

    The defaults follow Du et al. 2019 (one to three layers, both scales, with and without jump) with a coarser spacing
    of depth and C. ``base`` has the options common to all networks: features, sketch and c_phi. With
    ``optimal_assignment=(False, True)`` and normalisation the grid also has the product of each network that reads out
    every level with the optimal assignment kernel of the same depth, ``GNTK(b).normalized() * WLOA(b).normalized()``.
    ``added`` is a kernel that is added to every kernel. ``interaction`` is a kernel on descriptors: for each product
    k·w the grid also has k + k·w + k·w·interaction, so that the effect of a substructure may depend on descriptors.
    """

    blocks: tuple[int, ...] = (1, 2, 3, 5, 8)
    layers: tuple[int, ...] = (1, 2, 3)
    scale: tuple[Scale, ...] = ("uniform", "degree")
    jump: tuple[bool, ...] = (False, True)
    normalize: tuple[bool, ...] = (True, False)
    C: tuple[float, ...] = (0.1, 1.0, 10.0, 100.0, 1_000.0)
    edges: tuple[Edges, ...] = ("plain",)
    optimal_assignment: tuple[bool, ...] = (False,)
    base: GNTK = GNTK()
    added: Kernel | None = None
    interaction: Kernel | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.base, GNTK):
            raise InputError(f"base must be a GNTK, but is {self.base!r}.")
        for name in ("added", "interaction"):
            value = getattr(self, name)
            if value is not None and not isinstance(value, Kernel):
                raise InputError(f"{name} must be a kernel or None, but has type {type(value).__name__}.")
        for f in fields(self):
            if f.name in _SINGLE:
                continue
            values = getattr(self, f.name)
            if isinstance(values, str) or not isinstance(values, Iterable):
                raise InputError(f"{f.name} must be a sequence of values to try, but is {values!r}.")
            checked = tuple(_check_option(f.name, value) for value in values)
            if not checked:
                raise InputError(f"{f.name} must have at least one value to try.")
            object.__setattr__(self, f.name, checked)
        if False not in self.optimal_assignment and not self.has_products:
            raise InputError(
                "optimal_assignment without False leaves no kernel to try, as products need True among the values of "
                "jump and normalize; add True to both."
            )
        if self.interaction is not None and not self.has_products:
            raise InputError(
                "interaction applies to products of networks with optimal assignment kernels, which the grid does not "
                "have; add True to optimal_assignment, jump and normalize, or leave interaction out."
            )

    @property
    def has_products(self) -> bool:
        """Whether the grid has products of networks with optimal assignment kernels."""
        return True in self.optimal_assignment and True in self.jump and True in self.normalize

    @classmethod
    def default(cls, n_graphs: int) -> Self:
        """Return the default grid of an evaluation: 40 GNTKs with one layer, and every C.

        Beyond 500 graphs it is ten GNTKs and their products with optimal assignment kernels, and three values of C. On
        fewer graphs the products did not pay for the noise of a choice among more kernels (docs/evaluate.md).
        """
        if n_graphs <= _FULL_GRID_GRAPHS:
            return cls(layers=(1,))
        few = cls(layers=(1,), jump=(True,), normalize=(True,), C=(1.0, 10.0, 100.0))
        return replace(few, optimal_assignment=(False, True))

    @classmethod
    def full(cls, *, descriptors: bool = False) -> Self:
        """Return the default grid of the estimators that choose their kernel: every depth up to ten.

        With ``descriptors``, networks have one layer, jump and unit diagonal, so that kernels on descriptors, added
        with equal weights, are of the same size.
        """
        depths = tuple(range(1, 11))
        if descriptors:
            return cls(depths, layers=(1,), jump=(True,), normalize=(True,), optimal_assignment=(False, True))
        return cls(depths, optimal_assignment=(False, True))

    def for_graphs(self, graphs: GraphBatch) -> Self:
        """Return the grid adapted to the graphs.

        Products are left out if the graphs have continuous features and no labels. Kernels on all descriptors are
        added: ``RBF`` and ``Linear``, or ``Tanimoto`` on sparse blocks. Products interact with ``RBF`` on dense blocks.
        """
        out = self
        continuous = graphs.features is not None and graphs.labels is None and self.base.features != "degree"
        if continuous and any(self.optimal_assignment):
            out = replace(out, optimal_assignment=(False,), interaction=None)
        if graphs.descriptors and self.added is None:
            parts = [part for name in graphs.descriptors for part in _on_descriptors(graphs, name)]
            out = replace(out, added=sum(parts[1:], parts[0]))
            dense = [part for part in parts if isinstance(part, RBF)]
            if dense and out.interaction is None and out.has_products:
                out = replace(out, interaction=sum(dense[1:], dense[0]))
        return out

    def kernels(self) -> list[Kernel]:
        """Return all kernels; those of the same pass are adjacent."""
        out: list[Kernel] = []
        for layers, scale, edges in product(self.layers, self.scale, self.edges):
            base = replace(self.base, layers=layers, scale=scale, edges=edges)
            networks = [replace(base, blocks=blocks, jump=jump) for blocks in self.blocks for jump in self.jump]
            if False in self.optimal_assignment:
                out += [kernel.normalized() if n else kernel for kernel in networks for n in self.normalize]
            if self.has_products:
                products = [(kernel, _times_optimal_assignment(kernel)) for kernel in networks if kernel.jump]
                out += [product for _, product in products]
                if self.interaction is not None:
                    out += [k.normalized() + product + product * self.interaction for k, product in products]
        if self.added is None:
            return out
        return [kernel + self.added for kernel in out]

    def __len__(self) -> int:
        return len(self.kernels())

    def to_dict(self) -> dict[str, Any]:
        """Return the grid as plain Python values."""
        tried = {f.name: list(getattr(self, f.name)) for f in fields(self) if f.name not in _SINGLE}
        kernels = {name: None if (k := getattr(self, name)) is None else k.to_dict() for name in _SINGLE}
        return tried | kernels


def _on_descriptors(graphs: GraphBatch, name: str) -> list[Kernel]:
    """Return the kernels on one block of descriptors."""
    if sparse.issparse(graphs.descriptors[name]):
        return [Tanimoto(name)]
    return [RBF(name, scaling="log"), Linear(name, scaling="log")]


def _times_optimal_assignment(kernel: GNTK) -> Kernel:
    """Return the product of a network with the optimal assignment kernel of the same depth, both normalised."""
    features = kernel.features if kernel.features in ("labels", "degree") else "discrete"
    assignment = WLOA(kernel.blocks, kernel.edges, features)
    return kernel.normalized() * assignment.normalized()


def _check_option(name: str, value: Any) -> Any:
    """Check one value of an option and return it as a plain Python value."""
    if name in ("jump", "normalize", "optimal_assignment"):
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
        problem = f"item {wrong[0]} has type {type(kernels[wrong[0]]).__name__}" if wrong else "is empty"
    else:
        problem = f"has type {type(kernels).__name__}" + ("; pass [kernel]" if isinstance(kernels, Kernel) else "")
    raise InputError(f"kernels must be a Grid, Candidates or a sequence of kernels to try, but {problem}.")


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

    A kernel whose leaves are all among those of another one is in the pass of that one.

    >>> [len(group.members) for group in group_into_passes(Grid(layers=(1,)).kernels())]
    [20, 20]
    """
    keys = [tuple(dict.fromkeys(leaf.with_all_levels(1) for leaf in kernel.leaves())) for kernel in kernels]
    distinct = sorted(dict.fromkeys(keys), key=len, reverse=True)
    groups: dict[tuple[Leaf, ...], list[int]] = {}
    for i, key in enumerate(keys):
        containing = next(other for other in distinct if set(key) <= set(other))
        groups.setdefault(containing, []).append(i)
    passes = []
    for key, members in groups.items():
        leaves = [leaf for i in members for leaf in kernels[i].leaves()]
        depths = [max(leaf.depth for leaf in leaves if leaf.with_all_levels(1) == path) for path in key]
        paths = tuple(path.with_all_levels(depth) for path, depth in zip(key, depths, strict=True))
        passes.append(Pass(paths, tuple(members)))
    return passes


def gram_from_paths(kernel: Kernel, paths: Sequence[GramPath]) -> Array:
    """Return the Gram matrix of a kernel from the readouts of its pass."""
    return combine(kernel, {leaf: at_leaf(leaf, paths) for leaf in kernel.leaves()})


def at_leaf(leaf: Leaf, paths: Sequence[GramPath]) -> Array:
    """Return the Gram matrix of a leaf from the readouts of its pass."""
    return next(path for path in paths if path.kernel.with_all_levels(1) == leaf.with_all_levels(1)).at_kernel(leaf)


def svm_processes(n_graphs: int, compute: Compute) -> int:
    """Return the number of processes in which SVMs are fitted."""
    return compute.threads if n_graphs > _SINGLE_PROCESS_GRAPHS else 1
