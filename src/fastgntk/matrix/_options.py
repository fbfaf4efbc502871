"""What every function of this folder takes, checked in one place."""

from __future__ import annotations

from dataclasses import dataclass

from fastgntk.errors import InputError
from fastgntk.graph import FeatureKind, GraphBatch, NodeFeatures
from fastgntk.kernel import GNTK, choose_engine, engine_names
from fastgntk.matrix._executor import Progress
from fastgntk.matrix._resources import Memory, Workers, memory_budget, worker_count
from fastgntk.matrix._run import Run, check_result

__all__ = ["Options", "fitted"]


@dataclass(frozen=True)
class Options:
    """Which kernel, and how to compute it."""

    spec: GNTK
    engine: str
    memory: int
    workers: int

    @classmethod
    def check(
        cls, spec: GNTK | None, engine: str, memory: Memory, workers: Workers, progress: Progress | None
    ) -> Options:
        """Refuse what has no meaning, before any work."""
        spec = GNTK() if spec is None else spec
        if not isinstance(spec, GNTK):
            raise InputError(f"spec must be a fastgntk.GNTK, but is a {type(spec).__name__}.")
        if progress is not None and not callable(progress):
            raise InputError(f"progress must be a function of (done, total), but is {progress!r}.")
        if engine not in engine_names():
            raise InputError(f"engine must be one of {', '.join(engine_names())}, but is {engine!r}.")
        return cls(spec, engine, memory_budget(memory), worker_count(workers))

    def start(self, rows: GraphBatch, cols: GraphBatch | None, result: int, pairs: float | None = None) -> Run:
        """Start a computation whose result takes that many bytes; ``pairs`` of nodes if not all of them."""
        check_result(result, self.memory)
        choice = choose_engine(self.engine, rows, cols, self.spec, pairs)
        return Run(self.spec, choice, self.memory, self.workers, result)


def fitted(features: FeatureKind | NodeFeatures, batch: GraphBatch) -> NodeFeatures:
    """Return fitted node features: those given, or that kind fitted on the batch."""
    return features if isinstance(features, NodeFeatures) else NodeFeatures(features).fit(batch)
