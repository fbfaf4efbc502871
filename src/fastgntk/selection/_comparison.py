"""Comparison of kernels by closed-form leave-one-out, all depths in one pass; weights of the levels.

Many kernels are compared on a sample of the graphs, and the best few again on three times as many: the time of an
eigendecomposition grows cubically with the number of graphs, but the precision of the comparison does not. Graphs that
no kernel can distinguish are computed once. Each kernel needs one eigendecomposition for any number of ridges.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve
from scipy.optimize import minimize

from fastgntk._util.arrays import Array, Ints
from fastgntk._util.threads import Progress, run_on_threads, single_threaded_blas
from fastgntk.engines import equal_descriptors, first_equal_graph, merge_first_equal
from fastgntk.errors import InputError
from fastgntk.graphs import FeatureKind, GraphBatch, NodeFeatures
from fastgntk.kernels import GNTK, DescriptorKernel, Kernel, Leaf, Network, Normalized, RefinementOptions, Sum
from fastgntk.models import KERNEL_CONSTANT
from fastgntk.pairwise import Compute, GramPath, gram_path, normalize, prepare_batch
from fastgntk.selection._grid import gram_from_paths, group_into_passes
from fastgntk.solvers import ChooseRidge, EigenPath

__all__ = ["Comparison", "KernelLoss", "is_single", "level_weights", "scale_progress", "subset"]

Advance = Callable[[float], None]
"""Called with the completed fraction of the work, 0 to 1."""

_SECOND_ROUND = 3  # times as many graphs as in the first
_MAX_MIXED = 3  # kernels whose levels are weighed

_JITTER = 1e-10  # fraction of the diagonal, added to the ridge
_INTERCEPT_VARIANCE = 10.0  # about the variance of all levels together
_BOUND = 14.0  # bound of the logarithms: weights and ridge stay within a factor of a million
_MIN_WEIGHT = 1e-3  # a level with less than this fraction of the largest weight is left out


@dataclass(frozen=True)
class KernelLoss:
    """A kernel with its best regularisation and its loss; lower is better."""

    kernel: Kernel
    alpha: float
    loss: float


@dataclass(frozen=True, eq=False)
class _Sample:
    """Graphs with targets; equal graphs are merged."""

    distinct: GraphBatch  # m graphs
    distinct_index: Ints  # (n,), the index of each graph among the distinct ones
    Y: Array  # (n, k), centred
    weights: Array | None  # (n,)

    def path(self, K: Array, normalized: bool) -> EigenPath:
        """Decompose the kernel matrix of the distinct graphs, scaled as in ridge regression."""
        if not normalized:
            K = K / (float(np.average(K.diagonal()[self.distinct_index], weights=self.weights)) or 1.0)
        return EigenPath(KERNEL_CONSTANT + K, self.distinct_index, weights=self.weights)


@dataclass(frozen=True, eq=False)
class Comparison:
    """Comparison of kernels on graphs with targets.

    ``choose_ridge`` returns the best of ``alphas`` for a kernel, and its loss. Up to ``n_screening_graphs`` graphs
    there is one round.
    """

    batch: GraphBatch
    Y: Array
    weights: Array | None
    alphas: Sequence[float]
    choose_ridge: ChooseRidge
    n_screening_graphs: int
    random_state: int
    compute: Compute

    def select(
        self, kernels: Sequence[Kernel], n_finalists: int, advance: Advance
    ) -> tuple[list[KernelLoss], list[KernelLoss]]:
        """Return the finalists, best first, and the loss of every kernel in the first round."""
        groups = self._group_equal_graphs(kernels)
        sample = subset(len(self.batch), self.Y, self.n_screening_graphs, self.random_state)
        two_rounds = len(sample) < len(self.batch)
        first_part = 0.5 if two_rounds else 1.0
        first = self._compute_losses(self._sample(groups, sample), kernels, lambda done: advance(first_part * done))
        # The sort is stable, so that the first of equal kernels wins.
        best = sorted(first, key=lambda result: result.loss)[:n_finalists]
        if two_rounds:
            larger = subset(len(self.batch), self.Y, _SECOND_ROUND * self.n_screening_graphs, self.random_state)
            ranked = [kernels.index(result.kernel) for result in best]
            again = [kernels[i] for group in group_into_passes(kernels) for i in ranked if i in group.members]
            second = self._compute_losses(self._sample(groups, larger), again, lambda done: advance(0.5 + 0.5 * done))
            best = sorted(second, key=lambda result: result.loss)
        return best, first

    def optimise_part_weights(self, kernels: Sequence[Kernel], advance: Advance) -> list[Kernel]:
        """Return the kernels, with weights on the parts of each sum that maximise the marginal likelihood.

        Sums that lose the parts in which they differ may become equal, and are returned once.
        """
        out = list(kernels)
        sums = [i for i, kernel in enumerate(kernels) if isinstance(kernel, Sum)]
        if not sums:
            return out
        chosen = subset(len(self.batch), self.Y, self.n_screening_graphs, self.random_state)
        sample = self._sample(self._group_equal_graphs([kernels[i] for i in sums]), chosen)
        passes = group_into_passes([kernels[i] for i in sums])
        pairs = np.ix_(sample.distinct_index, sample.distinct_index)
        for index, group in enumerate(passes):
            paths = group.compute(sample.distinct, self.compute.with_progress(None))

            def weigh(member: int, paths: list[GramPath] = paths) -> None:
                parts = summands(kernels[sums[member]])
                matrices = np.stack([gram_from_paths(part, paths)[pairs] for part in parts])
                out[sums[member]] = weighted_sum(parts, level_weights(matrices, sample.Y, normalized=False))

            def report(done: int, total: int, index: int = index) -> None:
                advance((index + done / total) / len(passes))

            with single_threaded_blas():
                run_on_threads(weigh, group.members, n_threads=self.compute.threads, progress=report)
        return list(dict.fromkeys(out))

    def optimise_level_weights(self, single: Sequence[KernelLoss], advance: Advance) -> KernelLoss:
        """Return the best kernel with weights on all levels, which maximise the marginal likelihood.

        All other options are those of the best tangent kernels among ``single``, normalised or not.
        """
        ranked = [result.kernel for result in sorted(single, key=lambda result: result.loss)]
        tangent = [kernel for kernel in ranked if is_single(kernel) and isinstance(kernel.leaves()[0], GNTK)]
        if not tangent:
            raise InputError(
                "depth_mode='mix' needs a single GNTK, normalised or not, but all kernels to try are combinations or "
                "of another kind; add one, or use depth_mode='best'."
            )
        depths: dict[Kernel, int] = {}  # the largest depth of each combination of other options
        for kernel in tangent:
            options = kernel.map_leaves(lambda leaf: leaf.with_all_levels(1))
            depths[options] = max(depths.get(options, 1), kernel.leaves()[0].depth)
        groups = self._group_equal_graphs(ranked)
        sample = self._sample(groups, subset(len(self.batch), self.Y, self.n_screening_graphs, self.random_state))
        mixed = []
        for options in list(depths)[:_MAX_MIXED]:
            mixed.append(self._mix_levels(options, depths[options], sample))
            advance(len(mixed) / min(_MAX_MIXED, len(depths)))
        return min(mixed, key=lambda result: result.loss)

    def _mix_levels(self, options: Kernel, depth: int, sample: _Sample) -> KernelLoss:
        deepest, normalized = options.leaves()[0].with_all_levels(depth), isinstance(options, Normalized)
        assert isinstance(deepest, GNTK)
        path = gram_path(sample.distinct, deepest, compute=self.compute.with_progress(None))
        with single_threaded_blas():  # matrices this small do not profit from threads, and suffer on a busy machine
            weights = level_weights(
                path.levels[:, sample.distinct_index[:, None], sample.distinct_index], sample.Y, normalized
            )
        blocks = max(1, int(np.flatnonzero(weights)[-1]))
        mixed = replace(deepest, blocks=blocks, jump=tuple(weights[: blocks + 1].tolist()))
        K = path.at_kernel(mixed)
        K = normalize(K) if normalized else K
        chosen = self.choose_ridge(sample.path(K, normalized), sample.Y, self.alphas)
        return KernelLoss(mixed.normalized() if normalized else mixed, *chosen)

    def _sample(self, groups: Ints, chosen: Ints) -> _Sample:
        _, first, index = np.unique(groups[chosen], return_index=True, return_inverse=True)
        # Distinct graphs are numbered by first occurrence: without equal graphs, their order is that of the graphs.
        order = np.argsort(first)
        first, index = first[order], np.argsort(order)[index]
        targets, weights = self.Y[chosen], None if self.weights is None else self.weights[chosen]
        centred = targets - np.average(targets, axis=0, weights=weights)
        return _Sample(self.batch[chosen[first]], np.asarray(index, dtype=np.int64), centred, weights)

    def _compute_losses(self, sample: _Sample, kernels: Sequence[Kernel], advance: Advance) -> list[KernelLoss]:
        """Compute losses pass by pass on threads: most time is spent in LAPACK, which releases the interpreter lock."""
        losses: dict[int, KernelLoss] = {}
        passes = group_into_passes(kernels)
        for index, group in enumerate(passes):
            paths = group.compute(sample.distinct, self.compute.with_progress(None))

            def compute_loss(i: int, paths: list[GramPath] = paths) -> None:
                kernel = kernels[i]
                path = sample.path(gram_from_paths(kernel, paths), isinstance(kernel, Normalized))
                losses[i] = KernelLoss(kernel, *self.choose_ridge(path, sample.Y, self.alphas))

            def report(done: int, total: int, index: int = index) -> None:
                advance((index + done / total) / len(passes))

            # A decomposition needs about seven matrices in addition to the levels.
            spare = self.compute.memory_budget - sum(path.levels.nbytes for path in paths)
            workers = min(self.compute.threads, max(1, spare // (7 * 8 * len(sample.distinct) ** 2 + 1)))
            with single_threaded_blas():
                run_on_threads(compute_loss, group.members, n_threads=workers, progress=report)
        return [losses[i] for i in range(len(kernels))]

    def _group_equal_graphs(self, kernels: Sequence[Kernel]) -> Ints:
        """Return for each graph the index of the first graph that no kernel distinguishes from it."""
        leaves = [leaf for kernel in kernels for leaf in kernel.leaves()]
        alike: dict[tuple[FeatureKind, float, bool], list[Network]] = {}  # what refinement cannot do for all at once
        for leaf in leaves:
            if isinstance(leaf, Network):
                alike.setdefault((leaf.features, leaf.self_weight, leaf.symmetric), []).append(leaf)
        blocks_used = dict.fromkeys(leaf.on for leaf in leaves if isinstance(leaf, DescriptorKernel))
        first_equal = [equal_descriptors(self.batch, name) for name in blocks_used]
        for (kind, self_weight, symmetric), networks in alike.items():
            featured = NodeFeatures(kind).fit_transform(self.batch)
            options = RefinementOptions(
                uses_edge_labels=any(leaf.uses_edge_labels for leaf in networks),
                uses_node_scale=any(leaf.uses_node_scale for leaf in networks),
                self_weight=self_weight,
                symmetric=symmetric,
                keep_features=any(leaf.has_residual for leaf in networks),
            )
            first_equal.append(first_equal_graph(featured, max(leaf.depth for leaf in networks), **options))
        subtree_kernels = [leaf for leaf in leaves if not isinstance(leaf, Network | DescriptorKernel)]
        for path in group_into_passes(subtree_kernels):  # each as deep as the deepest
            first_equal.append(prepare_batch(self.batch, path.paths[0], self.compute).first_equal_graph())
        return merge_first_equal(first_equal) if first_equal else np.arange(len(self.batch))


def summands(kernel: Kernel) -> list[Kernel]:
    """Return the parts of a sum, or the kernel itself.

    >>> summands(GNTK(1) + (GNTK(2) + 0.5 * GNTK()))
    [GNTK(blocks=1), GNTK(blocks=2), 0.5 * GNTK()]
    """
    return [*summands(kernel.k1), *summands(kernel.k2)] if isinstance(kernel, Sum) else [kernel]


def weighted_sum(parts: Sequence[Kernel], weights: Array) -> Kernel:
    """Return Σ weight · part, without the parts of weight 0; weights are rounded to four digits.

    >>> weighted_sum([GNTK(1), GNTK(2), GNTK()], np.array([0.0, 1.0, 0.123456]))
    GNTK(blocks=2) + 0.1235 * GNTK()
    """
    rounded = [(float(f"{weight:.4g}"), part) for weight, part in zip(weights, parts, strict=True) if weight > 0]
    terms = [part if weight == 1.0 else weight * part for weight, part in rounded]
    return sum(terms[1:], terms[0])


def is_single(kernel: Kernel) -> bool:
    """Return whether a kernel is a leaf, normalised or not, rather than a combination.

    >>> is_single(GNTK().normalized()), is_single(GNTK() * GNTK())
    (True, False)
    """
    return isinstance(kernel.kernel if isinstance(kernel, Normalized) else kernel, Leaf)


def subset(n: int, Y: Array, size: int, random_state: int) -> Ints:
    """Return sorted indices of a random sample, with a few more graphs if targets would be constant in it."""
    if n <= size:
        return np.arange(n)
    shuffled = np.random.default_rng(random_state).permutation(n)
    varied = np.ptp(Y[shuffled[:size]], axis=0) > 0
    extra = [int(np.argmax(Y[:, k] != Y[shuffled[0], k])) for k in np.flatnonzero(~varied)]
    return np.unique(np.concatenate([shuffled[:size], np.array(extra, dtype=np.int64)]))


def scale_progress(progress: Progress | None, start: float, stop: float) -> Advance:
    """Return a callback for the work between two fractions of ``progress(done, total)``."""
    if progress is None:
        return lambda fraction: None  # noqa: ARG005
    return lambda fraction: progress(round(1000 * (start + (stop - start) * fraction)), 1000)


def level_weights(levels: Array, Y: Array, normalized: bool) -> Array:
    """Return weights (L + 1,) for raw level kernels (L + 1, n, n) and centred targets (n, k), by marginal likelihood.

    With K(w) = Σ_l w_l K_l and A = K(w) + ρ I, for a Gaussian process of the best scale, the negative log likelihood of
    targets y is ½ n log(yᵀA⁻¹y) + ½ log |A| up to a constant. With α = A⁻¹y its differential is

        ⟨G, dA⟩,    G = ½ (A⁻¹ − n α αᵀ / yᵀα)

    averaged over targets if there are several. With normalisation, A contains s_i s_j K_ij, s_i = K_ii^(−½), instead
    of K, and ⟨G, d(sKs)⟩ = ⟨sGs, dK⟩ − Σ_i (dK_ii / K_ii) Σ_j G_ij s_i s_j K_ij.

    Weights are not negative; levels whose diagonal is 0 get weight 0. Each evaluation costs about n³ + L n².
    """
    sizes = np.einsum("lii->l", levels) / levels.shape[1]
    used = np.flatnonzero(sizes > 0)
    if not len(used) or not Y.any():
        return np.ones(len(levels))
    units = levels[used] / sizes[used, None, None]
    targets = Y[:, np.any(Y != 0, axis=0)]
    targets = targets / np.sqrt(np.mean(targets**2, axis=0))
    start = np.zeros(len(used) + 1)
    start[-1] = np.log(1e-2)
    arguments = (units, targets, normalized)
    bounds = [(-_BOUND, _BOUND)] * len(start)
    minimum = minimize(_objective, start, arguments, "L-BFGS-B", jac=True, bounds=bounds, options={"maxiter": 60})
    weights = np.exp(minimum.x[:-1])
    weights[weights < _MIN_WEIGHT * weights.max()] = 0.0
    out = np.zeros(len(levels))
    out[used] = weights / weights.max() / sizes[used]
    return out


def _objective(theta: Array, units: Array, targets: Array, normalized: bool) -> tuple[float, Array]:
    """Return the negative log likelihood per graph, and its gradient by the logarithms of weights and ridge."""
    weights, ridge = np.exp(theta[:-1]), float(np.exp(theta[-1]))
    n = len(targets)
    K = np.einsum("l,lij->ij", weights, units)
    s = np.ones(n)
    if normalized:
        diagonal = K.diagonal()
        s = np.divide(1.0, np.sqrt(diagonal), out=np.zeros(n), where=diagonal > 0)
        K = K * s[:, None] * s
    A = K + _INTERCEPT_VARIANCE
    A.flat[:: n + 1] += ridge + _JITTER * float(K.diagonal().mean())
    try:
        factor = cho_factor(A, lower=True, check_finite=False)
    except LinAlgError:  # too large a step, which the line search shortens
        return 1e10, np.zeros_like(theta)
    inverse = cho_solve(factor, np.eye(n), check_finite=False)
    alpha = inverse @ targets  # (n, k)
    quadratic = np.einsum("nk,nk->k", targets, alpha)
    value = 0.5 * float(np.mean(n * np.log(quadratic))) + float(np.log(factor[0].diagonal()).sum())
    G = 0.5 * (inverse - (n / targets.shape[1]) * (alpha / quadratic) @ alpha.T)
    slope = np.empty(len(theta))
    slope[-1] = ridge * G.trace()
    scaled = G * s[:, None] * s
    slope[:-1] = np.einsum("ij,lij->l", scaled, units)
    if normalized:
        rest = np.einsum("ij,ij->i", G, K) * s**2  # s² is 1 / K_ii before normalising
        slope[:-1] -= np.einsum("lii,i->l", units, rest)
    slope[:-1] *= weights
    return value / n, slope / n
