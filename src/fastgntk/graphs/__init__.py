"""Graphs: data structures, converters and node features.

========================  ==========================================================================================
``_graph``                :class:`Graph`, a single graph
``_batch``                :class:`GraphBatch`, many graphs in concatenated compressed rows
``_csr``                  the canonical form of an adjacency: self loops, duplicates and invalid edges
``_node_features``        :class:`NodeFeatures`, one-hot labels or degrees as a fitted step; edge types
``_descriptors``          named blocks of numbers for each graph as a whole: checks, and rows of single graphs
``_descriptor_scaling``   :class:`DescriptorScaling`, standardised columns as a fitted step
``_sketch_keys``          what decides the sketch of a graph: a digest of its content, or a key of the caller
``_statistics``           :class:`Description`, summary statistics of a batch
``convert/``              :func:`as_graphs`, converters of other libraries, and export
========================  ==========================================================================================
"""

from fastgntk.graphs._batch import GraphBatch
from fastgntk.graphs._csr import from_edges
from fastgntk.graphs._descriptor_scaling import DescriptorScaling, ScalingKind
from fastgntk.graphs._descriptors import check_block
from fastgntk.graphs._graph import Graph
from fastgntk.graphs._node_features import EdgeTypes, FeatureKind, NodeFeatures, UnseenLabelWarning
from fastgntk.graphs._sketch_keys import content_keys
from fastgntk.graphs._statistics import Description, EqualGraphs, Spread
from fastgntk.graphs.convert import (
    ATOM_FEATURES,
    BOND_KINDS,
    MOLECULE_DESCRIPTORS,
    AtomFeature,
    UnusedAttributesWarning,
    as_graphs,
    check_descriptor_names,
    descriptor_names,
    from_smiles,
    molecule,
    molecule_descriptors,
    molecules,
    to_geometric,
    to_networkx,
)

__all__ = ["Graph", "GraphBatch", "content_keys", "from_edges"]
__all__ += ["as_graphs", "to_networkx", "to_geometric", "UnusedAttributesWarning", "from_smiles", "molecule"]
__all__ += ["molecules", "ATOM_FEATURES", "AtomFeature", "BOND_KINDS"]
__all__ += ["Description", "EqualGraphs", "Spread"]
__all__ += ["NodeFeatures", "FeatureKind", "EdgeTypes", "UnseenLabelWarning"]
__all__ += ["DescriptorScaling", "ScalingKind", "check_block"]
__all__ += ["molecule_descriptors", "descriptor_names", "check_descriptor_names", "MOLECULE_DESCRIPTORS"]
