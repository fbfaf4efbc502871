"""Reports as HTML files: :func:`report_evaluation` and :func:`report_training`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from fastgntk._util.files import atomic_write, check_place
from fastgntk._util.threads import Progress
from fastgntk.report._schema import Facts

if TYPE_CHECKING:
    from fastgntk.selection import Evaluation

__all__ = ["report_evaluation", "report_training"]


def report_evaluation(
    path: str | Path,
    data: Any,
    result: Evaluation,
    *,
    y: Any = None,
    command: str = "",
    memory: Any = None,
    workers: Any = None,
    progress: Progress | None = None,
) -> Facts:
    """Write what :func:`fastgntk.selection.evaluate` found as one HTML page that needs nothing else.

    Machines of the outer folds are fitted again with the options chosen there, so that the page can tell of every graph
    what a model said that had not seen it, how sure it was, which nodes that came from, and which training graphs are
    most alike. The file is written whole or not at all.

    Parameters
    ----------
    path : str or Path
        Where to write, ``NAME.html``.
    data : data set or graphs
        What was evaluated.
    result : Evaluation
        What :func:`fastgntk.selection.evaluate` returned for it.
    y : classes, one for each graph; taken from the data set if left out
    command : str
        What was run, to be shown.
    memory, workers
        As in :func:`fastgntk.gram`.
    progress : callable, optional
        Called as ``progress(done, total)``.

    Returns
    -------
    dict
        What the page tells, as plain values.
    """
    place = Path(path)
    check_place(place, "path", ".html")
    from fastgntk.report.data import evaluation_facts

    shown = command or f"fastgntk.report.report_evaluation({place.name!r}, data, fastgntk.selection.evaluate(data))"
    facts = evaluation_facts(data, result, y=y, command=shown, memory=memory, workers=workers, progress=progress)
    return _write(place, facts)


def report_training(
    path: str | Path,
    data: Any,
    model: Any,
    *,
    y: Any = None,
    command: str = "",
    target: str | None = None,
    seconds: float | None = None,
    progress: Progress | None = None,
) -> Facts:
    """Write what is known of a fitted classifier or regressor as one HTML page that needs nothing else.

    What is told of a training graph comes from models that left it out: by five folds for support vector machines, in
    closed form for ridge regression.

    Parameters
    ----------
    path : str or Path
        Where to write, ``NAME.html``.
    data : data set or graphs
        What the model was fitted on.
    model : GNTKClassifier, GNTKRegressor, GNTKClassifierCV or GNTKRegressorCV
        Fitted. Of several targets the first is reported.
    y : targets, one for each graph; taken from the data set if left out
    command, progress
        As in :func:`report_evaluation`.
    target : str, optional
        What the target is called, if the data set does not say.
    seconds : float, optional
        How long the training took, to be shown.

    Returns
    -------
    dict
        What the page tells, as plain values.
    """
    place = Path(path)
    check_place(place, "path", ".html")
    from fastgntk.report.data import training_facts

    shown = command or f"fastgntk.report.report_training({place.name!r}, data, model)"
    facts = training_facts(data, model, y=y, command=shown, target=target, seconds=seconds, progress=progress)
    return _write(place, facts)


def _write(place: Path, facts: Facts) -> Facts:
    from fastgntk.report._page import render_page

    atomic_write(place, render_page(facts).encode())
    return facts
