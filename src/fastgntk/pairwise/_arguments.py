"""Arguments of public functions: graphs that may be prepared, and the kernel and options of a call."""

from typing import Any

from fastgntk.errors import InputError
from fastgntk.graphs import GraphBatch, as_graphs
from fastgntk.kernels import GNTK, Kernel, Network
from fastgntk.pairwise._compute import Compute, check_compute, check_kernel
from fastgntk.pairwise._prepared import PreparedGraphs

__all__ = ["as_single_graph", "resolve_compute", "resolve_arguments"]


def resolve_arguments(
    graphs: Any, kernel: Kernel | None, compute: Compute | None
) -> tuple[GraphBatch | PreparedGraphs, Kernel, Compute]:
    """Return converted or prepared graphs, and the kernel and options of a call; None means those of prepared graphs.

    For graphs that are not prepared, None means the default.
    """
    if isinstance(graphs, PreparedGraphs):
        return graphs, graphs.kernel, resolve_compute(graphs, kernel, compute)
    kernel, compute = GNTK() if kernel is None else check_kernel(kernel), check_compute(compute)
    return as_graphs(graphs), kernel, compute


def resolve_compute(prepared: PreparedGraphs, kernel: Kernel | None, compute: Compute | None) -> Compute:
    """Return the options of a call with prepared graphs; raise if kernel or engine differ from theirs."""
    if kernel is not None and kernel != prepared.kernel:
        raise InputError(f"the graphs were prepared for {prepared.kernel}, but the kernel is {kernel}; leave it out.")
    if compute is None:
        return prepared.compute
    compute = check_compute(compute)
    by_leaf = prepared.graphs_by_leaf
    engines = [by_leaf[leaf].engine.name for leaf in by_leaf if isinstance(leaf, Network)]
    if compute.engine != "auto" and not set(engines) <= {compute.engine}:
        used = " and ".join(dict.fromkeys(engines))
        raise InputError(f"the graphs were prepared with engine {used}, but engine={compute.engine!r}; leave it out.")
    return compute


def as_single_graph(graph: Any) -> GraphBatch:
    """Convert one graph, or a batch or list of one, to a batch of one."""
    batch = as_graphs(graph if isinstance(graph, GraphBatch | list) else [graph])
    if len(batch) != 1:
        raise InputError(f"graph must be one graph, but {len(batch)} graphs were given.")
    return batch
