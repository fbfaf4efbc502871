"""Random numbers that come back: the same seed draws the same, with any version of NumPy."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

__all__ = ["generator"]


def generator(seed: int | Sequence[int]) -> np.random.Generator:
    """Return a generator from a seed, or from several numbers that are one together.

    PCG64 by name: the default of NumPy may change, and old results would not come back.

    >>> int(generator(0).integers(100)), int(generator([0, 1]).integers(100))
    (85, 52)
    """
    return np.random.Generator(np.random.PCG64(seed))
