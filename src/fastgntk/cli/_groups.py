"""Option groups: options are declared once, as fields of a dataclass, and merged into the commands that use them.

A command takes groups as parameters. :func:`with_groups` gives typer a signature in which every group is replaced by
its options, and builds the groups from their values when the command is called.
"""

import inspect
from collections.abc import Callable
from copy import copy
from dataclasses import MISSING, Field, dataclass, field, fields
from functools import wraps
from typing import Annotated, Any, ClassVar, get_type_hints

import typer
from typer.models import OptionInfo

__all__ = ["OptionGroup", "argument", "option", "with_groups"]


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

    def given(self, *names: str) -> list[str]:
        """Return the names of the options that differ from their default; all of them or those of some names."""
        wanted = [f for f in self.options() if f.default is not MISSING and (f.name in names or not names)]
        return [f"--{f.name.replace('_', '-')}" for f in wanted if getattr(self, f.name) != f.default]


def option(default: Any, *declarations: str, **settings: Any) -> Any:
    """Declare an option with its default; declarations and settings are those of :func:`typer.Option`."""
    return field(default=default, metadata={"typer": typer.Option(*declarations, **settings)})


def argument(default: Any = MISSING, **settings: Any) -> Any:
    """Declare an argument; without a default it is required."""
    return field(default=default, metadata={"typer": typer.Argument(**settings)})


def with_groups(command: Callable[..., None]) -> Callable[..., None]:
    """Return a command for typer that has the options of all groups among the parameters of ``command``."""
    hints = get_type_hints(command, include_extras=True)
    groups = {name: hint for name, hint in hints.items() if inspect.isclass(hint) and issubclass(hint, OptionGroup)}
    parameters: list[inspect.Parameter] = []
    for name, parameter in inspect.signature(command).parameters.items():
        merge = _parameters(groups[name]) if name in groups else [parameter.replace(annotation=hints[name])]
        parameters += merge

    @wraps(command)
    def merged(**values: Any) -> None:
        built = {n: group(**{f.name: values.pop(f.name) for f in group.options()}) for n, group in groups.items()}
        command(**values, **built)

    merged.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    merged.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    return merged


def _parameters(group: type[OptionGroup]) -> list[inspect.Parameter]:
    """Return the options of a group as parameters of a function."""
    hints, found = get_type_hints(group), []
    for f in group.options():
        info = copy(f.metadata["typer"])
        if isinstance(info, OptionInfo):
            info.rich_help_panel = group.panel
        found.append(
            inspect.Parameter(
                f.name,
                inspect.Parameter.KEYWORD_ONLY,
                default=inspect.Parameter.empty if f.default is MISSING else f.default,
                annotation=Annotated[hints[f.name], info],
            )
        )
    return found
