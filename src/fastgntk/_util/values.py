"""Frozen dataclasses as values: a short ``repr``, parameters by name, copies with other parameters."""

from dataclasses import fields, replace
from typing import Any, Self

from fastgntk.errors import InputError

__all__ = ["Value"]


class Value:
    """Base of frozen dataclasses with scikit-learn's parameter interface, so that ``kernel__blocks`` can be searched.

    ``repr`` leaves out fields with default values. As the value is frozen, ``set_params`` returns a new one.
    """

    def __repr__(self) -> str:
        values = [(f, getattr(self, f.name)) for f in fields(self) if f.repr]  # type: ignore[arg-type]
        shown = [f"{field.name}={value!r}" for field, value in values if value != field.default]
        return f"{type(self).__name__}({', '.join(shown)})"

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the parameters by name; with ``deep`` also those of nested values, as ``outer__inner``."""
        params = {f.name: getattr(self, f.name) for f in fields(self)}  # type: ignore[arg-type]
        if not deep:
            return params
        nested = {name: value for name, value in params.items() if isinstance(value, Value)}
        return params | {f"{name}__{k}": v for name, value in nested.items() for k, v in value.get_params().items()}

    def set_params(self, **params: Any) -> Self:
        """Return a copy with other parameters; ``outer__inner`` names those of nested values."""
        names = [f.name for f in fields(self)]  # type: ignore[arg-type]
        changed: dict[str, Any] = {}
        nested: dict[str, dict[str, Any]] = {}
        for name, value in params.items():
            outer, _, inner = name.partition("__")
            if outer not in names:
                hint = "; write kernel__ in front for those of the kernel inside" if "kernel" in names else ""
                raise InputError(f"{type(self).__name__} has no parameter {outer!r}; it has {', '.join(names)}{hint}.")
            if inner:
                nested.setdefault(outer, {})[inner] = value
            else:
                changed[outer] = value
        for outer, options in nested.items():
            value = changed.get(outer, getattr(self, outer))
            if not isinstance(value, Value):
                raise InputError(f"{outer} of {type(self).__name__} is {value!r}, which has no parameters.")
            changed[outer] = value.set_params(**options)
        return replace(self, **changed)  # type: ignore[type-var]

    def __sklearn_clone__(self) -> Self:
        return self
