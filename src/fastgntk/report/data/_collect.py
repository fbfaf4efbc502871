"""What an evaluation or a training found, collected as :class:`Facts`."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fastgntk._util.threads import Progress
from fastgntk.errors import InputError
from fastgntk.graphs import GraphBatch
from fastgntk.kernels import GNTK
from fastgntk.models import check_classes
from fastgntk.pairwise import describe, fitted, gram, normalize
from fastgntk.report._schema import Facts, Map, Other, Score, Surface
from fastgntk.report.data import _cautions as cautions
from fastgntk.report.data._baselines import beside_accuracy, published
from fastgntk.report.data._graphs import graph_facts
from fastgntk.report.data._maps import (
    Spectrum,
    heat_map,
    neighbour_map,
    order_by_class,
    order_by_cluster,
    principal_map,
    spectrum,
)
from fastgntk.report.data._measures import class_calibration, confusion
from fastgntk.report.data._source import Source, Stages, in_words, run_rows
from fastgntk.report.data._speed import compression, speed
from fastgntk.selection import Evaluation, evaluation_left_out

__all__ = [
    "about_reading",
    "accuracy_summary",
    "add_kernel",
    "add_pictures",
    "evaluation_facts",
    "in_percent",
    "start_facts",
    "surface",
]

Array = NDArray[np.float64]
Ints = NDArray[np.int64]

_FIT, _MAPS, _BESIDE, _SHARES = "machines of the folds", "maps", "comparison", "shares of nodes"


def evaluation_facts(
    data: Any,
    result: Evaluation,
    *,
    y: Any = None,
    command: str = "",
    memory: Any = None,
    workers: Any = None,
    progress: Progress | None = None,
) -> Facts:
    """Collect what there is to tell of an evaluation; see :func:`fastgntk.report.report_evaluation`."""
    source = Source.of(data)
    record = result.record
    if record is None or len(source.batch) != result.n_graphs:
        raise InputError(
            f"the evaluation is of {result.n_graphs} graphs, but data has {len(source.batch)}; pass the data that was "
            "evaluated."
        )
    labels = check_classes(getattr(data, "y", None) if y is None else y, len(source.batch))
    values, numbers = np.unique(labels, return_inverse=True)
    classes = [str(value) for value in values.tolist()]
    stages = Stages(progress, {_FIT: 5, _MAPS: 3, _BESIDE: 2, _SHARES: 5})
    with stages.stage(_FIT) as tell:
        shares = {"kernel": 0.0, "learning": 0.0}

        def both(stage: str, done: int, total: int) -> None:
            shares[stage] = done / total
            tell(round(500 * sum(shares.values())), 1000)

        left_out = evaluation_left_out(source.batch, numbers, result, memory=memory, workers=workers, progress=both)
    often = Counter(result.choices).most_common(1)[0][0]
    place = left_out.kernel_of[record.folds[result.choices.index(often)][1][0]]
    kernel, engine = left_out.kernels[place], left_out.engines[place]
    step = fitted(record.features, source.batch)
    ready = step.transform(source.batch)
    sketching = _as_options(result.sketching)
    how = {"features": step, "memory": memory, "workers": workers, "sketching": sketching}
    facts = start_facts(source, command, "classification")
    with stages.stage(_MAPS) as tell:
        start = time.perf_counter()
        raw = gram(source.batch, kernel.spec, features=step, engine=engine, memory=memory, workers=workers, **sketching)
        kernel_seconds = time.perf_counter() - start
        found = add_pictures(facts, normalize(raw), numbers, classes)
    with stages.stage(_BESIDE):
        others = [*published(source.name), *beside_accuracy(source.batch, numbers, record.folds)]
        add_kernel(facts, ready, kernel.spec, kernel_seconds, workers, sketched=bool(sketching))
        equal = describe(source.batch, numbers, features=step)
    facts["score"] = Score(
        name="accuracy",
        unit="%",
        mean=in_percent(result.mean),
        std=in_percent(result.std),
        folds=[in_percent(a) for a in result.accuracies],
        lower_is_better=False,
        beside=others,
        protocol=_protocol(result, len(record.folds)),
    )
    facts["classes"] = classes
    facts["confusion"] = confusion(numbers, left_out.said, len(classes))
    assert left_out.probabilities is not None  # machines have them
    facts["calibration"], facts["calibration_note"] = class_calibration(left_out.probabilities, numbers)
    if len(classes) > 2:
        facts["calibration_note"] += (
            " The evaluation lets pairs of classes vote; probabilities and shares of nodes come from one machine for "
            "each class against the others, as in a trained model."
        )
    by_kernel = zip(record.candidates, record.selection.max(axis=1).tolist(), strict=True)
    where = (
        "the folds that are reported" if result.optimistic else f"{record.inner_folds} folds within each training part"
    )
    facts["surface"] = surface(
        [(c.spec.blocks, c.spec.layers, c.spec.scale, in_percent(score)) for c, score in by_kernel],
        [(c.blocks, c.layers, c.scale) for c in result.choices],
        f"Accuracy in per cent, the best over jump, normalisation, types of edges and C; mean over {where}.",
        best=max,
    )
    with stages.stage(_SHARES) as tell:
        facts["graphs"], facts["node_labels"], missing = graph_facts(
            source,
            left_out,
            numbers.tolist(),
            left_out.said.tolist(),
            left_out.said != numbers,
            progress=tell,
            **how,
        )
    facts["warnings"] = [
        *_about_protocol(result),
        *cautions.about_baselines(facts["score"]["mean"], others, lower_is_better=False, unit="%"),
        *cautions.about_equal_graphs(equal.equal_typed if kernel.spec.typed else equal.equal, len(numbers)),
        *cautions.about_classes(numbers, classes, len(record.folds)),
        *cautions.about_calibration(facts["calibration"]),
        *cautions.about_spectrum(found, len(numbers)),
        *about_reading(source),
        *missing,
    ]
    facts["summary"] = accuracy_summary(facts["score"], others, len(classes))
    options = [
        ("protocol", facts["score"]["protocol"]),
        ("options tried", in_words(result.grid.to_dict())),
        ("chosen most often", in_words(dict(often.__dict__))),
        ("node features", step.kind_),
        ("seed", str(record.seed)),
        *([("sketch", in_words(result.sketching))] if result.sketching else []),
    ]
    facts["run"] = run_rows(source, ready, kernel.spec, options, engine)
    facts["stages"] = [
        ("kernels of the grid", round(result.kernel_seconds, 3)),
        ("machines of the grid", round(result.learning_seconds, 3)),
        *[(f"report: {name}", seconds) for name, seconds in stages.seconds],
    ]
    return facts


def add_pictures(
    facts: Facts, cosine: Array, numbers: Ints | None, classes: Sequence[str], y: Array | None = None
) -> Spectrum:
    """Add heat map and maps from cosines (n, n), by class or by cluster, and return the spectrum."""
    found = spectrum(cosine)
    axis = found.coordinates[:, 0]
    if numbers is not None:
        ordered = order_by_class(cosine, numbers, classes, axis)
    else:
        assert y is not None  # either classes or targets
        ordered = order_by_cluster(cosine, axis, y)
    facts["heat_map"] = heat_map(cosine, *ordered)
    maps: Iterable[Map | None] = (principal_map(found), neighbour_map(cosine, found))
    facts["maps"] = [one for one in maps if one is not None]
    return found


def surface(
    scored: Sequence[tuple[int, int, str, float]], chosen: Sequence[tuple[int, int, str]], note: str, best: Any
) -> Surface:
    """Return the best score by scale, layers and blocks; None where nothing was tried."""
    blocks, layers = sorted({s[0] for s in scored}), sorted({s[1] for s in scored})
    scales = list(dict.fromkeys(s[2] for s in scored))
    table: dict[tuple[int, int, str], float] = {}
    for b, r, s, score in scored:
        table[b, r, s] = score if (b, r, s) not in table else best(table[b, r, s], score)
    return Surface(
        blocks=blocks,
        layers=layers,
        scale=scales,
        score=[[[table.get((b, r, s)) for b in blocks] for r in layers] for s in scales],
        chosen=[(b, r, s, count) for (b, r, s), count in Counter(chosen).most_common()],
        note=note,
    )


def in_percent(share: float) -> float:
    """Return a share in per cent, to a thousandth of it."""
    return round(100 * float(share), 3)


def start_facts(source: Source, command: str, kind: Any) -> Facts:
    """Return facts of which the rest is filled in as it is found."""
    empty = Score(name="", unit="", mean=0.0, folds=[], lower_is_better=False, beside=[], protocol="")
    return Facts(
        title=source.name,
        kind=kind,
        summary="",
        command=command,
        run=[],
        stages=[],
        score=empty,
        warnings=[],
        maps=[],
        node_labels=[],
        graphs=[],
    )


def add_kernel(
    facts: Facts, ready: GraphBatch, spec: GNTK, seconds: float, workers: Any, *, sketched: bool = False
) -> None:
    """Add how far equal nodes were merged, and how quick the kernel was."""
    merged = compression(ready, spec)
    if merged is not None:
        facts["compression"] = merged
    beside = None if sketched else speed(ready, spec, seconds, workers)
    if beside is not None:
        facts["speed"] = beside


def _as_options(sketching: dict[str, Any] | None) -> dict[str, Any]:
    return {"sketch_size" if name == "size" else name: value for name, value in (sketching or {}).items()}


def _protocol(result: Evaluation, folds: int) -> str:
    if result.optimistic:
        return f"{folds} folds; options chosen to maximise the mean over these same folds (du2019: optimistic)"
    return f"{folds} folds, each tested once; options chosen on the training part of each fold only (nested)"


def _about_protocol(result: Evaluation) -> list[str]:
    out = []
    if result.optimistic:
        out.append(
            "The protocol du2019 chooses options on the very folds that are reported: the score is optimistic. For "
            "what to expect on new graphs, evaluate with the protocol nested."
        )
    if result.fits_stopped:
        out.append(
            f"{result.fits_stopped:,} of {result.fits:,} fits stopped at their step limit before they had converged, "
            "and were used as they were."
        )
    return out


def about_reading(source: Source) -> list[str]:
    """Say what was left out when reading."""
    if not source.skipped:
        return []
    rows = "row was" if source.skipped == 1 else "rows were"
    return [f"{source.skipped:,} {rows} left out when reading, because RDKit cannot read the SMILES."]


def accuracy_summary(score: Score, others: Sequence[Other], n_classes: int) -> str:
    """Return what was found, in two sentences."""
    mean, std = score["mean"], score.get("std")
    spread = f" (± {std:.1f} between folds)" if std is not None else ""
    text = f"Of graphs that the model had not seen, {mean:.1f} % were placed in the right one of {n_classes} classes"
    text += f"{spread}."
    simple = {other["name"]: other["mean"] for other in others if not other["name"].startswith("published")}
    if simple:
        text += f" For comparison: {', '.join(f'{name} {value:.1f} %' for name, value in simple.items())}."
    return text
