"""Letters set in type: images that are no digits, for networks that only know digits. Nothing is downloaded: the font
comes with Pillow.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from PIL import Image as Picture
from PIL import ImageDraw, ImageFont

from datasets.pad import normalise
from engine.spec import SpecError

# What may be taken for a digit is left out: I and l (1), O and o (0), S and s (5), Z and z (2), B (8), g and q (9), b (6).
LETTERS = "ACDEFGHJKLMNPQRTUVWXYacdefhijkmnprtuvwxy"
STROKES = (0, 2, 5)  # pixels by which the outline grows, of a letter of `SIZE`: light, regular, bold
SLANTS = (-0.25, 0.0, 0.25)  # columns to a row: leaning back, upright, italic
SIZES = (0.7, 0.85, 1.0)  # of the box that the digits of a data set fill
SIZE = 96  # pixels of the letter before it is scaled


def letters(count: int, side: int = 28, seed: int = 0) -> tuple[NDArray[np.float32], tuple[str, ...]]:
    """(count, side, side) ink from 0 to 1, and which letters they are: a random letter, stroke, slant and size each,
    cropped, scaled and centred as the digits are (see `datasets.pad.normalise`). The same for the same seed, side and
    version of Pillow. Raises SpecError.
    """
    if not 1 <= count <= 10_000 or not 8 <= side <= 64:
        raise SpecError("letters", f"{count} of {side} pixels a side: 1 to 10,000 of 8 to 64 can be set")
    rng = np.random.Generator(np.random.SFC64(seed))
    font = ImageFont.load_default(SIZE)
    if not isinstance(font, ImageFont.FreeTypeFont):
        raise SpecError("letters", "this Pillow was built without FreeType, so it has no font of any size")
    images = np.zeros((count, side, side), np.float32)
    chosen = "".join(rng.choice(list(LETTERS), count))
    for image, letter in zip(images, chosen, strict=True):
        stroke, slant, size = (options[rng.integers(len(options))] for options in (STROKES, SLANTS, SIZES))
        page = Picture.new("L", (3 * SIZE, 2 * SIZE))
        ImageDraw.Draw(page).text((1.5 * SIZE, SIZE), letter, fill=255, font=font, anchor="mm", stroke_width=int(stroke))
        leaning = page.transform(page.size, Picture.Transform.AFFINE, (1, slant, -slant * SIZE, 0, 1, 0), Picture.Resampling.BILINEAR)
        whole = normalise(np.asarray(leaning, dtype=np.float64) / 255.0, side)
        image[:] = whole if size == 1.0 else _smaller(whole, float(size))
    return images, tuple(chosen)


def _smaller(image: NDArray[np.float32], size: float) -> NDArray[np.float32]:
    """The image scaled about its middle."""
    side, edge = image.shape[0], 0.5 * (image.shape[0] - 1)
    shift = edge * (1.0 - 1.0 / size)
    picture = Picture.fromarray(image, mode="F")
    small = picture.transform((side, side), Picture.Transform.AFFINE, (1 / size, 0, shift, 0, 1 / size, shift), Picture.Resampling.BILINEAR)
    return np.clip(np.asarray(small, dtype=np.float32), 0.0, 1.0)
