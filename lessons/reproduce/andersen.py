"""Andersen and Roed-Sørensen 2021: a polynomial, rejection, Metropolis, and their tables on house prices and credit.

Of the networks a part is one chain, or one training from another start.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cache, partial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from datasets import local, polynomial, six, tables
from engine import linear, network, sample, sample_network, targets
from engine.logistic import importance_draws, sigmoid
from engine.networks import Network
from engine.networks.predictive import outputs
from engine.networks.prior import Prior
from engine.rejection import reject
from engine.training.train import initial_parameters, train
from lessons.reproduce.experiment import A_PART, FULL, WORDS, Cell, Estimate, Part, averages, worded

Array = NDArray[np.float64]

# Chapters 2 to 4 ------------------------------------------------------------------------------------------------------

FOLDS = 10


def _cross_validation(number: int, form: str) -> Part:
    curve = polynomial.cosine()
    folds = np.array_split(np.arange(len(curve.x)), FOLDS)
    found: Part = {}
    for degree in (1, 4):
        errors = linear.left_out_errors(linear.polynomial_design(curve.x, degree), curve.y, folds)
        found[f"degree {degree}"] = float(np.mean([np.mean(errors[fold] ** 2) for fold in folds]))
    return found


TRIED = 100_000
AS_CODED = Prior(width=16, weight_sd=8.0, bias_sd=8.0, out_sd=1.0, out_bias_sd=0.25, squash="tanh")
AS_TOLD = Prior(width=16, weight_sd=1.0, bias_sd=1.0, out_sd=1.0, out_bias_sd=0.25)


def _rejection(number: int, form: str) -> Part:
    points = six.six_points()
    counts = {
        name: reject(prior, points.x, points.y, 0.1, TRIED, number, "observed").accepted.sum()
        for name, prior in (("told", AS_TOLD), ("coded", AS_CODED))
    }
    return {name: float(count) for name, count in counts.items()}


def _metropolis(number: int, form: str) -> Part:
    target = targets.build("gaussian", dimension=2, correlation=0.6)
    found = sample(target, "metropolis", chains=1, draws=1000, seed=number, init=[7.0, 0.0], scale=1.0)
    x = found.draws[0]
    inside = np.einsum("ni,ij,nj->n", x, np.linalg.inv([[1.0, 0.6], [0.6, 1.0]]), x) <= -2.0 * math.log(0.05)
    return {"accepted": float(found.accepted.mean()), "first inside": float(np.flatnonzero(inside)[0] + 1)}


# Chapter 5 ------------------------------------------------------------------------------------------------------------

SEEDS, CHAINS = 4, 3
UNITS = 10


class Rows(NamedTuple):
    """Of a published split: rows to learn from and to test on, as they are."""

    x: Array
    y: Array
    x_test: Array
    y_test: Array


@cache
def rows(name: str) -> Rows:
    """The rows of the published tables on "boston" or "credit"."""
    task = local.table(name)
    return rows_of(task, *tables.split(task, 0, 0, 0, "published"))


def rows_of(task: tables.Task, learn: NDArray[np.int64], test: NDArray[np.int64]) -> Rows:
    """A data set, split."""
    return Rows(np.ascontiguousarray(task.x[learn]), task.y[learn], np.ascontiguousarray(task.x[test]), task.y[test])


def cross_entropy(p: Array, y: Array) -> float:
    """Mean -log probability of labels y, in nats."""
    p = np.clip(p, 1e-12, 1.0 - 1e-12)
    return float(-np.mean(y * np.log(p) + (1.0 - y) * np.log1p(-p)))


def _error(name: str, mean: Array, y: Array) -> float:
    return cross_entropy(mean, y) if name == "credit" else float(np.mean((mean - y) ** 2))


def _loss(net: Network, theta: Array, x: Array, y: Array) -> float:
    """Of one network, as Keras has it: the cross-entropy of log odds as they are, however sure they are."""
    z = outputs(net, theta[None], x)[0, :, 0]
    if net.likelihood == "bernoulli":
        return float(np.mean(np.logaddexp(0.0, z) - y * z))
    return float(np.mean((z - y) ** 2))


def _net(name: str, units: int, own: bool = False) -> Network:
    prices = name == "boston"
    return network(
        rows(name).x.shape[1],
        1,
        width=max(units, 1),
        depth=int(units > 0),
        activation="relu" if prices else "tanh",
        likelihood="gaussian" if prices else "bernoulli",
        prior_sd=0.1 if prices and not own else 1.0,
        noise_sd=1.0,
    )


def _predicted(net: Network, theta: Array, x: Array) -> Array:
    """(m,) mean prediction of networks theta (n, dim): a price, or the probability of default."""
    values = outputs(net, np.ascontiguousarray(theta), x)[:, :, 0]
    if net.likelihood == "bernoulli":
        values = 1.0 / (1.0 + np.exp(-np.clip(values, -700.0, 700.0)))
    return np.asarray(values.mean(axis=0))


class Training(NamedTuple):
    """A trained model. decay : of our loss, which halves the squares; patience, least : of early stopping: epochs without
    a held-out loss that is lower by `least`, no patience for none
    """

    units: int
    decay: float = 0.0
    patience: int = 0
    least: float = 0.0


# a penalty c |theta|² beside a mean squared error is c |theta|² / 2 beside half of it; beside a cross-entropy it is 2 c.
# A difference of 0.1 in mean squared error is one of 0.05 in ours.
TRAINED = {
    "boston": {
        "linear": Training(0, 0.3),
        "units": Training(UNITS),
        "decay": Training(UNITS, 0.3),
        "stopped": Training(UNITS, 0.0, 10, 0.05),
    },
    "credit": {
        "linear": Training(0, 0.2),
        "units": Training(UNITS),
        "decay": Training(UNITS, 0.2),
        "decay, a tenth": Training(UNITS, 0.02),
        "stopped": Training(UNITS, 0.0, 1),
    },
}
EPOCHS = {"boston": 300, "credit": 1000}


def _trained(number: int, form: str, *, name: str) -> Part:
    known, found = rows(name), {}
    for model, how in TRAINED[name].items():
        net = _net(name, how.units)
        run = train(
            net,
            known.x,
            known.y,
            step_size=0.001,
            batch=32,
            epochs=EPOCHS[name],
            weight_decay=how.decay,
            validation=0.3,
            start=initial_parameters(net, number, "uniform"),
            seed=number,
        )
        last = _stopped(run.held_out, how) if how.patience else len(run.path) - 1
        if how.patience:
            found["epochs"] = float(last)
        # theirs keeps the last weights, also where it stops early
        for where, x, y in (("train", known.x, known.y), ("test", known.x_test, known.y_test)):
            found[f"{model}, {where}"] = _loss(net, run.path[last], x, y)
    return found


def _stopped(held_out: Array, how: Training) -> int:
    """The epoch at which Keras stops."""
    best, wait = np.inf, 0
    for epoch, loss in enumerate(held_out[1:], start=1):
        best, wait = (loss, 0) if loss < best - how.least else (best, wait + 1)
        if wait >= how.patience:
            return epoch
    return len(held_out) - 1


def _constants(name: str) -> dict[str, float]:
    """What always saying one number comes to."""
    known = rows(name)
    if name == "boston":
        return {"test": _error(name, np.full(len(known.y_test), known.y.mean()), known.y_test)}
    rate = known.y.mean()
    return {where: _error(name, np.full(len(y), rate), y) for where, y in (("train", known.y), ("test", known.y_test))}


# units, weights, doublings of NUTS at most
SAMPLED = {
    "linear": (0, "fixed", 8),
    "units": (UNITS, "fixed", 8),
    "own": (UNITS, "own_mean", 8),
    "units, short trees": (UNITS, "fixed", 5),
    "own, short trees": (UNITS, "own_mean", 5),
}


def _sampled(number: int, form: str, *, name: str) -> Part:
    """One chain of each Bayesian network: sums of its predictions."""
    known, found = rows(name), {}
    full = (1000, 3000) if name == "boston" else (1000, 1500)
    warmup, draws = full if form == FULL else (300, 200)
    for model, (units, weights, doublings) in SAMPLED.items():
        net = _net(name, units, weights == "own_mean")
        chain = sample_network(
            net,
            known.x,
            known.y,
            weights=weights,
            noise="fixed",
            chains=1,
            warmup=warmup,
            draws=draws,
            target_accept=0.9,
            max_depth=doublings,
            seed=10 * number + units,
        )
        theta = chain.draws[0, :: max(1, draws // 500)]
        found[model] = {"train": _predicted(net, theta, known.x).tolist(), "test": _predicted(net, theta, known.x_test).tolist()}
    return found


def _sampled_estimates(parts: Sequence[Part], *, name: str) -> dict[str, Estimate]:
    """A table is of three chains, which may sit in modes of their own: so each three of ours make a table."""
    known = rows(name)
    tables = []
    for first in range(0, len(parts), CHAINS):
        three = parts[first : first + CHAINS]
        tables.append(
            {
                f"{model}, {where}": _error(name, np.mean([chain[model][where] for chain in three], axis=0), y)
                for model in SAMPLED
                for where, y in (("train", known.y), ("test", known.y_test))
            }
        )
    found = averages(tables)
    if name == "credit":
        rate = {f"base rate, {where}": Estimate(value) for where, value in _constants(name).items()}
        return found | rate | _logistic_changed()
    return found


def _logistic(bias: bool = True, pairs: bool = False) -> dict[str, float]:
    """Cross-entropy of Bayesian logistic regression, by importance sampling; its error is 0.0002. bias : with one;
    pairs : taught the labels of all with the columns of each, as the printed code does
    """
    known = rows("credit")
    design, tested = (np.column_stack([x, np.ones(len(x))]) if bias else x for x in (known.x, known.x_test))
    n = len(known.y)
    if pairs:  # so many rows leave hardly any uncertainty: a few draws are enough
        w, weight = importance_draws(np.repeat(design, n, axis=0), np.tile(known.y, n), 1.0, 100, 1)
    else:
        w, weight = importance_draws(design, known.y, 1.0, 20_000, 1)
    return {
        where: cross_entropy(weight @ sigmoid(w @ columns.T), y)
        for where, columns, y in (("train", design, known.y), ("test", tested, known.y_test))
    }


@cache
def _logistic_exactly() -> dict[str, float]:
    return {f"linear, {where}": value for where, value in _logistic().items()}


@cache
def _logistic_changed() -> dict[str, Estimate]:
    found = {"no bias": _logistic(bias=False), "pairs": _logistic(bias=False, pairs=True)}
    return {f"linear, {changed}, {where}": Estimate(value) for changed, values in found.items() for where, value in values.items()}


def linear_errors(of: Rows) -> tuple[float, float]:
    """Mean squared errors of the linear Bayesian model in closed form, on the rows that it learns from and on the others."""
    design, tested = (np.column_stack([x, np.ones(len(x))]) for x in (of.x, of.x_test))
    mean = linear.solve(design, of.y, noise_sd=1.0, prior_sd=0.1).mean
    return float(np.mean((design @ mean - of.y) ** 2)), float(np.mean((tested @ mean - of.y_test) ** 2))


def _linear_exactly() -> dict[str, float]:
    train, test = linear_errors(rows("boston"))
    return {"linear, train": train, "linear, test": test}


def _clients(number: int, form: str) -> Part:
    rate = 100.0 * float(local.table("credit").y.mean())
    return {"defaults": rate, "majority": 100.0 - rate}


def _table(printed: dict[str, tuple[float, float]], nobody: bool = False, trees: bool = False, tenth: bool = False) -> tuple[Cell, ...]:
    """Two cells a model: train and test. nobody : whether to try that a network has learned nothing about anybody;
    trees : whether shorter trees of NUTS were tried; tenth : whether a tenth of the decay was
    """
    cells = []
    for model, values in printed.items():
        for where, value in zip(("train", "test"), values, strict=True):
            tried: dict[str, str] = {}
            if nobody and model != "linear":
                tried[f"base rate, {where}"] = WORDS.phrase("andersen.nobody")
            if trees and model != "linear":
                tried[f"{model}, short trees, {where}"] = WORDS.phrase("andersen.short")
            if tenth and model == "decay":
                tried[f"{model}, a tenth, {where}"] = WORDS.phrase("andersen.tenth")
            exactly = WORDS.phrase("andersen.exactly") if nobody and model == "linear" else ""
            if nobody and model == "linear":
                tried |= {f"{model}, {changed}, {where}": words for changed, words in WORDS["andersen.changed"].items()}
            cells.append(
                Cell(
                    key=f"{model}, {where}",
                    label=WORDS.phrase("andersen.label", model=WORDS["andersen.models"][model], where=where),
                    printed=value,
                    half=0.0005,
                    like=A_PART,
                    because=exactly,
                    tried=tried,
                    no_reason=(f"{model}, short trees, {where}",),
                )
            )
    return tuple(cells)


EXPERIMENTS = (
    worded(
        id="andersen-2.1",
        link="/model-selection?scenario=evidence",
        run=_cross_validation,
        exact=lambda: _cross_validation(0, FULL),
        cells=(Cell(key="degree 1", printed=0.408, half=0.0005), Cell(key="degree 4", printed=0.0432, half=0.00005)),
    ),
    worded(
        id="andersen-4.1",
        link="/prior-predictive?scenario=six-points&weight_sd=1&bias_sd=1&squash=none",
        parts=(5, 40),
        seconds=(5, 40),
        run=_rejection,
        cells=(Cell(key="told", printed=6, half=0.5, like=A_PART, tried={"coded": ""}),),
    ),
    worded(
        id="andersen-4.2",
        link="/metropolis?scenario=far&correlation=0.6&scale=1&chains=1&start_x=7&start_y=0&burn=0",
        parts=(40, 200),
        run=_metropolis,
        cells=(Cell(key="accepted", printed=0.516, half=0.0005, like=A_PART), Cell(key="first inside", printed=11, half=0.5, like=A_PART)),
    ),
    worded(
        id="andersen-5.2",
        link="/real-data?scenario=boston-table",
        needs=("boston",),
        parts=(SEEDS, 20),
        seconds=(5, 20),
        run=partial(_trained, name="boston"),
        cells=(
            *_table({"linear": (81.798, 60.074), "units": (36.539, 25.650), "decay": (37.103, 25.542), "stopped": (37.512, 25.223)}),
            Cell(key="epochs", printed=255, half=0.5, like=A_PART),
        ),
    ),
    worded(
        id="andersen-prose",
        link="/real-data?scenario=credit-table",
        needs=("credit",),
        run=_clients,
        exact=lambda: _clients(0, FULL),
        cells=(Cell(key="defaults", printed=22.12, half=0.005, unit=" %"), Cell(key="majority", printed=80.0, half=5.0, unit=" %")),
    ),
    worded(
        id="andersen-5.3",
        link="/real-data?scenario=boston-table&warmup=1000&draws=3000",
        needs=("boston",),
        parts=(2 * CHAINS, 4 * CHAINS),
        seconds=(20, 300),
        run=partial(_sampled, name="boston"),
        combine=partial(_sampled_estimates, name="boston"),
        exact=_linear_exactly,
        cells=_table({"linear": (28.480, 17.760), "units": (11.391, 9.340), "own": (14.135, 10.869)}, trees=True),
    ),
    worded(
        id="andersen-5.5",
        link="/real-data?scenario=credit-table",
        needs=("credit",),
        parts=(SEEDS, 20),
        seconds=(10, 40),
        run=partial(_trained, name="credit"),
        cells=(
            *_table({"linear": (47.841, 67.646), "units": (0.498, 0.565), "decay": (0.513, 0.558), "stopped": (0.503, 0.564)}, tenth=True),
            Cell(key="epochs", printed=194, half=0.5, like=A_PART),
        ),
    ),
    worded(
        id="andersen-5.6",
        link="/real-data?scenario=credit-table&warmup=1000&draws=1500",
        needs=("credit",),
        parts=(2 * CHAINS, 4 * CHAINS),
        seconds=(20, 300),
        run=partial(_sampled, name="credit"),
        combine=partial(_sampled_estimates, name="credit"),
        cells=_table({"linear": (0.774, 0.685), "units": (0.523, 0.539), "own": (0.523, 0.539)}, nobody=True, trees=True),
        exact=_logistic_exactly,
    ),
)
