"""Dask clients: of a scheduler that runs somewhere, or of workers on this machine."""

import logging
import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from fastgntk.errors import InputError

__all__ = ["connected", "import_distributed", "local_workers"]

_CONNECT = 5.0  # seconds
_ADDRESS = re.compile(r"(tcp://|tls://)?([\w.-]+|\[[\w:.%]+\]):(?P<port>[0-9]{1,5})", re.ASCII)


def import_distributed() -> Any:
    """Import dask.distributed; an error explains how to install it."""
    try:
        import distributed
    except ImportError:
        raise InputError(
            "a cluster needs dask.distributed; install it with `pip install 'fastgntk[cluster]'`."
        ) from None
    return distributed


@contextmanager
def connected(address: str) -> Iterator[Any]:
    """Give a client of the scheduler at an address."""
    distributed = import_distributed()
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
    """Refuse what no client can be made for: one that fails while it is made prints a traceback when it is deleted."""
    found = _ADDRESS.fullmatch(address)
    if found is None or not 1 <= int(found["port"]) <= 65535:
        raise InputError(f"--scheduler must be an address such as tcp://host:8786, but is {address!r}.")
    if found[1] == "tls://" and distributed.Security().get_connection_args("client").get("ssl_context") is None:
        raise InputError(
            f"{address} needs certificates; name them in the configuration of Dask, at distributed.comm.tls."
        )


@contextmanager
def local_workers(count: int) -> Iterator[Any]:
    """Give a client of that many new processes on this machine, each with one thread."""
    distributed = import_distributed()
    _silence()
    with (
        distributed.LocalCluster(
            n_workers=count,
            threads_per_worker=1,
            processes=True,
            dashboard_address=":0",  # any port: several of these on one machine must not get in each other's way
            scheduler_kwargs={"dashboard": False},
            silence_logs=logging.CRITICAL,
        ) as cluster,
        distributed.Client(cluster, set_as_default=False) as client,
    ):
        yield client


def _silence() -> None:
    """Silence Dask's tracebacks of lost connections; errors explain what happened."""
    logging.getLogger("distributed").setLevel(logging.CRITICAL)
