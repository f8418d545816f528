"""The digits of the thesis: as many of each class, from the images to learn from alone."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from app.kit import files
from datasets.files import OPTDIGITS_TEST, OPTDIGITS_TRAIN
from datasets.files import optdigits as read
from datasets.images import Images, component_share, digit_components, digits
from engine.kept import kept
from engine.spec import SpecError

COMPONENTS = 20
FIELD = "digits"  # of the spec: the reference of a reader's own file


def is_here(file: str) -> bool:
    """Whether the images are on this machine; the bundled ones always are."""
    return not file or files.is_held(file)


@kept
def own_images(file: str) -> Images:
    """OptDigits of a reader's file. Raises SpecError where it is not here, or not the whole set."""
    try:
        images = read(files.held(file, FIELD))
    except SpecError as error:
        raise SpecError(FIELD, error.reason) from error
    if (len(images.labels), len(images.labels_test)) != (OPTDIGITS_TRAIN, OPTDIGITS_TEST):
        rows = len(images.labels) + len(images.labels_test)
        raise SpecError(FIELD, f"{rows:,} images are not OptDigits, which has 3,823 to learn from, then 1,797 to test on")
    return images


def data_set(file: str, classes: int, rows: int) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Images to learn from, `rows` of them, as many of each class: x (rows, 20), principal components, and digits y.

    file : reference of a reader's own OptDigits; empty: the bundled digits
    """
    return digit_components(own_images(file) if file else digits(), classes, rows // classes, COMPONENTS)


def share(file: str, classes: int, rows: int) -> float:
    """Of the variance of these images, what is left in `COMPONENTS` components, from 0 to 1."""
    return component_share(own_images(file) if file else digits(), classes, rows // classes, COMPONENTS)
