"""Checks of numbers and of arrays of numbers, beside those of integers and options in ``_util``."""

import reprlib
from typing import Any

import numpy as np

from fastgntk._util.arrays import Array, Bools
from fastgntk.errors import InputError

__all__ = ["check_counts", "check_fraction", "check_number", "check_numbers"]


def check_number(name: str, value: Any, minimum: float, *, below: float | None = None) -> float:
    """Return an argument that must be a number of at least ``minimum``, and less than ``below`` if that is given.

    >>> check_number("epsilon", 0, 0, below=1)
    0.0
    """
    if not (_is_number(value) and value >= minimum and (below is None or value < below)):
        limit = "" if below is None else f" and below {below:g}"
        raise InputError(f"{name} must be a number, {minimum:g} or more{limit}, but is {value!r}.")
    return float(value)


def check_fraction(name: str, value: Any) -> float:
    """Return an argument that must be a number strictly between 0 and 1."""
    if not (_is_number(value) and 0 < value < 1):
        raise InputError(f"{name} must lie between 0 and 1, but is {value!r}.")
    return float(value)


def check_numbers(name: str, values: Any) -> Array:
    """Return an array of finite numbers.

    >>> check_numbers("alpha", [1, 2]).tolist()
    [1.0, 2.0]
    """
    try:
        array = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise InputError(f"{name} must hold numbers in rows of one length, but is {reprlib.repr(values)}.") from None
    _check_entries(name, "finite numbers", array, np.isfinite(array))
    return array


def check_counts(name: str, values: Any, minimum: int) -> Array:
    """Return an array of integers, ``minimum`` or more, as float64: products of counts may exceed int64."""
    array = check_numbers(name, values)
    _check_entries(name, f"integers, {minimum} or more", array, (array >= minimum) & (array == np.floor(array)))
    return array


def _check_entries(name: str, allowed: str, array: Array, valid: Bools) -> None:
    if np.all(valid):
        return
    index = tuple(int(k) for k in np.argwhere(np.logical_not(valid))[0])
    where = f"entry {index[0] if len(index) == 1 else index} is " if index else "is "
    raise InputError(f"{name} must hold {allowed}, but {where}{array[index]:g}.")


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float | np.integer | np.floating) and not isinstance(value, bool)
