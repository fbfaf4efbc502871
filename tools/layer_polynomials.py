"""Print the table of `fastgntk/engines/_simd/_polynomials.py`: approximations of the arc cosine for compiled layers.

Run: python tools/layer_polynomials.py

With g = 1 − λ, arccos(λ) = sqrt(g (2 − g)) Σ_k k!/(2k+1)!! g^k. On [0, 1 − c] the series is written in Chebyshev
polynomials and cut at the smallest degree whose remainder, a bound of the error of arccos(λ)/(π sqrt(1 − λ²)), is below
the tolerance. All arithmetic is rational, so the coefficients are rounded once.
"""

from fractions import Fraction
from math import comb

LOWEST = ("0", "0.31", "0.49", "0.6", "0.68", "0.77", "0.83")
TOLERANCE = 5.3e-16
TERMS = 90  # g/2 is at most 1/2, so the remainder is below 2^-90
PI = Fraction("3.14159265358979323846264338327950288419716939937510")


def chebyshev(count: int) -> list[list[Fraction]]:
    """Return the coefficients of the Chebyshev polynomials of degrees 0 to count − 1."""
    out = [[Fraction(1)], [Fraction(0), Fraction(1)]]
    while len(out) < count:
        following = [Fraction(0), *(2 * c for c in out[-1])]
        for i, c in enumerate(out[-2]):
            following[i] -= c
        out.append(following)
    return out[:count]


def substitute(coefficients: list[Fraction], a: Fraction, b: Fraction) -> list[Fraction]:
    """Return the coefficients in y of a polynomial in x = a + b y."""
    out = [Fraction(0)] * len(coefficients)
    for k, coefficient in enumerate(coefficients):
        for j in range(k + 1):
            out[j] += coefficient * comb(k, j) * a ** (k - j) * b**j
    return out


def approximate(lowest: Fraction) -> tuple[list[float], float]:
    """Return the coefficients in g for λ in [lowest, 1], and the bound of the error."""
    half = (1 - lowest) / 2
    series = [Fraction(1)]
    for k in range(1, TERMS):
        series.append(series[-1] * k / (2 * k + 1))
    rest = [c / PI for c in substitute(series, half, half)]  # g = half + half x, x in [−1, 1]
    basis = chebyshev(TERMS)
    expansion = [Fraction(0)] * TERMS
    for k in reversed(range(TERMS)):
        expansion[k] = rest[k] / basis[k][k]
        for i, c in enumerate(basis[k]):
            rest[i] -= expansion[k] * c
    degree = next(d for d in range(TERMS) if sum(abs(c) for c in expansion[d + 1 :]) < TOLERANCE)
    kept = [Fraction(0)] * (degree + 1)
    for k in range(degree + 1):
        for i, c in enumerate(basis[k]):
            kept[i] += expansion[k] * c
    error = float(sum(abs(c) for c in expansion[degree + 1 :]))
    return [float(c) for c in substitute(kept, Fraction(-1), 1 / half)], error


def main() -> None:
    """Print the table as Python source."""
    print("POLYNOMIALS: tuple[Polynomial, ...] = (")
    for text in LOWEST:
        coefficients, error = approximate(Fraction(text))
        print(f"    Polynomial(  # degree {len(coefficients) - 1}, error {error:.1e}")
        print(f"        {float(text)!r},")
        print("        (")
        for c in coefficients:
            print(f"            {c!r},")
        print("        ),")
        print("    ),")
    print(")")


if __name__ == "__main__":
    main()
