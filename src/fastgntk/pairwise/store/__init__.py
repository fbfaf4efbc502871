"""Matrices on disk: built tile by tile, resumed after any interruption, shared among processes and machines.

================  ==================================================================
``_stored_gram``  :class:`StoredGram`, the matrix as a lazy array; its layout on disk, locks
``_manifest``     metadata that identifies a stored matrix, and compatibility checks
``_build``        which tiles are missing, and computing them on threads; use of a complete matrix
``_cluster``      computing them on the workers of a Dask cluster; its clients
================  ==================================================================

Zarr keeps the tiles; it is imported when a store is used, and Dask when a cluster is.
"""

from fastgntk.pairwise.store._build import Build, build_gram, check_shard, use_stored
from fastgntk.pairwise.store._cluster import connected, local_workers
from fastgntk.pairwise.store._manifest import Manifest, fingerprint
from fastgntk.pairwise.store._stored_gram import StoredGram, as_path, is_store, open_gram

__all__ = [
    "Build",
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
