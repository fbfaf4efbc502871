"""Errors caused by user input."""

import sys
from collections.abc import Sequence

__all__ = ["InputError", "DownloadError", "user_stacklevel", "format_numbers"]


class InputError(ValueError):
    """Raised for input that the package cannot use; the message is one sentence that explains what to do.

    The command line shows the message and exits with code 2. It is a ``ValueError``, so that code written
    against scikit-learn conventions catches it too.
    """


class DownloadError(InputError):
    """Raised when a data set could not be downloaded; no partial file is left behind."""


def format_numbers(noun: str, numbers: Sequence[int], max_items: int = 5) -> str:
    """Name the first of several numbered things, and count the others.

    >>> format_numbers("row", [3]), format_numbers("row", [3, 7]), format_numbers("row", range(1, 20))
    ('row 3', 'rows 3 and 7', 'rows 1, 2, 3, 4, 5 and 14 more')
    """
    named = [str(n) for n in numbers[:max_items]]
    if len(numbers) == 1:
        return f"{noun} {named[0]}"
    if len(numbers) > max_items:
        return f"{noun}s {', '.join(named)} and {len(numbers) - max_items} more"
    return f"{noun}s {', '.join(named[:-1])} and {named[-1]}"


def user_stacklevel() -> int:
    """Count the frames up to the first outside this package, so that a warning points at the user's own line."""
    frame, level = sys._getframe(1), 1
    while frame.f_back is not None and frame.f_globals.get("__name__", "").startswith("fastgntk."):
        frame, level = frame.f_back, level + 1
    return level
