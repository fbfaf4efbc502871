"""The TU format: graphs as text files ``NAME_A.txt``, ``NAME_graph_indicator.txt`` and so on.

Reads a folder or a zip file. Nothing is unpacked to disk, and a zip file whose member names point outside
their folder is refused.
"""

from __future__ import annotations

import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fastgntk.datasets._dataset import Dataset
from fastgntk.datasets._tu_text import parse_table
from fastgntk.errors import InputError
from fastgntk.graphs import GraphBatch, from_edges

__all__ = ["TU_PARTS", "read_tu", "tu_files"]

TU_PARTS = (
    "A", "graph_indicator", "graph_labels", "node_labels", "node_attributes", "edge_labels", "graph_attributes",
)  # fmt: skip

Source = dict[str, Callable[[], bytes]]


def read_tu(path: str | Path, *, directed: bool = False) -> Dataset:
    """Read a TU data set from a folder or a zip file.

    ``y`` holds the class labels, or the graph attributes where there are no class labels. Node labels, node
    attributes and edge labels are kept where the files exist. A pair listed in one direction only counts in
    both unless ``directed`` is set. Self loops are dropped and counted.

    Examples
    --------
    >>> from importlib.resources import files
    >>> data = read_tu(files("fastgntk.datasets") / "bundled" / "MUTAG")
    >>> data.name, len(data.graphs), data.y[:3].tolist()
    ('MUTAG', 188, [1, -1, -1])
    """
    name, source = tu_files(Path(path).resolve())
    for needed in ("A", "graph_indicator"):
        if needed not in source:
            raise InputError(f"{path} has no file {name}_{needed}.txt, which a TU data set must have.")
    return _assemble(name, source, directed)


def tu_files(path: Path) -> tuple[str, Source]:
    """Find the files of the data set; each value reads one when called."""
    if path.is_dir():
        names: dict[str, Callable[[], bytes]] = {p.name: p.read_bytes for p in sorted(path.glob("*.txt"))}
        inner = path / path.name
        if not any(n.endswith("_A.txt") for n in names) and inner.is_dir():  # unpacking NAME.zip into NAME/ gives this
            names = {p.name: p.read_bytes for p in sorted(inner.glob("*.txt"))}
    elif zipfile.is_zipfile(path):
        names = _zip_files(path)
    else:
        raise InputError(f"{path} is neither a folder nor a zip file in TU format.")
    found = sorted(n.removesuffix("_A.txt") for n in names if n.endswith("_A.txt"))
    if not found:
        raise InputError(f"{path} holds no TU data set: there is no file that ends in _A.txt.")
    name = path.stem if path.stem in found else found[0]
    if len(found) > 1 and name != path.stem:
        raise InputError(f"{path} holds several data sets ({', '.join(found)}); keep one, or name the file after it.")
    return name, {part: names[f"{name}_{part}.txt"] for part in TU_PARTS if f"{name}_{part}.txt" in names}


def _zip_files(path: Path) -> dict[str, Callable[[], bytes]]:
    """Find the files of the one folder of the archive that holds a data set."""
    with _damage_named(path, "it"), zipfile.ZipFile(path) as archive:
        members = [m for m in archive.namelist() if not m.endswith("/")]
    if not members:
        raise InputError(f"{path} is an empty zip file.")
    folders: dict[PurePosixPath, dict[str, Callable[[], bytes]]] = {}
    for member in members:
        pure = PurePosixPath(member.replace("\\", "/"))
        if pure.is_absolute() or ".." in pure.parts or ":" in pure.parts[0]:
            raise InputError(f"{path} has a member {member!r} that points outside its folder; it is not read.")
        if pure.parts[0] != "__MACOSX" and not pure.name.startswith("._"):  # what macOS adds to archives
            folders.setdefault(pure.parent, {})[pure.name] = _member_reader(path, member)
    holding = {str(folder): names for folder, names in folders.items() if any(n.endswith("_A.txt") for n in names)}
    if len(holding) > 1:
        raise InputError(f"{path} holds data sets in several folders ({', '.join(sorted(holding))}); keep one.")
    return next(iter(holding.values()), {})


def _member_reader(path: Path, member: str) -> Callable[[], bytes]:
    def read() -> bytes:
        with _damage_named(path, f"its member {member}"), zipfile.ZipFile(path) as archive:
            return archive.read(member)

    return read


@contextmanager
def _damage_named(path: Path, what: str) -> Iterator[None]:
    """Turn all that Python raises for damaged, encrypted or exotic archives into one sentence."""
    try:
        yield
    except (zipfile.BadZipFile, zlib.error, NotImplementedError, RuntimeError, EOFError, ValueError, OSError) as error:
        if isinstance(error, InputError):
            raise
        raise InputError(f"{path} cannot be read: {what} is damaged or encrypted ({error}); get it again.") from None


def _assemble(name: str, source: Source, directed: bool) -> Dataset:
    def table(part: str, dtype: type, columns: int | None = None) -> NDArray[Any] | None:
        return parse_table(source[part](), dtype, f"{name}_{part}.txt", columns) if part in source else None

    indicator = _column(table("graph_indicator", np.int64, 1))
    assert indicator is not None  # read_tu saw to it
    labels = _column(table("graph_labels", np.int64, 1))
    attributes = table("graph_attributes", np.float64)
    n_graphs = _count_graphs(name, indicator, labels, attributes)
    n_nodes = len(indicator)

    pairs = table("A", np.int64, 2)
    assert pairs is not None
    outside = np.flatnonzero((pairs < 1).any(axis=1) | (pairs > n_nodes).any(axis=1))
    if len(outside):
        line = int(outside[0])
        raise InputError(
            f"{name}_A.txt, line {line + 1}: edge ({pairs[line, 0]}, {pairs[line, 1]}), but "
            f"{name}_graph_indicator.txt has {n_nodes} lines, so nodes are 1..{n_nodes}."
        )
    tail, head = pairs[:, 0].astype(np.int32) - 1, pairs[:, 1].astype(np.int32) - 1
    across = np.flatnonzero(indicator[tail] != indicator[head])
    if len(across):
        line = int(across[0])
        raise InputError(
            f"{name}_A.txt, line {line + 1}: edge ({pairs[line, 0]}, {pairs[line, 1]}) joins graphs "
            f"{indicator[tail[line]]} and {indicator[head[line]]}; an edge must stay in one graph."
        )
    node_labels = _per_row(table("node_labels", np.int64), n_nodes, f"{name}_node_labels.txt", "nodes")
    node_attributes = _per_row(table("node_attributes", np.float64), n_nodes, f"{name}_node_attributes.txt", "nodes")
    edge_labels = _column(_per_row(table("edge_labels", np.int64, 1), len(pairs), f"{name}_edge_labels.txt", "edges"))
    if node_attributes is not None and not np.isfinite(node_attributes).all():
        line = int(np.flatnonzero(~np.isfinite(node_attributes).all(axis=1))[0])
        raise InputError(
            f"{name}_node_attributes.txt, line {line + 1} (graph {indicator[line]}): attributes must be finite."
        )
    del pairs

    if np.any(indicator[1:] < indicator[:-1]):  # nodes of a graph need not stand together in the file
        order = np.argsort(indicator, kind="stable")
        place = np.empty(n_nodes, dtype=np.int32)
        place[order] = np.arange(n_nodes, dtype=np.int32)
        tail, head, indicator = place[tail], place[head], indicator[order]
        node_labels = None if node_labels is None else node_labels[order]
        node_attributes = None if node_attributes is None else node_attributes[order]

    try:
        adjacency = from_edges(tail, head, n_nodes, edge_labels=edge_labels, directed=directed)
    except InputError as error:  # all else was checked above, with its line
        raise InputError(f"{name}_edge_labels.txt (nodes counted from 0 here): {error}") from None
    offsets = np.concatenate([[0], np.cumsum(np.bincount(indicator - 1, minlength=n_graphs))]).astype(np.int64)
    starts = np.repeat(offsets[:-1], np.diff(offsets)).astype(np.int32)
    graphs = GraphBatch(
        offsets=offsets,
        indptr=adjacency.indptr,
        indices=adjacency.indices - np.repeat(starts, np.diff(adjacency.indptr)),
        weights=None,
        features=node_attributes,
        labels=None if node_labels is None else _squeeze(node_labels),
        edge_labels=adjacency.edge_labels,
        self_loops=np.bincount(indicator[adjacency.loops] - 1, minlength=n_graphs).astype(np.int64),
    )
    y: NDArray[Any] | None = labels
    if labels is None and attributes is not None:
        y = _squeeze(attributes)
    return Dataset(graphs, y, name, attributes)


def _count_graphs(
    name: str,
    indicator: NDArray[np.int64],
    labels: NDArray[np.int64] | None,
    attributes: NDArray[Any] | None,
) -> int:
    """Take the number of graphs from the file that has a line for each, and check the others against it."""
    counts = {
        f"{name}_{part}.txt": len(values)
        for part, values in (("graph_labels", labels), ("graph_attributes", attributes))
        if values is not None
    }
    if len(set(counts.values())) > 1:
        (one, a), (two, b) = counts.items()
        raise InputError(f"{one} has {a} lines, but {two} has {b}; each must have one line for each graph.")
    low, high = (int(indicator.min()), int(indicator.max())) if len(indicator) else (1, 0)
    if low < 1:
        line = int(np.flatnonzero(indicator < 1)[0])
        raise InputError(f"{name}_graph_indicator.txt, line {line + 1}: graph {indicator[line]}; graphs count from 1.")
    if not counts:
        return high
    file, n_graphs = next(iter(counts.items()))
    if high != n_graphs:
        raise InputError(
            f"{file} has {n_graphs} lines, but {name}_graph_indicator.txt speaks of {high} graphs; a line is "
            "missing or too many."
        )
    return n_graphs


def _column(table: NDArray[Any] | None) -> NDArray[np.int64] | None:
    return None if table is None else table[:, 0].astype(np.int64)


def _squeeze(table: NDArray[Any]) -> NDArray[Any]:
    return table[:, 0] if table.shape[1] == 1 else table


def _per_row(table: NDArray[Any] | None, expected: int, file: str, what: str) -> NDArray[Any] | None:
    if table is not None and len(table) != expected:
        raise InputError(f"{file} has {len(table)} lines, but there are {expected} {what}; one line each is needed.")
    return table
