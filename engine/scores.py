"""How uncertain a prediction is, and whether that uncertainty can be trusted.

Inputs are class probabilities p(y | x, w) of R networks w drawn from a posterior, at m inputs: `draws` (R, m, classes).
Entropies are in nats.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from engine.spec import SpecError

Array = NDArray[np.float64]
Flags = NDArray[np.bool_]

TINY = 1e-300  # the smallest probability whose logarithm is taken


# Uncertainty of a prediction ------------------------------------------------------------------------------------------


def entropy(p: ArrayLike) -> Array:
    """(...,) entropy -Σ p log p of probabilities p (..., classes), with 0 log 0 = 0."""
    p = np.asarray(p, dtype=np.float64)
    each = np.asarray(np.maximum(p, TINY))  # and from here in place: of many networks these arrays are large
    np.log(each, out=each)
    each *= p
    return 0.0 - each.sum(axis=-1)  # 0 - removes the sign of a zero


def binary_entropy(p: ArrayLike) -> Array:
    """(...,) entropy of a label that is 1 with probability p (...,)."""
    p = np.asarray(p, dtype=np.float64)
    return entropy(np.stack([p, 1.0 - p], axis=-1))


class Decomposition(NamedTuple):
    """Uncertainty in parts (Depeweg et al. 2018, equation 1).

    mean : (m, classes) averaged probabilities
    total : (m,) entropy of the average
    aleatoric : (m,) average of the entropies: what stays with more data
    epistemic : (m,) total - aleatoric, the mutual information of label and network: what the networks disagree about
    """

    mean: Array
    total: Array
    aleatoric: Array
    epistemic: Array


def decompose(draws: ArrayLike) -> Decomposition:
    """The parts of the uncertainty of `draws` (R, m, classes). Epistemic is never negative: rounding is cut off."""
    p = _draws(draws)
    mean = p.mean(axis=0)
    total, aleatoric = entropy(mean), entropy(p).mean(axis=0)
    epistemic = np.maximum(total - aleatoric, 0.0)
    return Decomposition(mean, total, total - epistemic, epistemic)


def predictive_sd(draws: ArrayLike) -> Array:
    """(m, classes) standard deviation over the draws of each class's probability (Steyn 2018, eq. 7.1, with the square
    and the root that the print leaves out). Raises SpecError for a single draw.
    """
    p = _draws(draws)
    if len(p) < 2:
        raise SpecError("draws", "one network has no spread: at least 2 are needed")
    return p.std(axis=0, ddof=1)


def predicted_sd(draws: ArrayLike) -> Array:
    """(m,) `predictive_sd` of the class predicted by the average."""
    p = _draws(draws)
    return np.take_along_axis(predictive_sd(p), p.mean(axis=0).argmax(axis=1)[:, None], axis=1)[:, 0]


def votes(draws: ArrayLike) -> NDArray[np.int64]:
    """(m, classes) how many networks find each class the most probable one."""
    p = _draws(draws)
    chosen = p.argmax(axis=2)
    return np.stack([(chosen == label).sum(axis=0) for label in range(p.shape[2])], axis=1)


def inconsistency(draws: ArrayLike) -> Array:
    """(m,) 1 - C/K: share of the K networks that vote otherwise than the largest group, of C (Steyn 2018, section
    7.2.1).
    """
    counted = votes(draws)
    return 1.0 - counted.max(axis=1) / counted.sum(axis=1)


def gaussian_approximation(draws: ArrayLike, cutoff: float) -> Array:
    """(m,) P(G < cutoff) for G ~ N((K-1) p, (K-1) p (1-p)), p = (C-1)/(K-1) (Steyn 2018, section 7.2.1, "GA
    uncertainty").

    C of the K networks vote for the most voted class; where p is 0 or 1, G is a point. It falls strictly as p grows for
    every cutoff in (0, K-1), so that it ranks images as `inconsistency` does. Raises SpecError for one draw.
    """
    return approximation_of_votes(votes(draws), cutoff)


def approximation_of_votes(counted: NDArray[np.int64], cutoff: float) -> Array:
    """(m,) `gaussian_approximation` from the `votes` (m, classes)."""
    from scipy.special import ndtr

    others = counted.sum(axis=1) - 1.0
    if (others < 1).any():
        raise SpecError("draws", "one network has no spread: at least 2 are needed")
    agree = counted.max(axis=1) - 1.0
    p = agree / others
    sd = np.sqrt(others * p * (1.0 - p))
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(sd > 0.0, ndtr((cutoff - agree) / sd), (agree < cutoff).astype(np.float64))


def rank_among(values: ArrayLike, members: ArrayLike) -> Array:
    """(m,) share of the R `members` (R, m) below each of the `values` (m,); equal ones count half. 0 is below all of them,
    1 above all, and a further draw of what the members are drawn from has every rank with the same probability.
    """
    value, others = np.asarray(values, dtype=np.float64), np.asarray(members, dtype=np.float64)
    return np.asarray((others < value).mean(axis=0) + 0.5 * (others == value).mean(axis=0))


def agreement_cutoff(draws: ArrayLike, y: ArrayLike, share: float = 0.9) -> float:
    """The smallest whole cutoff that at least `share` of the wrongly predicted images stay below with their C - 1. It
    is Steyn's choice for `gaussian_approximation`, and it looks at the labels of the test images. Raises SpecError
    where no prediction is wrong.
    """
    p = _draws(draws)
    return cutoff_of_votes(votes(p), _wrong(p.mean(axis=0), y), share)


def cutoff_of_votes(counted: NDArray[np.int64], wrong: Flags, share: float = 0.9) -> float:
    """`agreement_cutoff` from the `votes` (m, classes) and which predictions are wrong (m,)."""
    if not wrong.any():
        raise SpecError("labels", "no prediction is wrong: there is no cutoff to find")
    agree = np.sort(counted.max(axis=1)[wrong] - 1)
    return float(agree[min(int(np.ceil(share * len(agree))), len(agree)) - 1] + 1)


# Does a score find the errors? ----------------------------------------------------------------------------------------


class Curve(NamedTuple):
    """Steyn's γ(α), or an ROC curve: points in rising order from (0, 0) to (1, 1), joined by straight lines."""

    x: Array
    y: Array

    @property
    def area(self) -> float:
        """Area below."""
        return float(np.trapezoid(self.y, self.x))

    def at(self, x: float) -> float:
        """The height at `x`; on an upright piece its upper end."""
        return float(self.heights([x])[0])

    def heights(self, x: ArrayLike) -> Array:
        """`at` each of several."""
        places = np.asarray(x, dtype=np.float64)
        here = np.searchsorted(self.x, places, side="right") - 1
        after = np.minimum(here + 1, len(self.x) - 1)
        width = self.x[after] - self.x[here]
        share = np.divide(places - self.x[here], width, out=np.zeros_like(places), where=width > 0.0)
        return np.asarray(self.y[here] + share * (self.y[after] - self.y[here]))


def gamma_curve(scores: ArrayLike, wrong: ArrayLike) -> Curve:
    """γ(α) (Steyn 2018, section 7.2.1): for each cut 𝒦, α = share of the wrong predictions with a score below 𝒦, and
    γ = share of the correct ones with a score below 𝒦.

    It is the ROC curve of "this prediction is wrong" turned about: α = 1 - true positive rate, γ = 1 - false positive
    rate. So its area is the AUROC, and a useless score gives the diagonal. Tied scores make a slanted piece.
    Raises SpecError unless there are right and wrong predictions.
    """
    values, bad = _scored(scores, wrong)
    cuts = np.unique(values)
    below_bad = np.searchsorted(np.sort(values[bad]), cuts, side="right") / bad.sum()
    below_good = np.searchsorted(np.sort(values[~bad]), cuts, side="right") / (~bad).sum()
    return Curve(np.concatenate([[0.0], below_bad]), np.concatenate([[0.0], below_good]))


def gamma(scores: ArrayLike, wrong: ArrayLike, alpha: float = 0.1) -> float:
    """γ at strictness α: the share of correct predictions less uncertain than all but α of the wrong ones."""
    if not 0.0 <= alpha <= 1.0:
        raise SpecError("alpha", f"{alpha} is outside 0 to 1")
    return gamma_curve(scores, wrong).at(alpha)


def roc_curve(scores: ArrayLike, positive: ArrayLike) -> Curve:
    """False positive rate against true positive rate, with high scores called positive. Raises SpecError unless there
    are positive and negative cases.
    """
    turned = gamma_curve(scores, positive)
    return Curve(1.0 - turned.y[::-1], 1.0 - turned.x[::-1])


def auroc(scores: ArrayLike, positive: ArrayLike) -> float:
    """Probability that a positive case scores higher than a negative one, ties counted half: area under `roc_curve`."""
    return roc_curve(scores, positive).area


def wins(negative: Array, positive: Array) -> Array:
    """(m, n) 1 where a positive case (m,) scores higher than a negative one (n,), one half where they tie: its mean is
    the AUROC.
    """
    return (positive[:, None] > negative) + 0.5 * (positive[:, None] == negative)


def running_auroc(negative: Array, positive: Array) -> Array:
    """(T,) AUROC of the first 1, 2, ... T cases of each kind."""
    count = np.arange(1, len(negative) + 1)
    return np.diagonal(wins(negative, positive).cumsum(axis=0).cumsum(axis=1)) / count**2


def hanley_mcneil(area: Array, positives: Array | NDArray[np.int64], negatives: Array | NDArray[np.int64]) -> Array:
    """Standard error of an AUROC (Hanley and McNeil 1982, equation 1), cases taken as independent."""
    q1, q2 = area / (2.0 - area), 2.0 * area**2 / (1.0 + area)
    pairs = area * (1 - area) + (positives - 1) * (q1 - area**2) + (negatives - 1) * (q2 - area**2)
    return np.sqrt(np.maximum(pairs, 0.0) / (positives * negatives))


# Is a prediction right, and are its probabilities? --------------------------------------------------------------------


def top_accuracy(p: ArrayLike, y: ArrayLike, k: int = 1) -> float:
    """Share of labels y (m,) among the k most probable classes of p (m, classes) (Berezowski 2021, table 7.2). Among
    equal probabilities the lower class goes first.
    """
    p, y = _predicted(p, y)
    if not 1 <= k <= p.shape[1]:
        raise SpecError("k", f"{k} is outside 1 to {p.shape[1]}")
    best = np.argsort(-p, axis=1, kind="stable")[:, :k]
    return float((best == y[:, None]).any(axis=1).mean())


class Performance(NamedTuple):
    """Of each of n states: points right in %, and mean -log p of their classes in nats a point; both (n,)."""

    right: Array
    loss: Array

    def at(self, which: NDArray[np.int64]) -> Performance:
        """Of the states numbered `which`."""
        return Performance(self.right[which], self.loss[which])


def performance(p: Array, y: NDArray[np.int64]) -> Performance:
    """Of probabilities p (n, m) of class 1 at m points of the classes y (m,), 0 or 1."""
    return Performance(100.0 * ((p > 0.5) == y).mean(axis=1), -np.log(np.maximum(np.where(y == 1, p, 1.0 - p), TINY)).mean(axis=1))


class Sums:
    """Running means over the states that count; before the first of them, the present state alone."""

    def __init__(self) -> None:
        self.total: Array | float = 0.0
        self.count = 0

    def running(self, values: Array, kept: NDArray[np.bool_]) -> tuple[Array, NDArray[np.int64]]:
        """The mean after each of the new `values` (n, columns), and over how many states it is taken."""
        counts = self.count + np.cumsum(kept)
        rows = np.where(kept[:, None], values, 0.0)
        # One sum after the other, from the last total on: the same bytes however the states come in pieces.
        totals = np.cumsum(np.concatenate([np.broadcast_to(self.total, (1, rows.shape[1])), rows]), axis=0)[1:]
        self.total, self.count = totals[-1], int(counts[-1])
        alone = counts == 0
        means = np.where(alone[:, None], values, totals / np.maximum(counts, 1)[:, None])
        return means, np.where(alone, 1, counts)


class PrecisionRecall(NamedTuple):
    """At one confidence threshold; NaN where nothing is counted."""

    precision: float
    recall: float
    answered: float


def precision_recall(p: ArrayLike, y: ArrayLike, threshold: float) -> PrecisionRecall:
    """With only those predictions given whose highest probability is at least `threshold` (Berezowski 2021,
    section 7.1.1): precision is the share of them that are right, recall the share of all right predictions that are
    among them.
    """
    p, y = _predicted(p, y)
    right, given = p.argmax(axis=1) == y, p.max(axis=1) >= threshold
    both = float((right & given).sum())
    return PrecisionRecall(
        both / given.sum() if given.any() else np.nan, both / right.sum() if right.any() else np.nan, float(given.mean())
    )


def confusion(p: ArrayLike, y: ArrayLike) -> NDArray[np.int64]:
    """(classes, classes) how often label i (row) was predicted as j (column)."""
    p, y = _predicted(p, y)
    classes = p.shape[1]
    return np.bincount(classes * y + p.argmax(axis=1), minlength=classes**2).reshape(classes, classes)


class Reliability(NamedTuple):
    """A reliability diagram of the highest probability.

    edges : (bins + 1,) of confidence
    held : (bins,) predictions in each bin
    confidence, accuracy : (bins,) mean of each; NaN where a bin is empty
    """

    edges: Array
    held: NDArray[np.int64]
    confidence: Array
    accuracy: Array

    @property
    def error(self) -> float:
        """Expected calibration error: mean gap of accuracy and confidence (Guo et al. 2017, equation 3)."""
        some = self.held > 0
        gaps = np.abs(self.accuracy[some] - self.confidence[some])
        return float(np.sum(self.held[some] * gaps) / self.held.sum())


def reliability(p: ArrayLike, y: ArrayLike, bins: int = 10) -> Reliability:
    """Confidence against accuracy in `bins` equal bins (low, high] of the highest probability."""
    p, y = _predicted(p, y)
    if bins < 1:
        raise SpecError("bins", f"{bins} is less than 1")
    edges = np.linspace(0.0, 1.0, bins + 1)
    confidence, right = p.max(axis=1), p.argmax(axis=1) == y
    which = np.clip(np.searchsorted(edges, confidence, side="left") - 1, 0, bins - 1)
    count = np.bincount(which, minlength=bins)
    with np.errstate(invalid="ignore"):
        mean = np.bincount(which, confidence, bins) / count
        hit = np.bincount(which, right.astype(np.float64), bins) / count
    return Reliability(edges, count, mean, hit)


def calibration_error(p: ArrayLike, y: ArrayLike, bins: int = 10) -> float:
    """Expected calibration error of the highest probability."""
    return reliability(p, y, bins).error


def brier_scores(p: ArrayLike, y: ArrayLike) -> Array:
    """(m,) Σ over classes of (probability - truth)²: 0 at best, 2 at worst (Brier 1950)."""
    p, y = _predicted(p, y)
    return np.sum((p - np.eye(p.shape[1])[y]) ** 2, axis=1)


def log_scores(p: ArrayLike, y: ArrayLike) -> Array:
    """(m,) -log of the probability given to the truth, in nats; at most 690, where the probability is 0."""
    p, y = _predicted(p, y)
    return -np.log(np.maximum(p[np.arange(len(y)), y], TINY))


# May a prediction be refused? -----------------------------------------------------------------------------------------


class RiskCoverage(NamedTuple):
    """Answering only the least uncertain.

    threshold : (T,) answers are given at a score of at most this, rising; -inf first: none
    coverage : (T,) share answered
    risk : (T,) share of the answers that are wrong; 0 where none is given
    """

    threshold: Array
    coverage: Array
    risk: Array


def risk_coverage(scores: ArrayLike, wrong: ArrayLike) -> RiskCoverage:
    """Risk against coverage as the threshold on the score rises (El-Yaniv and Wiener 2010)."""
    values, bad = _pair(scores, wrong)
    cuts = np.concatenate([[-np.inf], np.unique(values)])
    given = np.searchsorted(np.sort(values), cuts, side="right")
    missed = np.searchsorted(np.sort(values[bad]), cuts, side="right")
    return RiskCoverage(cuts, given / len(values), missed / np.maximum(given, 1))


def abstain_costs(scores: ArrayLike, wrong: ArrayLike, error_cost: float = 1.0, abstain_cost: float = 0.1) -> Array:
    """(T,) mean cost of a case at each threshold of `risk_coverage`: so much for a wrong answer, so much for none."""
    curve = risk_coverage(scores, wrong)
    return curve.coverage * curve.risk * error_cost + (1.0 - curve.coverage) * abstain_cost


# Checks of the arguments ----------------------------------------------------------------------------------------------


def _draws(draws: ArrayLike) -> Array:
    p = np.asarray(draws, dtype=np.float64)
    if p.ndim != 3 or 0 in p.shape:
        raise SpecError("draws", f"their shape is {p.shape}, not (networks, images, classes)")
    return p


def _predicted(p: ArrayLike, y: ArrayLike) -> tuple[Array, NDArray[np.int64]]:
    p, y = np.asarray(p, dtype=np.float64), np.asarray(y).reshape(-1)
    if p.ndim != 2 or 0 in p.shape:
        raise SpecError("probabilities", f"their shape is {p.shape}, not (images, classes)")
    if len(y) != len(p):
        raise SpecError("labels", f"there are {len(y)} for {len(p)} predictions")
    if y.min() < 0 or y.max() >= p.shape[1]:
        raise SpecError("labels", f"one is outside 0 to {p.shape[1] - 1}")
    return p, y.astype(np.int64)


def _wrong(p: Array, y: ArrayLike) -> Flags:
    p, labels = _predicted(p, y)
    return p.argmax(axis=1) != labels


def _pair(scores: ArrayLike, wrong: ArrayLike) -> tuple[Array, Flags]:
    values, bad = np.asarray(scores, dtype=np.float64).reshape(-1), np.asarray(wrong, dtype=bool).reshape(-1)
    if len(values) != len(bad) or not len(values):
        raise SpecError("scores", f"there are {len(values)} for {len(bad)} predictions")
    if np.isnan(values).any():
        raise SpecError("scores", "one is not a number")
    return values, bad


def _scored(scores: ArrayLike, wrong: ArrayLike) -> tuple[Array, Flags]:
    values, bad = _pair(scores, wrong)
    if not bad.any() or bad.all():
        raise SpecError("scores", "both right and wrong predictions are needed")
    return values, bad
