"""Sets of small grey images with labels: what they hold, the digits that come with scikit-learn, common images."""

from __future__ import annotations

import gzip
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from datasets.bundled import bundled_file
from datasets.card import Card
from engine.levels import Levels
from engine.spec import SpecError

DIGIT_NAMES = tuple("0123456789")
DIGITS_TRAIN = 1347  # of the 1,797 bundled digits; the rest is kept for testing


@dataclass(frozen=True, eq=False)
class Images:
    """Grey images to learn from and to test on.

    images, images_test : (n, side, side) uint8, 0 for paper and `top` for full ink
    labels, labels_test : (n,) int64, indices of `card.classes`
    top : brightest level: 16 of the bundled digits and OptDigits, else 255
    card : where they come from
    """

    images: NDArray[np.uint8]
    labels: NDArray[np.int64]
    images_test: NDArray[np.uint8]
    labels_test: NDArray[np.int64]
    top: int
    card: Card

    @property
    def side(self) -> int:
        """Pixels along an edge."""
        return self.images.shape[1]

    @property
    def classes(self) -> int:
        """How many classes there are."""
        return len(self.card.classes)

    @property
    def x(self) -> NDArray[np.float32]:
        """(n, side²) pixels to learn from, from 0 to 1."""
        return self._scaled(self.images)

    @property
    def levels(self) -> Levels:
        """The same pixels (n, side²), a byte each until they are looked at."""
        return Levels(self.images.reshape(len(self.images), -1), self.top)

    @property
    def y(self) -> NDArray[np.int64]:
        """(n,) their labels."""
        return self.labels

    @property
    def x_test(self) -> NDArray[np.float32]:
        """(m, side²) pixels to test on, from 0 to 1."""
        return self._scaled(self.images_test)

    @property
    def y_test(self) -> NDArray[np.int64]:
        """(m,) their labels."""
        return self.labels_test

    def some(self, train: int, test: int | None = None) -> Images:
        """The first `train` images to learn from and `test` to test on; None keeps all."""
        if train < 1 or (test is not None and test < 1):
            raise SpecError("images", f"{train} to learn from and {test} to test on: both must be at least 1")
        return Images(self.images[:train], self.labels[:train], self.images_test[:test], self.labels_test[:test], self.top, self.card)

    def _scaled(self, images: NDArray[np.uint8]) -> NDArray[np.float32]:
        return images.reshape(len(images), -1).astype(np.float32) / np.float32(self.top)


@lru_cache(maxsize=1)
def digits() -> Images:
    """The 1,797 digits of 8 × 8 pixels that come with scikit-learn, shuffled once and for all: 1,347 to learn from and
    450 to test on, the same for every seed. They are the test rows of OptDigits: see `overlap`.
    """
    images, labels = _bundled()
    order = np.random.Generator(np.random.SFC64(0)).permutation(len(labels))
    train, test = order[:DIGITS_TRAIN], order[DIGITS_TRAIN:]
    card = Card(
        "bundled digits",
        "E. Alpaydin and C. Kaynak, Optical Recognition of Handwritten Digits, UCI 1998: its 1,797 test images, as "
        "scikit-learn brings them",
        "CC BY 4.0",
        "ink from 0 to 16: dark points among the 16 of a 4 × 4 block",
        DIGIT_NAMES,
    )
    return Images(images[train], labels[train], images[test], labels[test], 16, card)


class Projection(NamedTuple):
    """Principal components.

    mean : (inputs,)
    axes : (components, inputs), orthonormal, the one along which the data vary most first
    """

    mean: NDArray[np.float64]
    axes: NDArray[np.float64]

    def __call__(self, x: ArrayLike) -> NDArray[np.float64]:
        """(n, components) of inputs x (n, inputs)."""
        return (np.asarray(x, dtype=np.float64) - self.mean) @ self.axes.T


def principal_components(x: ArrayLike, components: int) -> Projection:
    """The axes along which x (n, inputs) varies most. Raises SpecError where there are fewer."""
    values = np.asarray(x, dtype=np.float64)
    if not 1 <= components <= min(values.shape):
        raise SpecError("components", f"{components} is outside 1 to {min(values.shape)}")
    mean = values.mean(axis=0)
    _, _, axes = np.linalg.svd(values - mean, full_matrices=False)
    return Projection(mean, axes[:components])


def stratified(labels: NDArray[np.int64], classes: int, each: int) -> NDArray[np.int64]:
    """Rows of `each` images of every class below `classes`, in rising order; drawn once and for all, so always the
    same. Raises SpecError where a class has fewer.
    """
    rng, rows = np.random.Generator(np.random.SFC64(0)), []
    for label in range(classes):
        found = np.flatnonzero(labels == label)
        if not 1 <= each <= len(found):
            raise SpecError("images", f"{each} of class {label} are wanted: it has {len(found)}")
        rows.append(rng.permutation(found)[:each])
    return np.sort(np.concatenate(rows))


@lru_cache(maxsize=4)
def digit_components(data: Images, classes: int, each: int, components: int) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """`each` of the images to learn from of every class below `classes`, as principal components of their pixels from 0
    to 1, (classes × each, components), and their labels.
    """
    x, labels = _stratified_pixels(data, classes, each)
    return principal_components(x, components)(x), labels


@lru_cache(maxsize=4)
def component_share(data: Images, classes: int, each: int, components: int) -> float:
    """Of the variance of these images, what their principal components hold, 0 to 1."""
    x, _ = _stratified_pixels(data, classes, each)
    return float(digit_components(data, classes, each, components)[0].var(axis=0).sum() / x.var(axis=0).sum())


def _stratified_pixels(data: Images, classes: int, each: int) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Pixels from 0 to 1, (classes × each, pixels), and labels."""
    rows = stratified(data.labels, classes, each)
    return data.images[rows].reshape(len(rows), -1) / float(data.top), data.labels[rows]


class Overlap(NamedTuple):
    """Images that two sets have in common, pixel by pixel.

    common : how many images of the second set stand in the first one too
    of : images of the second set
    """

    common: int
    of: int

    @property
    def sentence(self) -> str:
        """What it means for a test; empty where nothing is common."""
        if not self.common:
            return ""
        return (
            f"{self.common:,} of these {self.of:,} test images were among those learnt from: what is measured on them "
            "says nothing about new images. The bundled digits are the test rows of OptDigits."
        )


def overlap(learnt: NDArray[np.uint8], tested: NDArray[np.uint8]) -> Overlap:
    """How many images of `tested` (m, side, side) were among those `learnt` from (n, side, side)."""
    if learnt.shape[1:] != tested.shape[1:]:
        return Overlap(0, len(tested))
    wanted = {image.tobytes() for image in tested}
    seen = {found for image in learnt if (found := image.tobytes()) in wanted}
    return Overlap(sum(image.tobytes() in seen for image in tested), len(tested))


def _bundled() -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    """(1797, 8, 8) and (1797,), in scikit-learn's order. Raises SpecError where they are not to be had."""
    text = gzip.decompress(bundled_file("digits.csv.gz")).decode()
    table = np.array(text.replace("\n", ",").strip(",").split(","), dtype=np.float64).astype(np.uint8).reshape(-1, 65)
    return np.ascontiguousarray(table[:, :64]).reshape(-1, 8, 8), table[:, 64].astype(np.int64)
