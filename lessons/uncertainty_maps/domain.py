"""In and out of domain: test images beside images that are no digits, and how well the uncertainty tells them apart."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from datasets import local, remote, transforms
from datasets.images import overlap
from engine import scores
from engine.judge import Check, Verdict
from engine.kept import kept
from engine.networks.stack import Networks
from engine.scores import Decomposition, wins
from engine.spec import SpecError
from lessons.families.digit_posteriors import sources
from lessons.families.digit_posteriors.checks import training_check
from lessons.uncertainty_maps import analysis, letters
from lessons.uncertainty_maps.analysis import Array, Stack
from lessons.uncertainty_maps.spec import TESTS, WORDS, MapsSpec

SHOWN = 100  # images of each kind on the stage
BEGINNING = 8  # of them, while the other letters are drawn
RESAMPLES = 400
SAME = 1e-9  # what rounding may do to an AUROC
PARTS = ("total", "aleatoric", "epistemic")


# Images ---------------------------------------------------------------------------------------------------------------


class Outside(NamedTuple):
    """Images (m, side, side) that are no digits, what each goes back to (m,): resampled together; and its name (m,)."""

    images: Stack
    source: NDArray[np.int64]
    names: list[str]


def outside(spec: MapsSpec) -> Outside:
    """What is out of domain. Fashion-MNIST is downloaded at the first call; raises SpecError where that fails."""
    images, y = analysis.tests(spec)
    if spec.outside == "letters":
        return _named(*letters.population(spec.drawing, images.shape[1], spec.seed))
    if spec.outside == "fashion":
        found, kinds_of = _fashion(images.shape[1])
        return Outside(found, np.arange(len(found)), kinds_of)
    changed = transforms.invert(images) if spec.outside == "inverted" else transforms.shuffle(images, spec.seed)
    names = {label: WORDS.phrase(f"stage.{spec.outside}", label=label) for label in np.unique(y)}
    return Outside(changed, np.arange(len(images)), [names[label] for label in y])


def beginning(spec: MapsSpec) -> Outside | None:
    """The first `BEGINNING` of them where they are letters that are not drawn yet."""
    about = spec.drawing, analysis.tests(spec)[0].shape[1], spec.seed
    if spec.outside != "letters" or letters.population.peek(*about) is not None:
        return None
    return _named(*letters.beginning(*about, BEGINNING))


def _named(drawn: Stack, source: NDArray[np.int64], kinds: tuple[str, ...]) -> Outside:
    return Outside(drawn, source, [kinds[kind] or WORDS.phrase("stage.your_drawing") for kind in source])


@kept
def _fashion(side: int) -> tuple[Stack, list[str]]:
    """The first test images of Fashion-MNIST; for 8 × 8 ink is counted over blocks of 4 × 4, as the bundled digits' was."""
    try:
        data = local.images("fashion") if local.here("fashion") else remote.download("fashion")
    except SpecError as error:
        reason = error.reason.partition(". ")[0]
        raise SpecError("outside", f"{reason}. Choose letters, ink for paper or shuffled pixels") from error
    images = data.images_test[:TESTS].astype(np.float32) / np.float32(data.top)
    names = [data.card.classes[label] for label in data.y_test[:TESTS]]
    if side == images.shape[1]:
        return images, names
    wide = np.pad(images, ((0, 0), (2, 2), (2, 2)))
    return wide.reshape(-1, side, 4, side, 4).mean(axis=(2, 4)).astype(np.float32), names


# Reading --------------------------------------------------------------------------------------------------------------


class Both(NamedTuple):
    """Test images (n) and images from outside (m), read by the same networks.

    inside_draws, outside_draws : (R, n, classes) and (R, m, classes)
    inside, outside : their uncertainty in parts
    paired : image i outside is made of test image i
    source : (m,) what each image outside goes back to
    """

    inside_draws: Array
    outside_draws: Array
    inside: Decomposition
    outside: Decomposition
    paired: bool
    source: NDArray[np.int64]


def read(spec: MapsSpec, networks: Networks, stop: Callable[[], bool] | None = None) -> Both | None:
    """All test images and all images from outside; None when stopped."""
    return read_of(spec, networks, analysis.tests(spec)[0], outside(spec), stop)


def read_of(spec: MapsSpec, networks: Networks, images: Stack, strange: Outside, stop: Callable[[], bool] | None = None) -> Both | None:
    """These test images and these from outside; None when stopped."""
    within = analysis.probabilities(networks, images, stop)
    beyond = None if within is None else analysis.probabilities(networks, strange.images, stop)
    if within is None or beyond is None:
        return None
    paired = spec.outside in ("inverted", "shuffled")
    return Both(within, beyond, analysis.parts(spec, within), analysis.parts(spec, beyond), paired, strange.source)


class Area(NamedTuple):
    """An AUROC with its bootstrap standard error."""

    value: float
    error: float


def area(both: Both, part: str) -> Area:
    """AUROC of one part of the uncertainty as the score of "this is out of domain".

    The error is that of the bootstrap over images: what goes back to the same image or drawing is drawn together. Where
    all go back to one drawing, its variations are.
    """
    won = wins(getattr(both.inside, part), getattr(both.outside, part))
    beyond, within = won.shape
    rng = np.random.Generator(np.random.SFC64(1))
    inner = rng.multinomial(within, np.full(within, 1.0 / within), size=RESAMPLES).astype(np.float64)
    source = both.source if both.source.any() else np.arange(beyond)
    if both.paired:
        outer = inner
    else:
        sources = int(source.max()) + 1
        outer = rng.multinomial(sources, np.full(sources, 1.0 / sources), size=RESAMPLES)[:, source].astype(np.float64)
    again = ((outer @ won) * inner).sum(axis=1) / (outer.sum(axis=1) * within)
    return Area(float(won.mean()), float(again.std(ddof=1)))


# Checks ---------------------------------------------------------------------------------------------------------------


def audit(spec: MapsSpec, cancel: Any) -> list[Check]:
    """The gradient that trains the networks; and of these very images: the parts, the AUROC, what was learnt from."""
    both = _both(spec, cancel)
    if both is None:
        return []
    draws = np.concatenate([both.inside_draws, both.outside_draws], axis=1)
    shown = Decomposition(*(np.concatenate(pair) for pair in zip(both.inside, both.outside, strict=True)))
    return [
        *training_check(sources.images(spec.data), analysis.recipe(spec), cancel),
        analysis.parts_check(draws, shown),
        auroc_check(both),
        unseen_check(spec),
    ]


def checks(spec: MapsSpec, cancel: Any) -> list[Check]:
    """Has the training come to rest, or do the chains agree on the test images?"""
    both = _both(spec, cancel)
    return [] if both is None else analysis.run_checks(spec, both.inside_draws)


def _both(spec: MapsSpec, cancel: Any) -> Both | None:
    networks = analysis.trained(spec, stop=cancel.is_set)
    return None if networks is None else read(spec, networks, cancel.is_set)


def auroc_check(both: Both) -> Check:
    """The AUROC of every part by counting pairs, by this project's ROC curve, by scikit-learn and by ranks."""
    from scipy.stats import mannwhitneyu
    from sklearn.metrics import roc_auc_score

    off = 0.0
    for part in PARTS:
        within, beyond = getattr(both.inside, part), getattr(both.outside, part)
        truth = np.concatenate([np.zeros(len(within)), np.ones(len(beyond))])
        both_scores = np.concatenate([within, beyond])
        ranks = mannwhitneyu(beyond, within, method="asymptotic").statistic / (len(within) * len(beyond))
        others = (roc_auc_score(truth, both_scores), ranks, scores.auroc(both_scores, truth))
        off = max(off, *(abs(float(other) - area(both, part).value) for other in others))
    sentence = WORDS.phrase("checks.auroc_told", off=off)
    return Check(WORDS.phrase("stage.auroc_axis"), "pass" if off < SAME else "fail", off, SAME, sentence, kind="kernel")


def unseen_check(spec: MapsSpec) -> Check:
    """In domain means test images: none of them may be among those learnt from."""
    data = sources.images(spec.data)
    data = data.some(len(data.labels), TESTS)
    common = overlap(data.images, data.images_test).common
    sentence = WORDS.phrase("checks.unseen_told", tested=len(data.images_test), common=common, learnt=len(data.images))
    verdict: Verdict = "pass" if common == 0 else "fail"
    return Check(WORDS.phrase("checks.unseen"), verdict, float(common), 0.5, sentence, WORDS.phrase("checks.images"), kind="kernel")
