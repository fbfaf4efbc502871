from __future__ import annotations

import sys
import threading
import time

import numpy as np
import pytest
import threadpoolctl

from fastgntk._util.threads import run_on_threads, single_threaded_blas


@pytest.mark.parametrize("workers", [1, 2, 7])
def test_every_task_runs_once(workers):
    seen = []
    run_on_threads(seen.append, range(50), n_threads=workers)
    assert sorted(seen) == list(range(50))


def test_two_workers_work_at_the_same_time():
    meeting = threading.Barrier(2, timeout=10)
    run_on_threads(lambda task: meeting.wait(), range(2), n_threads=2)
    assert not meeting.broken


@pytest.mark.parametrize("workers", [1, 3])
def test_progress_grows_to_the_total_of_costs(workers):
    calls = []
    run_on_threads(
        lambda task: None, [1, 2, 3, 4], n_threads=workers, cost=lambda task: task, progress=lambda *a: calls.append(a)
    )
    assert len(calls) == 4
    assert [done for done, _ in calls] == sorted(done for done, _ in calls)
    assert calls[-1] == (10, 10)


@pytest.mark.parametrize("workers", [1, 2])
@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt])
def test_the_first_error_stops_the_rest_and_is_raised(workers, error):
    done = []

    def work(task):
        if task == 3:
            raise error("task three")
        done.append(task)

    with pytest.raises(error, match="task three"):
        run_on_threads(work, range(200_000), n_threads=workers)
    assert len(done) < 150_000  # another thread may run on until the interpreter switches
    assert not [t for t in threading.enumerate() if t.name.startswith("fastgntk")]


def test_an_error_in_any_worker_stops_the_others_at_once():
    done = []

    def work(task):
        time.sleep(0.001)
        if threading.current_thread().name.endswith("_1"):
            raise ValueError("in the second worker")
        done.append(task)

    with pytest.raises(ValueError, match="in the second worker"):
        run_on_threads(work, range(1000), n_threads=2)
    assert len(done) < 500


def test_an_error_in_progress_is_raised_too():
    def progress(done, total):
        raise RuntimeError("no more")

    with pytest.raises(RuntimeError, match="no more"):
        run_on_threads(lambda task: None, range(5), n_threads=2, progress=progress)


def test_no_tasks_is_no_work():
    calls = []
    run_on_threads(calls.append, [], n_threads=4, progress=lambda *report: calls.append(report))
    assert calls == []


def blas_threads() -> set[int]:
    return {library["num_threads"] for library in threadpoolctl.threadpool_info() if library["user_api"] == "blas"}


def test_blas_threads_are_restored_when_calls_overlap():
    np.ones((4, 4)) @ np.ones((4, 4))
    before = blas_threads()
    first, second = single_threaded_blas(), single_threaded_blas()
    first.__enter__()
    second.__enter__()
    first.__exit__(None, None, None)
    assert blas_threads() == {1}
    second.__exit__(None, None, None)
    assert blas_threads() == before


def test_blas_threads_are_restored():
    np.ones((4, 4)) @ np.ones((4, 4))
    before = blas_threads()
    with single_threaded_blas():
        assert blas_threads() == {1}
    assert blas_threads() == before


def test_libraries_are_looked_for_after_imports_only(monkeypatch):
    looked, real = [], threadpoolctl.ThreadpoolController
    monkeypatch.setattr(threadpoolctl, "ThreadpoolController", lambda: looked.append(1) or real())
    with single_threaded_blas():
        pass
    looked.clear()
    with single_threaded_blas():
        pass
    assert not looked
    monkeypatch.setitem(sys.modules, "one_more", sys)
    with single_threaded_blas():
        assert len(looked) == 1
        assert blas_threads() == {1}
