"""A kernel matrix on disk: a Zarr array of tiles of the upper triangle.

Rows and columns are in the order of the groups of graphs, so that each task computes one tile; ``order`` holds the
graph of each row. Each tile is one file with a checksum, which Zarr writes atomically and checks when reading. A tile
whose file exists is finished.

One process writes at a time, or several with a shard each. Locks are held by the operating system, so none is left
behind when a process dies.
"""

import errno
import json
import os
import secrets
import shutil
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from functools import cached_property
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from fastgntk._util.arrays import Array, Ints
from fastgntk.errors import InputError
from fastgntk.pairwise.store._manifest import Manifest

__all__ = ["StoredGram", "Tile", "as_path", "is_store", "explain_os_errors", "open_gram", "lock_store"]

Tile = tuple[int, int]
"""The row and column of a tile."""

_NAME = "fastgntk"  # name of the attribute that holds the manifest

# Windows has no such locks; two processes may compute the same tile there, with the same result.
_LOCKS = sys.platform != "win32"


def open_gram(path: str | Path) -> "StoredGram":
    """Open a kernel matrix stored by :func:`fastgntk.gram`, without reading its values.

    Examples
    --------
    >>> import tempfile, fastgntk as fg
    >>> graphs = fg.datasets.load("MUTAG").graphs[:20]
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = fg.gram(graphs, store=f"{folder}/gram.zarr")
    ...     K = fg.open_gram(f"{folder}/gram.zarr")
    ...     K, K[:2, :3].shape
    (StoredGram(20 × 20, complete), (2, 3))
    """
    return StoredGram(as_path(path, "path"))


def as_path(path: Any, name: str) -> Path:
    """Return the path of a store; ``name`` is the argument name."""
    if not isinstance(path, str | os.PathLike):
        raise InputError(f"{name} must be the path of a folder such as 'gram.zarr', but is {path!r}.")
    return Path(path)


def is_store(path: str | Path) -> bool:
    """Return whether a folder looks like a Zarr store, without opening it."""
    return (Path(path) / "zarr.json").is_file()


class StoredGram:
    """Read a stored matrix like an array (n, n): ``K[rows, cols]`` and ``np.asarray(K)`` read the tiles they need.

    Attributes
    ----------
    path : Path
    manifest : Manifest
        Kernel, graphs and engines of the matrix.
    order : int64 array of shape (n,)
        The graph of each row on disk.
    """

    dtype = np.dtype(np.float64)
    ndim = 2

    def __init__(self, path: Path) -> None:
        zarr = _zarr()
        if not path.exists():
            raise InputError(f"{path} does not exist; build it with gram(..., store=path) (fastgntk gram --store).")
        no_store = InputError(f"{path} is not a matrix stored by fastgntk, or is damaged; give another path.")
        try:
            group = zarr.open_group(str(path), mode="r", zarr_format=3)
        except (FileNotFoundError, NotADirectoryError, ValueError):
            raise no_store from None
        self.manifest = Manifest.from_dict(group.attrs.asdict().get(_NAME), path)
        try:
            self._tiles = group["gram"]
            self.order: Ints = np.asarray(group["order"][:], dtype=np.int64)
        except (KeyError, ValueError):
            raise no_store from None
        self.path = path
        self._position = np.argsort(self.order)

    @classmethod
    def create(cls, path: Path, manifest: Manifest, order: Ints) -> Self:
        """Create an empty store atomically; if another process creates it first, open that one."""
        zarr = _zarr()
        temporary = path.with_name(f".{path.name}.{os.getpid()}-{secrets.token_hex(4)}.part")
        n, size = manifest.graphs, max(manifest.tile_size, 1)
        try:
            with explain_os_errors(path):
                group = zarr.open_group(str(temporary), mode="w", zarr_format=3)
                group.create_array(
                    "gram",
                    shape=(n, n),
                    chunks=(size, size),
                    dtype="float64",
                    fill_value=np.nan,
                    compressors=zarr.codecs.Crc32cCodec(),  # no compression, because floats hardly shrink
                )
                group.create_array("order", data=order, chunks=(max(n, 1),), compressors=zarr.codecs.Crc32cCodec())
                group.attrs[_NAME] = manifest.to_dict()
                try:
                    temporary.rename(path)
                except OSError as error:
                    if error.errno not in (errno.ENOTEMPTY, errno.EEXIST):
                        raise
        finally:
            shutil.rmtree(temporary, ignore_errors=True)
        return cls(path)

    @property
    def shape(self) -> tuple[int, int]:
        """(n, n)."""
        return len(self.order), len(self.order)

    @property
    def size(self) -> int:
        """n²."""
        return len(self.order) ** 2

    @property
    def tile_size(self) -> int:
        """Number of graphs on each side of a tile."""
        return max(self.manifest.tile_size, 1)

    def __len__(self) -> int:
        return len(self.order)

    def __repr__(self) -> str:
        n, done, total = len(self), len(self.finished()), len(self.all_tiles())
        return f"StoredGram({n} × {n}, {'complete' if done == total else f'{done} of {total} tiles'})"

    def status(self) -> dict[str, int]:
        """Return the number of tiles, the number of finished ones, and their bytes on disk."""
        finished = self.finished()
        taken = sum(self.file(tile).stat().st_size for tile in finished)
        return {"tiles": len(self.all_tiles()), "finished": len(finished), "bytes": taken}

    def all_tiles(self) -> list[Tile]:
        """Return the tiles of the upper triangle."""
        count = -(-len(self) // self.tile_size)
        return [(i, j) for i in range(count) for j in range(i, count)]

    def finished(self) -> set[Tile]:
        """Return the tiles whose file exists; their content is not checked."""
        return {tile for tile in self.all_tiles() if self.file(tile).is_file()}

    def damaged(self, tiles: set[Tile]) -> list[Tile]:
        """Return the tiles with a wrong checksum; reads all of ``tiles``."""
        return [tile for tile in sorted(tiles) if self._read(tile) is None]

    def file(self, tile: Tile) -> Path:
        """Return the path of a tile."""
        return self.path / "gram" / "c" / str(tile[0]) / str(tile[1])

    def row_indices(self, i: int) -> Ints:
        """Return the indices of the graphs of the i-th row of tiles."""
        return self.order[i * self.tile_size : (i + 1) * self.tile_size]

    def write(self, tile: Tile, values: Array) -> None:
        """Write a tile atomically."""
        row, col = (index * self.tile_size for index in tile)
        writable = self._writable
        # Checked right before writing, because any tile file found in a store is assumed to belong to it.
        self.check_same()
        with explain_os_errors(self.path):
            writable[row : row + len(values), col : col + values.shape[1]] = values

    def check_same(self) -> None:
        """Raise if the folder was deleted or recreated since it was opened."""
        try:
            now = json.loads((self.path / "zarr.json").read_text())["attributes"][_NAME]["id"]
        except (FileNotFoundError, NotADirectoryError):
            raise InputError(f"{self.path} was deleted since it was opened; build it again.") from None
        except (KeyError, TypeError, ValueError):  # a store of another version, or not a store
            now = None
        if now != self.manifest.id:
            raise InputError(f"{self.path} was replaced by a new store after it was opened; open it again.")

    def remove_partial_files(self) -> None:
        """Delete files of processes that were killed while writing a tile; requires the lock.

        An abandoned task on a cluster has no lock and may still be writing. It loses its file and fails, which is
        harmless: the process with the lock computes all tiles that were missing when it took the lock.
        """
        for left in (self.path / "gram").rglob("*.partial"):  # Zarr's name for a file that is still being written
            with explain_os_errors(self.path):
                left.unlink(missing_ok=True)

    @cached_property
    def _writable(self) -> Any:
        """The array opened for writing; cached, because opening reads files."""
        try:
            return _zarr().open_array(str(self.path), path="gram", mode="r+", zarr_format=3)
        except FileNotFoundError:
            self.check_same()  # raises an error with an explanation
            raise

    def tile(self, tile: Tile) -> Array:
        """Read a tile (rows, cols) of the upper triangle."""
        values = self._read(tile) if self.file(tile).is_file() else None
        self.check_same()  # after reading: if the store is unchanged now, it was unchanged during the read
        if values is None:
            state = "damaged" if self.file(tile).is_file() else "missing"
            raise InputError(
                f"{self.path}: tile {tile} is {state}; complete the store by repeating the gram call "
                "(fastgntk gram --store) that started it."
            )
        return values

    def __getitem__(self, key: Any) -> Any:
        rows, cols = key if isinstance(key, tuple) else (key, slice(None))
        row_indices, row_scalar = _indices(rows, len(self))
        col_indices, col_scalar = _indices(cols, len(self))
        out = self._gather(row_indices, col_indices)
        out = out[0] if row_scalar else out
        return out[..., 0] if col_scalar else out

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        if copy is False:
            raise ValueError("a stored matrix is read from disk, so it cannot be an array without a copy.")
        everything = np.arange(len(self))
        return self._gather(everything, everything).astype(dtype or self.dtype, copy=False)

    def __mul__(self, _: Any) -> Any:
        raise InputError("a stored matrix is not a kernel; combine the kernels, and store the matrix of the result.")

    __rmul__ = __add__ = __radd__ = __mul__

    def diagonal(self) -> Array:
        """Return the diagonal (n,), reading only the tiles that contain it."""
        out = np.empty(len(self))
        for i in range(-(-len(self) // self.tile_size)):
            out[self.row_indices(i)] = np.diagonal(self.tile((i, i)))
        return out

    def _gather(self, rows: Ints, cols: Ints) -> Array:
        """Return K[rows][:, cols]; each tile is read at most once."""
        out = np.empty((len(rows), len(cols)))
        by_row, by_col = (_split_by_tile(self._position[indices], self.tile_size) for indices in (rows, cols))
        needed = sorted({(min(i, j), max(i, j)) for i in by_row for j in by_col})
        for i, j in needed:
            values = self.tile((i, j))
            for row, col, tile in ((j, i, values.T), (i, j, values)):
                if row in by_row and col in by_col:
                    (into_rows, at_rows), (into_cols, at_cols) = by_row[row], by_col[col]
                    out[np.ix_(into_rows, into_cols)] = tile[np.ix_(at_rows, at_cols)]
        return out

    def _read(self, tile: Tile) -> Array | None:
        """Return a tile, or None if its checksum is wrong."""
        i, j = tile
        try:
            return np.asarray(self._tiles.blocks[i, j], dtype=np.float64)
        except ValueError:  # raised by Zarr for a wrong checksum, and for a file too short to contain one
            return None


def _split_by_tile(positions: Ints, tile_size: int) -> dict[int, tuple[Ints, Ints]]:
    """Return for each row of tiles the indices of the positions in it, and these positions relative to its start."""
    tile = positions // tile_size
    return {i: (np.flatnonzero(tile == i), positions[tile == i] - i * tile_size) for i in np.unique(tile).tolist()}


def _indices(key: Any, n: int) -> tuple[Ints, bool]:
    """Return the indices that the key of one axis selects, and whether it is a single integer."""
    if isinstance(key, int | np.integer):
        return np.arange(n)[int(key)].reshape(1), True
    chosen = key if isinstance(key, slice) else np.asarray(key) if np.size(key) else np.zeros(0, dtype=np.int64)
    return np.arange(n)[chosen], False


def _zarr() -> Any:
    try:
        import zarr
        import zarr.codecs
    except ImportError:
        raise InputError("a stored matrix needs Zarr; install it with `pip install 'fastgntk[store]'`.") from None
    return zarr


@contextmanager
def lock_store(path: Path, shard: tuple[int, int]) -> Iterator[None]:
    """Lock one shard (k, K) of a store, or with (1, 1) the whole store.

    Shards of different K may overlap: some tiles are then computed twice, with the same result.
    """
    k, count = shard
    with ExitStack() as locks:
        if _LOCKS:
            # A shard may run alongside other shards, the whole matrix alongside nothing.
            _lock(path, ".lock", locks, shared=count > 1)
            if count > 1:
                _lock(path, f".lock-{k}-of-{count}", locks, shared=False)
        yield


def _lock(path: Path, name: str, locks: ExitStack, *, shared: bool) -> None:
    import fcntl

    with explain_os_errors(path):
        stream = locks.enter_context((path / name).open("ab"))
    try:
        fcntl.flock(stream, (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | fcntl.LOCK_NB)
    except BlockingIOError:
        raise InputError(
            f"another process is writing into {path}; wait until it has finished, or give each process a part with "
            "shard=(k, K) (--shard k/K)."
        ) from None


@contextmanager
def explain_os_errors(path: Path) -> Iterator[None]:
    """Turn errors of a full disk or missing permissions into an :class:`InputError` with advice."""
    try:
        yield
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise InputError(
                f"there is no space left for {path}; free some space and rerun: finished tiles are kept."
            ) from None
        if error.errno in (errno.EACCES, errno.EPERM, errno.EROFS):
            raise InputError(f"{path} cannot be written to ({error.strerror}); choose another folder.") from None
        raise
