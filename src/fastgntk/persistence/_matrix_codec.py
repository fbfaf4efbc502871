"""Conversion of matrices, dense or sparse, to plain arrays and back."""

from typing import Any

import numpy as np
from scipy import sparse

from fastgntk.errors import InputError
from fastgntk.persistence._schema import Arrays, ArraySpec, check_array, check_arrays

__all__ = ["CSR_PARTS", "MAX_COLUMNS", "check_pointers", "pack_matrix", "unpack_matrix"]

CSR_PARTS = ("data", "indices", "indptr", "shape")
MAX_COLUMNS = 2**31 - 1  # compiled loops count columns with 32 bits


def pack_matrix(name: str, matrix: Any) -> Arrays:
    """Return a matrix as one array, or a CSR matrix as four: ``name.data``, ``name.indices``, ….

    >>> sorted(pack_matrix("x", sparse.csr_array([[0.0, 2.0]])))
    ['x.data', 'x.indices', 'x.indptr', 'x.shape']
    """
    if not sparse.issparse(matrix):
        return {} if matrix is None else {name: matrix}
    parts = (matrix.data, matrix.indices, matrix.indptr, np.array(matrix.shape, dtype=np.int64))
    return {f"{name}.{part}": array for part, array in zip(CSR_PARTS, parts, strict=True)}


def unpack_matrix(arrays: Arrays, name: str, rows: int, *, finite: bool = True) -> Any:
    """Return the matrix packed by :func:`pack_matrix`, dense or sparse; None if there is none."""
    is_sparse = any(f"{name}.{part}" in arrays for part in CSR_PARTS)
    if name in arrays:
        if is_sparse:
            raise InputError(f"the array {name} is given both dense and sparse.")
        dense = check_array(arrays, name, ArraySpec("rows any", finite=finite), rows=rows)
        if dense.shape[1] > MAX_COLUMNS:
            raise InputError(f"the array {name} must have at most {MAX_COLUMNS} columns.")
        return dense
    if not is_sparse:
        return None
    height, width = check_array(arrays, f"{name}.shape", ArraySpec("two", "int64"), two=2)
    if height != rows or not 0 <= width <= MAX_COLUMNS:
        raise InputError(f"the array {name}.shape must be ({rows}, width).")
    pointer_spec = ArraySpec("rows+1", "int32 or int64")  # SciPy uses both
    pointers = check_pointers(arrays, f"{name}.indptr", pointer_spec, **{"rows+1": rows + 1})
    stored = {f"{name}.indices": ArraySpec("n", str(pointers.dtype)), f"{name}.data": ArraySpec("n", finite=finite)}
    columns, data = check_arrays(arrays, stored, {"n": int(pointers[-1])}).values()
    if np.any((columns < 0) | (columns >= width)):
        raise InputError(f"the array {name}.indices must lie in 0..{width - 1}.")
    return sparse.csr_array((data, columns, pointers), shape=(int(height), int(width)))


def check_pointers(arrays: Arrays, name: str, spec: ArraySpec, **sizes: int) -> Any:
    pointers = check_array(arrays, name, spec, **sizes)
    # Compared rather than subtracted, because differences of hostile numbers can overflow.
    if not len(pointers) or pointers[0] != 0 or np.any(pointers[1:] < pointers[:-1]):
        raise InputError(f"the array {name} must start at 0 and be non-decreasing.")
    return pointers
