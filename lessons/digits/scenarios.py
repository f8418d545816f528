"""The named settings."""

from __future__ import annotations

from app.kit.frame import Scenario
from lessons.digits.spec import DigitsSpec

Strokes = tuple[tuple[float, float, int], ...]


def _strokes(*lines: tuple[tuple[int, int], ...]) -> Strokes:
    """Lines of (x, y) in hundredths of the pad's edge."""
    return tuple((x / 100, y / 100, stroke) for stroke, line in enumerate(lines) for x, y in line)


THREE = _strokes(
    (
        *((30, 25), (40, 16), (55, 15), (66, 22), (66, 33), (56, 43), (45, 47), (58, 50), (69, 60), (69, 74)),
        *((58, 84), (42, 85), (29, 77)),
    )
)
FOUR_OR_NINE = _strokes(
    ((60, 16), (46, 28), (34, 44), (32, 52), (44, 56), (60, 54), (68, 50)), ((66, 16), (68, 34), (67, 60), (65, 86))
)
STAR = _strokes(((20, 20), (80, 80)), ((80, 20), (20, 80)), ((20, 50), (80, 50)), ((50, 20), (50, 80)))
LETTER = _strokes(((20, 86), (24, 16), (50, 60), (76, 16), (80, 86)))
CORNER = tuple((round(0.04 + 0.42 * x, 3), round(0.04 + 0.42 * y, 3), stroke) for x, y, stroke in THREE)

SCENARIOS = (
    Scenario(
        "between",
        "between 4 and 9",
        DigitsSpec(drawing=FOUR_OR_NINE),
        "Is it a 4 whose top nearly closes, or a 9? One hundred networks drawn from one posterior give a hundred "
        "answers. **Draw over it, or clear the pad and draw your own.**",
    ),
    Scenario(
        "plain",
        "a plain 3",
        DigitsSpec(drawing=THREE),
        "A digit as the data hold them. The dots of the hundred networks lie on each other, and both parts of the "
        "uncertainty are small.",
    ),
    Scenario(
        "letter",
        "a letter",
        DigitsSpec(drawing=LETTER, method="nuts"),
        "An M is no digit, but a network must answer with one. NUTS draws the weights from their posterior: where the "
        "data said nothing, its networks contradict each other, and the epistemic part says so.",
    ),
    Scenario(
        "star",
        "sure of a star",
        DigitsSpec(drawing=STAR, method="dropout"),
        "No digit at all. Read what MC dropout says, then switch to NUTS or to the dense Gaussian on the same star.",
        failure=True,
        why="Dropout starts from one fitted network and leaves some of its units out. What that network does far from "
        "the data is an accident of its fit, and all its thinned copies share the accident. So they can agree where "
        "nobody should be sure: a small epistemic part says that these networks agree, not that they know.",
    ),
    Scenario(
        "corner",
        "not centred",
        DigitsSpec(drawing=CORNER, variant="no_centring"),
        "The same 3 as before, drawn small in the corner, and handed to the networks as it stands.",
        failure=True,
        why="All images that were learnt from were cropped, scaled and centred first. These networks read pixels: to "
        "them a digit elsewhere is another picture, and nothing in the training said what it is. Most demonstrations "
        "of digit readers that “do not work” have forgotten this step. The sign *kernel* is red: it compares where "
        "the ink stands.",
    ),
)
