"""The theory behind the kernel, as programs to check it by.

==================  ===========================================================
``_finite_width``   :func:`finite_width_gram`, the network whose limit the kernel is
==================  ===========================================================
"""

from fastgntk.theory._finite_width import finite_width_gram

__all__ = ["finite_width_gram"]
