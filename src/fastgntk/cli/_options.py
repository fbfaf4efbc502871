"""The option groups that commands share: kernel, kernels to try, sketch, computation, output; ``_inputs`` has input."""

import re
import shlex
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fastgntk._util.files import check_output_path
from fastgntk._util.text import format_bytes, format_duration
from fastgntk._util.threads import Progress
from fastgntk.cli._console import print_json, print_line, print_values, progress_bar
from fastgntk.cli._option_groups import OptionGroup, option, random_state_option
from fastgntk.errors import InputError
from fastgntk.graphs import GraphBatch
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
    "candidate_kernels",
    "parse_floats",
    "parse_words",
]

_KERNEL = 'The kernel as text, such as "GNTK(blocks=3) + 0.5 * GNTK(2).normalized()"'
_FEATURES = "Initial node features: auto, attributes, labels, all, degree or discrete."


@dataclass(frozen=True)
class SketchOptions(OptionGroup):
    """An approximation of the kernel; any of these options requests it."""

    panel = "Sketch: an approximation for large dense graphs"

    sketch: str | None = option("ams, gaussian, srht, countsketch or sparse.", show_default="exact")
    sketch_size: str | None = option("Rows such as 64, a rate such as 0.3, or auto.", show_default="0.3")
    sketch_error: float | None = option("Relative error for --sketch-size auto.", show_default="0.1")
    fresh_each_block: bool | None = option("Draw a new sketch for each block.", None, "--fresh-each-block")
    merge_nodes: bool | None = option(
        "Sketch distinct nodes (the default), or all nodes as in the paper.", None, "--merge-nodes/--all-nodes"
    )
    sketch_features: bool | None = option(
        "Sketch the features too, as in the paper; this saves no time.", None, "--sketch-features"
    )

    def build(self, random_state: int) -> Sketch | None:
        """Return the sketch, or None for an exact kernel.

        >>> SketchOptions("srht", "0.25").build(1), SketchOptions().build(1)
        (Sketch(kind='srht', size=0.25, seed=1), None)
        """
        size = None if self.sketch_size is None else _parse_size(self.sketch_size)
        options = {
            "kind": self.sketch,
            "size": size,
            "error": self.sketch_error,
            "fresh_each_block": self.fresh_each_block,
        }
        options |= {"merge_nodes": self.merge_nodes, "sketch_features": self.sketch_features}
        chosen: dict[str, Any] = {name: value for name, value in options.items() if value is not None}
        return Sketch(seed=random_state, **chosen) if chosen else None


@dataclass(frozen=True)
class KernelOptions(OptionGroup):
    """One kernel: as text, or a GNTK from its options."""

    panel = "Kernel"

    kernel: list[str] | None = option(f"{_KERNEL}; not to be combined with the options below.", metavar="TEXT")
    blocks: int | None = option("Number of blocks.", show_default="3")
    layers: int | None = option("ReLU layers in each block.", show_default="2")
    scale: str | None = option("Scale: uniform, degree, unit or symmetric.", show_default="uniform")
    jump: bool | None = option("Read out every level (the default), or only the last.")
    c_phi: float | None = option("Variance factor of the ReLU layers.", show_default="2")
    edges: str | None = option("plain ignores edge labels; typed uses them.", show_default="plain")
    features: str | None = option(_FEATURES, show_default="auto")
    normalize: bool = option("Normalise the kernel, so that values are cosines.", False)
    random_state: int | None = random_state_option("the sketch", None)

    def build(self, sketch: SketchOptions) -> Kernel:
        """Return the kernel.

        >>> KernelOptions(blocks=2, normalize=True).build(SketchOptions())
        GNTK(blocks=2).normalized()
        """
        if self.kernel:
            if len(self.kernel) > 1:
                raise InputError(f"give one --kernel, not {len(self.kernel)}; kernels can be added up in one text.")
            _refuse_replaced_options(self, sketch)
            return parse_kernel(self.kernel[0])
        if self.random_state is not None and not sketch.changed():
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
        f"{_KERNEL}; may be repeated; not to be combined with the options below, except --c. gntk: GNTKs alone, from "
        "the options below.",
        metavar="TEXT",
    )
    blocks: str | None = option(
        "Numbers of blocks, such as 1,2,5 or 1-10.", show_default="train: 1-10; evaluate: 1,2,3,5,8"
    )
    layers: str | None = option(
        "Numbers of layers in each block.", show_default="train: 1-3, with descriptors 1; evaluate: 1"
    )
    scale: str | None = option("Scales: uniform,degree,unit,symmetric.", show_default="uniform,degree")
    jump: str | None = option(
        "Jumping knowledge: yes, no or both.",
        show_default="train: both, with descriptors yes; evaluate: both up to 500 graphs, else yes",
    )
    normalize: str | None = option(
        "Cosine normalisation: yes, no or both.",
        show_default="train: both, with descriptors yes; evaluate: both up to 500 graphs, else yes",
    )
    edges: str | None = option("plain ignores edge labels; plain,typed tries both.", show_default="plain")
    optimal_assignment: str | None = option(
        "Products with the WLOA kernel of the same depth: yes, no or both.",
        show_default="train: both; evaluate: both for more than 500 graphs, else no",
    )
    features: str | None = option(_FEATURES, show_default="auto")
    c: str | None = option(
        "Values of C for SVMs, with the kernel scaled to variance 1.",
        None,
        "--c",
        "--C",
        show_default="train: 0.1 to 1000; evaluate: 0.1 to 1000 up to 500 graphs, else 1 to 100",
    )

    def build(
        self, default: "Grid", sketch: SketchOptions, random_state: int, graphs: GraphBatch
    ) -> "Grid | Candidates":
        """Return the kernels, or the default grid with the given values, as far as it applies to the graphs."""
        only_networks = self.kernel == ["gntk"]
        if self.kernel and not only_networks:
            _refuse_replaced_options(self, sketch)
            C = default.C if self.c is None else parse_floats(self.c, "--c")
            from fastgntk.selection import Candidates

            return Candidates(tuple(parse_kernel(text) for text in self.kernel), C)
        parsers: dict[str, Any] = {"blocks": _parse_ints, "layers": _parse_ints, "scale": parse_words}
        parsers |= {"jump": _parse_flags, "normalize": _parse_flags, "edges": parse_words, "c": parse_floats}
        parsers |= {"optimal_assignment": _parse_flags}
        texts = {name: getattr(self, name) for name in parsers if getattr(self, name) is not None}
        values = {"C" if name == "c" else name: parsers[name](text, f"--{name}") for name, text in texts.items()}
        base = GNTK(features=self.features or "auto", sketch=sketch.build(random_state))  # type: ignore[arg-type]
        if only_networks:
            if self.optimal_assignment is not None:
                raise InputError("use either --kernel gntk or --optimal-assignment, not both.")
            return replace(default, **values, base=base, optimal_assignment=(False,))
        grid = replace(default, **values, base=base).for_graphs(graphs)
        requested = values.get("optimal_assignment", grid.optimal_assignment)  # even if the graphs do not suit it
        return grid if requested == grid.optimal_assignment else replace(grid, optimal_assignment=requested)


@dataclass(frozen=True)
class ComputeOptions(OptionGroup):
    """How kernel values are computed."""

    panel = "Computation"

    engine: str = option(
        "lossless, decoupled, kronecker (slow), or auto, the fastest; all give the same numbers.", "auto"
    )
    n_jobs: int | None = option("Number of threads or processes.", show_default="all cores")
    max_memory: str | None = option("Memory limit, such as 2GB.", show_default="a quarter of RAM")

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

    json: bool = option("Print JSON instead of tables.", False)
    verbose: bool = option("Log each step to standard error.", False, "--verbose", "-v")

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
        "Write a report: one self-contained HTML file.", metavar="NAME.html", show_default="no report"
    )

    def check(self) -> None:
        """Raise before any work if the page cannot be written."""
        if self.report is not None:
            check_output_path(self.report, "--report", ".html")

    def report_record(self) -> dict[str, str]:
        """Return the entry of the page in JSON output, empty if no page is written."""
        return {} if self.report is None else {"report": str(self.report)}

    def write_report(self, write: Callable[..., Any], compute: ComputeOptions, *results: Any, **options: Any) -> None:
        """Write the page with a function of :mod:`fastgntk.report` and print its path; do nothing without ``--report``.

        Results are printed before this is called, so that they are not lost if the page cannot be written.
        """
        if self.report is None:
            return
        start = time.perf_counter()
        command = shlex.join(["fastgntk", *sys.argv[1:]])
        with progress_bar("writing the report", quiet=self.json) as bar:
            write(self.report, *results, command=command, compute=compute.build(bar), **options)
        if not self.json:
            seconds, size = time.perf_counter() - start, self.report.stat().st_size
            print_line(f"report: {self.report} ({format_bytes(size)}, {format_duration(seconds)})")


def candidate_kernels(candidates: "Grid | Candidates") -> Sequence[Kernel]:
    """Return the kernels to try."""
    return candidates.kernels if isinstance(candidates.kernels, tuple) else candidates.kernels()


def parse_words(text: str, name: str) -> tuple[str, ...]:
    """Parse a list of words.

    >>> parse_words("uniform, degree", "--scale")
    ('uniform', 'degree')
    """
    words = [part.strip() for part in text.split(",")]
    if not all(words):
        raise InputError(f"{name} takes values separated by commas, but is {text!r}.")
    return tuple(dict.fromkeys(words))


def _parse_ints(text: str, name: str) -> tuple[int, ...]:
    """Parse a list of integers and ranges.

    >>> _parse_ints("1-3,8", "--blocks")
    (1, 2, 3, 8)
    """
    values: list[int] = []
    for part in parse_words(text, name):
        match = re.fullmatch(r"(\d+)(?:-(\d+))?", part)
        if not match:
            raise InputError(f"{name} takes integers such as 1,2,5 or 1-5, but has {part!r}.")
        first, last = int(match[1]), int(match[2] or match[1])
        if last < first:
            raise InputError(f"{name}: the range {part} runs backwards.")
        values += range(first, last + 1)
    return tuple(dict.fromkeys(values))


def parse_floats(text: str, name: str) -> tuple[float, ...]:
    """Parse a list of numbers.

    >>> parse_floats("0.1,10", "--c")
    (0.1, 10.0)
    """
    try:
        return tuple(dict.fromkeys(map(float, parse_words(text, name))))
    except ValueError:
        raise InputError(f"{name} takes numbers such as 1,10,100, but is {text!r}.") from None


def _parse_flags(text: str, name: str) -> tuple[bool, ...]:
    """Parse yes, no or both.

    >>> _parse_flags("both", "--jump")
    (False, True)
    """
    flags = {"yes": (True,), "no": (False,), "both": (False, True)}
    if text not in flags:
        raise InputError(f"{name} must be yes, no or both, but is {text!r}.")
    return flags[text]


def _parse_size(text: str) -> int | float | str:
    if text == "auto":
        return text
    try:
        return int(text) if re.fullmatch(r"[-+]?\d+", text) else float(text)
    except ValueError:
        raise InputError(f"--sketch-size takes a number such as 64 or 0.3, or auto, but is {text!r}.") from None


def _refuse_replaced_options(group: KernelOptions | CandidateOptions, sketch: SketchOptions) -> None:
    """Reject options that the text of a kernel replaces."""
    replaced = [name for name in (*group.changed(), *sketch.changed()) if name not in ("--kernel", "--c")]
    if replaced:
        raise InputError(f"use either --kernel or {', '.join(replaced)}, not both.")
