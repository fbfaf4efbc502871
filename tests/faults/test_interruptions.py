"""Ctrl-C, full disks, killed processes: nothing half-written stays, nothing hangs."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

from fastgntk import datasets
from fastgntk._util import files
from fastgntk.datasets import synthetic, write_tu


def test_a_failing_write_leaves_the_old_file_and_nothing_else(tmp_path):
    target = tmp_path / "K.npy"
    files.atomic_write(target, b"old")

    def fail(stream):
        stream.write(b"half")
        raise OSError(28, "No space left on device")

    with pytest.raises(OSError, match="No space left"):
        files.atomic_save(target, fail)
    assert target.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [target]


def test_written_files_have_the_usual_permissions(tmp_path):
    (tmp_path / "usual").write_bytes(b"")
    files.atomic_write(tmp_path / "ours", b"x")
    assert (tmp_path / "ours").stat().st_mode == (tmp_path / "usual").stat().st_mode


def test_a_cache_that_cannot_be_written_costs_a_warning_only(tmp_path, monkeypatch, caplog):
    (tmp_path / "file").write_text("in the way")
    monkeypatch.setenv("FASTGNTK_CACHE", str(tmp_path / "file"))
    folder = write_tu(synthetic.erdos_renyi(3, 5), tmp_path)
    assert len(datasets.load(folder)) == 3
    assert "no parsed copy of erdos-renyi was kept" in caplog.text


@pytest.mark.slow
def test_a_full_disk_is_one_sentence(tmp_path):
    if not os.path.exists("/dev/full"):  # noqa: PTH110  # a device, not a file of ours
        pytest.skip("this system has no /dev/full")
    program = (
        "import pathlib\n"
        "real = pathlib.Path.open\n"
        "def full(self, mode='r', *rest, **options):\n"
        "    return real(pathlib.Path('/dev/full'), 'wb') if mode == 'xb' else real(self, mode, *rest, **options)\n"
        "pathlib.Path.open = full\n"
        "from fastgntk.cli import main; main()"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, "gram", "MUTAG", "-o", str(tmp_path / "K.npy"), "--blocks", "1"],
        capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    assert done.returncode == 2
    assert "No space left on device" in done.stderr
    assert "Traceback" not in done.stderr
    assert not list(tmp_path.iterdir())


@pytest.mark.slow
@pytest.mark.parametrize("n_jobs", ["1", "2"])
def test_ctrl_c_stops_within_two_seconds_and_leaves_no_file(tmp_path, n_jobs):
    program = "from fastgntk.cli import main; main()"
    folder = write_tu(synthetic.erdos_renyi(400, 60), tmp_path / "data")
    arguments = ["gram", str(folder), "-o", str(tmp_path / "K.npy"), "--blocks", "30", "--scale", "unit"]
    process = subprocess.Popen(
        [sys.executable, "-c", program, *arguments, "--n-jobs", n_jobs],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    time.sleep(4)
    assert process.poll() is None, process.stderr.read()
    process.send_signal(signal.SIGINT)
    start = time.monotonic()
    _, errors = process.communicate(timeout=30)
    assert time.monotonic() - start < 2
    assert process.returncode != 0
    assert b"Traceback" not in errors
    assert not list(tmp_path.glob("*K.npy*"))


RING = (
    "import sys, numpy as np, fastgntk as fg\n"
    "rng = np.random.default_rng(0)\n"
    "ring = lambda n: fg.Graph.from_edges([(i, (i + 1) % n) for i in range(n)], n, rng.standard_normal((n, 2)))\n"
    "fg.gram([ring(4)], fg.GNTK(2, 1), compute=fg.Compute('lossless'))\n"
    "print('ready', flush=True)\n"
)


@pytest.mark.slow
@pytest.mark.parametrize("n_jobs", [1, 2])
@pytest.mark.parametrize(
    "work",
    ["fg.gram([ring(4000), ring(4000)], fg.GNTK(1, 1000)", "fg.gram([ring(2500) for _ in range(30)], fg.GNTK(2, 40)"],
    ids=["a tile", "norms"],
)
def test_ctrl_c_stops_inside_compiled_code(work, n_jobs):
    # Each of these is in one compiled call for many seconds, where Python itself cannot stop it.
    program = RING + f"{work}, compute=fg.Compute('lossless', n_jobs={n_jobs}, max_memory='8GB'))"
    process = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert process.stdout.readline() == b"ready\n", process.stderr.read()
    time.sleep(3)
    assert process.poll() is None, process.stderr.read()
    process.send_signal(signal.SIGINT)
    start = time.monotonic()
    _, errors = process.communicate(timeout=60)
    assert time.monotonic() - start < 2
    assert b"KeyboardInterrupt" in errors


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="peak memory is read from /proc")
def test_peak_memory_stays_within_the_limit_seen_from_outside(tmp_path):
    program = (
        "import fastgntk as fg, sys\n"
        "graphs = fg.datasets.synthetic.erdos_renyi(60, 150, 0.03).graphs\n"
        "fg.gram(graphs[:2], fg.GNTK(2, 1), compute=fg.Compute('lossless'))\n"
        "peak = lambda: [int(l.split()[1]) for l in open('/proc/self/status') if l.startswith('VmHWM')][0] * 1024\n"
        "before = peak()\n"
        "fg.gram(graphs, fg.GNTK(3, 1), compute=fg.Compute('lossless', n_jobs=16, max_memory='60MB'))\n"
        "print(peak() - before)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=120, check=True)
    assert int(done.stdout) < 60e6


def test_a_killed_writer_leaves_the_old_file(tmp_path):
    target = tmp_path / "K.npy"
    np.save(target, np.eye(2))
    program = (
        "import os, pathlib, sys; from fastgntk._util import files\n"
        "files.atomic_save(pathlib.Path(sys.argv[1]), lambda s: (s.write(b'half'), s.flush(), os.kill(os.getpid(), 9)))"
    )
    done = subprocess.run([sys.executable, "-c", program, str(target)], check=False, timeout=60)
    assert done.returncode == -9
    assert np.array_equal(np.load(target), np.eye(2))
