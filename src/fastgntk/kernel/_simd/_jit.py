"""The flags of every compiled function, in one place."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, cast

import numba

__all__ = ["compiled", "inlined"]

Function = TypeVar("Function", bound=Callable[..., Any])

_FLAGS: dict[str, Any] = {
    "nogil": True,  # tiles run on threads
    "cache": True,  # the second process loads machine code instead of compiling for half a minute
    "error_model": "numpy",  # x / 0 is inf, as in NumPy; the check would keep loops from vectorising
    # One rounding for a·b + c where the machine has it. Nothing more: reordering sums or assuming that no NaN
    # appears would break equal results for every plan and the check for overflow.
    "fastmath": {"contract"},
}


def compiled(function: Function) -> Function:
    """Compile on first call."""
    return cast(Function, numba.njit(**_FLAGS)(function))


def inlined(function: Function) -> Function:
    """Compile into the caller, for bodies of inner loops."""
    return cast(Function, numba.njit(**_FLAGS, inline="always")(function))
