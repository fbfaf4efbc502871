"""Estimators that choose their kernel, and its regularisation, from the training graphs alone."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Self, get_args

import numpy as np

from fastgntk import models
from fastgntk._util.arrays import Array, Ints
from fastgntk._util.checks import check_integer
from fastgntk._util.threads import Progress
from fastgntk._util.values import Value
from fastgntk.errors import InputError
from fastgntk.graphs import GraphBatch, as_graphs
from fastgntk.kernels import Kernel, Network
from fastgntk.models import ClassificationModel, GraphModel, RegressionModel, Targets, TrainingKernel
from fastgntk.pairwise import Compute, check_compute, choose_engine_for_reuse, prepare_batch
from fastgntk.selection._comparison import Comparison, KernelLoss, is_single, scale_progress, subset
from fastgntk.selection._fold_grams import FoldGrams, map_folds
from fastgntk.selection._grid import Candidates, Grid, check_candidates, check_sketches, svm_processes
from fastgntk.selection._score_kernels import score_kernels
from fastgntk.solvers import (
    ChooseRidge,
    Criterion,
    EigenPath,
    choose_ridge_by_error_rate,
    choose_ridge_by_squared_error,
)

__all__ = ["GraphClassifierCV", "GraphRegressorCV", "Search"]

_FINALISTS = 8
_MAX_FINALISTS = 80
_MAX_SVM_GRAPHS = 5000  # beyond this number SVMs are compared on a sample
_SVM_WORK = 20_000_000  # kernels times squared graphs whose SVMs take about twenty seconds on two cores


@dataclass(frozen=True, repr=False)
class Search(Value):
    """Options of the comparison of kernels.

    Parameters
    ----------
    depth_mode : {"best", "mix"}
        A single depth, or a mix: weights on the kernels of all levels, chosen by marginal likelihood.
    criterion : {"leave_one_out", "likelihood"}
        For regression: leave-one-out error, or the marginal likelihood of the Gaussian process.
    n_screening_graphs : int
        Number of graphs in the first comparison.
    n_finalists : int, optional
        Number of kernels in the second comparison; by default 8, and for SVMs as many as take about twenty seconds:
        80 up to 500 graphs, 20 for 1,000 graphs, at least 8. Leave-one-out of ridge regression alone is not the best
        criterion for an SVM.
    sum_weights : {"given", "likelihood"}
        The weights of the parts of candidates that are sums: as given, or those that maximise the marginal likelihood
        on the graphs of the first comparison.
    """

    depth_mode: str = "best"
    criterion: Criterion = "leave_one_out"
    n_screening_graphs: int = 500
    n_finalists: int | None = None
    sum_weights: str = "given"

    def __post_init__(self) -> None:
        if self.depth_mode not in ("best", "mix"):
            raise InputError(f"depth_mode must be best or mix, but is {self.depth_mode!r}.")
        if self.sum_weights not in ("given", "likelihood"):
            raise InputError(f"sum_weights must be given or likelihood, but is {self.sum_weights!r}.")
        if self.criterion not in get_args(Criterion):
            raise InputError(f"criterion must be one of {', '.join(get_args(Criterion))}, but is {self.criterion!r}.")
        check_integer("n_screening_graphs", self.n_screening_graphs, 1)
        if self.n_finalists is not None:
            check_integer("n_finalists", self.n_finalists, 1)


def _check_search(search: Any) -> Search:
    if not isinstance(search, Search):
        kind = type(search).__name__
        raise InputError(f"search must be a Search, such as Search(depth_mode='mix'), but has type {kind}.")
    return search


class _SearchModel(GraphModel):
    """Base of both searches: the comparison of candidates, and the table of losses."""

    kernels: Grid | Candidates | Sequence[Kernel] | None
    alphas: Sequence[float] | None
    search: Search
    _engine: str  # the engine of the comparison

    def _compare(
        self,
        batch: GraphBatch,
        Y: Array,
        choose_ridge: ChooseRidge,
        weights: Array | None,
        n_finalists: int = _FINALISTS,
    ) -> list[KernelLoss]:
        """Return the best kernels, best first, and store all losses; ``n_finalists`` is the default number."""
        search, compute = _check_search(self.search), check_compute(self.compute)
        default = Grid.full(descriptors=bool(batch.descriptors)).for_graphs(batch)
        kernels, _ = check_candidates(self.kernels, default)
        mix = search.depth_mode == "mix"
        check_sketches(kernels, compute)
        alphas, progress = models.check_alphas(self.alphas), compute.progress
        compute = self._fix_engine(batch, kernels, compute)
        comparison = Comparison(
            batch, Y, weights, alphas, choose_ridge, search.n_screening_graphs, self._seed(), compute
        )
        start = 0.0
        if search.sum_weights == "likelihood":
            start = 0.3
            kernels = comparison.optimise_part_weights(kernels, scale_progress(progress, 0.0, start))
        advance = scale_progress(progress, start, 0.5 if mix else 0.8)
        best, tried = comparison.select(kernels, search.n_finalists or n_finalists, advance)
        single = [result.loss for result in tried if is_single(result.kernel)]
        self.single_depth_loss_ = min(single, default=np.inf)
        if mix:
            mixed = comparison.optimise_level_weights(tried, scale_progress(progress, 0.5, 0.8))
            combined = [result for result in tried if not is_single(result.kernel) and result.loss < mixed.loss]
            best = [min(combined, key=lambda result: result.loss, default=mixed)]
            tried = [*tried, mixed]
        self.cv_results_ = {
            "params": [{"kernel": result.kernel, "alpha": result.alpha} for result in tried],
            "loss": [result.loss for result in tried],
        }
        return best

    def _fix_engine(self, batch: GraphBatch, kernels: Sequence[Kernel], compute: Compute) -> Compute:
        """Return options with one engine for all exact networks, which the fitted model uses as well.

        Engines agree to 1e-8 only, which matters with a regularisation of 1e-8.
        """
        networks = (leaf for kernel in kernels for leaf in kernel.leaves() if isinstance(leaf, Network))
        first = next((leaf for leaf in networks if leaf.sketch is None), None)
        if first is not None:
            compute = replace(compute, engine=choose_engine_for_reuse(compute.engine, batch, first))
        self._engine = compute.engine
        return compute

    def _prepare_training_kernel(self, batch: GraphBatch, kernel: Kernel, progress: Progress | None) -> TrainingKernel:
        """Prepare the kernel matrix of all training graphs."""
        compute = check_compute(self.compute)
        if all(leaf.sketch is None for leaf in kernel.leaves()):  # the engine of the comparison
            compute = replace(compute, engine=self._engine)
        training = TrainingKernel(prepare_batch(batch, kernel, compute), progress)
        self._clear_annotations()
        self._count_equal_graphs(training)
        return training


class GraphRegressorCV(RegressionModel, _SearchModel):
    """Regression with the kernel and alpha chosen by closed-form leave-one-out.

    Every kernel is compared on at most ``search.n_screening_graphs`` of the training graphs, with every alpha from one
    eigendecomposition; the best ``search.n_finalists`` are compared again on three times as many. Among the alphas
    within 5 per cent of the smallest error, the one with the largest marginal likelihood is chosen.

    Parameters
    ----------
    kernels : Grid, Candidates or sequence of Kernel, optional
        Kernels to try; by default GNTKs with blocks 1..10, layers 1..3, two scales, with and without jump and
        normalisation, and unless node features are continuous the products of those with jump and the optimal
        assignment kernel of the same depth, both normalised. If the graphs carry descriptors, networks have one layer,
        jump and unit diagonal, kernels on the descriptors are added, and there are interactions (:class:`Grid`).
    alphas : sequence of float, optional
        By default powers of ten from 1e-8 to 10.
    search : Search
        Criterion and sizes of the comparisons, a single depth or a mix.
    solver, n_components, calibrate, random_state, compute
        As in :class:`GraphRegressor`.

    Attributes
    ----------
    best_params_ : dict
        Parameters of the equivalent :class:`GraphRegressor`.
    best_loss_ : float
        Mean squared leave-one-out error relative to the variance of the targets (or the negative log likelihood).
    cv_results_ : dict
        ``"params"`` and ``"loss"`` of every kernel in the first comparison; a lower loss is better.
    single_depth_loss_ : float
        The smallest loss of a single depth in the first comparison, as a baseline for a mix; infinite if all kernels
        are combinations.

    Examples
    --------
    >>> import fastgntk as fg
    >>> graphs = fg.datasets.load("MUTAG").graphs[:60]
    >>> model = fg.GraphRegressorCV([fg.GNTK(1, 1), fg.GNTK(2, 1)]).fit(graphs, graphs.sizes)
    >>> model.best_loss_ < 0.01, model.predict(graphs[:1]).shape
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

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Choose the kernel and fit the model to graphs X (n) and targets y, shape (n,) or (n, k)."""
        batch = as_graphs(X)
        values = models.check_targets(y, len(batch))
        weights = models.check_sample_weight(sample_weight, len(batch))

        def choose_ridge(path: EigenPath, Y: Array, alphas: Sequence[float]) -> tuple[float, float]:
            if not Y.any():  # constant targets: all kernels are equally good
                return alphas[0], 0.0
            if self.search.criterion == "leave_one_out":
                return choose_ridge_by_squared_error(path, Y, alphas)
            losses = path.losses(Y, alphas, "likelihood")
            return alphas[int(losses.argmin())], float(losses.min())

        models.check_solver_options(self.solver, self.n_components)
        best = self._compare(batch, Targets.from_y(values, weights).values, choose_ridge, weights)[0]
        self.best_params_ = {"kernel": best.kernel, "alpha": best.alpha}
        self.best_loss_ = best.loss
        advance = scale_progress(self._progress(), 0.8, 1.0)
        training = self._prepare_training_kernel(batch, best.kernel, lambda done, total: advance(done / max(total, 1)))
        self._solve(training, values, weights, best.alpha)
        return self


class GraphClassifierCV(ClassificationModel, _SearchModel):
    """Classification with the kernel, and C or alpha, chosen on the training graphs.

    Kernels are compared by closed-form leave-one-out of ridge regression on the classes, on at most
    ``search.n_screening_graphs`` of the graphs; the best ``search.n_finalists`` are compared again on three times as
    many. For ``method="svm"`` the finalists are then compared by the five-fold accuracy of support vector machines,
    each with every C.

    Parameters
    ----------
    kernels : Grid, Candidates or sequence of Kernel, optional
        Kernels and C to try. The default kernels are those of :class:`GraphRegressorCV`, with C from 0.1 to 1,000.
    method : {"svm", "ridge"}
    alphas, search
        As in :class:`GraphRegressorCV`.
    class_weight, probability, solver, n_components, random_state, compute
        As in :class:`GraphClassifier`.

    Attributes
    ----------
    best_params_ : dict
        Parameters of the equivalent :class:`GraphClassifier`.
    best_score_ : float
        Five-fold accuracy, or leave-one-out accuracy for ``method="ridge"``. Beyond 5,000 graphs, SVMs are compared on
        ``search.n_screening_graphs`` of them.
    cv_results_ : dict
        ``"params"`` and ``"loss"`` of every kernel in the first comparison: the leave-one-out error rate of ridge
        regression, with ties broken by the squared error. Lower is better.
    single_depth_loss_ : float
        The smallest of these losses among kernels of a single depth; infinite if all kernels are combinations.

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

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Choose the kernel and fit the model to graphs X (n) and classes y (n,); weights need ``method="ridge"``."""
        self._check_options(sample_weight)
        batch = as_graphs(X)
        self._check_memory(len(batch), check_compute(self.compute))
        labels = models.check_classes(y, len(batch))
        weights = models.check_sample_weight(sample_weight, len(batch))
        classes, class_ids = np.unique(labels, return_inverse=True)
        signs = models.class_signs(class_ids, len(classes))
        if self.method == "svm":
            n_finalists = int(np.clip(_SVM_WORK // len(batch) ** 2, _FINALISTS, _MAX_FINALISTS))
            compared = self._compare(batch, signs, choose_ridge_by_error_rate, None, n_finalists)
            best, C, self.best_score_ = self._compare_svms(batch, class_ids, compared)
            self.best_params_ = {"kernel": best.kernel, "method": "svm", "C": C}
        else:
            best = self._compare(batch, signs, choose_ridge_by_error_rate, self._ridge_weights(class_ids, weights))[0]
            C = 10.0
            self.best_params_ = {"kernel": best.kernel, "method": "ridge", "alpha": best.alpha}
        training = self._prepare_training_kernel(batch, best.kernel, None)
        self._solve(training, labels, weights, C, best.alpha)
        if self.method == "ridge":
            assert self.out_of_fold_ is not None  # in closed form, also without probabilities
            self.best_score_ = float(np.mean(models.predicted_class(self.out_of_fold_) == class_ids))
        scale_progress(self._progress(), 0.0, 1.0)(1.0)
        return self

    def _compare_svms(
        self, batch: GraphBatch, classes: Ints, finalists: list[KernelLoss]
    ) -> tuple[KernelLoss, float, float]:
        """Return the best kernel, its best C, and their accuracy over the folds; the first of equals."""
        _, Cs = check_candidates(self.kernels, Grid.full())
        if len(classes) > _MAX_SVM_GRAPHS:  # SVMs of all graphs, for every kernel and C, would take hours
            sample = subset(
                len(classes), classes[:, None].astype(np.float64), self.search.n_screening_graphs, self._seed()
            )
            batch, classes = batch[sample], np.unique(classes[sample], return_inverse=True)[1]
        score = partial(
            _score_kernel,
            signs=models.class_signs(classes, int(classes.max()) + 1),
            classes=classes,
            splits=models.lenient_stratified_folds(classes, self._seed()),
            Cs=Cs,
            balanced=self.class_weight == "balanced",
        )
        advance = scale_progress(self._progress(), 0.8, 0.99)

        def report(stage: str, done: int, total: int) -> None:
            if stage == "learning":
                advance(done / total)

        compute = replace(check_compute(self.compute), engine=self._engine, progress=None)
        n_jobs = svm_processes(len(classes), compute)
        kernels = [finalist.kernel for finalist in finalists]
        scores = np.stack(score_kernels(score, batch, kernels, compute, n_jobs=n_jobs, progress=report).scores)
        best = int(scores.argmax())
        return finalists[best // len(Cs)], Cs[best % len(Cs)], float(scores.max())


def _score_kernel(
    matrices: Array | FoldGrams,
    _index: int,
    *,
    signs: Array,
    classes: Ints,
    splits: Sequence[models.Split],
    Cs: Sequence[float],
    balanced: bool,
) -> Array:
    """Return the out-of-fold accuracy of SVMs for each C."""

    def score(K: Array, some: Sequence[models.Split]) -> Array:
        return models.score_svms(K, signs, classes, some, Cs, balanced=balanced)

    return np.asarray(sum(map_folds(score, matrices, splits)))  # each part counts its correct graphs over all graphs
