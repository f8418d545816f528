"""Networks with one value for every weight, and dropout over their units read as a variational distribution.

Point: the weights are fitted to log likelihood plus log prior N(0, prior_sd^2), the most probable weights. Several
from different seeds make an ensemble.

Dropout (Gal and Ghahramani 2016): every unit's value is multiplied by z c, z ~ Bernoulli(keep), a new draw for every
sample, so the weights of layer l are diag(z c) M. With scaling "inverse", c = 1 / keep, a unit passes on the same on
average with and without dropout, and the mean network needs no change. With "none", c = 1, training sees keep times
the sum that the mean network computes: its predictions are wrong. Up to a constant KL is about
    sum_l keep_l c_l^2 |M_l|^2 / (2 prior_sd^2) - n_l H(keep_l),
the second moment of the weights, and the entropy of the masks. Concrete dropout (Gal, Hron and Kendall 2017) learns
keep, one for a layer, through masks sigmoid((logit keep + logit u) / temperature).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from engine.kernels import kernel
from engine.networks.passes import moved, pointer
from engine.variational.fused import (
    BLOCK,
    ONE,
    ROW,
    SAMPLED,
    ZERO,
    Key,
    Pace,
    Single,
    WeightBlocks,
    adam,
    log,
    sigmoid,
    single_kernel,
    uniforms,
)
from engine.variational.minibatch import Shape, Workspace, train_pass
from engine.variational.optimisers import Adam, ascend

MEAN, ROWS = 0, 3
SCALINGS = ("inverse", "none")


class Point(WeightBlocks):
    """The most probable weights."""

    trained = (MEAN,)
    _precisions: Single | None = None  # see `_of_the_prior`; None: to be worked out

    def __init__(self, shape: Shape, prior_sd: float):
        super().__init__(shape.weights, ROWS)
        self.shape, self.prior_sd = shape, prior_sd

    def set(self, mean: NDArray) -> None:
        """Set the weights (weights,) and forget Adam's averages."""
        self.forget()
        self.write(MEAN, mean)
        self.weights[: len(mean)] = mean

    @property
    def mean(self) -> Single:
        """(weights,)"""
        return self.weights[: self.shape.weights].copy()

    def draw(self, key: Key) -> None:
        """Nothing to draw."""

    def step(self, pace: Pace, signal: float, work: Workspace, key: Key) -> None:
        """Climb along the gradient that the minibatch left."""
        if self._precisions is None:
            self._precisions = self._of_the_prior()
        _step(self.blocks, self.weights, self.gradient, self._precisions, pace)

    def _of_the_prior(self) -> Single:
        """(padded weights,) what the log prior's gradient takes away of each weight."""
        precisions = np.zeros_like(self.weights)
        for layer, moment in zip(self.shape.split(precisions), self._second_moments(), strict=True):
            layer[:-1], layer[-1] = moment / self.prior_sd**2, 1.0 / self.prior_sd**2
        return precisions

    def _second_moments(self) -> list[float]:
        """E (z c)^2 of every layer's inputs."""
        return [1.0] * len(self.shape.split(self.weights))

    def kl(self) -> float:
        """Minus the log prior density, without its constant; with dropout, what the module's text says."""
        total = 0.0
        for layer, moment in zip(self.shape.split(self.weights), self._second_moments(), strict=True):
            weights, biases = _squares(layer)
            total += 0.5 * (moment * weights + biases) / self.prior_sd**2
        return total

    def sample(self, rng: np.random.Generator) -> Single:
        """The weights (weights,): there is but one draw."""
        return self.mean

    def expected(self) -> Single:
        """The weights (weights,)."""
        return self.mean

    def density(self) -> float:
        """Share of the weights in use: all."""
        return 1.0


class Rows(NamedTuple):
    """Which samples the minibatches hold, as `_walk` takes it.

    order : of the samples; batch : of which each takes so many
    within : number of the first minibatch; cycle : after so many it begins anew
    """

    order: NDArray[np.int64]
    batch: int
    within: int
    cycle: int


class _Kind(NamedTuple):
    """What dropout it is, as kernels take it."""

    inverse: bool
    learn: bool
    temperature: float
    prior_sd: float


class _Odds(NamedTuple):
    """What follows from the odds of keeping an input, of every layer.

    keep, factors : (layers,) the probability, and what an input that is kept is multiplied by
    masks : both, and the log odds, of every layer, as kernels take them; whether an input is ever dropped
    entropy : of all masks
    used : expected share of the weights that a draw uses
    """

    keep: NDArray[np.float64]
    factors: NDArray[np.float64]
    masks: list[tuple[np.float32, np.float32, np.float32, bool]]
    entropy: float
    used: float


class Dropout(Point):
    """Weights, and the probability of every layer's inputs to be kept.

    logits : (layers,) log odds of keeping an input of each layer; infinite where inputs are never dropped. There the
        slope of the ELBO is 0: what is never dropped stays so, also where keep is learned
    """

    noisy = True
    _kept: tuple[bytes, _Odds] | None = None  # see `_odds`

    def __init__(
        self,
        shape: Shape,
        prior_sd: float,
        keep: float,
        keep_inputs: float,
        scaling: str,
        learn: bool,
        temperature: float,
        step_size: float,
    ):
        super().__init__(shape, prior_sd)
        self.scaling, self.learn, self.temperature = scaling, learn, temperature
        kept = np.full(shape.layers, keep)
        kept[0] = keep_inputs
        with np.errstate(divide="ignore"):
            self.logits = np.log(kept) - np.log1p(-kept)
        self._rule = Adam(step_size).rule()
        self._first, self._second = np.zeros(shape.layers), np.zeros(shape.layers)
        self._steps = 0

    @property
    def keep(self) -> NDArray[np.float64]:
        """(layers,) probability that an input of a layer is kept."""
        return self._odds().keep

    def _factors(self) -> NDArray[np.float64]:
        return self._odds().factors

    def _odds(self) -> _Odds:
        """Worked out once for these `logits`."""
        at = self.logits.tobytes()
        if self._kept is None or self._kept[0] != at:
            keep, factors = np.empty((2, self.shape.layers))
            _odds(self.logits, self.scaling == "inverse", keep, factors)
            masks = [
                (np.float32(k), np.float32(c), np.float32(logit), bool(np.isfinite(logit)))
                for k, c, logit in zip(keep, factors, self.logits, strict=True)
            ]
            self._kept = at, _Odds(keep, factors, masks, self._entropy(keep), self._used(keep))
            self._precisions = None
        return self._kept[1]

    def _entropy(self, keep: NDArray[np.float64]) -> float:
        inner = np.clip(keep, 1e-300, 1.0 - 1e-16)
        each = -(inner * np.log(inner) + (1.0 - inner) * np.log1p(-inner))
        return float(np.dot(self.shape.sizes[:-1], each))

    def _used(self, keep: NDArray[np.float64]) -> float:
        used = sum(k * (w.shape[0] - 1) * w.shape[1] + w.shape[1] for k, w in zip(keep, self.shape.split(self.weights), strict=True))
        return float(used / self.shape.weights)

    def begin_noise(self, work: Workspace, key: Key) -> None:
        """Draw the masks of a minibatch."""
        uniforms(work.factors, *key)
        for factors, (keep, factor, logit, ever) in zip(work.by_layer(work.factors), self._odds().masks, strict=True):
            if self.learn and ever:
                _drop_softly(factors, logit, np.float32(1.0 / self.temperature), factor)
            else:
                _drop(factors, keep, factor)

    def step(self, pace: Pace, signal: float, work: Workspace, key: Key) -> None:
        """Climb along the gradient that the minibatch left."""
        if self.learn:
            self._steps += 1
            ascend(self._rule, self._steps, self.logits, self.keep_gradient(work), self._first, self._second)
            self._precisions = None
        super().step(pace, signal, work, key)

    def keep_gradient(self, work: Workspace) -> NDArray[np.float64]:
        """(layers,) gradient of the ELBO in `logits`, for the minibatch just seen."""
        of_layers = work.by_layer(work.slopes), work.by_layer(work.factors), self.shape.split(self.weights), self.logits
        told = self.shape.sizes[:-1], self.keep, self._factors()
        return np.array([_keep_slope(*layer, self._kind()) for layer in zip(*of_layers, *told, strict=True)])

    def _kind(self) -> _Kind:
        return _Kind(self.scaling == "inverse", self.learn, float(self.temperature), float(self.prior_sd))

    def walk(
        self, data: tuple[Any, ...], rows: Rows, paces: Sequence[Pace], keys: Sequence[Key], work: Workspace
    ) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
        """One step for each of `paces`, as `begin_noise` with its key, the pass and `step` take it; the same bytes.

        data : the arguments of `train_pass` before its rows
        Returns the log likelihoods of the minibatches (steps,), and how many of their samples are classified right.
        """
        odds = self._odds()
        if self._precisions is None:
            self._precisions = self._of_the_prior()
        learned = self._kind(), self._rule, self._steps, self.logits, self._first, self._second, odds.keep.copy(), odds.factors.copy()
        found = np.empty(len(paces)), np.empty(len(paces), dtype=np.int64)
        arrays = self.blocks, self.weights, self.gradient, self._precisions, self.variances
        lengths = np.array([(p.step_size, p.correction) for p in paces], dtype=np.float32)
        _walk(data, rows, lengths, np.array(keys), arrays, learned, work.arrays(), *found)
        if self.learn:
            self._steps += len(paces)
        return found

    def _second_moments(self) -> list[float]:
        return [float(k * c * c) for k, c in zip(self.keep, self._factors(), strict=True)]

    def kl(self) -> float:
        """The approximation in the module's text, without its constant."""
        return super().kl() - self._odds().entropy

    def sample(self, rng: np.random.Generator) -> Single:
        """Weights (weights,) under one draw of all masks, the same for every input."""
        drawn = self.mean
        for weights, keep, factor in zip(self.shape.split(drawn), self.keep, self._factors(), strict=True):
            mask = rng.random(len(weights) - 1) < keep
            weights[:-1] *= np.where(mask, factor, 0.0).astype(np.float32)[:, None]
        return drawn

    def density(self) -> float:
        """Expected share of the weights that a draw uses: those of units that are kept, and all biases."""
        return self._odds().used


@single_kernel
def _step(blocks, weights, gradient, precisions, pace):
    """Climb along the gradient of the likelihood and that of the log prior."""
    for i in range(weights.size):
        gradient[i] -= precisions[i] * weights[i]
    for b in range(blocks.shape[0]):
        p = moved(pointer(blocks), b * ROWS * ROW)
        w, g = moved(pointer(weights), b * BLOCK), moved(pointer(gradient), b * BLOCK)
        for i in range(BLOCK):
            w[i] = adam(p, MEAN, i, g[i], pace.step_size, pace.correction)


@single_kernel
def _squares(layer):
    """Sums of the squares of a layer's weights and of its biases (n + 1, m), in double precision."""
    weights, biases, last = 0.0, 0.0, layer.shape[0] - 1
    for i in range(last):
        for j in range(layer.shape[1]):
            weights += layer[i, j] * layer[i, j]
    for j in range(layer.shape[1]):
        biases += layer[last, j] * layer[last, j]
    return weights, biases


@kernel
def _odds(logits, inverse, keep, factors):
    """Fill in the probability of keeping an input of each layer, and what one that is kept is multiplied by."""
    for l in range(logits.size):
        keep[l] = 1.0 / (1.0 + math.exp(-logits[l]))
        factors[l] = 1.0 / keep[l] if inverse else 1.0


@single_kernel
def _drop(factors, keep, factor):
    """Turn uniform numbers (batch, n + 1) into the factors of units, ones last."""
    for b in range(factors.shape[0]):
        row = factors[b]
        for i in range(row.size):
            row[i] = factor if row[i] < keep else ZERO
        row[row.size - 1] = ONE


@single_kernel
def _drop_softly(factors, logit, coldness, factor):
    for b in range(factors.shape[0]):
        row = factors[b]
        for i in range(row.size):
            row[i] = factor * sigmoid((logit + log(row[i]) - log(ONE - row[i])) * coldness)
        row[row.size - 1] = ONE


@single_kernel
def _mask_slope(slopes, factors, scale, coldness, pull):
    """Derivative with respect to logit keep: that of log(z c) is (1 - z) / temperature - pull."""
    total = 0.0
    for b in range(slopes.shape[0]):
        s, f = slopes[b], factors[b]
        for i in range(s.size - 1):
            total += s[i] * ((ONE - f[i] * scale) * coldness - pull)
    return total


@kernel
def _keep_slope(slopes, factors, weights, logit, inputs, keep, factor, kind):
    """Derivative of the ELBO with respect to logit keep of one layer; slopes, factors (batch, inputs + 1)."""
    if not math.isfinite(logit):
        return 0.0
    pull = 1.0 - keep if kind.inverse else 0.0
    found = _mask_slope(slopes, factors, np.float32(1.0 / factor), np.float32(1.0 / kind.temperature), np.float32(pull))
    squares = 0.5 * _squares(weights)[0] / kind.prior_sd**2
    moment_slope = -(1.0 - keep) / keep if kind.inverse else keep * (1.0 - keep)
    entropy_slope = -keep * (1.0 - keep) * logit * inputs
    return found + (entropy_slope - squares * moment_slope)


@kernel
def _walk(data, rows, paces, keys, arrays, learned, work, energies, right):
    """See `Dropout.walk`; `paces` (steps, 2), `keys` (steps, 2)."""
    sizes, settings, precision, scale, x, y = data
    blocks, weights, gradient, precisions, nothing = arrays
    kind, rule, done, logits, first, second, keep, factors = learned
    noise, slopes = work[5], work[6]
    slope = np.zeros(logits.size)
    for s in range(energies.size):
        begin = (rows.within + s) % rows.cycle * rows.batch
        chosen = rows.order[begin : begin + rows.batch]
        uniforms(noise, keys[s, 0], keys[s, 1])
        at = 0
        for l in range(logits.size):
            n, c = rows.batch * (sizes[l] + 1), np.float32(factors[l])
            masks = noise[at : at + n].reshape(rows.batch, sizes[l] + 1)
            if kind.learn and math.isfinite(logits[l]):
                _drop_softly(masks, np.float32(logits[l]), np.float32(1.0 / kind.temperature), c)
            else:
                _drop(masks, np.float32(keep[l]), c)
            at += n
        passed = sizes, settings, precision, scale, x, y, chosen, weights, gradient, nothing, nothing
        energies[s], right[s] = train_pass(*passed, SAMPLED, True, False, work)
        if kind.learn:
            at = of_weights = 0
            for l in range(logits.size):
                inputs, n, m = sizes[l], rows.batch * (sizes[l] + 1), (sizes[l] + 1) * sizes[l + 1]
                of_units = slopes[at : at + n].reshape(rows.batch, inputs + 1), noise[at : at + n].reshape(rows.batch, inputs + 1)
                layer = weights[of_weights : of_weights + m].reshape(inputs + 1, sizes[l + 1])
                slope[l] = _keep_slope(*of_units, layer, logits[l], inputs, keep[l], factors[l], kind)
                at += n
                of_weights += m
            ascend(rule, done + s + 1, logits, slope, first, second)
            _odds(logits, kind.inverse, keep, factors)
            at = 0
            for l in range(logits.size):
                m = sizes[l] * sizes[l + 1]
                precisions[at : at + m] = np.float32(keep[l] * factors[l] * factors[l] / kind.prior_sd**2)
                at += m + sizes[l + 1]
        _step(blocks, weights, gradient, precisions, Pace(paces[s, 0], ZERO, paces[s, 1], ONE))
