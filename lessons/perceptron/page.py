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
from lessons.perceptron.scenes import PREVIEWS, scene
from lessons.perceptron.spec import CLASSES, PARAMETERS, SCENARIOS, WORDS, PerceptronLesson

PARTS = {"perceptron": "perceptron", "network": "hidden units", "nodes": "one pass", "race": "race", "held_out": "new points"}
VIEWS = {"ways": "four ways", "decay": "the decay curve"}
DATA = {"separable": "a line separates them", "xor": "XOR, 4 points", "clouds": "XOR clouds", "points": "your points"}
VARIANTS = {"exact": "no, the right backward pass", "no_slope": "forget φ′(z)", "no_bias": "forget the biases"}
TARGETS = {"gaussian": "ravine", "banana": "bent valley", "formula": "your own formula"}
LABELS = {"correlation": "Tilt of the ravine (correlation)", "scale_ratio": "Length over width"}


def controls(panel: Controls[PerceptronLesson]) -> None:
    """The widgets beside the stage."""
    spec = panel.spec
    panel.segmented("part", "Part", PARTS)
    if spec.part == "race":
        _race(panel)
        return
    if spec.part == "held_out":
        _held_out(panel)
        return
    panel.select("data", "Points", DATA)
    if spec.data == "separable":
        panel.slider("gap", "Gap beside the line")
    if spec.data == "points":
        panel.points("points", CLASSES)
    else:
        panel.button("Edit these points", analysis.own_copy, help="Take them as your own points: click, drag and delete them")
    if spec.part == "perceptron":
        with panel.more():
            panel.slider("epochs", "Epochs at most")
            if spec.data == "separable":
                panel.slider("count", "Number of points")
        return
    panel.slider("units", "Hidden units")
    panel.segmented("activation", "Activation φ")
    if spec.part == "nodes":
        panel.slider("row", "Which point")
        panel.slider("depth", "Hidden layers")
    else:
        panel.select("optimiser", "Optimiser")
        panel.slider("step_size", "Step size η")
        with panel.more():
            _length(panel)
    panel.select("variant", "Break it", VARIANTS)


def _held_out(panel: Controls[PerceptronLesson]) -> None:
    panel.segmented("view", "Against overfitting", VIEWS)
    panel.slider("corner", "Points per cloud")
    panel.slider("units", "Hidden units")
    panel.segmented("activation", "Activation φ")
    if panel.spec.view == "ways":
        panel.slider("decay", "Weight decay λ")
        panel.slider("keep", "Dropout: p that a unit is kept")
        panel.slider("patience", "Early stopping: patience")
    with panel.more("The training"):
        panel.select("optimiser", "Optimiser")
        panel.slider("step_size", "Step size η")
        _length(panel)


def _length(panel: Controls[PerceptronLesson]) -> None:
    panel.slider("steps", "Steps")
    panel.slider("depth", "Hidden layers")
    if panel.spec.optimiser in ("momentum", "nesterov"):
        panel.slider("momentum", "Momentum β")


def _race(panel: Controls[PerceptronLesson]) -> None:
    panel.select("target", "Surface", TARGETS)
    for name in PARAMETERS[panel.spec.target]:
        if name == "formula":
            panel.text("formula", "log density in x and y: the surface is minus it", "-x^2/2 - (y - x^2)^2")
        else:
            panel.slider(name, LABELS.get(name))
    panel.slider("length", "Step η of sgd, momentum, nesterov (× 1/L)")
    panel.slider("adaptive", "Step η of adagrad, rmsprop, adam")
    panel.slider("momentum", "Momentum β")
    panel.slider("noise", "Noise on every gradient")
    with panel.more("Start, steps"):
        panel.number("start_x", "Start: first coordinate")
        panel.number("start_y", "Start: second coordinate")
        panel.slider("racing", "Steps")


def on_event(spec: PerceptronLesson, event: dict) -> PerceptronLesson | None:
    """Points placed in the stage become the data."""
    points = placed(event, "plane")
    return None if points is None else spec.replace(data="points", points=points)


def runs(spec: PerceptronLesson) -> str:
    """Which kernel runs."""
    wrong = {
        "exact": "",
        "no_slope": " Wrong on purpose: φ′ is left out on the way back.",
        "no_bias": " Wrong on purpose: the biases get no derivative.",
    }[spec.variant]
    return {
        "perceptron": "Rosenblatt's rule, in whole numbers.",
        "network": f"{spec.optimiser} on the mean loss of all points, gradients by backpropagation.{wrong}",
        "nodes": f"Forward and backward pass of one point.{wrong}",
        "race": "Six step rules on one surface, from one start.",
        "held_out": f"{spec.optimiser} on the mean loss, on {SETS} sets of points: masks, decay and stopping are the training's own.",
    }[spec.part]


def faults(spec: PerceptronLesson) -> dict[str, PerceptronLesson]:
    """The mistakes in the backward pass, where there is one."""
    if spec.part not in ("network", "nodes"):
        return {}
    return {words: spec.replace(variant=name) for name, words in VARIANTS.items() if name != "exact"}


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
    previews=PREVIEWS,
    audit=analysis.audit,
    checks=analysis.checks,
    faults=faults,
    panels=panels,
    diagnostics=diagnostics,
    predict=QUESTIONS,
    twins=lambda spec: TWINS[spec.part],
    wrong=lambda spec: {spec.variant} if spec.part in ("network", "nodes") else set(),
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
