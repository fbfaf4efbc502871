"""Static HTML of the page: text, numbers, tables, and empty boxes that JavaScript fills with charts.

================  ==================================================================
``_sections``     all sections in order, and the warnings
``_score``        score with baselines, and by kernel options
``_predictions``  confusion matrix, predicted against measured, calibration
``_kernel``       heat map of the kernel matrix, map of all graphs
``_run``          distinct nodes, speed, time by stage, command and options
``_markup``       escaped text, numbers, tables
================  ==================================================================
"""

from fastgntk.report.sections._markup import escape, prose
from fastgntk.report.sections._sections import sections, warnings

__all__ = ["escape", "prose", "sections", "warnings"]
