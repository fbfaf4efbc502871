"""Compilation: the flags of every compiled function, and the cache of compiled code on disk."""

import hashlib
import logging
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar, cast

import numba
from numba.core.caching import FunctionCache

__all__ = ["compiled"]

_log = logging.getLogger("fastgntk")

Function = TypeVar("Function", bound=Callable[..., Any])

_FLAGS: dict[str, Any] = {
    "nogil": True,  # tiles run on threads
    "error_model": "numpy",  # x / 0 is inf, as in NumPy; the check would keep loops from vectorising
    # Fused a·b + c where the processor has it, and nothing more: reordering sums would make results depend on the
    # plan, and assuming that there are no NaNs would disable the check for overflow.
    "fastmath": {"contract"},
}


# Every file in this folder counts, because functions are inlined across files.
_SOURCES = sorted(Path(__file__).parent.glob("*.py"))
_DIGEST = hashlib.sha256(b"".join(path.read_bytes() for path in _SOURCES)).hexdigest()


class _Cache(FunctionCache):
    """Compiled code on disk, shared by processes; invalidated when any file in this folder changes.

    Numba's own key covers only the file of the function. An index of another version is not unpickled, so it may refer
    to modules that no longer exist.
    """

    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__(function)  # type: ignore[no-untyped-call]
        self._cache_file._version += _DIGEST


def compiled(function: Function) -> Function:
    """Return the function, to be compiled when it is first called."""
    dispatcher = numba.njit(**_FLAGS)(function)
    if not getattr(numba.config, "DISABLE_JIT", False):
        try:
            dispatcher._cache = _Cache(function)
        except RuntimeError:  # neither this folder nor the user's cache folder is writable
            _log.info("cannot cache compiled code on disk; it will be recompiled in every process")
    return cast(Function, dispatcher)
