"""The option groups that commands share: kernel, kernels to try, sketch, computation, output; ``_inputs`` has input."""

# ruff: noqa: RUF009  # option() makes a dataclass field

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fastgntk._util.files import check_place
from fastgntk._util.threads import Progress
from fastgntk.cli._console import print_json, print_values
from fastgntk.cli._groups import OptionGroup, option
from fastgntk.cli._lists import parse_flags, parse_floats, parse_ints, parse_words
from fastgntk.errors import InputError
from fastgntk.kernels import GNTK, Kernel, parse_kernel
from fastgntk.pairwise import Compute
from fastgntk.sketch import Sketch

if TYPE_CHECKING:
    from fastgntk.selection import Candidates, Grid

__all__ = [
    "CandidateOptions",
    "ComputeOptions",
    "JsonOutput",
    "KernelOptions",
    "LocalComputeOptions",
    "OutputOptions",
    "ReportOutput",
    "SketchOptions",
    "random_state_option",
]

_KERNEL = 'The kernel as text, such as "GNTK(blocks=3) + 0.5 * GNTK(2).normalized()"'


def _features_option() -> Any:
    what = "Initial node features: auto, attributes, labels, all or degree."
    return option(None, help=what, show_default="auto")


def random_state_option(default: Any, of_what: str) -> Any:
    """Declare ``--random-state``, the seed of something."""
    return option(default, help=f"Seed of {of_what}.", show_default="0")


@dataclass(frozen=True)
class SketchOptions(OptionGroup):
    """An approximation of the kernel; any of these options requests it."""

    panel = "Sketch: an approximation for large dense graphs"

    sketch: str | None = option(None, help="ams, gaussian, srht, countsketch or sparse.", show_default="exact")
    sketch_size: str | None = option(None, help="Rows such as 64, or a rate such as 0.3.", show_default="0.3")
    fresh_each_block: bool | None = option(None, "--fresh-each-block", help="Draw a new sketch for each block.")
    merge_nodes: bool | None = option(
        None, "--merge-nodes/--all-nodes", help="Sketch distinct nodes (the default), or all nodes as in the paper."
    )
    sketch_features: bool | None = option(
        None, "--sketch-features", help="Sketch the features too, as in the paper; this saves no time."
    )

    def build(self, seed: int) -> Sketch | None:
        """Return the sketch, or None for an exact kernel.

        >>> SketchOptions("srht", "0.25").build(1), SketchOptions().build(1)
        (Sketch(kind='srht', size=0.25, seed=1), None)
        """
        names = {"kind": "sketch", "size": "sketch_size"}
        names |= {name: name for name in ("fresh_each_block", "merge_nodes", "sketch_features")}
        chosen = {name: getattr(self, field) for name, field in names.items() if getattr(self, field) is not None}
        if not chosen:
            return None
        if "size" in chosen:
            chosen["size"] = _parse_size(chosen["size"])
        return Sketch(seed=seed, **chosen)


@dataclass(frozen=True)
class KernelOptions(OptionGroup):
    """One kernel: as text, or a GNTK from its options."""

    panel = "Kernel"

    kernel: list[str] | None = option(
        None, metavar="TEXT", help=f"{_KERNEL}; not to be combined with the options below."
    )
    blocks: int | None = option(None, help="Number of blocks.", show_default="3")
    layers: int | None = option(None, help="ReLU layers in each block.", show_default="2")
    scale: str | None = option(None, help="Scale: uniform, degree or unit.", show_default="uniform")
    jump: bool | None = option(None, help="Read out every level (the default), or only the last.")
    c_phi: float | None = option(None, help="Variance factor of the ReLU layers.", show_default="2")
    edges: str | None = option(None, help="plain ignores edge labels, typed does not.", show_default="plain")
    features: str | None = _features_option()
    normalize: bool = option(False, "--normalize", help="Divide by self-similarities, so that values are cosines.")
    random_state: int | None = random_state_option(None, "the sketch")

    def build(self, sketch: SketchOptions) -> Kernel:
        """Return the kernel.

        >>> KernelOptions(blocks=2, normalize=True).build(SketchOptions())
        GNTK(blocks=2).normalized()
        """
        if self.kernel:
            if len(self.kernel) > 1:
                raise InputError(f"give one --kernel, not {len(self.kernel)}; kernels can be added up in one text.")
            _check_alone(self, sketch)
            return parse_kernel(self.kernel[0])
        if self.random_state is not None and not sketch.given():
            raise InputError("--random-state is the seed of a sketch; give --sketch too.")
        names = ("blocks", "layers", "scale", "jump", "c_phi", "edges", "features")
        chosen = {name: getattr(self, name) for name in names if getattr(self, name) is not None}
        kernel = GNTK(**chosen, sketch=sketch.build(self.random_state or 0))
        return kernel.normalized() if self.normalize else kernel


@dataclass(frozen=True)
class CandidateOptions(OptionGroup):
    """The kernels among which a command chooses: given as text, or GNTKs from lists of options."""

    panel = "Kernels to try"

    kernel: list[str] | None = option(
        None, metavar="TEXT", help=f"{_KERNEL}; may be repeated; not to be combined with the options below, except --c."
    )
    blocks: str | None = option(
        None, help="Numbers of blocks, such as 1,2,5 or 1-10.", show_default="train: 1-10; evaluate: 1,2,3,5,8"
    )
    layers: str | None = option(None, help="Numbers of layers in each block.", show_default="1-3")
    scale: str | None = option(None, help="Scales: uniform,degree,unit.", show_default="uniform,degree")
    jump: str | None = option(None, help="Jumping knowledge: yes, no or both.", show_default="both")
    normalize: str | None = option(None, help="Cosine normalization: yes, no or both.", show_default="both")
    edges: str | None = option(None, help="plain ignores edge labels; plain,typed tries both.", show_default="plain")
    features: str | None = _features_option()
    c: str | None = option(
        None,
        "--c",
        "--C",
        help="Values of C for SVMs, in units of the kernel's variance.",
        show_default="0.1 to 1000",
    )

    def build(self, default: Grid, sketch: SketchOptions, seed: int) -> Grid | Candidates:
        """Return the kernels, or the default grid with other values where they were given."""
        if self.kernel:
            _check_alone(self, sketch)
            C = default.C if self.c is None else parse_floats(self.c, "--c")
            from fastgntk.selection import Candidates

            return Candidates(tuple(parse_kernel(text) for text in self.kernel), C)
        readers: dict[str, Any] = {"blocks": parse_ints, "layers": parse_ints, "scale": parse_words}
        readers |= {"jump": parse_flags, "normalize": parse_flags, "edges": parse_words, "c": parse_floats}
        texts = {name: getattr(self, name) for name in readers if getattr(self, name) is not None}
        values = {"C" if n == "c" else n: readers[n](text, f"--{n}") for n, text in texts.items()}
        base = GNTK(features=self.features or "auto", sketch=sketch.build(seed))  # type: ignore[arg-type]
        return replace(default, **values, base=base)


@dataclass(frozen=True)
class ComputeOptions(OptionGroup):
    """How kernel values are computed."""

    panel = "Computation"

    engine: str = option(
        "auto", help="lossless, decoupled, kronecker (slow), or auto, the fastest; all give the same numbers."
    )
    n_jobs: int | None = option(None, help="Number of threads or processes.", show_default="every core")
    max_memory: str | None = option(None, help="Memory limit, such as 2GB.", show_default="a quarter of RAM")

    def build(self, progress: Progress | None = None) -> Compute:
        """Return the options of the library."""
        return Compute(self.engine, self.n_jobs, self.max_memory, progress)


@dataclass(frozen=True)
class LocalComputeOptions(ComputeOptions):
    """The same where the engine is determined elsewhere, for example by a model file."""

    omitted = ("engine",)


@dataclass(frozen=True)
class OutputOptions(OptionGroup):
    """What a command prints."""

    panel = "Output"

    json: bool = option(False, "--json", help="Print JSON instead of tables.")
    verbose: bool = option(False, "--verbose", "-v", help="Log each step to standard error.")

    def show(self, record: dict[str, Any], title: str, rows: list[tuple[str, str]]) -> None:
        """Print a record as JSON, or else rows of names and values as a table."""
        if self.json:
            print_json(record)
        else:
            print_values(title, rows)


@dataclass(frozen=True)
class JsonOutput(OutputOptions):
    """The same for commands that log nothing."""

    omitted = ("verbose",)


@dataclass(frozen=True)
class ReportOutput(OutputOptions):
    """What a command prints, and an HTML page about it."""

    report: Path | None = option(
        None, metavar="NAME.html", help="Write a report: one self-contained HTML file.", show_default="no report"
    )

    def check(self) -> None:
        """Refuse a path to which no page can be written, before any work."""
        if self.report is not None:
            check_place(self.report, "--report", ".html")

    def report_record(self) -> dict[str, str]:
        """Return the entry of the page in JSON output, if there is one."""
        return {} if self.report is None else {"report": str(self.report)}


def _check_alone(group: KernelOptions | CandidateOptions, sketch: SketchOptions) -> None:
    """Refuse options that the text of a kernel replaces."""
    others = [name for name in (*group.given(), *sketch.given()) if name not in ("--kernel", "--c")]
    if others:
        raise InputError(f"use either --kernel or {', '.join(others)}, not both.")


def _parse_size(text: str) -> int | float:
    try:
        return int(text) if re.fullmatch(r"[-+]?\d+", text) else float(text)
    except ValueError:
        raise InputError(f"--sketch-size takes a number such as 64 or 0.3, but is {text!r}.") from None
