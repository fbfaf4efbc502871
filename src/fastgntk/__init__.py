"""Graph Neural Tangent Kernels, exact and fast.

>>> import fastgntk as fg
>>> data = fg.datasets.load("MUTAG")
>>> K = fg.gram(data.graphs[:10], fg.GNTK(blocks=2))
>>> K.shape
(10, 10)
"""

from fastgntk import datasets
from fastgntk._version import __version__
from fastgntk.errors import DownloadError, InputError
from fastgntk.graph import Graph, GraphBatch, NodeFeatures, UnseenLabelWarning, graphs
from fastgntk.kernel import GNTK
from fastgntk.matrix import GramPath, cross_gram, diagonal, gram, gram_path, normalize

__all__ = [
    "Graph",
    "GraphBatch",
    "graphs",
    "NodeFeatures",
    "GNTK",
    "gram",
    "cross_gram",
    "diagonal",
    "gram_path",
    "GramPath",
    "normalize",
    "datasets",
    "InputError",
    "DownloadError",
    "UnseenLabelWarning",
    "__version__",
]
