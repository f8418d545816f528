"""Andersen and Roed-Sørensen 2021: a polynomial, rejection, Metropolis, and their tables on house prices and credit.

Of the networks a part is one chain, or one training from another start.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cache, partial
from typing import Any, NamedTuple

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
from lessons.reproduce.experiment import A_PART, FULL, Cell, Estimate, Experiment, Part, Source, averages

Array = NDArray[np.float64]

AUTHOR = "Andersen, Roed-Sørensen"


def _place(place: str, topic: str, link: str, **words: Any) -> dict[str, Any]:
    return {"source": Source(author=AUTHOR, year=2021, place=place), "topic": topic, "link": link, **words}


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


SHORT = ", short trees"
# model, units, weights, doublings of NUTS at most
SAMPLED = (
    ("linear", 0, "fixed", 8),
    ("units", UNITS, "fixed", 8),
    ("own", UNITS, "own_mean", 8),
    (f"units{SHORT}", UNITS, "fixed", 5),
    (f"own{SHORT}", UNITS, "own_mean", 5),
)


def _sampled(number: int, form: str, *, name: str) -> Part:
    """One chain of each Bayesian network: sums of its predictions."""
    known, found = rows(name), {}
    full = (1000, 3000) if name == "boston" else (1000, 1500)
    warmup, draws = full if form == FULL else (300, 200)
    for model, units, weights, doublings in SAMPLED:
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
                for model, *_ in SAMPLED
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


# settings of the printed code that the text does not have, and our names for them
CHANGED = {
    "no bias": "no output bias, as in the printed code, exactly,",
    "pairs": "all labels for every output, as in the printed code, exactly,",
}


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


NAMES = {
    "linear": "no hidden units",
    "units": "10 units",
    "decay": "10 units, weight decay",
    "stopped": "10 units, stopped early",
    "own": "10 units, hierarchical",
}
RAW = ("raw columns", "the rows of seed 3030")
OPTIMISER = ("start, as Keras draws it; shuffling and the rows held out", "the numbers of one run on raw columns hang on its start")


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
                tried[f"base rate, {where}"] = "every client told the rate of all"
            if trees and model != "linear":
                tried[f"{model}{SHORT}, {where}"] = "at most 5 doublings of NUTS"
            if tenth and model == "decay":
                tried[f"{model}, a tenth, {where}"] = "a tenth of the decay"
            exactly = "that of the posterior, by importance sampling" if nobody and model == "linear" else ""
            if nobody and model == "linear":
                tried |= {f"{model}, {changed}, {where}": words for changed, words in CHANGED.items()}
            cells.append(
                Cell(
                    key=f"{model}, {where}",
                    label=f"{NAMES[model]}, {where}",
                    printed=value,
                    half=0.0005,
                    like=A_PART,
                    because=exactly,
                    tried=tried,
                    no_reason=(f"{model}{SHORT}, {where}",),
                )
            )
    return tuple(cells)


EXPERIMENTS = (
    Experiment(
        id="andersen-2.1",
        covers=("figure 2.1",),
        title="Ten-fold cross-validation of polynomials",
        **_place("figure 2.1", "model selection", "/model-selection?scenario=evidence"),
        settings=("30 points, seed 0", "noise sd 0.1", "10 folds of neighbours"),
        run=_cross_validation,
        exact=lambda: _cross_validation(0, FULL),
        cells=(
            Cell(key="degree 1", label="degree 1, mean squared error", printed=0.408, half=0.0005),
            Cell(key="degree 4", label="degree 4, mean squared error", printed=0.0432, half=0.00005),
        ),
        tolerance="none but the rounding: same points, same folds, least squares",
    ),
    Experiment(
        id="andersen-4.1",
        covers=("figure 4.1",),
        title="Networks that rejection accepts of 100,000",
        **_place("figure 4.1", "rejection", "/prior-predictive?scenario=six-points&weight_sd=1&bias_sd=1&squash=none"),
        settings=("1-16-1", "six points on sin 3x", "noise sd 0.1", "weights N(0, 1), output weights over √16"),
        chosen=("sd of the output bias 1/4",),
        parts=(5, 40),
        seconds=(5, 40),
        run=_rejection,
        cells=(
            Cell(
                key="told",
                label="accepted",
                printed=6,
                half=0.5,
                like=A_PART,
                tried={"coded": "the prior of the printed code (hidden sd 8, a tanh at the output)"},
            ),
        ),
        tolerance="one run of theirs, which scatters as one of ours does",
    ),
    Experiment(
        id="andersen-4.2",
        covers=("figure 4.2",),
        title="Metropolis from (7, 0)",
        **_place("figure 4.2", "Metropolis", "/metropolis?scenario=far&correlation=0.6&scale=1&chains=1&start_x=7&start_y=0&burn=0"),
        settings=("N(0, [1 .6; .6 1])", "proposal N(x, I)", "1,000 states", "seed 42 of another generator"),
        parts=(40, 200),
        run=_metropolis,
        cells=(
            Cell(key="accepted", label="accepted (by the printed code)", printed=0.516, half=0.0005, like=A_PART),
            Cell(key="first inside", label="first state inside the 95 % ellipse (by the printed code)", printed=11, half=0.5, like=A_PART),
        ),
        tolerance="one run of 1,000 states, which scatters as one of ours does",
    ),
    Experiment(
        id="andersen-5.2",
        title="House prices, trained networks",
        **_place("table 5.2", "house prices", "/real-data?scenario=boston-table"),
        settings=(*RAW, "10 ReLU units", "Adam", "300 epochs"),
        chosen=("step size 0.001 and batches of 32: Keras' defaults", *OPTIMISER),
        needs=("boston",),
        parts=(SEEDS, 20),
        seconds=(5, 20),
        run=partial(_trained, name="boston"),
        cells=(
            *_table({"linear": (81.798, 60.074), "units": (36.539, 25.650), "decay": (37.103, 25.542), "stopped": (37.512, 25.223)}),
            Cell(key="epochs", label="epochs when stopped early", printed=255, half=0.5, like=A_PART),
        ),
        tolerance="one run of theirs, which scatters as one of ours does",
        covers=("table 5.2", "figure 5.3"),
    ),
    Experiment(
        id="andersen-prose",
        title="Clients who do not pay",
        **_place("section 5.2", "credit", "/real-data?scenario=credit-table"),
        covers=("section 5.2",),
        settings=("30,000 clients",),
        needs=("credit",),
        run=_clients,
        exact=lambda: _clients(0, FULL),
        cells=(
            Cell(key="defaults", label="defaults", printed=22.12, half=0.005, unit=" %"),
            Cell(key="majority", label="right by saying that all pay", printed=80.0, half=5.0, unit=" %"),
        ),
        tolerance="none but the rounding; 'about 80 %' by 5",
    ),
    Experiment(
        id="andersen-5.3",
        covers=("table 5.3",),
        title="House prices, Bayesian networks",
        **_place("table 5.3", "house prices", "/real-data?scenario=boston-table&warmup=1000&draws=3000"),
        settings=(*RAW, "10 ReLU units", "prior sd 0.1, or a mean and sd for each weight", "noise sd 1", "3 chains of NUTS, δ 0.9"),
        chosen=("doublings of NUTS: at most 8", "R-hat is not printed: chains sit in modes of their own"),
        needs=("boston",),
        parts=(2 * CHAINS, 4 * CHAINS),
        seconds=(20, 300),
        run=partial(_sampled, name="boston"),
        combine=partial(_sampled_estimates, name="boston"),
        exact=_linear_exactly,
        cells=_table({"linear": (28.480, 17.760), "units": (11.391, 9.340), "own": (14.135, 10.869)}, trees=True),
        tolerance="one table of three chains, each in a mode of its own, which scatters as ours of three chains do",
    ),
    Experiment(
        id="andersen-5.5",
        title="Credit, trained networks",
        **_place("table 5.5", "credit", "/real-data?scenario=credit-table"),
        settings=(*RAW, "10 tanh units", "Adam", "1,000 epochs"),
        chosen=("step size 0.001 and batches of 32: Keras' defaults", *OPTIMISER),
        needs=("credit",),
        parts=(SEEDS, 20),
        seconds=(10, 40),
        run=partial(_trained, name="credit"),
        cells=(
            *_table({"linear": (47.841, 67.646), "units": (0.498, 0.565), "decay": (0.513, 0.558), "stopped": (0.503, 0.564)}, tenth=True),
            Cell(key="epochs", label="epochs when stopped early", printed=194, half=0.5, like=A_PART),
        ),
        covers=("table 5.5", "figure 5.7"),
        tolerance="one run of theirs, which scatters as one of ours does",
    ),
    Experiment(
        id="andersen-5.6",
        covers=("table 5.6",),
        title="Credit, Bayesian networks",
        **_place("table 5.6", "credit", "/real-data?scenario=credit-table&warmup=1000&draws=1500"),
        settings=(*RAW, "10 tanh units", "N(0, 1), or a mean and sd for each weight", "3 chains of NUTS, δ 0.9"),
        chosen=(
            "doublings of NUTS: at most 8",
            "R-hat is not printed; without hidden units our own chains have not arrived on raw columns, so the exact values count",
        ),
        needs=("credit",),
        parts=(2 * CHAINS, 4 * CHAINS),
        seconds=(20, 300),
        run=partial(_sampled, name="credit"),
        combine=partial(_sampled_estimates, name="credit"),
        cells=_table({"linear": (0.774, 0.685), "units": (0.523, 0.539), "own": (0.523, 0.539)}, nobody=True, trees=True),
        exact=_logistic_exactly,
        tolerance="one table of three chains, which scatters as ours of three chains do",
    ),
)
