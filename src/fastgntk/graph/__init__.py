"""Graphs: how they are held, and what their nodes start with.

================  =========================================================================
``_graph``        :class:`Graph`, one graph from arrays
``_batch``        :class:`GraphBatch`, many graphs in concatenated compressed rows
``_description``  :class:`Description`, what is in a batch, in numbers
``_csr``          the canonical form of adjacency: where loops, duplicates and bad edges end
``_convert``      :func:`graphs`, from what people have to a batch; which converter takes what
``_networkx``     NetworkX
``_igraph``       igraph
``_geometric``    PyTorch Geometric
``_grakel``       GraKeL
``_node_link``    dictionaries in node-link form
``_matrices``     lists of adjacency matrices, with features or without
``_stack``        arrays of shape (n, N, N)
``_attributes``   attributes by name: which count as what
``_gathered``     values of many graphs, gathered as arrays where they are numbers
``_assemble``     where all of these end: nodes and edges of many graphs to one batch
``_export``       :func:`to_networkx`, :func:`to_geometric`: the way back
``_edge_types``   edge labels as numbers
``_features``     :class:`NodeFeatures`, one-hot labels or degrees as a fitted step
``_molecule``     :func:`from_smiles`, :func:`molecule`: molecules by RDKit, and what atoms start with
================  =========================================================================
"""

from fastgntk.graph._attributes import UnusedAttributesWarning
from fastgntk.graph._batch import GraphBatch
from fastgntk.graph._convert import graphs
from fastgntk.graph._description import Description, EqualGraphs, Spread
from fastgntk.graph._edge_types import EdgeTypes
from fastgntk.graph._export import to_geometric, to_networkx
from fastgntk.graph._features import FeatureKind, NodeFeatures, UnseenLabelWarning
from fastgntk.graph._graph import Graph
from fastgntk.graph._molecule import ATOM_FEATURES, BOND_KINDS, AtomFeature, from_smiles, molecule, molecules

__all__ = [
    "Graph",
    "GraphBatch",
    "graphs",
    "to_networkx",
    "to_geometric",
    "UnusedAttributesWarning",
    "Description",
    "EqualGraphs",
    "Spread",
    "NodeFeatures",
    "FeatureKind",
    "EdgeTypes",
    "UnseenLabelWarning",
    "from_smiles",
    "molecule",
    "molecules",
    "ATOM_FEATURES",
    "AtomFeature",
    "BOND_KINDS",
]
