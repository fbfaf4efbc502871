"""Write a data set in TU format."""

from __future__ import annotations

import io
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from fastgntk.datasets._dataset import Dataset
from fastgntk.errors import InputError
from fastgntk.files import atomic_write

__all__ = ["write_tu"]


def write_tu(dataset: Dataset, folder: str | Path) -> Path:
    """Write ``folder/NAME/NAME_A.txt`` and its companions, each file whole or not at all; return the folder.

    Every edge is written in both directions, node and graph numbers from 1, floats with all their digits.
    What the format cannot hold is refused: edge weights, string labels, one-hot features, a last graph without
    nodes.
    """
    graphs, name = dataset.graphs, dataset.name
    if graphs.weights is not None:
        raise InputError("the TU format has no place for edge weights; the data set was not written.")
    if graphs.labels is not None and graphs.labels.dtype.kind not in "iu":
        raise InputError("node labels must be integers in the TU format; the data set was not written.")
    if dataset.y is not None and dataset.y.dtype.kind not in "biuf":
        raise InputError("targets must be numbers in the TU format; the data set was not written.")
    if not isinstance(graphs.features, np.ndarray | None):
        raise InputError("sparse features have no place in the TU format; write the labels they came from.")
    if len(graphs) and graphs.sizes[-1] == 0:
        raise InputError("the last graph has no nodes, which the TU format cannot tell from a missing one; move it up.")
    adjacency = graphs.adjacency().tocoo()
    files: dict[str, NDArray[np.generic]] = {
        "A": np.column_stack([adjacency.coords[0] + 1, adjacency.coords[1] + 1]),
        "graph_indicator": graphs.graph_of_node + 1,
    }
    if dataset.y is not None and dataset.y.dtype.kind in "biu":
        files["graph_labels"] = dataset.y.astype(np.int64)
    attributes = dataset.y if dataset.y is not None and dataset.y.dtype.kind == "f" else dataset.graph_attributes
    if attributes is not None:
        files["graph_attributes"] = attributes
    if graphs.labels is not None:
        files["node_labels"] = graphs.labels
    if graphs.features is not None:
        files["node_attributes"] = graphs.features
    if graphs.edge_labels is not None:
        files["edge_labels"] = graphs.edge_labels
    target = Path(folder) / name
    target.mkdir(parents=True, exist_ok=True)
    for part, table in files.items():
        buffer = io.BytesIO()
        np.savetxt(buffer, table, fmt="%.17g" if table.dtype.kind == "f" else "%d", delimiter=", ")
        atomic_write(target / f"{name}_{part}.txt", buffer.getvalue())
    return target
