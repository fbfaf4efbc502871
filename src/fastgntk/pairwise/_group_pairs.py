"""Values of one leaf of a kernel, one pair of groups at a time, on threads: matrices, diagonals, and contributions.

``result_bytes`` is the size of the whole result, which may be larger than the array that a function returns.
"""

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import numpy as np
from numpy.typing import NDArray

from fastgntk._util.arrays import Array, Ints
from fastgntk._util.threads import run_on_threads, single_threaded_blas
from fastgntk.errors import InputError
from fastgntk.kernels import Network
from fastgntk.pairwise._combine import combine_levels, mirror_upper_triangle
from fastgntk.pairwise._compute import Compute, check_fits_memory
from fastgntk.pairwise._plan import Plan, plan_cross, plan_diagonal, plan_gram
from fastgntk.pairwise._prepared_leaf import BuiltGroup, PreparedLeaf

__all__ = ["compute_readouts", "compute_values", "leaf_contributions", "leaf_cross", "leaf_diagonal", "leaf_gram"]
__all__ += ["leaf_readouts"]

_log = logging.getLogger("fastgntk")

Write = Callable[[Ints, Ints, Array], None]
"""Called as write(row indices, column indices, tile) with the tile of each pair of groups."""

ComputeTile = Callable[[BuiltGroup, BuiltGroup, NDArray[np.uint8]], Array]
"""`compute_values`, or `compute_readouts` for the readouts of all levels."""


def leaf_gram(graphs: PreparedLeaf, compute: Compute, result_bytes: int) -> Array:
    """Return the Gram matrix (n, n)."""
    out = np.zeros((graphs.n, graphs.n))
    write = _write_both_triangles(out)
    _compute_group_pairs(graphs, graphs, plan_gram(graphs.groups), write, compute, result_bytes)
    return out


def leaf_readouts(graphs: PreparedLeaf, compute: Compute) -> Array:
    """Return the readouts of all levels, shape (L + 1, n, n)."""
    out = np.zeros((graphs.leaf.depth + 1, graphs.n, graphs.n))
    write = _write_both_triangles(out)
    _compute_group_pairs(graphs, graphs, plan_gram(graphs.groups), write, compute, out.nbytes, compute_readouts)
    return out


def leaf_cross(rows: PreparedLeaf, cols: PreparedLeaf, compute: Compute, result_bytes: int) -> Array:
    """Return the kernel (n, m) between two sets of graphs that were prepared the same way."""
    out = np.zeros((rows.n, cols.n))

    def write(rows: Ints, cols: Ints, values: Array) -> None:
        out[rows[:, None], cols] = values

    _compute_group_pairs(rows, cols, plan_cross(rows.groups, cols.groups), write, compute, result_bytes)
    return out


def leaf_diagonal(graphs: PreparedLeaf, compute: Compute) -> Array:
    """Return the kernel of each graph with itself (n,); groups are built one by one and not kept."""
    diagonal = graphs.engine.diagonal(graphs.state)
    if diagonal is not None:
        return diagonal
    out = np.zeros(graphs.n)
    plan = plan_diagonal(graphs.engine.graph_sizes(graphs.state))
    n_threads = graphs.affordable_threads(plan, compute, out.nbytes)
    state = graphs.finish_preparation(n_threads)

    def pick(i: int, _: int) -> tuple[BuiltGroup, BuiltGroup]:
        built = graphs.build_group(state, plan.rows[i])
        return built, built

    def write(rows: Ints, _: Ints, values: Array) -> None:
        out[rows] = np.diagonal(values)

    _run_group_pairs(graphs, plan, pick, write, n_threads, compute)
    return out


def leaf_contributions(graph: PreparedLeaf, cols: PreparedLeaf, compute: Compute) -> Array:
    """Return the contributions (N, m) of the nodes of a single graph to its row of the matrix."""
    out = np.zeros((graph.batch.n_nodes, cols.n))
    check_fits_memory(out.nbytes, compute.memory_budget)
    if not len(out):
        return out
    plan = plan_cross(graph.groups, cols.groups)
    n_threads = graph.affordable_threads(plan, compute, out.nbytes, cols, readouts=len(out))
    col_groups = cols.build(n_threads)
    nodes = graph.build_nodes(n_threads)

    def write(_: Ints, cols: Ints, values: Array) -> None:
        out[:, cols] = values

    _run_group_pairs(graph, plan, lambda _, j: (nodes, col_groups[j]), write, n_threads, compute.with_progress(None))
    return out


def _compute_group_pairs(
    rows: PreparedLeaf,
    cols: PreparedLeaf,
    plan: Plan,
    write: Write,
    compute: Compute,
    result_bytes: int,
    compute_tile: ComputeTile | None = None,
) -> None:
    """Compute the tile of every pair of groups, and pass it to ``write``; ``cols`` may be ``rows``."""
    n_threads = rows.affordable_threads(plan, compute, result_bytes, None if cols is rows else cols)
    row_groups, col_groups = rows.build(n_threads), cols.build(n_threads)
    _run_group_pairs(rows, plan, lambda i, j: (row_groups[i], col_groups[j]), write, n_threads, compute, compute_tile)


def _run_group_pairs(
    graphs: PreparedLeaf,
    plan: Plan,
    pick: Callable[[int, int], tuple[BuiltGroup, BuiltGroup]],
    write: Write,
    n_threads: int,
    compute: Compute,
    compute_tile: ComputeTile | None = None,
) -> None:
    """Compute the tile of every pair of groups from the data that ``pick`` returns, by default its values."""
    cancelled = np.zeros(1, dtype=np.uint8)  # one flag per call: other calls may use these graphs at the same time

    def compute_and_write(group_pair: tuple[int, int]) -> None:
        rows, cols = pick(*group_pair)
        write(rows.group.indices, cols.group.indices, (compute_tile or compute_values)(rows, cols, cancelled))

    shown = (graphs.engine.name, graphs.choice.reason, graphs.leaf, len(plan.group_pairs), n_threads)
    _log.info("engine %s (%s): %s, %d tiles on %d threads", *shown)
    with single_threaded_blas():
        run_on_threads(compute_and_write, plan.group_pairs, n_threads, plan.cost, compute.progress, cancelled)


def compute_values(rows: BuiltGroup, cols: BuiltGroup, cancelled: NDArray[np.uint8]) -> Array:
    """Compute the kernel between two groups, and raise an error if some values are not finite."""
    with _name_groups(rows, cols):
        values: Array | None = rows.engine.weighted_readouts(rows.data, cols.data)
    if values is None:
        return combine_levels(compute_readouts(rows, cols, cancelled), rows.leaf)
    return _pool(values, rows, cols)


def compute_readouts(rows: BuiltGroup, cols: BuiltGroup, cancelled: NDArray[np.uint8]) -> Array:
    """Compute the readouts of all levels between two groups, and raise an error if some are not finite."""
    with _name_groups(rows, cols):
        readouts: Array = rows.engine.tile_readouts(rows.data, cols.data, cancelled)
    if cancelled[0] or np.isfinite(readouts).all():
        return _pool(readouts, rows, cols)
    groups = f"{rows.group} × {cols.group}"
    if not isinstance(rows.leaf, Network):
        raise InputError(f"values of {rows.leaf} for graphs {groups} leave the range of float64; use smaller numbers.")
    level = int(np.argwhere(~np.isfinite(readouts))[0][0])
    scales = " or ".join(f"scale={name!r}" for name in ("degree", "unit") if name != rows.leaf.scale)
    raise InputError(
        f"kernel values of graphs {groups} leave the range of float64 at block {level} of "
        f"{rows.leaf.blocks}; use {scales}, fewer blocks, or smaller features and weights."
    )


def _pool(readouts: Array, rows: BuiltGroup, cols: BuiltGroup) -> Array:
    """Return the sums over pairs of nodes (…, n, n'), divided by the numbers of pairs if readouts are means."""
    if rows.divisors is None or cols.divisors is None:
        return readouts
    return np.asarray(readouts / np.multiply.outer(rows.divisors, cols.divisors))


@contextmanager
def _name_groups(rows: BuiltGroup, cols: BuiltGroup) -> Iterator[None]:
    """Name the groups in errors, and silence floating-point warnings: values that are not finite raise an error."""
    try:
        with np.errstate(all="ignore"):
            yield
    except Exception as error:
        error.add_note(f"while computing graphs {rows.group} × {cols.group}")
        raise


def _write_both_triangles(out: Array) -> Write:
    """Return a function that writes a tile and its mirror image, so that the result is exactly symmetric."""

    def write(rows: Ints, cols: Ints, values: Array) -> None:
        if rows is cols:  # rounding differs between the two triangles; keep one
            values = mirror_upper_triangle(values)
        out[..., rows[:, None], cols] = values
        out[..., cols[:, None], rows] = np.swapaxes(values, -1, -2)

    return write
