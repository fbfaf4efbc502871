"""The compiled loops: what the vector operations do, that they are vectors, and that they run without the compiler."""

from __future__ import annotations

import importlib.util
import os
import platform
import re
import subprocess
import sys
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from fastgntk import GNTK, NNGP, Compute, datasets, gram
from fastgntk.engines import kappa0, kappa1
from fastgntk.engines._simd import _intrinsics
from fastgntk.engines._simd._intrinsics import LAM, LAM_THETA, LANES, layer_nanoseconds
from fastgntk.engines._simd._jit import compiled
from fastgntk.engines._simd._layer import layer_in_numpy
from fastgntk.engines._simd._polynomials import POLYNOMIALS, SIGNED, choose_polynomials

EPS = float(np.finfo(np.float64).eps)


@compiled
def call(name, out, at, base, first, stride, index, weight, start, stop):
    if name == 0:
        _intrinsics.sum_rows(LAM_THETA, out, at, base, first, stride, index, weight, start, stop)
    elif name == 1:
        _intrinsics.sum_rows_of_one(LAM_THETA, out, at, base, first, stride, index, weight, start, stop)
    elif name == 2:
        _intrinsics.sum_rows(LAM, out, at, base, first, stride, index, weight, start, stop)
    elif name == 3:
        _intrinsics.sum_rows_of_one(LAM, out, at, base, first, stride, index, weight, start, stop)
    else:
        _intrinsics.add_rows(out, at, base, first, stride, index, weight, start, stop)


@compiled
def layer(out, at):
    _intrinsics.apply_layer(out, at, out, at + LANES, None, SIGNED)


@compiled
def layer_of_lam(out, at):
    _intrinsics.apply_layer(out, at, None, 0, None, SIGNED)


@compiled
def layer_of_activation(out, at, linear, polynomial):
    _intrinsics.apply_layer(out, at, out, at + LANES, linear, polynomial)


@compiled
def layer_above(out, at, polynomial):
    _intrinsics.apply_layer(out, at, out, at + LANES, None, polynomial)


@compiled
def turn(source, s, s_stride, out, o, o_stride):
    _intrinsics.transpose4(source, s, s_stride, out, o, o_stride)


@pytest.mark.parametrize("terms", [0, 1, 3, 9])
@pytest.mark.parametrize(
    ("name", "width", "copies"), [(0, 2 * LANES, 1), (1, LANES, 2), (2, LANES, 1), (3, LANES, 1), (4, LANES, 1)]
)
def test_row_operations_sum_weighted_rows(name, width, copies, terms):
    rng = np.random.default_rng(terms)
    base, stride, first, at = rng.random(40 * width), width + 3, 5, 7
    index, weight = rng.integers(0, 30, terms + 4).astype(np.int32), rng.standard_normal(terms + 4)
    out = rng.random(400)
    expected = out.copy()
    total = np.zeros(width)
    for k in range(2, 2 + terms):
        row = first + int(index[k]) * stride
        total += weight[k] * base[row : row + width]
    where = slice(at, at + copies * width)
    expected[where] = np.tile(total, copies) + (expected[where] if name == 4 else 0.0)
    call(name, out, at, base, first, stride, index, weight, 2, 2 + terms)
    np.testing.assert_allclose(out, expected, rtol=1e-14, atol=1e-14)


def test_compiled_layer_numpy_layer_and_definition_agree():
    lam = np.concatenate([np.linspace(-1, 1, 1001), [1 - 1e-9, 1 - 1e-13, -1 + 1e-12, 0.0, -0.0, 1e-300]])
    lam = np.resize(lam, -(-len(lam) // LANES) * LANES)
    theta = np.random.default_rng(0).standard_normal(len(lam))
    one, two = lam.copy(), theta.copy()
    layer_in_numpy(one, two)
    for start in range(0, len(lam), LANES):
        part = slice(start, start + LANES)
        pair = np.concatenate([[0.0], lam[part], theta[part], [0.0]])
        layer(pair, 1)
        assert pair[0] == pair[-1] == 0.0
        alone = np.concatenate([[0.0], lam[part], [0.0]])
        layer_of_lam(alone, 1)
        np.testing.assert_allclose(alone[1:-1], kappa1(lam[part]), rtol=0, atol=4 * EPS)
        assert alone[0] == alone[-1] == 0.0
        np.testing.assert_allclose(pair[1 : LANES + 1], kappa1(lam[part]), rtol=0, atol=4 * EPS)
        expected = theta[part] * kappa0(lam[part]) + kappa1(lam[part])
        np.testing.assert_allclose(pair[LANES + 1 : -1], expected, rtol=0, atol=20 * EPS)
        np.testing.assert_allclose(pair[1 : LANES + 1], one[part], rtol=0, atol=4 * EPS)
        np.testing.assert_allclose(pair[LANES + 1 : -1], two[part], rtol=0, atol=20 * EPS)


@pytest.mark.parametrize("linear", [0.4, -1.0, 1.0])
def test_layer_of_other_activations(linear):
    lam = np.concatenate(
        [np.linspace(-1, 1, LANES - 4), np.array([1, -1, 1, -1]) * (1.0 + np.array([5, 5, -5, -5]) * EPS)]
    )
    theta = np.random.default_rng(0).standard_normal(LANES)
    pair, one, two = np.concatenate([lam, theta]), lam.copy(), theta.copy()
    layer_of_activation(pair, 0, linear, SIGNED)
    layer_in_numpy(one, two, linear)
    exact = np.where(np.abs(lam) > 1 - 8 * EPS, np.sign(lam), lam)
    for found_lam, found_theta in ((pair[:LANES], pair[LANES:]), (one, two)):
        np.testing.assert_allclose(found_lam, kappa1(exact, linear), rtol=0, atol=4 * EPS)
        expected = theta * kappa0(exact, linear) + kappa1(exact, linear)
        np.testing.assert_allclose(found_theta, expected, rtol=0, atol=20 * EPS)


@pytest.mark.parametrize("index", range(len(POLYNOMIALS)))
@pytest.mark.parametrize("linear", [None, 0.4, -1.0])
def test_polynomials_are_exact_on_their_interval(index, linear):
    lowest = POLYNOMIALS[index].lowest
    lam = np.append(np.linspace(lowest, 1.0, 40 * LANES - 2), [1 - 1e-9, 1 - 1e-13])
    theta = np.random.default_rng(0).standard_normal(len(lam))
    for start in range(0, len(lam), LANES):
        part = slice(start, start + LANES)
        pair = np.concatenate([lam[part], theta[part]])
        if linear is None:
            layer_above(pair, 0, index)
        else:
            layer_of_activation(pair, 0, linear, index)
        np.testing.assert_allclose(pair[:LANES], kappa1(lam[part], linear or 0.0), rtol=0, atol=4 * EPS)
        expected = theta[part] * kappa0(lam[part], linear or 0.0) + kappa1(lam[part], linear or 0.0)
        np.testing.assert_allclose(pair[LANES:], expected, rtol=0, atol=20 * EPS)


def test_values_below_the_interval_of_a_polynomial_stay_finite():
    """Colours of norm 0 have λ = 0, and unused entries of a panel any value."""
    for index in range(len(POLYNOMIALS)):
        pair = np.resize([0.0, -5.0, 5.0, 1e300], 2 * LANES)
        layer_above(pair, 0, index)
        assert (pair[:LANES] >= 0.0).all()
        assert (pair[:LANES] <= 1.0).all()


@pytest.mark.parametrize("linear", [0.0, 0.385, -1.0, 1.0])
def test_chosen_polynomials_cover_all_cosines(linear):
    """The bound of docs/math.md, with nodes that are as different as features and weights allow."""
    blocks, layers = 5, 2
    chosen = choose_polynomials(blocks, layers, linear, True)
    rng = np.random.default_rng(0)
    smallest = np.full(chosen.shape, np.inf)
    for _ in range(20):
        cosines = np.eye(12)  # orthogonal features
        for block in range(blocks):
            weights = rng.random((12, 12)) * (rng.random((12, 12)) < 0.2) + np.eye(12)
            cosines = weights @ cosines @ weights.T
            cosines /= np.sqrt(np.outer(cosines.diagonal(), cosines.diagonal()))
            for layer_index in range(layers):
                smallest[block, layer_index] = min(smallest[block, layer_index], cosines.min())
                cosines = kappa1(cosines, linear)
    lowest = np.array([polynomial.lowest for polynomial in POLYNOMIALS])[chosen]
    assert (lowest <= smallest + 1e-12).all()
    if linear == 0.0:
        assert lowest.max() > 0.8
    assert (choose_polynomials(blocks, layers, linear, False) == SIGNED).all()


def test_polynomials_are_those_of_the_tool():
    path = Path(__file__).resolve().parents[2] / "tools" / "layer_polynomials.py"
    specification = importlib.util.spec_from_file_location("layer_polynomials", path)
    tool = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(tool)
    assert [Fraction(text) for text in tool.LOWEST] == [Fraction(str(p.lowest)) for p in POLYNOMIALS]
    coefficients, error = tool.approximate(Fraction(tool.LOWEST[-1]))
    assert tuple(coefficients) == POLYNOMIALS[-1].coefficients
    assert error < tool.TOLERANCE


def test_lambda_within_rounding_of_one_counts_as_one():
    for sign, polynomial in [(1.0, SIGNED), (-1.0, SIGNED), *((1.0, i) for i in range(len(POLYNOMIALS)))]:
        noisy = sign * (1.0 + np.linspace(-6, 6, LANES) * EPS)
        pair = np.concatenate([noisy, np.ones(LANES)])
        layer_above(pair, 0, polynomial)
        assert set(pair[:LANES].tolist()) == {1.0 if sign > 0 else 0.0}
        assert set(pair[LANES:].tolist()) == {2.0 if sign > 0 else 0.0}
        plain, theta = noisy.copy(), np.ones(LANES)
        layer_in_numpy(plain, theta)
        np.testing.assert_allclose(plain, pair[:LANES], atol=EPS)
        np.testing.assert_allclose(theta, pair[LANES:], atol=EPS)


def test_transpose4_transposes_four_by_four():
    source = np.arange(200.0)
    out = np.zeros(200)
    turn(source, 3, 20, out, 5, 11)
    expected = np.zeros(200)
    for i in range(4):
        for j in range(4):
            expected[5 + 11 * j + i] = source[3 + 20 * i + j]
    assert np.array_equal(out, expected)


def test_operations_agree_with_the_jit_off():
    rng = np.random.default_rng(1)
    base, index, weight = rng.random(2000), rng.integers(0, 9, 6).astype(np.int32), rng.standard_normal(6)
    kinds = [(2 * LANES, 1, False), (LANES, 2, False), (LANES, 1, False), (LANES, 1, False), (LANES, 1, True)]
    for name, kind in enumerate(kinds):
        one = rng.random(300)
        two = one.copy()
        call(name, one, 4, base, 1, 70, index, weight, 1, 6)
        _intrinsics._row_operation_in_numpy(*kind, two, 4, base, 1, 70, index, weight, 1, 6)
        np.testing.assert_allclose(one, two, rtol=1e-14)
    one = rng.random(2 * LANES)
    two = one.copy()
    layer(one, 0)
    _intrinsics._apply_layer_in_numpy(two, 0, two, LANES, None, SIGNED)
    np.testing.assert_allclose(one, two, atol=20 * EPS)
    one, two = np.zeros(100), np.zeros(100)
    turn(base, 3, 20, one, 5, 11)
    _intrinsics._transpose4_in_numpy(base, 3, 20, two, 5, 11)
    assert np.array_equal(one, two)


def test_a_layer_is_measured_in_nanoseconds():
    assert 0.01 < layer_nanoseconds() < 100


@pytest.fixture(scope="module")
def assembly(tmp_path_factory):
    """The machine code of the tile loop, compiled anew: numba shows none of what it loads from its cache."""
    folder = tmp_path_factory.mktemp("assembly")
    program = (
        "import sys, pathlib, fastgntk as fg\n"
        "fg.gram(fg.datasets.load('MUTAG').graphs[:3], fg.GNTK(2, 1), compute=fg.Compute('lossless'))\n"
        "from fastgntk.engines._simd._tile import compute_tile\n"
        "pathlib.Path(sys.argv[1]).write_text(next(iter(compute_tile.inspect_asm().values())))"
    )
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(folder / "cache")}
    subprocess.run([sys.executable, "-c", program, str(folder / "tile.s")], env=environment, timeout=300, check=True)
    return (folder / "tile.s").read_text()


@pytest.mark.slow
def test_the_tile_loop_is_vectorised(assembly):
    machine = platform.machine().lower()
    if machine in ("x86_64", "amd64"):
        packed, scalar = r"\bv?sqrtpd\b", r"\bv?sqrtsd\b"
        multiply = r"\bv?(fmadd\w*|mul)pd\b"
    elif machine in ("arm64", "aarch64"):
        packed, scalar = r"fsqrt(\.2d|\s+v)", r"fsqrt\s+d"
        multiply = r"(fmla|fmul)(\.2d|\s+v)"
    else:
        pytest.skip(f"what packed instructions look like on {machine} is not known here")
    assert len(re.findall(packed, assembly)) >= 1
    assert not re.findall(scalar, assembly)
    assert len(re.findall(multiply, assembly)) > 50


@pytest.mark.slow
def test_the_tile_loop_allocates_nothing(assembly):
    assert not re.findall(r"NRT_\w*alloc\w*", assembly, re.IGNORECASE)


@pytest.mark.slow
def test_engines_run_with_the_jit_off():
    program = (
        "import numpy as np, fastgntk as fg\n"
        "from fastgntk.engines._simd import _tile\n"
        "assert type(_tile.compute_tile).__name__ == 'function'\n"
        "how = fg.Compute('lossless', n_jobs=1)\n"
        "kernels = [fg.GNTK(2, 2), fg.NNGP(2, 2), fg.GNTK(2, 2, activation='abs')]\n"
        "print([fg.gram(fg.datasets.load('MUTAG').graphs[:4], k, compute=how).ravel().tolist() for k in kernels])"
    )
    done = subprocess.run(
        [sys.executable, "-c", program],
        env={**os.environ, "NUMBA_DISABLE_JIT": "1"}, capture_output=True, text=True, timeout=300, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    graphs, how = datasets.load("MUTAG").graphs[:4], Compute(engine="lossless")
    for values, kernel in zip(eval(done.stdout), [GNTK(2, 2), NNGP(2, 2), GNTK(2, 2, activation="abs")], strict=True):
        np.testing.assert_allclose(values, gram(graphs, kernel, compute=how).ravel(), rtol=1e-8)


@pytest.mark.slow
def test_second_process_loads_the_cache_instead_of_compiling():
    gram(datasets.load("MUTAG").graphs[:4], compute=Compute(engine="lossless"))  # compiles unless that was done
    program = (
        "import fastgntk as fg\n"
        "fg.gram(fg.datasets.load('MUTAG').graphs[:4], compute=fg.Compute('lossless'))\n"
        "from fastgntk.engines._simd._tile import compute_tile\n"
        "print(sum(compute_tile.stats.cache_hits.values()), sum(compute_tile.stats.cache_misses.values()))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=300, check=True)
    assert done.stdout.split() == ["1", "0"]


@pytest.mark.slow
def test_change_in_any_file_invalidates_the_cache(tmp_path):
    import shutil

    import fastgntk

    package = tmp_path / "fastgntk"
    ignored = shutil.ignore_patterns("__pycache__")
    shutil.copytree(os.path.dirname(fastgntk.__file__), package, ignore=ignored)  # noqa: PTH120
    program = (
        "import fastgntk as fg; from fastgntk.engines._simd._intrinsics import _repeat_layer; import numpy as np\n"
        "x = np.full(1024, 0.5); _repeat_layer(x, 1, 1, -1); print(x[0])"
    )
    environment = {**os.environ, "PYTHONPATH": str(tmp_path), "NUMBA_CACHE_DIR": str(tmp_path / "cache")}

    def run():
        done = subprocess.run(
            [sys.executable, "-c", program], env=environment, capture_output=True, text=True, timeout=120, check=True
        )
        return float(done.stdout)

    assert run() == run() == pytest.approx(kappa1(0.5))
    layer_file = package / "engines" / "_simd" / "_layer.py"
    layer_file.write_text(layer_file.read_text().replace("constant(1.0 / math.pi)", "constant(2.0 / math.pi)"))
    assert run() > kappa1(0.5) + 0.1


def test_cache_of_another_version_is_replaced(tmp_path, monkeypatch):
    import pickle

    from numba.core import config

    from fastgntk.engines._simd import _jit

    monkeypatch.setattr(config, "CACHE_DIR", str(tmp_path))

    def add_one(x):
        return x + 1

    monkeypatch.setattr(_jit, "_DIGEST", "of another version")
    other = _jit.compiled(add_one)
    assert other(2) == 3
    [index] = tmp_path.rglob("*.nbi")
    index.write_bytes(pickle.dumps(other._cache._cache_file._version) + b"\x80\x04cno_such_module\nno_such_class\n.")
    monkeypatch.undo()
    monkeypatch.setattr(config, "CACHE_DIR", str(tmp_path))
    compiled, loaded = _jit.compiled(add_one), _jit.compiled(add_one)
    assert (compiled(2), loaded(2)) == (3, 3)
    assert (compiled.stats.cache_hits, loaded.stats.cache_hits) == ({}, {loaded.signatures[0]: 1})


def test_unwritable_cache_is_logged_and_code_still_runs(monkeypatch, caplog):
    import logging

    from fastgntk.engines._simd import _jit

    def nowhere(function):
        raise RuntimeError("cannot cache function: no locator available")

    monkeypatch.setattr(_jit, "_Cache", nowhere)
    with caplog.at_level(logging.INFO, logger="fastgntk"):
        assert _jit.compiled(lambda x: x + 1)(2) == 3
    assert "cannot cache compiled code on disk" in caplog.text
