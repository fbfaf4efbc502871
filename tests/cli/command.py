"""Run the command line inside the test process, which saves the seconds that imports take."""

from __future__ import annotations

import contextlib
import io
import json
import logging
import subprocess
import sys
import warnings
from typing import NamedTuple

import pytest

from fastgntk.cli import main
from fastgntk.engines import COMPILING

# Options of evaluate and train that try one or two small kernels.
SMALL = ["--layers", "1", "--scale", "degree", "--jump", "yes", "--normalize", "no"]
ONE = ["--blocks", "1", *SMALL]
TWO = ["--blocks", "1,2", *SMALL]


class Done(NamedTuple):
    """The outcome of a command."""

    code: int
    out: str
    err: str


def run(*arguments: object) -> Done:
    """Run the command line in this process, and restore logging and warnings."""
    out, err, code = io.StringIO(), io.StringIO(), 0
    log = logging.getLogger("fastgntk")
    before = log.handlers[:], log.level, log.propagate, warnings.showwarning
    with pytest.MonkeyPatch.context() as patch, contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        patch.setenv("COLUMNS", "300")
        patch.setattr(sys, "argv", ["fastgntk", *map(str, arguments)])
        try:
            main()
        except SystemExit as stop:
            code = int(stop.code or 0)
        finally:
            log.handlers[:], log.level, log.propagate, warnings.showwarning = before
    lines = [line for line in err.getvalue().splitlines(keepends=True) if COMPILING not in line]
    return Done(code, out.getvalue(), "".join(lines))


def start(*arguments: object, **options: object) -> subprocess.Popen[bytes]:
    """Start the command line in a process of its own."""
    command = [sys.executable, "-m", "fastgntk", *map(str, arguments)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, **options)


def sentence(done: Done) -> str:
    """Return the error message, having checked that it is one line and the only output, with exit code 2."""
    assert done.code == 2, done
    assert done.out == ""
    assert len(done.err.strip().splitlines()) == 1
    assert done.err.startswith("fastgntk: ")
    assert done.err.endswith(".\n")
    return done.err


def record(done: Done) -> dict:
    """Return JSON output, having checked that the command succeeded without messages."""
    assert (done.code, done.err) == (0, "")
    return json.loads(done.out)
