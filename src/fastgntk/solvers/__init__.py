"""Kernel ridge regression and Gaussian processes on plain arrays, without any graphs.

For a kernel matrix K (n, n), targets Y (n, k) that are centred and scaled, a ridge ρ ≥ 0 in the units of K and weights
w (n,) above 0, every solver looks for the f that minimises

    Σ_i w_i (y_i − f(x_i))² + ρ ‖f‖²,        f(x) = Σ_i α_i k(x, x_i),        A α = Y,        A = K + ρ W⁻¹.

Equivalently, f is the posterior mean of a Gaussian process in which y has covariance s² A; s² = yᵀ A⁻¹ y / n maximises
the likelihood for each target. All variances here are in units of s².

========================  ==========================================================================================
``_solve``                :func:`solve`: check input and call a solver; :func:`choose_solver`: the choice and its reason
``_options``              :class:`SolverOptions`: rank, seed and accuracy of the approximate solvers
``_problem``              :class:`KernelSource`, :class:`MatrixSource`: kernel values; :class:`Problem`; jitter
``_solution``             :class:`Solution`: coefficients, leave-one-out, likelihood, variance; arrays that can be saved
``_cholesky``             exact, 2/3 n³: the best choice if K fits into memory twice
``_eigen``                exact, 6 to 11 times Cholesky once, then n² for each ridge: :class:`EigenPath`, to choose it
``_leave_one_out``        leave-one-out without some rows, such as the test part of a split, from one inverse
``_low_rank``             ``nystrom``: m columns of K, O(n m²); ``sketched``: K Sᵀ with a random matrix S, from all
                          columns of K, of which only m combinations are stored; :func:`regress_on_features`:
                          m given features in blocks, without kernel values
``_conjugate_gradients``  exact up to a tolerance, n² for each step; needs memory for K only once
========================  ==========================================================================================

To add a solver: a file with a function from :class:`Problem` to :class:`Solution`, and a row in ``SOLVERS`` of
``_solve``; the tests that compare solvers then run on it. Figures: ``benchmarks/solvers.py``.
"""

from fastgntk.solvers._eigen import (
    ChooseRidge,
    Criterion,
    EigenPath,
    choose_ridge_by_error_rate,
    choose_ridge_by_squared_error,
)
from fastgntk.solvers._leave_one_out import leave_one_out_without
from fastgntk.solvers._low_rank import FeatureSource, regress_on_features
from fastgntk.solvers._options import SolverOptions, default_rank
from fastgntk.solvers._problem import KernelSource, MatrixSource, as_ridge, as_weights
from fastgntk.solvers._solution import Solution
from fastgntk.solvers._solve import SOLVER_NAMES, SOLVERS, SolverChoice, choose_solver, solve

__all__ = ["ChooseRidge", "Criterion", "EigenPath", "choose_ridge_by_error_rate", "choose_ridge_by_squared_error"]
__all__ += ["leave_one_out_without"]
__all__ += ["FeatureSource", "regress_on_features"]
__all__ += ["KernelSource", "MatrixSource", "as_ridge", "as_weights", "Solution"]
__all__ += ["SOLVERS", "SOLVER_NAMES", "SolverChoice", "SolverOptions", "choose_solver", "default_rank", "solve"]
