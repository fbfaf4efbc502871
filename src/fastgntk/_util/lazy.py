"""Names of a package that are imported when they are first used, as in Scientific Python's SPEC 1.

The stub ``__init__.pyi`` beside the package is the one list of names: type checkers read it, and so does this. Our own
twenty lines instead of ``lazy_loader``: one dependency less for every user.
"""

import ast
import sys
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

__all__ = ["attach"]


def attach(package: str, file: str) -> tuple[Callable[[str], Any], Callable[[], list[str]], list[str]]:
    """Return ``__getattr__``, ``__dir__`` and ``__all__`` of a package, from its stub."""
    home: dict[str, str] = {}
    for node in ast.parse(Path(file).with_suffix(".pyi").read_text(encoding="utf-8")).body:
        if isinstance(node, ast.ImportFrom) and node.module:
            home |= {alias.name: node.module for alias in node.names}

    def __getattr__(name: str) -> Any:  # noqa: N807  # what Python calls it
        if name not in home:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        if home[name] == package:  # a folder
            return import_module(f"{package}.{name}")
        value = getattr(import_module(home[name]), name)
        setattr(sys.modules[package], name, value)  # found without this function from now on
        return value

    return __getattr__, lambda: sorted(home), list(home)
