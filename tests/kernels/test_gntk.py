from __future__ import annotations

import numpy as np
import pytest
from tests.tables import SPECS

from fastgntk import GNTK, InputError


@pytest.mark.parametrize("spec", SPECS.values())
def test_json_round_trip(spec):
    assert GNTK.from_json(spec.to_json()) == spec
    assert GNTK.from_dict(spec.to_dict()) == spec


def test_frozen_and_hashable():
    with pytest.raises(AttributeError):
        GNTK().blocks = 4
    assert len({GNTK(), GNTK(), GNTK(blocks=4)}) == 2


def test_numpy_numbers_become_plain_ones():
    spec = GNTK(blocks=np.int64(2), layers=np.int32(1), jump=np.bool_(True), c_phi=np.float32(2))
    plain = '{"blocks": 2, "layers": 1, "scale": "uniform", "jump": true, "c_phi": 2.0, "edges": "plain"}'
    assert spec.to_json() == plain


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"blocks": 0}, "blocks must be a whole number, 1 or more, but is 0"),
        ({"layers": -1}, "layers must be a whole number, 1 or more, but is -1"),
        ({"blocks": 2.0}, "blocks must be a whole number"),
        ({"blocks": True}, "blocks must be a whole number"),
        ({"scale": "none"}, "scale must be one of uniform, degree, unit, but is 'none'"),
        ({"jump": 1}, r"jump must be True, False or a weight for each level 0\.\.3, but is 1"),
        ({"jump": "yes"}, "jump must be True, False or a weight for each level"),
        ({"blocks": 2, "jump": (1, 1)}, "jump has 2 weights, but blocks=2 makes 3 levels"),
        ({"blocks": 1, "jump": (1, -1)}, "weights of jump must be 0 or more and not all 0"),
        ({"blocks": 1, "jump": (0, 0)}, "weights of jump must be 0 or more and not all 0"),
        ({"blocks": 1, "jump": (1, float("nan"))}, "weights of jump must be 0 or more"),
        ({"c_phi": 0.0}, "c_phi must be a number above 0"),
        ({"c_phi": float("nan")}, "c_phi must be a number above 0"),
        ({"c_phi": "two"}, "c_phi must be a number above 0"),
    ],
)
def test_bad_options_are_named(options, words):
    with pytest.raises(InputError, match=words):
        GNTK(**options)


@pytest.mark.parametrize(
    ("text", "words"),
    [("{", "not valid JSON"), ("[1]", "must be a JSON object"), ('{"depth": 3}', "unknown kernel option 'depth'")],
)
def test_bad_json_is_named(text, words):
    with pytest.raises(InputError, match=words):
        GNTK.from_json(text)
