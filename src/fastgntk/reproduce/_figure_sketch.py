"""Error and time of GᵀRᵀRASᵀSH against the sketching lemma (Jiang et al. 2022, Figure 3).

It shows the mean over the entries of |M − M_sketch|/|M| for M = GᵀAH with n = 500, beside the mean over the
entries of the bound of Lemma E.3 over |M|, for AMS sketches R and S at rates 0.1 to 0.9, 100 runs each, and the time of
both products. The paper does not print the distribution of the entries of A, G and H, so both are run: uniform on
[0, 1], as non-negative as adjacency matrices and kernels are, and standard normal. With normal entries some of M are
near 0, where the ratio has no mean: the median over the entries is shown as well, and for every sketch the error
relative in Frobenius norm. The constant of the bound is 1.

A, G and H are drawn once for each rate, and only R and S anew for each run. With normal entries the mean over the
entries depends on the few that are nearest to 0 in that draw, so that its line is not smooth.
"""

from collections.abc import Callable, Iterator

import numpy as np

from fastgntk._util.arrays import Array
from fastgntk._util.threads import single_threaded_blas
from fastgntk.reproduce._figures import SKETCH_STYLES, Axes, Figure, Row, column, distinct, matching, plot
from fastgntk.reproduce._study import Cell, Study, StudyOptions, timed
from fastgntk.sketch import SKETCHES, SketchMatrix
from fastgntk.theory import beta, sketching_bound

__all__ = ["STUDY"]

# AMS and Gaussian take the same time, and AMS, Gaussian and SRHT have the same bound: the wide line shows on both sides
# of the one on top of it, and dashes alternate.
_WIDE = {"gaussian": {"linewidth": 3.5, "markersize": 6.5, "zorder": 1.5}}
_DASHES = {name: (3 * k, (3, 6)) for k, name in enumerate(("ams", "gaussian", "srht"))}

_DRAW: dict[str, Callable[[np.random.Generator, tuple[int, ...]], Array]] = {
    "uniform": lambda rng, shape: rng.random(shape),
    "normal": lambda rng, shape: rng.standard_normal(shape),
}


def _cells(options: StudyOptions) -> list[Cell]:
    rates = (0.1, 0.5, 0.9) if options.quick else (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)
    return [
        {"entries": entries, "sketch": sketch, "rate": rate}
        for entries in _DRAW
        for sketch in SKETCHES
        for rate in rates
    ]


def _measure(cell: Cell, options: StudyOptions) -> Iterator[Row]:
    n, runs = (200, 5) if options.quick else (500, 100)
    b = round(cell["rate"] * n)
    draw = SKETCHES[cell["sketch"]]
    rng = np.random.default_rng([options.seed, b, list(SKETCHES).index(cell["sketch"])])
    G, A, H = _DRAW[cell["entries"]](rng, (3, n, n))
    M = G.T @ A @ H
    norm, size = np.linalg.norm(M), np.abs(M)
    entry_means, entry_medians, errors, exact_times, sketched_times = [], [], [], [], []
    with single_threaded_blas():
        for _ in range(runs):
            exact_times.append(timed(lambda: G.T @ A @ H)[0])
            R, S = draw(n, b, rng), draw(n, b, rng)
            seconds, product = timed(sketched_product, G, R, A, S, H)
            sketched_times.append(seconds)
            relative = np.abs(product - M) / size
            entry_means.append(relative.mean())
            entry_medians.append(np.median(relative))
            errors.append(np.linalg.norm(product - M) / norm)
    bound = sketching_bound(G, A, H, b, b, beta(cell["sketch"], n, nonzeros=R.nonzeros, size=b))
    exact, sketched = float(np.median(exact_times)), float(np.median(sketched_times))
    yield {
        "n": n,
        "size": b,
        "runs": runs,
        "entry_error": float(np.mean(entry_means)),
        "entry_error_median": float(np.mean(entry_medians)),
        "entry_bound": float(np.mean(bound.total / size)),
        "entry_bound_median": float(np.median(bound.total / size)),
        "error": float(np.mean(errors)),
        "largest_error": float(np.max(errors)),
        "bound": float(bound.frobenius / norm),
        "bound_left": float(np.linalg.norm(bound.left) / norm),
        "bound_right": float(np.linalg.norm(bound.right) / norm),
        "bound_both": float(np.linalg.norm(bound.both) / norm),
        "exact_seconds": exact,
        "sketched_seconds": sketched,
        "speedup": exact / sketched,
    }


def sketched_product(G: Array, R: SketchMatrix, A: Array, S: SketchMatrix, H: Array) -> Array:
    """Return GᵀRᵀ (R A Sᵀ) S H, the small matrix in the middle first."""
    middle = S.right(R.left(A))
    return np.asarray(R.left(G).T @ (middle @ S.left(H)))


def _draw(rows: list[Row], figure: Figure) -> None:
    panels = figure.subplots(2, 2)
    for axis, entries in zip(panels[0], distinct(rows, "entries"), strict=False):
        _draw_paper(axis, matching(rows, entries=entries, sketch="ams"), entries)
    frobenius, time = panels[1]
    milliseconds = [row | {name: 1e3 * row[name] for name in ("exact_seconds", "sketched_seconds")} for row in rows]
    for sketch, style in SKETCH_STYLES.items():
        rows_of_sketch = matching(rows, sketch=sketch, entries="uniform")
        line = style | _WIDE.get(sketch, {})
        plot(frobenius, rows_of_sketch, "rate", "error", **line, label=sketch)
        dashes = _DASHES.get(sketch, "--")
        plot(frobenius, rows_of_sketch, "rate", "bound", color=style["color"], linestyle=dashes, linewidth=1.5)
        plot(time, matching(milliseconds, sketch=sketch, entries="uniform"), "rate", "sketched_seconds", **line)
    frobenius.plot([], [], color="black", linestyle="--", linewidth=1, label="bound of the lemma")
    title = "Every sketch, uniform entries: error in Frobenius norm"
    frobenius.plot([], [], color="black", linewidth=1, label="exact product")
    frobenius.set(yscale="log", xlabel="sketching rate b/n", ylabel="‖M − M_sketch‖ / ‖M‖", title=title)
    figure.legend(*frobenius.get_legend_handles_labels(), ncols=7, fontsize=8, loc="outside lower center")
    exact = sorted(matching(milliseconds, sketch="ams", entries="uniform"), key=lambda row: row["rate"])
    plot(time, exact, "rate", "exact_seconds", color="black", linewidth=1)
    time.set(xlabel="sketching rate b/n", ylabel="milliseconds", title=f"Time of one product, n = {rows[0]['n']}")
    time.set_ylim(bottom=0)


def _draw_paper(axis: Axes, rows: list[Row], entries: str) -> None:
    """Draw what the left part of the paper's figure shows: AMS, relative errors averaged over all entries."""
    rows = sorted(rows, key=lambda row: row["rate"])
    for suffix, marker, label in (("", "o", "mean"), ("_median", "s", "median")):
        plot(axis, rows, "rate", "entry_error" + suffix, color="#0072B2", marker=marker, label=f"error, {label}")
        line = {"color": "#D55E00", "marker": marker, "linestyle": "--", "linewidth": 1}
        plot(axis, rows, "rate", "entry_bound" + suffix, **line, label=f"bound, {label}")
    axis.set(yscale="log", xlabel="sketching rate b/n", ylabel="|M − M_sketch| / |M|")
    axis.set_title(f"AMS, {entries} entries: mean and median error")
    axis.margins(y=0.3)
    axis.legend(fontsize=7, ncols=2, loc="upper right", title="over all entries", title_fontsize=7)


def _verdict(rows: list[Row]) -> list[str]:
    return [*(_compare_entries(rows, entries) for entries in distinct(rows, "entries")), *_compare_sketches(rows)]


def _compare_entries(rows: list[Row], entries: str) -> str:
    """Compare what the paper's figure shows with its claim, that the error is always below the bound."""
    ams = sorted(matching(rows, entries=entries, sketch="ams"), key=lambda row: row["rate"])
    if not ams:
        return f"AMS was not measured with {entries} entries."
    above = [f"{row['rate']:g}" for row in ams if row["entry_error"] > row["entry_bound"]]
    claim = (
        f"is above the bound at rates {', '.join(above)}" if above else "is below the bound at every rate, as claimed"
    )
    first, last = ams[0], ams[-1]
    slack = [row["entry_bound"] / row["entry_error"] for row in ams]
    return (
        f"AMS, {entries} entries: the mean over all entries {claim}: {first['entry_error']:.2g} at rate "
        f"{first['rate']:g} and {last['entry_error']:.2g} at {last['rate']:g} (medians "
        f"{first['entry_error_median']:.2g} and {last['entry_error_median']:.2g}); the bound is {min(slack):.0f} to "
        f"{max(slack):.0f} times larger."
    )


def _compare_sketches(rows: list[Row]) -> list[str]:
    above = [row for row in rows if row["error"] > row["bound"]]
    if above:
        cases = ", ".join(f"{row['sketch']} at {row['rate']:g}" for row in above)
        first = (
            f"In Frobenius norm the mean error is above the lemma's bound for {cases}: the claim does not hold there."
        )
    else:
        slack = [row["bound"] / row["error"] for row in rows]
        first = (
            f"In Frobenius norm the mean error is below the lemma's bound for every sketch and rate; the bound is "
            f"{min(slack):.0f} to {max(slack):.0f} times larger."
        )
    uniform = matching(rows, entries="uniform")
    parts = []
    for sketch in distinct(uniform, "sketch"):
        faster = column([row for row in matching(uniform, sketch=sketch) if row["speedup"] > 1.0], "rate")
        parts.append(f"{sketch} up to rate {max(faster):g}" if faster else f"{sketch} at no rate")
    return [first, f"The sketched product is faster than the exact one: {', '.join(parts)}."]


_SHOWN = ("entries", "sketch", "rate", "entry_error", "entry_bound", "error", "bound", "speedup")
STUDY = Study("figure-sketch", _cells, _measure, _draw, _verdict, _SHOWN, size=(9.0, 7.0))
