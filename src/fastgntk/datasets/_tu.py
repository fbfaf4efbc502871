"""The TU format: graphs as text files ``NAME_A.txt``, ``NAME_graph_indicator.txt`` and so on.

A folder or a zip file is read. Nothing is unpacked to disk, and a zip file whose member names point outside their
folder is rejected.
"""

import io
import warnings
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path, PurePosixPath
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fastgntk._util.arrays import Int32s, Ints
from fastgntk._util.files import atomic_write
from fastgntk.datasets._dataset import Dataset
from fastgntk.errors import InputError
from fastgntk.graphs import GraphBatch, from_edges

__all__ = ["parse_table", "read_tu", "list_tu_files", "write_tu"]

_PARTS = ("A", "graph_indicator", "graph_labels", "node_labels", "node_attributes", "edge_labels", "graph_attributes")

Files = dict[str, Callable[[], bytes]]
"""For each file a function that reads it."""


def read_tu(path: str | Path, *, directed: bool = False) -> Dataset:
    """Read a TU data set from a folder or a zip file.

    ``y`` holds the class labels, or the graph attributes if there are no class labels. Node labels, node attributes
    and edge labels are read if their files exist. A pair listed in one direction only counts in both unless
    ``directed`` is set. Self loops are dropped and counted.

    Examples
    --------
    >>> from importlib.resources import files
    >>> data = read_tu(files("fastgntk.datasets") / "bundled" / "MUTAG")
    >>> data.name, len(data.graphs), data.y[:3].tolist()
    ('MUTAG', 188, [1, -1, -1])
    """
    name, files = list_tu_files(Path(path).resolve())
    for part in ("A", "graph_indicator"):
        if part not in files:
            raise InputError(f"{path} has no file {name}_{part}.txt, which a TU data set must have.")

    def table(part: str, dtype: type, columns: int | None = None, rows: tuple[int, str] | None = None) -> Any:
        if part not in files:
            return None
        file = f"{name}_{part}.txt"
        parsed = parse_table(files[part](), dtype, file, columns)
        if rows is not None and len(parsed) != rows[0]:
            raise InputError(f"{file} has {len(parsed)} lines, but there are {rows[0]} {rows[1]}; give one line each.")
        return parsed[:, 0] if columns == 1 else parsed

    indicator: Ints = table("graph_indicator", np.int64, 1)
    classes, attributes = table("graph_labels", np.int64, 1), table("graph_attributes", np.float64)
    n_graphs = _count_graphs(name, indicator, classes, attributes)
    n_nodes = len(indicator)
    pairs: Ints = table("A", np.int64, 2)
    tail, head = _check_edges(name, pairs, indicator)
    node_labels = table("node_labels", np.int64, rows=(n_nodes, "nodes"))
    node_attributes = table("node_attributes", np.float64, rows=(n_nodes, "nodes"))
    edge_labels = table("edge_labels", np.int64, 1, rows=(len(pairs), "edges"))
    if node_attributes is not None and not np.isfinite(node_attributes).all():
        line = int(np.flatnonzero(~np.isfinite(node_attributes).all(axis=1))[0])
        location = f"{name}_node_attributes.txt, line {line + 1} (graph {indicator[line]})"
        raise InputError(f"{location}: attributes must be finite.")
    del pairs

    if np.any(indicator[1:] < indicator[:-1]):  # nodes of a graph need not be adjacent in the file
        order = np.argsort(indicator, kind="stable")
        position = np.empty(n_nodes, dtype=np.int32)
        position[order] = np.arange(n_nodes, dtype=np.int32)
        tail, head, indicator = position[tail], position[head], indicator[order]
        node_labels = None if node_labels is None else node_labels[order]
        node_attributes = None if node_attributes is None else node_attributes[order]

    try:
        adjacency = from_edges(tail, head, n_nodes, edge_labels=edge_labels, directed=directed)
    except InputError as error:  # all else was checked above, with its line
        raise InputError(f"{name}_edge_labels.txt (nodes counted from 0 here): {error}") from None
    sizes = np.bincount(indicator - 1, minlength=n_graphs)
    graphs = GraphBatch.from_adjacency(adjacency, sizes, features=node_attributes, labels=_squeeze(node_labels))
    return Dataset(graphs, _squeeze(attributes) if classes is None else classes, name, attributes)


def _squeeze(table: NDArray[Any] | None) -> NDArray[Any] | None:
    return table[:, 0] if table is not None and table.shape[1] == 1 else table


def list_tu_files(path: Path) -> tuple[str, Files]:
    """Return the name of the data set, and its files by part."""
    if path.is_dir():
        inner = path / path.name  # unpacking NAME.zip into NAME/ gives this
        folder = inner if inner.is_dir() and not any(path.glob("*_A.txt")) else path
        files: Files = {file.name: file.read_bytes for file in sorted(folder.glob("*.txt"))}
    elif zipfile.is_zipfile(path):
        files = _list_zip_files(path)
    else:
        raise InputError(f"{path} is neither a folder nor a zip file in TU format.")
    names = sorted(file.removesuffix("_A.txt") for file in files if file.endswith("_A.txt"))
    if not names:
        raise InputError(f"{path} holds no TU data set: there is no file that ends in _A.txt.")
    name = path.stem if path.stem in names else names[0]
    if len(names) > 1 and name != path.stem:
        raise InputError(f"{path} holds several data sets ({', '.join(names)}); keep one, or name the file after it.")
    return name, {part: files[f"{name}_{part}.txt"] for part in _PARTS if f"{name}_{part}.txt" in files}


def _list_zip_files(path: Path) -> Files:
    """Return the files of the one folder of the archive that holds a data set."""
    with _report_damage(path, "it"), zipfile.ZipFile(path) as archive:
        members = [m for m in archive.namelist() if not m.endswith("/")]
    if not members:
        raise InputError(f"{path} is an empty zip file.")
    folders: dict[PurePosixPath, Files] = {}
    for member in members:
        pure = PurePosixPath(member.replace("\\", "/"))
        if pure.is_absolute() or ".." in pure.parts or ":" in pure.parts[0]:
            raise InputError(f"{path} has a member {member!r} that points outside its folder; it is not read.")
        if pure.parts[0] != "__MACOSX" and not pure.name.startswith("._"):  # added by macOS
            folders.setdefault(pure.parent, {})[pure.name] = partial(_read_member, path, member)
    data_sets = {str(folder): files for folder, files in folders.items() if any(n.endswith("_A.txt") for n in files)}
    if len(data_sets) > 1:
        raise InputError(f"{path} holds data sets in several folders ({', '.join(sorted(data_sets))}); keep one.")
    return next(iter(data_sets.values()), {})


def _read_member(path: Path, member: str) -> bytes:
    with _report_damage(path, f"its member {member}"), zipfile.ZipFile(path) as archive:
        return archive.read(member)


@contextmanager
def _report_damage(path: Path, what: str) -> Iterator[None]:
    """Raise one InputError for everything that Python raises for damaged, encrypted or unsupported archives."""
    try:
        yield
    except (zipfile.BadZipFile, zlib.error, NotImplementedError, RuntimeError, EOFError, ValueError, OSError) as error:
        raise InputError(f"{path} cannot be read: {what} is damaged or encrypted ({error}); get it again.") from None


def _check_edges(name: str, pairs: Ints, indicator: Ints) -> tuple[Int32s, Int32s]:
    """Return the ends of each edge, counted from 0, after checking that they are nodes of the same graph."""

    def edge(line: int) -> str:
        return f"{name}_A.txt, line {line + 1}: edge ({pairs[line, 0]}, {pairs[line, 1]})"

    n_nodes = len(indicator)
    outside = np.flatnonzero((pairs < 1).any(axis=1) | (pairs > n_nodes).any(axis=1))
    if len(outside):
        allowed = f"{name}_graph_indicator.txt has {n_nodes} lines, so nodes are 1..{n_nodes}"
        raise InputError(f"{edge(outside[0])}, but {allowed}.")
    tail, head = pairs[:, 0].astype(np.int32) - 1, pairs[:, 1].astype(np.int32) - 1
    across = np.flatnonzero(indicator[tail] != indicator[head])
    if len(across):
        graphs = f"{indicator[tail[across[0]]]} and {indicator[head[across[0]]]}"
        raise InputError(f"{edge(across[0])} joins graphs {graphs}; an edge must stay in one graph.")
    return tail, head


def _count_graphs(name: str, indicator: Ints, classes: Ints | None, attributes: NDArray[Any] | None) -> int:
    """Return the number of graphs: that of the file with a line for each, checked against all other files."""
    tables = {f"{name}_graph_labels.txt": classes, f"{name}_graph_attributes.txt": attributes}
    counts = {file: len(table) for file, table in tables.items() if table is not None}
    if len(set(counts.values())) > 1:
        (file, count), (other, other_count) = counts.items()
        raise InputError(
            f"{file} has {count} lines, but {other} has {other_count}; each must have one line for each graph."
        )
    invalid = np.flatnonzero(indicator < 1)
    if len(invalid):
        line = invalid[0]
        raise InputError(f"{name}_graph_indicator.txt, line {line + 1}: graph {indicator[line]}; graphs count from 1.")
    n_graphs = int(indicator.max(initial=0))
    for file, count in counts.items():
        if count != n_graphs:
            graphs = f"{name}_graph_indicator.txt has {n_graphs} graphs"
            raise InputError(f"{file} has {count} lines, but {graphs}; give one line each.")
    return n_graphs


def parse_table(text: bytes, dtype: type, file: str, columns: int | None = None) -> NDArray[Any]:
    """Parse comma-separated numbers, one row a line, into an array of shape (lines, columns).

    Spaces and Windows line ends are accepted, blank lines at the end are ignored. One NumPy call parses the whole
    file; only if its result is inconsistent are the lines parsed one by one, to report the first invalid one.

    Raises
    ------
    InputError
        With file and line number, if a field is not a number or a line differs in length from the first.
    """
    text = text.removeprefix(b"\xef\xbb\xbf").rstrip()  # the byte order mark of some editors
    if not text:
        return np.zeros((0, columns or 1), dtype=dtype)
    compact = text.translate(None, b" \t\r")
    lines = compact.count(b"\n") + 1
    first = compact[: compact.find(b"\n")] if lines > 1 else compact
    width = first.count(b",") + 1 if columns is None else columns
    if _is_regular(compact, lines, width):
        with warnings.catch_warnings(), suppress(DeprecationWarning, ValueError):
            warnings.simplefilter("error", DeprecationWarning)  # NumPy's signal for anything but numbers
            values: NDArray[Any] = np.fromstring(text.replace(b",", b" "), dtype=dtype, sep=" ")
            if values.size == lines * width:
                return values.reshape(lines, width)
    raise _find_invalid_line(text, dtype, file, width)


def _is_regular(compact: bytes, lines: int, width: int) -> bool:
    """Return whether every line has width − 1 commas and no field is empty.

    Then as many numbers as fields means one number in each field.
    """
    if compact.count(b",") != lines * (width - 1) or compact[:1] in b",\n" or compact[-1:] == b",":
        return False
    if any(pair in compact for pair in (b",\n", b"\n,", b",,", b"\n\n")):
        return False
    if width == 1:
        return True
    characters = np.frombuffer(compact, dtype=np.uint8)
    is_comma = characters[(characters == ord(",")) | (characters == ord("\n"))] == ord(",")
    pattern = np.append(is_comma, False).reshape(lines, width)  # False for the end of a line
    return bool(pattern[:, :-1].all() and not pattern[:, -1].any())


def _find_invalid_line(text: bytes, dtype: type, file: str, width: int) -> InputError:
    kind = "integers" if np.issubdtype(dtype, np.integer) else "numbers"
    for line_number, raw in enumerate(text.split(b"\n"), start=1):
        line = raw.decode("ascii", errors="replace").strip()
        fields = [field.strip() for field in line.split(",")]
        try:
            values = [int(f) if kind == "integers" else float(f) for f in fields]
        except ValueError:
            values = []
        if len(values) != width:
            shown = line if len(line) <= 40 else line[:37] + "..."
            expected = (
                f"{width} {kind} separated by commas"
                if width > 1
                else {"integers": "an integer", "numbers": "a number"}[kind]
            )
            return InputError(f"{file}, line {line_number}: expected {expected}, found {shown!r}.")
    return InputError(f"{file} cannot be read as {kind}, {width} a line.")


def write_tu(dataset: Dataset, folder: str | Path) -> Path:
    """Write ``folder/NAME/NAME_A.txt`` and its companions, each file atomically; return the folder.

    Every edge is written in both directions, node and graph indices from 1, floats with all their digits; files of
    an older set of that name in that folder are replaced or removed. An InputError is raised for what the format
    cannot hold: edge weights and directions, scales of nodes, string labels of nodes or edges, sparse features, a last
    graph without nodes.
    """
    _check_writable(dataset)
    graphs, y = dataset.graphs, dataset.y
    real = y if y is not None and y.dtype.kind == "f" else dataset.graph_attributes
    adjacency = graphs.adjacency().tocoo()
    tables: dict[str, NDArray[Any] | None] = {
        "A": np.column_stack([adjacency.coords[0] + 1, adjacency.coords[1] + 1]),
        "graph_indicator": graphs.graph_of_node + 1,
        "graph_labels": y.astype(np.int64) if y is not None and y.dtype.kind != "f" else None,
        "graph_attributes": real,
        "node_labels": graphs.labels,
        "node_attributes": graphs.features,
        "edge_labels": graphs.edge_labels,
    }
    target = Path(folder) / dataset.name
    target.mkdir(parents=True, exist_ok=True)
    for part, table in tables.items():
        path = target / f"{dataset.name}_{part}.txt"
        if table is None:
            path.unlink(missing_ok=True)  # it would be read as part of this set
        else:
            buffer = io.BytesIO()
            np.savetxt(buffer, table, fmt="%.17g" if table.dtype.kind == "f" else "%d", delimiter=", ")
            atomic_write(path, buffer.getvalue())
    return target


def _check_writable(dataset: Dataset) -> None:
    graphs, y, real = dataset.graphs, dataset.y, dataset.graph_attributes
    if dataset.name in ("", ".", "..") or Path(dataset.name).name != dataset.name:
        raise InputError(f"the data set name {dataset.name!r} is not a valid file name.")
    if graphs.weights is not None:
        raise InputError("the TU format has no place for edge weights; the data set was not written.")
    if graphs.node_scale is not None:
        raise InputError("the TU format has no place for the scale of nodes; the data set was not written.")
    adjacency = graphs.adjacency()
    if (adjacency != adjacency.T).nnz:
        raise InputError("directed graphs would be read back as undirected; the data set was not written.")
    for what, labels in (("node", graphs.labels), ("edge", graphs.edge_labels)):
        if labels is not None and labels.dtype.kind not in "iu":
            raise InputError(f"{what} labels must be integers in the TU format; the data set was not written.")
    if graphs.features is not None and not isinstance(graphs.features, np.ndarray):
        raise InputError("sparse features have no place in the TU format; write the labels they came from.")
    if len(graphs) and graphs.sizes[-1] == 0:
        raise InputError("the last graph in the TU format must have nodes; move the empty graph forward.")
    if y is not None and (y.dtype.kind not in "biuf" or (y.dtype.kind != "f" and y.ndim != 1)):
        raise InputError("targets must be one integer or real numbers for each graph in the TU format.")
    if y is not None and real is not None and y.dtype.kind == "f" and not np.array_equal(y.reshape(real.shape), real):
        raise InputError("y and graph_attributes are both real and differ; the TU format holds one of them.")
