"""Graph Neural Tangent Kernels, exact and fast.

>>> import fastgntk as fg
>>> data = fg.datasets.load("MUTAG")
>>> K = fg.gram(data.graphs[:10], fg.GNTK(blocks=2))
>>> K.shape
(10, 10)
"""

from importlib import import_module
from typing import Any

from fastgntk import datasets
from fastgntk._version import __version__
from fastgntk.errors import DownloadError, InputError
from fastgntk.graphs import (
    Description,
    Graph,
    GraphBatch,
    NodeFeatures,
    UnseenLabelWarning,
    UnusedAttributesWarning,
    as_graphs,
    to_geometric,
    to_networkx,
)
from fastgntk.kernels import GNTK
from fastgntk.pairwise import (
    Estimate,
    Forecast,
    GramPath,
    NotSketchedWarning,
    PreparedGraphs,
    cross_gram,
    describe,
    diagonal,
    estimate,
    forecast,
    gram,
    gram_path,
    node_gram,
    node_shares,
    normalize,
    prepare,
)
from fastgntk.pairwise.store import StoredGram, open_gram

__all__ = [
    "Graph",
    "GraphBatch",
    "as_graphs",
    "to_networkx",
    "to_geometric",
    "describe",
    "Description",
    "NodeFeatures",
    "GNTK",
    "gram",
    "cross_gram",
    "diagonal",
    "gram_path",
    "node_shares",
    "node_gram",
    "GramPath",
    "open_gram",
    "StoredGram",
    "prepare",
    "PreparedGraphs",
    "forecast",
    "Forecast",
    "estimate",
    "Estimate",
    "normalize",
    "GNTKRegressor",
    "GNTKClassifier",
    "GNTKRegressorCV",
    "GNTKClassifierCV",
    "GNTKKernel",
    "GNTKNystroem",
    "GNTKRandomFeatures",
    "GNTKNodeRegressor",
    "GNTKNodeClassifier",
    "load_model",
    "datasets",
    "compat",
    "models",
    "plotting",
    "report",
    "selection",
    "solvers",
    "theory",
    "InputError",
    "DownloadError",
    "UnseenLabelWarning",
    "UnusedAttributesWarning",
    "NotSketchedWarning",
    "__version__",
]

# Imported when first used: `import fastgntk` stays quick.
_FOLDERS = ("compat", "models", "persistence", "plotting", "report", "selection", "solvers", "theory")
_LAZY = {
    **dict.fromkeys(("GNTKRegressor", "GNTKClassifier", "GNTKKernel", "GNTKNystroem", "GNTKRandomFeatures"), "models"),
    **dict.fromkeys(("GNTKNodeRegressor", "GNTKNodeClassifier"), "models"),
    **dict.fromkeys(("GNTKRegressorCV", "GNTKClassifierCV"), "selection"),
    "load_model": "persistence",
}


def __getattr__(name: str) -> Any:
    if name in _FOLDERS:
        return import_module(f"fastgntk.{name}")
    if name in _LAZY:
        return getattr(import_module(f"fastgntk.{_LAZY[name]}"), name)
    raise AttributeError(f"module 'fastgntk' has no attribute {name!r}")
