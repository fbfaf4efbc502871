"""A stored matrix in the place of one to compute: only if it is whole, and of the same kernel and graphs."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any, Unpack

from fastgntk.errors import InputError
from fastgntk.graphs import GraphBatch
from fastgntk.kernels import GNTK
from fastgntk.pairwise._options import check_engine
from fastgntk.pairwise.store._manifest import fingerprint
from fastgntk.pairwise.store._stored import StoredGram
from fastgntk.sketch import Sketching, SketchOptions

__all__ = ["stored_gram_of"]

_ADVICE = "give the graphs and options that it was built with, or leave it out"


def stored_gram_of(
    given: Any, batch: GraphBatch, features: str, spec: GNTK, engine: str, **sketching: Unpack[SketchOptions]
) -> StoredGram:
    """Return the stored matrix, given itself or by its path, if it is that of a batch with features; refuse any other.

    ``engine="auto"`` takes what any exact engine stored, but never a sketch.
    """
    if not isinstance(given, StoredGram | str | Path):
        raise InputError(
            f"gram must be a matrix that fastgntk stored, or its path, but is a {type(given).__name__}; store one with "
            "gram(..., store=path)."
        )
    check_engine(engine)
    # Opened again even if it is open: the folder may have been made anew, and what is in memory is of the old one.
    stored = StoredGram(given.path if isinstance(given, StoredGram) else Path(given))
    known = stored.manifest
    if known.graphs != len(batch):
        raise InputError(
            f"{stored.path} holds the matrix of {known.graphs} graphs, but there are {len(batch)} to learn from; "
            f"{_ADVICE}."
        )
    wanted = replace(
        known,
        spec=spec.to_dict(),
        features=features,
        engine=known.engine if engine == "auto" and known.sketching is None else engine,
        sketching=Sketching.from_options(sketching).to_dict() if engine == "sketched" else None,
        data=fingerprint(batch, spec),
    )
    known.check(wanted, stored.path, _ADVICE)
    tiles, finished = len(stored.all_tiles()), len(stored.finished())
    if finished < tiles:
        raise InputError(
            f"{stored.path} has {finished} of its {tiles} tiles; compute the others first, by the same call of gram "
            "(fastgntk gram --store) that began it."
        )
    return stored
