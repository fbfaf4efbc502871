"""A map of MUTAG: two coordinates for each molecule, by kernel PCA, coloured by class."""

from __future__ import annotations

import numpy as np
from _style import BLUE, ORANGE, plt, save

import fastgntk as fg

data = fg.datasets.load("MUTAG")
kernel = fg.GNTK(blocks=3, layers=2, scale="degree").normalized()
K = fg.gram(data.graphs, kernel, compute=fg.Compute(n_jobs=1))
centred = K - K.mean(axis=0) - K.mean(axis=1)[:, None] + K.mean()
values, vectors = np.linalg.eigh(centred)
share = values[::-1][:2] / values.sum()
at = vectors[:, ::-1][:, :2] * np.sqrt(values[::-1][:2])
at *= np.sign((at**3).sum(axis=0))  # eigenvectors have no sign of their own; the longer tail points to the right and up

figure, axes = plt.subplots(figsize=(5.8, 4.2), layout="constrained")
for y, colour, mark, name in ((1, ORANGE, "o", "mutagenic"), (-1, BLUE, "s", "not mutagenic")):
    which = data.y == y
    axes.scatter(
        *at[which].T, s=26, color=colour, marker=mark, alpha=0.75, linewidth=0, label=f"{name} ({which.sum()})"
    )
axes.set_xlabel(f"first direction ({100 * share[0]:.0f} % of the variance)")
axes.set_ylabel(f"second direction ({100 * share[1]:.0f} %)")
axes.set_xticks([])
axes.set_yticks([])
axes.legend(frameon=False, loc="best", handletextpad=0.2)
save(figure, "mutag_map")
