"""What decides the picture of this lesson: the images, how they are changed, and the posterior that reads them."""

from __future__ import annotations

from dataclasses import dataclass

from app.kit.pad import LIMIT
from app.kit.words import Words
from engine.spec import Spec, SpecError, choice, integer, number, points, seed_field
from lessons.families.digit_posteriors.spec import DATA, METHODS
from lessons.families.digit_posteriors.spec import WORDS as FAMILY
from lessons.uncertainty_maps.letters import O

WORDS = Words(__file__, FAMILY)

TESTS = 450  # test images: all bundled ones, the first of MNIST's 10,000
# How far each change goes, and in what. Blur and shift are in pixels: of an image of 8 × 8, of a larger one more.
REACH = {"rotate": 360.0, "blur": 2.0, "shift": 4.0, "noise": 1.0, "morph": 1.0}
CHANGES = tuple(REACH)
PARTS = ("maps", "domain")
OUTSIDE = ("letters", "inverted", "shuffled", "fashion")
MISTAKES = ("one_network", "total_as_epistemic")


@dataclass(frozen=True, kw_only=True)
class MapsSpec(Spec):
    """One look at the page."""

    part: str = choice("maps", PARTS, "a digit changed step by step, or images that are no digits")
    data: str = choice("digits", tuple(DATA), "what the networks learn from, and whose test images are changed: bundled digits, or MNIST")
    image: int = integer(3, 0, TESTS - 1, "of the test image that is changed", step=1)
    other: int = integer(9, 0, TESTS - 1, "of the test image that a morph ends at", step=1)
    across: str = choice("rotate", CHANGES, "what grows from left to right, and step by step")
    second: str = choice("blur", CHANGES, "what grows from the bottom of the maps to their top")
    level: float = number(0.0, 0.0, 1.0, "how much of the second change the steps run at: a row of the maps", step=0.05)
    outside: str = choice(
        "letters",
        OUTSIDE,
        "images that are no digits: letters, the test images with ink for paper, their pixels in another order, or "
        "clothes, downloaded once",
    )
    drawing: tuple[tuple[float, float, int], ...] = points(
        LIMIT, "points of the strokes of a letter: x to the right, y down, 0 to 1; none: ten letters"
    )
    method: str = choice("dense", METHODS, "how the networks were found")
    variant: str = choice("exact", ("exact", *MISTAKES), "the right way, or one that is wrong on purpose")
    seed: int = seed_field()

    def check(self) -> None:
        super().check()
        if self.across == self.second:
            raise SpecError("second", f"{self.second!r} already grows from left to right; choose another")
        for index, (x, y, stroke) in enumerate(self.drawing, start=1):
            if not (0.0 <= x <= 1.0 and 0.0 <= y <= 1.0 and 0 <= stroke <= LIMIT):
                raise SpecError("drawing", f"point {index} lies outside the pad, 0 to 1")


SCENARIOS = WORDS.scenarios(
    {
        "turning": MapsSpec(),
        "between": MapsSpec(image=1, other=9, across="morph", second="noise"),
        "shifted": MapsSpec(image=4, across="shift", second="noise", method="lbbnn"),
        "six": MapsSpec(image=18),
        "quarter": MapsSpec(method="dropout"),
        "letters": MapsSpec(part="domain"),
        "inverted": MapsSpec(part="domain", outside="inverted", method="dropout"),
        "round": MapsSpec(part="domain", drawing=O),
    }
)
