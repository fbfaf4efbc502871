"""Diverging colour scale, and the format of its numbers."""

from dataclasses import dataclass

__all__ = ["Scale"]

# Light enough for black text, and distinguishable without red-green colour vision.
_BELOW, _ABOVE = (62, 134, 202), (226, 93, 67)


@dataclass(frozen=True)
class Scale:
    """Colours and texts of values: blue below 0, white at 0, red above.

    ``limit`` is the largest absolute value. If it is 0, everything is white.

    Examples
    --------
    >>> scale = Scale(0.5)
    >>> scale.colour(0.0), scale.colour(0.5), scale.colour(-0.5)
    ('#ffffff', '#e25d43', '#3e86ca')
    >>> scale.number(-0.1234), scale.number(0.5, signed=True), scale.number(-0.0001)
    ('−0.12', '+0.50', '0')
    """

    limit: float

    def colour(self, value: float) -> str:
        """Return the colour of a value as #rrggbb, linear between white and the end of its side."""
        fraction = value / self.limit if self.limit else 0.0
        end, strength = (_BELOW if fraction < 0 else _ABOVE), min(abs(fraction), 1.0)
        return "#" + "".join(f"{round(255 + strength * (part - 255)):02x}" for part in end)

    @property
    def exponent(self) -> int:
        """Exponent of the power of ten that numbers are divided by; 0 unless they would be long without it."""
        size = self._size
        return 0 if -2 <= size < 5 else size

    @property
    def power(self) -> str:
        """Text of that power, such as ×10⁻⁷; empty if it is 1."""
        raised = str(self.exponent).translate(str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹"))
        return f"×10{raised}" if self.exponent else ""

    def number(self, value: float, *, digits: int = 2, signed: bool = False) -> str:
        """Format a value with as many decimals as the limit needs for that number of digits."""
        if not self.limit:
            return "0"
        decimals = max(0, digits - 1 - (self._size - self.exponent))
        # By the text of the limit, because 10**exponent underflows for the smallest floats.
        shown = value / self.limit * float(f"{self.limit:.17e}".split("e")[0]) if self.exponent else value
        text = f"{shown:+.{decimals}f}"
        if not float(text):
            return "0"
        return text.replace("-", "−") if signed else text.lstrip("+").replace("-", "−")

    @property
    def _size(self) -> int:
        """Exponent of the first digit of the limit."""
        return int(f"{self.limit:e}".split("e")[1]) if self.limit else 0
