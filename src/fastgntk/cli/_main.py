"""The entry point: the commands, and how errors are printed."""

import io
import os
import sys
import warnings

import typer

from fastgntk import __version__
from fastgntk.cli._bench import bench
from fastgntk.cli._console import configure_logging, print_error, print_warning
from fastgntk.cli._evaluate import evaluate
from fastgntk.cli._explain import explain
from fastgntk.cli._gram import gram
from fastgntk.cli._info import datasets, info
from fastgntk.cli._option_groups import option, with_groups
from fastgntk.cli._predict import predict
from fastgntk.cli._reproduce import reproduce
from fastgntk.cli._train import train
from fastgntk.errors import InputError

__all__ = ["app", "main"]

app = typer.Typer(
    name="fastgntk",
    help="Graph Neural Tangent Kernels, exact and fast: learning on graphs without a training loop.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
for _command in (evaluate, train, predict, explain, gram, bench, datasets, info):
    app.command()(_command)
app.add_typer(reproduce, name="reproduce")


def _print_version(requested: bool) -> None:
    if requested:
        print(f"fastgntk {__version__}")  # noqa: T201  # the command line prints
        raise typer.Exit


@app.callback()
@with_groups
def _root(
    *, version: bool = option("Show the version and exit.", False, callback=_print_version, is_eager=True)
) -> None:
    pass


def main() -> None:
    """Run the command line: exit code 0, or 2 with one sentence on bad input."""
    warnings.showwarning = print_warning
    configure_logging(False)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")  # a terminal without ± must not lose the result of an hour
    try:
        app()
    except InputError as error:
        print_error(str(error))
        sys.exit(2)
    except MemoryError:
        print_error("not enough memory; use fewer graphs, or a smaller --max-memory or --n-jobs.")
        sys.exit(2)
    except BrokenPipeError:
        sys.exit(1)
    except OSError as error:
        where = f"{error.filename}: " if error.filename else ""
        print_error(f"{where}{error.strerror or error}.")
        sys.exit(2)
    finally:
        _flush()


def _flush() -> None:
    """Flush standard output; if its reader is gone, as after `head`, discard the rest without a message.

    Click handles a broken pipe too, but Python would flush the buffer once more when it exits.
    """
    stream = sys.__stdout__
    if stream is None:  # a program without a console
        return
    try:
        stream.flush()
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
        sys.exit(1)
