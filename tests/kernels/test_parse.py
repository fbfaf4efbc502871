"""Kernels from text: what is accepted, positions in error messages, and that nothing in the text runs."""

from __future__ import annotations

import builtins
import time
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fastgntk import GNTK, InputError, Kernel, Sketch, parse_kernel

EXPECTED_KERNEL = "a kernel, a sum or a product, such as GNTK(blocks=3) or 0.5 * GNTK(2) + GNTK(3)"
EXPECTED_LITERAL = "a number, a quoted string, True, False or a tuple"


@pytest.mark.parametrize(
    ("text", "kernel"),
    [
        ("GNTK()", GNTK()),
        ("  GNTK( 2 , 1 )\n", GNTK(2, 1)),
        ('GNTK(3, scale="degree")', GNTK(3, scale="degree")),
        ("GNTK(1, jump=(0, 1))", GNTK(1, jump=(0, 1))),
        ("GNTK(1, jump=[0, 1.5])", GNTK(1, jump=(0, 1.5))),
        ("GNTK(sketch=Sketch('srht', 5, seed=3))", GNTK(sketch=Sketch("srht", 5, seed=3))),
        ("GNTK(sketch=None)", GNTK()),
        ("GNTK(2) + GNTK(1) * GNTK(3)", GNTK(2) + GNTK(1) * GNTK(3)),
        ("(GNTK(2) + GNTK(1)) * GNTK(3)", (GNTK(2) + GNTK(1)) * GNTK(3)),
        ("GNTK(2) + (GNTK(1) + GNTK(3))", GNTK(2) + (GNTK(1) + GNTK(3))),
        ("0.5 * GNTK(2)", 0.5 * GNTK(2)),
        ("GNTK(2) * 1e-3", 1e-3 * GNTK(2)),
        ("+2 * GNTK(2)", 2 * GNTK(2)),
        ("2 * GNTK(1).normalized()", 2 * GNTK(1).normalized()),
        ("(2 * GNTK(1)).normalized()", (2 * GNTK(1)).normalized()),
        ("GNTK(1).normalized().normalized()", GNTK(1).normalized()),
        ("GNTK(2) +\n    GNTK(1)", GNTK(2) + GNTK(1)),
    ],
)
def test_texts_are_read(text, kernel):
    assert parse_kernel(text) == kernel


@pytest.mark.parametrize(
    ("text", "position", "expected"),
    [
        ("", 1, "a kernel"),
        ("  \n ", 1, "a kernel"),
        ("GNTK", 1, EXPECTED_KERNEL),
        ("3", 1, EXPECTED_KERNEL),
        ("'GNTK()'", 1, EXPECTED_KERNEL),
        ("GNTK(2) - GNTK(1)", 8, "+ or *"),
        ("GNTK(2) / 2", 8, "+ or *"),
        ("GNTK(2) ** 2", 8, "+ or *"),
        ("GNTK(2) @ GNTK(2)", 8, "+ or *"),
        ("GNTK(2) + 3", 11, EXPECTED_KERNEL),
        ("2 * 3", 5, EXPECTED_KERNEL),
        ("-GNTK(2)", 1, EXPECTED_KERNEL),
        ("GNTK(2).normalised()", 1, EXPECTED_KERNEL),
        ("GNTK(2).normalized", 1, EXPECTED_KERNEL),
        ("GNTK(2).normalized(1)", 1, EXPECTED_KERNEL),
        ("GNTK(2) + GCN(1)", 11, "one of GNTK, WL, WLOA"),
        ("Sketch()", 1, EXPECTED_KERNEL),
        ("GNTK(depth=3)", 6, "one of the options blocks, layers, scale, jump, c_phi, edges, features, sketch, each"),
        ("GNTK(2, blocks=3)", 9, "one of the options blocks, layers"),
        ("GNTK(sketch=Sketch(rows=3))", 20, "one of the options kind, size, seed"),
        ("GNTK(1, 2, 'unit', True, 2.0, 'plain', 'auto', None, 9)", 54, "at most 8 options of GNTK"),
        ("GNTK(blocks=two)", 13, EXPECTED_LITERAL),
        ("GNTK(blocks=1 + 1)", 13, EXPECTED_LITERAL),
        ("GNTK(blocks={1})", 13, EXPECTED_LITERAL),
        ("GNTK(blocks={})", 13, EXPECTED_LITERAL),
        ("GNTK(blocks=b'3')", 13, EXPECTED_LITERAL),
        ("GNTK(c_phi=2j)", 12, EXPECTED_LITERAL),
        ("GNTK(*[3])", 6, EXPECTED_LITERAL),
        ("GNTK(2", 5, "a complete kernel ('(' was never closed)"),
        ("GNTK(2))", 8, "a complete kernel (unmatched ')')"),
        ("GNTK(2) +", 10, "a complete kernel (invalid syntax)"),
        ("GNTK(2) GNTK(3)", 9, "a complete kernel"),
        ("GNTK(2) +\n  GNTK(3) - GNTK(2)", 20, "+ or *"),
    ],
)  # fmt: skip
def test_position_and_expectation_are_named(text, position, expected):
    with pytest.raises(InputError) as caught:
        parse_kernel(text)
    message = str(caught.value)
    assert f"cannot be read at position {position}: expected {expected}" in message
    assert message.endswith(".")
    assert "\n" not in message


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("GNTK(blocks=0)", "blocks must be an integer, 1 or more, but is 0"),
        ("GNTK(True)", "blocks must be an integer, 1 or more, but is True"),
        ("GNTK(scale='none')", "scale must be one of uniform, degree, unit, given, but is 'none'"),
        ("GNTK(blocks=1, jump=(1, 2, 3))", "jump has 3 weights, but blocks=1 makes 2 levels"),
        ("GNTK(sketch=Sketch('am'))", "the kind of a sketch must be one of ams"),
        ("GNTK(sketch=GNTK())", "sketch must be a fastgntk.Sketch or None"),
        ("0 * GNTK()", "the factor of a kernel must be a number above 0, but is 0"),
        ("-2 * GNTK()", "the factor of a kernel must be a number above 0, but is -2"),
        ("GNTK() * -2", "the factor of a kernel must be a number above 0, but is -2"),
        ("1e999 * GNTK()", "the factor of a kernel must be a number above 0, but is inf"),
        ("True * GNTK()", "the factor of a kernel must be a number above 0, but is True"),
        ("1" + 400 * "0" + " * GNTK()", "the factor of a kernel must be a number above 0"),
    ],
    ids=range(12),
)
def test_bad_values_in_a_text_are_named(text, words):
    with pytest.raises(InputError, match=words):
        parse_kernel(text)


@pytest.mark.parametrize("given", [None, 3, b"GNTK()", ["GNTK()"], GNTK()])
def test_other_types_are_refused(given):
    with pytest.raises(InputError, match=f"a kernel must be given as a string, but is a {type(given).__name__}"):
        parse_kernel(given)


HOSTILE = {
    "import": "__import__('os').system('touch HERE')",
    "import as an option": "GNTK(blocks=__import__('os').system('touch HERE'))",
    "open": "open('HERE', 'w')",
    "exec": 'exec(\'open("HERE", "w")\')',
    "attributes": "GNTK().__class__.__mro__[1].__subclasses__()",
    "attribute of a literal": "GNTK(blocks=(1).__class__)",
    "method with another name": "GNTK().to_json()",
    "lambda": "(lambda: open('HERE', 'w'))()",
    "lambda as an option": "GNTK(blocks=lambda: 3)",
    "f-string": 'GNTK(scale=f\'{open("HERE", "w")}\')',
    "comprehension": "[open('HERE', 'w') for _ in (1,)]",
    "comprehension as an option": "GNTK(jump=tuple(open('HERE', 'w') for _ in range(4)))",
    "walrus": "(k := GNTK())",
    "conditional": "GNTK() if open('HERE', 'w') else GNTK(2)",
    "boolean": "GNTK() or open('HERE', 'w')",
    "comparison": "GNTK() == GNTK()",
    "subscript": "GNTK()[open('HERE', 'w')]",
    "call of a call": "GNTK()(3)",
    "star": "GNTK(*open('HERE', 'w'))",
    "double star": "GNTK(**{'blocks': 3})",
    "statement": "GNTK(); open('HERE', 'w')",
    "assignment": "k = GNTK()",
    "await": "await GNTK()",
    "null byte": "GNTK(\0)",
    "surrogate": "GNTK(scale='\ud800')",
    "deep parentheses": "(" * 4000 + "GNTK()" + ")" * 4000,
    "deep sum": " + ".join(["GNTK()"] * 1000),
    "deep normalisation": "GNTK()" + ".normalized()" * 700,
    "deep tuple": "GNTK(jump=" + "(" * 2000 + "1," + ",)" * 2000 + ")",
    "deep signs": "GNTK(blocks=" + "-" * 9000 + "1)",
    "many characters": "GNTK(" + " " * 10**6 + ")",
    "many texts": "GNTK() + " * 10**5,
    "many digits": "GNTK(blocks=" + "9" * 9000 + ")",
    "huge power": "GNTK(blocks=9**9**9)",
    "repeated text": "GNTK(scale='a' * 10**10)",
}


@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE)
def test_hostile_texts_are_refused_and_run_nothing(text, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in ("exec", "eval", "open", "__import__"):
        monkeypatch.setattr(builtins, name, _forbidden(name, getattr(builtins, name)))
    start = time.monotonic()
    with pytest.raises(InputError) as caught:
        parse_kernel(text)
    assert time.monotonic() - start < 5
    assert len(str(caught.value)) < 500
    assert not list(tmp_path.iterdir())


def _forbidden(name, original):
    """Refuse calls with the marks of a hostile text; Python itself imports and opens files meanwhile."""

    def call(*arguments, **options):
        assert "HERE" not in str(arguments[:1]), f"{name} was called"
        return original(*arguments, **options)

    return call


@given(st.text(alphabet="GNTKSketch()=+*.,'\"12 normalized[]{}_:\\\n\t#é", max_size=60))
def test_any_text_is_a_kernel_or_refused(text):
    with suppress(InputError):
        assert isinstance(parse_kernel(text), Kernel)


@pytest.mark.parametrize("count", [2, 40])
def test_sums_of_many_kernels_are_read(count):
    total = sum((GNTK(i + 1) for i in range(1, count)), start=GNTK(1))
    assert parse_kernel(repr(total)) == total


def test_grouping_of_sums_and_products_survives():
    a, b, c = GNTK(1), GNTK(2), GNTK(4)
    for kernel in (
        (a + b) + c,
        a + (b + c),
        (a * b) * c,
        a * (b * c),
        (a + b) * c,
        a + b * c,
        2.0 * (a + b),
        2.0 * a + b,
    ):
        assert parse_kernel(repr(kernel)) == kernel
    assert repr(a + (b + c)) == "GNTK(blocks=1) + (GNTK(blocks=2) + GNTK(blocks=4))"


def test_builtin_sum_adds_kernels():
    assert sum([GNTK(1), GNTK(2)]) == GNTK(1) + GNTK(2)
    with pytest.raises(TypeError):
        1 + GNTK()
