"""Matrices written tile by tile from the command line."""

from __future__ import annotations

import json

import numpy as np
import pytest
from tests.cli.command import record, run, sentence

import fastgntk as fg
from fastgntk.pairwise.store import _build


@pytest.fixture(autouse=True)
def _small_tiles(monkeypatch):
    monkeypatch.setattr(_build, "_MAX_TILE_PAIRS", 1e3)


def test_store_is_built_in_shards_and_described(tmp_path):
    path = tmp_path / "K.zarr"
    found = record(run("gram", "MUTAG", "--blocks", "2", "--store", path, "--shard", "1/2", "--json"))
    assert 0 < found["finished"] < found["tiles"]
    shown = run("info", path).out
    assert f"│ tiles            │ {found['finished']} of {found['tiles']}, " in shown
    assert "188 × 188 float64" in shown
    assert "GNTK(blocks=2)" in shown
    done = run("gram", "MUTAG", "--blocks", "2", "--store", path)
    assert f"{found['tiles']} of {found['tiles']}" in done.out
    about = record(run("info", path, "--json"))
    assert (about["finished"], about["graphs"], about["kernel"]) == (found["tiles"], 188, "GNTK(blocks=2)")
    np.testing.assert_allclose(
        np.asarray(fg.open_gram(path)), fg.gram(fg.datasets.load("MUTAG").graphs, fg.GNTK(2)), rtol=1e-7
    )
    assert "holds a matrix with kernel" in sentence(run("gram", "MUTAG", "--blocks", "3", "--store", path))


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ([], "name where to write the matrix: --output FILE, or --store FOLDER"),
        (["-o", "K.npy", "--store", "K.zarr"], "give --output or --store, not both"),
        (["-o", "K.npy", "--shard", "1/2"], "--shard requires --store"),
        (["--store", "K.zarr", "--shard", "2"], "--shard must be k/K such as 2/10, but is '2'"),
        (["--store", "K.zarr", "--shard", "3/2"], "shard must be (k, K) with 1 ≤ k ≤ K"),
        (["--store", "K.zarr", "--target", "y"], "--target is for --output; a store holds the matrix alone"),
        (["--store", "here"], "here is not a matrix stored by fastgntk"),
    ],
)
def test_bad_input_is_one_sentence(tmp_path, monkeypatch, arguments, words):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "here").mkdir()
    assert words in sentence(run("gram", "MUTAG", *arguments))


def test_tu_folder_is_not_taken_for_a_store(tmp_path):
    folder = fg.datasets.write_tu(fg.datasets.load("MUTAG"), tmp_path)
    assert json.loads(run("info", folder, "--json").out)["graphs"] == 188


def test_store_of_a_normalized_kernel(tmp_path):
    path = tmp_path / "K.zarr"
    found = record(run("gram", "MUTAG", "--blocks", "1", "--normalize", "--store", path, "--json"))
    assert found["kernel"] == "GNTK(blocks=1).normalized()"
    np.testing.assert_allclose(np.diag(np.asarray(fg.open_gram(path))), 1)
