from __future__ import annotations

import json

import numpy as np
import pytest
from tests.tables import ALL_KERNELS

from fastgntk import GNTK, InputError, Kernel, Sketch


@pytest.mark.parametrize("kernel", ALL_KERNELS.values(), ids=ALL_KERNELS)
def test_json_round_trip(kernel):
    assert type(kernel).from_json(kernel.to_json()) == kernel
    assert Kernel.from_dict(kernel.to_dict()) == kernel
    assert json.loads(kernel.to_json()) == json.loads(json.dumps(kernel.to_dict()))


def test_frozen_and_hashable():
    with pytest.raises(AttributeError):
        GNTK().blocks = 4
    assert len({GNTK(), GNTK(), GNTK(blocks=4), GNTK(sketch=Sketch()), GNTK(sketch=Sketch())}) == 3


def test_numpy_numbers_become_plain_ones():
    kernel = GNTK(blocks=np.int64(2), layers=np.int32(1), jump=np.bool_(True), c_phi=np.float32(2))
    plain = {"is": "GNTK", "blocks": 2, "layers": 1, "scale": "uniform", "jump": True, "c_phi": 2.0}
    plain |= {"edges": "plain", "features": "auto", "sketch": None, "self_weight": 1.0, "pool": "sum"}
    plain |= {"activation": "relu", "residual": 0.0}
    assert kernel.to_json() == json.dumps(plain)
    assert [type(value) for value in kernel.to_dict().values()] == [type(value) for value in plain.values()]


def test_repr_leaves_out_defaults():
    assert repr(GNTK()) == "GNTK()"
    assert repr(GNTK(2, 1, "unit", False)) == "GNTK(blocks=2, layers=1, scale='unit', jump=False)"
    assert repr(GNTK(1, jump=(0, 1.5))) == "GNTK(blocks=1, jump=(0.0, 1.5))"
    assert repr(GNTK(sketch=Sketch("srht", 7))) == "GNTK(sketch=Sketch(kind='srht', size=7))"


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"blocks": 0}, "blocks must be an integer, 1 or more, but is 0"),
        ({"layers": -1}, "layers must be an integer, 1 or more, but is -1"),
        ({"blocks": 1001}, r"blocks must be an integer in 1\.\.1000, but is 1001"),
        ({"layers": 10**5000}, r"layers must be an integer in 1\.\.1000, but is an integer of 16610 bits"),
        ({"blocks": 2.0}, "blocks must be an integer"),
        ({"blocks": True}, "blocks must be an integer"),
        ({"scale": "none"}, "scale must be one of uniform, degree, unit, given, symmetric, but is 'none'"),
        ({"scale": ["unit"]}, r"scale must be one of uniform, degree, unit, given, symmetric, but is \['unit'\]"),
        ({"edges": "labels"}, "edges must be one of plain, typed, but is 'labels'"),
        (
            {"features": "label"},
            "features must be one of auto, attributes, labels, all, degree, discrete, but is 'label'",
        ),
        ({"features": None}, "features must be one of .*, but is None"),
        ({"self_weight": -0.5}, "self_weight must be a number, 0 or more, but is -0.5"),
        ({"self_weight": float("inf")}, "self_weight must be a number, 0 or more, but is inf"),
        ({"self_weight": "1"}, "self_weight must be a number, 0 or more, but is '1'"),
        ({"pool": "max"}, "pool must be one of sum, mean, but is 'max'"),
        ({"jump": 1}, r"jump must be True, False or a weight for each level 0\.\.3, but is 1"),
        ({"jump": "yes"}, "jump must be True, False or a weight for each level"),
        ({"blocks": 2, "jump": (1, 1)}, "jump has 2 weights, but blocks=2 makes 3 levels"),
        ({"blocks": 1, "jump": (1, -1)}, "weights of jump must be 0 or more and not all 0"),
        ({"blocks": 1, "jump": (0, 0)}, "weights of jump must be 0 or more and not all 0"),
        ({"blocks": 1, "jump": (1, float("nan"))}, "weights of jump must be 0 or more"),
        ({"c_phi": 0.0}, "c_phi must be a number above 0"),
        ({"c_phi": float("nan")}, "c_phi must be a number above 0"),
        ({"c_phi": "two"}, "c_phi must be a number above 0"),
        ({"c_phi": "2"}, "c_phi must be a number above 0, but is '2'"),
        ({"c_phi": True}, "c_phi must be a number above 0, but is True"),
        ({"c_phi": 10**400}, "c_phi must be a number above 0"),
        ({"activation": "tanh"}, "activation must be one of relu, leaky, abs, linear, but is 'tanh'"),
        ({"residual": 1.0}, r"residual must be a number that is 0 or more and below 1, but is 1\.0"),
        ({"residual": -0.1}, r"residual must be a number that is 0 or more and below 1, but is -0\.1"),
        ({"residual": float("nan")}, "residual must be a number that is 0 or more and below 1, but is nan"),
        ({"residual": True}, "residual must be a number that is 0 or more and below 1, but is True"),
        ({"residual": "0.1"}, "residual must be a number that is 0 or more and below 1, but is '0.1'"),
        ({"sketch": "ams"}, "sketch must be a fastgntk.Sketch or None, but is 'ams'"),
        ({"sketch": True}, "sketch must be a fastgntk.Sketch or None, but is True"),
    ],
)
def test_bad_options_are_named(options, words):
    with pytest.raises(InputError, match=words):
        GNTK(**options)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("{", "the kernel is not valid JSON"),
        ("[" * 100_000, "the kernel is not valid JSON"),
        ("[1]", 'a kernel must be a JSON object with its class in "is"'),
        ('{"blocks": 3}', 'a kernel must be a JSON object with its class in "is"'),
        ('{"is": ["GNTK"]}', 'a kernel must be a JSON object with its class in "is"'),
        ('{"is": "GNTK", "depth": 3}', "unknown option 'depth' of GNTK; its options are blocks, layers, scale"),
        ('{"is": "GCN"}', "unknown kernel 'GCN'; the kernels are GNTK, .*Sketch, .*Sum, Product, Scaled, Normalized"),
        ('{"is": "Sum"}', "Sum lacks k1 and k2; its options are k1, k2"),
        (
            '{"is": "Sum", "k1": {"is": "GNTK"}, "k2": 3}',
            "kernels combine with kernels only, but an operand has type int",
        ),
        ('{"is": "Sketch"}', r"a GNTK was expected, but Sketch\(\) was given"),
        ('{"is": "Normalized", "kernel": {"is": "GNTK"}}', r"a GNTK was expected, but GNTK\(\)\.normalized\(\) was"),
        ('{"is": "GNTK", "sketch": {"is": "GNTK"}}', "sketch must be a fastgntk.Sketch or None"),
        (
            '{"is": "Normalized", "kernel": {"is": "Sketch"}}',
            "kernels combine with kernels only, but an operand has type Sketch",
        ),
    ],
    ids=range(13),
)
def test_bad_json_is_named(text, words):
    with pytest.raises(InputError, match=words):
        GNTK.from_json(text)


@pytest.mark.parametrize("given", [None, 3, b"\xff", ["{}"]])
def test_json_must_be_text(given):
    with pytest.raises(InputError, match="the kernel is not valid JSON"):
        Kernel.from_json(given)
