"""Lists of values in one option, such as 1-3,8."""

import re

from fastgntk.errors import InputError

__all__ = ["parse_flags", "parse_floats", "parse_ints", "parse_words"]


def parse_words(text: str, name: str) -> tuple[str, ...]:
    """Read a list of words.

    >>> parse_words("uniform, degree", "--scale")
    ('uniform', 'degree')
    """
    words = [part.strip() for part in text.split(",")]
    if not all(words):
        raise InputError(f"{name} takes values separated by commas, but is {text!r}.")
    return tuple(dict.fromkeys(words))


def parse_ints(text: str, name: str) -> tuple[int, ...]:
    """Read a list of whole numbers with ranges.

    >>> parse_ints("1-3,8", "--blocks")
    (1, 2, 3, 8)
    """
    values: list[int] = []
    for part in parse_words(text, name):
        match = re.fullmatch(r"(\d+)(?:-(\d+))?", part)
        if not match:
            raise InputError(f"{name} takes whole numbers such as 1,2,5 or 1-5, but has {part!r}.")
        first, last = int(match[1]), int(match[2] or match[1])
        if last < first:
            raise InputError(f"{name}: the range {part} runs backwards.")
        values += range(first, last + 1)
    return tuple(dict.fromkeys(values))


def parse_floats(text: str, name: str) -> tuple[float, ...]:
    """Read a list of numbers.

    >>> parse_floats("0.1,10", "--c")
    (0.1, 10.0)
    """
    try:
        return tuple(dict.fromkeys(map(float, parse_words(text, name))))
    except ValueError:
        raise InputError(f"{name} takes numbers such as 1,10,100, but is {text!r}.") from None


def parse_flags(text: str, name: str) -> tuple[bool, ...]:
    """Read yes, no or both.

    >>> parse_flags("both", "--jump")
    (False, True)
    """
    known = {"yes": (True,), "no": (False,), "both": (False, True)}
    if text not in known:
        raise InputError(f"{name} must be yes, no or both, but is {text!r}.")
    return known[text]
