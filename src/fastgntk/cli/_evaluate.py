"""``fastgntk evaluate``: cross-validated accuracy on a data set."""

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from fastgntk import __version__
from fastgntk._util.text import format_duration
from fastgntk.cli._console import configure_logging, plural, print_json, print_table, print_values, progress_bar
from fastgntk.cli._inputs import Inputs, check_graphs, check_targets, load_data, warn_skipped, warn_unused_descriptors
from fastgntk.cli._option_groups import OptionGroup, option, random_state_option, with_groups
from fastgntk.cli._options import CandidateOptions, ComputeOptions, ReportOutput, SketchOptions, candidate_kernels
from fastgntk.datasets import REGISTRY
from fastgntk.report import report_evaluation

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

    protocol: str = option("nested, or du2019, the protocol of the published figures.", "nested")
    folds: str = option("Number of outer folds, or a file with the fold number of each graph, one per line.", "10")
    inner_folds: int = option("Number of folds within each training set (nested only).", 5)
    inner_repeats: int | None = option(
        "Number of times that inner folds are drawn; by default 4 up to 500 graphs, 2 up to 2,000, else 1.", None
    )
    finalists: int | None = option(
        "Number of kernels for which SVMs are fitted in each fold, those with the smallest leave-one-out error of "
        "ridge regression on its training graphs (beyond 1,500 graphs, on those in a random sample of 1,500); by "
        "default 12 up to 500 graphs, 20 up to 2,000, else 8, but at least three tenths of the kernels; all with "
        "du2019.",
        None,
    )
    random_state: int = random_state_option("the folds and the sketch")


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

    The candidates are GNTKs with one layer; for more than 500 graphs those with jump, normalised, their products with
    optimal assignment kernels, and C of 1, 10 and 100.
    """
    output.check()
    from fastgntk import selection  # scikit-learn takes a second to load, which --help does not need

    configure_logging(output.verbose)
    dataset = load_data(inputs, quiet=output.json)
    warn_skipped(dataset)
    check_targets(dataset, inputs)
    folds: Any = int(split.folds) if split.folds.isdecimal() else selection.read_folds(split.folds, len(dataset))
    cv = selection.CrossValidation(
        folds=folds,
        protocol=split.protocol,  # type: ignore[arg-type]  # CrossValidation checks it
        inner_folds=split.inner_folds,
        inner_repeats=split.inner_repeats,
        n_finalists=split.finalists,
        random_state=split.random_state,
    )
    candidates = kernels.build(selection.Grid.default(len(dataset)), sketch, split.random_state, dataset.graphs)
    check_graphs(dataset, candidate_kernels(candidates))
    with _combined_bar(quiet=output.json) as progress:
        result = selection.evaluate(
            dataset,
            kernels=candidates,
            cv=cv,
            compute=compute.build(),
            progress=progress,
        )
    warn_unused_descriptors(dataset, candidate_kernels(candidates))  # now, so that an error is alone
    _show(dataset.name, result, split, output)
    output.write_report(report_evaluation, compute, dataset, result)


@contextmanager
def _combined_bar(*, quiet: bool) -> Iterator["StageProgress"]:
    """Show kernel and learning, which alternate, as one bar."""
    fractions = {"kernel": 0.0, "learning": 0.0}
    with progress_bar("evaluating", quiet=quiet) as bar:

        def progress(stage: str, done: int, total: int) -> None:
            fractions[stage] = done / total
            bar(round(500 * sum(fractions.values())), 1000)

        yield progress


def _show(name: str, result: "Evaluation", split: FoldOptions, output: ReportOutput) -> None:
    from fastgntk.selection import describe_choices, kernel_family

    published = REGISTRY[name].published if name in REGISTRY else None
    if output.json:
        record = {
            "dataset": name,
            "version": __version__,
            "folds": int(split.folds) if split.folds.isdecimal() else split.folds,
            "inner_folds": split.inner_folds if split.protocol == "nested" else None,
            "inner_repeats": result.record.cv.inner_repeats if split.protocol == "nested" else None,
            "n_finalists": result.record.cv.n_finalists,
            "random_state": split.random_state,
            "published": published and {"mean": published[0], "std": published[1], "protocol": "du2019"},
        }
        print_json(record | output.report_record() | result.to_dict())
        return
    folds = list(zip(result.accuracies, result.choices, strict=True))
    kernels, values = plural(len(result.record.kernels), "kernel"), plural(len(result.record.C), "value")
    paper = f"{_percent(*published)}  (Du et al. 2019, by the du2019 protocol)" if published else "none"
    n_finalists = result.record.cv.n_finalists
    finalists = "" if n_finalists is None else f" ({plural(n_finalists, 'finalist')} in each fold)"
    chosen = describe_choices(choice.kernel for choice in result.choices)
    if result.optimistic:
        chosen = f"The same choice for every fold: {kernel_family(result.choices[0].kernel)}"
    rows = [
        ("accuracy", f"{_percent(result.mean, result.std)}  (mean ± std of {len(folds)} folds)"),
        ("protocol", _PROTOCOLS[result.protocol]),
        ("published GNTK", paper),
        ("data", f"{result.n_graphs} graphs, {result.n_classes} classes"),
        ("tried", f"{kernels}{finalists} × {values} of C, {result.n_fits:,} fits"),
        ("chosen", chosen),
        ("engine", result.engine),
        ("kernel time", format_duration(result.kernel_seconds)),
        ("learning time", format_duration(result.learning_seconds)),
    ]
    if result.n_unconverged:
        rows.append(("note", f"{result.n_unconverged:,} fits reached the step limit; their last state was used"))
    mode, count = Counter(result.choices).most_common(1)[0]
    columns = {"fold": "right", "accuracy": "right"}
    table = [[str(k), f"{100 * accuracy:.1f} %"] for k, accuracy in enumerate(result.accuracies, start=1)]
    title = None
    if result.optimistic:  # a long kernel is printed once
        rows += [("kernel", repr(mode.kernel)), ("C", f"{mode.C:g}")]
    else:
        columns |= {"C": "right", "kernel": "left"}
        table = [[*row, f"{c.C:g}", repr(c.kernel)] for row, (_, c) in zip(table, folds, strict=True)]
        title = "Choice in each outer fold"
        if 1 < count < len(folds):
            table.append([f"{count} of {len(folds)}", "most often", f"{mode.C:g}", repr(mode.kernel)])
    print_values(f"fastgntk evaluate {name}", rows)
    print_table(title, columns, table)


def _percent(mean: float, std: float) -> str:
    return f"{100 * mean:.1f} ± {100 * std:.1f} %"
