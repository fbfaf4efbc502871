"""Conversion of descriptors and their fitted scales to plain arrays and back."""

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from fastgntk.errors import InputError
from fastgntk.graphs import DescriptorScaling, GraphBatch, check_block
from fastgntk.kernels import DescriptorKernel, Leaf
from fastgntk.persistence._matrix_codec import pack_matrix, unpack_matrix
from fastgntk.persistence._schema import Arrays, ArraySpec, check_array, check_arrays

__all__ = ["DESCRIPTORS_PREFIX", "pack_descriptors", "pack_scalings", "unpack_descriptors", "unpack_scalings"]

DESCRIPTORS_PREFIX = "graphs.descriptors."


def pack_descriptors(descriptors: Mapping[str, Any]) -> Arrays:
    """Return the blocks by index, and their names."""
    arrays = {f"{DESCRIPTORS_PREFIX}names": np.array(list(descriptors), dtype=np.str_)} if descriptors else {}
    for i, block in enumerate(descriptors.values()):
        arrays |= pack_matrix(f"{DESCRIPTORS_PREFIX}{i}", block)
    return arrays


def unpack_descriptors(arrays: Arrays, graphs: int) -> dict[str, Any]:
    """Return the blocks packed by :func:`pack_descriptors`; inconsistent arrays raise an :class:`InputError`."""
    present = [name for name in arrays if name.startswith(DESCRIPTORS_PREFIX)]
    if not present:
        return {}
    names = check_array(arrays, f"{DESCRIPTORS_PREFIX}names", ArraySpec("any", "str")).tolist()
    packed: Arrays = {}
    blocks = {}
    for i, name in enumerate(names):
        # A row of NaN marks a graph without the block.
        block = unpack_matrix(arrays, f"{DESCRIPTORS_PREFIX}{i}", graphs, finite=False)
        if block is None or name in blocks:
            raise InputError(f"the descriptors {name!r} of its graphs are missing or occur twice.")
        blocks[name] = check_block(name, block, graphs)
        packed |= pack_matrix(f"{DESCRIPTORS_PREFIX}{i}", block)
    if len(present) != len(packed) + 1:
        raise InputError("the names of the descriptors of its graphs do not match their arrays.")
    return blocks


def pack_scalings(scalings: Mapping[Leaf, DescriptorScaling]) -> Arrays:
    """Return the shift and the factor of each column, for each leaf on descriptors in turn."""
    arrays: Arrays = {}
    for i, scaling in enumerate(scalings.values()):
        arrays |= {f"scaling.{i}.shift": scaling.shift, f"scaling.{i}.factor": scaling.factor}
    return arrays


def unpack_scalings(leaves: Iterable[Leaf], arrays: Arrays, batch: GraphBatch) -> dict[Leaf, DescriptorScaling]:
    """Return the scales packed by :func:`pack_scalings`, for blocks that the graphs have."""
    scalings: dict[Leaf, DescriptorScaling] = {}
    for i, leaf in enumerate(leaf for leaf in leaves if isinstance(leaf, DescriptorKernel)):
        if leaf.on not in batch.descriptors:
            raise InputError(f"its graphs lack the descriptors {leaf.on!r}.")
        specs = {f"scaling.{i}.shift": ArraySpec("d"), f"scaling.{i}.factor": ArraySpec("d", minimum=0.0)}
        shift, factor = check_arrays(arrays, specs, {"d": batch.descriptors[leaf.on].shape[1]}).values()
        scalings[leaf] = DescriptorScaling(leaf.on, shift, factor, getattr(leaf, "scaling", "none") == "log")
    return scalings
