"""Parse kernels from strings and from JSON, without evaluating code.

    GNTK(blocks=3) + 0.5 * GNTK(blocks=1, features='degree').normalized()

The string is parsed as a Python expression into a syntax tree (:mod:`ast`). Only sums, products, ``.normalized()``,
calls of the names in ``_NAMES`` and literals are allowed; any other node is an error with its position.
"""

import ast
from collections.abc import Mapping
from dataclasses import MISSING, fields
from typing import Any, NoReturn

from fastgntk._util.checks import check_positive
from fastgntk._util.values import Value
from fastgntk.errors import InputError
from fastgntk.kernels._base import MAX_NESTING, Kernel, Normalized, Product, Scaled, Sum
from fastgntk.kernels._descriptors import RBF, Linear, Tanimoto
from fastgntk.kernels._network import GNTK, NNGP
from fastgntk.kernels._weisfeiler_lehman import WL, WLOA
from fastgntk.sketch import Sketch

__all__ = ["parse_kernel", "value_from_dict"]

_NAMES: dict[str, type[Value]] = {"GNTK": GNTK, "NNGP": NNGP, "WL": WL, "WLOA": WLOA, "Sketch": Sketch}
_NAMES |= {"RBF": RBF, "Linear": Linear, "Tanimoto": Tanimoto}
_COMPOSITE: dict[str, type[Value]] = {"Sum": Sum, "Product": Product, "Scaled": Scaled, "Normalized": Normalized}
_MAX_LENGTH = 10_000  # characters
_MAX_DEPTH = 2 * MAX_NESTING  # a limit for the recursion of the parser; kernels have their own


def parse_kernel(text: str) -> Kernel:
    """Parse a kernel from a string, the inverse of ``repr``.

    Examples
    --------
    >>> import fastgntk as fg
    >>> fg.parse_kernel("GNTK(blocks=2) + 0.5 * GNTK(3, scale='degree').normalized()")
    GNTK(blocks=2) + 0.5 * GNTK(scale='degree').normalized()
    >>> fg.parse_kernel("GNTK(2) - GNTK(1)")
    Traceback (most recent call last):
    fastgntk.errors.InputError: the kernel 'GNTK(2) - GNTK(1)' cannot be read at position 8: expected + or *.
    """
    if not isinstance(text, str):
        raise InputError(f"a kernel must be given as a string, but has type {type(text).__name__}.")
    return _Parser(text).kernel()


def value_from_dict(options: Any, depth: int = 0) -> Any:
    """Return a kernel, or a nested value of one, from plain values."""
    if not isinstance(options, Mapping) or not isinstance(options.get("is"), str):
        raise InputError('a kernel must be a JSON object with its class in "is".')
    make = (_NAMES | _COMPOSITE).get(options["is"])
    if make is None:
        raise InputError(f"unknown kernel {options['is']!r}; the kernels are {', '.join([*_NAMES, *_COMPOSITE])}.")
    if depth > _MAX_DEPTH:
        raise InputError(f"the kernel has more than {_MAX_DEPTH} nested operations; give a simpler one.")
    names = [f.name for f in fields(make)]  # type: ignore[arg-type]
    unknown = sorted(set(map(str, options)) - {"is", *names})
    if unknown:
        raise InputError(f"unknown option {unknown[0]!r} of {make.__name__}; its options are {', '.join(names)}.")
    arguments = {
        name: value_from_dict(value, depth + 1) if isinstance(value, Mapping) else value
        for name, value in options.items()
        if name != "is"
    }
    missing = [f.name for f in fields(make) if f.default is MISSING and f.name not in arguments]  # type: ignore[arg-type]
    if missing:
        raise InputError(f"{make.__name__} lacks {' and '.join(missing)}; its options are {', '.join(names)}.")
    return make(**arguments)


class _Parser:
    """Parser of one kernel expression."""

    def __init__(self, text: str) -> None:
        self.text = text.strip().replace("\n", " ")  # on one line, so that columns are positions in the string

    def kernel(self) -> Kernel:
        if not self.text:
            raise InputError("the kernel is empty; give one such as GNTK(blocks=3).")
        if len(self.text) > _MAX_LENGTH:
            self.fail(0, f"at most {_MAX_LENGTH} characters")
        try:
            tree = ast.parse(self.text, mode="eval")
        except SyntaxError as error:
            end = len(self.text) + 1  # Python reports column 0 in this case
            self.fail((error.offset or end) - 1, "a complete kernel")
        except (RecursionError, MemoryError, ValueError):
            self.fail(0, "fewer parentheses")
        return self.expression(tree.body, 0)

    def expression(self, node: ast.expr, depth: int) -> Kernel:
        """Parse a node that must be a kernel."""
        if depth > _MAX_DEPTH:
            self.fail(node.col_offset, f"at most {_MAX_DEPTH} nested operations")
        match node:
            case ast.BinOp(left, ast.Add(), right):
                return self.expression(left, depth + 1) + self.expression(right, depth + 1)
            case ast.BinOp(left, ast.Mult(), right):
                for factor, kernel in ((left, right), (right, left)):
                    if _is_factor(factor):
                        return Scaled(self.factor(factor), self.expression(kernel, depth + 1))
                return self.expression(left, depth + 1) * self.expression(right, depth + 1)
            case ast.BinOp(left, operator):
                hint = "; to divide by 2, multiply by 0.5, as in 0.5 * GNTK()" if isinstance(operator, ast.Div) else ""
                self.fail(left.end_col_offset or 0, f"+ or *{hint}")
            case ast.Call(ast.Attribute(inner, "normalized"), [], []):
                return self.expression(inner, depth + 1).normalized()
            case ast.Call(ast.Name()):
                parsed = self.call(node, Kernel)
                if isinstance(parsed, Kernel):
                    return parsed
        return self.fail(
            node.col_offset, "a kernel, a sum or a product, such as GNTK(blocks=3) or 0.5 * GNTK(2) + GNTK(3)"
        )

    def call(self, node: ast.Call, family: type[Value]) -> Value:
        """Parse ``NAME(options)``; an error lists the classes of ``family``."""
        assert isinstance(node.func, ast.Name)
        make = _NAMES.get(node.func.id)
        if make is None:
            self.fail(node.col_offset, f"one of {', '.join(n for n in _NAMES if issubclass(_NAMES[n], family))}")
        names = [f.name for f in fields(make)]  # type: ignore[arg-type]
        if len(node.args) > len(names):
            self.fail(node.args[len(names)].col_offset, f"at most {len(names)} options of {make.__name__}")
        options = {name: self.argument(value) for name, value in zip(names, node.args, strict=False)}
        for keyword in node.keywords:
            if keyword.arg not in names:
                self.fail(keyword.col_offset, f"one of the options {', '.join(names)}")
            if keyword.arg in options:
                self.fail(keyword.col_offset, f"the option {keyword.arg} only once")
            options[keyword.arg] = self.argument(keyword.value)
        return make(**options)

    def argument(self, node: ast.expr) -> Any:
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            return self.call(node, Sketch)
        return self.literal(node)

    def factor(self, node: ast.expr) -> float:
        """Parse a number, or a product of numbers."""
        product = 1.0
        while isinstance(node, ast.BinOp):
            product *= self.factor(node.right)
            node = node.left
        value = float(node.id) if isinstance(node, ast.Name) else self.literal(node)  # nan or inf
        return product * check_positive("the factor of a kernel", value)

    def literal(self, node: ast.expr) -> Any:
        """Parse a number, a string, True, False, None, or a tuple of these."""
        try:
            value = ast.literal_eval(node)
        except (ValueError, TypeError, MemoryError, RecursionError):
            self.fail(node.col_offset, "a number, a quoted string, True, False or a tuple")
        if isinstance(value, dict | set | bytes | complex):
            self.fail(node.col_offset, "a number, a quoted string, True, False or a tuple")
        return value

    def fail(self, position: int, expected: str) -> NoReturn:
        shown = self.text if len(self.text) <= 80 else f"{self.text[:77]}..."
        raise InputError(f"the kernel {shown!r} cannot be read at position {position + 1}: expected {expected}.")


def _is_factor(node: ast.expr) -> bool:
    """Return whether a node is a number, or a product of numbers."""
    while isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult) and _is_number(node.right):
        node = node.left
    return _is_number(node)


def _is_number(node: ast.expr) -> bool:
    inner = node.operand if isinstance(node, ast.UnaryOp) else node
    if isinstance(node, ast.Name):
        return node.id in ("inf", "nan")
    return isinstance(inner, ast.Constant) and isinstance(inner.value, int | float)
