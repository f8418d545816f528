"""What the stages of errata share: their words, an empty scene, and the roles of what is right, what was done, and what is exact."""

from __future__ import annotations

from typing import Any

from app.kit import theme
from app.kit.player.scene import Scene
from app.kit.words import Words

WORDS = Words(__file__)

RIGHT, WRONG, EXACT = "posterior", "reject", "truth"


def blank(id: str, steps: int, label: str, rate: float, start: int | None = None) -> Scene:
    """A scene without panels, opened at its end, or at the step that has what is printed."""
    return Scene(
        run=f"errata {id}", steps=steps, start=steps - 1 if start is None else start, label=label, rate=rate, theme=theme.palette()
    )


def tell(made: Scene, template: str, **values: Any) -> None:
    """The numbers of each step (steps,): on the card, and spoken."""
    made.readout("now", template, **values)
    made.say(template, **values)
