"""What every function of this folder takes, checked in one place."""

from __future__ import annotations

import warnings
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fastgntk._util.memory import Memory, Workers, memory_budget, worker_count
from fastgntk._util.threads import Progress
from fastgntk.engines import choose_engine, engine_names
from fastgntk.errors import InputError, levels_to_the_caller
from fastgntk.graphs import FeatureKind, GraphBatch, NodeFeatures
from fastgntk.kernels import GNTK
from fastgntk.pairwise._run import Run, check_result
from fastgntk.sketch import Sketching, SketchOptions

__all__ = ["NotSketchedWarning", "Options", "check_engine", "fitted", "tell_about_exact"]


class NotSketchedWarning(UserWarning):
    """Graphs are not larger than their sketch, and so computed exactly."""


@dataclass(frozen=True)
class Options:
    """Which kernel, and how to compute it."""

    spec: GNTK
    engine: str
    memory: int
    workers: int
    sketching: Sketching | None

    @classmethod
    def check(
        cls,
        spec: GNTK | None,
        engine: str,
        memory: Memory,
        workers: Workers,
        progress: Progress | None,
        sketching: SketchOptions | None = None,
    ) -> Options:
        """Refuse what has no meaning, before any work."""
        spec = GNTK() if spec is None else spec
        if not isinstance(spec, GNTK):
            raise InputError(f"spec must be a fastgntk.GNTK, but is a {type(spec).__name__}.")
        if progress is not None and not callable(progress):
            raise InputError(f"progress must be a function of (done, total), but is {progress!r}.")
        check_engine(engine)
        sketching = sketching or {}
        chosen = Sketching.from_options(sketching) if engine == "sketched" or sketching else None
        if chosen is not None and engine != "sketched":
            given = ", ".join(f"{name}={value!r}" for name, value in sketching.items())
            raise InputError(
                f"{given} needs engine='sketched', but engine is {engine!r}; exact engines take no sketch."
            )
        return cls(spec, engine, memory_budget(memory), worker_count(workers), chosen)

    def start(
        self,
        rows: GraphBatch,
        cols: GraphBatch | None,
        result: int,
        pairs: float | None = None,
        *,
        more_to_come: bool = False,
    ) -> Run:
        """Start a computation whose result takes that many bytes; ``pairs`` of nodes if not all of them.

        ``more_to_come`` says that graphs which are not known yet will meet these.
        """
        check_result(result, self.memory)
        choice = choose_engine(self.engine, rows, cols, self.spec, pairs, self.sketching, more_to_come=more_to_come)
        if self.sketching is not None:
            tell_about_exact(self.sketching, np.concatenate([b.sizes for b in (rows, cols) if b is not None]))
        return Run(self.spec, choice, self.memory, self.workers, result)


def check_engine(engine: str) -> None:
    """Refuse what is the name of no engine."""
    if engine not in engine_names():
        raise InputError(f"engine must be one of {', '.join(engine_names())}, but is {engine!r}.")


def tell_about_exact(sketching: Sketching, sizes: NDArray[np.int64]) -> None:
    """Warn if graphs are not sketched because of the size that was asked for."""
    distinct, counts = np.unique(sizes[sizes > 1], return_counts=True)  # of one node nothing can be left out
    exact = sum(
        count for size, count in zip(distinct.tolist(), counts.tolist(), strict=True) if sketching.rows(size) is None
    )
    if exact:
        warnings.warn(
            f"sketch_size={sketching.size} is not below the number of nodes of {exact} of {len(sizes)} graphs; these "
            "are computed exactly.",
            NotSketchedWarning,
            stacklevel=levels_to_the_caller(),
        )


def fitted(features: FeatureKind | NodeFeatures, *batches: GraphBatch) -> NodeFeatures:
    """Return node features that know the labels of all batches: those given, or that kind fitted on the first."""
    step = features if isinstance(features, NodeFeatures) else NodeFeatures(features).fit(batches[0])
    for batch in batches:
        step = step.extend(batch)
    return step
