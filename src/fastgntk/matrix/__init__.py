"""Kernel matrices: which pairs are computed, in which pieces, by how many workers.

=================  ==================================================================
``_gram``          :func:`gram`, :func:`cross_gram`, :func:`diagonal`, :func:`gram_path`
``_path``          :class:`GramPath`, every depth from one pass
``_prepared``      :func:`prepare`, graphs made ready once for many rows
``_shares``        :func:`node_shares`, what each node of a graph adds to its kernel
``_node_gram``     :func:`node_gram`, the kernel between nodes of one graph
``_normalize``     :func:`normalize`
``_forecast``      :func:`forecast`, what a matrix will take
``_estimate``      :func:`estimate`, what a stored one will take on many workers, from a sample
``_describe``      :func:`describe`, what is in a set of graphs
``_options``       what all of them take, checked
``_run``           engine, blocks, memory, tiles: one computation
``_plan``          blocks and tiles, pure functions of sizes and colours
``_executor``      tasks on threads, with progress
``_resources``     workers and memory of this machine
``store/``         matrices on disk: :func:`open_gram`, :class:`StoredGram`
=================  ==================================================================

Nothing here knows the formula, and no engine knows of tiles. No option here changes values beyond rounding,
except those of a sketch.
"""

from fastgntk.matrix._describe import describe
from fastgntk.matrix._estimate import Estimate, estimate
from fastgntk.matrix._executor import Progress, single_threaded_blas
from fastgntk.matrix._executor import run as run_on_threads
from fastgntk.matrix._forecast import Forecast, forecast
from fastgntk.matrix._gram import cross_gram, diagonal, gram, gram_path
from fastgntk.matrix._node_gram import check_nodes, node_diagonal, node_gram
from fastgntk.matrix._normalize import normalize
from fastgntk.matrix._options import NotSketchedWarning, fitted
from fastgntk.matrix._path import GramPath
from fastgntk.matrix._prepared import PreparedGraphs, prepare
from fastgntk.matrix._resources import Memory, Workers, format_bytes, memory_budget, round_up_bytes, worker_count
from fastgntk.matrix._run import check_result
from fastgntk.matrix._shares import node_shares, node_shares_in_chunks
from fastgntk.matrix.store import (
    StoredGram,
    check_shard,
    connected,
    fingerprint,
    is_store,
    local_workers,
    open_gram,
    stored_gram_of,
)

__all__ = [
    "gram",
    "cross_gram",
    "diagonal",
    "gram_path",
    "node_shares",
    "node_shares_in_chunks",
    "node_gram",
    "node_diagonal",
    "check_nodes",
    "GramPath",
    "open_gram",
    "StoredGram",
    "check_shard",
    "is_store",
    "stored_gram_of",
    "fingerprint",
    "check_result",
    "connected",
    "local_workers",
    "prepare",
    "PreparedGraphs",
    "forecast",
    "Forecast",
    "estimate",
    "Estimate",
    "describe",
    "normalize",
    "NotSketchedWarning",
    "Progress",
    "Memory",
    "Workers",
    "worker_count",
    "memory_budget",
    "format_bytes",
    "round_up_bytes",
    "single_threaded_blas",
    "run_on_threads",
    "fitted",
]
