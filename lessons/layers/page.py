"""The page of the lesson: controls → spec → picture."""

from app.kit import growing
from app.kit.frame import Controls, Lesson, show
from engine.evidence import architecture_evidence
from engine.jumps import growth, sweep
from lessons.layers.panels import panels
from lessons.layers.questions import QUESTIONS
from lessons.layers.scenes import scene
from lessons.layers.spec import SCENARIOS, WORDS, LayersSpec

VARIANTS = {
    "exact": "right",
    "no_end_points": "forget the ends",
    "no_kernel_densities": "NUTS around the jump, densities left out",
    "as_coded": "the published code",
}


def controls(panel: Controls) -> None:
    """The widgets beside the stage."""
    growing.data_controls(panel)
    panel.slider("shown", "Chain on the stage")
    panel.slider("width", "Units of each layer")
    panel.slider("deepest", "Most hidden layers")
    growing.prior_controls(panel)
    growing.sampler_controls(panel)
    panel.select("variant", "Break it", VARIANTS)


LESSON = Lesson(
    slug="layers",
    words=WORDS,
    spec=LayersSpec,
    scenarios=SCENARIOS,
    controls=controls,
    scene=scene,
    kernels=growing.kernels,
    audit=growing.audit,
    checks=growing.checks,
    panels=panels,
    diagnostics=growing.diagnostics,
    predict=QUESTIONS,
    code=[sweep.jump_sweeps, sweep.propose, growth.add_layer, growth.drop_layer, architecture_evidence],
    runs=growing.runs,
    on_event=growing.on_event,
    live=growing.live,
    live_label="Run the experiment",
)
show(LESSON)
