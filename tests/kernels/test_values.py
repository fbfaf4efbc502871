"""Kernels as values: text and JSON round trips, parameters, equality, and what the algebra refuses."""

from __future__ import annotations

import copy
import pickle
from dataclasses import FrozenInstanceError, fields

import numpy as np
import pytest
from hypothesis import given
from sklearn.base import clone
from tests.kernels.random_kernels import KERNEL_VALUES

from fastgntk import GNTK, NNGP, RBF, WLOA, InputError, Kernel, Sketch, datasets, gram, parse_kernel
from fastgntk.kernels import Leaf, Network, Normalized, Product, Scaled, Sum

A, B, C = GNTK(1), GNTK(2, features="degree"), GNTK(3, sketch=Sketch("srht", 5))
COMPOSITE = {
    "sum": A + B,
    "product": A * B,
    "scaled": 2.0 * A,
    "normalized": A.normalized(),
    "nested": (0.5 * (A + B * C)).normalized() + A * (B + C),
}


@given(KERNEL_VALUES)
def test_text_round_trip(kernel):
    assert parse_kernel(repr(kernel)) == kernel
    assert repr(parse_kernel(repr(kernel))) == repr(kernel)


@given(KERNEL_VALUES)
def test_json_round_trip(kernel):
    assert Kernel.from_json(kernel.to_json()) == kernel
    assert type(kernel).from_dict(kernel.to_dict()) == kernel


@given(KERNEL_VALUES)
def test_equal_kernels_have_equal_hashes_and_copies_are_equal(kernel):
    again = parse_kernel(repr(kernel))
    assert hash(again) == hash(kernel)
    for copied in (copy.deepcopy(kernel), pickle.loads(pickle.dumps(kernel)), clone(kernel)):
        assert copied == kernel
        assert hash(copied) == hash(kernel)


@given(KERNEL_VALUES)
def test_set_params_with_the_own_parameters_changes_nothing(kernel):
    own = kernel.get_params(deep=False)
    assert list(own) == [field.name for field in fields(kernel)]
    assert kernel.set_params(**own) == kernel
    assert kernel.set_params(**kernel.get_params()) == kernel
    assert kernel.map_leaves(lambda leaf: leaf) == kernel


def test_nested_parameters_are_reached_by_name():
    kernel = (0.5 * (A + C)).normalized()
    changed = kernel.set_params(kernel__factor=3, kernel__kernel__k1__blocks=7, kernel__kernel__k2__sketch__seed=9)
    assert changed == (3.0 * (GNTK(7) + GNTK(3, sketch=Sketch("srht", 5, seed=9)))).normalized()
    assert kernel == (0.5 * (A + C)).normalized()  # a new value; the old one is as before
    assert changed.get_params()["kernel__kernel__k2__sketch__seed"] == 9
    assert "kernel__kernel__k1__sketch__seed" not in changed.get_params()
    assert (A + B).set_params(k1=C, k1__blocks=5) == C.set_params(blocks=5) + B


@pytest.mark.parametrize(
    ("kernel", "params", "words"),
    [
        (A, {"depth": 3}, "GNTK has no parameter 'depth'; it has blocks, layers, scale"),
        (A + B, {"blocks": 3}, "Sum has no parameter 'blocks'; it has k1, k2"),
        (
            A.normalized(),
            {"blocks": 3},
            "has no parameter 'blocks'; it has kernel; write kernel__ in front for those of",
        ),
        (A + B, {"k1__depth": 3}, "GNTK has no parameter 'depth'"),
        (A, {"sketch__seed": 3}, "sketch of GNTK is None, which has no parameters"),
        (A, {"blocks__x": 3}, "blocks of GNTK is 1, which has no parameters"),
        (A, {"blocks": 0}, "blocks must be an integer, 1 or more, but is 0"),
        (2 * A, {"factor": -1}, "the factor of a kernel must be a number above 0, but is -1"),
        (A + B, {"k2": 3}, "kernels combine with kernels only, but an operand has type int"),
    ],
)
def test_bad_parameters_are_refused(kernel, params, words):
    with pytest.raises(InputError, match=words):
        kernel.set_params(**params)


@pytest.mark.parametrize("kernel", COMPOSITE.values(), ids=COMPOSITE)
def test_combinations_are_frozen(kernel):
    for field in fields(kernel):
        with pytest.raises(FrozenInstanceError):
            setattr(kernel, field.name, A)
        with pytest.raises(FrozenInstanceError):
            delattr(kernel, field.name)


def test_operators_make_the_classes():
    assert A + B == Sum(A, B) != B + A
    assert A * B == Product(A, B) != B * A
    assert 2 * A == A * 2 == 2.0 * A == Scaled(2.0, A)
    assert A.normalized() == A.normalized().normalized() == Normalized(A)
    assert sum([B, C], start=A) == (A + B) + C != A + (B + C)


@pytest.mark.parametrize("number", [np.float64(2), np.float32(2), np.int64(2), np.uint8(2), 2])
def test_numpy_numbers_are_factors_on_both_sides(number):
    for kernel in (number * A, A * number):
        assert kernel == Scaled(2.0, A)
        assert type(kernel.factor) is float
        assert repr(kernel) == "2.0 * GNTK(blocks=1)"


def test_leaves_are_distinct_and_in_order_of_occurrence():
    assert (A * B + 2 * A).leaves() == [A, B]
    assert COMPOSITE["nested"].leaves() == [A, B, C]
    assert A.leaves() == [A]
    assert (GNTK(3) + GNTK(blocks=3, jump=True)).leaves() == [GNTK()]


def test_leaves_with_a_sketch_of_one_row_and_of_all_rows_differ():
    # The number of rows 1 equals the rate 1.0 as a number, but not as a sketch.
    one_row, all_rows = GNTK(sketch=Sketch(size=1)), GNTK(sketch=Sketch(size=1.0))
    assert one_row != all_rows
    assert len((one_row + all_rows).leaves()) == 2


def test_map_leaves_changes_every_leaf():
    deeper = COMPOSITE["nested"].map_leaves(lambda leaf: leaf.set_params(blocks=leaf.blocks + 1))
    assert [leaf.blocks for leaf in deeper.leaves()] == [2, 3, 4]
    assert deeper.map_leaves(lambda leaf: leaf.set_params(blocks=leaf.blocks - 1)) == COMPOSITE["nested"]


@pytest.mark.parametrize(
    "factor",
    [
        0,
        0.0,
        -1,
        -0.5,
        float("nan"),
        float("inf"),
        -float("inf"),
        True,
        False,
        np.float64("nan"),
        np.bool_(True),
        10**400,
    ],
    ids=str,
)
def test_factors_that_are_not_positive_numbers_are_refused(factor):
    words = "the factor of a kernel must be a number above 0, but is "
    with pytest.raises((InputError, TypeError)) as caught:
        factor * A
    if not isinstance(factor, np.bool_):  # which is no number, so that the operation does not exist
        assert words in str(caught.value)
        with pytest.raises(InputError, match=words):
            A * factor
    with pytest.raises(InputError, match=words):
        Scaled(factor, A)


@pytest.mark.parametrize("other", ["2", None, [1.0], np.ones(2), 2 + 0j, Sketch()], ids=str)
def test_other_operands_are_refused(other):
    for combine in (lambda: A + other, lambda: other + A, lambda: A * other, lambda: other * A):
        with pytest.raises((TypeError, InputError)):
            combine()
    for make in (
        lambda: Sum(A, other),
        lambda: Product(other, A),
        lambda: Normalized(other),
        lambda: Scaled(2.0, other),
    ):
        with pytest.raises(
            InputError, match=f"kernels combine with kernels only, but an operand has type {type(other).__name__}"
        ):
            make()


NESTED = {
    "left sum": lambda kernel: kernel + A,
    "right sum": lambda kernel: A + kernel,
    "right product": lambda kernel: A * kernel,
    "factor": lambda kernel: 2 * kernel,
}


@pytest.mark.parametrize("extend", NESTED.values(), ids=NESTED)
def test_kernel_of_largest_nesting_survives_round_trips_and_a_larger_one_is_refused(extend):
    kernel = GNTK(1, jump=(1, 2), sketch=Sketch(size=3))  # with parentheses inside parentheses
    for _ in range(100):
        kernel = extend(kernel)
    assert parse_kernel(repr(kernel)) == Kernel.from_json(kernel.to_json()) == kernel
    assert copy.deepcopy(kernel) == pickle.loads(pickle.dumps(kernel)) == kernel
    with pytest.raises(InputError, match="a kernel can have at most 100 nested operations; group the terms"):
        extend(kernel)


def test_long_sums_can_be_grouped():
    total = sum([sum([GNTK(i + 1) for i in range(j, j + 20)]) for j in range(0, 400, 20)])
    assert Kernel.from_json(total.to_json()) == parse_kernel(repr(total)) == total
    assert len(total.leaves()) == 400


@pytest.mark.parametrize("base", [Kernel, Leaf, Network])
def test_base_classes_have_no_instances(base):
    with pytest.raises(InputError, match=f"{base.__name__} is a base class without values; use a kernel such as GNTK"):
        base()


def test_sum_and_product_of_the_same_kernels_have_different_hashes():
    assert hash(A + A) != hash(A * A)


def test_subtraction_and_division_do_not_exist():
    for combine in (lambda: A - B, lambda: A / B, lambda: -A, lambda: A / 2, lambda: A**2):
        with pytest.raises(TypeError):
            combine()


def test_stored_matrices_are_not_operands(tmp_path):
    pytest.importorskip("zarr")
    stored = gram(datasets.load("MUTAG").graphs[:3], A, store=tmp_path / "K.zarr")
    words = "a stored matrix is not a kernel; combine the kernels, and store the matrix of the result"
    for combine in (
        lambda: stored * stored, lambda: stored + stored, lambda: 2.0 * stored, lambda: stored * 2,
        lambda: stored + A, lambda: A + stored, lambda: A * stored,
    ):  # fmt: skip
        with pytest.raises(InputError, match=words):
            combine()


@pytest.mark.parametrize("kernel", [GNTK(2), GNTK(2).normalized() * WLOA(3), RBF("x") + 0.5 * NNGP(1)], ids=repr)
def test_pickles_do_not_depend_on_cached_properties(kernel):
    """Otherwise fitting changes the hash of a parameter, which scikit-learn's checks refuse."""
    before = pickle.dumps(kernel)
    assert [leaf.depth for leaf in kernel.leaves()]
    assert pickle.dumps(kernel) == before
    again = pickle.loads(before)
    assert (again, again._nesting) == (kernel, kernel._nesting)
