"""The network that reads digits: two layers of hidden units and a normal distribution for every weight, trained look by look;
its checks.

That of MNIST is trained once for all who look, and its state is on disk: it grows while somebody looks, and goes on from
there. Where MNIST is not on this machine the bundled digits stand in for it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from datasets.images import Images
from engine import kept, ticket
from engine.judge import Check, Verdict, unknown
from engine.judge.plant import SHIFTED, is_planted
from engine.judge.training import rest_check, training_gradient_check
from engine.variational import NetworkFit, NetworkRun, NetworkSpec, start_network
from lessons.families import watched
from lessons.families.digit_posteriors import sources
from lessons.families.digit_posteriors.training import begun, inputs
from lessons.families.watched import State, Watched
from lessons.weights import training
from lessons.weights.spec import WORDS, WeightsSpec

Array = NDArray[np.float64]

LOOKS = 20  # at a whole training, after the start: a message to the browser holds no more of so many pixels
DRAWS = 10  # networks averaged
TILES = 10  # hidden units whose pixels are shown as images
SHOWN = {"digits": (0, 1, 6, 11, 48, 189), "mnist": (0, 1, 8, 247, 321, 340)}  # test images whose votes are shown
MEANS = np.linspace(-1.5, 1.5, 61)  # edges of the histogram of means, in prior sds; what lies outside counts at the ends
RATIOS = np.geomspace(0.001, 100.0, 51)  # edges of that of |mean| / sd
THRESHOLDS = np.geomspace(0.03, 12.0, 20)  # of |mean| / sd, above which a weight stays
LOST = 0.01  # share of the test images that may be lost where weights are cut
SMALL: dict[str, Any] = {"epochs": 200, "step_size": 0.01, "initial_sd": 0.02}  # on the bundled digits
LARGE: dict[str, Any] = {"epochs": 30, "step_size": 0.003, "initial_sd": 0.02}
FORMAT = 1  # of states on disk: another number leaves the old ones behind


def is_large(spec: WeightsSpec) -> bool:
    """Whether the network learns MNIST, which is here."""
    return spec.problem == "digits" and sources.present(spec.images) == "mnist"


def data_of(spec: WeightsSpec) -> Images:
    """What it learns from and is tested on."""
    return sources.few_tested(spec.images)


def never_inked(spec: WeightsSpec) -> NDArray[np.bool_]:
    """(pixels,) of the images to learn from."""
    return sources.never_inked(sources.images(spec.images))


def shown(spec: WeightsSpec) -> NDArray[np.int64]:
    """Numbers of the test images whose votes are shown."""
    return np.array(SHOWN[sources.present(spec.images)]) % len(data_of(spec).labels_test)


def network_spec(spec: WeightsSpec) -> NetworkSpec:
    """The engine's description of the fit: means are learnt before the noise of the weights has grown."""
    settings = LARGE if is_large(spec) else SMALL
    return NetworkSpec(hidden=(spec.hidden,) * 2, method="gaussian", prior_sd=spec.prior_sd, seed=spec.seed, **settings)


def start(spec: WeightsSpec) -> NetworkRun:
    """Its training before the first step."""
    settings, data = network_spec(spec), data_of(spec)
    return begun(data, settings, often=is_large(spec))


# Looks ----------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Look:
    """The training after some steps.

    epoch : passes through the data so far
    energy, kl : in nats of all training data; NaN before the first report
    single, averaged, middle : share of test images read right by one network, by `DRAWS` networks, by the means of all weights
    means, ratios : (layers, bins) shares of a layer's weights with such a mean, with such a |mean| / sd
    right, kept : (thresholds,) share of test images read right by the means, and of weights kept, where only weights with
        |mean| / sd above each of `THRESHOLDS` stay
    mean, sd : (TILES, side, side) single precision, of the weights from the pixels to the first hidden units
    votes : (images, classes) probability by `DRAWS` networks, of the test images that are shown
    idle : of the weights that leave never inked pixels, in prior sds: the largest |mean|, the least and the largest sd; NaN
        where there are none
    inked : mean sd of the weights that leave the others, in prior sds
    """

    epoch: float
    energy: float
    kl: float
    single: float
    averaged: float
    middle: float
    means: Array
    ratios: Array
    right: Array
    kept: Array
    mean: NDArray[np.float32]
    sd: NDArray[np.float32]
    votes: Array
    idle: tuple[float, float, float]
    inked: float

    @property
    def cut(self) -> int:
        """The highest of `THRESHOLDS`, by number, up to which no more than `LOST` of the test images is lost; -1: not even
        the lowest.
        """
        lost = self.right < self.middle - LOST
        return int(np.argmax(lost)) - 1 if lost.any() else len(lost) - 1


class Learning(Watched[NetworkFit, Look]):
    """A training that everyone in the process shares.

    path : of its state on disk, from which it goes on; None: it has none
    """

    def __init__(self, spec: WeightsSpec, path: Path | None = None):
        run = start(spec)
        look = partial(look_at, data=data_of(spec), idle=never_inked(spec), shown=shown(spec))
        super().__init__(run, watched.bent(run.total, LOOKS), look, path)


def look_at(fit: NetworkFit, step: int, data: Images, idle: NDArray[np.bool_], shown: NDArray[np.int64]) -> Look:
    """What is seen of the training after so many steps."""
    history, sigma, x, y = fit.history, fit.spec.prior_sd, data.x_test, data.y_test
    means, sds, ratios = fit.expected_weights(), fit.shape.split(fit.posterior.sds()), fit.signal_to_noise()
    masks = [[layer > threshold for layer in ratios] for threshold in THRESHOLDS]
    parts: list[Callable[[], Any]] = [
        lambda: [right(fit, x, y, mask) for mask in masks],
        partial(fit.predict, x, "MA", samples=DRAWS, seed=fit.spec.seed),
    ]
    pruned, averaged = ticket.each(lambda part: part(), parts)  # the two that take long
    assert averaged is not None  # nobody stops it
    unreached = (np.abs(means[0][:-1][idle]).max(), sds[0][:-1][idle].min(), sds[0][:-1][idle].max()) if idle.any() else (np.nan,) * 3
    return Look(
        epoch=step / (len(data.y) // min(fit.spec.batch, len(data.y))),
        energy=float(history.energy[-1]) if len(history.step) else np.nan,
        kl=float(fit.posterior.kl()),
        single=float(averaged.draw_accuracies(y)[0]),
        averaged=averaged.accuracy(y),
        middle=right(fit, x, y),
        means=np.stack([_shares(layer / sigma, MEANS) for layer in means]),
        ratios=np.stack([_shares(layer, RATIOS) for layer in ratios]),
        right=np.array(pruned),
        kept=np.array([np.mean(np.concatenate([part.ravel() for part in mask])) for mask in masks]),
        mean=_images(means[0], data.side),
        sd=_images(sds[0], data.side),
        votes=averaged.mean[shown],
        idle=(float(unreached[0]) / sigma, float(unreached[1]) / sigma, float(unreached[2]) / sigma),
        inked=float(sds[0][:-1][~idle].mean(dtype=np.float64)) / sigma,
    )


def right(fit: NetworkFit, x: NDArray[np.float32], y: NDArray[np.int64], masks: Any = None) -> float:
    """Share of the images x with labels y that the means of all weights read right, or of those in `masks`."""
    found = fit.predict(x, "MEAN", masks=masks)
    assert found is not None  # nobody stops it
    return found.accuracy(y)


def _shares(values: NDArray[np.float32], edges: Array) -> Array:
    """Share of the values between two edges each; those outside count at the ends."""
    return np.histogram(np.clip(values, edges[0], edges[-1]), edges)[0] / values.size


def _images(layer: NDArray[np.float32], side: int) -> NDArray[np.float32]:
    """The first hidden units of a first layer (pixels + 1, units) as images of the pixels that lead to them."""
    return layer[:-1, :TILES].T.reshape(-1, side, side).copy()


# Trainings ------------------------------------------------------------------------------------------------------------


def learning(spec: WeightsSpec) -> Learning:
    """The training of these settings, as far as somebody has trained it."""
    alone = trained_alone(spec)
    return kept.store.make((Learning, alone), lambda: Learning(alone, state_path(alone)))


def trained_alone(spec: WeightsSpec) -> WeightsSpec:
    """The settings that training depends on; the rest at its default."""
    names = ("hidden", "prior_sd", "seed")
    return WeightsSpec(problem="digits", images=sources.present(spec.images), **{name: getattr(spec, name) for name in names})


def state_path(spec: WeightsSpec) -> Path | None:
    """Where the state of the training on MNIST is kept on disk. The name holds all that it depends on."""
    if not is_large(spec):
        return None
    return sources.trained_path("weights", sources.images(spec.images), FORMAT, network_spec(spec), LOOKS)


def ended(spec: WeightsSpec) -> State[NetworkFit, Look]:
    """The training at its end. Raises InterruptedError where nobody wants it any more."""
    return learning(spec).ended()


# Checks ---------------------------------------------------------------------------------------------------------------

STEPS, SEEN, FEW_SEEN = 6, 100, 40  # of training, and images of few and of many pixels, where its gradient is checked
IDLE = 0.002  # prior sds by which weights that no data reach may miss their prior at the end of a training
ASTIR = 0.03  # of what they miss it by, that they move between the last two looks if they are still on their way
EXACT = 1e-3  # relative error of the KL: single precision


def audit(spec: WeightsSpec, cancel: Any) -> list[Check]:
    """The KL, and the gradient that trains q."""
    fit, data = ended(spec).fit, data_of(spec)
    some = FEW_SEEN if is_large(spec) else SEEN
    run = start_network(inputs(data)[:some], data.y[:some], network_spec(spec))
    run.advance(STEPS)
    return [divergence_check(spec, fit), training_gradient_check(run, spec.seed)]


def checks(spec: WeightsSpec, cancel: Any) -> list[Check]:
    """Has training come to rest? No exact answer is known, but where no data reach: there it is the prior."""
    state = ended(spec)
    words = WORDS.phrase("checks.many", weights=state.fit.shape.weights)
    found = [rest_check(state.fit.history.elbo), unknown(WORDS.phrase("checks.distance"), words, kind="numbers")]
    return [*found, idle_check(spec, state.looks)]


def idle_check(spec: WeightsSpec, looks: Sequence[Look]) -> Check:
    """Do the weights that no data reach stand at the prior at the end of a training, where the ELBO has its exact maximum?"""
    name, idle = WORDS.phrase("checks.idle"), int(never_inked(spec).sum())
    if not idle:
        return unknown(name, WORDS.phrase("checks.all_inked"), kind="numbers")
    before, last = (np.array(look.idle) for look in looks[-2:])
    off = float(np.abs(last - (0.0, 1.0, 1.0)).max()) + (2.0 * IDLE if is_planted(SHIFTED) else 0.0)
    moved = float(np.abs(last - before).max())
    mean, low, high = last * spec.prior_sd
    told = {"pixels": idle, "weights": idle * spec.hidden, "sd": spec.prior_sd, "mean": mean, "low": low, "high": high, "off": off}
    sentence = WORDS.phrase("checks.idle_at", **told)
    verdict: Verdict = "pass" if off < IDLE else "unknown" if moved > ASTIR * off else "fail"
    if verdict == "unknown":
        sentence = f"{sentence} {WORDS.phrase('checks.idle_moves')}"
    return Check(name, verdict, off, IDLE, sentence, WORDS.phrase("checks.prior_sds"), kind="numbers")


def divergence_check(spec: WeightsSpec, fit: NetworkFit) -> Check:
    """The KL that training reports against the formula, in double precision."""
    mean, sd = (np.asarray(values, dtype=np.float64) for values in (fit.posterior.mean, fit.posterior.sds()))
    formula = training.divergence(spec.replace(prior="normal"), mean, sd, mean)
    off = abs(fit.posterior.kl() - formula) / max(1.0, abs(formula))
    sentence = WORDS.phrase("checks.kl", reported=fit.posterior.kl(), weights=len(mean), formula=formula)
    return Check("KL", "pass" if off < EXACT else "fail", off, EXACT, sentence, WORDS.phrase("checks.of_its_size"), kind="kernel")
