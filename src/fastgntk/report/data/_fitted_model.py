"""A fitted model with the kernel matrix of its training graphs."""

import time
from collections.abc import Callable
from typing import Any

from fastgntk._util.arrays import Array
from fastgntk.kernels import Kernel, Normalized
from fastgntk.models import KernelRows, TrainingKernel
from fastgntk.pairwise import Compute, normalize, prepare_batch
from fastgntk.report.data._collector import KERNEL, Collector, Stages, format_candidates, format_options
from fastgntk.report.data._graphs import Source
from fastgntk.report.data._metrics import score_surface

__all__ = ["MAX_GRAPHS", "FittedModel"]

MAX_GRAPHS = 8_000  # up to which the whole kernel matrix is computed
_EXACT = 5_000  # graphs up to which leave-one-out coefficients are computed


class FittedModel:
    """A fitted model; ``K`` and ``cosine`` are None if the kernel matrix is too large or not used by the solver."""

    def __init__(self, source: Source, model: Any, stages: Stages, compute: Compute | None = None) -> None:
        self.model = model
        rows = model.expansion_.rows
        self.kernel, self.unit = rows.kernel, 1.0
        self.normalized = isinstance(self.kernel, Normalized)
        compute = rows.compute if compute is None else compute
        # Rows that keep no graphs, or landmarks only, have no engines for the kernel among all training graphs.
        engines = rows.prepared.engines if isinstance(rows, KernelRows) else None
        silent = compute.watched(None)
        prepared = prepare_batch(source.batch, self.kernel, silent, dict(rows.features), engines=engines)
        self.collector = Collector(source, stages, prepared)
        self.engine = " and ".join(dict.fromkeys(prepared.engines))
        self.seed = int(model._seed())
        self.searched = hasattr(model, "best_params_")
        self.optimism = "; slightly optimistic, since options were chosen on the same graphs" if self.searched else ""
        self.K: Array | None = None
        self.cosine: Array | None = None
        self.kernel_seconds = 0.0
        n = len(source.batch)
        with stages.stage(KERNEL) as progress:
            if rows.keeps_graphs and n <= MAX_GRAPHS and 4 * 8 * n**2 <= silent.budget:
                start = time.perf_counter()
                kernel = TrainingKernel(prepared, progress)
                self.K = kernel.full()
                self.kernel_seconds = time.perf_counter() - start
                self.unit = 1.0 if self.normalized else float(rows.unit)
                if self.unit != kernel.unit:  # the model was fitted with sample weights
                    self.K = self.K * (kernel.unit / self.unit)
                self.cosine = self.K if self.normalized else normalize(self.K)

    def exact_kernel(self, solver: str) -> Array | None:
        """Return the kernel matrix if leave-one-out coefficients can be computed from it."""
        return self.K if solver in ("cholesky", "eigen") and self.model.n_graphs_ <= _EXACT else None

    def chosen(self, name: str) -> Any:
        """Return C or alpha, as chosen or as given."""
        params = getattr(self.model, "best_params_", {})
        return params[name] if name in params else getattr(self.model, name)

    def options(self) -> list[tuple[str, str]]:
        """Return names and values of the options."""
        model = self.model
        params = getattr(model, "best_params_", None)
        if params is None:
            known = model.get_params(deep=False)
            params = {name: known[name] for name in ("kernel", "method", "C", "alpha") if name in known}
        return [
            ("options chosen" if self.searched else "options", format_options(params)),
            *([("kernels tried", format_candidates(self._tried()))] if self.searched else []),
            ("solver", str(model.solver_)),
            ("random state", str(self.seed)),
        ]

    def _tried(self) -> list[Kernel]:
        return [params["kernel"] for params in self.model.cv_results_["params"]]

    def add_surface(self, score: Callable[[float], float], name: str, best: Callable[[float, float], float]) -> None:
        """Add the scores of the search, if there was one, over kernels of a single depth."""
        results = getattr(self.model, "cv_results_", None)
        if results is None:
            return
        scored = zip(self._tried(), map(score, results["score"]), strict=True)
        note = f"{name}, the best over jump, normalisation and alpha, on the graphs of the first comparison."
        if surface := score_surface(scored, [self.kernel], note, best):
            self.collector.report["surface"] = surface
