"""Converters: graphs of other libraries to and from :class:`fastgntk.GraphBatch`.

=====================  ================================================================
``_as_graphs``         :func:`as_graphs`, which recognises every form
``_networkx``          NetworkX graphs
``_node_link``         dictionaries in NetworkX's node-link form
``_geometric``         PyTorch Geometric
``_igraph``            igraph graphs
``_grakel``            GraKeL's tuples and objects
``_molecule``          SMILES and RDKit molecules
``_matrices``          lists of adjacency matrices, and arrays of shape (n, N, N)
``_export``            to NetworkX and PyTorch Geometric
``_attributes``        tables of named attributes, and the selection among them
``_attribute_arrays``  labels and numbers of the selected attributes as arrays
``_column_buffer``     buffers for the values of many graphs
``_assemble``          nodes and edges of many graphs to one batch
=====================  ================================================================
"""

from fastgntk.graphs.convert._as_graphs import as_graphs
from fastgntk.graphs.convert._assemble import ParsedGraphs, assemble
from fastgntk.graphs.convert._attributes import AttributeNames, Columns, Names, UnusedAttributesWarning
from fastgntk.graphs.convert._export import to_geometric, to_networkx
from fastgntk.graphs.convert._geometric import data_list, to_numpy
from fastgntk.graphs.convert._molecule import ATOM_FEATURES, BOND_KINDS, AtomFeature, from_smiles, molecule, molecules
from fastgntk.graphs.convert._node_link import graph_attributes, node_names, parse_node_link

__all__ = [
    "as_graphs",
    "ParsedGraphs",
    "assemble",
    "AttributeNames",
    "Columns",
    "Names",
    "UnusedAttributesWarning",
    "to_geometric",
    "to_networkx",
    "data_list",
    "to_numpy",
    "ATOM_FEATURES",
    "BOND_KINDS",
    "AtomFeature",
    "from_smiles",
    "molecule",
    "molecules",
    "parse_node_link",
    "graph_attributes",
    "node_names",
]
