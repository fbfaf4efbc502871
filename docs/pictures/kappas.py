"""κ0 and κ1: what a ReLU layer makes of the cosine of two nodes."""

from __future__ import annotations

import numpy as np
from _style import BLUE, GREY, ORANGE, plt, save

from fastgntk.engines import kappa0, kappa1

cosine = np.cos(np.linspace(np.pi, 0.0, 121))  # closer together at both ends, where the curves are steep
figure, axes = plt.subplots(figsize=(6.2, 3.7), layout="constrained")
axes.plot(cosine, cosine, color=GREY, linestyle=":", linewidth=1.2)
axes.plot(cosine, kappa1(cosine), color=BLUE, linewidth=2.2)
axes.plot(cosine, kappa0(cosine), color=ORANGE, linewidth=2.2)
axes.text(
    0.02,
    0.60,
    "κ0: of the units that one node\nswitches on, the share that\nthe other switches on too",
    color=ORANGE,
    ha="right",
    fontsize=9.5,
)
axes.annotate(
    "κ1: the cosine after the layer,\nnever below the one before (dotted)",
    (0.15, float(kappa1(0.15))),
    (0.30, 0.13),
    color=BLUE,
    ha="left",
    va="center",
    fontsize=9.5,
    arrowprops={"arrowstyle": "-", "color": BLUE, "linewidth": 0.8, "shrinkB": 2},
)
axes.set(xlim=(-1.03, 1.06), ylim=(-0.03, 1.05), xlabel="λ, the cosine of two nodes before the layer")
axes.set_xticks([-1, -0.5, 0, 0.5, 1], ["−1\nopposite", "−0.5", "0\nunrelated", "0.5", "1\nequal"])
axes.set_yticks([0, 1 / np.pi, 0.5, 1], ["0", "1/π", "½", "1"])
axes.grid(color="#eef1f4", linewidth=0.8)
axes.set_axisbelow(True)
save(figure, "kappas")
