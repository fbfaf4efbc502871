"""Random kernels for round trips: all options of the leaves, and nested algebra."""

from __future__ import annotations

from hypothesis import strategies as st

from fastgntk import GNTK, WL, WLOA, Kernel, Sketch
from fastgntk.sketch import SKETCHES

WEIGHTS = st.floats(0.0, 1e300)
FACTORS = st.floats(0.0, exclude_min=True, allow_infinity=False)

SKETCH_SIZES = st.fixed_dictionaries(
    {"size": st.integers(1, 10**6) | st.floats(0.0, 1.0, exclude_min=True) | st.just("given")}
) | st.fixed_dictionaries({"size": st.just("auto"), "error": st.none() | FACTORS})
SKETCH_VALUES = st.builds(
    lambda sizes, **options: Sketch(**sizes, **options),
    sizes=SKETCH_SIZES,
    kind=st.sampled_from(list(SKETCHES)),
    seed=st.integers(0, 2**63),
    fresh_each_block=st.booleans(),
    merge_nodes=st.booleans(),
    sketch_features=st.booleans(),
)


COLOUR_KERNELS = st.builds(
    lambda make, **options: make(**options),
    make=st.sampled_from([WL, WLOA]),
    iterations=st.integers(0, 9),
    edges=st.sampled_from(["plain", "typed"]),
    features=st.sampled_from(["auto", "labels", "degree"]),
)


@st.composite
def networks(draw) -> GNTK:
    """Draw a GNTK with any options; weights of levels have the length that blocks needs."""
    blocks = draw(st.integers(1, 6))
    weights = st.lists(WEIGHTS, min_size=blocks + 1, max_size=blocks + 1).filter(any).map(tuple)
    return GNTK(
        blocks=blocks,
        layers=draw(st.integers(1, 4)),
        scale=draw(st.sampled_from(["uniform", "degree", "unit", "given"])),
        jump=draw(st.booleans() | weights),
        c_phi=draw(FACTORS),
        edges=draw(st.sampled_from(["plain", "typed"])),
        features=draw(st.sampled_from(["auto", "attributes", "labels", "all", "degree"])),
        sketch=draw(st.none() | SKETCH_VALUES),
    )


def _combined(parts: st.SearchStrategy[Kernel]) -> st.SearchStrategy[Kernel]:
    return (
        st.builds(lambda a, b: a + b, parts, parts)
        | st.builds(lambda a, b: a * b, parts, parts)
        | st.builds(lambda factor, a: factor * a, FACTORS, parts)
        | parts.map(lambda a: a.normalized())
    )


KERNEL_VALUES: st.SearchStrategy[Kernel] = st.recursive(networks() | COLOUR_KERNELS, _combined, max_leaves=8)
