"""Matrices on Dask workers, and what they will take, from the command line."""

from __future__ import annotations

import subprocess
import sys
import time

import numpy as np
import pytest
from tests.cli.test_learning import record, run, sentence

import fastgntk as fg
from fastgntk.cli import _console
from fastgntk.pairwise.store import _build, _clients


@pytest.fixture(autouse=True)
def _small_tiles(monkeypatch):
    monkeypatch.setattr(_build, "_PAIRS", 1e3)


def test_processes_of_this_machine_build_a_store(tmp_path):
    path = tmp_path / "K.zarr"
    how = ("gram", "MUTAG", "--blocks", "2", "--engine", "decoupled", "--store", path, "--cluster", "local")
    told = record(run(*how, "--workers", "1", "--json"))
    assert told["computed"] == told["finished"] == told["tiles"] == 21
    threads = fg.gram(fg.datasets.load("MUTAG").graphs, fg.GNTK(2), engine="decoupled", store=tmp_path / "threads.zarr")
    assert np.array_equal(np.asarray(fg.open_gram(path)), np.asarray(threads))
    fg.open_gram(path).file((0, 3)).unlink()
    with _clients.local_workers(1) as client:  # a scheduler that is there already
        shown = run(*how[:-2], "--scheduler", client.scheduler.address).out
    assert "21 of 21; 1 now, " in shown
    assert " a second" in shown


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["-o", "K.npy", "--scheduler", "tcp://h:1"], "--scheduler is for --store; give that too"),
        (["-o", "K.npy", "--cluster", "local"], "--cluster is for --store; give that too"),
        (["--store", "K", "--cluster", "slurm"], "--cluster must be local, but is 'slurm'; for workers elsewhere use"),
        (["--store", "K", "--cluster", "local", "--scheduler", "tcp://h:1"], "give one of them"),
        (["--store", "K", "--cluster", "local", "--shard", "1/2"], "--shard is for processes without a scheduler"),
        (["--estimate", "--output", "K.npy"], "--estimate only predicts what --store would take; leave --output out"),
        (["--estimate", "--normalize", "--target", "y"], "leave --normalize, --target out"),
        (["--estimate", "--store", "K"], "leave --store out"),
        (["--estimate", "--shard", "1/2"], "leave --shard out"),
        (["--estimate", "--scheduler", "tcp://h:1"], "leave --scheduler out"),
        (["--estimate", "--cluster", "local"], "leave --cluster out"),
        (["--store", "K", "--scheduler", "tcp://127.0.0.1:9"], "there is no Dask scheduler at tcp://127.0.0.1:9 (OSE"),
    ],
)
def test_one_sentence_says_what_to_do(tmp_path, monkeypatch, arguments, words):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(_clients, "_CONNECT", 0.3)
    assert words in sentence(run("gram", "MUTAG", *arguments))
    assert not (tmp_path / "K").exists()


@pytest.mark.parametrize("address", ["tcp://127.0.0.1:abc", "tls://127.0.0.1:9", "tcp://127.0.0.1:9"])
def test_a_process_says_one_sentence_about_a_scheduler(tmp_path, address):
    # A process of its own, as what a broken client prints comes with the end.
    arguments = ["gram", "MUTAG", "--store", str(tmp_path / "K"), "--scheduler", address]
    command = [sys.executable, "-c", "from fastgntk.cli import main; main()", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
    assert (done.returncode, done.stdout) == (2, "")
    assert "Traceback" not in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1
    assert address in done.stderr


def test_an_estimate_is_printed_and_nothing_is_written(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    told = record(run("gram", "MUTAG", "--blocks", "2", "--estimate", "--json"))
    found = told["estimate"]
    assert (told["dataset"], found["graphs"], found["tiles"], found["workers"]) == ("MUTAG", 188, 21, [1, 10, 100])
    shown = run("gram", "MUTAG", "--blocks", "2", "--estimate").out
    assert "│ 100 workers │ about " in shown
    assert "21, the longest takes " in shown
    assert not list(tmp_path.iterdir())


def test_an_estimate_has_a_bar(monkeypatch):
    monkeypatch.setenv("FORCE_COLOR", "1")  # as if this were a terminal
    monkeypatch.setattr(_console, "_SHOW_AFTER", 0.0)
    shown = run("gram", "MUTAG", "--blocks", "2", "--estimate").err
    assert "sample" in shown
    assert "100 %" in shown


def test_the_bar_shows_tiles_and_rate(monkeypatch, capsys):
    monkeypatch.setenv("FORCE_COLOR", "1")  # as if this were a terminal
    monkeypatch.setattr(_console, "_SHOW_AFTER", 0.0)
    with _console.progress_bar("kernel", "tiles") as progress:
        for done in (1, 2, 3):
            time.sleep(0.05)
            progress(done, 4)
    shown = capsys.readouterr().err
    assert "3 tiles, " in shown
    assert " a second" in shown
    assert "75 %" in shown
