"""Errors that a user can cause, and so can mend."""

from __future__ import annotations

import sys

__all__ = ["InputError", "DownloadError", "levels_to_the_caller"]


class InputError(ValueError):
    """Raised for input that the package cannot use; the message is one sentence that says what to do.

    The command line shows the message and exits with code 2. It is a ``ValueError``, so that code written
    against scikit-learn conventions catches it too.
    """


class DownloadError(InputError):
    """Raised when a data set could not be fetched; nothing half-written is left behind."""


def levels_to_the_caller() -> int:
    """Count the frames up to the first outside this package, so that a warning points at the user's own line."""
    frame, level = sys._getframe(1), 1
    while frame.f_back is not None and frame.f_globals.get("__name__", "").startswith("fastgntk."):
        frame, level = frame.f_back, level + 1
    return level
