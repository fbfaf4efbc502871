"""Labels of the paper's class on synthetic graphs: label norm, trace and test error, with their bounds.

Graphs of ten nodes with features drawn uniformly from [0, 1] in five dimensions, non-negative as the paper assumes, and
kernel and labels of its theory (one block, one layer, c_u = 1/‖[H SᵀS Â]_u‖): y = α_1 Σ_u ⟨h̄_u, β_1⟩ + Σ_l α_2l Σ_u
⟨h̄_u, β_2l⟩^2l with T = 2. Regression without ridge; the loss is |f − y| cut off at 1, and the bound is that of Theorem
5.6 with the measured norm, without the union bound that this needs. With a rate b/N the kernel is sketched by random
signs, and labels are those of the exactly aggregated nodes with the scales c_u of the sketched ones (Jiang et al. 2022,
Definition 5.4). All values are means over several draws.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np
from scipy import linalg

from fastgntk import theory
from fastgntk.graphs import Graph
from fastgntk.reproduce._figures import Figure, Row, matching, plot
from fastgntk.reproduce._study import Cell, Study, StudyOptions
from fastgntk.sketch import AMS
from fastgntk.theory import LabelClass, aggregate_nodes, closed_form

__all__ = ["STUDY"]

_NODES, _WIDTH, _T = 10, 5, 2
_POWERS = (1, 2, 4)  # up to 2T
_COLOURS = {None: "#000000", 64: "#009E73", 0.9: "#0072B2", 0.5: "#D55E00"}


def _cells(options: StudyOptions) -> list[Cell]:
    sizes = (20, 60) if options.quick else (25, 50, 100, 200, 300)
    return [{"rate": rate, "graphs": n} for rate in _COLOURS for n in sizes]


def _measure(cell: Cell, options: StudyOptions) -> Iterator[Row]:
    draws = 2 if options.quick else 8
    samples = [_measure_sample(cell, [options.seed, cell["graphs"], k]) for k in range(draws)]
    means = {name: float(np.mean([sample[name] for sample in samples])) for name in samples[0]}
    yield {"draws": draws, "nodes": _NODES, **means}


def _measure_sample(cell: Cell, seed: list[int]) -> dict[str, float]:
    n, n_test = cell["graphs"], 100
    rng = np.random.default_rng(seed)
    graphs = [_sample_graph(rng) for _ in range(n + n_test)]
    rule = LabelClass.random(_WIDTH, _POWERS, random_state=int(rng.integers(2**31)))
    sketches = None
    if cell["rate"] is not None:
        b = round(cell["rate"] * _NODES)
        sketches = [AMS.draw(_NODES, b, rng).dense() for _ in graphs]
    nodes = aggregate_nodes(graphs, sketches)
    y = rule.labels(nodes.exact)
    K = closed_form(nodes.sketched).K
    exact = closed_form(aggregate_nodes(graphs).exact).K
    train = K[:n, :n]
    norm, trace = theory.label_norm(y[:n], train), float(np.trace(train))
    prediction = K[n:, :n] @ linalg.solve(train, y[:n], assume_a="pos")
    interval = theory.spectral_interval(exact[:n, :n], train)
    return {
        "label_norm": norm,
        "norm_bound": rule.norm_bound(),
        "norm_bound_du2019": rule.norm_bound("du2019"),
        "norm_bound_jiang2022": rule.norm_bound("jiang2022"),
        "trace": trace,
        "trace_bound": theory.trace_bound(n, _NODES),
        "test_loss": float(np.minimum(np.abs(prediction - y[n:]), 1.0).mean()),
        "constant_loss": float(np.minimum(np.abs(y[:n].mean() - y[n:]), 1.0).mean()),
        "bound": theory.generalization_bound(norm, trace, n),
        "gamma": theory.largest_gamma(_T, nodes.exact[:n]),
        "spectral_low": interval.low,
        "spectral_high": interval.high,
    }


def _sample_graph(rng: np.random.Generator) -> Graph:
    adjacency = np.triu(rng.random((_NODES, _NODES)) < 0.3, 1).astype(np.float64)
    return Graph(adjacency + adjacency.T, rng.random((_NODES, _WIDTH)))


def _draw(rows: list[Row], figure: Figure) -> None:
    norm, trace, loss = figure.subplots(1, 3)
    rows = sorted(rows, key=lambda row: row["graphs"])
    exact = matching(rows, rate=None)
    for rate, colour in _COLOURS.items():
        line = matching(rows, rate=rate)
        label = "exact" if rate is None else f"sketched, b = {rate:g} N"
        for axis, name in ((norm, "label_norm"), (trace, "trace"), (loss, "test_loss")):
            plot(axis, line, "graphs", name, color=colour, marker="o", label=label)
        plot(loss, line, "graphs", "bound", color=colour, linestyle="--", linewidth=1)
        plot(loss, line, "graphs", "constant_loss", color=colour, linestyle=":", linewidth=1)  # labels depend on S
    plot(norm, exact, "graphs", "norm_bound", "k--", linewidth=1, label="bound")
    plot(norm, exact, "graphs", "norm_bound_jiang2022", "k-.", linewidth=1, label="bound as printed by Jiang et al.")
    plot(trace, exact, "graphs", "trace_bound", "k--", linewidth=1)
    loss.plot([], [], "k:", linewidth=1, label="predicting the mean")
    norm.set_yscale("log", base=2)
    loss.set_yscale("log")
    labels: dict[str, Any] = {}
    texts = (
        ("Label norm; bound for the exact kernel", "‖y‖ in K⁻¹"),
        ("Trace; bound 2nN²", "tr K"),
        ("Loss; bound with the measured norm", "mean loss"),
    )
    for axis, (title, ylabel) in zip((norm, trace, loss), texts, strict=True):
        axis.set(title=title, xlabel="graphs n", ylabel=ylabel)
        axis.yaxis.set_major_formatter("{x:g}")
        labels |= {label: line for line, label in zip(*axis.get_legend_handles_labels(), strict=True)}
    figure.legend(list(labels.values()), list(labels), loc="outside lower center", ncols=5, fontsize=8)


def _verdict(rows: list[Row]) -> list[str]:
    exact = matching(rows, rate=None)
    largest = max(exact, key=lambda row: row["graphs"])
    held = all(row["label_norm"] <= row["norm_bound"] and row["trace"] <= row["trace_bound"] for row in exact)
    fraction = largest["label_norm"] / largest["norm_bound"]
    printed = largest["label_norm"] / largest["norm_bound_jiang2022"]
    vacuous = ", which is vacuous, since no loss is above 1" if largest["bound"] >= 1 else ""
    return [
        f"Exact kernel: norm and trace are {'' if held else 'NOT '}below their bounds at every n; the norm reaches "
        f"{fraction:.2f} of its bound ({printed:.2f} of that printed by Jiang et al.), the trace "
        f"{largest['trace'] / largest['trace_bound']:.2f} of 2nN².",
        f"With {largest['graphs']} graphs the loss on new graphs is {largest['test_loss']:.3f} (predicting the mean: "
        f"{largest['constant_loss']:.3f}); the bound with the measured norm is {largest['bound']:.2f}{vacuous}.",
        *(_compare_sketch(rows, rate, largest) for rate in _COLOURS if rate is not None),
    ]


def _compare_sketch(rows: list[Row], rate: float, exact: Row) -> str:
    row = max(matching(rows, rate=rate), key=lambda row: row["graphs"])
    return (
        f"Sketched with b = {rate:g} N: the label norm is {row['label_norm'] / exact['label_norm']:.1f} times the "
        f"exact one, the loss {row['test_loss']:.3f}, and K̃ lies between {row['spectral_low']:.2g} and "
        f"{row['spectral_high']:.2g} times K."
    )


_SHOWN = ("rate", "graphs", "label_norm", "norm_bound", "trace", "trace_bound", "test_loss", "bound")
STUDY = Study("generalization", _cells, _measure, _draw, _verdict, _SHOWN, size=(11.0, 4.5))
