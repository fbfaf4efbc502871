"""The five sketches: random b × N matrices S with E[SᵀS] = I; how they are chosen for a graph; maps to random features.

====================  ==========================================================================
``_matrices``         :class:`AMS`, :class:`Gaussian`, :class:`SRHT`, :class:`CountSketch`,
                      :class:`SparseEmbedding`: draw, apply from the left and from the right
``_hadamard``         the fast Walsh–Hadamard transform
``_sketch``           :class:`Sketch`: which sketch, how large, from which seed
``_projection``       :class:`GaussianProjection`: a structured Gaussian matrix
``_tensor``           :class:`TensorSketch`: products of two inner products
``_generator``        :func:`generator`: random numbers that come back
====================  ==========================================================================

To add a sketch: a class in ``_matrices`` and a row in ``SKETCHES`` there; every test of the folder then runs on it.
"""

from fastgntk.sketch._generator import generator
from fastgntk.sketch._matrices import AMS, SKETCHES, SRHT, CountSketch, Gaussian, SketchMatrix, SparseEmbedding
from fastgntk.sketch._projection import GaussianProjection
from fastgntk.sketch._sketch import Sketch
from fastgntk.sketch._tensor import TensorSketch

__all__ = [
    "Sketch",
    "SketchMatrix",
    "SKETCHES",
    "AMS",
    "Gaussian",
    "SRHT",
    "CountSketch",
    "SparseEmbedding",
    "GaussianProjection",
    "TensorSketch",
    "generator",
]
