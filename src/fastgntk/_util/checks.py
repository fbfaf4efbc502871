"""Checks of single arguments."""

import math
from typing import Any

import numpy as np

from fastgntk.errors import InputError

__all__ = ["check_flag", "check_integer", "check_positive"]


def check_integer(name: str, value: Any, least: int) -> int:
    """Return an option that must be a whole number.

    >>> check_integer("rank", 3, 1)
    3
    """
    if isinstance(value, bool | np.bool_) or not isinstance(value, int | np.integer) or value < least:
        raise InputError(f"{name} must be a whole number, {least} or more, but is {value!r}.")
    return int(value)


def check_flag(name: str, value: Any) -> bool:
    """Return an option that must be True or False."""
    if not isinstance(value, bool | np.bool_):
        raise InputError(f"{name} must be True or False, but is {value!r}.")
    return bool(value)


def check_positive(name: str, value: Any) -> float:
    """Return an option that must be a finite number above 0."""
    number = isinstance(value, int | float | np.integer | np.floating) and not isinstance(value, bool)
    try:
        converted = float(value) if number else math.nan
    except OverflowError:  # an int may be larger than any float
        converted = math.inf
    if not 0 < converted < math.inf:
        raise InputError(f"{name} must be a number above 0, but is {value!r}.")
    return converted
