"""Data sets: by name, from files and objects of other libraries, or synthetic.

===================  =========================================================================
``_load``            :func:`load`: the registry of named sets, lookup, download, verification and cache
``_dataset``         :class:`Dataset`: graphs, targets, a name
``_tu``              :func:`read_tu` and :func:`write_tu`, the TU format
``_text_table``      CSV files as columns of text
``_molecule_table``  :func:`read_table`, molecules as SMILES in a CSV file
``_edge_list``       :func:`read_edge_list`, edges of many graphs in a CSV file
``_interop``         :func:`from_networkx`, :func:`from_geometric`, :func:`read_node_link`: graphs with targets
``synthetic``        random graph families
``bundled/``         MUTAG, so that the first command works offline
===================  =========================================================================
"""

from fastgntk.datasets import synthetic
from fastgntk.datasets._dataset import Counts, Dataset, NamedDataset
from fastgntk.datasets._edge_list import EdgeListColumns, read_edge_list
from fastgntk.datasets._interop import from_geometric, from_networkx, read_node_link
from fastgntk.datasets._load import REGISTRY, cache_folder, find, load
from fastgntk.datasets._molecule_table import MoleculeTable, read_columns, read_table
from fastgntk.datasets._tu import read_tu, write_tu

__all__ = ["load", "find", "REGISTRY", "cache_folder", "read_tu", "write_tu"]
__all__ += ["read_table", "read_columns", "MoleculeTable", "read_edge_list", "EdgeListColumns"]
__all__ += ["read_node_link", "from_networkx", "from_geometric"]
__all__ += ["Dataset", "NamedDataset", "Counts", "synthetic"]
