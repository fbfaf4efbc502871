"""Compute tiles on the workers of a Dask cluster, which write them straight into the store.

The groups of each row of tiles are sent once, when a tile first needs them; workers pass them on to each other. A tile
is one task and returns nothing, so this process needs no memory for results. If workers fail, stored tiles are kept,
and only missing ones are recomputed:

- a worker dies: Dask reassigns its task to another one;
- groups are lost with the only worker that held them: Dask cannot recreate them and cancels the tasks that need them;
  this process resends both;
- the scheduler goes away: all tasks are cancelled, and repeating the call resumes the computation.

A client connects to a scheduler at an address (:func:`connect`), or to new workers on this machine
(:func:`local_workers`).
"""

import logging
import re
import secrets
import socket
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from copy import deepcopy
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from fastgntk._util.threads import Progress, single_threaded_blas
from fastgntk._version import __version__
from fastgntk.errors import InputError
from fastgntk.kernels import Kernel
from fastgntk.pairwise.store._build import StoreBuilder, TileGraphs, compute_tile_values
from fastgntk.pairwise.store._stored_gram import StoredGram, Tile, explain_os_errors

__all__ = ["check_client", "compute_on_cluster", "connect", "local_workers"]

_log = logging.getLogger("fastgntk")

_IN_FLIGHT = 1000  # tasks that the scheduler holds at once: enough for hundreds of workers, little memory
_MAX_RESENDS = 5  # times that a tile is resent before the computation fails
_WORKER_TIMEOUT = 60  # seconds to wait for a worker
_KEPT = "finished tiles are kept; rerun the same command to resume"
_TOKEN = ".cluster"  # file that identifies the shared folder
_CONNECT = 5.0  # seconds
_ADDRESS = re.compile(r"(tcp://|tls://)?([\w.-]+|\[[\w:.%]+\]):(?P<port>[0-9]{1,5})", re.ASCII)


def check_client(client: Any) -> None:
    """Raise an error unless ``client`` is a synchronous Dask client."""
    if not isinstance(client, _import_distributed().Client) or client.asynchronous:
        raise InputError(
            f"client must be a dask.distributed Client that is not asynchronous, but has type {type(client).__name__}."
        )
    if client.status != "running":
        raise InputError("client has lost its scheduler; connect again.")


def compute_on_cluster(builder: StoreBuilder, tiles: list[Tile], client: Any, progress: Progress | None) -> None:
    """Compute tiles in the given order, and return when all are in the store."""
    if not tiles:
        return
    builder.build_groups(builder.affordable_threads())
    path = builder.stored.path.resolve()
    token = secrets.token_hex(8)
    with explain_os_errors(path):
        for tile in tiles:  # any existing file for these tiles is damaged; workers take existing files for finished
            builder.stored.file(tile).unlink(missing_ok=True)
        (path / _TOKEN).write_text(token)
    target = str(path), token, builder.stored.manifest.id, __version__
    _log.info("engine %s: %d tiles of %s on %s", " and ".join(builder.prepared.engines), len(tiles), path, client)
    try:
        with _explain_cluster_errors(client, path):
            client.wait_for_workers(1, timeout=_WORKER_TIMEOUT)
            _ClusterRun(builder, client, target, progress).run(tiles)
    finally:
        if _token(path) == token:  # unless the store was recreated meanwhile and belongs to another run
            (path / _TOKEN).unlink(missing_ok=True)


@dataclass(eq=False)
class _ClusterRun:
    """Tiles being computed on a cluster."""

    builder: StoreBuilder
    client: Any
    target: tuple[str, str, str, str]
    """The arguments of ``_open_target``."""
    progress: Progress | None
    scattered: dict[int, Any] = field(default_factory=dict)
    """Futures of the groups that were sent, by row of tiles."""
    sent: dict[Any, Tile] = field(default_factory=dict)
    losses: Counter[Tile] = field(default_factory=Counter)

    def run(self, tiles: list[Tile]) -> None:
        """Keep workers busy until all tiles are finished."""
        waiting = iter(tiles)
        total = sum(map(self.builder.cost, tiles))
        done = 0
        futures = _import_distributed().as_completed(loop=self.client.loop)
        try:
            for tile in islice(waiting, _IN_FLIGHT):
                futures.add(self.send(tile))
            for future in futures:
                tile = self.sent.pop(future)
                if future.status == "cancelled":
                    futures.add(self.send_again(tile))
                    continue
                if future.status == "error":
                    future.result()  # raises the error of the worker; other results may be lost and are not fetched
                done += self.builder.cost(tile)
                if self.progress:
                    self.progress(done, total)
                for following in islice(waiting, 1):
                    futures.add(self.send(following))
        finally:
            if self.client.status == "running":
                self.client.cancel([*self.sent, *self.scattered.values()])

    def send(self, tile: Tile) -> Any:
        """Submit the task of a tile."""
        rows, cols = (self.tile_graphs(row) for row in tile)
        task = (self.builder.prepared.kernel, rows, cols, tile, self.target)
        future = self.client.submit(compute_and_store_tile, *task, pure=False, priority=self.builder.cost(tile))
        self.sent[future] = tile
        return future

    def send_again(self, tile: Tile) -> Any:
        """Resend a tile that was cancelled because its groups were lost, together with these."""
        if self.client.status != "running":
            raise ConnectionError("all tasks were cancelled")
        self.losses[tile] += 1
        if self.losses[tile] > _MAX_RESENDS:
            raise _workers_died(self.target[0])
        _log.info("%s: tile %s is resubmitted, because a worker that held its graphs died", self.target[0], tile)
        return self.send(tile)

    def tile_graphs(self, row: int) -> Any:
        """Return the future of the graphs of a row of tiles; sends them to a worker unless one has them already."""
        future = self.scattered.get(row)
        if future is not None and future.status != "cancelled":
            return future
        for _ in range(_MAX_RESENDS):
            try:
                (future,) = self.client.scatter([self.builder.tile_graphs(row)], hash=False, timeout=_WORKER_TIMEOUT)
            except TimeoutError:  # TimeoutError is an OSError
                raise
            except OSError:  # the worker died meanwhile: try another
                if self.client.status != "running":
                    raise
            else:
                self.scattered[row] = future
                return future
        raise _workers_died(self.target[0])


def compute_and_store_tile(
    kernel: Kernel, rows: TileGraphs, cols: TileGraphs, tile: Tile, target: tuple[str, str, str, str]
) -> None:
    """Compute a tile and store it: the task of a worker.

    A running task continues after its client has gone. If another store was created in the same folder meanwhile,
    nothing is written.
    """
    stored = _open_target(*target)
    if stored.file(tile).is_file():  # finished by a worker that died before it could report it
        return
    # Arrays from the network may be read-only or unaligned, and Numba would compile new code for them.
    rows = deepcopy(rows)
    cols = rows if tile[0] == tile[1] else deepcopy(cols)
    with single_threaded_blas():
        values = compute_tile_values(kernel, rows, cols, np.zeros(1, dtype=np.uint8))
    stored.write(tile, values)


def _open_target(folder: str, token: str, store_id: str, version: str) -> StoredGram:
    """Open the store; raise if a different store has the same path on this machine."""
    path, host = Path(folder), socket.gethostname()
    if version != __version__:
        raise InputError(
            f"a worker on {host} has fastgntk {__version__}, but the client has {version}; install the same version."
        )
    if _token(path) != token:
        raise InputError(
            f"a worker on {host} does not see {path}; give --store (store=) a folder that all workers see by that path."
        )
    stored = StoredGram(path)
    if stored.manifest.id != store_id:
        raise InputError(f"{path} was replaced by a new store during the computation; rerun the same command.")
    return stored


def _token(path: Path) -> str:
    """Return the token by which workers verify the shared folder, or an empty string if there is none."""
    try:
        return (path / _TOKEN).read_text()
    except OSError:
        return ""


@contextmanager
def _explain_cluster_errors(client: Any, path: Path) -> Iterator[None]:
    """Turn failures of the cluster into an :class:`InputError` with advice."""
    try:
        yield
    except InputError:
        raise
    except _import_distributed().KilledWorker:
        raise _workers_died(path) from None
    except Exception as error:
        if client.status != "running":
            raise InputError(
                f"the connection to the Dask scheduler was lost while computing {path}; restart it: {_KEPT}."
            ) from None
        missing = re.search(r"No module named [\w.']*", str(error))
        if missing:  # Dask raises a plain Exception for it
            raise InputError(
                f"a worker cannot import what it needs ({missing[0]}); install 'fastgntk[cluster]' where workers run."
            ) from None
        if isinstance(error, TimeoutError):
            raise InputError(
                f"the Dask scheduler at {client.scheduler.address} has no workers; start some with "
                f"`dask worker {client.scheduler.address} --nthreads 1`: {_KEPT}."
            ) from None
        raise


def _workers_died(path: Path | str) -> InputError:
    return InputError(f"workers died repeatedly while computing a tile of {path}; give them more memory: {_KEPT}.")


def _import_distributed() -> Any:
    """Import dask.distributed; if it is missing, raise an error with installation advice."""
    try:
        import distributed
    except ImportError:
        raise InputError(
            "a cluster needs dask.distributed; install it with `pip install 'fastgntk[cluster]'`."
        ) from None
    return distributed


@contextmanager
def connect(address: str) -> Iterator[Any]:
    """Yield a client of the scheduler at an address."""
    distributed = _import_distributed()
    _check_address(address, distributed)
    _silence()
    try:
        client = distributed.Client(address, timeout=_CONNECT, set_as_default=False)
    except OSError as error:
        raise InputError(
            f"there is no Dask scheduler at {address} ({type(error).__name__}); start one with `dask scheduler`, which "
            "prints its address, such as tcp://host:8786."
        ) from None
    with client:
        yield client


def _check_address(address: str, distributed: Any) -> None:
    """Reject addresses no client can use: a client that fails in its constructor prints a traceback on deletion."""
    match = _ADDRESS.fullmatch(address)
    if match is None or not 1 <= int(match["port"]) <= 65535:
        raise InputError(f"--scheduler must be an address such as tcp://host:8786, but is {address!r}.")
    if match[1] == "tls://" and distributed.Security().get_connection_args("client").get("ssl_context") is None:
        raise InputError(
            f"{address} needs certificates; set them in the Dask configuration under distributed.comm.tls."
        )


@contextmanager
def local_workers(count: int) -> Iterator[Any]:
    """Yield a client of ``count`` new single-threaded worker processes on this machine."""
    distributed = _import_distributed()
    _silence()
    with (
        distributed.LocalCluster(
            n_workers=count,
            threads_per_worker=1,
            processes=True,
            dashboard_address=":0",  # any free port, so that several clusters on one machine do not collide
            scheduler_kwargs={"dashboard": False},
            silence_logs=logging.CRITICAL,
        ) as cluster,
        distributed.Client(cluster, set_as_default=False) as client,
    ):
        yield client


def _silence() -> None:
    """Silence Dask's tracebacks of lost connections, which our own errors replace."""
    logging.getLogger("distributed").setLevel(logging.CRITICAL)
