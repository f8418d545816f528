"""Loss on points that were held out: one network, trained with nothing against overfitting, with weight decay, with
dropout, with early stopping; and the curve of that loss over the weight decay.

Everything is done on `SETS` sets of points, drawn from the same four clouds, so that what differs can be held against
what chance makes of it. A set has one start and one seed, whatever is done to the training.

Sources: Krogh and Hertz 1991 (weight decay); Srivastava et al. 2014 (dropout); Prechelt 1998 (early stopping).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from datasets.xor import NOISY_VARIANCE, xor
from engine.judge import Check, Verdict, unknown
from engine.judge.numbers import OFF
from engine.judge.plant import SHIFTED, STUCK, is_planted
from engine.kept import kept
from engine.networks import Network, predictive
from engine.training import Trained, TrainingRun, TrainingSpec, difference_gradient, initial_parameters, outgoing_units, pass_nodes
from lessons.perceptron.spec import WORDS, PerceptronLesson

Array = NDArray[np.float64]

REGULARISERS = ("nothing", "decay", "dropout", "stopping")
NAMES = WORDS["ways"]  # of these
SETTING = {"decay": "decay", "dropout": "keep", "stopping": "patience"}  # that only this one has
SETS = 16  # of points
HELD = 125  # points held out of each cloud
VALIDATION = 0.25  # of its points that early stopping looks at and does not learn from
LOOKS = 100  # at a training
LADDER = np.geomspace(1e-4, 0.1, 25)  # weight decays λ of the curve
BEGINNING = {"ways": 20, "decay": 6}  # looks, and decays of the ladder, that are shown of the first set while all are trained
COIN = math.log(2.0)


# Points and trainings -------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Split:
    """One set: points to learn from, x (n, 2) and y (n,); those held out; the seed of its trainings."""

    x: Array
    y: NDArray[np.int64]
    x_held: Array
    y_held: NDArray[np.int64]
    seed: int


@kept
def split(seed: int, corner: int, number: int) -> Split:
    """Set `number` of the sets that a seed stands for."""
    here, held, training = (int(word) for word in np.random.SeedSequence([seed, number]).generate_state(3))
    points, others = xor(corner, NOISY_VARIANCE, here), xor(HELD, NOISY_VARIANCE, held)
    return Split(points.x, points.y, others.x, others.y, training)


def of(spec: PerceptronLesson, number: int = 0) -> Split:
    """Set `number` of the spec; the first is the one that is drawn."""
    return split(spec.seed, spec.corner, number)


def settings(spec: PerceptronLesson, seed: int, **against: Any) -> TrainingSpec:
    """The training of the spec, with what is done against overfitting."""
    return TrainingSpec(optimiser=spec.optimiser, step_size=spec.step_size, momentum=spec.momentum, epochs=spec.steps, seed=seed, **against)


def against(spec: PerceptronLesson, name: str) -> dict[str, Any]:
    """Settings of one of `REGULARISERS`."""
    return {
        "nothing": {},
        "decay": {"weight_decay": spec.decay},
        "dropout": {"keep": spec.keep},
        "stopping": {"validation": VALIDATION, "patience": spec.patience},
    }[name]


def trained(network: Network, points: Split, how: TrainingSpec, every: int, steps: int | None = None) -> Trained:
    """One training to its end, or its first steps."""
    run = TrainingRun(network, points.x, points.y, how, every=every)
    run.advance(run.total if steps is None else steps)
    return run.trained()


def held_loss(network: Network, points: Split, theta: Array) -> Array:
    """(m,) mean loss of the held-out points under each of the parameters (m, dim), nats a point."""
    return -network.log_likelihood(points.x_held, points.y_held).log_density_many(theta) / len(points.y_held)


def penalised(found: Trained, decay: float) -> Array:
    """(T,) what a training with weight decay goes down: its loss + λ |θ|² / 2."""
    return np.asarray(found.loss + 0.5 * decay * (found.path**2).sum(axis=1))


def in_use(found: Trained, looks: int) -> NDArray[np.int64]:
    """(looks,) which look's parameters one would use: the present ones; with early stopping the best so far, also after
    it has stopped.
    """
    at = np.arange(len(found.steps))
    if len(found.held_out_rows):
        lowest = np.minimum.accumulate(found.held_out)
        at = np.maximum.accumulate(np.where(np.r_[True, found.held_out[1:] < lowest[:-1]], at, 0))
    return np.concatenate([at, np.full(looks - len(at), at[-1])])


# Four trainings by step -----------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Losses:
    """Trainings on every set at T looks, or each to its end with T weight decays.

    path : (T, dim) parameters in use on the first set
    loss, held : (SETS, T) of the points it learns from, and of those held out, nats a point; NaN where that is not known yet
    """

    path: Array
    loss: Array
    held: Array


@dataclass(frozen=True, eq=False)
class Course(Losses):
    """One way of training, looked at T times.

    right : (SETS,) share of the held-out points right at the end
    used : (SETS,) the step whose parameters are in use at the end
    moved : by how much the loss that it goes down changed in its last tenth, nats a point, as `mostly` has it; NaN where
        it goes down none: dropout's changes with its masks, and early stopping does not wait
    """

    right: Array
    used: NDArray[np.int64]
    moved: float


def course(spec: PerceptronLesson, name: str) -> Course:
    """All sets by one of `REGULARISERS`; the same object whatever the settings of the others are."""
    return _course(_alone(spec, name), name)


def _alone(spec: PerceptronLesson, name: str) -> PerceptronLesson:
    return spec.replace(**{field: spec.default(field) for way, field in SETTING.items() if way != name})


@kept
def _course(spec: PerceptronLesson, name: str) -> Course:
    network, at, setting = spec.network(), looks(spec), against(spec, name)
    path, losses, held, right, used, moved = None, [], [], [], [], []
    for number in range(SETS):
        points = of(spec, number)
        found = trained(network, points, settings(spec, points.seed, **setting), at[1])
        use = in_use(found, len(at))
        path = found.path[use] if path is None else path
        losses.append(found.loss[use])
        held.append(held_loss(network, points, found.path[use]))
        right.append(float(predictive.accuracy(network, found.path[use[-1:]], points.x_held, points.y_held).mean()))
        used.append(found.steps[use[-1]])
        down = penalised(found, setting.get("weight_decay", 0.0))
        moved.append(float(np.ptp(down[-max(2, len(down) // 10) :])))
    assert path is not None
    rests = name in ("nothing", "decay")
    return Course(path, np.array(losses), np.array(held), np.array(right), np.array(used), mostly(np.array(moved)) if rests else math.nan)


def first_looks(spec: PerceptronLesson) -> dict[str, Losses] | None:
    """The beginning of every course on the first set; None where all courses are there."""
    if all(_course.peek(_alone(spec, name), name) is not None for name in REGULARISERS):
        return None
    network, points, at = spec.network(), of(spec), looks(spec)[: BEGINNING["ways"]]
    found = {}
    for name in REGULARISERS:
        begun = trained(network, points, settings(spec, points.seed, **against(spec, name)), at[1], at[-1])
        found[name] = _unknown(begun.path[in_use(begun, len(at))])
    return found


def _unknown(path: Array) -> Losses:
    """Of the first set alone: means over all sets are not known."""
    losses = np.full((SETS, len(path)), math.nan)
    return Losses(path, losses, losses)


def looks(spec: PerceptronLesson) -> NDArray[np.int64]:
    """(T,) steps at which a training is looked at."""
    every = max(1, spec.steps // LOOKS)
    return np.unique(np.append(np.arange(0, spec.steps, every), spec.steps))


def mostly(moved: Array) -> float:
    """What three of four sets (SETS, ...) keep to, in the worst column; infinite where one is not finite. A network that
    has just found a better place, as one of 16 now and then has, is no sign that the others are still on their way.
    """
    return float(np.quantile(moved, THREE_OF_FOUR, axis=0, method="inverted_cdf").max()) if np.all(np.isfinite(moved)) else math.inf


def mean_and_error(values: Array) -> tuple[Array, Array]:
    """Mean over the sets (SETS, …), and its standard error."""
    return values.mean(axis=0), values.std(axis=0, ddof=1) / math.sqrt(len(values))


# The decay curve ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Ladder(Losses):
    """Trainings with every weight decay of `LADDER` (L,), from the same start and on the same points.

    bare : (SETS,) loss held out, without weight decay
    moved : as in `Course`, of the decay that moved most
    """

    bare: Array
    moved: float

    @property
    def best(self) -> int:
        """Where the mean held-out loss is lowest."""
        return int(self.held.mean(axis=0).argmin())


@kept
def ladder(spec: PerceptronLesson) -> Ladder:
    """The decay curve of the spec."""
    network, every = spec.network(), max(1, spec.steps // 10)
    path, losses, held, moved = [], [], [], []
    for number in range(SETS):
        points = of(spec, number)
        found = [trained(network, points, settings(spec, points.seed, weight_decay=float(decay)), every) for decay in (0.0, *LADDER)]
        ends = np.array([one.path[-1] for one in found])
        path.append(ends[1:])
        losses.append([one.loss[-1] for one in found[1:]])
        held.append(held_loss(network, points, ends))
        moved.append([np.ptp(penalised(one, decay)[-2:]) for one, decay in zip(found[1:], LADDER, strict=True)])
    outcome = np.array(held)
    return Ladder(path[0], np.array(losses), outcome[:, 1:], outcome[:, 0], mostly(np.array(moved)))


def first_rungs(spec: PerceptronLesson) -> Losses | None:
    """The beginning of the decay curve on the first set; None where all of it is there."""
    if ladder.peek(spec) is not None:
        return None
    network, points = spec.network(), of(spec)
    each = [settings(spec, points.seed, weight_decay=float(decay)) for decay in LADDER[: BEGINNING["decay"]]]
    return _unknown(np.array([trained(network, points, how, spec.steps).path[-1] for how in each]))


# Checks ---------------------------------------------------------------------------------------------------------------

SETTLED = 0.003  # nats a point that the last tenth of a training may still change; after 500 of 2,000 steps it is more
THREE_OF_FOUR = 0.75
GRADIENT_LIMIT = 1e-6
FLAT = 1e-9  # nats from ln 2


def audit(spec: PerceptronLesson) -> list[Check]:
    """The step that training takes with weight decay and with dropout, worked out another way."""
    return [_decay_check(spec), *([_dropout_check(spec)] if spec.view == "ways" else [])]


def checks(spec: PerceptronLesson) -> list[Check]:
    """Whether trainings have come to rest, and the loss of a network that a strong decay has made flat."""
    return [_rest_check(spec), _flat_check(spec)]


def _first_step(spec: PerceptronLesson, **setting: Any) -> tuple[Network, Split, Array, Array]:
    """Network, points, where training starts, and the gradient that its first step follows."""
    network, points = spec.network(), of(spec)
    start = initial_parameters(network, points.seed)
    how = TrainingSpec(optimiser="sgd", step_size=1.0, epochs=1, seed=points.seed, **setting)
    return network, points, start, start - trained(network, points, how, 1).path[-1]


def _compared(name: str, found: Array, true: Array) -> Check:
    error = float(np.abs(found - true).max() / max(np.abs(true).max(), 1e-3))
    verdict: Verdict = "pass" if error < GRADIENT_LIMIT else "fail"
    words = WORDS.phrase(f"checks.step_with_{name}", error=error)
    return Check(NAMES[name], verdict, error, GRADIENT_LIMIT, words, "relative", kind="kernel")


def _decay_check(spec: PerceptronLesson) -> Check:
    network, points, start, found = _first_step(spec, weight_decay=spec.decay)
    slope = -difference_gradient(network.log_likelihood(points.x, points.y), start) / len(points.y)
    return _compared("decay", found, slope + spec.decay * start)


def _dropout_check(spec: PerceptronLesson) -> Check:
    network, points, start, found = _first_step(spec, keep=spec.keep)
    unit, units = outgoing_units(network)
    rng = np.random.Generator(np.random.SFC64(np.random.SeedSequence([points.seed, 2])))  # the stream of a training's masks
    slope = np.zeros(network.dim)
    for row, label in zip(points.x, points.y, strict=True):
        factor = np.append((rng.random(units) < spec.keep) / spec.keep, 1.0)[unit]
        slope += factor * pass_nodes(network, factor * start, row, label).gradient / len(points.y)
    return _compared("dropout", found, slope)


def _rest_check(spec: PerceptronLesson) -> Check:
    found = [course(spec, name).moved for name in REGULARISERS[:2]] if spec.view == "ways" else [ladder(spec).moved]
    change = math.inf if is_planted(STUCK) or not np.all(np.isfinite(found)) else max(found)
    verdict: Verdict = "pass" if change <= SETTLED else "unknown" if math.isfinite(change) else "fail"
    words, unit = WORDS.phrase("checks.moved", change=change), WORDS.phrase("stage.nats_a_point")
    return Check(WORDS.phrase("checks.settled"), verdict, change, SETTLED, words, unit, kind="run")


def longest(points: Split) -> float:
    """Length of the longest point with a 1 appended."""
    return float(np.sqrt((points.x**2).sum(axis=1) + 1.0).max())


def _flat_check(spec: PerceptronLesson) -> Check:
    """With one hidden layer, φ(0) = 0, |φ(z)| ≤ |z| and slopes of 1 at most, every place of rest has
    λ |v|² ≤ |v| |W| X and λ |W|² ≤ |v| |W| X: v the output weights, W all into the units, X the longest point with a 1
    appended. From λ = X on only 0 can be; classes of one size then leave the output's bias at 0, and the loss at ln 2.
    """
    name = WORDS.phrase("checks.flat")
    if spec.depth > 1 or spec.activation == "sigmoid":
        return unknown(name, WORDS.phrase("checks.never_flat"), kind="numbers")
    points = of(spec)
    bound = longest(points)
    how = TrainingSpec(optimiser="sgd", step_size=0.2, epochs=500, weight_decay=bound, seed=points.seed)
    loss = float(trained(spec.network(), points, how, 500).loss[-1]) + (OFF if is_planted(SHIFTED) else 0.0)
    off = abs(loss - COIN)
    verdict: Verdict = "pass" if off < FLAT else "fail"
    words = WORDS.phrase("checks.trained_flat", bound=bound, loss=loss, coin=COIN)
    return Check(name, verdict, off, FLAT, words, "nats", kind="numbers")
