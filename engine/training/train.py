"""Training a network the usual way: minimise a loss by steps along its gradient.

loss(theta) = -log p(y | x, theta) / n + weight_decay |theta|^2 / 2, in nats per row; the likelihood is the network's,
so that the same kernel gives the gradient here and inside the samplers. weight_decay = 1 / (n prior_sd^2) makes its
minimum the MAP (`map_decay`). A minibatch of m rows has the gradient of its own mean loss; rows are shuffled every
epoch, and the last minibatch of an epoch may be smaller.

Dropout (Srivastava et al. 2014) keeps each hidden unit with probability `keep`, for each row by itself, and divides
what it sends by `keep`. A unit that is dropped is one whose outgoing weights are 0: the masked network is the same
network at other parameters, and needs no pass of its own.

Early stopping (Prechelt 1998): a share of the rows is held out; the loss on them is looked at every `every` steps, and
the parameters where it was lowest are kept.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from engine import ticket
from engine.kernels import kernel, log_density_at
from engine.networks.mlp import HEADER, Network, checked_inputs
from engine.networks.passes import BLOCK, ROW
from engine.samplers.chain import per_coordinate
from engine.samplers.run import MAX_BYTES, whole_number
from engine.slices import Carried
from engine.spec import MAX_SEED, Spec, SpecError, choice, integer, number, seed_field
from engine.targets.target import TargetError
from engine.variational.optimisers import AdaGrad, Adam, Momentum, RmsProp, Rule, Sgd, ascend

Array = NDArray[np.float64]

RULES = ("sgd", "momentum", "nesterov", "adagrad", "rmsprop", "adam")
INITIAL = ("scaled", "uniform", "prior")


@dataclass(frozen=True, kw_only=True)
class TrainingSpec(Spec):
    """Everything but network and data that decides a training."""

    optimiser: str = choice("adam", RULES, "rule that turns gradients into steps")
    step_size: float = number(0.02, 1e-9, 100.0, "length of a step, times the gradient for sgd and momentum", log=True)
    momentum: float = number(0.9, 0.0, 0.999, "share of the velocity that a step keeps (momentum, nesterov)")
    batch: int = integer(0, 0, 100_000, "rows of a minibatch, 0 for all")
    epochs: int = integer(500, 1, 1_000_000, "passes over the rows", log=True)
    weight_decay: float = number(0.0, 0.0, 100.0, "pull of every weight and bias towards 0")
    keep: float = number(1.0, 0.05, 1.0, "probability that dropout keeps a hidden unit; 1 is no dropout")
    validation: float = number(0.0, 0.0, 0.9, "share of the rows held out")
    patience: int = integer(0, 0, 1_000_000, "looks without a lower held-out loss until it stops, 0 for never")
    seed: int = seed_field()

    def check(self) -> None:
        if self.patience and not self.validation:
            raise SpecError("patience", "stopping early needs rows held out: set validation above 0")

    def rule(self) -> Rule:
        """The step rule as kernels take it."""
        if self.optimiser in ("momentum", "nesterov"):
            return Momentum(self.step_size, self.momentum, self.optimiser == "nesterov").rule()
        return {"sgd": Sgd, "adagrad": AdaGrad, "rmsprop": RmsProp, "adam": Adam}[self.optimiser](self.step_size).rule()


@dataclass(frozen=True, eq=False)
class Trained:
    """What a training did, looked at before the first step and after every `every` steps: T looks.

    steps : (T,) int64, steps made at each look
    path : (T, dim) parameters at each look
    loss : (T,) mean negative log likelihood of the training rows, nats per row, without decay, nothing dropped
    held_out : (T,) the same of the rows held out, NaN without them
    rows, held_out_rows : int64, which rows of the data were trained on and which were held out
    best : index of the look to use: lowest `held_out`, or the last look where no rows were held out
    stopped : how it ended: "" still going, "epochs", "patience", or "diverged": the gradient was no longer finite
    gradient_evaluations : rows seen / training rows: gradients of the whole loss that the training cost
    seconds : wall time
    """

    network: Network
    steps: NDArray[np.int64]
    path: Array
    loss: Array
    held_out: Array
    rows: NDArray[np.int64]
    held_out_rows: NDArray[np.int64]
    best: int
    stopped: str
    gradient_evaluations: float
    seconds: float

    @property
    def theta(self) -> Array:
        """(dim,) the parameters at `best`."""
        return self.path[self.best]


class TrainingRun(Carried):
    """One training, advanced as far as asked: pieces of any size give the same bytes, after pickling too.

    network, x, y : as for `Network.posterior`
    spec : settings
    start : (dim,) initial parameters; None draws them by `initial_parameters(network, spec.seed)`
    every : steps between two looks at parameters and losses, when early stopping also decides; None is an epoch
    rows : int64, the only rows to train on, repeats allowed (a bootstrap sample); None takes all

    Raises SpecError naming a wrong setting, TargetError when x, y or start does not fit.
    """

    _constant = ("network", "spec", "_x", "_y", "rows", "held_out_rows", "_train", "_held_out")

    def __init__(
        self,
        network: Network,
        x: ArrayLike,
        y: ArrayLike,
        spec: TrainingSpec | None = None,
        *,
        start: ArrayLike | None = None,
        every: int | None = None,
        rows: ArrayLike | None = None,
    ):
        self.network, self.spec = network, spec or TrainingSpec()
        self._x = checked_inputs(network, x)
        network.log_likelihood(self._x, y)  # refuses a y that does not fit
        self._y = np.asarray(y)
        chosen = np.arange(len(self._x)) if rows is None else np.asarray(rows, dtype=np.int64)
        split, shuffles = (_generator(self.spec.seed, stream) for stream in (1, 2))
        if len(chosen) == 0:
            raise TargetError("x has no rows to train on")
        distinct = np.unique(chosen)  # a row is held out with all its repeats
        held = round(self.spec.validation * len(distinct))
        if self.spec.validation and not 0 < held < len(distinct):
            raise SpecError("validation", f"{self.spec.validation:g} of {len(distinct)} rows leaves one side empty")
        self.held_out_rows = np.sort(split.permutation(distinct)[:held])
        self.rows = np.sort(chosen[~np.isin(chosen, self.held_out_rows)] if held else chosen)
        n = len(self.rows)
        self.batch = min(self.spec.batch or n, n)
        self.steps_per_epoch = -(-n // self.batch)
        self.total = self.spec.epochs * self.steps_per_epoch
        self.every = whole_number("every", every or self.steps_per_epoch, 1)
        if 8 * network.dim * (self.total // self.every + 1) > MAX_BYTES:
            raise SpecError("every", "the path would not fit into memory: look less often")
        self.completed, self.seconds, self._ended = 0, 0.0, ""
        theta = initial_parameters(network, self.spec.seed) if start is None else start
        q = per_coordinate("start", theta, network.dim).copy()
        zeros = np.zeros((5, network.dim))
        self._q, self._averages, self._work = q, zeros[:2].copy(), zeros[2:].copy()
        self._order, self._rng = np.arange(n), shuffles
        self._unit, units = outgoing_units(network)
        self._factor = np.ones(units)
        self._build()
        self._steps: list[int] = []
        self._path: list[Array] = []
        self._losses: list[tuple[float, float]] = []
        self._look()

    def _build(self) -> None:
        """What holds a compiled function, and so does not pickle."""
        self._train = self.network.log_likelihood(self._x[self.rows], self._y[self.rows])
        self._held_out = self.network.log_likelihood(self._x[self.held_out_rows], self._y[self.held_out_rows])
        columns = self._columns = (self._train.data.size - HEADER) // (-(-len(self.rows) // BLOCK) * ROW)
        self._batch_data = np.zeros(HEADER + -(-self.batch // BLOCK) * columns * ROW)
        self._batch_data[:HEADER] = self._train.data[:HEADER]
        self._buffers = self._train.buffers()

    def __getstate__(self) -> dict[str, Any]:
        return {k: v for k, v in self.__dict__.items() if k not in ("_train", "_held_out", "_batch_data", "_buffers")}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._build()

    @property
    def theta(self) -> Array:
        """(dim,) the parameters to use, of those looked at so far: see `Trained.best`."""
        return self._path[self._best()]

    @property
    def done(self) -> bool:
        """Whether all epochs are done, or it stopped before."""
        return bool(self._ended)

    def advance(self, steps: int, stop: Callable[[], bool] | None = None) -> int:
        """Take up to `steps` more steps. Returns how many were taken.

        stop : asked at every look; once it answers true, the rest is left

        Raises InterruptedError where the job's result is not wanted any more; the run can go on from there.
        """
        taken = 0 if self.done else self._advance_elsewhere(steps, stop)
        begin = time.perf_counter()
        try:
            while taken < steps and not self.done:
                piece = min(steps - taken, self.every - self.completed % self.every, self.total - self.completed)
                made = self._take(piece)
                taken += made
                self.completed += made
                if made < piece:
                    self._ended = "diverged"
                elif self.completed % self.every == 0 or self.completed == self.total:
                    self._look()
                    if stop is not None and stop():
                        break
                    ticket.look()
        finally:
            self.seconds += time.perf_counter() - begin
        return taken

    def _take(self, steps: int) -> int:
        ints, scratch = self._buffers
        return int(
            _train_chunk(
                self._train.address,
                self._train.data,
                self._batch_data,
                ints,
                scratch,
                self._rng,
                self.spec.rule(),
                self._order,
                self.batch,
                self._columns,
                self.spec.weight_decay,
                self.spec.keep,
                self._unit,
                self._factor,
                self._q,
                self._work,
                self._averages,
                self.completed,
                steps,
            )
        )

    def _look(self) -> None:
        self._steps.append(self.completed)
        self._path.append(self._q.copy())
        held = len(self.held_out_rows)
        held_out = -self._held_out.log_density(self._q) / held if held else math.nan
        self._losses.append((-self._train.log_density(self._q) / len(self.rows), held_out))
        if self.completed == self.total:
            self._ended = "epochs"
        elif self.spec.patience and len(self._losses) - 1 - self._best() >= self.spec.patience:
            self._ended = "patience"

    def _best(self) -> int:
        held_out = np.array([pair[1] for pair in self._losses])
        return int(np.nanargmin(held_out)) if np.isfinite(held_out).any() else len(held_out) - 1

    def trained(self) -> Trained:
        """What has been done so far, a copy."""
        loss, held_out = np.array(self._losses).T
        epochs, within = divmod(self.completed, self.steps_per_epoch)
        seen = epochs + within * self.batch / len(self.rows)
        return Trained(
            self.network,
            np.array(self._steps),
            np.array(self._path),
            loss,
            held_out,
            self.rows,
            self.held_out_rows,
            self._best(),
            self._ended,
            seen,
            self.seconds,
        )


def train(
    network: Network,
    x: ArrayLike,
    y: ArrayLike,
    *,
    start: ArrayLike | None = None,
    every: int | None = None,
    stop: Callable[[], bool] | None = None,
    **settings: Any,
) -> Trained:
    """Train a network to the end. Settings are the fields of `TrainingSpec`; the rest as for `TrainingRun`."""
    run = TrainingRun(network, x, y, training_spec(settings), start=start, every=every)
    run.advance(run.total, stop)
    return run.trained()


def training_spec(settings: dict[str, Any]) -> TrainingSpec:
    """The spec of settings by name. Raises SpecError naming one that does not exist."""
    for name in settings:
        if name not in TrainingSpec.declarations():
            raise SpecError(name, f"is not a setting of training, which has {', '.join(TrainingSpec.declarations())}")
    return TrainingSpec(**settings)


def map_decay(network: Network, rows: int) -> float:
    """The weight decay at which the minimum of the loss over so many rows is the mode of the posterior."""
    return 1.0 / (rows * network.prior_sd**2)


def initial_parameters(network: Network, seed: int, scheme: str = "scaled") -> Array:
    """Random parameters (dim,) to begin with.

    scheme : "scaled": weights N(0, gain / inputs of the unit), gain 2 for relu (He et al. 2015) and 1 otherwise (Glorot
        and Bengio 2010, by fan-in), biases 0; "uniform": weights up to sqrt(6 / (inputs + outputs)) of the layer to both
        sides (Glorot and Bengio 2010; Keras' default), biases 0; "prior": a draw from the prior
    """
    if scheme == "prior":
        return network.prior_draws(1, seed)[0]
    if scheme not in INITIAL:
        raise SpecError("scheme", f"{scheme!r} is not one of {', '.join(INITIAL)}")
    rng, parts = _generator(seed, 0), []
    gain = 2.0 if network.activation == "relu" else 1.0
    for n_in, n_out in pairwise(network.sizes):
        if scheme == "uniform":
            weights = math.sqrt(6.0 / (n_in + n_out)) * rng.uniform(-1.0, 1.0, n_in * n_out)
        else:
            weights = math.sqrt(gain / n_in) * rng.standard_normal(n_in * n_out)
        parts += [weights, np.zeros(n_out)]
    return np.concatenate(parts)


def outgoing_units(network: Network) -> tuple[NDArray[np.int64], int]:
    """For every parameter (dim,) the hidden unit that it carries the value of, counted over all layers, or -1; and the
    number of hidden units.
    """
    unit, first, at = np.full(network.dim, -1), 0, 0
    for layer, (n_in, n_out) in enumerate(pairwise(network.sizes)):
        if layer > 0:
            unit[at : at + n_in * n_out] = np.tile(np.arange(first, first + n_in), n_out)
            first += n_in
        at += (n_in + 1) * n_out
    return unit, first


def _generator(seed: int, stream: int) -> np.random.Generator:
    """Stream 0 is for initial parameters, 1 for the rows held out, 2 for shuffles and dropout."""
    seed = whole_number("seed", seed, 0, MAX_SEED)
    return np.random.Generator(np.random.SFC64(np.random.SeedSequence([seed, stream])))


@kernel
def _copy_row(data, columns, row, to, at):
    """Copy sample `row` of blocks of samples to place `at` of others."""
    source = HEADER + (row // BLOCK) * columns * ROW + row % BLOCK
    place = HEADER + (at // BLOCK) * columns * ROW + at % BLOCK
    for c in range(columns):
        to[place + c * ROW] = data[source + c * ROW]


@kernel
def _train_chunk(
    address, data, batch_data, ints, scratch, rng, rule, order, batch, columns, decay, keep, unit, factor, q, work, averages, done, steps
):
    """Steps done + 1 to done + steps. Returns how many were made: fewer once a gradient is not finite.

    Random numbers: n uniforms for the shuffle of each epoch unless a batch is all rows; for dropout one for each hidden
    unit and row.
    """
    n, dim = order.size, q.size
    per_epoch = (n + batch - 1) // batch
    gradient, part, masked = work[0], work[1], work[2]
    for step in range(done, done + steps):
        begin = (step % per_epoch) * batch
        rows = min(batch, n - begin)
        if begin == 0 and batch < n:
            for i in range(n - 1, 0, -1):
                j = min(int(rng.random() * (i + 1)), i)
                order[i], order[j] = order[j], order[i]
        if keep == 1.0:
            if batch < n or step == done:
                for b in range(rows):
                    _copy_row(data, columns, order[begin + b], batch_data, b)
            ints[0] = rows
            log_density_at(address, q, gradient, batch_data, ints, scratch)
        else:
            ints[0] = 1
            for p in range(dim):
                gradient[p] = 0.0
            for b in range(rows):
                _copy_row(data, columns, order[begin + b], batch_data, 0)
                for u in range(factor.size):
                    factor[u] = 1.0 / keep if rng.random() < keep else 0.0
                for p in range(dim):
                    masked[p] = q[p] * factor[unit[p]] if unit[p] >= 0 else q[p]
                log_density_at(address, masked, part, batch_data, ints, scratch)
                for p in range(dim):
                    gradient[p] += part[p] * factor[unit[p]] if unit[p] >= 0 else part[p]
        finite = True
        for p in range(dim):
            gradient[p] = gradient[p] / rows - decay * q[p]
            finite = finite and abs(gradient[p]) < math.inf
        if not finite:
            return step - done
        ascend(rule, step + 1, q, gradient, averages[0], averages[1])
    return steps
