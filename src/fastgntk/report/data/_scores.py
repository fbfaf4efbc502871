"""Scores of the report: baselines to compare with, calibration, coverage of intervals, score by options."""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence

import numpy as np
from scipy.special import ndtri

from fastgntk._util.arrays import Array, Bools, Ints
from fastgntk.datasets import REGISTRY
from fastgntk.graphs import GraphBatch
from fastgntk.kernels import GNTK, WLOA, DescriptorKernel, Kernel, Normalized, Product, Scaled, Sum
from fastgntk.models import Split
from fastgntk.report._schema import Baseline, Bin, Score, Surface
from fastgntk.report.data._drawings import edge_counts

__all__ = [
    "baseline_text",
    "baseline_warnings",
    "calibration_warnings",
    "class_calibration",
    "classification_baselines",
    "coverage",
    "five_digits",
    "percent",
    "published_baselines",
    "regression_baselines",
    "score_surface",
    "single_gntk",
]

_COUNTS = "counts only"
_TIMES_WLOA = " × WLOA"
_INTERACTIONS = " + interactions"
# The numbers of WLOA and of kernels on descriptors among the factors of each summand.
_FORMS = {((0, 0),): "", ((1, 0),): _TIMES_WLOA, ((0, 0), (1, 0), (1, 1)): _INTERACTIONS}
_MAX_LABELS = 200  # most frequent node labels that are counted
_BINS = 10
_NOMINAL = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95)
_MISCALIBRATED = 0.1  # calibration error


def percent(fraction: float) -> float:
    """Return a fraction in per cent, with three decimals."""
    return round(100 * float(fraction), 3)


def five_digits(value: float) -> float:
    """Round to five significant digits."""
    return float(f"{value:.5g}")


def published_baselines(name: str) -> list[Baseline]:
    """Return the published accuracy on a data set, in per cent."""
    row = REGISTRY.get(name)
    if row is None or row.published is None:
        return []
    mean, std = row.published
    note = "Du et al. 2019; options chosen on the same folds that are reported, which is optimistic"
    return [Baseline(name="published GNTK", mean=percent(mean), std=percent(std), note=note)]


def classification_baselines(batch: GraphBatch, class_ids: Ints, splits: Sequence[Split]) -> list[Baseline]:
    """Return the accuracy, in per cent, of the majority class and of an SVM on counts, over the same folds."""
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler
    from sklearn.svm import SVC

    table, counted = _count_table(batch)
    majority, counting = [], []
    for train, test in splits:
        if not len(test):
            continue
        predicted = np.full(len(test), np.bincount(class_ids[train]).argmax())
        majority.append(100 * float(np.mean(predicted == class_ids[test])))
        if len(np.unique(class_ids[train])) > 1:
            svm = make_pipeline(StandardScaler(), SVC(C=10.0, max_iter=200_000))
            predicted = svm.fit(table[train], class_ids[train]).predict(table[test])
        counting.append(100 * float(np.mean(predicted == class_ids[test])))
    note = f"SVM (RBF kernel, C = 10) on counts of {counted}, over the same folds; ignores the structure"
    return [
        _mean_and_std("most frequent class", majority, "of the training graphs, over the same folds"),
        _mean_and_std(_COUNTS, counting, note),
    ]


def _mean_and_std(name: str, scores: list[float], note: str) -> Baseline:
    return Baseline(name=name, mean=round(float(np.mean(scores)), 3), std=round(float(np.std(scores)), 3), note=note)


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
    figures = ", ".join(f"{each['name']} {each['mean']:{decimals}}{unit}" for each in _simple_baselines(score))
    return f" Baselines: {figures}." if figures else ""


def baseline_warnings(score: Score) -> list[str]:
    """Warn if a simple baseline is as good."""
    sign, unit = -1 if score["lower_is_better"] else 1, f" {score['unit']}" if score["unit"] else ""
    return [
        f"The score is no better than “{each['name']}” ({each['mean']:.3g}{unit}): the kernel adds nothing to this "
        "baseline."
        for each in _simple_baselines(score)
        if sign * score["mean"] <= sign * each["mean"]
    ]


def _simple_baselines(score: Score) -> list[Baseline]:
    return [each for each in score["baselines"] if not each["name"].startswith("published")]


def _count_table(batch: GraphBatch) -> tuple[Array, str]:
    """Return counts of nodes, edges and labels of each graph, and what is counted in words."""
    sizes = np.column_stack([batch.sizes, edge_counts(batch)]).astype(np.float64)
    if batch.labels is None or not batch.n_nodes:
        return sizes, "nodes and edges"
    labels = batch.labels if batch.labels.ndim == 1 else batch.labels[:, 0]
    distinct, label_of_node, counts = np.unique(labels, return_inverse=True, return_counts=True)
    frequent = np.argsort(-counts, kind="stable")[:_MAX_LABELS]
    table = np.zeros((len(batch), len(distinct)))
    np.add.at(table, (batch.graph_of_node, label_of_node), 1.0)
    return np.column_stack([sizes, table[:, frequent]]), "nodes, edges and node labels"


def class_calibration(probabilities: Array, truth: Ints, classes: Sequence[str]) -> tuple[list[Bin], str]:
    """Return the non-empty ones of ten bins of equal width, and a note on what they hold.

    With two classes the bins hold probabilities of the second class, otherwise those of the most probable class.
    """
    if probabilities.shape[1] == 2:
        predicted, hit = probabilities[:, 1], truth == 1
        note = f"Probability of class {classes[1]}, and its observed frequency"
    else:
        best = probabilities.argmax(axis=1)
        predicted, hit = probabilities[np.arange(len(best)), best], truth == best
        note = "Probability of the most probable class, and how often it was right"
    bin_of_graph = np.minimum((predicted * _BINS).astype(np.int64), _BINS - 1)
    members = [bin_of_graph == i for i in range(_BINS)]
    bins = [_bin(float(predicted[graphs].mean()), hit[graphs]) for graphs in members if graphs.any()]
    return bins, f"{note}; bars are 95 % intervals. Probabilities are out-of-fold."


def coverage(residuals: Array, deviations: Array) -> tuple[list[Bin], str]:
    """Return the observed coverage of Gaussian intervals, from residuals and standard deviations (n,)."""
    bins = [_bin(level, np.abs(residuals) <= ndtri(0.5 + level / 2) * deviations) for level in _NOMINAL]
    note = (
        "Intervals are Gaussian, from leave-one-out means and standard deviations. The common factor of the standard "
        "deviations is estimated from the same graphs."
    )
    return bins, note


def _bin(predicted: float, hit: Bools) -> Bin:
    hits, count = int(hit.sum()), len(hit)
    low, high = (round(end, 4) for end in wilson_interval(hits, count))
    return Bin(predicted=round(predicted, 4), observed=round(hits / count, 4), low=low, high=high, count=count)


def wilson_interval(hits: int, count: int) -> tuple[float, float]:
    """Return the 95 per cent Wilson interval of a proportion, accurate for small counts."""
    from scipy.stats import binomtest

    interval = binomtest(hits, count).proportion_ci(confidence_level=0.95, method="wilson")
    return float(interval.low), float(interval.high)


def calibration_warnings(bins: Sequence[Bin]) -> list[str]:
    """Warn of a large expected calibration error: the mean distance of predicted and observed frequency over graphs."""
    total = sum(point["count"] for point in bins)
    error = sum(point["count"] * abs(point["predicted"] - point["observed"]) for point in bins) / max(total, 1)
    if error <= _MISCALIBRATED:
        return []
    return [
        f"Predicted and observed frequencies differ by {100 * error:.0f} percentage points on average: probabilities "
        "and intervals are only a rough guide."
    ]


def score_surface(
    scored: Iterable[tuple[Kernel, float]], chosen: Sequence[Kernel], note: str, best: Callable[[float, float], float]
) -> Surface | None:
    """Return the best score by scale, layers and blocks; None for combinations that were not tried.

    ``scored`` are kernels with their scores, ``chosen`` the kernel of each fold; ``best`` is ``max`` or ``min``. Only
    GNTKs with plain jump are included, alone, times WLOA or with interactions, with or without kernels on descriptors
    added; each of these forms has tables of its own. Without any there is no surface.
    """
    table: dict[tuple[int, int, str], float] = {}
    for kernel, score in scored:
        if key := _surface_key(kernel):
            table[key] = score if key not in table else best(table[key], score)
    if not table:
        return None
    blocks, layers = sorted({b for b, _, _ in table}), sorted({r for _, r, _ in table})
    scales = list(dict.fromkeys(s for _, _, s in table))
    chosen_keys = [key for key in map(_surface_key, chosen) if key is not None]
    if missing := len(chosen) - len(chosen_keys):
        where = "" if len(chosen) == 1 else f" in {missing} of {len(chosen)} folds"
        note += (
            f" The kernel chosen{where} is not a single GNTK with plain jump, alone or times WLOA, and so is not in "
            "these tables."
        )
    if any(s.endswith(_TIMES_WLOA) for s in scales):
        note += f"{_TIMES_WLOA}: the product with the optimal assignment kernel."
    if any(s.endswith(_INTERACTIONS) for s in scales):
        note += f"{_INTERACTIONS}: the sum of the GNTK, this product, and the product of both with RBF."
    scores = [[[table.get((b, r, s)) for b in blocks] for r in layers] for s in scales]
    counts = [(*key, folds) for key, folds in Counter(chosen_keys).most_common()]
    return Surface(blocks=blocks, layers=layers, scale=scales, score=scores, chosen=counts, note=note)


def single_gntk(kernel: Kernel) -> GNTK | None:
    """Return the tangent kernel if this is one, normalised or scaled or neither; None for combinations.

    >>> single_gntk(GNTK(2).normalized()), single_gntk(GNTK(2) * GNTK(2))
    (GNTK(blocks=2), None)
    """
    while isinstance(kernel, Normalized | Scaled):
        kernel = kernel.kernel
    return kernel if isinstance(kernel, GNTK) else None


def _surface_key(kernel: Kernel) -> tuple[int, int, str] | None:
    """Return blocks, layers and scale of a kernel on the surface; the scale names products and interactions too.

    >>> from fastgntk import RBF
    >>> k, w, r = GNTK(2, 1).normalized(), WLOA(2).normalized(), RBF("rdkit")
    >>> _surface_key(k * w + r), _surface_key(GNTK() + GNTK())
    ((2, 1, 'uniform × WLOA'), None)
    >>> _surface_key(k + k * w + k * w * r + r)
    (2, 1, 'uniform + interactions')
    """
    on_nodes = [part for part in _parts(kernel, Sum) if not _is_on_descriptors(part)]
    networks, forms = set(), []
    for part in on_nodes:
        factors = _parts(part, Product)
        network = [factor for factor in factors if isinstance(factor, GNTK) and isinstance(factor.jump, bool)]
        n_assignments = sum(isinstance(factor, WLOA) for factor in factors)
        n_descriptors = sum(map(_is_on_descriptors, factors))
        if len(network) != 1 or len(factors) != 1 + n_assignments + n_descriptors:
            return None
        networks.add(network[0])
        forms.append((n_assignments, n_descriptors))
    suffix = _FORMS.get(tuple(forms))
    if len(networks) != 1 or suffix is None:
        return None
    [gntk] = networks
    return gntk.blocks, gntk.layers, gntk.scale + suffix


def _is_on_descriptors(kernel: Kernel) -> bool:
    return all(isinstance(leaf, DescriptorKernel) for leaf in kernel.leaves())


def _parts(kernel: Kernel, operation: type[Sum] | type[Product]) -> list[Kernel]:
    """Return the summands or factors of a kernel, without normalisation and weights."""
    while isinstance(kernel, Normalized | Scaled):
        kernel = kernel.kernel
    if not isinstance(kernel, operation):
        return [kernel]
    return [*_parts(kernel.k1, operation), *_parts(kernel.k2, operation)]
