"""Record SHA-256 digests of kernel values, predictions and features, to show that a refactoring changed no bit.

Run: python tools/fingerprints.py record before.json      (at the old revision)
     python tools/fingerprints.py compare before.json     (at the new revision, on the same machine)

Digests depend on the processor and on the versions of NumPy, SciPy and Numba, so two records are comparable only if
they come from one machine. The data sets are looked up as ``fastgntk.datasets.load`` does, in ``$FASTGNTK_DATA`` too.
"""

from __future__ import annotations

import hashlib
import json
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

import fastgntk as fg
from fastgntk import GNTK, Compute, Sketch
from fastgntk.engines import TangentFeatures
from fastgntk.selection import CrossValidation, Grid, Search

KERNELS = {
    "default": GNTK(),
    "degree": GNTK(blocks=2, layers=1, scale="degree", jump=False),
    "unit": GNTK(blocks=4, layers=2, scale="unit", jump=(0.5, 0, 1, 1, 2), c_phi=1.5),
}
SKETCHES = {
    "ams": Sketch("ams", size=0.4, seed=1),
    "srht": Sketch("srht", size=5, seed=2, fresh_each_block=True, sketch_features=True),
}
SETS = {"MUTAG": 188, "PTC": 344, "IMDB-BINARY": 400, "PROTEINS": 300}
SMILES = ["CC(=O)Oc1ccccc1C(=O)O", "CCO", "C#N", "c1ccccc1C=O", "CC(C)=CC", "N"]
ENGINES = {"lossless": 10_000, "decoupled": 60, "kronecker": 6}

GRID = Grid(blocks=(1, 2, 3), layers=(1, 2), scale=("uniform", "degree"), C=(1.0, 100.0))


def digest(*arrays: Any) -> str:
    """Return the SHA-256 of the bytes of some arrays, their shapes included."""
    total = hashlib.sha256()
    for array in arrays:
        values = np.ascontiguousarray(array)
        if values.dtype.kind in "UO":
            values = np.ascontiguousarray(values.astype(str))
        total.update(f"{values.dtype.str}{values.shape}".encode())
        total.update(values.tobytes())
    return total.hexdigest()


def matrices() -> Iterator[tuple[str, str]]:
    """Gram matrices of every engine, and the other functions of kernel values."""
    for name, count in SETS.items():
        graphs = fg.datasets.load(name).graphs[:count]
        for label, kernel in KERNELS.items():
            for engine, most in ENGINES.items():
                some = [g for g in graphs if g.n_nodes < 20] if engine == "kronecker" else graphs
                yield f"gram/{name}/{label}/{engine}", digest(fg.gram(some[:most], kernel, compute=Compute(engine)))
            for kind, sketch in SKETCHES.items():
                K = fg.gram(graphs[:100], replace(kernel, sketch=sketch))
                yield f"gram/{name}/{label}/sketched-{kind}", digest(K)
            yield f"gram/{name}/{label}/auto", digest(fg.gram(graphs[:40], kernel))
    graphs = fg.datasets.load("MUTAG").graphs
    for label, kernel in KERNELS.items():
        yield f"cross/{label}", digest(fg.cross_gram(graphs[:50], graphs[50:], kernel))
        yield f"prepared/{label}", digest(fg.cross_gram(graphs[:50], fg.prepare(graphs[50:], kernel)))
        yield f"diagonal/{label}", digest(fg.diagonal(graphs, kernel, compute=Compute("lossless")))
        yield f"nodes/{label}", digest(fg.node_gram(graphs[3], kernel))
        yield f"contributions/{label}", digest(fg.node_contributions(graphs[3], graphs[:60], kernel))
        yield f"path/{label}", digest(fg.gram_path(graphs, kernel, compute=Compute("lossless")).levels)
    typed, molecules = GNTK(edges="typed", blocks=2), fg.as_graphs(SMILES)
    for engine in ENGINES:
        yield f"gram/typed/{engine}", digest(fg.gram(molecules, typed, compute=Compute(engine)))
    yield "normalized", digest(fg.gram(graphs, GNTK().normalized()))
    with tempfile.TemporaryDirectory() as folder:
        stored = fg.gram(graphs, store=Path(folder) / "gram.zarr")
        yield "store/tiles", digest(stored.order, *(stored.tile(t) for t in stored.all_tiles()))


def classifiers() -> Iterator[tuple[str, str]]:
    """Predictions, probabilities and explanations of classifiers."""
    data = fg.datasets.load("MUTAG")
    train, test = data.graphs[:140], data.graphs[140:]
    models = {
        "svm": fg.GraphClassifier(GNTK(2).normalized(), C=100.0),
        "ridge": fg.GraphClassifier(GNTK(2), "ridge", alpha=1e-2),
        "sketched": fg.GraphClassifier(GNTK(2, sketch=SKETCHES["ams"])),
        "cv": fg.GraphClassifierCV(GRID),
    }
    for name, model in models.items():
        model.fit(train, data.y[:140])
        found = model.predict_details(test)
        yield f"classifier/{name}/review", digest(*found)
        yield f"classifier/{name}/proba", digest(model.predict_proba(test), model.decision_function(test))
        explained = model.explain(test[0])
        yield f"classifier/{name}/explain", digest(explained.node_by_training, explained.intercept)


def regressors() -> Iterator[tuple[str, str]]:
    """Predictions, intervals and explanations of regressors."""
    graphs = fg.datasets.load("PTC").graphs
    y = np.array([np.log1p(g.n_edges) * (1 + g.n_nodes % 3) for g in graphs])
    train, test = graphs[:250], graphs[250:]
    models = {
        "default": fg.GraphRegressor(),
        "normalized": fg.GraphRegressor(GNTK(2).normalized(), alpha=1e-2),
        "nystrom": fg.GraphRegressor(GNTK(2), solver="nystrom", n_components=60),
        "cg": fg.GraphRegressor(GNTK(2), solver="cg", n_components=60),
        "features": fg.GraphRegressor(GNTK(2), solver="features", n_components=128),
        "cv": fg.GraphRegressorCV(GRID, search=Search(depth_mode="mix")),
    }
    for name, model in models.items():
        model.fit(train, y[:250])
        yield f"regressor/{name}/review", digest(*model.predict_details(test))
        yield f"regressor/{name}/std", digest(*model.predict(test, return_std=True))
        explained = model.explain(test[0])
        yield f"regressor/{name}/explain", digest(explained.node_by_training, explained.intercept)
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "model.fgntk"
            model.save(path)
            yield f"regressor/{name}/loaded", digest(fg.load_model(path).predict(test))


def transformers() -> Iterator[tuple[str, str]]:
    """Features for linear models, node models and cross-validated scores."""
    data = fg.datasets.load("MUTAG")
    train, test = data.graphs[:140], data.graphs[140:]
    yield "transform/kernel", digest(fg.KernelTransformer(GNTK(2).normalized()).fit(train).transform(test))
    yield "transform/nystroem", digest(fg.Nystroem(GNTK(2), 40).fit(train, data.y[:140]).transform(test))
    yield "transform/random", digest(fg.RandomFeatures(GNTK(2), 128).fit(train).transform(test))
    batch = fg.NodeFeatures("labels").fit(train).transform(train)
    draws = TangentFeatures(GNTK(2), 64, batch.features.shape[1], types=0, seed=0)
    yield "random features", digest(draws(batch, np.float64))
    graph = fg.datasets.load("IMDB-BINARY").graphs[0]
    nodes = fg.NodeRegressor().fit(graph, graph.degrees.astype(float)[:10], nodes=np.arange(10))
    yield "nodes/regressor", digest(nodes.predict())
    found = fg.selection.evaluate(
        data.graphs, data.y, cv=CrossValidation(3, inner_repeats=1, n_finalists=len(GRID)), kernels=GRID
    )
    yield "evaluate", digest(np.array(found.accuracies), found.record.scores)


def fingerprints() -> dict[str, str]:
    """Return every digest by name."""
    out: dict[str, str] = {}
    for part in (matrices, classifiers, regressors, transformers):
        for name, value in part():
            print(f"{value[:12]}  {name}", flush=True)
            out[name] = value
    return out


def main() -> None:
    """Record digests, or compare with a record."""
    if len(sys.argv) != 3 or sys.argv[1] not in ("record", "compare"):
        sys.exit(__doc__)
    path = Path(sys.argv[2])
    found = fingerprints()
    if sys.argv[1] == "record":
        path.write_text(json.dumps(found, indent=1))
        return
    expected = json.loads(path.read_text())
    changed = [name for name in {**expected, **found} if expected.get(name) != found.get(name)]
    for name in changed:
        print(f"CHANGED: {name}")
    print(f"{len(found) - len(changed)} of {len(expected)} digests are equal")
    sys.exit(bool(changed))


if __name__ == "__main__":
    main()
