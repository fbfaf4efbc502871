"""Sizes and durations as text, and sizes from text."""

import math
import os
import re

from fastgntk.errors import InputError

__all__ = ["Memory", "format_bytes", "format_duration", "memory_budget", "round_up_bytes"]

Memory = int | float | str | None

_UNITS = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9, "t": 10**12, "ki": 2**10, "mi": 2**20, "gi": 2**30, "ti": 2**40}


def memory_budget(max_memory: Memory) -> int:
    """Return a memory budget in bytes; None means a quarter of this machine's memory.

    >>> memory_budget("1.5 GB"), memory_budget("2GiB"), memory_budget(1000)
    (1500000000, 2147483648, 1000)
    """
    if max_memory is None:
        try:
            return int(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 4)
        except (AttributeError, ValueError, OSError):
            return 2 * 2**30  # unknown: assume a small laptop
    number, unit = max_memory, ""
    if isinstance(max_memory, str):
        match = re.fullmatch(r"\s*([0-9.]+)\s*([kmgt]?i?)b?\s*", max_memory.lower())
        number, unit = match.groups() if match else (math.nan, "")
    try:
        value = float(number) * _UNITS[unit]
    except (TypeError, ValueError, KeyError, OverflowError):
        value = math.nan
    if not (math.isfinite(value) and value > 0):
        raise InputError(f"max_memory must be a number of bytes or a string such as '2GB', but is {max_memory!r}.")
    return int(value)


def round_up_bytes(count: int) -> str:
    """Return a value for ``max_memory=`` that suffices for a number of bytes, rounded up to two digits.

    >>> round_up_bytes(1_234_567), memory_budget(round_up_bytes(1_234_567)) >= 1_234_567
    ('1.3MB', True)
    """
    unit = min(3, max(0, len(str(count)) - 1) // 3)
    step = 10 ** max(0, len(str(count)) - 2)
    rounded = -(-count // step) * step
    return f"{rounded / 1000**unit:g}{('B', 'kB', 'MB', 'GB')[unit]}"


def format_bytes(count: float) -> str:
    """Format a number of bytes for display.

    >>> format_bytes(1_536_000_000)
    '1.5 GB'
    """
    for unit in ("B", "kB", "MB"):
        if count < 1000:
            return f"{count:.0f} {unit}"
        count /= 1000
    return f"{count:.1f} GB"


def format_duration(seconds: float) -> str:
    """Format a duration for display, with two digits or two units; a dash for NaN and infinity.

    >>> format_duration(0.0172), format_duration(0.4), format_duration(3.27), format_duration(12.3)
    ('17 ms', '0.4 s', '3.3 s', '12 s')
    >>> format_duration(59.7), format_duration(185), format_duration(7800)
    ('1 min 0 s', '3 min 5 s', '2 h 10 min')
    """
    if not math.isfinite(seconds):
        return "–"
    if seconds < 0.0995:
        return f"{1000 * seconds:.2g} ms"
    if seconds < 9.95:
        return f"{seconds:.2g} s"
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s"
    return f"{whole // 3600} h {whole % 3600 // 60} min"
