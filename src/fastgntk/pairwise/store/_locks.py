"""Who may write into a store: one process, or several that have a share each.

Locks belong to the operating system, so that none is left over when a process dies.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import BinaryIO

from fastgntk.errors import InputError
from fastgntk.pairwise.store._disk import on_disk

__all__ = ["writing"]

# Windows has no such locks; there nobody is kept from computing a tile twice, and the same comes out both times.
_LOCKS = sys.platform != "win32"


@contextmanager
def writing(path: Path, shard: tuple[int, int]) -> Iterator[None]:
    """Keep others from computing the same tiles; ``shard`` is (k, K), and (1, 1) is everything."""
    if not _LOCKS:
        yield
        return
    k, count = shard
    with ExitStack() as held:
        everyone = held.enter_context(_opened(path, ".lock"))
        # A share goes together with other shares, everything with nothing.
        _lock(everyone, path, shared=count > 1)
        if count > 1:
            own = held.enter_context(_opened(path, f".lock-{k}-of-{count}"))
            _lock(own, path, shared=False)
        yield


def _opened(path: Path, name: str) -> BinaryIO:
    with on_disk(path):
        return (path / name).open("ab")


def _lock(stream: BinaryIO, path: Path, *, shared: bool) -> None:
    import fcntl

    try:
        fcntl.flock(stream, (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | fcntl.LOCK_NB)
    except BlockingIOError:
        raise InputError(
            f"another process is writing into {path}; wait until it has ended, or give each a share with shard=(k, K) "
            "(--shard k/K)."
        ) from None
