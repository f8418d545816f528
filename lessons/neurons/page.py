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

VARIANTS = {
    "exact": "right",
    "no_jacobian": "forget the Jacobian",
    "no_end_points": "forget the ends",
    "slot_once": "count the slot once",
    "no_kernel_densities": "NUTS around the jump, densities left out",
    "as_coded": "the published code",
}


def controls(panel: Controls[NeuronsSpec]) -> None:
    """The widgets beside the stage."""
    data_controls(panel)
    panel.slider("shown", "Chain on the stage")
    panel.slider("widest", "Most hidden units")
    prior_controls(panel)
    panel.segmented(
        "jump", "Kept weights at a birth", {"plain": "stay", "rescaled": "shrink", "split": "one splits", "redraw": "all drawn anew"}
    )
    sampler_controls(panel)
    panel.select("variant", "Break it", VARIANTS)


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
