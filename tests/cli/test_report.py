"""``--report``: an HTML page besides the printed results, and one sentence for bad input."""

from __future__ import annotations

import json
import os

import numpy as np
import pytest
from tests.cli.command import ONE, run
from tests.cli.test_learning import HEADING, ROWS

import fastgntk as fg
from fastgntk import report
from fastgntk.cli._options import ComputeOptions, ReportOutput
from fastgntk.selection import CrossValidation, Grid, evaluate

EVALUATE = ["evaluate", "MUTAG", *ONE, "--c", "10", "--folds", "3", "--inner-folds", "2"]


@pytest.fixture
def facts_seen(monkeypatch):
    """The data of all pages that were written."""
    seen = []
    from fastgntk.report import _page

    original = _page.render_page

    def look(facts):
        seen.append(facts)
        return original(facts)

    monkeypatch.setattr(_page, "render_page", look)
    return seen


@pytest.fixture
def table(tmp_path):
    path = tmp_path / "molecules.csv"
    path.write_text("\n".join(",".join(row) for row in [HEADING, *ROWS, ["no molecule", "1", "1", "amine"]]) + "\n")
    return path


@pytest.mark.slow
def test_evaluate_writes_a_report(tmp_path, facts_seen):
    page = tmp_path / "found.html"
    done = run(*EVALUATE, "--report", page)
    assert done.code == 0, done.err
    assert f"report: {page}" in done.out
    assert page.read_text().lstrip().lower().startswith("<!doctype html")
    assert page.stat().st_size < 3_000_000
    [facts] = facts_seen
    assert facts["command"].startswith("fastgntk evaluate MUTAG --blocks 1")
    assert f"{facts['score']['mean']:.1f} ±" in done.out
    assert [name for name, _ in facts["stages"]][:2] == ["kernels of the grid", "SVMs of the grid"]


@pytest.mark.slow
def test_report_does_not_change_json_output(tmp_path, facts_seen):
    page = tmp_path / "found.html"
    common = [*EVALUATE, "--json"]
    with_page, without = json.loads(run(*common, "--report", page).out), json.loads(run(*common).out)
    assert with_page.pop("report") == str(page)
    assert set(with_page) == set(without)
    assert with_page["accuracies"] == without["accuracies"]
    assert facts_seen[0]["score"]["folds"] == [round(100 * a, 3) for a in without["accuracies"]]


def test_train_writes_a_report_of_a_regression(tmp_path, table, facts_seen):
    page, model = tmp_path / "found.html", tmp_path / "m.fgntk"
    options = ["--target", "boils", "--skip-invalid", *ONE]
    done = run("train", table, "-o", model, *options, "--report", page, "--json")
    assert done.code == 0, done.err
    [facts] = facts_seen
    record = json.loads(done.out)
    assert facts["target"] == "boils"
    assert facts["score"]["mean"] == pytest.approx(record["leave_one_out_rmse"][0], rel=1e-4)
    assert [g["name"] for g in facts["graphs"]] == [row[0] for row in ROWS]
    assert "positions" in facts["graphs"][5]["drawing"]
    assert any("1 row was skipped" in text for text in facts["warnings"])
    assert model.exists()
    assert page.exists()


def test_train_writes_a_report_of_a_classification(tmp_path, table, facts_seen):
    page = tmp_path / "found.html"
    options = ["--target", "kind", "--skip-invalid", *ONE, "--c", "10"]
    done = run("train", table, "-o", tmp_path / "m.fgntk", *options, "--report", page)
    assert done.code == 0, done.err
    [facts] = facts_seen
    assert facts["classes"] == ["alcohol", "alkane", "amine"]
    assert np.sum(facts["confusion"]) == len(ROWS)


@pytest.mark.parametrize(
    "command", [["evaluate", "MUTAG"], ["train", "MUTAG", "-o", "m.fgntk"]], ids=["evaluate", "train"]
)
def test_unwritable_report_is_refused_before_any_work(command, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(fg.datasets, "load", lambda *_, **__: pytest.fail("data was loaded"))
    monkeypatch.setattr("fastgntk.cli._inputs.load", lambda *_, **__: pytest.fail("data was loaded"))
    (tmp_path / "folder.html").mkdir()
    for place, words in [
        ("out.pdf", "--report must end in .html, but is out.pdf"),
        ("nowhere/out.html", "the folder nowhere does not exist; create it first"),
        ("folder.html", "--report must be a file, but folder.html is a folder"),
    ]:
        done = run(*command, "--report", place)
        assert done.code == 2
        assert words in done.err
    monkeypatch.setattr(os, "access", lambda *_: False)
    done = run(*command, "--report", "out.html")
    assert done.code == 2
    first = "out.html" if command[0] == "evaluate" else "m.fgntk"  # train checks its model's place first
    assert f"{first} cannot be written (Permission denied); choose another place" in done.err


@pytest.mark.slow
def test_results_are_printed_even_if_the_report_fails(tmp_path, monkeypatch):
    def broken(*_, **__):
        raise fg.InputError("no memory for this.")

    monkeypatch.setattr("fastgntk.report.data.evaluation_data", broken)
    done = run(*EVALUATE, "--report", tmp_path / "found.html")
    assert done.code == 2
    assert "accuracy" in done.out
    assert "no memory for this." in done.err
    assert not (tmp_path / "found.html").exists()


@pytest.mark.slow
def test_reports_from_python(tmp_path):
    data = fg.datasets.load("MUTAG")
    grid = Grid(blocks=(1,), layers=(1,), scale=("degree",), jump=(True,), normalize=(False,), C=(10.0,))
    result = evaluate(data, kernels=grid, cv=CrossValidation(folds=3, inner_folds=2), compute=fg.Compute(n_jobs=1))
    calls = []
    watched = fg.Compute(progress=lambda *call: calls.append(call))
    facts = report.report_evaluation(tmp_path / "a.html", data, result, compute=watched)
    assert facts["score"]["folds"] == [round(100 * a, 3) for a in result.accuracies]
    shares = [done / total for done, total in calls]
    assert shares == sorted(shares)
    assert shares[-1] == 1.0
    model = fg.GraphRegressor(fg.GNTK(1, 1)).fit(data.graphs[:30], data.graphs[:30].sizes)
    report.report_training(tmp_path / "b.html", data.graphs[:30], model, y=data.graphs[:30].sizes)
    assert (tmp_path / "a.html").exists()
    assert (tmp_path / "b.html").exists()
    with pytest.raises(fg.InputError, match=r"path must end in .html, but is a.txt"):
        report.report_training("a.txt", data.graphs[:30], model)


def test_report_has_the_quoted_command_line(tmp_path, monkeypatch):
    seen = []
    monkeypatch.setattr("sys.argv", ["/somewhere/fastgntk", "evaluate", "my data", "--folds", "3"])
    output = ReportOutput(json=True, report=tmp_path / "found.html")
    output.write_report(lambda *_, command, **__: seen.append(command), ComputeOptions())
    assert seen == ["fastgntk evaluate 'my data' --folds 3"]
