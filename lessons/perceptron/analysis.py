"""What the lesson computes: the perceptron's visits, a training, one pass, a race; and the checks of each."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from datasets.xor import xor
from engine.judge import Check, Kind, Verdict, unknown
from engine.judge.numbers import OFF
from engine.judge.plant import SHIFTED, STUCK, is_planted
from engine.kept import kept
from engine.networks import Network, predictive
from engine.targets.target import Target
from engine.training import (
    AdaGrad,
    Adam,
    Descent,
    Margin,
    Momentum,
    Nodes,
    PerceptronRun,
    RmsProp,
    Sgd,
    TrainingRun,
    TrainingSpec,
    descend,
    difference_gradient,
    difference_hessian,
    initial_parameters,
    learn,
    margin,
    pass_nodes,
)
from engine.training.nodes import backward, forward, output_loss
from engine.variational.optimisers import ascend
from lessons.perceptron import held_out
from lessons.perceptron.spec import WORDS, PerceptronLesson

Array = NDArray[np.float64]

LOOKS = 100  # of a training
SHOWN = 600  # visits of the perceptron on the stage, at most
CLOUD = 8  # points in each cloud
RUNNERS = ("sgd", "momentum", "nesterov", "adagrad", "rmsprop", "adam")
ADAPTIVE = RUNNERS[3:]  # whose step is a distance
GOAL = 1e-3  # nats above the lowest point: there a runner has arrived


# The points -----------------------------------------------------------------------------------------------------------


@kept
def data(spec: PerceptronLesson) -> tuple[Array, NDArray[np.int64]]:
    """Points (n, 2) and their classes (n,)."""
    if spec.part == "held_out":
        points = held_out.of(spec)
        return points.x, points.y
    if spec.data == "points":
        table = np.array(spec.points, dtype=np.float64).reshape(-1, 3)
        return table[:, :2].copy(), table[:, 2].astype(np.int64)
    if spec.data == "separable":
        return separable(spec.count, spec.gap, spec.seed)
    clouds = xor(1, 0.0) if spec.data == "xor" else xor(CLOUD, seed=spec.seed)
    return np.round(clouds.x, 3), clouds.y


def separable(count: int, gap: float, seed: int) -> tuple[Array, NDArray[np.int64]]:
    """Uniform points in [-1, 1]², none within `gap` of a random line, and the side on which each lies."""
    rng = np.random.Generator(np.random.SFC64(seed))
    angle, shift = rng.uniform(0.0, 2.0 * math.pi), rng.uniform(-0.3, 0.3)
    points = np.round(rng.uniform(-1.0, 1.0, (100 * count, 2)), 3)
    side = points @ [math.cos(angle), math.sin(angle)] + shift
    chosen = np.flatnonzero(np.abs(side) > gap)[:count]
    return points[chosen], (side[chosen] > 0.0).astype(np.int64)


def own_copy(spec: PerceptronLesson) -> dict:
    """The present points as own points."""
    x, y = data(spec)
    rows = zip(x.tolist(), y.tolist(), strict=True)
    return {"data": "points", "points": tuple((round(a, 3), round(b, 3), int(label)) for (a, b), label in rows)}


# The perceptron -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Visits:
    """What the perceptron did, V visits shown. If it repeats itself, as many rounds as there is room for are there.

    weights : (V + 1, 3) w₁, w₂, b; visited, mistake : (V,)
    """

    run: PerceptronRun
    margin: Margin
    weights: Array
    visited: NDArray[np.int64]
    mistake: NDArray[np.bool_]


@kept
def visits(spec: PerceptronLesson) -> Visits:
    """The run of the present points."""
    x, y = data(spec)
    run = learn(x, y, epochs=spec.epochs)
    weights, visited, mistake = run.weights, run.visited, run.mistake
    if run.cycle is not None:
        begin = run.cycle[0] * len(x)
        rounds = max(1, min(5, SHOWN // max(1, len(visited) - begin)))
        weights = np.concatenate([weights, *[weights[begin + 1 :]] * (rounds - 1)])
        visited = np.concatenate([visited, *[visited[begin:]] * (rounds - 1)])
        mistake = np.concatenate([mistake, *[mistake[begin:]] * (rounds - 1)])
    return Visits(run, margin(x, y), weights[: SHOWN + 1], visited[:SHOWN], mistake[:SHOWN])


# The network ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Training:
    """A training looked at T times.

    steps : (T,); path : (T, dim); loss : (T,) nats per point; right : (T,) points on the right side
    """

    network: Network
    steps: NDArray[np.int64]
    path: Array
    loss: Array
    right: NDArray[np.int64]
    diverged: bool
    seconds: float


@kept
def training(spec: PerceptronLesson) -> Training:
    """The training of the spec, with its backward pass."""
    x, y = data(spec)
    network, every = spec.network(), max(1, spec.steps // LOOKS)
    settings = TrainingSpec(optimiser=spec.optimiser, step_size=spec.step_size, momentum=spec.momentum, epochs=spec.steps, seed=spec.seed)
    run = TrainingRun(network, x, y, settings, every=every)
    if spec.variant == "exact":
        run.advance(run.total)
        found = run.trained()
        steps, path, loss, diverged = found.steps, found.path, found.loss, found.stopped == "diverged"
    else:
        steps, path = by_hand(spec, settings, every)
        loss = np.array([wrong_gradient(spec, theta)[0] for theta in path])
        diverged = len(steps) < spec.steps // every + 1
    score = predictive.outputs(network, path, x)[:, :, 0] > 0.0
    return Training(network, steps, path, loss, (score == y).sum(axis=1), diverged, run.seconds)


def by_hand(spec: PerceptronLesson, settings: TrainingSpec, every: int) -> tuple[NDArray[np.int64], Array]:
    """Steps and parameters at every look, with the spec's own backward pass."""
    theta = initial_parameters(spec.network(), spec.seed)
    first, second, rule = np.zeros_like(theta), np.zeros_like(theta), settings.rule()
    steps, path = [0], [theta.copy()]
    for step in range(1, spec.steps + 1):
        gradient = wrong_gradient(spec, theta)[1]
        if not np.all(np.isfinite(gradient)):
            break
        ascend(rule, step, theta, -gradient, first, second)
        if step % every == 0:
            steps.append(step)
            path.append(theta.copy())
    return np.array(steps), np.array(path)


def wrong_gradient(spec: PerceptronLesson, theta: Array) -> tuple[float, Array]:
    """Mean loss of all points, and what the spec's backward pass takes for its gradient."""
    network, (x, y) = spec.network(), data(spec)
    layers = forward(network, theta, x)
    loss, slope = output_loss(network, layers[-1].pre, y)
    parts: list[Array] = []
    before = [x, *(layer.value for layer in layers[:-1])]
    for delta, value in zip(backward(network, theta, layers, slope, spec.variant), before, strict=True):
        biases = np.zeros(delta.shape[1]) if spec.variant == "no_bias" else delta.mean(axis=0)
        parts += [(delta.T @ value).ravel() / len(x), biases]
    return float(loss.mean()), np.concatenate(parts)


@kept
def solved(spec: PerceptronLesson, units: int, restarts: int = 20) -> tuple[int, float]:
    """How many of so many trainings, each from weights of its own, get all points right; and their mean loss."""
    x, y = data(spec)
    network = spec.network(units)
    done, losses = 0, []
    for seed in range(restarts):
        settings = TrainingSpec(optimiser="adam", step_size=0.05, epochs=600, seed=seed)
        run = TrainingRun(network, x, y, settings, every=600)
        run.advance(run.total)
        found = run.trained()
        done += bool(np.all(predictive.accuracy(network, found.theta[None], x, y) == 1.0))
        losses.append(float(found.loss[-1]))
    return done, float(np.mean(losses))


# One pass -------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Pass:
    """One point through the network and back.

    nodes : the pass of the spec's variant; differences : (dim,) gradient of the loss by differences of the loss alone
    """

    network: Network
    theta: Array
    x: Array
    y: int
    nodes: Nodes
    differences: Array


@kept
def one_pass(spec: PerceptronLesson) -> Pass:
    """The pass of the chosen point, at random weights."""
    x, y = data(spec)
    at = (spec.row - 1) % len(x)
    network = spec.network()
    theta = np.round(initial_parameters(network, spec.seed, "prior"), 2)
    nodes = pass_nodes(network, theta, x[at], y[at], spec.variant)
    return Pass(network, theta, x[at], int(y[at]), nodes, -difference_gradient(_point_target(network, x, y, at), theta))


def _point_target(network: Network, x: Array, y: NDArray[np.int64], at: int) -> Target:
    return network.log_likelihood(x[at : at + 1], y[at : at + 1])


def by_step(spec: PerceptronLesson) -> tuple[Array, Array]:
    """Step lengths h, and the largest error of two-sided differences (f(θ + h) − f(θ − h)) / 2h at each."""
    x, y = data(spec)
    found = one_pass(spec.replace(variant="exact"))
    target = _point_target(found.network, x, y, (spec.row - 1) % len(x))
    lengths = 10.0 ** np.arange(-12.0, 0.1, 0.5)
    exact = -found.nodes.gradient
    errors = []
    for h in lengths:
        moves = h * np.eye(len(exact))
        values = target.log_density_many(np.vstack([found.theta + moves, found.theta - moves])).reshape(2, -1)
        errors.append(float(np.abs((values[0] - values[1]) / (2.0 * h) - exact).max()))
    return lengths, np.array(errors)


# The race -------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Race:
    """Every runner's way from one start.

    descents : by name; lowest : −log density at the lowest point; curvature : (2,) of the surface there, rising
    step : η of sgd, momentum and nesterov
    """

    target: Target
    descents: dict[str, Descent]
    lowest: float
    curvature: Array
    step: float

    def above(self, name: str) -> Array:
        """(S + 1,) height above the lowest point, nats."""
        return np.maximum(self.descents[name].value - self.lowest, 0.0)

    def arrival(self, name: str) -> int | None:
        """First step from which on a runner stays below `GOAL`, None where it does not."""
        high = np.flatnonzero(~(self.above(name) < GOAL))
        if len(high) == 0:
            return 0
        return None if high[-1] == len(self.above(name)) - 1 else int(high[-1] + 1)


@kept
def race(spec: PerceptronLesson) -> Race:
    """All runners on the surface of the spec."""
    target = spec.build_target()
    lowest, curvature = bottom(target, (spec.start_x, spec.start_y))
    step = spec.length / float(curvature[-1])
    return Race(target, {name: run(spec, name, step) for name in RUNNERS}, lowest, curvature, step)


def run(spec: PerceptronLesson, name: str, step: float) -> Descent:
    """One runner; `step` for those whose step is a multiple of the gradient."""
    rules: dict[str, AdaGrad | Momentum | RmsProp | Adam | Sgd] = {
        "sgd": Sgd(step),
        "momentum": Momentum(step, spec.momentum),
        "nesterov": Momentum(step, spec.momentum, nesterov=True),
        "adagrad": AdaGrad(spec.adaptive),
        "rmsprop": RmsProp(spec.adaptive),
        "adam": Adam(spec.adaptive),
    }
    start = (spec.start_x, spec.start_y)
    return descend(spec.build_target(), rules[name], start, steps=spec.racing, gradient_noise=spec.noise, seed=spec.seed)


@kept
def bottom(target: Target, start: tuple[float, float]) -> tuple[float, Array]:
    """−log density at the nearest lowest point, and the two curvatures there (at least 1e-6)."""
    from scipy.optimize import minimize

    def downhill(q: Array) -> tuple[float, Array]:
        value, gradient = target.log_density_and_gradient(q)
        return (-value, -gradient) if math.isfinite(value) else (1e300, np.zeros(2))

    end = minimize(downhill, start, jac=True, method="L-BFGS-B", options={"maxiter": 500, "ftol": 1e-15, "gtol": 1e-10})
    curvature = np.linalg.eigvalsh(-difference_hessian(target, end.x))
    return float(end.fun), np.maximum(np.abs(curvature), 1e-6)


def ladder(spec: PerceptronLesson, name: str) -> tuple[Array, list[int | None]]:
    """Steps to arrive, by step length as a multiple of 1/L (the adaptive rules: as a distance)."""
    found = race(spec)
    multiples = np.geomspace(0.02, 3.0, 23)
    arrived: list[int | None] = []
    for multiple in multiples:
        if name in ADAPTIVE:
            one = run(spec.replace(adaptive=min(2.0, float(multiple)), racing=500), name, found.step)
        else:
            one = run(spec.replace(racing=500), name, float(multiple / found.curvature[-1]))
        descents = {name: one}
        arrived.append(Race(found.target, descents, found.lowest, found.curvature, found.step).arrival(name))
    return multiples, arrived


# Checks ---------------------------------------------------------------------------------------------------------------

GRADIENT_LIMIT = 1e-6
CORNERS = WORDS["corners"]  # differences across these are no derivatives


def audit(spec: PerceptronLesson, cancel: object = None) -> list[Check]:
    """The code of the present part: updates, gradients, passes, worked out another way."""
    if spec.part == "perceptron":
        return [_updates_check(spec)]
    if spec.part == "race":
        return [_slope_check(spec)]
    if spec.part == "held_out":
        return held_out.audit(spec)
    return [_kernel_check(spec), _loss_check(spec)] if spec.part == "nodes" else [_training_check(spec)]


def checks(spec: PerceptronLesson, cancel: object = None) -> list[Check]:
    """Whether what is iterated has come to its end, and the numbers against what is known of them."""
    if spec.part == "perceptron":
        return [_ended_check(spec), _bound_check(spec)]
    if spec.part == "race":
        return [_arrival_check(spec), _closed_form_check(spec)]
    if spec.part == "nodes":
        return [_pass_check(spec)]
    if spec.part == "held_out":
        return held_out.checks(spec)
    return [_settled_check(spec), unknown(WORDS.phrase("checks.answer"), WORDS.phrase("checks.no_answer"), kind="numbers")]


def _updates_check(spec: PerceptronLesson) -> Check:
    """Every visit again, in fractions: was it a mistake, and where did it move the weights?"""
    shown, (x, y) = visits(spec), data(spec)
    points = [[Fraction(value) for value in (*row, 1.0)] for row in x.tolist()]
    weights, errors = [Fraction(0)] * 3, 0
    for visit, (i, mistake) in enumerate(zip(shown.visited.tolist(), shown.mistake.tolist(), strict=True)):
        sign = 1 if y[i] == 1 else -1
        wrong = sign * sum(w * v for w, v in zip(weights, points[i], strict=True)) <= 0
        if wrong:
            weights = [w + sign * v for w, v in zip(weights, points[i], strict=True)]
        moved = np.abs(shown.weights[visit + 1] - np.array([float(w) for w in weights])).max()
        errors += bool(wrong != mistake or moved > 1e-9)
    words = WORDS.phrase("checks.updates", visits=len(shown.visited), errors=errors)
    verdict: Verdict = "pass" if errors == 0 else "fail"
    return Check("updates", verdict, float(errors), 0.0, words, "visits", kind="kernel")


def _ended_check(spec: PerceptronLesson) -> Check:
    """Has it stopped with all points right, or is it known that it never will?"""
    name, shown, (x, y) = WORDS.phrase("checks.ended"), visits(spec), data(spec)
    found = shown.run
    wrong = int(np.sum((np.hstack([x, np.ones((len(x), 1))]) @ found.weights[-1] > 0.0) != (y == 1)))
    wrong = len(x) if is_planted(STUCK) else wrong
    if found.converged:
        words = WORDS.phrase("checks.stopped", wrong=wrong, points=len(x))
        return Check(name, "fail" if wrong else "pass", float(wrong), 0.0, words, "points", kind="run")
    if found.cycle is None:
        words = WORDS.phrase("checks.cut_off", epochs=spec.epochs, wrong=wrong, points=len(x))
        return Check(name, "unknown", float(wrong), 0.0, words, "points", kind="run")
    first, length = found.cycle
    mistakes = int(found.mistake[first * len(x) :].sum())
    words = WORDS.phrase("checks.cycle", again=first + length + 1, first=first + 1, mistakes=mistakes)
    return Check(name, "fail", float(max(wrong, 1)), 0.0, words, "points", kind="run")


def _bound_check(spec: PerceptronLesson) -> Check:
    name, shown = WORDS.phrase("checks.bound"), visits(spec)
    found, best = shown.run, shown.margin
    if not best.gamma > 0.0:
        return unknown(name, WORDS.phrase("checks.no_bound"), kind="numbers")
    mistakes = found.mistakes + (math.ceil(best.bound) if is_planted(SHIFTED) else 0)
    fits = mistakes <= best.bound * (1.0 + 1e-9)  # a single point makes its one mistake exactly
    made = str(mistakes) if found.converged else WORDS.phrase("checks.until_cut_off", mistakes=mistakes, epochs=spec.epochs)
    words = WORDS.phrase("checks.promised", gamma=best.gamma, radius=best.radius, bound=best.bound, made=made)
    verdict: Verdict = "fail" if not fits else "pass" if found.converged else "unknown"
    return Check(name, verdict, float(mistakes), best.bound, words, "mistakes")


def relative_error(found: Array, true: Array) -> float:
    """Largest difference of two gradients, in units of the largest component."""
    error = float(np.abs(found - true).max()) / max(float(np.abs(true).max()), 1e-3)
    return error if math.isfinite(error) else math.inf


def _agree(name: str, error: float, words: str, kind: Kind = "kernel") -> Check:
    verdict: Verdict = "pass" if error < GRADIENT_LIMIT else "fail"
    return Check(name, verdict, error, GRADIENT_LIMIT, words, "relative", kind=kind)


def _pass_check(spec: PerceptronLesson) -> Check:
    found = one_pass(spec)
    if spec.activation in CORNERS and _at_a_corner(found):
        words = WORDS.phrase("checks.at_corner", corner=CORNERS[spec.activation])
        return unknown("derivatives", words, kind="numbers", limit=GRADIENT_LIMIT)
    error = relative_error(found.nodes.gradient, found.differences) + (OFF if is_planted(SHIFTED) else 0.0)
    return _agree("derivatives", error, WORDS.phrase("checks.derivatives", derivatives=found.network.dim, error=error), "numbers")


def _at_a_corner(found: Pass) -> bool:
    return any(np.abs(pre).min() < 1e-3 for pre, _ in found.nodes.layers[:-1])


def _kernel_check(spec: PerceptronLesson) -> Check:
    x, y = data(spec)
    found = one_pass(spec)
    target = _point_target(found.network, x, y, (spec.row - 1) % len(x))
    error = relative_error(-target.log_density_and_gradient(found.theta)[1], found.nodes.gradient)
    return _agree(WORDS.phrase("checks.kernel"), error, WORDS.phrase("checks.kernel_gives", error=error))


def _training_check(spec: PerceptronLesson) -> Check:
    """The gradient that the training follows, at three looks, against differences."""
    lesson, (x, y) = training(spec), data(spec)
    target = lesson.network.log_likelihood(x, y)
    worst = 0.0
    for at in sorted({0, len(lesson.path) // 4, len(lesson.path) // 2}):
        theta = lesson.path[at]
        used = wrong_gradient(spec, theta)[1]
        if spec.variant == "exact":
            used = -target.log_density_and_gradient(theta)[1] / len(x)
        true = -difference_gradient(target, theta) / len(x)
        worst = max(worst, relative_error(used, true))
    if spec.activation in CORNERS and worst >= GRADIENT_LIMIT and spec.variant == "exact":
        words = WORDS.phrase("checks.across_corner", corner=CORNERS[spec.activation])
        return unknown("gradient", words, kind="kernel", limit=GRADIENT_LIMIT)
    return _agree("gradient", worst, WORDS.phrase("checks.followed", error=worst))


def _loss_check(spec: PerceptronLesson) -> Check:
    """The loss of this point by the formula −ln p, from sums made one by one."""
    found = one_pass(spec)
    value = found.x
    for layer, (weights, biases) in enumerate(found.network.unpack(found.theta)):
        rows = [np.append(row * value, b) for row, b in zip(weights, biases, strict=True)]
        value = np.array([math.fsum(row) for row in rows])
        if layer < len(found.network.sizes) - 2:
            value = _activate(spec.activation, value)
    due = math.log1p(math.exp(-(2 * found.y - 1) * float(value[0])))
    error = abs(found.nodes.loss - due) / max(due, 1e-3)
    return _agree("loss", error, WORDS.phrase("checks.loss", loss=found.nodes.loss, due=due))


def _activate(name: str, z: Array) -> Array:
    found = {"tanh": np.tanh(z), "sigmoid": 1.0 / (1.0 + np.exp(-z)), "relu": np.maximum(z, 0.0), "linear": z}
    found["elu"] = np.maximum(z, 0.0) + np.expm1(np.minimum(z, 0.0))
    return found[name]


SETTLED = 0.01  # nats a point that the last tenth of a training may still gain


def _settled_check(spec: PerceptronLesson) -> Check:
    """Has the loss come to rest? In a good place or a bad one, that is another question."""
    name, unit, loss = WORDS.phrase("checks.settled"), WORDS.phrase("stage.nats_a_point"), training(spec).loss
    if training(spec).diverged or not np.all(np.isfinite(loss)) or is_planted(STUCK):
        return Check(name, "fail", math.inf, SETTLED, WORDS.phrase("checks.left_bounds"), unit, kind="run")
    last = loss[-max(2, len(loss) // 10) :]
    change = float(np.ptp(last))
    verdict: Verdict = "fail" if loss[-1] > loss[0] else "pass" if change <= SETTLED else "unknown"
    words = WORDS.phrase("checks.went", first=loss[0], last=loss[-1], change=change)
    if verdict != "pass":
        words += " " + WORDS.phrase("checks.on_its_way" if verdict == "unknown" else "checks.higher")
    return Check(name, verdict, change, SETTLED, words, unit, kind="run")


def _slope_check(spec: PerceptronLesson) -> Check:
    found = race(spec)
    places = np.concatenate([d.path[:: max(1, spec.racing // 8)] for d in found.descents.values()])
    places = places[np.all(np.isfinite(places), axis=1) & (np.abs(places).max(axis=1) < 100.0)]
    worst = 0.0
    for q in places:
        if math.isfinite(found.target.log_density(q)):
            slope = found.target.log_density_and_gradient(q)[1]
            worst = max(worst, float(np.abs(slope - difference_gradient(found.target, q)).max() / (1 + np.abs(slope).max())))
    return _agree("gradient", worst, WORDS.phrase("checks.slope", places=len(places), error=worst))


def _arrival_check(spec: PerceptronLesson) -> Check:
    """Has every runner come to rest at the lowest point, or has one left it?"""
    found = race(spec)
    away = [name for name in RUNNERS if found.arrival(name) is None]
    away = list(RUNNERS) if is_planted(STUCK) else away
    lost = [name for name in away if is_planted(STUCK) or not found.above(name)[-1] <= found.above(name)[0]]
    words = WORDS.phrase("checks.rest", there=len(RUNNERS) - len(away), runners=len(RUNNERS), goal=GOAL)
    if away:
        words += " " + WORDS.phrase("checks.lost" if lost else "checks.not_there", names=", ".join(lost or away))
    verdict: Verdict = "fail" if lost else "unknown" if away else "pass"
    return Check(WORDS.phrase("checks.arrived"), verdict, float(len(away)), 0.0, words, "runners", kind="run")


def _closed_form_check(spec: PerceptronLesson) -> Check:
    """Plain descent and momentum on a quadratic are matrix powers."""
    name, found = WORDS.phrase("checks.closed_form"), race(spec)
    if spec.target != "gaussian" or spec.noise > 0.0:
        why = "checks.no_path_with_noise" if spec.target == "gaussian" else "checks.no_path_here"
        return unknown(name, WORDS.phrase(why), kind="numbers")
    precision = np.linalg.inv(found.target.known.covariance)
    start = np.array([spec.start_x, spec.start_y]) - found.target.known.mean
    one = np.eye(2) - found.step * precision
    two = np.block([[one, -found.step * spec.momentum * np.eye(2)], [precision, spec.momentum * np.eye(2)]])
    worst, state, both = 0.0, start, np.concatenate([start, np.zeros(2)])
    for step in range(1, spec.racing + 1):
        state, both = one @ state, two @ both
        for runner, exact in (("sgd", state), ("momentum", both[:2])):
            reached = found.descents[runner].path[step] - found.target.known.mean
            if np.all(np.isfinite(reached)) and np.abs(exact).max() < 1e12:
                worst = max(worst, float(np.abs(reached - exact).max() / max(np.abs(exact).max(), 1.0)))
    words = WORDS.phrase("checks.powers", error=worst)
    return _agree(name, worst + (OFF if is_planted(SHIFTED) else 0.0), words, "numbers")
