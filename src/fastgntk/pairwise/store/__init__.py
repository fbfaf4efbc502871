"""Matrices on disk: built tile by tile, resumed after any interruption, shared among processes and machines.

================  ==================================================================
``_stored_gram``  :class:`StoredGram`, the matrix as a lazy array; its layout on disk
``_manifest``     what a stored matrix is of, and whether that is what is wanted
``_use``          a stored matrix in place of one to compute, if it is the same
``_build``        which tiles are missing, and computing them on threads
``_cluster``      computing them on the workers of a Dask cluster
``_clients``      connecting to one, or starting one on this machine
``_tile_values``  the values of one tile
``_locks``        who may write, and errors of the disk
================  ==================================================================

Zarr keeps the tiles; it is imported when a store is used, and Dask when a cluster is.
"""

from fastgntk.pairwise.store._build import Build, Shard, build_gram, check_shard
from fastgntk.pairwise.store._clients import connected, local_workers
from fastgntk.pairwise.store._manifest import Manifest, fingerprint
from fastgntk.pairwise.store._stored_gram import StoredGram, as_path, is_store, open_gram
from fastgntk.pairwise.store._use import use_stored

__all__ = [
    "Build",
    "Shard",
    "Manifest",
    "StoredGram",
    "as_path",
    "build_gram",
    "check_shard",
    "connected",
    "fingerprint",
    "is_store",
    "local_workers",
    "open_gram",
    "use_stored",
]
