"""Checks of single arguments."""

import math
import os
from typing import Any

import numpy as np

from fastgntk.errors import InputError

__all__ = ["NJobs", "check_flag", "check_integer", "check_not_negative", "check_positive", "check_random_state"]
__all__ += ["shorten", "thread_count"]

NJobs = int | None
"""A number of threads; None or −1 means all cores."""


def check_integer(name: str, value: Any, minimum: int, maximum: int | None = None) -> int:
    """Return an option that must be an integer.

    >>> check_integer("rank", 3, 1)
    3
    """
    if isinstance(value, bool | np.bool_) or not isinstance(value, int | np.integer) or value < minimum:
        raise InputError(f"{name} must be an integer, {minimum} or more, but is {shorten(value)}.")
    if maximum is not None and value > maximum:
        raise InputError(f"{name} must be an integer in {minimum}..{maximum}, but is {shorten(value)}.")
    return int(value)


def check_random_state(value: Any) -> int:
    """Return a seed that NumPy and scikit-learn take."""
    return check_integer("random_state", value, 0, 2**32 - 1)


def check_flag(name: str, value: Any) -> bool:
    """Return an option that must be True or False."""
    if not isinstance(value, bool | np.bool_):
        raise InputError(f"{name} must be True or False, but is {value!r}.")
    return bool(value)


def check_positive(name: str, value: Any) -> float:
    """Return an option that must be a finite number above 0."""
    converted = _as_float(value)
    if not 0 < converted < math.inf:
        raise InputError(f"{name} must be a number above 0, but is {shorten(value)}.")
    return converted


def check_not_negative(name: str, value: Any) -> float:
    """Return an option that must be a finite number, 0 or more."""
    converted = _as_float(value)
    if not 0 <= converted < math.inf:
        raise InputError(f"{name} must be a number, 0 or more, but is {shorten(value)}.")
    return converted + 0.0  # not -0.0


def shorten(value: Any) -> str:
    """Return ``repr`` for an error message, on one line of at most 80 characters.

    >>> shorten("text"), shorten(10**400)[-10:]
    ("'text'", '0000000...')
    """
    try:
        text = " ".join(repr(value).split())
    except ValueError:  # Python refuses to print an int of more than 4,300 digits
        return f"an integer of {value.bit_length()} bits"
    return text if len(text) <= 80 else f"{text[:77]}..."


def _as_float(value: Any) -> float:
    """Return a number as a float, infinite if it is too large, and NaN for anything that is not a number."""
    number = isinstance(value, int | float | np.integer | np.floating) and not isinstance(value, bool)
    try:
        return float(value) if number else math.nan
    except OverflowError:  # an int may be larger than any float
        return math.inf


def thread_count(n_jobs: NJobs) -> int:
    """Return the number of threads; None means all cores that this process may use."""
    if n_jobs is None or (isinstance(n_jobs, int) and n_jobs == -1):
        return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    if isinstance(n_jobs, bool) or not isinstance(n_jobs, int | np.integer) or n_jobs < 1:
        raise InputError(f"n_jobs must be an integer, 1 or more, or -1 for all cores, but is {n_jobs!r}.")
    return int(n_jobs)
