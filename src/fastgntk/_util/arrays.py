"""Short names of array types, for signatures."""

import numpy as np
from numpy.typing import NDArray

__all__ = ["Array", "Bools", "Floats", "Int32s", "Ints"]

Array = NDArray[np.float64]
Floats = NDArray[np.floating]
Ints = NDArray[np.int64]
Int32s = NDArray[np.int32]
Bools = NDArray[np.bool_]
