"""Networks whose units have scales of their own: the group horseshoe of Louizos, Ullrich and Welling (2017).

A weight from input i of layer l is w = s z_i v with v ~ N(0, 1), z_i ~ C+(0, 1), s ~ C+(0, shrinkage): the layer's
scale s pulls all weights to zero, heavy tails let single units escape. Biases have no scale. A half-Cauchy variable is
the root of a Gamma(1/2, scale k^2) and an inverse Gamma(1/2, 1) variable; each of these four factors has a lognormal
variational distribution, so log(s z_i) is normal, and v ~ N(mean, sd^2) as in `Dense`. Pre-activations are drawn
(local reparameterisation, here exact: given the scales they are normal), scales anew for every sample.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from engine.variational.dense import Dense
from engine.variational.fused import LOCAL, ONE, ZERO, Key, Pace, Single, exp, inverse_softplus, log, normals, single_kernel
from engine.variational.minibatch import Shape, Workspace
from engine.variational.optimisers import Adam, ascend

Array = NDArray[np.float64]


class Horseshoe:
    """Normal weights and lognormal scales.

    dense : the weights v
    weights, gradient, variances, variance_gradient : its arrays
    """

    way = LOCAL
    noisy = True
    has_mask = False

    def __init__(self, shape: Shape, shrinkage: float, step_size: float):
        self.shape, self.shrinkage = shape, shrinkage
        self.dense = dense = Dense(shape, (1.0, 1.0, 1.0), LOCAL)
        self.weights, self.gradient = dense.weights, dense.gradient
        self.variances, self.variance_gradient = dense.variances, dense.variance_gradient
        # For every layer: unit factors (Gamma, then inverse Gamma), then the layer's two.
        count = sum(2 * n + 2 for n in shape.sizes[:-1])
        self.means, self.rhos = np.zeros(count), np.full(count, float(inverse_softplus(0.1)))
        self._rule = Adam(step_size).rule()
        self._moments = np.zeros((4, count))
        self._steps = 0
        self._shared: list[Single] = []

    def set(self, mean: NDArray, sd: NDArray) -> None:
        """Set means and standard deviations (weights,) of v; scales start around 1."""
        self.dense.set(mean, sd)

    def _layers(self, flat: Array) -> list[tuple[Array, Array, Array]]:
        """Views of every layer: (n,) Gamma factors, (n,) inverse Gamma factors, (2,) the layer's own two."""
        parts, at = [], 0
        for n in self.shape.sizes[:-1]:
            parts.append((flat[at : at + n], flat[at + n : at + 2 * n], flat[at + 2 * n : at + 2 * n + 2]))
            at += 2 * n + 2
        return parts

    @property
    def factor_sds(self) -> Array:
        """Standard deviations of the log factors, ordered as `means`."""
        return np.logaddexp(0.0, self.rhos)

    def log_scales(self) -> list[tuple[Array, Array, float, float]]:
        """For every layer: means and sds (n,) of log z_i, mean and sd of log s."""
        found = []
        for (a, b, s), (sa, sb, ss) in zip(self._layers(self.means), self._layers(self.factor_sds), strict=True):
            found.append((0.5 * (a + b), 0.5 * np.hypot(sa, sb), 0.5 * float(s.sum()), 0.5 * float(np.hypot(ss[0], ss[1]))))
        return found

    def begin_noise(self, work: Workspace, key: Key) -> None:
        """Draw the scales for every sample of a minibatch."""
        normals(work.factors, *key)
        self._shared = []
        for factors, (mean, sd, layer_mean, layer_sd) in zip(work.by_layer(work.factors), self.log_scales(), strict=True):
            shared = factors[:, -1].copy()  # the column of the biases' ones: a normal number to spare for the layer
            self._shared.append(shared)
            _lognormal(factors, (mean + layer_mean).astype(np.float32), sd.astype(np.float32), shared, np.float32(layer_sd))

    def draw(self, key: Key) -> None:
        """The means and variances of v for the first minibatch."""
        self.dense.draw(key)

    def step(self, pace: Pace, signal: float, work: Workspace, key: Key) -> None:
        """Climb along the gradient that the minibatch left."""
        mean_gradient, rho_gradient = self.scale_gradient(work)
        self._steps += 1
        first, second, third, fourth = self._moments
        ascend(self._rule, self._steps, self.means, mean_gradient, first, second)
        ascend(self._rule, self._steps, self.rhos, rho_gradient, third, fourth)
        self.dense.step(pace, signal, work, key)

    def scale_gradient(self, work: Workspace) -> tuple[Array, Array]:
        """Gradient of the ELBO in `means` and `rhos`, for the minibatch just seen."""
        sds = self.factor_sds
        mean_gradient, sd_gradient = np.zeros_like(self.means), np.zeros_like(self.means)
        layers = zip(
            work.by_layer(work.slopes),
            work.by_layer(work.factors),
            self._shared,
            self.log_scales(),
            self._layers(sds),
            self._layers(mean_gradient),
            self._layers(sd_gradient),
            strict=True,
        )
        for slopes, factors, shared, scales, (sa, sb, ss), (ga, gb, gs), (ha, hb, hs) in layers:
            mean, sd, layer_mean, layer_sd = scales
            along, across = np.zeros(len(mean), np.float32), np.zeros(len(mean), np.float32)
            layer_along, layer_across = _collect(
                slopes, factors, (mean + layer_mean).astype(np.float32), sd.astype(np.float32), shared, np.float32(layer_sd), along, across
            )
            ga[:], gb[:], gs[:] = 0.5 * along, 0.5 * along, 0.5 * layer_along
            # sd of log z = hypot(sa, sb) / 2: its derivative with respect to sa is sa / (4 sd)
            ha[:], hb[:] = across * sa / (4.0 * sd), across * sb / (4.0 * sd)
            hs[:] = layer_across * ss / (4.0 * layer_sd)
        for (a, b, s), (sa, sb, ss), (ga, gb, gs), (ha, hb, hs) in zip(
            self._layers(self.means), self._layers(sds), self._layers(mean_gradient), self._layers(sd_gradient), strict=True
        ):
            for m, sd, g, h, sign, scale in (
                (a, sa, ga, ha, 1.0, 1.0),
                (b, sb, gb, hb, -1.0, 1.0),
                (s[:1], ss[:1], gs[:1], hs[:1], 1.0, self.shrinkage**2),
                (s[1:], ss[1:], gs[1:], hs[1:], -1.0, 1.0),
            ):
                expected = np.exp(sign * m + 0.5 * sd**2) / scale
                g -= sign * (expected - 0.5)
                h -= sd * expected - 1.0 / sd
        return mean_gradient, sd_gradient * -np.expm1(-sds)

    def kl(self) -> float:
        """KL(q || prior) in nats, exact."""
        total = self.dense.kl()
        for (a, b, s), (sa, sb, ss) in zip(self._layers(self.means), self._layers(self.factor_sds), strict=True):
            total += float(lognormal_kl(a, sa, 1.0).sum() + lognormal_kl(-b, sb, 1.0).sum())
            total += float(lognormal_kl(s[0], ss[0], self.shrinkage**2) + lognormal_kl(-s[1], ss[1], 1.0))
        return total

    def sample(self, rng: np.random.Generator) -> Single:
        """One draw (weights,) from q."""
        drawn = self.dense.sample(rng)
        for weights, (mean, sd, layer_mean, layer_sd) in zip(self.shape.split(drawn), self.log_scales(), strict=True):
            z = mean + sd * rng.standard_normal(len(mean)) + layer_mean + layer_sd * rng.standard_normal()
            weights[:-1] *= np.exp(z).astype(np.float32)[:, None]
        return drawn

    def expected(self) -> Single:
        """E_q of the weights (weights,)."""
        mean = self.dense.mean
        for weights, (m, sd, layer_mean, layer_sd) in zip(self.shape.split(mean), self.log_scales(), strict=True):
            weights[:-1] *= np.exp(m + layer_mean + 0.5 * (sd**2 + layer_sd**2)).astype(np.float32)[:, None]
        return mean

    def sds(self) -> Single:
        """Standard deviation under q of the weights (weights,), that of the scales included."""
        second = self.dense.mean**2 + self.dense.sd**2
        for squares, (m, sd, layer_mean, layer_sd) in zip(self.shape.split(second), self.log_scales(), strict=True):
            squares[:-1] *= np.exp(2.0 * (m + layer_mean + sd**2 + layer_sd**2)).astype(np.float32)[:, None]
        return np.sqrt(np.maximum(second - self.expected() ** 2, np.float32(1e-30)))

    def unit_scales(self) -> list[Array]:
        """(n_l,) for every layer: the median of s z_i, small where an input is not needed."""
        return [np.exp(mean + layer_mean) for mean, _, layer_mean, _ in self.log_scales()]

    def density(self) -> float:
        """Share of the weights that a draw uses: all; see `unit_scales` for what may be cut."""
        return 1.0


def lognormal_kl(mean: Any, sd: Any, scale: float) -> Any:
    """KL of exp(N(mean, sd^2)) from Gamma(shape 1/2, scale).

    That from an inverse Gamma(1/2, 1) is the same at -mean and scale 1.
    """
    expected = np.exp(mean + 0.5 * sd**2) / scale
    return expected - 0.5 * mean + 0.5 * math.log(scale) - 0.5 * math.log(2.0) - 0.5 - np.log(sd)


@single_kernel
def _lognormal(factors, mean, sd, shared, layer_sd):
    """Turn normal numbers (batch, n + 1) into the factors of units, ones last."""
    for b in range(factors.shape[0]):
        row, common = factors[b], layer_sd * shared[b]
        for i in range(mean.size):
            row[i] = exp(mean[i] + sd[i] * row[i] + common)
        row[mean.size] = ONE


@single_kernel
def _collect(slopes, factors, mean, sd, shared, layer_sd, along, across):
    """Sums over samples of the slopes, and of slopes times the normal numbers behind the scales: (n,) of the units in
    `along` and `across`, and those of the layer returned.
    """
    layer_along = layer_across = 0.0
    for b in range(slopes.shape[0]):
        s, f, common = slopes[b], factors[b], layer_sd * shared[b]
        subtotal = ZERO
        for i in range(mean.size):
            along[i] += s[i]
            across[i] += s[i] * (log(f[i]) - mean[i] - common) / sd[i]
            subtotal += s[i]
        layer_along += float(subtotal)
        layer_across += float(subtotal * shared[b])
    return layer_along, layer_across
