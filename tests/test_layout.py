"""The rules of docs/architecture.md, as tests: who may import whom, what loads when, who may print."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

import pytest

import fastgntk

ROOT = Path(fastgntk.__file__).parent
SOURCES = sorted(ROOT.rglob("*.py"))

ALLOWED = {
    "graph": set(),
    "sketch": set(),
    "datasets": {"graph"},
    "kernel": {"sketch", "graph"},
    "matrix": {"kernel", "sketch", "graph"},
    "learn": {"matrix", "kernel", "sketch", "graph"},
    "theory": {"kernel", "graph"},
    "report": {"bench", "learn", "matrix", "kernel", "sketch", "graph", "datasets"},
    "bench": {"matrix", "kernel", "graph", "datasets"},
    "reproduce": {"bench", "learn", "theory", "matrix", "kernel", "sketch", "graph", "datasets"},
    "cli": {"report", "reproduce", "bench", "learn", "theory", "matrix", "kernel", "sketch", "graph", "datasets"},
}

# The one import against the layers: `graphs.describe()` is where people look for it, and refinement is the kernel's.
# It is inside a function, so that nothing of `matrix` loads with `graph`.
LAZY_EXCEPTIONS = {("graph/_batch.py", "fastgntk.matrix.describe")}


def part_of(path: Path) -> str:
    inside = path.relative_to(ROOT).parts
    return inside[0] if len(inside) > 1 else ""


def imports(path: Path) -> set[str]:
    return names_imported_by(ast.walk(ast.parse(path.read_text())))


def imports_at_once(path: Path) -> set[str]:
    """Imports that run when the file is loaded: those outside functions."""
    found, waiting = [], list(ast.parse(path.read_text()).body)
    while waiting:
        node = waiting.pop()
        found.append(node)
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            waiting += ast.iter_child_nodes(node)
    return names_imported_by(found)


def names_imported_by(nodes: Iterable[ast.AST]) -> set[str]:
    names = set()
    for node in nodes:
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            names |= {f"{node.module}.{alias.name}" for alias in node.names}
    return names


def test_exceptions_are_still_needed():
    for file, name in LAZY_EXCEPTIONS:
        assert name in imports(ROOT / file)


def test_every_folder_has_a_rule():
    folders = {p.name for p in ROOT.iterdir() if (p / "__init__.py").is_file()}
    assert folders == set(ALLOWED)


@pytest.mark.parametrize("path", SOURCES, ids=lambda p: str(p.relative_to(ROOT)))
def test_imports_keep_to_the_layers(path):
    part = part_of(path)
    if not part:
        return
    for name in imports(path):
        pieces = name.split(".")
        if (path.relative_to(ROOT).as_posix(), name) in LAZY_EXCEPTIONS:
            assert name not in imports_at_once(path), f"{path} imports {name} outside a function"
            continue
        if pieces[0] == "fastgntk" and len(pieces) > 1 and (ROOT / pieces[1]).is_dir():
            assert pieces[1] == part or pieces[1] in ALLOWED[part], f"{path} imports {name}"
        if pieces[0] in ("sklearn", "joblib"):
            assert part in ("learn", "reproduce", "report"), f"{path} imports {name}"
            assert part != "report" or name not in imports_at_once(path), f"{path} imports {name} outside a function"
        if pieces[0] == "matplotlib":
            assert part in ("report", "reproduce"), f"{path} imports {name}"
        if pieces[0] == "grakel":
            assert part == "reproduce", f"{path} imports {name}"
        if pieces[0] in ("networkx", "rdkit"):
            assert part in ("graph", "report"), f"{path} imports {name}"
        if pieces[0] in ("zarr", "dask", "distributed"):
            assert path.parent == ROOT / "matrix" / "store", f"{path} imports {name}"
        if pieces[0] in ("torch", "torch_geometric"):
            assert part == "graph", f"{path} imports {name}"
        assert pieces[0] != "igraph", f"{path} imports {name}; who has an igraph object has imported it"
        assert pieces[0] != "pickle", f"{path} imports pickle"


@pytest.mark.parametrize("path", SOURCES, ids=lambda p: str(p.relative_to(ROOT)))
def test_only_the_command_line_prints(path):
    calls = [n.func for n in ast.walk(ast.parse(path.read_text())) if isinstance(n, ast.Call)]
    prints = [c for c in calls if isinstance(c, ast.Name) and c.id == "print"]
    assert not prints or part_of(path) == "cli"


@pytest.mark.parametrize("path", SOURCES, ids=lambda p: str(p.relative_to(ROOT)))
def test_every_file_says_what_it_is(path):
    assert ast.get_docstring(ast.parse(path.read_text()))


def loaded_after(statement: str) -> set[str]:
    program = f"import sys\n{statement}\nprint('\\n'.join(sys.modules))"
    return set(
        subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout.split()
    )


def test_import_loads_nothing_heavy():
    heavy = {"sklearn", "numba", "joblib", "pooch", "requests", "typer", "rich", "pandas", "matplotlib", "torch"}
    heavy |= {"networkx", "igraph", "grakel", "rdkit", "torch_geometric", "zarr", "dask", "distributed"}
    assert not heavy & loaded_after("import fastgntk")
    assert not heavy & loaded_after("import fastgntk as fg; fg.gram(fg.datasets.load('MUTAG').graphs[:2])")


def test_learn_and_theory_load_when_used():
    assert fastgntk.learn.evaluate
    assert fastgntk.theory.finite_width_gram
    with pytest.raises(AttributeError, match="has no attribute 'lern'"):
        fastgntk.lern  # noqa: B018


def test_every_public_name_exists_and_is_documented():
    for name in fastgntk.__all__:
        assert getattr(fastgntk, name).__doc__ or name == "__version__"
