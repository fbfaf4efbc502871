"""The five sketches: random b × N matrices S with E[SᵀS] = I; how they are chosen for a graph; maps to random features.

====================  ==========================================================================
``_sketch``           :class:`Sketch`: which sketch, how large, from which seed
``_matrices``         :class:`AMS`, :class:`Gaussian`, :class:`SRHT`, :class:`CountSketch`,
                      :class:`SparseEmbedding`: draw, apply from the left and from the right;
                      :class:`GaussianProjection`, :class:`TensorSketch`: maps for random features
====================  ==========================================================================

To add a sketch: a class in ``_matrices`` and a row in ``SKETCHES`` there; every test of the folder then runs on it.
"""

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
__all__ += ["GaussianProjection", "TensorSketch", "generator"]
