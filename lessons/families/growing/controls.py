"""The widgets of a lesson on neurons or on layers, and points placed by hand."""

from __future__ import annotations

from typing import Any

from app.kit.controls import Controls
from app.kit.player.events import placed, to_edit
from engine.spec import Spec
from lessons.families.growing.plane import CLASSES, MAX_POINTS, REACH
from lessons.families.growing.spec import GrowingSpec

DATA_NAMES = {"xor": "XOR", "noisy": "noisy XOR", "points": "your points"}
WITHIN_NAMES = {"nuts": "NUTS", "none": "nothing"}
START_NAMES = {"spread": "one at each size", "prior": "prior draws"}


def data_controls(panel: Controls[GrowingSpec]) -> None:
    """The data."""
    panel.segmented("data", "Data", DATA_NAMES)
    if panel.spec.data == "points":
        panel.points("points", CLASSES)
    else:
        panel.slider("corner", "Points per corner")
        panel.button("Edit these points", own_copy, help="Take them as your own points: click, drag and delete them")


def prior_controls(panel: Controls[GrowingSpec]) -> None:
    """The priors of the size and of the weights."""
    symbol = panel.spec.symbol
    panel.segmented("prior", f"Prior on {symbol}")
    if panel.spec.prior == "geometric":
        panel.slider("ratio", f"p({symbol} + 1) / p({symbol})")
    elif panel.spec.prior == "poisson":
        panel.slider("mean", "Mean")
    panel.slider("temper", "Temper a")
    panel.slider("prior_sd", "Prior sd σ of the weights")


def sampler_controls(panel: Controls[GrowingSpec]) -> None:
    """What few need to change."""
    with panel.more("The sampler"):
        panel.segmented("within", "Between the jumps", WITHIN_NAMES)
        panel.slider("step_size", "Step size ε of NUTS")
        panel.slider("jumps", "Jumps in a sweep")
        panel.slider("sweeps", "Sweeps")
        panel.slider("burn", "Sweeps left out")
        panel.segmented("start", "Chains start at", START_NAMES)


def own_copy(spec: GrowingSpec) -> dict[str, Any]:
    """The points of the clouds as own points: all of them, or every few where they are too many."""
    x, y = spec.data_set()
    return {"data": "points", "points": to_edit(x, y, most=MAX_POINTS, reach=REACH)}


def on_event(spec: GrowingSpec, event: dict) -> Spec | None:
    """Points placed in the stage become the data."""
    points = placed(event, "mean")
    return None if points is None else spec.replace(data="points", points=points)


def runs(spec: GrowingSpec) -> str:
    """Which kernel runs."""
    between = "NUTS moves the weights, then " if spec.within == "nuts" else ""
    wrong = f" Wrong on purpose: {spec.mistake}" if spec.mistake else ""
    many = "one birth or death" if spec.jumps == 1 else f"{spec.jumps} births or deaths"
    return f"Reversible jump: {between}{many} of {spec.newcomer}.{wrong}"
