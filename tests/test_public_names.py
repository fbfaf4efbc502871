"""The public names: those of the stub ``__init__.pyi``, each with a docstring and a type that checkers see."""

from __future__ import annotations

import ast
import re
import shutil
import subprocess
import sys
from dataclasses import is_dataclass
from importlib.util import find_spec
from inspect import isclass, isfunction, signature
from pathlib import Path
from types import ModuleType

import pytest

import fastgntk

ROOT = Path(__file__).resolve().parents[1]
STUB = ROOT / "src" / "fastgntk" / "__init__.pyi"
NAMES = [
    alias.asname
    for node in ast.parse(STUB.read_text()).body
    if isinstance(node, ast.ImportFrom)
    for alias in node.names
]

RESULT_OF_ANY_TYPE = {
    "to_geometric": "PyTorch Geometric is optional",
    "to_networkx": "NetworkX has no types",
}


def run(*command: str | Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, *command], capture_output=True, text=True, check=False, cwd=ROOT)


def program_that_reveals(folder: Path) -> Path:
    """Write a program whose line i + 2 reveals the type of the i-th public name."""
    path = folder / "reveal.py"
    path.write_text("\n".join(["import fastgntk", *(f"reveal_type(fastgntk.{name})" for name in NAMES)]) + "\n")
    return path


def assert_types_are_known(output: str, pattern: str) -> None:
    revealed = {int(line): shown for line, shown in re.findall(pattern, output)}
    assert sorted(revealed) == list(range(2, len(NAMES) + 2)), output
    # Arguments that take graphs of any library are Any; no name as a whole, and no other result, may be.
    vague = {NAMES[line - 2] for line, shown in revealed.items() if re.search(r"(^|-> )(Any|Unknown)\b", shown)}
    assert vague == set(RESULT_OF_ANY_TYPE)
    assert not re.search("[:-] error:", output), output  # a parameter may be called error


def test_dir_lists_the_names_of_the_stub():
    assert len(NAMES) == len(set(NAMES)) >= 50
    assert dir(fastgntk) == sorted(NAMES)
    assert sorted(fastgntk.__all__) == sorted(NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_name_resolves_and_has_a_docstring(name):
    value = getattr(fastgntk, name)
    assert (name == "__version__" and isinstance(value, str)) or value.__doc__


@pytest.mark.parametrize("name", [name for name in NAMES if isinstance(getattr(fastgntk, name), ModuleType)])
def test_names_in_all_of_a_public_module_resolve(name):
    module = getattr(fastgntk, name)
    assert module.__all__
    assert len(module.__all__) == len(set(module.__all__))
    assert all(hasattr(module, public) for public in module.__all__)


def test_public_functions_and_estimators_take_at_most_ten_parameters():
    modules = [fastgntk, *(value for name in NAMES if isinstance(value := getattr(fastgntk, name), ModuleType))]
    public = {f"{module.__name__}.{name}": getattr(module, name) for module in modules for name in module.__all__}
    counts = {
        name: len(signature(value).parameters)
        for name, value in public.items()
        # Kernels and result records are dataclasses: values with a field for each option or figure.
        if isfunction(value) or (isclass(value) and isfunction(value.__init__) and not is_dataclass(value))
    }
    assert len(counts) >= 100
    assert {name: count for name, count in counts.items() if count > 10} == {}


def test_other_names_raise_attribute_error():
    with pytest.raises(AttributeError, match="has no attribute 'GNTKRegressor'"):
        fastgntk.GNTKRegressor  # noqa: B018


@pytest.mark.slow
def test_mypy_sees_the_type_of_every_name(tmp_path):
    if find_spec("mypy") is None:
        pytest.skip("mypy is not installed")
    # packages= of the configuration is about the package itself; a file takes its place.
    options = ["--config-file", ROOT / "pyproject.toml", "--cache-dir", tmp_path / "cache", "--no-pretty"]
    done = run("-m", "mypy", *options, program_that_reveals(tmp_path))
    assert_types_are_known(done.stdout, r'reveal\.py:(\d+): note: Revealed type is "(.*)"\n')
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.slow
def test_pyright_sees_the_type_of_every_name(tmp_path):
    if shutil.which("pyright") is None and find_spec("pyright") is None:
        pytest.skip("pyright is not installed")
    path = program_that_reveals(tmp_path)
    config = tmp_path / "pyrightconfig.json"
    config.write_text(f'{{"extraPaths": ["{ROOT / "src"}"], "reportMissingTypeStubs": false}}')
    program = ["-m", "pyright"] if find_spec("pyright") else ["-c", "import os, sys; os.execvp('pyright', sys.argv)"]
    done = run(*program, "--project", config, path)
    assert_types_are_known(done.stdout, r'reveal\.py:(\d+):\d+ - information: Type of ".*" is "(.*)"')


@pytest.mark.slow
def test_module_runs_as_a_program():
    done = run("-m", "fastgntk", "--help")
    assert done.returncode == 0, done.stderr
    assert "evaluate" in done.stdout


def test_import_loads_neither_numba_nor_sklearn():
    done = run("-c", "import sys, fastgntk; print(sorted({'numba', 'sklearn'} & set(sys.modules)), dir(fastgntk)[0])")
    assert done.stdout.startswith("[] "), done.stdout + done.stderr
