"""Matrices on disk: built tile by tile, resumed after any interruption, shared by processes and machines.

================  ==================================================================
``_stored_gram``  :class:`StoredGram`, the matrix as a lazy array; its layout on disk, locks
``_manifest``     metadata that identifies a stored matrix, and compatibility checks
``_build``        :class:`StoreBuilder`: find missing tiles and compute them on threads; use a complete matrix
``_cluster``      compute tiles on the workers of a Dask cluster; its clients
================  ==================================================================

Tiles are stored by Zarr, which is imported when a store is used; Dask is imported when a cluster is used.
"""

from fastgntk.pairwise.store._build import StoreBuilder, build_gram, check_shard, use_stored
from fastgntk.pairwise.store._cluster import connect, local_workers
from fastgntk.pairwise.store._manifest import Manifest, fingerprint
from fastgntk.pairwise.store._stored_gram import StoredGram, as_path, is_store, open_gram

__all__ = [
    "StoreBuilder",
    "Manifest",
    "StoredGram",
    "as_path",
    "build_gram",
    "check_shard",
    "connect",
    "fingerprint",
    "is_store",
    "local_workers",
    "open_gram",
    "use_stored",
]
