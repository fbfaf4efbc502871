"""Errors that a user can cause, and so can mend."""

from __future__ import annotations

__all__ = ["InputError", "DownloadError"]


class InputError(ValueError):
    """Raised for input that the package cannot use; the message is one sentence that says what to do.

    The command line shows the message and exits with code 2. It is a ``ValueError``, so that code written
    against scikit-learn conventions catches it too.
    """


class DownloadError(InputError):
    """Raised when a data set could not be fetched; nothing half-written is left behind."""
