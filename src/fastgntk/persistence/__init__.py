"""Model files: a zip of JSON and .npy that can be read without trust; no pickle.

==================  ==================================================================
``_models``         :func:`load_model`, and what ``save`` writes
``_rows``           the kernel and the training graphs, or random features
``_regression``     what regressors have besides
``_classification`` what classifiers have besides
``_schema``         what a file must hold, as tables
``_archive``        the zip: written whole or not at all, checked in reading
``_array_codec``    graphs and node features as plain arrays
==================  ==================================================================
"""

from fastgntk.persistence._models import load_model, save_model

__all__ = [
    "load_model",
    "save_model",
]
