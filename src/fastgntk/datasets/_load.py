"""Find a data set: a path, ``$FASTGNTK_DATA``, the package, the user's cache, the TU site; in this order."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import fields
from pathlib import Path

from fastgntk.datasets._cache import cache_folder, read_tu_cached
from fastgntk.datasets._dataset import Counts, Dataset
from fastgntk.datasets._fetch import fetch
from fastgntk.datasets._registry import REGISTRY, unknown_name
from fastgntk.datasets._tu_reader import read_tu
from fastgntk.errors import DownloadError, InputError

__all__ = ["find", "load"]

_BUNDLED = Path(__file__).parent / "bundled"


def load(name: str | Path, *, progress: Callable[[int, int], None] | None = None) -> Dataset:
    """Load a data set in TU format by path or by name.

    Parameters
    ----------
    name : str or Path
        A zip file or folder; or a name, looked up in the folder that ``$FASTGNTK_DATA`` names, among the
        bundled sets, in the user's cache, and at last on the TU site, from where it is downloaded once.
    progress : callable, optional
        Called as ``progress(bytes, total)`` while downloading.

    Examples
    --------
    >>> data = load("MUTAG")
    >>> data
    Dataset('MUTAG', 188 graphs, 3371 nodes)
    >>> data.graphs[0]
    Graph(n_nodes=17, n_edges=19, labels)
    """
    where, path = find(name)
    if where == "path":
        return read_tu_cached(path)
    row = REGISTRY.get(str(name))
    if where == "bundled":
        return read_tu(path)  # parses in milliseconds; a copy would only litter the cache
    if where in ("data folder", "cache"):
        dataset = read_tu_cached(path)
        if row is not None:
            _verify(dataset.counts, row.counts, path)
        return dataset
    assert row is not None  # `find` raised for every other name
    downloaded = fetch(row, path.parent, progress)
    try:
        dataset = read_tu_cached(downloaded)
        _verify(dataset.counts, row.counts, downloaded)
    except InputError as error:
        downloaded.unlink(missing_ok=True)
        raise DownloadError(f"what {row.url} sent is not {row.name}: {error}") from None
    return dataset


def find(name: str | Path) -> tuple[str, Path]:
    """Tell where a data set is: ("path" | "data folder" | "bundled" | "cache" | "download", its path)."""
    text = str(name)
    path = Path(text)
    if text and path.exists() and not (text in REGISTRY and path.is_dir() and not any(path.rglob("*_A.txt"))):
        return "path", path  # an empty folder that happens to be called MUTAG does not hide MUTAG
    data_folder = os.environ.get("FASTGNTK_DATA")
    if data_folder and Path(text).name == text:
        for candidate in (Path(data_folder) / f"{text}.zip", Path(data_folder) / text):
            if candidate.exists():
                return "data folder", candidate
    if (_BUNDLED / text).is_dir() and Path(text).name == text:
        return "bundled", _BUNDLED / text
    row = REGISTRY.get(text)
    if row is None:
        raise unknown_name(text)
    stored = cache_folder() / "downloads" / f"{text}.zip"
    if stored.is_file():
        return "cache", stored
    if row.url is None:
        raise InputError(
            f"{text} has no public address; put {text}.zip (TU format) into a folder and set FASTGNTK_DATA to it."
        )
    return "download", stored


def _verify(found: Counts, expected: Counts, path: Path) -> None:
    for field in fields(Counts):
        got, want = getattr(found, field.name), getattr(expected, field.name)
        if got != want:
            what = field.name.replace("_", " ")
            raise InputError(
                f"{path} has {got} {what}, but {path.stem} has {want}; the file is not what its name says."
            )
