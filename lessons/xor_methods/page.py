"""The page of the lesson: controls → spec → picture."""

from collections.abc import Callable
from typing import Any

from app.kit.frame import Controls, Lesson, show
from app.kit.player.events import placed, to_edit
from engine.readable.advi import advi
from engine.readable.hmc import hmc
from engine.readable.neurons import neurons
from engine.readable.nuts import nuts
from engine.readable.training import training
from lessons.xor_methods import analysis, proof
from lessons.xor_methods.panels import diagnostics, panels
from lessons.xor_methods.questions import QUESTIONS
from lessons.xor_methods.scenes import grow, scene
from lessons.xor_methods.spec import CLASSES, MAX_POINTS, NAMES, REACH, SCENARIOS, WORDS, MethodsSpec


def controls(panel: Controls[MethodsSpec]) -> None:
    """The widgets beside the stage."""
    panel.select("method")
    panel.segmented("view")
    if panel.spec.view == "networks":
        panel.select("compare", names=NAMES)
    panel.segmented("data")
    if panel.spec.data == "points":
        panel.points("points", CLASSES)
    else:
        panel.slider("corner")
        panel.button("edit_these", own_copy)
    panel.slider("units")
    panel.slider("prior_sd")
    panel.select("activation")
    with panel.more("methods"):
        panel.slider("members")
        panel.slider("keep")
        panel.slider("epochs")
        panel.slider("fit_steps")
        panel.slider("step_size")
        panel.slider("leapfrog")
    panel.toggle("variant", on="always_accept")


def own_copy(spec: MethodsSpec) -> dict:
    """The points of the clouds as own points: all of them, or every few where they are too many."""
    x, y = analysis.data_of(spec)
    return {"data": "points", "points": to_edit(x, y, most=MAX_POINTS, reach=REACH)}


def on_event(spec: MethodsSpec, event: dict) -> MethodsSpec | None:
    """Points placed in the stage become the data."""
    points = placed(event, "mean")
    return None if points is None else spec.replace(data="points", points=points)


def runs(spec: MethodsSpec) -> str:
    """Which kernels run."""
    methods = WORDS.phrase("runs.methods")
    return WORDS.phrase("runs.wrong", methods=methods) if spec.variant == "always_accept" else methods


TWINS: dict[str, Callable[..., Any]] = {"nuts": nuts, "hmc": hmc, "jumps": neurons, "advi": advi, "dropout": training, "ensemble": training}

LESSON = Lesson(
    slug="xor-methods",
    words=WORDS,
    spec=MethodsSpec,
    scenarios=SCENARIOS,
    controls=controls,
    scene=scene,
    kernels=proof.kernels,
    audit=proof.audit,
    checks=proof.checks,
    panels=panels,
    diagnostics=diagnostics,
    predict=QUESTIONS,
    twins=lambda spec: [TWINS[method] for method in dict.fromkeys((spec.method, spec.compare))],
    code=[analysis.epistemic, analysis.fitted, analysis.sampler, proof.against],
    runs=runs,
    on_event=on_event,
    grow=grow,
)
show(LESSON)
