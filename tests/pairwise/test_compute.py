"""How values are computed, as one value."""

from __future__ import annotations

import os
import pickle

import pytest

from fastgntk import GNTK, Compute, InputError
from fastgntk.pairwise import check_compute, check_kernel


def test_progress_is_no_part_of_the_value():
    one, two = Compute(n_jobs=2, progress=print), Compute(n_jobs=2, progress=len)
    assert one == two == Compute(n_jobs=2)
    assert len({one, two, Compute(n_jobs=2)}) == 1
    assert repr(one) == "Compute(n_jobs=2)"


def test_every_other_option_is_part_of_the_value():
    assert len({Compute(), Compute(engine="lossless"), Compute(n_jobs=1), Compute(max_memory="1GB")}) == 4


@pytest.mark.parametrize("n_jobs", [None, -1])
def test_all_cores_of_this_process_are_the_default(n_jobs):
    expected = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    assert Compute(n_jobs=n_jobs).threads == expected


@pytest.mark.parametrize(
    ("text", "count"), [("2GB", 2 * 10**9), ("1.5 GiB", 3 * 2**29), ("300kB", 300_000), (12, 12), ("7", 7)]
)
def test_max_memory_is_read_in_bytes(text, count):
    assert Compute(max_memory=text).memory_budget == count


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"engine": "sketched"}, r"but is 'sketched'; give the kernel a sketch instead: GNTK\(sketch=Sketch\(\)\)\.$"),
        ({"engine": "fast"}, "engine must be one of auto, lossless, decoupled, kronecker, but is 'fast'"),
        ({"n_jobs": 0}, "n_jobs must be an integer, 1 or more, or -1 for all cores, but is 0"),
        ({"n_jobs": -2}, "n_jobs must be an integer, .* but is -2"),
        ({"n_jobs": 1.5}, "n_jobs must be an integer, .* but is 1.5"),
        ({"n_jobs": True}, "n_jobs must be an integer, .* but is True"),
        ({"n_jobs": "2"}, "n_jobs must be an integer, .* but is '2'"),
        ({"max_memory": "much"}, "max_memory must be a number of bytes or a string such as '2GB', but is 'much'"),
        ({"max_memory": 0}, "max_memory must be a number of bytes or a string such as '2GB', but is 0"),
        ({"max_memory": -1}, "max_memory must be a number of bytes .* but is -1"),
        ({"max_memory": [1]}, r"max_memory must be a number of bytes .* but is \[1\]"),
        ({"max_memory": 10**400}, "max_memory must be a number of bytes"),
        ({"progress": True}, r"progress must be a function of \(done, total\), but is True"),
    ],
    ids=str,
)
def test_bad_options_are_named(options, words):
    with pytest.raises(InputError, match=words):
        Compute(**options)
    with pytest.raises(InputError, match=words):
        Compute().set_params(**options)


def test_parameters_are_set_on_copies():
    how = Compute(n_jobs=2)
    assert how.set_params(engine="lossless") == Compute("lossless", n_jobs=2)
    assert how == Compute(n_jobs=2)
    assert how.get_params() == {"engine": "auto", "n_jobs": 2, "max_memory": None, "progress": None}
    with pytest.raises(InputError, match="Compute has no parameter 'workers'; it has engine, n_jobs, max_memory"):
        how.set_params(workers=3)
    with pytest.raises(AttributeError):
        how.engine = "lossless"


def test_watched_changes_the_callback_only():
    how = Compute("lossless", n_jobs=2, max_memory="1GB", progress=print)
    assert how.with_progress(len).progress is len
    assert how.with_progress(None).progress is None
    assert how.progress is print
    assert how.with_progress(len) == how
    assert pickle.loads(pickle.dumps(how.with_progress(None))) == how


@pytest.mark.parametrize("given", ["auto", 2, {"engine": "auto"}, GNTK(), Compute])
def test_other_types_are_no_compute(given):
    words = r"compute must be a fastgntk\.Compute, such as Compute\(n_jobs=2\), but has type "
    with pytest.raises(InputError, match=words + type(given).__name__):
        check_compute(given)
    assert check_compute(None) == Compute()


@pytest.mark.parametrize("given", [None, 2, GNTK, Compute(), ["GNTK()"]])
def test_other_types_are_no_kernel(given):
    words = r"kernel must be a kernel such as fastgntk\.GNTK\(\), but has type "
    with pytest.raises(InputError, match=rf"{words}{type(given).__name__}\.$"):
        check_kernel(given)
    with pytest.raises(InputError, match=rf"{words}str; parse a string with fastgntk\.parse_kernel\.$"):
        check_kernel("GNTK()")
