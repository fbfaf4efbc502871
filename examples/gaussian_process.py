"""A Gaussian process of scikit-learn on graphs: the number of nodes of a molecule, and its standard deviation.

Scale and noise are optimised around the kernel; its matrix is computed once.
"""

import numpy as np
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import ConstantKernel, WhiteKernel

import fastgntk as fg
from fastgntk.compat.sklearn_gp import ProcessKernel

graphs = fg.datasets.load("MUTAG").graphs
order = np.random.default_rng(0).permutation(len(graphs))
train, test = graphs[order[:150]], graphs[order[150:]]

kernel = ConstantKernel(100.0) * ProcessKernel(fg.GNTK(blocks=2).normalized()) + WhiteKernel(0.1)
model = GaussianProcessRegressor(kernel, normalize_y=True, n_restarts_optimizer=2, random_state=0)
model.fit(train, train.sizes)

mean, std = model.predict(test, return_std=True)
within = np.abs(mean - test.sizes) < 2 * std
print("kernel:", model.kernel_)
print(f"mean error: {np.abs(mean - test.sizes).mean():.2f} nodes, {100 * within.mean():.0f} % within two deviations")
