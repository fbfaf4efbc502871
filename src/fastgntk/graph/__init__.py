"""Graphs: how they are held, and what their nodes start with.

================  =========================================================================
"""

from fastgntk.graph._attributes import UnusedAttributesWarning
from fastgntk.graph._batch import GraphBatch
from fastgntk.graph._convert import graphs
from fastgntk.graph._description import Description, EqualGraphs, Spread
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
    "UnseenLabelWarning",
    "from_smiles",
    "molecule",
    "molecules",
    "ATOM_FEATURES",
    "AtomFeature",
    "BOND_KINDS",
]
