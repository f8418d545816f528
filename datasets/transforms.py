"""Images made harder, step by step: rotated, blurred, shifted, noisy, between two digits, inverted, shuffled.

Every function takes images (..., side, side) with ink from 0 to 1 and returns the same shape, float32, from 0 to 1.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray

from engine.kept import kept
from engine.spec import SpecError

Stack = NDArray[np.float32]

GRAINS = 500  # of ink that a morph moves


def rotate(images: ArrayLike, degrees: float) -> Stack:
    """Turned counter-clockwise about the middle of the image; what comes in from outside is paper."""
    from scipy.ndimage import rotate as turned

    found = _images(images)
    _finite("degrees", degrees)
    if degrees % 360.0 == 0.0:
        return found
    axes = (found.ndim - 1, found.ndim - 2)
    return _ink(turned(found, degrees, axes=axes, reshape=False, order=1, mode="constant"))


def blur(images: ArrayLike, sd: float) -> Stack:
    """Smeared by a Gaussian with `sd` in pixels."""
    from scipy.ndimage import gaussian_filter

    found = _images(images)
    _finite("sd", sd, least=0.0)
    if sd == 0.0:
        return found
    return _ink(gaussian_filter(found, (0.0,) * (found.ndim - 2) + (sd, sd), mode="constant"))


def shift(images: ArrayLike, right: float, down: float) -> Stack:
    """Moved by so many pixels, also parts of one; what comes in from outside is paper."""
    from scipy.ndimage import shift as moved

    found = _images(images)
    _finite("right", right)
    _finite("down", down)
    return _ink(moved(found, (0.0,) * (found.ndim - 2) + (down, right), order=1, mode="constant"))


def noise(images: ArrayLike, sd: float, seed: int = 0, *, same: bool = False) -> Stack:
    """Gaussian noise with `sd` added to every pixel, then cut to 0 to 1. The noise of a seed only grows with `sd`.

    same : every image gets the noise that it would get alone
    """
    found = _images(images)
    _finite("sd", sd, least=0.0)
    draws = np.random.Generator(np.random.SFC64(seed)).standard_normal(found.shape[-2:] if same else found.shape)
    return _ink(found + sd * draws)


def morph(first: ArrayLike, second: ArrayLike, shares: ArrayLike) -> Stack:
    """On the way from `first` (share 0) to `second` (share 1), (*shape of shares, side, side): the ink moves.

    Each image is cut into equal grains of ink, the grains are paired so that the sum of squared distances is least, and
    each moves along its straight line (displacement interpolation, McCann 1997). Both ends are the images themselves,
    mixed in over the outermost tenths of the way. Two images laid over each other: `blend`.
    """
    a, b = _images(first), _images(second)
    if a.shape != b.shape or a.ndim != 2:
        raise SpecError("images", f"two images of one shape are needed, not {a.shape} and {b.shape}")
    if not (a.sum() > 0.0 and b.sum() > 0.0):
        raise SpecError("images", "an image without ink cannot move")
    wanted = np.asarray(shares, dtype=np.float64)
    for each in wanted.reshape(-1):
        _finite("share", each, least=0.0, most=1.0)
    start, end = _paths(a.tobytes(), b.tobytes())
    share = wanted.reshape(-1, 1, 1)
    ink = (1.0 - share) * float(a.sum()) + share * float(b.sum())
    moved = _laid((1.0 - share) * start + share * end, len(a)) * (ink / GRAINS)
    near_a, near_b = np.maximum(1.0 - 10.0 * share, 0.0), np.maximum(10.0 * share - 9.0, 0.0)
    found = near_a * a + near_b * b + (1.0 - near_a - near_b) * moved
    return _ink(found.reshape(*wanted.shape, *a.shape))


def blend(first: ArrayLike, second: ArrayLike, share: float) -> Stack:
    """The two images laid over each other with weights 1 - share and share."""
    a, b = _images(first), _images(second)
    if a.shape != b.shape:
        raise SpecError("images", f"two images of one shape are needed, not {a.shape} and {b.shape}")
    _finite("share", share, least=0.0, most=1.0)
    return _ink((1.0 - share) * a + share * b)


def invert(images: ArrayLike) -> Stack:
    """Ink where there was paper."""
    return _ink(1.0 - _images(images))


def shuffle(images: ArrayLike, seed: int = 0) -> Stack:
    """The pixels in another order, the same for every image: as much ink as before, and no digit."""
    found = _images(images)
    pixels = found.shape[-1] * found.shape[-2]
    order = np.random.Generator(np.random.SFC64(seed)).permutation(pixels)
    return found.reshape(*found.shape[:-2], pixels)[..., order].reshape(found.shape)


@kept
def _paths(first: bytes, second: bytes) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """(GRAINS, 2) where the grains of two images start and end: pairing them takes longer than moving them."""
    from scipy.optimize import linear_sum_assignment

    start, end = _grains(first), _grains(second)
    distances = ((start[:, None] - end[None]) ** 2).sum(axis=2)
    return start, end[linear_sum_assignment(distances)[1]]


def _grains(image: bytes) -> NDArray[np.float64]:
    """(GRAINS, 2) where (y, x) equal grains of the ink lie: in the middle of their pixels."""
    ink = np.frombuffer(image, dtype=np.float32)
    share = np.cumsum(ink, dtype=np.float64)
    which = np.searchsorted(share / share[-1], (np.arange(GRAINS) + 0.5) / GRAINS)
    return np.stack(np.divmod(which, math.isqrt(len(ink))), axis=1).astype(np.float64)


def _laid(grains: NDArray[np.float64], side: int) -> NDArray[np.float64]:
    """(images, side, side) the grains (images, n, 2) of each image counted, each shared among the four pixels around it."""
    low = np.clip(np.floor(grains).astype(int), 0, side - 2)
    part = grains - low
    down, right = np.array([(0, 0, 1, 1), (0, 1, 0, 1)])[:, :, None]
    (y, x), (part_y, part_x) = (np.moveaxis(each, -1, 0)[:, :, None] for each in (low, part))
    weight = np.abs(1 - down - part_y) * np.abs(1 - right - part_x)
    pixel = (np.arange(len(grains))[:, None, None] * side + y + down) * side + x + right
    laid = np.bincount(pixel.ravel(), weight.ravel(), len(grains) * side * side)
    return np.asarray(laid, dtype=np.float64).reshape(-1, side, side)


def _images(images: ArrayLike) -> Stack:
    found = np.asarray(images, dtype=np.float32)
    if found.ndim < 2 or found.shape[-1] != found.shape[-2]:
        raise SpecError("images", f"their shape is {found.shape}, not (..., side, side)")
    return found


def _ink(images: ArrayLike) -> Stack:
    return np.clip(np.asarray(images), 0.0, 1.0).astype(np.float32)


def _finite(name: str, value: float, least: float = -np.inf, most: float = np.inf) -> None:
    if not (np.isfinite(value) and least <= value <= most):
        raise SpecError(name, f"{value} is not a finite number" + (f" from {least:g}" if least > -np.inf else ""))
