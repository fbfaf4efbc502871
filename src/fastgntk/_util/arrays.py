"""Short names of array types, for signatures."""

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

__all__ = ["Array", "Bools", "Floats", "Int32s", "Ints", "Matrix"]

Array = NDArray[np.float64]
Floats = NDArray[np.floating]
Ints = NDArray[np.int64]
Int32s = NDArray[np.int32]
Bools = NDArray[np.bool_]
Matrix: TypeAlias = Any
"""A dense ``Array`` or a ``scipy.sparse.csr_array``; SciPy has no type annotations that could express it."""
