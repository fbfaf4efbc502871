"""Matrices on disk: the same numbers as in memory, from any earlier state of the store."""

from __future__ import annotations

import json
import shutil

import numpy as np
import pytest
from tests.tables import ENGINES, FLOAT64

import fastgntk as fg
from fastgntk import GNTK, Compute, Sketch
from fastgntk.pairwise.store import StoredGram, _build, _manifest

GRAPHS = fg.datasets.load("MUTAG").graphs[:150]
KERNEL = GNTK(2, 1)


@pytest.fixture(autouse=True)
def _small_tiles(monkeypatch):
    monkeypatch.setattr(_build, "_MAX_TILE_PAIRS", 1e3)  # sides of 32 graphs, so that there are several tiles


@pytest.fixture(scope="module")
def matrix():
    return fg.gram(GRAPHS, KERNEL)


@pytest.mark.slow
@pytest.mark.parametrize("engine", [*ENGINES, "auto"])
def test_a_stored_matrix_is_the_matrix(tmp_path, engine, matrix):
    few = GRAPHS[:40] if engine == "kronecker" else GRAPHS
    stored = fg.gram(few, KERNEL, compute=Compute(engine=engine), store=tmp_path / "K.zarr")
    assert len(stored.all_tiles()) > 1
    FLOAT64.check(np.asarray(stored), matrix[: len(few), : len(few)])
    assert (np.asarray(stored) == np.asarray(stored).T).all()


def test_a_store_keeps_to_the_scales_of_its_graphs(tmp_path):
    scales = 1.0 + np.arange(GRAPHS[:60].n_nodes) % 3
    graphs, kernel = GRAPHS[:60].with_node_scale(scales), GNTK(2, 1, "given")
    stored = fg.gram(graphs, kernel, store=tmp_path / "K.zarr")
    FLOAT64.check(np.asarray(stored), fg.gram(graphs, kernel))
    with pytest.raises(fg.InputError, match="holds the matrix of other graphs"):
        fg.gram(graphs.with_node_scale(2 * scales), kernel, store=tmp_path / "K.zarr")


def test_a_store_keeps_to_the_descriptors_of_its_graphs(tmp_path):
    values = np.random.default_rng(0).standard_normal((60, 3))
    graphs, kernel = GRAPHS[:60].with_descriptors(x=values, unused=np.ones(60)), (KERNEL * fg.RBF("x")).normalized()
    stored = fg.gram(graphs, kernel, store=tmp_path / "K.zarr")
    assert len(stored.all_tiles()) > 1
    FLOAT64.check(np.asarray(stored), fg.gram(graphs, kernel))
    model = fg.GraphRegressor(kernel).fit(graphs, GRAPHS[:60].sizes, gram=stored)
    FLOAT64.check(model.predict(graphs[:3]), fg.GraphRegressor(kernel).fit(graphs, graphs.sizes).predict(graphs[:3]))
    fg.gram(graphs.with_descriptors(unused=None), kernel, store=tmp_path / "K.zarr")
    with pytest.raises(fg.InputError, match="holds the matrix of other graphs"):
        fg.gram(graphs.with_descriptors(x=values[::-1]), kernel, store=tmp_path / "K.zarr")


@pytest.mark.slow
def test_a_sketched_matrix_can_be_stored(tmp_path):
    kernel = GNTK(2, 1, sketch=Sketch(size=0.9, seed=3))
    stored = fg.gram(GRAPHS, kernel, store=tmp_path / "K.zarr")
    FLOAT64.check(np.asarray(stored), fg.gram(GRAPHS, kernel))
    again = fg.gram(GRAPHS, kernel, store=tmp_path / "K.zarr")
    assert again.manifest == stored.manifest
    with pytest.raises(fg.InputError, match=r"with kernel GNTK.*seed=3\)\), not kernel GNTK.*seed=4\)\); give"):
        fg.gram(GRAPHS, kernel.set_params(sketch__seed=4), store=tmp_path / "K.zarr")


@pytest.mark.filterwarnings("ignore::fastgntk.NotSketchedWarning")
def test_a_store_of_graphs_smaller_than_their_sketch_can_be_continued(tmp_path):
    kernel = GNTK(2, 1, sketch=Sketch(size=1000))
    stored = fg.gram(GRAPHS, kernel, store=tmp_path / "K.zarr", shard=(1, 2))
    assert "sketched" not in stored.manifest.engines
    whole = fg.gram(GRAPHS, kernel, store=tmp_path / "K.zarr")
    FLOAT64.check(np.asarray(whole), fg.gram(GRAPHS, KERNEL))


def test_it_is_read_like_an_array(tmp_path, matrix):
    fg.gram(GRAPHS, KERNEL, store=tmp_path / "K.zarr")
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
    whole = np.asarray(fg.gram(GRAPHS, KERNEL, store=path))
    stored = fg.open_gram(path)
    files = {tile: stored.file(tile).stat().st_mtime_ns for tile in stored.all_tiles()}
    lost, cut, turned = (0, 1), (1, 2), (2, 2)
    stored.file(lost).unlink()
    stored.file(cut).write_bytes(stored.file(cut).read_bytes()[:50])
    damaged = bytearray(stored.file(turned).read_bytes())
    damaged[1000] ^= 1
    stored.file(turned).write_bytes(damaged)
    assert repr(stored) == f"StoredGram(150 × 150, {len(files) - 1} of {len(files)} tiles)"
    with pytest.raises(fg.InputError, match=r"tile \(0, 1\) is missing; complete the store by repeating the gram call"):
        np.asarray(stored)
    with pytest.raises(fg.InputError, match=r"tile \(2, 2\) is damaged"):
        stored.tile(turned)
    written = []
    monkeypatch.setattr(StoredGram, "write", _noting(written, StoredGram.write))
    again = fg.gram(GRAPHS, KERNEL, store=path)
    assert sorted(written) == [lost, cut, turned]
    assert np.array_equal(np.asarray(again), whole)
    kept = {tile: stored.file(tile).stat().st_mtime_ns for tile in files if tile not in (lost, cut, turned)}
    assert kept == {tile: files[tile] for tile in kept}


def test_what_a_killed_process_left_is_swept(tmp_path):
    path = tmp_path / "K.zarr"
    stored = fg.gram(GRAPHS, KERNEL, store=path, shard=(1, 2))
    left = stored.file((0, 0)).with_suffix(".0123.partial")
    left.parent.mkdir(parents=True, exist_ok=True)
    left.write_bytes(b"half a tile")
    fg.gram(GRAPHS, KERNEL, store=path, shard=(2, 2))
    assert left.exists()  # it might be another share that writes it just now
    fg.gram(GRAPHS, KERNEL, store=path)
    assert not left.exists()


def _noting(written, write):
    def noted(self, tile, values):
        written.append(tile)
        write(self, tile, values)

    return noted


@pytest.mark.slow
def test_shares_make_the_whole(tmp_path, monkeypatch):
    path = tmp_path / "K.zarr"
    written = []
    monkeypatch.setattr(StoredGram, "write", _noting(written, StoredGram.write))
    for share, k in enumerate((3, 1, 2), 1):
        stored = fg.gram(GRAPHS, KERNEL, store=path, shard=(k, 3))
        assert len(written) == share * len(stored.all_tiles()) / 3
    assert sorted(written) == stored.all_tiles()
    whole = fg.gram(GRAPHS, KERNEL, store=tmp_path / "other.zarr")
    assert np.array_equal(np.asarray(stored), np.asarray(whole))


def test_threads_and_memory_change_no_bit(tmp_path):
    one = fg.gram(GRAPHS, KERNEL, store=tmp_path / "1.zarr", compute=Compute(n_jobs=1, max_memory="40MB"))
    two = fg.gram(GRAPHS, KERNEL, store=tmp_path / "2.zarr", compute=Compute(n_jobs=2))
    assert np.array_equal(np.asarray(one), np.asarray(two))


@pytest.mark.slow
def test_the_matrix_need_not_fit_into_memory(tmp_path):
    graphs = fg.datasets.synthetic.erdos_renyi(700, 3, random_state=1).graphs
    how = Compute("decoupled", n_jobs=1, max_memory="2MB")
    with pytest.raises(fg.InputError, match="the result alone takes"):
        fg.gram(graphs, KERNEL, compute=how)
    stored = fg.gram(graphs, KERNEL, store=tmp_path / "K.zarr", compute=how)
    FLOAT64.check(stored[:50, 600:], fg.gram(graphs, KERNEL)[:50, 600:])


def test_stores_of_no_graph_and_of_one(tmp_path):
    assert np.asarray(fg.gram([], KERNEL, store=tmp_path / "0.zarr")).shape == (0, 0)
    one = fg.gram(GRAPHS[:1], KERNEL, store=tmp_path / "1.zarr")
    FLOAT64.check(np.asarray(one), fg.gram(GRAPHS[:1], KERNEL))


@pytest.mark.parametrize(("pairs", "sides"), [(1e3, 5), (2e4, 2), (1e8, 1)])
def test_tiles_are_full(tmp_path, monkeypatch, pairs, sides):
    monkeypatch.setattr(_build, "_MAX_TILE_PAIRS", pairs)
    stored = fg.gram(GRAPHS, KERNEL, compute=Compute(engine="lossless"), store=tmp_path / "K.zarr")
    assert (len(stored.all_tiles()), stored.tile_size) == (sides * (sides + 1) / 2, 150 / sides)


def test_progress_goes_to_the_end(tmp_path):
    seen = []
    how = Compute(progress=lambda done, total: seen.append(done / total))
    fg.gram(GRAPHS, KERNEL, store=tmp_path / "K.zarr", compute=how)
    assert seen == sorted(seen)
    assert seen[-1] == 1.0


@pytest.mark.parametrize(
    ("graphs", "kernel", "more", "words"),
    [
        (GRAPHS, GNTK(3, 1), {}, r"with kernel GNTK\(blocks=2, layers=1\), not kernel GNTK\(layers=1\); give another"),
        (
            GRAPHS[:-1],
            KERNEL,
            {},
            r"of other graphs, or .* \(data [0-9a-f]{12}, not [0-9a-f]{12}\); give another path, or",
        ),
        (GRAPHS, GNTK(2, 1, features="degree"), {}, r"with kernel GNTK.*, not kernel GNTK.*features='degree'"),
        (GRAPHS, GNTK(2, 1, features="labels"), {}, r"with kernel GNTK.*, not kernel GNTK.*features='labels'"),
        (GRAPHS, KERNEL, {"compute": Compute("decoupled")}, "with engine lossless, not engine decoupled; give"),
        (GRAPHS, KERNEL, {"shard": (0, 2)}, r"shard must be \(k, K\) with 1 ≤ k ≤ K"),
        (GRAPHS, KERNEL, {"shard": "1/2"}, r"shard must be \(k, K\) with 1 ≤ k ≤ K"),
    ],
)
def test_another_matrix_is_refused(tmp_path_factory, graphs, kernel, more, words):
    path = tmp_path_factory.getbasetemp() / "refusing.zarr"
    if not path.exists():
        fg.gram(GRAPHS, KERNEL, store=path, compute=Compute(engine="lossless"))
    with pytest.raises(fg.InputError, match=words):
        fg.gram(graphs, kernel, store=path, **more)


@pytest.mark.slow
def test_an_equivalent_kernel_continues_a_store_in_its_own_form(tmp_path, monkeypatch):
    path = tmp_path / "K.zarr"
    whole = np.asarray(fg.gram(GRAPHS, GNTK(3, 1), store=path))
    for tile in fg.open_gram(path).all_tiles()[::2]:
        fg.open_gram(path).file(tile).unlink()
    jumps = set()
    compute_tile_values = _build.compute_tile_values

    def note_jump(kernel, *rest):
        jumps.add(kernel.jump)
        return compute_tile_values(kernel, *rest)

    monkeypatch.setattr(_build, "compute_tile_values", note_jump)
    again = fg.gram(GRAPHS, GNTK(3, 1, jump=(1, 1, 1, 1)), store=path)
    assert jumps == {True}  # sums with weights may round differently
    assert np.array_equal(np.asarray(again), whole)
    with pytest.raises(fg.InputError, match=r"kernel GNTK\(layers=1\), not kernel GNTK.*jump=\(1.0, 1.0, 2.0, 1.0"):
        fg.gram(GRAPHS, GNTK(3, 1, jump=(1, 1, 2, 1)), store=path)


@pytest.mark.parametrize("given", [3, b"K.zarr", ["K.zarr"], True])
def test_bad_path_is_refused_before_graphs_are_read(given):
    with pytest.raises(fg.InputError, match=r"store must be the path of a folder such as 'gram.zarr', but is .*\.$"):
        fg.gram(None, KERNEL, store=given)
    with pytest.raises(fg.InputError, match=r"path must be the path of a folder"):
        fg.open_gram(given)


def test_a_fingerprint_covers_what_changes_values_and_nothing_else():
    path, X = [(0, 1), (1, 2)], np.eye(3)
    weighted = fg.Graph.from_edges(path, 3, X, weights=[2.0, 1.0])
    typed, other, renamed = (fg.Graph.from_edges(path, 3, X, edge_labels=kinds) for kinds in ([1, 2], [1, 1], [3, 5]))
    plain = fg.Graph.from_edges(path, 3, X)
    scaled = fg.Graph.from_edges(path, 3, 2 * X)

    light, heavy = (fg.Graph.from_edges(path, 3, X, node_scale=scale) for scale in ([1, 1, 1], [1, 1, 2]))

    def of(graph, edges="plain", scale="uniform"):
        return _manifest.fingerprint(fg.prepare([graph], GNTK(edges=edges, scale=scale)))

    assert len({of(weighted), of(plain), of(scaled), of(typed, "typed"), of(other, "typed")}) == 5
    assert of(typed) == of(other) == of(light) == of(heavy) == of(plain)
    assert len({of(light, scale="given"), of(heavy, scale="given"), of(plain)}) == 3
    assert of(typed, "typed") == of(renamed, "typed")  # types are compared with each other only


def test_a_path_without_a_store_is_refused(tmp_path):
    with pytest.raises(fg.InputError, match=r"nothing.zarr does not exist; build it with gram"):
        fg.open_gram(tmp_path / "nothing.zarr")
    (tmp_path / "folder").mkdir()
    for call in (lambda: fg.open_gram(tmp_path / "folder"), lambda: fg.gram(GRAPHS, KERNEL, store=tmp_path / "folder")):
        with pytest.raises(fg.InputError, match="folder is not a matrix stored by fastgntk, or is damaged; give"):
            call()
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(fg.InputError, match="file is not a matrix stored by fastgntk, or is damaged; give"):
        fg.gram(GRAPHS, KERNEL, store=tmp_path / "file")
    with pytest.raises(fg.InputError, match="shard requires store=path"):
        fg.gram(GRAPHS, KERNEL, shard=(1, 2))


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (
            {"format": 4, "version": "9.9"},
            r"has the format 4 of fastgntk 9.9, but this is fastgntk .* with format 3; use",
        ),
        ({"more": 1}, "has a manifest with missing or unknown entries"),
    ],
)
def test_a_store_of_another_version_is_refused(tmp_path, change, words):
    path = tmp_path / "K.zarr"
    fg.gram(GRAPHS[:40], KERNEL, store=path)
    known = json.loads((path / "zarr.json").read_text())
    known["attributes"]["fastgntk"] |= change
    (path / "zarr.json").write_text(json.dumps(known))
    with pytest.raises(fg.InputError, match=words):
        fg.gram(GRAPHS[:40], KERNEL, store=path)


def test_a_store_without_an_id_is_refused(tmp_path):
    path = tmp_path / "K.zarr"
    fg.gram(GRAPHS[:40], KERNEL, store=path)
    known = json.loads((path / "zarr.json").read_text())
    del known["attributes"]["fastgntk"]["id"]
    (path / "zarr.json").write_text(json.dumps(known))
    with pytest.raises(fg.InputError, match="has a manifest with missing or unknown entries; rebuild the store"):
        fg.open_gram(path)


@pytest.mark.slow
@pytest.mark.parametrize("kernel", [KERNEL, GNTK(3, 1)])
def test_what_is_open_is_not_mixed_with_what_was_made_anew(tmp_path, kernel):
    path = tmp_path / "K.zarr"
    old = fg.gram(GRAPHS, KERNEL, store=path)
    values = old.tile((0, 0))
    old.write((0, 0), values)
    shutil.rmtree(path)
    for use in (np.asarray, StoredGram.diagonal, lambda stored: stored.write((0, 0), values)):
        with pytest.raises(fg.InputError, match=r"K.zarr was deleted since it was opened; build it again\.$"):
            use(old)
    assert not path.exists()
    new = fg.gram(GRAPHS, kernel, store=path)
    kept = np.asarray(new)
    for use in (np.asarray, StoredGram.diagonal, lambda stored: stored.write((0, 0), values)):
        with pytest.raises(
            fg.InputError, match=r"K.zarr was replaced by a new store after it was opened; open it again\.$"
        ):
            use(old)
    assert np.array_equal(np.asarray(new), kept)


def test_a_store_that_is_deleted_before_the_first_tile_is_not_begun_again(tmp_path):
    stored = fg.gram(GRAPHS, KERNEL, store=tmp_path / "K.zarr")
    values = stored.tile((0, 0))
    opened = fg.open_gram(stored.path)
    shutil.rmtree(stored.path)
    with pytest.raises(fg.InputError, match="was deleted since it was opened"):
        opened.write((0, 0), values)
    assert not stored.path.exists()


def test_graphs_in_another_order_of_blocks_are_refused(tmp_path):
    path = tmp_path / "K.zarr"
    fg.gram(GRAPHS, KERNEL, store=path, compute=Compute(engine="lossless"))
    other = tmp_path / "other.zarr"
    fg.gram(GRAPHS[::-1], KERNEL, store=other, compute=Compute(engine="lossless"))
    shutil.rmtree(path / "order")
    shutil.copytree(other / "order", path / "order")
    with pytest.raises(fg.InputError, match=r"was started by fastgntk .*, which groups graphs differently"):
        fg.gram(GRAPHS, KERNEL, store=path)
