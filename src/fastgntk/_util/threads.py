"""Run independent tasks on threads.

Threads, not processes: NumPy, SciPy's sparse products and BLAS all release the interpreter lock, nothing has to be
pickled, and results are written directly into the matrix (benchmarks/workers.py compares both).
"""

import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

__all__ = ["Progress", "run_on_threads", "single_threaded_blas"]

Progress = Callable[[int, int], None]
"""Called as progress(done, total) in units of work; done/total approximates the fraction of the time."""

Task = TypeVar("Task")


def run_on_threads(
    function: Callable[[Task], None],
    tasks: Sequence[Task],
    n_threads: int,
    cost: Callable[[Task], int] = lambda task: 1,  # noqa: ARG005  # every task counts the same
    progress: Progress | None = None,
    cancelled: NDArray[np.uint8] | None = None,
) -> None:
    """Call ``function(task)`` for every task, in order of the sequence, on at most ``n_threads`` threads.

    An exception, or Ctrl-C, stops all threads after their current task and is raised here. It also sets
    ``cancelled[0]`` to 1, so that current tasks can return early. Even a single thread is a new one: Python
    delivers Ctrl-C to the main thread, which must not be inside compiled code.
    """
    total = sum(cost(task) for task in tasks) if progress else 0
    pending = iter(tasks)
    lock = threading.Lock()
    stop = threading.Event()
    done = 0

    def stop_all() -> None:
        stop.set()
        if cancelled is not None:
            cancelled[0] = 1

    def work() -> None:
        nonlocal done
        try:
            while not stop.is_set():
                with lock:
                    task = next(pending, stop)
                if task is stop:
                    return
                function(task)  # type: ignore[arg-type]  # `stop` itself was handled above
                if progress:
                    with lock:
                        done += cost(task)  # type: ignore[arg-type]
                        progress(done, total)
        except BaseException:
            stop_all()
            raise

    count = min(n_threads, len(tasks))
    if count == 0:
        return
    with ThreadPoolExecutor(count, thread_name_prefix="fastgntk") as pool:
        try:
            futures = [pool.submit(work) for _ in range(count)]
            for future in futures:
                future.result()
        except BaseException:
            stop_all()
            raise


class _BlasLimit:
    """A process-wide limit, shared by calls from several threads: set by the first one, restored by the last one."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.users = 0
        self.limits: Any = None
        self._controller: Any = None
        self._modules = 0

    def set(self) -> None:
        """Limit all loaded BLAS libraries; finding them takes 2 ms, so it is repeated only after imports."""
        from threadpoolctl import ThreadpoolController

        if self._modules != len(sys.modules):
            self._controller, self._modules = ThreadpoolController(), len(sys.modules)
        self.limits = self._controller.limit(limits=1, user_api="blas")


_blas_limit = _BlasLimit()


@contextmanager
def single_threaded_blas() -> Iterator[None]:
    """Keep BLAS to one thread while our own threads share the cores; restored on leaving.

    It also makes results independent of the number of threads: a product split among threads sums in another order.
    """
    with _blas_limit.lock:
        if _blas_limit.users == 0:
            _blas_limit.set()
        _blas_limit.users += 1
    try:
        yield
    finally:
        with _blas_limit.lock:
            _blas_limit.users -= 1
            if _blas_limit.users == 0:
                _blas_limit.limits.restore_original_limits()
