"""The page of the lesson: controls → spec → picture."""

from app.kit import pictures
from app.kit.frame import Controls, Lesson, show
from engine.readable.delayed_rejection import delayed_rejection as readable
from engine.samplers import delayed_rejection
from engine.targets import parameters_of
from lessons.delayed_rejection import analysis
from lessons.delayed_rejection.panels import diagnostics, panels
from lessons.delayed_rejection.questions import QUESTIONS
from lessons.delayed_rejection.scenes import PREVIEWS, grow, scene
from lessons.delayed_rejection.spec import SCENARIOS, WORDS, DelayedRejectionLesson


def controls(panel: Controls[DelayedRejectionLesson]) -> None:
    """The widgets beside the stage."""
    panel.slider("stages")
    panel.slider("scale")
    if panel.spec.stages > 1:
        panel.slider("shrink")
        panel.slider("pull")
    panel.target([name for name in parameters_of(panel.spec.target) if name != "dimension"])
    panel.note(pictures.truth_note(panel.spec.build_target()))
    with panel.more("chains"):
        panel.slider("chains")
        if panel.spec.chains > 1:
            panel.remark("chains")
        panel.slider("draws")
        panel.slider("warmup")
        panel.start()
    with panel.more("break"):
        panel.toggle("variant")
        if panel.spec.variant != "exact" and panel.spec.stages == 1:
            panel.remark("one_try")


LESSON = Lesson(
    slug="delayed-rejection",
    words=WORDS,
    spec=DelayedRejectionLesson,
    scenarios=SCENARIOS,
    controls=controls,
    scene=scene,
    grow=grow,
    previews=PREVIEWS,
    recording=lambda spec: analysis.simulate(spec).recording,
    kernels=analysis.kernels,
    audit=analysis.audit,
    checks=analysis.checks,
    panels=panels,
    diagnostics=diagnostics,
    predict=QUESTIONS,
    twins=lambda spec: [readable],
    code=[
        delayed_rejection.delayed_rejection_chunk,
        delayed_rejection._propose,
        delayed_rejection._second,
        delayed_rejection._third,
        delayed_rejection._first,
        delayed_rejection._log_proposal,
    ],
    runs=analysis.runs,
)
show(LESSON)
