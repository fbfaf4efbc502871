"""``--report``: the page that ``evaluate`` and ``train`` write beside what they print."""

from __future__ import annotations

import shlex
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from fastgntk._util.files import check_place
from fastgntk._util.text import format_bytes
from fastgntk.cli._console import progress_bar, seconds

__all__ = ["ReportOption", "as_typed", "check_report", "written"]

ReportOption = Annotated[
    Path | None,
    typer.Option(
        "--report",
        help="Where to write a page about it: NAME.html, one file that needs nothing else.",
        show_default="no page",
    ),
]


def check_report(path: Path | None) -> None:
    """Refuse at once a place where no page can be written."""
    if path is not None:
        check_place(path, "--report", ".html")


def as_typed() -> str:
    """Return the command that is running."""
    return shlex.join(["fastgntk", *sys.argv[1:]])


@contextmanager
def written(path: Path, *, quiet: bool) -> Iterator[Callable[[int, int], None]]:
    """Show how far a page is, and say when it is there."""
    start = time.perf_counter()
    with progress_bar("making the report", quiet=quiet) as bar:
        yield bar
    if not quiet:
        took, size = seconds(time.perf_counter() - start), format_bytes(path.stat().st_size)
        Console(highlight=False, soft_wrap=True).print(f"report: {path} ({size}, {took})", markup=False)
