"""Engines side by side on the same pairs: what ``fastgntk bench`` measures.

=================  ==================================================================
``_cases``         the sets and depths of the table
``_baseline``      the decoupled method on one pair of graphs at a time, in dense NumPy
``_worker``        what runs in a process of its own, so that its memory can be seen from outside
``_measure``       :func:`measure`, one row of the table
=================  ==================================================================
"""

from fastgntk.bench._baseline import Baseline
from fastgntk.bench._cases import CASES, Case
from fastgntk.bench._measure import Row, machine, measure, start_up

__all__ = ["CASES", "Baseline", "Case", "Row", "machine", "measure", "start_up"]
