"""Mutation tests: change one function of the source at a time, and check that its tests fail.

Run: make mutants            (or: python tools/mutants.py [WORD ...] for the rows that contain all words)

A mutant is a change of the syntax tree of one function: another operator, constant or comparison, swapped arguments, a
missing factor or guard. Functions are found by name in a package, so that moving them between its modules, renaming
local variables and reformatting keep a row valid. The source is copied to a temporary folder and changed there. Exit
code 1 if a mutant survives, or if a row no longer applies.
"""

from __future__ import annotations

import ast
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[1]
COPIED = ("src", "tests", "pyproject.toml")

EQUALS = "properties/test_equals_reference.py"
ALGEBRA = "properties/test_algebra.py"
CONSISTENCY = "properties/test_consistency.py"


class Mutant(NamedTuple):
    """One row: a function below ``fastgntk``, a kind of change, its detail, which occurrence (from 1), and the tests.

    The function is named ``package.function`` or ``package.Class.method``; a module may be named for clarity.
    """

    function: str
    kind: str
    detail: str
    which: int
    tests: str


MUTANTS = [
    # engines: activations
    Mutant("engines.kappa0", "constant", "np.pi -> 3.0", 2, "engines/test_activation.py"),
    Mutant("engines.kappa1", "operator", "+ -> -", 1, "engines/test_activation.py"),
    Mutant("engines.kappa1", "unwrap", "clip", 1, "engines/test_activation.py"),
    Mutant("engines.kappas", "drop factor", "", 4, EQUALS),
    # engines: kronecker
    Mutant("engines._kron_apply", "swap arguments", "kron", 1, EQUALS),
    Mutant("engines.Kronecker.pair", "call", "kappa0 -> kappa1", 1, EQUALS),
    Mutant("engines.Kronecker._prepare_graph", "drop if", "", 1, EQUALS),
    # engines: decoupled
    Mutant("engines.Decoupled.tile_readouts", "drop transpose", "", 3, CONSISTENCY),
    Mutant("engines.Decoupled.tile_readouts", "operator", "+ -> -", 3, EQUALS),
    Mutant("engines._decoupled._norms", "drop factor", "", 2, EQUALS),
    Mutant("engines.operator_matrix", "operator", "+ -> -", 1, EQUALS),
    Mutant("engines.is_zero_norm", "return", "np.zeros(len($0), dtype=bool)", 1, ALGEBRA),
    Mutant("engines.unit_rows", "drop factor", "", 2, EQUALS),
    Mutant("engines.row_sums", "operator", "+ -> -", 2, EQUALS),
    Mutant("engines.check_graphs", "drop if", "", 1, "properties/test_node_gram.py"),
    # engines: lossless
    Mutant("engines.block_gain", "constant", "2 -> 1", 1, EQUALS),
    Mutant("engines.mixing_factors", "unwrap", "safe_reciprocal", 1, EQUALS),
    Mutant("engines.scale_norms", "drop factor", "", 2, EQUALS),
    Mutant("engines.scale_norms", "drop factor", "", 3, EQUALS),
    Mutant("engines.refine_colours", "drop if", "", 2, EQUALS),
    Mutant("engines._same_multiset", "return", "True", 1, "engines/test_refinement.py"),
    # engines: sketched, random features
    Mutant("engines._sketch_matrix", "unwrap", "sqrt", 1, "engines/test_sketched.py"),
    Mutant("engines._product", "drop factor", "", 1, "engines/test_sketched.py"),
    Mutant("engines.TangentFeatures._apply_layer", "constant", "2.0 -> 1.0", 1, "engines/test_random_features.py"),
    Mutant("engines.TangentFeatures._apply_layer", "drop if", "", 1, "engines/test_random_features.py"),
    # sketch
    Mutant("sketch.SRHT._left", "drop factor", "", 3, "sketch"),
    Mutant("sketch._StoredSketch.__init__", "unwrap", "sqrt", 1, "sketch"),
    Mutant("sketch.hadamard_entries", "constant", "1 -> 2", 1, "sketch"),
    Mutant("sketch.Sketch.rows", "compare", "< -> <=", 1, "sketch"),
    Mutant("sketch.GaussianProjection.__init__", "drop factor", "", 1, "sketch"),
    Mutant("sketch.TensorSketch.__call__", "operator", "* -> +", 1, "sketch"),
    # solvers
    Mutant("solvers.likelihood", "constant", "2.0 -> 1.0", 1, "solvers"),
    Mutant("solvers.Solution.variance", "operator", "- -> +", 1, "solvers"),
    Mutant("solvers.EigenPath._precision", "drop if", "", 1, "solvers"),
    Mutant("solvers.draw_landmarks", "constant", "False -> True", 1, "solvers"),
    Mutant("solvers._round", "drop if", "", 1, "solvers"),
    Mutant("solvers.low_rank_solution", "operator", "+ -> -", 1, "solvers"),
    Mutant("solvers._cholesky._factor", "drop if", "", 1, "solvers"),
    Mutant("solvers.choose_solver", "drop if", "", 2, "solvers"),
    # pairwise: plan, combine, store
    Mutant("pairwise.Plan.node_pairs", "drop if", "", 2, "pairwise/test_plan.py"),
    Mutant("pairwise._largest_first", "drop minus", "", 1, "pairwise/test_plan.py"),
    Mutant("pairwise._combine._apply", "constant", "np.add -> np.multiply", 1, "kernels/test_combinations.py"),
    Mutant("pairwise.combine_levels", "drop if", "", 1, EQUALS),
    Mutant("pairwise.normalize", "drop factor", "", 1, "pairwise/test_gram.py"),
    Mutant("pairwise._write_both_triangles", "unwrap", "swapaxes", 1, CONSISTENCY),
    Mutant("pairwise._union", "operator", "+ -> -", 1, "properties/test_nodes.py"),
    Mutant("pairwise.store._leaf_values", "drop transpose", "", 1, "pairwise/store/test_store.py"),
    Mutant("pairwise.store.Manifest.from_dict", "drop if", "", 2, "pairwise/store/test_store.py"),
    # kernels
    Mutant("kernels._Parser.literal", "drop if", "", 1, "kernels"),
    Mutant("kernels._Parser.expression", "drop if", "", 1, "kernels"),
    Mutant("kernels._BinaryOperation.__repr__", "constant", "1 -> 0", 1, "kernels"),
    Mutant("kernels.value_from_dict", "drop if", "", 3, "kernels"),
    Mutant("kernels._check_jump", "compare", ">= -> >", 1, "kernels"),
    # models
    Mutant("models.Intervals.width", "constant", "1 -> 0", 2, "models/test_calibration.py"),
    Mutant("models._platt", "constant", "2.0 -> 1.0", 1, "models/test_calibration.py"),
    Mutant("models.Explanation.prediction", "operator", "+ -> -", 1, "models/test_explanation.py"),
    Mutant("models.Expansion.explain", "drop factor", "", 1, "models/test_explanation.py"),
    # persistence
    Mutant("persistence._read_array", "drop if", "", 4, "persistence/test_archive.py"),
    Mutant("persistence._check_members", "drop if", "", 2, "persistence/test_archive.py"),
    Mutant("persistence._check_member", "drop if", "", 2, "persistence/test_archive.py"),
    # graphs
    Mutant("graphs._csr.from_edges", "compare", "!= -> ==", 1, "graphs/test_graph.py"),
    Mutant("graphs._check_range", "compare", ">= -> >", 1, "graphs/test_graph.py"),
    Mutant("graphs._merge_weights", "drop if", "", 3, "graphs/test_graph.py"),
    Mutant("graphs._merge_labels", "drop if", "", 2, "graphs/test_graph.py"),
    # selection
    Mutant("selection.outer_splits", "drop if", "", 4, "selection"),
    Mutant("selection._objective", "constant", "0.5 -> 1.0", 2, "selection/test_search.py"),
    Mutant("selection._choose", "call", "argmax -> argmin", 1, "selection/test_evaluate.py"),
    # theory
    Mutant("theory.gamma", "drop factor", "", 1, "theory/test_spectrum.py"),
    Mutant("theory.powers_up_to", "drop factor", "", 1, "theory/test_spectrum.py"),
    Mutant("theory.aggregate_nodes", "drop if", "", 2, "theory/test_nodes.py"),
    Mutant("theory.aggregate_nodes", "drop transpose", "", 1, "theory/test_nodes.py"),
    Mutant("theory.required_sketch_sizes", "constant", "3 -> 2", 1, "theory/test_sketch_size.py"),
    Mutant("theory.required_sketch_sizes", "drop factor", "", 2, "theory/test_sketch_size.py"),
    Mutant("theory.LabelClass.norm_bound", "constant", "4.0 -> 2.0", 1, "theory/test_generalization.py"),
    Mutant("theory.generalization_rate", "drop factor", "", 1, "theory/test_counterexamples.py"),
    Mutant("theory.count_operations", "drop factor", "", 3, "theory/test_running_time.py"),
]

Function = ast.FunctionDef | ast.AsyncFunctionDef
Change = tuple[ast.AST, ast.AST]
"""A node of the tree, and what takes its place."""

OPERATORS: dict[str, type[ast.operator]] = {
    "+": ast.Add, "-": ast.Sub, "*": ast.Mult, "/": ast.Div, "@": ast.MatMult,
}  # fmt: skip
COMPARISONS: dict[str, type[ast.cmpop]] = {
    "<": ast.Lt, "<=": ast.LtE, ">": ast.Gt, ">=": ast.GtE, "==": ast.Eq, "!=": ast.NotEq,
}  # fmt: skip


def _expression(text: str) -> ast.expr:
    return ast.parse(text, mode="eval").body


def _arrow(detail: str) -> tuple[str, str]:
    old, new = detail.split(" -> ")
    return old, new


def _callee(node: ast.AST) -> str:
    """Return the last part of the name that a call refers to."""
    function = node.func if isinstance(node, ast.Call) else None
    return getattr(function, "attr", getattr(function, "id", ""))


def constant(function: Function, detail: str) -> Iterator[Change]:
    """Replace a literal, or a dotted name such as ``np.pi``."""
    old, new = _arrow(detail)
    for node in _nodes(function):
        if isinstance(node, ast.Constant | ast.Attribute) and ast.unparse(node) == old:
            yield node, _expression(new)


def operator(function: Function, detail: str) -> Iterator[Change]:
    """Replace a binary operator, also in an assignment such as ``+=``."""
    old, new = (OPERATORS[sign] for sign in _arrow(detail))
    for node in _nodes(function):
        if isinstance(node, ast.BinOp) and isinstance(node.op, old):
            yield node, ast.BinOp(node.left, new(), node.right)
        elif isinstance(node, ast.AugAssign) and isinstance(node.op, old):
            yield node, ast.AugAssign(node.target, new(), node.value)


def compare(function: Function, detail: str) -> Iterator[Change]:
    """Replace a comparison."""
    old, new = (COMPARISONS[sign] for sign in _arrow(detail))
    for node in _nodes(function):
        if isinstance(node, ast.Compare):
            for i, op in enumerate(node.ops):
                if isinstance(op, old):
                    yield node, ast.Compare(node.left, [*node.ops[:i], new(), *node.ops[i + 1 :]], node.comparators)


def call(function: Function, detail: str) -> Iterator[Change]:
    """Call another function, or another method."""
    old, new = _arrow(detail)
    for node in _nodes(function):
        if isinstance(node, ast.Call) and _callee(node) == old:
            if isinstance(node.func, ast.Attribute):
                yield node.func, ast.Attribute(node.func.value, new, ast.Load())
            else:
                yield node.func, ast.Name(new, ast.Load())


def swap_arguments(function: Function, detail: str) -> Iterator[Change]:
    """Swap the first two arguments of a call."""
    for node in _nodes(function):
        if isinstance(node, ast.Call) and _callee(node) == detail and len(node.args) > 1:
            first, second, *rest = node.args
            yield node, ast.Call(node.func, [second, first, *rest], node.keywords)


def unwrap(function: Function, detail: str) -> Iterator[Change]:
    """Replace a call by its first argument."""
    for node in _nodes(function):
        if isinstance(node, ast.Call) and _callee(node) == detail and node.args:
            yield node, node.args[0]


def drop_if(function: Function, _: str) -> Iterator[Change]:
    """Never take the branch of an ``if`` statement."""
    for node in _nodes(function):
        if isinstance(node, ast.If):
            yield node.test, ast.Constant(False)


def drop_factor(function: Function, _: str) -> Iterator[Change]:
    """Replace x * y and x / y by x, and omit ``x *= y`` and ``x /= y``."""
    for node in _nodes(function):
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult | ast.Div):
            yield node, node.left
        elif isinstance(node, ast.AugAssign) and isinstance(node.op, ast.Mult | ast.Div):
            yield node, ast.Pass()


def drop_transpose(function: Function, _: str) -> Iterator[Change]:
    """Replace ``x.T`` by x."""
    for node in _nodes(function):
        if isinstance(node, ast.Attribute) and node.attr == "T":
            yield node, node.value


def drop_minus(function: Function, _: str) -> Iterator[Change]:
    """Replace ``-x`` by x."""
    for node in _nodes(function):
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
            yield node, node.operand


def return_early(function: Function, detail: str) -> Iterator[Change]:
    """Return an expression at once; ``$0`` is the first parameter."""
    for i, argument in enumerate(function.args.args):
        detail = detail.replace(f"${i}", argument.arg)
    yield function.body[0], ast.Return(_expression(detail))


KINDS: dict[str, Callable[[Function, str], Iterator[Change]]] = {
    "constant": constant,
    "operator": operator,
    "compare": compare,
    "call": call,
    "swap arguments": swap_arguments,
    "unwrap": unwrap,
    "drop if": drop_if,
    "drop factor": drop_factor,
    "drop transpose": drop_transpose,
    "drop minus": drop_minus,
    "return": return_early,
}


def _nodes(function: Function) -> list[ast.AST]:
    """Return the nodes of the body in the order of the text; of nodes that start together, the larger one first."""
    nodes = [node for statement in function.body for node in ast.walk(statement) if hasattr(node, "lineno")]
    return sorted(nodes, key=lambda node: (node.lineno, node.col_offset, -node.end_lineno, -node.end_col_offset))


class _Replace(ast.NodeTransformer):
    def __init__(self, old: ast.AST, new: ast.AST) -> None:
        self.old, self.new = old, new

    def visit(self, node: ast.AST) -> ast.AST:
        return self.new if node is self.old else self.generic_visit(node)


class StaleError(Exception):
    """A row that no longer applies."""


def _functions(tree: ast.AST, prefix: str = "") -> Iterator[tuple[str, Function]]:
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.ClassDef):
            yield from _functions(node, f"{prefix}{node.name}.")
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield f"{prefix}{node.name}", node


def find(root: Path, dotted: str) -> tuple[Path, ast.Module, Function]:
    """Return the file, the syntax tree and the function of that name, which must be unique in its package."""
    place, parts = root, dotted.split(".")
    while (place / parts[0]).is_dir():
        place /= parts.pop(0)
    module = place / f"{parts[0]}.py"
    files = [module] if module.is_file() and len(parts) > 1 else sorted(place.rglob("*.py"))
    name = ".".join(parts[1:] if files == [module] else parts)
    found = []
    for path in files:
        tree = ast.parse(path.read_text())
        matches = [f for full, f in _functions(tree) if full == name or full.endswith(f".{name}")]
        found += [(path, tree, function) for function in matches]
    if len(found) != 1:
        raise StaleError(f"{len(found)} functions are named {dotted}")
    return found[0]


def mutate(root: Path, mutant: Mutant) -> tuple[Path, str]:
    """Return the file to change, and its new text."""
    path, tree, function = find(root, mutant.function)
    changes = list(KINDS[mutant.kind](function, mutant.detail))
    if len(changes) < mutant.which:
        raise StaleError(f"{mutant.function} has {len(changes)} places for {mutant.kind} {mutant.detail}".rstrip())
    changed = _Replace(*changes[mutant.which - 1]).visit(tree)
    return path, ast.unparse(ast.fix_missing_locations(changed))


def run_tests(tests: str, folder: Path) -> int:
    """Return the exit code of pytest in a copy of the project; 1 if the tests do not end."""
    paths = [f"tests/{name}" for name in tests.split()]
    command = [sys.executable, "-m", "pytest", "-x", "-q", "-m", "not slow", "-p", "no:cacheprovider", *paths]
    environment = {**os.environ, "PYTHONPATH": str(folder / "src"), "PYTHONDONTWRITEBYTECODE": "1"}
    try:
        return subprocess.run(command, cwd=folder, env=environment, capture_output=True, timeout=600).returncode
    except subprocess.TimeoutExpired:
        return 1


def check(mutant: Mutant, folder: Path, unchanged: dict[str, int]) -> str:
    """Return "noticed", or what went wrong; ``unchanged`` has the exit codes without any change."""
    if mutant.tests not in unchanged:
        unchanged[mutant.tests] = run_tests(mutant.tests, folder)
    if unchanged[mutant.tests]:
        return f"ERROR (without the change, pytest ends with {unchanged[mutant.tests]} in tests/{mutant.tests})"
    try:
        path, text = mutate(folder / "src" / "fastgntk", mutant)
    except StaleError as error:
        return f"STALE ({error})"
    original = path.read_text()
    path.write_text(text)
    try:
        return "noticed" if run_tests(mutant.tests, folder) else "SURVIVED"
    finally:
        path.write_text(original)


def main() -> None:
    rows = [row for row in MUTANTS if all(word in " ".join(map(str, row)) for word in sys.argv[1:])]
    failures = 0
    unchanged: dict[str, int] = {}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for part in COPIED:
            copy = shutil.copytree if (ROOT / part).is_dir() else shutil.copy
            copy(ROOT / part, folder / part)
        for row in rows:
            start = time.perf_counter()
            verdict = check(row, folder, unchanged)
            failures += verdict != "noticed"
            what = f"{row.function}: {row.kind} {row.detail}".rstrip()
            print(f"{verdict:10} {time.perf_counter() - start:5.1f} s  {what} (no. {row.which})", flush=True)
    print(f"{len(rows) - failures} of {len(rows)} mutants were noticed")
    sys.exit(failures > 0)


if __name__ == "__main__":
    main()
