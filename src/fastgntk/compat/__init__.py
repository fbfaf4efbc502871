"""Kernels with the interfaces of other libraries.

================  ==================================================================
``sklearn_gp``    a kernel for the Gaussian processes of scikit-learn
``grakel``        the methods of a GraKeL kernel
================  ==================================================================
"""

from importlib import import_module
from typing import Any

__all__ = ["grakel", "sklearn_gp"]


def __getattr__(name: str) -> Any:
    if name in __all__:
        return import_module(f"fastgntk.compat.{name}")
    raise AttributeError(f"module 'fastgntk.compat' has no attribute {name!r}")
