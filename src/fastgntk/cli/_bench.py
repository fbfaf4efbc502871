"""``fastgntk bench``: engines side by side on the same pairs."""

from __future__ import annotations

import json as json_format
import re
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from fastgntk._util.files import atomic_write
from fastgntk._util.memory import memory_budget, worker_count
from fastgntk._util.text import format_bytes
from fastgntk.bench import CASES, Case, Row, machine, measure, start_up
from fastgntk.cli import _options as options
from fastgntk.cli._console import print_json, print_table, seconds
from fastgntk.datasets import find
from fastgntk.errors import InputError

__all__ = ["bench"]

_NOTE = (
    "baseline: the decoupled method on one pair of graphs at a time in dense NumPy, as in the paper, one process a "
    "worker; NumPy: the engine decoupled, which takes many pairs at once; ~ timed on random pairs or graphs "
    "and scaled; ratio: baseline over lossless; effic.: the ReLU layers alone on data in cache, over that of tiles; "
    "diff.: largest relative difference of lossless to the baseline."
)


def bench(
    names: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[NAMES]...", help="Data sets, or NAME:BLOCKS,LAYERS; by default those of the table found here."
        ),
    ] = None,
    output: Annotated[Path, typer.Option("--output", "-o", help="Where to write the record.")] = Path("bench.json"),
    time: Annotated[float, typer.Option(help="About how many seconds to give each slower engine.")] = 20.0,
    memory: options.MemoryOption = None,
    workers: options.WorkersOption = None,
    json: options.JsonOption = False,
) -> None:
    """Measure the engines side by side: time, ratio, efficiency, memory, and that they agree."""
    if not output.parent.is_dir():
        raise InputError(f"the folder {output.parent} does not exist; make it first.")
    if not time > 0:
        raise InputError(f"--time must be above 0, but is {time:g}.")
    budget, count = memory_budget(memory), worker_count(workers)
    cases = _cases(names)
    console = Console(stderr=True)
    rows: list[Row] = []
    with console.status("start-up", spinner="dots") as status:
        cold, warm = start_up(count)
        for case in cases:
            what = f"{case.name} {case.blocks}, {case.layers}"
            rows.append(
                measure(
                    case,
                    workers=count,
                    memory=budget,
                    time_limit=time,
                    progress=lambda stage, what=what: status.update(f"{what}: {stage}"),  # type: ignore[misc]
                )
            )
    record = {
        "measured": datetime.now(UTC).isoformat(timespec="seconds"),
        "machine": machine(),
        "memory_limit": budget,
        "cold_start_seconds": cold,
        "warm_start_seconds": warm,
        "rows": [row.to_dict() for row in rows],
    }
    atomic_write(output, json_format.dumps(record, indent=2).encode())
    if json:
        print_json(record)
        return
    headings = ["set", "baseline", "NumPy", "lossless", "ratio", "effic.", "memory", "diff."]
    columns = [(heading, "right" if i else "left") for i, heading in enumerate(headings)]
    print_table(f"fastgntk bench, {count} workers", columns, [_cells(row) for row in rows], note=_NOTE)
    print_table(
        "Pairs of distinct nodes over pairs of nodes",
        [("set", "left"), ("block by block", "left")],
        [[_title(row), ", ".join(f"{100 * share:.2g} %" for share in row.compression)] for row in rows],
    )
    Console(highlight=False).print(
        f"First kernel of a process: {seconds(cold)} when all has to be compiled, {seconds(warm)} ever after.\n"
        f"Record: {output}"
    )


def _cases(names: list[str] | None) -> list[Case]:
    """Return the cases asked for; without names those of the table whose data is here, and nothing is downloaded."""
    if not names:
        return [case for case in CASES if _is_here(case.name)]
    chosen: list[Case] = []
    for name in names:
        data, _, depth = name.partition(":")
        find(data)  # an unknown name is said before anything is measured
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


def _title(row: Row) -> str:
    return f"{row.name} {row.blocks},{row.layers}"


def _time(value: float) -> str:
    """Write a time so that ratios can be read from it: never in minutes."""
    return seconds(value) if value < 10 else f"{value:,.0f} s"


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
