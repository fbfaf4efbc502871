"""Dask clusters that fail: killed workers, schedulers that are gone or absent, folders that workers cannot see."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from contextlib import contextmanager

import numpy as np
import pytest

import fastgntk as fg
from fastgntk.datasets import synthetic
from fastgntk.pairwise.store import _build, _cluster

GRAPHS = synthetic.erdos_renyi(300, 8).graphs
KERNEL = fg.GNTK(2, 1)
HOW = fg.Compute(engine="decoupled")
LONG = 60  # seconds: what takes longer hangs, however busy the machine is


@pytest.fixture(autouse=True)
def _small_tiles(monkeypatch):
    monkeypatch.setattr(_build, "_MAX_TILE_PAIRS", 1e3)  # tiles of 32 graphs: 55 of them


@pytest.fixture(scope="module")
def client():
    with _cluster.local_workers(1) as client:
        yield client


@contextmanager
def scheduler(folder, workers, path=None):
    """Start a scheduler and workers as a user would; give a client and the process of the scheduler."""
    environment = os.environ if path is None else {**os.environ, "PYTHONPATH": str(path)}
    file = folder / "scheduler.json"
    command = [sys.executable, "-m", "distributed.cli.dask_scheduler", "--port", "0", "--no-dashboard"]
    with (folder / "log").open("wb") as log:
        processes = [subprocess.Popen([*command, "--scheduler-file", file], stderr=log)]
        try:
            deadline = time.monotonic() + LONG
            while not (file.exists() and file.read_text().rstrip().endswith("}")):
                assert processes[0].poll() is None, (folder / "log").read_text()
                assert time.monotonic() < deadline, (folder / "log").read_text()
                time.sleep(0.02)
            address = json.loads(file.read_text())["address"]
            worker = [sys.executable, "-m", "distributed.cli.dask_worker", address, "--nthreads", "1", "--no-dashboard"]
            processes += [
                subprocess.Popen([*worker, "--no-nanny"], stderr=log, env=environment) for _ in range(workers)
            ]
            with _cluster.connect(address) as client:
                yield client, processes[0]
        finally:
            for process in processes:
                process.kill()
                process.wait()


def after(tiles, do):
    """Return a progress that does something once that many tiles are finished."""
    calls = []

    def progress(done, total):
        calls.append(done)
        if len(calls) == tiles:
            do()

    return progress


@pytest.mark.slow
@pytest.mark.parametrize("workers", [1, 2])
def test_a_worker_that_is_killed_costs_its_tile_only(tmp_path, workers):
    whole = fg.gram(GRAPHS, KERNEL, store=tmp_path / "whole.zarr", compute=HOW)
    path, times = tmp_path / "K.zarr", {}

    def kill():
        stored = fg.open_gram(path)
        times.update({tile: stored.file(tile).stat().st_mtime_ns for tile in stored.finished()})
        os.kill(client.cluster.workers[0].pid, signal.SIGKILL)  # a single one has all blocks, which go with it

    with _cluster.local_workers(workers) as client:
        stored = fg.gram(GRAPHS, KERNEL, store=path, client=client, compute=HOW.with_progress(after(5, kill)))
    assert 5 <= len(times) < 55
    assert np.array_equal(np.asarray(stored), np.asarray(whole))
    assert times == {tile: stored.file(tile).stat().st_mtime_ns for tile in times}


@pytest.mark.slow
def test_a_scheduler_that_goes_away(tmp_path):
    path = tmp_path / "K.zarr"
    with scheduler(tmp_path, 1) as (client, process):
        start = []

        def kill():
            process.kill()
            start.append(time.monotonic())

        with pytest.raises(fg.InputError, match=r"scheduler was lost while computing .*K.zarr; restart it"):
            fg.gram(GRAPHS, KERNEL, store=path, client=client, compute=HOW.with_progress(after(5, kill)))
        assert time.monotonic() - start[0] < LONG
        with pytest.raises(fg.InputError, match="client has lost its scheduler"):
            fg.gram(GRAPHS, KERNEL, store=path, client=client, compute=HOW)
    stored = fg.open_gram(path)
    assert 5 <= len(stored.finished()) < 55
    assert not stored.damaged(stored.finished())
    again = fg.gram(GRAPHS, KERNEL, store=path, compute=HOW)
    assert np.array_equal(
        np.asarray(again), np.asarray(fg.gram(GRAPHS, KERNEL, store=tmp_path / "2.zarr", compute=HOW))
    )


@pytest.mark.slow
def test_a_scheduler_without_workers(tmp_path, monkeypatch):
    monkeypatch.setattr(_cluster, "_WORKER_TIMEOUT", 0.2)
    with scheduler(tmp_path, 0) as (client, _):  # noqa: SIM117  # one thing after another
        with pytest.raises(fg.InputError, match=r"at tcp://.* has no workers; start some with `dask worker tcp://"):
            fg.gram(GRAPHS, KERNEL, store=tmp_path / "K.zarr", client=client, compute=HOW)


@pytest.mark.slow
def test_a_worker_without_the_package(tmp_path):
    package = tmp_path / "path" / "fastgntk"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text("raise ModuleNotFoundError(\"No module named 'fastgntk'\")")
    with scheduler(tmp_path, 1, package.parent) as (client, _):  # noqa: SIM117  # one thing after another
        with pytest.raises(fg.InputError, match=r"\(No module named 'fastgntk'\); install 'fastgntk\[cluster\]' where"):
            fg.gram(GRAPHS, KERNEL, store=tmp_path / "K.zarr", client=client, compute=HOW)


@pytest.mark.slow
def test_a_worker_that_dies_while_blocks_are_sent_to_it(tmp_path, monkeypatch, client):
    scatter, calls = type(client).scatter, []

    def broken_once(self, *given, **more):
        calls.append(given)
        if len(calls) == 2:
            raise OSError("the connection was closed")  # as Dask says it then
        return scatter(self, *given, **more)

    monkeypatch.setattr(type(client), "scatter", broken_once)
    stored = fg.gram(GRAPHS, KERNEL, store=tmp_path / "K.zarr", client=client, compute=HOW)
    assert stored.finished() == set(stored.all_tiles())
    assert len(calls) == 11


@pytest.mark.slow
@pytest.mark.parametrize("address", ["tcp://127.0.0.1:9", "127.0.0.1:9"])  # where nobody listens
def test_a_scheduler_that_is_not_there(address, monkeypatch):
    monkeypatch.setattr(_cluster, "_CONNECT", 0.5)
    with (
        pytest.raises(fg.InputError, match=r"there is no Dask scheduler at .*; start one with `dask scheduler`"),
        _cluster.connect(address),
    ):
        pass


@pytest.mark.parametrize(
    "address",
    ["foo", "", "http://127.0.0.1:1", "tcp://127.0.0.1:abc", "./sched.json", "what://is this", "tcp://host", "host:0",
     "tcp://host:65536", "tcp://:8786", "tcp://a:1/", "tcp://a:1\n"],
)  # fmt: skip
def test_what_is_no_address(address):
    words = r"--scheduler must be an address such as tcp://host:8786, but is "
    with pytest.raises(fg.InputError, match=words), _cluster.connect(address):
        pass


def test_certificates_that_are_not_there():
    with (
        pytest.raises(fg.InputError, match=r"tls://127.0.0.1:9 needs certificates; set them in the Dask configuration"),
        _cluster.connect("tls://127.0.0.1:9"),
    ):
        pass


@pytest.mark.slow
def test_a_worker_that_sees_another_folder(tmp_path, client, monkeypatch):
    monkeypatch.setattr(_cluster, "_TOKEN", ".elsewhere")  # here; workers look for the file of the right name
    with pytest.raises(fg.InputError, match=r"a worker on .* does not see .*K.zarr; give --store \(store=\) a folder"):
        fg.gram(GRAPHS, KERNEL, store=tmp_path / "K.zarr", client=client, compute=HOW)
    assert not fg.open_gram(tmp_path / "K.zarr").finished()


@pytest.mark.slow
def test_a_worker_of_another_version(tmp_path, client, monkeypatch):
    monkeypatch.setattr(_cluster, "__version__", "99")
    with pytest.raises(fg.InputError, match=r"a worker on .* has fastgntk .*, but the client has 99; install the"):
        fg.gram(GRAPHS, KERNEL, store=tmp_path / "K.zarr", client=client, compute=HOW)


@pytest.mark.slow
@pytest.mark.parametrize("losses", [1, 5])
def test_a_tile_whose_workers_always_die(tmp_path, monkeypatch, client, losses):
    # The only worker has the blocks too, so that tiles are sent again from here; unless Dask gives up first.
    monkeypatch.setattr(_cluster, "_MAX_RESENDS", losses)
    monkeypatch.setattr(client.cluster.scheduler, "allowed_failures", 0 if losses > 1 else 3)
    monkeypatch.setattr(_cluster, "compute_and_store_tile", lambda *_: os._exit(1))  # on the worker
    with pytest.raises(fg.InputError, match=r"workers died repeatedly .*; give them more memory: finished tiles"):
        fg.gram(GRAPHS[:20], KERNEL, store=tmp_path / "K.zarr", client=client, compute=HOW)
