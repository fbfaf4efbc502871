"""The theory behind the kernel, as functions that check it; docs/theory.md has the results.

====================  ================================================================================
``_finite_width``     :func:`finite_width_gram`, the network whose limit the kernel is
``_nodes``            :func:`aggregate_nodes`: exact and sketched nodes, h̄ and h̃
``_closed_form``      the kernel for L = R = 1: :func:`closed_form`, :func:`moment`
``_spectrum``         :func:`gamma`; :func:`spectral_interval`, (1±ε) measured
``_generalization``   :class:`LabelClass`, :func:`label_norm`, :func:`trace_bound`, :func:`generalization_bound`
``_sketching``        :func:`sketching_bound`, :func:`sketching_rms`: errors of sketches
``_sketch_size``      :func:`required_sketch_sizes` of the paper, :func:`spectral_sketch_size` of ours
``_running_time``     :func:`count_operations` of the three ways to build the matrix
``_checks``           checks of numbers and arrays
====================  ================================================================================
"""

from fastgntk.theory._closed_form import ClosedForm, closed_form, moment, moment_weight
from fastgntk.theory._finite_width import finite_width_gram
from fastgntk.theory._generalization import (
    GeneralizationRate,
    LabelClass,
    generalization_bound,
    generalization_rate,
    label_norm,
    trace_bound,
)
from fastgntk.theory._nodes import AggregatedNodes, Nodes, aggregate_nodes
from fastgntk.theory._running_time import Operations, count_operations
from fastgntk.theory._sketch_size import (
    RequiredSizes,
    SpectralSketchSize,
    required_sketch_sizes,
    spectral_sketch_size,
)
from fastgntk.theory._sketching import SketchingBound, beta, sketching_bound, sketching_rms
from fastgntk.theory._spectrum import SpectralInterval, gamma, largest_gamma, moment_condition, spectral_interval

__all__ = ["finite_width_gram"]
__all__ += ["aggregate_nodes", "AggregatedNodes", "Nodes", "closed_form", "ClosedForm", "moment", "moment_weight"]
__all__ += ["gamma", "largest_gamma", "moment_condition", "spectral_interval", "SpectralInterval"]
__all__ += ["LabelClass", "label_norm", "trace_bound", "generalization_bound"]
__all__ += ["generalization_rate", "GeneralizationRate"]
__all__ += ["beta", "sketching_bound", "SketchingBound", "sketching_rms"]
__all__ += ["required_sketch_sizes", "RequiredSizes", "spectral_sketch_size", "SpectralSketchSize"]
__all__ += ["count_operations", "Operations"]
