"""Error and time of GᵀRᵀRASᵀSH against the sketching lemma (Jiang et al. 2022, the figure on sketching).

G, A and H are n × n with entries drawn from [0, 1], as non-negative as adjacency matrices and kernels are; R and S are
independent. The error is relative in Frobenius norm, ‖GᵀRᵀRASᵀSH − GᵀAH‖ / ‖GᵀAH‖. The lemma bounds each entry by
three terms; the bound shown is the Frobenius norm over all entries, with constant 1.
"""

from collections.abc import Iterator

import numpy as np

from fastgntk._util.arrays import Array
from fastgntk._util.threads import single_threaded_blas
from fastgntk.reproduce._figures import SKETCH_STYLES, Figure, Row, column, distinct, matching, plot
from fastgntk.reproduce._study import Cell, Study, StudyOptions, timed
from fastgntk.sketch import SKETCHES, SketchMatrix
from fastgntk.theory import beta, sketching_bound

__all__ = ["STUDY"]


def _cells(options: StudyOptions) -> list[Cell]:
    rates = (0.1, 0.5, 0.9) if options.quick else (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)
    return [{"sketch": sketch, "rate": rate} for sketch in SKETCHES for rate in rates]


def _measure(cell: Cell, options: StudyOptions) -> Iterator[Row]:
    n, runs = (200, 5) if options.quick else (500, 100)
    b = round(cell["rate"] * n)
    draw = SKETCHES[cell["sketch"]]
    errors, exact_times, sketched_times = [], [], []
    rng = np.random.default_rng([options.seed, b, list(SKETCHES).index(cell["sketch"])])
    G, A, H = rng.random((3, n, n))
    expected = G.T @ A @ H
    norm = np.linalg.norm(expected)
    with single_threaded_blas():
        for _ in range(runs):
            exact_times.append(timed(lambda: G.T @ A @ H)[0])
            R, S = draw(n, b, rng), draw(n, b, rng)
            seconds, product = timed(sketched_product, G, R, A, S, H)
            sketched_times.append(seconds)
            errors.append(np.linalg.norm(product - expected) / norm)
    bound = sketching_bound(G, A, H, b, b, beta(cell["sketch"], n, nonzeros=R.nonzeros, size=b))
    exact, sketched = float(np.median(exact_times)), float(np.median(sketched_times))
    yield {
        "n": n,
        "size": b,
        "runs": runs,
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
    error, speed = figure.subplots(1, 2)
    for sketch, style in SKETCH_STYLES.items():
        rows_of_sketch = matching(rows, sketch=sketch)
        plot(error, rows_of_sketch, "rate", "error", **style, label=sketch)
        plot(error, rows_of_sketch, "rate", "bound", color=style["color"], linestyle="--", linewidth=1)
        plot(speed, rows_of_sketch, "rate", "speedup", **style, label=sketch)
    error.plot([], [], color="black", linestyle="--", linewidth=1, label="the lemma's bound")
    error.set(yscale="log", xlabel="sketching rate b/n", title="Relative error, mean of the runs, and bound")
    figure.legend(*error.get_legend_handles_labels(), ncols=6, fontsize=8, loc="outside lower center")
    speed.axhline(1.0, color="black", linewidth=1)
    speed.annotate("as fast as the exact product", (0.02, 1.0), xycoords=("axes fraction", "data"), va="top")
    speed.set_yscale("log", base=2)
    speed.yaxis.set_major_formatter("{x:g}")
    speed.set(xlabel="sketching rate b/n", title=f"Speed-up over the exact product, n = {rows[0]['n']}")


def _verdict(rows: list[Row]) -> list[str]:
    above = [row for row in rows if row["error"] > row["bound"]]
    if above:
        cases = ", ".join(f"{row['sketch']} at {row['rate']:g}" for row in above)
        first = f"The mean error is above the lemma's bound for {cases}: the claim does not hold there."
    else:
        slack = [row["bound"] / row["error"] for row in rows]
        first = (
            f"The mean error is below the lemma's bound for every sketch and rate, as the paper claims; the bound is "
            f"{min(slack):.0f} to {max(slack):.0f} times larger."
        )
    parts = []
    for sketch in distinct(rows, "sketch"):
        faster = column([row for row in matching(rows, sketch=sketch) if row["speedup"] > 1.0], "rate")
        parts.append(f"{sketch} up to rate {max(faster):g}" if faster else f"{sketch} at no rate")
    return [first, f"The sketched product is faster than the exact one: {', '.join(parts)}."]


_SHOWN = ("sketch", "rate", "error", "bound", "exact_seconds", "sketched_seconds", "speedup")
STUDY = Study("figure-sketch", _cells, _measure, _draw, _verdict, _SHOWN, size=(9.0, 4.0))
