"""Graphs: how they are held, and what their nodes start with.

===============  =========================================================================
``_graph``       :class:`Graph`, one graph from arrays
``_batch``       :class:`GraphBatch`, many graphs in concatenated compressed rows
``_csr``         the canonical form of adjacency: where loops, duplicates and bad edges end
``_convert``     :func:`graphs`, from what people have to a batch
``_features``    :class:`NodeFeatures`, one-hot labels or degrees as a fitted step
===============  =========================================================================
"""

from fastgntk.graph._batch import GraphBatch
from fastgntk.graph._convert import graphs
from fastgntk.graph._features import FeatureKind, NodeFeatures, UnseenLabelWarning
from fastgntk.graph._graph import Graph

__all__ = ["Graph", "GraphBatch", "graphs", "NodeFeatures", "FeatureKind", "UnseenLabelWarning"]
