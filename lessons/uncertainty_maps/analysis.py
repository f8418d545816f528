"""Uncertainty while an image is changed: along one change, over two at once, averaged over images; checks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from datasets import transforms
from engine import scores
from engine.judge import Check, Kernel, Verdict
from engine.kept import kept
from engine.networks.stack import Networks
from engine.scores import Decomposition
from lessons.families.digit_posteriors import checks as posterior_checks
from lessons.families.digit_posteriors import sources
from lessons.families.digit_posteriors.checks import numbers_check, training_check
from lessons.families.digit_posteriors.shared import Shared
from lessons.families.digit_posteriors.spec import PosteriorSpec
from lessons.uncertainty_maps.spec import REACH, TESTS, WORDS, MapsSpec

Array = NDArray[np.float64]
Stack = NDArray[np.float32]

BUNDLED = 8  # pixels a side of the images that the reach of a change is told of
STEPS = 37  # of a sweep: 10° each where it turns
COLUMNS, ROWS = 25, 13  # of the maps
MANY = 40  # test images that are averaged
COARSE = 13  # amounts at which they are
SURE = 0.9  # the average gives one digit at least this probability
IDENTITY = 1e-6  # nats: what rounding may do to the parts
EXACTLY = 1e-5  # of ink: what rounding may do to an image


# What the spec describes ----------------------------------------------------------------------------------------------


def recipe(spec: MapsSpec, method: str = "") -> PosteriorSpec:
    """The posterior of the settings, or that of another `method`."""
    return sources.recipe(sources.images(spec.data), method or spec.method, spec.seed)


def shared(spec: MapsSpec, method: str = "") -> Shared:
    """The posterior, trained as far as somebody has trained it."""
    return sources.shared(spec.data, method or spec.method, spec.seed)


def trained(spec: MapsSpec, method: str = "", stop: Callable[[], bool] | None = None) -> Networks | None:
    """Its networks at the end of the training; None when stopped."""
    return shared(spec, method).finish(stop)


def tests(spec: MapsSpec) -> tuple[Stack, NDArray[np.int64]]:
    """The test images (450, side, side), ink from 0 to 1, and their labels (450,). Nothing was learnt from them."""
    return _tests(sources.present(spec.data))


@kept
def _tests(data: str) -> tuple[Stack, NDArray[np.int64]]:
    found = sources.images(data).some(1, TESTS)
    return found.x_test.reshape(-1, found.side, found.side), found.y_test


def reach(spec: MapsSpec, name: str) -> float:
    """How far a change goes: what is in pixels grows with the image."""
    return REACH[name] * (tests(spec)[0].shape[1] / BUNDLED if name in ("blur", "shift") else 1.0)


def labels(spec: MapsSpec) -> list[int]:
    """The label of the image, and of the one that a morph ends at."""
    y = tests(spec)[1]
    truth = [int(y[spec.image])]
    if "morph" in (spec.across, spec.second) and y[spec.other] != truth[0]:
        truth.append(int(y[spec.other]))
    return truth


# Changing an image ----------------------------------------------------------------------------------------------------

ORDER = ("morph", "blur", "rotate", "shift", "noise")  # in which two changes are made


def change(name: str, images: Stack, amount: float, seed: int) -> Stack:
    """(k, side, side) `images` with one change of `amount`; every image gets the same noise."""
    if name == "rotate":
        return transforms.rotate(images, amount)
    if name == "blur":
        return transforms.blur(images, amount)
    if name == "shift":
        return transforms.shift(images, amount, 0.0)
    return transforms.noise(images, amount, seed, same=True)


def grid(image: Stack, other: Stack, across: str, second: str, xs: ArrayLike, ys: ArrayLike, seed: int) -> Stack:
    """(len(ys), len(xs), side, side): `image` changed by every pair of amounts, xs of `across` and ys of `second`."""
    amounts = {across: np.atleast_1d(xs), second: np.atleast_1d(ys)}
    early, late = sorted(amounts, key=ORDER.index)
    both = _then(_once(image, other, early, amounts[early]), late, amounts[late], seed)
    return both if late == second else both.swapaxes(0, 1)


def _once(image: Stack, other: Stack, name: str, amounts: ArrayLike) -> Stack:
    """(k, side, side) `image` after the first change, by each of k amounts: never noise, which comes last."""
    if name == "morph":
        return transforms.morph(image, other, amounts)
    return np.stack([change(name, image[None], amount, 0)[0] for amount in np.asarray(amounts)])


def _then(once: Stack, name: str, amounts: ArrayLike, seed: int) -> Stack:
    """(amounts, k, side, side) images that are changed already, after the second change."""
    return np.stack([change(name, once, amount, seed) for amount in np.asarray(amounts)])


def changed(spec: MapsSpec, xs: ArrayLike, ys: ArrayLike) -> Stack:
    """`grid` of the image of the settings. Without noise it is the same for every seed."""
    seed = spec.seed if "noise" in (spec.across, spec.second) else 0
    columns, rows = (tuple(np.atleast_1d(each).tolist()) for each in (xs, ys))
    return _changed(sources.present(spec.data), spec.image, spec.other, spec.across, spec.second, columns, rows, seed)


@kept
def _changed(data: str, image: int, other: int, across: str, second: str, xs: tuple[float, ...], ys: tuple[float, ...], seed: int) -> Stack:
    amounts = {across: xs, second: ys}
    early, late = sorted(amounts, key=ORDER.index)
    both = _then(_changed_once(data, image, other, early, amounts[early]), late, amounts[late], seed)
    return both if late == second else both.swapaxes(0, 1)


@kept
def _changed_once(data: str, image: int, other: int, name: str, amounts: tuple[float, ...]) -> Stack:
    """What is the same for every seed of the noise."""
    images, _ = _tests(data)
    return _once(images[image], images[other], name, amounts)


def amounts(spec: MapsSpec, name: str, count: int) -> Array:
    """(count,) evenly from nothing to as far as this change goes."""
    return np.linspace(0.0, reach(spec, name), count)


# Reading --------------------------------------------------------------------------------------------------------------


def parts(spec: MapsSpec, draws: Array) -> Decomposition:
    """The uncertainty of `draws` (R, m, classes) in its parts, or what the mistake makes of it."""
    if spec.variant == "one_network":
        return scores.decompose(draws[:1])
    found = scores.decompose(draws)
    return found._replace(epistemic=found.total) if spec.variant == "total_as_epistemic" else found


def probabilities(networks: Networks, images: Stack, stop: Callable[[], bool] | None = None) -> Array | None:
    """(R, m, classes) in double precision, adding up to one; None when stopped."""
    found = networks.predict(images, stop)
    if found is None:
        return None
    draws = found.astype(np.float64)
    draws /= draws.sum(axis=2, keepdims=True)
    return draws


class Sweep(NamedTuple):
    """One image, changed step by step.

    amounts : (T,)
    images : (T, side, side)
    draws : (R, T, classes) probabilities
    parts : of each step
    """

    amounts: Array
    images: Stack
    draws: Array
    parts: Decomposition


def sweep(spec: MapsSpec, networks: Networks) -> Sweep:
    """The steps of the stage."""
    xs = amounts(spec, spec.across, STEPS)
    images = changed(spec, xs, spec.level * reach(spec, spec.second))[0]
    draws = probabilities(networks, images)
    assert draws is not None
    return Sweep(xs, images, draws, parts(spec, draws))


class Maps(NamedTuple):
    """Over both changes, (rows, columns): the parts in nats, and the probability of what the image shows."""

    total: Array
    aleatoric: Array
    epistemic: Array
    truth: Array


def maps(spec: MapsSpec, networks: Networks) -> Maps:
    """Over the two changes; the probability is that of the label, in a morph of either label."""
    images = changed(spec, amounts(spec, spec.across, COLUMNS), amounts(spec, spec.second, ROWS))
    draws = probabilities(networks, images.reshape(-1, *images.shape[2:]))
    assert draws is not None
    found = parts(spec, draws)
    truth = found.mean[:, labels(spec)].sum(axis=1)
    return Maps(*(each.reshape(ROWS, COLUMNS) for each in (found.total, found.aleatoric, found.epistemic, truth)))


class Average(NamedTuple):
    """Of `MANY` test images changed in the same way, at amounts (T,); the parts and flags are (images, T).

    right : the label has the highest probability (in a morph: either label)
    sure : some digit has a probability of at least `SURE`
    """

    amounts: Array
    total: Array
    aleatoric: Array
    epistemic: Array
    right: NDArray[np.bool_]
    sure: NDArray[np.bool_]

    @property
    def sure_and_wrong(self) -> Array:
        """(T,) share of the images."""
        return (self.sure & ~self.right).mean(axis=0)


def average(spec: MapsSpec, method: str = "", stop: Callable[[], bool] | None = None) -> Average | None:
    """The first `MANY` test images along the sweep of the settings; None when stopped."""
    networks = trained(spec, method, stop)
    return None if networks is None else _average(spec.replace(method=method or spec.method), networks, stop)


def _average(spec: MapsSpec, networks: Networks, stop: Callable[[], bool] | None) -> Average | None:
    xs, images, shown = _many(sources.present(spec.data), spec.across, spec.second, spec.level, spec.other, spec.seed)
    draws = probabilities(networks, images.reshape(-1, *images.shape[2:]), stop)
    if draws is None:
        return None
    found = parts(spec, draws)
    said = found.mean.argmax(axis=1).reshape(MANY, COARSE)
    total, aleatoric, epistemic = (each.reshape(MANY, COARSE) for each in found[1:])
    return Average(
        xs,
        total,
        aleatoric,
        epistemic,
        (said[:, :, None] == shown[:, None, :]).any(axis=2),
        found.mean.max(axis=1).reshape(MANY, COARSE) >= SURE,
    )


@kept
def _many(data: str, across: str, second: str, level: float, other: int, seed: int) -> tuple[Array, Stack, NDArray[np.int64]]:
    """Amounts (T,), images (MANY, T, side, side), and which two labels each may show (MANY, 2)."""
    spec = MapsSpec(data=data, across=across, second=second)
    images, y = tests(spec)
    xs, row = amounts(spec, across, COARSE), level * reach(spec, second)
    changed = np.stack([grid(image, images[other], across, second, xs, row, seed)[0] for image in images[:MANY]])
    end = y[other] if "morph" in (across, second) else y[:MANY]
    return xs, changed, np.stack([y[:MANY], np.broadcast_to(end, MANY)], axis=1)


# Checks ---------------------------------------------------------------------------------------------------------------


def kernels(spec: MapsSpec) -> list[Kernel]:
    """NUTS, where the networks are its draws."""
    return posterior_checks.kernels(shared(spec))


def audit(spec: MapsSpec, cancel: Any) -> list[Check]:
    """The gradient that trains the networks; and of these very steps: the parts, the changes of the image."""
    networks = trained(spec, stop=cancel.is_set)
    if networks is None:
        return []
    found, kinds = sweep(spec, networks), (spec.across, spec.second)
    return [
        *training_check(sources.images(spec.data), recipe(spec), cancel),
        parts_check(found.draws, found.parts),
        zero_check(spec),
        *(change_check(kind, spec) for kind in kinds),
    ]


def checks(spec: MapsSpec, cancel: Any) -> list[Check]:
    """Has the training come to rest, or do the chains agree over the steps? How near the posterior, nobody knows."""
    networks = trained(spec, stop=cancel.is_set)
    return [] if networks is None else run_checks(spec, sweep(spec, networks).draws)


def run_checks(spec: MapsSpec, draws: Array) -> list[Check]:
    """Of the posterior that made these draws (R, m, classes)."""
    found = posterior_checks.run_checks(shared(spec), entropies(draws), WORDS.phrase("checks.entropy"))
    return [*found, numbers_check(spec.method)]


def parts_check(draws: Array, shown: Decomposition) -> Check:
    """The epistemic part that is shown against the mean divergence of all networks from their average, and the sum of
    the parts against the total."""
    p, mean = np.maximum(draws, scores.TINY), np.maximum(draws.mean(axis=0), scores.TINY)
    divergence = (p * np.log(p / mean)).sum(axis=2).mean(axis=0)
    off = float(np.abs(shown.epistemic - divergence).max())
    gap = float(np.abs(shown.total - shown.aleatoric - shown.epistemic).max())
    sentence = WORDS.phrase("checks.parts_told", images=draws.shape[1], off=off, networks=len(p), gap=gap)
    worst = max(off, gap)
    verdict: Verdict = "pass" if worst < IDENTITY else "fail"
    return Check(WORDS.phrase("checks.parts"), verdict, worst, IDENTITY, sentence, WORDS.phrase("stage.nats"), kind="kernel")


def zero_check(spec: MapsSpec) -> Check:
    """No change at all must leave the image as it is."""
    images, _ = tests(spec)
    image = images[spec.image]
    still = grid(image, images[spec.other], spec.across, spec.second, 0.0, 0.0, spec.seed)[0, 0]
    off = float(np.abs(still - image).max())
    sentence = WORDS.phrase("checks.nothing_told", off=off)
    return Check(
        WORDS.phrase("checks.nothing"),
        "pass" if off < EXACTLY else "fail",
        off,
        EXACTLY,
        sentence,
        WORDS.phrase("checks.ink"),
        kind="kernel",
    )


def change_check(name: str, spec: MapsSpec) -> Check:
    """One change against what is known of it without its code."""
    images, _ = tests(spec)
    image, other = images[spec.image], images[spec.other]
    found, due = _known(name, image, other, spec.seed)
    off = float(np.abs(found - due).max())
    sentence = WORDS.phrase("checks.change_told", known=WORDS.phrase(f"known.{name}"), off=off)
    return Check(name, "pass" if off < EXACTLY else "fail", off, EXACTLY, sentence, WORDS.phrase("checks.ink"), kind="kernel")


def _known(name: str, image: Stack, other: Stack, seed: int) -> tuple[NDArray[np.floating], NDArray[np.floating]]:
    """What came out, and what is due."""
    if name == "rotate":
        turned = change(name, change(name, image[None], 360.0, seed), 90.0, seed)[0]
        return turned, np.rot90(image)
    if name == "shift":
        pushed = np.zeros_like(image)
        pushed[:, 2:] = image[:, :-2]
        moved = change(name, image[None], 2.0, seed)[0]
        return moved, pushed
    if name == "blur":
        dot = np.zeros_like(image)
        dot[len(image) // 2, len(image) // 2] = 1.0
        twice = change(name, change(name, dot[None], 0.3, seed), 0.4, seed)[0]
        return twice.sum(keepdims=True), np.ones((1, 1))
    if name == "noise":
        grey = np.full((1, *image.shape), 0.5, dtype=np.float32)
        little, more = (change(name, grey, sd, seed)[0] for sd in (0.05, 0.1))
        return more - grey, 2 * (little - grey)
    return transforms.morph(image, other, 1.0), other


def entropies(draws: Array) -> Array:
    """(R,) each network's mean entropy over the images, of (R, m, classes)."""
    return scores.entropy(draws).mean(axis=1)
