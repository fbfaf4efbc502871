"""The flags of every compiled function, and where machine code is kept, in one place."""

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
    # One rounding for a·b + c where the machine has it. Nothing more: reordering sums or assuming that no NaN
    # appears would break equal results for every plan and the check for overflow.
    "fastmath": {"contract"},
}


# Of every source file of this folder: functions are compiled into each other across files.
_SOURCES = sorted(Path(__file__).parent.glob("*.py"))
_DIGEST = hashlib.sha256(b"".join(path.read_bytes() for path in _SOURCES)).hexdigest()


class _Cache(FunctionCache):
    """Machine code on disk, so that the second process need not compile; void when any file of this folder changed.

    Numba's own key covers only the file that a function is in. An index of another version is not read any further, so
    that it may name modules that are gone.
    """

    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__(function)  # type: ignore[no-untyped-call]
        self._cache_file._version += _DIGEST


def compiled(function: Function) -> Function:
    """Compile on first call."""
    dispatcher = numba.njit(**_FLAGS)(function)
    if not getattr(numba.config, "DISABLE_JIT", False):
        try:
            dispatcher._cache = _Cache(function)
        except RuntimeError:  # neither this folder nor the user's cache folder can be written
            _log.info("machine code cannot be kept on disk, so it is compiled anew in every process")
    return cast(Function, dispatcher)
