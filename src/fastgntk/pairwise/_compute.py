"""How kernel values are computed: one frozen value that changes no result beyond rounding."""

from copy import copy
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Self

from fastgntk._util.checks import NJobs, thread_count
from fastgntk._util.text import Memory, format_bytes, memory_budget, round_up_bytes
from fastgntk._util.threads import Progress
from fastgntk._util.values import Value
from fastgntk.engines import check_engine
from fastgntk.errors import InputError
from fastgntk.kernels import Kernel

__all__ = ["Compute", "check_compute", "check_kernel", "check_fits_memory"]


@dataclass(frozen=True, repr=False)
class Compute(Value):
    """How to compute kernel values.

    Parameters
    ----------
    engine : {"auto", "lossless", "decoupled", "kronecker"}
        ``"lossless"`` merges equal nodes and is compiled, ``"decoupled"`` uses NumPy and SciPy, ``"kronecker"`` is the
        slow literal formula. ``"auto"`` takes the fastest by a cost model, and logs why. All give the same values up to
        rounding. A kernel with a sketch has an engine of its own, which requires ``"auto"``; kernels that are not
        networks, such as :class:`fastgntk.WL`, have theirs whatever the name.
    n_jobs : int, optional
        Number of threads; None or −1 means all cores. Results do not depend on it.
    max_memory : int or str, optional
        Upper limit for the result and the tiles in progress, as bytes or ``"2GB"``; a quarter of RAM by default.
    progress : callable, optional
        Called as ``progress(done, total)`` in units of work; only their ratio has a meaning. It is ignored in
        comparisons: options that differ in nothing else are equal.

    Examples
    --------
    >>> Compute(n_jobs=2, max_memory="1GB")
    Compute(n_jobs=2, max_memory='1GB')
    """

    engine: str = "auto"
    n_jobs: NJobs = None
    max_memory: Memory = None
    progress: Progress | None = field(default=None, compare=False, repr=False)

    def __post_init__(self) -> None:
        check_engine(self.engine)
        _ = self.threads, self.memory_budget  # raise an error for invalid values
        if self.progress is not None and not callable(self.progress):
            raise InputError(f"progress must be a function of (done, total), but is {self.progress!r}.")

    @cached_property
    def threads(self) -> int:
        """The number of threads."""
        return thread_count(self.n_jobs)

    @cached_property
    def memory_budget(self) -> int:
        """The memory budget in bytes."""
        return memory_budget(self.max_memory)

    def with_progress(self, progress: Progress | None) -> Self:
        """Return a copy with another progress callback."""
        out = copy(self)
        object.__setattr__(out, "progress", progress)
        return out

    def for_part(self, index: int, count: int) -> Self:
        """Return a copy for one of ``count`` equal parts of a computation, which reports the progress of the whole."""
        progress = self.progress
        if progress is None or count == 1:
            return self
        return self.with_progress(lambda done, total: progress(index * total + done, count * total))


def check_fits_memory(result_bytes: int, memory_budget: int) -> None:
    """Raise an error if the result alone exceeds the memory budget."""
    if result_bytes > memory_budget:
        enough = round_up_bytes(result_bytes + result_bytes // 8)
        raise InputError(
            f"max_memory={format_bytes(memory_budget)} is too small: the result alone takes "
            f"{format_bytes(result_bytes)}; pass max_memory={enough!r} or fewer graphs."
        )


def check_compute(compute: Any) -> Compute:
    """Return ``compute``, or the default for None; raise an error for any other type."""
    if compute is None:
        return Compute()
    if not isinstance(compute, Compute):
        raise InputError(
            f"compute must be a fastgntk.Compute, such as Compute(n_jobs=2), but has type {type(compute).__name__}."
        )
    return compute


def check_kernel(kernel: Any) -> Kernel:
    """Return ``kernel``, or raise an error if it is not a kernel."""
    if not isinstance(kernel, Kernel):
        hint = "; parse a string with fastgntk.parse_kernel" if isinstance(kernel, str) else ""
        raise InputError(
            f"kernel must be a kernel such as fastgntk.GNTK(), but has type {type(kernel).__name__}{hint}."
        )
    return kernel
