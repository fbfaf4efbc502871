"""Figures beside the score: what knowing nothing gives, what counting gives, what others printed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fastgntk.datasets import REGISTRY
from fastgntk.graphs import GraphBatch
from fastgntk.report._schema import Other
from fastgntk.report.data._drawings import edge_counts

__all__ = ["MOST_FREQUENT", "beside_accuracy", "beside_error", "count_table", "published"]

Array = NDArray[np.float64]
Ints = NDArray[np.int64]
Split = tuple[Ints, Ints]

MOST_FREQUENT = "most frequent class"
_COUNTS = "counts only"
_MOST_LABELS = 200  # kinds of nodes that are counted, the most frequent ones


def count_table(batch: GraphBatch) -> tuple[Array, str]:
    """Return what can be counted of each graph without looking at its structure, and that in words."""
    columns = [batch.sizes.astype(np.float64), np.array(edge_counts(batch), dtype=np.float64)]
    what = "nodes and edges"
    if batch.labels is not None and batch.n_nodes:
        labels = batch.labels if batch.labels.ndim == 1 else batch.labels[:, 0]
        distinct, kind, often = np.unique(labels, return_inverse=True, return_counts=True)
        counted = np.argsort(-often, kind="stable")[:_MOST_LABELS]
        table = np.zeros((len(batch), len(distinct)))
        np.add.at(table, (batch.graph_of_node, kind), 1.0)
        columns += list(table[:, counted].T)
        what += ", and of nodes of each label"
    return np.column_stack(columns), what


def published(name: str) -> list[Other]:
    """Return the figure that the literature has for a data set, in per cent."""
    row = REGISTRY.get(name)
    if row is None or row.published is None:
        return []
    mean, std = row.published
    note = "Du et al. 2019; options were chosen on the very folds that are reported, which is optimistic"
    return [Other(name="published GNTK", mean=round(100 * mean, 3), std=round(100 * std, 3), note=note)]


def beside_accuracy(batch: GraphBatch, numbers: Ints, splits: Sequence[Split]) -> list[Other]:
    """Return the accuracy, in per cent, of the most frequent class and of a machine on counts, over the same folds."""
    from sklearn.preprocessing import StandardScaler
    from sklearn.svm import SVC

    table, what = count_table(batch)
    most, counting = [], []
    for train, test in splits:
        if not len(test):
            continue
        frequent = int(np.bincount(numbers[train]).argmax())
        most.append(100 * float(np.mean(numbers[test] == frequent)))
        if len(np.unique(numbers[train])) < 2:
            counting.append(most[-1])
            continue
        scale = StandardScaler().fit(table[train])
        machine = SVC(C=10.0, max_iter=200_000).fit(scale.transform(table[train]), numbers[train])
        counting.append(100 * float(np.mean(machine.predict(scale.transform(table[test])) == numbers[test])))
    return [
        _other(MOST_FREQUENT, most, "of the training graphs, over the same folds"),
        _other(
            _COUNTS,
            counting,
            f"a support vector machine (RBF, C = 10) on counts of {what}, over the same folds: what structure does not "
            "add",
        ),
    ]


def beside_error(batch: GraphBatch, y: Array) -> list[Other]:
    """Return the leave-one-out root mean squared error of the mean, and of linear regression on counts."""
    from sklearn.linear_model import RidgeCV
    from sklearn.preprocessing import StandardScaler

    n = len(y)
    if n < 3:
        return []
    mean = float(np.std(y)) * n / (n - 1)
    table, what = count_table(batch)
    scaled = StandardScaler().fit_transform(table)
    counting = RidgeCV(alphas=np.logspace(-3, 3, 13)).fit(scaled, y)
    return [
        Other(name="mean of the targets", mean=_digits(mean), note="leave-one-out"),
        Other(
            name=_COUNTS,
            mean=_digits(float(np.sqrt(max(-counting.best_score_, 0.0)))),
            note=f"linear regression on counts of {what}, leave-one-out: what structure does not add",
        ),
    ]


def _digits(value: float) -> float:
    """Round to five digits."""
    return float(f"{value:.5g}")


def _other(name: str, scores: list[Any], note: str) -> Other:
    return Other(name=name, mean=round(float(np.mean(scores)), 3), std=round(float(np.std(scores)), 3), note=note)
