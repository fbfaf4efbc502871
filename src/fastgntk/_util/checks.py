"""Checks of options that several estimators have."""

from __future__ import annotations

from typing import Any

import numpy as np

from fastgntk.errors import InputError

__all__ = ["flag", "whole_number"]


def whole_number(name: str, value: Any, least: int) -> int:
    """Return an option that must be a whole number.

    >>> whole_number("rank", 3, 1)
    3
    """
    if isinstance(value, bool | np.bool_) or not isinstance(value, int | np.integer) or value < least:
        raise InputError(f"{name} must be a whole number, {least} or more, but is {value!r}.")
    return int(value)


def flag(name: str, value: Any) -> bool:
    """Return an option that must be True or False."""
    if not isinstance(value, bool | np.bool_):
        raise InputError(f"{name} must be True or False, but is {value!r}.")
    return bool(value)
