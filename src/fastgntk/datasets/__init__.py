"""Data sets: by name, from files in TU format, from tables of molecules, or made from a seed.

=================  =====================================================================
``_load``          :func:`load` and where it looks
``_registry``      the known names with their counts, one row each
``_dataset``       :class:`Dataset`: graphs, targets, a name
``_tu_reader``     :func:`read_tu`, from a folder or zip file
``_tu_text``       its text files as arrays, quickly
``_tu_writer``     :func:`write_tu`
``_table``         :func:`read_table`, molecules as SMILES in a CSV file
``_edge_list``     :func:`read_edge_list`, edges in a CSV file with a column that says of which graph
``_node_link``     :func:`read_node_link`, JSON files in node-link form
``_text_table``    CSV files as text
``_objects``       :func:`from_networkx`, :func:`from_geometric`: graphs that carry targets
``_cache``         parsed sets in binary form
``_fetch``         downloads
``synthetic``      random families with a seed
``bundled/``       MUTAG, so that the first command works offline
=================  =====================================================================
"""

from fastgntk.datasets import synthetic
from fastgntk.datasets._cache import cache_folder
from fastgntk.datasets._dataset import Counts, Dataset, NamedDataset
from fastgntk.datasets._edge_list import read_edge_list
from fastgntk.datasets._load import find, load
from fastgntk.datasets._node_link import read_node_link
from fastgntk.datasets._objects import from_geometric, from_networkx
from fastgntk.datasets._registry import REGISTRY
from fastgntk.datasets._table import MoleculeTable, read_columns, read_table
from fastgntk.datasets._tu_reader import read_tu
from fastgntk.datasets._tu_writer import write_tu

__all__ = [
    "load",
    "find",
    "read_tu",
    "write_tu",
    "read_table",
    "read_columns",
    "MoleculeTable",
    "read_edge_list",
    "read_node_link",
    "from_networkx",
    "from_geometric",
    "Dataset",
    "NamedDataset",
    "Counts",
    "REGISTRY",
    "cache_folder",
    "synthetic",
]
