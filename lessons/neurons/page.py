"""The page of the lesson: controls → spec → picture."""

from app.kit.frame import Controls, Lesson, show
from engine.evidence import architecture_evidence
from engine.jumps import growth, sweep
from engine.readable.neurons import neurons as readable
from engine.readable.palindrome import palindrome
from lessons.families.growing.chains import predicted, recording
from lessons.families.growing.checks import audit, checks, kernels
from lessons.families.growing.controls import data_controls, on_event, prior_controls, runs, sampler_controls
from lessons.families.growing.panels import diagnostics, panels
from lessons.families.growing.scenes import grow
from lessons.neurons.questions import QUESTIONS
from lessons.neurons.scenes import scene
from lessons.neurons.spec import SCENARIOS, WORDS, NeuronsSpec


def controls(panel: Controls[NeuronsSpec]) -> None:
    """The widgets beside the stage."""
    data_controls(panel)
    panel.slider("shown")
    panel.slider("widest")
    prior_controls(panel)
    panel.segmented("jump")
    sampler_controls(panel)
    panel.select("variant")


LESSON = Lesson(
    slug="neurons",
    words=WORDS,
    spec=NeuronsSpec,
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
    twins=lambda spec: [readable, palindrome] if spec.variant in ("no_kernel_densities", "as_coded") else [readable],
    code=[
        sweep.jump_sweeps,
        sweep.propose,
        growth.add_unit,
        growth.drop_unit,
        growth.split_unit,
        growth.merge_units,
        growth.draw_all,
        architecture_evidence,
    ],
    runs=runs,
    on_event=on_event,
    grow=grow,
)
show(LESSON)
