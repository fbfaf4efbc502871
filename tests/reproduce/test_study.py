"""Running a study: which rows are reused, which cells are measured, and the files."""

from __future__ import annotations

import csv
import json
import re
import sys

import pytest

from fastgntk import InputError, __version__
from fastgntk.reproduce import STUDIES, Study, StudyOptions, get_study, run_study
from fastgntk.reproduce import _study as frame
from fastgntk.reproduce._study import _commit  # before it is replaced for the tests

pytestmark = pytest.mark.slow


def a_study(calls, fail_at=None, cells=((1, "a"), (2, "b"), (3, "c"))):
    def measure(cell, options):
        if cell["size"] == fail_at:
            raise KeyboardInterrupt
        calls.append(cell["size"])
        return [{"depth": depth, "value": cell["size"] / depth, "good": depth == 1} for depth in (1, 2)]

    def draw(rows, figure):
        figure.subplots().plot([row["value"] for row in rows])

    return Study(
        name="trial",
        cells=lambda options: [{"size": n, "word": word, "rate": None} for n, word in cells],
        measure=measure,
        draw=draw,
        verdict=lambda rows: [f"{len(rows)} rows."],
        shown=("size", "value"),
    )


def test_run_writes_four_files(tmp_path):
    outcome = run_study(a_study([]), tmp_path / "new" / "folder", StudyOptions())
    assert outcome.verdict == ["6 rows."]
    assert {path.name for path in outcome.files.values()} == {"trial.csv", "trial.png", "trial.svg", "trial.json"}
    assert sorted(p.name for p in (tmp_path / "new" / "folder").iterdir()) == sorted(
        p.name for p in outcome.files.values()
    )
    assert outcome.files["png"].read_bytes().startswith(b"\x89PNG")
    assert "<svg" in outcome.files["svg"].read_text()
    with outcome.files["csv"].open() as stream:
        rows = list(csv.DictReader(stream))
    assert rows[1] == {"size": "1", "word": "a", "rate": "", "depth": "2", "value": "0.5", "good": "false"}
    record = json.loads(outcome.files["json"].read_text())
    assert record["verdict"] == ["6 rows."]
    assert record["conditions"]["machine"]["version"] == __version__
    assert record["conditions"]["machine"]["cores"] >= 1
    assert record["finished"]


def test_interrupted_run_is_resumed(tmp_path):
    calls: list[int] = []
    with pytest.raises(KeyboardInterrupt):
        run_study(a_study(calls, fail_at=3), tmp_path, StudyOptions())
    assert calls == [1, 2]
    files = {kind: tmp_path / f"trial.{kind}" for kind in ("csv", "json")}
    conditions = json.loads(files["json"].read_text())["conditions"]
    assert [row["size"] for row in frame._read_earlier_rows(files, conditions)] == [1, 1, 2, 2]
    outcome = run_study(a_study(calls), tmp_path, StudyOptions())
    assert calls[-1] == 3
    assert [row["size"] for row in outcome.rows] == [1, 1, 2, 2, 3, 3]
    assert outcome.measured == 1
    again = run_study(a_study(calls), tmp_path, StudyOptions())
    assert again.measured == 0
    assert again.rows == outcome.rows


@pytest.mark.parametrize("other", [StudyOptions(seed=1), StudyOptions(workers=2), StudyOptions(quick=True)])
def test_rows_of_other_options_are_not_reused(tmp_path, other):
    calls: list[int] = []
    run_study(a_study(calls), tmp_path, StudyOptions())
    assert run_study(a_study(calls), tmp_path, other).measured == 3


def test_restart_measures_every_cell(tmp_path):
    calls: list[int] = []
    run_study(a_study(calls), tmp_path, StudyOptions())
    assert run_study(a_study(calls), tmp_path, StudyOptions(), restart=True).measured == 3
    assert len(calls) == 6


@pytest.mark.parametrize("record", [b"{", b"[]", b"\xff\xfe"])
def test_rows_without_a_valid_record_are_not_reused(record, tmp_path):
    calls: list[int] = []
    files = run_study(a_study(calls), tmp_path, StudyOptions()).files
    files["json"].write_bytes(record)
    assert run_study(a_study(calls), tmp_path, StudyOptions()).measured == 3


def test_truncated_row_is_measured_again(tmp_path):
    calls: list[int] = []
    files = run_study(a_study(calls), tmp_path, StudyOptions()).files
    lines = files["csv"].read_text().splitlines()
    files["csv"].write_text("\n".join([*lines[:5], "3,c"]))
    assert run_study(a_study(calls), tmp_path, StudyOptions()).measured == 1


def test_rows_of_another_commit_are_not_reused(tmp_path, monkeypatch):
    calls: list[int] = []
    run_study(a_study(calls), tmp_path, StudyOptions())
    monkeypatch.setattr(frame, "_commit", lambda: "another")
    assert run_study(a_study(calls), tmp_path, StudyOptions()).measured == 3


@pytest.mark.parametrize("value", [3, 0.5, -1e-300, float("inf"), True, False, None, "MUTAG", "rounds 3, C 10"])
def test_csv_fields_round_trip(value):
    assert frame._parse_field(frame._format_field(value)) == value
    assert type(frame._parse_field(frame._format_field(value))) is type(value)


def test_commit_is_a_hash_or_none():
    commit = _commit()
    assert commit is None or re.fullmatch("[0-9a-f]{7,40}", commit)


def test_data_set_named_like_a_number_is_reused(tmp_path):
    study = a_study([], cells=((1, "2019"), (2, "true")))
    run_study(study, tmp_path, StudyOptions())
    assert run_study(study, tmp_path, StudyOptions()).measured == 0


def test_unused_or_invalid_options_are_refused(tmp_path):
    with pytest.raises(InputError, match="trial uses no data sets; leave --data out"):
        run_study(a_study([]), tmp_path, StudyOptions(data=("MUTAG",)))
    with pytest.raises(InputError, match=r"seed must lie in 0\.\.4294967295, but is -1"):
        StudyOptions(seed=-1)


def test_rows_of_other_cells_are_kept_at_the_end(tmp_path):
    run_study(a_study([]), tmp_path, StudyOptions())
    outcome = run_study(a_study([], cells=((3, "c"), (4, "d"))), tmp_path, StudyOptions())
    assert outcome.measured == 1
    assert [row["size"] for row in outcome.rows] == [3, 3, 4, 4, 1, 1, 2, 2]


def test_missing_matplotlib_is_refused_before_any_measurement(tmp_path, monkeypatch):
    calls: list[int] = []
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(InputError, match=r"pip install 'fastgntk\[reproduce\]'"):
        run_study(a_study(calls), tmp_path, StudyOptions())
    assert not calls


def test_every_study_is_registered_under_its_name():
    assert {name: get_study(name).name for name in STUDIES} == {name: name for name in STUDIES}
