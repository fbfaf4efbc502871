"""The theory behind the kernel, as functions that check it; docs/theory.md has the results.

====================  ================================================================================
``_finite_width``     :func:`finite_width_gram`, the network whose limit the kernel is
``_closed_form``      the kernel for L = R = 1: :func:`aggregated` nodes, :func:`closed_form`, :func:`moment`
``_generalization``   :class:`LabelClass`, :func:`label_norm`, :func:`trace_bound`, :func:`generalization_bound`
``_spectrum``         :func:`gamma`; :func:`spectral_interval`, (1±ε) measured
``_sketching``        :func:`sketching_bound`, :func:`sketching_rms`: errors of sketches; :func:`sketch_size`
====================  ================================================================================
"""

from fastgntk.theory._closed_form import ClosedForm, UnitNodes, aggregated, closed_form, moment, moment_weight
from fastgntk.theory._finite_width import finite_width_gram
from fastgntk.theory._generalization import LabelClass, generalization_bound, label_norm, trace_bound
from fastgntk.theory._sketching import SketchingBound, SketchSize, beta, sketch_size, sketching_bound, sketching_rms
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
