"""Studies: their definition, and how one runs cell by cell.

Rows are written to a CSV file as soon as a cell is measured.
"""

import csv
import io
import json
import subprocess
import time
from collections.abc import Callable, Container, Iterable
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from fastgntk._util.files import atomic_save, atomic_write
from fastgntk.bench import machine
from fastgntk.datasets import find
from fastgntk.errors import InputError
from fastgntk.reproduce._figures import RC, Figure, Row

__all__ = ["PAPER_DATA", "Cell", "Outcome", "Study", "StudyOptions", "run_study", "timed"]

PAPER_DATA = ("COLLAB", "IMDB-BINARY", "IMDB-MULTI", "PTC", "NCI1", "MUTAG", "PROTEINS")
"""The data sets of the papers."""

Cell = dict[str, Any]
"""The parameters of a measurement: numbers, strings or booleans."""


@dataclass(frozen=True)
class StudyOptions:
    """Options that all studies share."""

    quick: bool = False
    data: tuple[str, ...] | None = None
    """Data sets to use in place of those of the study."""
    workers: int = 1
    seed: int = 0

    def __post_init__(self) -> None:
        if not 0 <= self.seed < 2**32:
            raise InputError(f"seed must lie in 0..{2**32 - 1}, but is {self.seed}.")

    def data_sets(
        self, full: tuple[str, ...], quick: tuple[str, ...] = ("MUTAG",), generated: Container[str] = ()
    ) -> tuple[str, ...]:
        """Return the data sets to use; raise an error for unknown ones, except those that the study has generated."""
        names = self.data or (quick if self.quick else full)
        for name in names:
            if name not in generated:
                find(name)
        return names


@dataclass(frozen=True)
class Study:
    """A table or figure.

    ``cells`` lists what to measure, ``measure`` yields the measurements of one cell, a dictionary for each row,
    ``draw`` fills a figure from all rows, and ``verdict`` compares them with the paper in sentences.
    """

    name: str
    cells: Callable[[StudyOptions], list[Cell]]
    measure: Callable[[Cell, StudyOptions], Iterable[Row]]
    draw: Callable[[list[Row], Figure], None]
    verdict: Callable[[list[Row]], list[str]]
    shown: tuple[str, ...]
    """Columns for the screen; the CSV file has all."""
    size: tuple[float, float] = (8.0, 4.5)
    """Of the figure, in inches."""
    takes_data: bool = False
    """Whether the study uses data sets that can be replaced."""


@dataclass(frozen=True)
class Outcome:
    """Rows, verdict and files of a study."""

    rows: list[Row]
    verdict: list[str]
    files: dict[str, Path]
    measured: int
    """The number of cells that this run measured; rows of the other cells were reused."""


def run_study(
    study: Study,
    folder: Path,
    options: StudyOptions,
    *,
    restart: bool = False,
    progress: Callable[[int, int], None] = lambda done, total: None,  # noqa: ARG005
) -> Outcome:
    """Measure missing cells, and write ``folder/name.csv``, ``.png``, ``.svg`` and ``.json``.

    Rows of an earlier run are reused if they were measured by the same version and commit on the same machine, with the
    same seed and number of workers; ``restart`` discards them. Quick runs have files of their own.
    """
    if options.data is not None and not study.takes_data:
        raise InputError(f"{study.name} uses no data sets; leave --data out.")
    if find_spec("matplotlib") is None:
        raise InputError("figures need matplotlib; install it with: pip install 'fastgntk[reproduce]'.")
    folder.mkdir(parents=True, exist_ok=True)
    stem = f"{study.name}-quick" if options.quick else study.name
    files = {kind: folder / f"{stem}.{kind}" for kind in ("csv", "png", "svg", "json")}
    conditions = {"machine": machine(), "commit": _commit(), "seed": options.seed, "workers": options.workers}
    record = {"study": study.name, "options": asdict(options), "conditions": conditions}
    rows = [] if restart else _read_earlier_rows(files, conditions)
    cells = study.cells(options)
    missing = [cell for cell in cells if not any(_belongs(row, cell) for row in rows)]
    for i, cell in enumerate(missing):
        progress(i, len(missing))
        rows += [{**cell, **measurements} for measurements in study.measure(cell, options)]
        if i == 0:  # first the record, since rows without it are not reused
            _write_record(files["json"], record, [])
        _write_rows(files["csv"], rows)
    progress(1, 1)
    rows = _sort_rows(rows, cells)
    _write_rows(files["csv"], rows)
    verdict = study.verdict(rows)
    _write_record(files["json"], record, verdict)
    _write_figure(study, rows, files)
    return Outcome(rows, verdict, files, len(missing))


def _belongs(row: Row, cell: Cell) -> bool:
    # Compared as strings: the name of a data set may be 2019, which is read from the CSV file as a number.
    return all(_format_field(row.get(name)) == _format_field(value) for name, value in cell.items())


def _sort_rows(rows: list[Row], cells: list[Cell]) -> list[Row]:
    """Sort rows by cells; rows of other cells, from an earlier run, come last."""
    position = {id(row): i for i, cell in reversed(list(enumerate(cells))) for row in rows if _belongs(row, cell)}
    return sorted(rows, key=lambda row: position.get(id(row), len(cells)))


def _read_earlier_rows(files: dict[str, Path], conditions: dict[str, Any]) -> list[Row]:
    try:
        record = json.loads(files["json"].read_text())
        text = files["csv"].read_text()
    except (OSError, ValueError):  # ValueError: neither JSON nor text
        return []
    if not isinstance(record, dict) or record.get("conditions") != conditions:
        return []
    complete = [row for row in csv.DictReader(io.StringIO(text)) if None not in row and None not in row.values()]
    return [{name: _parse_field(field) for name, field in row.items()} for row in complete]


def _parse_field(field: str) -> Any:
    """Read a field of the CSV file.

    >>> [_parse_field(text) for text in ("3", "0.5", "true", "MUTAG", "")]
    [3, 0.5, True, 'MUTAG', None]
    """
    try:
        return json.loads(field)
    except ValueError:
        return field or None


def _format_field(value: Any) -> str:
    if isinstance(value, str):
        return value
    return "" if value is None else json.dumps(value)


def _write_rows(path: Path, rows: list[Row]) -> None:
    names = list(dict.fromkeys(name for row in rows for name in row))
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(names)
    writer.writerows([_format_field(row.get(name)) for name in names] for row in rows)
    atomic_write(path, text.getvalue().encode())


def _write_record(path: Path, record: dict[str, Any], verdict: list[str]) -> None:
    finished = datetime.now(UTC).isoformat(timespec="seconds") if verdict else None
    document = {**record, "finished": finished, "verdict": verdict}
    atomic_write(path, json.dumps(document, indent=2, ensure_ascii=False).encode())


def _write_figure(study: Study, rows: list[Row], files: dict[str, Path]) -> None:
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    with rc_context(RC):
        figure = Figure(figsize=study.size, layout="constrained")
        study.draw(rows, figure)
        # Without dates, so that equal rows give equal files.
        atomic_save(files["png"], lambda stream: figure.savefig(stream, format="png", dpi=150))
        atomic_save(files["svg"], lambda stream: figure.savefig(stream, format="svg", metadata={"Date": None}))


def _commit() -> str | None:
    """Return the commit of the source if it is a Git checkout."""
    root = Path(__file__).parents[3]
    if not (root / ".git").exists():
        return None
    try:
        command = ["git", "-C", str(root), "rev-parse", "--short", "HEAD"]
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip() or None
    except (OSError, subprocess.CalledProcessError):
        return None


def timed(function: Callable[..., Any], *arguments: Any, **options: Any) -> tuple[float, Any]:
    """Call a function; return the seconds that it takes, and its result."""
    start = time.perf_counter()
    result = function(*arguments, **options)
    return time.perf_counter() - start, result
