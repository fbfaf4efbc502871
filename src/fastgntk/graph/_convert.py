"""From what people have to a :class:`GraphBatch`."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from scipy import sparse

from fastgntk.errors import InputError
from fastgntk.graph._batch import GraphBatch
from fastgntk.graph._graph import Graph

__all__ = ["graphs"]


def graphs(source: Any) -> GraphBatch:
    """Turn graphs in any supported form into a :class:`GraphBatch`.

    Accepted: a :class:`GraphBatch`, a data set, one :class:`Graph`, or a sequence of graphs, each of which is
    a :class:`Graph`, a square array or SciPy sparse adjacency matrix, or a pair (adjacency, features). An
    error names the position of the graph that caused it.

    Examples
    --------
    >>> import numpy as np
    >>> edge = np.array([[0, 1], [1, 0]])
    >>> graphs([edge, (edge, np.eye(2))])
    Traceback (most recent call last):
    fastgntk.errors.InputError: graph 1 has features but graph 0 has none; give them to all graphs or to none.
    >>> graphs([edge, edge])
    GraphBatch(2 graphs, 4 nodes)
    """
    if isinstance(source, GraphBatch):
        return source
    if isinstance(source, Graph):
        return GraphBatch.from_graphs([source])
    inner = getattr(source, "graphs", None)
    if isinstance(inner, GraphBatch):
        return inner
    if sparse.issparse(source) or (isinstance(source, np.ndarray) and source.ndim == 2):
        raise InputError("graphs must be a sequence of graphs, but one matrix came; for a single graph pass [matrix].")
    if isinstance(source, tuple) and len(source) == 2 and all(np.ndim(part) == 2 for part in source):
        raise InputError("one pair (adjacency, features) came; for a single graph pass [(adjacency, features)].")
    if isinstance(source, str) or not isinstance(source, Iterable):
        raise InputError(
            f"graphs must be a sequence of graphs, but {source!r} came; load files and named data sets with "
            "fastgntk.datasets.load."
        )
    return GraphBatch.from_graphs([_one(item, i) for i, item in enumerate(source)])


def _one(item: Any, index: int) -> Graph:
    try:
        if isinstance(item, Graph):
            return item
        if sparse.issparse(item) or isinstance(item, np.ndarray):
            return Graph(item)
        if isinstance(item, tuple) and len(item) == 2:
            return Graph(item[0], item[1])
    except InputError as error:
        raise InputError(f"graph {index}: {error}") from None
    raise InputError(
        f"graph {index} is a {type(item).__name__}; expected a Graph, a square matrix or a pair (adjacency, features)."
    )
