"""Commands other than train, predict and explain: output, JSON, and one sentence for bad input."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import numpy as np
import pytest
from tests.cli.command import ONE, Done, record, run, sentence, start

import fastgntk as fg
from fastgntk import GNTK, __version__, datasets, gram
from fastgntk.cli import _console
from fastgntk.datasets import Dataset, synthetic, write_tu

QUICK = [*ONE, "--c", "10,100"]


def in_process(*arguments: object, **environment: str) -> Done:
    """Run the command line in a process of its own."""
    with start(*arguments, env={**os.environ, **environment}) as process:
        out, err = process.communicate(timeout=300)
    return Done(process.returncode, out.decode(), err.decode())


@pytest.mark.slow
def test_evaluate_prints_the_table():
    done = run("evaluate", "MUTAG", "--folds", 3, "--inner-folds", 3, *QUICK)
    assert done.code == 0, done.err
    for words in [
        "accuracy", "± ", "nested (options chosen on training folds only)", "90.0 ± 8.5 %", "decoupled", "kernel time",
        "learning time", "188 graphs, 2 classes", "1 kernel × 2 values of C", "Choice in each outer fold",
        "GNTK(blocks=1, layers=1, scale='degree')",
    ]:  # fmt: skip
        assert words in done.out


def test_evaluate_labels_du2019_as_optimistic():
    done = run("evaluate", "MUTAG", "--folds", 3, "--protocol", "du2019", *QUICK, "--n-jobs", 1)
    assert "optimistic" in done.out
    assert "The same choice for every fold" in done.out


def test_evaluate_json_with_given_folds(tmp_path):
    (tmp_path / "folds.txt").write_text("\n".join(str(i % 3) for i in range(188)) + "\n")
    folds = ["--folds", tmp_path / "folds.txt", "--random-state", 5]
    found = record(run("evaluate", "MUTAG", *folds, *QUICK, "--n-jobs", 1, "--json"))
    assert found["dataset"] == "MUTAG"
    assert found["published"] == {"mean": 0.9, "std": 0.085, "protocol": "du2019"}
    assert found["folds"].endswith("folds.txt")
    assert (found["inner_folds"], found["random_state"]) == (5, 5)
    assert len(found["accuracies"]) == 3
    kernel = "GNTK(blocks=1, layers=1, scale='degree')"
    assert (found["kernels"], found["C"]) == ([kernel], [10.0, 100.0])
    assert [choice["kernel"] for choice in found["choices"]] == [kernel] * 3
    assert {choice["C"] for choice in found["choices"]} <= {10.0, 100.0}
    assert 0.7 < found["accuracy_mean"] < 1
    assert found["version"] == __version__


def test_gram_writes_the_matrix(tmp_path):
    options = ["--blocks", 2, "--layers", 1, "--scale", "degree", "--no-jump", "--c-phi", 1.5]
    kernel, data = GNTK(2, 1, "degree", False, 1.5), datasets.load("MUTAG")
    done = run("gram", "MUTAG", "-o", tmp_path / "K.npy", *options)
    assert done.code == 0, done.err
    assert "188 × 188 float64" in done.out
    assert np.array_equal(np.load(tmp_path / "K.npy"), gram(data, kernel))
    found = record(run("gram", "MUTAG", "-o", tmp_path / "K.npz", *options, "--normalize", "--json"))
    assert found["kernel"] == repr(kernel.normalized())
    with np.load(tmp_path / "K.npz") as stored:
        assert np.array_equal(stored["K"], gram(data, kernel.normalized()))
        assert stored["y"].tolist() == data.y.tolist()
        assert fg.parse_kernel(str(stored["kernel"])) == kernel.normalized()
        about = {"dataset": "MUTAG", "version": __version__, "engine": "decoupled"}
        assert json.loads(str(stored["options"])) == about
    assert sorted(p.name for p in tmp_path.iterdir()) == ["K.npy", "K.npz"]


@pytest.mark.slow
def test_gram_takes_a_sketch(tmp_path):
    options = ["--sketch", "srht", "--sketch-size", 0.4, "--all-nodes", "--random-state", 3, "--blocks", 2]
    done = run("gram", "MUTAG", "-o", tmp_path / "K.npz", *options)
    assert done.code == 0, done.err
    kernel = GNTK(2, sketch=fg.Sketch("srht", 0.4, seed=3, merge_nodes=False))
    assert repr(kernel) in done.out
    assert "sketched" in done.out
    with np.load(tmp_path / "K.npz") as stored:
        assert fg.parse_kernel(str(stored["kernel"])) == kernel
        assert np.array_equal(stored["K"], gram(datasets.load("MUTAG"), kernel))


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::fastgntk.NotSketchedWarning")
def test_gram_takes_a_sketch_of_automatic_size(tmp_path):
    kernel = GNTK(2, sketch=fg.Sketch(size="auto", error=0.8))
    expected = fg.gram(fg.datasets.load("MUTAG").graphs, kernel)
    for i, options in enumerate(
        (["--sketch-size", "auto", "--sketch-error", 0.8, "--blocks", 2], ["--kernel", repr(kernel)])
    ):
        in_process("gram", "MUTAG", "-o", tmp_path / f"{i}.npy", *options)
        np.testing.assert_allclose(np.load(tmp_path / f"{i}.npy"), expected, rtol=1e-9)


def test_sketch_as_large_as_the_graphs_warns_and_is_exact(tmp_path):
    done = in_process("gram", "MUTAG", "-o", tmp_path / "K.npy", "--sketch-size", 500)
    assert "size 500 is not below the number of nodes of 188 of 188 graphs" in " ".join(done.err.split())
    assert np.array_equal(np.load(tmp_path / "K.npy"), gram(datasets.load("MUTAG")))


@pytest.mark.slow
def test_evaluate_takes_a_sketch():
    options = ["--c", 10, "--folds", 3, "--inner-folds", 2, "--sketch-size", 0.6, "--n-jobs", 1, "--json"]
    found = record(run("evaluate", "MUTAG", *ONE, *options))
    assert found["engine"] == "sketched"
    assert "sketch=Sketch(size=0.6)" in found["kernels"][0]


def test_gram_reads_a_folder(tmp_path):
    folder = write_tu(synthetic.erdos_renyi(4, 6), tmp_path)
    assert record(run("gram", folder, "-o", tmp_path / "K.npy", "--json"))["shape"] == [4, 4]


def test_datasets_lists_names_counts_and_places():
    done = run("datasets")
    assert "MUTAG" in done.out
    assert "12,286,079" in done.out
    assert "bundled" in done.out
    rows = {row["name"]: row for row in json.loads(run("datasets", "--json").out)}
    assert rows["MUTAG"]["where"] == "bundled"
    assert Path(rows["MUTAG"]["path"]).is_dir()
    assert (rows["PTC"]["where"], rows["PTC"]["path"]) == ("not found", None)
    assert rows["NCI1"]["where"] == "to download"
    assert rows["ENZYMES"]["graphs"] == 600


def test_info_describes_installation_and_data():
    found = record(run("info", "--json"))
    assert found["version"] == __version__
    assert found["engines"] == ["auto", "lossless", "decoupled", "kronecker"]
    found = record(run("info", "MUTAG", "--json"))
    assert (found["nodes"], found["edges"], found["node_labels"], found["edge_labels"]) == (3371, 3721, 7, 4)
    assert found["nodes_per_graph"] == {"min": 10, "median": 17.5, "mean": pytest.approx(3371 / 188), "max": 28}
    assert (found["name"], found["targets"], found["classes"]) == ("MUTAG", "classes", 2)
    assert (found["equal"]["duplicates"], found["equal_typed"]["duplicates"]) == (13, 0)
    assert found["equal"]["best_accuracy"] == 1.0
    assert "cache folder" in run("info").out
    shown = run("info", "MUTAG").out
    assert "2 classes" in shown
    assert "labels, 7 distinct" in shown
    assert "13 equal an earlier one" in shown
    assert "100.00 %" in shown


def test_info_takes_other_features():
    found = record(run("info", "MUTAG", "--features", "degree", "--json"))
    assert found["features"] == "degree"
    assert found["equal"]["duplicates"] > 13


def test_info_marks_a_missing_data_folder(monkeypatch):
    monkeypatch.setenv("FASTGNTK_DATA", "/nowhere")
    assert "/nowhere (does not exist)" in run("info").out


def test_info_reports_no_targets(tmp_path):
    folder = write_tu(Dataset(synthetic.erdos_renyi(4, 5).graphs, None, "bare"), tmp_path)
    found = record(run("info", folder, "--json"))
    assert found["targets"] == "none"
    assert found["equal"]["best_accuracy"] is found["equal"]["least_error"] is found["equal"]["contradictory"] is None


@pytest.mark.slow
def test_version_of_the_module():
    assert in_process("--version") == (0, f"fastgntk {__version__}\n", "")


@pytest.fixture
def folder(tmp_path) -> Path:
    return write_tu(synthetic.erdos_renyi(12, 6), tmp_path)


GRAM = ["gram", "MUTAG", "-o", "K.npy"]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["evaluate", "MUTAGG"], "did you mean MUTAG?"),
        (["evaluate", "MUTAG", "--blocks", "0"], "blocks must be an integer, 1 or more, but is 0"),
        (["evaluate", "MUTAG", "--blocks", "3-1"], "--blocks: the range 3-1 runs backwards"),
        (["evaluate", "MUTAG", "--blocks", "1,,2"], "--blocks takes values separated by commas"),
        (["evaluate", "MUTAG", "--layers", "two"], "--layers takes integers such as 1,2,5"),
        (
            ["evaluate", "MUTAG", "--scale", "big"],
            "scale must be one of uniform, degree, unit, given, symmetric, but is 'big'",
        ),
        (["evaluate", "MUTAG", "--jump", "maybe"], "--jump must be yes, no or both, but is 'maybe'"),
        (["evaluate", "MUTAG", "--c", "ten"], "--c takes numbers such as 1,10,100"),
        (["evaluate", "MUTAG", "--c", "0"], "every C must be a number above 0"),
        (["evaluate", "MUTAG", "--protocol", "loo"], "protocol must be one of nested, du2019"),
        (["evaluate", "MUTAG", "--folds", "100"], "class -1 has 63 members, fewer than folds=100"),
        (["evaluate", "MUTAG", "--folds", "²"], "the folds file ² cannot be read"),
        (["evaluate", "MUTAG", "--random-state", "-1"], "random_state must be an integer, 0 or more, but is -1"),
        (["evaluate", "MUTAG", "--blocks", ""], "--blocks takes values separated by commas"),
        (["gram", "MUTAG", "-o", ".npy/"], "--output must end in"),
        (["info", "."], "holds no TU data set"),
        (["evaluate", "MUTAG", "--folds", "none.txt"], "the folds file none.txt cannot be read"),
        (["evaluate", "MUTAG", "--features", "attributes"], "the graphs have no continuous features"),
        (["evaluate", "MUTAG", "--features", "x"], "features must be one of auto"),
        (["evaluate", "MUTAG", "--engine", "x"], "engine must be one of auto"),
        ([*GRAM, "--engine", "sketched"], "engine must be one of auto"),
        (["evaluate", "MUTAG", "--max-memory", "little"], "max_memory must be a number of bytes"),
        (["evaluate", "MUTAG", "--n-jobs", "0"], "n_jobs must be an integer, 1 or more"),
        (["gram", "MUTAG", "-o", "K.csv"], "--output must end in .npy or .npz, but is K.csv"),
        (["gram", "MUTAG", "-o", "no/such/K.npy"], "the folder no/such does not exist"),
        ([*GRAM, "--layers", "0"], "layers must be an integer, 1 or more, but is 0"),
        ([*GRAM, "--max-memory", "1kB"], "is too small"),
        (["info", "PTC"], "PTC has no public address"),
        ([*GRAM, "--sketch-size", "0"], "1 or more, or a rate in (0, 1] such as 0.3, but is 0."),
        ([*GRAM, "--sketch-size", "-4"], "1 or more, or a rate in (0, 1] such as 0.3, but is -4."),
        ([*GRAM, "--sketch-size", "1.5"], "a rate in (0, 1] such as 0.3, but is 1.5."),
        ([*GRAM, "--sketch-size", "many"], "takes a number such as 64 or 0.3, or auto, but is 'many'."),
        (
            [*GRAM, "--sketch-size", "0.3", "--sketch-error", "0.2"],
            "is for size='auto', but the size is 0.3; leave out",
        ),
        ([*GRAM, "--sketch-size", "auto", "--sketch-error", "0"], "the error of a sketch must be a number above 0"),
        ([*GRAM, "--scale", "given"], "no input format holds; use uniform, degree, unit or symmetric, in --scale"),
        (["evaluate", "MUTAG", "--kernel", "GNTK(scale='given')"], "or in the text of --kernel."),
        (["train", "MUTAG", "-o", "m.fgntk", "--scale", "degree,given"], "scale 'given' needs a scale for every node"),
        (["info", "MUTAG", "--estimate", "--scale", "given"], "scale 'given' needs a scale for every node"),
        ([*GRAM, "--kernel", "GNTK(sketch=Sketch(size='given'))"], "pass batch.with_sketch_sizes(sizes)"),
        ([*GRAM, "--sketch", "fft"], "must be one of ams, gaussian, srht, countsketch, sparse, but is 'fft'"),
        ([*GRAM, "--sketch", "ams", "--random-state", "-1"], "seed must be an integer, 0 or more, but is -1"),
        ([*GRAM, "--random-state", "1"], "--random-state is the seed of a sketch; give --sketch too"),
        (["info", "MUTAG", "--sketch", "ams"], "--sketch is for --estimate; give that too"),
        (["info", "MUTAG", "--blocks", "2"], "--blocks is for --estimate; give that too"),
        (["info", "--estimate"], "--estimate needs a data set"),
        (["info", "MUTAG", "--estimate", "--max-memory", "1kB"], "is too small"),
        (["reproduce", "table-time", "--data", "MUTAGG"], "did you mean MUTAG?"),
        (["reproduce", "table-time", "--random-state", "-1"], "--random-state must lie in 0..4294967295, but is -1."),
        (["bench", "MUTAG:3"], "write NAME:BLOCKS,LAYERS"),
        (["bench", "MUTAG:0,2"], "write NAME:BLOCKS,LAYERS"),
        (["bench", "MUTAG", "-o", "no/r.json"], "create it first"),
        (["bench", "MUTAG", "--time", "0"], "--time must be above 0"),
        (["bench", "MUTAGG"], "MUTAGG"),
        (["info", "[red]x[/red]"], "'[red]x[/red]'"),
    ],
)
def test_bad_input_is_one_sentence_with_exit_code_2(arguments, words, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert words in sentence(run(*arguments))
    assert not [path for path in tmp_path.rglob("*") if path.is_file()]


@pytest.mark.slow
def test_process_prints_one_sentence_and_exits_with_code_2():
    assert "did you mean MUTAG?" in sentence(in_process("evaluate", "MUTAGG"))


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
    assert words in sentence(run("evaluate", folder))


def test_evaluate_without_targets_is_one_sentence(tmp_path):
    folder = write_tu(Dataset(synthetic.erdos_renyi(4, 5).graphs, None, "bare"), tmp_path)
    assert "bare has no targets to learn; it has neither graph labels nor" in sentence(run("evaluate", folder))


@pytest.mark.slow
def test_ascii_terminal_gets_the_result():
    done = in_process("evaluate", "MUTAG", "--folds", 3, "--inner-folds", 3, *QUICK, PYTHONIOENCODING="ascii")
    assert done.code == 0, done.err
    assert "accuracy" in done.out
    assert "±" not in done.out


def test_folder_as_output_is_refused_before_the_work(tmp_path):
    (tmp_path / "K.npy").mkdir()
    assert "is a folder" in sentence(run("gram", "MUTAG", "-o", tmp_path / "K.npy"))


def test_info_estimates_a_sketched_kernel():
    found = record(run("info", "MUTAG", "--estimate", "--sketch-size", 0.2, "--json"))
    assert [leaf["engine"] for leaf in found["estimate"]["leaves"]] == ["sketched"]


def test_info_estimates_cost():
    done = run("info", "MUTAG", "--estimate", "--blocks", 3, "--layers", 2)
    assert done.code == 0, done.err
    for words in [
        "lossless: about",
        "188 with 3,371 nodes",
        "distinct",
        "expected time",
        "expected memory",
        "5,683,506",
    ]:
        assert words in done.out
    found = record(run("info", "MUTAG", "--estimate", "--engine", "decoupled", "--json"))
    assert (found["kernel"], found["estimate"]["leaves"][0]["engine"]) == ("GNTK()", "decoupled")
    assert found["estimate"]["cluster"] is None


def test_estimate_of_a_sum_has_both_kernels():
    shown = run("info", "MUTAG", "--estimate", "--kernel", "GNTK(1) + GNTK(2, 1)").out
    assert "GNTK(blocks=1)" in shown
    assert "GNTK(blocks=2, layers=1)" in shown
    assert shown.count("engine") == 2


@pytest.mark.slow
def test_bench_prints_the_table_and_writes_the_record(tmp_path):
    data = write_tu(synthetic.erdos_renyi(30, 12), tmp_path / "data")
    target = tmp_path / "record.json"
    done = run("bench", f"{data}:2,2", "-o", target, "--time", 0.5, "--n-jobs", 2)
    assert done.code == 0, done.err
    for words in ["baseline", "lossless", "ratio", "effic.", "memory", "First kernel of a process", "block by block"]:
        assert words in done.out
    found = json.loads(target.read_text())
    assert found["cold_start_seconds"] > found["warm_start_seconds"] > 0
    assert found["machine"]["version"] == __version__
    (row,) = found["rows"]
    assert (row["blocks"], row["layers"], row["workers"], row["graphs"]) == (2, 2, 2, 30)
    assert row["baseline_pairs"] == 30 * 31 // 2
    assert not row["baseline_scaled"]
    assert not row["decoupled_scaled"]
    assert row["largest_difference"] < 1e-7
    assert row["ratio"] == row["baseline_seconds"] / row["lossless_seconds"]
    assert 0 < row["efficiency"] < 1
    assert row["peak_bytes"] > 50e6 or sys.platform != "linux"
    assert len(row["compression"]) == 2


@pytest.mark.slow
def test_compiling_is_announced_once(tmp_path):
    command = ("gram", "MUTAG", "-o", tmp_path / "K.npy", "--engine", "lossless")
    first, second = (in_process(*command, NUMBA_CACHE_DIR=str(tmp_path / "cache")) for _ in range(2))
    assert "compiling the fast loops" in first.err
    assert second.err == ""


@pytest.mark.parametrize("smiles", [r"F/C=C\[nH]", "c1c:o:c1", "[Na+].[bold]", "C\\"])
def test_brackets_and_colons_are_printed_literally(smiles, capsys):
    _console.print_values(smiles, [(smiles, smiles)])
    _console.print_table(None, {"graph": "left"}, [[smiles]])
    _console.print_line(smiles)
    assert capsys.readouterr().out.count(smiles) == 5
    _console.print_error(smiles)
    assert capsys.readouterr().err == f"fastgntk: {smiles}\n"
