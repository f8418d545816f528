"""One chain that learns, and the averages that grow with it.

State 1 of the chain is its start, state s + 1 follows after s transitions. The averages leave the first `burn` states
out. While the chain is still in them the maps show the one network of the present state: its epistemic part is 0, since
one network cannot disagree with itself.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from app.kit.pictures import PERFORMANCE
from app.kit.player.scene import levels
from datasets.xor import NOISY_VARIANCE, VARIANCE, held_out, own_points, xor
from engine import predicted as predictions
from engine.kept import kept
from engine.networks import Network, network
from engine.networks.predictive import Ensemble, Uncertainty, log_likelihood, probabilities
from engine.predicted import Predicted
from engine.samplers import run as runs
from engine.samplers.run import Run
from engine.scores import Performance, Sums, binary_entropy, performance
from engine.spec import SpecError
from engine.targets.target import Target, TargetError
from lessons.xor.spec import REACH, XorSpec

Array = NDArray[np.float64]

CELLS = 32  # of a map, a side
TILE = 20  # cells of a single network's map, a side
EVERY = 200  # up to this state the timeline shows every one …
PER_OCTAVE = 64  # … and from there on so many a doubling
FRAMES = 44  # maps of a whole run
WARM_FRAMES = 10  # of them at most before the averages begin
FIRST = EVERY  # states of the first picture, so that each can be stepped to …
FIRST_WORK = 6e7  # … or fewer, where they cost more than this
BEGINNING = 30  # of them, that are shown while the rest is made …
BEGINNING_WORK = 1.6e6  # … or fewer, where they cost more than this
BLOCK = 500  # states taken at once, at most: their predictions at the points need a few MB
CENTRE = np.zeros((1, 2))
INFINITE_PRIOR = 1000.0  # the widest prior a network takes: weights of a sampler that forgot the prior fit in


# What the spec describes ----------------------------------------------------------------------------------------------


def data_of(spec: XorSpec) -> tuple[Array, NDArray[np.int64]]:
    """The points x (n, 2) and their classes y (n,)."""
    if spec.data in ("points", "none"):
        data = own_points(spec.points if spec.data == "points" else ())
    else:
        data = xor(spec.corner, NOISY_VARIANCE if spec.data == "noisy" else VARIANCE, spec.seed)
    return data.x, data.y


def model_of(spec: XorSpec) -> Network:
    """The network with its prior and likelihood, as it should be."""
    return network(2, 2, spec.units, activation=spec.activation, temper=spec.temper, prior_sd=spec.prior_sd)


def predictor_of(spec: XorSpec) -> Network:
    """The network that turns weights into probabilities on this page: the model, unless the mistake is to leave the
    temper out.
    """
    if spec.variant == "wrong_temper":
        return network(2, 2, spec.units, activation=spec.activation, temper=1.0, prior_sd=spec.prior_sd)
    return model_of(spec)


def predicted(spec: XorSpec, draws: Array) -> Predicted:
    """What draws (chains, draws, dim) say of the points."""
    x, y = data_of(spec)
    p = probabilities(predictor_of(spec), draws.reshape(-1, draws.shape[2]), x)[:, :, 1]
    return predictions.classes(y, p.reshape(*draws.shape[:2], len(y)), spec.seed)


def density_of(spec: XorSpec, x: Array, y: NDArray[np.int64]) -> Target:
    """What the sampler of this page climbs: the posterior given (x, y), or the likelihood alone where the prior is
    forgotten.
    """
    model = model_of(spec)
    return model.log_likelihood(x, y) if spec.variant == "no_prior" else model.posterior(x, y)


def settings_of(spec: XorSpec) -> dict:
    """The settings of `engine.samplers.Hmc`."""
    variant = "always_accept" if spec.variant == "always_accept" else "exact"
    return {"step_size": spec.step_size, "steps": spec.leapfrog, "jitter": spec.jitter, "variant": variant}


def starts_of(spec: XorSpec, chains: int) -> Array:
    """Where the chains start, (chains, dim): prior draws, or for each chain the most probable of 1,000."""
    model = model_of(spec)
    if spec.start == "prior":
        return model.prior_draws(chains, spec.seed)
    x, y = data_of(spec)
    many = model.prior_draws(1000 * chains, spec.seed).reshape(chains, 1000, -1)
    posterior = model.posterior(x, y)
    return np.stack([candidates[np.argmax(posterior.log_density_many(candidates))] for candidates in many])


def begin(spec: XorSpec, chains: int, states: int) -> Run:
    """The chains of `spec`, `states` states each with the start, not moved yet. Chain 1 is the one on the stage."""
    x, y = data_of(spec)
    try:
        return runs.start(
            density_of(spec, x, y),
            "hmc",
            chains=chains,
            draws=max(states - 1, 1),
            seed=spec.seed,
            init=starts_of(spec, chains),
            **settings_of(spec),
        )
    except TargetError as error:
        raise SpecError("start", str(error)) from error


@kept
def modes(spec: XorSpec) -> tuple[Array, float]:
    """The MAP weights (dim,) and their log posterior: the best of several climbs."""
    x, y = data_of(spec)
    best = model_of(spec).map_estimate(x, y, spec.seed, starts=3)
    return best.theta, best.log_density


# When -----------------------------------------------------------------------------------------------------------------


def timeline(states: int) -> NDArray[np.int64]:
    """The states that the picture steps through, from 1 to `states`: all up to EVERY, then PER_OCTAVE a doubling, and
    the last.
    """
    octaves = np.arange(1, PER_OCTAVE * 20)
    later = np.unique(np.round(EVERY * 2.0 ** (octaves / PER_OCTAVE)).astype(np.int64))
    times = np.concatenate([np.arange(1, EVERY + 1), later[later > EVERY]])
    return np.append(times[times < states], states)


def checkpoints(burn: int, states: int) -> NDArray[np.int64]:
    """The states at which maps are taken: spread evenly in the logarithm before and after the warm-up ends, FRAMES at
    most.
    """
    warm = _spread(burn, WARM_FRAMES) if burn else np.empty(0, dtype=np.int64)
    return np.concatenate([warm, burn + _spread(states - burn, FRAMES - len(warm))])


def _spread(last: int, count: int) -> NDArray[np.int64]:
    """At most `count` whole numbers from 1 to `last`, evenly spread in the logarithm but never closer than 1."""
    for number in range(count, 4 * count):  # neighbours among the small numbers fall together: try with more
        spread = np.unique(np.round(np.geomspace(1, last, number)).astype(np.int64))
        if len(spread) >= min(count, last):
            break
    return spread[np.unique(np.linspace(0, len(spread) - 1, count).round().astype(int))] if len(spread) > count else spread


def first_states(spec: XorSpec) -> int:
    """How many states the first picture holds: FIRST, fewer where they are expensive, but always some after the warm-
    up.
    """
    return min(spec.draws, max(min(FIRST, int(FIRST_WORK / work_of(spec))), spec.burn + 100))


def beginning(spec: XorSpec) -> int:
    """How many of them are shown while the rest is made."""
    return min(BEGINNING, max(10, int(BEGINNING_WORK / work_of(spec))))


def work_of(spec: XorSpec) -> int:
    """What a state costs: hidden values that are worked out."""
    return max(1, spec.leapfrog * spec.units * max(spec.size, 1))


def plane(cells: int) -> Array:
    """Midpoints of cells × cells cells of the plane, (cells², 2), row by row from the lowest x₂."""
    middles = REACH * (2 * np.arange(cells) + 1 - cells) / cells
    return np.stack(np.meshgrid(middles, middles), axis=-1).reshape(-1, 2)


# The chain and its averages -------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Maps:
    """The maps taken so far, as uint8 (frames, CELLS, CELLS): `mean` from 0 to 1, entropies from 0 to log 2.

    tiles : (frames, TILE, TILE), the probability map of the single network at the checkpoint
    counts : (frames,), networks averaged
    """

    mean: NDArray[np.uint8]
    total: NDArray[np.uint8]
    aleatoric: NDArray[np.uint8]
    epistemic: NDArray[np.uint8]
    tiles: NDArray[np.uint8]
    counts: NDArray[np.int64]


class Learning:
    """The chain of a spec with the averages over its states. `advance` goes on from where it is: nothing is computed
    twice.
    """

    def __init__(self, spec: XorSpec):
        self.spec = spec
        self.x, self.y = data_of(spec)
        self.model, self.predictor = model_of(spec), predictor_of(spec)
        self.run = begin(spec, 1, spec.draws)
        self.times = timeline(spec.draws)
        self.checkpoints = checkpoints(spec.burn, spec.draws)
        self.states = 0
        self._is_shown = np.bincount(self.times, minlength=spec.draws + 1).astype(bool)
        self._plane, self._tile = plane(CELLS), plane(TILE)
        self._ensemble = Ensemble(self.predictor, self._plane)
        self._frames: list[tuple] = []
        self._rows: list[dict[str, Array]] = []
        self._centre = Sums()
        self._points = Sums()
        self._held = held_out(spec.data, spec.seed)
        self._held_points = Sums()

    @property
    def held_out(self) -> int:
        """How many points are held out."""
        return 0 if self._held is None else len(self._held.y)

    @property
    def done(self) -> bool:
        return self.states == self.spec.draws

    def advance(self, states: int) -> Learning:
        """Go on until the chain has `states` states, at most the spec's."""
        states = min(states, self.spec.draws)
        while self.states < states:
            self._take(*self._states(min(states, self.states + BLOCK)))
        return self

    def maps(self) -> Maps:
        """The maps at the checkpoints passed."""
        return Maps(*(np.stack(arrays) for arrays in zip(*self._frames, strict=True)))

    def shown(self) -> dict[str, Array]:
        """What the picture needs at each state of the timeline, arrays (steps, …) by name."""
        return {name: np.concatenate([rows[name] for rows in self._rows]) for name in self._rows[0]}

    def frame_at(self) -> NDArray[np.int64]:
        """(steps,), the newest map at each state of the timeline."""
        times = self.times[self.times <= self.states]
        return np.searchsorted(self.checkpoints[: len(self._frames)], times, side="right") - 1

    def _states(self, upto: int) -> tuple[Array, Array, NDArray[np.bool_]]:
        """The states after the present one up to number `upto`: weights, acceptance probability, accepted."""
        if self.states == 0:  # the start: nothing was decided there
            if upto > 1:
                self.run.advance(upto - 1)
            recording = self.run.recording()
            weights = np.concatenate([recording.start, recording.draws[0]])
            return (weights, np.concatenate([[1.0], recording.accept_prob[0]]), np.concatenate([[True], recording.accepted[0]]))
        self.run.advance(upto - self.states)
        recording = self.run.recording()
        new = slice(self.states - 1, upto - 1)
        return recording.draws[0, new], recording.accept_prob[0, new], recording.accepted[0, new]

    def _take(self, weights: Array, accept_prob: Array, accepted: NDArray[np.bool_]) -> None:
        """Count new states in, and keep what the picture shows of them."""
        numbers = np.arange(self.states + 1, self.states + len(weights) + 1)
        kept = numbers > self.spec.burn
        self._take_maps(numbers, weights)
        self.states = int(numbers[-1])
        at_points = probabilities(self.predictor, weights, self.x)[:, :, 1]
        at_centre = probabilities(self.predictor, weights, CENTRE)[:, 0, 1]
        likelihood = log_likelihood(self.model, weights, self.x, self.y) if len(self.x) else np.zeros(len(weights))
        prior = -0.5 * ((weights / self.spec.prior_sd) ** 2 + np.log(2 * np.pi * self.spec.prior_sd**2)).sum(axis=1)
        mean_points, _ = self._points.running(at_points, kept)
        mean_centre, networks = self._centre.running(np.stack([at_centre, binary_entropy(at_centre)], axis=1), kept)
        rows = {
            "state": numbers,
            "weights": weights,
            "likelihood": likelihood,
            "prior": prior,
            "accept_prob": accept_prob,
            "accepted": accepted,
            "centre": at_centre,
            "mean": mean_centre[:, 0],
            "aleatoric": mean_centre[:, 1],
            "networks": networks,
        }
        for name, p, y in (("present", at_points, self.y), ("average", mean_points, self.y)) if len(self.x) else ():
            rows |= {f"{name} {key}": values for key, values in performance(p, y)._asdict().items()}
        if self._held is not None:
            at_held = probabilities(self.predictor, weights, self._held.x)[:, :, 1]
            mean_held, _ = self._held_points.running(at_held, kept)
            rows |= {f"held {key}": values for key, values in performance(mean_held, self._held.y)._asdict().items()}
        shown = self._is_shown[numbers]
        self._rows.append({name: values[shown] for name, values in rows.items()})

    def _take_maps(self, numbers: NDArray[np.int64], weights: Array) -> None:
        """Add new states to the ensemble, and take the maps at the checkpoints among them."""
        ends = self.checkpoints[np.isin(self.checkpoints, numbers)]
        tiles = levels(probabilities(self.predictor, weights[ends - numbers[0]], self._tile)[:, :, 1], 1.0)
        done = 0
        for end, tile in zip(ends, tiles, strict=True):
            last = end - numbers[0] + 1
            self._count_in(numbers[done:last], weights[done:last])
            warm = end <= self.spec.burn
            ensemble = Ensemble(self.predictor, self._plane).add(weights[last - 1 : last]) if warm else self._ensemble
            maps = _bytes(ensemble.uncertainty())
            self._frames.append((*maps, tile.reshape(TILE, TILE), 1 if warm else ensemble.count))
            done = last
        self._count_in(numbers[done:], weights[done:])

    def _count_in(self, numbers: NDArray[np.int64], weights: Array) -> None:
        kept = numbers > self.spec.burn
        if kept.any():
            self._ensemble.add(weights[kept])


def scores(shown: dict[str, Array]) -> dict[str, Performance]:
    """Of what is `Learning.shown`: of the "present" network and of the "average" on the points they learn from, of the
    average on those "held" out; what there are no points for is not there.
    """
    return {whose: Performance(shown[f"{whose} right"], shown[f"{whose} loss"]) for whose in PERFORMANCE if f"{whose} right" in shown}


def _bytes(maps: Uncertainty) -> tuple[NDArray[np.uint8], ...]:
    parts = ((maps.mean[:, 1], 1.0), (maps.total, np.log(2)), (maps.aleatoric, np.log(2)), (maps.epistemic, np.log(2)))
    return tuple(levels(values, high).reshape(CELLS, CELLS) for values, high in parts)


@kept
def first_look(spec: XorSpec) -> Learning:
    """The chain as far as the first picture shows it. Shared: not to be advanced."""
    return started(spec, first_states(spec))


def started(spec: XorSpec, states: int) -> Learning:
    """The chain up to so many states, and the picture's MAP."""
    learning = Learning(spec).advance(states)
    modes(spec)  # not on a second core: a climb is short kernels in Python, and two threads would wait for each other
    return learning
