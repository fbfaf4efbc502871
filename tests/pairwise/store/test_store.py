"""Matrices on disk: the same numbers as in memory, whatever was there before."""

from __future__ import annotations

import json
import shutil

import numpy as np
import pytest
from tests.tables import ENGINES, FLOAT64

import fastgntk as fg
from fastgntk.pairwise.store import _build, _manifest

GRAPHS = fg.datasets.load("MUTAG").graphs[:150]
SPEC = fg.GNTK(2, 1)


@pytest.fixture(autouse=True)
def _small_tiles(monkeypatch):
    monkeypatch.setattr(_build, "_PAIRS", 1e3)  # sides of 32 graphs, so that there are several tiles


@pytest.fixture(scope="module")
def matrix():
    return fg.gram(GRAPHS, SPEC)


@pytest.mark.parametrize("engine", [*ENGINES, "auto"])
def test_a_stored_matrix_is_the_matrix(tmp_path, engine, matrix):
    few = GRAPHS[:40] if engine == "kronecker" else GRAPHS
    stored = fg.gram(few, SPEC, engine=engine, store=tmp_path / "K.zarr")
    assert len(stored.all_tiles()) > 1
    FLOAT64.check(np.asarray(stored), matrix[: len(few), : len(few)])
    assert (np.asarray(stored) == np.asarray(stored).T).all()


def test_a_sketched_matrix_can_be_stored(tmp_path):
    how = {"engine": "sketched", "sketch_size": 0.9, "seed": 3}
    stored = fg.gram(GRAPHS, SPEC, store=tmp_path / "K.zarr", **how)
    FLOAT64.check(np.asarray(stored), fg.gram(GRAPHS, SPEC, **how))
    with pytest.raises(fg.InputError, match=r"with sketch \{.*'seed': 3.*\}, but sketch \{.*'seed': 4"):
        fg.gram(GRAPHS, SPEC, store=tmp_path / "K.zarr", **how | {"seed": 4})


def test_it_is_read_like_an_array(tmp_path, matrix):
    fg.gram(GRAPHS, SPEC, store=tmp_path / "K.zarr")
    stored = fg.open_gram(tmp_path / "K.zarr")
    assert (stored.shape, stored.dtype, stored.ndim) == (matrix.shape, matrix.dtype, 2)
    assert (stored.size, len(stored)) == (22500, 150)
    mask = np.arange(150) % 7 == 0
    for key in (
        (3, 140), 7, -1, (slice(5, 60, 9), slice(None)), ([9, 2, 149, 2], slice(3)), (slice(None), -2), (mask, [1]),
        slice(0, 0), ([], [1, 2]), np.array([100, 3]),
    ):  # fmt: skip
        rows, cols = key if isinstance(key, tuple) else (key, slice(None))
        rows = np.array(rows, dtype=int) if isinstance(rows, list) else rows
        expected = matrix[rows][..., cols]
        assert np.shape(stored[key]) == expected.shape
        FLOAT64.check(np.asarray(stored[key]), expected)
    FLOAT64.check(stored.diagonal(), matrix.diagonal())
    assert np.asarray(stored, dtype=np.float32).dtype == np.float32
    with pytest.raises(IndexError):
        stored[150]


def test_what_is_there_is_kept_and_the_rest_is_computed(tmp_path, monkeypatch):
    path = tmp_path / "K.zarr"
    whole = np.asarray(fg.gram(GRAPHS, SPEC, store=path))
    stored = fg.open_gram(path)
    files = {tile: stored.file(tile).stat().st_mtime_ns for tile in stored.all_tiles()}
    lost, cut, turned = (0, 1), (1, 2), (2, 2)
    stored.file(lost).unlink()
    stored.file(cut).write_bytes(stored.file(cut).read_bytes()[:50])
    damaged = bytearray(stored.file(turned).read_bytes())
    damaged[1000] ^= 1
    stored.file(turned).write_bytes(damaged)
    assert repr(stored) == f"StoredGram(150 × 150, {len(files) - 1} of {len(files)} tiles)"
    with pytest.raises(fg.InputError, match=r"tile \(0, 1\) is not there; compute what is missing by the same call"):
        np.asarray(stored)
    with pytest.raises(fg.InputError, match=r"tile \(2, 2\) is damaged"):
        stored.tile(turned)
    written = []
    monkeypatch.setattr(fg.StoredGram, "write", _noting(written, fg.StoredGram.write))
    again = fg.gram(GRAPHS, SPEC, store=path)
    assert sorted(written) == [lost, cut, turned]
    assert np.array_equal(np.asarray(again), whole)
    kept = {tile: stored.file(tile).stat().st_mtime_ns for tile in files if tile not in (lost, cut, turned)}
    assert kept == {tile: files[tile] for tile in kept}


def test_what_a_killed_process_left_is_swept(tmp_path):
    path = tmp_path / "K.zarr"
    stored = fg.gram(GRAPHS, SPEC, store=path, shard=(1, 2))
    left = stored.file((0, 0)).with_suffix(".0123.partial")
    left.parent.mkdir(parents=True, exist_ok=True)
    left.write_bytes(b"half a tile")
    fg.gram(GRAPHS, SPEC, store=path, shard=(2, 2))
    assert left.exists()  # it might be another share that writes it just now
    fg.gram(GRAPHS, SPEC, store=path)
    assert not left.exists()


def _noting(written, write):
    def noted(self, tile, values):
        written.append(tile)
        write(self, tile, values)

    return noted


def test_shares_make_the_whole(tmp_path, monkeypatch):
    path = tmp_path / "K.zarr"
    written = []
    monkeypatch.setattr(fg.StoredGram, "write", _noting(written, fg.StoredGram.write))
    for share, k in enumerate((3, 1, 2), 1):
        stored = fg.gram(GRAPHS, SPEC, store=path, shard=(k, 3))
        assert len(written) == share * len(stored.all_tiles()) / 3
    assert sorted(written) == stored.all_tiles()
    whole = fg.gram(GRAPHS, SPEC, store=tmp_path / "other.zarr")
    assert np.array_equal(np.asarray(stored), np.asarray(whole))


def test_workers_and_memory_change_no_bit(tmp_path):
    one = fg.gram(GRAPHS, SPEC, store=tmp_path / "1.zarr", workers=1, memory="40MB")
    two = fg.gram(GRAPHS, SPEC, store=tmp_path / "2.zarr", workers=2)
    assert np.array_equal(np.asarray(one), np.asarray(two))


def test_the_matrix_need_not_fit_into_memory(tmp_path):
    graphs = fg.datasets.synthetic.erdos_renyi(700, 3, seed=1).graphs
    with pytest.raises(fg.InputError, match="the result alone takes"):
        fg.gram(graphs, SPEC, memory="2MB", engine="decoupled", workers=1)
    stored = fg.gram(graphs, SPEC, store=tmp_path / "K.zarr", memory="2MB", engine="decoupled", workers=1)
    FLOAT64.check(stored[:50, 600:], fg.gram(graphs, SPEC)[:50, 600:])


def test_nothing_and_little(tmp_path):
    assert np.asarray(fg.gram([], SPEC, store=tmp_path / "0.zarr")).shape == (0, 0)
    one = fg.gram(GRAPHS[:1], SPEC, store=tmp_path / "1.zarr")
    FLOAT64.check(np.asarray(one), fg.gram(GRAPHS[:1], SPEC))


@pytest.mark.parametrize(("pairs", "sides"), [(1e3, 5), (2e4, 2), (1e8, 1)])
def test_tiles_are_full(tmp_path, monkeypatch, pairs, sides):
    monkeypatch.setattr(_build, "_PAIRS", pairs)
    stored = fg.gram(GRAPHS, SPEC, engine="lossless", store=tmp_path / "K.zarr")
    assert (len(stored.all_tiles()), stored.side) == (sides * (sides + 1) / 2, 150 / sides)


def test_progress_goes_to_the_end(tmp_path):
    seen = []
    fg.gram(GRAPHS, SPEC, store=tmp_path / "K.zarr", progress=lambda done, total: seen.append(done / total))
    assert seen == sorted(seen)
    assert seen[-1] == 1.0


@pytest.mark.parametrize(
    ("graphs", "spec", "more", "words"),
    [
        (GRAPHS, fg.GNTK(3, 1), {}, r"with kernel GNTK\(blocks=2.*, but kernel GNTK\(blocks=3"),
        (GRAPHS[:-1], SPEC, {}, r"with data [0-9a-f]{12}, but data [0-9a-f]{12} was asked for; give another path, or"),
        (GRAPHS, SPEC, {"features": "degree"}, "with data [0-9a-f]{12}, but data"),
        (GRAPHS, SPEC, {"engine": "decoupled"}, "with engine lossless, but engine decoupled was asked for"),
        (GRAPHS, SPEC, {"shard": (0, 2)}, r"shard must be \(k, K\) with 1 ≤ k ≤ K"),
        (GRAPHS, SPEC, {"shard": "1/2"}, r"shard must be \(k, K\) with 1 ≤ k ≤ K"),
    ],
)
def test_another_matrix_is_refused(tmp_path_factory, graphs, spec, more, words):
    path = tmp_path_factory.getbasetemp() / "refusing.zarr"
    if not path.exists():
        fg.gram(GRAPHS, SPEC, store=path, engine="lossless")
    with pytest.raises(fg.InputError, match=words):
        fg.gram(graphs, spec, store=path, **more)


def test_the_same_kernel_in_other_words_is_the_same(tmp_path, monkeypatch):
    path = tmp_path / "K.zarr"
    whole = np.asarray(fg.gram(GRAPHS, fg.GNTK(3, 1), store=path))
    for tile in fg.open_gram(path).all_tiles()[::2]:
        fg.open_gram(path).file(tile).unlink()
    words = set()
    values = _build.tile_values
    monkeypatch.setattr(_build, "tile_values", lambda run, *sides: (words.add(run.spec.jump), values(run, *sides))[1])
    again = fg.gram(GRAPHS, fg.GNTK(3, 1, jump=(1, 1, 1, 1)), store=path)
    assert words == {True}  # sums with weights may round otherwise
    assert np.array_equal(np.asarray(again), whole)
    with pytest.raises(fg.InputError, match=r"kernel GNTK.*jump=True.*, but kernel GNTK.*jump=\(1.0, 1.0, 2.0, 1.0"):
        fg.gram(GRAPHS, fg.GNTK(3, 1, jump=(1, 1, 2, 1)), store=path)


@pytest.mark.parametrize("given", [3, b"K.zarr", ["K.zarr"], True])
def test_what_is_no_path_is_refused(given):
    with pytest.raises(fg.InputError, match=r"store must be the path of a folder such as 'gram.zarr', but is .*\.$"):
        fg.gram(None, SPEC, store=given)  # no graphs: it is said before they are looked at
    with pytest.raises(fg.InputError, match=r"path must be the path of a folder"):
        fg.open_gram(given)


def test_a_fingerprint_is_of_values(tmp_path):
    weighted = fg.Graph(np.array([[0, 2.0], [2.0, 0]]), np.eye(2))
    typed = fg.Graph.from_edges([(0, 1)], 2, np.eye(2), edge_labels=[1])
    other = fg.Graph.from_edges([(0, 1)], 2, np.eye(2), edge_labels=[2])
    plain = fg.Graph.from_edges([(0, 1)], 2, np.eye(2))

    def of(graph, edges="plain"):
        return _manifest.fingerprint(fg.as_graphs([graph]), fg.GNTK(edges=edges))

    assert len({of(weighted), of(plain), of(typed, "typed"), of(other, "typed")}) == 4
    assert of(typed) == of(other) == of(plain)


def test_what_is_no_store_is_refused(tmp_path):
    with pytest.raises(fg.InputError, match=r"nothing.zarr does not exist; build it with gram"):
        fg.open_gram(tmp_path / "nothing.zarr")
    (tmp_path / "folder").mkdir()
    for call in (lambda: fg.open_gram(tmp_path / "folder"), lambda: fg.gram(GRAPHS, SPEC, store=tmp_path / "folder")):
        with pytest.raises(fg.InputError, match="folder is no matrix that fastgntk stored, or damaged; give"):
            call()
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(fg.InputError, match="file is no matrix that fastgntk stored, or damaged; give"):
        fg.gram(GRAPHS, SPEC, store=tmp_path / "file")
    with pytest.raises(fg.InputError, match="shard is for a store"):
        fg.gram(GRAPHS, SPEC, shard=(1, 2))


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (
            {"format": 2, "version": "9.9"},
            r"has the format 2 of fastgntk 9.9, but this is fastgntk .* with format 1; use",
        ),
        ({"more": 1}, "has a manifest with other entries than there should be"),
    ],
)
def test_a_store_of_another_version_is_refused(tmp_path, change, words):
    path = tmp_path / "K.zarr"
    fg.gram(GRAPHS[:40], SPEC, store=path)
    known = json.loads((path / "zarr.json").read_text())
    known["attributes"]["fastgntk"] |= change
    (path / "zarr.json").write_text(json.dumps(known))
    with pytest.raises(fg.InputError, match=words):
        fg.gram(GRAPHS[:40], SPEC, store=path)


def test_a_store_without_an_id_is_refused(tmp_path):
    path = tmp_path / "K.zarr"
    fg.gram(GRAPHS[:40], SPEC, store=path)
    known = json.loads((path / "zarr.json").read_text())
    del known["attributes"]["fastgntk"]["id"]
    (path / "zarr.json").write_text(json.dumps(known))
    with pytest.raises(fg.InputError, match="has a manifest with other entries than there should be; build it again"):
        fg.open_gram(path)


@pytest.mark.parametrize("spec", [SPEC, fg.GNTK(3, 1)])
def test_what_is_open_is_not_mixed_with_what_was_made_anew(tmp_path, spec):
    path = tmp_path / "K.zarr"
    old = fg.gram(GRAPHS, SPEC, store=path)
    values = old.tile((0, 0))
    old.write((0, 0), values)
    shutil.rmtree(path)
    for use in (np.asarray, fg.StoredGram.diagonal, lambda stored: stored.write((0, 0), values)):
        with pytest.raises(fg.InputError, match=r"K.zarr was deleted since it was opened; build it again\.$"):
            use(old)
    assert not path.exists()
    new = fg.gram(GRAPHS, spec, store=path)
    kept = np.asarray(new)
    for use in (np.asarray, fg.StoredGram.diagonal, lambda stored: stored.write((0, 0), values)):
        with pytest.raises(fg.InputError, match=r"K.zarr was made anew since it was opened; open it again\.$"):
            use(old)
    assert np.array_equal(np.asarray(new), kept)


def test_a_store_that_is_deleted_before_the_first_tile_is_not_begun_again(tmp_path):
    stored = fg.gram(GRAPHS, SPEC, store=tmp_path / "K.zarr")
    values = stored.tile((0, 0))
    opened = fg.open_gram(stored.path)
    shutil.rmtree(stored.path)
    with pytest.raises(fg.InputError, match="was deleted since it was opened"):
        opened.write((0, 0), values)
    assert not stored.path.exists()


def test_graphs_cut_otherwise_are_refused(tmp_path):
    path = tmp_path / "K.zarr"
    fg.gram(GRAPHS, SPEC, store=path, engine="lossless")
    other = tmp_path / "other.zarr"
    fg.gram(GRAPHS[::-1], SPEC, store=other, engine="lossless")
    shutil.rmtree(path / "order")
    shutil.copytree(other / "order", path / "order")
    with pytest.raises(fg.InputError, match=r"was begun by fastgntk .*, which cuts graphs otherwise"):
        fg.gram(GRAPHS, SPEC, store=path)
