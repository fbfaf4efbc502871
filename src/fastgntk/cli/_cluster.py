"""Where ``fastgntk gram`` computes tiles: on threads, on workers of a Dask scheduler, or on processes of its own."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from typing import Annotated, Any

import typer

from fastgntk._util.memory import worker_count
from fastgntk.errors import InputError
from fastgntk.pairwise.store import connected, local_workers

__all__ = ["ClusterOption", "SchedulerOption", "check_cluster", "executor"]

SchedulerOption = Annotated[
    str | None,
    typer.Option(metavar="tcp://host:8786", help="Compute the tiles of --store on the workers of a Dask scheduler."),
]
ClusterOption = Annotated[
    str | None,
    typer.Option(metavar="local", help="Compute the tiles of --store on --workers Dask processes of this machine."),
]


def check_cluster(scheduler: str | None, cluster: str | None, *, store: bool, shard: bool) -> None:
    """Refuse options that do not go together."""
    if scheduler is not None and cluster is not None:
        raise InputError("--scheduler is for workers that are there, --cluster starts some; give one of them.")
    option = "--scheduler" if scheduler is not None else "--cluster" if cluster is not None else None
    if option is None:
        return
    if cluster not in (None, "local"):
        raise InputError(f"--cluster must be local, but is {cluster!r}; for workers elsewhere use --scheduler.")
    if not store:
        raise InputError(f"{option} is for --store; give that too.")
    if shard:
        raise InputError(f"--shard is for processes without a scheduler, {option} for one; give one of them.")


def executor(scheduler: str | None, cluster: str | None, workers: int | None) -> AbstractContextManager[Any]:
    """Give a Dask client for the time of the matrix, or None for threads."""
    if scheduler is not None:
        return connected(scheduler)
    if cluster is not None:
        return local_workers(worker_count(workers))
    return nullcontext()
