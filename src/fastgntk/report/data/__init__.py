"""Collect the report data, as the plain values of ``report/_schema``, from an evaluation or a fitted model.

==================  ===================================================================
``_evaluation``     :func:`evaluation_data`
``_training``       :func:`training_data`: a fitted model with its kernel matrix
``_collector``      report data under construction; stages and their times
``_scores``         baselines, calibration, coverage, score by options
``_graphs``         the graphs and the data of each, with node contributions
``_drawings``       compact drawings of graphs
``_kernel_matrix``  heat map, embeddings of the graphs, distinct nodes, speed
==================  ===================================================================

Warnings, which limit the trust in a score, are next to what they are about: functions named ``..._warnings``.
"""

from fastgntk.report.data._evaluation import evaluation_data
from fastgntk.report.data._training import training_data

__all__ = ["evaluation_data", "training_data"]
