"""Matrices on Dask workers, and estimates of their cost."""

from __future__ import annotations

import subprocess
import sys
import time

import numpy as np
import pytest
from tests.cli.command import record, run, sentence

import fastgntk as fg
from fastgntk.cli import _console
from fastgntk.pairwise.store import _build, _cluster


@pytest.fixture(autouse=True)
def _small_tiles(monkeypatch):
    monkeypatch.setattr(_build, "_MAX_TILE_PAIRS", 1e3)


@pytest.mark.slow
def test_local_processes_build_a_store(tmp_path):
    path = tmp_path / "K.zarr"
    how = ("gram", "MUTAG", "--blocks", "2", "--engine", "decoupled", "--store", path, "--cluster", "local")
    found = record(run(*how, "--n-jobs", "1", "--json"))
    assert found["computed"] == found["finished"] == found["tiles"] == 21
    threads = fg.gram(
        fg.datasets.load("MUTAG").graphs,
        fg.GNTK(2),
        compute=fg.Compute(engine="decoupled"),
        store=tmp_path / "threads.zarr",
    )
    assert np.array_equal(np.asarray(fg.open_gram(path)), np.asarray(threads))
    fg.open_gram(path).file((0, 3)).unlink()
    with _cluster.local_workers(1) as client:  # a scheduler that is there already
        shown = run(*how[:-2], "--scheduler", client.scheduler.address).out
    assert "21 of 21; 1 now, " in shown
    assert " per second" in shown


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["-o", "K.npy", "--scheduler", "tcp://h:1"], "--scheduler requires --store"),
        (["-o", "K.npy", "--cluster", "local"], "--cluster requires --store"),
        (["--store", "K", "--cluster", "slurm"], "--cluster must be local, but is 'slurm'; use --scheduler for"),
        (
            ["--store", "K", "--cluster", "local", "--scheduler", "tcp://h:1"],
            "--scheduler and --cluster are mutually exclusive; give one",
        ),
        (["--store", "K", "--cluster", "local", "--shard", "1/2"], "--shard and --cluster are mutually exclusive"),
        (["--estimate", "--output", "K.npy"], "--estimate computes and writes nothing; leave out --output"),
        (["--estimate", "--shard", "1/2", "--target", "y"], "leave out --shard, --target"),
        (["--estimate", "--store", "K"], "leave out --store"),
        (["--estimate", "--scheduler", "tcp://h:1"], "leave out --scheduler"),
        (["--estimate", "--cluster", "local"], "leave out --cluster"),
        (["--store", "K", "--scheduler", "tcp://127.0.0.1:9"], "there is no Dask scheduler at tcp://127.0.0.1:9 (OSE"),
    ],
)
def test_bad_input_is_one_sentence(tmp_path, monkeypatch, arguments, words):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(_cluster, "_CONNECT", 0.3)
    assert words in sentence(run("gram", "MUTAG", *arguments))
    assert not (tmp_path / "K").exists()


@pytest.mark.slow
@pytest.mark.parametrize("address", ["tcp://127.0.0.1:abc", "tls://127.0.0.1:9", "tcp://127.0.0.1:9"])
def test_missing_scheduler_is_one_sentence_of_a_process(tmp_path, address):
    # In a process of its own, because a broken client prints at exit.
    arguments = ["gram", "MUTAG", "--store", str(tmp_path / "K"), "--scheduler", address]
    command = [sys.executable, "-m", "fastgntk", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
    assert (done.returncode, done.stdout) == (2, "")
    assert "Traceback" not in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1
    assert address in done.stderr


def test_estimate_is_printed_and_nothing_is_written(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    found = record(run("gram", "MUTAG", "--blocks", "2", "--estimate", "--json"))
    estimate = found["estimate"]
    assert (found["dataset"], found["kernel"], estimate["graphs"]) == ("MUTAG", "GNTK(blocks=2)", 188)
    assert (estimate["cluster"]["tiles"], estimate["cluster"]["workers"]) == (21, [1, 10, 100])
    shown = run("gram", "MUTAG", "--blocks", "2", "--estimate").out
    assert "│ 100 workers      │ about " in shown
    assert "21, the longest takes " in shown
    assert not list(tmp_path.iterdir())


def test_estimate_has_a_progress_bar(monkeypatch):
    monkeypatch.setenv("FORCE_COLOR", "1")  # as if this were a terminal
    monkeypatch.setattr(_console, "_SHOW_AFTER", 0.0)
    shown = run("gram", "MUTAG", "--blocks", "2", "--estimate").err
    assert "sample" in shown
    assert "100 %" in shown


def test_progress_bar_shows_tiles_and_rate(monkeypatch, capsys):
    monkeypatch.setenv("FORCE_COLOR", "1")  # as if this were a terminal
    monkeypatch.setattr(_console, "_SHOW_AFTER", 0.0)
    with _console.progress_bar("kernel", "tiles") as progress:
        for done in (1, 2, 3):
            time.sleep(0.05)
            progress(done, 4)
    shown = capsys.readouterr().err
    assert "3 tiles, " in shown
    assert " per second" in shown
    assert "75 %" in shown
