"""Matrices written tile by tile from the command line."""

from __future__ import annotations

import json

import numpy as np
import pytest
from tests.cli.test_learning import record, run, sentence

import fastgntk as fg
from fastgntk.pairwise.store import _build


@pytest.fixture(autouse=True)
def _small_tiles(monkeypatch):
    monkeypatch.setattr(_build, "_PAIRS", 1e3)


def test_a_store_is_built_described_and_finished_in_shares(tmp_path):
    path = tmp_path / "K.zarr"
    told = record(run("gram", "MUTAG", "--blocks", "2", "--store", path, "--shard", "1/2", "--json"))
    assert 0 < told["finished"] < told["tiles"]
    shown = run("info", path).out
    assert f"│ tiles            │ {told['finished']} of {told['tiles']}, " in shown
    assert "188 × 188 float64" in shown
    assert "blocks 2, layers 2" in shown
    done = run("gram", "MUTAG", "--blocks", "2", "--store", path)
    assert f"{told['tiles']} of {told['tiles']}" in done.out
    about = record(run("info", path, "--json"))
    assert (about["finished"], about["graphs"], about["spec"]["blocks"]) == (told["tiles"], 188, 2)
    np.testing.assert_allclose(
        np.asarray(fg.open_gram(path)), fg.gram(fg.datasets.load("MUTAG").graphs, fg.GNTK(2)), rtol=1e-7
    )
    assert "holds a matrix with kernel" in sentence(run("gram", "MUTAG", "--blocks", "3", "--store", path))


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ([], "say where to write the matrix: --output FILE, or --store FOLDER"),
        (["-o", "K.npy", "--store", "K.zarr"], "say where to write the matrix"),
        (["-o", "K.npy", "--shard", "1/2"], "--shard is for --store"),
        (["--store", "K.zarr", "--shard", "2"], "--shard must be k/K such as 2/10, but is '2'"),
        (["--store", "K.zarr", "--shard", "3/2"], "shard must be (k, K) with 1 ≤ k ≤ K"),
        (["--store", "K.zarr", "--normalize"], "--normalize is for --output; a store holds the kernel alone"),
        (["--store", "here"], "here is no matrix that fastgntk stored"),
    ],
)
def test_one_sentence_says_what_to_do(tmp_path, monkeypatch, arguments, words):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "here").mkdir()
    assert words in sentence(run("gram", "MUTAG", *arguments))


def test_a_folder_in_tu_format_is_still_a_data_set(tmp_path):
    folder = fg.datasets.write_tu(fg.datasets.load("MUTAG"), tmp_path)
    assert json.loads(run("info", folder, "--json").out)["graphs"] == 188
