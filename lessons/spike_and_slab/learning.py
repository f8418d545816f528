"""The network part: a spike-and-slab network on digits, trained frame by frame, what it predicts, its checks.

That of MNIST is trained once for all who look, and its state is on disk: it grows while somebody looks, and goes on from
there. Where MNIST is not on this machine the bundled digits stand in for it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from datasets.images import DIGITS_TRAIN, Images, digits
from engine import kept
from engine.judge import Check, Verdict, two_looks, unknown
from engine.judge.looks import correlation_of, looked
from engine.judge.plant import SHIFTED, is_planted
from engine.judge.training import rest_check, training_gradient_check
from engine.variational import NetworkFit, NetworkRun, NetworkSpec, Prediction, start_network
from engine.variational.spike_and_slab_network import prior_inclusion
from lessons.families import watched
from lessons.families.digit_posteriors import sources
from lessons.families.digit_posteriors.training import begun, inputs
from lessons.families.watched import Watched
from lessons.spike_and_slab.spec import WORDS, SpikeAndSlabSpec

Array = NDArray[np.float64]

FRAMES = 40
DRAWS = 10  # networks averaged, the paper's R
MANY = 30  # networks of the figure over R
BINS = 20
RULES: dict[str, dict[str, Any]] = {
    "0.5": {"inclusion_prior": "own", "inclusion": 0.5},
    WORDS["options.weight_prior"]["aic"]: {"inclusion_prior": "aic"},
    "0.01": {"inclusion_prior": "own", "inclusion": 0.01},
    "0.001": {"inclusion_prior": "own", "inclusion": 0.001},
    WORDS["options.weight_prior"]["bic"]: {"inclusion_prior": "bic"},
}
METHODS = WORDS["families"]
MASKS = 400  # drawn for the check
LARGE_FRAMES = 24  # a message to the browser holds no more of so many pixels
FORMAT = 1  # of states on disk: another number leaves the old ones behind


def is_large(spec: SpikeAndSlabSpec) -> bool:
    """Whether the network learns MNIST, which is here."""
    return spec.part == "network" and sources.present(spec.data) == "mnist"


def data_of(spec: SpikeAndSlabSpec) -> Images:
    """What it learns from and is tested on."""
    return sources.few_tested(spec.data)


def never_inked(spec: SpikeAndSlabSpec) -> NDArray[np.bool_]:
    """(pixels,) of the images to learn from."""
    return sources.never_inked(sources.images(spec.data))


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
    """A run on the bundled digits that has not taken a step; it reports once a frame."""
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
    idle : mean, least and largest inclusion probability of the weights that leave pixels which are never inked; NaN
        where there are none
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
    idle: tuple[float, float, float] = (np.nan, np.nan, np.nan)


class Learning(Watched[NetworkFit, Frame]):
    """A training with its frames.

    path : of its state on disk, from which it goes on; None: it has none
    """

    def __init__(self, spec: SpikeAndSlabSpec, path: Path | None = None):
        settings, data = network_spec(spec), data_of(spec)
        if is_large(spec):
            run = begun(data, settings, often=True)
            steps = watched.bent(run.total, LARGE_FRAMES)
        else:
            run = start(settings)
            steps = (*range(0, run.total, -(-run.total // FRAMES)), run.total)
        super().__init__(run, steps, partial(_frame, data=data, idle=never_inked(spec)), path)

    def epoch(self, look: int) -> float:
        """Passes through the data before a look."""
        return self._steps[look] / self._run.steps_per_epoch


def _frame(fit: NetworkFit, step: int, data: Images, idle: NDArray[np.bool_]) -> Frame:
    """What is seen of the training after so many steps."""
    history, seed = fit.history, fit.spec.seed
    energy, kl, right = (
        (history.energy[-1], history.kl[-1], history.accuracy[-1]) if len(history.step) else (np.nan, fit.posterior.kl(), np.nan)
    )
    averaged = fit.predict(data.x_test, "MA", samples=DRAWS, seed=seed)
    median = fit.predict(data.x_test, "MED", samples=DRAWS, seed=seed)
    assert averaged is not None and median is not None  # nobody stops them
    chosen, layers = fit.select(), fit.inclusion_probabilities()
    unreached = layers[0][:-1][idle].astype(np.float64) if idle.any() else np.full(1, np.nan)
    return Frame(
        epoch=step / (len(data.y) // min(fit.spec.batch, len(data.y))),
        energy=float(energy),
        kl=float(kl),
        trained=float(right),
        single=float(averaged.draw_accuracies(data.y_test)[0]),
        averaged=averaged.accuracy(data.y_test),
        median=median.accuracy(data.y_test),
        drawn=fit.posterior.density(),
        kept=chosen.density if chosen.feasible else 0.0,
        layers=tuple(np.rint(255.0 * layer).astype(np.uint8) for layer in layers),
        feasible=chosen.feasible,
        idle=(float(unreached.mean()), float(unreached.min()), float(unreached.max())),
    )


def shared(spec: SpikeAndSlabSpec) -> Learning:
    """The training on MNIST, as far as somebody has trained it."""
    part = network_part(spec)
    return kept.store.make((Learning, part), lambda: Learning(part, state_path(part)))


def state_path(spec: SpikeAndSlabSpec) -> Path:
    """Where its state is kept on disk. The name holds all that it depends on."""
    return sources.trained_path("spike-and-slab", sources.images(spec.data), FORMAT, network_spec(spec), LARGE_FRAMES)


def column(frames: Sequence[Frame], name: str) -> Array:
    """(T,) a field of every frame."""
    return np.array([getattr(frame, name) for frame in frames], dtype=np.float64)


@kept.kept
def trained(settings: NetworkSpec) -> NetworkRun:
    """A training on the bundled digits to its end, unwatched: the same bytes as the frames' last."""
    run = start(settings)
    run.advance(run.total)
    return run


def network_part(spec: SpikeAndSlabSpec) -> SpikeAndSlabSpec:
    """The settings that training depends on; the rest at its default."""
    names = ("data", "units", "weight_prior", "weight_inclusion", "epochs", "seed")
    return SpikeAndSlabSpec(part="network", **{name: getattr(spec, name) for name in names})


class Trained(NamedTuple):
    """A training at its end; seconds : that it took."""

    fit: NetworkFit
    seconds: float


def ended(spec: SpikeAndSlabSpec) -> Trained:
    """The training of the settings at its end. Raises InterruptedError where nobody wants it any more."""
    if not is_large(spec):
        run = trained(network_spec(spec))
        return Trained(run.fit(), run.seconds)
    state = shared(spec).ended()
    return Trained(state.fit, state.seconds)


def fitted(spec: SpikeAndSlabSpec) -> NetworkFit:
    """The fit at the end of training."""
    return ended(spec).fit


def post_epochs(spec: SpikeAndSlabSpec) -> int:
    """Epochs of post-training: half as many as before it."""
    return max(5, spec.epochs // 2)


def post_trained(spec: SpikeAndSlabSpec, mask: str) -> NetworkFit:
    """Training on the bundled digits gone on with the structure fixed."""
    run = trained(network_spec(spec)).post_train(mask, epochs=post_epochs(spec))
    run.advance(run.total)
    return run.fit()


def predicted(fit: NetworkFit, data: Images, mode: str, samples: int = DRAWS, threshold: float = 0.5) -> Prediction:
    """Predictions for the test digits."""
    found = fit.predict(data.x_test, mode, samples=samples, seed=fit.spec.seed, threshold=threshold)
    assert found is not None
    return found


# Checks ---------------------------------------------------------------------------------------------------------------

STEPS, SEEN, FEW_SEEN = 6, 100, 40  # of training, and digits of few and of many pixels, where its gradient is checked
IDLE = 0.002  # by which gates that no data reach may miss their prior at the end of a training
ASTIR = 0.03  # of what they miss it by, that they move between the last two looks if they are still on their way


def audit(spec: SpikeAndSlabSpec, cancel: Any) -> list[Check]:
    """The masks, the KL, and the gradient that trains both."""
    fit, data = fitted(spec), data_of(spec)
    some = FEW_SEEN if is_large(spec) else SEEN
    run = start_network(inputs(data)[:some], data.y[:some], network_spec(spec))
    run.advance(STEPS)
    return [_masks_check(fit), _divergence_check(fit, len(data.y)), training_gradient_check(run, spec.seed)]


def checks(spec: SpikeAndSlabSpec, cancel: Any) -> list[Check]:
    """Has training come to rest? Its posterior cannot be enumerated; on MNIST the answer is known where no data reach."""
    fit = fitted(spec)
    words = WORDS.phrase("checks.posterior_unknown", weights=fit.shape.weights)
    found = [rest_check(fit.history.elbo), unknown(WORDS.phrase("checks.posterior"), words, kind="numbers")]
    return [*found, idle_check(spec, shared(spec).state.looks)] if is_large(spec) else found


def idle_check(spec: SpikeAndSlabSpec, frames: Sequence[Frame]) -> Check:
    """Do the gates that no data reach stand at the prior at the end of a training, where the ELBO has its exact maximum?"""
    idle, name = never_inked(spec), WORDS.phrase("checks.idle")
    if not idle.any():
        return unknown(name, WORDS.phrase("checks.all_inked"), kind="numbers")
    prior = price(network_spec(spec), len(data_of(spec).y))
    before, last = (np.array(frame.idle) for frame in frames[-2:])
    off = float(np.abs(last - prior).max()) + (2.0 * IDLE if is_planted(SHIFTED) else 0.0)
    moved = float(np.abs(last - before).max())
    gates = {"pixels": idle.sum(), "gates": idle.sum() * spec.units}
    sentence = WORDS.phrase("checks.idle_sentence", **gates, prior=prior, mean=last[0], off=off)
    verdict: Verdict = "pass" if off < IDLE else "unknown" if moved > ASTIR * off else "fail"
    if verdict == "unknown":
        sentence = f"{sentence} {WORDS.phrase('checks.on_its_way')}"
    return Check(name, verdict, off, IDLE, sentence, WORDS.phrase("checks.in_alpha"), kind="numbers")


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
        shares = {"used": 100 * found.mean(), "said": 100 * alpha.mean()}
        words = WORDS.phrase("checks.masks_sentence", networks=count, **shares, shares=len(aims))
        z = aims @ (found - alpha) / error
        return looked(number, WORDS.phrase("checks.masks"), z, correlation_of(covariance), words, kind="kernel")

    return two_looks(look)


def price(settings: NetworkSpec, rows: int = DIGITS_TRAIN) -> float:
    """Prior probability of a weight being in, where so many images are learnt from."""
    return settings.inclusion if settings.inclusion_prior == "own" else prior_inclusion(settings.inclusion_prior, rows)


def _divergence_check(fit: NetworkFit, rows: int = DIGITS_TRAIN) -> Check:
    """The KL that training reports against the formula, in double precision."""
    alpha, mean, sd = (np.asarray(values, dtype=np.float64) for values in (fit.posterior.alpha, fit.posterior.mean, fit.posterior.sd))
    spec = fit.spec
    pi = price(spec, rows)
    slab = np.log(spec.prior_sd / sd) + (sd**2 + mean**2) / (2.0 * spec.prior_sd**2) - 0.5
    with np.errstate(divide="ignore", invalid="ignore"):
        inside = np.where(alpha > 0.0, alpha * (np.log(alpha / pi) + slab), 0.0)
        outside = np.where(alpha < 1.0, (1.0 - alpha) * (np.log1p(-alpha) - np.log1p(-pi)), 0.0)
    formula = float((inside + outside).sum())
    off = abs(fit.posterior.kl() - formula) / max(1.0, abs(formula))
    sentence = WORDS.phrase("checks.kl_sentence", found=fit.posterior.kl(), weights=alpha.size, formula=formula)
    verdict: Verdict = "pass" if off < 1e-3 else "fail"
    return Check(WORDS.phrase("checks.kl"), verdict, off, 1e-3, sentence, WORDS.phrase("checks.of_its_size"), kind="kernel")
