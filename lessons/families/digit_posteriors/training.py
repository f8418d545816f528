"""Five ways to networks drawn from the posterior, or its stand-in: each a training that can be watched."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any, NamedTuple, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from engine import slices, ticket
from engine.levels import Levels
from engine.networks import Network, network
from engine.networks.stack import Networks, Single, Stop
from engine.recording import Recording
from engine.samplers.run import start
from engine.spec import SpecError
from engine.variational import NetworkFit, NetworkRun, NetworkSpec, start_network
from lessons.families.digit_posteriors.spec import PosteriorSpec

EPOCHS = {"lbbnn": 150, "dense": 200, "dropout": 60, "ensemble": 20}  # on the bundled digits
FAMILIES = {"lbbnn": "spike_and_slab", "dense": "gaussian", "dropout": "mc_dropout", "ensemble": "map"}
LARGE = 10_000  # images from which on other settings are better
LARGE_EPOCHS = {"lbbnn": 20, "dense": 10, "dropout": 8, "ensemble": 5}
# Small standard deviations at the start and weights that leave slowly: the means learn before the noise has grown.
LARGE_SETTINGS = {"step_size": 1e-3, "initial_sd": 0.005}
INCLUSION_PACE = 0.0135  # of the step size of the inclusion odds, shared among the epochs
CHAINS = 2  # of NUTS
REPORTS = 30  # an epoch, of a training that takes minutes
THIN = 2  # transitions of NUTS from one network to the next


T = TypeVar("T")


class Learnt(Protocol):
    """What is learnt from: `datasets.images.Images` fits."""

    @property
    def x(self) -> Single:
        """(n, pixels) from 0 to 1."""

    @property
    def levels(self) -> Levels:
        """The same (n, pixels), a byte each until they are looked at."""

    @property
    def y(self) -> NDArray[np.int64]:
        """(n,) labels."""


def inputs(data: Learnt) -> Single | Levels:
    """What a training reads: of many images only the bytes are held."""
    return data.levels if len(data.y) >= LARGE else data.x


def begun(data: Learnt, settings: NetworkSpec, often: bool) -> NetworkRun:
    """A training that has not taken a step. `often`: it reports `REPORTS` times an epoch, for it takes minutes."""
    every = max(1, len(data.y) // settings.batch // REPORTS) if often else None
    return start_network(inputs(data), data.y, settings, report_every=every)


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
    seconds = 0.0  # of training
    _pace: ticket.Pace | None = None  # of units that are done elsewhere at a time

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
        self._pace = pace = self._pace or ticket.Pace(seconds)
        while not self.done and not (stop is not None and stop()):
            units, before = 1 if slices.place() is None else pace.size, time.perf_counter()
            self._go(min(units, self.total - self.completed), stop)
            pace.took(units, time.perf_counter() - before)
            if time.perf_counter() - begin > seconds:
                break
        self.seconds += time.perf_counter() - begin

    def networks(self, most: int | None = None) -> Networks:
        """The networks as they stand: R of them, or `most` of those; of an ensemble those that are trained."""
        raise NotImplementedError

    def state(self) -> Any:
        """What goes on disk: without the data."""
        raise NotImplementedError

    def restore(self, state: Any) -> None:
        """Go on from such a state of the same training."""
        raise NotImplementedError

    def _go(self, units: int, stop: Stop | None) -> None:
        """Do so many units, or fewer."""
        raise NotImplementedError


def begin(data: Learnt, spec: PosteriorSpec) -> Training:
    """A training that has not begun. Raises SpecError for data that do not fit."""
    kinds = {"nuts": _Nuts, "ensemble": _Ensemble}
    return kinds.get(spec.method, _Variational)(inputs(data), data.y, spec)


def network_spec(spec: PosteriorSpec, seed: int, images: int) -> NetworkSpec:
    """The engine's settings for so many images."""
    large = images >= LARGE
    epochs = spec.epochs or (LARGE_EPOCHS if large else EPOCHS)[spec.method]
    settings: dict[str, Any] = {"hidden": (spec.units,) * spec.depth, "epochs": epochs, "seed": seed, "prior_sd": spec.prior_sd}
    if large:
        settings |= LARGE_SETTINGS | {"inclusion_step_size": INCLUSION_PACE / epochs}
    return NetworkSpec(method=FAMILIES[spec.method], keep=spec.keep, **settings)


class _Variational(Training):
    def __init__(self, x: Single | Levels, y: NDArray[np.int64], spec: PosteriorSpec):
        self.spec, self._run = spec, start_network(x, y, network_spec(spec, spec.seed, len(x)))
        self.total, self.completed = self._run.total, 0

    @property
    def traces(self) -> Traces:
        return Traces((self._run.fit().history.elbo,))

    def _go(self, units: int, stop: Stop | None) -> None:
        self._run.advance(units, stop)
        self.completed = self._run.completed

    def networks(self, most: int | None = None) -> Networks:
        fit = self._run.fit()
        return _stacked(fit, _seeds(self.spec)[:most], fit.draw_weights)

    def state(self) -> NetworkRun:
        return self._run.without_data()

    def restore(self, state: Any) -> None:
        self._run = state.with_data_of(self._run)
        self.completed = self._run.completed


class _Ensemble(Training):
    """Members learn one after the other; where slices may go elsewhere, as many side by side as there is room for."""

    def __init__(self, x: Single | Levels, y: NDArray[np.int64], spec: PosteriorSpec):
        self.spec, self._x, self._y = spec, x, y
        self._waiting = _seeds(spec)
        self._members: dict[int, NetworkFit] = {}
        self._runs: dict[int, NetworkRun] = {}  # under way, by number
        self._take_up(1)
        self.total, self.completed = self._runs[0].total * spec.networks, 0

    @property
    def traces(self) -> Traces:
        return Traces(tuple(member.history.elbo for member in self._learnt()))

    def _learnt(self) -> list[NetworkFit]:
        return [self._members[i] for i in sorted(self._members)]

    def _take_up(self, at_once: int) -> None:
        while len(self._runs) < at_once and self._waiting:
            settings = network_spec(self.spec, self._waiting.pop(0), len(self._x))
            self._runs[len(self._members) + len(self._runs)] = start_network(self._x, self._y, settings)

    def _go(self, units: int, stop: Stop | None) -> None:
        self._take_up(1 if slices.place() is None else slices.width())
        runs = list(self._runs.values())
        before = sum(run.completed for run in runs)
        try:
            if not sum(slices.together(runs, [min(units, run.total - run.completed) for run in runs], stop)):
                runs[0].advance(units, stop)
        finally:  # an advance that is interrupted goes on from where it was
            self.completed += sum(run.completed for run in runs) - before
            for i, run in list(self._runs.items()):
                if run.done:
                    self._members[i] = self._runs.pop(i).fit()

    def networks(self, most: int | None = None) -> Networks:
        members = (self._learnt() or [next(iter(self._runs.values())).fit()])[:most]
        return _stacked(members[0], members, NetworkFit.expected_weights)

    def state(self) -> tuple[dict[int, NetworkFit], dict[int, NetworkRun]]:
        return dict(self._members), {i: run.without_data() for i, run in self._runs.items()}

    def restore(self, state: Any) -> None:
        self._members, runs = state
        (fresh,) = self._runs.values()
        self._runs = {i: run.with_data_of(fresh) for i, run in runs.items()}
        self._waiting = _seeds(self.spec)[len(self._members) + len(runs) :]
        self.completed = len(self._members) * fresh.total + sum(run.completed for run in self._runs.values())


class _Nuts(Training):
    def __init__(self, x: Single | Levels, y: NDArray[np.int64], spec: PosteriorSpec):
        pixels = x[: spec.images].astype(np.float64)
        if spec.components > min(pixels.shape):
            raise SpecError("components", f"{spec.components} are more than {min(pixels.shape)}")
        self.spec = spec
        self._mean = pixels.mean(axis=0)
        self._axes = np.linalg.svd(pixels - self._mean, full_matrices=False)[2][: spec.components]
        self.network: Network = network(spec.components, int(y.max()) + 1, spec.small, activation="tanh", prior_sd=spec.prior_sd)
        target = self.network.posterior((pixels - self._mean) @ self._axes.T, y[: spec.images])
        draws = THIN * -(-spec.networks // CHAINS)
        init = 0.1 * self.network.prior_draws(CHAINS, spec.seed)  # small weights: the tails are slow to leave
        self._chains = start(target, "nuts", chains=CHAINS, draws=draws, warmup=spec.warmup, seed=spec.seed, init=init, max_depth=6)
        self.total, self.completed = spec.warmup + draws, 0

    def _go(self, units: int, stop: Stop | None) -> None:
        try:
            self._chains.advance(units)
        finally:  # an advance that is interrupted goes on from where it was
            self.completed = self._chains.warmed_up + self._chains.completed

    @property
    def traces(self) -> Traces:
        return Traces(chains=self._chains.recording())

    @property
    def draws(self) -> NDArray[np.float64]:
        """(chains, draws, dim) so far."""
        return self._chains.recording().draws[:, : max(self.completed - self.spec.warmup, 0)]

    def networks(self, most: int | None = None) -> Networks:
        """In warm-up the present state of every chain is not kept: before the first draws, networks of the prior."""
        draws = self.draws[:, THIN - 1 :: THIN]
        if not draws.shape[1]:
            theta = self.network.prior_draws(self.spec.networks, self.spec.seed)
        else:
            theta = draws.transpose(1, 0, 2).reshape(-1, self.network.dim)[: self.spec.networks]
        return self._on_pixels([self.network.unpack(row) for row in theta[:most]])

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


def _stacked(fit: NetworkFit, each: Sequence[T], weights: Callable[[T], list[Single]]) -> Networks:
    """The networks that `weights` makes of `each`, one array a layer: written where they stay, for they may be large."""
    sizes = fit.shape.sizes
    layers = tuple(np.empty((len(each), a + 1, b), dtype=np.float32) for a, b in pairwise(sizes))

    def make(number: int) -> None:
        ticket.look()
        for whole, layer in zip(layers, weights(each[number]), strict=True):
            whole[number] = layer

    ticket.each(make, range(len(each)))
    return Networks(layers, fit.spec.activation)
