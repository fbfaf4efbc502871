"""Tiles on a Dask cluster: the same bits as on threads, and nothing computed twice."""

from __future__ import annotations

import shutil
import sys
import time

import numpy as np
import pytest
from tests.tables import by_engine

import fastgntk as fg
from fastgntk import GNTK, Compute, Sketch
from fastgntk.pairwise.store import _build, _cluster

pytestmark = pytest.mark.slow  # processes of a cluster start and stop

GRAPHS = fg.datasets.load("MUTAG").graphs[:150]
KERNEL = GNTK(2, 1)


@pytest.fixture(autouse=True)
def _small_tiles(monkeypatch):
    monkeypatch.setattr(_build, "_MAX_TILE_PAIRS", 1e3)  # sides of 32 graphs, so that there are several tiles


@pytest.fixture(scope="module")
def client():
    with _cluster.local_workers(2) as client:
        yield client


@pytest.mark.parametrize("engine", ["lossless", "decoupled", "sketched", "sketched with own sizes"])
def test_workers_write_the_same_bits_as_threads(tmp_path, client, engine):
    sketches = {"sketched": Sketch(size=0.9), "sketched with own sizes": Sketch(size="given")}
    how, seen = by_engine(engine.split()[0], GNTK(2, 1, sketch=sketches.get(engine))), []
    batch = GRAPHS.with_sketch_sizes(3 + np.arange(150) % 7).with_sketch_keys(range(150))
    watched = how | {"compute": how["compute"].with_progress(_into(seen))}
    stored = fg.gram(batch, store=tmp_path / "1.zarr", client=client, **watched)
    threads = fg.gram(batch, store=tmp_path / "2.zarr", **how)
    assert len(seen) == len(stored.all_tiles()) == 15
    assert seen == sorted(seen)
    assert seen[-1] == 1.0
    assert np.array_equal(np.asarray(stored), np.asarray(threads))
    assert not (stored.path / _cluster._TOKEN).exists()


def test_workers_receive_the_scales_of_nodes(tmp_path, client):
    graphs, kernel = GRAPHS.with_node_scale(1.0 + np.arange(GRAPHS.n_nodes) % 3), GNTK(2, 1, "given")
    stored = fg.gram(graphs, kernel, store=tmp_path / "K.zarr", client=client)
    assert np.array_equal(np.asarray(stored), np.asarray(fg.gram(graphs, kernel, store=tmp_path / "2.zarr")))


def _into(seen):
    return lambda done, total: seen.append(done / total)


def test_what_is_there_is_kept_and_the_rest_is_computed(tmp_path, client):
    path = tmp_path / "K.zarr"
    stored = fg.gram(GRAPHS, KERNEL, store=path)
    whole = np.asarray(stored)
    files = {tile: stored.file(tile).stat().st_mtime_ns for tile in stored.all_tiles()}
    lost, damaged = (0, 1), (2, 2)
    stored.file(lost).unlink()
    stored.file(damaged).write_bytes(stored.file(damaged).read_bytes()[:-5] + b"wrong")
    seen = []
    again = fg.gram(GRAPHS, KERNEL, store=path, client=client, compute=Compute(progress=_into(seen)))
    assert len(seen) == 2
    assert np.array_equal(np.asarray(again), whole)
    later = {tile for tile in files if stored.file(tile).stat().st_mtime_ns != files[tile]}
    assert later == {lost, damaged}
    fg.gram(GRAPHS, KERNEL, store=path, client=client, compute=Compute(progress=_into(seen)))
    assert len(seen) == 2


def test_the_scheduler_holds_a_limited_number_of_tiles(tmp_path, client, monkeypatch):
    monkeypatch.setattr(_cluster, "_IN_FLIGHT", 2)
    most = []
    send = _cluster._ClusterRun.send
    monkeypatch.setattr(
        _cluster._ClusterRun, "send", lambda self, tile: (most.append(len(self.sent)), send(self, tile))[1]
    )
    stored = fg.gram(GRAPHS, KERNEL, store=tmp_path / "K.zarr", client=client)
    assert stored.finished() == set(stored.all_tiles())
    assert max(most) == 1
    assert len(most) == 15


def test_each_side_is_sent_once(tmp_path, client, monkeypatch):
    sent = []
    scatter = type(client).scatter
    monkeypatch.setattr(type(client), "scatter", lambda self, *a, **k: (sent.append(a), scatter(self, *a, **k))[1])
    fg.gram(GRAPHS, KERNEL, store=tmp_path / "K.zarr", client=client)
    assert len(sent) == 5


def test_a_tile_that_is_there_is_not_computed_by_the_next_worker(tmp_path):
    stored = fg.gram(GRAPHS[:20], KERNEL, store=tmp_path / "K.zarr")
    (stored.path / _cluster._TOKEN).write_text("token")
    written = stored.file((0, 0)).stat()
    nothing = None, None, None  # to compute it from
    _cluster.compute_and_store_tile(*nothing, (0, 0), (str(stored.path), "token", stored.manifest.id, fg.__version__))
    again = stored.file((0, 0)).stat()
    assert (again.st_ino, again.st_mtime_ns) == (written.st_ino, written.st_mtime_ns)


@pytest.mark.parametrize("when", ["before", "meanwhile"])
def test_an_abandoned_task_writes_nothing_into_a_new_store(tmp_path, monkeypatch, when):
    path = tmp_path / "K.zarr"
    old = fg.gram(GRAPHS[:20], KERNEL, store=path, shard=(2, 2))  # of one tile, which is the first share

    def made_anew():
        shutil.rmtree(path)
        fg.gram(GRAPHS[:20], GNTK(3, 1), store=path, shard=(2, 2))
        (path / _cluster._TOKEN).write_text("token")

    def values(*_):
        if when == "meanwhile":
            made_anew()
        return np.zeros((20, 20))

    monkeypatch.setattr(_cluster, "compute_tile_values", values)
    (path / _cluster._TOKEN).write_text("token")
    if when == "before":
        made_anew()
    with pytest.raises(fg.InputError, match=r"K.zarr was replaced by a new store (during|after it was)"):
        _cluster.compute_and_store_tile(None, None, None, (0, 0), (str(path), "token", old.manifest.id, fg.__version__))
    assert not fg.open_gram(path).finished()
    assert not list((path / "gram").rglob("*.partial"))


def test_the_token_of_another_run_stays(tmp_path, client):
    path = tmp_path / "K.zarr"
    token = path / _cluster._TOKEN
    how = Compute(progress=lambda *_: token.write_text("other"))
    fg.gram(GRAPHS[:20], KERNEL, store=path, client=client, compute=how)
    assert token.read_text() == "other"


@pytest.mark.parametrize("error", [KeyboardInterrupt, ZeroDivisionError])
def test_an_interruption_cancels_what_was_sent(tmp_path, client, error):
    def interrupt(done, total):
        raise error

    with pytest.raises(error) as kept:  # keeps futures too, which would end with it otherwise
        fg.gram(GRAPHS, KERNEL, store=tmp_path / "K.zarr", client=client, compute=Compute(progress=interrupt))
    deadline = time.monotonic() + 60
    while client.cluster.scheduler.tasks and time.monotonic() < deadline:
        time.sleep(0.02)
    assert not client.cluster.scheduler.tasks
    assert kept.tb is not None


def test_empty_batch_gives_an_empty_store(tmp_path, client):
    assert np.asarray(fg.gram([], KERNEL, store=tmp_path / "0.zarr", client=client)).shape == (0, 0)


def test_a_relative_path_is_the_same_for_workers(tmp_path, client, monkeypatch):
    monkeypatch.chdir(tmp_path)  # workers were started elsewhere
    assert len(fg.gram(GRAPHS[:20], KERNEL, store="K.zarr", client=client).finished()) == 1


def test_what_a_worker_raises_arrives(tmp_path, client):
    huge = [fg.Graph(np.ones((3, 3)), np.full((3, 1), 1e200))] * 3
    with pytest.raises(fg.InputError, match="leave the range of float64"):
        fg.gram(huge, KERNEL, store=tmp_path / "K.zarr", client=client)


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ({"client": "tcp://host:8786", "store": "K.zarr"}, "Client that is not asynchronous, but has type str"),
        ({"client": "any"}, "client requires store=path."),
        ({"client": "any", "store": "K.zarr", "shard": (1, 2)}, "shard and client are mutually exclusive."),
    ],
)  # fmt: skip
def test_bad_cluster_are_refused_in_one_sentence(tmp_path, monkeypatch, more, words):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(fg.InputError, match=words):
        fg.gram(GRAPHS, KERNEL, **more)


def test_without_dask(monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(fg.InputError, match=r"install it with `pip install 'fastgntk\[cluster\]'`"):
        fg.gram(GRAPHS, KERNEL, store=tmp_path / "K.zarr", client=object())
