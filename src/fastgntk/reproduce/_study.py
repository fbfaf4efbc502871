"""What a study is, and how one is run: cell by cell, each kept in a CSV file as soon as it is measured."""

from __future__ import annotations

import csv
import io
import json
import subprocess
from collections.abc import Callable
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fastgntk._util.files import atomic_save, atomic_write
from fastgntk.bench import machine
from fastgntk.errors import InputError

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["Cell", "Outcome", "Row", "Study", "StudyOptions", "run_study"]

Cell = dict[str, Any]
"""What is to be measured, by name: numbers, words, or True and False."""
Row = dict[str, Any]
"""A line of the CSV file: the names of its cell, and what was measured. None is an empty field."""


@dataclass(frozen=True)
class StudyOptions:
    """What the person at the command line chose."""

    quick: bool = False
    data: tuple[str, ...] | None = None
    """Data sets to use in the place of the study's own."""
    workers: int = 1
    seed: int = 0

    def __post_init__(self) -> None:
        if not 0 <= self.seed < 2**32:
            raise InputError(f"seed must lie in 0..{2**32 - 1}, but is {self.seed}.")


@dataclass(frozen=True)
class Study:
    """A table or figure.

    ``cells`` lists what to measure, ``measure`` gives the rows of one cell (each with the cell's names and values),
    ``draw`` fills a figure from all rows, and ``verdict`` says in sentences how they compare with the paper.
    """

    name: str
    cells: Callable[[StudyOptions], list[Cell]]
    measure: Callable[[Cell, StudyOptions], list[Row]]
    draw: Callable[[list[Row], Figure], None]
    verdict: Callable[[list[Row]], list[str]]
    shown: tuple[str, ...]
    """The columns that fit on a screen; the CSV file has all."""
    size: tuple[float, float] = (8.0, 4.5)
    """Of the figure, in inches."""
    takes_data: bool = False
    """Whether it is about data sets, so that others can be asked for."""


@dataclass(frozen=True)
class Outcome:
    """Where the files are, and what they say."""

    rows: list[Row]
    verdict: list[str]
    files: dict[str, Path]
    measured: int
    """How many cells were measured now; the others were there."""


def run_study(
    study: Study,
    folder: Path,
    options: StudyOptions,
    *,
    restart: bool = False,
    progress: Callable[[int, int], None] = lambda done, total: None,  # noqa: ARG005
) -> Outcome:
    """Measure what is missing, and write ``folder/name.csv``, ``.png``, ``.svg`` and ``.json``.

    Rows of an earlier run are used again when they were measured by the same version and commit on the same machine,
    with the same seed and number of workers; ``restart`` measures everything anew. Quick runs have files of their own.
    """
    if options.data is not None and not study.takes_data:
        raise InputError(f"{study.name} is not about data sets; leave --data out.")
    _need_matplotlib()
    folder.mkdir(parents=True, exist_ok=True)
    stem = f"{study.name}-quick" if options.quick else study.name
    files = {kind: folder / f"{stem}.{kind}" for kind in ("csv", "png", "svg", "json")}
    conditions = {"machine": machine(), "commit": _commit(), "seed": options.seed, "workers": options.workers}
    rows = [] if restart else _earlier_rows(files, conditions)
    cells = study.cells(options)
    missing = [cell for cell in cells if not any(_belongs(row, cell) for row in rows)]
    for number, cell in enumerate(missing):
        progress(number, len(missing))
        rows += study.measure(cell, options)
        if number == 0:  # before the rows, which would not be used again without it
            _write_record(files["json"], study, options, conditions, [])
        _write_rows(files["csv"], rows)
    progress(1, 1)
    rows = _in_order(rows, cells)
    _write_rows(files["csv"], rows)
    verdict = study.verdict(rows)
    _write_record(files["json"], study, options, conditions, verdict)
    _write_pictures(study, rows, files)
    return Outcome(rows, verdict, files, len(missing))


def _belongs(row: Row, cell: Cell) -> bool:
    # As text: a data set may be called 2019, which the CSV file gives back as a number.
    return all(_field(row.get(name)) == _field(value) for name, value in cell.items())


def _in_order(rows: list[Row], cells: list[Cell]) -> list[Row]:
    """Put rows in the order of the cells; rows of other cells, from an earlier run, come last."""
    known = [row for cell in cells for row in rows if _belongs(row, cell)]
    return known + [row for row in rows if not any(row is k for k in known)]


def _earlier_rows(files: dict[str, Path], conditions: dict[str, Any]) -> list[Row]:
    try:
        record = json.loads(files["json"].read_text())
        text = files["csv"].read_text()
    except (OSError, ValueError):  # ValueError: neither JSON nor text
        return []
    if not isinstance(record, dict) or record.get("conditions") != conditions:
        return []
    whole = [row for row in csv.DictReader(io.StringIO(text)) if None not in row and None not in row.values()]
    return [{name: _value(field) for name, field in row.items()} for row in whole]


def _value(field: str) -> Any:
    """Read a field of the CSV file.

    >>> [_value(text) for text in ("3", "0.5", "true", "MUTAG", "")]
    [3, 0.5, True, 'MUTAG', None]
    """
    if field in ("true", "false", ""):
        return {"true": True, "false": False, "": None}[field]
    for kind in (int, float):
        try:
            return kind(field)
        except ValueError:
            continue
    return field


def _field(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return "" if value is None else str(value)


def _write_rows(path: Path, rows: list[Row]) -> None:
    names = list(dict.fromkeys(name for row in rows for name in row))
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(names)
    writer.writerows([_field(row.get(name)) for name in names] for row in rows)
    atomic_write(path, text.getvalue().encode())


def _write_record(
    path: Path, study: Study, options: StudyOptions, conditions: dict[str, Any], verdict: list[str]
) -> None:
    record = {
        "study": study.name,
        "options": asdict(options),
        "conditions": conditions,
        "finished": datetime.now(UTC).isoformat(timespec="seconds") if verdict else None,
        "verdict": verdict,
    }
    atomic_write(path, json.dumps(record, indent=2, ensure_ascii=False).encode())


def _write_pictures(study: Study, rows: list[Row], files: dict[str, Path]) -> None:
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    from fastgntk.reproduce._style import RC

    with rc_context(RC):
        figure = Figure(figsize=study.size, layout="constrained")
        study.draw(rows, figure)
        # Without dates, so that the same rows give the same files.
        atomic_save(files["png"], lambda stream: figure.savefig(stream, format="png", dpi=150))
        atomic_save(files["svg"], lambda stream: figure.savefig(stream, format="svg", metadata={"Date": None}))


def _need_matplotlib() -> None:
    """Say so before anything is measured."""
    try:
        import matplotlib  # noqa: F401
    except ImportError:
        raise InputError("pictures need matplotlib; install it with: pip install 'fastgntk[reproduce]'.") from None


def _commit() -> str | None:
    """Return the commit of the source, where it is a Git checkout of this project."""
    root = Path(__file__).parents[3]
    if not (root / ".git").exists():
        return None
    try:
        command = ["git", "-C", str(root), "rev-parse", "--short", "HEAD"]
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip() or None
    except (OSError, subprocess.CalledProcessError):
        return None
