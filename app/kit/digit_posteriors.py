"""Posteriors of networks that read digits: one face for five ways to get them, trained once a process and shared.

`networks` in weight space is what every way ends in: R networks of one shape, drawn from the posterior or its stand-in.
From images they make class probabilities (R, m, classes), which `engine.scores` takes apart.

    nuts      NUTS over all weights of a small network on principal components of the first few hundred images
    lbbnn     spike and slab over every weight (Hubin and Storvik 2019)
    dense     mean-field Gaussian
    dropout   one network, its hidden units dropped out at random, also when it predicts
    ensemble  most probable weights found from different starts, one member after another
"""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from engine import kept
from engine.diagnostics import rhat
from engine.judge import (
    Check,
    Kernel,
    TransitionKernel,
    agreement_check,
    depth_check,
    divergence_check,
    energy_check,
    unknown,
    worst,
)
from engine.judge.training import rest_check, training_gradient_check
from engine.networks import Network, network
from engine.recording import Recording
from engine.samplers.run import start
from engine.spec import Spec, SpecError, choice, integer, number, seed_field
from engine.ticket import Lock
from engine.variational import NetworkFit, NetworkSpec, start_network

Single = NDArray[np.float32]
Stop = Callable[[], bool]

NAMES = {
    "nuts": "NUTS",
    "lbbnn": "spike and slab",
    "dense": "dense Gaussian",
    "dropout": "MC dropout",
    "ensemble": "ensemble",
}
METHODS = tuple(NAMES)
RUNS = {
    "nuts": "NUTS over all weights of a 20-16-10 tanh network on principal components of 500 digits. It is tried on "
    "data simulated at the first 60 of them: the same network, in seconds.",
    "lbbnn": "Mean-field spike and slab over every weight, Adam. An approximation.",
    "dense": "Mean-field Gaussian over every weight, Adam. An approximation.",
    "dropout": "One network trained and read with units dropped out. An approximation, if it is one.",
    "ensemble": "Most probable weights from different starts. Not draws of the posterior.",
}
EPOCHS = {"lbbnn": 150, "dense": 200, "dropout": 60, "ensemble": 20}  # on the bundled digits
FAMILIES = {"lbbnn": "spike_and_slab", "dense": "gaussian", "dropout": "mc_dropout", "ensemble": "map"}
LARGE = 10_000  # images from which on other settings are better
LARGE_EPOCHS = {"lbbnn": 20, "dense": 10, "dropout": 8, "ensemble": 5}
# Small standard deviations at the start and weights that leave slowly: the means learn before the noise has grown.
LARGE_SETTINGS = {"step_size": 1e-3, "initial_sd": 0.005}
INCLUSION_PACE = 0.0135  # of the step size of the inclusion odds, shared among the epochs
CHAINS = 2  # of NUTS
THIN = 2  # transitions of NUTS from one network to the next
SLICE = 0.1  # seconds of training between two looks
FIRST_SLICE = 0.02  # before the first
CELLS = 8_000_000  # float32 that a prediction holds at once
TRIED = 60  # images at whose inputs NUTS is tried
STEPS, SEEN, FEW_SEEN = 6, 100, 40  # of a training, and images of few and of many pixels, where its gradient is checked
GROSS = 1.3  # R-hat that so few draws do not reach by chance


class Learnt(Protocol):
    """What is learnt from: `datasets.images.Images` fits."""

    @property
    def x(self) -> Single:
        """(n, pixels) from 0 to 1."""

    @property
    def y(self) -> NDArray[np.int64]:
        """(n,) labels."""


@dataclass(frozen=True, kw_only=True)
class PosteriorSpec(Spec):
    """Everything that decides a posterior, beside the data."""

    method: str = choice("dense", METHODS, "how the networks are found")
    networks: int = integer(100, 2, 400, "networks R that predict")
    units: int = integer(50, 2, 400, "hidden units; NUTS takes `small`")
    depth: int = integer(1, 1, 3, "hidden layers; NUTS has one")
    small: int = integer(16, 2, 40, "hidden units of the network that NUTS samples")
    epochs: int = integer(0, 0, 400, "passes through the data; 0: as many as the method needs")
    components: int = integer(20, 2, 60, "principal components that NUTS' network reads")
    images: int = integer(500, 20, 4000, "images that NUTS learns from: the first ones")
    warmup: int = integer(100, 20, 2000, "transitions in which NUTS tunes itself, in each of its 2 chains")
    prior_sd: float = number(1.0, 0.01, 10.0, "of every weight", log=True)
    keep: float = number(0.8, 0.1, 1.0, "probability that a hidden unit is kept, for MC dropout")
    seed: int = seed_field()


class Sensitivity(NamedTuple):
    """How uncertainty changes with the ink of each pixel: (pixels,) in nats for a full pixel of ink more."""

    total: NDArray[np.float64]
    aleatoric: NDArray[np.float64]
    epistemic: NDArray[np.float64]


class Networks:
    """R networks of one shape.

    layers : (R, n_l + 1, n_{l+1}) float32 of every layer, biases in the last row
    activation : "relu" or "tanh"
    """

    def __init__(self, layers: tuple[Single, ...], activation: str):
        self.layers, self.activation = layers, activation

    def __len__(self) -> int:
        return len(self.layers[0])

    def predict(self, x: ArrayLike, stop: Stop | None = None) -> Single | None:
        """(R, m, classes) probabilities at images x (m, pixels) or (m, side, side) with ink from 0 to 1; None when
        stopped. Raises SpecError for images of another size.
        """
        inputs = self._inputs(x)
        found = np.empty((len(self), len(inputs), self.layers[-1].shape[2]), dtype=self.layers[0].dtype)
        together = max(1, CELLS // max(1, len(inputs) * max(layer.shape[2] for layer in self.layers)))
        rows = max(1, CELLS // max(layer.shape[2] for layer in self.layers))
        for first in range(0, len(self), together):
            for begin in range(0, len(inputs), rows):
                if stop is not None and stop():
                    return None
                part = slice(first, first + together)
                values = self._forward(inputs[begin : begin + rows], part)[-1]
                found[part, begin : begin + rows] = _softmax(values)
        return found

    def sensitivity(self, image: ArrayLike) -> Sensitivity:
        """The exact gradient of total, aleatoric and epistemic uncertainty at one image, by backpropagation through
        every network. A relu unit exactly at its kink counts as off.
        """
        x = self._inputs(np.reshape(image, (1, -1)))
        *hidden, z = self._forward(x, slice(None))
        p = _softmax(z)[:, 0].astype(np.float64)
        tiny = np.finfo(np.float64).tiny
        # Entropy's slope is -(1 + log p); the 1 leaves no trace, because probabilities add up to one. Both entropies go
        # back together: with many large networks it is the weights' way through the memory that takes time.
        average = np.broadcast_to(p.mean(axis=0), p.shape)
        slopes = -np.log(np.maximum(np.stack([average, p], axis=2), tiny))
        weighed = slopes - (p[:, :, None] * slopes).sum(axis=1, keepdims=True)
        back = (p[:, :, None] * weighed / len(self)).astype(z.dtype)
        for layer, values in zip(self.layers[:0:-1], reversed(hidden), strict=True):
            slope = values[:, 0] > 0.0 if self.activation == "relu" else 1.0 - values[:, 0] ** 2
            back = np.matmul(layer[:, :-1], back) * slope[:, :, None]
        total, aleatoric = np.matmul(self.layers[0][:, :-1], back).sum(axis=0, dtype=np.float64).T
        return Sensitivity(total, aleatoric, total - aleatoric)

    def precise(self) -> Networks:
        """The same networks in double precision, for finite differences."""
        return Networks(tuple(layer.astype(np.float64) for layer in self.layers), self.activation)

    def _inputs(self, x: ArrayLike) -> Single:
        inputs = np.ascontiguousarray(x, dtype=self.layers[0].dtype)
        inputs = inputs.reshape(len(inputs), -1)
        pixels = self.layers[0].shape[1] - 1
        if inputs.shape[1] != pixels:
            raise SpecError("images", f"they have {inputs.shape[1]} pixels; these networks read {pixels}")
        return inputs

    def _forward(self, x: Single, part: slice) -> list[Single]:
        """Values of every layer after the input: (R, m, n_l), the outputs before the softmax last."""
        values, found = x[None], []
        for depth, layer in enumerate(self.layers):
            values = _times(values, layer[part, :-1]) + layer[part, -1:]
            if depth < len(self.layers) - 1:
                values = np.maximum(values, 0.0) if self.activation == "relu" else np.tanh(values)
            found.append(values)
        return found


def _times(values: Single, weights: Single) -> Single:
    """(R, m, n) or (1, m, n) times (R, n, h): (R, m, h). One image by einsum: five times faster than BLAS there."""
    if values.shape[1] > 1:
        return np.matmul(values, weights)
    single = np.broadcast_to(values[:, 0], (len(weights), values.shape[2]))
    return np.einsum("rn,rnh->rh", single, weights)[:, None]


def _softmax(z: Single) -> Single:
    e = np.exp(z - z.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)


# Training -------------------------------------------------------------------------------------------------------------


class Traces(NamedTuple):
    """What a training leaves to be judged by: the ELBO that each run of an optimiser reported, or the chains."""

    elbo: tuple[NDArray[np.float64], ...] = ()
    chains: Recording | None = None


class Training:
    """A posterior on its way, for one thread at a time: `advance` as far as you like, `networks` at any time.

    Pieces of any size give the same networks in the end.
    """

    total: int  # units of work
    completed: int

    @property
    def traces(self) -> Traces:
        """What it leaves to be judged by."""
        raise NotImplementedError

    @property
    def done(self) -> bool:
        return self.completed >= self.total

    def advance(self, seconds: float, stop: Stop | None = None) -> None:
        """Work for about so long, or until `stop` answers true."""
        begin = time.perf_counter()
        while not self.done and not (stop is not None and stop()):
            self._step(stop)
            if time.perf_counter() - begin > seconds:
                return

    def networks(self) -> Networks:
        """The networks as they stand: R of them at the end, for an ensemble fewer before."""
        raise NotImplementedError

    def _step(self, stop: Stop | None) -> None:
        raise NotImplementedError


def begin(data: Learnt, spec: PosteriorSpec) -> Training:
    """A training that has not begun. Raises SpecError for data that do not fit."""
    kinds = {"nuts": _Nuts, "ensemble": _Ensemble}
    return kinds.get(spec.method, _Variational)(data.x, data.y, spec)


def _network_spec(spec: PosteriorSpec, seed: int, images: int) -> NetworkSpec:
    """The engine's settings for so many images."""
    large = images >= LARGE
    epochs = spec.epochs or (LARGE_EPOCHS if large else EPOCHS)[spec.method]
    settings: dict[str, Any] = {
        "hidden": (spec.units,) * spec.depth,
        "epochs": epochs,
        "seed": seed,
        "prior_sd": spec.prior_sd,
    }
    if large:
        settings |= LARGE_SETTINGS | {"inclusion_step_size": INCLUSION_PACE / epochs}
    return NetworkSpec(method=FAMILIES[spec.method], keep=spec.keep, **settings)


class _Variational(Training):
    def __init__(self, x: Single, y: NDArray[np.int64], spec: PosteriorSpec):
        self.spec, self._run = spec, start_network(x, y, _network_spec(spec, spec.seed, len(x)))
        self.total, self.completed = self._run.total, 0

    @property
    def traces(self) -> Traces:
        return Traces((self._run.fit().history.elbo,))

    def _step(self, stop: Stop | None) -> None:
        self._run.advance(1)
        self.completed = self._run.completed

    def networks(self) -> Networks:
        fit = self._run.fit()
        return _stacked([fit.draw_weights(seed) for seed in _seeds(self.spec)], fit)


class _Ensemble(Training):
    def __init__(self, x: Single, y: NDArray[np.int64], spec: PosteriorSpec):
        self.spec, self._x, self._y = spec, x, y
        self._seeds = _seeds(spec)
        self._members: list[NetworkFit] = []
        self._run = self._next()
        self.total, self.completed = self._run.total * spec.networks, 0

    @property
    def traces(self) -> Traces:
        return Traces(tuple(member.history.elbo for member in self._members))

    def _next(self) -> Any:
        settings = _network_spec(self.spec, self._seeds[len(self._members)], len(self._x))
        return start_network(self._x, self._y, settings)

    def _step(self, stop: Stop | None) -> None:
        self._run.advance(1)
        self.completed += 1
        if self._run.done:
            self._members.append(self._run.fit())
            if not self.done:
                self._run = self._next()

    def networks(self) -> Networks:
        members = self._members or [self._run.fit()]
        return _stacked([member.expected_weights() for member in members], members[0])


class _Nuts(Training):
    def __init__(self, x: Single, y: NDArray[np.int64], spec: PosteriorSpec):
        pixels = x[: spec.images].astype(np.float64)
        if spec.components > min(pixels.shape):
            raise SpecError("components", f"{spec.components} are more than {min(pixels.shape)}")
        self.spec = spec
        self._mean = pixels.mean(axis=0)
        self._axes = np.linalg.svd(pixels - self._mean, full_matrices=False)[2][: spec.components]
        self.network: Network = network(
            spec.components, int(y.max()) + 1, spec.small, activation="tanh", prior_sd=spec.prior_sd
        )
        target = self.network.posterior((pixels - self._mean) @ self._axes.T, y[: spec.images])
        draws = THIN * -(-spec.networks // CHAINS)
        init = 0.1 * self.network.prior_draws(CHAINS, spec.seed)  # small weights: the tails are slow to leave
        self._chains = start(
            target, "nuts", chains=CHAINS, draws=draws, warmup=spec.warmup, seed=spec.seed, init=init, max_depth=6
        )
        self.total, self.completed = spec.warmup + draws, 0

    def _step(self, stop: Stop | None) -> None:
        self._chains.advance(1)
        self.completed += 1

    @property
    def traces(self) -> Traces:
        return Traces(chains=self._chains.recording())

    @property
    def draws(self) -> NDArray[np.float64]:
        """(chains, draws, dim) so far."""
        return self._chains.recording().draws[:, : max(self.completed - self.spec.warmup, 0)]

    def networks(self) -> Networks:
        """In warm-up the present state of every chain is not kept: before the first draws, networks of the prior."""
        draws = self.draws[:, THIN - 1 :: THIN]
        if not draws.shape[1]:
            theta = self.network.prior_draws(self.spec.networks, self.spec.seed)
        else:
            theta = draws.transpose(1, 0, 2).reshape(-1, self.network.dim)[: self.spec.networks]
        return self._on_pixels([self.network.unpack(row) for row in theta])

    def _on_pixels(self, unpacked: list[list[tuple[NDArray, NDArray]]]) -> Networks:
        """The same networks reading pixels: the projection is linear, so it goes into the first layer."""
        first, second = [], []
        for (w1, b1), (w2, b2) in unpacked:
            on_pixels = self._axes.T @ w1.T
            first.append(np.vstack([on_pixels, b1 - self._mean @ on_pixels]))
            second.append(np.vstack([w2.T, b2]))
        return Networks((np.stack(first).astype(np.float32), np.stack(second).astype(np.float32)), "tanh")


def _seeds(spec: PosteriorSpec) -> list[int]:
    """A seed for each of the R networks."""
    return [int(seed) for seed in np.random.SeedSequence(spec.seed).generate_state(spec.networks)]


def _stacked(draws: list[list[Single]], fit: NetworkFit) -> Networks:
    """Draws [network][layer] as one array a layer."""
    layers = tuple(np.stack(same).astype(np.float32) for same in zip(*draws, strict=True))
    return Networks(layers, fit.spec.activation)


# One training for all -------------------------------------------------------------------------------------------------


class Shared:
    """A posterior that everyone in the process shares: whoever needs it trains it on; a look never waits.

    key : under which it is kept once it is trained
    """

    def __init__(self, data: Learnt, spec: PosteriorSpec, key: Hashable = None):
        self.spec, self._key = spec, key
        self._training: Training | None = begin(data, spec)
        self.traces = Traces()  # once done
        self._lock = Lock()
        self._networks: Networks | None = None
        self._drawing = 0.0  # seconds that it took to draw them
        self.fraction = 0.0

    @property
    def done(self) -> bool:
        """Trained to the end."""
        return self._training is None

    def networks(self) -> Networks:
        """The networks as they stood at the last look; trains a first slice where there was none."""
        if self._networks is None:
            self.advance()
        assert self._networks is not None
        return self._networks

    def advance(self, stop: Stop | None = None) -> None:
        """Train on for a slice, or wait while somebody else does."""
        with self._lock:
            if self._training is None:
                return
            slice_seconds = FIRST_SLICE if self._networks is None else max(SLICE, 4.0 * self._drawing)
            self._training.advance(slice_seconds, stop)  # large networks take time to draw
            begin = time.perf_counter()
            self._networks = self._training.networks()
            self._drawing = time.perf_counter() - begin
            self.fraction = self._training.completed / self._training.total
            if self._training.done:
                self.traces = self._training.traces
                self._training = None  # with it go the data
                if self._key is not None:
                    kept.store.put(self._key, self)  # which may have been too heavy while it was trained

    def finish(self, stop: Stop | None = None, look: Callable[[Shared], None] | None = None) -> Networks | None:
        """Train to the end; None when stopped. `look` is called after every slice."""
        while not self.done:
            if stop is not None and stop():
                return None
            self.advance(stop)
            if look is not None:
                look(self)
        return self.networks()


# What is told of it ---------------------------------------------------------------------------------------------------


def kernels(shared: Shared, stop: Stop | None = None) -> list[Kernel]:
    """The kernel of NUTS with the step size and mass of its first chain, on the first `TRIED` of its inputs; none for
    the other methods. Trains to the end.
    """
    if shared.spec.method != "nuts" or shared.finish(stop) is None:
        return []
    assert shared.traces.chains is not None
    run = shared.traces.chains.run
    model = run.target.model
    some = dataclasses.replace(model, x=model.x[:TRIED].copy(), aside=f" (of {len(model.x):,} on this page)")
    return [TransitionKernel(some, run.method, run.adaptation)]


def training_check(data: Learnt, spec: PosteriorSpec, cancel: Any) -> list[Check]:
    """Is the gradient that trains these networks the right one? Of the same network after a few steps, on some of the
    images; nothing for NUTS, whose kernel is tried.
    """
    if spec.method == "nuts":
        return []
    some = SEEN if data.x.shape[1] <= 256 else FEW_SEEN
    run = start_network(data.x[:some], data.y[:some], _network_spec(spec, spec.seed, len(data.x)))
    run.advance(STEPS)
    return [training_gradient_check(run, spec.seed, cancel)]


def chain_rhat(values: NDArray) -> float:
    """R-hat of a number of each network (R,); networks of the chains alternate."""
    return float(rhat(np.ascontiguousarray(_by_chain(values))))


def _by_chain(values: NDArray) -> NDArray:
    each = len(values) // CHAINS
    return values[: each * CHAINS].reshape(each, CHAINS).T


def run_checks(shared: Shared, values: NDArray, what: str) -> list[Check]:
    """Of a trained posterior: have its trainings come to rest; for NUTS, do its chains agree on `what`, a number
    `values` (R,) of each network, and on the log density.
    """
    chains = shared.traces.chains
    if chains is None:
        return [worst([rest_check(elbo) for elbo in shared.traces.elbo])]
    drawn = chains.log_density[:, THIN - 1 :: THIN, None]
    both = np.concatenate([_by_chain(values)[:, :, None], drawn[:, : len(values) // CHAINS]], axis=2)
    agreed = agreement_check(both, (what, "the log density"))
    if agreed.verdict == "fail" and agreed.statistic < GROSS:
        words = "So few draws can differ so much by chance: only gross disagreement would show, and these are too few."
        sentence = agreed.sentence.partition(" The chains disagree")[0]
        agreed = dataclasses.replace(agreed, verdict="unknown", sentence=f"{sentence} {words}")
    assert chains.tree_depth is not None and chains.energy is not None
    deepest = chains.tree_depth >= chains.run.method.max_depth
    return [agreed, divergence_check(chains.divergent), energy_check(chains.energy), depth_check(deepest)]


def numbers_check(method: str) -> Check:
    """What is not known of the networks of a method."""
    if method == "nuts":
        words = "No exact answer is known for a network of this size: its chains can only be held against each other."
    else:
        words = (
            f"By {NAMES[method]}: not draws of the posterior but a stand-in, and how near it comes cannot be told from "
            "itself. Compare with NUTS."
        )
    return unknown("posterior", words, kind="numbers")


def posterior(name: Hashable, data: Learnt, spec: PosteriorSpec) -> Shared:
    """The posterior of `spec` on `data`, which goes by `name`: the same for all who ask."""
    key = Shared, name, spec
    return kept.store.make(key, lambda: Shared(data, spec, key))
