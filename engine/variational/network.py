"""Variational inference for networks of any size: what is fitted, the training as a resumable job, and its result."""

from __future__ import annotations

import copy
import dataclasses
import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from engine import ticket
from engine.kept import lazy
from engine.levels import Levels
from engine.networks.mlp import Network
from engine.networks.passes import ACTIVATIONS, RELU
from engine.slices import Carried
from engine.spec import Spec, SpecError, choice, integer, number, seed_field
from engine.variational.dense import Dense
from engine.variational.dropout import SCALINGS, Dropout, Point, Rows
from engine.variational.fused import FLIPOUT, LOCAL, SAMPLED, Decay, Key, Pace, Single, decay, key, normals, pace, signs
from engine.variational.horseshoe import Horseshoe
from engine.variational.minibatch import LIKELIHOODS, Shape, Workspace, train_pass, train_pass_by_two
from engine.variational.predict import MODES, Prediction, forward
from engine.variational.selection import Selection, select_model
from engine.variational.spike_and_slab_network import CERTAIN, SpikeAndSlab, prior_inclusion

METHODS = ("map", "gaussian", "mixture", "spike_and_slab", "mc_dropout", "concrete_dropout", "horseshoe")
ESTIMATORS = {"gaussian": ("local", "weights", "flipout"), "mixture": ("weights",), "spike_and_slab": ("local", "relaxed", "score")}
WAYS = {"local": LOCAL, "flipout": FLIPOUT}  # of the other estimators weights are sampled
RULES = ("adam", "decaying")  # of steps, see `engine.variational.optimisers`
INCLUSION_PRIORS = ("aic", "bic", "own")
_WEIGHTS, _UNITS, OF_ACTIVATIONS = range(3)  # streams of random numbers within a step
OF_PART = 4  # streams further, for the second part of a minibatch
OF_INPUTS = 8  # signs of Flipout
_BY_TWO = {*ESTIMATORS, "map"}  # methods whose minibatches two cores may share
_LARGE = 30_000_000  # multiply-adds of a minibatch from which on two cores share it
_LOOK = 0.02  # seconds between two looks at `stop` and the ticket, at least one step
_BASELINE_RATE = 0.1


@dataclass(frozen=True, kw_only=True)
class NetworkSpec(Spec):
    """Everything that decides a fit, beside the data.

    hidden : widths of the hidden layers, inputs to outputs; () for a linear model
    """

    hidden: tuple[int, ...] = (50,)
    method: str = choice("spike_and_slab", METHODS, "family of the variational distribution, or its stand-in")
    estimator: str = choice(
        "default",
        ("default", "local", "weights", "flipout", "relaxed", "score"),
        "of the gradient of the expected log likelihood; the default is local where there is a choice",
    )
    activation: str = choice("relu", ACTIVATIONS, "of the hidden units")
    likelihood: str = choice("softmax", LIKELIHOODS, "how outputs become probabilities of y")
    noise_sd: float = number(0.1, 1e-6, 1e6, "of y around the output, for the Gaussian likelihood", log=True)
    prior_sd: float = number(1.0, 1e-3, 1e3, "of every weight that is in", log=True)
    mixture_share: float = number(0.5, 0.01, 0.99, "of the wide normal in the mixture prior; prior_sd is its sd")
    mixture_sd: float = number(math.exp(-3.0), 1e-6, 1e3, "of the narrow normal in the mixture prior", log=True)
    inclusion_prior: str = choice("aic", INCLUSION_PRIORS, "penalty on weights that are in: odds e^-2, n^-2, or own")
    inclusion: float = number(0.1, 1e-9, 1.0 - 1e-9, "own prior inclusion probability of a weight", log=True)
    temperature: float = number(0.1, 1e-3, 10.0, "of relaxed masks; colder is less biased and noisier", log=True)
    keep: float = number(0.8, 0.01, 1.0, "probability that a hidden unit is kept (where it starts, if it is learnt)")
    keep_inputs: float = number(1.0, 0.01, 1.0, "probability that an input is kept")
    scaling: str = choice("inverse", SCALINGS, "kept units are multiplied by 1 / keep, or not (wrong)")
    shrinkage: float = number(1.0, 1e-6, 1e3, "scale of the half-Cauchy prior on a layer's scale", log=True)
    epochs: int = integer(20, 1, 100_000, "passes through the data", log=True)
    batch: int = integer(100, 1, 100_000, "samples in a minibatch; at most all", log=True)
    optimiser: str = choice("adam", RULES, "rule of the steps; the decaying one is for a normal prior, not for Flipout")
    step_size: float = number(0.01, 1e-7, 100.0, "the rule's, for means and standard deviations", log=True)
    inclusion_step_size: float = number(0.02, 0.0, 10.0, "Adam's, for log odds of inclusion, keep and scales")
    inclusion_epochs: int = integer(0, 0, 100_000, "epochs until inclusion_step_size falls to step_size; 0: it does not")
    final_step_size: float = number(0.1, 1e-4, 1.0, "what is left of the step sizes at the end", log=True)
    initial_sd: float = number(0.1, 1e-6, 10.0, "of the weights, at the start", log=True)
    initial_inclusion: float = number(0.9, 1e-6, 1.0 - 1e-6, "inclusion probability of the weights at the start")
    warm_up: int = integer(0, 0, 100_000, "epochs in which the KL's weight grows from 0 to 1; 0: the ELBO from the start")
    seed: int = seed_field()

    def check(self) -> None:
        widths: Any = self.hidden
        if not isinstance(widths, (tuple, list)) or any(isinstance(w, bool) or not isinstance(w, int) for w in widths):
            raise SpecError("hidden", f"{widths!r} is not a tuple of whole numbers")
        if any(not 1 <= w <= 10_000 for w in widths) or len(widths) > 10:
            raise SpecError("hidden", f"{widths!r} is not at most 10 widths from 1 to 10,000")
        object.__setattr__(self, "hidden", tuple(widths))
        allowed = ESTIMATORS.get(self.method, ())
        if self.estimator != "default" and self.estimator not in allowed:
            known = f"one of {', '.join(allowed)}" if allowed else "left at its default"
            raise SpecError("estimator", f"{self.estimator!r} is not for {self.method}: it must be {known}")
        if self.inclusion_epochs and self.method != "spike_and_slab":
            raise SpecError("inclusion_epochs", f"is of the inclusion of weights; {self.method} has none")
        if self.optimiser != "adam" and (self.method != "gaussian" or self.estimator == "flipout"):
            raise SpecError("optimiser", f"{self.optimiser!r} is for gaussian, by the estimators local and weights")
        if self.warm_up and self.method not in ESTIMATORS:
            raise SpecError("warm_up", f"is of the KL of {', '.join(ESTIMATORS)}; {self.method} has none that could be weighted")

    @property
    def gradient_estimator(self) -> str:
        """The estimator in use, "" for methods without a choice."""
        allowed = ESTIMATORS.get(self.method, ("",))
        return allowed[0] if self.estimator == "default" else self.estimator


AnySpec = TypeVar("AnySpec", bound=NetworkSpec)


class History(NamedTuple):
    """What training reported, one row a report (T,).

    step : after how many steps
    elbo : energy - kl, in nats of the whole data set; the whole of it, also while the KL warms up
    energy : expected log likelihood, the mean of the minibatches since the last report, times n / batch
    kl : of q from the prior, at this step
    accuracy : share classified right by the draws that training saw, since the last report; NaN for values
    density : expected share of the weights that a draw uses
    """

    step: NDArray[np.int64]
    elbo: NDArray[np.float64]
    energy: NDArray[np.float64]
    kl: NDArray[np.float64]
    accuracy: NDArray[np.float64]
    density: NDArray[np.float64]


class NetworkFit:
    """A fitted variational network: parameters and what they predict.

    shape : layer sizes; posterior : the variational distribution (`Dense`, `SpikeAndSlab`, ...); history : `History`
    """

    def __init__(self, spec: NetworkSpec, shape: Shape, posterior: Any, history: History):
        self.spec, self.shape, self.posterior, self.history = spec, shape, posterior, history

    def inclusion_probabilities(self) -> list[Single]:
        """(n_l + 1, n_{l+1}) of every layer, biases in the last row; ones where weights are always in."""
        if self.posterior.has_mask:
            return self.shape.split(self.posterior.alpha)
        return self.shape.split(np.ones(self.shape.weights, dtype=np.float32))

    def select(self, threshold: float = 0.5, fallback: str = "most_probable") -> Selection:
        """One network structure from the inclusion probabilities: see `select_model`."""
        return select_model(self.inclusion_probabilities(), threshold, fallback)

    def draw_weights(self, seed: int = 0, masks: Any = None) -> list[Single]:
        """One draw of the weights, (n_l + 1, n_{l+1}) of every layer; zero where a weight is out.

        masks : for spike and slab, which weights are in; default, drawn too
        """
        return self.shape.split(self._draw(np.random.Generator(np.random.SFC64(seed)), masks))

    def expected_weights(self) -> list[Single]:
        """E_q of the weights, (n_l + 1, n_{l+1}) of every layer."""
        return self.shape.split(self.posterior.expected())

    def signal_to_noise(self) -> list[Single]:
        """|E w| / sd w under q, (n_l + 1, n_{l+1}) of every layer, biases in the last row."""
        if not hasattr(self.posterior, "sds"):
            raise SpecError("method", f"{self.spec.method} has no standard deviations to prune by")
        return self.shape.split(np.abs(self.posterior.expected()) / np.maximum(self.posterior.sds(), np.float32(1e-20)))

    def prune(self, density: float) -> list[NDArray[np.bool_]]:
        """Masks (n_l + 1, n_{l+1}) of the weights with the largest `signal_to_noise`.

        density : share of all weights to keep
        The pruning of Blundell et al. (2015), by hand; spike and slab has `select` instead.
        """
        ratio = np.concatenate([layer.ravel() for layer in self.signal_to_noise()])
        if not 0.0 < density <= 1.0:
            raise SpecError("density", f"{density!r} is not a share above 0, at most 1")
        kept = np.zeros(len(ratio), dtype=bool)
        kept[np.argsort(-ratio, kind="stable")[: max(1, round(density * len(ratio)))]] = True
        return self.shape.split(kept)

    def _inputs(self, x: ArrayLike) -> Single:
        """x as (m, inputs)."""
        return checked_inputs(x, self.shape.inputs)

    def _draw(self, rng: np.random.Generator, masks: Any) -> Single:
        if masks is None:
            return self.posterior.sample(rng)
        return self.posterior.sample(rng, _flat(masks))

    def predict(
        self,
        x: ArrayLike,
        mode: str = "MA",
        *,
        samples: int = 10,
        seed: int = 0,
        threshold: float = 0.5,
        fallback: str = "most_probable",
        masks: Any = None,
        stop: Callable[[], bool] | None = None,
    ) -> Prediction | None:
        """Predict at x (m, inputs); see `engine.variational.predict` for the modes.

        samples : draws of MA and MED
        threshold, fallback : of MED, see `select_model`
        masks : bool of every layer, as from `prune`: weights outside are set to zero in every mode
        stop : looked at every few milliseconds; once it answers true, None is returned
        """
        if mode not in MODES:
            raise SpecError("mode", f"{mode!r} is not one of {', '.join(MODES)}")
        if mode == "MED" and not self.posterior.has_mask:
            raise SpecError("mode", f"{self.spec.method} has no inclusion probabilities, so no median model")
        x = self._inputs(x)
        selected: Any = None
        note = ""
        if mode == "MED":
            selection = self.select(threshold, fallback)
            selected, note = selection.masks, "" if selection.feasible else selection.note
        kept = None if masks is None else _flat(masks)
        rng = np.random.Generator(np.random.SFC64(seed))
        draws, used = [], np.zeros(self.shape.weights, dtype=bool)
        for _ in range(samples if mode in ("MA", "MED") else 1):
            weights = self.posterior.expected() if mode == "MEAN" else self._draw(rng, selected)
            weights = weights if kept is None else weights * kept
            used |= weights != 0.0
            found = forward(self.shape, self.spec.activation, self.spec.likelihood, x, weights, stop)
            if found is None:
                return None
            draws.append(found)
        classifies = self.spec.likelihood != "gaussian"
        return Prediction(mode, np.stack(draws), float(used.mean()), classifies, note)

    def drawn(self, samples: int = 100, seed: int = 0) -> Drawn:
        """Networks drawn once, to read again and again: the same as those of `predict` in mode MA."""
        rng = np.random.Generator(np.random.SFC64(seed))
        return Drawn(self, np.stack([self.posterior.sample(rng) for _ in ticket.looking(range(samples))]))

    def network_draws(self, network: Network, samples: int, seed: int = 0) -> NDArray[np.float64]:
        """Draws (samples, network.dim) in the order of `engine.network`'s parameters, for its predictions."""
        if not isinstance(network.width, int) or not isinstance(network.depth, int):
            raise SpecError("network", "has a range of sizes, not one")
        widths = (network.inputs, *[network.width] * network.depth, network.outputs)
        if widths != self.shape.sizes:
            raise SpecError("network", f"layers {widths} are not those of the fit, {self.shape.sizes}")
        rng = np.random.Generator(np.random.SFC64(seed))
        numbered = self.shape.split(np.arange(self.shape.weights))
        order = np.concatenate([np.concatenate([w[:-1].T.reshape(-1), w[-1]]) for w in numbered])
        draws = [self.posterior.sample(rng)[order] for _ in ticket.looking(range(samples))]
        return np.stack(draws).astype(np.float64)


class Drawn:
    """R networks drawn from a fit; weights (R, weights)."""

    def __init__(self, fit: NetworkFit, weights: Single):
        self._spec, self._shape, self._read, self.weights = fit.spec, fit.shape, fit._inputs, weights

    def __len__(self) -> int:
        return len(self.weights)

    def predict(self, x: ArrayLike, stop: Callable[[], bool] | None = None) -> Single | None:
        """(R, m, classes) probabilities, or (R, m, outputs) values, at x (m, inputs); None when stopped."""
        inputs, found = self._read(x), []
        for weights in self.weights:
            said = forward(self._shape, self._spec.activation, self._spec.likelihood, inputs, weights, stop)
            if said is None:
                return None
            found.append(said)
        return np.stack(found)


class NetworkRun(Carried):
    """Training as a job: `advance` as far as you like, look at any time.

    Pieces of any size give the same bytes, after pickling too. For one thread at a time; kernels release the GIL.
    Parameters are those of `start_network`.
    """

    fitted: type[NetworkFit] = NetworkFit
    _constant = ("_x", "_y")

    def __init__(self, x: ArrayLike | Levels, y: ArrayLike, spec: NetworkSpec, *, report_every: int | None = None, snapshots: int = 0):
        self.spec = spec
        self._x = x = self._inputs(x)
        self._y, outputs = checked_targets(y, len(x), spec.likelihood)
        self.shape = self._layers(outputs)
        self.batch = min(spec.batch, len(x))
        self.steps_per_epoch = len(x) // self.batch
        self.posterior = _posterior(spec, self.shape, len(x))
        self._frozen = False  # inclusion probabilities
        self._begin(spec.epochs, report_every, snapshots)
        self._baseline = self._log_likelihood_of_nothing()
        self.posterior.draw(key(spec.seed, 0, _WEIGHTS))

    def _inputs(self, x: ArrayLike | Levels) -> Single | Levels:
        """x as (n, inputs)."""
        return x if isinstance(x, Levels) else checked_inputs(x)

    def _layers(self, outputs: int) -> Shape:
        return Shape((self._x.shape[1], *self.spec.hidden, outputs))

    def _begin(self, epochs: int, report_every: int | None, snapshots: int) -> None:
        self.total = epochs * self.steps_per_epoch
        self.completed = 0
        self.seconds = 0.0
        self._report_every = report_every or max(1, self.steps_per_epoch // 4, self.total // 400)
        self.selection: Selection | None = None
        self._rows: list[tuple[float, ...]] = []
        self._energy, self._right, self._seen = 0.0, 0, 0
        self._snapshot_steps = {round(self.total * (k + 1) / snapshots) for k in range(snapshots)}
        self.snapshots: list[tuple[int, list[NDArray[np.uint8]]]] = []
        if snapshots:
            self._keep_snapshot()
        self.__dict__.pop("_works", None)
        self._order = np.zeros(0, dtype=np.int64)

    @lazy
    def _works(self) -> list[Workspace]:
        return self._workspaces(self.batch)

    @lazy
    def _settings(self) -> tuple[NDArray[np.int64], tuple[int, int], float]:
        """What is the same for every pass."""
        spec = self.spec
        return np.array(self.shape.sizes), (ACTIVATIONS.index(spec.activation), LIKELIHOODS.index(spec.likelihood)), spec.noise_sd**-2

    def _state(self) -> dict[str, Any]:
        return {name: value for name, value in super()._state().items() if name not in ("_works", "_others", "_settings")}

    @property
    def done(self) -> bool:
        return self.completed == self.total

    @property
    def kl_weight(self) -> float:
        """What the KL counts in the next step: 1, or less while it warms up (Sønderby et al. 2016): the share of
        `spec.warm_up` epochs that the step ends.
        """
        rise = self.spec.warm_up * self.steps_per_epoch
        return 1.0 if self._frozen else min(1.0, (self.completed + 1) / max(rise, 1))

    def advance(self, steps: int, stop: Callable[[], bool] | None = None) -> int:
        """Take up to `steps` more steps. Returns how many were taken.

        stop : looked at after every step or every 20 ms, whichever is longer; once it answers true, the rest is left

        Raises InterruptedError where the job's result is not wanted any more; the run can go on from there.
        """
        taken = self._advance_elsewhere(min(steps, self.total - self.completed), stop)
        begin = look = time.perf_counter()
        last, at_once = self.completed + min(steps - taken, self.total - self.completed), ticket.Pace(_LOOK)
        try:
            while self.completed < last:
                taken += self._take(last - self.completed, at_once)
                if (now := time.perf_counter()) - look > _LOOK:
                    look = now
                    if stop is not None and stop():
                        break
                    ticket.look()
        finally:
            self.seconds += time.perf_counter() - begin
        return taken

    def _take(self, most: int, at_once: ticket.Pace) -> int:
        """Take up to `most` steps, and how many: one, or as many as `at_once` says where one kernel takes them."""
        within = self.completed % self.steps_per_epoch
        if (within == 0 and self.batch < len(self._x)) or not self._order.size:
            self._order = self._order_of(self.completed // self.steps_per_epoch)
        if isinstance(self.posterior, Dropout) and type(self.shape) is Shape and not isinstance(self._x, Levels):
            return self._walk(most, at_once, within)
        step = self.completed + 1
        rows = self._order[within * self.batch : (within + 1) * self.batch]
        energy, right = self._pass(rows, step)
        self._move(self._rule(step), energy - self._baseline, key(self.spec.seed, step, _WEIGHTS))
        self._count(energy, right)
        return 1

    def _walk(self, most: int, at_once: ticket.Pace, within: int) -> int:
        """As `_take` of dropout over dense layers: steps up to the next report, of one epoch."""
        most = min(most, at_once.size, self._report_every - self.completed % self._report_every)
        if self.batch < len(self._x):
            most = min(most, self.steps_per_epoch - within)
        steps = range(self.completed + 1, self.completed + most + 1)
        scale, rows = len(self._x) / self.batch, Rows(self._order, self.batch, within, self.steps_per_epoch)
        begin = time.perf_counter()
        energies, right = self.posterior.walk(
            (*self._settings, np.float32(scale), self._x, self._y),
            rows,
            [self._rule(step) for step in steps],
            [key(self.spec.seed, step, _UNITS) for step in steps],
            self._works[0],
        )
        at_once.took(most, time.perf_counter() - begin)
        for found in zip((scale * energies).tolist(), right.tolist(), strict=True):
            self._count(*found)
        return most

    def _count(self, energy: float, right: int) -> None:
        """A step is over."""
        self._baseline += _BASELINE_RATE * (energy - self._baseline)
        self.completed += 1
        self._energy += energy
        self._right += right
        self._seen += 1
        if self.completed % self._report_every == 0 or self.done:
            self._report()
        if self.completed in self._snapshot_steps:
            self._keep_snapshot()

    def _order_of(self, epoch: int) -> NDArray[np.int64]:
        """In which an epoch takes the samples; as they stand where a minibatch holds them all."""
        if self.batch == len(self._x):
            return np.arange(len(self._x))
        return np.random.Generator(np.random.SFC64(np.random.SeedSequence([self.spec.seed, epoch]))).permutation(len(self._x))

    def _rule(self, step: int) -> Pace | Decay:
        """How far step number `step` goes."""
        spec = self.spec
        left = spec.final_step_size ** ((step - 1) / self.total)
        if spec.optimiser == "decaying":
            return decay(step, spec.step_size * left, self.kl_weight)
        early = not spec.inclusion_epochs or self.completed < spec.inclusion_epochs * self.steps_per_epoch
        inclusion = 0.0 if self._frozen else spec.inclusion_step_size if early else spec.step_size
        return pace(step, spec.step_size * left, inclusion * left, self.kl_weight)

    def _pass(self, rows: NDArray[np.int64], step: int) -> tuple[float, int]:
        """Log likelihood of the samples `rows`, times n / their number, and how many of them are classified right."""
        posterior, works = self.posterior, self._works
        posterior.begin_noise(works[0], key(self.spec.seed, step, _UNITS))
        scale = len(self._x) / len(rows)
        if len(works) == 1:
            value, right = self._part(0, rows, step, scale, posterior.gradient, posterior.variance_gradient)
            return scale * value, right
        cut = works[0].batch
        gradients = posterior.gradient, posterior.variance_gradient
        todo = ((0, rows[:cut], gradients), (1, rows[cut:], self._others))
        found = ticket.each(lambda part: self._part(part[0], part[1], step, scale, *part[2]), todo)
        for mine, other in zip(gradients, self._others, strict=True):
            mine += other
        return scale * (found[0][0] + found[1][0]), found[0][1] + found[1][1]

    def _part(
        self, number: int, rows: NDArray[np.int64], step: int, scale: float, gradient: Single, variance_gradient: Single
    ) -> tuple[float, int]:
        """Part `number` of a pass: log likelihood of its samples, and how many of them are classified right."""
        posterior, work = self.posterior, self._works[number]
        self._draw_noise(number, step)
        x, y = self._x, self._y
        if isinstance(x, Levels):  # those of this part alone become float32
            x, y, rows = x[rows], y[rows], np.arange(len(rows))
        data = *self._settings, np.float32(scale), x, y, rows
        weights = posterior.weights, gradient, posterior.variances, variance_gradient
        if self._by_products(len(rows)):
            return train_pass_by_two(*data, *weights, posterior.way, work.arrays())
        value, right = train_pass(*data, *weights, posterior.way, posterior.noisy, False, work.arrays())
        return value, right

    def _draw_noise(self, number: int, step: int) -> None:
        """Normal draws or signs of part `number` of a pass, where its way needs them."""
        work, seed = self._works[number], self.spec.seed
        if self.posterior.way != SAMPLED:
            fill = normals if self.posterior.way == LOCAL else signs
            fill(work.spread, *key(seed, step, OF_ACTIVATIONS + OF_PART * number))
            signs(work.signs, *key(seed, step, OF_INPUTS + OF_PART * number))

    def _move(self, rule: Pace | Decay, signal: float, draw: Key) -> None:
        """Climb, on two cores where the weights are many."""
        posterior, work = self.posterior, self._works[0]
        if self.spec.method == "map" or not self._large(self.batch):
            posterior.step(rule, signal, work, draw)
        else:
            ticket.each(lambda span: posterior.step(rule, signal, work, draw, span), posterior.halves())

    def _log_likelihood_of_nothing(self) -> float:
        """Of all data when every output is 0: where the baseline of the score function starts."""
        n, spec = len(self._x), self.spec
        if spec.likelihood == "softmax":
            return -n * math.log(self.shape.sizes[-1])
        if spec.likelihood == "bernoulli":
            return -n * math.log(2.0)
        squares = float(np.square(self._y, dtype=np.float64).sum())
        return -0.5 * squares / spec.noise_sd**2 - self._y.size * (math.log(spec.noise_sd) + 0.5 * math.log(2 * math.pi))

    def _workspaces(self, batch: int) -> list[Workspace]:
        """Where a minibatch passes through: in two parts where it is large and cannot be shared by its products. It is cut
        the same whether there are two cores or not, so that sums have one order.
        """
        splits = self._large(batch) and not self._by_products(batch)
        sizes = (batch - batch // 2, batch // 2) if splits else (batch,)
        self._others = [np.zeros_like(a) for a in (self.posterior.gradient, self.posterior.variance_gradient) if splits]
        return [self.shape.workspace(size, self.posterior.way, self.posterior.noisy) for size in sizes]

    def _large(self, batch: int) -> bool:
        """Whether a minibatch is worth two cores."""
        return self.spec.method in _BY_TWO and batch * self.shape.work >= _LARGE

    def _by_products(self, batch: int) -> bool:
        """Whether two cores share its products, which are larger than those of its halves."""
        return self.posterior.way != SAMPLED and self._large(batch)

    def _kl(self) -> float:
        return float(self.posterior.kl())

    def _report(self) -> None:
        energy, kl = self._energy / self._seen, self._kl()
        accuracy = math.nan if self.spec.likelihood == "gaussian" else self._right / (self._seen * self.batch)
        self._rows.append((self.completed, energy - kl, energy, kl, accuracy, self.posterior.density()))
        self._energy, self._right, self._seen = 0.0, 0, 0

    def _keep_snapshot(self) -> None:
        if self.posterior.has_mask:
            layers = self.shape.split(np.rint(255.0 * self.posterior.alpha).astype(np.uint8))
            self.snapshots.append((self.completed, layers))

    def without_data(self) -> NetworkRun:
        """The state of now as what can be put on disk: no data. Further training moves it, too."""
        run = type(self).__new__(type(self))
        run.__dict__.update(self._state(), seconds=self.seconds)
        return run

    def with_data_of(self, other: NetworkRun) -> NetworkRun:
        """This run, on the data of another."""
        run = copy.copy(self)
        run.__dict__.update({name: other.__dict__[name] for name in self._constant})
        return run

    def history(self) -> History:
        """What has been reported so far."""
        columns = np.array(self._rows, dtype=np.float64).reshape(-1, 6).T
        return History(columns[0].astype(np.int64), *columns[1:])

    def fit(self) -> NetworkFit:
        """The state of now, as a fit that further training does not touch."""
        return self.fitted(self.spec, self.shape, copy.deepcopy(self.posterior), self.history())

    def post_train(
        self,
        mask: str = "median",
        epochs: int = 10,
        *,
        step_size: float | None = None,
        threshold: float = 0.5,
        fallback: str = "most_probable",
        report_every: int | None = None,
    ) -> NetworkRun:
        """A run that goes on from here with the structure fixed: only means and standard deviations move.

        mask : "median", the selected model, no other weight takes part; "probabilities", inclusion probabilities stay
            as they are and masks go on being drawn (the paper's MED and MA after post-training)
        step_size : default that of the spec
        threshold, fallback : see `select_model`
        """
        if not self.posterior.has_mask:
            raise SpecError("method", f"{self.spec.method} has no inclusion probabilities to fix")
        if mask not in ("median", "probabilities"):
            raise SpecError("mask", f"{mask!r} is not one of median, probabilities")
        run = copy.copy(self)
        run.spec = changed(self.spec, epochs=epochs, step_size=step_size or self.spec.step_size)
        run.posterior = copy.deepcopy(self.posterior)
        posterior, omega = run.posterior, self.posterior.omega
        selection = None
        if mask == "median":
            selection = self.fit().select(threshold, fallback)
            omega = np.where(_flat(selection.masks), CERTAIN, -CERTAIN)
        posterior.set(posterior.mean, posterior.sd, omega)
        run._frozen = True
        run._begin(epochs, report_every, 0)
        run.selection = selection
        posterior.draw(key(run.spec.seed, 0, _WEIGHTS))
        return run

    def gradient_estimates(self, samples: int, first_step: int = 1_000_000, kl_weight: float = 1.0) -> NDArray[np.float32]:
        """Independent estimates (samples, parameters) of the ELBO's gradient over all data at the present parameters.

        kl_weight : what the KL counts; 1 is the ELBO
        Parameters are the posterior's `trained` rows, one after another, each (weights,). Adam's averages are lost.
        """
        if self.spec.method not in (*ESTIMATORS, "map", "mc_dropout"):
            raise SpecError("method", f"{self.spec.method} trains more than its posterior's rows")
        posterior, rows = self.posterior, np.arange(len(self._x))
        works, self._works = self._works, self._workspaces(len(rows))
        still = Pace(np.float32(0), np.float32(0), np.float32(1), np.float32(kl_weight))
        found = []
        for step in range(first_step, first_step + samples):
            posterior.draw(key(self.spec.seed, step, _WEIGHTS))
            energy, _ = self._pass(rows, step)
            posterior.forget()
            posterior.step(still, energy - self._baseline, self._works[0], key(self.spec.seed, step, _WEIGHTS))
            found.append(posterior.last_gradient())
        self._works = works
        return np.asarray(found)


def start_network(
    x: ArrayLike | Levels,
    y: ArrayLike,
    spec: NetworkSpec | None = None,
    *,
    report_every: int | None = None,
    snapshots: int = 0,
    **settings: Any,
) -> NetworkRun:
    """Begin to fit a variational network; nothing is trained yet.

    x : (n, inputs); kept as it is if float32 and contiguous, or `Levels`, else copied to float32
    y : (n,) labels 0, 1, ... for softmax and bernoulli; (n,) or (n, outputs) values for gaussian
    spec : a `NetworkSpec`; or give its fields as `settings`, or both, the settings then change it
    report_every : steps between two rows of the history; default four times an epoch, at most 400 rows
    snapshots : how many times inclusion probabilities are kept on the way, evenly spaced, besides the start:
        `run.snapshots`, a list of (step, [(n_l + 1, n_{l+1}) uint8 of every layer, 255 for probability 1])
    Raises SpecError naming a wrong setting.
    """
    spec = changed(spec or NetworkSpec(), **settings)
    return NetworkRun(x, y, spec, report_every=report_every, snapshots=snapshots)


def fit_network(
    x: ArrayLike, y: ArrayLike, spec: NetworkSpec | None = None, *, stop: Callable[[], bool] | None = None, **settings: Any
) -> NetworkFit:
    """Fit a variational network and return it; parameters as in `start_network`.

    stop : looked at every 20 ms or every step; once it answers true, the fit is what is there
    """
    run = start_network(x, y, spec, **settings)
    run.advance(run.total, stop)
    return run.fit()


def warm() -> None:
    """Run every kernel of the variational networks once, so that the cache holds it."""
    x, y = np.array([[0.0, 1.0], [1.0, 0.0]]), np.array([0, 1])
    for method in METHODS:
        for estimator in ESTIMATORS.get(method, ("default",)):
            fit_network(x, y, method=method, estimator=estimator, hidden=(2,), epochs=1).predict(x)
    for estimator in ("local", "weights"):
        fit_network(x, y, method="gaussian", estimator=estimator, optimiser="decaying", hidden=(2,), epochs=1)


def changed(spec: AnySpec, **settings: Any) -> AnySpec:
    """The spec with some fields changed. Raises SpecError naming an unknown or a wrong one."""
    known = {f.name for f in dataclasses.fields(spec)}
    for name in settings:
        if name not in known:
            raise SpecError(name, f"is not a setting of a variational network: {', '.join(sorted(known))}")
    return dataclasses.replace(spec, **settings)


def checked_inputs(x: ArrayLike, inputs: int | None = None) -> Single:
    """x as (n, inputs) float32. Raises SpecError."""
    found = np.ascontiguousarray(x, dtype=np.float32)
    if found.ndim != 2 or found.size == 0:
        raise SpecError("x", f"has shape {found.shape}, not (samples, inputs)")
    if inputs is not None and found.shape[1] != inputs:
        raise SpecError("x", f"has {found.shape[1]} inputs, the network {inputs}")
    if not np.isfinite(found).all():
        raise SpecError("x", "has values that are not finite")
    return found


def checked_targets(y: ArrayLike, samples: int, likelihood: str) -> tuple[Single, int]:
    """y as (n, 1) labels or (n, outputs) values in float32, and the number of outputs. Raises SpecError."""
    found = np.ascontiguousarray(y, dtype=np.float32)
    found = found.reshape(len(found), -1) if found.ndim else found.reshape(1, 1)
    if len(found) != samples:
        raise SpecError("y", f"has {len(found)} values for {samples} samples")
    if not np.isfinite(found).all():
        raise SpecError("y", "has values that are not finite")
    if likelihood == "gaussian":
        return found, found.shape[1]
    if found.shape[1] != 1 or (found != np.floor(found)).any() or found.min() < 0:
        raise SpecError("y", "labels must be one column of whole numbers from 0")
    classes = int(found.max()) + 1
    if likelihood == "bernoulli":
        if classes > 2:
            raise SpecError("y", "the bernoulli likelihood has the labels 0 and 1")
        return found, 1
    return found, max(classes, 2)


def _flat(masks: Any) -> NDArray[np.bool_]:
    """Masks of all layers as one array (weights,)."""
    return np.concatenate([np.asarray(m, dtype=bool).reshape(-1) for m in masks])


def _posterior(spec: NetworkSpec, shape: Shape, samples: int) -> Any:
    """The variational distribution at its start."""
    rng = np.random.Generator(np.random.SFC64(np.random.SeedSequence([spec.seed, 2**32 - 1])))
    mean = rng.standard_normal(shape.weights, dtype=np.float32)
    for weights in shape.split(mean):
        weights[:-1] *= math.sqrt((2.0 if ACTIVATIONS.index(spec.activation) == RELU else 1.0) / (len(weights) - 1))
        weights[-1] = 0.0
    sd = np.full(shape.weights, spec.initial_sd)
    if spec.method in ("gaussian", "mixture"):
        share = 1.0 if spec.method == "gaussian" else spec.mixture_share
        prior = share, spec.prior_sd, spec.mixture_sd
        dense = Dense(shape, prior, WAYS.get(spec.gradient_estimator, SAMPLED))
        dense.set(mean, sd)
        return dense
    if spec.method == "spike_and_slab":
        own = spec.inclusion_prior == "own"
        inclusion = spec.inclusion if own else prior_inclusion(spec.inclusion_prior, samples)
        slab = SpikeAndSlab(shape, inclusion, spec.prior_sd, spec.gradient_estimator, spec.temperature)
        omega = math.log(spec.initial_inclusion) - math.log1p(-spec.initial_inclusion)
        slab.set(mean, sd, np.full(shape.weights, omega))
        return slab
    if spec.method == "horseshoe":
        horseshoe = Horseshoe(shape, spec.shrinkage, spec.inclusion_step_size)
        horseshoe.set(mean, sd)
        return horseshoe
    if spec.method == "map":
        point = Point(shape, spec.prior_sd)
        point.set(mean)
        return point
    learn = spec.method == "concrete_dropout"
    keep_inputs = spec.keep if learn else spec.keep_inputs
    dropout = Dropout(shape, spec.prior_sd, spec.keep, keep_inputs, spec.scaling, learn, spec.temperature, spec.inclusion_step_size)
    dropout.set(mean)
    return dropout
