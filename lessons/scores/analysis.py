"""What the networks say of the test digits, six scores of uncertainty, and how good they are."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from datasets.images import Images, digits
from engine import scores, ticket
from engine.kept import kept
from engine.networks.stack import Networks
from engine.scores import Curve, Decomposition, Reliability
from lessons.families.digit_posteriors import sources
from lessons.families.digit_posteriors.shared import Shared, posterior
from lessons.scores.spec import WORDS, ScoresSpec

Array = NDArray[np.float64]
Flags = NDArray[np.bool_]

NETWORKS = sources.NETWORKS  # trained; the settings may ask fewer of them
TESTED = 2000  # images at most: the first of MNIST's 10,000
WATCHED = 500  # of them while the networks still learn
FEW = 25  # networks of the first picture of some that are trained
SHARE = 0.9  # of the wrong predictions that Steyn's cutoff keeps below itself
ALPHA = 0.1  # Steyn's strictness
RESAMPLES = 200
FORECASTERS = 200  # calibrated ones, simulated
MOST_BINS = 30
NAMES = WORDS["options.score"]


# What the networks say ------------------------------------------------------------------------------------------------


class Reading(NamedTuple):
    """What R networks say of the m test digits.

    draws : (R, m, 10) probabilities; parts : their average and its uncertainty; y : (m,) labels
    """

    draws: Array
    parts: Decomposition
    y: NDArray[np.int64]

    @property
    def mean(self) -> Array:
        """(m, 10) averaged probabilities."""
        return self.parts.mean

    @property
    def wrong(self) -> Flags:
        """(m,) whether the average's most probable digit is not the label."""
        return self.mean.argmax(axis=1) != self.y

    @property
    def confidence(self) -> Array:
        """(m,) highest averaged probability."""
        return self.mean.max(axis=1)


def data_of(spec: ScoresSpec) -> Images:
    """The images learnt from, of the bundled ones the first `learnt`; and those to test on: at most `TESTED`."""
    if sources.present(spec.data) == "digits":
        return _first_digits(spec.learnt)
    return _tested(sources.images(spec.data))


def _tested(data: Images) -> Images:
    return data.some(len(data.labels), TESTED)


@kept
def _first_digits(learnt: int) -> Images:
    return digits().some(learnt)


def shared(spec: ScoresSpec, method: str = "") -> Shared:
    """The posterior of the settings, or that of another `method`, trained as far as somebody has trained it."""
    method = method or spec.method
    # all digits together are what the other lessons learn from, too
    if sources.present(spec.data) != "digits" or spec.learnt == len(digits().labels):
        return sources.shared(spec.data, method, spec.seed)
    data = _first_digits(spec.learnt)
    return posterior(f"digits {spec.learnt}", data, sources.recipe(data, method, spec.seed))


def read(spec: ScoresSpec, method: str = "", stop: Callable[[], bool] | None = None) -> Reading | None:
    """What the trained networks say of the test digits; None when stopped."""
    networks = shared(spec, method).finish(stop)
    return None if networks is None else _read(networks, sources.present(spec.data), spec.networks)


def is_read(spec: ScoresSpec) -> bool:
    """Whether `read` of trained networks would have nothing to work out."""
    return _read.peek(shared(spec).networks(), sources.present(spec.data), spec.networks) is not None


@kept
def _read(networks: Networks, data: str, number: int) -> Reading:
    return look(ScoresSpec(data=data, networks=number), networks)


def look(spec: ScoresSpec, networks: Networks, most: int | None = None) -> Reading:
    """What the first of the networks say of the test digits, or of `most` of them."""
    data = data_of(spec).some(1, most)
    found = Networks(tuple(layer[: spec.networks] for layer in networks.layers), networks.activation).predict(data.x_test, ticket.stopped)
    if found is None:
        raise InterruptedError
    draws = found.astype(np.float64)
    draws /= draws.sum(axis=2, keepdims=True)  # float32 adds up to 1 only nearly
    return Reading(draws, scores.decompose(draws), data.y_test)


# Scores ---------------------------------------------------------------------------------------------------------------


def values(reading: Reading, name: str, known: Flags | None = None) -> Array:
    """(m,) the score called `name`, high where uncertain. `known` (m,): images whose labels may be looked at (all)."""
    draws, parts = reading.draws, reading.parts
    if name in ("total", "epistemic"):
        return getattr(parts, name)
    if name == "confidence":
        return 1.0 - reading.confidence
    if len(draws) < 2:  # an ensemble of which only one member has been trained
        return np.zeros(len(reading.y))
    if name == "ga":
        return scores.gaussian_approximation(draws, cutoff(reading, known))
    return scores.predicted_sd(draws) if name == "sd" else scores.inconsistency(draws)


def cutoff(reading: Reading, known: Flags | None = None) -> float:
    """Steyn's cutoff ε of the votes, found on the labels of the images in `known`; half of the votes where all of those
    are read right, which ranks the images in the same way.
    """
    some = np.ones(len(reading.y), bool) if known is None else known
    if not reading.wrong[some].any():
        return 0.5 * (len(reading.draws) - 1)
    return scores.agreement_cutoff(reading.draws[:, some], reading.y[some], SHARE)


def curve(spec: ScoresSpec, score: Array, wrong: Flags) -> Curve:
    """γ(α), or what becomes of it where images of the same score are put in a lucky order."""
    return ordered_curve(score, wrong) if spec.variant == "ties" else scores.gamma_curve(score, wrong)


def ordered_curve(score: Array, wrong: Flags) -> Curve:
    """γ(α) image by image, the right ones first where scores are equal: wrong on purpose."""
    bad = wrong[np.lexsort((wrong, score))]
    start = np.zeros(1)
    return Curve(np.concatenate([start, np.cumsum(bad) / bad.sum()]), np.concatenate([start, np.cumsum(~bad) / (~bad).sum()]))


class Ranked(NamedTuple):
    """Areas under the ROC curve of several scores on the same images (DeLong et al. 1988).

    area : (S,); covariance : (S, S) of their errors, from one set of test images to another
    """

    area: Array
    covariance: Array

    def error(self, score: int, other: int | None = None) -> float:
        """Standard error of an area, or of the difference of two."""
        c = self.covariance
        variance = c[score, score] if other is None else c[score, score] + c[other, other] - 2.0 * c[score, other]
        return float(np.sqrt(max(variance, 0.0)))


def ranked(columns: Sequence[Array], wrong: Flags) -> Ranked:
    """The AUROC of each score for finding `wrong`, and how far chance moves them."""
    from scipy.stats import rankdata  # slow to import

    bad, good = int(wrong.sum()), int((~wrong).sum())
    by_bad, by_good = [], []
    for score in ticket.looking(columns):
        together = rankdata(score)
        by_bad.append((together[wrong] - rankdata(score[wrong])) / good)
        by_good.append(1.0 - (together[~wrong] - rankdata(score[~wrong])) / bad)
    # with one wrong image there is no spread to learn from: NaN, not 0
    spread = [np.atleast_2d(np.cov(rows)) if len(rows[0]) > 1 else np.nan for rows in (by_bad, by_good)]
    covariance = np.atleast_2d(spread[0] / bad + spread[1] / good)
    return Ranked(np.mean(by_bad, axis=1), np.broadcast_to(covariance, (len(columns), len(columns))))


def gamma_band(score: Array, wrong: Flags, at: Array, seed: int, level: float = 0.9) -> tuple[Array, Array]:
    """(len(at),) twice: the band that holds γ at strictness `at` in a share `level` of resamples of the images, right
    and wrong ones apart, point by point.
    """
    rng = np.random.Generator(np.random.SFC64(seed))
    bad, good = np.sort(score[wrong]), np.sort(score[~wrong])
    heights = np.empty((RESAMPLES, len(at)))
    for row in ticket.looking(range(RESAMPLES)):
        some = np.concatenate([rng.choice(bad, len(bad)), rng.choice(good, len(good))])
        found = scores.gamma_curve(some, np.arange(len(some)) < len(bad))
        heights[row] = found.heights(at)
    low, high = np.quantile(heights, [0.5 - level / 2, 0.5 + level / 2], axis=0)
    return low, high


def share_error(share: Any, count: Any) -> Any:
    """Standard error of a share of `count` images, by Agresti and Coull: not 0 where none or all were counted."""
    share, count = np.asarray(share, dtype=np.float64), np.asarray(count, dtype=np.float64)
    nudged = (share * count + 2.0) / (count + 4.0)
    return np.sqrt(nudged * (1.0 - nudged) / (count + 4.0))


def mean_told(each: Array) -> str:
    """The mean of a score over images (m,), and its standard error."""
    return f"{each.mean():.3f} ± {each.std(ddof=1) / np.sqrt(len(each)):.3f}"


# Probabilities --------------------------------------------------------------------------------------------------------


def calibration(spec: ScoresSpec, p: Array, y: NDArray[np.int64], bins: int) -> Reliability:
    """The reliability diagram; with the mistake, binned by the probability of the true class."""
    if spec.variant != "true_class":
        return scores.reliability(p, y, bins)
    # the label picks the probability, and then is asked whether it was right
    given = p[np.arange(len(y)), y]
    right = (p.argmax(axis=1) == y).astype(np.float64)
    edges = np.linspace(0.0, 1.0, bins + 1)
    which = np.clip(np.searchsorted(edges, given, side="left") - 1, 0, bins - 1)
    held = np.bincount(which, minlength=bins)
    with np.errstate(invalid="ignore"):
        return Reliability(edges, held, np.bincount(which, given, bins) / held, np.bincount(which, right, bins) / held)


class Chance(NamedTuple):
    """What the reliability diagram of a calibrated forecaster looks like on so few images.

    low, high : (bins,) of the accuracy in a bin, 90 % between; NaN where a bin is empty
    errors : (FORECASTERS,) expected calibration errors
    """

    low: Array
    high: Array
    errors: Array


def forecasters(confidence: Array, seed: int, number: int = FORECASTERS) -> Flags:
    """(number, m) whether each of so many is right: with these confidences, exactly as often as they say."""
    return np.random.Generator(np.random.SFC64(seed)).random((number, len(confidence))) < confidence


def chance(confidence: Array, right: Flags, bins: int) -> Chance:
    """The diagrams of calibrated forecasters, `right` from `forecasters`."""
    edges = np.linspace(0.0, 1.0, bins + 1)
    which = np.clip(np.searchsorted(edges, confidence, side="left") - 1, 0, bins - 1)
    inside = (which[:, None] == np.arange(bins)).astype(np.float32)
    held = inside.sum(axis=0)
    hits = right.astype(np.float32) @ inside
    gaps = np.abs(hits - confidence.astype(np.float32) @ inside)
    ordered = np.sort(hits, axis=0)
    with np.errstate(invalid="ignore"):
        low, high = (ordered[round(at * (len(right) - 1))] / held for at in (0.05, 0.95))
    return Chance(low, high, gaps.sum(axis=1, dtype=np.float64) / len(confidence))


def averaged(reading: Reading, number: int) -> Array:
    """(m, 10) average of the first `number` networks."""
    return reading.draws[:number].mean(axis=0)


# The game -------------------------------------------------------------------------------------------------------------


def halves(split: int, number: int) -> tuple[Flags, Flags]:
    """(m,) twice: the test images to choose a threshold on, and those to judge it on."""
    order = np.random.Generator(np.random.SFC64(split)).permutation(number)
    first = np.zeros(number, bool)
    first[order[: number // 2]] = True
    return first, ~first


class Play(NamedTuple):
    """A threshold on the score: images at or below are answered.

    answered, errors : of `of` images; cost : a mean, an error counting 1; deviation : of the cost of one image
    """

    threshold: float
    answered: int
    errors: int
    of: int
    cost: float
    deviation: float

    @property
    def error(self) -> float:
        """Standard error of the cost."""
        return self.deviation / float(np.sqrt(self.of))


def play(score: Array, wrong: Flags, threshold: float, abstain_cost: float) -> Play:
    """What answering up to `threshold` costs on these images."""
    given = score <= threshold
    each = np.where(given, wrong.astype(np.float64), abstain_cost)
    return Play(float(threshold), int(given.sum()), int((given & wrong).sum()), len(score), float(each.mean()), float(each.std(ddof=1)))


def best(score: Array, wrong: Flags, abstain_cost: float) -> float:
    """The threshold that costs least on these images; of several the lowest."""
    found = scores.risk_coverage(score, wrong)
    return float(found.threshold[scores.abstain_costs(score, wrong, 1.0, abstain_cost).argmin()])


def chosen(score: Array, answered: int) -> float:
    """The reader's threshold: as many per cent of the images are answered, more where scores are equal."""
    count = int(np.ceil(answered / 100.0 * len(score) - 1e-9))
    return float(np.sort(score)[count - 1]) if count else -np.inf


def chow(spec: ScoresSpec) -> float | None:
    """Chow's threshold on 1 − confidence, right if the probabilities are: refuse where an error is likelier than the
    price. None for other scores.
    """
    return spec.abstain_cost if spec.score == "confidence" else None


class Game(NamedTuple):
    """Costs of one score on the two halves, the threshold chosen on the first."""

    first: Play
    second: Play


def game(spec: ScoresSpec, reading: Reading, name: str = "", split: int | None = None) -> Game:
    """The least costly threshold of the first half, on either half."""
    name = name or spec.score
    first, second = halves(spec.split if split is None else split, len(reading.y))
    score, wrong = values(reading, name, first), reading.wrong
    at = best(score[first], wrong[first], spec.abstain_cost)
    return Game(*(play(score[half], wrong[half], at, spec.abstain_cost) for half in (first, second)))
