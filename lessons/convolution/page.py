"""The page of the lesson: controls → spec → picture."""

from app.kit import pad as drawing_pad
from app.kit.frame import Controls, Lesson, show
from engine.readable.bayes_by_backprop import bayes_by_backprop
from engine.readable.convolution import convolution as readable
from engine.spec import Spec
from engine.variational import convolution, convolution_pass
from lessons.convolution import analysis, training
from lessons.convolution.panels import diagnostics, panels
from lessons.convolution.questions import QUESTIONS
from lessons.convolution.scenes import grow, scene
from lessons.convolution.spec import SCENARIOS, WORDS, ConvolutionLesson


def controls(panel: Controls) -> None:
    """The widgets beside the stage."""
    spec = panel.spec
    panel.segmented("part")
    if spec.part == "kernel":
        panel.segmented("kernel")
    if not spec.learns:
        return
    if spec.part != "training":
        panel.slider("filter")
    if spec.part == "training":
        panel.segmented("size")
    if spec.large:
        return
    if spec.part != "kernel":
        panel.segmented("pooling")
    with panel.more("training"):
        panel.slider("epochs")
    with panel.more("break"):
        panel.select("variant")


def on_event(spec: ConvolutionLesson, event: dict) -> Spec | None:
    """A drawing is the one thing that the stage sends."""
    return spec.replace(drawing=drawing_pad.strokes(event)) if event.get("kind") == "drawing" else None


LESSON = Lesson(
    slug="convolution",
    words=WORDS,
    spec=ConvolutionLesson,
    scenarios=SCENARIOS,
    controls=controls,
    scene=scene,
    grow=grow,
    pad=lambda spec: spec.drawing if spec.part != "training" or training.is_large(spec) else None,
    on_event=on_event,
    audit=analysis.audit,
    checks=analysis.checks,
    faults=analysis.faults,
    panels=panels,
    diagnostics=diagnostics,
    predict=QUESTIONS,
    twins=lambda spec: [readable, bayes_by_backprop] if spec.learns else [readable],
    code=[convolution.correlate, convolution.max_pool, convolution.shifted, convolution.equivariance_gap, convolution_pass.convolve_back],
    runs=analysis.runs,
)
show(LESSON)
