"""The network part: a spike-and-slab network on the digits, trained frame by frame, what it predicts, its checks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from datasets.images import DIGITS_TRAIN, digits
from engine.judge import Check, two_looks, unknown
from engine.judge.looks import correlation_of, looked
from engine.judge.training import rest_check, training_gradient_check
from engine.kept import kept
from engine.variational import NetworkFit, NetworkRun, NetworkSpec, Prediction, start_network
from engine.variational.spike_and_slab_network import prior_inclusion
from lessons.spike_and_slab.spec import SpikeAndSlabSpec

Array = NDArray[np.float64]

FRAMES = 40
DRAWS = 10  # networks averaged, the paper's R
MANY = 30  # networks of the figure over R
BINS = 20
RULES: dict[str, dict[str, Any]] = {
    "0.5": {"inclusion_prior": "own", "inclusion": 0.5},
    "odds e⁻²": {"inclusion_prior": "aic"},
    "0.01": {"inclusion_prior": "own", "inclusion": 0.01},
    "0.001": {"inclusion_prior": "own", "inclusion": 0.001},
    "odds n⁻²": {"inclusion_prior": "bic"},
}
METHODS = {
    "spike_and_slab": "spike and slab",
    "gaussian": "dense Gaussian",
    "mixture": "dense mixture",
    "concrete_dropout": "concrete dropout",
    "horseshoe": "horseshoe",
}
MASKS = 400  # drawn for the check


def network_spec(spec: SpikeAndSlabSpec, **changes: Any) -> NetworkSpec:
    """The engine's description of the fit."""
    settings = {
        "hidden": (spec.units,),
        "method": "spike_and_slab",
        "epochs": spec.epochs,
        "seed": spec.seed,
        "inclusion_prior": spec.weight_prior,
        "inclusion": spec.weight_inclusion,
    }
    return NetworkSpec(**{**settings, **changes})


def start(settings: NetworkSpec) -> NetworkRun:
    """A run that has not taken a step; it reports once a frame."""
    data = digits()
    steps = settings.epochs * (len(data.x) // settings.batch)
    return start_network(data.x, data.y, settings, report_every=-(-steps // FRAMES))


@dataclass(frozen=True, eq=False)
class Frame:
    """What one look at the training saw.

    epoch : passes through the data so far
    energy, kl : in nats of all training data; NaN before the first step
    trained : share of training digits right, by the draws that training saw since the last look
    single, averaged, median : share of test digits right, by one network, by `DRAWS` networks, by the median model
    drawn, kept : share of the weights that one draw uses, and that the median model keeps
    layers : (n_l + 1, n_{l+1}) uint8 inclusion probabilities, 255 for 1, biases last
    feasible : has the median model a path from inputs to outputs?
    """

    epoch: float
    energy: float
    kl: float
    trained: float
    single: float
    averaged: float
    median: float
    drawn: float
    kept: float
    layers: tuple[NDArray[np.uint8], ...]
    feasible: bool


class Learning:
    """Training that stops about `FRAMES` times to be looked at."""

    def __init__(self, spec: SpikeAndSlabSpec):
        self.spec, self.run = spec, start(network_spec(spec))
        self._every = -(-self.run.total // FRAMES)
        self.frames: list[Frame] = [self._look()]

    @property
    def total(self) -> int:
        """Frames there will be."""
        return 1 - (-self.run.total // self._every)

    @property
    def done(self) -> bool:
        return len(self.frames) == self.total

    def advance(self, stop: Any = None) -> None:
        """Train to the next frame; a run that is stopped on the way gets none."""
        wanted = min(len(self.frames) * self._every, self.run.total) - self.run.completed
        if self.run.advance(wanted, stop) == wanted:
            self.frames.append(self._look())

    def _look(self) -> Frame:
        fit, data = self.run.fit(), digits()
        history = fit.history
        energy, kl, right = (
            (history.energy[-1], history.kl[-1], history.accuracy[-1]) if len(history.step) else (np.nan, fit.posterior.kl(), np.nan)
        )
        averaged = fit.predict(data.x_test, "MA", samples=DRAWS, seed=self.spec.seed)
        median = fit.predict(data.x_test, "MED", samples=DRAWS, seed=self.spec.seed)
        assert averaged is not None and median is not None  # nobody stops them
        chosen = fit.select()
        return Frame(
            epoch=self.run.completed / self.run.steps_per_epoch,
            energy=float(energy),
            kl=float(kl),
            trained=float(right),
            single=float(averaged.draw_accuracies(data.y_test)[0]),
            averaged=averaged.accuracy(data.y_test),
            median=median.accuracy(data.y_test),
            drawn=fit.posterior.density(),
            kept=chosen.density if chosen.feasible else 0.0,
            layers=tuple(np.rint(255.0 * layer).astype(np.uint8) for layer in fit.inclusion_probabilities()),
            feasible=chosen.feasible,
        )


def column(frames: Sequence[Frame], name: str) -> Array:
    """(T,) a field of every frame."""
    return np.array([getattr(frame, name) for frame in frames], dtype=np.float64)


@kept
def trained(settings: NetworkSpec) -> NetworkRun:
    """A training to its end, unwatched: the same bytes as the frames' last."""
    run = start(settings)
    run.advance(run.total)
    return run


def network_part(spec: SpikeAndSlabSpec) -> SpikeAndSlabSpec:
    """The settings that training depends on; the rest at its default."""
    names = ("units", "weight_prior", "weight_inclusion", "epochs", "seed")
    kept = {name: getattr(spec, name) for name in names}
    return SpikeAndSlabSpec(part="network", **kept)


def fitted(spec: SpikeAndSlabSpec) -> NetworkFit:
    """The fit at the end of training."""
    return trained(network_spec(spec)).fit()


def post_trained(spec: SpikeAndSlabSpec, mask: str) -> NetworkFit:
    """Training gone on for half as many epochs with the structure fixed."""
    run = trained(network_spec(spec)).post_train(mask, epochs=max(5, spec.epochs // 2))
    run.advance(run.total)
    return run.fit()


def predicted(fit: NetworkFit, mode: str, samples: int = DRAWS, threshold: float = 0.5) -> Prediction:
    """Predictions for the test digits."""
    found = fit.predict(digits().x_test, mode, samples=samples, seed=fit.spec.seed, threshold=threshold)
    assert found is not None
    return found


# Checks ---------------------------------------------------------------------------------------------------------------

STEPS, SEEN = 6, 100  # of training, and digits, where its gradient is checked


def audit(spec: SpikeAndSlabSpec, cancel: Any) -> list[Check]:
    """The masks, the KL, and the gradient that trains both."""
    fit, data = fitted(spec), digits()
    run = start_network(data.x[:SEEN], data.y[:SEEN], network_spec(spec))
    run.advance(STEPS)
    return [_masks_check(fit), _divergence_check(fit), training_gradient_check(run, spec.seed, cancel)]


def checks(spec: SpikeAndSlabSpec, cancel: Any) -> list[Check]:
    """Has training come to rest? Its posterior cannot be enumerated."""
    fit = fitted(spec)
    words = (
        "How near these probabilities are to the exact posterior cannot be told: there are "
        f"2^{fit.shape.weights:,} networks. The regression part shows on which side mean-field errs."
    )
    return [rest_check(fit.history.elbo), unknown("posterior", words, kind="numbers")]


def _masks_check(fit: NetworkFit) -> Check:
    """Are weights in as often as their α says? For each layer the expected share, and the share weighed by α - mean α,
    which tells whether it is the right ones that are in; their covariance is known exactly.
    """
    alpha = fit.posterior.alpha.astype(np.float64)
    aims = np.zeros((2 * fit.shape.layers, alpha.size))
    for layer, part in enumerate(fit.shape.split(np.arange(alpha.size))):
        rows = part.ravel()
        aims[2 * layer, rows] = 1.0
        aims[2 * layer + 1, rows] = alpha[rows] - alpha[rows].mean()
    covariance = (aims * (alpha * (1.0 - alpha))) @ aims.T

    def look(number: int, work: int) -> Check:
        rng = np.random.Generator(np.random.SFC64(np.random.SeedSequence([fit.spec.seed, number])))
        count = MASKS * work
        found = np.mean([fit.posterior.sample(rng) != 0.0 for _ in range(count)], axis=0)
        error = np.maximum(np.sqrt(np.diag(covariance) / count), 1e-6 * alpha.size)  # of single precision
        words = (
            f"{count} networks drawn use {100 * found.mean():.3f} % of the weights, the inclusion probabilities say "
            f"{100 * alpha.mean():.3f} %. Of {len(aims)} such shares"
        )
        z = aims @ (found - alpha) / error
        return looked(number, "masks", z, correlation_of(covariance), words, kind="kernel")

    return two_looks(look)


def price(settings: NetworkSpec) -> float:
    """Prior probability of a weight being in."""
    return settings.inclusion if settings.inclusion_prior == "own" else prior_inclusion(settings.inclusion_prior, DIGITS_TRAIN)


def _divergence_check(fit: NetworkFit) -> Check:
    """The KL that training reports against the formula, in double precision."""
    alpha, mean, sd = (np.asarray(values, dtype=np.float64) for values in (fit.posterior.alpha, fit.posterior.mean, fit.posterior.sd))
    spec = fit.spec
    pi = price(spec)
    slab = np.log(spec.prior_sd / sd) + (sd**2 + mean**2) / (2.0 * spec.prior_sd**2) - 0.5
    with np.errstate(divide="ignore", invalid="ignore"):
        inside = np.where(alpha > 0.0, alpha * (np.log(alpha / pi) + slab), 0.0)
        outside = np.where(alpha < 1.0, (1.0 - alpha) * (np.log1p(-alpha) - np.log1p(-pi)), 0.0)
    formula = float((inside + outside).sum())
    off = abs(fit.posterior.kl() - formula) / max(1.0, abs(formula))
    sentence = (
        f"KL(q‖prior) is {fit.posterior.kl():,.1f} nats in training; the formula over {alpha.size:,} weights in double "
        f"precision gives {formula:,.1f}."
    )
    return Check("KL", "pass" if off < 1e-3 else "fail", off, 1e-3, sentence, "of its size", kind="kernel")
