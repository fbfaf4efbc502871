"""Writing into a store: one process at a time, or several with a shard each; and errors of the disk as sentences.

Locks belong to the operating system, so that none is left over when a process dies.
"""

import errno
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import BinaryIO

from fastgntk.errors import InputError

__all__ = ["on_disk", "writing"]

# Windows has no such locks; there two processes may compute one tile, with the same result.
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
        # A shard goes together with other shards, everything with nothing.
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


@contextmanager
def on_disk(path: Path) -> Iterator[None]:
    """Turn a full disk and missing permissions into errors that explain what to do."""
    try:
        yield
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise InputError(
                f"there is no space left for {path}; free some space and rerun: finished tiles are kept."
            ) from None
        if error.errno in (errno.EACCES, errno.EPERM, errno.EROFS):
            raise InputError(f"{path} cannot be written to ({error.strerror}); choose another folder.") from None
        raise
