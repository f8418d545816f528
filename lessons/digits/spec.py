"""What decides the picture of this lesson: the digit, the posterior that reads it, the map, the mistake."""

from __future__ import annotations

from dataclasses import dataclass

from app.kit.digit_posteriors import METHODS
from app.kit.pad import LIMIT
from engine.spec import Spec, SpecError, choice, integer, points, seed_field, text

DATA = ("digits", "mnist", "own")
TESTS = {"digits": 450, "mnist": 10_000}  # test images; of own files as many as they hold
MISTAKES = {
    "no_centring": "The drawing is made smaller where it stands, not cropped, scaled and centred as the data are.",
    "log_average": "The logarithms of the probabilities are averaged, not the probabilities: the networks are "
    "multiplied.",
}


@dataclass(frozen=True, kw_only=True)
class DigitsSpec(Spec):
    """One look at the page."""

    data: str = choice("digits", DATA, "what the networks learnt from: the bundled digits, MNIST, or your files")
    files: str = text("", 16, "name that your files were given")
    source: str = choice("pad", ("pad", "test"), "the digit: drawn on the pad, or a test image")
    drawing: tuple[tuple[float, float, int], ...] = points(
        LIMIT, "points of the strokes: x to the right, y down, 0 to 1"
    )
    number: int = integer(0, 0, 9_999, "of the test image", step=1)
    method: str = choice("dense", METHODS, "how the networks were found")
    maps: str = choice("gradient", ("gradient", "flip"), "a little more ink on a pixel, or the pixel turned over")
    variant: str = choice("exact", ("exact", *MISTAKES), "the right way, or one that is wrong on purpose")
    seed: int = seed_field()

    def check(self) -> None:
        super().check()
        if self.data == "own" and not self.files:
            raise SpecError("data", "give your files first: own images have none yet")
        most = TESTS.get(self.data, 1 + self.number)
        if self.source == "test" and self.number >= most:
            raise SpecError("number", f"{self.number:,} is outside 0 to {most - 1:,}, the test images of these data")
        for index, (x, y, stroke) in enumerate(self.drawing, start=1):
            if not (0.0 <= x <= 1.0 and 0.0 <= y <= 1.0 and 0 <= stroke <= LIMIT):
                raise SpecError("drawing", f"point {index} lies outside the pad, 0 to 1")
