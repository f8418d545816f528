"""What the lesson computes: the rows, the trained network, the chains, predictions of the test rows, the checks."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from app.kit import files
from datasets import powerball, remote, tables
from datasets.tables import Standard, Table, Task
from engine import linear, network, ticket
from engine import predicted as predictions
from engine.diagnostics import Summary, summarise
from engine.judge import (
    Average,
    Check,
    Kernel,
    SweepKernel,
    agreement_check,
    averages_check,
    divergence_check,
    energy_check,
    gradient_check,
    unknown,
)
from engine.kept import kept
from engine.networks import Network, NetworkRecording, NetworkRun, start_network
from engine.networks.predictive import outputs
from engine.predicted import Predicted
from engine.spec import SpecError
from engine.ticket import Lock
from engine.training import Trained, TrainingRun, TrainingSpec, map_decay
from lessons.real_data.spec import WORDS, RealDataSpec

Array = NDArray[np.float64]

LOOKS = 60  # at the training
HELD_BACK, PATIENCE = 0.3, 8  # share and looks of early stopping
BATCH = 32
PIECE = 10  # sweeps between two looks at the ticket
WATCHED = 12  # test rows at which the function is diagnosed
POOLED = 600  # draws, of all chains together, that predictions are made from
LEVELS = np.array([0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95])
THRESHOLDS = np.linspace(0.0, 1.0, 101)
TINY = 1e-12  # the least probability whose logarithm is taken
GRADIENTS = 3  # weights at which the gradient is tried


# The table and its rows -----------------------------------------------------------------------------------------------


def table(spec: RealDataSpec) -> Table:
    """The table of a spec. Raises SpecError where it is not to be had (yet)."""
    if spec.data == "own":
        return given(spec.file)
    if spec.data in remote.TABLES:
        return remote.kept_table(spec.data)
    return tables.bundled(spec.data)


def own_table(reference: str) -> Task:
    """Can the table of a reader's file be used? Raises SpecError saying why not."""
    return tables.choose(given(reference))


@kept
def given(reference: str) -> Table:
    """The table of a reader's file. Raises SpecError saying why it cannot be read."""
    return tables.read_csv(files.held(reference))


def is_here(spec: RealDataSpec) -> bool:
    """Whether the table can be had without a download or another file."""
    if spec.data == "own":
        return files.is_held(spec.file)
    return spec.data not in remote.TABLES or remote.available(spec.data)


def chosen(spec: RealDataSpec) -> Task:
    """What is to be predicted, and from what; the same object for all rows drawn from it."""
    return _chosen(spec.of_task())


@kept
def _chosen(spec: RealDataSpec) -> Task:
    if spec.show == "place":
        return powerball.task(_shown(spec))
    return tables.choose(table(spec), spec.target, spec.left_out)


def _shown(spec: RealDataSpec) -> powerball.Shown:
    """Numbers of a fair urn's draws, or of those in a reader's file."""
    if spec.data == "urn":
        return powerball.urn(spec.drawn, spec.balls, spec.seed)
    return powerball.of_draws(powerball.from_table(given(spec.file), spec.balls), tables.OWN_CARD)


def has_classes(spec: RealDataSpec) -> bool:
    """Is a class to be predicted? False where the table cannot be used."""
    try:
        return bool(chosen(spec).classes)
    except SpecError:
        return False


@dataclass(frozen=True, eq=False)
class Problem:
    """What is learned from and tested on.

    x, y : rows to learn from, (n, inputs) and (n,), on the scale the network works on
    x_test, y_test : (m, inputs) on that scale; (m,) in units of the target, or classes
    centre, scale : a value in units of the target is centre + scale * output
    task : the whole table
    train, test : numbers in it of the rows to learn from and to test on
    """

    x: Array
    y: Array
    x_test: Array
    y_test: Array
    centre: float
    scale: float
    task: Task
    train: NDArray[np.int64]
    test: NDArray[np.int64]

    @property
    def classes(self) -> tuple[str, ...]:
        """What 0 and 1 stand for; empty for values."""
        return self.task.classes

    @property
    def y_units(self) -> Array:
        """(n,) the targets learned from, in units of the target."""
        return self.centre + self.scale * self.y

    @property
    def rate(self) -> float:
        """Share of class 1 among the rows learned from."""
        return float(self.y.mean())


def problem(spec: RealDataSpec) -> Problem:
    """The rows of a spec. Raises SpecError naming what does not fit."""
    return _problem(spec.of_rows())


@kept
def _problem(spec: RealDataSpec) -> Problem:
    task = chosen(spec)
    train, test = tables.split(task, spec.rows, spec.test_rows, spec.seed, spec.split)
    x, x_test, y = task.x[train], task.x[test], task.y[train]
    centre, scale = 0.0, 1.0
    if spec.scaled == "yes":
        standard = Standard.of(x)
        x, x_test = standard.apply(x), standard.apply(x_test)
        if not task.classes:
            centre, scale = float(y.mean()), float(y.std())
    return Problem(x, (y - centre) / scale, x_test, task.y[test], centre, scale, task, train, test)


def network_of(spec: RealDataSpec) -> Network:
    """The network with its likelihood; its prior where that is fixed."""
    rows = problem(spec)
    shape: dict[str, Any] = {"width": max(spec.hidden, 1), "depth": int(spec.hidden > 0), "activation": spec.activation}
    if rows.classes:
        return network(rows.x.shape[1], 1, likelihood="bernoulli", prior_sd=spec.prior_sd, **shape)
    noise_sd = spec.noise_sd / rows.scale if spec.noise == "fixed" else 1.0
    return network(rows.x.shape[1], 1, likelihood="gaussian", prior_sd=spec.prior_sd, noise_sd=noise_sd, **shape)


def predicted(spec: RealDataSpec, theta: Array, x: Array) -> Array:
    """What networks theta (n, dim) say at inputs x (m, inputs): (n, m), in units of the target, or P(class 1)."""
    rows = problem(spec)
    values = outputs(network_of(spec), np.ascontiguousarray(theta), x)[:, :, 0]
    if rows.classes:
        return 1.0 / (1.0 + np.exp(-np.clip(values, -700.0, 700.0)))
    return rows.centre + rows.scale * values


def case(spec: RealDataSpec) -> int:
    """The test row that is looked at, from 0. Raises SpecError beyond the last."""
    count = len(problem(spec).y_test)
    if spec.case > count:
        raise SpecError("case", f"{spec.case} is beyond the {count} test rows")
    return spec.case - 1


# Errors ---------------------------------------------------------------------------------------------------------------


def cross_entropy(p: Array, y: Array) -> float:
    """Mean of −log p of what was, nats a row, of P(class 1) p (m,)."""
    return float(-np.mean(np.log(np.maximum(np.where(y > 0.5, p, 1.0 - p), TINY))))


def error(spec: RealDataSpec, guess: Array, y: Array) -> float:
    """Root mean squared error in units of the target, or cross-entropy in nats, of guesses (m,)."""
    return _error(problem(spec), guess, y)


def _error(rows: Problem, guess: Array, y: Array) -> float:
    return cross_entropy(guess, y) if rows.classes else float(np.sqrt(np.mean((guess - y) ** 2)))


def constant(spec: RealDataSpec) -> float:
    """The error on the test rows of always saying the mean, or the share of class 1, of the rows learned from."""
    rows = problem(spec)
    return error(spec, np.full(len(rows.y_test), rows.y_units.mean()), rows.y_test)


def best_threshold(spec: RealDataSpec) -> float:
    """Flag where P(class 1) is above alarm / (alarm + miss): there both mistakes cost the same on average."""
    return spec.alarm_cost / (spec.alarm_cost + spec.miss_cost)


def costs(spec: RealDataSpec, p: Array, y: Array, thresholds: ArrayLike = THRESHOLDS) -> Array:
    """Cost a row of flagging p (m,) above each threshold."""
    flagged = p[None, :] > np.asarray(thresholds)[:, None]
    return (spec.miss_cost * (~flagged & (y > 0.5)) + spec.alarm_cost * (flagged & (y < 0.5))).mean(axis=1)


# The trained network --------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Fit:
    """The network trained the usual way, as far as it has been.

    trained : what training did
    best : look of the network that is used
    train, test : (looks,) errors on the rows to learn from and to test on
    guess : (m,) what it says of the test rows
    residual_sd : of its errors on the rows to learn from, in units of the target
    """

    trained: Trained
    best: int
    train: Array
    test: Array
    guess: Array
    residual_sd: float


def training_spec(spec: RealDataSpec) -> TrainingSpec:
    """How the network is trained: Adam on minibatches of 32."""
    decay = map_decay(network_of(spec), len(problem(spec).y)) if spec.training == "weight_decay" else 0.0
    early = spec.training == "early_stopping"
    return TrainingSpec(
        step_size=spec.step_size,
        batch=min(BATCH, len(problem(spec).y)),
        epochs=spec.epochs,
        weight_decay=decay,
        validation=HELD_BACK if early else 0.0,
        patience=PATIENCE if early else 0,
        seed=spec.seed,
    )


def fit(spec: RealDataSpec) -> Fit:
    """The trained network."""
    return _fit(spec.of_training())


@kept
def _fit(spec: RealDataSpec) -> Fit:
    rows, settings = problem(spec), training_spec(spec)
    steps = spec.epochs * -(-len(rows.y) // max(settings.batch, 1))
    run = TrainingRun(network_of(spec), rows.x, rows.y, settings, every=max(1, steps // LOOKS))
    run.advance(run.total)
    trained = run.trained()
    if not np.isfinite(trained.path).all():
        raise SpecError("step_size", "training ran away: take a smaller step size, or scale the columns")
    train, test = (
        np.array([_error(rows, guess, y) for guess in predicted(spec, trained.path, x)])
        for x, y in ((rows.x, rows.y_units), (rows.x_test, rows.y_test))
    )
    guess = predicted(spec, trained.theta[None], rows.x_test)[0]
    left = rows.y_units - predicted(spec, trained.theta[None], rows.x)[0]
    return Fit(trained, trained.best, train, test, guess, float(left.std()))


# The chains -----------------------------------------------------------------------------------------------------------


def begin(spec: RealDataSpec, draws: int) -> NetworkRun:
    """The chains of a spec, not moved yet."""
    rows, classes = problem(spec), problem(spec).classes
    return start_network(
        network_of(spec),
        rows.x,
        rows.y,
        weights=spec.weights,
        noise="fixed" if classes else spec.noise,
        chains=spec.chains,
        draws=draws,
        warmup=spec.warmup,
        max_depth=spec.max_depth,
        variant=spec.variant,
        seed=spec.seed,
    )


class _Chains:
    """One run, advanced as far as anybody asked."""

    def __init__(self, spec: RealDataSpec):
        self.lock = Lock()
        self.run = begin(spec, int(RealDataSpec.declarations()["draws"].high))

    def upto(self, draws: int, cancel: Any) -> NetworkRecording:
        """The recording of at least so many draws. Raises InterruptedError when cancelled."""
        while self.step(draws):
            if cancel.is_set():
                raise InterruptedError
        return self.run.recording()

    def step(self, draws: int) -> bool:
        """Advance a little towards `draws`; whether anything was left to do."""
        with self.lock:
            left = self.run.left(draws)
            if not left:
                return False
            self.run.advance(min(left, PIECE))
            return True


@kept
def _begun(spec: RealDataSpec) -> _Chains:
    return _Chains(spec)


def chains(spec: RealDataSpec) -> _Chains:
    """The run of a spec, shared by all who look at it."""
    return _begun(spec.of_chains())


def recorded(spec: RealDataSpec) -> NetworkRecording:
    """The chains with all their draws."""
    found = chains(spec)
    while found.step(spec.draws):
        ticket.look()
    recording = found.run.recording().first(spec.draws)
    assert isinstance(recording, NetworkRecording)
    return recording


def of_rows(spec: RealDataSpec, theta: Array, noise: Array) -> Predicted:
    """What networks theta (chains, draws, dim) with the noise (chains, draws) say of the rows learned from, in units of the
    target."""
    rows = problem(spec)
    values = predicted(spec, theta.reshape(-1, theta.shape[2]), rows.x).reshape(*theta.shape[:2], -1)
    if rows.classes:
        return predictions.classes(rows.y, values, spec.seed)
    return predictions.values(rows.y_units, values, noise, spec.seed)


def recorded_predictions(spec: RealDataSpec) -> Predicted:
    """What all draws say of them."""
    run = recorded(spec)
    return of_rows(spec, run.draws, run.noise_sd * problem(spec).scale)


@dataclass(frozen=True, eq=False)
class Study:
    """What the posterior says of the test rows, from `draws` draws of each chain.

    values : (chains, draws, m), outputs in units of the target, or P(class 1)
    noise_sd : (chains, draws), in units of the target; NaN for classes
    guess : (m,) mean over draws
    low, high : (m,) ends of the interval of `level`: of a new value, noise included, or of P(class 1)
    held : (m,) whether the value is inside; all False for classes
    rates : (len(LEVELS),) share of test values inside central intervals of each level; NaN for classes
    error, running : of the mean of all draws; (draws,) of the mean of the draws so far, all chains together
    train : error of the mean on the rows to learn from
    log_score : mean log predictive density of a test value, nats
    stride : one draw in so many is used
    """

    values: Array
    noise_sd: Array
    guess: Array
    low: Array
    high: Array
    held: NDArray[np.bool_]
    rates: Array
    error: float
    running: Array
    train: float
    log_score: float
    stride: int

    @property
    def pooled(self) -> Array:
        """(chains * draws, m)"""
        return self.values.reshape(-1, self.values.shape[2])


def study(spec: RealDataSpec, recording: NetworkRecording) -> Study:
    """Predictions from the first `spec.draws` draws of a recording, as far as it goes; thinned to `POOLED`."""
    rows = problem(spec)
    theta, noise, stride = thinned(spec, recording)
    count = theta.shape[:2]
    values = predicted(spec, theta.reshape(-1, theta.shape[2]), rows.x_test).reshape(*count, -1)
    pooled, guess = values.reshape(-1, values.shape[2]), values.mean(axis=(0, 1))
    tails = (1.0 - spec.level) / 2
    held, rates, score = np.zeros(len(guess), dtype=bool), np.full(len(LEVELS), np.nan), math.nan
    if rows.classes:
        low, high = np.quantile(pooled, (tails, 1.0 - tails), axis=0)
        score = -cross_entropy(guess, rows.y_test)
    else:
        new = new_values(pooled, noise)
        low, high = np.quantile(new, (tails, 1.0 - tails), axis=0)
        held = (low <= rows.y_test) & (rows.y_test <= high)
        rates = np.array([_inside(new, rows.y_test, level) for level in LEVELS])
        z = (rows.y_test - pooled) / noise.reshape(-1, 1)
        log_each = -0.5 * z * z - np.log(noise.reshape(-1, 1)) - 0.5 * math.log(2 * math.pi)
        score = float(np.mean(np.logaddexp.reduce(log_each, axis=0) - math.log(len(pooled))))
    so_far = np.cumsum(values.mean(axis=0), axis=0) / np.arange(1, count[1] + 1)[:, None]
    running = np.array([error(spec, each, rows.y_test) for each in so_far])
    learned = predicted(spec, theta.reshape(-1, theta.shape[2]), rows.x).mean(axis=0)
    return Study(
        values,
        noise,
        guess,
        low,
        high,
        held,
        rates,
        error(spec, guess, rows.y_test),
        running,
        error(spec, learned, rows.y_units),
        score,
        stride,
    )


def thinned(spec: RealDataSpec, recording: NetworkRecording) -> tuple[Array, Array, int]:
    """Parameters (chains, draws, dim) and noise sd (chains, draws), in units of the target, of every so many-th draw, and
    of how many one is taken."""
    theta = recording.draws[:, : spec.draws]
    stride = max(1, theta.shape[0] * theta.shape[1] // POOLED)
    return theta[:, ::stride], recording.noise_sd[:, : spec.draws : stride] * problem(spec).scale, stride


def new_values(pooled: Array, noise: Array) -> Array:
    """A new value for each output (n, m), with the noise of its draw."""
    rng = np.random.Generator(np.random.PCG64(0))
    return pooled + noise.reshape(-1, 1) * rng.standard_normal(pooled.shape)


def _inside(new: Array, y: Array, level: float) -> float:
    low, high = np.quantile(new, ((1.0 - level) / 2, (1.0 + level) / 2), axis=0)
    return float(np.mean((low <= y) & (y <= high)))


def trained_rates(spec: RealDataSpec) -> Array:
    """(len(LEVELS),) the same of the trained network, its guess ± a multiple of its residuals' sd."""
    from scipy.special import ndtri

    found, y = fit(spec), problem(spec).y_test
    reach = ndtri((1.0 + LEVELS) / 2) * found.residual_sd
    return (np.abs(y - found.guess)[None, :] <= reach[:, None]).mean(axis=1)


def studied(spec: RealDataSpec, cancel: Any) -> Study:
    """The posterior with all its draws. Raises InterruptedError when cancelled."""
    chains(spec).upto(spec.draws, cancel)
    return _studied(spec._only(*_STUDY))


_STUDY = tuple(name for name in RealDataSpec.declarations() if name not in ("show", "case", "miss_cost", "alarm_cost", "training"))


@kept
def _studied(spec: RealDataSpec) -> Study:
    return study(spec, chains(spec).run.recording())


def case_summary(spec: RealDataSpec, found: Study) -> Summary:
    """R-hat and effective draws of the output at the case."""
    return summarise(found.values[:, :, case(spec)][:, :, None])


# Checks ---------------------------------------------------------------------------------------------------------------


MISTAKES = WORDS["mistakes"]


def kernels(spec: RealDataSpec) -> list[Kernel]:
    """The sweep at the rows of the page, with the step size that the first chain has come to."""
    if spec.show == "protocol" or spec.lottery or not is_here(spec):
        return []
    return [SweepKernel(_tuned(spec.of_chains().replace(chains=1)), MISTAKES.get(spec.variant, ""))]


@kept
def _tuned(spec: RealDataSpec) -> NetworkRun:
    run = begin(spec, 1)  # chain 1 is the same whatever the number of chains
    run.advance(run.total)
    return run


def audit(spec: RealDataSpec, cancel: Any) -> Sequence[Check]:
    """The gradient on the rows of the page, against differences."""
    if spec.show == "protocol" or not is_here(spec):
        return [unknown("rows", WORDS.phrase("checks.published" if is_here(spec) else "checks.absent"), kind="kernel")]
    rows, model = problem(spec), network_of(spec)
    gentle = min(1.0, 1.0 / model.prior_sd) * model.prior_draws(GRADIENTS, spec.seed)
    return [gradient_check(model.posterior(rows.x, rows.y), gentle)]


def checks(spec: RealDataSpec, cancel: Any) -> Sequence[Check]:
    """Do the chains agree about the function, and does it equal exact Bayes where that is known?"""
    if spec.show == "protocol" or not is_here(spec):
        words = WORDS.phrase("checks.published" if is_here(spec) else "checks.absent")
        return [unknown("rows", words, kind="run"), unknown("rows", words, kind="numbers")]
    recording = chains(spec).upto(spec.draws, cancel)
    watched = problem(spec).x_test[:WATCHED]
    values = np.concatenate([recording.outputs(watched)[..., 0], recording.log_density[:, :, None]], axis=2)
    names = [*(WORDS.phrase("checks.output", row=i + 1) for i in range(len(watched))), WORDS.phrase("checks.log_density")]
    assert recording.energy is not None
    found = [agreement_check(values, names), divergence_check(recording.divergent), energy_check(recording.energy)]
    if exact_is_known(spec):
        return [*found, linear_check(spec, recording, watched)]
    return [*found, unknown(WORDS.phrase("checks.answer"), WORDS.phrase("checks.no_answer"), kind="numbers")]


def exact_is_known(spec: RealDataSpec) -> bool:
    """A linear model of values with prior and noise fixed has a normal posterior."""
    return spec.hidden == 0 and spec.weights == "fixed" and spec.noise == "fixed" and not problem(spec).classes


def linear_check(spec: RealDataSpec, recording: NetworkRecording, x: Array) -> Check:
    """Mean outputs at x (m, inputs) against Bayesian linear regression in closed form."""
    rows, model = problem(spec), network_of(spec)
    design, at = (np.hstack([part, np.ones((len(part), 1))]) for part in (rows.x, x))
    exact = linear.solve(design, rows.y, noise_sd=model.noise_sd, prior_sd=model.prior_sd)
    mean, sd = exact.curve(at)
    values = recording.outputs(x)[..., 0]
    averages = [Average(WORDS.phrase("checks.mean", row=i + 1), values[..., i], float(mean[i]), sd=float(sd[i])) for i in range(len(x))]
    return averages_check(WORDS.phrase("checks.regression"), averages)
