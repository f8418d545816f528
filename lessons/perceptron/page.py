"""The page of the lesson: controls → spec → picture."""

from collections.abc import Callable
from typing import Any

from app.kit.frame import Controls, Lesson, show
from app.kit.player.events import placed
from engine.readable.backpropagation import backpropagation
from engine.readable.optimisers import descend
from engine.readable.perceptron import perceptron as readable
from engine.readable.training import training
from engine.training import descent, nodes, perceptron
from engine.training.train import _train_chunk
from engine.variational import optimisers
from lessons.perceptron import analysis
from lessons.perceptron.held_out import SETS
from lessons.perceptron.panels import diagnostics, panels
from lessons.perceptron.questions import QUESTIONS
from lessons.perceptron.scenes import PREVIEWS, grow, scene
from lessons.perceptron.spec import CLASSES, PARAMETERS, SCENARIOS, WORDS, PerceptronLesson

BACKWARD = ("network", "nodes")  # parts with a backward pass, which can be broken


def controls(panel: Controls[PerceptronLesson]) -> None:
    """The widgets beside the stage."""
    spec = panel.spec
    panel.segmented("part")
    if spec.part == "race":
        _race(panel)
        return
    if spec.part == "held_out":
        _held_out(panel)
        return
    panel.select("data")
    if spec.data == "separable":
        panel.slider("gap")
    if spec.data == "points":
        panel.points("points", CLASSES)
    else:
        panel.button("edit_these", analysis.own_copy)
    if spec.part == "perceptron":
        with panel.more():
            panel.slider("epochs")
            if spec.data == "separable":
                panel.slider("count")
        return
    panel.slider("units")
    panel.segmented("activation")
    if spec.part == "nodes":
        panel.slider("row")
        panel.slider("depth")
    else:
        panel.select("optimiser")
        panel.slider("step_size")
        with panel.more():
            _length(panel)
    panel.select("variant")


def _held_out(panel: Controls[PerceptronLesson]) -> None:
    panel.segmented("view")
    panel.slider("corner")
    panel.slider("units")
    panel.segmented("activation")
    if panel.spec.view == "ways":
        panel.slider("decay")
        panel.slider("keep")
        panel.slider("patience")
    with panel.more("training"):
        panel.select("optimiser")
        panel.slider("step_size")
        _length(panel)


def _length(panel: Controls[PerceptronLesson]) -> None:
    panel.slider("steps")
    panel.slider("depth")
    if panel.spec.optimiser in ("momentum", "nesterov"):
        panel.slider("momentum")


def _race(panel: Controls[PerceptronLesson]) -> None:
    panel.select("target")
    for name in PARAMETERS[panel.spec.target]:
        if name == "formula":
            panel.text("formula", placeholder="-x^2/2 - (y - x^2)^2")
        else:
            panel.slider(name)
    panel.slider("length")
    panel.slider("adaptive")
    panel.slider("momentum")
    panel.slider("noise")
    with panel.more("start"):
        panel.number("start_x")
        panel.number("start_y")
        panel.slider("racing")


def on_event(spec: PerceptronLesson, event: dict) -> PerceptronLesson | None:
    """Points placed in the stage become the data."""
    points = placed(event, "plane")
    return None if points is None else spec.replace(data="points", points=points)


def runs(spec: PerceptronLesson) -> str:
    """Which kernel runs."""
    run = WORDS.phrase(f"runs.{spec.part}", optimiser=spec.optimiser, sets=SETS)
    wrong = spec.part in BACKWARD and spec.variant != "exact"
    return f"{run} {WORDS.phrase(f'runs.{spec.variant}')}" if wrong else run


def faults(spec: PerceptronLesson) -> dict[str, PerceptronLesson]:
    """The mistakes in the backward pass, where there is one."""
    if spec.part not in BACKWARD:
        return {}
    return {words: spec.replace(variant=name) for name, words in WORDS["options.variant"].items() if name != "exact"}


TWINS: dict[str, list[Callable[..., Any]]] = {
    "perceptron": [readable],
    "network": [training, backpropagation],
    "nodes": [backpropagation],
    "race": [descend],
    "held_out": [training, backpropagation],
}

LESSON = Lesson(
    slug="perceptron",
    words=WORDS,
    spec=PerceptronLesson,
    scenarios=SCENARIOS,
    controls=controls,
    scene=scene,
    grow=grow,
    previews=PREVIEWS,
    audit=analysis.audit,
    checks=analysis.checks,
    faults=faults,
    panels=panels,
    diagnostics=diagnostics,
    predict=QUESTIONS,
    twins=lambda spec: TWINS[spec.part],
    wrong=lambda spec: {spec.variant} if spec.part in BACKWARD else set(),
    code=[
        perceptron.learn,
        perceptron.margin,
        nodes.forward,
        nodes.backward,
        nodes.pass_nodes,
        _train_chunk,
        optimisers.ascend,
        descent._descend,
    ],
    runs=runs,
    on_event=on_event,
)
show(LESSON)
