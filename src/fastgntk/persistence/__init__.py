"""Model files: a zip of JSON and .npy that can be read without trust; no pickle.

================  ==================================================================
``_models``       :func:`load_model`, :func:`save_model`: classifiers and regressors
``_array_codec``  the kernel with its training graphs, or random features, as plain arrays
``_schema``       tables of the entries and arrays that a file must hold
``_archive``      the zip: written atomically, checked in reading
================  ==================================================================
"""

from fastgntk.persistence._models import load_model, save_model

__all__ = ["load_model", "save_model"]
