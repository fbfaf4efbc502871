"""Option groups: every command offers its groups whole, in panels; --kernel as text."""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np
import pytest
import typer
from tests.cli.command import ONE, record, run, sentence
from typer.testing import CliRunner

import fastgntk as fg
from fastgntk.cli._evaluate import FoldOptions
from fastgntk.cli._explain import SingleGraphInputs
from fastgntk.cli._gram import StoreOptions
from fastgntk.cli._info import InfoInputs
from fastgntk.cli._inputs import Inputs
from fastgntk.cli._option_groups import OptionGroup, argument, option, with_groups
from fastgntk.cli._options import (
    CandidateOptions,
    ComputeOptions,
    JsonOutput,
    KernelOptions,
    LocalComputeOptions,
    OutputOptions,
    ReportOutput,
    SketchOptions,
)
from fastgntk.cli._predict import NewGraphInputs
from fastgntk.cli._train import ModelOptions

GROUPS = {
    "evaluate": [Inputs, FoldOptions, CandidateOptions, SketchOptions, ComputeOptions, ReportOutput],
    "train": [Inputs, ModelOptions, CandidateOptions, SketchOptions, ComputeOptions, ReportOutput],
    "predict": [NewGraphInputs, LocalComputeOptions, OutputOptions],
    "explain": [SingleGraphInputs, LocalComputeOptions, OutputOptions],
    "gram": [Inputs, StoreOptions, KernelOptions, SketchOptions, ComputeOptions, OutputOptions],
    "info": [InfoInputs, KernelOptions, SketchOptions, ComputeOptions, OutputOptions],
    "bench": [LocalComputeOptions, JsonOutput],
    "datasets": [JsonOutput],
}
SUM = "GNTK(blocks=1, layers=1) + 0.5 * GNTK(2, 1).normalized()"


@pytest.mark.parametrize("command", GROUPS)
def test_help_has_the_panel_and_every_option_of_each_group(command):
    shown = run(command, "--help").out
    for group in GROUPS[command]:
        assert f"─ {group.panel} ─" in shown
        for name in (f.name for f in group.options() if f.name != "data"):
            assert offered(name, shown), name
        for name in group.omitted:
            assert not offered(name, shown) or (command, name) == ("explain", "target")


def offered(name: str, shown: str) -> bool:
    return re.search(f"--{name.replace('_', '-')}[ ,]", shown) is not None


@pytest.mark.parametrize("command", ["table-time", "complexity"])
def test_help_of_studies_has_the_panels(command):
    shown = run("reproduce", command, "--help").out
    for words in ["─ Study ─", "─ Computation ─", "─ Output ─", "--random-state", "--n-jobs"]:
        assert words in shown


@dataclass(frozen=True)
class Paint(OptionGroup):
    panel = "Paint"

    wall: str = argument("Wall.", metavar="WALL")
    colour: str | None = option("Colour.")
    coats: int = option("Coats.", 1)


@dataclass(frozen=True)
class Whitewash(Paint):
    omitted = ("colour",)


def paint(*arguments: str, group: type[Paint] = Paint) -> str:
    """Run a command that takes a group, and return the group it received."""

    def command(*, floor: int = option("Floor.", 0), chosen: group) -> None:  # type: ignore[valid-type]
        print(floor, chosen, chosen.changed())  # noqa: T201

    command.__annotations__ = {"floor": int, "chosen": group}
    app = typer.Typer()
    app.command()(with_groups(command))
    return CliRunner().invoke(app, list(arguments)).output.strip()


def test_command_receives_its_group():
    assert paint("north") == "0 Paint(wall='north', colour=None, coats=1) []"
    expected = "3 Paint(wall='north', colour='red', coats=2) ['--colour', '--coats']"
    assert paint("north", "--coats", "2", "--colour", "red", "--floor", "3") == expected


def test_omitted_option_is_refused_and_keeps_its_default():
    assert paint("north", group=Whitewash) == "0 Whitewash(wall='north', colour=None, coats=1) []"
    assert "No such option: --colour" in paint("north", "--colour", "red", group=Whitewash)


@pytest.mark.slow
def test_gram_of_a_sum_of_kernels(tmp_path):
    found = record(run("gram", "MUTAG", "--kernel", SUM, "-o", tmp_path / "K.npy", "--json"))
    kernel = fg.parse_kernel(SUM)
    assert found["kernel"] == repr(kernel)
    assert np.array_equal(np.load(tmp_path / "K.npy"), fg.gram(fg.datasets.load("MUTAG"), kernel))


def test_evaluate_chooses_among_kernels_given_as_text():
    kernels = ["--kernel", SUM, "--kernel", "GNTK(1, 1)"]
    found = record(run("evaluate", "MUTAG", *kernels, "--folds", 3, "--inner-folds", 2, "--n-jobs", 1, "--json"))
    assert found["kernels"] == [repr(fg.parse_kernel(SUM)), "GNTK(blocks=1, layers=1)"]
    assert {choice["kernel"] for choice in found["choices"]} <= set(found["kernels"])


RINGS = fg.datasets.synthetic.cycles_with_motifs(8, 6, (3, 5), copies=1, random_state=0).graphs
DESCRIBED = RINGS.with_descriptors(size=RINGS.sizes[:, None].astype(float))


def build(graphs, **options):
    """The families of the candidates that the options give."""
    grid = fg.selection.Grid.default(501)
    candidates = CandidateOptions(**options).build(grid, SketchOptions(), 0, graphs)
    assert candidates.C == grid.C
    return dict(fg.selection.count_families(candidates.kernels()))


def test_options_choose_the_families_of_candidates():
    both = {"GNTK": 10, "GNTK × WLOA": 10}
    assert build(RINGS) == build(RINGS, optimal_assignment="both") == both
    assert build(RINGS, kernel=["gntk"]) == build(RINGS, optimal_assignment="no") == {"GNTK": 10}
    assert build(RINGS, optimal_assignment="yes", blocks="1-3") == {"GNTK × WLOA": 6}
    assert build(RINGS, kernel=["gntk"], scale="unit", blocks="1,2") == {"GNTK": 2}
    # Kernels on descriptors are added whatever the option, but not to GNTKs alone.
    products = {"GNTK × WLOA + RBF + Linear": 10, "GNTK + GNTK × WLOA + GNTK × WLOA × RBF + RBF + Linear": 10}
    assert build(DESCRIBED) == {"GNTK + RBF + Linear": 10} | products
    assert build(DESCRIBED, optimal_assignment="yes") == products
    assert build(DESCRIBED, kernel=["gntk"]) == {"GNTK": 10}


@pytest.mark.parametrize("command", [["evaluate", "MUTAG"], ["train", "MUTAG", "-o", "m.fgntk"]], ids=lambda c: c[0])
def test_gntk_alone_is_not_combined_with_optimal_assignment(command, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    words = "use either --kernel gntk or --optimal-assignment, not both"
    assert words in sentence(run(*command, "--kernel", "gntk", "--optimal-assignment", "both"))
    words = "optimal_assignment without False leaves no kernel to try"
    assert words in sentence(run(*command, "--optimal-assignment", "yes", "--jump", "no"))


def test_evaluate_prints_the_families_that_folds_chose():
    options = ["--folds", 3, "--n-jobs", 1, "--blocks", "1", "--scale", "degree", "--c", "100"]
    done = run("evaluate", "MUTAG", *options, "--inner-folds", 2, "--optimal-assignment", "yes")
    assert done.code == 0, done
    kernel = "GNTK(blocks=1, layers=1, scale='degree').normalized() * WLOA(iterations=1).normalized()"
    assert "GNTK × WLOA in all 3 folds" in done.out
    assert done.out.count(kernel) == 3
    done = run("evaluate", "MUTAG", *options, "--protocol", "du2019", "--optimal-assignment", "yes")
    assert "The same choice for every fold: GNTK × WLOA" in done.out
    assert done.out.count(kernel) == 1
    kernels = ["--kernel", "GNTK(1, 1)", "--kernel", "WLOA(1)"]
    found = record(run("evaluate", "MUTAG", "--folds", 4, "--inner-folds", 2, "--n-jobs", 1, *kernels, "--json"))
    chosen = [choice["kernel"].partition("(")[0] for choice in found["choices"]]
    printed = run("evaluate", "MUTAG", "--folds", 4, "--inner-folds", 2, "--n-jobs", 1, *kernels).out
    assert set(chosen) == {"GNTK", "WLOA"}
    for family in ("GNTK", "WLOA"):
        assert f"{family} in {chosen.count(family)}" in printed
    assert "Choice in each outer fold" in printed


def test_model_of_a_sum_of_kernels_predicts_and_explains(tmp_path):
    table, model = tmp_path / "table.csv", tmp_path / "m.fgntk"
    table.write_text("smiles,y\n" + "".join(f"{'C' * n}O,{n + 0.5}\n" for n in range(1, 13)))
    found = record(run("train", table, "--target", "y", "--kernel", SUM, "-o", model, "--json"))
    assert found["params"]["kernel"] == repr(fg.parse_kernel(SUM))
    [row] = [row for row in record(run("predict", model, table, "--json"))["predictions"] if row["row"] == 4]
    explained = record(run("explain", model, table, "--row", 4, "--json"))
    np.testing.assert_allclose(explained["intercept"] + sum(explained["nodes"]), row["value"], rtol=1e-6)


def test_train_takes_a_sketch(tmp_path):
    table, model = tmp_path / "table.csv", tmp_path / "m.fgntk"
    table.write_text("smiles,y\n" + "".join(f"{'C' * n}O,{n + 0.5}\n" for n in range(1, 13)))
    options = ["--sketch", "srht", "--random-state", 4, "-o", model, "--json"]
    found = record(run("train", table, "--target", "y", *ONE, *options))
    assert "sketch=Sketch(kind='srht', seed=4)" in found["params"]["kernel"]
    assert len(record(run("predict", model, table, "--json"))["predictions"]) == 12


COMMANDS = [["gram", "MUTAG", "-o", "K.npy"], ["evaluate", "MUTAG"], ["train", "MUTAG", "-o", "m.fgntk"]]


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command[0])
@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["GNTK(2) - GNTK(1)"], "the kernel 'GNTK(2) - GNTK(1)' cannot be read at position 8: expected + or *"),
        (["GNTK(2"], "cannot be read at position 5"),
        (["GCN(3)"], "cannot be read at position 1"),
        (["GNTK(blocks=0)"], "blocks must be an integer, 1 or more, but is 0"),
        (["GNTK(2)", "--blocks", "3"], "use either --kernel or --blocks, not both"),
        (
            ["GNTK(2)", "--scale", "unit", "--features", "degree"],
            "use either --kernel or --scale, --features, not both",
        ),
        (["GNTK(2)", "--sketch", "ams"], "use either --kernel or --sketch, not both"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_bad_kernels_are_one_sentence(command, options, words, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert words in sentence(run(*command, "--kernel", *options))
    assert not list(tmp_path.iterdir())


def test_draws_and_finalists_of_an_evaluation():
    kernels = ["--kernel", "GNTK(1, 1)", "--kernel", "GNTK(2, 1)", "--c", "1,10", "--folds", 3, "--inner-folds", 2]
    options = [*kernels, "--n-jobs", 1, "--inner-repeats", 2, "--finalists", 1]
    found = record(run("evaluate", "MUTAG", *options, "--json"))
    assert (found["inner_repeats"], found["n_finalists"], found["n_fits"]) == (2, 1, 3 * (1 + 2 * 2) * 2)
    assert "1 finalist" in run("evaluate", "MUTAG", *options).out
    assert record(run("evaluate", "MUTAG", *kernels, "--inner-repeats", 1, "--json"))["n_finalists"] is None
