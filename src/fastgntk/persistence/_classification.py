"""Classifiers in files: classes and the sigmoids of their probabilities."""

from typing import Any

from fastgntk.errors import InputError
from fastgntk.models import ClassificationModel, Sigmoids
from fastgntk.persistence._schema import Arrays, Part, check_parts

__all__ = ["pack_classification", "unpack_classification"]


def pack_classification(model: ClassificationModel) -> tuple[dict[str, Any], Arrays]:
    """Return the document and the arrays of a classifier, beside those of every model."""
    arrays: Arrays = {"classes": model.classes_}
    if model.sigmoids_ is not None:
        arrays |= {"sigmoids.slope": model.sigmoids_.slope, "sigmoids.shift": model.sigmoids_.shift}
    return {}, arrays


def unpack_classification(model: Any, document: dict[str, Any], arrays: Arrays) -> None:  # noqa: ARG001
    """Set what :func:`pack_classification` packed; anything wrong with it is an error."""
    k = len(model.expansion_.offsets)
    classes = arrays.get("classes")
    if classes is None or classes.ndim != 1 or len(classes) != (2 if k == 1 else k) or k == 2:
        raise InputError("its classes do not fit its decision functions.")
    model.classes_ = classes
    model.sigmoids_ = None
    if "sigmoids.slope" in arrays:
        model.sigmoids_ = Sigmoids(
            *check_parts(arrays, {f"sigmoids.{part}": Part("k") for part in ("slope", "shift")}, {"k": k})
        )
