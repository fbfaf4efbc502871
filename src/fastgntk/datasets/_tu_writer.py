"""Write a data set in TU format."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fastgntk._util.files import atomic_write
from fastgntk.datasets._dataset import Dataset
from fastgntk.datasets._tu_reader import TU_PARTS
from fastgntk.errors import InputError

__all__ = ["write_tu"]


def write_tu(dataset: Dataset, folder: str | Path) -> Path:
    """Write ``folder/NAME/NAME_A.txt`` and its companions, each file whole or not at all; return the folder.

    Every edge is written in both directions, node and graph numbers from 1, floats with all their digits; files of
    an older set of that name in that folder are replaced or removed. What the format cannot hold is refused: edge
    weights and directions, string labels of nodes or edges, sparse features, a last graph without nodes.
    """
    _check(dataset)
    target = Path(folder) / dataset.name
    target.mkdir(parents=True, exist_ok=True)
    tables = _tables(dataset)
    for part in TU_PARTS:
        path = target / f"{dataset.name}_{part}.txt"
        if part in tables:
            buffer = io.BytesIO()
            table = tables[part]
            np.savetxt(buffer, table, fmt="%.17g" if table.dtype.kind == "f" else "%d", delimiter=", ")
            atomic_write(path, buffer.getvalue())
        else:
            path.unlink(missing_ok=True)  # it would be taken for a part of this set
    return target


def _check(dataset: Dataset) -> None:
    graphs, y = dataset.graphs, dataset.y
    if dataset.name in ("", ".", "..") or Path(dataset.name).name != dataset.name:
        raise InputError(f"the name of the data set becomes file names, and {dataset.name!r} cannot.")
    if graphs.weights is not None:
        raise InputError("the TU format has no place for edge weights; the data set was not written.")
    adjacency = graphs.adjacency()
    if (adjacency != adjacency.T).nnz:
        raise InputError("directed graphs would come back undirected; the data set was not written.")
    if graphs.labels is not None and graphs.labels.dtype.kind not in "iu":
        raise InputError("node labels must be integers in the TU format; the data set was not written.")
    if graphs.edge_labels is not None and graphs.edge_labels.dtype.kind not in "iu":
        raise InputError("edge labels must be integers in the TU format; the data set was not written.")
    if graphs.features is not None and not isinstance(graphs.features, np.ndarray):
        raise InputError("sparse features have no place in the TU format; write the labels they came from.")
    if len(graphs) and graphs.sizes[-1] == 0:
        raise InputError("the last graph has no nodes, which the TU format cannot tell from a missing one; move it up.")
    if y is not None and (y.dtype.kind not in "biuf" or (y.dtype.kind != "f" and y.ndim != 1)):
        raise InputError("targets must be one whole number or real numbers for each graph in the TU format.")
    real = dataset.graph_attributes
    if y is not None and real is not None and y.dtype.kind == "f" and not np.array_equal(y.reshape(real.shape), real):
        raise InputError("y and graph_attributes are both real and differ; the TU format holds one of them.")


def _tables(dataset: Dataset) -> dict[str, NDArray[Any]]:
    graphs, y = dataset.graphs, dataset.y
    adjacency = graphs.adjacency().tocoo()
    real = y if y is not None and y.dtype.kind == "f" else dataset.graph_attributes
    tables: dict[str, NDArray[Any] | None] = {
        "A": np.column_stack([adjacency.coords[0] + 1, adjacency.coords[1] + 1]),
        "graph_indicator": graphs.graph_of_node + 1,
        "graph_labels": y.astype(np.int64) if y is not None and y.dtype.kind != "f" else None,
        "graph_attributes": real,
        "node_labels": graphs.labels,
        "node_attributes": graphs.features,
        "edge_labels": graphs.edge_labels,
    }
    return {part: table for part, table in tables.items() if table is not None}
