"""What can be told of the training of a variational network: its gradient, worked out again, and whether it rests."""

from __future__ import annotations

import math
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from engine import ticket
from engine.judge.check import Check, Verdict
from engine.judge.looks import correlation_of, looked, two_looks
from engine.judge.plant import STUCK, is_planted
from engine.variational.network import NetworkRun

Array = NDArray[np.float64]

FEWEST, MOST = 60, 1_000  # estimates of either gradient, at a first look,
WORK = 4e7  # as many as cost about so many products of a number and a weight
AIMED = 12  # more of them give the directions that are compared
EXACT = 1e-3  # relative error of a gradient without chance,
SINGLE = 1e-5  # and of any: single precision
MOVING = 0.025  # share of its whole rise that the ELBO of a training at rest may still make in the last quarter,
AT_MOST = 0.05  # and the most that its noise may hide
FEW = 8  # reports below which nothing is told


# Rest -----------------------------------------------------------------------------------------------------------------


def rest_check(elbo: Array, what: str = "training") -> Check:
    """Has a training come to rest? By the ELBO that it reported, (T,), a noisy one.

    Not converged where a number broke or nothing was gained; stopped on the way where the last quarter still gained
    more than its share, `MOVING`, beyond two standard errors; not to be told where two more might hide `AT_MOST`.
    """
    name, unit = f"{what} at rest", "of its whole rise"
    if is_planted(STUCK):
        elbo = np.full(len(elbo), elbo[0])
    if not np.all(np.isfinite(elbo)):
        words = f"The ELBO of the {what} is no number: it has broken down."
        return Check(name, "fail", math.inf, MOVING, words, unit, kind="run")
    if len(elbo) < FEW:
        words = f"The {what} reported {len(elbo)} times, too seldom to tell."
        return Check(name, "unknown", math.nan, MOVING, words, unit, kind="run")
    half, quarter = len(elbo) // 2, 3 * len(elbo) // 4
    before, last = elbo[half:quarter], elbo[quarter:]
    risen = float(last.mean() - elbo[: max(1, len(elbo) // 100)].mean())
    if risen <= 1e-9 * abs(float(last.mean())):
        words = f"The ELBO ends {abs(risen):.4g} nats below its start: the {what} has gained nothing."
        return Check(name, "fail", math.inf, MOVING, words, unit, kind="run")
    rise = float(last.mean() - before.mean())
    error = math.hypot(*(float(part.std()) / math.sqrt(len(part)) for part in (before, last)))
    # A training that seems to fall has not risen, but its noise hides as much as any other's.
    share, least, most = (by / risen for by in (rise, rise - 2.0 * error, max(rise, 0.0) + 2.0 * error))
    sentence = f"In the last quarter of the {what} the ELBO rose by {rise:.3g} ± {error:.2g} nats, {share:.1%} of its whole rise: it "
    verdict: Verdict = "pass" if least <= MOVING and most <= AT_MOST else "unknown"
    if verdict == "pass":
        sentence += "has come to rest."
    elif least > MOVING:
        sentence += "stopped on the way. More steps would take it further."
    else:
        sentence += "rises and falls too much to tell whether it has come to rest. More steps would tell."
    return Check(name, verdict, share, MOVING, sentence, unit, kind="run")


# Gradient -------------------------------------------------------------------------------------------------------------


def training_gradient_check(run: NetworkRun, seed: int = 0) -> Check:
    """The gradient by which `run` trains, where it stands now, against one worked out again in double precision, by
    other code and with other random numbers; by `two_looks`. Adam's averages are lost.

    Of every layer's parameters three combinations are compared: along the gradient, where a wrong size shows best;
    along the means (or all alike), where a wrong prior does; and with random signs. For the methods gaussian and
    spike_and_slab (local reparameterisation), mc_dropout and map.
    """
    name, n = "training gradient", len(run._x)
    where = f"after {run.completed:,} steps, on {n:,} data"
    blocks = _blocks(run)
    if run.spec.method == "map":
        mine, theirs = run.gradient_estimates(1)[0].astype(np.float64), _estimate(run, np.random.default_rng(seed))
        sizes = [(float(np.linalg.norm(mine[b] - theirs[b])), float(np.linalg.norm(theirs[b]))) for b in blocks]
        off = max(error / max(size, 1e-9) for error, size in sizes)
        sentence = f"The gradient of the training {where}, agrees with one worked out by other code to {off:.1e}."
        return Check(name, "pass" if off < EXACT else "fail", off, EXACT, sentence, "relative error", kind="kernel")

    def look(number: int, work: int) -> Check:
        rng = np.random.Generator(np.random.SFC64(np.random.SeedSequence([seed, 21, number])))
        along = np.mean([_estimate(run, rng) for _ in range(AIMED)], axis=0)
        aim = _directions(run, along, blocks, rng)
        rounding = SINGLE * np.repeat([float(np.linalg.norm(along[block])) for block in blocks], 3)
        count = work * int(np.clip(WORK / (n * run.shape.weights), FEWEST, MOST))
        mine, theirs = np.empty((count, aim.shape[1])), np.empty((count, aim.shape[1]))
        for i in ticket.looking(range(count)):  # one by one: a large network has a million components
            mine[i] = run.gradient_estimates(1, 1_000_000 * (1 + number) + i)[0].astype(np.float64) @ aim
            theirs[i] = _estimate(run, rng) @ aim
        covariance = (np.cov(mine.T) + np.cov(theirs.T)) / count + np.diag((1e-12 + rounding) ** 2)
        z = (mine.mean(axis=0) - theirs.mean(axis=0)) / np.sqrt(np.diag(covariance))
        words = (
            f"{count} gradients of the training {where}, averaged and compared with {count} worked out in double "
            f"precision by other code: of {len(z)} combinations of {len(aim):,} components"
        )
        return looked(number, name, z, correlation_of(covariance), words, kind="kernel")

    return two_looks(look)


def _blocks(run: NetworkRun) -> list[slice]:
    """Of every kind of parameter and layer, where it stands in a gradient."""
    starts = np.cumsum([0, *(layer.size for layer in run.shape.split(np.empty(run.shape.weights)))])
    rows = len(run.posterior.trained)
    return [slice(row * run.shape.weights + a, row * run.shape.weights + b) for row in range(rows) for a, b in pairwise(starts)]


def _directions(run: NetworkRun, along: Array, blocks: list[slice], rng: np.random.Generator) -> Array:
    """(parameters, 3 blocks) unit vectors."""
    found, means = np.ones((len(along), 3)), np.asarray(run.posterior.mean, dtype=np.float64)
    found[:, 0] = along
    found[: len(means), 1] = means
    found[:, 2] = rng.choice([-1.0, 1.0], len(along))
    apart = np.zeros((len(along), len(blocks), 3))
    for k, block in enumerate(blocks):
        apart[block, k] = found[block] / np.maximum(np.linalg.norm(found[block], axis=0), 1e-300)
    return apart.reshape(len(along), -1)


def _estimate(run: NetworkRun, rng: np.random.Generator) -> Array:
    """One estimate of the ELBO's gradient over all data, in the order of `NetworkRun.gradient_estimates`."""
    posterior = run.posterior
    mean, precision = np.asarray(posterior.mean, dtype=np.float64), _precision(posterior)
    if run.spec.method in ("map", "mc_dropout"):
        factors = posterior._second_moments()
        slope, _ = _backwards(run, mean, None, rng)
        for part, weights, moment in zip(run.shape.split(slope), run.shape.split(mean), factors, strict=True):
            part[:-1] -= precision * moment * weights[:-1]
            part[-1] -= precision * weights[-1]
        return slope
    sd = np.asarray(posterior.sd, dtype=np.float64)
    gated = run.spec.method == "spike_and_slab"
    omega = np.asarray(posterior.omega, dtype=np.float64) if gated else np.zeros(0)
    alpha = 1.0 / (1.0 + np.exp(-omega)) if gated else np.ones(len(mean))
    out = 1.0 - alpha
    slope, curve = _backwards(run, alpha * mean, alpha * (sd**2 + out * mean**2), rng)
    of_mean = alpha * slope + 2.0 * alpha * out * mean * curve - alpha * precision * mean
    of_sd = 2.0 * alpha * sd * curve - alpha * (precision * sd - 1.0 / sd)
    found = [of_mean, of_sd * -np.expm1(-sd)]
    if gated:
        slab = 0.5 * precision * (mean**2 + sd**2) - 0.5 - np.log(sd) - 0.5 * math.log(precision)
        of_alpha = mean * slope + (sd**2 + mean**2 - 2.0 * alpha * mean**2) * curve
        found.append(alpha * out * (of_alpha - (omega - posterior.log_odds + slab)))
    return np.concatenate(found)


def _precision(posterior: Any) -> float:
    """Of the prior of a weight that is in."""
    sd = posterior.prior[1] if hasattr(posterior, "prior") else posterior.prior_sd
    return float(1.0 / sd**2)


def _backwards(run: NetworkRun, means: Array, variances: Array | None, rng: np.random.Generator) -> tuple[Array, Array]:
    """Slope of the log likelihood in the means and in the variances of all weights: pre-activations drawn, or without
    variances units dropped.
    """
    spec, shape = run.spec, run.shape
    centres, kept = shape.split(means), getattr(run.posterior, "keep", np.ones(shape.layers))
    spreads = [None] * shape.layers if variances is None else shape.split(variances)
    inputs, values, noises = [], [], []
    h = np.asarray(run._x, dtype=np.float64)
    for layer, (centre, spread) in enumerate(zip(centres, spreads, strict=True)):
        a = np.column_stack([h, np.ones(len(h))])
        scale = np.ones_like(a)
        if kept[layer] < 1.0:
            factor = 1.0 / kept[layer] if spec.scaling == "inverse" else 1.0
            scale[:, :-1] = factor * (rng.random(h.shape) < kept[layer])
        a, z, noise = a * scale, (a * scale) @ centre, None
        if spread is not None:
            root, normal = np.sqrt(a**2 @ spread + 1e-12), rng.standard_normal(z.shape)
            z, noise = z + root * normal, 0.5 * normal / root
        inputs.append((a, scale))
        noises.append(noise)
        values.append(z)
        h = _activated(spec.activation, z)
    slopes, curves = [], []
    back = _of_outputs(run, values[-1])
    for layer in reversed(range(shape.layers)):
        a, scale = inputs[layer]
        noise, spread = noises[layer], spreads[layer]
        slopes.append((a.T @ back).ravel())
        below = back @ centres[layer].T
        if noise is not None and spread is not None:
            curves.append(((a**2).T @ (back * noise)).ravel())
            below += 2.0 * a * ((back * noise) @ spread.T)
        if layer:
            back = (below * scale)[:, :-1] * _slope(spec.activation, values[layer - 1])
    return np.concatenate(slopes[::-1]), np.concatenate(curves[::-1]) if curves else np.zeros(0)


def _activated(kind: str, z: Array) -> Array:
    if kind == "relu":
        return np.maximum(z, 0.0)
    if kind == "tanh":
        return np.tanh(z)
    if kind == "elu":
        return np.where(z > 0.0, z, np.expm1(np.minimum(z, 0.0)))
    return 1.0 / (1.0 + np.exp(-z)) if kind == "sigmoid" else z


def _slope(kind: str, z: Array) -> Array:
    h = _activated(kind, z)
    if kind == "relu":
        return (z > 0.0).astype(np.float64)
    if kind == "tanh":
        return 1.0 - h**2
    if kind == "elu":
        return np.exp(np.minimum(z, 0.0))
    return h * (1.0 - h) if kind == "sigmoid" else np.ones_like(z)


def _of_outputs(run: NetworkRun, z: Array) -> Array:
    """Slope of the log likelihood in the outputs."""
    y = np.asarray(run._y, dtype=np.float64)
    if run.spec.likelihood == "gaussian":
        return (y - z) / run.spec.noise_sd**2
    if run.spec.likelihood == "bernoulli":
        return y - 1.0 / (1.0 + np.exp(-z))
    p = np.exp(z - z.max(axis=1, keepdims=True))
    p /= p.sum(axis=1, keepdims=True)
    p[np.arange(len(p)), y[:, 0].astype(int)] -= 1.0
    return -p
