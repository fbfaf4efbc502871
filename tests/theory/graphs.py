"""Graphs for tests of the theory."""

from __future__ import annotations

import numpy as np
from tests.tables import FAMILIES

from fastgntk import Graph


def non_negative(family: str) -> list[Graph]:
    """Return a family with the absolute values of its features, as the assumptions of the paper want them."""
    graphs = FAMILIES[family]
    return [
        g if g.features is None else Graph(g.adjacency, np.abs(g.features), directed=True) for g in graphs
    ]  # directed: the adjacency is taken as it is, both directions of an edge included
