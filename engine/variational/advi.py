"""Automatic differentiation variational inference: climb the ELBO of a normal q by stochastic gradients.

ELBO(q) = energy + entropy = E_q[log p(T(zeta)) + log |J_T(zeta)|] + sum_i gamma_i + dim (1 + log 2 pi) / 2, at most the
log of the integral of p; the gap is KL(q‖p). One step draws `samples` points of q and estimates the gradient:

- "reparameterised": zeta = mean + L epsilon, so that the gradient passes through the point. With
  g = T'(zeta) ∇log p + ∇log |J|: dELBO/dmean = E[g], dELBO/dL_ij = E[g_i epsilon_j], dELBO/dgamma_i = L_ii E[g_i
  epsilon_i] + 1, the 1 being the entropy's.
- "score": E[f ∇log q], f = log p + log |J| - log q. It needs no gradient of p and is far noisier. A control variate
  subtracts from each sample's f the mean of the other samples' f, which leaves the expectation as it is.

A target whose density is a sum over rows of data (`RowTarget`) may be given minibatches.

Sources: Kucukelbir et al. 2017; Steyn 2018, section 5.2.5, eqs. 5.10-5.14; Ranganath et al. 2014 (score function).

Wrong on purpose (`variant`): "no_jacobian" leaves log |J| out; "entropy_sign" climbs energy - entropy; "no_scaling"
forgets that a minibatch stands for all rows.
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from engine import ticket
from engine.kernels import kernel, log_density_at
from engine.samplers.chain import per_coordinate
from engine.samplers.run import MAX_BYTES, whole_number
from engine.slices import Carried
from engine.spec import MAX_SEED, SpecError
from engine.targets.densities import LOG_2PI
from engine.targets.target import Target, TargetError
from engine.variational.approximation import Approximation, pack, size, unpack
from engine.variational.optimisers import Adam, Optimiser, Rule, ascend
from engine.variational.rows import RowTarget
from engine.variational.transforms import Support, Transform, constrain, transform

Array = NDArray[np.float64]

ESTIMATORS = ("reparameterised", "score")
EXACT, NO_JACOBIAN, ENTROPY_SIGN, NO_SCALING = range(4)
VARIANTS = ("exact", "no_jacobian", "entropy_sign", "no_scaling")
DETAILS = ("path", "samples")
ROWS = 32  # of parameters whose ELBO one thread works out at a time


class Plan(NamedTuple):
    """Everything but the state that decides a step, as kernels take it.

    maps : the transform
    samples : points of q per step; score, control : which estimator; variant : see `VARIANTS`
    rows, batch : of data and of a minibatch; 0 where the target is evaluated whole
    """

    maps: Transform
    samples: int
    score: bool
    control: bool
    variant: int
    rows: int
    batch: int


class Inside(NamedTuple):
    """The inside of steps, n of them, each with S samples.

    noise : (n, S, dim), epsilon ~ N(0, I)
    point : (n, S, dim), zeta = mean + L epsilon
    log_joint : (n, S), log p(T(zeta)) + log |J| (without the latter for "no_jacobian")
    slope : (n, S, dim), its gradient in zeta
    gradient : (n, P), the estimate that the step used
    """

    noise: Array
    point: Array
    log_joint: Array
    slope: Array
    gradient: Array

    @classmethod
    def empty(cls, n: int, samples: int, dim: int, parameters: int) -> Inside:
        shape = (n, samples, dim)
        return cls(np.empty(shape), np.empty(shape), np.empty(shape[:2]), np.empty(shape), np.empty((n, parameters)))

    def at(self, rows: slice) -> Inside:
        """Views of the same steps."""
        return Inside._make(array[rows] for array in self)


@dataclass(frozen=True)
class Advi:
    """Settings.

    family : "mean_field" or "full_rank"
    samples : points of q per step, >= 1
    optimiser : a rule of `engine.variational.optimisers`, with its step size
    estimator : "reparameterised" or "score"; control_variate : for the latter, wants at least 2 samples
    supports : "real", "positive" or (low, high) per coordinate; None means all real
    batch : rows of a minibatch, for a `RowTarget`; None takes all rows in every step
    init, init_sd : mean and sd of zeta at the start, numbers or (dim,)
    variant : "exact", or one of the wrong ones
    """

    family: str = "mean_field"
    samples: int = 1
    optimiser: Optimiser = field(default_factory=Adam)
    estimator: str = "reparameterised"
    control_variate: bool = False
    supports: tuple[Support, ...] | None = None
    batch: int | None = None
    init: ArrayLike = 0.0
    init_sd: ArrayLike = 1.0
    variant: str = "exact"

    def plan(self, target: Target) -> Plan:
        """Checked, for kernels. Raises SpecError naming the setting."""
        samples = whole_number("samples", self.samples, 1, 100_000)
        for name, value, options in (("estimator", self.estimator, ESTIMATORS), ("variant", self.variant, VARIANTS)):
            if value not in options:
                raise SpecError(name, f"{value!r} is not one of {', '.join(options)}")
        if self.control_variate and not (self.estimator == "score" and samples > 1):
            raise SpecError("control_variate", "is for the score estimator with at least 2 samples per step")
        rows, batch = 0, 0
        if self.batch is not None:
            if not isinstance(target, RowTarget):
                raise SpecError("batch", f"{target.name} is not a sum over rows of data")
            rows, batch = target.rows, whole_number("batch", self.batch, 1, target.rows)
        return Plan(
            transform(self.supports, target.dim),
            samples,
            self.estimator == "score",
            bool(self.control_variate),
            VARIANTS.index(self.variant),
            rows,
            batch,
        )

    def start(self, dim: int) -> Array:
        """The parameters of q before the first step."""
        size(self.family, dim)
        mean, sd = per_coordinate("init", self.init, dim), per_coordinate("init_sd", self.init_sd, dim)
        return pack(mean, np.diag(sd), self.family)


@dataclass
class Climb:
    """All that a fit carries from one step to the next: plain arrays and one generator, so it pickles.

    parameters, first, second : (P,), of q and of the optimiser's running averages
    step : (1,) int64, steps made
    stopped : (1,) int64, the step whose gradient was not finite, -1 while there was none; nothing moves after it
    ints, scratch : the target's buffers; ints hold the order of the rows for minibatches
    rng : SFC64, the only source of randomness
    """

    parameters: Array
    first: Array
    second: Array
    step: NDArray[np.int64]
    stopped: NDArray[np.int64]
    ints: NDArray[np.int64]
    scratch: Array
    rng: np.random.Generator


@dataclass(frozen=True, eq=False)
class Fit:
    """What a fit did, in n steps.

    parameters : (n // every + 1, P), of q at the start and after every `every` steps; see `engine.variational.
        approximation`
    energy, entropy : (n,); row i was estimated, and for the entropy computed, where q was before step i + 1
    every : steps between two rows of parameters
    seconds : wall time spent in steps
    stopped : index of the step that found a gradient that is not finite, where q then stays; None without
    maps : the transform
    inside : the samples of every step at detail "samples", else None
    """

    parameters: Array
    energy: Array
    entropy: Array
    every: int
    seconds: float
    stopped: int | None
    maps: Transform
    inside: Inside | None

    @property
    def dim(self) -> int:
        return int(self.maps.kind.size)

    @property
    def elbo(self) -> Array:
        """(n,), noisy estimates."""
        return self.energy + self.entropy

    @property
    def mean(self) -> Array:
        """(rows, dim), of zeta."""
        return self.parameters[:, : self.dim]

    @property
    def root(self) -> Array:
        """(rows, dim, dim), the Cholesky root L of q's covariance."""
        return unpack(self.parameters, self.dim)[1]

    @property
    def sd(self) -> Array:
        """(rows, dim), of zeta."""
        return np.sqrt((self.root**2).sum(axis=2))

    def approximation(self, row: int = -1) -> Approximation:
        """q at one row."""
        mean, root = unpack(self.parameters[row], self.dim)
        return Approximation(mean, root, self.maps)

    def averaged(self, share: float = 0.5) -> Approximation:
        """q with the parameters' average over the last `share` of the rows, which has less noise than the last row."""
        first = min(int(len(self.parameters) * (1.0 - share)), len(self.parameters) - 1)
        mean, root = unpack(self.parameters[first:].mean(axis=0), self.dim)
        return Approximation(mean, root, self.maps)


class AdviRun(Carried):
    """One fit, advanced as far as asked; chunks of any size give the same bytes. Parameters as `advi`."""

    _constant = ("target", "settings", "plan", "rule")

    def __init__(
        self, target: Target, settings: Advi | None = None, *, steps: int = 1000, seed: int = 0, every: int = 1, detail: str = "path"
    ):
        self.target, self.settings = target, settings or Advi()
        self.steps = whole_number("steps", steps, 1)
        self.every = whole_number("every", every, 1)
        if detail not in DETAILS:
            raise SpecError("detail", f"{detail!r} is not one of {', '.join(DETAILS)}")
        self.plan, self.rule = self.settings.plan(target), self.settings.optimiser.rule()
        self.climb = start(target, self.settings, self.plan, whole_number("seed", seed, 0, MAX_SEED))
        start_, dim, samples = self.climb.parameters, target.dim, self.plan.samples
        inside_bytes = 8 * (samples * (3 * dim + 1) + start_.size) * (detail == "samples")
        needed = self.steps * (16 + inside_bytes + 8 * start_.size // self.every)
        if needed > MAX_BYTES:
            raise SpecError("steps", f"the recording would take {needed / 2**30:.1f} GiB: record every few steps only")
        self._path = np.empty((self.steps // self.every + 1, start_.size))
        self._path[0] = start_
        self._energy, self._entropy = np.empty(self.steps), np.empty(self.steps)
        self._detailed = detail == "samples"
        self._inside = Inside.empty(self.steps if self._detailed else 0, samples, dim, start_.size)
        self.completed, self.seconds = 0, 0.0
        self._advance(0)

    @property
    def total(self) -> int:
        return self.steps

    @property
    def done(self) -> bool:
        return self.completed == self.steps

    def advance(self, n: int) -> int:
        """Make up to n more steps. Returns how many were made."""
        n = min(n, self.steps - self.completed)
        left = n - self._advance_elsewhere(n)
        begin = time.perf_counter()
        self._advance(left)
        self.completed += left
        self.seconds += time.perf_counter() - begin
        return n

    def _advance(self, n: int) -> None:
        rows = slice(self.completed, self.completed + n)
        c = self.climb
        advi_chunk(
            self.target.address,
            self.target.data,
            c.ints,
            c.scratch,
            c.rng,
            self.plan,
            self.rule,
            c.parameters,
            c.first,
            c.second,
            c.step,
            c.stopped,
            self._energy[rows],
            self._entropy[rows],
            self.every,
            self._path,
            self._inside.at(rows if self._detailed else slice(0)),
        )

    def fit(self) -> Fit:
        """The steps made so far (views, not copies)."""
        n = self.completed
        stopped = int(self.climb.stopped[0])
        return Fit(
            self._path[: n // self.every + 1],
            self._energy[:n],
            self._entropy[:n],
            self.every,
            self.seconds,
            None if stopped < 0 else stopped,
            self.plan.maps,
            self._inside.at(slice(n)) if self._detailed else None,
        )


def advi(target: Target, *, steps: int = 1000, seed: int = 0, every: int = 1, detail: str = "path", **settings: Any) -> Fit:
    """Fit a normal distribution to a target by stochastic gradients of the ELBO.

    target : any
    steps : of the optimiser; seed : 0 to 2**32 - 1, the same arguments give the same bytes on the same build
    every : record q every so many steps; detail : "path", or "samples" to record the inside of each step
    settings : fields of `Advi`

    Raises SpecError naming a wrong parameter, TargetError when the start lies outside the support.
    """
    for name in settings:
        if name not in Advi.__dataclass_fields__:
            raise SpecError(name, f"is not a setting of advi, which has {', '.join(Advi.__dataclass_fields__)}")
    run = AdviRun(target, Advi(**settings), steps=steps, seed=seed, every=every, detail=detail)
    run.advance(run.total)
    return run.fit()


def start(target: Target, settings: Advi, plan: Plan, seed: int) -> Climb:
    """The state before the first step. Raises TargetError where the density at the mean of q is not finite."""
    parameters = settings.start(target.dim)
    theta, slope, bend = np.empty(target.dim), np.empty(target.dim), np.empty(target.dim)
    constrain(plan.maps, parameters[: target.dim].copy(), theta, slope, bend)
    if not np.isfinite(target.log_density(theta)):
        raise TargetError(
            f"{target.name} has no finite log density at {theta}, the mean of q at the start: "
            "give `init` inside the support, and `supports` where coordinates are bounded"
        )
    ints, scratch = target.buffers()
    if plan.batch:
        ints[0] = plan.batch if plan.variant == NO_SCALING else plan.rows
        ints[1] = plan.batch
    zeros = np.zeros_like(parameters)
    rng = np.random.Generator(np.random.SFC64(np.random.SeedSequence(seed)))
    return Climb(parameters, zeros, zeros.copy(), np.zeros(1, np.int64), np.full(1, -1, np.int64), ints, scratch, rng)


def gradients(target: Target, settings: Advi, parameters: ArrayLike, *, repeats: int, seed: int = 0) -> Array:
    """Independent estimates (repeats, P) of the ELBO's gradient at fixed parameters (P,) of q."""
    plan = settings.plan(target)
    climb = start(target, settings, plan, whole_number("seed", seed, 0, MAX_SEED))
    at = per_coordinate("parameters", parameters, climb.parameters.size)
    found = np.empty((whole_number("repeats", repeats, 1), at.size))
    done = 0
    for n in ticket.pieces(len(found)):
        rows = found[done : done + n]
        _gradients(target.address, target.data, climb.ints, climb.scratch, climb.rng, plan, at, rows)
        done += n
    return found


@dataclass(frozen=True, eq=False)
class Elbo:
    """Of M distributions q: energy, entropy and standard error of the energy, each (M,)."""

    energy: Array
    entropy: Array
    error: Array

    @property
    def value(self) -> Array:
        """The ELBO, (M,)."""
        return self.energy + self.entropy


def elbo(
    target: Target,
    parameters: ArrayLike,
    *,
    supports: tuple[Support, ...] | None = None,
    draws: int | None = None,
    nodes: int = 24,
    seed: int = 0,
) -> Elbo:
    """The ELBO at rows of parameters (M, P) of q.

    draws : with so many draws of q, the same noise for every row; the error is theirs. None uses Gauss-Hermite
        quadrature with `nodes` nodes a coordinate, in up to 3 coordinates: exact where log p is a polynomial of degree
        below 2 nodes, its error not known elsewhere and given as 0
    """
    rows = np.ascontiguousarray(np.atleast_2d(np.asarray(parameters, dtype=np.float64)))
    maps = transform(supports, target.dim)
    if rows.shape[1] not in (size("mean_field", target.dim), size("full_rank", target.dim)):
        raise SpecError("parameters", f"{rows.shape[1]} numbers do not describe a q in {target.dim} coordinates")
    if draws is None:
        if target.dim > 3:
            raise SpecError("draws", f"quadrature in {target.dim} coordinates takes too long: say how many draws")
        z, w = np.polynomial.hermite_e.hermegauss(whole_number("nodes", nodes, 2, 200))
        grid = np.meshgrid(*[z] * target.dim, indexing="ij")
        noise = np.column_stack([g.ravel() for g in grid])
        weight = np.ones(len(noise))
        for g in np.meshgrid(*[w / w.sum()] * target.dim, indexing="ij"):
            weight *= g.ravel()
    else:
        rng = np.random.Generator(np.random.SFC64(np.random.SeedSequence(whole_number("seed", seed, 0, MAX_SEED))))
        noise = rng.standard_normal((whole_number("draws", draws, 2), target.dim))
        weight = np.full(len(noise), 1.0 / len(noise))
    energy, spread, entropy = np.empty(len(rows)), np.empty(len(rows)), np.empty(len(rows))

    def some(first: int) -> None:
        ticket.look()
        part = slice(first, first + ROWS)
        ints, scratch = target.buffers()
        into = energy[part], spread[part], entropy[part]
        _elbos(target.address, target.data, ints, scratch, maps, rows[part], noise, weight, *into)

    ticket.each(some, range(0, len(rows), ROWS))
    error = np.zeros(len(rows)) if draws is None else np.sqrt(spread / (len(noise) - 1))
    return Elbo(energy, entropy, error)


@kernel
def _place(parameters, noise, zeta):
    """zeta = mean + L epsilon."""
    dim = zeta.size
    full = parameters.size > 2 * dim
    for i in range(dim):
        total = parameters[i] + math.exp(parameters[dim + i]) * noise[i]
        if full:
            row = 2 * dim + i * (i - 1) // 2
            for j in range(i):
                total += parameters[row + j] * noise[j]
        zeta[i] = total


@kernel
def _entropy(parameters, dim):
    total = 0.5 * dim * (1.0 + LOG_2PI)
    for i in range(dim):
        total += parameters[dim + i]
    return total


@kernel
def _score(parameters, noise, score, z):
    """Gradient of log q in its parameters at zeta = mean + L epsilon. z (dim,) is filled with L^-T epsilon."""
    dim = noise.size
    full = parameters.size > 2 * dim
    for i in range(dim - 1, -1, -1):
        total = noise[i]
        if full:
            for k in range(i + 1, dim):
                total -= parameters[2 * dim + k * (k - 1) // 2 + i] * z[k]
        z[i] = total / math.exp(parameters[dim + i])
    for i in range(dim):
        score[i] = z[i]
        score[dim + i] = math.exp(parameters[dim + i]) * z[i] * noise[i] - 1.0
        if full:
            row = 2 * dim + i * (i - 1) // 2
            for j in range(i):
                score[row + j] = z[i] * noise[j]


@kernel
def _estimate(address, data, ints, scratch, rng, plan, parameters, buffers, sums, gradient, inside, at):
    """One estimate of the gradient. Returns the estimated energy. `buffers` (6, dim), `sums` (3, P); writes row `at` of
    `inside` where it has rows.

    Random numbers: batch uniforms for a minibatch, then dim normals a sample.
    """
    dim, S = buffers.shape[1], plan.samples
    noise, zeta, theta, grad, slope, bend = buffers[0], buffers[1], buffers[2], buffers[3], buffers[4], buffers[5]
    full = parameters.size > 2 * dim
    for b in range(plan.batch):  # the first rows of a shuffle: without replacement
        other = b + min(int(rng.random() * (plan.rows - b)), plan.rows - b - 1)
        ints[2 + b], ints[2 + other] = ints[2 + other], ints[2 + b]
    sign = -1.0 if plan.variant == ENTROPY_SIGN else 1.0
    energy, total = 0.0, 0.0
    for p in range(parameters.size):
        gradient[p], sums[0, p], sums[1, p] = 0.0, 0.0, 0.0
    for s in range(S):
        for j in range(dim):
            noise[j] = rng.standard_normal()
        _place(parameters, noise, zeta)
        log_jacobian = constrain(plan.maps, zeta, theta, slope, bend)
        value = log_density_at(address, theta, grad, data, ints, scratch)
        if plan.variant != NO_JACOBIAN:
            value += log_jacobian
        for j in range(dim):
            grad[j] *= slope[j]
            if plan.variant != NO_JACOBIAN:
                grad[j] += bend[j]
        energy += value / S
        if plan.score:
            f = value
            for j in range(dim):
                f += sign * (0.5 * (noise[j] * noise[j] + LOG_2PI) + parameters[dim + j])
            _score(parameters, noise, sums[2], bend)
            total += f
            for p in range(parameters.size):
                sums[0, p] += f * sums[2, p]
                sums[1, p] += sums[2, p]
        else:
            for i in range(dim):
                gradient[i] += grad[i] / S
                gradient[dim + i] += math.exp(parameters[dim + i]) * grad[i] * noise[i] / S
                if full:
                    row = 2 * dim + i * (i - 1) // 2
                    for j in range(i):
                        gradient[row + j] += grad[i] * noise[j] / S
        if inside.log_joint.size > 0:
            inside.noise[at, s], inside.point[at, s], inside.slope[at, s] = noise, zeta, grad
            inside.log_joint[at, s] = value
    if plan.score:
        for p in range(parameters.size):
            if plan.control:
                gradient[p] = (S * sums[0, p] - total * sums[1, p]) / (S * (S - 1.0))
            else:
                gradient[p] = sums[0, p] / S
    else:
        for i in range(dim):
            gradient[dim + i] += sign
    if inside.log_joint.size > 0:
        inside.gradient[at] = gradient
    return energy


@kernel
def advi_chunk(
    address, data, ints, scratch, rng, plan, rule: Rule, parameters, first, second, step, stopped, energy, entropy, every, path, inside
):
    """Make as many steps as `energy` has rows."""
    dim = plan.maps.kind.size
    buffers, sums, gradient = np.empty((6, dim)), np.empty((3, parameters.size)), np.empty(parameters.size)
    for i in range(energy.size):
        entropy[i] = _entropy(parameters, dim)
        energy[i] = np.nan
        if stopped[0] < 0:
            energy[i] = _estimate(address, data, ints, scratch, rng, plan, parameters, buffers, sums, gradient, inside, i)
            finite = math.isfinite(energy[i])
            for p in range(gradient.size):
                finite = finite and math.isfinite(gradient[p])
            if finite:
                ascend(rule, step[0] + 1, parameters, gradient, first, second)
            else:
                stopped[0] = step[0]
        elif inside.log_joint.size > 0:
            inside.noise[i], inside.point[i], inside.slope[i] = np.nan, np.nan, np.nan
            inside.log_joint[i], inside.gradient[i] = np.nan, np.nan
        step[0] += 1
        if step[0] % every == 0:
            path[step[0] // every] = parameters


@kernel
def _gradients(address, data, ints, scratch, rng, plan, parameters, found):
    dim = plan.maps.kind.size
    buffers, sums = np.empty((6, dim)), np.empty((3, parameters.size))
    nothing = Inside(np.empty((0, 0, 0)), np.empty((0, 0, 0)), np.empty((0, 0)), np.empty((0, 0, 0)), np.empty((0, 0)))
    for r in range(found.shape[0]):
        _estimate(address, data, ints, scratch, rng, plan, parameters, buffers, sums, found[r], nothing, 0)


@kernel
def _elbos(address, data, ints, scratch, maps, parameters, noise, weight, energy, spread, entropy):
    dim = noise.shape[1]
    zeta, theta, grad, slope, bend = np.empty(dim), np.empty(dim), np.empty(dim), np.empty(dim), np.empty(dim)
    for m in range(parameters.shape[0]):
        mean, squares, filled = 0.0, 0.0, 0.0
        for k in range(noise.shape[0]):
            _place(parameters[m], noise[k], zeta)
            value = constrain(maps, zeta, theta, slope, bend)
            value += log_density_at(address, theta, grad, data, ints, scratch)
            filled += weight[k]
            change = value - mean
            mean += change * weight[k] / filled
            squares += weight[k] * change * (value - mean)
        energy[m], spread[m], entropy[m] = mean, squares, _entropy(parameters[m], dim)
