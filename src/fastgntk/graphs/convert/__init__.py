"""Converters: graphs of other libraries to and from :class:`fastgntk.GraphBatch`.

=========================  ================================================================
``_as_graphs``             :func:`as_graphs`, which recognises every form
``_networkx_igraph``       NetworkX and igraph graphs, dictionaries in node-link form
``_geometric``             PyTorch Geometric
``_grakel``                GraKeL's tuples and objects
``_molecule``              SMILES and RDKit molecules
``_molecule_descriptors``  RDKit's descriptors and Morgan fingerprints of molecules
``_matrices``              lists of adjacency matrices, and arrays of shape (n, N, N)
``_export``                to NetworkX and PyTorch Geometric
``_tables``                tables of named attributes, filled graph by graph
``_attributes``            selection among the attributes, and their values as arrays
``_graph_descriptors``     attributes of whole graphs as descriptors
``_assemble``              nodes and edges of many graphs to one batch
=========================  ================================================================
"""

from fastgntk.graphs.convert._as_graphs import as_graphs
from fastgntk.graphs.convert._assemble import ParsedGraphs, assemble
from fastgntk.graphs.convert._attributes import AttributeNames, Names, UnusedAttributesWarning
from fastgntk.graphs.convert._export import to_geometric, to_networkx
from fastgntk.graphs.convert._geometric import data_list, to_numpy
from fastgntk.graphs.convert._molecule import ATOM_FEATURES, BOND_KINDS, AtomFeature, from_smiles, molecule, molecules
from fastgntk.graphs.convert._molecule_descriptors import (
    MOLECULE_DESCRIPTORS,
    check_descriptor_names,
    descriptor_names,
    molecule_descriptors,
)
from fastgntk.graphs.convert._networkx_igraph import graph_attributes, node_names
from fastgntk.graphs.convert._tables import Columns

__all__ = ["as_graphs", "ParsedGraphs", "assemble"]
__all__ += ["AttributeNames", "Names", "UnusedAttributesWarning", "Columns"]
__all__ += ["to_geometric", "to_networkx", "data_list", "to_numpy"]
__all__ += ["ATOM_FEATURES", "BOND_KINDS", "AtomFeature", "from_smiles", "molecule", "molecules"]
__all__ += ["graph_attributes", "node_names"]
__all__ += ["MOLECULE_DESCRIPTORS", "check_descriptor_names", "descriptor_names", "molecule_descriptors"]
