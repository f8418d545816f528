"""Stages of what an algorithm does step by step: jumps, leapfrog, Newton's method, the climb of a bound, NUTS."""

from __future__ import annotations

import math
from functools import cache

import numpy as np
from numpy.typing import NDArray

from app.kit.player.scene import Axis
from datasets.logistic import INPUT_SD, TRAIN, logistic_pairs
from engine import sample, targets
from engine.logistic import Newton, newton, sigmoid
from engine.targets.densities import normal_density
from lessons.reproduce.errata.blank import EXACT, RIGHT, WRONG, blank

Array = NDArray[np.float64]

# Around a jump --------------------------------------------------------------------------------------------------------

PLACES, MOVES, JUMPS = 9, 6, 40  # values of the new unit's weight, Metropolis moves around a jump, jumps


def with_a_unit() -> Array:
    """(PLACES + 1,) target: without the unit, a half; with it, a bell over the places of its weight."""
    bell = np.exp(-0.5 * np.linspace(-3.0, 3.0, PLACES) ** 2)
    return np.concatenate([[0.5], 0.5 * bell / bell.sum()])


def moved() -> Array:
    """(PLACES, PLACES) so many Metropolis moves to neighbours, reversible with the bell."""
    bell = with_a_unit()[1:]
    step = np.zeros((PLACES, PLACES))
    for i in range(PLACES):
        for j in (i - 1, i + 1):
            if 0 <= j < PLACES:
                step[i, j] = 0.5 * min(1.0, bell[j] / bell[i])
    return np.linalg.matrix_power(step + np.diag(1.0 - step.sum(axis=1)), MOVES)


def around(bare: bool) -> Array:
    """Transition matrix of a birth with moves behind it, and of the death that undoes it, with moves before it.

    bare : the ratio is that of the bare jump, between the state without the unit and the place before the moves; else it
        has the place behind the moves and leaves their densities out
    """
    target, between = with_a_unit(), moved()
    ratio = target[1:] * PLACES / target[0]  # of a birth at each place, proposed evenly
    jump = np.zeros((PLACES + 1, PLACES + 1))
    for new in range(PLACES):
        for end in range(PLACES):
            r = ratio[new] if bare else ratio[end]
            jump[0, 1 + end] += between[new, end] / PLACES * min(1.0, r)
            jump[1 + end, 0] += between[end, new] * min(1.0, 1.0 / r)
    return jump + np.diag(1.0 - jump.sum(axis=1))


def around_a_jump() -> bytes:
    """Two chains of births and deaths."""
    made = blank("around", JUMPS + 1, "Two chains of births and deaths with moves around them: one keeps the target, one does not.", 8.0)
    made.layout("right*6 coded*6", 240)
    shares = {}
    for id, bare, role, name in (("right", True, RIGHT, "the bare ratio"), ("coded", False, WRONG, "densities left out")):
        rows, matrix = [np.eye(PLACES + 1)[0]], around(bare)
        for _ in range(JUMPS):
            rows.append(rows[-1] @ matrix)
        found = shares[id] = np.stack(rows)
        panel = made.panel(id, title=f"After so many jumps: {name}", y=Axis("probability", 0.0, 1.0))
        panel.bars(found, labels=["none", *map(str, range(1, PLACES + 1))], role=role, truth=with_a_unit(), label=name)
    gone = {id: 1.0 - found[:, 0] for id, found in shares.items()}
    made.say(
        "{t:d} jumps. With the unit: {a:.3f} by the bare ratio, {b:.3f} as coded; 0.5 is right.",
        t=np.arange(JUMPS + 1),
        a=gone["right"],
        b=gone["coded"],
    )
    return made.encode()


# Leapfrog -------------------------------------------------------------------------------------------------------------

STEPS, STEP_SIZE = 60, 0.3
KICKS = {"right": (0.5, 0.5, 1.0), "sign": (0.5, 0.5, -1.0), "exchanged": (0.5, 1.0, 1.0)}  # first, second, sign
FAR = 1e3


def leapfrog(how: str) -> Array:
    """(STEPS + 1, 2) position and momentum on N(0, 1), from (1, 0); NaN where it has run away."""
    first, second, sign = KICKS[how]
    x, momentum, path = 1.0, 0.0, [(1.0, 0.0)]
    for _ in range(STEPS):
        momentum -= sign * first * STEP_SIZE * x  # the gradient of log N(0, 1) is -x
        x += STEP_SIZE * momentum
        momentum -= sign * second * STEP_SIZE * x
        path.append((x, momentum))
    found = np.array(path)
    return np.where(np.abs(found).max(axis=1, keepdims=True) < FAR, found, np.nan)


def kicks() -> bytes:
    """The path and its energy: as it should be, with the sign reversed, with half and full kicks exchanged."""
    made = blank("signs", STEPS + 1, "A path that keeps its energy, one that runs away, and one that is not its own reverse.", 12.0)
    made.layout("path*6 energy*6", 260)
    plane = made.panel("path", title="A path on N(0, 1)", x=Axis("position", -3.0, 3.0), y=Axis("momentum", -3.0, 3.0))
    energies = {}
    names = (("right", RIGHT, "as it should be"), ("sign", WRONG, "sign reversed"), ("exchanged", "proposal", "half, then full"))
    for how, role, name in names:
        path = leapfrog(how)
        plane.path(path, show="upto", role=role, label=name)
        energies[how] = 0.5 * (path**2).sum(axis=1)
    level = made.panel("energy", title="Its energy, which should stay", x="step", y=Axis("energy", 0.0, 3.0))
    for how, role, name in names:
        level.line(np.arange(STEPS + 1.0), energies[how], show="upto", role=role, label=name)
    level.rule(y=0.5, role=EXACT, dash=True, label="exact")
    made.say(
        "Step {t:d}: energy {right:.3f}; half then full {exchanged:.3g}.",
        t=np.arange(STEPS + 1),
        right=energies["right"],
        exchanged=energies["exchanged"],
    )
    return made.encode()


# Newton's method ------------------------------------------------------------------------------------------------------

ASCENT = 500  # steps that are printed
NODES = 200_001


@cache
def climbs() -> tuple[Newton, Array]:
    """Newton's method on 150 pairs, and (ASCENT + 1,) distances from the maximum along a steepest ascent."""
    pairs = logistic_pairs(seed=0)
    x, y = pairs.x[:TRAIN], pairs.y[:TRAIN]
    found = newton(x, y)
    design, w = np.column_stack([np.ones(TRAIN), x]), np.zeros(2)
    rate = 4.0 / np.linalg.eigvalsh(design.T @ design)[-1]  # the longest step that surely climbs
    apart = []
    for _ in range(ASCENT + 1):
        apart.append(float(np.abs(w - found.path[-1]).max()))
        w = w + rate * design.T @ (y - sigmoid(design @ w))
    return found, np.array(apart)


def right_by_truth(input_sd: float) -> float:
    """Share right, in %, by the true weights (1, 2), of x ~ N(0, input_sd²)."""
    z = np.linspace(-9.0, 9.0, NODES)
    p = sigmoid(1.0 + 2.0 * input_sd * z)
    return 100.0 * float(np.trapezoid(np.maximum(p, 1.0 - p) * normal_density(0.0, 1.0)(z), z))


def few_steps() -> bytes:
    """How near the maximum each step comes, and what the true weights have right."""
    found, ascent = climbs()
    apart = np.abs(found.path - found.path[-1]).max(axis=1)
    shown = 12
    near = np.full(shown + 1, np.nan)
    near[: len(apart)] = np.log10(np.maximum(apart, 1e-12))[: shown + 1]
    made = blank(
        "newton",
        shown + 1,
        "Newton's method squares its error at each step; and no weights are right in 94 % where x scatters little.",
        2.0,
    )
    made.layout("near*6 right*6", 240)
    panel = made.panel("near", title="Distance from the maximum", x=Axis("step", 0.0, shown), y=Axis("log₁₀ of it", -12.0, 1.0))
    steps = np.arange(shown + 1.0)
    panel.line(steps, near, show="upto", role=RIGHT, label="Newton's method")
    panel.line(steps, np.log10(ascent[: shown + 1]), show="upto", role=WRONG, label="steepest ascent")
    panel.rule(y=math.log10(5e-4), role=EXACT, dash=True, label="criterion")
    scatter = np.linspace(0.5, 6.0, 56)
    other = made.panel("right", title="Right by the true weights", x=Axis("sd of x", 0.0, 6.0), y=Axis("right (%)", 70.0, 100.0))
    other.line(scatter, [right_by_truth(sd) for sd in scatter], role=EXACT, label="exact")
    other.rule(y=94.0, role=WRONG, dash=True, label="printed: 94 %")
    other.points([[INPUT_SD, right_by_truth(INPUT_SD)]], role=RIGHT, shape="diamond", size=5.0, label=f"sd {INPUT_SD:g}")
    made.say("Step {t:d}.", t=np.arange(shown + 1))
    return made.encode()


# The bound ------------------------------------------------------------------------------------------------------------

UPDATES, RATE = 60, 0.1
MEAN, SD = 1.0, 0.5  # of the posterior that q should find


def bound(mean: float, log_sd: float) -> float:
    """ELBO of q = N(mean, e^(2 log_sd)) where the posterior is N(MEAN, SD²) and p(D) = 1: the negative KL."""
    ratio = math.exp(2.0 * log_sd) / SD**2
    return -0.5 * (ratio + ((mean - MEAN) / SD) ** 2 - 1.0 - math.log(ratio))


def updated(sign: float) -> Array:
    """(UPDATES + 1,) the bound along updates with its gradient, or against it; NaN where it has run away."""
    mean, log_sd, path = 0.0, 0.0, []
    for _ in range(UPDATES + 1):
        value = bound(mean, log_sd)
        path.append(value if value > -FAR else math.nan)
        if value > -FAR:
            mean -= sign * RATE * (mean - MEAN)  # times SD², so that one rate serves both
            log_sd -= sign * RATE * (math.exp(2.0 * log_sd) / SD**2 - 1.0) * SD**2
    return np.array(path)


def climbed() -> bytes:
    """The bound, climbed and descended."""
    made = blank(
        "learned",
        UPDATES + 1,
        "The evidence's lower bound: with its gradient it comes to the evidence, against it it falls for ever.",
        12.0,
    )
    panel = made.panel("bound", title="The lower bound, update by update", x="update", y=Axis("nats", -20.0, 2.0))
    up, down = updated(1.0), updated(-1.0)
    for values, role, name in ((up, RIGHT, "with the gradient"), (down, WRONG, "against it, as printed")):
        panel.line(np.arange(UPDATES + 1.0), values, show="upto", role=role, label=name)
    panel.rule(y=0.0, role=EXACT, dash=True, label="log evidence, exact")
    made.say("Update {t:d}: {up:.4f} nats below the evidence.", t=np.arange(UPDATES + 1), up=-up)
    return made.encode()


# What NUTS is tuned to ------------------------------------------------------------------------------------------------

TRANSITIONS, ASKED = 400, 0.65


@cache
def tuned() -> tuple[Array, Array]:
    """(TRANSITIONS,) each: mean acceptance along the path of a transition, and whether the state changed."""
    found = sample(
        targets.gaussian(dimension=20, correlation=0.0), "nuts", chains=1, draws=TRANSITIONS, warmup=1500, seed=1, target_accept=ASKED
    )
    before = np.concatenate([found.start[:, None], found.draws[:, :-1]], axis=1)
    return found.accept_prob[0], (found.draws != before).any(axis=2)[0].astype(np.float64)


def two_shares() -> bytes:
    """Two numbers that may be called acceptance, along one run."""
    accept, changed = tuned()
    n = np.arange(1.0, TRANSITIONS + 1.0)
    along, moved_on = 100.0 * np.cumsum(accept) / n, 100.0 * np.cumsum(changed) / n
    made = blank(
        "within", TRANSITIONS, "NUTS on a normal density: the mean acceptance along paths, and the share of states that change.", 60.0
    )
    panel = made.panel("shares", title="NUTS asked for 65 %", x="transition", y=Axis("%", 40.0, 102.0))
    panel.line(n, along, show="upto", role=RIGHT, label="mean acceptance along the path")
    panel.line(n, moved_on, show="upto", role="proposal", label="transitions that change the state")
    panel.rule(y=100.0 * ASKED, role="ink", dash=True, label="asked for")
    made.say("{n:d} transitions: {a:.1f} % and {b:.1f} %.", n=n.astype(int), a=along, b=moved_on)
    return made.encode()
