"""Cache of parsed data sets: binary copies under the fingerprint of their text."""

import hashlib
import json
import logging
import os
import zipfile
from pathlib import Path
from typing import Any

import numpy as np

from fastgntk._util.files import atomic_save
from fastgntk.datasets._dataset import Dataset
from fastgntk.datasets._tu import read_tu, tu_files
from fastgntk.graphs import GraphBatch

__all__ = ["cache_folder", "fingerprint", "read_tu_cached"]

_log = logging.getLogger("fastgntk")
_FORMAT = 1  # incremented when the layout or the meaning of a parsed set changes
_ARRAYS = ("offsets", "indptr", "indices", "features", "labels", "edge_labels", "self_loops")


def cache_folder() -> Path:
    """Return the user's cache: ``$FASTGNTK_CACHE``, else the default of the operating system."""
    chosen = os.environ.get("FASTGNTK_CACHE")
    if chosen:
        return Path(chosen)
    from platformdirs import user_cache_dir  # only needed when a data set is looked up

    return Path(user_cache_dir("fastgntk"))


def fingerprint(path: Path) -> str:
    """Return a hash of the content of a TU zip file or folder, independent of its location and age."""
    digest = hashlib.sha256(f"fastgntk parsed set {_FORMAT}\n".encode())
    if path.is_dir():
        name, source = tu_files(path)
        for part, read in sorted(source.items()):
            content = read()
            digest.update(f"{name} {part} {len(content)}\n".encode())
            digest.update(content)
    else:
        with path.open("rb") as stream:
            while chunk := stream.read(2**22):
                digest.update(chunk)
    return digest.hexdigest()


def read_tu_cached(path: Path) -> Dataset:
    """Read a TU data set from its parsed copy, or parse it and store a copy.

    If the copy cannot be read or written, only time is lost.
    """
    path = path.resolve()
    name = path.stem if not path.is_dir() else path.name
    stored = cache_folder() / "parsed" / f"{name}-{fingerprint(path)[:24]}.npz"
    if stored.is_file():
        try:
            return _load(stored)
        except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile) as error:
            _log.warning("the parsed copy %s cannot be read (%s); reading the source again", stored, error)
    dataset = read_tu(path)
    try:
        stored.parent.mkdir(parents=True, exist_ok=True)
        atomic_save(stored, lambda stream: _save(stream, dataset))
    except OSError as error:
        _log.warning("no parsed copy of %s was kept: %s", name, error)
    return dataset


def _save(stream: Any, dataset: Dataset) -> None:
    arrays = {name: getattr(dataset.graphs, name) for name in _ARRAYS}
    arrays |= {"y": dataset.y, "graph_attributes": dataset.graph_attributes}
    present = {name: array for name, array in arrays.items() if array is not None}
    np.savez(stream, meta=np.array(json.dumps({"name": dataset.name})), **present)


def _load(path: Path) -> Dataset:
    # Opened here, because NumPy leaves a damaged file open.
    with path.open("rb") as stream, np.load(stream, allow_pickle=False) as stored:
        arrays = {name: stored.get(name) for name in (*_ARRAYS, "y", "graph_attributes")}
        name = json.loads(str(stored["meta"]))["name"]
    y, attributes = arrays.pop("y"), arrays.pop("graph_attributes")
    return Dataset(GraphBatch(weights=None, **arrays), y, name, attributes)
