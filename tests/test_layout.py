"""The rules of docs/architecture.md as tests: layers, private modules, libraries, lazy loading, printing."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterable
from functools import cache
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

import fastgntk

ROOT = Path(fastgntk.__file__).parent
SOURCES = sorted(ROOT.rglob("*.py"))
FOLDERS = {path.parent.name for path in ROOT.glob("*/__init__.py")}

BELOW = {
    "_util": set(),
    "graphs": {"_util"},
    "datasets": {"_util", "graphs"},
    "plotting": {"_util", "graphs"},
    "sketch": {"_util"},
    "solvers": {"_util", "sketch"},
    "kernels": {"_util", "graphs", "sketch"},
    "engines": {"_util", "graphs", "sketch", "kernels"},
    "theory": {"_util", "graphs", "sketch", "kernels", "engines"},
    "pairwise": {"_util", "graphs", "sketch", "kernels", "engines"},
}
BELOW["bench"] = BELOW["pairwise"] | {"pairwise", "datasets"}
BELOW["models"] = BELOW["pairwise"] | {"pairwise", "solvers"}
BELOW["selection"] = BELOW["persistence"] = BELOW["compat"] = BELOW["models"] | {"models"}
BELOW["report"] = BELOW["selection"] | {"selection", "datasets", "plotting", "bench"}
BELOW["reproduce"] = BELOW["selection"] | {"selection", "datasets", "theory", "bench"}
BELOW["cli"] = BELOW["report"] | BELOW["reproduce"] | {"report", "reproduce", "persistence"}
"""The folders that each folder may import."""

TOP = {"__init__.py": set(), "__main__.py": {"cli"}, "errors.py": set(), "_version.py": set()}
"""The files beside the folders, and the folders that each may import."""

EVERYWHERE = {"errors", "_version", "__version__"}
"""What every folder may import from the package itself."""

WHEN_CALLED = {"models": {"persistence"}}
"""What a folder may import inside functions besides: ``model.save`` is a shortcut for a function of ``persistence``."""

LIBRARIES = {
    "joblib": {"selection", "reproduce"},
    "llvmlite": {"engines"},
    "numba": {"engines"},
    "platformdirs": {"datasets"},
    "pooch": {"datasets"},
    "rich": {"cli"},
    "sklearn": {"models", "selection", "compat", "report", "reproduce"},
    "threadpoolctl": {"_util", "report"},
    "typer": {"cli"},
}
EXTRAS = {
    "distributed": {"pairwise"},
    "grakel": {"reproduce"},
    "matplotlib": {"plotting", "reproduce"},
    "networkx": {"graphs", "plotting"},
    "rdkit": {"graphs", "plotting", "report"},
    "torch": {"graphs"},
    "torch_geometric": {"graphs"},
    "zarr": {"pairwise"},
}
"""The folders that may import a library, or an optional one. NumPy and SciPy are for all."""

FOR_ALL = set(sys.stdlib_module_names) - {"pickle"} | {"numpy", "scipy"}
"""Without pickle: files that people exchange must not run code when they are read."""


def each_source(check):
    """Make one test of a check of each file, which names every file that fails: a case for each would take seconds."""

    def test():
        failures = []
        for path in SOURCES:
            try:
                check(path)
            except AssertionError as error:
                failures.append(f"{path.relative_to(ROOT)}: {error}")
        assert not failures, "\n".join(failures)

    return test


def part_of(path: Path) -> str:
    """Return the folder of a file, empty for files beside the folders."""
    inside = path.relative_to(ROOT).parts
    return inside[0] if len(inside) > 1 else ""


@cache
def tree_of(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


def imports(path: Path) -> set[str]:
    return names_imported_by(ast.walk(tree_of(path)))


def imports_at_once(path: Path, *, typing: bool) -> set[str]:
    """Return imports that run when the file is loaded: those outside functions; with ``typing`` also those for types.

    A type checker sees what is under ``if TYPE_CHECKING``, and the interpreter does not.
    """
    found, waiting = [], list(tree_of(path).body)
    while waiting:
        node = waiting.pop()
        found.append(node)
        if isinstance(node, ast.If) and not typing and ast.unparse(node.test).endswith("TYPE_CHECKING"):
            waiting += node.orelse
        elif not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            waiting += ast.iter_child_nodes(node)
    return names_imported_by(found)


def names_imported_by(nodes: Iterable[ast.AST]) -> set[str]:
    names = set()
    for node in nodes:
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "imports are absolute"
            names |= {f"{node.module}.{alias.name}" for alias in node.names}
        elif isinstance(node, ast.Call) and ast.unparse(node.func).endswith(("import_module", "__import__")):
            names |= {arg.value for arg in node.args[:1] if isinstance(arg, ast.Constant)}
    return names


def own_imports(names: set[str]) -> set[tuple[str, ...]]:
    """Return imports from the package, without its name."""
    return {tuple(name.split(".")[1:]) for name in names if name.split(".")[0] == "fastgntk"}


def test_every_folder_and_file_has_a_rule():
    assert set(BELOW) == FOLDERS
    assert set(TOP) == {path.name for path in ROOT.glob("*.py")}
    mentioned = set().union(*BELOW.values(), *TOP.values(), WHEN_CALLED, *WHEN_CALLED.values())
    mentioned = mentioned.union(*LIBRARIES.values(), *EXTRAS.values())
    assert mentioned <= FOLDERS


def test_layers_have_no_cycle():
    order = list(TopologicalSorter(BELOW).static_order())
    assert order[0] == "_util"
    assert order[-1] == "cli"


@each_source
def test_imports_keep_to_the_layers(path):
    part = part_of(path)
    below = BELOW[part] if part else TOP[path.name]
    at_once = own_imports(imports_at_once(path, typing=True))
    for pieces in own_imports(imports(path)):
        assert pieces, f"{path} imports the whole package"
        if pieces[0] in EVERYWHERE or (part and pieces[0] == part):
            continue
        allowed = below if pieces in at_once else below | WHEN_CALLED.get(part, set())
        assert pieces[0] in allowed, f"{path} imports fastgntk.{'.'.join(pieces)}"


@each_source
def test_private_modules_are_imported_within_their_folder_only(path):
    for pieces in own_imports(imports(path)):
        private = [i for i, piece in enumerate(pieces) if piece.startswith("_") and not piece.startswith("__")]
        if private:
            folder = ROOT.joinpath(*pieces[: private[0]])
            assert path.is_relative_to(folder), f"{path} imports {'.'.join(pieces)}, which is private to {folder}"


@each_source
def test_libraries_are_imported_where_they_belong(path):
    part = part_of(path)
    for name in imports(path):
        library = name.split(".")[0]
        if library != "fastgntk" and library not in FOR_ALL:
            assert part in (LIBRARIES | EXTRAS).get(library, set()), f"{path} imports {name}"


@each_source
def test_extras_are_imported_inside_functions(path):
    at_once = {name.split(".")[0] for name in imports_at_once(path, typing=False)}
    assert not at_once & set(EXTRAS)


def test_rules_find_violations(tmp_path):
    """The functions above, on a file with one import of each kind."""
    path = tmp_path / "sample.py"
    path.write_text(
        "import fastgntk.engines._auto\nfrom fastgntk.models import _svm\nif TYPE_CHECKING:\n    import torch\n"
        "class A:\n    import zarr\n    def f(self):\n        import rdkit.Chem\n        import_module('numba')\n"
    )
    assert own_imports(imports(path)) == {("engines", "_auto"), ("models", "_svm")}
    ours = {"fastgntk.engines._auto", "fastgntk.models._svm"}
    assert imports(path) == ours | {"torch", "zarr", "rdkit.Chem", "numba"}
    assert imports_at_once(path, typing=True) == ours | {"torch", "zarr"}
    assert imports_at_once(path, typing=False) == ours | {"zarr"}


@each_source
def test_only_the_command_line_prints(path):
    tree = tree_of(path)
    calls = [ast.unparse(node.func) for node in ast.walk(tree) if isinstance(node, ast.Call)]
    streams = [ast.unparse(node) for node in ast.walk(tree) if isinstance(node, ast.Attribute)]
    prints = {"print", "pprint"} & set(calls) | {"sys.stdout", "sys.stderr", "sys.__stdout__"} & set(streams)
    assert not prints or part_of(path) == "cli"


@each_source
def test_every_file_has_a_docstring(path):
    assert ast.get_docstring(tree_of(path))


def loaded_after(statement: str) -> set[str]:
    program = f"import sys\n{statement}\nprint('\\n'.join(sys.modules))"
    return set(
        subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout.split()
    )


@pytest.mark.slow
def test_import_loads_nothing_heavy():
    heavy = set(LIBRARIES) | set(EXTRAS) | {"requests", "pandas", "igraph", "dask"}
    assert not heavy & loaded_after("import fastgntk")
    # BLAS is limited to one thread while tiles are computed, and data sets are looked for in the cache folder.
    heavy -= {"threadpoolctl", "platformdirs"}
    assert not heavy & loaded_after("import fastgntk as fg; fg.gram(fg.datasets.load('MUTAG').graphs[:2])")


@pytest.mark.slow
def test_folders_load_without_extras():
    assert not set(EXTRAS) & loaded_after(f"import {', '.join(f'fastgntk.{folder}' for folder in sorted(FOLDERS))}")


def test_folders_load_when_used():
    assert fastgntk.selection.evaluate
    assert fastgntk.theory.finite_width_gram
    with pytest.raises(AttributeError, match="has no attribute 'learning'"):
        fastgntk.learning  # noqa: B018


def test_every_public_name_exists_and_is_documented():
    for name in fastgntk.__all__:
        assert getattr(fastgntk, name).__doc__ or name == "__version__"
