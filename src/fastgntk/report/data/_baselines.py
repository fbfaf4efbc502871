"""Scores to compare with: majority class or mean, counts of nodes and edges, published figures."""

from collections.abc import Sequence

import numpy as np

from fastgntk._util.arrays import Array, Ints
from fastgntk.datasets import REGISTRY
from fastgntk.graphs import GraphBatch
from fastgntk.report._schema import Baseline, Score
from fastgntk.report.data._drawings import edge_counts
from fastgntk.report.data._metrics import five_digits

__all__ = ["Split", "baseline_text", "classification_baselines", "published", "regression_baselines"]

Split = tuple[Ints, Ints]

_COUNTS = "counts only"
_LABELS = 200  # most frequent node labels that are counted


def published(name: str) -> list[Baseline]:
    """Return the published accuracy on a data set, in per cent."""
    row = REGISTRY.get(name)
    if row is None or row.published is None:
        return []
    mean, std = row.published
    note = "Du et al. 2019; options chosen on the same folds that are reported, which is optimistic"
    return [Baseline(name="published GNTK", mean=round(100 * mean, 3), std=round(100 * std, 3), note=note)]


def classification_baselines(batch: GraphBatch, numbers: Ints, splits: Sequence[Split]) -> list[Baseline]:
    """Return the accuracy, in per cent, of the majority class and of an SVM on counts, over the same folds."""
    from sklearn.preprocessing import StandardScaler
    from sklearn.svm import SVC

    table, counted = _count_table(batch)
    majority, counting = [], []
    for train, test in splits:
        if not len(test):
            continue
        frequent = int(np.bincount(numbers[train]).argmax())
        majority.append(100 * float(np.mean(numbers[test] == frequent)))
        if len(np.unique(numbers[train])) < 2:
            counting.append(majority[-1])
            continue
        scale = StandardScaler().fit(table[train])
        svm = SVC(C=10.0, max_iter=200_000).fit(scale.transform(table[train]), numbers[train])
        counting.append(100 * float(np.mean(svm.predict(scale.transform(table[test])) == numbers[test])))
    note = f"SVM (RBF kernel, C = 10) on counts of {counted}, over the same folds; ignores the structure"
    return [
        _mean_and_std("most frequent class", majority, "of the training graphs, over the same folds"),
        _mean_and_std(_COUNTS, counting, note),
    ]


def regression_baselines(batch: GraphBatch, y: Array) -> list[Baseline]:
    """Return the leave-one-out root mean squared error of the mean, and of linear regression on counts."""
    from sklearn.linear_model import RidgeCV
    from sklearn.preprocessing import StandardScaler

    n = len(y)
    if n < 3:
        return []
    mean = float(np.std(y)) * n / (n - 1)
    table, counted = _count_table(batch)
    counting = RidgeCV(alphas=np.logspace(-3, 3, 13)).fit(StandardScaler().fit_transform(table), y)
    error = float(np.sqrt(max(-counting.best_score_, 0.0)))
    note = f"linear regression on counts of {counted}, leave-one-out; ignores the structure"
    return [
        Baseline(name="mean of the targets", mean=five_digits(mean), note="leave-one-out"),
        Baseline(name=_COUNTS, mean=five_digits(error), note=note),
    ]


def baseline_text(score: Score) -> str:
    """Return a sentence with the scores of simple baselines, empty if there are none."""
    decimals, unit = (".1f", " %") if score["unit"] == "%" else (".3g", "")
    simple = [each for each in score["baselines"] if not each["name"].startswith("published")]
    listed = ", ".join(f"{each['name']} {each['mean']:{decimals}}{unit}" for each in simple)
    return f" Baselines: {listed}." if listed else ""


def _count_table(batch: GraphBatch) -> tuple[Array, str]:
    """Return counts of nodes, edges and labels of each graph, and what is counted in words."""
    columns = [batch.sizes.astype(np.float64), np.array(edge_counts(batch), dtype=np.float64)]
    if batch.labels is None or not batch.n_nodes:
        return np.column_stack(columns), "nodes and edges"
    labels = batch.labels if batch.labels.ndim == 1 else batch.labels[:, 0]
    distinct, kind, often = np.unique(labels, return_inverse=True, return_counts=True)
    counted = np.argsort(-often, kind="stable")[:_LABELS]
    table = np.zeros((len(batch), len(distinct)))
    np.add.at(table, (batch.graph_of_node, kind), 1.0)
    return np.column_stack([*columns, table[:, counted]]), "nodes, edges and node labels"


def _mean_and_std(name: str, scores: list[float], note: str) -> Baseline:
    return Baseline(name=name, mean=round(float(np.mean(scores)), 3), std=round(float(np.std(scores)), 3), note=note)
