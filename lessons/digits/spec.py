"""What decides the picture of this lesson: the digit, the posterior that reads it, the map, the mistake."""

from __future__ import annotations

from dataclasses import dataclass

from app.kit.pad import LIMIT
from app.kit.words import Words
from engine.spec import Spec, SpecError, choice, integer, points, seed_field, text
from lessons.families.digit_posteriors.spec import METHODS, TESTS
from lessons.families.digit_posteriors.spec import WORDS as FAMILY

WORDS = Words(__file__, FAMILY)

DATA = ("digits", "mnist", "own")
MISTAKES = ("no_centring", "log_average")


@dataclass(frozen=True, kw_only=True)
class DigitsSpec(Spec):
    """One look at the page."""

    data: str = choice("digits", DATA, "what the networks learnt from: the bundled digits, MNIST, or your files")
    files: str = text("", 16, "name that your files were given")
    source: str = choice("pad", ("pad", "test"), "the digit: drawn on the pad, or a test image")
    drawing: tuple[tuple[float, float, int], ...] = points(LIMIT, "points of the strokes: x to the right, y down, 0 to 1")
    number: int = integer(0, 0, 9_999, "of the test image", step=1)
    method: str = choice("dense", METHODS, "how the networks were found")
    maps: str = choice("gradient", ("gradient", "flip"), "a little more ink on a pixel, or the pixel turned over")
    variant: str = choice("exact", ("exact", *MISTAKES), "the right way, or one that is wrong on purpose")
    seed: int = seed_field()

    def check(self) -> None:
        super().check()
        if self.data == "own" and not self.files:
            raise SpecError("data", "give your files first: own images have none yet")
        most = TESTS.get(self.data, 1 + self.number)  # own files: as many as they hold
        if self.source == "test" and self.number >= most:
            raise SpecError("number", f"{self.number:,} is outside 0 to {most - 1:,}, the test images of these data")
        for index, (x, y, stroke) in enumerate(self.drawing, start=1):
            if not (0.0 <= x <= 1.0 and 0.0 <= y <= 1.0 and 0 <= stroke <= LIMIT):
                raise SpecError("drawing", f"point {index} lies outside the pad, 0 to 1")


Strokes = tuple[tuple[float, float, int], ...]


def _strokes(*lines: tuple[tuple[int, int], ...]) -> Strokes:
    """Lines of (x, y) in hundredths of the pad's edge."""
    return tuple((x / 100, y / 100, stroke) for stroke, line in enumerate(lines) for x, y in line)


THREE = _strokes(
    (*((30, 25), (40, 16), (55, 15), (66, 22), (66, 33), (56, 43), (45, 47), (58, 50), (69, 60), (69, 74)), *((58, 84), (42, 85), (29, 77)))
)
FOUR_OR_NINE = _strokes(((30, 14), (26, 34), (26, 54), (50, 56), (82, 54)), ((64, 30), (63, 60), (62, 90)))
STAR = _strokes(((20, 20), (80, 80)), ((80, 20), (20, 80)), ((20, 50), (80, 50)), ((50, 20), (50, 80)))
LETTER = _strokes(((20, 86), (24, 16), (50, 60), (76, 16), (80, 86)))
CORNER = tuple((round(0.04 + 0.42 * x, 3), round(0.04 + 0.42 * y, 3), stroke) for x, y, stroke in THREE)

SCENARIOS = WORDS.scenarios(
    {
        "between": DigitsSpec(drawing=FOUR_OR_NINE),
        "plain": DigitsSpec(drawing=THREE),
        "letter": DigitsSpec(drawing=LETTER, method="nuts"),
        "star": DigitsSpec(drawing=STAR, method="dropout"),
        "corner": DigitsSpec(drawing=CORNER, variant="no_centring"),
    }
)
