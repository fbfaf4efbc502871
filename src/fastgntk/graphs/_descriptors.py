"""Descriptors: named blocks of numbers that a graph carries as a whole, such as a temperature or a fingerprint.

A block of n graphs is a float64 array (n, d), or a CSR array, for fingerprints with thousands of columns. A row of NaN
stands for a graph without the block; kernels that use the block refuse such graphs, all others ignore it.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from scipy import sparse

from fastgntk._util.arrays import Bools
from fastgntk.errors import InputError

__all__ = ["check_block", "check_graph_descriptors", "is_missing", "single_row", "stack_descriptors"]


def check_block(name: Any, values: Any, n_graphs: int) -> Any:
    """Return a copy of a block as float64, (n, d), dense or CSR; numbers (n,) are a block of one column."""
    _check_name(name)
    block = _as_floats(name, values)
    if block.ndim == 1:
        block = block[:, None]
    if block.ndim != 2 or block.shape[0] != n_graphs or not block.shape[1]:
        raise InputError(
            f"descriptors {name!r} must have a row of numbers for each of the {n_graphs} graphs, but have shape "
            f"{block.shape}."
        )
    return block


def check_graph_descriptors(descriptors: Any) -> dict[str, Any]:
    """Return the descriptors of one graph: (d,) float64 by name, or (1, d) CSR; a number is a block of one column."""
    if descriptors is None:
        return {}
    if not isinstance(descriptors, Mapping):
        kind = type(descriptors).__name__
        raise InputError(f"descriptors must be a mapping of names to numbers or vectors, but is a {kind}.")
    checked = {}
    for name, values in descriptors.items():
        _check_name(name)
        row = np.atleast_1d(_as_floats(name, values)) if not sparse.issparse(values) else _as_floats(name, values)
        if row.shape[: row.ndim - 1] != (() if row.ndim == 1 else (1,)) or not row.shape[-1]:
            raise InputError(
                f"descriptors {name!r} of a graph must be a number or a vector, but have shape {row.shape}."
            )
        checked[name] = row if sparse.issparse(row) else row.ravel()
    return checked


def single_row(block: Any) -> Any:
    """Return the descriptors of a single graph from a block of one row: (d,), or (1, d) if sparse."""
    return block if sparse.issparse(block) else block[0]


def stack_descriptors(rows: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return the blocks of graphs from the descriptors of each; rows of graphs that lack a block are NaN."""
    names = dict.fromkeys(name for row in rows for name in row)
    return {name: _stack(name, [row.get(name) for row in rows]) for name in names}


def is_missing(block: Any) -> Bools:
    """Return for each graph whether it lacks the block: whether all of its numbers are NaN."""
    if not sparse.issparse(block):
        return np.asarray(np.isnan(block).all(axis=1))
    undefined = sparse.csr_array((np.isnan(block.data).astype(np.int64), block.indices, block.indptr), block.shape)
    return np.asarray(undefined.sum(axis=1) == block.shape[1]).ravel()


def _stack(name: str, rows: list[Any]) -> Any:
    present = [i for i, row in enumerate(rows) if row is not None]
    first = present[0]
    width = int(rows[first].shape[-1])
    for i in present:
        if rows[i].shape[-1] != width:
            raise InputError(
                f"descriptors {name!r} must have the same width in all graphs, but graph {first} has {width} and "
                f"graph {i} has {rows[i].shape[-1]}."
            )
    filled = [np.full(width, np.nan) if row is None else row for row in rows]
    if any(sparse.issparse(row) for row in filled):
        return sparse.vstack([sparse.csr_array(row.reshape(1, -1)) for row in filled], format="csr")
    return np.stack(filled)


def _check_name(name: Any) -> None:
    if not isinstance(name, str) or not name:
        raise InputError(f"the name of descriptors must be text, such as 'dose', but is {name!r}.")


def _as_floats(name: str, values: Any) -> Any:
    if sparse.issparse(values):
        block = sparse.csr_array(values, dtype=np.float64, copy=True)
        block.sum_duplicates()  # also sorts the columns of each row
        return block
    try:
        return np.array(values, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        raise InputError(f"descriptors {name!r} must be numbers, the same number of them for each graph.") from None
