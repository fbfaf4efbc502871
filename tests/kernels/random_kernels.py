"""Random kernels for round trips: all options of the leaves, and nested algebra."""

from __future__ import annotations

from hypothesis import strategies as st

from fastgntk import GNTK, NNGP, RBF, WL, WLOA, Kernel, Linear, Sketch, Tanimoto
from fastgntk.kernels import Network
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
    features=st.sampled_from(["discrete", "labels", "degree"]),
)


@st.composite
def networks(draw) -> Network:
    """Draw a GNTK or NNGP with any options; weights of levels have the length that blocks needs."""
    blocks = draw(st.integers(1, 6))
    weights = st.lists(WEIGHTS, min_size=blocks + 1, max_size=blocks + 1).filter(any).map(tuple)
    return draw(st.sampled_from([GNTK, NNGP]))(
        blocks=blocks,
        layers=draw(st.integers(1, 4)),
        scale=draw(st.sampled_from(["uniform", "degree", "unit", "given", "symmetric"])),
        jump=draw(st.booleans() | weights),
        c_phi=draw(FACTORS),
        edges=draw(st.sampled_from(["plain", "typed"])),
        features=draw(st.sampled_from(["auto", "attributes", "labels", "all", "degree", "discrete"])),
        sketch=draw(st.none() | SKETCH_VALUES),
        self_weight=draw(WEIGHTS),
        pool=draw(st.sampled_from(["sum", "mean"])),
        residual=draw(st.floats(0.0, 1.0, exclude_max=True)),
        activation=draw(st.sampled_from(["relu", "leaky", "abs", "linear"])),
    )


_BLOCKS = st.text(st.characters(exclude_categories=("Cs",)), min_size=1, max_size=8)
_SCALINGS = st.sampled_from(["standard", "log", "none"])
DESCRIPTOR_LEAVES: st.SearchStrategy[Kernel] = (
    st.builds(RBF, _BLOCKS, st.just("median") | FACTORS, _SCALINGS)
    | st.builds(Linear, _BLOCKS, _SCALINGS)
    | st.builds(Tanimoto, _BLOCKS)
)


def _combined(parts: st.SearchStrategy[Kernel]) -> st.SearchStrategy[Kernel]:
    return (
        st.builds(lambda a, b: a + b, parts, parts)
        | st.builds(lambda a, b: a * b, parts, parts)
        | st.builds(lambda factor, a: factor * a, FACTORS, parts)
        | parts.map(lambda a: a.normalized())
    )


LEAVES = networks() | COLOUR_KERNELS | DESCRIPTOR_LEAVES
KERNEL_VALUES: st.SearchStrategy[Kernel] = st.recursive(LEAVES, _combined, max_leaves=8)
