"""Engines side by side on the same pairs: the measurements of ``fastgntk bench``.

=================  ==================================================================
``_baseline``      the decoupled method on one pair of graphs at a time, in dense NumPy
``_worker``        the tasks that run in separate processes
``_measure``       :func:`measure`: one row of the table, and the cases to measure
=================  ==================================================================
"""

from fastgntk.bench._baseline import Baseline
from fastgntk.bench._measure import CASES, Case, Measurement, installed_versions, machine, measure, time_start_up

__all__ = ["CASES", "Baseline", "Case", "Measurement", "installed_versions", "machine", "measure", "time_start_up"]
