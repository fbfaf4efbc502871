"""A fitted model with the kernel matrix of its training graphs."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fastgntk._util.memory import memory_budget
from fastgntk.models import TrainingKernel
from fastgntk.pairwise import normalize
from fastgntk.report.data._collector import KERNEL, Collector, Stages, format_options
from fastgntk.report.data._graphs import Source
from fastgntk.report.data._metrics import score_surface
from fastgntk.selection import Candidate

__all__ = ["MAX_GRAPHS", "FittedModel"]

MAX_GRAPHS = 8_000  # up to which the whole kernel matrix is computed
_EXACT = 5_000  # graphs up to which leave-one-out coefficients are computed


class FittedModel:
    """A fitted model; ``K`` and ``cosine`` are None if the kernel matrix is too large or not used by the solver."""

    def __init__(self, source: Source, model: Any, stages: Stages) -> None:
        self.model = model
        rows = model.expansion_.rows
        self.spec, self.engine = rows.options.spec, str(rows.options.engine)
        self.normalized, self.unit = bool(rows.options.normalize), 1.0
        memory, workers = rows.options.memory, rows.options.workers
        how = {"memory": memory, "workers": workers, "sketching": dict(rows.options.sketching)}
        self.collector = Collector(source, stages, self.spec, self.engine, rows.features, how)
        self.kernel = Candidate(self.spec, self.normalized)
        self.seed = int(model._seed())
        self.searched = hasattr(model, "best_params_")
        self.optimism = "; slightly optimistic, since options were chosen on the same graphs" if self.searched else ""
        self.K: NDArray[np.float64] | None = None
        self.cosine: NDArray[np.float64] | None = None
        self.kernel_seconds = 0.0
        n = len(source.batch)
        with stages.stage(KERNEL) as progress:
            if rows.keeps_graphs and n <= MAX_GRAPHS and 4 * 8 * n**2 <= memory_budget(memory):
                start = time.perf_counter()
                kernel = TrainingKernel(source.batch, rows.options, progress)
                self.K = kernel.full()
                self.kernel_seconds = time.perf_counter() - start
                self.unit = 1.0 if self.normalized else float(rows.unit)
                if self.unit != kernel.unit:  # the model was fitted with sample weights
                    self.K = self.K * (kernel.unit / self.unit)
                self.cosine = self.K if self.normalized else normalize(self.K)

    def exact_kernel(self, solver: str) -> NDArray[np.float64] | None:
        """Return the kernel matrix if leave-one-out coefficients can be computed from it."""
        return self.K if solver in ("cholesky", "eigen") and self.model.n_graphs_ <= _EXACT else None

    def chosen(self, name: str) -> Any:
        """Return C or ridge, as chosen or as given."""
        params = getattr(self.model, "best_params_", {})
        return params[name] if name in params else getattr(self.model, name)

    def options(self) -> list[tuple[str, str]]:
        """Return names and values of the options."""
        model = self.model
        params = getattr(model, "best_params_", None)
        if params is None:
            known = model.get_params()
            names = ("blocks", "layers", "scale", "jump", "edges", "normalize", "method", "C", "ridge")
            params = {name: known[name] for name in names if name in known}
        shown = {name: value for name, value in params.items() if name != "c_phi"}
        tried = getattr(model, "grid", None)
        return [
            ("options chosen" if self.searched else "options", format_options(shown)),
            *([("options tried", format_options(tried.to_dict()))] if tried is not None else []),
            ("solver", str(model.solver_)),
            ("node features", str(self.collector.features.kind_)),
            ("seed", str(self.seed)),
        ]

    def add_surface(self, score: Callable[[float], float], name: str, best: Callable[[float, float], float]) -> None:
        """Add the scores of the search, if there was one, over kernels of a single depth."""
        results = getattr(self.model, "cv_results_", None)
        if results is None:
            return
        scored = [
            (p["blocks"], p["layers"], p["scale"], score(value))
            for p, value in zip(results["params"], results["score"], strict=True)
            if isinstance(p["jump"], bool)
        ]
        picked = (self.spec.blocks, self.spec.layers, str(self.spec.scale))
        note = f"{name}, the best over jump, normalisation and ridge, on the graphs of the first comparison."
        self.collector.report["surface"] = score_surface(scored, [picked], note, best)
