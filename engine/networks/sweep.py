"""The posterior of a network whose prior has unknowns of its own: NUTS and Gibbs in turns.

A sweep is one NUTS transition of all weights and biases given their precisions and the noise, then a Gibbs draw of the
precisions (and means) given the weights, then one of the noise precision given the residuals: `engine.networks.scales`.

The mass of NUTS is set anew in every sweep from the scales in force, which stay fixed during the transition, by the
heuristic of Neal 1996, section 3.5.2: prior precision plus what the likelihood's curvature would be with weights of the
size that the prior expects. The step size, in units of that, is learned over the warm-up sweeps and then frozen.
"""

from __future__ import annotations

import copy
import dataclasses
import math
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from engine.diagnostics import Summary, summarise
from engine.kernels import kernel
from engine.networks import predictive
from engine.networks.mlp import GAUSSIAN, HIDDEN, SIZES, Network, checked_inputs, network_target
from engine.networks.passes import ELU, LINEAR, RELU, SIGMOID
from engine.networks.predictive import Bands, Ensemble, Uncertainty
from engine.networks.scales import NOISES, RATE_AS_SCALE, VARIANTS, WEIGHTS, Groups, draw_means, draw_precisions, groups_of
from engine.recording import Recording
from engine.resumable import Resumable
from engine.samplers import nuts
from engine.samplers.adaptation import LOG_BAR, mass_of
from engine.samplers.chain import Chain, Trace, evaluate
from engine.samplers.nuts import Nuts, nuts_chunk
from engine.samplers.run import MAX_BYTES
from engine.spec import Spec, SpecError, choice, integer, number, seed_field
from engine.targets.target import TargetError

Array = NDArray[np.float64]

TUNINGS = ("adapt", "fixed")
STARTS = ("centre", "prior")


@dataclass(frozen=True, kw_only=True)
class SweepSpec(Spec):
    """Settings of `sample_network`. Raises SpecError naming a wrong one."""

    weights: str = choice("per_layer", WEIGHTS, "what shares a prior precision, and whether it is learned")
    noise: str = choice("fixed", NOISES, "the noise of y: noise_sd of the network, or learned")
    weight_shape: float = number(1.0, 0.1, 1000.0, "shape a of the gamma prior of a weight precision", log=True)
    weight_rate: float = number(1.0, 1e-4, 1e4, "rate b of the gamma prior of a weight precision", log=True)
    noise_shape: float = number(1.0, 0.1, 1000.0, "shape of the gamma prior of the noise precision", log=True)
    noise_rate: float = number(1.0, 1e-4, 1e4, "rate of the gamma prior of the noise precision", log=True)
    width_scaling: str = choice("no", ("no", "yes"), "prior variance of weights out of k hidden units divided by k")
    chains: int = integer(4, 1, 64, "independent chains")
    draws: int = integer(1000, 1, 1_000_000, "sweeps kept of each chain", log=True)
    warmup: int = integer(500, 0, 100_000, "sweeps before them, in which NUTS tunes itself")
    tuning: str = choice("adapt", TUNINGS, "find the step size in warm-up, or keep step_size")
    step_size: float = number(0.3, 1e-3, 2.0, "of the leapfrog, in units of the posterior's guessed width", log=True)
    target_accept: float = number(0.9, 0.5, 0.99, "mean acceptance that the step size is tuned to", step=0.01)
    max_depth: int = integer(10, 1, 12, "doublings of a trajectory at most")
    start: str = choice("centre", STARTS, "weights drawn with the prior's central precisions, or all of the prior")
    variant: str = choice("exact", VARIANTS, "the draw of the precisions, or one that is wrong on purpose")
    seed: int = seed_field()

    def check(self) -> None:
        if self.weights == "own_mean" and self.width_scaling == "yes":
            raise SpecError("width_scaling", "has no meaning where every weight has a mean and a scale of its own")
        if self.variant != "exact" and self.weights in ("fixed", "own_mean"):
            raise SpecError("variant", f"{self.variant} is a mistake in gamma draws, and {self.weights} has none")

    def nuts(self) -> Nuts:
        """The sampler of the weights; its mass is set in every sweep."""
        return Nuts(
            step_size=None if self.tuning == "adapt" else self.step_size,
            mass=1.0,
            target_accept=self.target_accept,
            max_depth=self.max_depth,
        )


class Scales(NamedTuple):
    """A chain's own prior: precisions (groups,), means (dim,), lambda of the means `mixing` (dim,), noise precision
    `noise` (1,)."""

    precisions: Array
    means: Array
    mixing: Array
    noise: Array


class Rules(NamedTuple):
    """What does not change in a sweep: groups and factors (dim,), the gamma priors (a shape of 0 keeps a precision),
    number of values of y, mean squares of the inputs (inputs,), curvature of the likelihood in an output (0: that is
    the noise precision).
    """

    group: NDArray[np.int64]
    factor: Array
    weight_shape: float
    weight_rate: float
    noise_shape: float
    noise_rate: float
    own_means: bool
    wrong: int
    values: int
    input_squares: Array
    curvature: float


class SweepTrace(NamedTuple):
    """What a sweep writes, arrays (chains, n, ...): see `NetworkRecording`."""

    draws: Array
    precisions: Array
    means: Array
    noise_precision: Array
    log_likelihood: Array
    log_density: Array
    accept_prob: Array
    accepted: NDArray[np.bool_]
    divergent: NDArray[np.bool_]
    gradient_evaluations: NDArray[np.int32]
    energy: Array
    tree_depth: NDArray[np.int16]
    tree_ending: NDArray[np.int8]
    step_size: Array

    @classmethod
    def empty(cls, chains: int, n: int, dim: int, groups: int, means: int) -> SweepTrace:
        nuts = Trace.empty(chains, n, dim, Nuts.records)._asdict()
        shape = (chains, n)
        return cls(
            precisions=np.empty((*shape, groups)),
            means=np.empty((*shape, means)),
            noise_precision=np.empty(shape),
            log_likelihood=np.empty(shape),
            **nuts,
        )

    def at(self, *where: int | slice) -> SweepTrace:
        """Views of all arrays at the same place."""
        return SweepTrace._make(array[where] for array in self)


@kernel
def put_in_force(scratch, scales, rules):
    """Write every parameter's precision, its own mean integrated out, and the noise where the target reads them."""
    for j in range(rules.group.size):
        precision = rules.factor[j] * scales.precisions[rules.group[j]]
        if rules.own_means:
            precision *= scales.mixing[j] / (precision + scales.mixing[j])
        scratch[j] = precision
    scratch[rules.group.size] = scales.noise[0]


@kernel
def set_mass(inverse_mass, mass_root, scratch, ints, scales, rules):
    """Neal's mass (1, dim) for the scales in force: of a weight, its prior precision + samples * curvature * mean
    square of what it weighs * mean square of what then happens to it on the way to the outputs.

    Units that are bounded count as 1, the others as the prior expects them.
    """
    hidden, kind, dim = ints[HIDDEN], ints[2], rules.group.size
    open_ended = kind in (RELU, LINEAR, ELU)
    square, first = np.ones(hidden + 1), 0
    for layer in range(1, hidden + 1):
        n_in, n_out = ints[SIZES + layer - 1], ints[SIZES + layer]
        total = 0.0
        for j in range(n_out * (n_in + 1)):
            incoming = 1.0 if j >= n_out * n_in else rules.input_squares[j % n_in] if layer == 1 else square[layer - 1]
            total += incoming / scratch[first + j]
        if open_ended:
            square[layer] = total / n_out
        first += n_out * (n_in + 1)

    slope = 0.0625 if kind == SIGMOID else 1.0  # the square of the activation's steepest
    gain = ints[0] * (rules.curvature if rules.curvature > 0.0 else scales.noise[0])
    last = dim
    for layer in range(hidden + 1, 0, -1):
        n_in, n_out = ints[SIZES + layer - 1], ints[SIZES + layer]
        first, expected = last - n_out * (n_in + 1), 0.0
        for j in range(n_out * (n_in + 1)):
            incoming = 1.0
            if j < n_out * n_in:
                incoming = rules.input_squares[j % n_in] if layer == 1 else square[layer - 1]
                expected += 1.0 / scratch[first + j]
            mass = scratch[first + j] + gain * incoming
            inverse_mass[0, first + j], mass_root[0, first + j] = 1.0 / mass, math.sqrt(mass)
        gain *= slope * expected / n_in
        last = first


@kernel
def draw_scales(rng, theta, half_squares, scales, rules):
    """Gibbs: all that the prior and the noise have unknown, given the parameters and half the squared residuals."""
    if rules.own_means:
        draw_means(rng, theta, scales.means, scales.mixing, scales.precisions)
    elif rules.weight_shape > 0.0:
        draw_precisions(rng, theta, rules.group, rules.factor, rules.weight_shape, rules.weight_rate, rules.wrong, scales.precisions)
    if rules.noise_shape > 0.0:
        gamma = rng.standard_gamma(rules.noise_shape + 0.5 * rules.values)
        rate = rules.noise_rate + half_squares
        scales.noise[0] = gamma * rate if rules.wrong == RATE_AS_SCALE else gamma / rate


@kernel
def _sweeps(density, rng, state, adaptation, settings, scales, rules, first, n, trace, one, inside):
    """n sweeps, written from row `first` on; `one` is the row in which NUTS writes a transition."""
    position, gradient, running = state
    dim, data, scratch = position.size, density.data, density.scratch
    for i in range(first, first + n):
        put_in_force(scratch, scales, rules)
        running[0] = evaluate(density, position, gradient)
        inverse_mass, mass_root = mass_of(adaptation, settings.rows, dim)
        set_mass(inverse_mass, mass_root, scratch, density.ints, scales, rules)
        nuts_chunk(density, rng, state, adaptation, settings, 1, one, inside, np.empty(0))
        log_fit = running[0] - data[3]
        for j in range(dim):
            log_fit += 0.5 * scratch[j] * position[j] ** 2
        half_squares = -log_fit / scales.noise[0]
        draw_scales(rng, position, half_squares, scales, rules)

        if density.ints[1] == GAUSSIAN:
            log_likelihood = 0.5 * rules.values * math.log(scales.noise[0] / (2.0 * math.pi))
            log_likelihood -= scales.noise[0] * half_squares
        else:
            log_likelihood = log_fit
        log_prior = 0.0
        for j in range(dim):
            trace.draws[i, j], precision = position[j], rules.factor[j] * scales.precisions[rules.group[j]]
            off = position[j] - scales.means[j]
            log_prior += 0.5 * (math.log(precision / (2.0 * math.pi)) - precision * off * off)
        for g in range(scales.precisions.size):
            trace.precisions[i, g] = scales.precisions[g]
        for j in range(trace.means.shape[1]):
            trace.means[i, j] = scales.means[j]
        trace.noise_precision[i] = scales.noise[0]
        trace.log_likelihood[i] = log_likelihood
        trace.log_density[i] = log_likelihood + log_prior
        trace.accept_prob[i], trace.accepted[i] = one.accept_prob[0], one.accepted[0]
        trace.divergent[i] = one.divergent[0]
        trace.gradient_evaluations[i] = 1 + one.gradient_evaluations[0]
        trace.energy[i], trace.tree_depth[i] = one.energy[0], one.tree_depth[0]
        trace.tree_ending[i], trace.step_size[i] = one.tree_ending[0], one.step_size[0]


@dataclass(frozen=True, eq=False, kw_only=True)
class NetworkRecording(Recording):
    """What `sample_network` did; a draw is the state after a sweep.

    The fields of `Recording` hold, with log_density : (chains, draws), log likelihood + log prior of the parameters
    given their precisions and means, normalised; accept_prob, accepted, divergent, energy, tree_depth, tree_ending,
    step_size : of the NUTS transition; gradient_evaluations : of the whole sweep.

    precisions : (chains, draws, groups), in the order of `groups.names`
    means : (chains, draws, dim), prior means of their own with "own_mean"; else (chains, draws, 0)
    noise_precision : (chains, draws), 1 / variance of y around the output; 1 / noise_sd^2 where it is not learned
    log_likelihood : (chains, draws), normalised over y
    network, spec, groups : what was sampled
    """

    precisions: Array
    means: Array
    noise_precision: Array
    log_likelihood: Array
    network: Network
    spec: SweepSpec
    groups: Groups

    @property
    def theta(self) -> Array:
        """(chains, draws, dim), the weights and biases."""
        return self.draws

    @property
    def noise_sd(self) -> Array:
        """(chains, draws), standard deviation of y around the output."""
        return 1.0 / np.sqrt(self.noise_precision)

    @property
    def prior_sd(self) -> Array:
        """(chains, draws, dim), the prior standard deviation that each parameter had in each draw."""
        return 1.0 / np.sqrt(self.precisions[:, :, self.groups.group] * self.groups.factor)

    def outputs(self, x: ArrayLike) -> Array:
        """Outputs at inputs x (m, inputs) of every draw, without noise: (chains, draws, m, outputs)."""
        return self._by_chain(predictive.outputs(self.network, self._pooled(), x))

    def predict(self, x: ArrayLike, seed: int = 0) -> Array:
        """New observations at inputs x (m, inputs), one for each draw with that draw's noise: (chains, draws, m,
        outputs). Raises SpecError for classes.
        """
        self._needs_values("predict")
        values = self.outputs(x)
        noise = np.random.Generator(np.random.PCG64(seed)).standard_normal(values.shape)
        return np.asarray(values + self.noise_sd[:, :, None, None] * noise)

    def bands(self, x: ArrayLike) -> Bands:
        """Mean and standard deviations at inputs x (m, inputs) over all draws; the noise is that of the draws. Raises
        SpecError for classes.
        """
        self._needs_values("bands")
        found = Ensemble(self.network, x).add(self._pooled()).bands()
        noise = np.full_like(found.mean, math.sqrt(float(np.mean(1.0 / self.noise_precision))))
        return Bands(found.mean, noise, found.epistemic, np.hypot(noise, found.epistemic))

    def uncertainty(self, x: ArrayLike) -> Uncertainty:
        """Class probabilities and entropies at inputs x (m, inputs) over all draws. Raises SpecError for a
        regression.
        """
        return Ensemble(self.network, x).add(self._pooled()).uncertainty()

    def quantiles(self, x: ArrayLike, levels: ArrayLike, *, noise: bool = False, seed: int = 0) -> Array:
        """Quantiles over all draws at inputs x (m, inputs): (levels, m, outputs), of the outputs or, with `noise`, of
        new observations.
        """
        values = self.predict(x, seed) if noise else self.outputs(x)
        return np.quantile(values, np.asarray(levels, dtype=np.float64), axis=(0, 1))

    def log_score(self, x: ArrayLike, y: ArrayLike) -> Array:
        """Log predictive density of each observation, in nats: log of the mean over draws of N(y; output, noise):
        (m, outputs) for x (m, inputs) and y (m, outputs), or (m,) with one output. Raises SpecError for classes.
        """
        self._needs_values("log_score")
        values = self.outputs(x)
        wanted = np.asarray(y, dtype=np.float64).reshape(-1, self.network.outputs)
        if len(wanted) != values.shape[2]:
            raise TargetError(f"y has {len(wanted)} rows, x has {values.shape[2]}")
        precision = self.noise_precision[:, :, None, None]
        log_each = 0.5 * np.log(precision / (2.0 * math.pi)) - 0.5 * precision * (wanted - values) ** 2
        return np.asarray(np.logaddexp.reduce(log_each, axis=(0, 1)) - math.log(self.noise_precision.size))

    def function_diagnostics(self, x: ArrayLike) -> Summary:
        """R-hat, effective draws and errors of the outputs at inputs x (m, inputs), each (m * outputs,), where they
        mean something: hidden units can swap places and signs, the function stays.
        """
        values = self.outputs(x)
        return summarise(values.reshape(*values.shape[:2], -1))

    def _pooled(self) -> Array:
        if not self.draws.size:
            raise TargetError("no draws have been made yet")
        return np.ascontiguousarray(self.draws).reshape(-1, self.dim)

    def _by_chain(self, values: Array) -> Array:
        return values.reshape(*self.draws.shape[:2], *values.shape[1:])

    def _needs_values(self, what: str) -> None:
        if self.network.classes:
            raise SpecError("likelihood", f"{self.network.likelihood} predicts classes: {what} is for values")


class NetworkRun(Resumable):
    """Chains of one network, advanced as far as asked.

    Chain c of a seed is the same whatever the number of chains, the chunking and the thread. `advance(n)` runs n more
    sweeps of every chain, warm-up first; `recording()` returns what is there. Pickles.
    """

    nuts_variant = "exact"
    _carries = ("_chains", "_scales", "_warmup_evaluations", "_start", "_start_log_density")
    _writes = ("_trace",)

    def __init__(self, network: Network, x: ArrayLike, y: ArrayLike, spec: SweepSpec):
        if spec.noise == "learned" and network.likelihood != "gaussian":
            raise SpecError("noise", f"the {network.likelihood} likelihood has none to learn")
        self.network, self.x, self.y, self.spec = network, checked_inputs(network, x), np.asarray(y), spec
        self.chains, self.draws, self.warmup = spec.chains, spec.draws, spec.warmup
        self.groups = groups_of(network, spec.weights, spec.width_scaling == "yes")
        self._check_memory()
        self._prepare()
        self._warmup_evaluations = np.zeros(self.chains, dtype=np.int64)
        self._scales: list[Scales] = []
        self._chains: list[Chain] = []
        for seed in np.random.SeedSequence(spec.seed).spawn(self.chains):
            self._begin(seed)
        self._make_room()
        self._start = np.stack([chain.position.copy() for chain in self._chains])
        self._start_log_density = np.array([chain.running[0] for chain in self._chains])
        self._sweep(0, 0, 0, self._empty(1, 0).at(0))  # compiles or loads the kernel

    def _make_room(self) -> None:
        self._trace = self._empty(self.chains, self.draws)

    def recording(self) -> NetworkRecording:
        """The sweeps done so far (views, not copies)."""
        return NetworkRecording(
            **self._trace.at(slice(None), slice(self.completed))._asdict(),
            start=self._start,
            start_log_density=self._start_log_density,
            warmup_gradient_evaluations=self._warmup_evaluations,
            seconds=self.seconds,
            transitions=None,
            run=self,
            network=self.network,
            spec=self.spec,
            groups=self.groups,
        )

    def one_chain(self, draws: int, fault: str = "") -> NetworkRun:
        """A run of one chain with the step size that this run's first chain has come to. It wants a `restart` before
        it moves. fault : a wrong variant of NUTS or of the Gibbs draws to run instead, for the judge
        """
        other = copy.copy(self)
        adaptation = self._chains[0].adaptation
        step_size = float(np.clip(math.exp(adaptation[LOG_BAR]), 1e-3, 2.0))
        changes = {"chains": 1, "draws": draws, "warmup": 0, "tuning": "fixed", "step_size": step_size}
        if fault in VARIANTS:
            changes["variant"] = fault
        other.spec = self.spec.replace(**changes)
        other.chains, other.draws, other.warmup = 1, draws, 0
        other.rewind()
        other.nuts_variant = fault if fault in nuts.VARIANTS else self.nuts_variant
        other._trace = other._empty(1, draws)
        return other

    def restart(self, x: Array, y: Array, theta: Array, scales: Scales, rng: np.random.Generator) -> None:
        """Put the one chain of `one_chain` at a state, on data (x, y)."""
        self.x, self.y = x, y
        self.rewind()
        self._prepare()
        self._chains, self._scales = [], []
        self._place(theta.copy(), Scales(*(array.copy() for array in scales)), rng)

    def _prepare(self) -> None:
        """What does not change, and does not pickle."""
        spec, network = self.spec, self.network
        self.target = network_target(network, "hierarchy", self.x, self.y, 0.0, 0.0, own=network.dim + 1, single=True)
        self._settings = self.nuts().prepare(self.target)
        learned = spec.weights not in ("fixed", "own_mean")
        self._rules = Rules(
            self.groups.group,
            self.groups.factor,
            spec.weight_shape if learned else 0.0,
            spec.weight_rate,
            spec.noise_shape if spec.noise == "learned" else 0.0,
            spec.noise_rate,
            spec.weights == "own_mean",
            VARIANTS.index(spec.variant),
            len(self.x) * network.outputs,
            np.mean(self.x**2, axis=0) if len(self.x) else np.zeros(network.inputs),
            0.25 * network.temper**2 if network.classes else 0.0,
        )
        nothing = self.nuts().transitions(1, 0, network.dim)
        self._inside = type(nothing)(*(array[0] for array in nothing))

    def nuts(self) -> Nuts:
        """The sampler of the weights."""
        return dataclasses.replace(self.spec.nuts(), variant=self.nuts_variant)

    def _begin(self, seed: np.random.SeedSequence) -> None:
        """One more chain, at its start."""
        start_seed, stream_seed = seed.spawn(2)
        rng = np.random.Generator(np.random.SFC64(start_seed))
        scales = self._first_scales(rng)
        sd = 1.0 / np.sqrt(scales.precisions[self.groups.group] * self.groups.factor)
        position = scales.means + sd * rng.standard_normal(self.network.dim)
        self._place(position, scales, np.random.Generator(np.random.SFC64(stream_seed)))

    def _place(self, position: Array, scales: Scales, stream: np.random.Generator) -> None:
        """One more chain, at this state."""
        ints, scratch = self.target.buffers()
        put_in_force(scratch, scales, self._rules)
        chain = Chain(position, np.zeros_like(position), np.zeros(1), ints, scratch, stream)
        chain.running[0] = log_density_of(*chain.arguments(self.target))
        if not np.isfinite(chain.running[0]):
            raise TargetError("the log density at the start is not finite: scale the inputs, or lower prior_sd")
        inverse_mass, root = np.ones((1, chain.position.size)), np.ones((1, chain.position.size))
        set_mass(inverse_mass, root, scratch, ints, scales, self._rules)
        method = dataclasses.replace(self.nuts(), mass=1.0 / inverse_mass[0])
        spent = 1 + method.begin(self.target, chain, self.warmup)
        self._warmup_evaluations[len(self._chains)] = spent
        self._chains.append(chain)
        self._scales.append(scales)

    def _first_scales(self, rng: np.random.Generator) -> Scales:
        """The scales at the start: the prior's centre, or a draw from it."""
        spec, network, dim, n = self.spec, self.network, self.network.dim, len(self.groups.names)
        of_prior = spec.start == "prior"
        means, mixing = np.zeros(dim), np.ones(dim)
        if spec.weights == "fixed":
            precisions = np.full(n, 1.0 / network.prior_sd**2)
        elif spec.weights == "own_mean":
            precisions = rng.standard_normal(n) ** -2.0 if of_prior else np.ones(n)
            if of_prior:
                mixing = rng.standard_normal(dim) ** 2
                means = rng.standard_normal(dim) / np.sqrt(mixing)
        else:
            precisions = rng.standard_gamma(spec.weight_shape, n) if of_prior else np.full(n, spec.weight_shape)
            precisions /= spec.weight_rate
        noise = np.full(1, 1.0 / network.noise_sd**2)
        if spec.noise == "learned":
            noise[0] = (rng.standard_gamma(spec.noise_shape) if of_prior else spec.noise_shape) / spec.noise_rate
        return Scales(precisions, means, mixing, noise)

    def _warm_up_chain(self, c: int, first: int, n: int) -> None:
        rows = self._empty(1, n).at(0)
        self._sweep(c, 0, n, rows)
        self._warmup_evaluations[c] += int(rows.gradient_evaluations.sum())

    def _advance_chain(self, c: int, first: int, n: int) -> None:
        if first == 0:
            self._start[c], self._start_log_density[c] = self._chains[c].position, self._chains[c].running[0]
        self._sweep(c, first, n, self._trace.at(c))

    def _sweep(self, c: int, first: int, n: int, trace: SweepTrace) -> None:
        chain = self._chains[c]
        one = Trace.empty(1, 1, self.network.dim, Nuts.records).at(0)
        _sweeps(
            *chain.arguments(self.target),
            chain.adaptation,
            self._settings,
            self._scales[c],
            self._rules,
            first,
            n,
            trace,
            one,
            self._inside,
        )

    def _empty(self, chains: int, n: int) -> SweepTrace:
        dim = self.network.dim
        means = dim if self.spec.weights == "own_mean" else 0
        return SweepTrace.empty(chains, n, dim, len(self.groups.names), means)

    def _check_memory(self) -> None:
        row = sum(array.nbytes for array in self._empty(1, 1))
        size = self.chains * self.draws * row
        if size > MAX_BYTES:
            most = MAX_BYTES / 2**30
            raise SpecError("draws", f"the recording would take {size / 2**30:.1f} GiB, more than the {most:.0f} GiB allowed")

    def __getstate__(self) -> dict[str, Any]:
        left_out = ("target", "_settings", "_rules", "_inside")
        return {name: value for name, value in self.__dict__.items() if name not in left_out}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._prepare()


@kernel
def log_density_of(density, rng, state):
    """Log density at a state's position; fills its gradient."""
    return evaluate(density, state.position, state.gradient)


def start_network(network: Network, x: ArrayLike, y: ArrayLike, **settings: Any) -> NetworkRun:
    """A run that has not moved yet, for jobs that advance it in chunks. Parameters as `sample_network`."""
    known = SweepSpec.declarations()
    for name in settings:
        if name not in known:
            raise SpecError(name, f"is not a setting of sample_network, which has {', '.join(known)}")
    return NetworkRun(network, x, y, SweepSpec(**settings))


def sample_network(network: Network, x: ArrayLike, y: ArrayLike, **settings: Any) -> NetworkRecording:
    """Sample the posterior of a network's weights together with the precisions of their prior and of the noise.

    network : from `engine.network`, of one width and depth
    x, y : as in `Network.posterior`; no samples give the prior

    Settings, by keyword (see `SweepSpec` for the defaults):
    weights : what shares a prior precision tau. "fixed": none is learned, all are 1 / prior_sd^2; "per_layer": each
        layer's weights, and each layer's biases; "per_input": as that, and in the first layer what leads out of one
        input; "per_weight": nothing, every parameter has its own and so a Student t prior; "own_mean": every parameter
        has its own mean and scale, see `engine.networks.scales`
    noise : "fixed", or "learned" (gaussian likelihood)
    weight_shape, weight_rate : of the gamma prior of every tau; noise_shape, noise_rate : of the noise precision
    width_scaling : "yes" divides the prior variance of weights out of k hidden units by k
    chains, draws, warmup, seed : a draw is the state after a sweep, see above
    tuning : "adapt", or "fixed": step_size from the start
    step_size, target_accept, max_depth : of NUTS
    start : "centre": weights drawn given each precision's a / b (1 with "own_mean"); "prior": everything drawn
    variant : "exact", or wrong on purpose, see `engine.networks.scales`

    Raises SpecError naming a wrong parameter, TargetError when x or y does not fit.
    """
    run = start_network(network, x, y, **settings)
    run.advance(run.total)
    return run.recording()
