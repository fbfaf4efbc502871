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

from fastgntk._util.memory import Memory, Workers, memory_budget, worker_count
from fastgntk._util.text import format_bytes, round_up_bytes
from fastgntk._util.threads import Progress, single_threaded_blas
from fastgntk._util.threads import run as run_on_threads
from fastgntk.pairwise._cluster_cost import Estimate, estimate
from fastgntk.pairwise._cost import Forecast, forecast
from fastgntk.pairwise._describe import describe
from fastgntk.pairwise._gram import combine, cross_gram, diagonal, gram, gram_path, write_both_triangles
from fastgntk.pairwise._node_contributions import node_shares, node_shares_in_chunks
from fastgntk.pairwise._node_gram import check_nodes, node_diagonal, node_gram
from fastgntk.pairwise._normalize import normalize
from fastgntk.pairwise._options import NotSketchedWarning, Options, fitted
from fastgntk.pairwise._path import GramPath
from fastgntk.pairwise._plan import plan_gram
from fastgntk.pairwise._prepared import PreparedGraphs, prepare
from fastgntk.pairwise._run import check_result
from fastgntk.pairwise.store import (
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
    "Options",
    "combine",
    "plan_gram",
    "write_both_triangles",
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
