"""Drawings become images as MNIST and OptDigits make theirs; transforms keep to their promises."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from datasets import files, images, pad, transforms
from engine.spec import SpecError


@pytest.fixture(scope="module")
def mnist(data_folder: Path) -> np.ndarray:
    """500 test images from 0 to 1."""
    raw = files.read_idx("t10k-images", (data_folder / "mnist" / "t10k-images-idx3-ubyte.gz").read_bytes())
    return raw[:500] / 255.0


def test_mnist_test_images_come_back_where_they_were(mnist: np.ndarray):
    """Each digit is cut out, magnified four times and put anywhere: the pad's way must put it back."""
    rng = np.random.default_rng(0)
    shifts = []
    for image in mnist:
        rows, columns = np.flatnonzero(image.any(axis=1)), np.flatnonzero(image.any(axis=0))
        large = np.kron(image[rows[0] : rows[-1] + 1, columns[0] : columns[-1] + 1], np.ones((4, 4)))
        paper = np.zeros((160, 160))
        y, x = (rng.integers(0, 161 - edge) for edge in large.shape)
        paper[y : y + large.shape[0], x : x + large.shape[1]] = large
        found = pad.normalise(paper)
        shifts.append(np.subtract(pad.centre_of_mass(found), pad.centre_of_mass(image)))
        assert found == pytest.approx(image, abs=1e-6)
    assert np.abs(np.mean(shifts, axis=0)).max() < 0.5 and np.abs(shifts).max() < 0.5


def seven(x: float, y: float, size: float) -> list[tuple[float, float, int]]:
    return [(x, y, 0), (x + 0.6 * size, y, 0), (x + 0.2 * size, y + size, 0)]


def test_where_and_how_large_one_draws_does_not_matter():
    for side in (8, 28):
        large, small = pad.drawn(seven(0.1, 0.1, 0.8), side), pad.drawn(seven(0.5, 0.2, 0.4), side)
        assert np.abs(large - small).mean() < 0.05
        assert pad.centre_of_mass(large) == pytest.approx((14, 14) if side == 28 else (3.5, 3.0), abs=0.8)


def test_a_drawing_fills_the_box_of_its_data_set():
    tall = [(0.5, 0.2, 0), (0.55, 0.8, 0)]
    ink = np.flatnonzero(pad.drawn(tall, 28).any(axis=1))
    assert np.ptp(ink) + 1 == 20
    small = pad.drawn(tall, 8)
    assert small[0].any() and small[-1].any() and set(np.unique(16 * small)) <= set(range(17))
    bundled = images.digits()
    wide = np.abs([pad.centre_of_mass(image)[0] - 3.5 for image in bundled.images]).mean()
    assert abs(pad.centre_of_mass(small)[0] - 3.5) < 2 * wide


def test_strokes_are_joined_and_strokes_apart_are_not():
    joined = pad.rasterise([(0.2, 0.5, 0), (0.8, 0.5, 0)])
    apart = pad.rasterise([(0.2, 0.5, 0), (0.8, 0.5, 1)])
    assert joined[56, 56] == 1.0 and apart[56, 56] == 0.0 and apart[56, 22] == 1.0
    assert pad.rasterise([]).sum() == 0.0 and pad.drawn([], 28).sum() == 0.0
    assert pad.drawn([(0.5, 0.5, 0)], 28).sum() > 0.0  # a dot


@pytest.mark.parametrize("point", [(np.nan, 0.5, 0), (1.2, 0.5, 0), (0.5, -0.1, 0)])
def test_impossible_points_are_named(point):
    with pytest.raises(SpecError, match="drawing"):
        pad.rasterise([point])


@pytest.mark.parametrize("bitmap", [np.zeros(5), np.full((4, 4), 2.0), np.full((4, 4), np.nan), np.zeros((3000, 2))])
def test_impossible_bitmaps_are_named(bitmap):
    with pytest.raises(SpecError, match="drawing"):
        pad.normalise(bitmap)


# Transforms -----------------------------------------------------------------------------------------------------------

STACK = images.digits().x_test[:6].reshape(-1, 8, 8)


def test_transforms_at_rest_change_nothing():
    for same in (
        transforms.rotate(STACK, 0.0),
        transforms.blur(STACK, 0.0),
        transforms.noise(STACK, 0.0),
        transforms.shift(STACK, 0.0, 0.0),
        transforms.invert(transforms.invert(STACK)),
    ):
        assert same == pytest.approx(STACK, abs=1e-6) and same.dtype == np.float32
    for share, end in ((0.0, STACK[0]), (1.0, STACK[1])):
        assert transforms.morph(STACK[0], STACK[1], share) == pytest.approx(end, abs=1e-6)
        assert transforms.blend(STACK[0], STACK[1], share) == pytest.approx(end, abs=1e-6)


def test_transforms_do_what_they_say():
    assert transforms.rotate(STACK, 90.0) == pytest.approx(np.rot90(STACK, axes=(1, 2)), abs=1e-5)
    moved = transforms.shift(STACK, 1.0, -2.0)
    assert moved[:, :6, 1:] == pytest.approx(STACK[:, 2:, :7], abs=1e-6) and not moved[:, 6:].any()
    assert transforms.blur(STACK, 1.0).var() < STACK.var()
    shuffled = transforms.shuffle(STACK, 3)
    assert np.array_equal(np.sort(shuffled.reshape(6, -1)), np.sort(STACK.reshape(6, -1)))
    assert np.array_equal(transforms.shuffle(STACK[0], 3), shuffled[0]) and not np.array_equal(shuffled, STACK)
    grown = [np.abs(transforms.noise(STACK, sd, 1) - STACK).mean() for sd in (0.1, 0.2, 0.4)]
    assert grown == sorted(grown) and np.array_equal(transforms.noise(STACK, 0.2, 1), transforms.noise(STACK, 0.2, 1))
    for image in (moved, shuffled, transforms.noise(STACK, 2.0)):
        assert image.min() >= 0.0 and image.max() <= 1.0


def test_a_morph_moves_the_ink():
    """A bar that becomes a bar elsewhere passes through the middle; laid over each other they never would."""
    left, right = np.zeros((8, 8), np.float32), np.zeros((8, 8), np.float32)
    left[:, 1:3] = right[:, 5:7] = 0.9
    shares = np.linspace(0, 1, 9)
    way = transforms.morph(left, right, shares)
    assert way.shape == (9, 8, 8) and np.array_equal(way[4], transforms.morph(left, right, 0.5))
    assert [pad.centre_of_mass(image)[0] for image in way] == pytest.approx(1.5 + 4.0 * shares, abs=0.05)
    assert way.sum(axis=(1, 2)) == pytest.approx(left.sum(), rel=0.01)
    assert not way[4][:, :3].any() and way[4][:, 3:5].min() > 0.8
    half = transforms.blend(left, right, 0.5)
    assert not half[:, 3:5].any()


@pytest.mark.parametrize(
    ("call", "field"),
    [
        (lambda: transforms.rotate(STACK, np.nan), "degrees"),
        (lambda: transforms.blur(STACK, -1.0), "sd"),
        (lambda: transforms.morph(STACK[0], STACK[1], 1.5), "share"),
        (lambda: transforms.morph(STACK, STACK, 0.5), "images"),
        (lambda: transforms.morph(0 * STACK[0], STACK[1], 0.5), "images"),
        (lambda: transforms.invert(np.zeros((3, 4))), "images"),
    ],
)
def test_wrong_settings_are_named(call, field: str):
    with pytest.raises(SpecError) as problem:
        call()
    assert problem.value.parameter == field
