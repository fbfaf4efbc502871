"""Synthetic report data for tests of the page, from a seed."""

from __future__ import annotations

import base64
import itertools
import math

import numpy as np

from fastgntk.report._schema import Drawing, GraphData, HeatMap, Map, ReportData, Score, Surface

NODE_LABELS = ["C", "N", "O", "F", "I", "Cl", "Br"]
CLASS_NAMES = {
    2: ["not mutagenic", "mutagenic"],
    3: ["High Energy", "Condensed Matter", "Astro"],
}


def sample_classification(graphs: int = 188, classes: int = 2, *, nodes: int = 18, seed: int = 0) -> ReportData:
    """Return a classification report with all optional data."""
    rng = np.random.default_rng(seed)
    names = CLASS_NAMES.get(classes, [f"family {i + 1} of proteins" for i in range(classes)])
    truth = np.sort(rng.integers(0, classes, graphs))
    predicted = np.where(rng.random(graphs) < 0.89, truth, rng.integers(0, classes, graphs))
    confusion = np.zeros((classes, classes), dtype=np.int64)
    np.add.at(confusion, (truth, predicted), 1)
    found: list[GraphData] = []
    for i in range(graphs):
        drawing = _molecule(rng, nodes)
        probability = rng.dirichlet(np.ones(classes))
        largest = int(probability.argmax())
        probability[[largest, predicted[i]]] = probability[[predicted[i], largest]]
        found.append(
            {
                "name": f"{i}",
                "truth": int(truth[i]),
                "predicted": int(predicted[i]),
                "probability": probability.tolist(),
                "neighbours": _near(rng, i, graphs),
                "nodes": drawing["nodes"],
                "edges": len(drawing["edges"]) // 2,
                "drawing": drawing,
            }
        )
    folds = np.round(rng.normal(89.4, 4.5, 10), 2)
    score: Score = {
        "name": "accuracy",
        "unit": "%",
        "mean": float(folds.mean()),
        "std": float(folds.std()),
        "folds": folds.tolist(),
        "lower_is_better": False,
        "baselines": [
            {
                "name": "GNTK, Du et al. 2019",
                "mean": 90.0,
                "std": 8.5,
                "note": "published; the best options on the test folds",
            },
            {
                "name": "GIN, Xu et al. 2019",
                "mean": 89.4,
                "std": 5.6,
                "note": "published; the best epoch over all folds",
            },
            {"name": "Always the most frequent class", "mean": 66.5},
        ],
        "protocol": "10-fold cross-validation; options chosen inside each training part, never on the test fold.",
    }
    report: ReportData = {
        **_common(rng, graphs, nodes, truth, names),
        "title": f"MUTAG-like set of {graphs} graphs",
        "kind": "classification",
        "summary": "89.4 % of unseen graphs were assigned to the right one of 2 classes. Baselines: most frequent "
        "class 66.5 %.",
        "score": score,
        "classes": names,
        "confusion": confusion.tolist(),
        "calibration": [
            {"predicted": s, "observed": w, "low": max(0.0, w - e), "high": min(1.0, w + e), "count": n}
            for s, w, e, n in [
                (0.55, 0.5, 0.2, 12),
                (0.66, 0.71, 0.15, 20),
                (0.75, 0.77, 0.12, 27),
                (0.86, 0.84, 0.09, 45),
                (0.96, 0.95, 0.05, 84),
            ]
        ],
        "calibration_note": "Probabilities are those of the held-out folds. Bars are 95 per cent intervals.",
        "surface": _surface(rng),
        "graphs": found,
    }
    return report


def sample_regression(graphs: int = 300, *, nodes: int = 14, seed: int = 0) -> ReportData:
    """Return a regression report."""
    rng = np.random.default_rng(seed)
    truth = np.sort(rng.normal(-3.0, 2.0, graphs))
    found: list[GraphData] = []
    for i in range(graphs):
        drawing = _molecule(rng, nodes)
        mean, half = float(truth[i] + rng.normal(0, 0.6)), float(rng.uniform(0.8, 1.4))
        found.append(
            {
                "name": f"molecule {i}",
                "truth": float(truth[i]),
                "predicted": {"mean": mean, "low": mean - half, "high": mean + half},
                "neighbours": _near(rng, i, graphs),
                "nodes": drawing["nodes"],
                "edges": len(drawing["edges"]) // 2,
                "drawing": drawing,
            }
        )
    folds = np.round(rng.normal(0.62, 0.05, 10), 4)
    report: ReportData = {
        **_common(rng, graphs, nodes, np.arange(graphs) * 4 // graphs, [f"cluster {i + 1}" for i in range(4)]),
        "title": "Solubility of small molecules",
        "kind": "regression",
        "summary": "Predictions of unseen molecules miss the measured solubility by 0.62 log mol/L on average.",
        "score": {
            "name": "root mean squared error",
            "unit": "log mol/L",
            "mean": float(folds.mean()),
            "std": float(folds.std()),
            "folds": folds.tolist(),
            "lower_is_better": True,
            "baselines": [
                {"name": "Always the mean", "mean": 2.1},
                {"name": "Random forest on fingerprints", "mean": 1.1, "std": 0.1},
            ],
            "protocol": "10-fold cross-validation; options chosen inside each training part.",
        },
        "target": "solubility",
        "calibration": [
            {"predicted": q, "observed": q - 0.04, "low": q - 0.09, "high": q + 0.01, "count": graphs}
            for q in (0.1, 0.3, 0.5, 0.7, 0.9, 0.95)
        ],
        "graphs": found,
    }
    return report


def minimal_report(graphs: int = 1, kind: str = "classification") -> ReportData:
    """Return a report with required keys only."""
    report: ReportData = {
        "title": "Bare",
        "kind": "classification",
        "summary": "",
        "command": "",
        "run": [],
        "stages": [],
        "score": {
            "name": "accuracy",
            "unit": "%",
            "mean": 50.0,
            "folds": [],
            "lower_is_better": False,
            "baselines": [],
            "protocol": "",
        },
        "warnings": [],
        "maps": [{"name": "Plane", "note": "", "x": [0.0] * graphs, "y": [0.0] * graphs}],
        "node_labels": [],
        "graphs": [{"name": str(i), "truth": 0, "nodes": 0, "edges": 0} for i in range(graphs)],
    }
    if kind == "regression":
        report["kind"] = "regression"
    else:
        report["classes"] = ["only"]
    return report


def _common(rng: np.random.Generator, graphs: int, nodes: int, groups: np.ndarray, names: list[str]) -> ReportData:
    angle = groups * (2 * math.pi / max(len(names), 1)) + 0.5
    radius = 1 + 0.25 * (groups % 3)
    maps: list[Map] = []
    for name, note, spread in (
        ("Principal axes", "Distances are those of the kernel, as far as two axes keep them.", 0.45),
        (
            "Neighbours",
            "Nearest neighbours are close together; distances between groups mean little.",
            0.2,
        ),
    ):
        x = radius * np.cos(angle) + spread * rng.standard_normal(graphs)
        y = 0.7 * radius * np.sin(angle) + spread * rng.standard_normal(graphs)
        maps.append({"name": name, "note": note, "x": np.round(x, 4).tolist(), "y": np.round(y, 4).tolist()})
    total = graphs * nodes
    return {
        "title": "",
        "kind": "classification",
        "summary": "",
        "command": "fastgntk evaluate MUTAG --folds 10 --report report.html",
        "run": [
            ("Data", f"MUTAG, {graphs} graphs, fingerprint 5f0c1e7a"),
            ("Blocks", "1 to 10"),
            ("Layers", "1 to 3"),
            ("Scale", "uniform, degree"),
            ("Engine", "lossless: fewest distinct pairs"),
            ("Version", "fastgntk 0.2.0"),
            ("Date", "16 November 2026, 17:42"),
        ],
        "stages": [
            ("Reading", 0.03),
            ("Kernel matrices", 1.4),
            ("Choice of options", 2.7),
            ("Contributions of nodes", 0.6),
        ],
        "score": {
            "name": "",
            "unit": "",
            "mean": 0.0,
            "folds": [],
            "lower_is_better": False,
            "baselines": [],
            "protocol": "",
        },
        "warnings": ["Four graphs occur twice: a copy in the test fold is easy. Without them the score is 88.9 %."],
        "heat_map": _heat_map(rng, groups, names),
        "maps": maps,
        "node_labels": NODE_LABELS,
        "graphs": [],
        "compression": {
            "nodes": total,
            "distinct": [max(1, int(total * part)) for part in (0.008, 0.05, 0.17, 0.35, 0.41)],
        },
        "speed": {"seconds": 0.14, "baseline": 96.0, "baseline_name": "the original script", "measured": False},
    }


def _heat_map(rng: np.random.Generator, groups: np.ndarray, names: list[str]) -> HeatMap:
    size = min(len(groups), 400)
    rows = np.sort(groups)[np.linspace(0, len(groups) - 1, size).round().astype(int)]
    similarity = 0.55 + 0.25 * (rows[:, None] == rows[None, :]) + 0.05 * rng.standard_normal((size, size))
    similarity = (similarity + similarity.T) / 2
    np.fill_diagonal(similarity, 1.0)
    edges = np.searchsorted(rows, np.arange(len(names) + 1))
    return {
        "size": size,
        "values": base64.b64encode(np.clip((similarity - 0.3) / 0.7 * 255, 0, 255).astype(np.uint8).tobytes()).decode(),
        "low": 0.3,
        "high": 1.0,
        "groups": [
            {"name": name, "start": int(a), "stop": int(b)}
            for name, (a, b) in zip(names, itertools.pairwise(edges), strict=True)
        ],
        "order": "Ordered by class, and within each class by similarity.",
    }


def _surface(rng: np.random.Generator) -> Surface:
    blocks, layers, scales = list(range(1, 9)), [1, 2, 3], ["uniform", "degree"]
    score = [
        [[round(90 - 0.4 * (b - 4) ** 2 - 1.5 * k - 2 * s + float(rng.normal()), 2) for b in blocks] for k in range(3)]
        for s in range(2)
    ]
    cells: list[list[list[float | None]]] = [[list(row) for row in plane] for plane in score]
    cells[1][2][7] = None
    return {
        "blocks": blocks,
        "layers": layers,
        "scale": scales,
        "score": cells,
        "chosen": [(4, 1, "uniform", 6), (5, 1, "uniform", 3), (3, 2, "uniform", 1)],
        "note": "The best over regularisation and readout, on inner folds: higher than unseen graphs will give.",
    }


def _near(rng: np.random.Generator, i: int, graphs: int) -> list[tuple[int, float]]:
    others = [int(j) for j in rng.integers(max(0, i - 20), min(graphs, i + 20), 5) if j != i]
    return [(j, round(0.99 - 0.02 * k, 3)) for k, j in enumerate(others)]


def _molecule(rng: np.random.Generator, nodes: int) -> Drawing:
    """Return fused rings of six with side chains, of about that many nodes."""
    edges: list[tuple[int, int]] = [(i, (i + 1) % 6) for i in range(6)]
    size, free = 6, [(i, (i + 1) % 6) for i in range(6)]
    while size + 4 <= nodes * 0.7 and rng.random() < 0.9:
        u, v = free.pop(int(rng.integers(1, len(free))))
        ring = [u, *range(size, size + 4), v]
        new = list(itertools.pairwise(ring))
        edges += new
        free = [each for each in free if not set(each) & {u, v}] + new[1:-1]
        size += 4
    wanted = int(rng.integers(max(size, nodes - 4), max(size, nodes) + 5))
    degree = np.bincount(np.array(edges).ravel(), minlength=size).tolist()
    while size < wanted:
        candidates = [i for i in range(size) if degree[i] < 3]
        u = candidates[int(rng.integers(len(candidates)))]
        edges.append((u, size))
        degree[u] += 1
        degree.append(1)
        size += 1
    labels = np.where(rng.random(size) < 0.75, 0, rng.integers(1, len(NODE_LABELS), size))
    return {
        "nodes": size,
        "edges": [int(node) for edge in edges for node in edge],
        "labels": labels.tolist(),
        "contributions": np.round(rng.normal(0.02, 0.06, size), 5).tolist(),
        "orders": [1.5 if u < 6 and v < 6 else 1.0 for u, v in edges],
    }
