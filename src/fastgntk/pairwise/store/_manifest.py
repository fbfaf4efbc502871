"""What a stored matrix is of: kernel, graphs, how they were cut, and by which version."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
from scipy import sparse

from fastgntk._version import __version__
from fastgntk.errors import InputError
from fastgntk.graphs import GraphBatch
from fastgntk.kernels import GNTK

__all__ = ["FORMAT", "Manifest", "fingerprint"]

FORMAT = 1
"""Of the layout on disk; a store of another one is refused."""

_SHOWN = 12  # digits of a fingerprint that messages show


@dataclass(frozen=True)
class Manifest:
    """Everything that decides about the values, and about which tile holds which of them."""

    spec: dict[str, Any]
    features: str
    engine: str
    sketching: dict[str, Any] | None
    data: str
    """The fingerprint of the graphs with their features."""
    graphs: int
    side: int
    """How many graphs a tile has on each side."""
    id: str
    """Drawn at random when the store is made, so that one made later in the same place has another."""
    version: str = __version__
    format: int = FORMAT

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain values."""
        return asdict(self)

    @classmethod
    def from_dict(cls, known: Any, path: Any) -> Manifest:
        """Read what :meth:`to_dict` gave; ``path`` names the store in messages."""
        if not isinstance(known, Mapping) or "format" not in known:
            raise InputError(f"{path} is no matrix that fastgntk stored, or damaged; give another path.")
        if known["format"] != FORMAT:
            raise InputError(
                f"{path} has the format {known['format']} of fastgntk {known.get('version')}, but this is fastgntk "
                f"{__version__} with format {FORMAT}; use that version, or delete the store and build it again."
            )
        try:
            return cls(**known)
        except TypeError:
            raise InputError(
                f"{path} has a manifest with other entries than there should be; build it again."
            ) from None

    def kernel(self, wanted: GNTK) -> GNTK:
        """Return the kernel as the store has it if ``wanted`` is the same in other words, or else ``wanted``.

        Weights of one on all levels are ``jump=True``; sums with and without weights may round otherwise, so that tiles
        of one store are computed by the same words.
        """
        mine = GNTK.from_dict(self.spec)
        return mine if replace(mine, jump=mine.level_weights) == replace(wanted, jump=wanted.level_weights) else wanted

    def check(self, wanted: Manifest, path: Any, advice: str) -> None:
        """Refuse another kernel, other graphs or another way to compute them; ``advice`` says what to do then."""
        for what, mine, theirs in (
            ("data", self.data[:_SHOWN], wanted.data[:_SHOWN]),
            ("kernel", GNTK.from_dict(self.spec), self.kernel(GNTK.from_dict(wanted.spec))),
            ("features", self.features, wanted.features),
            ("engine", self.engine, wanted.engine),
            ("sketch", self.sketching, wanted.sketching),
        ):
            if mine != theirs:
                raise InputError(
                    f"{path} holds a matrix with {what} {mine}, but {what} {theirs} was asked for; {advice}."
                )


def fingerprint(batch: GraphBatch, spec: GNTK) -> str:
    """Return a checksum of all that the kernel sees of graphs with features."""
    digest = hashlib.sha256()
    for array in (batch.offsets, batch.indptr, batch.indices, batch.weights):
        _add(digest, array)
    features = batch.features
    parts = (features.indptr, features.indices, features.data) if sparse.issparse(features) else (features,)
    for array in parts:
        _add(digest, array)
    _add(digest, batch.edge_labels if spec.typed else None)
    return digest.hexdigest()


def _add(digest: Any, array: Any) -> None:
    """Add an array with its shape; integers count by value, whatever their width."""
    if array is None:
        digest.update(b"none")
        return
    plain = np.ascontiguousarray(array, dtype=np.float64 if array.dtype.kind == "f" else np.int64)
    digest.update(f"{plain.dtype.str}{plain.shape}".encode())
    digest.update(plain.tobytes())
