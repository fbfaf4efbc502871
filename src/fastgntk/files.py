"""Write files whole or not at all."""

from __future__ import annotations

import os
import secrets
from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO

__all__ = ["atomic_save", "atomic_write"]


def atomic_save(path: Path, write: Callable[[BinaryIO], None]) -> None:
    """Let ``write`` fill a temporary file beside ``path``, then put it in place in one step.

    A crash, a full disk or Ctrl-C leaves what was there before, and no half file.
    """
    temporary = path.with_name(f".{path.name}.{os.getpid()}-{secrets.token_hex(4)}.part")
    try:
        with temporary.open("xb") as stream:
            write(stream)
            stream.flush()
            os.fsync(stream.fileno())
        temporary.replace(path)
    except BaseException as error:
        temporary.unlink(missing_ok=True)
        if isinstance(error, OSError) and error.filename is not None:
            error.filename = str(path)  # what the user asked for
        raise


def atomic_write(path: Path, content: bytes) -> None:
    """Write ``content`` to ``path`` whole or not at all."""
    atomic_save(path, lambda stream: _write_all(stream, content))


def _write_all(stream: BinaryIO, content: bytes) -> None:
    stream.write(content)
