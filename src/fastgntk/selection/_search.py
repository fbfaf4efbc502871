"""Estimators that choose their kernel, and its regularisation, from the training graphs alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, get_args

import numpy as np

from fastgntk._util.arrays import Array, Ints
from fastgntk._util.checks import check_integer
from fastgntk._util.values import Value
from fastgntk.errors import InputError
from fastgntk.graphs import GraphBatch, as_graphs
from fastgntk.kernels import Kernel
from fastgntk.models import (
    ClassificationModel,
    GraphModel,
    RegressionModel,
    Targets,
    TrainingKernel,
    check_alphas,
    check_classes,
    check_sample_weight,
    check_solver_options,
    check_targets,
    class_signs,
    predicted_class,
    score_svms,
    spread_folds,
)
from fastgntk.pairwise import Compute, check_compute, choose_engine_for_reuse, prepare_batch, tangent_leaves
from fastgntk.selection._grid import Candidates, Grid, check_candidates, check_engine_of, passes_of
from fastgntk.selection._scoring import Comparison, Selected, fraction_of, subset
from fastgntk.solvers import Criterion, EigenPath, Score, misclassification, stable_ridge

__all__ = ["GraphClassifierCV", "GraphRegressorCV", "Search"]


_FINALISTS = 8
_MOST_FINALISTS = 80
_QUICK_SVMS = 300  # graphs up to which starting processes takes longer than what they do
_MOST_SVMS = 5000  # graphs past which SVMs are compared on a sample
_SVM_WORK = 20_000_000  # kernels times squared graphs whose SVMs take some twenty seconds on two cores


@dataclass(frozen=True, repr=False)
class Search(Value):
    """How kernels are compared.

    Parameters
    ----------
    depth : {"best", "mix"}
        One depth, or a mix: weights on the kernels of all levels, chosen by marginal likelihood.
    criterion : {"leave_one_out", "likelihood"}
        Of regression: leave-one-out error, or the marginal likelihood of the Gaussian process.
    screen : int
        How many graphs the first comparison uses.
    finalists : int, optional
        How many kernels the second comparison uses; by default 8, and for SVMs what some twenty seconds allow: 80
        up to 500 graphs, 20 of 1,000, at least 8. Leave-one-out of ridge regression alone is not the best judge of an
        SVM.
    """

    depth: str = "best"
    criterion: Criterion = "leave_one_out"
    screen: int = 500
    finalists: int | None = None

    def __post_init__(self) -> None:
        if self.depth not in ("best", "mix"):
            raise InputError(f"depth must be best or mix, but is {self.depth!r}.")
        if self.criterion not in get_args(Criterion):
            raise InputError(f"criterion must be one of {', '.join(get_args(Criterion))}, but is {self.criterion!r}.")
        check_integer("screen", self.screen, 1)
        if self.finalists is not None:
            check_integer("finalists", self.finalists, 1)


class _SearchModel(GraphModel):
    """What both searches share: candidates, and the table of scores."""

    kernels: Grid | Candidates | Sequence[Kernel] | None
    alphas: Sequence[float] | None
    search: Search
    compute: Compute

    best_params_: dict[str, Any]
    best_score_: float
    cv_results_: dict[str, list[Any]]
    single_depth_score_: float

    def _candidates(self, batch: GraphBatch, Y: Array, score: Score, weights: Array | None) -> list[Selected]:
        """Return the best kernels, best first, and keep the scores of all."""
        search, compute = _check_search(self.search), check_compute(self.compute)
        kernels, _ = check_candidates(self.kernels, Grid.full())
        mix = search.depth == "mix"
        check_engine_of(kernels, compute)
        alphas, how = check_alphas(self.alphas), self._settled(batch, kernels)
        comparison = Comparison(batch, Y, weights, alphas, score, search.screen, self._seed(), how)
        finalists = self._finalists(len(batch)) if search.finalists is None else search.finalists
        best, tried = comparison.select(kernels, finalists, fraction_of(compute.progress, 0.0, 0.5 if mix else 0.8))
        self.single_depth_score_ = min(one.score for one in tried)
        if mix:
            mixed = comparison.weigh_levels(tried, fraction_of(compute.progress, 0.5, 0.8))
            combined = [one for one in tried if len(one.kernel.leaves()) > 1 and one.score < mixed.score]
            best = [min(combined, key=lambda one: one.score, default=mixed)]
            tried = [*tried, mixed]
        self.cv_results_ = {
            "params": [{"kernel": one.kernel, "alpha": one.alpha} for one in tried],
            "score": [one.score for one in tried],
        }
        return best

    def _settled(self, batch: GraphBatch, kernels: Sequence[Kernel]) -> Compute:
        """Return how kernels are compared: exact ones all by one engine, which the model will use too.

        Engines agree to 1e-8. With a regularisation of 1e-8 that is not enough: what is chosen with one must be used
        with the same.
        """
        compute = check_compute(self.compute)
        exact = (leaf for kernel in kernels for leaf in tangent_leaves(kernel) if leaf.sketch is None)
        first = next(exact, None)
        if first is not None:
            compute = replace(compute, engine=choose_engine_for_reuse(compute.engine, batch, first))
        self._engine = compute.engine
        return compute

    def _finalists(self, n_graphs: int) -> int:  # noqa: ARG002  # a classifier's depends on it
        return _FINALISTS

    def _final_kernel(self, batch: GraphBatch, kernel: Kernel, progress: Any) -> TrainingKernel:
        """Return the kernel among all training graphs."""
        compute = check_compute(self.compute)
        if all(leaf.sketch is None for leaf in tangent_leaves(kernel)):  # by the engine of the comparison
            compute = replace(compute, engine=self._engine)
        training = TrainingKernel(prepare_batch(batch, kernel, compute), progress)
        self._start(training)
        return training


class GraphRegressorCV(RegressionModel, _SearchModel):
    """Regression with the kernel and alpha chosen by closed-form leave-one-out.

    Every kernel is compared on at most ``search.screen`` of the training graphs, each with every alpha from one
    eigendecomposition; the best ``search.finalists`` again on three times as many. Of alphas within 5 per cent of
    the least error, the one with the largest marginal likelihood is taken.

    Parameters
    ----------
    kernels : Grid, Candidates or sequence of Kernel, optional
        Kernels to try; by default blocks 1..10, layers 1..3, two scales, with and without jump and normalisation.
    alphas : sequence of float, optional
        By default powers of ten from 1e-8 to 10.
    search : Search
        Depth, criterion and sizes of the comparisons.
    solver, n_components, calibrate, random_state, compute
        As in :class:`GraphRegressor`.

    Attributes
    ----------
    best_params_ : dict
        Parameters of the :class:`GraphRegressor` that this is.
    best_score_ : float
        Its mean squared leave-one-out error over the variance of the targets (or minus its log likelihood).
    cv_results_ : dict
        ``"params"`` and ``"score"`` of every kernel in the first comparison.
    single_depth_score_ : float
        The best score of a single depth in the first comparison, to compare a mix with.

    Examples
    --------
    >>> import fastgntk as fg
    >>> graphs = fg.datasets.load("MUTAG").graphs[:60]
    >>> model = fg.GraphRegressorCV([fg.GNTK(1, 1), fg.GNTK(2, 1)]).fit(graphs, graphs.sizes)
    >>> model.best_score_ < 0.01, model.predict(graphs[:1]).shape
    (True, (1,))
    """

    def __init__(
        self,
        kernels: Grid | Candidates | Sequence[Kernel] | None = None,
        alphas: Sequence[float] | None = None,
        *,
        search: Search = Search(),
        solver: str = "auto",
        n_components: int | None = None,
        calibrate: bool = True,
        random_state: int = 0,
        compute: Compute = Compute(),
    ) -> None:
        self.kernels = kernels
        self.alphas = alphas
        self.search = search
        self.solver = solver
        self.n_components = n_components
        self.calibrate = calibrate
        self.random_state = random_state
        self.compute = compute

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> GraphRegressorCV:
        """Choose and learn from graphs X (n) and targets y, shape (n,) or (n, k)."""
        criterion = _check_search(self.search).criterion
        batch = as_graphs(X)
        values = check_targets(y, len(batch))
        weights = check_sample_weight(sample_weight, len(batch))

        def score(path: EigenPath, Y: Array, alphas: Sequence[float]) -> tuple[float, float]:
            if not Y.any():  # nothing varies, so nothing is better than anything else
                return alphas[0], 0.0
            if criterion == "leave_one_out":
                return stable_ridge(path, Y, alphas)
            scores = path.scores(Y, alphas, "likelihood")
            return alphas[int(scores.argmin())], float(scores.min())

        check_solver_options(self.solver, self.n_components)
        best = self._candidates(batch, Targets.from_y(values, weights).values, score, weights)[0]
        self.best_params_ = {"kernel": best.kernel, "alpha": best.alpha}
        self.best_score_ = best.score
        advance = fraction_of(self._progress(), 0.8, 1.0)
        kernel = self._final_kernel(batch, best.kernel, lambda done, total: advance(done / max(total, 1)))
        self._solve(kernel, values, weights, best.alpha)
        return self


class GraphClassifierCV(ClassificationModel, _SearchModel):
    """Classification with the kernel, and C or alpha, chosen on the training graphs.

    Kernels are compared by closed-form leave-one-out of ridge regression on the classes, on at most ``search.screen``
    of the graphs and then the best ``search.finalists`` on three times as many. For ``method="svm"`` these are compared
    once more, each with every C, by the accuracy of support vector machines over five folds.

    Parameters
    ----------
    kernels : Grid, Candidates or sequence of Kernel, optional
        Kernels and C to try; by default blocks 1..10, layers 1..3, two scales, with and without jump and normalisation,
        and C from 0.1 to 1,000.
    method : {"svm", "ridge"}
    alphas, search
        As in :class:`GraphRegressorCV`.
    class_weight, probability, solver, n_components, random_state, compute
        As in :class:`GraphClassifier`.

    Attributes
    ----------
    best_params_ : dict
        Parameters of the :class:`GraphClassifier` that this is.
    best_score_ : float
        Accuracy over the five folds, or for ``method="ridge"`` the share of graphs that leave-one-out gets right. Past
        5,000 graphs SVMs are compared on ``search.screen`` of them.
    cv_results_ : dict
        ``"params"`` and ``"score"`` of every kernel in the first comparison: the share of graphs that leave-one-out of
        ridge regression gets wrong (plus less than one graph, by the squared error). The smaller, the better.
    single_depth_score_ : float
        The best of these scores among kernels of a single depth.

    Examples
    --------
    >>> import fastgntk as fg
    >>> data = fg.datasets.load("MUTAG")
    >>> small = fg.selection.Grid(blocks=(1, 2), layers=(1,), scale=("uniform",), C=(10.0, 100.0))
    >>> model = fg.GraphClassifierCV(small).fit(data.graphs[:150], data.y[:150])
    >>> model.best_score_ > 0.8, model.predict_proba(data.graphs[150:]).shape
    (True, (38, 2))
    """

    def __init__(
        self,
        kernels: Grid | Candidates | Sequence[Kernel] | None = None,
        method: str = "svm",
        *,
        alphas: Sequence[float] | None = None,
        search: Search = Search(),
        class_weight: str | None = None,
        probability: bool = True,
        solver: str = "auto",
        n_components: int | None = None,
        random_state: int = 0,
        compute: Compute = Compute(),
    ) -> None:
        self.kernels = kernels
        self.method = method
        self.alphas = alphas
        self.search = search
        self.class_weight = class_weight
        self.probability = probability
        self.solver = solver
        self.n_components = n_components
        self.random_state = random_state
        self.compute = compute

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> GraphClassifierCV:
        """Choose and learn from graphs X (n) and their classes y (n,); weights are for ``method="ridge"``."""
        self._check_options(sample_weight)
        batch = as_graphs(X)
        self._check_room(len(batch), check_compute(self.compute))
        labels = check_classes(y, len(batch))
        weights = check_sample_weight(sample_weight, len(batch))
        classes, numbers = np.unique(labels, return_inverse=True)
        counted = self._ridge_weights(numbers, weights) if self.method == "ridge" else None
        best = self._candidates(batch, class_signs(numbers, len(classes)), misclassification, counted)
        one, C, accuracy = best[0], 10.0, float("nan")
        if self.method == "svm":
            one, C, accuracy = self._compare_svms(batch, numbers, best)
        self.best_params_ = {"kernel": one.kernel, "method": self.method}
        self.best_params_ |= {"C": C} if self.method == "svm" else {"alpha": one.alpha}
        kernel = self._final_kernel(batch, one.kernel, None)
        self._solve(kernel, labels, weights, C, one.alpha)
        if self.method == "ridge":
            assert self.out_of_fold_ is not None  # in closed form, whether probabilities are wanted or not
            accuracy = float(np.mean(predicted_class(self.out_of_fold_) == numbers))
        self.best_score_ = accuracy
        fraction_of(self._progress(), 0.0, 1.0)(1.0)
        return self

    def _finalists(self, n_graphs: int) -> int:
        if self.method == "ridge":
            return _FINALISTS
        return int(np.clip(_SVM_WORK // n_graphs**2, _FINALISTS, _MOST_FINALISTS))

    def _compare_svms(
        self, batch: GraphBatch, classes: Ints, finalists: list[Selected]
    ) -> tuple[Selected, float, float]:
        """Return the best kernel, its best C, and their accuracy over folds; of equals the first."""
        from joblib import Parallel, delayed

        _, Cs = check_candidates(self.kernels, Grid.full())
        if len(classes) > _MOST_SVMS:  # SVMs of all graphs, for every kernel and C, would take hours
            some = subset(len(classes), classes[:, None].astype(np.float64), self.search.screen, self._seed())
            batch, classes = batch[some], np.unique(classes[some], return_inverse=True)[1]
        splits = spread_folds(classes, self._seed())
        signs = class_signs(classes, int(classes.max()) + 1)
        balanced = self.class_weight == "balanced"
        advance = fraction_of(self._progress(), 0.8, 0.99)
        kernels = [one.kernel for one in finalists]
        compute = replace(check_compute(self.compute), engine=self._engine, progress=None)
        scores = np.zeros((len(finalists), len(Cs)))
        done = 0
        # Processes, where they pay: what scikit-learn does around libsvm holds the interpreter lock.
        jobs = compute.threads if len(classes) > _QUICK_SVMS else 1
        with Parallel(n_jobs=jobs, return_as="generator") as parallel:
            for one in passes_of(kernels):
                levels = one.compute(batch, compute)
                matrices = (levels.gram(kernels[place]) for place in one.places)
                tasks = (delayed(score_svms)(K, signs, classes, splits, Cs, balanced=balanced) for K in matrices)
                for i, accuracies in zip(one.places, parallel(tasks), strict=True):
                    scores[i] = accuracies
                    done += 1
                    advance(done / len(finalists))
        best = int(scores.argmax())
        return finalists[best // len(Cs)], Cs[best % len(Cs)], float(scores.max())


def _check_search(search: Any) -> Search:
    if not isinstance(search, Search):
        raise InputError(f"search must be a Search, such as Search(depth='mix'), but is a {type(search).__name__}.")
    return search
