"""Six ways to learn one network, and what each says about the plane.

Every method ends in networks: draws of a chain, draws of a fitted q, masks, members. A network gives p, its probability
of class 1, at every place; the networks of a method together give the predictive mean and the uncertainties. What a
method costs is counted in gradients of the loss over all data.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from datasets.xor import chosen
from engine import ticket
from engine.diagnostics import ess_mean, rhat
from engine.jumps import start_architecture
from engine.jumps.recording import ArchitectureRecording
from engine.jumps.run import ArchitectureRun
from engine.kept import kept, lazy
from engine.networks import Network, network
from engine.networks.predictive import probabilities
from engine.samplers import run as runs
from engine.scores import binary_entropy
from engine.ticket import Lock
from engine.training import EnsembleRun, Trained, TrainingRun, TrainingSpec, dropout_draws, map_decay
from engine.variational.advi import Advi as AdviSettings
from engine.variational.advi import AdviRun
from engine.variational.optimisers import Adam
from lessons.xor_methods.spec import FITTED, REACH, SAMPLERS, MethodsSpec

Array = NDArray[np.float64]
Stop = Callable[[], bool]

CELLS = 28  # of a map, a side
CHAINS = 4
KEPT, WARMUP = 200, 150  # states of each chain on the stage
PIECE = 50  # transitions, or networks asked, between two looks at the ticket
AT_ONCE = 1_000  # networks whose say is kept in one go
DRAWN = 200  # networks drawn from q, and masks
FEW = 2  # networks of the ensemble in the first picture
CHECKPOINTS = np.array([1, 2, 3, 5, 8, 13, 21, 34, 55, 89, 144, 233, 377, CHAINS * KEPT])
EDGES = np.array([0.0, 0.15, 0.35, 0.6, 0.9, 1.2, 1.6, 2.0, 2.5, np.inf])  # of the classes of distance
FEWEST = 3  # cells in a class of distance
STEP_SIZE = 0.03  # of Adam, for all that is trained or fitted
PER_STEP = 4  # draws of q in one step of ADVI
NEAR, FAR = 0.3, 1.0  # distance from the nearest point: up to here it is near, from there on far
TINY = 1e-12


# What the spec describes ----------------------------------------------------------------------------------------------


def data_of(spec: MethodsSpec) -> tuple[Array, NDArray[np.int64]]:
    """The points x (n, 2) and their classes y (n,)."""
    data = chosen(spec.data, spec.points, spec.corner, spec.seed)
    return data.x, data.y


def model_of(spec: MethodsSpec) -> Network:
    """The one network, with its prior and likelihood."""
    return network(2, 2, spec.units, activation=spec.activation, prior_sd=spec.prior_sd)


def learning(spec: MethodsSpec) -> MethodsSpec:
    """The spec without what only chooses what is looked at."""
    return spec.replace(**{field: spec.default(field) for field in ("method", "compare", "view")})


def plane(cells: int) -> Array:
    """Midpoints of cells × cells cells of the plane, (cells², 2), row by row from the lowest x₂."""
    middles = REACH * (2 * np.arange(cells) + 1 - cells) / cells
    return np.stack(np.meshgrid(middles, middles), axis=-1).reshape(-1, 2)


def distances(spec: MethodsSpec, places: ArrayLike) -> Array:
    """(m,) from each place (m, 2) to the nearest data point."""
    x, places = data_of(spec)[0], np.asarray(places)
    across, along = (np.subtract.outer(places[:, i], x[:, i]) for i in range(2))
    return np.sqrt((across**2 + along**2).min(axis=1))


# Networks that a method found -----------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Found:
    """The networks of one method.

    parts : (network, rows (n,), theta (n, dim)) of each width; rows count through chains, then draws
    chains, draws : how many; what is not a chain counts as one
    width : (chains, draws), hidden units
    gradients, seconds : what they cost, warm-up included
    """

    spec: MethodsSpec
    method: str
    parts: tuple[tuple[Network, NDArray[np.int64], Array], ...]
    chains: int
    draws: int
    width: NDArray[np.integer]
    gradients: int
    seconds: float

    def at(self, places: ArrayLike) -> Array:
        """(chains, draws, m) probability of class 1 at places (m, 2)."""
        places = np.asarray(places, dtype=np.float64)
        p = np.empty((self.chains * self.draws, len(places)))
        for model, rows, theta in self.parts:
            for first in range(0, len(rows), AT_ONCE):
                some = slice(first, first + AT_ONCE)
                p[rows[some]] = probabilities(model, theta[some], places)[:, :, 1]
        return p.reshape(self.chains, self.draws, -1)

    @lazy
    def look(self) -> Look:
        """What the stage shows of them."""
        return _look(self)

    @property
    def correlated(self) -> bool:
        """Whether neighbouring networks resemble one another, as the states of a chain do."""
        return self.method in SAMPLERS


def _same_width(spec: MethodsSpec, method: str, theta: Array, gradients: float, seconds: float) -> Found:
    """Networks theta (chains, draws, dim) of the spec's own width."""
    chains, draws, dim = theta.shape
    part = (model_of(spec), np.arange(chains * draws), theta.reshape(-1, dim))
    width = np.full((chains, draws), spec.units)
    return Found(spec, method, (part,), chains, draws, width, round(gradients), seconds)


def fitted(spec: MethodsSpec, method: str, members: int | None = None) -> Found:
    """The networks of a quick method: "ensemble", of which `members` may be the first ones only, "dropout" or "advi"."""
    x, y = data_of(spec)
    model, begin = model_of(spec), time.perf_counter()
    if method == "advi":
        fit = advi_run(spec)
        fit.advance(fit.total)
        rng = np.random.Generator(np.random.SFC64(spec.seed))
        theta, cost = fit.fit().averaged(0.3).draw(rng, DRAWN), float(PER_STEP * spec.fit_steps)
    else:
        if method == "dropout":
            trained = dropped(spec)
            theta, cost = dropout_draws(model, trained.theta, spec.keep, DRAWN, spec.seed), trained.gradient_evaluations
        else:
            run = EnsembleRun(model, x, y, training(spec), members=members or spec.members, every=spec.epochs)
            run.advance(run.total)
            theta, cost = run.draws(), sum((one.gradient_evaluations for one in run.trained()), 0.0)
    return _same_width(spec, method, theta[None], cost, time.perf_counter() - begin)


def training(spec: MethodsSpec) -> TrainingSpec:
    """How one network is trained: with a weight decay that makes the bottom of its loss a mode of the posterior."""
    decay = map_decay(model_of(spec), spec.size)
    return TrainingSpec(step_size=STEP_SIZE, epochs=spec.epochs, weight_decay=decay, seed=spec.seed)


def dropped(spec: MethodsSpec) -> Trained:
    """The one network trained under dropout."""
    settings = replace(training(spec), keep=spec.keep)
    run = TrainingRun(model_of(spec), *data_of(spec), settings, every=spec.epochs)
    run.advance(run.total)
    return run.trained()


def advi_run(spec: MethodsSpec) -> AdviRun:
    """The fit of a mean-field normal q, not begun. It starts narrow, at a draw from the prior: at 0 all units are alike
    and q may never tell them apart.
    """
    model = model_of(spec)
    settings = AdviSettings(samples=PER_STEP, optimiser=Adam(STEP_SIZE), init=model.prior_draws(1, spec.seed)[0], init_sd=0.1)
    return AdviRun(model.posterior(*data_of(spec)), settings, steps=spec.fit_steps, seed=spec.seed)


Sampler = runs.Run | ArchitectureRun


def sampler(spec: MethodsSpec, method: str, draws: int, warmup: int, seed: int) -> Sampler:
    """The chains of "nuts", "hmc" or "jumps", not moved yet."""
    x, y = data_of(spec)
    model = model_of(spec)
    if method == "jumps":
        growing = network(2, 2, (1, spec.units), activation=spec.activation, prior_sd=spec.prior_sd)
        return start_architecture(growing, x, y, "rescaled", within="nuts", chains=CHAINS, draws=draws, warmup=warmup, seed=seed)
    settings: dict[str, Any] = {}
    if method == "hmc":
        settings = {"step_size": spec.step_size, "steps": spec.leapfrog, "jitter": 0.2, "variant": spec.variant}
    return runs.start(
        model.posterior(x, y),
        method,
        chains=CHAINS,
        draws=draws,
        warmup=warmup,
        seed=seed,
        init=model.prior_draws(CHAINS, seed),
        **settings,
    )


def sampled(spec: MethodsSpec, method: str, run: Sampler) -> Found:
    """The networks of a finished run."""
    recording = run.recording()
    gradients = int(recording.gradient_evaluations.sum() + recording.warmup_gradient_evaluations.sum())
    if not isinstance(recording, ArchitectureRecording):
        return _same_width(spec, method, recording.draws, gradients, recording.seconds)
    widths = recording.width.ravel()
    parts = tuple(
        (recording.network(width, depth), np.flatnonzero(widths == width), theta)
        for (width, depth), theta in recording.by_architecture().items()
    )
    chains, draws = recording.width.shape
    return Found(spec, method, parts, chains, draws, recording.width, gradients, recording.seconds)


class Board:
    """All six methods on one data set, as one job that goes on where it stopped, for whoever needs it: the first networks
    of the ensemble, then the quick methods, then the chains.

    found : method → its networks, as far as they are there
    """

    def __init__(self, spec: MethodsSpec):
        self.spec = learning(spec)
        self.found: dict[str, Found] = {}
        self._lock = Lock()
        self._run: Sampler | None = None

    @property
    def done(self) -> bool:
        return self._next() is None

    def _next(self) -> str | None:
        """The method that is made next: one that is not there, or an ensemble of which only the first networks are."""
        few = "ensemble" in self.found and self.found["ensemble"].draws < self.spec.members
        return "ensemble" if few else next((method for method in (*FITTED, *SAMPLERS) if method not in self.found), None)

    def advance(self, stop: Stop) -> None:
        """Go on until one more is there, or until `stop()`."""
        with self._lock:
            method = self._next()
            if method is None:
                return
            if method in FITTED:
                self.found[method] = fitted(self.spec, method, None if method in self.found else FEW)
                return
            self._run = self._run or sampler(self.spec, method, KEPT, WARMUP, self.spec.seed)
            while not self._run.done:
                if stop():
                    return
                self._run.advance(PIECE)
            self.found[method], self._run = sampled(self.spec, method, self._run), None


@kept
def _board(spec: MethodsSpec) -> Board:
    return Board(spec)


def board_of(spec: MethodsSpec) -> Board:
    """The board of these settings, the same for all who ask: looking at another method of it costs nothing."""
    return _board(learning(spec))


# What they say --------------------------------------------------------------------------------------------------------


class Estimate(NamedTuple):
    """Averages over regions of the plane, (regions,): value, its Monte Carlo standard error, effective networks and
    R-hat (NaN where networks are independent).
    """

    value: Array
    error: Array
    ess: Array
    rhat: Array


def epistemic(p: Array, regions: Array, *, correlated: bool, keep: NDArray[np.bool_] | None = None, diagnosed: bool = True) -> Estimate:
    """Mean epistemic uncertainty in each region from p (chains, draws, m); regions (r, m), rows of weights that add up
    to 1. keep : (chains, draws), only these networks count.

    It is a function of two averages over networks, of p and of H(p). So its error is, to first order, that of the mean
    of H'(p̄) p_s - H(p_s), and effective draws are those of that series.
    """
    chosen = np.ones(p.shape[:2]) if keep is None else keep.astype(float)
    inside = entropies(p)
    weight = chosen / chosen.sum()
    mean = np.clip(np.tensordot(weight, p, 2), TINY, 1.0 - TINY)
    value = regions @ (binary_entropy(mean) - np.tensordot(weight, inside, 2))
    slope = np.log((1.0 - mean) / mean)
    series = np.stack([(said * slope - own) @ regions.T for said, own in ticket.looking(zip(p, inside, strict=True))])
    return Estimate(np.maximum(value, 0.0), *errors(series, chosen, correlated, diagnosed))


def entropies(p: Array) -> Array:
    """H(p) in nats of each of p (chains, draws, m)."""
    found = np.empty(p.shape)
    for chain, into in zip(p, found, strict=True):
        for first in ticket.looking(range(0, len(chain), PIECE)):
            into[first : first + PIECE] = binary_entropy(chain[first : first + PIECE])
    return found


def average(p: Array, *, correlated: bool, keep: NDArray[np.bool_] | None = None) -> Estimate:
    """The mean over networks of each column of p (chains, draws, m)."""
    chosen = np.ones(p.shape[:2]) if keep is None else keep.astype(float)
    value = np.tensordot(chosen / chosen.sum(), p, 2)
    return Estimate(value, *errors(p, chosen, correlated, True))


def errors(series: Array, chosen: Array, correlated: bool, diagnosed: bool) -> tuple[Array, Array, Array]:
    """Standard error, effective size and R-hat of the mean of each column of series (chains, draws, r) over the chosen
    networks (a ratio of two averages, where not all are).
    """
    centre = np.tensordot(chosen / chosen.sum(), series, 2)
    parts = (series - centre) * (chosen / chosen.mean())[:, :, None]
    columns = range(series.shape[2])
    if correlated:
        ess = np.array([ess_mean(np.ascontiguousarray(parts[:, :, i])) for i in columns])
    else:
        ess = np.full(len(columns), float(series.shape[0] * series.shape[1]))
    agree = np.full(len(columns), np.nan)
    if correlated and diagnosed:
        agree = np.array([rhat(np.ascontiguousarray(parts[:, :, i])) for i in columns])
    with np.errstate(invalid="ignore", divide="ignore"):
        error = parts.reshape(-1, parts.shape[2]).std(axis=0, ddof=1) / np.sqrt(ess)
    still = np.ptp(parts, axis=(0, 1)) == 0.0
    return np.where(still, 0.0, error), ess, agree


def rings(spec: MethodsSpec) -> tuple[Array, Array]:
    """Classes of distance from the data: the mean distance in each (r,) and the weights of a map's cells (r, m)."""
    return _rings(learning(spec))


@kept
def _rings(spec: MethodsSpec) -> tuple[Array, Array]:
    far = distances(spec, plane(CELLS))
    inside = (far >= EDGES[:-1, None]) & (far < EDGES[1:, None])
    inside = inside[inside.sum(axis=1) >= FEWEST]
    weights = inside / inside.sum(axis=1, keepdims=True)
    return weights @ far, weights


def walk(spec: MethodsSpec) -> Array:
    """(r, 2) a cell in each class of distance, each as near as can be to the one before; the first on the right."""
    places, weights = plane(CELLS), rings(spec)[1]
    found = [np.array([REACH, 0.0])]
    for inside in weights > 0:
        found.append(min(places[inside], key=lambda place: float(np.hypot(*(place - found[-1])))))
    return np.array(found[1:])


@dataclass(frozen=True, eq=False)
class Look:
    """A method on the stage, at every checkpoint of the number of networks.

    mean, total, aleatoric, epistemic : (frames, CELLS, CELLS)
    counts : (frames,) networks averaged
    distance, curve, error : (r,) epistemic uncertainty against the distance from the data, all networks
    """

    mean: Array
    total: Array
    aleatoric: Array
    epistemic: Array
    counts: NDArray[np.int64]
    distance: Array
    curve: Array
    error: Array


def _look(found: Found) -> Look:
    places = plane(CELLS)
    p = found.at(places)
    counts = np.minimum(CHECKPOINTS, found.chains * found.draws)
    # so that the first networks are those of all chains
    mixed = p.transpose(1, 0, 2).reshape(-1, len(places))
    inside = binary_entropy(mixed)
    ends = np.unique(counts)
    starts = np.concatenate([[0], ends[:-1]])
    at = np.searchsorted(ends, counts)
    mean = (np.cumsum(np.add.reduceat(mixed, starts), axis=0) / ends[:, None])[at]
    aleatoric = (np.cumsum(np.add.reduceat(inside, starts), axis=0) / ends[:, None])[at]
    total = binary_entropy(mean)
    distance, weights = rings(found.spec)
    curve = epistemic(p, weights, correlated=found.correlated, diagnosed=False)
    epistemic_ = np.maximum(total - aleatoric, 0.0)
    mean, total, aleatoric, epistemic_ = (array.reshape(-1, CELLS, CELLS) for array in (mean, total, aleatoric, epistemic_))
    return Look(mean, total, aleatoric, epistemic_, counts, distance, curve.value, curve.error)
