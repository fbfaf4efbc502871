"""Helpers that know neither graphs nor kernels.

============  =========================================================
``files``     write files whole or not at all
``text``      sizes and durations as text
``threads``   run tasks on threads, with progress
``memory``    workers and memory of this machine
``checks``    check arguments
============  =========================================================
"""
