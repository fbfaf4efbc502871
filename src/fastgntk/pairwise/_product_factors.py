"""The factor of a product whose nodes carry the contributions; the others weight the training graphs."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from fastgntk.errors import InputError
from fastgntk.kernels import Kernel, Normalized, Product, Scaled, Sum

__all__ = ["factors", "put_factor_first"]


def factors(kernel: Kernel) -> list[Kernel]:
    """Return the factors of a product in order, nested products expanded, without scalar factors.

    >>> from fastgntk import GNTK, WL
    >>> factors((2.0 * GNTK(1) * WL(2)).normalized() * (WL(3) + GNTK(2)))
    [GNTK(blocks=1), WL(iterations=2), WL(iterations=3) + GNTK(blocks=2)]
    """
    match kernel:
        case Product(first, second):
            return factors(first) + factors(second)
        case Scaled(_, inner):
            return factors(inner)
        case Normalized(inner) if _holds_product(inner):
            return factors(inner)
        case _:
            return [kernel]


def put_factor_first(kernel: Kernel, factor: int | Kernel | None) -> Kernel:
    """Return an equivalent kernel whose products begin with a factor, given by its index 0, 1, … or as a kernel.

    None keeps every product unchanged. If a sum has several products, the factor must be in each of them.

    >>> from fastgntk import GNTK, WL
    >>> put_factor_first(GNTK(1) * WL(2) + GNTK(3), 1)
    WL(iterations=2) * GNTK(blocks=1) + GNTK()
    """
    if factor is None:
        return kernel
    is_index = isinstance(factor, int | np.integer) and not isinstance(factor, bool)
    if not is_index and not isinstance(factor, Kernel):
        raise InputError(f"factor must be the index of a factor, or a kernel, but is {factor!r}.")
    seen = 0

    def reorder(product: Kernel) -> Kernel:
        nonlocal seen
        seen += 1
        parts = factors(product)
        names = ", ".join(f"{i}: {each}" for i, each in enumerate(parts))
        if isinstance(factor, Kernel):
            if factor not in parts:
                raise InputError(f"{factor} is not a factor of {product}; its factors are {names}.")
            return _move_to_front(product, parts.index(factor))
        if not 0 <= factor < len(parts):
            raise InputError(f"factor must lie in 0..{len(parts) - 1}, but is {factor}; the factors are {names}.")
        return _move_to_front(product, int(factor))

    reordered = _map_products(kernel, reorder)
    if not seen:
        raise InputError(f"factor names a factor of a product, but {kernel} has no product; leave it out.")
    return reordered


def _holds_product(kernel: Kernel) -> bool:
    """Return whether a kernel is a product, possibly normalised or times a number."""
    match kernel:
        case Scaled(_, inner) | Normalized(inner):
            return _holds_product(inner)
        case _:
            return isinstance(kernel, Product)


def _map_products(kernel: Kernel, change: Callable[[Kernel], Kernel]) -> Kernel:
    """Replace the outermost products of a kernel."""
    match kernel:
        case Product():
            return change(kernel)
        case Sum(first, second):
            return Sum(_map_products(first, change), _map_products(second, change))
        case Scaled(_, inner) | Normalized(inner):
            return replace(kernel, kernel=_map_products(inner, change))
        case _:
            return kernel


def _move_to_front(kernel: Kernel, index: int) -> Kernel:
    """Reorder the products on the way to a factor, which is given by its index."""
    match kernel:
        case Product(first, second):
            count = len(factors(first))
            if index < count:
                return Product(_move_to_front(first, index), second)
            return Product(_move_to_front(second, index - count), first)
        case Scaled(_, inner) | Normalized(inner) if _holds_product(inner):
            return replace(kernel, kernel=_move_to_front(inner, index))
        case _:
            return kernel
