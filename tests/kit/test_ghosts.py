"""Old marks that stay in a new picture: cut off where the story says, still from then on, on axes that hold both."""

from __future__ import annotations

import numpy as np
import pytest

from app.kit import ghosts
from app.kit.moments import MomentError
from app.kit.player import scene
from app.kit.player.scene import Phase, Scene, Show

STEPS = 6


def picture(times: float = 1.0) -> bytes:
    """Marks of each kind that can stay, as large as `times` says."""
    draws = times * np.arange(1.0, STEPS + 1)
    made = Scene(run=str(times), steps=STEPS, label="Draws", phases=[Phase("move", "move", "inner"), Phase("decide")])
    made.window(0, 2 * np.arange(STEPS + 1))
    inner = times * np.arange(2.0 * STEPS)
    made.panel("path", x=("step", 0, 1), y="error").line(np.tile([0.0, 1.0], STEPS), inner, show="inner", role="energy")
    marginal = made.panel("marginal", x="x")
    marginal.histogram(draws, bins=(0, 10 * times, 5)).rule(x=draws, show="at", role="truth")
    made.panel("shares").bars(np.outer(draws, [1.0, 2.0]), labels=["a", "b"], truth=[1.0, 2.0])
    made.panel("plane", x="x", y="y").points(np.column_stack([draws, draws]), show=Show("upto", last=2), role="accept")
    made.table({"x": draws})
    return made.encode()


def kept(address: str, at: str = "4") -> tuple[dict, list[np.ndarray]]:
    """The one mark that stays, and the arrays."""
    header, arrays = scene.decode(ghosts.laid_over(picture(2.0), picture(), [address], "before", at))
    (layer,) = (layer for panel in header["panels"] for layer in panel["layers"] if layer.get("ghost"))
    assert layer["show"]["what"] == "all" and layer["label"] == "before"
    return layer, arrays


@pytest.mark.parametrize(
    ("address", "key", "values"),
    [
        ("path.energy", "ys", [6, 7]),
        ("marginal.posterior", "values", [1, 2, 3, 4]),
        ("marginal.truth.rule", "values", [4]),
        ("shares.posterior", "values", [4, 8]),
        ("plane.accept", "points", [[3, 3], [4, 4]]),
    ],
)
def test_marks_stay_as_they_were_at_the_moment(address, key, values):
    layer, arrays = kept(address)
    assert arrays[layer[key]].tolist() == values
    assert layer.get("truth") is None, "what is true has not changed"


def test_the_axes_hold_both_runs_and_the_picture_says_what_is_old():
    new, old = (scene.decode(picture(times))[0] for times in (2.0, 1.0))
    both, _ = scene.decode(ghosts.laid_over(picture(2.0), picture(), ["path.energy"], "before", "4"))
    small, _ = scene.decode(ghosts.laid_over(picture(1.0), picture(2.0), ["path.energy"], "before", "4"))
    ranges = [made["panels"][0]["y"] for made in (new, old, both, small)]
    assert ranges[0]["high"] > ranges[1]["high"]
    assert ranges[2] == ranges[3] == {**ranges[0], "low": min(ranges[0]["low"], ranges[1]["low"])}
    assert both["panels"][1:] == new["panels"][1:] and "before" in both["label"]


@pytest.mark.parametrize(("address", "at"), [("path.reject", "4"), ("nowhere", "4"), ("path.energy", "40")])
def test_what_the_old_picture_does_not_have_cannot_stay(address, at):
    with pytest.raises(MomentError):
        kept(address, at)
