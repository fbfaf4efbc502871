"""``fastgntk datasets``: the known names, and where each was found."""

from __future__ import annotations

from dataclasses import asdict

from fastgntk.cli._console import print_json, print_table
from fastgntk.cli._options import JsonOption
from fastgntk.datasets import REGISTRY, find
from fastgntk.errors import InputError

__all__ = ["datasets"]


def datasets(json: JsonOption = False) -> None:
    """List the known data sets with their counts and where each was found."""
    records = []
    for row in REGISTRY.values():
        try:
            where, path = find(row.name)
            place: str | None = str(path)
            if where == "download":
                where, place = "to download", row.url
        except InputError:  # it has no public address and is in no folder
            where, place = "nowhere", None
        records.append(
            {"name": row.name, **asdict(row.counts), "node_labels": row.node_labels, "where": where, "path": place,
             "citation": row.citation}
        )  # fmt: skip
    if json:
        print_json(records)
        return
    columns = [
        ("name", "left"),
        ("graphs", "right"),
        ("nodes", "right"),
        ("edges", "right"),
        ("classes", "right"),
    ]
    columns += [("labels", "left"), ("found in", "left")]
    table = [
        [r["name"], f"{r['graphs']:,}", f"{r['nodes']:,}", f"{r['edges']:,}", str(r["classes"]),
         "yes" if r["node_labels"] else "no", str(r["where"])]
        for r in records
    ]  # fmt: skip
    note = "to download: on first use. nowhere: put NAME.zip into a folder and set FASTGNTK_DATA to it."
    print_table(None, columns, table, note)
