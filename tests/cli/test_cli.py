"""The command line as a user meets it: a process, its output, its exit code."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from fastgntk import GNTK, __version__, datasets, gram, normalize
from fastgntk.datasets import Dataset, synthetic, write_tu

QUICK = ["--blocks", "1", "--layers", "1", "--scale", "degree", "--jump", "yes", "--normalize", "no", "--c", "10,100"]


def fastgntk(*arguments: object, **environment: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", "from fastgntk.cli import main; main()", *map(str, arguments)]
    return subprocess.run(
        command, capture_output=True, text=True, timeout=300, env={**os.environ, **environment}, check=False
    )


def sentence(done: subprocess.CompletedProcess[str]) -> str:
    """Return the error message, having checked that it is one line, without a traceback, with exit code 2."""
    assert done.returncode == 2, done.stderr
    assert "Traceback" not in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1
    assert done.stdout == ""
    return done.stderr


def test_evaluate_prints_the_table():
    done = fastgntk("evaluate", "MUTAG", "--folds", 3, "--inner-folds", 3, *QUICK)
    assert done.returncode == 0, done.stderr
    for words in [
        "accuracy", "± ", "nested (options chosen on training folds only)", "90.0 ± 8.5 %", "decoupled", "kernel time",
        "learning time", "188 graphs, 2 classes", "Options chosen in each outer fold",
    ]:  # fmt: skip
        assert words in done.stdout


def test_evaluate_du2019_is_called_optimistic():
    done = fastgntk("evaluate", "MUTAG", "--folds", 3, "--protocol", "du2019", *QUICK, "--workers", 1)
    assert "optimistic" in done.stdout
    assert "The same options for every fold" in done.stdout


def test_evaluate_json_and_given_folds(tmp_path):
    (tmp_path / "folds.txt").write_text("\n".join(str(i % 3) for i in range(188)) + "\n")
    done = fastgntk("evaluate", "MUTAG", "--folds", tmp_path / "folds.txt", *QUICK, "--json", "--seed", 5)
    record = json.loads(done.stdout)
    assert record["dataset"] == "MUTAG"
    assert record["published"] == {"mean": 0.9, "std": 0.085, "protocol": "du2019"}
    assert record["folds"].endswith("folds.txt")
    assert (record["features"], record["inner_folds"], record["seed"]) == ("auto", 5, 5)
    assert len(record["accuracies"]) == 3
    assert record["grid"] == {"blocks": [1], "layers": [1], "scale": ["degree"], "jump": [True], "normalize": [False],
                              "C": [10.0, 100.0], "edges": ["plain"]}  # fmt: skip
    assert 0.7 < record["accuracy_mean"] < 1
    assert record["version"] == __version__
    assert done.stderr == ""


def test_gram_writes_the_matrix(tmp_path):
    options = ["--blocks", 2, "--layers", 1, "--scale", "degree", "--no-jump", "--c-phi", 1.5]
    done = fastgntk("gram", "MUTAG", "-o", tmp_path / "K.npy", *options)
    assert done.returncode == 0, done.stderr
    assert "188 × 188 float64" in done.stdout
    expected = gram(datasets.load("MUTAG"), GNTK(2, 1, "degree", False, 1.5))
    assert np.array_equal(np.load(tmp_path / "K.npy"), expected)
    done = fastgntk("gram", "MUTAG", "-o", tmp_path / "K.npz", *options, "--normalize", "--json")
    assert json.loads(done.stdout)["spec"] == GNTK(2, 1, "degree", False, 1.5).to_dict()
    with np.load(tmp_path / "K.npz") as stored:
        assert np.array_equal(stored["K"], normalize(expected))
        assert stored["y"].tolist() == datasets.load("MUTAG").y.tolist()
        assert GNTK.from_json(str(stored["spec"])) == GNTK(2, 1, "degree", False, 1.5)
        assert json.loads(str(stored["options"])) == {
            "dataset": "MUTAG", "features": "auto", "normalize": True, "version": __version__,
            "engine": "decoupled", "sketching": None,
        }  # fmt: skip
    assert sorted(p.name for p in tmp_path.iterdir()) == ["K.npy", "K.npz"]


def test_gram_takes_a_sketch_and_keeps_its_options(tmp_path):
    options = [
        "--engine",
        "sketched",
        "--sketch",
        "srht",
        "--sketch-size",
        0.4,
        "--all-nodes",
        "--seed",
        3,
        "--blocks",
        2,
    ]
    done = fastgntk("gram", "MUTAG", "-o", tmp_path / "K.npz", *options)
    assert done.returncode == 0, done.stderr
    assert "sketched, sketch: srht, size: 0.4, seed: 3" in done.stdout
    with np.load(tmp_path / "K.npz") as stored:
        kept = json.loads(str(stored["options"]))
        sketch = {"sketch": "srht", "sketch_size": 0.4, "merge_nodes": False, "seed": 3}
        expected = gram(datasets.load("MUTAG"), GNTK(2), engine="sketched", **sketch)
        assert np.array_equal(stored["K"], expected)
    assert kept["engine"] == "sketched"
    assert kept["sketching"] == {
        "sketch": "srht", "size": 0.4, "seed": 3, "fresh_each_block": False, "merge_nodes": False,
        "sketch_features": False,
    }  # fmt: skip


def test_a_sketch_as_large_as_the_graphs_is_said_to_be_exact(tmp_path):
    done = fastgntk("gram", "MUTAG", "-o", tmp_path / "K.npy", "--engine", "sketched", "--sketch-size", 500)
    assert "sketch_size=500 is not below the number of nodes of 188 of 188 graphs" in " ".join(done.stderr.split())
    assert np.array_equal(np.load(tmp_path / "K.npy"), gram(datasets.load("MUTAG")))
    assert "sketch:" not in done.stdout


def test_evaluate_takes_a_sketch():
    small = ["--blocks", 1, "--layers", 1, "--scale", "degree", "--jump", "yes", "--normalize", "yes", "--c", 10]
    done = fastgntk("evaluate", "MUTAG", *small, "--folds", 3, "--engine", "sketched", "--sketch-size", 0.6, "--json")
    assert json.loads(done.stdout)["engine"] == "sketched"


def test_gram_reads_a_folder(tmp_path):
    folder = write_tu(synthetic.erdos_renyi(4, 6), tmp_path)
    done = fastgntk("gram", folder, "-o", tmp_path / "K.npy", "--json")
    assert json.loads(done.stdout)["shape"] == [4, 4]


def test_datasets_lists_names_counts_and_places():
    done = fastgntk("datasets")
    assert "MUTAG" in done.stdout
    assert "12,286,079" in done.stdout
    assert "bundled" in done.stdout
    rows = {row["name"]: row for row in json.loads(fastgntk("datasets", "--json").stdout)}
    assert rows["MUTAG"]["where"] == "bundled"
    assert Path(rows["MUTAG"]["path"]).is_dir()
    assert rows["PTC"]["where"] == "nowhere"
    assert rows["NCI1"]["where"] == "to download"
    assert rows["ENZYMES"]["graphs"] == 600


def test_info_describes_installation_and_data():
    record = json.loads(fastgntk("info", "--json").stdout)
    assert record["version"] == __version__
    assert record["engines"] == ["auto", "lossless", "decoupled", "kronecker", "sketched"]
    record = json.loads(fastgntk("info", "MUTAG", "--json").stdout)
    assert (record["nodes"], record["edges"], record["node_labels"], record["edge_labels"]) == (3371, 3721, 7, 4)
    assert record["nodes_per_graph"] == {"min": 10, "median": 17.5, "mean": pytest.approx(3371 / 188), "max": 28}
    assert (record["name"], record["targets"], record["classes"]) == ("MUTAG", "classes", 2)
    assert (record["equal"]["duplicates"], record["equal_typed"]["duplicates"]) == (13, 0)
    assert record["equal"]["best_accuracy"] == 1.0
    assert "cache folder" in fastgntk("info").stdout
    shown = fastgntk("info", "MUTAG").stdout
    assert "2 classes" in shown
    assert "labels, 7 distinct" in shown
    assert "13 equal an earlier one" in shown
    assert "100.00 %" in shown


def test_a_data_folder_that_does_not_exist_is_said():
    assert "/nowhere (does not exist)" in fastgntk("info", FASTGNTK_DATA="/nowhere").stdout


def test_a_set_without_targets_is_not_called_regression(tmp_path):
    folder = write_tu(Dataset(synthetic.erdos_renyi(4, 5).graphs, None, "bare"), tmp_path)
    record = json.loads(fastgntk("info", folder, "--json").stdout)
    assert record["targets"] == "none"
    assert (
        record["equal"]["best_accuracy"] is record["equal"]["least_error"] is record["equal"]["contradictory"] is None
    )


def test_version_and_help():
    assert fastgntk("--version").stdout == f"fastgntk {__version__}\n"
    for command in ([], ["evaluate"], ["gram"], ["datasets"], ["info"]):
        done = fastgntk(*command, "--help")
        assert done.returncode == 0
        assert "Usage" in done.stdout


@pytest.fixture
def folder(tmp_path) -> Path:
    return write_tu(synthetic.erdos_renyi(12, 6), tmp_path)


SKETCHED = ["gram", "MUTAG", "-o", "K.npy", "--engine", "sketched"]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["evaluate", "MUTAGG"], "did you mean MUTAG?"),
        (["evaluate", "MUTAG", "--blocks", "0"], "blocks must be a whole number, 1 or more, but is 0"),
        (["evaluate", "MUTAG", "--blocks", "3-1"], "--blocks: the range 3-1 runs backwards"),
        (["evaluate", "MUTAG", "--blocks", "1,,2"], "--blocks takes values separated by commas"),
        (["evaluate", "MUTAG", "--layers", "two"], "--layers takes whole numbers such as 1,2,5"),
        (["evaluate", "MUTAG", "--scale", "big"], "scale must be one of uniform, degree, unit, but is 'big'"),
        (["evaluate", "MUTAG", "--jump", "maybe"], "--jump must be yes, no or both, but is 'maybe'"),
        (["evaluate", "MUTAG", "--c", "ten"], "--c takes numbers such as 1,10,100"),
        (["evaluate", "MUTAG", "--c", "0"], "C must hold numbers above 0"),
        (["evaluate", "MUTAG", "--protocol", "loo"], "protocol must be one of nested, du2019"),
        (["evaluate", "MUTAG", "--folds", "100"], "class -1 has 63 members, fewer than folds=100"),
        (["evaluate", "MUTAG", "--folds", "²"], "the folds file ² cannot be read"),
        (["evaluate", "MUTAG", "--seed", "-1"], "seed must lie in 0..4294967295, but is -1"),
        (["evaluate", "MUTAG", "--blocks", ""], "--blocks takes values separated by commas"),
        (["gram", "MUTAG", "-o", ".npy/"], "--output must end in"),
        (["info", "."], "holds no TU data set"),
        (["evaluate", "MUTAG", "--folds", "none.txt"], "the folds file none.txt cannot be read"),
        (["evaluate", "MUTAG", "--features", "attributes"], "have no continuous features"),
        (["evaluate", "MUTAG", "--features", "x"], "features must be one of auto"),
        (["evaluate", "MUTAG", "--engine", "x"], "engine must be one of auto"),
        (["evaluate", "MUTAG", "--memory", "little"], "memory must be a number of bytes"),
        (["evaluate", "MUTAG", "--workers", "0"], "workers must be a whole number, 1 or more"),
        (["gram", "MUTAG", "-o", "K.csv"], "--output must end in .npy or .npz, but is K.csv"),
        (["gram", "MUTAG", "-o", "no/such/K.npy"], "the folder no/such does not exist"),
        (["gram", "MUTAG", "-o", "K.npy", "--layers", "0"], "layers must be a whole number, 1 or more, but is 0"),
        (["gram", "MUTAG", "-o", "K.npy", "--memory", "1kB"], "is too small"),
        (["info", "PTC"], "PTC has no public address"),
        ([*SKETCHED, "--sketch-size", "0"], "1 or more, or a rate in (0, 1] such as 0.3, but is 0."),
        ([*SKETCHED, "--sketch-size", "-4"], "1 or more, or a rate in (0, 1] such as 0.3, but is -4."),
        ([*SKETCHED, "--sketch-size", "1.5"], "a rate in (0, 1] such as 0.3, but is 1.5."),
        ([*SKETCHED, "--sketch-size", "many"], "--sketch-size takes a number such as 64 or 0.3, but is 'many'."),
        (
            [*SKETCHED, "--sketch", "fft"],
            "sketch must be one of ams, gaussian, srht, countsketch, sparse, but is 'fft'",
        ),
        ([*SKETCHED, "--seed", "-1"], "seed must be a whole number, 0 or more, but is -1"),
        (["gram", "MUTAG", "-o", "K.npy", "--sketch", "ams"], "sketch='ams' needs engine='sketched'"),
        (["reproduce", "table-time", "--data", "MUTAGG"], "did you mean MUTAG?"),
    ],
)
def test_bad_input_is_one_sentence_with_exit_code_2(arguments, words, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert words in sentence(fastgntk(*arguments))
    assert not list(tmp_path.glob("K*"))


@pytest.mark.parametrize(
    ("file", "text", "words"),
    [
        ("A", "1, 2\n7, 1\n", "line 2: edge (7, 1) joins graphs"),
        ("graph_labels", "1\n" * 12, "at least two classes, but all 12 graphs are of class 1"),
        ("graph_labels", "1\n" * 11, "has 11 lines, but erdos-renyi_graph_indicator.txt has 12 graphs"),
        ("node_attributes", "nan\n" * 72, "line 1 (graph 1): attributes must be finite"),
        ("graph_labels", "1\n0\n" * 6, "class 0 has 6 members, fewer than folds=10"),
    ],
)
def test_bad_files_are_one_sentence_with_exit_code_2(folder, file, text, words):
    (folder / f"erdos-renyi_{file}.txt").write_text(text)
    assert words in sentence(fastgntk("evaluate", folder))


def test_a_folder_without_targets_is_one_sentence(tmp_path):
    folder = write_tu(Dataset(synthetic.erdos_renyi(4, 5).graphs, None, "bare"), tmp_path)
    assert "bare has nothing to learn; it has neither graph labels nor" in sentence(fastgntk("evaluate", folder))


def test_a_terminal_without_greek_gets_the_result_all_the_same():
    done = fastgntk("evaluate", "MUTAG", "--folds", 3, "--inner-folds", 3, *QUICK, PYTHONIOENCODING="ascii")
    assert done.returncode == 0, done.stderr
    assert "accuracy" in done.stdout


def test_a_folder_as_output_is_refused_before_the_work(tmp_path):
    (tmp_path / "K.npy").mkdir()
    assert "is a folder" in sentence(fastgntk("gram", "MUTAG", "-o", tmp_path / "K.npy"))


def test_brackets_in_messages_are_shown_as_they_are():
    assert "'[red]x[/red]'" in sentence(fastgntk("info", "[red]x[/red]"))


def test_info_refuses_a_sketch_without_a_plan():
    assert "the options of a sketch are for --plan" in sentence(fastgntk("info", "MUTAG", "--sketch", "ams"))


def test_info_plan_takes_a_sketch():
    done = fastgntk("info", "MUTAG", "--plan", "--engine", "sketched", "--sketch-size", 0.2, "--json")
    assert json.loads(done.stdout)["plan"]["engine"] == "sketched"


def test_info_plan_says_what_a_matrix_will_take():
    done = fastgntk("info", "--plan", "MUTAG", "--blocks", 3, "--layers", 2)
    assert done.returncode == 0, done.stderr
    for words in ["lossless: about", "188 with 3,371 nodes", "distinct", "expected time", "expected memory"]:
        assert words in done.stdout
    record = json.loads(fastgntk("info", "--plan", "MUTAG", "--engine", "decoupled", "--json").stdout)
    assert record["plan"]["engine"] == "decoupled"
    assert "needs a data set" in sentence(fastgntk("info", "--plan"))
    assert "is too small" in sentence(fastgntk("info", "--plan", "MUTAG", "--memory", "1kB"))


def test_bench_prints_the_table_and_writes_the_record(tmp_path):
    data = write_tu(synthetic.erdos_renyi(30, 12), tmp_path / "data")
    target = tmp_path / "record.json"
    done = fastgntk("bench", f"{data}:2,2", "-o", target, "--time", 0.5, "--workers", 2)
    assert done.returncode == 0, done.stderr
    for words in ["baseline", "lossless", "ratio", "effic.", "memory", "First kernel of a process", "block by block"]:
        assert words in done.stdout
    record = json.loads(target.read_text())
    assert record["cold_start_seconds"] > record["warm_start_seconds"] > 0
    assert record["machine"]["version"] == __version__
    (row,) = record["rows"]
    assert (row["blocks"], row["layers"], row["workers"], row["graphs"]) == (2, 2, 2, 30)
    assert row["baseline_pairs"] == 30 * 31 // 2
    assert not row["baseline_scaled"]
    assert not row["decoupled_scaled"]
    assert row["largest_difference"] < 1e-7
    assert row["ratio"] == row["baseline_seconds"] / row["lossless_seconds"]
    assert 0 < row["efficiency"] < 1
    assert row["peak_bytes"] > 50e6 or sys.platform != "linux"
    assert len(row["compression"]) == 2


def test_bench_refuses_what_it_cannot_do(tmp_path):
    assert "write NAME:BLOCKS,LAYERS" in sentence(fastgntk("bench", "MUTAG:3", "-o", tmp_path / "r.json"))
    assert "write NAME:BLOCKS,LAYERS" in sentence(fastgntk("bench", "MUTAG:0,2", "-o", tmp_path / "r.json"))
    assert "make it first" in sentence(fastgntk("bench", "MUTAG", "-o", tmp_path / "no" / "r.json"))
    assert "--time must be above 0" in sentence(fastgntk("bench", "MUTAG", "--time", 0))
    assert "MUTAGG" in sentence(fastgntk("bench", "MUTAGG", "-o", tmp_path / "r.json"))


def test_compiling_is_announced_once(tmp_path):
    first, second = (
        fastgntk("gram", "MUTAG", "-o", tmp_path / "K.npy", "--engine", "lossless", NUMBA_CACHE_DIR=str(tmp_path / "c"))
        for _ in range(2)
    )
    assert "compiling the fast loops" in first.stderr
    assert second.stderr == ""
