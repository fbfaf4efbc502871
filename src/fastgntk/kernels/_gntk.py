"""What defines the kernel: one frozen value."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any, Literal, get_args

import numpy as np

from fastgntk.errors import InputError

__all__ = ["GNTK", "Edges", "Scale"]

Scale = Literal["uniform", "degree", "unit"]
Edges = Literal["plain", "typed"]


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
    jump : bool, or L + 1 numbers
        Jumping knowledge: read out every level 0..L, not only the last. Numbers are the weights of the levels, 0 or
        more and not all 0: True is all ones, False is ``(0, …, 0, 1)``.
    c_phi : float, above 0
        Variance factor of the ReLU layers; 2 keeps the norm of a node through a layer.
    edges : {"plain", "typed"}
        ``"typed"`` gives every edge label, and the node itself, a weight matrix of its own in the first layer of a
        block: Σ ← Σ_r B_r Σ B'_rᵀ. ``"plain"`` does not look at edge labels.

    Examples
    --------
    >>> spec = GNTK(blocks=2, jump=False)
    >>> spec.to_json()
    '{"blocks": 2, "layers": 2, "scale": "uniform", "jump": false, "c_phi": 2.0, "edges": "plain"}'
    >>> GNTK.from_json(spec.to_json()) == spec
    True
    """

    blocks: int = 3
    layers: int = 2
    scale: Scale = "uniform"
    jump: bool | tuple[float, ...] = True
    c_phi: float = 2.0
    edges: Edges = "plain"

    def __post_init__(self) -> None:
        for name in ("blocks", "layers"):
            object.__setattr__(self, name, _positive_int(getattr(self, name), name))
        if self.scale not in get_args(Scale):
            raise InputError(f"scale must be one of {', '.join(get_args(Scale))}, but is {self.scale!r}.")
        if self.edges not in get_args(Edges):
            raise InputError(f"edges must be one of {', '.join(get_args(Edges))}, but is {self.edges!r}.")
        object.__setattr__(self, "jump", _jump(self.jump, self.blocks))
        try:
            c_phi = float(self.c_phi)
        except (TypeError, ValueError, OverflowError):
            c_phi = math.nan
        if not (math.isfinite(c_phi) and c_phi > 0):
            raise InputError(f"c_phi must be a number above 0, but is {self.c_phi!r}.")
        object.__setattr__(self, "c_phi", c_phi)

    @property
    def level_weights(self) -> tuple[float, ...]:
        """How much each level 0..L counts in the readout.

        >>> GNTK(blocks=2, jump=False).level_weights, GNTK(blocks=1, jump=(0, 0.5)).level_weights
        ((0.0, 0.0, 1.0), (0.0, 0.5))
        """
        if isinstance(self.jump, tuple):
            return self.jump
        return (float(self.jump),) * self.blocks + (1.0,)

    @property
    def typed(self) -> bool:
        """Whether edge labels count."""
        return self.edges == "typed"

    def to_dict(self) -> dict[str, Any]:
        """Return the options as plain Python values."""
        out = asdict(self)
        return out | {"jump": list(self.jump)} if isinstance(self.jump, tuple) else out

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


def _jump(value: Any, blocks: int) -> bool | tuple[float, ...]:
    if isinstance(value, bool | np.bool_):
        return bool(value)
    try:
        weights = () if isinstance(value, str) else tuple(float(w) for w in value)
    except (TypeError, ValueError, OverflowError):
        weights = ()
    if not weights:
        raise InputError(f"jump must be True, False or a weight for each level 0..{blocks}, but is {value!r}.")
    if len(weights) != blocks + 1:
        raise InputError(
            f"jump has {len(weights)} weights, but blocks={blocks} makes {blocks + 1} levels: features and each block."
        )
    if not all(math.isfinite(w) and w >= 0 for w in weights) or not any(weights):
        raise InputError(f"the weights of jump must be 0 or more and not all 0, but are {weights}.")
    return weights


def _positive_int(value: Any, name: str) -> int:
    if isinstance(value, bool | np.bool_) or not isinstance(value, int | np.integer) or value < 1:
        raise InputError(f"{name} must be a whole number, 1 or more, but is {value!r}.")
    return int(value)
