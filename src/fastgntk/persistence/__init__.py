"""Model files: a zip of JSON and .npy that can be read without trust; no pickle.

================  ==================================================================
``_models``       :func:`load_model`, :func:`save_model`: classifiers and regressors
``_rows``         the kernel and the training graphs, or random features
``_array_codec``  graphs, node features and edge types as plain arrays
``_schema``       tables of the entries and arrays that a file must hold
``_archive``      the zip: written whole or not at all, checked in reading
================  ==================================================================
"""

from fastgntk.persistence._models import load_model, save_model

__all__ = ["load_model", "save_model"]
