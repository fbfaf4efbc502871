"""Draw a graph with each node coloured by its contribution to a prediction."""

from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike

from fastgntk._util.arrays import Array
from fastgntk._util.files import atomic_write
from fastgntk.errors import InputError
from fastgntk.graphs import Graph
from fastgntk.plotting._figure import Frame, Scale, package_style
from fastgntk.plotting._molecule import draw_molecule, read_molecule
from fastgntk.plotting._network import draw_network

__all__ = ["draw_attribution"]

_LABELLED_NODES = 40  # up to which values are written next to nodes
_WIDTHS = (2.0, 40.0)  # smallest and largest width, in inches


def draw_attribution(
    graph: Graph,
    values: ArrayLike,
    path: str | Path,
    *,
    smiles: str | None = None,
    title: str = "",
    caption: str = "",
    unit: str = "",
    width: float = 6.0,
) -> None:
    """Draw a graph with each node coloured by its value, and write the figure to ``path``.

    Blue is below 0, white is 0 and red is above; the ends of the colour bar are plus and minus the largest absolute
    value. Values are written next to the nodes of graphs with up to 40 nodes. The output is deterministic.

    Parameters
    ----------
    graph : Graph
        The graph; it needs at least one node.
    values : array, shape (N,)
        A finite number for each node, such as its contribution to a prediction.
    path : str or Path
        Output file; the suffix ``.svg`` or ``.png`` selects the format. The file is written atomically.
    smiles : str, optional
        SMILES of the graph, which is then drawn by RDKit. Its atoms must be the nodes, in order.
    title, caption : str
        Text above and below; long text is wrapped.
    unit : str
        The unit of the values, written below the colour bar.
    width : float
        Width of the figure in inches, 2 to 40; the height follows. PNG files have 216 pixels per inch.

    Notes
    -----
    Without ``smiles``, nodes are placed by a spring layout. Line widths show weights, dashed lines negative weights,
    and arrows edges of one direction only. Labels are written inside the nodes if they fit.

    Examples
    --------
    >>> import tempfile
    >>> triangle = Graph.from_edges([(0, 1), (1, 2), (0, 2)], n_nodes=3, labels=["C", "C", "O"])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     draw_attribution(triangle, [0.5, -0.25, 0.0], f"{folder}/triangle.svg", title="A triangle")
    ...     Path(folder, "triangle.svg").read_text()[:5]
    '<?xml'
    """
    path = Path(path)
    suffix = path.suffix.lower()
    if suffix not in (".svg", ".png"):
        raise InputError(f"path must end in .svg or .png, but is {str(path)!r}.")
    if not _WIDTHS[0] <= width <= _WIDTHS[1]:
        raise InputError(f"width must lie in {_WIDTHS[0]:g}..{_WIDTHS[1]:g} inches, but is {width!r}.")
    if not graph.n_nodes:
        raise InputError("the graph has no nodes to draw.")
    contributions = _check_values(values, graph.n_nodes).tolist()
    molecule = None if smiles is None else read_molecule(smiles, graph)
    scale = Scale(max(map(abs, contributions)))
    colours = [scale.colour(value) for value in contributions]
    labels = [scale.format(value, signed=True) for value in contributions] if graph.n_nodes <= _LABELLED_NODES else []
    node = "node" if molecule is None else "atom"
    in_unit = " ".join(text for text in (scale.power, unit) if text)
    bar_label = f"contribution of each {node}" + (f" ({in_unit})" if in_unit else "")
    frame = Frame(round(width * 72), scale, title, bar_label, caption)
    with package_style():
        if molecule is None:
            picture = draw_network(graph, colours, labels, frame, suffix)
        else:
            picture = draw_molecule(molecule, colours, labels, frame, suffix)
    atomic_write(path, picture)


def _check_values(values: ArrayLike, n_nodes: int) -> Array:
    try:
        array = np.array(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise InputError("values must be numbers, one for each node.") from None
    if array.shape != (n_nodes,):
        raise InputError(f"values must have one entry for each of the {n_nodes} nodes, but has shape {array.shape}.")
    wrong = np.flatnonzero(~np.isfinite(array))
    if len(wrong):
        raise InputError(f"values must be finite, but node {wrong[0]} has {array[wrong[0]]}.")
    return array
