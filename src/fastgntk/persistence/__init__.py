"""Model files: a zip of JSON and .npy without pickle, which is safe to read from untrusted sources.

=====================  ==================================================================
``_models``            :func:`load_model`, :func:`save_model`: classifiers and regressors
``_basis_codec``       the basis of a model, training graphs or random features, as plain arrays
``_matrix_codec``      matrices, dense or sparse, as plain arrays
``_descriptor_codec``  descriptors and their scales as plain arrays
``_schema``            tables of the required entries and arrays
``_archive``           the zip file: written atomically, checked on reading
=====================  ==================================================================
"""

from fastgntk.persistence._models import load_model, save_model

__all__ = ["load_model", "save_model"]
