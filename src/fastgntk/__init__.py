"""Graph Neural Tangent Kernels, exact and fast.

>>> import fastgntk as fg
>>> data = fg.datasets.load("MUTAG")
>>> K = fg.gram(data.graphs[:10], fg.GNTK(blocks=2))
>>> K.shape
(10, 10)

Names are imported when they are first used, so that ``import fastgntk`` stays quick; ``__init__.pyi`` lists them.
"""

from fastgntk._util.lazy import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)
