"""Write reports as HTML files: :func:`report_evaluation` and :func:`report_training`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from fastgntk._util.files import atomic_write, check_output_path
from fastgntk.pairwise import Compute
from fastgntk.report import _page
from fastgntk.report._schema import ReportData

if TYPE_CHECKING:
    from fastgntk.selection import Evaluation

__all__ = ["report_evaluation", "report_training"]


def report_evaluation(
    path: str | Path, data: Any, result: Evaluation, *, y: Any = None, command: str = "", compute: Compute | None = None
) -> ReportData:
    """Write the result of :func:`fastgntk.selection.evaluate` as a self-contained HTML page; return its data.

    The SVMs of the outer folds are refitted with the options chosen there. The page shows for every graph its
    out-of-fold prediction and probability, the contributions of its nodes, and the most similar training graphs. The
    file is written atomically.

    Parameters
    ----------
    path : str or Path
        Output file, ``NAME.html``.
    data : data set or graphs
        The data that was evaluated.
    result : Evaluation
        What :func:`fastgntk.selection.evaluate` returned for it.
    y : classes, one for each graph; by default those of the data set
    command : str
        Command line to show on the page.
    compute : Compute, optional
        Threads, memory and progress, as in :func:`fastgntk.gram`; engines are those of the evaluation.
    """
    path = Path(path)
    check_output_path(path, "path", ".html")
    from fastgntk.report.data import evaluation_data

    command = command or f"fastgntk.report.report_evaluation({path.name!r}, data, fastgntk.selection.evaluate(data))"
    return _write(path, evaluation_data(data, result, y=y, command=command, compute=compute))


def report_training(
    path: str | Path,
    data: Any,
    model: Any,
    *,
    y: Any = None,
    command: str = "",
    target: str | None = None,
    seconds: float | None = None,
    compute: Compute | None = None,
) -> ReportData:
    """Write a report of a fitted classifier or regressor as a self-contained HTML page; return its data.

    Predictions of training graphs are out-of-fold: five folds for SVMs, closed-form leave-one-out for ridge regression.

    Parameters
    ----------
    path : str or Path
        Output file, ``NAME.html``.
    data : data set or graphs
        The training data.
    model : GraphClassifier, GraphRegressor, GraphClassifierCV or GraphRegressorCV
        Fitted. With several targets, the report covers the first.
    y : targets, one for each graph; by default those of the data set
    command, compute
        As in :func:`report_evaluation`.
    target : str, optional
        Name of the target, if the data set has none.
    seconds : float, optional
        Training time, to be shown.
    """
    path = Path(path)
    check_output_path(path, "path", ".html")
    from fastgntk.report.data import training_data

    command = command or f"fastgntk.report.report_training({path.name!r}, data, model)"
    report = training_data(data, model, y=y, command=command, target=target, seconds=seconds, compute=compute)
    return _write(path, report)


def _write(path: Path, report: ReportData) -> ReportData:
    atomic_write(path, _page.render_page(report).encode())
    return report
