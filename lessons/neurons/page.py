"""The page of the lesson: controls → spec → picture."""

from app.kit import growing
from app.kit.frame import Controls, Lesson, show
from engine.evidence import architecture_evidence
from engine.jumps import growth, sweep
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


def controls(panel: Controls) -> None:
    """The widgets beside the stage."""
    growing.data_controls(panel)
    panel.slider("shown", "Chain on the stage")
    panel.slider("widest", "Most hidden units")
    growing.prior_controls(panel)
    panel.segmented("jump", "Kept weights at a birth", {"plain": "stay", "rescaled": "shrink"})
    growing.sampler_controls(panel)
    panel.select("variant", "Break it", VARIANTS)


LESSON = Lesson(
    slug="neurons",
    words=WORDS,
    spec=NeuronsSpec,
    scenarios=SCENARIOS,
    controls=controls,
    scene=scene,
    kernels=growing.kernels,
    audit=growing.audit,
    checks=growing.checks,
    panels=growing.panels,
    diagnostics=growing.diagnostics,
    predict=QUESTIONS,
    code=[sweep.jump_sweeps, sweep.propose, growth.add_unit, growth.drop_unit, architecture_evidence],
    runs=growing.runs,
    on_event=growing.on_event,
    live=growing.live,
    live_label="Run the experiment",
)
show(LESSON)
