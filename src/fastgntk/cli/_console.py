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

from fastgntk._util.text import format_duration
from fastgntk.engines import COMPILING

__all__ = [
    "error_line",
    "print_json",
    "print_line",
    "print_table",
    "print_values",
    "progress_bar",
    "show_log",
    "warning_line",
]

_SHOW_AFTER = 1.0  # seconds; what is quicker needs no bar


def error_line(message: str) -> None:
    """Print one sentence to standard error."""
    Console(stderr=True, highlight=False, soft_wrap=True).print(f"[bold red]fastgntk:[/] {_escape(message)}")


def warning_line(message: Warning | str, *_: Any, **__: Any) -> None:
    """Print a Python warning as one sentence."""
    Console(stderr=True, highlight=False, soft_wrap=True).print(f"[yellow]fastgntk:[/] {_escape(str(message))}")


class _LogLines(logging.Handler):
    """Print warnings of the library, and the notice that compiling takes a while; or everything."""

    everything = False

    def emit(self, record: logging.LogRecord) -> None:
        if self.everything or record.levelno >= logging.WARNING or record.getMessage() == COMPILING:
            warning_line(record.getMessage())


def show_log(everything: bool) -> None:
    """Show warnings of the library, or everything that it logs, on standard error."""
    log = logging.getLogger("fastgntk")
    handlers = [handler for handler in log.handlers if isinstance(handler, _LogLines)] or [_LogLines()]
    handlers[0].everything = everything
    log.addHandler(handlers[0])
    log.setLevel(logging.INFO)
    log.propagate = False


def print_json(value: Any) -> None:
    """Print a value as JSON to standard output."""
    sys.stdout.write(json.dumps(value, indent=2) + "\n")


def print_line(text: str) -> None:
    """Print text to standard output without breaking lines."""
    Console(highlight=False, soft_wrap=True).print(text, markup=False)


def print_table(
    title: str | None, columns: list[tuple[str, str]], rows: list[list[str]], note: str | None = None
) -> None:
    """Print a table; each column is a heading and how it is justified."""
    table = Table(title=title, title_justify="left", title_style="bold", caption=note, caption_justify="left")
    for heading, justify in columns:
        table.add_column(heading, justify=justify, overflow="fold")  # type: ignore[arg-type]
    for row in rows:
        table.add_row(*[_escape(cell) for cell in row])
    Console(highlight=False).print(table)


def print_values(title: str, rows: list[tuple[str, str]]) -> None:
    """Print names and values as a table without headings."""
    table = Table(title=_escape(title), title_justify="left", title_style="bold", show_header=False)
    table.add_column(style="bold", no_wrap=True)
    table.add_column(overflow="fold")
    for name, value in rows:
        table.add_row(name, _escape(value))
    Console(highlight=False).print(table)


@contextmanager
def progress_bar(what: str, counted: str | None = None, *, quiet: bool = False) -> Iterator[Callable[[int, int], None]]:
    """Yield a progress(done, total) that draws a bar with the time left on standard error.

    With a name of what is ``counted``, the bar also shows the number of calls and their rate. It appears after a
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
    task = bar.add_task(what, total=1.0, note="")

    def progress(done: int, total: int) -> None:
        nonlocal calls
        calls += 1
        elapsed, share = time.monotonic() - start, done / total if total else 0.0
        if elapsed > _SHOW_AFTER:
            bar.start()
        rate = [f"{calls:,} {counted}, {calls / max(elapsed, 1e-9):.1f} per second"] if counted else []
        left = [f"{format_duration(elapsed * (1 - share) / share)} left"] if share else []
        bar.update(task, completed=share, note="  ".join([*rate, *left]))

    try:
        yield progress
    finally:
        if bar.live.is_started:
            bar.stop()


def _escape(text: str) -> str:
    return text.replace("[", r"\[")
