"""Schema of the report data: plain values, collected by ``data/`` and rendered by ``_page``.

The page embeds all of it as JSON. Graphs are numbered as in the data set. Numbers are in the units shown: accuracy in
per cent, targets in their own unit. Values that do not apply are absent.
"""

from typing import Literal, NotRequired, TypedDict

__all__ = [
    "Baseline",
    "Bin",
    "Compression",
    "Drawing",
    "GraphData",
    "Group",
    "HeatMap",
    "Interval",
    "Kind",
    "Map",
    "ReportData",
    "Score",
    "Speed",
    "Surface",
]

Kind = Literal["classification", "regression"]


class Baseline(TypedDict):
    """A score to compare with: of a simple method, or published."""

    name: str
    mean: float
    std: NotRequired[float]
    note: NotRequired[str]  # how it was obtained


class Score(TypedDict):
    """Performance on unseen graphs."""

    name: str  # such as "accuracy"
    unit: str  # "%" or the unit of the target, possibly empty
    mean: float
    std: NotRequired[float]
    folds: list[float]  # score of each fold; empty for leave-one-out
    lower_is_better: bool
    baselines: list[Baseline]
    protocol: str  # how the score was measured and how options were chosen


class Bin(TypedDict):
    """One point of a calibration plot: ``predicted`` and ``observed`` frequency, with its 95 per cent interval."""

    predicted: float
    observed: float
    low: float
    high: float
    count: int


class Surface(TypedDict):
    """Score by blocks, layers and scale, maximised over all other options."""

    blocks: list[int]
    layers: list[int]
    scale: list[str]
    score: list[list[list[float | None]]]  # by scale, then layers, then blocks
    chosen: list[tuple[int, int, str, int]]  # blocks, layers, scale, and the number of folds that chose them
    note: str  # which options were maximised over, and on which folds


class Group(TypedDict):
    """Consecutive rows of the heat map."""

    name: str
    start: int
    stop: int


class HeatMap(TypedDict):
    """The kernel matrix as cosines, ordered by class or cluster."""

    size: int  # rows and columns; with more graphs each entry is a mean
    values: str  # base64 of size × size bytes, row by row: 0 is ``low``, 255 is ``high``
    low: float
    high: float
    groups: list[Group]
    order: str  # description of the order


class Map(TypedDict):
    """All graphs as points in the plane."""

    name: str
    note: str  # what distances mean
    x: list[float]
    y: list[float]


class Interval(TypedDict):
    """A predicted number with its interval."""

    mean: float
    low: float
    high: float


class Drawing(TypedDict):
    """What is needed to draw a graph."""

    nodes: int  # number of nodes drawn: all, or the most connected ones of a large graph
    edges: list[int]  # u0, v0, u1, v1, ... between nodes drawn
    labels: NotRequired[list[int]]  # index of each node's label in ``ReportData.node_labels``
    contributions: NotRequired[list[float]]  # contribution of each node to the predicted class or value
    positions: NotRequired[list[float]]  # x0, y0, x1, y1, ... if known, as for molecules
    orders: NotRequired[list[float]]  # bond order of each edge: 1, 1.5, 2 or 3


class GraphData(TypedDict):
    """One graph and its out-of-fold prediction."""

    name: str
    truth: int | float  # index of its class in ``ReportData.classes``, or its target
    predicted: NotRequired[int | Interval]
    probability: NotRequired[list[float]]  # probability of each class
    neighbours: NotRequired[list[tuple[int, float]]]  # most similar training graphs: index and cosine
    nodes: int
    edges: int
    drawing: NotRequired[Drawing]
    descriptors: NotRequired[dict[str, float]]  # contribution of each block to the predicted class or value


class Compression(TypedDict):
    """Number of nodes and of distinct nodes at each level."""

    nodes: int
    distinct: list[int]  # level 0 first


class Speed(TypedDict):
    """Time of one kernel matrix, and of the same matrix by a baseline."""

    seconds: float
    baseline: float
    baseline_name: str
    measured: bool  # False if the baseline's time is extrapolated from some pairs


class ReportData(TypedDict, total=False):
    """Everything on the page; keys that do not apply are absent."""

    title: str
    kind: Kind
    summary: str  # the result in one or two sentences
    command: str
    run: list[tuple[str, str]]  # options, data, fingerprint, version, date
    stages: list[tuple[str, float]]  # seconds of each stage
    score: Score
    warnings: list[str]
    classes: list[str]
    confusion: list[list[int]]  # rows: true class, columns: predicted class
    target: str  # name of the regression target
    calibration: list[Bin]
    calibration_note: str
    surface: Surface
    heat_map: HeatMap
    maps: list[Map]
    node_labels: list[str]
    graphs: list[GraphData]
    compression: Compression
    speed: Speed
