"""``--report``: an HTML page about an evaluation or a training."""

import shlex
import sys
import time
from collections.abc import Callable
from typing import Any

from fastgntk._util.text import format_bytes, format_duration
from fastgntk.cli._console import print_line, progress_bar
from fastgntk.cli._options import ComputeOptions, ReportOutput

__all__ = ["command_line", "write_report"]


def command_line() -> str:
    """Return the command that is running."""
    return shlex.join(["fastgntk", *sys.argv[1:]])


def write_report(
    output: ReportOutput, compute: ComputeOptions, write: Callable[..., Any], *facts: Any, **options: Any
) -> None:
    """Call a function of :mod:`fastgntk.report` with a progress bar, and print where the page is.

    Results are printed before this is called, so that they are not lost if the page cannot be written.
    """
    assert output.report is not None
    start = time.perf_counter()
    with progress_bar("writing the report", quiet=output.json) as bar:
        write(output.report, *facts, command=command_line(), compute=compute.build(bar), **options)
    if not output.json:
        took, size = format_duration(time.perf_counter() - start), format_bytes(output.report.stat().st_size)
        print_line(f"report: {output.report} ({size}, {took})")
