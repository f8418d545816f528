"""The widgets of a lesson on neurons or on layers, and points placed by hand."""

from __future__ import annotations

from typing import Any

from app.kit.controls import Controls
from app.kit.player.events import placed, to_edit
from engine.spec import Spec
from lessons.families.growing.plane import MAX_POINTS, REACH
from lessons.families.growing.spec import CLASSES, WORDS, GrowingSpec


def data_controls(panel: Controls[GrowingSpec]) -> None:
    """The data."""
    panel.segmented("data")
    if panel.spec.data == "points":
        panel.points("points", CLASSES)
    else:
        panel.slider("corner")
        panel.button("edit_these", own_copy)


def prior_controls(panel: Controls[GrowingSpec]) -> None:
    """The priors of the size and of the weights."""
    symbol = panel.spec.symbol
    panel.segmented("prior", label=WORDS.phrase("controls.prior", symbol=symbol))
    if panel.spec.prior == "geometric":
        panel.slider("ratio", label=WORDS.phrase("controls.ratio", symbol=symbol))
    elif panel.spec.prior == "poisson":
        panel.slider("mean")
    panel.slider("temper")
    panel.slider("prior_sd")


def sampler_controls(panel: Controls[GrowingSpec]) -> None:
    """What few need to change."""
    with panel.more("sampler"):
        panel.segmented("within")
        panel.slider("step_size")
        panel.slider("jumps")
        panel.slider("sweeps")
        panel.slider("burn")
        panel.segmented("start")


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
    many = WORDS.phrase("runs.one" if spec.jumps == 1 else "runs.several", jumps=spec.jumps)
    run = WORDS.phrase("runs.with_nuts" if spec.within == "nuts" else "runs.jumps", many=many, newcomer=spec.newcomer)
    return f"{run} {WORDS.phrase('runs.wrong', mistake=spec.mistake)}" if spec.mistake else run
