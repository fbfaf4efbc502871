"""Stores of matrices: killed builds, full disks, two at a time; faults that happen for real."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

import fastgntk as fg
from fastgntk.datasets import synthetic, write_tu

# Tiles of 32 graphs, and a line for each one that is written.
BUILD = """
import sys
from fastgntk.matrix.store import _build, _stored
_build._PAIRS = 1e3
write = _stored.StoredGram.write
def noted(self, tile, values):
    write(self, tile, values)
    with open(sys.argv[1] + ".log", "a") as log:
        log.write(f"{tile}\\n")
_stored.StoredGram.write = noted
import fastgntk as fg
fg.gram(fg.datasets.load(sys.argv[2]).graphs, fg.GNTK(2, 1), store=sys.argv[1], workers=2, engine="decoupled")
"""


@pytest.fixture(scope="module")
def data(tmp_path_factory) -> Path:
    return write_tu(synthetic.erdos_renyi(300, 20), tmp_path_factory.mktemp("data"))


def build(store: Path, data: Path) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", BUILD, str(store), str(data)], stderr=subprocess.PIPE, text=True, start_new_session=True
    )


def test_a_build_that_is_killed_again_and_again_ends_with_the_same_bits(tmp_path, data):
    whole = tmp_path / "whole.zarr"
    assert build(whole, data).wait(120) == 0
    tiles = len(fg.open_gram(whole).all_tiles())
    store, log = tmp_path / "killed.zarr", tmp_path / "killed.zarr.log"
    rng, kills = random.Random(0), 0
    for _ in range(40):
        before = len(log.read_text().split("\n")) if log.exists() else 0
        process = build(store, data)
        # Kill at a random moment after some new tile, so that every try gets further.
        while process.poll() is None and (len(log.read_text().split("\n")) if log.exists() else 0) <= before:
            time.sleep(0.001)
        time.sleep(rng.random() * 0.02)
        if process.poll() is not None:
            break
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        kills += 1
    assert process.wait(120) == 0
    assert kills >= 3
    assert np.array_equal(np.asarray(fg.open_gram(store)), np.asarray(fg.open_gram(whole)))
    written = log.read_text().split("\n")[:-1]
    # A tile may have been put in place by a process that was killed before it could say so; none is computed twice
    # that was there.
    assert len(written) == len(set(written))
    assert tiles - kills * 2 <= len(written) <= tiles


def test_ctrl_c_leaves_no_tile_of_no_meaning(tmp_path, data):
    store, log = tmp_path / "K.zarr", tmp_path / "K.zarr.log"
    process = build(store, data)
    while process.poll() is None and not log.exists():
        time.sleep(0.001)
    process.send_signal(signal.SIGINT)
    process.wait(20)
    stored = fg.open_gram(store)
    there = stored.finished()
    assert 0 < len(there) < len(stored.all_tiles())
    expected = fg.gram(fg.datasets.load(str(data)).graphs, fg.GNTK(2, 1), engine="decoupled")
    for i, j in there:
        np.testing.assert_allclose(stored.tile((i, j)), expected[np.ix_(stored.graphs(i), stored.graphs(j))], rtol=1e-8)


def test_two_processes_on_one_store(tmp_path, data):
    store = tmp_path / "K.zarr"
    holder = subprocess.Popen(
        [
            sys.executable, "-c",
            "import sys, time\nfrom pathlib import Path\nfrom fastgntk.matrix.store._locks import writing\n"
            "Path(sys.argv[1]).mkdir()\nwith writing(Path(sys.argv[1]), (1, 3)):\n    print('held', flush=True)\n"
            "    time.sleep(100)",
            str(tmp_path / "locked"),
        ],
        stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    from fastgntk.matrix.store._locks import writing

    try:
        assert holder.stdout.readline() == "held\n"
        for shard in ((1, 1), (1, 3)):
            with (
                pytest.raises(
                    fg.InputError, match=r"another process is writing into .*locked; wait until it has ended"
                ),
                writing(tmp_path / "locked", shard),
            ):
                pass
        with writing(tmp_path / "locked", (2, 3)):  # another share goes on
            pass
    finally:
        holder.kill()
        holder.wait()
    with writing(tmp_path / "locked", (1, 1)):  # a lock dies with its process
        pass
    processes = [build(store, data), build(store, data)]
    codes = sorted(process.wait(120) for process in processes)
    errors = "".join(process.stderr.read() for process in processes)
    assert codes[0] == 0
    assert codes[1] == 0 or "another process is writing into" in errors
    assert len(fg.open_gram(store).finished()) == len(fg.open_gram(store).all_tiles())


def test_a_read_only_store(tmp_path, data):
    if os.geteuid() == 0:
        pytest.skip("root may write everywhere")
    store = tmp_path / "K.zarr"
    graphs = fg.datasets.load(str(data)).graphs
    fg.gram(graphs, store=store)
    fg.open_gram(store).file((0, 0)).unlink()
    for folder in [store, *store.rglob("*")]:
        folder.chmod(0o500 if folder.is_dir() else 0o400)
    with pytest.raises(fg.InputError, match="cannot be written to"):
        fg.gram(graphs, store=store)


@pytest.mark.parametrize("size", ["40k", "400k"])
def test_a_full_disk(tmp_path, data, size):
    disk = tmp_path / "disk"
    disk.mkdir()
    if subprocess.run(
        ["mount", "-t", "tmpfs", "-o", f"size={size}", "none", str(disk)], capture_output=True
    ).returncode:
        pytest.skip("a small disk can be mounted by root only")
    try:
        store = disk / "K.zarr"
        done = build(store, data)
        assert done.wait(120) == 1
        assert "there is no space left for" in done.stderr.read()
        if size == "400k":  # room for some tiles: they are whole, and stay
            stored = fg.open_gram(store)
            assert stored.finished()
            assert not stored.damaged(stored.finished())
            subprocess.run(["mount", "-o", "remount,size=20m", str(disk)], check=True)
            assert build(store, data).wait(120) == 0
    finally:
        subprocess.run(["umount", "-l", str(disk)], check=True)
