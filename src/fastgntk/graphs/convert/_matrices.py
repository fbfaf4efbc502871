"""Lists of adjacency matrices, dense or SciPy sparse, and of pairs (adjacency, features)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from fastgntk.errors import InputError
from fastgntk.graphs._batch import GraphBatch, joined
from fastgntk.graphs._csr import entries
from fastgntk.graphs._graph import check_features
from fastgntk.graphs.convert._assemble import Found, assemble
from fastgntk.graphs.convert._attributes import Choice, Columns

__all__ = ["from_matrices"]


def from_matrices(items: Sequence[Any], directed: bool, first: int = 0) -> GraphBatch:
    """Convert all at once, which takes a tenth of the time of a :class:`Graph` for each.

    ``first`` is what messages call the first of them.
    """
    found, features = [], []
    for i, item in enumerate(items, start=first):
        adjacency, own = item if isinstance(item, tuple) else (item, None)
        try:
            found.append(entries(adjacency))
            features.append(None if own is None else check_features(own, found[-1].n_nodes))
        except InputError as error:
            raise InputError(f"graph {i}: {error}") from None
    sizes = np.array([one.n_nodes for one in found], dtype=np.int64)
    batch = assemble(
        Found(
            sizes=sizes,
            counts=np.array([len(one.rows) for one in found], dtype=np.int64),
            tails=np.concatenate([one.rows for one in found]).astype(np.int64),
            heads=np.concatenate([one.cols for one in found]).astype(np.int64),
            one_way=np.full(len(items), directed),
            parallel=False,
            nodes=Columns({}),
            edges=Columns({"weight": np.concatenate([one.weights for one in found])}),
            graph_names=range(first, first + len(items)),
        ),
        Choice(edge_weights=("weight",)),
        None,
    )
    return replace(batch, features=joined(features, sizes.tolist(), "features"))
