"""Tell when code is about to be compiled, which happens once for an installation and takes a while."""

from __future__ import annotations

import logging
from pathlib import Path

__all__ = ["COMPILING", "announce_compilation"]

_log = logging.getLogger("fastgntk")

COMPILING = "compiling the fast loops, once for this installation; this takes about 20 seconds"


def announce_compilation() -> None:
    """Log a line if numba has no machine code of the tile loop on disk; say nothing where that cannot be seen."""
    from fastgntk.engines._simd._tile import compute_tile

    folder = getattr(getattr(compute_tile, "_cache", None), "cache_path", None)
    if folder is None or getattr(compute_tile, "signatures", None):
        return
    if not any(Path(folder).glob("_tile.compute_tile-*.nbi")):
        _log.info(COMPILING)
