"""Write files atomically, and check output paths."""

import os
import secrets
from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO

from fastgntk.errors import InputError

__all__ = ["atomic_save", "atomic_write", "check_output_path"]


def check_output_path(path: Path, called: str, *suffixes: str) -> None:
    """Raise an error before the work if ``path`` cannot be written; ``called`` is its argument name."""
    if suffixes and path.suffix.lower() not in suffixes:
        raise InputError(f"{called} must end in {' or '.join(suffixes)}, but is {path}.")
    if path.is_dir():
        raise InputError(f"{called} must be a file, but {path} is a folder.")
    if not path.parent.is_dir():
        raise InputError(f"the folder {path.parent} does not exist; create it first.")
    if not os.access(path.parent, os.W_OK):
        raise InputError(f"{path} cannot be written (Permission denied); choose another place.")


def atomic_save(path: Path, write: Callable[[BinaryIO], object]) -> None:
    """Let ``write`` fill a temporary file next to ``path``, then rename it to ``path``.

    A crash, a full disk or Ctrl-C leaves the old file unchanged and no partial file.
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
            error.filename = str(path)  # the path that was given
        raise


def atomic_write(path: Path, content: bytes) -> None:
    """Write ``content`` to ``path`` atomically."""
    atomic_save(path, lambda stream: stream.write(content))
