"""Numbers out of the text files of the TU format, quickly, and with the line at fault when there is one."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fastgntk.errors import InputError

__all__ = ["parse_table"]


def parse_table(text: bytes, dtype: type, file: str, columns: int | None = None) -> NDArray[Any]:
    """Read comma-separated numbers, one row a line, into an array of shape (lines, columns).

    Spaces and Windows line ends are accepted, blank lines at the end are ignored. One call of NumPy reads the
    whole file; only when its result does not add up are the lines gone through one by one, to name the first
    that is wrong.

    Raises
    ------
    InputError
        With file and line number: something is no number, or a line has another length than the first.
    """
    text = text.removeprefix(b"\xef\xbb\xbf").rstrip()  # some editors begin a file with this mark
    if not text:
        return np.zeros((0, columns or 1), dtype=dtype)
    compact = text.translate(None, b" \t\r")
    lines = compact.count(b"\n") + 1
    first = compact[: compact.find(b"\n")] if lines > 1 else compact
    width = first.count(b",") + 1 if columns is None else columns
    if _is_regular(compact, lines, width):
        with warnings.catch_warnings():
            warnings.simplefilter("error", DeprecationWarning)  # how NumPy says that it met something else
            numbers: NDArray[Any]
            try:
                numbers = np.fromstring(text.replace(b",", b" "), dtype=dtype, sep=" ")
            except (DeprecationWarning, ValueError):
                numbers = np.zeros(0, dtype=dtype)
        if numbers.size == lines * width:
            return numbers.reshape(lines, width)
    raise _first_bad_line(text, dtype, file, width)


def _is_regular(compact: bytes, lines: int, width: int) -> bool:
    """Tell whether every line has width − 1 commas and no field is empty.

    Then as many numbers as fields means one number in each field.
    """
    if compact.count(b",") != lines * (width - 1):
        return False
    if (
        any(pair in compact for pair in (b",\n", b"\n,", b",,", b"\n\n"))
        or compact[:1] in b",\n"
        or compact[-1:] == b","
    ):
        return False
    if width == 1:
        return True
    characters = np.frombuffer(compact, dtype=np.uint8)
    is_comma = characters[(characters == ord(",")) | (characters == ord("\n"))] == ord(",")
    pattern = np.append(is_comma, False).reshape(lines, width)  # False stands for the end of a line
    return bool(pattern[:, :-1].all() and not pattern[:, -1].any())


def _first_bad_line(text: bytes, dtype: type, file: str, width: int) -> InputError:
    kind = "whole numbers" if np.issubdtype(dtype, np.integer) else "numbers"
    for number, raw in enumerate(text.split(b"\n"), start=1):
        line = raw.decode("ascii", errors="replace").strip()
        fields = [field.strip() for field in line.split(",")]
        try:
            good = [int(f) if kind == "whole numbers" else float(f) for f in fields]
        except ValueError:
            good = []
        if len(good) != width:
            shown = line if len(line) <= 40 else line[:37] + "..."
            wanted = f"{width} {kind} separated by commas" if width > 1 else f"a {kind.removesuffix('s')}"
            return InputError(f"{file}, line {number}: expected {wanted}, found {shown!r}.")
    return InputError(f"{file} cannot be read as {kind}, {width} a line.")
