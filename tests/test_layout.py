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

BELOW = {
    "_util": set(),
    "graphs": {"_util"},
    "datasets": {"_util", "graphs"},
    "sketch": {"_util", "graphs"},
    "kernels": {"_util", "graphs", "sketch"},
}
BELOW["engines"] = BELOW["kernels"] | {"kernels"}
BELOW["pairwise"] = BELOW["engines"] | {"engines"}
BELOW["solvers"] = BELOW["engines"] | {"engines"}
BELOW["theory"] = BELOW["pairwise"] | {"pairwise", "solvers", "datasets"}
BELOW["plotting"] = BELOW["models"] = BELOW["theory"]
BELOW["selection"] = BELOW["models"] | {"models", "theory", "plotting"}
BELOW["persistence"] = BELOW["compat"] = BELOW["selection"] | {"selection"}
BELOW["bench"] = BELOW["persistence"] | {"persistence", "compat"}
BELOW["report"] = BELOW["reproduce"] = BELOW["bench"] | {"bench"}
BELOW["cli"] = BELOW["report"] | {"report", "reproduce"}
"""Which folders each folder may import; errors.py and _version.py may be imported from everywhere."""

WHEN_CALLED = {"models": {"persistence"}}
"""What a folder may import inside functions besides: ``model.save`` is a shortcut for what is in ``persistence``."""

EXTRAS = {
    "matplotlib": ("plotting", "reproduce", "report"),
    "grakel": ("reproduce",),
    "networkx": ("graphs", "plotting", "report"),
    "rdkit": ("graphs", "plotting", "report"),
    "torch": ("graphs",),
    "torch_geometric": ("graphs",),
    "zarr": ("pairwise",),
    "dask": ("pairwise",),
    "distributed": ("pairwise",),
    "sklearn": ("solvers", "models", "selection", "persistence", "compat", "report", "reproduce"),
    "joblib": ("models", "selection", "report", "reproduce"),
    "numba": ("engines",),
    "igraph": (),
    "pickle": (),
}
"""Which folders may import a library that is slow to load, or an extra."""


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


def test_every_folder_has_a_rule():
    folders = {p.name for p in ROOT.iterdir() if (p / "__init__.py").is_file()}
    assert folders == set(BELOW)


@pytest.mark.parametrize("path", SOURCES, ids=lambda p: str(p.relative_to(ROOT)))
def test_imports_keep_to_the_layers(path):
    part = part_of(path)
    if not part:
        return
    for name in imports(path):
        library, *rest = name.split(".")
        if library == "fastgntk" and (ROOT / rest[0]).is_dir() and rest[0] != part:
            allowed = BELOW[part] if name in imports_at_once(path) else BELOW[part] | WHEN_CALLED.get(part, set())
            assert rest[0] in allowed, f"{path} imports {name}"
            private = [piece for piece in rest[1:-1] if piece.startswith("_")]
            assert not private, f"{path} imports {name}, which is private to {rest[0]}/"
        if library in EXTRAS:
            assert part in EXTRAS[library], f"{path} imports {name}"


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
    assert fastgntk.selection.evaluate
    assert fastgntk.theory.finite_width_gram
    with pytest.raises(AttributeError, match="has no attribute 'lern'"):
        fastgntk.lern  # noqa: B018


def test_every_public_name_exists_and_is_documented():
    for name in fastgntk.__all__:
        assert getattr(fastgntk, name).__doc__ or name == "__version__"
