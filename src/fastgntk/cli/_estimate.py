"""What ``fastgntk gram --estimate`` prints."""

from __future__ import annotations

from fastgntk import __version__
from fastgntk._util.text import format_bytes
from fastgntk.cli._console import key_values, print_json, seconds
from fastgntk.pairwise import Estimate

__all__ = ["tell_estimate"]


def tell_estimate(found: Estimate, name: str, json: bool) -> None:
    """Print an estimate, for people or for machines."""
    if json:
        print_json({"dataset": name, "version": __version__, "estimate": found.to_dict()})
        return
    times = [
        (f"{count:,} worker{'' if count == 1 else 's'}", f"about {seconds(took)}")
        for count, took in zip(found.workers, found.seconds, strict=True)
    ]
    rows = [
        *times,
        ("preparing", f"{seconds(found.preparing)} of each of these, on this machine"),
        ("tiles", f"{found.tiles:,}, the longest takes {seconds(found.longest)}; tried: {found.sampled:,}"),
        ("memory", f"up to {format_bytes(found.worker_bytes)} for each worker of one thread, beside Python itself"),
        ("disk", format_bytes(found.disk_bytes)),
        ("engine", found.engine),
    ]
    key_values(f"fastgntk gram {name}, estimated", rows)
