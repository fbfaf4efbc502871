"""The kernel node by node: which nodes of a graph its values come from."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Unpack

import numpy as np
from numpy.typing import NDArray

from fastgntk.errors import InputError
from fastgntk.graph import FeatureKind, NodeFeatures
from fastgntk.graph import graphs as as_batch
from fastgntk.kernel import GNTK, check_edges
from fastgntk.matrix._path import combine_levels
from fastgntk.matrix._prepared import PreparedGraphs, prepare
from fastgntk.matrix._resources import Memory, Workers, memory_budget, worker_count
from fastgntk.matrix._run import check_result
from fastgntk.sketch import SketchOptions

__all__ = ["node_shares"]


def node_shares(
    graph: Any,
    cols: Any,
    spec: GNTK | None = None,
    *,
    features: FeatureKind | NodeFeatures = "auto",
    engine: str = "auto",
    memory: Memory = None,
    workers: Workers = None,
    **sketching: Unpack[SketchOptions],
) -> NDArray[np.float64]:
    """Compute the share of each node of one graph in its kernel with m graphs: Σ_l Σ_v K(l)_uv for every node u.

    The kernel is a sum over pairs of nodes, so these rows add up to the row that :func:`cross_gram` gives, at the same
    cost. ``cols`` may be prepared graphs; then leave out what they were prepared with. The other arguments
    are those of :func:`gram`.

    Returns
    -------
    array of shape (N, m), float64

    Examples
    --------
    >>> import numpy as np, fastgntk as fg
    >>> data = fg.datasets.load("MUTAG").graphs
    >>> shares = fg.node_shares(data[0], data[:5])
    >>> shares.shape, bool(np.allclose(shares.sum(axis=0), fg.gram(data[:5])[0]))
    ((17, 5), True)
    """
    if isinstance(cols, PreparedGraphs):
        if engine not in ("auto", cols.engine) or features != "auto" or sketching or spec not in (None, cols.spec):
            raise InputError("spec, engine, sketch and features are those of the prepared graphs; leave them out.")
        prepared = cols
    else:
        prepared = prepare(cols, spec, features=features, engine=engine, memory=memory, workers=workers, **sketching)
    batch = as_batch(graph)
    if len(batch) != 1:
        raise InputError(f"graph must be one graph, but {len(batch)} came.")
    batch = prepared.features.extend(batch).transform(batch)
    check_edges(batch, prepared.spec)
    out = np.zeros((batch.n_nodes, len(prepared)))
    budget = memory_budget(memory)
    check_result(out.nbytes, budget)

    def write(_: NDArray[np.int64], far: NDArray[np.int64], levels: NDArray[np.float64]) -> None:
        out[:, far] = combine_levels(levels, prepared.spec)

    if batch.n_nodes:
        run = replace(prepared.run, memory=budget, workers=worker_count(workers), result=out.nbytes)
        run.nodes(batch, prepared.cut, write)
    return out
