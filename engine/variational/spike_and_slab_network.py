"""Networks in which every weight may be absent: spike and slab (Hubin and Storvik 2019, "LBBNN").

Model: inclusion g ~ Bernoulli(prior_inclusion), w = g b, b ~ N(0, prior_sd^2). Variational distribution, each weight by
itself: g ~ Bernoulli(a), a = 1 / (1 + e^-omega), b | g = 1 ~ N(mean, sd^2), sd = log(1 + e^rho). Its divergence from
the prior is exact,
    KL = a [log(a / pi) + KL(N(mean, sd^2) || N(0, prior_sd^2))] + (1 - a) log((1 - a) / (1 - pi)),
and so is its gradient; only the expected log likelihood is estimated. Three estimators of its gradient:
    score    the paper's (eqs. 10-12, proposition 2): g is drawn; mean and sd get the derivative through the draw
             (pathwise), omega gets (g - a) (log p(D | w) - baseline), the score function. Unbiased, of huge variance.
             The baseline is a running mean of earlier values, so it does not depend on the draw (remark 2.1). Taken to
             the letter, eq. 11 adds both terms for every parameter, and would count the gradient of mean and sd twice.
    relaxed  g is replaced by sigmoid((omega + log(u / (1 - u))) / temperature), u ~ U(0, 1): a relaxed Bernoulli
             variable (Maddison, Mnih and Teh 2017). Pathwise for all three; biased, the less the colder.
    local    pre-activations are drawn from the normal that has their mean and variance under q (local
             reparameterisation). Small variance; the objective is not quite q's ELBO, since a sum of few spike and slab
             variables is not normal.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from engine.kernels import kernel
from engine.networks.passes import moved, pointer
from engine.spec import SpecError
from engine.variational.fused import (
    A_HALF,
    ALL,
    BLOCK,
    LOCAL,
    ONE,
    ROW,
    SAMPLED,
    TWO,
    ZERO,
    Key,
    Pace,
    Single,
    WeightBlocks,
    adam,
    exp,
    fill_normal,
    fill_uniform,
    inverse_softplus,
    log,
    sigmoid,
    single_kernel,
    softplus,
)
from engine.variational.minibatch import Shape, Workspace

MEAN, RHO, OMEGA, SD = 0, 3, 6, 9  # rows of a block; Adam's averages follow MEAN, RHO and OMEGA
NOISE, GATE = 10, 11  # of the draw that the minibatch saw, for the relaxed estimator only
ESTIMATORS = ("score", "relaxed", "local")
CERTAIN = 120.0  # omega of a weight that is fixed in or out: in single precision its inclusion probability is 1 or 0


def prior_inclusion(name: str, samples: int) -> float:
    """Inclusion probability of the two prices of a weight in Hubin and Storvik 2019, eq. 3: log odds of -2 ("aic") or
    -2 log(samples) ("bic"). They are the penalties of AIC and BIC on a deviance, taken as log odds; exp(-AIC / 2) and
    exp(-BIC / 2) would have -1 and -log(samples) / 2.
    """
    if name not in ("aic", "bic"):
        raise SpecError("inclusion_prior", f"{name!r} is not one of aic, bic")
    log_odds = -2.0 if name == "aic" else -2.0 * math.log(max(samples, 2))
    return 1.0 / (1.0 + math.exp(-log_odds))


class SpikeAndSlab(WeightBlocks):
    """Inclusion probabilities, means and standard deviations of all weights, and what trains them."""

    trained = (MEAN, RHO, OMEGA)
    has_mask = True

    def __init__(self, shape: Shape, inclusion: float, prior_sd: float, estimator: str, temperature: float):
        """inclusion : prior probability of a weight to be in; prior_sd : of the slab"""
        super().__init__(shape.weights, 12 if estimator == "relaxed" else 10, LOCAL if estimator == "local" else SAMPLED)
        self.shape, self.inclusion, self.prior_sd = shape, inclusion, prior_sd
        self.estimator, self.temperature = estimator, temperature

    def set(self, mean: NDArray, sd: NDArray, omega: NDArray) -> None:
        """Set parameters (weights,) and forget Adam's averages."""
        self.forget()
        self.write(MEAN, mean)
        self.write(RHO, inverse_softplus(np.asarray(sd, dtype=np.float64)))
        self.write(SD, sd, rest=1.0)
        self.write(OMEGA, omega)

    @property
    def mean(self) -> Single:
        """(weights,) of the slab"""
        return self.read(MEAN)

    @property
    def sd(self) -> Single:
        """(weights,) of the slab"""
        return self.read(SD)

    @property
    def omega(self) -> Single:
        """(weights,) log odds of inclusion"""
        return self.read(OMEGA)

    @property
    def alpha(self) -> Single:
        """(weights,) inclusion probabilities"""
        return (1.0 / (1.0 + np.exp(-self.omega.astype(np.float64)))).astype(np.float32)

    def draw(self, key: Key) -> None:
        """The first draw, before any step."""
        still = Pace(ZERO, ZERO, ONE)
        self._run(still, ZERO, key, False)

    def step(self, pace: Pace, signal: float, work: Workspace, key: Key, span: slice = ALL) -> None:
        """Climb along the gradient that the minibatch left, and draw for the next.

        signal : log likelihood (times n / batch) less its baseline, for the score function
        span : blocks that move; others may do so at the same time, in any order
        """
        self._run(pace, np.float32(signal), key, True, span)

    def _run(self, pace: Pace, signal: np.float32, key: Key, learn: bool, span: slice = ALL) -> None:
        prior = np.float32(1.0 / self.prior_sd**2), np.float32(math.log(self.prior_sd)), np.float32(self.log_odds)
        arrays = self.blocks[span], self.flat(self.weights, span), self.flat(self.gradient, span)
        drawn = span.start or 0, np.zeros(2 * ROW, np.float32)
        if self.way == LOCAL:
            _step_local(*arrays, self.flat(self.variances, span), self.flat(self.variance_gradient, span), prior, pace, learn)
        elif self.estimator == "score":
            _step_score(*arrays, *drawn, signal, prior, pace, learn, *key)
        else:
            coldness = np.float32(1.0 / self.temperature)
            _step_relaxed(*arrays, *drawn, coldness, prior, pace, learn, *key)

    @property
    def log_odds(self) -> float:
        """log(pi / (1 - pi)) of the prior inclusion probability."""
        return math.log(self.inclusion) - math.log1p(-self.inclusion)

    def kl(self, first: int = 0, last: int | None = None) -> float:
        """KL(q || prior) in nats, exact. Of the weights from number `first` to before `last`, by default of all."""
        return float(_kl(self.blocks, first, self.shape.weights if last is None else last, self.prior_sd, self.log_odds))

    def sample(self, rng: np.random.Generator, mask: NDArray[np.bool_] | None = None) -> Single:
        """One draw (weights,) from q, or of the slabs under a given mask."""
        n = self.shape.weights
        if mask is None:
            mask = rng.random(n, dtype=np.float32) < self.alpha
        return np.where(mask, self.mean + self.sd * rng.standard_normal(n, dtype=np.float32), np.float32(0))

    def expected(self) -> Single:
        """E_q of the weights (weights,)."""
        return self.alpha * self.mean

    def sds(self) -> Single:
        """Standard deviation under q of the weights (weights,), absence included."""
        alpha, mean = self.alpha, self.mean
        return np.sqrt(alpha * (self.sd**2 + (1.0 - alpha) * mean**2))

    def density(self) -> float:
        """Expected share of the weights that a draw uses."""
        return float(self.alpha.mean(dtype=np.float64))


@kernel
def _kl(blocks, begin, end, prior_sd, log_odds):
    total = 0.0
    for k in range(begin, end):
        b, i = k // BLOCK, k % BLOCK
        mean, sd = blocks[b, MEAN, i] / prior_sd, blocks[b, SD, i] / prior_sd
        omega = float(blocks[b, OMEGA, i])
        slab = 0.5 * (mean * mean + sd * sd) - 0.5 - math.log(sd)
        alpha = 1.0 / (1.0 + math.exp(-omega))
        # a log(a / pi) + (1 - a) log((1 - a) / (1 - pi)) = a (omega - log odds of pi) + log(1 - a) - log(1 - pi)
        log_out = -(max(omega, 0.0) + math.log1p(math.exp(-abs(omega))))
        total += alpha * (omega - log_odds + slab) + log_out + max(log_odds, 0.0) + math.log1p(math.exp(-abs(log_odds)))
    return total


@single_kernel
def _step_score(blocks, weights, gradient, start, scratch, signal, prior, pace, learn, first, second):
    precision, log_prior_sd, log_odds = prior
    e, u = pointer(scratch), moved(pointer(scratch), ROW)
    rows = blocks.shape[1]
    for b in range(blocks.shape[0]):
        p = moved(pointer(blocks), b * rows * ROW)
        w, g = moved(pointer(weights), b * BLOCK), moved(pointer(gradient), b * BLOCK)
        fill_normal(e, start + b, first, second)
        fill_uniform(u, start + b, second, first)
        if learn:
            for i in range(BLOCK):
                mean, sd, omega = p[MEAN * ROW + i], p[SD * ROW + i], p[OMEGA * ROW + i]
                alpha, inverse = sigmoid(omega), ONE / sd
                inside = ZERO if w[i] == ZERO else ONE
                past = (w[i] - mean) * inverse
                drawn = inside * g[i]
                slab = A_HALF * (precision * (mean * mean + sd * sd) - ONE) - log(sd) + log_prior_sd
                paid = pace.kl_weight * alpha
                omega_gradient = (inside - alpha) * signal - paid * (ONE - alpha) * (omega - log_odds + slab)
                sd_gradient = drawn * past - paid * (precision * sd - inverse)
                adam(p, MEAN, i, drawn - paid * precision * mean, pace.step_size, pace.correction)
                rho = adam(p, RHO, i, sd_gradient * (ONE - exp(-sd)), pace.step_size, pace.correction)
                adam(p, OMEGA, i, omega_gradient, pace.inclusion_step_size, pace.correction)
                p[SD * ROW + i], _ = softplus(rho)
        for i in range(BLOCK):
            inside = u[i] < sigmoid(p[OMEGA * ROW + i])
            w[i] = p[MEAN * ROW + i] + p[SD * ROW + i] * e[i] if inside else ZERO


@single_kernel
def _step_relaxed(blocks, weights, gradient, start, scratch, coldness, prior, pace, learn, first, second):
    precision, log_prior_sd, log_odds = prior
    u = pointer(scratch)
    rows = blocks.shape[1]
    for b in range(blocks.shape[0]):
        p = moved(pointer(blocks), b * rows * ROW)
        w, g = moved(pointer(weights), b * BLOCK), moved(pointer(gradient), b * BLOCK)
        if learn:
            for i in range(BLOCK):
                mean, sd, omega = p[MEAN * ROW + i], p[SD * ROW + i], p[OMEGA * ROW + i]
                past, gate = p[NOISE * ROW + i], p[GATE * ROW + i]
                alpha, inverse = sigmoid(omega), ONE / sd
                drawn = gate * g[i]
                slab = A_HALF * (precision * (mean * mean + sd * sd) - ONE) - log(sd) + log_prior_sd
                through = drawn * (ONE - gate) * coldness * (mean + sd * past)
                paid = pace.kl_weight * alpha
                omega_gradient = through - paid * (ONE - alpha) * (omega - log_odds + slab)
                sd_gradient = drawn * past - paid * (precision * sd - inverse)
                adam(p, MEAN, i, drawn - paid * precision * mean, pace.step_size, pace.correction)
                rho = adam(p, RHO, i, sd_gradient * (ONE - exp(-sd)), pace.step_size, pace.correction)
                adam(p, OMEGA, i, omega_gradient, pace.inclusion_step_size, pace.correction)
                p[SD * ROW + i], _ = softplus(rho)
        e = moved(p, NOISE * ROW)
        fill_normal(e, start + b, first, second)
        fill_uniform(u, start + b, second, first)
        for i in range(BLOCK):
            gate = sigmoid((p[OMEGA * ROW + i] + log(u[i]) - log(ONE - u[i])) * coldness)
            p[GATE * ROW + i] = gate
            w[i] = gate * (p[MEAN * ROW + i] + p[SD * ROW + i] * e[i])


@single_kernel
def _step_local(blocks, means, gradient, variances, variance_gradient, prior, pace, learn):
    precision, log_prior_sd, log_odds = prior
    paid = pace.kl_weight * precision
    rows = blocks.shape[1]
    for b in range(blocks.shape[0]):
        p = moved(pointer(blocks), b * rows * ROW)
        m, g = moved(pointer(means), b * BLOCK), moved(pointer(gradient), b * BLOCK)
        v, h = moved(pointer(variances), b * BLOCK), moved(pointer(variance_gradient), b * BLOCK)
        if learn:
            for i in range(BLOCK):
                mean, sd, omega = p[MEAN * ROW + i], p[SD * ROW + i], p[OMEGA * ROW + i]
                alpha = sigmoid(omega)
                out = ONE - alpha
                slab = A_HALF * (precision * (mean * mean + sd * sd) - ONE) - log(sd) + log_prior_sd
                through = g[i] * mean + h[i] * (sd * sd + (out - alpha) * mean * mean)
                omega_gradient = alpha * out * (through - pace.kl_weight * (omega - log_odds + slab))
                mean_gradient = alpha * (g[i] + TWO * h[i] * out * mean - paid * mean)
                sd_gradient = alpha * (TWO * h[i] * sd - paid * sd + pace.kl_weight / sd)
                adam(p, MEAN, i, mean_gradient, pace.step_size, pace.correction)
                rho = adam(p, RHO, i, sd_gradient * (ONE - exp(-sd)), pace.step_size, pace.correction)
                adam(p, OMEGA, i, omega_gradient, pace.inclusion_step_size, pace.correction)
                p[SD * ROW + i], _ = softplus(rho)
        for i in range(BLOCK):
            alpha, mean, sd = sigmoid(p[OMEGA * ROW + i]), p[MEAN * ROW + i], p[SD * ROW + i]
            m[i] = alpha * mean
            v[i] = alpha * (sd * sd + (ONE - alpha) * mean * mean)
