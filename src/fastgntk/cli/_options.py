"""Options that several commands share, and how lists are written on the command line."""

from __future__ import annotations

import re
from typing import Annotated, Any

import typer

from fastgntk.errors import InputError
from fastgntk.sketch import SketchOptions

__all__ = [
    "BlocksOption",
    "COption",
    "DataArgument",
    "EngineOption",
    "FeaturesOption",
    "FreshOption",
    "JsonOption",
    "JumpOption",
    "LayersOption",
    "MemoryOption",
    "MergeOption",
    "NormalizeOption",
    "ScaleOption",
    "EdgesOption",
    "SketchFeaturesOption",
    "SketchOption",
    "SketchSizeOption",
    "VerboseOption",
    "WorkersOption",
    "grid_options",
    "parse_flags",
    "parse_floats",
    "parse_ints",
    "parse_words",
    "sketch_options",
]

DataArgument = Annotated[
    str,
    typer.Argument(
        metavar="DATA", help="A known name (see `fastgntk datasets`), or a folder or zip file in TU format."
    ),
]
FeaturesOption = Annotated[str, typer.Option(help="What nodes start with: auto, attributes, labels, all or degree.")]
EngineOption = Annotated[
    str,
    typer.Option(
        help="How to compute: lossless (compiled; auto takes it, except for very little work), decoupled "
        "(NumPy), or kronecker (slow, for checking), which give the same numbers; or sketched, an approximation for "
        "large dense graphs."
    ),
]
SketchOption = Annotated[
    str | None,
    typer.Option(help="For --engine sketched: ams, gaussian, srht, countsketch or sparse.", show_default="ams"),
]
SketchSizeOption = Annotated[
    str | None,
    typer.Option(help="Rows of a sketch, such as 64, or a rate with a point, such as 0.3.", show_default="0.3"),
]
FreshOption = Annotated[
    bool | None, typer.Option("--fresh-each-block", help="Draw a new sketch for each block.", show_default=False)
]
MergeOption = Annotated[
    bool | None,
    typer.Option(
        "--merge-nodes/--all-nodes",
        help="Sketch distinct nodes, or all of them as in the paper.",
        show_default="merge-nodes",
    ),
]
SketchFeaturesOption = Annotated[
    bool | None,
    typer.Option(
        "--sketch-features",
        help="Sketch the aggregation of the features too, as in the paper; it saves no time.",
        show_default=False,
    ),
]
MemoryOption = Annotated[str | None, typer.Option(help="Memory limit, such as 2GB.", show_default="a quarter of RAM")]
WorkersOption = Annotated[int | None, typer.Option(help="Number of workers.", show_default="every core")]
BlocksOption = Annotated[
    str | None,
    typer.Option(help="Depths to try, such as 1,2,5 or 1-10.", show_default="train: 1-10; evaluate: 1,2,3,5,8"),
]
LayersOption = Annotated[str | None, typer.Option(help="Layers per block to try.", show_default="1-3")]
ScaleOption = Annotated[
    str | None, typer.Option(help="Scales to try: uniform,degree,unit.", show_default="uniform,degree")
]
JumpOption = Annotated[str | None, typer.Option(help="Jumping knowledge: yes, no or both.", show_default="both")]
NormalizeOption = Annotated[
    str | None, typer.Option(help="Cosine normalisation: yes, no or both.", show_default="both")
]
EdgesOption = Annotated[
    str | None,
    typer.Option(help="Whether edge labels count: plain, typed or plain,typed to try both.", show_default="plain"),
]
COption = Annotated[
    str | None,
    typer.Option(
        "--c",
        "--C",
        help="C of support vector machines, in units of the kernel's variance.",
        show_default="0.1 to 1000",
    ),
]
VerboseOption = Annotated[bool, typer.Option("--verbose", "-v", help="Say what is done, on standard error.")]
JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON for machines instead of tables.")]


def sketch_options(
    sketch: str | None,
    sketch_size: str | None,
    fresh_each_block: bool | None,
    merge_nodes: bool | None,
    sketch_features: bool | None,
    seed: int | None = None,
) -> SketchOptions:
    """Return those options of a sketch that were given.

    >>> sketch_options("srht", "0.25", None, None, None)
    {'sketch': 'srht', 'sketch_size': 0.25}
    """
    given: SketchOptions = {}
    if sketch is not None:
        given["sketch"] = sketch
    if sketch_size is not None:
        try:
            given["sketch_size"] = int(sketch_size) if re.fullmatch(r"[-+]?\d+", sketch_size) else float(sketch_size)
        except ValueError:
            raise InputError(f"--sketch-size takes a number such as 64 or 0.3, but is {sketch_size!r}.") from None
    if fresh_each_block is not None:
        given["fresh_each_block"] = fresh_each_block
    if merge_nodes is not None:
        given["merge_nodes"] = merge_nodes
    if sketch_features is not None:
        given["sketch_features"] = sketch_features
    if seed is not None:
        given["seed"] = seed
    return given


def grid_options(
    blocks: str | None,
    layers: str | None,
    scale: str | None,
    jump: str | None,
    normalize: str | None,
    c: str | None,
    edges: str | None,
) -> dict[str, Any]:
    """Return those options of a grid that were given.

    >>> grid_options("1-3", None, None, "no", None, None, None)
    {'blocks': (1, 2, 3), 'jump': (False,)}
    """
    given = {
        "blocks": None if blocks is None else parse_ints(blocks, "--blocks"),
        "layers": None if layers is None else parse_ints(layers, "--layers"),
        "scale": None if scale is None else parse_words(scale, "--scale"),
        "jump": None if jump is None else parse_flags(jump, "--jump"),
        "normalize": None if normalize is None else parse_flags(normalize, "--normalize"),
        "C": None if c is None else parse_floats(c, "--c"),
        "edges": None if edges is None else parse_words(edges, "--edges"),
    }
    return {name: value for name, value in given.items() if value is not None}


def parse_ints(text: str, name: str) -> tuple[int, ...]:
    """Read a list of whole numbers with ranges.

    >>> parse_ints("1-3,8", "--blocks")
    (1, 2, 3, 8)
    """
    values: list[int] = []
    for part in _parts(text, name):
        match = re.fullmatch(r"(\d+)(?:-(\d+))?", part)
        if not match:
            raise InputError(f"{name} takes whole numbers such as 1,2,5 or 1-5, but has {part!r}.")
        first, last = int(match[1]), int(match[2] or match[1])
        if last < first:
            raise InputError(f"{name}: the range {part} runs backwards.")
        values += range(first, last + 1)
    return tuple(dict.fromkeys(values))


def parse_floats(text: str, name: str) -> tuple[float, ...]:
    """Read a list of numbers.

    >>> parse_floats("0.1,10", "--c")
    (0.1, 10.0)
    """
    try:
        return tuple(dict.fromkeys(float(part) for part in _parts(text, name)))
    except ValueError:
        raise InputError(f"{name} takes numbers such as 1,10,100, but is {text!r}.") from None


def parse_words(text: str, name: str) -> tuple[str, ...]:
    """Read a list of words.

    >>> parse_words("uniform, degree", "--scale")
    ('uniform', 'degree')
    """
    return tuple(dict.fromkeys(_parts(text, name)))


def parse_flags(text: str, name: str) -> tuple[bool, ...]:
    """Read yes, no or both.

    >>> parse_flags("both", "--jump")
    (False, True)
    """
    known = {"yes": (True,), "no": (False,), "both": (False, True)}
    if text not in known:
        raise InputError(f"{name} must be yes, no or both, but is {text!r}.")
    return known[text]


def _parts(text: str, name: str) -> list[str]:
    parts = [part.strip() for part in text.split(",")]
    if not all(parts):
        raise InputError(f"{name} takes values separated by commas, but is {text!r}.")
    return parts
