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
from fastgntk.pairwise.store import _build, _stored_gram
_build._MAX_TILE_PAIRS = 1e3
write = _stored_gram.StoredGram.write
def noted(self, tile, values):
    write(self, tile, values)
    with open(sys.argv[3], "a") as log:
        log.write(f"{tile}\\n")
_stored_gram.StoredGram.write = noted
import fastgntk as fg
how = fg.Compute("decoupled", n_jobs=2)
fg.gram(fg.datasets.load(sys.argv[2]).graphs, fg.GNTK(2, 1), store=sys.argv[1], compute=how)
"""


@pytest.fixture(scope="module")
def data(tmp_path_factory) -> Path:
    return write_tu(synthetic.erdos_renyi(300, 20), tmp_path_factory.mktemp("data"))


def build(store: Path, data: Path, log: Path, errors: Path = Path(os.devnull)) -> subprocess.Popen[bytes]:
    with errors.open("wb") as stream:
        return subprocess.Popen(
            [sys.executable, "-c", BUILD, str(store), str(data), str(log)], stderr=stream, start_new_session=True
        )


def written(log: Path) -> list[str]:
    return log.read_text().splitlines() if log.exists() else []


@pytest.mark.slow
def test_a_build_that_is_killed_again_and_again_ends_with_the_same_bits(tmp_path, data):
    whole = tmp_path / "whole.zarr"
    assert build(whole, data, tmp_path / "whole.log").wait(120) == 0
    store, log = tmp_path / "killed.zarr", tmp_path / "killed.log"
    rng = random.Random(0)
    for _ in range(5):
        before = len(written(log))
        process = build(store, data, log)
        # Kill at a random moment after some new tile, so that every try gets further.
        while process.poll() is None and len(written(log)) <= before:
            time.sleep(0.001)
        time.sleep(rng.random() * 0.02)
        assert process.poll() is None, "the build ended before it could be killed"
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
    assert build(store, data, log).wait(120) == 0
    assert np.array_equal(np.asarray(fg.open_gram(store)), np.asarray(fg.open_gram(whole)))
    tiles = written(log)
    # A process may be killed between putting a tile in place and saying so, on each of its two threads; but no tile
    # that was there is computed again.
    assert len(tiles) == len(set(tiles))
    assert len(written(tmp_path / "whole.log")) - 5 * 2 <= len(tiles)


@pytest.mark.slow
def test_ctrl_c_leaves_whole_tiles_only(tmp_path, data):
    store, log = tmp_path / "K.zarr", tmp_path / "log"
    process = build(store, data, log)
    while process.poll() is None and not log.exists():
        time.sleep(0.001)
    process.send_signal(signal.SIGINT)
    process.wait(20)
    stored = fg.open_gram(store)
    there = stored.finished()
    assert 0 < len(there) < len(stored.all_tiles())
    expected = fg.gram(fg.datasets.load(str(data)).graphs, fg.GNTK(2, 1), compute=fg.Compute(engine="decoupled"))
    for i, j in there:
        np.testing.assert_allclose(
            stored.tile((i, j)), expected[np.ix_(stored.row_indices(i), stored.row_indices(j))], rtol=1e-8
        )


@pytest.mark.slow
def test_two_processes_on_one_store(tmp_path, data):
    store = tmp_path / "K.zarr"
    holder = subprocess.Popen(
        [
            sys.executable, "-c",
            "import sys, time\nfrom pathlib import Path\nfrom fastgntk.pairwise.store._stored_gram import lock_store\n"
            "Path(sys.argv[1]).mkdir()\nwith lock_store(Path(sys.argv[1]), (1, 3)):\n    print('held', flush=True)\n"
            "    time.sleep(100)",
            str(tmp_path / "locked"),
        ],
        stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    from fastgntk.pairwise.store._stored_gram import lock_store

    try:
        assert holder.stdout.readline() == "held\n"
        for shard in ((1, 1), (1, 3)):
            with (
                pytest.raises(
                    fg.InputError, match=r"another process is writing into .*locked; wait until it has finished"
                ),
                lock_store(tmp_path / "locked", shard),
            ):
                pass
        with lock_store(tmp_path / "locked", (2, 3)):  # another share goes on
            pass
    finally:
        holder.kill()
        holder.communicate()
    with lock_store(tmp_path / "locked", (1, 1)):  # a lock dies with its process
        pass
    processes = [build(store, data, tmp_path / "log", tmp_path / f"errors-{i}") for i in range(2)]
    codes = sorted(process.wait(120) for process in processes)
    errors = "".join((tmp_path / f"errors-{i}").read_text() for i in range(2))
    assert codes[0] == 0
    assert codes[1] == 0 or "another process is writing into" in errors
    assert len(fg.open_gram(store).finished()) == len(fg.open_gram(store).all_tiles())


@pytest.fixture
def disk(tmp_path):
    """A disk of its own, that can be as small as one likes."""
    folder = tmp_path / "disk"
    folder.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=20m", "none", folder], capture_output=True, check=False
    )
    if mounted.returncode:
        pytest.skip("only root may mount a disk")
    yield folder
    subprocess.run(["umount", "-l", folder], check=True)


def remount(disk: Path, option: str) -> None:
    subprocess.run(["mount", "-o", f"remount,{option}", disk], check=True)


def test_a_read_only_store(disk, data):
    graphs = fg.datasets.load(str(data)).graphs
    stored = fg.gram(graphs, fg.GNTK(1), store=disk / "K.zarr")
    stored.file((0, 0)).unlink()
    remount(disk, "ro")
    with pytest.raises(
        fg.InputError, match=r"K.zarr cannot be written to \(Read-only file system\); choose another folder"
    ):
        fg.gram(graphs, fg.GNTK(1), store=disk / "K.zarr")
    with pytest.raises(fg.InputError, match=r"other\.zarr cannot be written to"):
        fg.gram(graphs, fg.GNTK(1), store=disk / "other.zarr")


@pytest.mark.slow
@pytest.mark.parametrize("size", ["40k", "400k"])
def test_a_full_disk(disk, tmp_path, data, size):
    remount(disk, f"size={size}")
    store = disk / "K.zarr"
    assert build(store, data, tmp_path / "log", tmp_path / "errors").wait(120) == 1
    assert "there is no space left for" in (tmp_path / "errors").read_text()
    if size == "400k":  # room for some tiles: they are whole, and stay
        stored = fg.open_gram(store)
        assert stored.finished()
        assert not stored.damaged(stored.finished())
        remount(disk, "size=20m")
        assert build(store, data, tmp_path / "log").wait(120) == 0
        assert len(written(tmp_path / "log")) == len(stored.all_tiles())
