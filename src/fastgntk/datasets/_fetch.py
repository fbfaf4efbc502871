"""Download a data set that the user asked for by name."""

from __future__ import annotations

import logging
from collections.abc import Callable
from pathlib import Path
from typing import Any

from fastgntk.datasets._registry import Row
from fastgntk.errors import DownloadError

__all__ = ["fetch"]

_RETRIES = 3


def fetch(row: Row, folder: Path, progress: Callable[[int, int], None] | None = None) -> Path:
    """Download ``row`` into ``folder`` and return the path; the file appears whole or not at all."""
    import pooch  # takes a third of a second, and most calls never download

    assert row.url is not None  # `load` offers nothing else
    file = f"{row.name}.zip"
    base, _, _ = row.url.rpartition("/")
    store = pooch.create(
        path=folder, base_url=base + "/", registry={file: None}, retry_if_failed=_RETRIES, allow_updates=False
    )
    pooch.get_logger().setLevel(logging.WARNING)  # it would announce the download; the caller's progress does
    downloader = pooch.HTTPDownloader(timeout=30, progressbar=_Bar(progress) if progress else False)
    try:
        return Path(store.fetch(file, downloader=downloader))
    except (OSError, ValueError) as error:  # requests' errors are OSErrors
        raise DownloadError(
            f"{row.name} is not on this machine and could not be downloaded from {row.url} ({_reason(error)}); check "
            f"the connection, or put {file} into a folder and set FASTGNTK_DATA to it."
        ) from None


def _reason(error: Exception) -> str:
    """Say in a few words what went wrong; what requests says of a lost connection is no help to anyone."""
    response = getattr(error, "response", None)
    if response is not None:
        return f"the site answered {response.status_code}"
    return "no connection, or it broke off" if isinstance(error, OSError) else type(error).__name__


class _Bar:
    """What pooch expects of a progress bar, passed on to a callback."""

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
        """Nothing to release: the bar on the screen is the caller's."""
