"""Classification: support vector machines or ridge regression on the kernel, one decision function for each class."""

from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin
from sklearn.utils.metaestimators import available_if

from fastgntk._util.arrays import Array, Ints
from fastgntk._util.checks import check_positive
from fastgntk._util.text import format_bytes, round_up_bytes
from fastgntk.errors import InputError
from fastgntk.kernels import GNTK, Kernel
from fastgntk.models._calibration import Sigmoids
from fastgntk.models._folds import lenient_stratified_folds
from fastgntk.models._graph_model import Expansion, Explanation, GraphModel, check_solver_options
from fastgntk.models._svm import fit_svms, predicted_class
from fastgntk.models._targets import Targets, check_classes, check_sample_weight, class_signs
from fastgntk.models._training_kernel import TrainingKernel
from fastgntk.pairwise import Compute
from fastgntk.solvers import as_ridge

__all__ = ["ClassificationModel", "GraphClassifier"]


class ClassificationDetails(NamedTuple):
    """Predictions for t graphs."""

    label: NDArray[Any]
    probabilities: Array | None  # (t, c); None if they were not calibrated
    nearest: Ints  # index of the most similar training graph; −1 if the model keeps none
    similarity: Array  # its cosine, at most 1; NaN if the model keeps none


class ClassificationModel(ClassifierMixin, GraphModel):  # type: ignore[misc]
    """Base of :class:`GraphClassifier` and :class:`GraphClassifierCV`."""

    method: str
    class_weight: str | None
    probability: bool

    classes_: NDArray[Any]
    sigmoids_: Sigmoids | None
    out_of_fold_: Array | None  # decision values (n, k) of the training graphs; None if they were not computed

    def _solve(self, training: TrainingKernel, y: NDArray[Any], weights: Array | None, C: float, alpha: float) -> None:
        """Fit the decision functions of all classes to the kernel and checked classes."""
        self.classes_, class_ids = np.unique(y, return_inverse=True)
        signs = class_signs(class_ids, len(self.classes_))
        names = tuple(str(c) for c in (self.classes_[1:] if len(self.classes_) == 2 else self.classes_))
        if self.method == "svm":
            folds = lenient_stratified_folds(class_ids, self._seed()) if self.probability else ()
            svms = fit_svms(training.full(), signs, C, balanced=self.class_weight == "balanced", folds=folds)
            indices = np.arange(training.n)
            self.expansion_ = Expansion(training.basis(indices), svms.coefficients, svms.intercepts, indices, names)
            self.solver_, self.out_of_fold_ = "svm", svms.out_of_fold
        else:
            weights = self._ridge_weights(class_ids, weights)
            solution = self._fit_ridge(training, Targets.from_signs(signs, weights, names), alpha)
            self.out_of_fold_ = signs - solution.leave_one_out
        self.sigmoids_ = None
        if self.probability and self.out_of_fold_ is not None:
            self.sigmoids_ = Sigmoids.fit(self.out_of_fold_, class_ids, len(self.classes_))

    def _ridge_weights(self, class_ids: Ints, weights: Array | None) -> Array | None:
        """Return the weight of each graph, multiplied by the weight of its class if classes are balanced."""
        if self.class_weight is None:
            return weights
        counts = np.bincount(class_ids)
        balance = len(class_ids) / len(counts) / counts[class_ids]
        return balance if weights is None else balance * weights

    def _check_options(self, sample_weight: Any) -> None:
        if self.method not in ("svm", "ridge"):
            raise InputError(f"method must be svm or ridge, but is {self.method!r}.")
        if self.class_weight not in (None, "balanced"):
            raise InputError(f"class_weight must be None or 'balanced', but is {self.class_weight!r}.")
        if self.method == "svm" and (self.solver != "auto" or self.n_components is not None):
            raise InputError(
                "solver and n_components apply to method='ridge' only; support vector machines have their own solver."
            )
        if self.method == "ridge":
            check_solver_options(self.solver, self.n_components)
        if sample_weight is not None and self.method == "svm":
            raise InputError("sample_weight needs method='ridge'; method='svm' does not support it.")

    def _check_memory(self, n: int, compute: Compute) -> None:
        """Raise an error if the kernel matrix of an SVM exceeds the memory limit, before anything is computed."""
        matrix, available = 8 * n**2, compute.memory_budget
        if self.method == "svm" and matrix > available:
            raise InputError(
                f"support vector machines need the whole kernel matrix of {n:,} graphs, {format_bytes(matrix)}, which "
                f"is more than max_memory={format_bytes(available)}; use method='ridge', which has solvers for any "
                f"number of graphs, or pass max_memory={round_up_bytes(matrix + matrix // 8)!r}."
            )

    def decision_function(self, X: Any) -> Array:
        """Return decision values, of shape (t, c), or (t,) for two classes: that of the second."""
        values = self._decisions(X)
        return values[:, 0] if len(self.classes_) == 2 else values

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the class of each graph."""
        return self._predicted_classes(self._decisions(X))

    @available_if(lambda model: model.probability)  # type: ignore[untyped-decorator]
    def predict_proba(self, X: Any) -> Array:
        """Return the probability of each class for each graph, shape (t, c).

        Near a decision boundary the most probable class may differ from the predicted one, because each class is
        calibrated separately.
        """
        decisions = self._decisions(X)
        if self.sigmoids_ is None:
            raise InputError("probabilities were not calibrated; fit with probability=True.")
        return self.sigmoids_.probabilities(decisions)

    def predict_details(self, X: Any) -> ClassificationDetails:
        """Return class, probabilities and most similar training graph for each graph in one pass."""
        batch = self._check_new(X)
        decisions = np.zeros((len(batch), len(self.expansion_.intercepts)))
        nearest, similarity = np.zeros(len(batch), dtype=np.int64), np.zeros(len(batch))
        for chunk, rows, diagonal in self.expansion_.basis.chunks(batch, self._progress()):
            decisions[chunk] = self.expansion_.values(rows)
            nearest[chunk], similarity[chunk] = self._nearest_in_chunk(rows, diagonal)
        probabilities = None if self.sigmoids_ is None else self.sigmoids_.probabilities(decisions)
        return ClassificationDetails(self._predicted_classes(decisions), probabilities, nearest, similarity)

    def explain(self, graph: Any, of_class: Any = None, *, factor: int | Kernel | None = None) -> Explanation:
        """Decompose the decision value of a class for one graph: exact contributions of nodes and training graphs.

        ``of_class`` is one of ``classes_``, by default the predicted class. With two classes, the contributions to the
        first are those to the second with the opposite sign. For a product of kernels, ``factor`` is the one whose
        nodes are counted, as a kernel or by its index, the first by default; the others weight the training graphs.
        """
        batch = self._check_new_graph(graph)
        if of_class is None:
            of_class = self._predicted_classes(self.expansion_.evaluate(batch, self._progress()))[0]
        matches = np.flatnonzero(self.classes_ == of_class)
        if not len(matches):
            raise InputError(f"class {of_class!r} is not among {', '.join(map(str, self.classes_.tolist()))}.")
        index = int(matches[0])
        if len(self.classes_) > 2:
            return self.expansion_.explain(batch, index, factor)
        second = self.expansion_.explain(batch, 0, factor)
        return second if index == 1 else second.negated(str(self.classes_[0]))

    def _predicted_classes(self, decisions: Array) -> NDArray[Any]:
        return np.asarray(self.classes_[predicted_class(decisions)])

    def _decisions(self, X: Any) -> Array:
        batch = self._check_new(X)
        return self.expansion_.evaluate(batch, self._progress())


class GraphClassifier(ClassificationModel):
    """Predict classes for graphs, with calibrated probabilities.

    There is one decision function for each class against all others, and a single one for two classes. Each is a sum
    over training graphs, so that its values can be explained. Probabilities are calibrated on out-of-fold decision
    values: from five folds, or for ``method="ridge"`` from closed-form leave-one-out.

    Parameters
    ----------
    kernel : Kernel
        ``kernel.normalized()`` makes predictions independent of the size of graphs.
    method : {"svm", "ridge"}
        Support vector machines, or ridge regression on targets −1 and 1.
    C : float, above 0
        Regularisation of the support vector machines; smaller is stronger. It is that of a kernel with variance 1,
        as in :func:`fastgntk.selection.evaluate`.
    alpha : float, 0 or more
        Regularisation of ridge regression, as in :class:`GraphRegressor`.
    class_weight : None or "balanced"
        ``"balanced"`` weights classes inversely to their frequencies.
    probability : bool
        Whether to calibrate probabilities in ``fit``; otherwise there is no ``predict_proba``.
    solver, n_components
        For ``method="ridge"``, as in :class:`GraphRegressor`.
    random_state, compute
        As in :class:`GraphRegressor`.

    Attributes
    ----------
    classes_ : array of shape (c,)
    solver_ : str
        The solver of ridge regression that was given or chosen; ``"svm"`` for support vector machines.
    n_equal_graphs_ : int
        Training graphs that the kernel cannot distinguish from an earlier one.

    Examples
    --------
    >>> import fastgntk as fg
    >>> data = fg.datasets.load("MUTAG")
    >>> model = fg.GraphClassifier(fg.GNTK(2).normalized(), C=100).fit(data.graphs[:150], data.y[:150])
    >>> model.score(data.graphs[150:], data.y[150:]) > 0.8
    True
    """

    def __init__(
        self,
        kernel: Kernel = GNTK(),
        method: str = "svm",
        *,
        C: float = 10.0,
        alpha: float = 1e-3,
        class_weight: str | None = None,
        probability: bool = True,
        solver: str = "auto",
        n_components: int | None = None,
        random_state: int = 0,
        compute: Compute = Compute(),
    ) -> None:
        self.kernel = kernel
        self.method = method
        self.C = C
        self.alpha = alpha
        self.class_weight = class_weight
        self.probability = probability
        self.solver = solver
        self.n_components = n_components
        self.random_state = random_state
        self.compute = compute

    def fit(self, X: Any, y: Any, sample_weight: Any = None, *, gram: Any = None) -> Self:
        """Fit the model to graphs X (n) and their classes y (n,), integers or strings.

        ``sample_weight`` is for ``method="ridge"``; ``gram`` as in :meth:`GraphRegressor.fit`.
        """
        self._check_options(sample_weight)
        C, alpha = check_positive("C", self.C), as_ridge(self.alpha, "alpha")
        training = self._training_kernel(X, self.kernel, gram)
        self._check_memory(training.n, training.prepared.compute)
        labels = check_classes(y, training.n)
        weights = check_sample_weight(sample_weight, training.n)
        self._solve(training, labels, weights, C, alpha)
        return self
