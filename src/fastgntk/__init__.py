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
from fastgntk.graph import (
    Description,
    Graph,
    GraphBatch,
    NodeFeatures,
    UnseenLabelWarning,
    UnusedAttributesWarning,
    graphs,
    to_geometric,
    to_networkx,
)
from fastgntk.kernel import GNTK
from fastgntk.matrix import (
    Estimate,
    Forecast,
    GramPath,
    NotSketchedWarning,
    PreparedGraphs,
    StoredGram,
    cross_gram,
    diagonal,
    estimate,
    forecast,
    gram,
    gram_path,
    node_gram,
    node_shares,
    normalize,
    open_gram,
    prepare,
)

__all__ = [
    "Graph",
    "GraphBatch",
    "graphs",
    "to_networkx",
    "to_geometric",
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
    "learn",
    "theory",
    "report",
    "InputError",
    "DownloadError",
    "UnseenLabelWarning",
    "UnusedAttributesWarning",
    "NotSketchedWarning",
    "__version__",
]

# Imported when first used: `import fastgntk` stays quick.
_FOLDERS = ("learn", "theory", "report")
_LEARNING = (
    *("GNTKRegressor", "GNTKClassifier", "GNTKRegressorCV", "GNTKClassifierCV", "GNTKKernel"),
    *("GNTKNystroem", "GNTKRandomFeatures", "GNTKNodeRegressor", "GNTKNodeClassifier", "load_model"),
)


def __getattr__(name: str) -> Any:
    if name in _FOLDERS:
        return import_module(f"fastgntk.{name}")
    if name in _LEARNING:
        return getattr(import_module("fastgntk.learn"), name)
    raise AttributeError(f"module 'fastgntk' has no attribute {name!r}")
