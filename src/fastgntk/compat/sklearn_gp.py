"""Kernels for the Gaussian processes of scikit-learn."""

from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any, Self

import numpy as np
from scipy import sparse
from sklearn.gaussian_process.kernels import GenericKernelMixin, Kernel

from fastgntk._util.arrays import Array
from fastgntk._util.values import Value
from fastgntk.errors import InputError
from fastgntk.graphs import Graph, GraphBatch, as_graphs
from fastgntk.kernels import GNTK
from fastgntk.kernels import Kernel as GraphKernel
from fastgntk.models import FrozenParameters, KernelBasis, TrainingKernel, check_features
from fastgntk.pairwise import Compute, check_compute, check_kernel, prepare_batch

__all__ = ["ProcessKernel"]


@dataclass
class _CachedKernel:
    """The kernel of a set of graphs, with its input."""

    X: Any  # a copy of the array of graphs; None for other types
    batch: GraphBatch
    options: tuple[GraphKernel, Compute]
    training: TrainingKernel

    @cached_property
    def basis(self) -> KernelBasis:
        return self.training.basis(np.arange(self.training.n))


class ProcessKernel(FrozenParameters, GenericKernelMixin, Kernel):  # type: ignore[misc]  # scikit-learn ships no types
    """Give a kernel to ``GaussianProcessRegressor`` and ``GaussianProcessClassifier``, whose X are then graphs.

    The kernel has no hyperparameters to optimise; combine it with kernels of scale and noise, which are optimised as
    usual. Its matrix is computed once for the same graphs, for any number of steps and restarts: the last two sets of
    graphs are cached by content, and clones share the cache. X must be a list of :class:`fastgntk.Graph`, or the result
    of :func:`fastgntk.as_graphs`.

    The parameters are those of :class:`KernelTransformer`. Raw values grow quadratically with the sizes of graphs and
    can exceed the bounds of scale kernels; a normalised kernel has a diagonal of ones.

    Examples
    --------
    >>> import fastgntk as fg
    >>> from sklearn.gaussian_process import GaussianProcessRegressor
    >>> from sklearn.gaussian_process.kernels import ConstantKernel, WhiteKernel
    >>> graphs = fg.datasets.load("MUTAG").graphs[:40]
    >>> kernel = ConstantKernel() * fg.compat.sklearn_gp.ProcessKernel(fg.GNTK(2).normalized()) + WhiteKernel()
    >>> model = GaussianProcessRegressor(kernel, normalize_y=True).fit(graphs[:30], graphs.sizes[:30])
    >>> mean, std = model.predict(graphs[30:], return_std=True)
    >>> mean.shape, bool((std > 0).all())
    ((10,), True)
    """

    def __init__(self, kernel: GraphKernel = GNTK(), compute: Compute = Compute()) -> None:
        self.kernel = kernel
        self.compute = compute
        self._cache: list[_CachedKernel] = []

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the parameters by name; with ``deep`` those of the kernel too, as ``kernel__blocks``."""
        params: dict[str, Any] = {"kernel": self.kernel, "compute": self.compute}
        nested = {name: value for name, value in params.items() if deep and isinstance(value, Value)}
        return params | {f"{name}__{k}": v for name, value in nested.items() for k, v in value.get_params().items()}

    def __call__(self, X: Any, Y: Any = None, eval_gradient: bool = False) -> Any:
        """Return the kernel between graphs, (n, n) or (n, m), and on request its gradient, which has no entries."""
        if Y is not None:
            if eval_gradient:
                raise InputError("the gradient is defined for one set of graphs only; leave Y out.")
            basis, batch = self._find(Y, keep=True).basis, as_graphs(X)
            check_features(basis.features, batch)
            return basis.values(batch)
        K = self._find(X, keep=True).training.full().copy()  # scikit-learn modifies the diagonal
        return (K, np.empty((*K.shape, 0))) if eval_gradient else K

    def diag(self, X: Any) -> Array:
        """Return the kernel of each graph with itself, (n,)."""
        return self._find(X, keep=False).training.diagonal().copy()

    def is_stationary(self) -> bool:
        """Return False: the kernel is not a function of differences."""
        return False

    def _find(self, X: Any, *, keep: bool) -> _CachedKernel:
        """Return the kernel of graphs; the last two are cached, for fitting and for sampling."""
        options = check_kernel(self.kernel), check_compute(self.compute)
        candidates = [cached for cached in self._cache if cached.options == options]
        kernel = next((cached for cached in candidates if _same_objects(cached.X, X)), None)
        if kernel is None:
            batch = as_graphs(X)
            kernel = next((cached for cached in candidates if _same_graphs(cached.batch, batch)), None)
            if kernel is None:
                copied = X.copy() if isinstance(X, np.ndarray) else None  # the caller may modify the array
                training = TrainingKernel(prepare_batch(batch, *options), scaled=False)
                kernel = _CachedKernel(copied, batch, options, training)
        if keep:
            self._cache[:] = [kernel, *[cached for cached in self._cache if cached is not kernel][:1]]
        return kernel

    def __sklearn_clone__(self) -> Self:
        # Every fit clones its kernel, and `log_marginal_likelihood` does at every call.
        clone = type(self)(self.kernel, self.compute)
        clone._cache = self._cache
        return clone

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name != "_cache"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state, _cache=[])

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.kernel!r})"


def _same_objects(a: Any, b: Any) -> bool:
    """Return whether two arrays hold identical objects, as in consecutive steps of a fit."""
    if not (isinstance(a, np.ndarray) and isinstance(b, np.ndarray) and a.shape == b.shape):
        return False
    return all(x is y and isinstance(x, Graph) for x, y in zip(a, b, strict=True))  # graphs are immutable


def _same_graphs(a: GraphBatch, b: GraphBatch) -> bool:
    """Return whether all arrays of two batches are equal."""
    return a is b or all(_same_arrays(getattr(a, f.name), getattr(b, f.name)) for f in fields(GraphBatch))


def _same_arrays(a: Any, b: Any) -> bool:
    if isinstance(a, dict) and isinstance(b, dict):  # descriptors
        return a.keys() == b.keys() and all(_same_arrays(a[name], b[name]) for name in a)
    if sparse.issparse(a) and sparse.issparse(b):
        parts = ("shape", "indptr", "indices", "data")
        return all(np.array_equal(getattr(a, part), getattr(b, part)) for part in parts)
    return bool(np.array_equal(a, b))  # also of None
