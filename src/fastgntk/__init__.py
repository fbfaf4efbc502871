"""Graph Neural Tangent Kernels, exact and fast.

>>> import fastgntk as fg
>>> data = fg.datasets.load("MUTAG")
>>> K = fg.gram(data.graphs[:10], fg.GNTK(blocks=2))
>>> K.shape
(10, 10)

Names are imported when they are first used, as in Scientific Python's SPEC 1, so that ``import fastgntk`` stays quick.
The stub ``__init__.pyi`` is the one list of names: type checkers read it, and so does this module. These few lines
replace ``lazy_loader``: one dependency less for every user.
"""

import ast
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

_MODULES = {
    alias.name: node.module
    for node in ast.parse(Path(__file__).with_suffix(".pyi").read_text(encoding="utf-8")).body
    if isinstance(node, ast.ImportFrom) and node.module
    for alias in node.names
}
__all__ = list(_MODULES)


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    if _MODULES[name] == __name__:  # a folder
        return import_module(f"{__name__}.{name}")
    value = getattr(import_module(_MODULES[name]), name)
    setattr(sys.modules[__name__], name, value)  # found without this function from now on
    return value


def __dir__() -> list[str]:
    return sorted(_MODULES)
