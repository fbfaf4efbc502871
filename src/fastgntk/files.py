"""Write files whole or not at all."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO

__all__ = ["atomic_save", "atomic_write"]


def atomic_save(path: Path, write: Callable[[BinaryIO], None]) -> None:
    """Let ``write`` fill a temporary file beside ``path``, then put it in place in one step.

    A crash, a full disk or Ctrl-C leaves what was there before, and no half file.
    """
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.", suffix=".part")
    try:
        with os.fdopen(handle, "wb") as stream:
            write(stream)
            stream.flush()
            os.fsync(stream.fileno())
        umask = os.umask(0)
        os.umask(umask)
        Path(temporary).chmod(0o666 & ~umask)  # mkstemp gives 600, which no one else could read
        Path(temporary).replace(path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise


def atomic_write(path: Path, content: bytes) -> None:
    """Write ``content`` to ``path`` whole or not at all."""
    atomic_save(path, lambda stream: _write_all(stream, content))


def _write_all(stream: BinaryIO, content: bytes) -> None:
    stream.write(content)
