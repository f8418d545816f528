"""The page of the lesson: controls → spec → picture."""

from app.kit.frame import Controls, Lesson, show
from engine.evidence import architecture_evidence
from engine.jumps import growth, sweep
from engine.readable.annealed_importance import annealed_importance
from engine.readable.layers import layers as readable
from engine.readable.palindrome import palindrome
from lessons.families.growing.chains import predicted, recording
from lessons.families.growing.checks import audit, checks, kernels
from lessons.families.growing.controls import data_controls, on_event, prior_controls, runs, sampler_controls
from lessons.families.growing.panels import diagnostics
from lessons.families.growing.scenes import grow
from lessons.layers.panels import panels
from lessons.layers.questions import QUESTIONS
from lessons.layers.scenes import scene
from lessons.layers.spec import SCENARIOS, WORDS, LayersSpec


def controls(panel: Controls[LayersSpec]) -> None:
    """The widgets beside the stage."""
    data_controls(panel)
    panel.slider("shown")
    panel.slider("width")
    panel.slider("deepest")
    prior_controls(panel)
    panel.segmented("jump")
    sampler_controls(panel)
    panel.select("variant")


LESSON = Lesson(
    slug="layers",
    words=WORDS,
    spec=LayersSpec,
    scenarios=SCENARIOS,
    controls=controls,
    scene=scene,
    recording=recording,
    predicted=predicted,
    kernels=kernels,
    audit=audit,
    checks=checks,
    panels=panels,
    diagnostics=diagnostics,
    predict=QUESTIONS,
    twins=lambda spec: [readable, *([palindrome] if spec.variant in ("no_kernel_densities", "as_coded") else []), annealed_importance],
    code=[sweep.jump_sweeps, sweep.propose, growth.add_layer, growth.drop_layer, growth.draw_all, architecture_evidence],
    runs=runs,
    on_event=on_event,
    grow=grow,
)
show(LESSON)
