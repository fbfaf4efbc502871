"""Draw a graph with each node coloured by its share in a prediction."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fastgntk._util.files import atomic_write
from fastgntk.errors import InputError
from fastgntk.graphs import Graph
from fastgntk.plotting._frame import Frame, own_style
from fastgntk.plotting._molecule import draw_molecule, read_molecule
from fastgntk.plotting._network import draw_network
from fastgntk.plotting._scale import Scale

__all__ = ["draw_attribution"]

_NOTED_NODES = 40
"""Up to here each node's value is written beside it."""
_WIDTHS = (2.0, 40.0)
"""The narrowest and widest picture, in inches."""


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
    """Draw a graph with each node coloured by its value, and write the picture to ``path``.

    Blue is below 0, white is 0 and red is above; the ends of the colour bar are plus and minus the largest absolute
    value. Graphs of up to 40 nodes have each value written beside its node. The same input gives the same file.

    Parameters
    ----------
    graph : Graph
        The graph; it needs at least one node.
    values : array, shape (N,)
        A finite number for each node, such as its share in a prediction.
    path : str or Path
        Where to write; ``.svg`` or ``.png`` at the end decides the format. The file is written whole or not at all.
    smiles : str, optional
        The molecule that the graph is; RDKit then draws it. Its atoms must be the nodes, in order.
    title, caption : str
        Text above and below; long text is broken into lines.
    unit : str
        The unit of the values, written below the colour bar.
    width : float
        Of the picture in inches, 2 to 40; the height follows. PNG files have 216 pixels for each inch.

    Notes
    -----
    Without ``smiles``, springs place the nodes. Wider lines have larger weights, dashed lines weights below 0, and
    lines with a head are edges in that direction only. Labels are written inside the nodes where they fit.

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
    shares = _check_values(values, graph.n_nodes)
    molecule = None if smiles is None else read_molecule(smiles, graph)
    scale = Scale(float(np.abs(shares).max()))
    few = graph.n_nodes <= _NOTED_NODES
    notes = [scale.number(float(share), signed=True) for share in shares] if few else []
    what = "node" if molecule is None else "atom"
    in_unit = " ".join(text for text in (scale.power, unit) if text)
    bar_label = f"share of each {what}" + (f" ({in_unit})" if in_unit else "")
    frame = Frame(round(width * 72), scale, title, bar_label, caption)
    with own_style():
        if molecule is None:
            content = draw_network(graph, shares, notes, frame, suffix)
        else:
            content = draw_molecule(molecule, shares, notes, frame, suffix)
    atomic_write(path, content)


def _check_values(values: ArrayLike, n_nodes: int) -> NDArray[np.float64]:
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
