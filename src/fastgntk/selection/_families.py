"""Families of kernels: which kinds are combined, without their options, to describe what was tried and chosen."""

from collections import Counter
from collections.abc import Iterable

from fastgntk.kernels import Kernel, Normalized, Product, Scaled, Sum

__all__ = ["count_families", "describe_choices", "kernel_family"]


def kernel_family(kernel: Kernel) -> str:
    """Return the kinds of kernels in a combination, without options, weights and normalisation.

    >>> from fastgntk import GNTK, RBF, WLOA
    >>> kernel_family(GNTK(2).normalized() * WLOA(2).normalized() + 0.5 * RBF("rdkit"))
    'GNTK × WLOA + RBF'
    >>> kernel_family((GNTK(1) + GNTK(2)) * WLOA(2))
    '(GNTK + GNTK) × WLOA'
    """
    if isinstance(kernel, Normalized | Scaled):
        return kernel_family(kernel.kernel)
    if isinstance(kernel, Sum):
        return f"{kernel_family(kernel.k1)} + {kernel_family(kernel.k2)}"
    if isinstance(kernel, Product):
        return f"{_factor(kernel.k1)} × {_factor(kernel.k2)}"
    return type(kernel).__name__


def _factor(kernel: Kernel) -> str:
    """Return the family of a factor, a sum in parentheses."""
    while isinstance(kernel, Normalized | Scaled):
        kernel = kernel.kernel
    return f"({kernel_family(kernel)})" if isinstance(kernel, Sum) else kernel_family(kernel)


def count_families(kernels: Iterable[Kernel]) -> list[tuple[str, int]]:
    """Return each family and its number of kernels, most frequent first.

    >>> from fastgntk import GNTK, WLOA
    >>> count_families([WLOA(1), GNTK(1), GNTK(2).normalized()])
    [('GNTK', 2), ('WLOA', 1)]
    """
    return Counter(map(kernel_family, kernels)).most_common()


def describe_choices(kernels: Iterable[Kernel]) -> str:
    """Return which families the folds chose, from the kernel of each fold.

    >>> from fastgntk import GNTK, WLOA
    >>> describe_choices([GNTK(1), GNTK(2), GNTK(1) * WLOA(1)]), describe_choices([GNTK(1), GNTK(2)])
    ('GNTK in 2 of 3 folds, GNTK × WLOA in 1', 'GNTK in all 2 folds')
    """
    (family, count), *rarer = count_families(chosen := list(kernels))
    if not rarer:
        return f"{family} in all {len(chosen)} folds"
    first = f"{family} in {count} of {len(chosen)} folds"
    return ", ".join([first, *(f"{name} in {count}" for name, count in rarer)])
