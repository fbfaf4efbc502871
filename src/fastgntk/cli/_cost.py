"""Cost estimates: engine, compression, time, memory; on clusters too."""

from collections.abc import Sequence

from fastgntk import __version__
from fastgntk._util.text import format_bytes, format_duration
from fastgntk.cli._console import progress_bar
from fastgntk.cli._options import ComputeOptions, OutputOptions
from fastgntk.datasets import Dataset
from fastgntk.kernels import Kernel
from fastgntk.pairwise import ClusterCost, CostEstimate, estimate_cost

__all__ = ["show_cost"]

Rows = list[tuple[str, str]]


def show_cost(
    dataset: Dataset,
    kernel: Kernel,
    compute: ComputeOptions,
    output: OutputOptions,
    workers: Sequence[int] | None = None,
) -> None:
    """Print what a kernel matrix will cost, with ``workers`` also on clusters of these sizes."""
    with progress_bar("sample", quiet=output.json) as bar:
        cost = estimate_cost(dataset.graphs, kernel, compute=compute.build(bar), cluster=workers)
    about = {"dataset": dataset.name, "version": __version__, "kernel": repr(kernel), "estimate": cost.to_dict()}
    rows = [*_local_rows(cost), *([] if cost.cluster is None else _cluster_rows(cost.cluster))]
    output.show(about, f"{dataset.name}: estimate for {kernel}", rows)


def _local_rows(cost: CostEstimate) -> Rows:
    rows = [("graphs", f"{cost.graphs:,} with {cost.nodes:,} nodes"), ("pairs of nodes", f"{cost.node_pairs:,}")]
    for leaf in cost.leaves:
        compression = ", ".join(f"{100 * share:.3g} %" for share in leaf.compression)
        rows += [("kernel", leaf.kernel)] if len(cost.leaves) > 1 else []
        rows += [
            ("engine", f"{leaf.engine}: {leaf.reason}"),
            ("blocks of graphs", f"{leaf.blocks:,}, at most {leaf.widest:,} distinct nodes each"),
            ("tiles", f"{leaf.tiles:,} on {cost.threads} thread{'s' * (cost.threads != 1)}"),
            ("distinct pairs", f"{compression} of all pairs of nodes (block by block)"),
        ]
    return [
        *rows,
        ("expected time", f"about {format_duration(cost.seconds)}, plus start-up"),
        ("expected memory", f"{format_bytes(cost.bytes)}, plus Python itself"),
    ]


def _cluster_rows(cost: ClusterCost) -> Rows:
    times = zip(cost.workers, cost.seconds, strict=True)
    longest = format_duration(cost.longest)
    return [
        *((f"{n:,} worker{'s' * (n != 1)}", f"about {format_duration(took)}") for n, took in times),
        ("preparation", f"{format_duration(cost.preparing)}, included in each of these times"),
        ("tiles in a store", f"{cost.tiles:,}, the longest takes {longest}; timed: {cost.sampled:,}"),
        ("worker memory", f"up to {format_bytes(cost.worker_bytes)} for each worker of one thread, plus Python itself"),
        ("disk", format_bytes(cost.disk_bytes)),
    ]
