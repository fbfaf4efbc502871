"""Named data sets: the registry, lookup, download, and binary copies of parsed sets.

A data set is looked up as a path, in ``$FASTGNTK_DATA``, in the package, in the user's cache and on the TU site, in
this order. Parsed sets are cached under the fingerprint of their text.
"""

import difflib
import hashlib
import json
import logging
import os
import zipfile
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from fastgntk._util.files import atomic_save
from fastgntk.datasets._dataset import Counts, Dataset
from fastgntk.datasets._tu import list_tu_files, read_tu
from fastgntk.errors import DownloadError, InputError
from fastgntk.graphs import GraphBatch

__all__ = ["REGISTRY", "cache_folder", "find", "load"]

_log = logging.getLogger("fastgntk")
_BUNDLED = Path(__file__).parent / "bundled"
_RETRIES = 3
_TU_SITE = "https://www.chrsmrrs.com/graphkerneldatasets/"
_CACHE_FORMAT = 1  # incremented when the layout or the meaning of a parsed set changes
_ARRAYS = ("offsets", "indptr", "indices", "features", "labels", "edge_labels", "self_loops")


@dataclass(frozen=True)
class Row:
    """A named data set: expected counts, address and citation."""

    name: str
    counts: Counts
    node_labels: bool
    citation: str
    published: tuple[float, float] | None = None
    """Accuracy of the GNTK, mean and standard deviation over folds, as printed by Du et al. 2019."""
    on_tu_site: bool = True

    @property
    def url(self) -> str | None:
        """The address of the zip file, None if it is not public."""
        return f"{_TU_SITE}{self.name}.zip" if self.on_tu_site else None


_YANARDAG = "Yanardag and Vishwanathan, Deep graph kernels, KDD 2015"
_NCI = "Wale and Karypis, Comparison of descriptor spaces for chemical compound retrieval, ICDM 2006"
_PROTEINS = "Borgwardt et al., Protein function prediction via graph kernels, Bioinformatics 2005"
_PTC = "Helma et al., The predictive toxicology challenge 2000-2001, Bioinformatics 2001"
_DEBNATH = "Debnath et al., Structure-activity relationship of mutagenic nitro compounds, J. Med. Chem. 1991"
_DOBSON = "Dobson and Doig, Distinguishing enzyme structures from non-enzymes, J. Mol. Biol. 2003"

REGISTRY: dict[str, Row] = {
    row.name: row
    for row in [
        Row("MUTAG", Counts(188, 3_371, 3_721, 0, 2), True, _DEBNATH, (0.900, 0.085)),
        # The PTC of the papers keeps hydrogen atoms; the TU site has PTC_MR, without them.
        Row("PTC", Counts(344, 8_792, 8_931, 0, 2), True, _PTC, (0.679, 0.069), on_tu_site=False),
        Row("PTC_MR", Counts(344, 4_915, 5_054, 0, 2), True, _PTC),
        Row("NCI1", Counts(4_110, 122_747, 132_753, 0, 2), True, _NCI, (0.842, 0.015)),
        Row("NCI109", Counts(4_127, 122_494, 132_604, 0, 2), True, _NCI),
        Row("PROTEINS", Counts(1_113, 43_471, 81_044, 0, 2), True, _PROTEINS, (0.756, 0.042)),
        Row("ENZYMES", Counts(600, 19_580, 37_282, 0, 6), True, _PROTEINS),
        Row("DD", Counts(1_178, 334_925, 843_046, 0, 2), True, _DOBSON),
        Row("IMDB-BINARY", Counts(1_000, 19_773, 96_531, 0, 2), False, _YANARDAG, (0.769, 0.036)),
        Row("IMDB-MULTI", Counts(1_500, 19_502, 98_903, 0, 3), False, _YANARDAG, (0.528, 0.046)),
        Row("COLLAB", Counts(5_000, 372_474, 12_286_079, 2_837, 3), False, _YANARDAG, (0.836, 0.010)),
        Row("REDDIT-BINARY", Counts(2_000, 859_254, 995_508, 0, 2), False, _YANARDAG),
    ]
}


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
    source, path = find(name)
    if source == "path":
        return _read_cached(path)
    if source == "bundled":
        return read_tu(path)  # parsed in milliseconds, not worth a cached copy
    row = REGISTRY.get(str(name))
    if source != "download":
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
        raise _unknown_name_error(text)
    stored = cache_folder() / "downloads" / f"{text}.zip"
    if stored.is_file():
        return "cache", stored
    if row.url is None:
        raise InputError(
            f"{text} has no public address; put {text}.zip (TU format) into a folder and set FASTGNTK_DATA to it."
        )
    return "download", stored


def _unknown_name_error(name: str) -> InputError:
    """Return the error for a name that is neither a file nor a registered data set; the closest names come first."""
    folded = {registered.lower(): registered for registered in REGISTRY}
    close = [folded[match] for match in difflib.get_close_matches(name.lower(), folded, n=3, cutoff=0.4)]
    rest = [registered for registered in REGISTRY if registered not in close]
    hint = f"did you mean {close[0]}? Known" if close else "known"
    return InputError(f"there is no data set, file or folder {name!r}; {hint} names: {', '.join(close + rest)}.")


def _read_verified(path: Path, row: Row | None) -> Dataset:
    """Read a data set and compare its counts with those of the registry."""
    dataset = _read_cached(path)
    expected = {} if row is None else asdict(row.counts)
    for field, count in asdict(dataset.counts).items():
        if count != expected.get(field, count):
            problem = f"{count} {field.replace('_', ' ')}, but {path.stem} has {expected[field]}"
            raise InputError(f"{path} has {problem}; the file does not match its name.")
    return dataset


def _download(row: Row, folder: Path, progress: Callable[[int, int], None] | None) -> Path:
    """Download a data set into a folder and return its path; the file is written atomically."""
    import pooch  # takes a third of a second, and most calls never download

    file = f"{row.name}.zip"
    site: Any = {"base_url": _TU_SITE, "registry": {file: None}}
    store = pooch.create(path=folder, **site, retry_if_failed=_RETRIES, allow_updates=False)
    pooch.get_logger().setLevel(logging.WARNING)  # no announcement of the download
    downloader = pooch.HTTPDownloader(timeout=30, progressbar=_ProgressBar(progress) if progress else False)
    try:
        return Path(store.fetch(file, downloader=downloader))
    except (OSError, ValueError) as error:  # requests' errors are OSErrors
        # The text of requests' connection errors is too technical to show.
        reason = "no connection, or the connection was lost" if isinstance(error, OSError) else type(error).__name__
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


def cache_folder() -> Path:
    """Return the user's cache: ``$FASTGNTK_CACHE``, else the default of the operating system."""
    folder = os.environ.get("FASTGNTK_CACHE")
    if folder:
        return Path(folder)
    from platformdirs import user_cache_dir  # only needed when a data set is looked up

    return Path(user_cache_dir("fastgntk"))


def _fingerprint(path: Path) -> str:
    """Return a hash of the content of a TU zip file or folder, independent of its location and age."""
    digest = hashlib.sha256(f"fastgntk parsed set {_CACHE_FORMAT}\n".encode())
    if path.is_dir():
        name, source = list_tu_files(path)
        for part, read in sorted(source.items()):
            data = read()
            digest.update(f"{name} {part} {len(data)}\n".encode())
            digest.update(data)
    else:
        with path.open("rb") as stream:
            while chunk := stream.read(2**22):
                digest.update(chunk)
    return digest.hexdigest()


def _read_cached(path: Path) -> Dataset:
    """Read a TU data set from its parsed copy, or parse it and store a copy; a damaged copy only costs time."""
    path = path.resolve()
    name = path.stem if not path.is_dir() else path.name
    stored = cache_folder() / "parsed" / f"{name}-{_fingerprint(path)[:24]}.npz"
    if stored.is_file():
        try:
            return _load_copy(stored)
        except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile) as error:
            _log.warning("the parsed copy %s cannot be read (%s); reading the source again", stored, error)
    dataset = read_tu(path)
    try:
        stored.parent.mkdir(parents=True, exist_ok=True)
        atomic_save(stored, lambda stream: _save_copy(stream, dataset))
    except OSError as error:
        _log.warning("no parsed copy of %s was kept: %s", name, error)
    return dataset


def _save_copy(stream: Any, dataset: Dataset) -> None:
    arrays = {name: getattr(dataset.graphs, name) for name in _ARRAYS}
    arrays |= {"y": dataset.y, "graph_attributes": dataset.graph_attributes}
    present = {name: array for name, array in arrays.items() if array is not None}
    np.savez(stream, meta=np.array(json.dumps({"name": dataset.name})), **present)


def _load_copy(path: Path) -> Dataset:
    # Opened here, because NumPy leaves a damaged file open.
    with path.open("rb") as stream, np.load(stream, allow_pickle=False) as stored:
        arrays = {name: stored.get(name) for name in (*_ARRAYS, "y", "graph_attributes")}
        name = json.loads(str(stored["meta"]))["name"]
    y, attributes = arrays.pop("y"), arrays.pop("graph_attributes")
    return Dataset(GraphBatch(weights=None, **arrays), y, name, attributes)
