"""Estimators that choose their kernel, and its ridge or C, from the training graphs alone."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any, get_args

import numpy as np
from numpy.typing import NDArray

from fastgntk._util.memory import worker_count
from fastgntk.errors import InputError
from fastgntk.graphs import GraphBatch, as_graphs
from fastgntk.kernels import GNTK
from fastgntk.models import (
    ClassificationModel,
    GraphModel,
    KernelOptions,
    RegressionModel,
    Targets,
    TrainingKernel,
    check_classes,
    check_sample_weight,
    check_targets,
    class_signs,
    place,
    score_machines,
    settled,
    spread_folds,
)
from fastgntk.pairwise import GramPath, gram_path
from fastgntk.pairwise import normalize as normalized
from fastgntk.selection._grid import Grid
from fastgntk.selection._scoring import Advance, Selected, mixed, select, subset
from fastgntk.solvers import Criterion, EigenPath, Score, check_ridges, check_solver_name, misplaced, steady_ridge

__all__ = ["GNTKClassifierCV", "GNTKRegressorCV"]

Array = NDArray[np.float64]

_FINALISTS = 8
_MOST_FINALISTS = 80
_QUICK_MACHINES = 300  # graphs up to which starting processes takes longer than what they do
_MOST_MACHINES = 5000  # graphs past which machines are compared on a sample
_MACHINE_WORK = 20_000_000  # kernels times squared graphs whose machines take some twenty seconds on two cores


class _Search(GraphModel):
    """What both searches share: grid, candidates, and the table of what was tried."""

    grid: Grid | None
    depth: str
    ridges: Sequence[float] | None
    screen: int
    finalists: int | None
    features: Any
    engine: str
    sketching: Any
    memory: Any
    workers: int | None
    progress: Any

    best_params_: dict[str, Any]
    best_score_: float
    cv_results_: dict[str, list[Any]]
    single_depth_score_: float

    def _grid(self) -> Grid:
        grid = Grid.full() if self.grid is None else self.grid
        if not isinstance(grid, Grid):
            raise InputError(f"grid must be a fastgntk.selection.Grid, but is a {type(grid).__name__}.")
        return grid

    def _candidates(
        self, batch: GraphBatch, Y: Array, options: KernelOptions, score: Score, weights: Array | None
    ) -> list[Selected]:
        """Return the best kernels, best first, and keep what every kernel scored."""
        if self.depth not in ("best", "mix"):
            raise InputError(f"depth must be best or mix, but is {self.depth!r}.")
        grid, ridges = self._grid(), check_ridges(self.ridges)
        mix = self.depth == "mix"
        how: dict[str, Any] = {
            "weights": weights,
            "ridges": ridges,
            "score": score,
            "screen": self.screen,
            "seed": self._seed(),
        }
        finalists = self._finalists(len(batch)) if self.finalists is None else self.finalists
        advance = self._advance(0.0, 0.5 if mix else 0.8)
        best, tried = select(
            batch,
            Y,
            grid,
            options,
            **how,
            finalists=finalists,
            advance=advance,
        )
        self.single_depth_score_ = min(one.score for one in tried)
        if mix:
            best = [mixed(batch, Y, grid, options, tried, **how, advance=self._advance(0.5, 0.8))]
            tried = [*tried, *best]
        self.cv_results_ = {
            "params": [_params(one) | {"ridge": one.ridge} for one in tried],
            "score": [one.score for one in tried],
        }
        return best

    def _finalists(self, n_graphs: int) -> int:  # noqa: ARG002  # a classifier's depends on it
        return _FINALISTS

    def _advance(self, start: float, stop: float) -> Advance:
        """Return a callback for one part of the work."""
        progress = self.progress
        if progress is None:
            return lambda share: None  # noqa: ARG005  # nobody is watching
        return lambda share: progress(round(1000 * (start + (stop - start) * share)), 1000)

    def _how(self) -> KernelOptions:
        """Return how to compute kernels; which one is found here."""
        return KernelOptions(
            GNTK(),
            False,
            self.features,
            self.engine,
            dict(self.sketching or {}),
            self.memory,
            self.workers,
        )


def _params(one: Selected) -> dict[str, Any]:
    return one.candidate.spec.to_dict() | {"normalize": one.candidate.normalize}


def _with(options: KernelOptions, one: Selected) -> KernelOptions:
    return replace(options, spec=one.candidate.spec, normalize=one.candidate.normalize)


class GNTKRegressorCV(RegressionModel, _Search):
    """Regression with the kernel and the ridge chosen by closed-form leave-one-out.

    Every kernel of the grid is compared on at most ``screen`` of the training graphs, each with every ridge from one
    eigendecomposition; the best ``finalists`` again on three times as many. Of ridges within 5 per cent of the least
    error, the one with the largest marginal likelihood is taken.

    Parameters
    ----------
    grid : Grid, optional
        Kernels to try; by default blocks 1..10, layers 1..3, two scales, with and without jump and normalisation.
    depth : {"best", "mix"}
        One depth, or a mix: weights on the kernels of all levels, chosen by marginal likelihood.
    ridges : sequence of float, optional
        By default powers of ten from 1e-8 to 10.
    criterion : {"leave_one_out", "likelihood"}
        Leave-one-out error, or the marginal likelihood of the Gaussian process.
    screen, finalists : int
        How many graphs the first comparison uses, and how many kernels the second.
    features, solver, rank, calibrate, engine, sketching, memory, workers, random_state, progress
        As in :class:`GNTKRegressor`.

    Attributes
    ----------
    best_params_ : dict
        Parameters of the :class:`GNTKRegressor` that this is.
    best_score_ : float
        Its mean squared leave-one-out error over the variance of the targets (or minus its log likelihood).
    cv_results_ : dict
        ``"params"`` and ``"score"`` of every kernel in the first comparison.
    single_depth_score_ : float
        The best score of a single depth in the first comparison, to compare a mix with.

    Examples
    --------
    >>> import fastgntk as fg
    >>> from fastgntk.selection import Grid
    >>> graphs = fg.datasets.load("MUTAG").graphs[:60]
    >>> small = Grid(blocks=(1, 2), layers=(1,), scale=("uniform",))
    >>> model = fg.GNTKRegressorCV(small).fit(graphs, graphs.sizes)
    >>> model.best_score_ < 0.01, model.predict(graphs[:1]).shape
    (True, (1,))
    """

    def __init__(
        self,
        grid: Grid | None = None,
        *,
        depth: str = "best",
        ridges: Sequence[float] | None = None,
        criterion: Criterion = "leave_one_out",
        screen: int = 500,
        finalists: int = 8,
        features: Any = "auto",
        solver: str = "auto",
        rank: int | None = None,
        calibrate: bool = True,
        engine: str = "auto",
        sketching: Any = None,
        memory: Any = None,
        workers: int | None = None,
        random_state: int = 0,
        progress: Any = None,
    ) -> None:
        self.grid = grid
        self.depth = depth
        self.ridges = ridges
        self.criterion = criterion
        self.screen = screen
        self.finalists = finalists
        self.features = features
        self.solver = solver
        self.rank = rank
        self.calibrate = calibrate
        self.engine = engine
        self.sketching = sketching
        self.memory = memory
        self.workers = workers
        self.random_state = random_state
        self.progress = progress

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> GNTKRegressorCV:
        """Choose and learn from graphs X (n) and targets y, shape (n,) or (n, k)."""
        if self.criterion not in get_args(Criterion):
            raise InputError(f"criterion must be one of {', '.join(get_args(Criterion))}, but is {self.criterion!r}.")
        batch = as_graphs(X)
        values = check_targets(y, len(batch))
        weights = check_sample_weight(sample_weight, len(batch))

        def score(path: EigenPath, Y: Array, ridges: Sequence[float]) -> tuple[float, float]:
            if not Y.any():  # nothing varies, so nothing is better than anything else
                return ridges[0], 0.0
            if self.criterion == "leave_one_out":
                return steady_ridge(path, Y, ridges)
            scores = path.scores(Y, ridges, "likelihood")
            return ridges[int(scores.argmin())], float(scores.min())

        check_solver_name(self.solver, self.rank)
        options = settled(self._how(), batch)
        best = self._candidates(batch, Targets.from_y(values, weights).values, options, score, weights)[0]
        self.best_params_ = _params(best) | {"ridge": best.ridge}
        self.best_score_ = best.score
        kernel = TrainingKernel(batch, _with(options, best), _as_progress(self._advance(0.8, 1.0)))
        self._start_anew(kernel)
        self._solve(kernel, values, weights, best.ridge)
        return self


class GNTKClassifierCV(ClassificationModel, _Search):
    """Classification with the kernel, and C or the ridge, chosen on the training graphs.

    Kernels are compared by closed-form leave-one-out of ridge regression on the classes, on at most ``screen`` of the
    graphs and then the best ``finalists`` on three times as many. For ``method="svc"`` these are compared once more,
    each with every C of the grid, by the accuracy of support vector machines over five folds.

    Parameters
    ----------
    grid : Grid, optional
        Kernels and C to try; by default blocks 1..10, layers 1..3, two scales, with and without jump and normalisation,
        and C from 0.1 to 1,000.
    method : {"svc", "ridge"}
    depth, ridges, screen
        As in :class:`GNTKRegressorCV`.
    finalists : int, optional
        How many kernels are compared on all graphs; by default as many as a few hundred machines allow: 80 up to 500
        graphs, 20 of 1,000, at least 8. Leave-one-out of ridge regression alone is not the best judge of a machine.
    class_weight, probability, features, solver, rank, engine, sketching, memory, workers, random_state, progress
        As in :class:`GNTKClassifier`.

    Attributes
    ----------
    best_params_ : dict
        Parameters of the :class:`GNTKClassifier` that this is.
    best_score_ : float
        Accuracy over the five folds, or for ``method="ridge"`` the share of graphs that leave-one-out gets right. Past
        5,000 graphs machines are compared on ``screen`` of them.
    cv_results_ : dict
        ``"params"`` and ``"score"`` of every kernel in the first comparison: the share of graphs that leave-one-out of
        ridge regression gets wrong (plus less than one graph, by the squared error). The smaller, the better.
    single_depth_score_ : float
        The best of these scores among kernels of a single depth.

    Examples
    --------
    >>> import fastgntk as fg
    >>> from fastgntk.selection import Grid
    >>> data = fg.datasets.load("MUTAG")
    >>> small = Grid(blocks=(1, 2), layers=(1,), scale=("uniform",), C=(10.0, 100.0))
    >>> model = fg.GNTKClassifierCV(small).fit(data.graphs[:150], data.y[:150])
    >>> model.best_score_ > 0.8, model.predict_proba(data.graphs[150:]).shape
    (True, (38, 2))
    """

    def __init__(
        self,
        grid: Grid | None = None,
        *,
        method: str = "svc",
        depth: str = "best",
        ridges: Sequence[float] | None = None,
        screen: int = 500,
        finalists: int | None = None,
        class_weight: str | None = None,
        probability: bool = True,
        features: Any = "auto",
        solver: str = "auto",
        rank: int | None = None,
        engine: str = "auto",
        sketching: Any = None,
        memory: Any = None,
        workers: int | None = None,
        random_state: int = 0,
        progress: Any = None,
    ) -> None:
        self.grid = grid
        self.method = method
        self.depth = depth
        self.ridges = ridges
        self.screen = screen
        self.finalists = finalists
        self.class_weight = class_weight
        self.probability = probability
        self.features = features
        self.solver = solver
        self.rank = rank
        self.engine = engine
        self.sketching = sketching
        self.memory = memory
        self.workers = workers
        self.random_state = random_state
        self.progress = progress

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> GNTKClassifierCV:
        """Choose and learn from graphs X (n) and their classes y (n,); weights are for ``method="ridge"``."""
        self._check_options(sample_weight)
        batch = as_graphs(X)
        self._check_room(len(batch))
        labels = check_classes(y, len(batch))
        weights = check_sample_weight(sample_weight, len(batch))
        classes, numbers = np.unique(labels, return_inverse=True)
        options = settled(self._how(), batch)
        counted = self._ridge_weights(numbers, weights) if self.method == "ridge" else None
        best = self._candidates(batch, class_signs(numbers, len(classes)), options, misplaced, counted)
        one, C, accuracy = best[0], 10.0, float("nan")
        if self.method == "svc":
            one, C, accuracy = self._compare_machines(batch, numbers, best, options)
        self.best_params_ = _params(one) | {"method": self.method}
        self.best_params_ |= {"C": C} if self.method == "svc" else {"ridge": one.ridge}
        kernel = TrainingKernel(batch, _with(options, one))
        self._start_anew(kernel)
        self._solve(kernel, labels, weights, self.method, C, one.ridge)
        if self.method == "ridge":
            assert self.left_out_ is not None  # in closed form, whether probabilities are wanted or not
            accuracy = float(np.mean(place(self.left_out_) == numbers))
        self.best_score_ = accuracy
        self._advance(0.0, 1.0)(1.0)
        return self

    def _finalists(self, n_graphs: int) -> int:
        if self.method == "ridge":
            return _FINALISTS
        return int(np.clip(_MACHINE_WORK // n_graphs**2, _FINALISTS, _MOST_FINALISTS))

    def _compare_machines(
        self, batch: GraphBatch, classes: NDArray[np.int64], finalists: list[Selected], options: KernelOptions
    ) -> tuple[Selected, float, float]:
        """Return the best kernel, its best C, and their accuracy over folds; of equals the first."""
        from joblib import Parallel, delayed

        Cs = self._grid().C
        if len(classes) > _MOST_MACHINES:  # machines of all graphs, for every kernel and C, would take hours
            some = subset(len(classes), classes[:, None].astype(np.float64), self.screen, self._seed())
            batch, classes = batch[some], np.unique(classes[some], return_inverse=True)[1]
        splits = spread_folds(classes, self._seed())
        signs = class_signs(classes, int(classes.max()) + 1)
        balanced = self.class_weight == "balanced"
        advance = self._advance(0.8, 0.99)
        scores = np.zeros((len(finalists), len(Cs)))
        done = 0
        # Processes, where they pay: what scikit-learn does around libsvm holds the interpreter lock.
        jobs = worker_count(self.workers) if len(classes) > _QUICK_MACHINES else 1
        with Parallel(n_jobs=jobs, return_as="generator") as parallel:
            for places, kernels in _matrices(batch, finalists, options):
                tasks = (delayed(score_machines)(K, signs, classes, splits, Cs, balanced=balanced) for K in kernels)
                for i, accuracies in zip(places, parallel(tasks), strict=True):
                    scores[i] = accuracies
                    done += 1
                    advance(done / len(finalists))
        best = int(scores.argmax())
        return finalists[best // len(Cs)], Cs[best % len(Cs)], float(scores.max())


def _matrices(
    batch: GraphBatch, chosen: list[Selected], options: KernelOptions
) -> Iterator[tuple[list[int], Iterator[Array]]]:
    """Yield the Gram matrices of some kernels, those of one pass together: their places among ``chosen``, and them."""
    specs = [one.candidate.spec for one in chosen]
    paths = [replace(spec, blocks=1, jump=True) for spec in specs]
    for kind in dict.fromkeys(paths):
        places = [i for i, path in enumerate(paths) if path == kind]
        deepest = replace(kind, blocks=max(specs[i].blocks for i in places))
        path = gram_path(batch, deepest, features=options.features, **options.how)

        def along(path: GramPath = path, places: list[int] = places) -> Iterator[Array]:
            for i in places:
                K = path.at(specs[i].blocks, specs[i].jump)
                yield normalized(K) if chosen[i].candidate.normalize else K

        yield places, along()


def _as_progress(advance: Advance) -> Any:
    return lambda done, total: advance(done / max(total, 1))
