"""``fastgntk bench``: engines side by side on the same pairs."""

import json
import re
from datetime import UTC, datetime
from pathlib import Path

from rich.console import Console

from fastgntk._util.files import atomic_write, check_output_path
from fastgntk._util.text import format_bytes, format_duration
from fastgntk.bench import CASES, Case, Measurement, machine, measure, time_start_up
from fastgntk.cli._console import print_json, print_line, print_table
from fastgntk.cli._info import locate_dataset
from fastgntk.cli._option_groups import argument, option, with_groups
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
    names: list[str] | None = argument(
        "Data sets, or NAME:BLOCKS,LAYERS.", None, metavar="[NAMES]...", show_default="those found here"
    ),
    file: Path = option("Where to write the record.", Path("bench.json"), "--output", "-o"),
    time: float = option("Approximate time limit for each slower engine, in seconds.", 20.0),
    compute: LocalComputeOptions,
    output: JsonOutput,
) -> None:
    """Measure the engines side by side: time, ratio, efficiency, memory, and largest difference."""
    check_output_path(file, "--output")
    if not time > 0:
        raise InputError(f"--time must be above 0, but is {time:g}.")
    settings, cases = compute.build(), _choose_cases(names)
    cold, warm, measurements = _measure_all(cases, settings, time)
    record = {
        "measured": datetime.now(UTC).isoformat(timespec="seconds"),
        "machine": machine(),
        "max_memory": settings.memory_budget,
        "cold_start_seconds": cold,
        "warm_start_seconds": warm,
        "rows": [measurement.to_dict() for measurement in measurements],
    }
    atomic_write(file, json.dumps(record, indent=2).encode())
    if output.json:
        print_json(record)
        return
    _show(measurements, settings.threads)
    times = f"{format_duration(cold)} if everything has to be compiled, {format_duration(warm)} after that"
    print_line(f"First kernel of a process: {times}.\nRecord: {file}")


def _measure_all(cases: list[Case], compute: Compute, time_limit: float) -> tuple[float, float, list[Measurement]]:
    """Return start-up times without and with compiled code, and the measurements of each case."""
    workers, memory_budget = compute.threads, compute.memory_budget
    measurements: list[Measurement] = []
    with Console(stderr=True).status("start-up", spinner="dots") as status:
        cold, warm = time_start_up(workers)
        for case in cases:

            def progress(stage: str, title: str = f"{case.name} {case.blocks}, {case.layers}") -> None:
                status.update(f"{title}: {stage}")

            measured = measure(
                case, workers=workers, max_memory=memory_budget, time_limit=time_limit, progress=progress
            )
            measurements.append(measured)
    return cold, warm, measurements


def _choose_cases(names: list[str] | None) -> list[Case]:
    """Return the cases for ``names``; by default all cases whose data is on this machine."""
    if not names:
        return [case for case in CASES if locate_dataset(case.name)[1] is not None]
    chosen: list[Case] = []
    for name in names:
        data, _, depth = name.partition(":")
        find(data)  # refuses an unknown name before anything is measured
        if not depth:
            chosen += [case for case in CASES if case.name == data] or [Case(data, 3, 2)]
            continue
        match = re.fullmatch(r"([1-9]\d*),([1-9]\d*)", depth)
        if not match:
            raise InputError(f"{name}: write NAME:BLOCKS,LAYERS, such as MUTAG:3,2.")
        chosen.append(Case(data, int(match[1]), int(match[2])))
    return chosen


def _show(measurements: list[Measurement], workers: int) -> None:
    columns = {"set": "left"}
    columns |= dict.fromkeys(["baseline", "NumPy", "lossless", "ratio", "effic.", "memory", "diff."], "right")
    rows, compression = [], []
    for m in measurements:
        title = f"{m.name} {m.blocks},{m.layers}"
        row = [
            title,
            ("~" if m.baseline_scaled else "") + _format_seconds(m.baseline_seconds),
            ("~" if m.decoupled_scaled else "") + _format_seconds(m.decoupled_seconds),
            _format_seconds(m.lossless_seconds),
            f"{m.ratio:.0f}×",
            f"{100 * m.efficiency:.0f} %",
            format_bytes(m.peak_bytes) if m.peak_bytes else "unknown",
            f"{m.largest_difference:.0e}",
        ]
        rows.append(row)
        compression.append([title, ", ".join(f"{100 * fraction:.2g} %" for fraction in m.compression)])
    print_table(f"fastgntk bench, {workers} workers", columns, rows, note=_NOTE)
    print_table("Pairs of distinct nodes over pairs of nodes", {"set": "left", "block by block": "left"}, compression)


def _format_seconds(seconds: float) -> str:
    """Write a time in seconds even if it is long, so that ratios can be read from the table."""
    return format_duration(seconds) if seconds < 10 else f"{seconds:,.0f} s"
