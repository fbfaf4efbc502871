"""Summary statistics of a set of graphs."""

from dataclasses import asdict, dataclass
from typing import Any

__all__ = ["Description", "EqualGraphs", "Spread"]


@dataclass(frozen=True)
class Spread:
    """Minimum, median, mean and maximum of some numbers; all 0 if there are none."""

    min: int
    median: float
    mean: float
    max: int

    def __str__(self) -> str:
        return f"{self.min:,} to {self.max:,}, median {self.median:,g}, {self.mean:,.2f} on average"


@dataclass(frozen=True)
class EqualGraphs:
    """Graphs that no number of rounds of colour refinement distinguishes, and the consequences for targets.

    Attributes
    ----------
    duplicates : int
        Graphs that equal an earlier one.
    groups, graphs : int
        Number of sets of two or more equal graphs, and of graphs in these sets.
    rounds : int
        Number of rounds (1-WL) after which no more graphs were distinguished.
    contradictory : int or None
        Graphs that equal a graph with a different target; None without targets.
    best_accuracy : float or None
        Fraction of graphs that have the most frequent class of their group: an upper bound on the accuracy of every
        function that is equal on equal graphs. None without classes.
    least_error : tuple of float, or None
        For each target the root mean square distance of graphs from the mean of their group, a lower bound on the
        error in the same sense. None without real targets.
    """

    duplicates: int
    groups: int
    graphs: int
    rounds: int
    contradictory: int | None = None
    best_accuracy: float | None = None
    least_error: tuple[float, ...] | None = None

    def __str__(self) -> str:
        if not self.duplicates:
            return f"none: {self.rounds} rounds of refinement distinguish all"
        return f"{self.duplicates:,} equal an earlier one ({self.groups:,} groups, {self.graphs:,} graphs)"

    def consequences(self) -> list[tuple[str, str]]:
        """Return the consequences for targets as human-readable names and values."""
        rows = []
        if self.contradictory is not None:
            rows.append(("equal but other target", f"{self.contradictory:,} graphs"))
        if self.best_accuracy is not None:
            rows.append(("best possible accuracy", f"{100 * self.best_accuracy:.2f} %"))
        if self.least_error is not None:
            rows.append(("least possible error", ", ".join(f"{e:.4g}" for e in self.least_error) + " (RMSE)"))
        return rows


@dataclass(frozen=True, repr=False)
class Description:
    """Sizes, attributes and duplicates of a set of graphs, as returned by ``describe(graphs, y)``.

    Attributes
    ----------
    graphs, nodes, edges : int
        An edge is a pair of nodes, in one direction or in both.
    directed : bool
        Whether some edge, or weight of an edge, exists in one direction only.
    weighted : bool
        Whether some weight is not 1.
    self_loops : int
        Number of self loops that were dropped.
    nodes_per_graph, edges_per_graph, neighbours_per_node : Spread
    isolated_nodes, graphs_without_edges : int
    components, connected_graphs : int
        Number of weakly connected components, and of graphs with a single one.
    node_labels, edge_labels : int
        Number of distinct labels; 0 if there are none.
    node_attributes : int
        Width of the continuous features; 0 if there are none.
    descriptors : dict
        Width of each block of descriptors by name.
    node_scale : bool
        Whether nodes have a given scale c_u, which then is part of the initial colours too.
    features : str
        Node features of the kernel, and initial colours of the refinement that finds equal graphs.
    equal : EqualGraphs or None
        None if numba, which colour refinement needs, is missing.
    equal_typed : EqualGraphs or None
        The same with edge types taken into account; None also if edges have no labels.
    """

    graphs: int
    nodes: int
    edges: int
    directed: bool
    weighted: bool
    self_loops: int
    nodes_per_graph: Spread
    edges_per_graph: Spread
    neighbours_per_node: Spread
    isolated_nodes: int
    graphs_without_edges: int
    components: int
    connected_graphs: int
    node_labels: int
    node_attributes: int
    descriptors: dict[str, int]
    node_scale: bool
    edge_labels: int
    features: str
    equal: EqualGraphs | None
    equal_typed: EqualGraphs | None

    def to_dict(self) -> dict[str, Any]:
        """Return all fields as plain Python values."""
        return asdict(self)

    def rows(self) -> list[tuple[str, str]]:
        """Return human-readable names and values."""
        edges = "directed" if self.directed else "undirected"
        edges += ", weighted" if self.weighted else ""
        edges += f", {self.edge_labels:,} labels" if self.edge_labels else ""
        attributes = [f"labels, {self.node_labels:,} distinct"] if self.node_labels else []
        attributes += [f"features of width {self.node_attributes:,}"] if self.node_attributes else []
        attributes += ["scales"] if self.node_scale else []
        rows = [
            ("graphs", f"{self.graphs:,}"),
            ("nodes", f"{self.nodes:,}"),
            ("nodes per graph", str(self.nodes_per_graph)),
            ("edges", f"{self.edges:,}, {edges}"),
            ("edges per graph", str(self.edges_per_graph)),
            ("neighbours per node", str(self.neighbours_per_node)),
            ("nodes carry", "; ".join(attributes) or "nothing"),
            *self._descriptor_rows(),
            ("isolated nodes", f"{self.isolated_nodes:,}"),
            ("graphs without edges", f"{self.graphs_without_edges:,}"),
            ("connected components", f"{self.components:,}; {self.connected_graphs:,} graphs are connected"),
            ("self loops dropped", f"{self.self_loops:,}"),
            ("features", self.features),
        ]
        if self.equal is None:
            return [*rows, ("equal graphs", "unknown without numba")]
        rows += [("equal graphs", str(self.equal)), *self.equal.consequences()]
        if self.equal_typed is not None:
            consequences = [f"{name} {value}" for name, value in self.equal_typed.consequences()]
            rows.append(("with edge labels", "; ".join([str(self.equal_typed), *consequences])))
        return rows

    def _descriptor_rows(self) -> list[tuple[str, str]]:
        blocks = [f"{name!r} of width {width:,}" for name, width in self.descriptors.items()]
        return [("descriptors", ", ".join(blocks))] if blocks else []

    def __repr__(self) -> str:
        rows = self.rows()
        width = max(len(name) for name, _ in rows)
        return "\n".join(f"{name:{width}}  {value}" for name, value in rows)
