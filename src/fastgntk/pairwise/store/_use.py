"""A stored matrix in place of one to compute: only if it is complete, and of the same kernel and graphs."""

from pathlib import Path
from typing import Any

from fastgntk.errors import InputError
from fastgntk.graphs import GraphBatch
from fastgntk.kernels import Kernel, Normalized
from fastgntk.pairwise._compute import Compute
from fastgntk.pairwise._prepared import PreparedGraphs, prepare_batch
from fastgntk.pairwise.store._manifest import Manifest
from fastgntk.pairwise.store._stored_gram import StoredGram

__all__ = ["use_stored"]

_ADVICE = "give the graphs and the kernel that it was built with, or leave it out"


def use_stored(given: Any, batch: GraphBatch, kernel: Kernel, compute: Compute) -> tuple[StoredGram, PreparedGraphs]:
    """Return a stored matrix, given itself or by its path, and its graphs prepared as it was computed.

    It must be complete, and that of the kernel, or for a normalised kernel of what is normalised; any other is refused.
    """
    if not isinstance(given, StoredGram | str | Path):
        raise InputError(
            f"gram must be a matrix that fastgntk stored, or its path, but is a {type(given).__name__}; store one with "
            "gram(..., store=path)."
        )
    # Opened again even if it is open: the folder may have been made anew, and what is in memory is of the old one.
    stored = StoredGram(given.path if isinstance(given, StoredGram) else Path(given))
    known = stored.manifest
    if known.graphs != len(batch):
        raise InputError(
            f"{stored.path} holds the matrix of {known.graphs} graphs, but there are {len(batch)} to learn from; "
            f"{_ADVICE}."
        )
    raw = isinstance(kernel, Normalized) and known.same_kernel(kernel.kernel) == Kernel.from_dict(known.kernel)
    of_store = known.same_kernel(kernel.kernel if raw and isinstance(kernel, Normalized) else kernel)
    engines = known.engines if compute.engine == "auto" and len(of_store.leaves()) == len(known.engines) else None
    prepared = prepare_batch(batch, of_store, compute, engines=engines)
    known.check(Manifest.of(prepared, known.side, known.id), stored.path, _ADVICE)
    tiles, finished = len(stored.all_tiles()), len(stored.finished())
    if finished < tiles:
        raise InputError(
            f"{stored.path} has {finished} of its {tiles} tiles; compute the others first, by the same call of gram "
            "(fastgntk gram --store) that began it."
        )
    if raw:
        prepared = PreparedGraphs(kernel, compute, batch, prepared.features, prepared.leaves)
    return stored, prepared
