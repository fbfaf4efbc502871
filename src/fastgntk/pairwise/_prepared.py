"""Graphs made ready once, for many matrices against them: the training set of a model."""

from __future__ import annotations

from typing import Any, Unpack

from fastgntk._util.memory import Memory, Workers
from fastgntk.engines import check_edges
from fastgntk.graphs import FeatureKind, NodeFeatures, as_graphs
from fastgntk.kernels import GNTK
from fastgntk.pairwise._options import Options, fitted
from fastgntk.pairwise._plan import plan_gram
from fastgntk.pairwise._run import Cut, Run
from fastgntk.sketch import Sketching, SketchOptions

__all__ = ["PreparedGraphs", "prepare"]


class PreparedGraphs:
    """Hold n graphs ready for :func:`fastgntk.cross_gram`; made by :func:`prepare`.

    Attributes
    ----------
    spec : GNTK
    features : NodeFeatures
        Fitted on the graphs.
    engine : str
    sketching : Sketching, or None for an exact engine
    """

    def __init__(self, features: NodeFeatures, run: Run, cut: Cut, count: int, sketching: Sketching | None) -> None:
        self.spec = run.spec
        self.features = features
        self.engine = run.engine.name
        self.sketching = sketching
        self.run = run
        self.cut = cut
        self._count = count

    def __len__(self) -> int:
        return self._count

    def __repr__(self) -> str:
        return f"PreparedGraphs({len(self)} graphs, {self.spec}, engine={self.engine!r})"


def prepare(
    graphs: Any,
    spec: GNTK | None = None,
    *,
    features: FeatureKind | NodeFeatures = "auto",
    engine: str = "auto",
    memory: Memory = None,
    workers: Workers = None,
    **sketching: Unpack[SketchOptions],
) -> PreparedGraphs:
    """Make graphs ready, so that rows against them cost what is new only.

    ``cross_gram(new, prepare(graphs, spec))`` gives what ``cross_gram(new, graphs, spec)`` gives; it pays when
    there are many calls. The arguments are those of :func:`gram`, without progress.

    Examples
    --------
    >>> import fastgntk as fg
    >>> data = fg.datasets.load("MUTAG").graphs
    >>> train = fg.prepare(data[:100], fg.GNTK(blocks=2))
    >>> fg.cross_gram(data[100:101], train).shape
    (1, 100)
    """
    options = Options.check(spec, engine, memory, workers, None, sketching)
    batch = as_graphs(graphs)
    step = fitted(features, batch)
    batch = step.transform(batch)
    check_edges(batch, options.spec)
    # Little work now may be much over many calls, so the quickest engine is taken whatever the number of graphs.
    run = options.start(batch, None, 0, pairs=1e12, more_to_come=True)
    cut = run.cut(batch)
    run.build(cut, run.affordable_workers(plan_gram(cut.blocks), cut.prepared))
    return PreparedGraphs(step, run, cut, len(batch), options.sketching)
