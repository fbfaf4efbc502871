from __future__ import annotations

import itertools
import json
import random

import numpy as np
import pytest
from scipy import sparse
from tests.tables import FAMILIES

from fastgntk import GNTK, Compute, Graph, GraphBatch, InputError, NodeFeatures, datasets, gram
from fastgntk.persistence._archive import read_container, write_container
from fastgntk.persistence._basis_codec import pack_features, pack_graphs, unpack_features, unpack_graphs

FIELDS = ("offsets", "indptr", "indices", "weights", "labels", "edge_labels", "node_scale", "self_loops")
RNG = np.random.default_rng(3)


def _rich(**options) -> list[Graph]:
    edges = [(0, 1), (1, 2), (0, 3)]
    return [
        Graph.from_edges(edges, 5, **{k: v(5) for k, v in options.items()}),
        Graph.from_edges(edges[:1], 2, **{k: v(2) for k, v in options.items()}),
    ]


def _sparse(n: int):
    return sparse.csr_array(np.eye(n, 40, 7))


def _unsorted(n: int):
    """Columns out of order, one of them twice, and a zero that is stored: what SciPy allows."""
    return sparse.csr_array((np.array([1.0, 2.0, 3.0, 0.0]), [5, 2, 5, 1], [0, 3, 4] + [4] * (n - 2)), shape=(n, 6))


NO_NODES = Graph.from_edges([], 0)
BATCHES = {
    **{name: GraphBatch.from_graphs(graphs) for name, graphs in FAMILIES.items()},
    "no graphs": GraphBatch.from_graphs([]),
    "graphs without nodes": GraphBatch.from_graphs([NO_NODES, NO_NODES]),
    "no nodes, with a width": GraphBatch.from_graphs([Graph.from_edges([], 0, np.zeros((0, 4)))]),
    "no nodes, with a sparse width": GraphBatch.from_graphs([Graph.from_edges([], 0, sparse.csr_array((0, 4)))]),
    "nodes among none": GraphBatch.from_graphs([NO_NODES, *_rich(), NO_NODES]),
    "strings": GraphBatch.from_graphs(_rich(labels=lambda n: ["C", "Cl", "é", "", "N"][:n])),
    "two labels": GraphBatch.from_graphs(_rich(labels=lambda n: np.arange(2 * n).reshape(n, 2))),
    "edge labels": GraphBatch.from_graphs(
        [Graph.from_edges([(0, 1), (1, 2)], 3, edge_labels=[4, -7], weights=[0.5, -2.0])]
    ),
    "node scales": GraphBatch.from_graphs(_rich(node_scale=lambda n: np.linspace(0.0, 2.0, n))),
    "self loops": GraphBatch.from_graphs([Graph(np.eye(3)), Graph(np.ones((2, 2)))]),
    "sparse": GraphBatch.from_graphs(_rich(features=_sparse)),
    "unsorted sparse": GraphBatch.from_graphs(_rich(features=_unsorted)),
    "everything": GraphBatch.from_graphs(
        [
            Graph.from_edges(
                [(0, 1), (2, 1)],
                3,
                RNG.random((3, 2)),
                weights=[2.0, 3.0],
                labels=[1, 2, 3],
                edge_labels=[5, 6],
                node_scale=[0.0, 1.0, 2.5],
            )
        ]
    ),
    "a slice": GraphBatch.from_graphs(_rich(features=_sparse) + _rich(features=_sparse))[1:3],
    "a choice": GraphBatch.from_graphs(_rich(features=lambda n: RNG.random((n, 3))))[[1, 1, 0]],
    "MUTAG": datasets.load("MUTAG").graphs,
}


def same(a, b) -> bool:
    if a is None or b is None:
        return a is b
    return a.dtype == b.dtype and a.shape == b.shape and np.array_equal(a, b)


def same_batch(a: GraphBatch, b: GraphBatch) -> bool:
    if sparse.issparse(a.features) != sparse.issparse(b.features):
        return False
    if sparse.issparse(a.features):
        features = a.features.shape == b.features.shape and all(
            same(getattr(a.features, part), getattr(b.features, part)) for part in ("data", "indices", "indptr")
        )
    else:
        features = same(a.features, b.features)
    return features and all(same(getattr(a, name), getattr(b, name)) for name in FIELDS)


def same_step(a: NodeFeatures, b: NodeFeatures) -> bool:
    return (
        (a.kind, a.kind_, a.width_) == (b.kind, b.kind_, b.width_)
        and len(a.categories_) == len(b.categories_)
        and len(a.columns_) == len(b.columns_)
        and all(same(x, y) for x, y in zip(a.categories_ + a.columns_, b.categories_ + b.columns_, strict=True))
    )


@pytest.mark.parametrize("name", BATCHES)
def test_graphs_round_trip_exactly(tmp_path, name):
    batch = BATCHES[name]
    packed = pack_graphs(batch)
    assert all(key.startswith("graphs.") for key in packed)
    assert same_batch(unpack_graphs(packed), batch)
    write_container(tmp_path / "a.fgntk", {}, {**packed, "other": np.zeros(2)})
    back = unpack_graphs(read_container(tmp_path / "a.fgntk")[1])
    assert same_batch(back, batch)
    assert not back.indices.flags.writeable


def test_packing_shares_memory():
    batch = BATCHES["everything"]
    packed = pack_graphs(batch)
    assert all(np.shares_memory(packed[f"graphs.{name}"], getattr(batch, name)) for name in (*FIELDS, "features"))


def test_batch_that_could_not_be_read_is_not_packed():
    batch = BATCHES["everything"]
    narrow = GraphBatch(**{**vars(batch), "features": batch.features.astype(np.float32)})
    with pytest.raises(
        InputError, match=r"these graphs cannot be saved: the array graphs\.features must have dtype flo"
    ):
        pack_graphs(narrow)


def _change(name: str, place, value):
    def change(arrays):
        arrays[name] = arrays[name].copy()
        arrays[name][place] = value

    return change


def _put(name: str, make):
    def change(arrays):
        arrays[name] = make(arrays.get(name))

    return change


TWO_PATHS = GraphBatch.from_graphs(  # indptr 0 1 3 4 5 7 8, indices 1 0 2 1 1 0 2 1
    [
        Graph.from_edges(
            [(0, 1), (1, 2)],
            3,
            np.ones((3, 2)),
            weights=[2.0, 3.0],
            labels=[1, 2, 3],
            edge_labels=[5, 6],
            node_scale=[1.0, 0.0, 2.0],
        )
    ]
    * 2
)
LOW, HIGH = np.iinfo(np.int64).min, np.iinfo(np.int64).max


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (_change("graphs.offsets", 0, 1), r"offsets must start at 0 and be non-decreasing"),
        (_change("graphs.offsets", 0, -1), r"offsets must start at 0 and be non-decreasing"),
        (_change("graphs.offsets", 1, 7), r"offsets must start at 0 and be non-decreasing"),
        (_change("graphs.offsets", 1, LOW), r"offsets must start at 0 and be non-decreasing"),
        (_change("graphs.offsets", 2, 5), r"indptr must have dtype int64 and shape \(6\)"),
        (_change("graphs.offsets", 2, HIGH), r"indptr must have dtype int64 and shape \(9223372036854775808\)"),
        # differences that overflow: each is 0 or more in 64 bits
        (_put("graphs.offsets", lambda a: np.array([0, HIGH, LOW, -1, 6])), r"offsets must start at 0 and be non-"),
        (_put("graphs.offsets", lambda a: a[:0]), r"offsets must start at 0"),
        (_put("graphs.offsets", lambda a: a.astype(np.int32)), r"offsets must have dtype int64 and shape \(any\)"),
        (_put("graphs.offsets", lambda a: a.astype(float)), r"offsets must have dtype int64"),
        (_put("graphs.offsets", lambda a: a.astype(">i8")), r"offsets must have dtype int64"),
        (_put("graphs.offsets", lambda a: a[:, None]), r"offsets must have dtype int64 and shape \(any\)"),
        (_put("graphs.offsets", lambda a: a.tolist()), r"offsets must have dtype int64"),
        (_change("graphs.indptr", 0, 1), r"indptr must start at 0 and be non-decreasing"),
        (_change("graphs.indptr", 2, 0), r"indptr must start at 0 and be non-decreasing"),
        (_change("graphs.indptr", 2, HIGH), r"indptr must start at 0 and be non-decreasing"),
        (_change("graphs.indptr", 6, 9), r"indices must have dtype int32 and shape \(9\)"),
        (_change("graphs.indptr", 6, 7), r"indices must have dtype int32 and shape \(7\)"),
        (_put("graphs.indptr", lambda a: a[:-1]), r"indptr must have dtype int64 and shape \(7\)"),
        (_change("graphs.indices", 0, 3), r"indices points outside of its graph"),
        (_change("graphs.indices", 7, 3), r"indices points outside of its graph"),
        (_change("graphs.indices", 4, -1), r"indices points outside of its graph"),
        (_change("graphs.indices", 4, 2**31 - 1), r"indices points outside of its graph"),
        (_change("graphs.indices", 0, 0), r"indices must not hold self loops"),
        (_change("graphs.indices", 7, 2), r"indices must not hold self loops"),
        (_change("graphs.indices", slice(1, 3), [2, 0]), r"indices must list the neighbours of each node in order"),
        (_change("graphs.indices", slice(5, 7), [2, 2]), r"indices must list the neighbours of each node in order"),
        (_put("graphs.indices", lambda a: a.astype(np.int64)), r"indices must have dtype int32"),
        (_change("graphs.self_loops", 1, -1), r"self_loops must not hold numbers below 0"),
        (_put("graphs.self_loops", lambda a: a[:-1]), r"self_loops must have dtype int64 and shape \(2\)"),
        (_change("graphs.weights", 3, np.nan), r"weights must hold finite numbers"),
        (_change("graphs.weights", 3, -np.inf), r"weights must hold finite numbers"),
        (_put("graphs.weights", lambda a: a[:-1]), r"weights must have dtype float64 and shape \(8\)"),
        (_put("graphs.weights", lambda a: a.astype(np.float32)), r"weights must have dtype float64"),
        (_put("graphs.edge_labels", lambda a: a[:-1]), r"edge_labels must have dtype int64 or str and shape \(8\)"),
        (_put("graphs.edge_labels", lambda a: a * 1.0), r"edge_labels must have dtype int64 or str"),
        (_put("graphs.node_scale", lambda a: a[:-1]), r"node_scale must have dtype float64 and shape \(6\)"),
        (_change("graphs.node_scale", 1, -0.5), r"node_scale must not hold numbers below 0"),
        (_change("graphs.node_scale", 1, np.inf), r"node_scale must hold finite numbers"),
        (_put("graphs.labels", lambda a: a[:-1]), r"labels must have dtype int64 or str and shape \(6\)"),
        (_put("graphs.labels", lambda a: a * 1.0), r"labels must have dtype int64 or str"),
        (_put("graphs.labels", lambda a: a[:, None, None]), r"labels must have dtype int64 or str"),
        (_change("graphs.features", (5, 1), np.nan), r"features must hold finite numbers"),
        (_put("graphs.features", lambda a: a[:-1]), r"features must have dtype float64 and shape \(6, any\)"),
        (_put("graphs.features", lambda a: a[:, 0]), r"features must have dtype float64 and shape \(6, any\)"),
        (_put("graphs.features", lambda a: a.astype(int)), r"features must have dtype float64"),
        (_put("graphs.features.data", lambda _: np.zeros(3)), r"features is given both dense and sparse"),
        (_put("graphs.more", lambda _: np.zeros(3)), r"more does not belong to a batch"),
        *((lambda a, n=n: a.pop(f"graphs.{n}"), f"{n} must .* but is missing") for n in FIELDS[:3] + FIELDS[-1:]),
    ],
)  # fmt: skip
def test_inconsistent_graphs_are_refused(change, words):
    arrays = dict(pack_graphs(TWO_PATHS))
    change(arrays)
    with pytest.raises(InputError, match=rf"^the array graphs\.{words}"):
        unpack_graphs(arrays)


def test_last_row_is_checked_after_a_node_without_neighbours():
    arrays = dict(pack_graphs(GraphBatch.from_graphs([Graph.from_edges([(1, 3), (2, 3)], 4)])))
    assert arrays["graphs.indptr"].tolist() == [0, 0, 1, 2, 4]
    arrays["graphs.indices"] = np.array([3, 3, 2, 1], dtype=np.int32)
    with pytest.raises(InputError, match=r"graphs\.indices must list the neighbours of each node in order"):
        unpack_graphs(arrays)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (_change("graphs.features.indices", 0, 40), r"features\.indices must lie in 0\.\.39"),
        (_change("graphs.features.indices", 6, -1), r"features\.indices must lie in 0\.\.39"),
        (_change("graphs.features.indptr", 0, 1), r"features\.indptr must start at 0 and be non-decreasing"),
        (_change("graphs.features.indptr", 3, 1), r"features\.indptr must start at 0 and be non-decreasing"),
        (_change("graphs.features.indptr", 7, 9), r"features\.indices must have dtype int32 and shape \(9\)"),
        (_put("graphs.features.indptr", lambda a: a[:-1]), r"features\.indptr must have .* and shape \(8\)"),
        (_put("graphs.features.indptr", lambda a: a.astype("i8")), r"features\.indices must have dtype int64"),
        (_put("graphs.features.indices", lambda a: a.astype("i8")), r"features\.indices must have dtype int32"),
        (_put("graphs.features.indices", lambda a: a.tolist()), r"features\.indices must have dtype int32"),
        (_change("graphs.features.data", 0, np.inf), r"features\.data must hold finite numbers"),
        (_put("graphs.features.data", lambda a: a[:-1]), r"features\.data must have dtype float64 and shape \(7\)"),
        (_put("graphs.features.data", lambda a: a.astype("f4")), r"features\.data must have dtype float64"),
        (_change("graphs.features.shape", 0, 6), r"features\.shape must be \(7, width\)"),
        (_change("graphs.features.shape", 1, 8), r"features\.indices must lie in 0\.\.7"),
        (_change("graphs.features.shape", 1, -1), r"features\.shape must be \(7, width\)"),
        (_change("graphs.features.shape", 1, 2**31), r"features\.shape must be \(7, width\)"),
        (_put("graphs.features.shape", lambda a: a[:1]), r"features\.shape must have dtype int64 and shape \(2\)"),
        (lambda a: a.pop("graphs.features.data"), r"features\.data must .* but is missing"),
        (lambda a: a.pop("graphs.features.shape"), r"features\.shape must .* but is missing"),
    ],
)  # fmt: skip
def test_inconsistent_sparse_features_are_refused(change, words):
    arrays = dict(pack_graphs(BATCHES["sparse"]))
    change(arrays)
    with pytest.raises(InputError, match=f"the array graphs.{words}"):
        unpack_graphs(arrays)


def test_width_without_rows_is_limited():
    """An array without rows takes no bytes at any width."""
    arrays = dict(pack_graphs(BATCHES["no nodes, with a width"]))
    arrays["graphs.features"] = np.zeros((0, 2**31))
    with pytest.raises(InputError, match=r"graphs\.features must have at most 2147483647 columns"):
        unpack_graphs(arrays)


def is_valid(batch: GraphBatch) -> bool:
    """Return, by loops over single numbers, whether compiled code may use a batch."""
    offsets, indptr, indices = batch.offsets.tolist(), batch.indptr.tolist(), batch.indices.tolist()
    if offsets[0] != 0 or indptr[0] != 0 or len(indptr) != offsets[-1] + 1 or indptr[-1] != len(indices):
        return False
    for low, high in itertools.pairwise(offsets):
        if high < low:
            return False
        for u in range(low, high):
            row = indices[indptr[u] : indptr[u + 1]]
            if indptr[u + 1] < indptr[u] or row != sorted(set(row)) or u - low in row:
                return False
            if any(not 0 <= v < high - low for v in row):
                return False
    if batch.features is None:
        return True
    if batch.features.shape[0] != offsets[-1]:
        return False
    if sparse.issparse(batch.features):
        rows = batch.features.indptr.tolist()
        return (
            rows == sorted(rows)
            and rows[0] == 0
            and rows[-1] == len(batch.features.indices) == len(batch.features.data)
            and all(0 <= column < batch.features.shape[1] for column in batch.features.indices.tolist())
        )
    return bool(np.isfinite(batch.features).all())


@pytest.mark.slow
@pytest.mark.parametrize("name", ["sparse", "everything", "nodes among none", "disconnected"])
def test_random_changes_give_a_valid_batch_or_an_error(name):
    rng = random.Random(11)
    original = pack_graphs(BATCHES[name])
    outcomes = {True: 0, False: 0}
    for _ in range(3000):
        arrays = dict(original)
        for _ in range(rng.choice((1, 1, 2, 3))):
            key = rng.choice(sorted(arrays))
            array = arrays[key].copy()
            if rng.random() < 0.15:
                array = array[: rng.randrange(len(array) + 1)]
            elif array.size:
                value = rng.choice((-1, 0, 1, 2, 3, 4, 5, 7, 2**31 - 1))
                array.flat[rng.randrange(array.size)] = value
            arrays[key] = array
        try:
            batch = unpack_graphs(arrays)
        except InputError:
            outcomes[False] += 1
        else:
            outcomes[True] += 1
            assert is_valid(batch)
    assert min(outcomes.values()) > 100


def test_unpacked_graphs_have_the_same_kernel():
    batch = BATCHES["MUTAG"][:20]
    for engine in ("lossless", "decoupled"):
        kernel = [
            gram(b, GNTK(blocks=2), compute=Compute(engine, n_jobs=1))
            for b in (batch, unpack_graphs(pack_graphs(batch)))
        ]
        assert np.array_equal(*kernel)


# Node features

STEPS = {
    "attributes": ("auto", BATCHES["continuous features"]),
    "named attributes": ("attributes", BATCHES["sparse"]),
    "integers": ("auto", BATCHES["path"]),
    "strings": ("labels", BATCHES["strings"]),
    "two labels": ("labels", BATCHES["two labels"]),
    "degree": ("degree", BATCHES["path"]),
    "degree by default": ("auto", BATCHES["without labels"]),
    "no nodes": ("auto", BATCHES["graphs without nodes"]),
    "no nodes, labels": ("labels", BATCHES["no graphs"]),
}


@pytest.mark.parametrize("name", STEPS)
@pytest.mark.parametrize("extended", [False, True])
def test_features_round_trip_exactly(tmp_path, name, extended):
    kind, batch = STEPS[name]
    step = NodeFeatures(kind).fit(batch[1:] if extended else batch)
    if extended:  # new labels sort between the known ones, and have the last columns
        step = step.extend(batch)
    document, arrays = pack_features(step)
    assert json.loads(json.dumps(document)) == document
    assert same_step(unpack_features(document, arrays), step)
    write_container(tmp_path / "a.fgntk", {"features": document}, {**arrays, **pack_graphs(batch)})
    stored, parts = read_container(tmp_path / "a.fgntk")
    back = unpack_features(stored["features"], parts)
    assert same_step(back, step)
    assert same_batch(back.transform(batch), step.transform(batch))


def test_unfitted_features_are_not_packed():
    with pytest.raises(InputError, match="not fitted; call fit"):
        pack_features(NodeFeatures())


GOOD = {"kind": "auto", "fitted_kind": "labels", "width": 3, "categories": 2}
COLUMNS = {
    "features.categories.0": np.array([1, 4]),
    "features.categories.1": np.array(["C"]),
    "features.columns.0": np.array([2, 0]),
    "features.columns.1": np.array([1]),
}


@pytest.mark.parametrize(
    ("changes", "columns", "words"),
    [
        ({"kind": "loud"}, {}, "kind' is missing or not one of auto, attributes, labels, all, degree"),
        ({"kind": None}, {}, "kind' is missing or not one of auto, attributes, labels, all, degree"),
        ({"kind": ["auto"]}, {}, "kind' is missing or not one of auto, attributes, labels, all, degree"),
        ({"fitted_kind": {}}, {}, "kind' is missing or not one of auto, attributes, labels, all, degree"),
        ({"fitted_kind": "auto"}, {}, "of kind 'auto' but were fitted as 'auto'"),
        ({"kind": "degree"}, {}, "of kind 'degree' but were fitted as 'labels'"),
        ({"fitted_kind": "degree"}, {}, "of kind degree cannot have 2 lists"),
        ({"fitted_kind": "attributes"}, {}, "of kind attributes cannot have 2 lists"),
        ({"width": 4}, {}, "do not fill 4 columns"),
        ({"width": 2**31 - 1}, {}, "do not fill 2147483647 columns"),  # without an array of that length
        ({"width": -1}, {}, "'width' is missing or not an integer"),
        ({"width": 3.0}, {}, "'width' is missing or not an integer"),
        ({"width": True}, {}, "'width' is missing or not an integer"),
        ({"width": None}, {}, "'width' is missing or not an integer"),
        ({"width": 2**31}, {}, "'width' is missing or not an integer"),
        ({"categories": 1}, {}, "do not match the number of categories of the node features"),
        ({"categories": 10**12}, {}, "do not match the number of categories of the node features"),
        ({"categories": 2.0}, {}, "'categories' is missing or not a number of arrays"),
        ({"categories": None}, {}, "'categories' is missing or not a number of arrays"),
        (
            {"categories": 3},
            {"features.categories.x": np.zeros(0, int)},
            "do not match the number of categories of the node features",
        ),
        ({}, {"features.columns.2": np.array([1])}, "do not match the number of categories of the node features"),
        ({}, {"features.columns.0": np.array([0, 1])}, "do not fill 3 columns"),
        ({}, {"features.columns.0": np.array([0, 3])}, "do not fill 3 columns"),
        ({}, {"features.columns.0": np.array([0, -1])}, "do not fill 3 columns"),
        ({}, {"features.columns.0": np.array([0, HIGH])}, "do not fill 3 columns"),
        ({}, {"features.columns.0": np.array([0])}, r"columns\.0 must have dtype int64 and shape \(2\)"),
        ({}, {"features.columns.0": np.array([2.0, 0.0])}, r"columns\.0 must have dtype int64 and shape \(2\)"),
        ({}, {"features.columns.0": [2, 0]}, r"columns\.0 must have dtype int64 and shape \(2\)"),
        ({}, {"features.categories.0": np.array([4, 1])}, r"categories\.0 must hold .* in order"),
        ({}, {"features.categories.0": np.array([4, 4])}, r"categories\.0 must hold .* each once"),
        ({}, {"features.categories.0": np.array([1.0, 4.0])}, r"categories\.0 must have dtype int64 or str"),
        ({}, {"features.categories.0": np.array([[1, 4]])}, r"categories\.0 must have .* shape \(any\)"),
        ({}, {"features.categories.0": [1, 4]}, r"categories\.0 must have dtype int64 or str"),
    ],
)
def test_inconsistent_features_are_refused(changes, columns, words):
    with pytest.raises(InputError, match=words):
        unpack_features({**GOOD, **changes}, {**COLUMNS, **columns})
    assert unpack_features(GOOD, COLUMNS).width_ == 3


@pytest.mark.parametrize("column", [np.array([-1, 2]), np.array(["1", "2"])])
def test_invalid_degrees_are_refused(column):
    document = {"kind": "auto", "fitted_kind": "degree", "width": 2, "categories": 1}
    places = {"features.columns.0": np.arange(2)}
    with pytest.raises(InputError, match=r"categories\.0 must"):
        unpack_features(document, {"features.categories.0": column, **places})
    assert unpack_features(document, {"features.categories.0": np.array([0, 2]), **places}).width_ == 2


@pytest.mark.parametrize("document", [None, [], "labels", {}])
def test_features_without_a_document_are_refused(document):
    with pytest.raises(InputError, match=r"its node features must be described|its entry 'kind' is missing"):
        unpack_features(document, {})
