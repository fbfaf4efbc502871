from __future__ import annotations

import pytest

from fastgntk import InputError
from fastgntk._util.checks import thread_count
from fastgntk._util.text import format_bytes, memory_budget


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ("2GB", 2_000_000_000),
        ("1.5 gb", 1_500_000_000),
        ("512MiB", 2**29),
        ("4KiB", 4096),
        ("100", 100),
        (12, 12),
        ("3k", 3000),
    ],
)
def test_memory_is_read(given, expected):
    assert memory_budget(given) == expected


@pytest.mark.parametrize("given", ["lots", "-1GB", "0", "GB", "1.2.3GB", 0, -5, float("nan"), "1 XB"])
def test_bad_memory_is_refused(given):
    with pytest.raises(InputError, match="max_memory must be a number of bytes or a string such as '2GB'"):
        memory_budget(given)


def test_default_memory_is_a_quarter_of_this_machine():
    assert 2**28 < memory_budget(None) < 2**44


@pytest.mark.parametrize("given", [0, -2, 1.5, True, "two"])
def test_bad_n_jobs_is_refused(given):
    with pytest.raises(InputError, match="n_jobs must be an integer, 1 or more, or -1 for all cores, but is "):
        thread_count(given)


def test_threads_default_to_the_cores_of_this_process():
    assert thread_count(None) == thread_count(-1) >= 1
    assert thread_count(3) == 3


@pytest.mark.parametrize(("count", "text"), [(12, "12 B"), (45_600, "46 kB"), (7e6, "7 MB"), (2.34e9, "2.3 GB")])
def test_bytes_are_rounded_to_two_digits_with_a_unit(count, text):
    assert format_bytes(count) == text
