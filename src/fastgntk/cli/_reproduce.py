"""``fastgntk reproduce``: the tables and figures of the literature, one subcommand each."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console

from fastgntk._util.memory import worker_count
from fastgntk.cli import _options as options
from fastgntk.cli._console import print_json, print_table, progress_bar
from fastgntk.errors import InputError
from fastgntk.reproduce import STUDIES, StudyOptions, get_study, run_study

__all__ = ["reproduce"]

reproduce = typer.Typer(
    help="Reproduce the tables and figures of the papers; each writes CSV, PNG and SVG, and says how it compares.",
    no_args_is_help=True,
)


def _command(name: str) -> Callable[..., None]:
    def command(
        quick: Annotated[bool, typer.Option("--quick", help="A small version, under a minute.")] = False,
        output: Annotated[Path, typer.Option("--output", "-o", help="Folder for the files.")] = Path("reproduction"),
        data: Annotated[
            str | None, typer.Option(help="Data sets to use, such as MUTAG,PTC.", show_default="those of the study")
        ] = None,
        restart: Annotated[bool, typer.Option("--restart", help="Measure anew what an earlier run measured.")] = False,
        seed: Annotated[int, typer.Option(help="Seed of everything random.")] = 0,
        workers: options.WorkersOption = None,
        json: options.JsonOption = False,
    ) -> None:
        if output.exists() and not output.is_dir():
            raise InputError(f"--output must be a folder, but {output} is a file.")
        names = options.parse_words(data, "--data") if data is not None else None
        chosen = StudyOptions(quick=quick, data=names, workers=worker_count(workers), seed=seed)
        study = get_study(name)
        with progress_bar(name, quiet=json) as bar:
            outcome = run_study(study, output, chosen, restart=restart, progress=bar)
        if json:
            files = {kind: str(path) for kind, path in outcome.files.items()}
            print_json({"study": name, "verdict": outcome.verdict, "files": files, "rows": outcome.rows})
            return
        cells = [[_cell(row.get(head)) for head in study.shown] for row in outcome.rows]
        print_table(f"fastgntk reproduce {name}", [(h.replace("_", " "), "right") for h in study.shown], cells)
        console = Console(highlight=False)
        for sentence in outcome.verdict:
            console.print(sentence)
        console.print("Files: " + ", ".join(str(path) for path in outcome.files.values()))

    command.__doc__ = STUDIES[name]
    return command


def _cell(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:.4g}" if isinstance(value, float) else str(value)


for _name in STUDIES:
    reproduce.command(_name)(_command(_name))
