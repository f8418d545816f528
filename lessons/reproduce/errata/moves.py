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
from engine.samplers.adaptation import windows
from engine.targets.densities import normal_density
from lessons.reproduce.errata.blank import EXACT, RIGHT, WORDS, WRONG, blank, tell

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
    made = blank("around", JUMPS + 1, WORDS.phrase("around.picture"), 8.0)
    made.layout("right*6 coded*6", 240)
    shares = {}
    for id, bare, role, name in (
        ("right", True, RIGHT, WORDS.phrase("around.bare")),
        ("coded", False, WRONG, WORDS.phrase("around.left_out")),
    ):
        rows, matrix = [np.eye(PLACES + 1)[0]], around(bare)
        for _ in range(JUMPS):
            rows.append(rows[-1] @ matrix)
        found = shares[id] = np.stack(rows)
        panel = made.panel(id, title=WORDS.phrase("around.title", name=name), y=Axis(WORDS.phrase("common.probability"), 0.0, 1.0))
        panel.bars(found, labels=[WORDS.phrase("around.none"), *map(str, range(1, PLACES + 1))], role=role, truth=with_a_unit(), label=name)
    gone = {id: 1.0 - found[:, 0] for id, found in shares.items()}
    tell(made, WORDS.phrase("around.said"), t=np.arange(JUMPS + 1), a=gone["right"], b=gone["coded"])
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
    made = blank("signs", STEPS + 1, WORDS.phrase("signs.picture"), 12.0)
    made.layout("path*6 energy*6", 260)
    plane = made.panel(
        "path",
        title=WORDS.phrase("signs.path"),
        x=Axis(WORDS.phrase("signs.position"), -3.0, 3.0),
        y=Axis(WORDS.phrase("signs.momentum"), -3.0, 3.0),
    )
    energies = {}
    names = (
        ("right", RIGHT, WORDS.phrase("signs.right")),
        ("sign", WRONG, WORDS.phrase("signs.reversed")),
        ("exchanged", "proposal", WORDS.phrase("signs.half_full")),
    )
    for how, role, name in names:
        path = leapfrog(how)
        plane.path(path, show="upto", role=role, label=name)
        energies[how] = 0.5 * (path**2).sum(axis=1)
    level = made.panel(
        "energy", title=WORDS.phrase("signs.energy"), x=WORDS.phrase("common.step"), y=Axis(WORDS.phrase("signs.level"), 0.0, 3.0)
    )
    for how, role, name in names:
        level.line(np.arange(STEPS + 1.0), energies[how], show="upto", role=role, label=name)
    level.rule(y=0.5, role=EXACT, dash=True, label=WORDS.phrase("common.exact"))
    tell(made, WORDS.phrase("signs.said"), t=np.arange(STEPS + 1), right=energies["right"], exchanged=energies["exchanged"])
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
    made = blank("newton", shown + 1, WORDS.phrase("newton.picture"), 2.0)
    made.layout("near*6 right*6", 240)
    panel = made.panel(
        "near",
        title=WORDS.phrase("newton.near"),
        x=Axis(WORDS.phrase("common.step"), 0.0, shown),
        y=Axis(WORDS.phrase("newton.log"), -12.0, 1.0),
    )
    steps = np.arange(shown + 1.0)
    panel.line(steps, near, show="upto", role=RIGHT, label=WORDS.phrase("newton.newton"))
    panel.line(steps, np.log10(ascent[: shown + 1]), show="upto", role=WRONG, label=WORDS.phrase("newton.ascent"))
    panel.rule(y=math.log10(5e-4), role=EXACT, dash=True, label=WORDS.phrase("newton.criterion"))
    scatter = np.linspace(0.5, 6.0, 56)
    other = made.panel(
        "right",
        title=WORDS.phrase("newton.right"),
        x=Axis(WORDS.phrase("newton.sd"), 0.0, 6.0),
        y=Axis(WORDS.phrase("newton.share"), 70.0, 100.0),
    )
    other.line(scatter, [right_by_truth(sd) for sd in scatter], role=EXACT, label=WORDS.phrase("common.exact"))
    other.rule(y=94.0, role=WRONG, dash=True, label=WORDS.phrase("newton.printed"))
    other.points(
        [[INPUT_SD, right_by_truth(INPUT_SD)]], role=RIGHT, shape="diamond", size=5.0, label=WORDS.phrase("newton.scatter", sd=INPUT_SD)
    )
    tell(made, WORDS.phrase("newton.said"), t=np.arange(shown + 1))
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
    made = blank("learned", UPDATES + 1, WORDS.phrase("learned.picture"), 12.0)
    panel = made.panel(
        "bound", title=WORDS.phrase("learned.title"), x=WORDS.phrase("learned.update"), y=Axis(WORDS.phrase("learned.nats"), -20.0, 2.0)
    )
    up, down = updated(1.0), updated(-1.0)
    for values, role, name in ((up, RIGHT, WORDS.phrase("learned.up")), (down, WRONG, WORDS.phrase("learned.down"))):
        panel.line(np.arange(UPDATES + 1.0), values, show="upto", role=role, label=name)
    panel.rule(y=0.0, role=EXACT, dash=True, label=WORDS.phrase("learned.evidence"))
    tell(made, WORDS.phrase("learned.said"), t=np.arange(UPDATES + 1), up=-up)
    return made.encode()


# What NUTS is tuned to ------------------------------------------------------------------------------------------------

TUNED, TRANSITIONS, ASKED = 1500, 400, 0.65  # transitions of warm-up, those shown of them, and delta


@cache
def tuned() -> tuple[Array, Array]:
    """(TRANSITIONS,) each, while dual averaging steers: mean acceptance along the path, and whether the state changed."""
    model = targets.gaussian(dimension=20, correlation=0.0)
    warmup = sample(model, "nuts", chains=1, draws=1, warmup=TUNED, seed=1, target_accept=ASKED, keep_warmup=True).warmup
    assert warmup is not None
    end = windows(TUNED)[1][-1]  # where the longest stretch with one mass ends
    before, after = (warmup.draws[0, end - TRANSITIONS - late : end - late] for late in (1, 0))
    return warmup.accept_prob[0, end - TRANSITIONS : end], (after != before).any(axis=1).astype(np.float64)


def two_shares() -> bytes:
    """Two numbers that may be called acceptance, along one run."""
    accept, changed = tuned()
    n = np.arange(1.0, TRANSITIONS + 1.0)
    along, moved_on = 100.0 * np.cumsum(accept) / n, 100.0 * np.cumsum(changed) / n
    made = blank("within", TRANSITIONS, WORDS.phrase("within.picture"), 60.0)
    panel = made.panel("shares", title=WORDS.phrase("within.title"), x=WORDS.phrase("common.transition"), y=Axis("%", 40.0, 102.0))
    panel.line(n, along, show="upto", role=RIGHT, label=WORDS.phrase("within.along"))
    panel.line(n, moved_on, show="upto", role="proposal", label=WORDS.phrase("within.changed"))
    panel.rule(y=100.0 * ASKED, role="ink", dash=True, label=WORDS.phrase("within.asked"))
    tell(made, WORDS.phrase("within.said"), n=n.astype(int), a=along, b=moved_on)
    return made.encode()


# NUTS and an accept step ----------------------------------------------------------------------------------------------

DRAWN, LONG, SHORT = 4000, 1.3, 0.2  # transitions, and step sizes
STANDARD = targets.gaussian(dimension=2, correlation=0.0)


@cache
def drawn(variant: str, step_size: float) -> Array:
    """(DRAWN, 2) draws of a NUTS on N(0, I), started at 0."""
    found = sample(STANDARD, "nuts", chains=1, draws=DRAWN, seed=1, init=[0.0, 0.0], step_size=step_size, mass=1.0, variant=variant)
    return found.draws[0]


def endings() -> bytes:
    """What an accept step at the end does to the draws, and what the reversed sign does to the way."""
    made = blank("stops", DRAWN, WORDS.phrase("stops.picture"), 200.0)
    made.layout("spread*6 way*6", 260)
    n, said = np.arange(1.0, DRAWN + 1.0), {}
    transition, sd = WORDS.phrase("common.transition"), Axis(WORDS.phrase("stops.sd"), 0.7, 1.3)
    spread = made.panel("spread", title=WORDS.phrase("stops.spread", step=LONG), x=transition, y=sd)
    for variant, role in (("exact", RIGHT), ("final_accept", WRONG)):
        said[variant] = np.sqrt(np.cumsum((drawn(variant, LONG) ** 2).mean(axis=1)) / n)
        spread.line(n, said[variant], show="upto", role=role, label=WORDS.phrase(f"stops.{variant}"))
    spread.rule(y=1.0, role=EXACT, dash=True, label=WORDS.phrase("common.exact"))
    way = made.panel("way", title=WORDS.phrase("stops.way", step=SHORT), x=Axis("x₁", -3.0, 3.0), y=Axis("x₂", -3.0, 3.0))
    for variant, role in (("exact", RIGHT), ("reversed_dot", "proposal")):
        way.path(drawn(variant, SHORT), show="upto", last=60, role=role, width=1.0, alpha=0.8, label=WORDS.phrase(f"stops.of_{variant}"))
    tell(made, WORDS.phrase("stops.said"), n=n.astype(int), a=said["exact"], b=said["final_accept"])
    return made.encode()


# A chain at two places ------------------------------------------------------------------------------------------------

HOPS = 300
FROM = 0.8


@cache
def hops(steps: int) -> Array:
    """(HOPS,) first coordinate of HMC on N(0, I) with so many leapfrog steps of 1, started at FROM."""
    found = sample(STANDARD, "hmc", chains=1, draws=HOPS, seed=2, init=[FROM, FROM], step_size=1.0, steps=steps)
    return found.draws[0, :, 0]


def two_places() -> bytes:
    """Three steps, and four."""
    made = blank("ergodic", HOPS, WORDS.phrase("ergodic.picture"), 30.0)
    made.layout("three*6 four*6 square*12", 220)
    grid, n, squares = np.linspace(-3.5, 3.5, 141), np.arange(1.0, HOPS + 1.0), {}
    for id, steps, role in (("three", 3, WRONG), ("four", 4, RIGHT)):
        panel = made.panel(
            id, title=WORDS.phrase(f"ergodic.{id}"), x=Axis("x", -3.5, 3.5), y=Axis(WORDS.phrase("common.density"), 0.0, 1.0)
        )
        panel.histogram(hops(steps), bins=(-3.5, 3.5, 35), role=role)
        panel.line(grid, normal_density(0.0, 1.0)(grid), role=EXACT, label=WORDS.phrase("ergodic.target"))
        squares[id] = np.cumsum(hops(steps) ** 2) / n
    transition, mean = WORDS.phrase("common.transition"), Axis(WORDS.phrase("ergodic.mean"), 0.0, 2.0)
    below = made.panel("square", title=WORDS.phrase("ergodic.square"), x=transition, y=mean)
    for id, role in (("three", WRONG), ("four", RIGHT)):
        below.line(n, squares[id], show="upto", role=role, label=WORDS.phrase(f"ergodic.{id}"))
    below.rule(y=1.0, role=EXACT, dash=True, label=WORDS.phrase("common.exact"))
    tell(made, WORDS.phrase("ergodic.said"), n=n.astype(int), a=squares["three"], b=squares["four"])
    return made.encode()
