"""What a report tells, as plain values: made from results by ``_collect``, turned into a page by ``_page``.

Everything here becomes JSON inside the page. Graphs are numbered as in the data set. Numbers are those that are shown:
accuracy in per cent, targets in their own unit. What does not apply is left out of the dictionary.
"""

from __future__ import annotations

from typing import Literal, NotRequired, TypedDict

__all__ = [
    "Bin",
    "Compression",
    "Drawing",
    "Facts",
    "GraphFacts",
    "Group",
    "HeatMap",
    "Interval",
    "Map",
    "Other",
    "Score",
    "Speed",
    "Surface",
]


class Other(TypedDict):
    """A figure beside the score: published, or of a baseline."""

    name: str
    mean: float
    std: NotRequired[float]
    note: NotRequired[str]
    """How it was made, where that differs."""


class Score(TypedDict):
    """How well it did."""

    name: str
    """Such as "accuracy", "root mean squared error"."""
    unit: str
    """"%" or the target's, possibly empty."""
    mean: float
    std: NotRequired[float]
    folds: list[float]
    """Of each fold; empty where there are none, as with leave-one-out."""
    lower_is_better: bool
    beside: list[Other]
    protocol: str
    """In words: on what it was measured, and how options were chosen."""


class Bin(TypedDict):
    """One point of a calibration plot: of graphs of which ``said`` was said, ``was`` came true."""

    said: float
    was: float
    low: float
    high: float
    """The 95 per cent interval of ``was``, given ``count``."""
    count: int


class Surface(TypedDict):
    """Score by depth, layers and scale; over everything else the best."""

    blocks: list[int]
    layers: list[int]
    scale: list[str]
    score: list[list[list[float | None]]]
    """By scale, then layers, then blocks."""
    chosen: list[tuple[int, int, str, int]]
    """blocks, layers, scale, and in how many folds they were chosen."""
    note: str
    """What the best was taken over, and on which folds the score was measured."""


class Group(TypedDict):
    """Consecutive rows of the heat map."""

    name: str
    start: int
    stop: int


class HeatMap(TypedDict):
    """The kernel as cosines, graphs ordered by class (and within it by likeness) or by cluster."""

    size: int
    """Rows and columns of the picture; where there are more graphs each entry is the mean of some."""
    values: str
    """Base64 of size × size bytes, row by row: 0 is ``low``, 255 is ``high``."""
    low: float
    high: float
    groups: list[Group]
    """In rows of the picture."""
    order: str
    """How graphs are ordered, in words."""


class Map(TypedDict):
    """All graphs as points in the plane."""

    name: str
    note: str
    """What nearness means in it, in one sentence."""
    x: list[float]
    y: list[float]


class Interval(TypedDict):
    """A number that was predicted."""

    mean: float
    low: float
    high: float


class Drawing(TypedDict):
    """What is needed to draw a graph; the page finds places for nodes by itself."""

    nodes: int
    """How many are drawn: all, or of a large graph the ones with the most neighbours."""
    edges: list[int]
    """u0, v0, u1, v1, ... of nodes that are drawn."""
    labels: NotRequired[list[int]]
    """Of each drawn node, its place in ``Facts.node_labels``."""
    shares: NotRequired[list[float]]
    """Of each drawn node, in the prediction: positive for ``said`` (of regression: upwards)."""
    places: NotRequired[list[float]]
    """x0, y0, x1, y1, ... where places are known, as of molecules."""
    orders: NotRequired[list[float]]
    """Of each edge: 1, 1.5, 2 or 3 bonds."""


class GraphFacts(TypedDict):
    """One graph."""

    name: str
    truth: int | float
    """Place of its class in ``Facts.classes``, or its target."""
    said: NotRequired[int | Interval]
    """Predicted by a model that had not seen it."""
    probability: NotRequired[list[float]]
    """Of each class."""
    near: NotRequired[list[tuple[int, float]]]
    """The most alike of the graphs that the model had seen: number and cosine."""
    nodes: int
    edges: int
    drawing: NotRequired[Drawing]


class Compression(TypedDict):
    """How far equal nodes were merged."""

    nodes: int
    distinct: list[int]
    """Of each level, 0 first."""


class Speed(TypedDict):
    """Time of one kernel matrix beside that of the baseline."""

    seconds: float
    baseline: float
    baseline_name: str
    measured: bool
    """False where the baseline's is extrapolated from some pairs."""


class Facts(TypedDict):
    """Everything that is on the page."""

    title: str
    kind: Literal["classification", "regression"]
    summary: str
    """What was found, in one or two sentences that a newcomer understands."""
    command: str
    run: list[tuple[str, str]]
    """What was run: options, data, fingerprint, version, date."""
    stages: list[tuple[str, float]]
    """Seconds of each stage."""
    score: Score
    warnings: list[str]
    classes: NotRequired[list[str]]
    confusion: NotRequired[list[list[int]]]
    """Rows are what is true, columns what was said."""
    target: NotRequired[str]
    """Name of the target of a regression."""
    calibration: NotRequired[list[Bin]]
    calibration_note: NotRequired[str]
    surface: NotRequired[Surface]
    heat_map: NotRequired[HeatMap]
    maps: list[Map]
    node_labels: list[str]
    graphs: list[GraphFacts]
    compression: NotRequired[Compression]
    speed: NotRequired[Speed]
