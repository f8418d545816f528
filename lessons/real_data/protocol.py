"""Tables 5.2, 5.3, 5.5 and 5.6 of Andersen and Roed-Sørensen (2021), run again on the same rows.

Theirs: Keras for the trained networks (Adam, 30 % of the rows held out), PyMC3's NUTS with 3 chains and δ = 0.9 for the
others. Not the same here: our networks have an output bias, which their Bayesian ones had not; the rows held out are
drawn and not the last; NUTS doubles at most `max_depth` times; draws and warm-up are those of the settings.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from engine import network
from engine.networks import Network, start_network
from engine.networks.predictive import outputs
from engine.training import TrainingRun, TrainingSpec
from lessons.real_data import analysis
from lessons.real_data.spec import WORDS, RealDataSpec

UNITS = 10
KERAS_STEP = 0.001  # Adam's in Keras, with batches of 32
SHARE_OF_TRAINING = 0.05  # of the progress bar, that a trained network counts beside a sampled one
POOLED = 1500  # draws that a prediction is averaged from


@dataclass(frozen=True)
class Model:
    """A row of a published table.

    letter : by which the words name it, too
    kind : "trained" or "sampled"; hidden : units; weights : prior, of a sampled one
    decay, patience : of training: weight decay, and looks of early stopping (0: none)
    train, test, seconds : as printed
    """

    letter: str
    kind: str
    hidden: int
    train: float
    test: float
    seconds: float
    weights: str = "fixed"
    decay: float = 0.0
    patience: int = 0

    @property
    def name(self) -> str:
        """For people."""
        return WORDS.phrase(f"published_models.{self.letter}")


# Their penalty alpha * |theta|^2 beside a mean squared error is, beside half of it, a weight decay of alpha; beside a
# cross-entropy it is one of 2 alpha.
BOSTON = (
    Model("A", "trained", 0, 81.798, 60.074, 10.64, decay=0.3),
    Model("B", "trained", UNITS, 36.539, 25.650, 10.14),
    Model("C", "trained", UNITS, 37.103, 25.542, 10.81, decay=0.3),
    Model("D", "trained", UNITS, 37.512, 25.223, 8.66, patience=10),
    Model("E", "sampled", 0, 28.480, 17.760, 211.63),
    Model("F", "sampled", UNITS, 11.391, 9.340, 1496.69),
    Model("G", "sampled", UNITS, 14.135, 10.869, 1851.46, weights="own_mean"),
)
CREDIT = (
    Model("A", "trained", 0, 47.841, 67.646, 38.08, decay=0.2),
    Model("B", "trained", UNITS, 0.498, 0.565, 38.80),
    Model("C", "trained", UNITS, 0.513, 0.558, 28.44, decay=0.2),
    Model("D", "trained", UNITS, 0.503, 0.564, 6.15, patience=1),
    Model("E", "sampled", 0, 0.774, 0.685, 20.332),
    Model("F", "sampled", UNITS, 0.523, 0.539, 1233.58),
    Model("G", "sampled", UNITS, 0.523, 0.539, 3640.28, weights="own_mean"),
)
TABLES = {"boston": BOSTON, "credit": CREDIT}
BASE_RATE = 0.2212  # of default among all 30,000 clients


@dataclass(frozen=True)
class Result:
    """What a model came to here: mean squared error, or nats a row; seconds; largest R-hat of the function at test rows
    and share of divergent transitions (NaN of a trained one).
    """

    train: float
    test: float
    seconds: float
    rhat: float = float("nan")
    divergent: float = float("nan")


def identity(spec: RealDataSpec) -> str:
    """Which published table: "boston" or "credit"."""
    return spec.data if spec.data in TABLES else analysis.problem(spec).task.identity or "boston"


def models(spec: RealDataSpec) -> tuple[Model, ...]:
    """The rows of the published tables."""
    return TABLES[identity(spec)]


def constant(spec: RealDataSpec) -> tuple[float, float]:
    """The error on the rows to learn from and to test on of always saying the training mean, or the base rate of all
    clients."""
    rows = analysis.problem(spec)
    both = (rows.y_units, rows.y_test)
    if rows.classes:
        train, test = (analysis.cross_entropy(np.full(len(y), BASE_RATE), y) for y in both)
    else:
        train, test = (float(np.mean((y - rows.y_units.mean()) ** 2)) for y in both)
    return train, test


def run(spec: RealDataSpec, job: Any) -> Iterator[list[Result]]:
    """Train or sample model after model; yields the results so far. Ends early when the job is stopped."""
    spec = published(spec)
    rows = models(spec)
    found: list[Result] = []
    weights = [SHARE_OF_TRAINING if model.kind == "trained" else 1.0 for model in rows]
    whole = 1000
    for index, model in enumerate(rows):
        done, share = sum(weights[:index]) / sum(weights), weights[index] / sum(weights)

        def report(fraction: float, done: float = done, share: float = share) -> None:
            job.report(int(whole * (done + share * fraction)), whole)

        result = (_trained if model.kind == "trained" else _sampled)(spec, model, job, report)
        if result is None:
            return
        found = [*found, result]
        yield found


def published(spec: RealDataSpec) -> RealDataSpec:
    """The same with the rows of the publication."""
    return spec.replace(split="published", target="")


def model_network(spec: RealDataSpec, model: Model) -> Network:
    """ReLU and noise sd 1 for prices, tanh for credit; prior sd 0.1 and 1."""
    rows = analysis.problem(spec)
    prices = not rows.classes
    return network(
        rows.x.shape[1],
        1,
        width=max(model.hidden, 1),
        depth=int(model.hidden > 0),
        activation="relu" if prices else "tanh",
        likelihood="gaussian" if prices else "bernoulli",
        prior_sd=0.1 if prices else 1.0,
        noise_sd=1.0 / rows.scale,
    )


def _errors(spec: RealDataSpec, net: Network, theta: Any) -> tuple[float, float]:
    """Mean squared error, or cross-entropy, of the mean prediction of theta (n, dim), on both sets of rows."""
    rows, found = analysis.problem(spec), []
    for x, y in ((rows.x, rows.y_units), (rows.x_test, rows.y_test)):
        values = outputs(net, np.ascontiguousarray(theta), x)[:, :, 0]
        if rows.classes:
            p = 1.0 / (1.0 + np.exp(-np.clip(values, -700.0, 700.0)))
            found.append(analysis.cross_entropy(p.mean(axis=0), y))
        else:
            found.append(float(np.mean((rows.centre + rows.scale * values.mean(axis=0) - y) ** 2)))
    return found[0], found[1]


def _trained(spec: RealDataSpec, model: Model, job: Any, report: Any) -> Result | None:
    rows, net = analysis.problem(spec), model_network(spec, model)
    epochs = 1000 if rows.classes else 300
    settings = TrainingSpec(
        step_size=KERAS_STEP,
        batch=min(analysis.BATCH, len(rows.y)),
        epochs=epochs,
        weight_decay=model.decay,
        validation=0.3,
        patience=model.patience,
        seed=spec.seed,
    )
    started = time.perf_counter()
    # only early stopping looks after each epoch; without it the last look counts
    training = TrainingRun(net, rows.x, rows.y, settings)
    while not training.done and not job.is_set():
        training.advance(2000)
        report(min(1.0, training.completed / training.total))
    if job.is_set():
        return None
    trained = training.trained()
    theta = trained.theta if model.patience else trained.path[-1]
    return Result(*_errors(spec, net, theta[None]), time.perf_counter() - started)


def _sampled(spec: RealDataSpec, model: Model, job: Any, report: Any) -> Result | None:
    rows, net = analysis.problem(spec), model_network(spec, model)
    chain = start_network(
        net,
        rows.x,
        rows.y,
        weights=model.weights,
        noise="fixed",
        chains=spec.chains,
        draws=spec.draws,
        warmup=spec.warmup,
        max_depth=spec.max_depth,
        seed=spec.seed,
    )
    while not chain.done and not job.is_set():
        chain.advance(5)
        report((chain.warmed_up + chain.completed) / chain.total)
    if job.is_set():
        return None
    recording = chain.recording()
    stride = max(1, recording.draws.shape[0] * recording.draws.shape[1] // POOLED)
    train, test = _errors(spec, net, recording.draws[:, ::stride].reshape(-1, net.dim))
    rhat = float(np.max(recording.function_diagnostics(rows.x_test[: analysis.WATCHED]).rhat))
    return Result(train, test, recording.seconds, rhat, float(recording.divergent.mean()))
