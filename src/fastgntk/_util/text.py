"""Sizes and durations as text."""

from __future__ import annotations

__all__ = ["format_bytes", "round_up_bytes"]


def round_up_bytes(count: int) -> str:
    """Write a number of bytes as a text for ``memory=`` that is enough, rounded up to two digits.

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
