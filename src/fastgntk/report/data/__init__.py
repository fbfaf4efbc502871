"""Collect the report data, as the plain values of ``report/_schema``, from an evaluation or a fitted model.

========================  ==================================================================
``_evaluation``           :func:`evaluation_data`
``_training``             :func:`training_data`
``_classification``       score, confusion matrix, calibration: for evaluation and training
``_collector``            report data under construction; stages and their times
``_fitted_model``         a fitted model with its kernel matrix
``_baselines``            scores to compare with: majority class, counts, published figures
``_metrics``              confusion matrix, calibration, coverage, score by options
``_warnings``             what limits the trust in a score
``_graphs``               the graphs and the data of each
``_drawings``             compact drawings of graphs
``_node_contributions``   contributions of nodes, within a time limit
``_maps``                 spectrum of the kernel matrix, embeddings of the graphs
``_heat_map``             heat map of the kernel matrix
``_speed``                distinct nodes, and time compared with a baseline
========================  ==================================================================
"""

from fastgntk.report.data._evaluation import evaluation_data
from fastgntk.report.data._training import training_data

__all__ = ["evaluation_data", "training_data"]
