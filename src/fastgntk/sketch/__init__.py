"""The five sketches, random b × N matrices S with E[SᵀS] = I; their choice for a graph; maps to random features.

====================  ==========================================================================
``_sketch``           :class:`Sketch`: kind, size and seed of a sketch
``_error``            :func:`smallest_rows`: the rows that a given error needs
``_matrices``         :class:`AMS`, :class:`Gaussian`, :class:`SRHT`, :class:`CountSketch`,
                      :class:`SparseEmbedding`: drawn at random, applied from the left or right;
                      :class:`GaussianProjection`, :class:`TensorSketch`: maps for random features
====================  ==========================================================================

To add a sketch, add a class to ``_matrices`` and a row to ``SKETCHES`` there; every test of the folder then runs on it.
"""

from fastgntk.sketch._error import smallest_rows
from fastgntk.sketch._matrices import (
    AMS,
    SKETCHES,
    SRHT,
    CountSketch,
    Gaussian,
    GaussianProjection,
    SketchMatrix,
    SparseEmbedding,
    TensorSketch,
    generator,
)
from fastgntk.sketch._sketch import Sketch

__all__ = ["Sketch", "SketchMatrix", "SKETCHES", "AMS", "Gaussian", "SRHT", "CountSketch", "SparseEmbedding"]
__all__ += ["GaussianProjection", "TensorSketch", "generator", "smallest_rows"]
