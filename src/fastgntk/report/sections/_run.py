"""Sections with the run: distinct nodes, speed, time by stage, command and options."""

from fastgntk._util.text import format_duration
from fastgntk.report._schema import Compression, ReportData, Speed
from fastgntk.report.sections._markup import Part, bars, escape, number, small, table

__all__ = ["command_and_options", "stage_times", "work_saved"]


def work_saved(report: ReportData) -> Part:
    """Return the number of distinct nodes, and the time of the kernel matrix and of a baseline."""
    parts = []
    if "compression" in report:
        parts.append(_distinct_nodes(report["compression"]))
    if "speed" in report:
        parts.append(_speed(report["speed"]))
    return ("".join(lead for lead, _ in parts), "".join(body for _, body in parts)) if parts else None


def _distinct_nodes(merged: Compression) -> tuple[str, str]:
    nodes = merged["nodes"]
    lead = (
        "<p>Nodes that a network of this depth cannot distinguish are merged, which is exact. Of "
        f"{nodes:,} nodes, this many are distinct at each level.</p>"
    )
    rows = [("All nodes", float(nodes), f"{nodes:,}")]
    for level, distinct in enumerate(merged["distinct"]):
        fraction = f'<span class="fine"> {number(100 * distinct / nodes, 2)} %</span>' if nodes else ""
        rows.append((f"Level {level}", float(distinct), f"{distinct:,}{fraction}"))
    return lead, bars("Distinct nodes by level", ("Level", "Distinct nodes"), rows)


def _speed(speed: Speed) -> tuple[str, str]:
    lead, about = "", "" if speed["measured"] else "about "
    ratio = speed["baseline"] / speed["seconds"] if speed["seconds"] > 0 else 0.0
    if ratio >= 1:
        # Two digits: measured times are not more precise.
        times = number(float(f"{ratio:.2g}"), 2)
        name = escape(speed["baseline_name"])
        lead = f"<p>By {name} one kernel matrix takes <strong>{times} times longer</strong>.</p>"
    if not speed["measured"]:
        lead += small("That time is extrapolated from some pairs of graphs.")
    rows = [
        ("fastgntk", speed["seconds"], format_duration(speed["seconds"])),
        (speed["baseline_name"], speed["baseline"], about + format_duration(speed["baseline"])),
    ]
    return lead, bars("Time of one kernel matrix", ("Method", "Time"), rows)


def stage_times(report: ReportData) -> Part:
    """Return the time of each stage."""
    if not report["stages"]:
        return None
    total = sum(seconds for _, seconds in report["stages"])
    rows = [(name, seconds, format_duration(seconds)) for name, seconds in report["stages"]]
    return f"<p>{format_duration(total)} in total.</p>", bars("Time by stage", ("Stage", "Time"), rows)


def command_and_options(report: ReportData) -> Part:
    """Return the command, options, data and version."""
    if not report["run"] and not report["command"]:
        return None
    body = ""
    if report["command"]:
        body = f'<pre tabindex="0" aria-label="Command"><code>{escape(report["command"])}</code></pre>\n'
    rows = [(escape(name), escape(value)) for name, value in report["run"]]
    options = table("Options, data and version", ("Name", "Value"), rows, text_columns=(0, 1)) if rows else ""
    return "<p>Everything needed to repeat this run.</p>", f'{body}<div class="run">{options}</div>'
