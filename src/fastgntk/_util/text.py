"""Sizes and durations as text."""

import math

__all__ = ["format_bytes", "format_duration", "round_up_bytes"]


def round_up_bytes(count: int) -> str:
    """Write a number of bytes as a text for ``memory=`` that is enough, rounded up to two digits.

    >>> from fastgntk._util.memory import memory_budget
    >>> round_up_bytes(1_234_567), memory_budget(round_up_bytes(1_234_567)) >= 1_234_567
    ('1.3MB', True)
    """
    unit = min(3, max(0, len(str(count)) - 1) // 3)
    step = 10 ** max(0, len(str(count)) - 2)
    rounded = -(-count // step) * step
    return f"{rounded / 1000**unit:g}{('B', 'kB', 'MB', 'GB')[unit]}"


def format_bytes(count: float) -> str:
    """Write a number of bytes for people.

    >>> format_bytes(1_536_000_000)
    '1.5 GB'
    """
    for unit in ("B", "kB", "MB"):
        if count < 1000:
            return f"{count:.0f} {unit}"
        count /= 1000
    return f"{count:.1f} GB"


def format_duration(seconds: float) -> str:
    """Write a duration for people, with two digits or two units; a dash for NaN and infinity.

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
