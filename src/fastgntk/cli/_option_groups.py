"""How options are declared: in groups, which several commands share.

A group is a dataclass with an option in each field. A command takes groups and single options as parameters.
:func:`with_groups` gives typer a signature in which each group is replaced by its options, and builds the groups from
their values when the command is called.
"""

import inspect
from collections.abc import Callable
from copy import copy
from dataclasses import MISSING, Field, dataclass, field, fields
from functools import wraps
from typing import Annotated, Any, ClassVar, get_type_hints

import typer
from typer.models import OptionInfo

__all__ = ["REQUIRED", "OptionGroup", "argument", "option", "random_state_option", "with_groups"]

REQUIRED = MISSING
"""The default of an option or argument that must be passed."""


@dataclass(frozen=True)
class OptionGroup:
    """Options that several commands share; they have a panel of their own in the help text."""

    panel: ClassVar[str]
    omitted: ClassVar[tuple[str, ...]] = ()
    """Fields that a command does not offer: they keep their default."""

    @classmethod
    def options(cls) -> list[Field[Any]]:
        """Return the fields that a command offers."""
        return [f for f in fields(cls) if f.name not in cls.omitted]

    def changed(self, *names: str) -> list[str]:
        """Return the options that differ from their default, such as "--n-jobs", among all fields or ``names``."""
        candidates = [f for f in self.options() if f.default is not REQUIRED and (f.name in names or not names)]
        return [_option_name(f) for f in candidates if getattr(self, f.name) != f.default]


def _option_name(f: Field[Any]) -> str:
    """Return the name of an option: the first that it declares, or that of its field."""
    info = f.metadata["typer"]
    declared = (info.default, *(info.param_decls or ()))  # typer takes the first declaration as a default
    names = (name for name in declared if isinstance(name, str) and name.startswith("--") and "/" not in name)
    return next(names, f"--{f.name.replace('_', '-')}")


def option(help: str, default: Any = None, *declarations: str, **settings: Any) -> Any:
    """Declare an option; declarations and settings are those of :func:`typer.Option`.

    A ``bool`` without declarations is a switch: ``--name``, and no ``--no-name``.
    """
    return field(default=default, metadata={"typer": typer.Option(*declarations, help=help, **settings)})


def random_state_option(purpose: str, default: int | None = 0) -> Any:
    """Declare ``--random-state``, the seed for a purpose."""
    return option(f"Seed of {purpose}.", default, show_default="0")


def argument(help: str, default: Any = REQUIRED, **settings: Any) -> Any:
    """Declare an argument; settings are those of :func:`typer.Argument`."""
    return field(default=default, metadata={"typer": typer.Argument(help=help, **settings)})


def with_groups(command: Callable[..., None]) -> Callable[..., None]:
    """Return a command for typer that has the options of all groups among the parameters of ``command``."""
    hints = get_type_hints(command)
    groups = {name: hint for name, hint in hints.items() if inspect.isclass(hint) and issubclass(hint, OptionGroup)}
    parameters: list[inspect.Parameter] = []
    for name, parameter in inspect.signature(command).parameters.items():
        if name in groups:
            types, panel = get_type_hints(groups[name]), groups[name].panel
            parameters += [_to_parameter(f.name, f, types[f.name], panel) for f in groups[name].options()]
        else:
            parameters.append(_to_parameter(name, parameter.default, hints[name]))

    @wraps(command)
    def merged(**values: Any) -> None:
        built = {n: group(**{f.name: values.pop(f.name) for f in group.options()}) for n, group in groups.items()}
        command(**values, **built)

    merged.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    merged.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    return merged


def _to_parameter(name: str, declared: Field[Any], hint: Any, panel: str | None = None) -> inspect.Parameter:
    info = copy(declared.metadata["typer"])
    if isinstance(info, OptionInfo):
        info.rich_help_panel = panel
        if hint is bool and not info.param_decls:
            info.param_decls = (f"--{name.replace('_', '-')}",)  # without --no-…
    default = inspect.Parameter.empty if declared.default is REQUIRED else declared.default
    annotation = Annotated[hint, info]
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation)
