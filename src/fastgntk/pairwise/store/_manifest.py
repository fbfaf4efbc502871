"""Metadata that identifies a stored matrix: kernel, graphs, tiles and version; compatibility checks."""

import hashlib
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any, Self

import numpy as np
from scipy import sparse

from fastgntk._version import __version__
from fastgntk.engines import sketch_rows
from fastgntk.errors import InputError
from fastgntk.graphs import content_keys
from fastgntk.kernels import DescriptorKernel, Kernel, Network
from fastgntk.pairwise._prepared import PreparedGraphs

__all__ = ["FORMAT", "Manifest", "fingerprint"]

FORMAT = 3
"""Version of the layout on disk; stores of other versions are refused."""

_SHOWN = 12  # digits of a fingerprint that messages show


@dataclass(frozen=True)
class Manifest:
    """Everything that determines the values and their distribution over tiles."""

    kernel: dict[str, Any]
    features: list[str]
    """The kind of node features that each kind in the kernel resolved to."""
    engines: list[str]
    """The engine of each leaf of the kernel."""
    data: str
    """The fingerprint of the graphs with their features."""
    graphs: int
    tile_size: int
    """Number of graphs on each side of a tile."""
    id: str
    """Drawn at random when the store is created, so that a later store in the same folder has another one."""
    version: str = __version__
    format: int = FORMAT

    @classmethod
    def from_prepared(cls, prepared: PreparedGraphs, tile_size: int, id: str) -> Self:  # the name on disk
        """Describe the matrix of prepared graphs."""
        kinds = [step.kind_ for step in prepared.features.values()]
        data = fingerprint(prepared)
        return cls(prepared.kernel.to_dict(), kinds, prepared.engines, data, len(prepared), tile_size, id)

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain values."""
        return asdict(self)

    @classmethod
    def from_dict(cls, entries: Any, path: Any) -> Self:
        """Read the output of :meth:`to_dict`; ``path`` names the store in messages."""
        if not isinstance(entries, Mapping) or "format" not in entries:
            raise InputError(f"{path} is not a matrix stored by fastgntk, or is damaged; give another path.")
        if entries["format"] != FORMAT:
            raise InputError(
                f"{path} has the format {entries['format']} of fastgntk {entries.get('version')}, but this is fastgntk "
                f"{__version__} with format {FORMAT}; use that version, or delete the store and build it again."
            )
        try:
            return cls(**entries)
        except TypeError:
            raise InputError(f"{path} has a manifest with missing or unknown entries; rebuild the store.") from None

    def as_stored(self, wanted: Kernel) -> Kernel:
        """Return the kernel in its stored form if ``wanted`` is equivalent to it, or else ``wanted``.

        Weights of one on all levels are equivalent to ``jump=True``. Sums with and without weights may round
        differently, so all tiles of a store are computed from the same form.
        """
        stored = Kernel.from_dict(self.kernel)
        return stored if stored.map_leaves(_explicit) == wanted.map_leaves(_explicit) else wanted

    def engines_for(self, kernel: Kernel, engine: str) -> list[str] | None:
        """Return the engines of the store for the leaves of a kernel, if ``engine`` leaves the choice open."""
        return self.engines if engine == "auto" and len(self.engines) == len(kernel.leaves()) else None

    def check(self, wanted: Self, path: Any, advice: str) -> None:
        """Raise if kernel, graphs or engine differ; ``advice`` ends the message."""
        for what, stored, other in (
            ("kernel", Kernel.from_dict(self.kernel), self.as_stored(Kernel.from_dict(wanted.kernel))),
            ("features", self.features, wanted.features),
            ("data", self.data[:_SHOWN], wanted.data[:_SHOWN]),
            ("engine", self.engines, wanted.engines),
        ):
            if what == "data" and stored != other:
                raise InputError(
                    f"{path} holds the matrix of other graphs, or of the same graphs in another order (data {stored}, "
                    f"not {other}); {advice}."
                )
            if stored != other:
                raise InputError(
                    f"{path} holds a matrix with {what} {_text(stored)}, not {what} {_text(other)}; {advice}."
                )


def fingerprint(prepared: PreparedGraphs) -> str:
    """Return a checksum of all parts of graphs and features that the kernel uses."""
    digest = hashlib.sha256()
    batch, by_leaf = prepared.batch, list(prepared.graphs_by_leaf.values())
    for array in (batch.offsets, batch.indptr, batch.indices, batch.weights):
        _add(digest, array)
    matrices = {graphs.leaf.features: graphs.batch.features for graphs in by_leaf if graphs.leaf.features}
    leaves = ((graphs.leaf, graphs.batch) for graphs in by_leaf)
    scaled = [batch.descriptors[leaf.on] for leaf, batch in leaves if isinstance(leaf, DescriptorKernel)]
    for matrix in [*matrices.values(), *scaled]:
        parts = (matrix.indptr, matrix.indices, matrix.data) if sparse.issparse(matrix) else (matrix,)
        for array in parts:
            _add(digest, array)
    typed = [graphs for graphs in by_leaf if graphs.leaf.uses_edge_labels]
    _add(digest, typed[0].batch.edge_labels if typed else None)
    if any(graphs.leaf.uses_node_scale for graphs in by_leaf):
        _add(digest, batch.node_scale)
    for graphs in by_leaf:
        if isinstance(graphs.leaf, Network) and graphs.leaf.sketch is not None:  # drawn from all that a graph holds
            _add(digest, content_keys(batch))
            _add(digest, sketch_rows(graphs.batch, graphs.leaf))
    return digest.hexdigest()


def _explicit(leaf: Kernel) -> Kernel:
    return replace(leaf, jump=leaf.level_weights) if isinstance(leaf, Network) else leaf


def _text(value: Any) -> str:
    return " and ".join(dict.fromkeys(value)) if isinstance(value, list) else str(value)


def _add(digest: Any, array: Any) -> None:
    """Add an array with its shape; the width of integers has no influence."""
    if array is None:
        digest.update(b"none")
        return
    plain = np.ascontiguousarray(array, dtype=np.float64 if array.dtype.kind == "f" else np.int64)
    digest.update(f"{plain.dtype.str}{plain.shape}".encode())
    digest.update(plain.tobytes())
