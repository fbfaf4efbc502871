"""Tables, progress bars and JSON, for people and for machines."""

from __future__ import annotations

import json
import logging
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, Progress, ProgressColumn, Task, TextColumn
from rich.table import Table
from rich.text import Text

from fastgntk.engines import COMPILING

__all__ = [
    "error_line",
    "key_values",
    "print_json",
    "print_table",
    "progress_bar",
    "seconds",
    "show_notices",
    "verbose",
    "warning_line",
]

_SHOW_AFTER = 1.0  # seconds; what is quicker needs no bar


def error_line(message: str) -> None:
    """Print one sentence to standard error."""
    Console(stderr=True, highlight=False, soft_wrap=True).print(f"[bold red]fastgntk:[/] {_escape(message)}", end="\n")


def warning_line(message: Warning | str, *_: Any, **__: Any) -> None:
    """Print a Python warning as one sentence."""
    Console(stderr=True, highlight=False, soft_wrap=True).print(f"[yellow]fastgntk:[/] {_escape(str(message))}")


class _Notices(logging.Handler):
    """Print what the library has to say: warnings, and that compiling takes a while."""

    everything = False

    def emit(self, record: logging.LogRecord) -> None:
        if self.everything or record.levelno >= logging.WARNING or record.getMessage() == COMPILING:
            warning_line(record.getMessage())


def show_notices() -> None:
    """Show notices of the library on standard error."""
    log = logging.getLogger("fastgntk")
    if not any(isinstance(handler, _Notices) for handler in log.handlers):
        log.addHandler(_Notices())
    log.setLevel(logging.INFO)
    log.propagate = False


def verbose(wanted: bool) -> None:
    """Show everything that the library logs, if wanted."""
    for handler in logging.getLogger("fastgntk").handlers:
        if isinstance(handler, _Notices):
            handler.everything = wanted


def print_json(value: Any) -> None:
    """Print a value as JSON to standard output."""
    sys.stdout.write(json.dumps(value, indent=2) + "\n")


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


def key_values(title: str, rows: list[tuple[str, str]]) -> None:
    """Print names and values as a table without headings."""
    table = Table(title=title, title_justify="left", title_style="bold", show_header=False)
    table.add_column(style="bold", no_wrap=True)
    table.add_column(overflow="fold")
    for name, value in rows:
        table.add_row(name, _escape(value))
    Console(highlight=False).print(table)


def seconds(value: float) -> str:
    """Write a duration for people: 17 ms, 0.42 s, 12.3 s, 3 min 20 s.

    >>> seconds(0.0172), seconds(0.4217), seconds(12.34), seconds(200), seconds(7300)
    ('17 ms', '0.42 s', '12.3 s', '3 min 20 s', '2 h 1 min')
    """
    if value < 0.1:
        return f"{1000 * value:.0f} ms"
    if value < 10:
        return f"{value:.2f} s"
    if value < 60:
        return f"{value:.1f} s"
    if value < 3600:
        return f"{int(value) // 60} min {int(value) % 60} s"
    return f"{int(value) // 3600} h {int(value) % 3600 // 60} min"


@contextmanager
def progress_bar(what: str, counted: str | None = None, *, quiet: bool = False) -> Iterator[Callable[[int, int], None]]:
    """Give a progress(done, total) that draws a bar with the time left on standard error.

    With the name of what is ``counted``, it also shows how many calls there were, and how many in a second.
    The bar appears after a second, so that quick work shows nothing, and is gone at the end.
    """
    console = Console(stderr=True)
    if quiet or not console.is_terminal:
        yield lambda done, total: None  # noqa: ARG005  # nobody is watching
        return
    bar = Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.percentage:>3.0f} %"),
        *([_Rate(counted)] if counted else []),
        _TimeLeft(),
        console=console,
        transient=True,
    )
    start = time.monotonic()
    task = bar.add_task(what, total=1.0, calls=0)
    shown, calls = False, 0

    def progress(done: int, total: int) -> None:
        nonlocal shown, calls
        if not shown and time.monotonic() - start > _SHOW_AFTER:
            bar.start()
            shown = True
        calls += 1
        bar.update(task, completed=done / total if total else 0.0, calls=calls)

    try:
        yield progress
    finally:
        if shown:
            bar.stop()


class _Rate(ProgressColumn):
    """How many calls so far, and in a second."""

    def __init__(self, what: str) -> None:
        super().__init__()
        self.what = what

    def render(self, task: Task) -> Text:
        calls = task.fields["calls"]
        return Text(f"{calls:,} {self.what}, {calls / max(task.elapsed or 0.0, 1e-9):.1f} a second" if calls else "")


class _TimeLeft(ProgressColumn):
    """Time left from the mean speed since the start; stages of different speed take turns in an evaluation."""

    def render(self, task: Task) -> Text:
        share = task.completed / task.total if task.total else 0.0
        if not share or task.elapsed is None:
            return Text("")
        return Text(f"{seconds(task.elapsed * (1 - share) / share)} left")


def _escape(text: str) -> str:
    return text.replace("[", r"\[")
