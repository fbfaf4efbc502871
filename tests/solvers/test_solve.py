"""What holds for every solver, what they refuse, and saving."""

from __future__ import annotations

import json

import numpy as np
import pytest
from tests.solvers.cases import CANCELLED, CG_TOLERANCE, ITERATED, RIDGE, SOLVED, case

from fastgntk import InputError
from fastgntk.solvers import SOLVERS, MatrixSource, Solution, SolverOptions, default_rank, solve

pytestmark = pytest.mark.usefixtures("one_blas_thread")

NAMES = list(SOLVERS)


def run(solver, problem, Y, random_state=0, progress=None):
    options = SolverOptions(rank=15, random_state=random_state, tolerance=CG_TOLERANCE)
    return solve(problem.source, Y, RIDGE, solver=solver, options=options, progress=progress)


@pytest.mark.parametrize("solver", NAMES)
def test_several_targets_are_each_alone(solver):
    problem = case()
    together = run(solver, problem, problem.Y)
    for j in range(3):
        alone = run(solver, problem, problem.Y[:, j])
        ITERATED.check(together.coefficients[:, j], alone.coefficients[:, 0])
        ITERATED.check(together.leave_one_out[:, j], alone.leave_one_out[:, 0])
        ITERATED.check(together.scale2[j], alone.scale2[0])
        np.testing.assert_allclose(
            together.log_marginal_likelihood[j], alone.log_marginal_likelihood[0], rtol=SOLVED.relative
        )


@pytest.mark.parametrize("solver", NAMES)
def test_whole_weights_are_rows_given_several_times(solver):
    problem = case(15)
    times = np.arange(15) % 3 + 1
    again = np.repeat(np.arange(15), times)
    options = {"solver": solver, "options": SolverOptions(rank=100, tolerance=CG_TOLERANCE)}
    weighted = solve(problem.source, problem.Y, RIDGE, weights=times, **options)
    repeated = solve(MatrixSource(problem.K[np.ix_(again, again)]), problem.Y[again], RIDGE, **options)
    few, many = problem.cross[:, weighted.basis_indices], problem.cross[:, again[repeated.basis_indices]]
    ITERATED.check(weighted.predict(few), repeated.predict(many))
    CANCELLED.check(weighted.variance(few, problem.diagonal), repeated.variance(many, problem.diagonal))


@pytest.mark.parametrize("solver", NAMES)
def test_variance_is_never_negative_and_small_where_something_was_seen(solver):
    problem = case()
    found = solve(problem.source, problem.Y, 1e-9, solver=solver, options=SolverOptions(rank=40, tolerance=1e-4))
    seen = found.variance(problem.K[:, found.basis_indices], np.diagonal(problem.K))
    assert (seen >= 0.0).all()
    assert seen.max() < 1e-5
    # A diagonal that is too small for its row, as by rounding, must not give a negative variance either.
    assert (found.variance(problem.K[:, found.basis_indices], 0.999 * np.diagonal(problem.K)) >= 0.0).all()
    unseen = found.variance(np.zeros((2, len(found.basis_indices))), [1.5, 2.5])
    assert unseen.tolist() == [1.5, 2.5]


@pytest.mark.parametrize("solver", NAMES)
def test_one_graph_is_enough(solver):
    found = solve(MatrixSource([[2.0]]), [3.0], 1.0, solver=solver)
    assert found.coefficients.tolist() == [[pytest.approx(1.0)]]
    assert found.leave_one_out[0, 0] == pytest.approx(3.0)
    assert found.leave_one_out_variance[0] == pytest.approx(3.0)
    assert found.variance([[2.0]], [2.0])[0] == pytest.approx(2.0 - 4.0 / 3.0)


@pytest.mark.parametrize("solver", NAMES)
def test_a_target_of_zeros_is_infinitely_likely(solver):
    problem = case()
    found = run(solver, problem, np.zeros(len(problem.K)))
    assert not found.coefficients.any()
    assert found.scale2.tolist() == [0.0]
    assert found.log_marginal_likelihood[0] == np.inf or solver == "cg"


@pytest.mark.parametrize("solver", NAMES)
def test_what_is_saved_comes_back(solver, tmp_path):
    problem = case()
    found = run(solver, problem, problem.Y)
    arrays, numbers = found.to_arrays()
    for name, array in arrays.items():
        np.save(tmp_path / f"{name}.npy", array, allow_pickle=False)
    loaded = {name: np.load(tmp_path / f"{name}.npy", allow_pickle=False) for name in arrays}
    back = Solution.from_arrays(loaded, json.loads(json.dumps(numbers)))
    cross = problem.cross[:, found.basis_indices]
    assert np.array_equal(back.predict(cross), found.predict(cross))
    assert np.array_equal(back.variance(cross, problem.diagonal), found.variance(cross, problem.diagonal))
    for name in arrays:
        assert getattr(back, name).dtype == getattr(found, name).dtype
        assert np.array_equal(getattr(back, name), getattr(found, name), equal_nan=True)
    assert {name: getattr(back, name) for name in numbers} == numbers
    assert numbers["solver"] == solver
    with pytest.raises(InputError, match="coefficients is missing or unknown"):
        Solution.from_arrays({n: a for n, a in loaded.items() if n != "coefficients"}, numbers)


@pytest.mark.parametrize("solver", NAMES)
def test_a_factor_in_the_order_of_c_gives_the_same_variance(solver):
    problem = case()
    arrays, numbers = run(solver, problem, problem.Y).to_arrays()
    back = Solution.from_arrays({name: np.ascontiguousarray(a) for name, a in arrays.items()}, numbers)
    cross = problem.cross[:, back.basis_indices]
    SOLVED.check(
        back.variance(cross, problem.diagonal), run(solver, problem, problem.Y).variance(cross, problem.diagonal)
    )


@pytest.mark.parametrize("solver", NAMES)
def test_progress_rises_and_ends_at_all(solver):
    problem = case(200)
    calls = []
    run(solver, problem, problem.Y, progress=lambda done, total: calls.append(done / total))
    assert calls[-1] == 1.0
    assert calls == sorted(calls)
    assert calls[0] >= 0.0
    assert len(calls) >= 2


def test_results_depend_on_the_seed_only_where_solvers_draw():
    problem = case()
    for solver in ("nystrom", "sketched"):
        first, same, other = (run(solver, problem, problem.Y, random_state=seed) for seed in (1, 1, 2))
        assert np.array_equal(first.coefficients, same.coefficients)
        assert not np.array_equal(first.leave_one_out, other.leave_one_out)


def test_default_rank_is_what_is_taken():
    problem = case(130)
    assert solve(problem.source, problem.Y, RIDGE, solver="nystrom").coefficients.shape[0] == default_rank(130) == 115


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"solver": "lu"}, "solver must be one of cholesky, eigen, nystrom, sketched, cg, but is 'lu'"),
        ({"ridge": -1.0}, "ridge must be a number, 0 or more, but is -1.0"),
        ({"ridge": float("nan")}, "ridge must be a number"),
        ({"ridge": "1"}, "ridge must be a number"),
        ({"Y": np.zeros(3)}, r"one row for each of the 40 graphs .* shape \(3,\)"),
        ({"Y": np.zeros((40, 0))}, "at least one column"),
        ({"Y": np.r_[np.zeros(7), np.nan, np.zeros(31), np.inf]}, "2 of 40 targets .* first at index 7"),
        ({"weights": np.ones(3)}, r"weights must have shape \(40,\), one weight for each graph"),
        ({"weights": np.r_[np.ones(39), 0.0]}, "is not for graph 39; leave them out"),
        (
            {"options": {"rank": 3}},
            r"options must be SolverOptions, such as SolverOptions\(rank=200\), but has type dict",
        ),
    ],
)
def test_what_cannot_be_solved_is_refused(change, message):
    problem = case()
    arguments = {"Y": problem.Y, "ridge": RIDGE} | change
    with pytest.raises(InputError, match=message):
        solve(problem.source, **arguments)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"sketch": "x"}, "sketch must be one of ams, gaussian"),
        ({"rank": 0}, "rank must be an integer, 1 or more, but is 0"),
        ({"rank": 2.5}, "rank must be an integer"),
        ({"random_state": -1}, "random_state must be an integer, 0 or more"),
        ({"tolerance": 0.0}, "tolerance must be a number between 0 and 1"),
        ({"max_iterations": 0}, "max_iterations must be an integer, 1 or more"),
    ],
)
def test_invalid_solver_options_are_refused(options, message):
    with pytest.raises(InputError, match=message):
        SolverOptions(**options)


@pytest.mark.parametrize(
    ("K", "message"),
    [
        (np.zeros((2, 3)), r"must be square, but has shape \(2, 3\)"),
        (np.array([[1.0, 0.0], [np.nan, 1.0]]), "nan in row 1, column 0"),
        (np.array([[1.0, 0.5], [0.4, 1.0]]), r"K\[0, 1\] and K\[1, 0\] are 1\.0e-01 apart"),
    ],
)
def test_a_matrix_that_is_no_kernel_is_refused(K, message):
    with pytest.raises(InputError, match=message):
        MatrixSource(K)


def test_no_graphs_is_refused():
    with pytest.raises(InputError, match="no graphs"):
        solve(MatrixSource(np.zeros((0, 0))), np.zeros((0, 1)), 1.0)


def test_a_cross_matrix_of_the_wrong_shape_is_refused():
    problem = case()
    found = run("nystrom", problem, problem.Y)
    with pytest.raises(InputError, match="a column for each of the 15 graphs of the basis"):
        found.predict(problem.cross)
    with pytest.raises(InputError, match="one value for each of 12 graphs"):
        found.variance(problem.cross[:, found.basis_indices], problem.diagonal[:3])
