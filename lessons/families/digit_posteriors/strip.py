"""What each of many networks says of one image, and the average of the first 1, 2, ... of them: a dot for each."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from app.kit.player.scene import Axis, Panel
from lessons.families.digit_posteriors.spec import WORDS

Array = NDArray[np.float64]


def digit_axis(classes: int) -> Axis:
    """The digits side by side."""
    return Axis(WORDS.phrase("stage.digit"), -0.6, classes - 0.4, ticks=[(digit, str(digit)) for digit in range(classes)])


def probability_axis() -> Axis:
    """From 0 to 1, with room for dots at the ends."""
    return Axis(WORDS.phrase("stage.probability"), -0.02, 1.02)


def strip(panel: Panel, draws: Array, mean: Array, each: str, average: str, this: str) -> None:
    """Dots, averages and the network of the step, in a panel with `digit_axis` and `probability_axis`.

    draws, mean : (R, classes) probabilities of every network, one a step, and of the average of the first of them
    each, average, this : what the three are called
    """
    count, classes = draws.shape
    # side by side, so that many networks of one opinion show as a band
    spread = (np.arange(count) / max(count - 1, 1) - 0.5) * 0.7
    at = np.arange(classes)[:, None] + spread
    for digit in range(classes):
        dots = np.column_stack([at[digit], draws[:, digit]])
        panel.points(dots, show="upto", role="posterior", size=2.0, alpha=0.55, label=each if digit == 0 else None)
    # the average of the first 1, 2, ... networks: a short line over each digit, broken in between
    ends = np.array([-0.4, 0.4, np.nan])
    averages = np.empty((count, classes, 3, 2))
    averages[..., 0] = np.arange(classes)[:, None] + ends
    averages[..., 1] = mean[:, :, None]
    panel.path(averages.reshape(count, -1, 2), at=np.arange(count), role="ink", width=2.6, label=average)
    for digit in range(classes):
        here = np.column_stack([at[digit], draws[:, digit]])
        panel.points(here, show="at", role="highlight", shape="diamond", size=5.0, label=this if digit == 0 else None)
