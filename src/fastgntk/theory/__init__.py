"""The theory behind the kernel, as programs to check it by. What was found is in docs/theory.md.

====================  ================================================================================
``_finite_width``     :func:`finite_width_gram`, the network whose limit the kernel is
``_nodes``            :func:`aggregated`, nodes as unit vectors, exact or sketched: where the rest starts
``_closed_form``      :func:`closed_form`, the kernel for L = R = 1 as K₁ + K₂
``_moments``          :func:`moment`, :func:`moment_weight`, the same as a power series
``_labels``           :class:`LabelClass`, labels that the kernel learns; :func:`label_norm` and its bound
``_generalization``   :func:`trace_bound`, :func:`generalization_bound`
``_spectrum``         :func:`gamma`; :func:`spectral_interval`, (1±ε) measured
``_sketching``        :func:`sketching_bound`, the lemma of three terms; :func:`sketching_rms`, the exact mean square
``_sketch_size``      :func:`sketch_size`, what the theorem asks of a sketch
====================  ================================================================================
"""

from fastgntk.theory._closed_form import ClosedForm, closed_form
from fastgntk.theory._finite_width import finite_width_gram
from fastgntk.theory._generalization import generalization_bound, trace_bound
from fastgntk.theory._labels import LabelClass, label_norm
from fastgntk.theory._moments import moment, moment_weight
from fastgntk.theory._nodes import UnitNodes, aggregated
from fastgntk.theory._sketch_size import SketchSize, sketch_size
from fastgntk.theory._sketching import SketchingBound, beta, sketching_bound, sketching_rms
from fastgntk.theory._spectrum import SpectralInterval, gamma, spectral_interval

__all__ = [
    "finite_width_gram",
    "aggregated",
    "UnitNodes",
    "closed_form",
    "ClosedForm",
    "moment",
    "moment_weight",
    "LabelClass",
    "label_norm",
    "trace_bound",
    "generalization_bound",
    "gamma",
    "spectral_interval",
    "SpectralInterval",
    "beta",
    "sketching_bound",
    "SketchingBound",
    "sketching_rms",
    "sketch_size",
    "SketchSize",
]
