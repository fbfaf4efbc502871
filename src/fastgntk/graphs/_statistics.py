"""What is in a set of graphs, in numbers."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

__all__ = ["Description", "EqualGraphs", "Spread"]


@dataclass(frozen=True)
class Spread:
    """The smallest, middle, mean and largest of some numbers; all 0 where there are none."""

    min: int
    median: float
    mean: float
    max: int

    def __str__(self) -> str:
        return f"{self.min:,} to {self.max:,}, median {self.median:,g}, {self.mean:,.2f} on average"


@dataclass(frozen=True)
class EqualGraphs:
    """Graphs that colour refinement cannot tell apart, whatever the number of rounds, and what follows for targets.

    Attributes
    ----------
    duplicates : int
        Graphs that equal an earlier one.
    groups, graphs : int
        Sets of two or more equal graphs, and how many graphs are in these.
    rounds : int
        After so many rounds (1-WL) no more graphs were told apart.
    contradictory : int or None
        Graphs that equal one with another target; None without targets.
    best_accuracy : float or None
        The share of graphs that have the most frequent class of their equals: no function of equal values on equal
        graphs is right more often on these. None without classes.
    least_error : tuple of float, or None
        For each target the root mean square distance of graphs from the mean of their equals, in the same sense. None
        without real targets.
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
            return f"none: {self.rounds} rounds of refinement tell all apart"
        return f"{self.duplicates:,} equal an earlier one ({self.groups:,} groups, {self.graphs:,} graphs)"

    def consequences(self) -> list[tuple[str, str]]:
        """Return what equal graphs mean for targets, as names and values for people."""
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
    """Say what graphs look like, what they carry, and which of them are equal; ``describe(graphs, y)`` makes it.

    Attributes
    ----------
    graphs, nodes, edges : int
        An edge is a pair of nodes, whether in one direction or in both.
    directed : bool
        Some edge, or weight of an edge, is there in one direction only.
    weighted : bool
        Some weight is not 1.
    self_loops : int
        How many were dropped.
    nodes_per_graph, edges_per_graph, neighbours_per_node : Spread
    isolated_nodes, graphs_without_edges : int
    components, connected_graphs : int
        Connected components, directions ignored, and how many graphs are one.
    node_labels, edge_labels : int
        How many distinct ones; 0 if there are none.
    node_attributes : int
        Width of the continuous features; 0 if there are none.
    features : str
        What nodes start with in the kernel, and in the refinement that finds equal graphs.
    equal : EqualGraphs or None
        None where numba, which refines colours, is missing.
    equal_typed : EqualGraphs or None
        The same if types of edges are looked at; None where edges have none, too.
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
    edge_labels: int
    features: str
    equal: EqualGraphs | None
    equal_typed: EqualGraphs | None

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain values."""
        return asdict(self)

    def rows(self) -> list[tuple[str, str]]:
        """Return names and values for people."""
        edges = "directed" if self.directed else "undirected"
        edges += ", weighted" if self.weighted else ""
        edges += f", {self.edge_labels:,} labels" if self.edge_labels else ""
        carry = [f"labels, {self.node_labels:,} distinct"] if self.node_labels else []
        carry += [f"features of width {self.node_attributes:,}"] if self.node_attributes else []
        rows = [
            ("graphs", f"{self.graphs:,}"),
            ("nodes", f"{self.nodes:,}"),
            ("nodes per graph", str(self.nodes_per_graph)),
            ("edges", f"{self.edges:,}, {edges}"),
            ("edges per graph", str(self.edges_per_graph)),
            ("neighbours per node", str(self.neighbours_per_node)),
            ("nodes carry", "; ".join(carry) or "nothing"),
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
            told = [f"{name} {value}" for name, value in self.equal_typed.consequences()]
            rows.append(("with edge labels", "; ".join([str(self.equal_typed), *told])))
        return rows

    def __repr__(self) -> str:
        rows = self.rows()
        width = max(len(name) for name, _ in rows)
        return "\n".join(f"{name:{width}}  {value}" for name, value in rows)
