"""Load a data set from a path, ``$FASTGNTK_DATA``, the package, the user's cache or the TU site; in this order."""

import logging
import os
from collections.abc import Callable
from dataclasses import fields
from pathlib import Path
from typing import Any

from fastgntk.datasets._cache import cache_folder, read_tu_cached
from fastgntk.datasets._dataset import Counts, Dataset
from fastgntk.datasets._registry import REGISTRY, Row, unknown_name
from fastgntk.datasets._tu import read_tu
from fastgntk.errors import DownloadError, InputError

__all__ = ["find", "load"]

_BUNDLED = Path(__file__).parent / "bundled"
_RETRIES = 3


def load(name: str | Path, *, progress: Callable[[int, int], None] | None = None) -> Dataset:
    """Load a data set in TU format by path or by name.

    Parameters
    ----------
    name : str or Path
        A zip file or folder; or a name, looked up in the folder ``$FASTGNTK_DATA``, among the bundled sets, in the
        user's cache, and finally on the TU site, from where it is downloaded once.
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
        return read_tu(path)  # parsed in milliseconds, not worth a cached copy
    if where in ("data folder", "cache"):
        return _read_verified(path, row)
    assert row is not None  # `find` raised for every other name
    downloaded = _download(row, path.parent, progress)
    try:
        return _read_verified(downloaded, row)
    except InputError as error:
        downloaded.unlink(missing_ok=True)
        raise DownloadError(f"the file from {row.url} is not {row.name}: {error}") from None


def find(name: str | Path) -> tuple[str, Path]:
    """Locate a data set; return "path", "data folder", "bundled", "cache" or "download", and its path."""
    text = str(name)
    path = Path(text)
    if text and path.exists() and not (text in REGISTRY and path.is_dir() and not any(path.rglob("*_A.txt"))):
        return "path", path  # an empty folder called MUTAG does not hide MUTAG
    data_folder = os.environ.get("FASTGNTK_DATA")
    if data_folder and path.name == text:
        for candidate in (Path(data_folder) / f"{text}.zip", Path(data_folder) / text):
            if candidate.exists():
                return "data folder", candidate
    if (_BUNDLED / text).is_dir() and path.name == text:
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


def _read_verified(path: Path, row: Row | None) -> Dataset:
    """Read a data set and compare its counts with those of the registry."""
    dataset = read_tu_cached(path)
    if row is None:
        return dataset
    for field in fields(Counts):
        got, want = getattr(dataset.counts, field.name), getattr(row.counts, field.name)
        if got != want:
            what = field.name.replace("_", " ")
            raise InputError(f"{path} has {got} {what}, but {path.stem} has {want}; the file does not match its name.")
    return dataset


def _download(row: Row, folder: Path, progress: Callable[[int, int], None] | None) -> Path:
    """Download a data set into a folder and return its path; the file appears whole or not at all."""
    import pooch  # takes a third of a second, and most calls never download

    assert row.url is not None  # `find` returns "download" for no others
    file = f"{row.name}.zip"
    base, _, _ = row.url.rpartition("/")
    store = pooch.create(
        path=folder, base_url=base + "/", registry={file: None}, retry_if_failed=_RETRIES, allow_updates=False
    )
    pooch.get_logger().setLevel(logging.WARNING)  # no announcement of the download
    downloader = pooch.HTTPDownloader(timeout=30, progressbar=_ProgressBar(progress) if progress else False)
    try:
        return Path(store.fetch(file, downloader=downloader))
    except (OSError, ValueError) as error:  # requests' errors are OSErrors
        # The text of requests' connection errors is too technical to show.
        reason = "no connection, or it broke off" if isinstance(error, OSError) else type(error).__name__
        response = getattr(error, "response", None)
        if response is not None:
            reason = f"the site answered {response.status_code}"
        raise DownloadError(
            f"{row.name} is not on this machine and could not be downloaded from {row.url} ({reason}); check the "
            f"connection, or put {file} into a folder and set FASTGNTK_DATA to it."
        ) from None


class _ProgressBar:
    """The progress bar interface of pooch, forwarded to a callback."""

    def __init__(self, progress: Callable[[int, int], None]) -> None:
        self._progress = progress
        self.total: Any = 0
        self._done = 0

    def update(self, amount: int) -> None:
        self._done += amount
        self._progress(self._done, int(self.total or 0))

    def reset(self) -> None:
        self._done = 0

    def close(self) -> None:
        """Do nothing: the bar on the screen belongs to the caller."""
