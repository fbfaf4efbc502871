"""Helpers that use neither graphs nor kernels.

============  =========================================================
``files``     write files atomically
``text``      sizes and durations as text, and sizes from text
``threads``   run tasks on threads, with progress
``checks``    check arguments
``values``    frozen dataclasses with parameters by name
``arrays``    short names of array types
============  =========================================================
"""
