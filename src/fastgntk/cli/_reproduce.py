"""``fastgntk reproduce``: the tables and figures of the literature, one subcommand each."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import typer

from fastgntk.cli._console import print_json, print_line, print_table, progress_bar
from fastgntk.cli._option_groups import OptionGroup, option, random_state_option, with_groups
from fastgntk.cli._options import ComputeOptions, JsonOutput, parse_words
from fastgntk.errors import InputError
from fastgntk.reproduce import STUDIES, StudyOptions, get_study, run_study

__all__ = ["reproduce"]

reproduce = typer.Typer(
    help="Reproduce the tables and figures of the papers; each writes CSV, PNG and SVG, and prints a comparison.",
    no_args_is_help=True,
)


@dataclass(frozen=True)
class _StudyCompute(ComputeOptions):
    omitted = ("engine", "max_memory")


@dataclass(frozen=True)
class _StudySettings(OptionGroup):
    panel = "Study"

    quick: bool = option("A small version, under a minute.", False)
    data: str | None = option("Data sets to use, such as MUTAG,PTC.", show_default="those of the study")
    restart: bool = option("Discard measurements of an earlier run.", False)
    random_state: int = random_state_option("everything random")

    def __post_init__(self) -> None:
        if not 0 <= self.random_state < 2**32:
            raise InputError(f"--random-state must lie in 0..{2**32 - 1}, but is {self.random_state}.")


def _make_command(name: str) -> Callable[..., None]:
    def command(
        *,
        options: _StudySettings,
        folder: Path = option("Folder for the files.", Path("reproduction"), "--output", "-o"),
        compute: _StudyCompute,
        output: JsonOutput,
    ) -> None:
        if folder.exists() and not folder.is_dir():
            raise InputError(f"--output must be a folder, but {folder} is a file.")
        names = parse_words(options.data, "--data") if options.data is not None else None
        threads, study = compute.build().threads, get_study(name)
        settings = StudyOptions(quick=options.quick, data=names, workers=threads, seed=options.random_state)
        with progress_bar(name, quiet=output.json) as bar:
            outcome = run_study(study, folder, settings, restart=options.restart, progress=bar)
        if output.json:
            files = {kind: str(path) for kind, path in outcome.files.items()}
            print_json({"study": name, "verdict": outcome.verdict, "files": files, "rows": outcome.rows})
            return
        columns = {column.replace("_", " "): "right" for column in study.shown}
        cells = [[_format_cell(row.get(column)) for column in study.shown] for row in outcome.rows]
        print_table(f"fastgntk reproduce {name}", columns, cells)
        print_line("\n".join([*outcome.verdict, "Files: " + ", ".join(map(str, outcome.files.values()))]))

    command.__doc__ = STUDIES[name]
    return with_groups(command)


def _format_cell(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:.4g}" if isinstance(value, float) else str(value)


for _name in STUDIES:
    reproduce.command(_name)(_make_command(_name))
