"""Random batches of graphs for what must hold for all of them: round trips through other libraries and files."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st

from fastgntk import Graph, GraphBatch

FIELDS = ("offsets", "indptr", "indices", "weights", "features", "labels", "edge_labels")

WORDS = st.text("abé ", max_size=3)
NUMBERS = st.floats(-1e6, 1e6)


def same(one: GraphBatch, two: GraphBatch) -> None:
    """Check that two batches hold the same; attributes of no nodes, or of no edges, are the same as none."""
    for field in FIELDS:
        a, b = getattr(one, field), getattr(two, field)
        if a is None or b is None:
            assert not any(part is not None and part.size for part in (a, b)), field
        else:
            assert a.tolist() == b.tolist(), field
            assert a.dtype.kind == b.dtype.kind or not a.size, field


@st.composite
def batches(
    draw, *, text: bool = True, directed: bool | None = None, columns: int = 2, empty: bool = True
) -> GraphBatch:
    """Draw graphs with isolated nodes, and weights, labels of nodes and edges and features or none of them."""
    one_way = draw(st.booleans()) if directed is None else directed
    label = draw(st.sampled_from([st.integers(-3, 3), WORDS] if text else [st.integers(-3, 3)]))
    edge_label = draw(st.sampled_from([st.integers(-3, 3), WORDS] if text else [st.integers(-3, 3)]))
    width = draw(st.integers(0, columns))  # of labels
    has_features, has_weights, has_edge_labels = (draw(st.booleans()) for _ in range(3))
    graphs = []
    for _ in range(draw(st.integers(1, 4))):
        n = draw(st.integers(0 if empty else 1, 5))
        node = st.integers(0, max(n - 1, 0))
        drawn = draw(st.lists(st.tuples(node, node).filter(lambda e: e[0] != e[1]), max_size=8)) if n > 1 else []
        edges = list(dict.fromkeys(e if one_way else tuple(sorted(e)) for e in drawn))
        each = lambda kind, count: draw(st.lists(kind, min_size=count, max_size=count))  # noqa: E731
        labels = [each(label, width) for _ in range(n)]
        graphs.append(
            Graph.from_edges(
                edges,
                n,
                np.array([each(NUMBERS, 2) for _ in range(n)]).reshape(n, 2) if has_features else None,
                labels=None if not width else [row[0] for row in labels] if width == 1 else labels,
                weights=each(NUMBERS.filter(bool), len(edges)) if has_weights else None,
                edge_labels=each(edge_label, len(edges)) if has_edge_labels else None,
                directed=one_way,
            )
        )
    return GraphBatch.from_graphs(graphs)
