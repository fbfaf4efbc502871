"""Molecules drawn by RDKit, with a coloured circle around each atom."""

from __future__ import annotations

import io
import re
from typing import TYPE_CHECKING, Any

import numpy as np

from fastgntk._util.arrays import Array
from fastgntk.errors import InputError
from fastgntk.graphs import Graph
from fastgntk.plotting._figure import PIXELS_PER_POINT, Frame, points_along, render, write_value_labels

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["draw_molecule", "read_molecule"]

_BOND = 42  # length of a bond in points, where there is room
_RADIUS = 0.28  # radius of the circles, in lengths of a bond
_AROUND = 0.9  # margin around the outermost atoms, in bond lengths
_RDKIT_BOND = 1.5  # length of a bond in RDKit's own coordinates


def read_molecule(smiles: str, graph: Graph) -> Any:
    """Read a SMILES and check that its atoms are the nodes of the graph, in order, and its bonds the edges."""
    try:
        from rdkit import Chem, rdBase
    except ImportError:
        raise InputError("drawing molecules needs RDKit; install it with: pip install 'fastgntk[chem]'.") from None
    with rdBase.BlockLogs():
        molecule = Chem.MolFromSmiles(smiles)
    if molecule is None:
        raise InputError(f"smiles is {smiles!r}, which RDKit cannot read as a molecule; check it.")
    n_atoms = molecule.GetNumAtoms()
    if n_atoms != graph.n_nodes:
        raise InputError(
            f"smiles has {n_atoms} atoms, but the graph has {graph.n_nodes} nodes; give the SMILES that the graph was "
            "made from, atoms in the order of the nodes."
        )
    rows = np.repeat(np.arange(n_atoms), graph.degrees)
    edges = {(min(pair), max(pair)) for pair in zip(rows.tolist(), graph.indices.tolist(), strict=True)}
    bonds = {(min(pair), max(pair)) for pair in _bonds(molecule)}
    if edges != bonds:
        u, v = min(edges ^ bonds)
        raise InputError(
            f"smiles has {'a' if (u, v) in bonds else 'no'} bond between atoms {u} and {v}, but the graph has "
            f"{'an' if (u, v) in edges else 'no'} edge between these nodes; give the SMILES that the graph was made "
            "from, atoms in the order of the nodes."
        )
    return molecule


def draw_molecule(molecule: Any, colours: list[str], value_labels: list[str], frame: Frame, suffix: str) -> bytes:
    """Return the content of an SVG or PNG file."""
    from rdkit import Chem
    from rdkit.Chem import rdDepictor
    from rdkit.Chem.Draw import rdMolDraw2D

    rdDepictor.Compute2DCoords(molecule)
    level = Chem.Mol(molecule)
    rdDepictor.NormalizeDepiction(level, scaleFactor=1.0)
    if np.isfinite(_coordinates(level)).all():  # not so for a hydrogen molecule
        molecule = level
    # No extra hydrogens at chiral atoms: they have no value.
    molecule = rdMolDraw2D.PrepareMolForDrawing(molecule, addChiralHs=False)
    width = frame.inner_width
    across, up = np.ptp(_coordinates(molecule), axis=0) / _RDKIT_BOND + 2 * _AROUND
    height = min(width, round(float(min(_BOND, width / across) * up)))  # in points
    size = (width * PIXELS_PER_POINT, height * PIXELS_PER_POINT)
    vector = rdMolDraw2D.MolDraw2DSVG(*size)
    _draw(vector, molecule, colours)
    figure, axes = frame.figure(height)
    if value_labels:
        _write_value_labels(axes, value_labels, molecule, vector, height)
    if suffix == ".svg":
        return _insert_svg(vector.GetDrawingText(), figure, axes)
    raster = rdMolDraw2D.MolDraw2DCairo(*size)
    _draw(raster, molecule, colours)
    return _insert_png(raster.GetDrawingText(), figure, axes)


def _bonds(molecule: Any) -> list[tuple[int, int]]:
    return [(bond.GetBeginAtomIdx(), bond.GetEndAtomIdx()) for bond in molecule.GetBonds()]


def _coordinates(molecule: Any) -> Array:
    """Return RDKit's coordinates of the atoms (N, 2)."""
    return np.asarray(molecule.GetConformer().GetPositions()[:, :2])


def _draw(drawer: Any, molecule: Any, colours: list[str]) -> None:
    from matplotlib.colors import to_rgb

    highlights = {i: to_rgb(colour) for i, colour in enumerate(colours)}
    options = drawer.drawOptions()
    options.useBWAtomPalette()
    options.clearBackground = False
    options.atomHighlightsAreCircles = True
    options.highlightRadius = _RADIUS * _RDKIT_BOND
    # For bonds of length 1, not RDKit's 1.5; RDKit shrinks them if there is no room.
    options.fixedBondLength = _BOND * PIXELS_PER_POINT / _RDKIT_BOND
    options.bondLineWidth = PIXELS_PER_POINT
    options.minFontSize, options.maxFontSize = 4 * PIXELS_PER_POINT, 10 * PIXELS_PER_POINT
    options.prepareMolsBeforeDrawing = False
    drawer.DrawMolecule(molecule, highlightAtoms=list(highlights), highlightAtomColors=highlights, highlightBonds=[])
    drawer.FinishDrawing()


def _write_value_labels(axes: Axes, labels: list[str], molecule: Any, vector: Any, height: int) -> None:
    """Write labels next to the atoms. RDKit's own labels overlap the circles, and its font has no minus sign."""
    centres = [vector.GetDrawCoords(i) for i in range(len(labels))]
    atoms = _from_pixels([(centre.x, centre.y) for centre in centres], height)
    shrunk = np.ptp(atoms, axis=0).max() / max(np.ptp(_coordinates(molecule), axis=0).max(), 1e-9)
    radius = _RADIUS * (shrunk * _RDKIT_BOND if len(atoms) > 1 else _BOND)
    # Outlines of atom symbols, which may reach beyond their circles.
    symbols = re.findall(r"<path class='atom-\d+' d='([^']*)'", vector.GetDrawingText())
    outlines = _from_pixels(re.findall(r"(-?[\d.]+)[ ,](-?[\d.]+)", " ".join(symbols)), height)
    bonds = atoms[np.array(_bonds(molecule), dtype=np.int64).reshape(-1, 2)]
    write_value_labels(axes, labels, atoms, float(radius), np.concatenate([points_along(bonds), outlines]))


def _from_pixels(points: list[Any], height: int) -> Array:
    """Convert pixels from the upper left corner to points (1/72 inch) from the lower left corner."""
    pixels = np.array(points, dtype=np.float64).reshape(-1, 2)
    return np.array([0.0, height]) + pixels * (1 / PIXELS_PER_POINT, -1 / PIXELS_PER_POINT)


def _corner(figure: Figure, axes: Axes) -> tuple[int, int]:
    """Return the lower left corner of the axes, in points from that of the figure."""
    box, (width, height) = axes.get_position(), figure.get_size_inches() * 72
    return round(box.x0 * width), round(box.y0 * height)


def _insert_svg(drawing: str, figure: Figure, axes: Axes) -> bytes:
    """Insert RDKit's SVG into that of the figure, below the labels."""
    (left, bottom), (width, height) = _corner(figure, axes), (round(axes.get_xlim()[1]), round(axes.get_ylim()[1]))
    top = round(figure.get_figheight() * 72) - bottom - height
    body = re.sub(r"(?s)^.*?<svg[^>]*>|</svg>\s*$", "", drawing)
    nested = (
        f'<svg x="{left}" y="{top}" width="{width}" height="{height}" '
        f'viewBox="0 0 {width * PIXELS_PER_POINT} {height * PIXELS_PER_POINT}">{body}</svg>\n'
    )
    before, axes_tag, after = render(figure, ".svg").decode().partition('<g id="drawing"')
    return (before + nested + axes_tag + after).encode()


def _insert_png(drawing: bytes, figure: Figure, axes: Axes) -> bytes:
    """Copy RDKit's pixels into the figure, below the labels."""
    from matplotlib.image import imread

    left, bottom = _corner(figure, axes)
    figure.figimage(imread(io.BytesIO(drawing)), left * PIXELS_PER_POINT, bottom * PIXELS_PER_POINT)
    return render(figure, ".png")
