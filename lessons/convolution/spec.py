"""What decides the picture of this lesson: a digit, the kernel that looks at it, and the network that learns kernels."""

from __future__ import annotations

from dataclasses import dataclass

from app.kit.pad import LIMIT
from app.kit.words import Words
from engine.spec import Spec, SpecError, choice, integer, points, seed_field

WORDS = Words(__file__)

PARTS = ("kernel", "posterior", "moved", "training")
KERNELS = {  # made by hand, rows from the top
    "blur": ((1 / 9, 1 / 9, 1 / 9), (1 / 9, 1 / 9, 1 / 9), (1 / 9, 1 / 9, 1 / 9)),
    "upright": ((-1.0, 0.0, 1.0), (-1.0, 0.0, 1.0), (-1.0, 0.0, 1.0)),
    "level": ((-1.0, -1.0, -1.0), (0.0, 0.0, 0.0), (1.0, 1.0, 1.0)),
}
LEARNT = "learnt"
VARIANTS = ("exact", "places", "flipped", "padding")
SIZES = ("small", "large")
FILTERS = 8  # of the first stage


@dataclass(frozen=True, kw_only=True)
class ConvolutionLesson(Spec):
    """One look at the page."""

    part: str = choice("kernel", PARTS, "what is on stage: a kernel's way, its posterior, a moved digit, training")
    drawing: tuple[tuple[float, float, int], ...] = points(LIMIT, "points of the strokes: x to the right, y down, 0 to 1")
    kernel: str = choice("upright", (*KERNELS, LEARNT), "nine weights made by hand, or those that the network learnt")
    filter: int = integer(1, 1, FILTERS, "which filter of the first stage", step=1)
    pooling: str = choice("max", ("max", "none"), "keep the largest of each 2 × 2 places, or all of them")
    epochs: int = integer(60, 5, 100, "passes through the 1,347 digits", log=True)
    size: str = choice("small", SIZES, "digits that the training on stage learns from: bundled ones of 8 × 8, or MNIST's 28 × 28")
    variant: str = choice("exact", VARIANTS, "training as it should be, or wrong on purpose")
    seed: int = seed_field()

    def check(self) -> None:
        super().check()
        for index, (x, y, stroke) in enumerate(self.drawing, start=1):
            if not (0.0 <= x <= 1.0 and 0.0 <= y <= 1.0 and 0 <= stroke <= LIMIT):
                raise SpecError("drawing", f"point {index} lies outside the pad, 0 to 1")
        if self.large and self.variant == "padding":
            raise SpecError("variant", "the network of 28 × 28 digits has no rim to leave out: take the digits of 8 × 8")

    @property
    def learns(self) -> bool:
        """Whether what is on stage comes from a trained network."""
        return self.part != "kernel" or self.kernel == LEARNT

    @property
    def large(self) -> bool:
        """Whether the training on stage is that of the 28 × 28 digits."""
        return self.part == "training" and self.size == "large"

    def trained_alone(self) -> ConvolutionLesson:
        """The settings that training depends on; the rest at its default."""
        if self.large:
            return ConvolutionLesson(part=self.part, size=self.size, variant=self.variant, seed=self.seed)
        return ConvolutionLesson(pooling=self.pooling, epochs=self.epochs, variant=self.variant, seed=self.seed)


def _strokes(*lines: tuple[tuple[int, int], ...]) -> tuple[tuple[float, float, int], ...]:
    """Lines of (x, y) in hundredths of the pad's edge."""
    return tuple((x / 100, y / 100, stroke) for stroke, line in enumerate(lines) for x, y in line)


FOUR = _strokes(((40, 8), (22, 58), (80, 58)), ((62, 34), (60, 94)))
TWO = _strokes(((38, 22), (50, 10), (62, 22), (58, 46), (38, 90), (66, 90)))  # narrow: it may move without losing ink

SCENARIOS = WORDS.scenarios(
    {
        "kernel": ConvolutionLesson(drawing=FOUR),
        "posterior": ConvolutionLesson(part="posterior", drawing=FOUR),
        "moved": ConvolutionLesson(part="moved", drawing=TWO),
        "no-pooling": ConvolutionLesson(part="moved", drawing=TWO, pooling="none"),
        "places": ConvolutionLesson(part="training", drawing=FOUR, variant="places"),
    }
)
