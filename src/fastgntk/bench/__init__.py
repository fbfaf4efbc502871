"""Engines side by side on the same pairs: the measurements of ``fastgntk bench``.

=================  ==================================================================
``_baseline``      the decoupled method on one pair of graphs at a time, in dense NumPy
``_worker``        tasks that run in processes of their own
``_measure``       :func:`measure`: one row of the table; its cases
=================  ==================================================================
"""

from fastgntk.bench._baseline import Baseline
from fastgntk.bench._measure import CASES, Case, Row, machine, measure, start_up

__all__ = ["CASES", "Baseline", "Case", "Row", "machine", "measure", "start_up"]
