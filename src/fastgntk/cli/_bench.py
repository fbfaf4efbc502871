"""``fastgntk bench``: engines side by side on the same pairs."""

import json
import re
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from fastgntk._util.files import atomic_write
from fastgntk._util.text import format_bytes, format_duration
from fastgntk.bench import CASES, Case, Row, machine, measure, start_up
from fastgntk.cli._console import print_json, print_line, print_table
from fastgntk.cli._groups import with_groups
from fastgntk.cli._options import JsonOutput, LocalComputeOptions
from fastgntk.datasets import find
from fastgntk.errors import InputError
from fastgntk.pairwise import Compute

__all__ = ["bench"]

_NOTE = (
    "baseline: the decoupled method on one pair of graphs at a time in dense NumPy, as in the paper, one process per "
    "worker; NumPy: the engine decoupled, many pairs at once; ~: timed on random pairs or graphs and scaled; ratio: "
    "baseline over lossless; effic.: time of the ReLU layers alone on data in cache over time of the tiles; diff.: "
    "largest relative difference between lossless and baseline."
)


@with_groups
def bench(
    *,
    names: Annotated[
        list[str] | None,
        typer.Argument(metavar="[NAMES]...", help="Data sets, or NAME:BLOCKS,LAYERS.", show_default="those found here"),
    ] = None,
    file: Annotated[Path, typer.Option("--output", "-o", help="Where to write the record.")] = Path("bench.json"),
    time: Annotated[float, typer.Option(help="Approximate time limit for each slower engine, in seconds.")] = 20.0,
    compute: LocalComputeOptions,
    output: JsonOutput,
) -> None:
    """Measure the engines side by side: time, ratio, efficiency, memory, and largest difference."""
    if not file.parent.is_dir():
        raise InputError(f"the folder {file.parent} does not exist; make it first.")
    if not time > 0:
        raise InputError(f"--time must be above 0, but is {time:g}.")
    how, cases = compute.build(), _cases(names)
    cold, warm, rows = _measure_all(cases, how, time)
    record = {
        "measured": datetime.now(UTC).isoformat(timespec="seconds"),
        "machine": machine(),
        "max_memory": how.budget,
        "cold_start_seconds": cold,
        "warm_start_seconds": warm,
        "rows": [row.to_dict() for row in rows],
    }
    atomic_write(file, json.dumps(record, indent=2).encode())
    if output.json:
        print_json(record)
        return
    _show(rows, how.threads)
    times = f"{format_duration(cold)} if everything has to be compiled, {format_duration(warm)} after that"
    print_line(f"First kernel of a process: {times}.\nRecord: {file}")


def _measure_all(cases: list[Case], compute: Compute, time_limit: float) -> tuple[float, float, list[Row]]:
    """Return start-up times without and with compiled code, and a row for each case."""
    rows: list[Row] = []
    with Console(stderr=True).status("start-up", spinner="dots") as status:
        cold, warm = start_up(compute.threads)
        for case in cases:

            def progress(stage: str, title: str = f"{case.name} {case.blocks}, {case.layers}") -> None:
                status.update(f"{title}: {stage}")

            rows.append(
                measure(case, workers=compute.threads, memory=compute.budget, time_limit=time_limit, progress=progress)
            )
    return cold, warm, rows


def _cases(names: list[str] | None) -> list[Case]:
    """Return the cases of some names; without names those of the table whose data is here, without downloads."""
    if not names:
        return [case for case in CASES if _is_here(case.name)]
    chosen: list[Case] = []
    for name in names:
        data, _, depth = name.partition(":")
        find(data)  # refuses an unknown name before anything is measured
        if depth:
            match = re.fullmatch(r"([1-9]\d*),([1-9]\d*)", depth)
            if not match:
                raise InputError(f"{name}: write NAME:BLOCKS,LAYERS, such as MUTAG:3,2.")
            chosen.append(Case(data, int(match[1]), int(match[2])))
            continue
        chosen += [case for case in CASES if case.name == data] or [Case(data, 3, 2)]
    return chosen


def _is_here(name: str) -> bool:
    try:
        return find(name)[0] != "download"
    except InputError:  # it has no public address either
        return False


def _show(rows: list[Row], workers: int) -> None:
    headings = ["set", "baseline", "NumPy", "lossless", "ratio", "effic.", "memory", "diff."]
    columns = [(heading, "right" if i else "left") for i, heading in enumerate(headings)]
    print_table(f"fastgntk bench, {workers} workers", columns, [_cells(row) for row in rows], note=_NOTE)
    print_table(
        "Pairs of distinct nodes over pairs of nodes",
        [("set", "left"), ("block by block", "left")],
        [[_title(row), ", ".join(f"{100 * share:.2g} %" for share in row.compression)] for row in rows],
    )


def _title(row: Row) -> str:
    return f"{row.name} {row.blocks},{row.layers}"


def _time(seconds: float) -> str:
    """Write a time in seconds even if it is long, so that ratios can be read from the table."""
    return format_duration(seconds) if seconds < 10 else f"{seconds:,.0f} s"


def _cells(row: Row) -> list[str]:
    return [
        _title(row),
        ("~" if row.baseline_scaled else "") + _time(row.baseline_seconds),
        ("~" if row.decoupled_scaled else "") + _time(row.decoupled_seconds),
        _time(row.lossless_seconds),
        f"{row.ratio:.0f}×",
        f"{100 * row.efficiency:.0f} %",
        format_bytes(row.peak_bytes) if row.peak_bytes else "unknown",
        f"{row.largest_difference:.0e}",
    ]
