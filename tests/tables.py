"""The tables that the property tests run over. A new engine, kernel or family of graphs is one row here."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy import sparse

from fastgntk import RBF, WL, WLOA, Compute, Graph, GraphBatch, Kernel, Linear, Sketch, Tanimoto
from fastgntk.engines import EXACT_ENGINES
from fastgntk.kernels import GNTK, NNGP, Leaf, Network

ENGINES = list(EXACT_ENGINES)
"""Those that give the same numbers."""
ALL_ENGINES = [*ENGINES, "sketched"]
"""With the one that a sketch in the kernel chooses."""


def by_engine(name: str, kernel: Kernel = GNTK(), **limits: Any) -> dict[str, Any]:
    """Arguments of ``gram`` and its relatives: exact engines of networks are an option, others are the kernel's own."""
    if name not in ENGINES:
        if not isinstance(kernel, Network):
            return {"kernel": kernel, "compute": Compute(**limits)}
        sketch = Sketch() if kernel.sketch is None else kernel.sketch
        return {"kernel": replace(kernel, sketch=sketch), "compute": Compute(**limits)}
    return {"kernel": kernel, "compute": Compute(engine=name, **limits)}


@contextmanager
def case(*names: object) -> Iterator[None]:
    """Name a row of a table in the failure of a test that loops over many."""
    try:
        yield
    except Exception as error:
        error.add_note(f"in the case {', '.join(map(str, names))}")
        raise


def covering(engines: list[str], kernel: str, families: list[str]) -> list[tuple[str, str]]:
    """Rows (engine, family) for one kernel; over all kernels, every pair of engine, kernel and family is in some row.

    Engines take turns along the families, and each kernel starts with the next engine.
    """
    if kernel in OTHER_KERNELS:
        return every_row(engines, kernel, families)
    start = list(KERNELS).index(kernel)
    return [(engines[(start + i) % len(engines)], family) for i, family in enumerate(families)]


def every_row(engines: list[str], kernel: str, families: list[str]) -> list[tuple[str, str]]:
    """Rows (engine, family) for one kernel: all pairs, or what is defined for a kernel with an engine of its own."""
    if kernel not in OTHER_KERNELS:
        return [(engine, family) for family in families for engine in engines]
    return [("its own", family) for family in families if takes(OTHER_KERNELS[kernel], family)]


def takes(kernel: Leaf, family: str) -> bool:
    """Whether a kernel is defined on a family: discrete ones are not on continuous features."""
    return kernel.features in ("auto", "degree") or FAMILIES[family][0].features is None


KERNELS = {
    "one block, one layer": GNTK(blocks=1, layers=1, scale="uniform", jump=False),
    "one block, degree, jump": GNTK(blocks=1, layers=2, scale="degree", jump=True),
    "unit, jump": GNTK(blocks=2, layers=1, scale="unit", jump=True),
    "unit, deep layers": GNTK(blocks=2, layers=3, scale="unit", jump=False),
    "the default": GNTK(),
    "degree, no jump": GNTK(blocks=3, layers=2, scale="degree", jump=False),
    "weighted levels": GNTK(blocks=2, layers=1, scale="degree", jump=(0.3, 0.0, 1.7)),
    "small c_phi": GNTK(blocks=2, layers=2, scale="uniform", jump=True, c_phi=0.7),
    "large c_phi": GNTK(blocks=2, layers=1, scale="degree", jump=False, c_phi=3.1),
    "given scale": GNTK(blocks=3, layers=2, scale="given", jump=True),
    "typed edges": GNTK(blocks=3, layers=2, scale="uniform", jump=True, edges="typed"),
    "symmetric": GNTK(blocks=3, layers=2, scale="symmetric", jump=True),
    "no self weight": GNTK(blocks=3, layers=2, scale="uniform", jump=True, self_weight=0.0),
    "large self weight": GNTK(blocks=2, layers=1, scale="degree", jump=True, self_weight=2.5),
    "mean pooling": GNTK(blocks=2, layers=1, scale="degree", jump=True, pool="mean"),
    "Gaussian process": NNGP(blocks=3, layers=2, scale="degree", jump=True),
    "absolute value": GNTK(blocks=3, layers=1, scale="uniform", jump=True, activation="abs"),
    "residual": GNTK(blocks=3, layers=2, scale="degree", jump=True, residual=0.3),
}
OTHER_KERNELS: dict[str, Leaf] = {
    "subtrees": WL(3),
    "subtrees, degrees": WL(2, features="degree"),
    "subtrees, typed edges": WL(2, edges="typed", features="degree"),
    "no iterations": WL(0),
    "assignment": WLOA(3),
    "assignment, typed edges": WLOA(2, edges="typed", features="degree"),
}
"""Kernels that are no networks; each family of them has one engine."""
LEAVES = KERNELS | OTHER_KERNELS
ALL_KERNELS = KERNELS | {
    "typed edges, degree": GNTK(blocks=2, layers=1, scale="degree", jump=False, c_phi=1.3, edges="typed"),
    "typed edges, given scale": GNTK(blocks=2, layers=1, scale="given", jump=(0.5, 1.0, 2.0), c_phi=1.3, edges="typed"),
    "typed edges, unit": GNTK(blocks=2, layers=2, scale="unit", jump=True, edges="typed"),
    "no self weight, degree": GNTK(blocks=2, layers=1, scale="degree", jump=False, self_weight=0.0),
    "no self weight, unit": GNTK(blocks=3, layers=1, scale="unit", jump=True, edges="typed", self_weight=0.0),
    "typed edges, small self weight": GNTK(blocks=2, layers=2, c_phi=1.3, jump=False, edges="typed", self_weight=0.5),
    "given scale, small self weight": GNTK(blocks=2, layers=1, scale="given", jump=True, self_weight=0.5),
    "symmetric, small self weight": GNTK(blocks=2, layers=1, scale="symmetric", c_phi=1.3, self_weight=0.5),
    "symmetric, typed edges": GNTK(blocks=2, layers=2, scale="symmetric", jump=False, edges="typed", self_weight=2.5),
    "symmetric mean, no self weight": GNTK(blocks=3, layers=1, scale="symmetric", self_weight=0.0, pool="mean"),
    "mean pooling, last level": GNTK(blocks=2, layers=2, scale="unit", jump=False, edges="typed", pool="mean"),
    "Gaussian process, typed": NNGP(blocks=2, layers=1, scale="unit", jump=(0.5, 1.0, 2.0), c_phi=1.3, edges="typed"),
    "leaky, typed edges": GNTK(blocks=2, layers=2, scale="degree", c_phi=1.3, edges="typed", activation="leaky"),
    "leaky Gaussian process": NNGP(blocks=2, layers=2, scale="given", activation="leaky"),
    "linear": GNTK(blocks=3, layers=2, scale="unit", activation="linear"),
    "residual, typed edges": GNTK(blocks=3, layers=1, scale="uniform", c_phi=1.3, edges="typed", residual=0.6),
    "residual, given scale": NNGP(blocks=3, layers=1, scale="given", residual=0.1),
    "residual, no self weight": GNTK(blocks=3, layers=1, scale="uniform", residual=0.4, self_weight=0.0),
    "residual, unit": GNTK(blocks=2, layers=2, scale="unit", activation="leaky", residual=0.5),
}
"""For what is checked against the definition; properties follow from it, and need not run on all."""


DESCRIPTOR_KERNELS = {
    "gaussian": RBF("heavy"),
    "gaussian, log": RBF("heavy", scaling="log"),
    "gaussian, given length": RBF("far", length_scale=0.7, scaling="none"),
    "gaussian, one number": RBF("dose", 2.0),
    "linear": Linear("heavy"),
    "linear, log": Linear("heavy", scaling="log"),
    "linear, unscaled": Linear("counts", scaling="none"),
    "min-max of counts": Tanimoto("counts"),
    "min-max of sparse counts": Tanimoto("sparse"),
    "min-max of fractions": Tanimoto("fractions"),
}
"""Kernels on the blocks of ``described``."""


def described(n: int = 23, seed: int = 0) -> GraphBatch:
    """Graphs without nodes that carry descriptors: heavy tails, a constant column, zero rows, and equal rows."""
    rng = np.random.default_rng(seed)
    heavy = rng.standard_normal((n, 6)) * np.exp(3.0 * rng.standard_normal((n, 6)))
    heavy[:, 2] = 4.1  # sums of this number are rounded
    counts = rng.poisson(0.7, (n, 9)) * rng.integers(1, 4, (n, 9))
    counts[1] = counts[4] = 0
    heavy[5], counts[5] = heavy[3], counts[3]
    blocks = {"heavy": heavy, "dose": rng.random(n), "far": 1e6 + rng.random((n, 3)), "counts": counts}
    blocks |= {"sparse": sparse.csr_array(counts, dtype=float), "fractions": rng.random((n, 4)) * (counts[:, :4] > 0)}
    return GraphBatch.from_graphs([Graph.from_edges([], 0)] * n).with_descriptors(blocks)


@dataclass(frozen=True)
class Tolerance:
    """Relative to the entry, and absolute in units of the largest entry of the matrix."""

    relative: float
    absolute: float

    def check(self, actual, expected) -> None:
        actual, expected = np.asarray(actual), np.asarray(expected)
        assert actual.shape == expected.shape
        largest = float(np.abs(expected).max(initial=0.0))
        np.testing.assert_allclose(actual, expected, rtol=self.relative, atol=self.absolute * largest)


# κ0 has infinite slope at λ = 1, so an ulp in λ there moves a value by 1e-8; sums of many such entries stay below.
FLOAT64 = Tolerance(relative=1e-7, absolute=1e-9)
# The same operations on the same numbers in another order or place of the matrix, without κ0 near 1 in between.
EXACT = Tolerance(relative=1e-12, absolute=1e-13)

# A sketched node can be a small difference of large terms, and its norm then has as many digits fewer.
SKETCHED = Tolerance(relative=1e-6, absolute=1e-8)


def _labels(*graphs: tuple[int, list[tuple[int, int]], list[int]]) -> list[Graph]:
    return [Graph.from_edges(edges, n, labels=labels) for n, edges, labels in graphs]


def _random(seed: int, **options) -> list[Graph]:
    rng = np.random.default_rng(seed)
    out = []
    for n in (4, 6, 3):
        adjacency = np.triu(rng.random((n, n)) < 0.6, 1).astype(float)
        if options.get("weighted"):
            adjacency *= rng.uniform(0.2, 3.0, (n, n))
        if options.get("directed"):
            adjacency = (rng.random((n, n)) < 0.5).astype(float)
        out.append(Graph(adjacency, rng.standard_normal((n, 3)), directed=bool(options.get("directed"))))
    return out


def _ring(n: int) -> list[tuple[int, int]]:
    return [(i, (i + 1) % n) for i in range(n)]


def scales_of(n_nodes: int) -> np.ndarray:
    """Scales of nodes, three different ones, that repeat every five nodes."""
    return np.array([0.5, 0.5, 1.25, 0.5, 2.0])[np.arange(n_nodes) % 5]


def _typed(graph: Graph) -> Graph:
    """The same graph with edges of four types and, unless it has scales, nodes of three.

    Only typed kernels distinguish the edges, and only those with a given scale the nodes.
    """
    rows, cols = np.nonzero(graph.adjacency.toarray())
    return Graph.from_edges(
        np.column_stack([rows, cols]),
        graph.n_nodes,
        graph.features,
        weights=graph.adjacency.toarray()[rows, cols],
        labels=graph.labels,
        edge_labels=rows * cols % 3 + 4 * (rows + cols > 4),
        directed=True,
        node_scale=scales_of(graph.n_nodes) if graph.node_scale is None else graph.node_scale,
    )


_clique = [(i, j) for i in range(4) for j in range(i)]

_PLAIN: dict[str, list[Graph]] = {
    "path": _labels((4, [(0, 1), (1, 2), (2, 3)], [0, 1, 0, 2]), (3, [(0, 1), (1, 2)], [1, 1, 0])),
    "star": _labels((5, [(0, i) for i in range(1, 5)], [0, 1, 1, 2, 1]), (3, [(0, 1), (0, 2)], [2, 0, 0])),
    "clique": _labels((4, _clique, [0, 0, 1, 1]), (4, _clique, [0, 1, 2, 2])),
    "isolated node": _labels((3, [(0, 1)], [0, 1, 2]), (4, _ring(3), [0, 0, 1, 2])),
    "duplicate nodes": _labels((6, _ring(6), [0] * 6), (4, _ring(4), [0] * 4), (3, [(0, 1), (0, 2)], [1, 0, 0])),
    "single node": _labels((1, [], [0]), (1, [], [1]), (2, [(0, 1)], [0, 1])),
    "empty graph": _labels((0, [], []), (3, [(0, 1)], [0, 1, 1]), (0, [], [])),
    "disconnected": _labels((5, [(0, 1), (2, 3), (3, 4)], [0, 1, 1, 0, 2]), (4, [(0, 1), (2, 3)], [2, 2, 0, 1])),
    "without labels": [Graph.from_edges(_ring(5), 5), Graph.from_edges([(0, 1), (0, 2), (0, 3)], 4)],
    "weighted": _random(1, weighted=True),
    "continuous features": _random(2),
    "directed": _random(3, directed=True),
    "zero features": [
        Graph.from_edges([(0, 1), (1, 2)], 3, np.array([[0.0, 0.0], [0.0, 0.0], [1.0, 2.0]])),
        Graph.from_edges([(0, 1)], 2, np.zeros((2, 2))),
    ],
    "cancellation": [
        Graph.from_edges([(0, 1)], 3, np.array([[1.0, 2.0], [-1.0, -2.0], [3.0, 1.0]])),
        Graph.from_edges([(0, 1), (1, 2)], 3, np.array([[1.0, 0.0], [2.0, 1.0], [-3.0, -1.0]])),
    ],
    # Nodes that are equal but for their scale, in one graph and between two; neighbours with the same closed
    # neighbourhood and different scales; a scale of 0; a whole graph of them.
    "node scales": [
        Graph.from_edges(_ring(6), 6, labels=[0] * 6, node_scale=[1.0, 1.0, 1.0, 1.0, 0.25, 1.0]),
        Graph.from_edges(_ring(6), 6, labels=[0] * 6, node_scale=[3.0, 1.0, 0.0, 1.0, 3.0, 0.0]),
        Graph.from_edges([(0, 1)], 2, labels=[0, 1], node_scale=[1.0, 7.0]),
        Graph.from_edges([(0, 1), (0, 2)], 3, labels=[0, 1, 1], node_scale=[0.0, 0.0, 0.0]),
    ],
    "opposite nodes": [
        Graph.from_edges([], 2, np.array([[1.0, 0.5], [-1.0, -0.5]])),
        Graph.from_edges([], 2, np.array([[2.0, 1.0], [0.5, -1.0]])),
    ],
}
FAMILIES = {name: [_typed(graph) for graph in family] for name, family in _PLAIN.items()}
NEGATIVE_WEIGHTS = [
    Graph(np.array([[0, -0.5, 2.0], [-0.5, 0, 0], [2.0, 0, 0]]), np.array([[1.0, 0.3], [0.2, -1.0], [0.4, 0.4]])),
    Graph(np.array([[0, -1.5], [-1.5, 0]]), np.array([[0.3, 1.0], [1.0, 1.0]])),
]
NEGATIVE_WEIGHTS = [_typed(graph) for graph in NEGATIVE_WEIGHTS]


def one_hot(graphs: list[Graph]) -> list[list[list[float]]]:
    """Feature rows as lists, built without the package: attributes, else one-hot labels, else one-hot degrees."""
    if graphs[0].features is not None:
        return [np.asarray(g.features).tolist() for g in graphs]
    keys = [g.degrees.tolist() if g.labels is None else g.labels.tolist() for g in graphs]
    known = sorted({key for part in keys for key in part})
    return [[[1.0 if key == k else 0.0 for k in known] for key in part] for part in keys]


def joined(graphs: list[Graph]) -> Graph:
    """The disjoint union, built from edges."""
    batch = GraphBatch.from_graphs(graphs)
    coo = batch.adjacency().tocoo()
    return Graph.from_edges(
        np.column_stack(coo.coords).astype(np.int64),
        batch.n_nodes,
        batch.features,
        weights=coo.data,
        labels=batch.labels,
        edge_labels=batch.edge_labels,
        directed=True,
        node_scale=batch.node_scale,
    )
