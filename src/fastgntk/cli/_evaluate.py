"""``fastgntk evaluate``: cross-validated accuracy on a data set."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from fastgntk import __version__
from fastgntk._util.text import format_duration
from fastgntk.cli._console import print_json, print_table, print_values, progress_bar, show_log
from fastgntk.cli._data import load_data, warn_skipped
from fastgntk.cli._groups import OptionGroup, option, with_groups
from fastgntk.cli._inputs import Inputs
from fastgntk.cli._options import CandidateOptions, ComputeOptions, ReportOutput, SketchOptions, random_state_option
from fastgntk.cli._report import write_report
from fastgntk.cli._task import check_targets
from fastgntk.datasets import REGISTRY

if TYPE_CHECKING:
    from fastgntk.selection import Evaluation, StageProgress

__all__ = ["FoldOptions", "evaluate"]

_PROTOCOLS = {
    "nested": "nested (options chosen on training folds only)",
    "du2019": "du2019 (options chosen on the reported folds: optimistic)",
}


@dataclass(frozen=True)
class FoldOptions(OptionGroup):
    """How graphs are split."""

    panel = "Cross-validation"

    protocol: str = option("nested", help="nested, or du2019, the protocol of the published figures.")
    folds: str = option("10", help="Number of outer folds, or a file with the fold number of each graph, one per line.")
    inner_folds: int = option(5, help="Number of folds within each training set (nested only).")
    random_state: int = random_state_option(0, "the folds and the sketch")


@with_groups
def evaluate(
    *,
    inputs: Inputs,
    split: FoldOptions,
    kernels: CandidateOptions,
    sketch: SketchOptions,
    compute: ComputeOptions,
    output: ReportOutput,
) -> None:
    """Cross-validate an SVM on DATA, with the kernel and C chosen from candidates.

    For more than 500 graphs the default grid is smaller: layers 1 and 2, jump, normalized, C of 1, 10 and 100.
    """
    output.check()
    from fastgntk import selection  # scikit-learn takes a second to load, which --help does not need

    show_log(output.verbose)
    dataset = load_data(inputs, quiet=output.json)
    warn_skipped(dataset)
    check_targets(dataset, inputs)
    folds: Any = int(split.folds) if split.folds.isdecimal() else selection.read_folds(split.folds, len(dataset))
    candidates = kernels.build(selection.Grid.default(len(dataset)), sketch, split.random_state)
    with _one_bar(quiet=output.json) as progress:
        result = selection.evaluate(
            dataset,
            kernels=candidates,
            protocol=split.protocol,  # type: ignore[arg-type]  # selection.evaluate checks it
            folds=folds,
            inner_folds=split.inner_folds,
            random_state=split.random_state,
            compute=compute.build(),
            progress=progress,
        )
    _show(dataset.name, result, split, output)
    if output.report is not None:
        from fastgntk.report import report_evaluation

        write_report(output, compute, report_evaluation, dataset, result)


@contextmanager
def _one_bar(*, quiet: bool) -> Iterator[StageProgress]:
    """Show kernel and learning, which alternate, as one bar."""
    share = {"kernel": 0.0, "learning": 0.0}
    with progress_bar("evaluating", quiet=quiet) as bar:

        def progress(stage: str, done: int, total: int) -> None:
            share[stage] = done / total
            bar(round(500 * sum(share.values())), 1000)

        yield progress


def _show(name: str, result: Evaluation, split: FoldOptions, output: ReportOutput) -> None:
    row = REGISTRY.get(name)
    published = row.published if row else None
    if output.json:
        about = {
            "dataset": name,
            "version": __version__,
            "folds": int(split.folds) if split.folds.isdecimal() else split.folds,
            "inner_folds": split.inner_folds if split.protocol == "nested" else None,
            "random_state": split.random_state,
            "published": published and {"mean": published[0], "std": published[1], "protocol": "du2019"},
            **output.report_record(),
        }
        print_json(about | result.to_dict())
        return
    tried, folds = result.record, list(zip(result.accuracies, result.choices, strict=True))
    paper = f"{_percent(*published)}  (Du et al. 2019, by the du2019 protocol)" if published else "none"
    rows = [
        ("accuracy", f"{_percent(result.mean, result.std)}  (mean ± std of {len(folds)} folds)"),
        ("protocol", _PROTOCOLS[result.protocol]),
        ("published GNTK", paper),
        ("data", f"{result.n_graphs} graphs, {result.n_classes} classes"),
        ("tried", f"{_count(tried.kernels, 'kernel')} × {_count(tried.C, 'value')} of C, {result.fits:,} fits"),
        ("engine", result.engine),
        ("kernel time", format_duration(result.kernel_seconds)),
        ("learning time", format_duration(result.learning_seconds)),
    ]
    if result.fits_stopped:
        rows.append(("note", f"{result.fits_stopped:,} fits reached the step limit; their last state was used"))
    print_values(f"fastgntk evaluate {name}", rows)
    table = [[str(k), f"{100 * a:.1f} %", f"{c.C:g}", repr(c.kernel)] for k, (a, c) in enumerate(folds, start=1)]
    often, count = Counter(result.choices).most_common(1)[0]
    if 1 < count < len(folds):
        table.append([f"{count} of {len(folds)}", "most often", f"{often.C:g}", repr(often.kernel)])
    title = "The same choice for every fold" if result.optimistic else "Choice in each outer fold"
    print_table(title, [("fold", "right"), ("accuracy", "right"), ("C", "right"), ("kernel", "left")], table)


def _percent(mean: float, std: float) -> str:
    return f"{100 * mean:.1f} ± {100 * std:.1f} %"


def _count(things: Sequence[Any], name: str) -> str:
    return f"{len(things)} {name}{'' if len(things) == 1 else 's'}"
