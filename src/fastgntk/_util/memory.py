"""How many workers and how much memory, from arguments and from what the machine has."""

import os
import re

import numpy as np

from fastgntk.errors import InputError

__all__ = ["Memory", "Workers", "memory_budget", "worker_count"]

Memory = int | float | str | None
Workers = int | None

_UNITS = {
    "": 1,
    "k": 10**3,
    "m": 10**6,
    "g": 10**9,
    "t": 10**12,
    "ki": 2**10,
    "mi": 2**20,
    "gi": 2**30,
    "ti": 2**40,
}


def worker_count(workers: Workers) -> int:
    """Return the number of threads; None means every core this process may use."""
    if workers is None or (isinstance(workers, int) and workers == -1):
        return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    if isinstance(workers, bool) or not isinstance(workers, int | np.integer) or workers < 1:
        raise InputError(f"n_jobs must be a whole number, 1 or more, or -1 for every core, but is {workers!r}.")
    return int(workers)


def memory_budget(memory: Memory) -> int:
    """Return the budget in bytes; None means a quarter of this machine's memory.

    >>> memory_budget("1.5 GB"), memory_budget("2GiB"), memory_budget(1000)
    (1500000000, 2147483648, 1000)
    """
    if memory is None:
        try:
            return int(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 4)
        except (AttributeError, ValueError, OSError):
            return 2 * 2**30  # unknown: what a small laptop can spare
    if isinstance(memory, str):
        match = re.fullmatch(r"\s*([0-9.]+)\s*([kmgt]?i?)b?\s*", memory.lower())
        try:
            value = float(match[1]) * _UNITS[match[2]] if match else float("nan")
        except (ValueError, KeyError):
            value = float("nan")
    else:
        try:
            value = float(memory)
        except (TypeError, ValueError, OverflowError):
            value = float("nan")
    if not (np.isfinite(value) and value > 0):
        raise InputError(f"max_memory must be a number of bytes or a text such as '2GB', but is {memory!r}.")
    return int(value)
