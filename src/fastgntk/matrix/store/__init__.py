"""Matrices on disk: built tile by tile, resumed after any interruption, shared among processes and machines.

=============  ==================================================================
``_stored``    :class:`StoredGram`, the matrix as a lazy array; its layout on disk
``_manifest``  what a stored matrix is of, and whether that is what was asked for
``_use``       a stored matrix in the place of one to compute, if it is the same
``_build``     which tiles are missing, and computing them on threads
``_locks``     who may write
``_disk``      what a user is told if the disk is full or closed
=============  ==================================================================

Zarr keeps the tiles; it is imported when a store is used.
"""

from fastgntk.matrix.store._build import Shard, build_gram, check_shard
from fastgntk.matrix.store._stored import StoredGram, is_store, open_gram
from fastgntk.matrix.store._use import stored_gram_of

__all__ = ["Shard", "StoredGram", "build_gram", "check_shard", "is_store", "open_gram", "stored_gram_of"]
