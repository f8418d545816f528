"""Networks drawn from their prior: functions before any data, and the Gaussian process that wide ones become.

A network with one input x and one output f has `depth` hidden layers of `width` units k:
    h_1 = phi(w x + b), h_l = phi(W_l h_{l-1} + b_l), f = v . h_L + c
with independent normal priors of mean 0. A weight that leaves a layer of k units has the given standard deviation
divided by sqrt(k), Neal's scaling, unless `scaling` says otherwise.

For one hidden layer the covariance of f(x) and f(x') is the same at every width; with more layers it tends to the
value computed here as the width grows. The *shape* of the prior tends to a Gaussian only with the width.

Sources: Neal 1996, chapter 2 (the limit); Williams 1998 (erf: arc sine); Cho and Saul 2009 (step, ReLU: arc cosine);
Lee et al. 2018 and Matthews et al. 2018 (deep networks).
"""

from __future__ import annotations

import dataclasses
import math
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from engine import ticket
from engine.kernels import fast_kernel, inlined
from engine.spec import MAX_SEED, Declaration, SpecError, validate
from engine.vectormath import exp, tanh

Array = NDArray[np.float64]

ACTIVATIONS = ("tanh", "erf", "relu", "step", "linear")
TANH, ERF, RELU, STEP, LINEAR = range(5)
SCALINGS = ("sqrt", "none", "full")  # weights of a layer with k inputs: sd / sqrt(k), sd, sd / k
CHUNK = 4096  # networks that share one stream of random numbers: the same numbers whatever the number of threads
MAX_DIM = 150_000

_DECLARATIONS = {
    "width": Declaration("integer", "units in a hidden layer", 1, 1024),
    "depth": Declaration("integer", "hidden layers", 1, 8),
    "activation": Declaration("choice", "what a hidden unit does to its input", options=ACTIVATIONS),
    "weight_sd": Declaration("number", "prior sd of hidden weights, before the scaling", 1e-3, 1e3),
    "bias_sd": Declaration("number", "prior sd of hidden biases", 0.0, 1e3),
    "out_sd": Declaration("number", "prior sd of output weights, before the scaling", 1e-3, 1e3),
    "out_bias_sd": Declaration("number", "prior sd of the output bias", 0.0, 1e3),
    "scaling": Declaration("choice", "by what weights from k units are divided", options=SCALINGS),
    "squash": Declaration("choice", "activation of the output", options=("none", "tanh")),
}


@inlined
def activate(row, kind):
    """The activation, in place, of one row (m,)."""
    if kind == TANH:
        for i in range(row.size):
            row[i] = tanh(row[i])
    elif kind == ERF:
        for i in range(row.size):
            row[i] = math.erf(row[i])
    elif kind == RELU:
        for i in range(row.size):
            row[i] = max(row[i], 0.0)
    elif kind == STEP:
        for i in range(row.size):
            row[i] = 1.0 if row[i] >= 0.0 else -1.0


@inlined
def function_values(theta, width, depth, kind, squash, x, to, h, g):
    """One network theta (dim,) at inputs x (m,) into `to` (m,); h and g (width, m) are work space."""
    m = x.size
    for j in range(width):
        w, b = theta[j], theta[width + j]
        for i in range(m):
            h[j, i] = w * x[i] + b
        activate(h[j], kind)
    at = 2 * width
    for _ in range(1, depth):
        bias = at + width * width
        for j in range(width):
            for i in range(m):
                g[j, i] = theta[bias + j]
            for n in range(width):
                w = theta[at + j * width + n]
                for i in range(m):
                    g[j, i] += w * h[n, i]
            activate(g[j], kind)
        for j in range(width):
            for i in range(m):
                h[j, i] = g[j, i]
        at = bias + width
    for i in range(m):
        to[i] = theta[at + width]
    for j in range(width):
        v = theta[at + j]
        for i in range(m):
            to[i] += v * h[j, i]
    if squash:
        activate(to, TANH)


@fast_kernel
def _many(theta, width, depth, kind, squash, x, out):
    h, g = np.empty((width, x.size)), np.empty((width if depth > 1 else 1, x.size))
    for s in range(len(theta)):
        function_values(theta[s], width, depth, kind, squash, x, out[s], h, g)


# Trapezoidal rule after z = centre + sinh(t) / sharpness: nodes crowd where a steep tanh turns over, and the rule stays
# exponentially accurate. With this step and reach the error is below 1e-8 (tests compare with adaptive quadrature).
_STEP = 0.125
_REACH = 8.5
_MIDDLE = 5.0  # a turn further out has no weight worth crowding for


@fast_kernel
def _tanh_moments(s1, s2, rho, out):
    """E[tanh(s1 u) tanh(s2 v)] for standard normals u, v of correlation rho; arrays (n,)."""
    for p in range(out.size):
        r = min(max(rho[p], -1.0), 1.0)
        rest = s2[p] * math.sqrt(1.0 - r * r)
        sharp = max(s1[p], s2[p], 1.0)
        half = int(math.asinh(_REACH * sharp) / _STEP) + 1
        total = 0.0
        for i in range(-half, half + 1):
            t = i * _STEP
            u = math.sinh(t) / sharp
            inner = _mean_tanh(s2[p] * r * u, rest)
            total += _normal(u) * math.cosh(t) / sharp * tanh(s1[p] * u) * inner
        out[p] = total * _STEP


@inlined
def _mean_tanh(shift, scale):
    """E[tanh(shift + scale z)] for a standard normal z."""
    if scale < 1e-8:
        return tanh(shift)
    sharp = max(scale, 1.0)
    centre = min(max(-shift / scale, -_MIDDLE), _MIDDLE)
    low = math.floor(math.asinh((-_REACH - centre) * sharp) / _STEP)
    high = math.ceil(math.asinh((_REACH - centre) * sharp) / _STEP)
    # e^t by multiplication: sinh and cosh are the cost here
    growth, grow = math.exp(low * _STEP), math.exp(_STEP)
    total = 0.0
    for _ in range(low, high + 1):
        shrunk = 1.0 / growth
        z = centre + 0.5 * (growth - shrunk) / sharp
        total += 0.5 * (growth + shrunk) * _normal(z) * tanh(shift + scale * z)
        growth *= grow
    return total * _STEP / sharp


@inlined
def _normal(z):
    return 0.3989422804014327 * exp(-0.5 * z * z)


@dataclass(frozen=True, kw_only=True)
class Prior:
    """The prior of a network with one input and one output.

    Parameters `theta` (dim,) lie layer by layer: the weights (out, in) row by row, then the biases (out).
    Raises SpecError naming the parameter.
    """

    width: int = 16
    depth: int = 1
    activation: str = "tanh"
    weight_sd: float = 1.0
    bias_sd: float = 1.0
    out_sd: float = 1.0
    out_bias_sd: float = 0.0
    scaling: str = "sqrt"
    squash: str = "none"

    def __post_init__(self) -> None:
        for name, declaration in _DECLARATIONS.items():
            object.__setattr__(self, name, validate(name, declaration, getattr(self, name)))
        if self.dim > MAX_DIM:
            raise SpecError("width", f"{self.dim:,} weights are more than the {MAX_DIM:,} allowed: lower width or depth")

    def replace(self, **changes: Any) -> Prior:
        """A copy with some fields changed."""
        return dataclasses.replace(self, **changes)

    @property
    def sizes(self) -> tuple[int, ...]:
        """Units of every layer, from the input to the output."""
        return (1, *(self.width,) * self.depth, 1)

    @property
    def dim(self) -> int:
        """Number of weights and biases."""
        return sum((n_in + 1) * n_out for n_in, n_out in pairwise(self.sizes))

    def divisor(self, fan_in: int) -> float:
        """What the sd of weights from `fan_in` units is divided by."""
        return {"sqrt": math.sqrt(fan_in), "none": 1.0, "full": float(fan_in)}[self.scaling]

    def sds(self) -> Array:
        """(dim,) prior standard deviation of every parameter."""
        parts, last = [], len(self.sizes) - 2
        for layer, (n_in, n_out) in enumerate(pairwise(self.sizes)):
            weight = (self.out_sd if layer == last else self.weight_sd) / (1.0 if layer == 0 else self.divisor(n_in))
            parts += [np.full(n_in * n_out, weight)]
            parts += [np.full(n_out, self.out_bias_sd if layer == last else self.bias_sd)]
        return np.concatenate(parts)

    # Draws ------------------------------------------------------------------------------------------------------------

    def draw(self, n: int, seed: int) -> Array:
        """`n` independent networks: theta (n, dim). The first n of a longer draw with the same seed are the same."""
        out = np.empty((n, self.dim))
        for first in range(0, n, CHUNK):
            self._fill(out[first : first + CHUNK], seed, first // CHUNK)
        return out

    def _fill(self, out: Array, seed: int, chunk: int) -> None:
        """The networks of a chunk, as many as there are rows."""
        random, sds, done = stream(seed, chunk), self.sds(), 0
        for n in ticket.pieces(len(out)):
            rows = out[done : done + n]
            random.standard_normal(out=rows)
            rows *= sds
            done += n

    def functions(self, n: int, seed: int, x: ArrayLike) -> Array:
        """(n, m): `values(draw(n, seed), x)`, with the networks of one chunk in memory at a time."""
        x = np.ascontiguousarray(x, dtype=np.float64)
        out, theta = np.empty((n, len(x))), np.empty((min(n, CHUNK), self.dim))
        for first in range(0, n, CHUNK):
            rows = out[first : first + CHUNK]
            self._fill(theta[: len(rows)], seed, first // CHUNK)
            rows[:] = self.values(theta[: len(rows)], x)
        return out

    def values(self, theta: ArrayLike, x: ArrayLike) -> Array:
        """(n, m): the functions of networks theta (n, dim) at inputs x (m,)."""
        theta = np.ascontiguousarray(theta, dtype=np.float64)
        x = np.ascontiguousarray(x, dtype=np.float64)
        out = np.empty((len(theta), len(x)))
        done = 0
        for n in ticket.pieces(len(theta)):
            rows = slice(done, done + n)
            _many(theta[rows], self.width, self.depth, *self.codes, x, out[rows])
            done += n
        return out

    @property
    def codes(self) -> tuple[int, bool]:
        """Activation and output activation as the kernels name them."""
        return ACTIVATIONS.index(self.activation), self.squash == "tanh"

    # The wide limit ---------------------------------------------------------------------------------------------------

    def covariance(self, x: ArrayLike, other: ArrayLike) -> Array:
        """(m, m'): covariance of f(x) and f(x') in the limit of wide layers, before `squash`. One hidden layer: at
        every width."""
        x, other = np.atleast_1d(np.asarray(x, dtype=float)), np.atleast_1d(np.asarray(other, dtype=float))
        left, right = (a.ravel() for a in np.meshgrid(x, other, indexing="ij"))
        bias, weight = self.bias_sd**2, self.weight_sd**2
        return self._wide(bias + weight * left**2, bias + weight * left * right, bias + weight * right**2).reshape(len(x), len(other))

    def variance(self, x: ArrayLike) -> Array:
        """(m,): variance of f(x) in the limit of wide layers, before `squash`."""
        x = np.atleast_1d(np.asarray(x, dtype=float))
        same = self.bias_sd**2 + self.weight_sd**2 * x**2
        return self._wide(same, same, same)

    def given(self, hidden: Array) -> Array:
        """(n, m, m): second moments of f given the last hidden layer but one, `hidden` (n, k, m), of a deep network:
        exact at every width."""
        factor = self.weight_sd**2 / self.divisor(self.width) ** 2
        before = self.bias_sd**2 + factor * np.einsum("nki,nkj->nij", hidden, hidden)
        same = np.einsum("nii->ni", before)
        left, right = np.broadcast_arrays(same[:, :, None], same[:, None, :])
        moment = activation_moment(self.activation, left.ravel(), before.ravel(), right.ravel())
        return self._last(moment.reshape(before.shape))

    def _wide(self, left: Array, cross: Array, right: Array) -> Array:
        factor = self.width * self.weight_sd**2 / self.divisor(self.width) ** 2
        for _ in range(1, self.depth):
            moments = (
                activation_moment(self.activation, a, b, c) for a, b, c in ((left, left, left), (left, cross, right), (right, right, right))
            )
            left, cross, right = (self.bias_sd**2 + factor * moment for moment in moments)
        return self._last(activation_moment(self.activation, left, cross, right))

    def _last(self, moment: Array) -> Array:
        return self.out_bias_sd**2 + self.width * self.out_sd**2 / self.divisor(self.width) ** 2 * moment

    def excess_kurtosis(self, x: float) -> float:
        """Fourth cumulant of f(x) over its squared variance, exact, for one hidden layer: 0 is a Gaussian."""
        if self.depth != 1:
            raise SpecError("depth", "the exact fourth moment is known for one hidden layer")
        s = math.sqrt(self.bias_sd**2 + self.weight_sd**2 * x**2)
        second, fourth = (activation_power(self.activation, s, power) for power in (2, 4))
        weight = self.out_sd / self.divisor(self.width)
        return 3.0 * self.width * weight**4 * (fourth - second**2) / float(self.variance(x)[0]) ** 2


def stream(seed: int, chunk: int) -> np.random.Generator:
    """The random numbers of networks chunk * CHUNK and on."""
    if not 0 <= seed <= MAX_SEED:
        raise SpecError("seed", f"{seed} is outside 0 to {MAX_SEED}")
    return np.random.Generator(np.random.SFC64(np.random.SeedSequence([seed, chunk])))


def activation_moment(activation: str, left: Array, cross: Array, right: Array) -> Array:
    """E[phi(u) phi(v)] for centred normals u, v with variances `left`, `right` and covariance `cross`, each (n,)."""
    sizes = np.sqrt(left * right)
    rho = np.clip(np.divide(cross, sizes, out=np.ones_like(cross), where=sizes > 0), -1.0, 1.0)
    if activation == "linear":
        return np.array(cross)
    if activation == "step":
        return 2.0 / np.pi * np.arcsin(rho)
    if activation == "relu":
        angle = np.arccos(rho)
        return sizes / (2.0 * np.pi) * (np.sin(angle) + (np.pi - angle) * rho)
    if activation == "erf":
        return 2.0 / np.pi * np.arcsin(2.0 * cross / np.sqrt((1.0 + 2.0 * left) * (1.0 + 2.0 * right)))
    out = np.empty_like(rho)
    _tanh_moments(np.sqrt(left), np.sqrt(right), rho, out)
    return out


def activation_power(activation: str, s: float, power: int) -> float:
    """E[phi(s z)^power] for a standard normal z and an even power, 2 or 4."""
    if activation == "step":
        return 1.0
    gauss = {2: s**2, 4: 3.0 * s**4}[power]
    if activation in ("linear", "relu"):
        return gauss if activation == "linear" else gauss / 2.0
    z = np.linspace(-9.0, 9.0, int(200 * max(s, 1.0)) + 801)
    from scipy.special import erf  # only this needs it

    values = (np.tanh if activation == "tanh" else erf)(s * z) ** power
    return float(np.sum(values * np.exp(-0.5 * z**2)) * (z[1] - z[0]) / math.sqrt(2.0 * math.pi))
