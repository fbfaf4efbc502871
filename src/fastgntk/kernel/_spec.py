"""What defines the kernel: one frozen value."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any, Literal, get_args

import numpy as np

from fastgntk.errors import InputError

__all__ = ["GNTK", "Scale"]

Scale = Literal["uniform", "degree", "unit"]


@dataclass(frozen=True)
class GNTK:
    """Say which Graph Neural Tangent Kernel is meant.

    Parameters
    ----------
    blocks : int, 1 or more
        Number L of Aggregate + Combine blocks; information travels this many edges.
    layers : int, 1 or more
        Number R of fully connected ReLU layers in each Combine.
    scale : {"uniform", "degree", "unit"}
        The factor c_u of an aggregated node: 1, 1 / (|N(u)| + 1) (with weights, one over the sum of weights
        plus one), or whatever makes the node a unit vector.
    jump : bool
        Jumping knowledge: read out every level 0..L, not only the last.
    c_phi : float, above 0
        Variance factor of the ReLU layers; 2 keeps the norm of a node through a layer.

    Examples
    --------
    >>> spec = GNTK(blocks=2, jump=False)
    >>> spec.to_json()
    '{"blocks": 2, "layers": 2, "scale": "uniform", "jump": false, "c_phi": 2.0}'
    >>> GNTK.from_json(spec.to_json()) == spec
    True
    """

    blocks: int = 3
    layers: int = 2
    scale: Scale = "uniform"
    jump: bool = True
    c_phi: float = 2.0

    def __post_init__(self) -> None:
        for name in ("blocks", "layers"):
            object.__setattr__(self, name, _positive_int(getattr(self, name), name))
        if self.scale not in get_args(Scale):
            raise InputError(f"scale must be one of {', '.join(get_args(Scale))}, but is {self.scale!r}.")
        if not isinstance(self.jump, bool | np.bool_):
            raise InputError(f"jump must be True or False, but is {self.jump!r}.")
        object.__setattr__(self, "jump", bool(self.jump))
        try:
            c_phi = float(self.c_phi)
        except (TypeError, ValueError):
            c_phi = math.nan
        if not (math.isfinite(c_phi) and c_phi > 0):
            raise InputError(f"c_phi must be a number above 0, but is {self.c_phi!r}.")
        object.__setattr__(self, "c_phi", c_phi)

    def to_dict(self) -> dict[str, Any]:
        """Return the options as plain Python values."""
        return asdict(self)

    def to_json(self) -> str:
        """Return the options as one line of JSON."""
        return json.dumps(self.to_dict())

    @classmethod
    def from_dict(cls, options: Mapping[str, Any]) -> GNTK:
        """Make a spec from a mapping; an unknown name is an error, a missing one takes its default."""
        known = [f.name for f in fields(cls)]
        unknown = sorted(set(options) - set(known))
        if unknown:
            raise InputError(f"unknown kernel option {unknown[0]!r}; the options are {', '.join(known)}.")
        return cls(**options)

    @classmethod
    def from_json(cls, text: str) -> GNTK:
        """Read what :meth:`to_json` wrote."""
        try:
            options = json.loads(text)
        except json.JSONDecodeError as error:
            raise InputError(f"kernel options are not valid JSON: {error}.") from None
        if not isinstance(options, dict):
            raise InputError("kernel options must be a JSON object.")
        return cls.from_dict(options)


def _positive_int(value: Any, name: str) -> int:
    if isinstance(value, bool | np.bool_) or not isinstance(value, int | np.integer) or value < 1:
        raise InputError(f"{name} must be a whole number, 1 or more, but is {value!r}.")
    return int(value)
