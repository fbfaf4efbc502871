"""Train, predict and explain: files, tables, JSON, and one sentence for bad input."""

from __future__ import annotations

import csv
import gzip
import io
import json
import shutil
import signal
import time
import zipfile
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from tests.cli.command import TWO, record, run, sentence, start
from tests.tables import Tolerance

from fastgntk import (
    GNTK,
    GraphClassifier,
    GraphClassifierCV,
    GraphRegressorCV,
    __version__,
    datasets,
    load_model,
    parse_kernel,
)
from fastgntk.datasets import Dataset, read_table, synthetic, write_tu
from fastgntk.selection import Grid

# A prediction is kernel values, good to 1e-8 (tests/tables.py), over an alpha of 1e-3 or more; files hold ten digits.
PREDICTED = Tolerance(relative=1e-6, absolute=1e-4)

SAME = replace(Grid.full(), blocks=(1, 2), layers=(1,), scale=("degree",), jump=(True,), normalize=(False,))

# smiles, boiling point, molar mass
ALKANES = """C -161.5 16.04, CC -88.6 30.07, CCC -42.1 44.1, CCCC -0.5 58.12, CCCCC 36.1 72.15, CCCCCC 68.7 86.18,
CCCCCCC 98.4 100.2, CC(C)C -11.7 58.12"""
ALCOHOLS = """CO 64.7 32.04, CCO 78.2 46.07, CCCO 97.2 60.1, CCCCO 117.7 74.12, CCCCCO 138.1 88.15, CC(C)O 82.6 60.1,
CC(C)CO 107.9 74.12, CCC(C)O 99.5 74.12"""
AMINES = """CN -6.3 31.06, CCN 16.6 45.08, CCCN 47.8 59.11, CCCCN 77.8 73.14, CCCCCN 104.4 87.16, CC(C)N 32.4 59.11,
CNC 7.4 45.08, CCNCC 55.5 73.14"""
HEADING = ["smiles", "boils", "weight", "kind"]
ROWS = [
    [*molecule.split(), kind]
    for kind, family in [("alkane", ALKANES), ("alcohol", ALCOHOLS), ("amine", AMINES)]
    for molecule in family.split(",")
]
SMILES, BOILS = [row[0] for row in ROWS], [row[1] for row in ROWS]


def table(path: Path, rows: list[list[str]] = ROWS, *, separator: str = ",", **changes: dict[int, str]) -> Path:
    """Write a table; ``changes`` are new cells of a column, by data row."""
    rows = [list(row) for row in rows]
    for column, cells in changes.items():
        for number, text in cells.items():
            rows[number - 1][HEADING.index(column)] = text
    text = io.StringIO()
    csv.writer(text, delimiter=separator, lineterminator="\n").writerows([HEADING, *rows])
    content = text.getvalue().encode()
    path.write_bytes(gzip.compress(content) if path.suffix == ".gz" else content)
    return path


def read_csv(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text)))


def column(rows: list[dict], name: str) -> np.ndarray:
    return np.array([float(row[name]) for row in rows])


def close(found, expected) -> None:
    np.testing.assert_allclose(found, expected, PREDICTED.relative, PREDICTED.absolute)


def as_text(params: dict) -> dict:
    """Return parameters as JSON output has them."""
    return params | {"kernel": repr(params["kernel"])}


@pytest.fixture(scope="module")
def made(tmp_path_factory) -> Path:
    """A folder with tables, a TU folder, and a model of each kind, none of which a test may change."""
    folder = tmp_path_factory.mktemp("made")
    table(folder / "oils.csv")
    mutag = datasets.load("MUTAG")
    write_tu(Dataset(mutag.graphs[:50], mutag.y[:50], "some"), folder)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("FASTGNTK_CACHE", str(tmp_path_factory.mktemp("cache")))
        for name, *arguments in [
            ("number", "oils.csv", "--target", "boils"),
            ("numbers", "oils.csv", "--target", "boils", "--target", "weight"),
            ("kind", "oils.csv", "--target", "kind"),
            ("some", "some"),
        ]:
            done = run("train", folder / arguments[0], *arguments[1:], *TWO, "-o", folder / f"{name}.fgntk", "--json")
            (folder / f"{name}.json").write_text(json.dumps(record(done)))
    return folder


@pytest.fixture
def here(made, tmp_path, monkeypatch) -> Path:
    """The current folder, with copies of all that was made."""
    monkeypatch.chdir(tmp_path)
    for name in ("oils.csv", "number.fgntk", "numbers.fgntk", "kind.fgntk", "some.fgntk"):
        shutil.copy(made / name, tmp_path / name)
    shutil.copytree(made / "some", tmp_path / "some")
    return tmp_path


# Training


@pytest.mark.slow
def test_train_json_has_the_choice_and_the_error(made):
    found = json.loads((made / "number.json").read_text())
    expected = GraphRegressorCV(SAME).fit(*graphs_and(made, "boils"))
    residuals = expected.solution_.leave_one_out * expected.target_scale_
    assert found.pop("seconds") > 0
    assert found["params"] == as_text(expected.best_params_)
    close(found.pop("leave_one_out_rmse"), [np.sqrt(np.mean(residuals**2))])
    close(found.pop("standard_deviation"), [np.std(np.array(BOILS, dtype=float))])
    close(found.pop("log_marginal_likelihood"), [expected.log_marginal_likelihood_])
    close(found.pop("calibration"), expected.intervals_.factor)
    assert found == {
        "model": str(made / "number.fgntk"), "bytes": (made / "number.fgntk").stat().st_size, "dataset": "oils",
        "version": __version__, "task": "regression", "targets": ["boils"], "graphs": 24, "equal_graphs": 0,
        "skipped_rows": [], "params": as_text(expected.best_params_), "solver": "cholesky",
    }  # fmt: skip


def test_train_json_has_classes_and_accuracy(made):
    found = json.loads((made / "kind.json").read_text())
    expected = GraphClassifierCV(SAME).fit(*graphs_and(made, "kind"))
    assert (found["task"], found["classes"]) == ("classification", ["alcohol", "alkane", "amine"])
    assert found["accuracy"] == pytest.approx(expected.best_score_)
    assert found["params"] == as_text(expected.best_params_)
    found = json.loads((made / "some.json").read_text())
    assert (found["classes"], found["targets"], found["graphs"], found["dataset"]) == ([-1, 1], ["y"], 50, "some")


def test_train_prints_a_table(here):
    done = run("train", "oils.csv", "--target", "boils", "--target", "weight", *TWO, "-o", "m.fgntk")
    assert done.code == 0
    for words in [
        "m.fgntk, ", "regression of boils, weight", "error of boils", "error of weight", "oils, 24 graphs",
        "the standard deviation of the targets is ", "layers=1, scale='degree')", "alpha",
    ]:  # fmt: skip
        assert words in done.out
    done = run("train", "some", *TWO, "-o", "m.fgntk", "--method", "ridge")
    for words in [
        "classification, 2 classes: -1, 1",
        " %  (leave-one-out on the training graphs",
        "from an earlier one",
    ]:
        assert words in done.out


def test_train_verbose_logs_to_standard_error(here):
    arguments = ["train", "oils.csv", "--target", "boils", *TWO, "-o", "m.fgntk", "--json"]
    done = run(*arguments, "-v")
    assert "engine " in done.err
    assert json.loads(done.out)["task"] == "regression"
    assert run(*arguments).err == ""


@pytest.mark.parametrize("name", ["oils.csv.gz", "oils.tsv", "oils.TSV.gz"])
def test_tables_in_every_format_give_the_same_model(here, name):
    table(here / name, separator="\t" if ".tsv" in name.lower() else ",")
    record(run("train", name, "--target", "boils", *TWO, "-o", "m.fgntk", "--json"))
    assert (here / "m.fgntk").read_bytes() == (here / "number.fgntk").read_bytes()
    assert run("predict", "m.fgntk", name).out == run("predict", "number.fgntk", "oils.csv").out


def test_rows_with_invalid_smiles_are_skipped_and_listed(here):
    table(here / "holes.csv", smiles={3: "C1CC", 7: "?"})
    found = record(run("train", "holes.csv", "--target", "boils", *TWO, "-o", "m.fgntk", "--json", "--skip-invalid"))
    assert (found["skipped_rows"], found["graphs"]) == ([3, 7], 22)
    done = run("train", "holes.csv", "--target", "boils", *TWO, "-o", "m.fgntk", "--skip-invalid")
    assert "rows 3 and 7, whose SMILES cannot be read" in done.out
    found = record(run("predict", "m.fgntk", "holes.csv", "--skip-invalid", "--json"))
    assert found["skipped_rows"] == [3, 7]
    assert [row["row"] for row in found["predictions"]] == [i for i in range(1, 25) if i not in (3, 7)]
    assert record(run("explain", "m.fgntk", "holes.csv", "--row", 8, "--json"))["smiles"] == SMILES[7]


def test_few_whole_numbers_are_classes_unless_task_is_given(here):
    table(here / "whole.csv", boils={i + 1: str(i % 3) for i in range(24)})
    arguments = ["train", "whole.csv", "--target", "boils", *TWO, "-o", "m.fgntk", "--json"]
    assert record(run(*arguments))["classes"] == [0, 1, 2]
    assert record(run(*arguments, "--task", "regression"))["task"] == "regression"
    table(here / "whole.csv", boils={i + 1: str(i % 11) for i in range(24)})
    assert record(run(*arguments))["task"] == "regression"


def test_weights_of_a_mix_are_shown_as_percentages(here):
    arguments = ["train", "oils.csv", "--target", "boils", *TWO, "--depth", "mix", "-o", "m.fgntk"]
    [leaf] = parse_kernel(record(run(*arguments, "--json"))["params"]["kernel"]).leaves()
    weights = leaf.jump
    percentages = " ".join(f"{100 * weight / sum(weights):.0f}%" for weight in weights)
    shown = run(*arguments).out
    assert f"0 to {len(weights) - 1}: {percentages}" in shown
    assert f"GNTK(blocks={leaf.blocks}" in shown


def test_given_options_are_the_only_candidates(here):
    asked = ["--blocks", 3, "--layers", 2, "--scale", "unit", "--jump", "no", "--normalize", "yes", "--alphas", 0.5]
    found = record(run("train", "oils.csv", "--target", "boils", *asked, "-o", "m.fgntk", "--json"))
    assert found["params"] == {"kernel": "GNTK(scale='unit', jump=False).normalized()", "alpha": 0.5}
    found = record(run("train", "oils.csv", "--target", "kind", *TWO, "--c", 7, "-o", "m.fgntk", "--json"))
    assert found["params"]["C"] == 7


def test_folder_with_real_targets_is_regression(here):
    graphs = datasets.load("MUTAG").graphs[:20]
    write_tu(Dataset(graphs, graphs.sizes + 0.5, "sizes"), here)
    found = record(run("train", "sizes", *TWO, "-o", "m.fgntk", "--json"))
    assert (found["task"], found["targets"]) == ("regression", ["y"])
    rows = read_csv(run("predict", "m.fgntk", "sizes").out)
    assert list(rows[0]) == ["row", "value", "std", "low 90%", "high 90%", "nearest", "similarity"]


@pytest.mark.slow
@pytest.mark.parametrize(
    "options",
    [
        ["--solver", "eigen"],
        ["--solver", "cg"],
        ["--solver", "nystrom", "--n-components", 12],
        ["--solver", "features"],
        ["--depth", "mix"],
    ],
    ids=str,
)
def test_every_solver_and_depth_makes_a_model(here, options):
    found = record(run("train", "oils.csv", "--target", "boils", *TWO, *options, "-o", "m.fgntk", "--json"))
    value = column(read_csv(run("predict", "m.fgntk", "oils.csv").out), "value")
    error = np.sqrt(np.mean((value - np.array(BOILS, dtype=float)) ** 2))
    assert error < found["standard_deviation"][0] / 2


def test_training_reports_the_solver(here):
    arguments = ["train", "oils.csv", "--target", "boils", *TWO, "--alphas", 0.1, "-o", "m.fgntk"]
    done = run(*arguments, "-v")
    assert "solver cholesky for 24 graphs: exact, and quick up to 10,000 graphs" in done.err + done.out
    assert "cholesky" in next(line for line in done.out.splitlines() if "solver" in line)
    assert record(run(*arguments, "--json"))["solver"] == "cholesky"
    assert record(run(*arguments, "--solver", "cg", "--json"))["solver"] == "cg"


def test_model_without_training_graphs_predicts_and_explains(here):
    how = [*TWO, "--alphas", 0.1, "--n-components", 60, "--solver", "features", "-o"]
    assert record(run("train", "oils.csv", "--target", "boils", *how, "n.fgntk", "--json"))["solver"] == "features"
    done = run("predict", "n.fgntk", "oils.csv")
    assert list(read_csv(done.out)[0]) == ["row", "smiles", "value", "std", "low 90%", "high 90%"]
    model = load_model("n.fgntk")
    assert not hasattr(model, "training_names_")
    graphs = graphs_and(here, "boils")[0]
    close(column(read_csv(done.out), "value"), model.predict(graphs))
    found = record(run("explain", "n.fgntk", "oils.csv", "--row", 3, "--json"))
    assert found["training_graphs"] == found["most_similar"] == []
    close(found["intercept"] + sum(found["nodes"]), model.predict(graphs[2:3])[0])
    shown = run("explain", "n.fgntk", "oils.csv", "--row", 3)
    assert shown.code == 0
    assert "largest" in shown.out  # the title may be folded
    assert "similar" not in shown.out
    run("train", "oils.csv", "--target", "kind", "--method", "ridge", *how, "k.fgntk")
    assert "nearest" not in read_csv(run("predict", "k.fgntk", "oils.csv").out)[0]
    assert run("explain", "k.fgntk", "oils.csv", "--row", 3).code == 0


def test_explanation_by_a_named_factor_of_a_product(here):
    run("train", "some", "--kernel", "GNTK(1).normalized() * WLOA(2)", "--c", 1, "-o", "product.fgntk")
    model, graph = load_model("product.fgntk"), datasets.load("some").graphs[2]
    for options, factor in (([], 0), (["--factor", "WLOA(2)"], 1), (["--factor", "1"], 1)):
        found = record(run("explain", "product.fgntk", "some", "--row", 3, *options, "--json"))
        close(found["nodes"], model.explain(graph, factor=factor).node_contributions)
    done = run("explain", "product.fgntk", "some", "--row", 3, "--factor", "WL(2)")
    assert "WL(iterations=2) is not a factor of GNTK(blocks=1).normalized()" in sentence(done)


# Prediction


def graphs_and(made: Path, target: str):
    read = read_table(made / "oils.csv", target=target)
    return read.graphs, read.y


def test_predict_writes_predictions_of_the_estimator(here):
    done = run("predict", "number.fgntk", "oils.csv", "-o", "p.csv", "--coverage", 0.8)
    assert "p.csv, 24 rows: row, smiles, value, std, low 80%, high 80%, nearest, similarity" in done.out
    rows = read_csv((here / "p.csv").read_text())
    graphs, y = graphs_and(here, "boils")
    expected = GraphRegressorCV(SAME).fit(graphs, y).predict_details(graphs, 0.8)
    for name, values in zip(["value", "std", "low 80%", "high 80%"], expected[:4], strict=True):
        close(column(rows, name), values)
    assert [row["row"] for row in rows] == [str(i) for i in range(1, 25)]
    assert [row["smiles"] for row in rows] == SMILES
    assert [row["nearest"] for row in rows] == [SMILES[i] for i in expected.nearest]
    close(column(rows, "similarity"), expected.similarity)


def test_predict_writes_columns_for_each_target(here):
    rows = read_csv(run("predict", "numbers.fgntk", "oils.csv").out)
    expected = load_model(here / "numbers.fgntk").predict_details(graphs_and(here, "boils")[0])
    for i, name in enumerate(["boils", "weight"]):
        for heading, values in zip(["value", "std", "low 90%", "high 90%"], expected[:4], strict=True):
            close(column(rows, f"{name}: {heading}"), values[:, i])


def test_predict_writes_classes_and_probabilities(here):
    rows = read_csv(run("predict", "kind.fgntk", "oils.csv").out)
    graphs, y = graphs_and(here, "kind")
    model = GraphClassifierCV(SAME).fit(graphs, y)
    assert [row["class"] for row in rows] == model.predict(graphs).tolist()
    found = np.stack([column(rows, f"probability of {name}") for name in model.classes_], axis=1)
    close(found, model.predict_proba(graphs))
    close(found.sum(axis=1), 1)


def test_predict_numbers_graphs_that_have_no_smiles(here):
    rows = read_csv(run("predict", "some.fgntk", "some").out)
    assert list(rows[0]) == ["row", "class", "probability of -1", "probability of 1", "nearest", "similarity"]
    model, graphs = load_model(here / "some.fgntk"), datasets.load("MUTAG").graphs[:50]
    assert [int(row["class"]) for row in rows] == model.predict(graphs).tolist()
    assert [int(row["nearest"]) - 1 for row in rows] == model.predict_details(graphs).nearest.tolist()


def test_predict_json_holds_what_the_file_holds(here):
    found = record(run("predict", "numbers.fgntk", "oils.csv", "--json", "-o", "p.csv"))
    rows = read_csv((here / "p.csv").read_text())
    assert (found["model"], found["dataset"], found["output"]) == ("numbers.fgntk", "oils", "p.csv")
    assert len(found["predictions"]) == len(rows) == 24
    for one, row in zip(found["predictions"], rows, strict=True):
        assert {k: f"{v:.10g}" if isinstance(v, float) else str(v) for k, v in one.items()} == row


def test_predict_without_output_prints_the_same_table(here):
    done = run("predict", "number.fgntk", "oils.csv")
    run("predict", "number.fgntk", "oils.csv", "-o", "p.csv")
    assert (done.code, done.err) == (0, "")
    assert done.out == (here / "p.csv").read_text()


def test_predict_finds_the_column_of_smiles_that_training_named(here):
    renamed = (here / "oils.csv").read_text().replace("smiles", "structure", 1)
    (here / "renamed.csv").write_text(renamed)
    run("train", "renamed.csv", "--smiles", "structure", "--target", "boils", *TWO, "-o", "m.fgntk")
    expected = run("predict", "number.fgntk", "oils.csv").out
    assert run("predict", "m.fgntk", "renamed.csv").out == expected
    assert run("predict", "m.fgntk", "oils.csv").out == expected
    assert run("predict", "number.fgntk", "renamed.csv", "--smiles", "structure").out == expected


# Explanation


@pytest.mark.parametrize(("model", "options", "name"), [
    ("number", [], "value"),
    ("numbers", ["--target", "weight"], "weight: value"),
])  # fmt: skip
def test_contributions_add_up_to_the_prediction(here, model, options, name):
    for row in (1, 16):
        found = record(run("explain", f"{model}.fgntk", "oils.csv", "--row", row, *options, "--json"))
        predicted = column(read_csv(run("predict", f"{model}.fgntk", "oils.csv").out), name)[row - 1]
        assert (found["row"], found["smiles"]) == (row, SMILES[row - 1])
        assert len(found["nodes"]) == sum(letter.isalpha() for letter in SMILES[row - 1])
        close(found["intercept"] + sum(found["nodes"]), predicted)
        close(found["prediction"], predicted)


def test_contributions_add_up_to_the_decision_of_each_class(here):
    graph = graphs_and(here, "kind")[0][11]
    decisions = load_model(here / "kind.fgntk").decision_function([graph])[0]
    for name, decision in zip(["alcohol", "alkane", "amine"], decisions, strict=True):
        found = record(run("explain", "kind.fgntk", "oils.csv", "--row", 12, "--class", name, "--json"))
        assert found["output"] == name
        close(found["intercept"] + sum(found["nodes"]), decision)


def test_the_predicted_class_is_explained_unless_another_is_named(here):
    classes = [row["class"] for row in read_csv(run("predict", "some.fgntk", "some").out)]
    for row in (classes.index("1") + 1, classes.index("-1") + 1):
        found = record(run("explain", "some.fgntk", "some", "--row", row, "--json"))
        assert found["output"] == classes[row - 1]
        assert found["prediction"] > 0
        assert found["smiles"] is None
        other = record(run("explain", "some.fgntk", "some", "--row", row, "--json", "--class", -int(found["output"])))
        close(other["nodes"], -np.array(found["nodes"]))


def test_explain_prints_the_largest_contributions(here):
    found = record(run("explain", "number.fgntk", "oils.csv", "--row", 15, "--json"))
    done = run("explain", "number.fgntk", "oils.csv", "--row", 15)
    largest = int(np.argmax(np.abs(found["nodes"])))
    for words in ["CC(C)CO", f"boils {found['prediction']:.3g} ± ", f"{found['nodes'][largest]:+.4g}"]:
        assert words in done.out
    done = run("explain", "some.fgntk", "some", "--row", 2)
    assert "│ graph      │ 2 " in done.out
    assert "probability" in done.out


@pytest.mark.slow
@pytest.mark.parametrize("arguments", [["number.fgntk", "oils.csv"], ["some.fgntk", "some"]], ids=str)
@pytest.mark.parametrize(("name", "first"), [("e.svg", b"<?xml"), ("e.PNG", b"\x89PNG\r\n")])
def test_explain_draws_a_picture(here, arguments, name, first):
    found = record(run("explain", *arguments, "--row", 5, "-o", name, "--json"))
    assert found["picture"] == name
    content = (here / name).read_bytes()
    assert content.startswith(first)
    assert (b"<svg" in content) == name.endswith("svg")
    assert not list(here.glob(".*"))


# Bad input

TRAIN = ["train", "oils.csv", "--target", "boils", "-o", "m.fgntk"]
CLASSES = ["train", "oils.csv", "--target", "kind", "-o", "m.fgntk"]
PREDICT = ["predict", "number.fgntk", "oils.csv"]
EXPLAIN = ["explain", "number.fgntk", "oils.csv", "--row", "1"]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["train", "oils.csv", "-o", "m.fgntk"], "name a column with --target; its columns are smiles, boils, weight"),
        (["train", "oils.csv", "--target", "melts", "-o", "m.fgntk"], "no column 'melts'; choose"),
        (["train", "oils.csv", "--target", "melts", "-o", "m.fgntk"], "'smiles', 'boils', 'weight', 'kind'"),
        ([*TRAIN, "--smiles", "structure"], "no column 'structure'; choose"),
        ([*TRAIN, "--target", "boils"], "target must name each column once"),
        ([*TRAIN, "--target", "kind"], "other than a number in column 'kind' in data rows 1, 2, 3, 4, 5 and 19 more"),
        (["train", "none.csv", "--target", "boils", "-o", "m.fgntk"], "none.csv does not exist"),
        (["train", "none", "-o", "m.fgntk"], "there is no data set, file or folder 'none'"),
        (["train", "some", "--target", "y", "-o", "m.fgntk"], "--target is for tables (.csv, .tsv), but DATA is some"),
        (["train", "some", "--smiles", "y", "-o", "m.fgntk"], "--smiles is for tables"),
        (["train", "some", "--skip-invalid", "-o", "m.fgntk"], "--skip-invalid is for tables"),
        ([*TRAIN, "--task", "sorting"], "--task must be auto, regression or classification, but is 'sorting'"),
        ([*TRAIN, "--task", "classification"], "numbers that are not whole in column 'boils'"),
        ([*TRAIN, "--target", "weight", "--task", "classification"], "but DATA has several targets"),
        ([*CLASSES, "--task", "regression"], "text where numbers are needed, in rows 1, 2, 3, 4, 5 and 19 more"),
        ([*CLASSES, "--method", "tree"], "method must be svm or ridge, but is 'tree'"),
        ([*TRAIN, *TWO, "--solver", "lu"], "must be one of auto, cholesky, eigen, nystrom, sketched, cg, features"),
        ([*TRAIN, *TWO, "--depth", "deep"], "--depth must be best or mix, but is 'deep'"),
        ([*CLASSES, *TWO, "--depth", "deep"], "--depth must be best or mix, but is 'deep'"),
        ([*TRAIN, *TWO, "--n-components", "0"], "n_components must be an integer, 1 or more, but is 0"),
        ([*TRAIN, "--alphas", "low"], "--alphas takes numbers such as"),
        ([*TRAIN, "--alphas=-1"], "alphas must be numbers above 0"),
        ([*TRAIN, "--blocks", "0"], "blocks must be an integer, 1 or more, but is 0"),
        ([*TRAIN, "--features", "colour"], "features must be one of auto"),
        ([*TRAIN, "--random-state=-1"], "--random-state must lie in 0..4294967295, but is -1"),
        ([*TRAIN, "--max-memory", "little"], "max_memory must be a number of bytes or a string such as '2GB', but"),
        ([*TRAIN, "--n-jobs", "0"], "n_jobs must be an integer, 1 or more, or -1 for all cores, but is 0"),
        ([*TRAIN[:-1], "m.pkl"], "--output must end in .fgntk, but is m.pkl"),
        ([*TRAIN[:-1], "no/m.fgntk"], "the folder no does not exist; create it first"),
        (["predict", "oils.csv", "oils.csv"], "oils.csv is not a fastgntk model; give a file that"),
        (["predict", "none.fgntk", "oils.csv"], "none.fgntk does not exist; check the name"),
        (["predict", "some", "oils.csv"], "some is a folder; give the name of a model file"),
        (["predict", "some.fgntk", "oils.csv"], "labels that are integers, but these have labels that are text"),
        (["predict", "number.fgntk", "some"], "trained on graphs with node features of width 32, but these have none"),
        (["predict", "number.fgntk", "none.csv"], "none.csv does not exist"),
        ([*PREDICT, "--coverage", "2"], "coverage must lie between 0 and 1, but is 2.0"),
        ([*PREDICT, "--coverage", "0"], "coverage must lie between 0 and 1, but is 0.0"),
        ([*PREDICT, "--coverage", "nan"], "coverage must lie between 0 and 1, but is nan"),
        ([*PREDICT, "--smiles", "structure"], "no column 'structure'; choose"),
        (["predict", "some.fgntk", "some", "--smiles", "x"], "--smiles is for tables"),
        ([*PREDICT, "-o", "p.txt"], "--output must end in .csv, but is p.txt"),
        ([*PREDICT, "-o", "no/p.csv"], "the folder no does not exist; create it first"),
        ([*PREDICT, "--max-memory", "little"], "max_memory must be a number of bytes or a string such as '2GB', but"),
        ([*PREDICT, "--n-jobs", "0"], "n_jobs must be an integer, 1 or more, or -1 for all cores, but is 0"),
        ([*EXPLAIN[:-1], "0"], "--row must lie in 1..24, but is 0"),
        ([*EXPLAIN[:-1], "25"], "--row must lie in 1..24, but is 25"),
        (["explain", "some.fgntk", "some", "--row", "51"], "--row must lie in 1..50, but is 51"),
        (["explain", "some.fgntk", "oils.csv", "--row", "1"], "graphs with node labels that are integers"),
        (["explain", "number.fgntk", "some", "--row", "1"], "pass graphs of the same kind"),
        (["explain", "numbers.fgntk", "oils.csv", "--row", "1"], "name one with --target: boils, weight"),
        ([*EXPLAIN, "--target", "melts"], "--target must be one of boils, but is 'melts'"),
        ([*EXPLAIN, "--class", "alkane"], "--class is for classification, but this model predicts numbers"),
        (["explain", "kind.fgntk", "oils.csv", "--row", "1", "--target", "kind"], "this model classifies; use --class"),
        (["explain", "kind.fgntk", "oils.csv", "--row", "1", "--class", "oil"], "one of alcohol, alkane, amine, but"),
        ([*EXPLAIN, "-o", "e.pdf"], "--output must end in .svg or .png, but is e.pdf"),
        ([*EXPLAIN, "-o", "no/e.png"], "the folder no does not exist; create it first"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)  # fmt: skip
def test_bad_input_is_one_sentence_with_exit_code_2(here, arguments, words):
    before = sorted(here.iterdir())
    assert words in sentence(run(*arguments))
    assert sorted(here.iterdir()) == before


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"boils": {2: "nan"}}, "no finite value in column 'boils' in data row 2"),
        ({"boils": {2: "", 9: "NA"}}, "no finite value in column 'boils' in data rows 2 and 9"),
        ({"boils": dict.fromkeys(range(3, 11), "inf")}, "in data rows 3, 4, 5, 6, 7 and 3 more"),
        ({"boils": {4: "warm", 8: "hot"}}, "text where numbers are needed, in rows 4 and 8; correct it, or pass"),
        ({"boils": dict.fromkeys(range(1, 25), "1")}, "needs at least two classes, but all 24 graphs are of class 1"),
        ({"boils": dict.fromkeys(range(1, 25), "x")}, "needs at least two classes, but all 24 graphs are of class x"),
        (
            {"smiles": {4: "C1CC", 6: "?"}},
            "has SMILES that RDKit cannot read, in data rows 4 and 6 (lines 5 and 7 of the file); correct them, or",
        ),
    ],
)
def test_invalid_cells_are_listed_in_one_sentence(here, changes, words):
    table(here / "bad.csv", **changes)
    assert words in sentence(run("train", "bad.csv", "--target", "boils", *TWO, "-o", "m.fgntk"))
    assert not list(here.glob("*m.fgntk*"))


def test_unused_cells_may_be_invalid(here):
    table(here / "bad.csv", boils={2: "nan"}, weight={3: "heavy"})
    assert run("predict", "number.fgntk", "bad.csv").out == run("predict", "number.fgntk", "oils.csv").out


@pytest.mark.parametrize(
    "command",
    [
        ["train", "t.csv", "--target", "boils", "-o", "m.fgntk"],
        ["predict", "number.fgntk", "t.csv"],
        ["explain", "number.fgntk", "t.csv", "--row", "1"],
    ],
    ids=["train", "predict", "explain"],
)
@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "t.csv is empty; a table needs a header"),
        (b"smiles,boils\n", "t.csv has a header but no rows"),
        (b"smiles;boils\nC;1\n", "separated by semicolons: save it with commas"),
        (b"smiles,boils\nC,1,2\n", "line 2: the row has 3 cells, but the header has 2"),
        (b"name,boils\nC,1\n", "has no column called smiles"),
        (b"\xff\xfe\x00", "is not text in UTF-8"),
    ],
)
def test_invalid_tables_are_one_sentence(here, command, content, words):
    (here / "t.csv").write_bytes(content)
    assert words in sentence(run(*command))
    assert not list(here.glob("*m.fgntk*"))


def test_explain_refuses_invalid_smiles(here):
    table(here / "holes.csv", smiles={24: "C1CC"})
    assert "the SMILES of row 24 cannot be read" in sentence(run("explain", "number.fgntk", "holes.csv", "--row", 24))
    assert "--row must lie in 1..24, but is 25" in sentence(run("explain", "number.fgntk", "holes.csv", "--row", 25))
    assert "(line 25 of the file)" in sentence(run("predict", "number.fgntk", "holes.csv"))


def test_table_without_valid_smiles_is_refused(here):
    table(here / "bad.csv", smiles=dict.fromkeys(range(1, 25), "?"))
    assert "no SMILES in column 'smiles'" in sentence(run("predict", "number.fgntk", "bad.csv", "--skip-invalid"))


def test_folder_without_targets_is_refused(here):
    write_tu(Dataset(synthetic.erdos_renyi(4, 5).graphs, None, "bare"), here)
    assert "has no targets to learn" in sentence(run("train", "bare", "-o", "m.fgntk"))


def cut(content: bytes) -> bytes:
    return content[: len(content) // 2]


def flip(content: bytes) -> bytes:
    at = content.index(b"NUMPY") + 200
    return content[:at] + bytes([content[at] ^ 1]) + content[at + 1 :]


def newer(content: bytes) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(content)) as old, zipfile.ZipFile(out, "w") as new:
        for name in old.namelist():
            part = old.read(name)
            if name == "model.json":
                part = json.dumps(json.loads(part) | {"format_version": 99}).encode()
            new.writestr(name, part)
    return out.getvalue()


@pytest.mark.parametrize(
    ("damage", "words"),
    [
        (lambda _: b"", "is empty; "),
        (cut, "is cut short, or was changed after it was saved"),
        (flip, "is damaged: "),
        (newer, "was written by a newer fastgntk (format 99, this version reads 2)"),
    ],
    ids=["empty", "cut", "flipped", "newer"],
)
@pytest.mark.parametrize("command", [["predict"], ["explain", "--row", "1"]], ids=["predict", "explain"])
def test_invalid_model_files_are_refused(here, damage, words, command):
    (here / "m.fgntk").write_bytes(damage((here / "number.fgntk").read_bytes()))
    assert f"m.fgntk {words}" in sentence(run(*command, "m.fgntk", "oils.csv"))


@pytest.mark.parametrize("name", ["m.fgntk", "p.csv", "e.svg"])
def test_folder_as_output_is_refused(here, name):
    (here / name).mkdir()
    command = {"m.fgntk": TRAIN[:-2], "p.csv": PREDICT, "e.svg": EXPLAIN}[name]
    assert f"--output must be a file, but {name} is a folder" in sentence(run(*command, "-o", name))


def forbid(monkeypatch) -> None:
    """Let every attempt to make a file fail, as in a folder that is read-only; root could write to a real one."""
    real = Path.open

    def refuse(self, mode="r", *rest, **options):
        if mode == "xb":
            raise PermissionError(13, "Permission denied", str(self))
        return real(self, mode, *rest, **options)

    monkeypatch.setattr(Path, "open", refuse)


WRITING = [[*TRAIN, *TWO], [*PREDICT, "-o", "p.csv"], [*EXPLAIN, "-o", "e.svg"], [*EXPLAIN, "-o", "e.png"]]


@pytest.mark.parametrize("command", WRITING, ids=["train", "predict", "explain svg", "explain png"])
def test_read_only_folder_is_one_sentence(here, monkeypatch, command):
    forbid(monkeypatch)
    before = sorted(here.iterdir())
    assert "Permission denied" in sentence(run(*command))
    assert sorted(here.iterdir()) == before


def test_failed_training_keeps_the_old_model(here):
    before = (here / "number.fgntk").read_bytes()
    assert run("train", "oils.csv", "--target", "boils", *TWO, "--solver", "lu", "-o", "number.fgntk").code == 2
    assert (here / "number.fgntk").read_bytes() == before


@pytest.mark.parametrize(
    ("command", "words"),
    [("train", "NAME.fgntk"), ("predict", "NAME.csv"), ("explain", "NAME.svg or NAME.png")],
)
def test_help_and_missing_arguments(command, words):
    assert words in run(command, "--help").out
    done = run(command)
    assert (done.code, done.out) == (2, "")
    assert "Missing argument" in done.err


# Mistakes that look like valid input


def learn(data: str, target: str = "boils") -> list[str]:
    return ["train", data, "--target", target, *TWO, "-o", "m.fgntk"]


MISTAKES = {
    "text in a row after one that is skipped": ([*learn("holes.csv"), "--skip-invalid"], " 8"),
    "a typing error among numbers": (learn("tiny.csv"), " 5"),
    "every molecule a class of its own": (learn("oils.csv", "smiles"), "smiles"),
    "targets that are all equal": (learn("flat.csv"), "1.5"),
    "a method that regression would not use": ([*learn("oils.csv"), "--method", "tree"], "svm or ridge"),
    "a solver that SVMs would not use": ([*learn("oils.csv", "kind"), "--solver", "lu"], "cholesky"),
    "coverage for a classifier": (["predict", "kind.fgntk", "oils.csv", "--coverage", "2"], "coverage"),
    "another kind of file": (learn("oils.xlsx"), "as .csv"),
    "a wrong column of SMILES": ([*learn("oils.csv"), "--smiles", "kind"], "--smiles"),
    "graphs of another kind": (["predict", "some.fgntk", "oils.csv"], "trained on"),
}


@pytest.mark.parametrize(
    ("arguments", "words"),
    MISTAKES.values(),
    ids=MISTAKES,
)
def test_mistakes_are_refused(here, arguments, words):
    table(here / "holes.csv", smiles={3: "C1CC"}, boils={8: "warm"})
    table(here / "tiny.csv", ROWS[:10], boils={5: "n.d."})
    table(here / "flat.csv", boils=dict.fromkeys(range(1, 25), "1.5"))
    (here / "oils.xlsx").write_bytes(b"PK")
    assert words in sentence(run(*arguments))


@pytest.mark.parametrize("option", [["--max-memory", "little"], ["--n-jobs", "0"]], ids=str)
def test_bad_option_is_not_reported_as_a_bad_model(here, option):
    assert "not a model" not in sentence(run(*PREDICT, *option))


@pytest.mark.parametrize("command", WRITING[1:], ids=["predict", "explain svg", "explain png"])
def test_unwritable_file_is_named_in_the_message(here, monkeypatch, command):
    forbid(monkeypatch)
    message = sentence(run(*command))
    assert f" {command[-1]}" in message
    assert ".part" not in message


def test_similarities_are_at_most_1(here):
    found = [row["similarity"] for name in ("number.fgntk", "kind.fgntk")
            for row in record(run("predict", name, "oils.csv", "--json"))["predictions"]]  # fmt: skip
    assert max(found) <= 1


@pytest.mark.parametrize("output", [[], ["-o", "p.csv"]], ids=["printed", "written"])
def test_predict_lists_skipped_rows(here, output):
    table(here / "holes.csv", smiles={3: "C1CC", 7: "?"})
    done = run("predict", "number.fgntk", "holes.csv", "--skip-invalid", *output)
    assert "rows 3 and 7" in done.err + done.out.replace("3, 7", "3 and 7")


# Processes


@pytest.mark.slow
def test_error_in_a_process_is_one_line_on_standard_error(here):
    table(here / "holes.csv", smiles={3: "C1CC"})
    with start("predict", "number.fgntk", "holes.csv") as process:
        out, err = process.communicate(timeout=60)
    assert (process.returncode, out, err.count(b"\n")) == (2, b"", 1)  # RDKit prints nothing itself
    assert b"(line 4 of the file)" in err


@pytest.mark.slow
def test_predict_warns_about_unseen_labels(here):
    graphs = datasets.load("MUTAG").graphs[:5]
    write_tu(Dataset(replace(graphs, labels=graphs.labels + 5), None, "other"), here)
    with start("predict", "some.fgntk", "other") as process:
        out, err = process.communicate(timeout=60)
    assert b"have a label that no training graph has" in err
    assert len(read_csv(out.decode())) == 5


@pytest.mark.slow
def test_closed_pipe_ends_predict_without_a_message(here):
    with start("predict", "number.fgntk", "oils.csv") as process:
        process.stdout.close()  # what `head` does, only sooner
        assert process.stderr.read() == b""
    assert process.returncode == 1


@pytest.mark.slow
def test_ctrl_c_stops_training_within_two_seconds_and_leaves_no_file(here):
    folder = write_tu(synthetic.erdos_renyi(400, 60), here)
    old = (here / "some.fgntk").read_bytes()
    with start("train", folder, "--blocks", 30, "--scale", "unit", "-o", "some.fgntk", "-v") as process:
        assert any(b"engine" in line for line in process.stderr)  # the kernel has begun
        time.sleep(1)
        assert process.poll() is None
        process.send_signal(signal.SIGINT)
        begin = time.monotonic()
        out, err = process.communicate(timeout=30)
        assert time.monotonic() - begin < 2
    assert (process.returncode, out) == (130, b"")
    assert b"Traceback" not in err
    assert (here / "some.fgntk").read_bytes() == old
    assert not list(here.glob(".*"))


DESCRIBED = ["--kernel", "0.1 * GNTK(1, 1) + RBF(on='rdkit', scaling='log') + Linear('weight')", "--target", "boils"]


def test_descriptors_of_a_model_are_computed_for_new_molecules(tmp_path):
    pytest.importorskip("rdkit")
    data, model = table(tmp_path / "t.csv"), tmp_path / "m.fgntk"
    options = ["--descriptors", "rdkit,morgan", "--with", "weight", "--with", "boils"]
    done = run("train", data, *DESCRIBED, *options, "-o", model)
    assert done.code == 0, done
    assert "no kernel uses the descriptors 'boils', 'morgan'; name them in --kernel, such as" in done.err
    loaded = load_model(model)
    assert loaded.metadata_["inputs"] == {"descriptors": "rdkit", "with": ["weight"]}
    graphs = read_table(data, descriptors="rdkit", with_columns="weight").graphs
    rows = read_csv(run("predict", model, data).out)
    PREDICTED.check([float(row["value"]) for row in rows], loaded.predict(graphs))
    shown = record(run("explain", model, data, "--row", 3, "--json"))
    assert set(shown["descriptors"]) == {"rdkit", "weight"}
    total = shown["intercept"] + sum(shown["nodes"]) + sum(shown["descriptors"].values())
    PREDICTED.check(shown["prediction"], total)
    PREDICTED.check(shown["prediction"], loaded.predict(graphs[2:3])[0])
    text = run("explain", model, data, "--row", 3).out
    assert f"rdkit {shown['descriptors']['rdkit']:+.3g}, weight {shown['descriptors']['weight']:+.3g}" in text
    without = data.with_name("without.csv")
    without.write_text("smiles\nCCO\n")
    message = "without.csv lacks the column 'weight', with which the model was trained; add it to the table."
    assert message in sentence(run("predict", model, without))
    assert message in sentence(run("explain", model, without, "--row", 1))


def test_unused_descriptors_are_not_mentioned_before_an_error(tmp_path):
    pytest.importorskip("rdkit")
    arguments = [table(tmp_path / "t.csv"), "--target", "boils", "--with", "weight"]
    for kernel, message in [
        (
            "RBF('dose')",
            "the kernel needs the descriptors 'dose', but the graphs have only 'weight'; add",
        ),
        ("GNTK(scale='given')", "scale 'given' needs a scale for every node"),
    ]:
        done = run("train", *arguments, "--kernel", kernel, "-o", tmp_path / "m.fgntk")
        assert message in sentence(done)


def test_a_model_with_given_scales_is_for_python(tmp_path):
    data = datasets.load("MUTAG")
    graphs = data.graphs[:20].with_node_scale(np.ones(data.graphs[:20].n_nodes))
    model = tmp_path / "m.fgntk"
    GraphClassifier(GNTK(1, 1, scale="given"), "ridge").fit(graphs, data.y[:20]).save(model)
    assert "no input format holds one; load the model in Python." in sentence(run("predict", model, "MUTAG"))


def test_info_lists_descriptors_with_their_widths(tmp_path):
    pytest.importorskip("rdkit")
    options = [table(tmp_path / "t.csv"), "--with", "weight", "--with", "weight,boils"]
    assert record(run("info", *options, "--json"))["descriptors"] == {"weight": 1, "weight,boils": 2}
    assert "'weight' of width 1, 'weight,boils' of width 2" in run("info", *options).out
    assert "descriptors" not in run("info", *options[:1]).out


def test_graph_attributes_of_json_are_descriptors(tmp_path):
    networkx = pytest.importorskip("networkx")
    data, model = tmp_path / "g.json", tmp_path / "m.fgntk"
    items = []
    for i in range(12):
        graph = networkx.path_graph(3 + i % 4)
        graph.graph |= {"dose": i / 3, "y": i % 3 + 0.5 * i}
        items.append(networkx.node_link_data(graph, edges="edges"))
    data.write_text(json.dumps(items))
    kernel = ["--kernel", "GNTK(1, 1).normalized() + RBF('dose')"]
    assert run("train", data, "--target", "y", "--with", "dose", *kernel, "-o", model).code == 0
    assert len(read_csv(run("predict", model, data).out)) == 12
    done = run("gram", data, "--with", "dose", *kernel, "-o", tmp_path / "K.npy")
    assert done.code == 0, done
    assert np.load(tmp_path / "K.npy").shape == (12, 12)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["MUTAG", "--descriptors", "rdkit"], "--descriptors is for tables (.csv, .tsv), but DATA is MUTAG; leave it"),
        (["MUTAG", "--with", "dose"], "--with is for tables (.csv, .tsv), but DATA is MUTAG; leave it out"),
        (["t.csv", "--descriptors", "x"], "descriptors must be among rdkit, morgan, each once, but are x"),
        (
            ["t.csv", "--target", "kind", "--folds", 4, "--kernel", "RBF('rdkit')"],
            "the kernel needs the descriptors 'rdkit', but the graphs have none; add them",
        ),
    ],
)
def test_descriptors_that_are_not_there_are_refused(tmp_path, monkeypatch, arguments, message):
    pytest.importorskip("rdkit")
    monkeypatch.chdir(tmp_path)
    table(tmp_path / "t.csv")
    assert message in sentence(run("evaluate", *arguments))
