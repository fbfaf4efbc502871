"""Kernels as values, and their algebra: sums, products, positive factors and normalisation stay kernels."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Any, ClassVar, Self, TypedDict

import numpy as np

from fastgntk._util.checks import check_positive
from fastgntk._util.values import Value
from fastgntk.errors import InputError
from fastgntk.graphs import FeatureKind
from fastgntk.sketch import Sketch

__all__ = ["MAX_NESTING", "Kernel", "Leaf", "Normalized", "OperatorOptions", "Product", "RefinementOptions"]
__all__ += ["Scaled", "Sum"]

MAX_NESTING = 100
"""Limit of nested operations; Python's parser, which reads ``repr``, takes fewer than 200 nested parentheses."""


class Kernel(Value):
    """Description of a positive semi-definite function k(G, G') of two graphs, as a frozen value.

    A kernel is not callable: :func:`fastgntk.gram` computes its values. ``2.0 * k``, ``k1 + k2``, ``k1 * k2`` and
    ``k.normalized()`` are kernels again. :func:`fastgntk.parse_kernel` parses the output of ``repr``, and
    :meth:`from_json` that of ``to_json``.
    """

    _precedence: ClassVar[int] = 3
    """Precedence of the outermost operation in ``repr``: 1 for a sum, 2 for a product, 3 without parentheses."""
    __array_ufunc__ = None  # so that a NumPy number times a kernel calls __rmul__
    _nesting: int = 0
    """Depth of nested operations, 0 for a leaf."""

    def __init__(self) -> None:  # kernels are dataclasses with an ``__init__`` of their own
        raise InputError(f"{type(self).__name__} is a base class without values; use a kernel such as GNTK(blocks=3).")

    def __getstate__(self) -> dict[str, Any]:
        """Leave out cached properties, so that the pickles and hashes of equal kernels are equal."""
        return {name: value for name, value in vars(self).items() if not _is_cached(type(self), name)}

    def __add__(self, other: Any) -> Kernel:
        return Sum(self, other) if isinstance(other, Kernel) else NotImplemented

    def __radd__(self, other: Any) -> Kernel:
        return self if type(other) is int and other == 0 else NotImplemented  # the start value of ``sum``

    def __mul__(self, other: Any) -> Kernel:
        return Product(self, other) if isinstance(other, Kernel) else self.__rmul__(other)

    def __rmul__(self, factor: Any) -> Kernel:
        return Scaled(factor, self) if isinstance(factor, int | float | np.number) else NotImplemented  # type: ignore[arg-type]

    def normalized(self) -> Kernel:
        """Return k(G, G') / sqrt(k(G, G) k(G', G')), the cosine; 0 where k(G, G) = 0.

        >>> from fastgntk import GNTK
        >>> (GNTK(2) + GNTK(3)).normalized()
        (GNTK(blocks=2) + GNTK()).normalized()
        """
        return self if isinstance(self, Normalized) else Normalized(self)

    def leaves(self) -> list[Leaf]:
        """Return the distinct leaves from which this kernel is composed, in order of first occurrence."""
        parts = [value for value in vars(self).values() if isinstance(value, Kernel)]
        return list(dict.fromkeys(leaf for part in parts for leaf in part.leaves()))

    def map_leaves(self, change: Callable[[Leaf], Kernel]) -> Kernel:
        """Return the same combination with every leaf replaced by ``change(leaf)``."""
        parts = {name: value for name, value in self.get_params(deep=False).items() if isinstance(value, Kernel)}
        return replace(self, **{name: part.map_leaves(change) for name, part in parts.items()})  # type: ignore[type-var]

    def to_dict(self) -> dict[str, Any]:
        """Return the kernel as plain values; nested values are dictionaries with their class in ``"is"``."""
        return dict(_plain(self))

    def to_json(self) -> str:
        """Return the kernel as one line of JSON."""
        return json.dumps(self.to_dict())

    @classmethod
    def from_dict(cls, options: Any) -> Self:
        """Return a kernel from the output of :meth:`to_dict`; on a subclass, raise unless it is an instance of it."""
        from fastgntk.kernels._parse import value_from_dict

        value = value_from_dict(options)
        if not isinstance(value, cls):
            raise InputError(f"a {cls.__name__} was expected, but {value!r} was given.")
        return value

    @classmethod
    def from_json(cls, text: str) -> Self:
        """Return a kernel from the output of :meth:`to_json`."""
        try:
            options = json.loads(text)
        except (ValueError, TypeError, RecursionError) as error:  # also ValueError for undecodable bytes
            raise InputError(f"the kernel is not valid JSON: {error}.") from None
        return cls.from_dict(options)

    def _parenthesized(self, precedence: int) -> str:
        """Return ``repr`` as an operand, in parentheses if the enclosing operation binds more tightly."""
        return repr(self) if self._precedence >= precedence else f"({self!r})"


class OperatorOptions(TypedDict):
    """What determines the operator of a graph besides the graph; keyword arguments of functions of the engines."""

    uses_edge_labels: bool
    uses_node_scale: bool
    self_weight: float
    symmetric: bool


class RefinementOptions(OperatorOptions):
    """What determines which nodes are equal, besides the graph."""

    keep_features: bool


class Leaf(Kernel):
    """A kernel that is computed by an engine, and not a combination of others.

    Its value is a weighted sum of the readouts of levels 0..``depth``. Options of networks, such as ``self_weight``,
    have neutral values here, so that code above the engines can use those of any leaf without checking its class.
    Besides these properties, :mod:`fastgntk.pairwise` distinguishes only networks, for sketches and engines, and
    kernels on descriptors, for their scales.
    """

    @property
    def depth(self) -> int:
        """Index of the last level; 0 for a kernel without levels."""
        return 0

    @property
    def level_weights(self) -> tuple[float, ...]:
        """The weight of each level 0..``depth``."""
        return (1.0,) * (self.depth + 1)

    @property
    def features(self) -> FeatureKind | None:
        """The kind of initial node features, or None if the kernel uses none."""
        return None

    @property
    def uses_edge_labels(self) -> bool:
        """Whether edge labels matter."""
        return False

    @property
    def uses_node_scale(self) -> bool:
        """Whether the ``node_scale`` of graphs matters."""
        return False

    @property
    def self_weight(self) -> float:
        """The weight of a node among its neighbours."""
        return 1.0

    @property
    def symmetric(self) -> bool:
        """Whether the operator is D^(−½) Â D^(−½), with the row sums D of Â."""
        return False

    @property
    def has_residual(self) -> bool:
        """Whether every level depends on the initial features of a node itself."""
        return False

    @property
    def operator_options(self) -> OperatorOptions:
        """The options that determine the operator of a graph."""
        return OperatorOptions(
            uses_edge_labels=self.uses_edge_labels,
            uses_node_scale=self.uses_node_scale,
            self_weight=self.self_weight,
            symmetric=self.symmetric,
        )

    @property
    def refinement_options(self) -> RefinementOptions:
        """The options that determine which nodes are equal."""
        return RefinementOptions(**self.operator_options, keep_features=self.has_residual)

    @property
    def pool(self) -> str:
        """Whether readouts are sums over the nodes of a graph, ``"sum"``, or their ``"mean"``."""
        return "sum"

    @property
    def sketch(self) -> Sketch | None:
        """The sketch of an approximate kernel, or None."""
        return None

    @property
    def requires_fit(self) -> bool:
        """Whether kernel values depend on scales that are fitted to training graphs."""
        return False

    def with_all_levels(self, depth: int) -> Self:  # noqa: ARG002
        """Return this kernel with the given depth and weight 1 for every level.

        Levels common to both have the same readouts.
        """
        return self

    def leaves(self) -> list[Leaf]:
        """Return the kernel itself."""
        return [self]

    def map_leaves(self, change: Callable[[Leaf], Kernel]) -> Kernel:
        """Return ``change(self)``."""
        return change(self)


def _is_cached(cls: type, name: str) -> bool:
    return isinstance(getattr(cls, name, None), cached_property)


@dataclass(frozen=True, repr=False)
class _BinaryOperation(Kernel):
    k1: Kernel
    k2: Kernel
    _symbol: ClassVar[str]

    def __hash__(self) -> int:
        return hash((self._symbol, self.k1, self.k2))

    def __post_init__(self) -> None:
        _check_operands(self, self.k1, self.k2)

    def __repr__(self) -> str:
        left, right = self.k1._parenthesized(self._precedence), self.k2._parenthesized(self._precedence + 1)
        return f"{left} {self._symbol} {right}"


class Sum(_BinaryOperation):
    """k1 + k2."""

    _precedence = 1
    _symbol = "+"


class Product(_BinaryOperation):
    """k1 · k2, entry by entry."""

    _precedence = 2
    _symbol = "*"


@dataclass(frozen=True, repr=False)
class Scaled(Kernel):
    """factor · kernel, with a factor above 0."""

    factor: float
    kernel: Kernel
    _precedence: ClassVar[int] = 2

    def __post_init__(self) -> None:
        _check_operands(self, self.kernel)
        object.__setattr__(self, "factor", check_positive("the factor of a kernel", self.factor))

    def __repr__(self) -> str:
        return f"{self.factor!r} * {self.kernel._parenthesized(3)}"


@dataclass(frozen=True, repr=False)
class Normalized(Kernel):
    """The cosine of ``kernel``, as returned by :meth:`Kernel.normalized`."""

    kernel: Kernel

    def __post_init__(self) -> None:
        if isinstance(self.kernel, Normalized):  # once is enough
            object.__setattr__(self, "kernel", self.kernel.kernel)
        _check_operands(self, self.kernel)

    def __repr__(self) -> str:
        return f"{self.kernel._parenthesized(3)}.normalized()"


def _check_operands(kernel: Kernel, *operands: Any) -> None:
    """Raise unless all operands of an operation are kernels; set its nesting, which must not exceed the limit."""
    for operand in operands:
        if not isinstance(operand, Kernel):
            raise InputError(f"kernels combine with kernels only, but an operand has type {type(operand).__name__}.")
    nesting = 1 + max(operand._nesting for operand in operands)
    if nesting > MAX_NESTING:
        raise InputError(
            f"a kernel can have at most {MAX_NESTING} nested operations; group the terms of a long sum, as in "
            "(k1 + k2) + (k3 + k4)."
        )
    object.__setattr__(kernel, "_nesting", nesting)


def _plain(value: Any) -> Any:
    if isinstance(value, Value):
        options = {f.name: _plain(getattr(value, f.name)) for f in fields(value)}  # type: ignore[arg-type]
        return {"is": type(value).__name__, **options}
    return list(value) if isinstance(value, tuple) else value
