"""What the networks read in a digit: probabilities, votes, parts of the uncertainty, which pixels matter; checks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from datasets import own, pad
from datasets.images import Images
from engine import scores
from engine.judge import Check, Kernel, Verdict
from engine.kept import kept
from engine.networks.stack import Networks
from engine.spec import SpecError
from lessons.digits.spec import WORDS, DigitsSpec
from lessons.families.digit_posteriors import checks as posterior_checks
from lessons.families.digit_posteriors import sources
from lessons.families.digit_posteriors.checks import numbers_check, run_checks, training_check
from lessons.families.digit_posteriors.shared import Shared, posterior
from lessons.families.digit_posteriors.spec import PosteriorSpec

Array = NDArray[np.float64]

STEP = 1e-6  # of ink, for finite differences


# What the spec describes ----------------------------------------------------------------------------------------------


def data_of(spec: DigitsSpec) -> Images:
    """What the networks learn from."""
    return own.kept(spec.files) if spec.data == "own" else sources.images(spec.data)


def recipe(spec: DigitsSpec, method: str = "") -> PosteriorSpec:
    """The posterior of the settings, or that of another `method`."""
    return sources.recipe(data_of(spec), method or spec.method, spec.seed)


def shared(spec: DigitsSpec, method: str = "") -> Shared:
    """The posterior, trained as far as somebody has trained it."""
    if spec.data == "own":
        return posterior((spec.data, spec.files), data_of(spec), recipe(spec, method))
    return sources.shared(spec.data, method or spec.method, spec.seed)


def trained(spec: DigitsSpec, method: str = "", stop: Callable[[], bool] | None = None) -> Networks | None:
    """Its networks at the end of the training; None when stopped."""
    return shared(spec, method).finish(stop)


def image_of(spec: DigitsSpec) -> NDArray[np.float32]:
    """(side, side) what the networks see, ink from 0 to 1."""
    data = data_of(spec)
    if spec.source == "test":
        if spec.number >= len(data.y_test):
            last, instead = len(data.y_test) - 1, "" if spec.data == "own" else sources.stand_in(spec.data)
            raise SpecError("number", f"{spec.number:,} is outside 0 to {last:,}, the test images{f'. {instead}' if instead else ''}")
        return data.images_test[spec.number].astype(np.float32) / np.float32(data.top)
    if spec.variant == "no_centring":
        large = pad.rasterise(spec.drawing, size=28 * data.side)
        return large.reshape(data.side, 28, data.side, 28).mean(axis=(1, 3)).astype(np.float32)
    return pad.drawn(spec.drawing, data.side)


def truth_of(spec: DigitsSpec) -> int | None:
    """The label of a test image."""
    return int(data_of(spec).y_test[spec.number]) if spec.source == "test" else None


# Reading --------------------------------------------------------------------------------------------------------------


class Reading(NamedTuple):
    """What R networks say of one image, and of the average over the first 1, 2, ... R of them.

    image : (side, side)
    draws : (R, classes) probabilities
    says : (R,) the class that each finds the most probable one
    mean : (R, classes) of the first networks
    total, aleatoric, epistemic : (R,) in nats
    """

    image: NDArray[np.float32]
    draws: Array
    says: NDArray[np.int64]
    mean: Array
    total: Array
    aleatoric: Array
    epistemic: Array

    @property
    def predicted(self) -> int:
        """The class that the average of all finds the most probable one."""
        return int(self.mean[-1].argmax())

    @property
    def votes(self) -> NDArray[np.int64]:
        """(classes,) networks that say each class."""
        return np.bincount(self.says, minlength=self.draws.shape[1])


def read(spec: DigitsSpec, networks: Networks) -> Reading:
    """What `networks` say of the digit."""
    image = image_of(spec)
    found = networks.predict(image[None])
    assert found is not None
    draws = found[:, 0].astype(np.float64)
    draws /= draws.sum(axis=1, keepdims=True)
    so_far = np.arange(1, len(draws) + 1)[:, None]
    if spec.variant == "log_average":
        logs = np.cumsum(np.log(np.maximum(draws, 1e-300)), axis=0) / so_far
        mean = np.exp(logs - logs.max(axis=1, keepdims=True))
        mean /= mean.sum(axis=1, keepdims=True)
    else:
        mean = np.cumsum(draws, axis=0) / so_far
    total = scores.entropy(mean)
    aleatoric = np.cumsum(scores.entropy(draws)) / so_far[:, 0]
    return Reading(image, draws, draws.argmax(axis=1), mean, total, aleatoric, total - aleatoric)


class Maps(NamedTuple):
    """(side, side) change of the uncertainty, in nats."""

    aleatoric: Array
    epistemic: Array


def maps(spec: DigitsSpec, networks: Networks, image: NDArray[np.float32]) -> Maps:
    """Which pixels matter: the slope of each part for a full pixel of ink, or its change when a pixel (of MNIST a block
    of 4 × 4 pixels) is turned over: ink becomes paper, paper becomes ink.
    """
    side = len(image)
    if spec.maps == "gradient":
        found = networks.sensitivity(image)
        return Maps(found.aleatoric.reshape(side, side), found.epistemic.reshape(side, side))
    edge = 1 if side <= sources.SMALL else next(edge for edge in (4, 3, 2, 1) if side % edge == 0)
    cells = side // edge
    turned = np.tile(image, (cells * cells + 1, 1, 1))
    for cell in range(cells * cells):
        row, column = edge * (cell // cells), edge * (cell % cells)
        block = turned[cell, row : row + edge, column : column + edge]
        block[:] = 0.0 if block.mean() > 0.25 else 1.0
    parts = scores.decompose(networks.predict(turned))
    wide = np.ones((edge, edge))
    return Maps(*(np.kron((part[:-1] - part[-1]).reshape(cells, cells), wide) for part in (parts[2], parts[3])))


# Checks ---------------------------------------------------------------------------------------------------------------

FAR = 4.5  # standard deviations of where ink stands, beyond which a drawing stands elsewhere


def predicted(reading: Reading) -> Array:
    """(R,) the probability that each network gives to the class that their average predicts."""
    return reading.draws[:, reading.predicted]


def kernels(spec: DigitsSpec) -> list[Kernel]:
    """NUTS, where the networks are its draws."""
    return posterior_checks.kernels(shared(spec))


def audit(spec: DigitsSpec, cancel: Any) -> list[Check]:
    """The gradient that trains the networks; and of this very digit: parts, map, centring."""
    networks = trained(spec, stop=cancel.is_set)
    if networks is None:
        return []
    reading = read(spec, networks)
    found = training_check(data_of(spec), recipe(spec), cancel)
    found += [_parts_check(reading), _gradient_check(networks, reading.image)]
    return [*found, _centring_check(spec, reading.image)] if spec.source == "pad" and reading.image.any() else found


def checks(spec: DigitsSpec, cancel: Any) -> list[Check]:
    """Has the training come to rest, or do the chains agree on this digit? How near the posterior, nobody knows."""
    networks = trained(spec, stop=cancel.is_set)
    if networks is None:
        return []
    reading = read(spec, networks)
    found = run_checks(shared(spec), predicted(reading), WORDS.phrase("checks.probability", digit=reading.predicted))
    return [*found, numbers_check(spec.method)]


def faults(spec: DigitsSpec) -> dict[str, DigitsSpec]:
    """The mistakes that can be made with this digit; for centring to matter it is drawn small, in a corner."""
    found = {WORDS.phrase("options.variant.log_average"): spec.replace(variant="log_average")}
    if spec.source == "pad" and spec.drawing:
        corner = tuple((round(0.4 * x, 3), round(0.4 * y, 3), stroke) for x, y, stroke in spec.drawing)
        found[WORDS.phrase("faults.corner")] = spec.replace(variant="no_centring", drawing=corner)
    return {name: planted for name, planted in found.items() if planted.variant != spec.variant}


def _parts_check(reading: Reading) -> Check:
    """Total - aleatoric against the mean divergence of the networks from the average, which it must be."""
    p = np.maximum(reading.draws, 1e-300)
    divergence = float((p * np.log(p / np.maximum(reading.mean[-1], 1e-300))).sum(axis=1).mean())
    epistemic = float(reading.epistemic[-1])
    off = abs(epistemic - divergence)
    sentence = WORDS.phrase("checks.parts_told", epistemic=epistemic, networks=len(p), divergence=divergence)
    return Check(WORDS.phrase("checks.parts"), "pass" if off < 1e-6 else "fail", off, 1e-6, sentence, "nats", kind="kernel")


def _gradient_check(networks: Networks, image: NDArray[np.float32]) -> Check:
    """The map of slopes against finite differences, pixel by pixel, in double precision."""
    precise = networks.precise()
    # Paper is exactly 0, and a unit that sees one such pixel alone is exactly at its kink: a trace of ink moves it off.
    trace = np.random.Generator(np.random.SFC64(0)).uniform(0.001, 0.01, image.size)
    flat = image.reshape(-1).astype(np.float64) + trace
    pixels = np.linspace(0, len(flat) - 1, min(len(flat), 64)).astype(int)
    steps = STEP * np.eye(len(flat))[pixels]
    up, down = (scores.decompose(precise.predict(flat + way)).epistemic for way in (steps, -steps))
    slope, found = (up - down) / (2.0 * STEP), precise.sensitivity(flat).epistemic[pixels]
    off = float(np.abs(slope - found).max() / max(1.0, np.abs(slope).max()))
    sentence = WORDS.phrase("checks.slopes_told", pixels=len(pixels), off=off)
    verdict: Verdict = "pass" if off < 1e-4 else "fail"
    return Check(WORDS.phrase("checks.slopes"), verdict, off, 1e-4, sentence, WORDS.phrase("checks.relative_error"), kind="kernel")


def _centring_check(spec: DigitsSpec, image: NDArray[np.float32]) -> Check:
    """Does the drawing stand where the images stand that were learnt from?"""
    mean, sd = _centres(sources.present(spec.data), spec.files)
    here = np.array(pad.centre_of_mass(image))
    z = float(np.abs((here - mean) / sd).max())
    sentence = WORDS.phrase("checks.centring_told", x=here[0], y=here[1], mean_x=mean[0], sd_x=sd[0], mean_y=mean[1], sd_y=sd[1], away=z)
    return Check(WORDS.phrase("checks.centring"), "pass" if z < FAR else "fail", z, FAR, sentence, "sd", kind="kernel")


@kept
def _centres(data: str, files: str) -> tuple[Array, Array]:
    """Mean and sd (2,) of where the ink's centre is in the first images learnt from."""
    where = np.array([pad.centre_of_mass(image) for image in data_of(DigitsSpec(data=data, files=files)).images[:2000]])
    return where.mean(axis=0), where.std(axis=0)


class Quality(NamedTuple):
    """Of the averaged prediction on test images."""

    accuracy: float
    log_score: float
    calibration_error: float
    aleatoric: Array
    epistemic: Array
    wrong: NDArray[np.bool_]


def quality(spec: DigitsSpec, method: str = "", stop: Callable[[], bool] | None = None) -> Quality | None:
    """How good the posterior is on the first 1,000 test images; None when stopped."""
    networks = trained(spec, method, stop)
    if networks is None:
        return None
    found = _qualities.get(networks)
    if found is None:
        found = _qualities[networks] = _quality(spec, networks)
    return found


_qualities: WeakKeyDictionary[Networks, Quality] = WeakKeyDictionary()  # must not keep networks that were let go


def _quality(spec: DigitsSpec, networks: Networks) -> Quality:
    images = data_of(spec)
    y = images.y_test[:1000]
    parts = scores.decompose(networks.predict(images.some(1, 1000).x_test))
    return Quality(
        scores.top_accuracy(parts.mean, y),
        float(scores.log_scores(parts.mean, y).mean()),
        scores.calibration_error(parts.mean, y),
        parts.aleatoric,
        parts.epistemic,
        parts.mean.argmax(axis=1) != y,
    )
