"""Converters: graphs of other libraries to and from :class:`fastgntk.GraphBatch`.

================  ==================================================================
``_as_graphs``    :func:`as_graphs`, which recognises every form
``_networkx``     NetworkX graphs
``_node_link``    dictionaries in NetworkX's node-link form
``_geometric``    PyTorch Geometric
``_igraph``       igraph graphs
``_grakel``       GraKeL's tuples and objects
``_molecule``     SMILES and RDKit molecules
``_matrices``     lists of adjacency matrices
``_stack``        arrays of shape (n, N, N)
``_export``       back to NetworkX and PyTorch Geometric
``_attributes``   attributes that nodes and edges have by name
``_columns``      values of many graphs, gathered a graph at a time
``_assemble``     flat lists of nodes and edges to one batch
================  ==================================================================
"""

from fastgntk.graphs.convert._as_graphs import as_graphs
from fastgntk.graphs.convert._assemble import Found, assemble
from fastgntk.graphs.convert._attributes import Choice, Columns, Names, UnusedAttributesWarning
from fastgntk.graphs.convert._export import to_geometric, to_networkx
from fastgntk.graphs.convert._geometric import data_list, plain
from fastgntk.graphs.convert._molecule import ATOM_FEATURES, BOND_KINDS, AtomFeature, from_smiles, molecule, molecules
from fastgntk.graphs.convert._node_link import from_node_link, graph_attributes, node_names

__all__ = [
    "as_graphs",
    "Found",
    "assemble",
    "Choice",
    "Columns",
    "Names",
    "UnusedAttributesWarning",
    "to_geometric",
    "to_networkx",
    "data_list",
    "plain",
    "ATOM_FEATURES",
    "BOND_KINDS",
    "AtomFeature",
    "from_smiles",
    "molecule",
    "molecules",
    "from_node_link",
    "graph_attributes",
    "node_names",
]
