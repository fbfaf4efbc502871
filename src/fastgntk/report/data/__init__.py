"""What a report shows, collected from results as the plain values of ``report/_schema``.

========================  ==================================================================
``_collect``              an evaluation
``_training``             a training
``_source``               names of the data, stages of the run and their times
``_baselines``            scores to compare with: majority class, counts, published figures
``_cautions``             what a reader should know before trusting a score
``_measures``             confusion, calibration, coverage
``_graphs``               what is shown for each graph
``_drawings``             graphs in few bytes
``_node_contributions``   contributions of nodes, for as many graphs as time allows
``_maps``                 the kernel as a picture, its spectrum, graphs in the plane
``_speed``                how fast the kernel was, and why
========================  ==================================================================
"""

from fastgntk.report.data._collect import evaluation_facts
from fastgntk.report.data._training import training_facts

__all__ = [
    "evaluation_facts",
    "training_facts",
]
