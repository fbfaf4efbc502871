"""Tables, progress bars, messages and JSON."""

import json
import logging
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn
from rich.table import Table
from rich.text import Text

from fastgntk._util.text import format_duration
from fastgntk.engines import COMPILING

__all__ = [
    "configure_logging",
    "plural",
    "print_error",
    "print_json",
    "print_line",
    "print_table",
    "print_values",
    "print_warning",
    "progress_bar",
]

_SHOW_AFTER = 1.0  # seconds; quicker work needs no bar


def print_error(message: str, style: str = "bold red") -> None:
    """Print one sentence to standard error."""
    Console(stderr=True, soft_wrap=True).print(Text.assemble(("fastgntk: ", style), message))


def print_warning(message: Warning | str, *_: Any, **__: Any) -> None:
    """Print a Python warning as one sentence; takes the arguments of :func:`warnings.showwarning`."""
    print_error(str(message), "yellow")


class _LogPrinter(logging.Handler):
    """Print warnings of the library and the notice that compiling takes a while, or all records if ``verbose``."""

    verbose = False

    def emit(self, record: logging.LogRecord) -> None:
        if self.verbose or record.levelno >= logging.WARNING or record.getMessage() == COMPILING:
            print_warning(record.getMessage())


def configure_logging(verbose: bool) -> None:
    """Print warnings of the library, or all its log records, to standard error."""
    log = logging.getLogger("fastgntk")
    handlers = [handler for handler in log.handlers if isinstance(handler, _LogPrinter)] or [_LogPrinter()]
    handlers[0].verbose = verbose
    log.addHandler(handlers[0])
    log.setLevel(logging.INFO)
    log.propagate = False


def plural(count: int, noun: str) -> str:
    """Return a number with its noun.

    >>> plural(1, "row"), plural(2000, "row")
    ('1 row', '2,000 rows')
    """
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def print_json(value: Any) -> None:
    """Print a value as JSON to standard output."""
    sys.stdout.write(json.dumps(value, indent=2) + "\n")


def print_line(text: str) -> None:
    """Print text to standard output without breaking lines."""
    Console(soft_wrap=True).print(Text(text))


def print_table(title: str | None, columns: dict[str, str], rows: list[list[str]], note: str | None = None) -> None:
    """Print a table; ``columns`` has the justification of each heading."""
    table = Table(title=title, title_justify="left", title_style="bold", caption=note, caption_justify="left")
    for heading, justify in columns.items():
        table.add_column(heading, justify=justify, overflow="fold")  # type: ignore[arg-type]
    for row in rows:
        table.add_row(*map(Text, row))
    Console(highlight=False).print(table)


def print_values(title: str, rows: list[tuple[str, str]]) -> None:
    """Print names and values as a table without headings."""
    table = Table(title=Text(title, "bold"), title_justify="left", show_header=False)
    table.add_column(style="bold", no_wrap=True)
    table.add_column(overflow="fold")
    for row in rows:
        table.add_row(*map(Text, row))
    Console(highlight=False).print(table)


@contextmanager
def progress_bar(
    description: str, unit: str | None = None, *, quiet: bool = False
) -> Iterator[Callable[[int, int], None]]:
    """Yield a progress(done, total) that draws a bar with the time left on standard error.

    With a ``unit``, such as "tiles", the bar also shows the number of calls and their rate. It appears after a
    second, so that quick work shows nothing, and is removed at the end. The time left follows from the mean speed since
    the start, because stages of different speed alternate in an evaluation.
    """
    console = Console(stderr=True)
    if quiet or not console.is_terminal:
        yield lambda done, total: None  # noqa: ARG005
        return
    columns = ("{task.description}", BarColumn(), TextColumn("{task.percentage:>3.0f} %"), "{task.fields[note]}")
    bar = Progress(*columns, console=console, transient=True)
    start, calls = time.monotonic(), 0
    task = bar.add_task(description, total=1.0, note="")

    def progress(done: int, total: int) -> None:
        nonlocal calls
        calls += 1
        elapsed, fraction = time.monotonic() - start, done / total if total else 0.0
        if elapsed > _SHOW_AFTER:
            bar.start()
        rate = [f"{calls:,} {unit}, {calls / max(elapsed, 1e-9):.1f} per second"] if unit else []
        left = [f"{format_duration(elapsed * (1 - fraction) / fraction)} left"] if fraction else []
        bar.update(task, completed=fraction, note="  ".join([*rate, *left]))

    try:
        yield progress
    finally:
        if bar.live.is_started:
            bar.stop()
