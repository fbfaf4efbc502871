"""An explanation: the contributions of the atoms of a molecule to its predicted boiling point."""

from __future__ import annotations

from _style import folder

import fastgntk as fg
from fastgntk.plotting import draw_attribution

# The table of docs/molecules.md: boiling points in degrees Celsius.
BOILING = """CO 64.7, CCO 78.2, CCCO 97.2, CCCCO 117.7, CCCCCO 138, CCCCCCO 157, CC(C)O 82.3, CC(C)CO 107.9,
CC(O)CC 99.5, CC -88.6, CCC -42.1, CCCC -0.5, CCCCC 36.1, CCCCCC 68.7, CC(C)C -11.7, CC(C)(C)C 9.5,
C1CCCC1 49.2, C1CCCCC1 80.7"""
rows = [row.split() for row in BOILING.split(",")]
model = fg.GraphRegressor(fg.GNTK(blocks=2, layers=1), alpha=1e-3, compute=fg.Compute(n_jobs=1))
model.fit([smiles for smiles, _ in rows], [float(celsius) for _, celsius in rows])

new = "CC(C)CCO"
graph = fg.as_graphs([new])[0]
why = model.explain(graph)
draw_attribution(
    graph,
    why.node_contributions,
    folder() / "explanation.svg",
    smiles=new,
    title="Boiling point of 3-methyl-1-butanol, by atom",
    caption=f"predicted {why.prediction:.0f} °C = {why.intercept:.0f} °C + the contributions of the six atoms",
    unit="°C",
    width=5.2,
)
