"""The flags of every compiled function, and where machine code is kept, in one place."""

import hashlib
import logging
import pickle
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

    Numba's own key covers only the file that a function is in.
    """

    def _index_key(self, sig: Any, codegen: Any) -> Any:
        return (*super()._index_key(sig, codegen), _DIGEST)  # type: ignore[no-untyped-call]

    def _load_overload(self, sig: Any, target_context: Any) -> Any:
        try:
            return super()._load_overload(sig, target_context)  # type: ignore[no-untyped-call]
        except (ImportError, AttributeError, EOFError, pickle.UnpicklingError):
            # Left behind by another version of the package, whose modules are gone, or damaged.
            self.flush()  # type: ignore[no-untyped-call]
            return None


def compiled(function: Function) -> Function:
    """Compile on first call."""
    dispatcher = numba.njit(**_FLAGS)(function)
    if not getattr(numba.config, "DISABLE_JIT", False):
        try:
            dispatcher._cache = _Cache(function)  # type: ignore[no-untyped-call]
        except RuntimeError:  # neither this folder nor the user's cache folder can be written
            _log.info("machine code cannot be kept on disk, so it is compiled anew in every process")
    return cast(Function, dispatcher)
