"""What a user is told if the disk does not take what is written."""

from __future__ import annotations

import errno
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from fastgntk.errors import InputError

__all__ = ["on_disk"]


@contextmanager
def on_disk(path: Path) -> Iterator[None]:
    """Say what to do if nothing can be written."""
    try:
        yield
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise InputError(
                f"there is no space left for {path}; make some, and run the same again: what is finished stays."
            ) from None
        if error.errno in (errno.EACCES, errno.EPERM, errno.EROFS):
            raise InputError(f"{path} cannot be written to ({error.strerror}); choose a folder that can.") from None
        raise
