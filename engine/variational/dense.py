"""Networks in which every weight has a normal variational distribution.

q(w) = N(mean, sd^2), each weight by itself, sd = log(1 + e^rho). The prior is one of
    gaussian  N(0, prior_sd^2) (Graves 2011); its Kullback-Leibler divergence is known in closed form
    mixture   p N(0, sd_1^2) + (1 - p) N(0, sd_2^2) (Blundell, Cornebise, Kavukcuoglu and Wierstra 2015), a wide and a
              narrow normal; its part of the ELBO is estimated at the weights drawn, the entropy of q is exact
Estimators of the gradient: "weights" draws all weights once for the minibatch (Bayes by Backprop, Blundell et al.);
"local" draws pre-activations, which leaves the expectation as it is and takes out most of the variance; "flipout" draws
all deviations once and turns their signs for every sample of the minibatch (Wen et al. 2018), which also leaves it.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from engine.kernels import kernel
from engine.networks.passes import moved, pointer
from engine.variational.fused import (
    ALL,
    BLOCK,
    FLIPOUT,
    LOCAL,
    ONE,
    ROW,
    TWO,
    Decay,
    Key,
    Pace,
    Single,
    WeightBlocks,
    adam,
    climb,
    exp,
    fill_normal,
    inlined,
    inverse_softplus,
    single_kernel,
    softplus,
)
from engine.variational.minibatch import Shape, Workspace

MEAN, RHO, SD, ROWS = 0, 3, 6, 7  # rows of a block; Adam's averages follow MEAN and RHO


class Dense(WeightBlocks):
    """Means and standard deviations of all weights, and what trains them."""

    trained = (MEAN, RHO)

    def __init__(self, shape: Shape, prior: tuple[float, float, float], way: int):
        """prior : share of the first normal, then both standard deviations; a share of 1 is the Gaussian prior."""
        super().__init__(shape.weights, ROWS, way)
        self.shape, self.prior = shape, prior

    def set(self, mean: NDArray, sd: NDArray) -> None:
        """Set means and standard deviations (weights,) and forget Adam's averages."""
        self.forget()
        self.write(MEAN, mean)
        self.write(RHO, inverse_softplus(np.asarray(sd, dtype=np.float64)))
        self.write(SD, sd, rest=1.0)

    @property
    def mean(self) -> Single:
        """(weights,)"""
        return self.read(MEAN)

    @property
    def sd(self) -> Single:
        """(weights,)"""
        return self.read(SD)

    def draw(self, key: Key) -> None:
        """The first draw, before any step."""
        if self.way == LOCAL:
            _draw_local(self.blocks, self.weights, self.variances)
        elif self.way == FLIPOUT:
            _draw_flipout(self.blocks, self.weights, self.variances, np.zeros(BLOCK, np.float32), *key)
        else:
            _draw(self.blocks, self.weights, np.zeros(BLOCK, np.float32), *key)

    def step(self, pace: Pace | Decay, signal: float, work: Workspace, key: Key, span: slice = ALL) -> None:
        """Climb along the gradient that the minibatch left, and draw for the next.

        pace : a `Decay` only under the Gaussian prior, and not for Flipout
        span : blocks that move; others may do so at the same time, in any order
        """
        share, first, second = self.prior
        start, blocks, weights, gradient = span.start or 0, self.blocks[span], self.flat(self.weights, span), self.flat(self.gradient, span)
        precision = np.float32(1.0 / first**2)
        seconds = self.flat(self.variances, span), self.flat(self.variance_gradient, span)
        assert isinstance(pace, Pace) or (share == 1.0 and self.way != FLIPOUT)
        if self.way == LOCAL:
            _step_local(blocks, weights, gradient, *seconds, precision, pace)
        elif self.way == FLIPOUT:
            _step_flipout(blocks, weights, gradient, *seconds, start, np.zeros(BLOCK, np.float32), precision, pace, *key)
        elif share == 1.0:
            _step(blocks, weights, gradient, start, np.zeros(BLOCK, np.float32), precision, pace, *key)
        else:
            log_odds = np.float32(math.log((1.0 - share) / share * first / second))
            precisions = precision, np.float32(1.0 / second**2)
            _step_mixture(blocks, weights, gradient, start, np.zeros(BLOCK, np.float32), log_odds, precisions, pace, *key)

    def kl(self, first: int = 0, last: int | None = None) -> float:
        """KL(q || prior) in nats; for a mixture one draw's estimate of it (which can be negative). Of the weights from
        number `first` to before `last`, by default of all.
        """
        last = self.shape.weights if last is None else last
        share, wide, narrow = self.prior
        if share == 1.0:
            return float(_kl(self.blocks, first, last, wide))
        return float(_kl_mixture(self.blocks, self.weights, first, last, share, wide, narrow))

    def sample(self, rng: np.random.Generator) -> Single:
        """One draw (weights,) from q."""
        return self.mean + self.sd * rng.standard_normal(self.shape.weights, dtype=np.float32)

    def expected(self) -> Single:
        """E_q of the weights (weights,)."""
        return self.mean

    def sds(self) -> Single:
        """Standard deviation under q of the weights (weights,)."""
        return self.sd

    def density(self) -> float:
        """Share of the weights that a draw uses: all."""
        return 1.0


@kernel
def _kl(blocks, begin, end, prior_sd):
    total = 0.0
    for k in range(begin, end):
        b, i = k // BLOCK, k % BLOCK
        mean, sd = blocks[b, MEAN, i] / prior_sd, blocks[b, SD, i] / prior_sd
        total += 0.5 * (mean * mean + sd * sd) - 0.5 - math.log(sd)
    return total


@kernel
def _kl_mixture(blocks, weights, begin, end, share, first, second):
    total = 0.0
    for k in range(begin, end):
        w, sd = float(weights[k]), float(blocks[k // BLOCK, SD, k % BLOCK])
        wide = math.log(share / first) - 0.5 * (w / first) ** 2
        narrow = math.log((1.0 - share) / second) - 0.5 * (w / second) ** 2
        high, low = max(wide, narrow), min(wide, narrow)
        total -= 0.5 + math.log(sd) + high + math.log1p(math.exp(low - high))
    return total


@single_kernel
def _draw(blocks, weights, noise, first, second):
    e = pointer(noise)
    for b in range(blocks.shape[0]):
        p, w = moved(pointer(blocks), b * ROWS * ROW), moved(pointer(weights), b * BLOCK)
        fill_normal(e, b, first, second)
        for i in range(BLOCK):
            w[i] = p[MEAN * ROW + i] + p[SD * ROW + i] * e[i]


@single_kernel
def _draw_local(blocks, means, variances):
    for b in range(blocks.shape[0]):
        p = moved(pointer(blocks), b * ROWS * ROW)
        m, v = moved(pointer(means), b * BLOCK), moved(pointer(variances), b * BLOCK)
        for i in range(BLOCK):
            sd = p[SD * ROW + i]
            m[i], v[i] = p[MEAN * ROW + i], sd * sd


@single_kernel
def _draw_flipout(blocks, means, deviations, noise, first, second):
    e = pointer(noise)
    for b in range(blocks.shape[0]):
        p = moved(pointer(blocks), b * ROWS * ROW)
        m, d = moved(pointer(means), b * BLOCK), moved(pointer(deviations), b * BLOCK)
        fill_normal(e, b, first, second)
        for i in range(BLOCK):
            m[i], d[i] = p[MEAN * ROW + i], p[SD * ROW + i] * e[i]


# The steps below keep the standard deviation beside rho: its slope is 1 - e^-sd, and the normal number that made a
# weight is (w - mean) / sd. Reading four bytes is quicker than a logarithm.


@inlined
def _slopes(mean, sd, w, g, precision, kl_weight):
    """The ELBO's, along mean and rho, where the weight drawn is w and the log likelihood's slope there is g."""
    inverse = ONE / sd
    noise_now = (w - mean) * inverse
    sd_gradient = g * noise_now - precision * sd + kl_weight * inverse
    return g - precision * mean, sd_gradient * (ONE - exp(-sd))


@single_kernel
def _step(blocks, weights, gradient, start, noise, precision, pace, first, second):
    precision *= pace.kl_weight
    e = pointer(noise)
    for b in range(blocks.shape[0]):
        p = moved(pointer(blocks), b * ROWS * ROW)
        w, g = moved(pointer(weights), b * BLOCK), moved(pointer(gradient), b * BLOCK)
        fill_normal(e, start + b, first, second)
        for i in range(BLOCK):
            along_mean, along_rho = _slopes(p[MEAN * ROW + i], p[SD * ROW + i], w[i], g[i], precision, pace.kl_weight)
            mean = climb(p, MEAN, i, along_mean, pace)
            sd, _ = softplus(climb(p, RHO, i, along_rho, pace))
            p[SD * ROW + i] = sd
            w[i] = mean + sd * e[i]


@single_kernel
def _step_mixture(blocks, weights, gradient, start, noise, log_odds, precisions, pace, first, second):
    e = pointer(noise)
    wide, narrow = precisions
    for b in range(blocks.shape[0]):
        p = moved(pointer(blocks), b * ROWS * ROW)
        w, g = moved(pointer(weights), b * BLOCK), moved(pointer(gradient), b * BLOCK)
        fill_normal(e, start + b, first, second)
        for i in range(BLOCK):
            mean, sd = p[MEAN * ROW + i], p[SD * ROW + i]
            inverse = ONE / sd
            # share of the wide normal at this weight
            share = ONE / (ONE + exp(log_odds - (narrow - wide) * w[i] * w[i] / TWO))
            slope = g[i] - pace.kl_weight * w[i] * (share * wide + (ONE - share) * narrow)
            sd_gradient = slope * (w[i] - mean) * inverse + pace.kl_weight * inverse
            mean = adam(p, MEAN, i, slope, pace.step_size, pace.correction)
            rho = adam(p, RHO, i, sd_gradient * (ONE - exp(-sd)), pace.step_size, pace.correction)
            sd, _ = softplus(rho)
            p[SD * ROW + i] = sd
            w[i] = mean + sd * e[i]


@inlined
def _local_slopes(mean, sd, g, h, precision, kl_weight):
    """The ELBO's, along mean and rho, where the log likelihood's are g along the mean and h along the variance."""
    sd_gradient = TWO * h * sd - precision * sd + kl_weight / sd
    return g - precision * mean, sd_gradient * (ONE - exp(-sd))


@single_kernel
def _step_local(blocks, means, gradient, variances, variance_gradient, precision, pace):
    precision *= pace.kl_weight
    for b in range(blocks.shape[0]):
        p = moved(pointer(blocks), b * ROWS * ROW)
        m, g = moved(pointer(means), b * BLOCK), moved(pointer(gradient), b * BLOCK)
        v, h = moved(pointer(variances), b * BLOCK), moved(pointer(variance_gradient), b * BLOCK)
        for i in range(BLOCK):
            along_mean, along_rho = _local_slopes(p[MEAN * ROW + i], p[SD * ROW + i], g[i], h[i], precision, pace.kl_weight)
            m[i] = climb(p, MEAN, i, along_mean, pace)
            sd, _ = softplus(climb(p, RHO, i, along_rho, pace))
            p[SD * ROW + i] = sd
            v[i] = sd * sd


@single_kernel
def _step_flipout(blocks, means, gradient, deviations, deviation_gradient, start, noise, precision, pace, first, second):
    precision *= pace.kl_weight
    e = pointer(noise)
    for b in range(blocks.shape[0]):
        p = moved(pointer(blocks), b * ROWS * ROW)
        m, g = moved(pointer(means), b * BLOCK), moved(pointer(gradient), b * BLOCK)
        d, h = moved(pointer(deviations), b * BLOCK), moved(pointer(deviation_gradient), b * BLOCK)
        fill_normal(e, start + b, first, second)
        for i in range(BLOCK):
            mean, sd = p[MEAN * ROW + i], p[SD * ROW + i]
            inverse = ONE / sd
            sd_gradient = h[i] * (d[i] * inverse) - precision * sd + pace.kl_weight * inverse
            m[i] = adam(p, MEAN, i, g[i] - precision * mean, pace.step_size, pace.correction)
            rho = adam(p, RHO, i, sd_gradient * (ONE - exp(-sd)), pace.step_size, pace.correction)
            sd, _ = softplus(rho)
            p[SD * ROW + i] = sd
            d[i] = sd * e[i]
