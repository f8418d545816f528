"""The page of the lesson: controls → spec → picture."""

from app.kit import pictures
from app.kit.frame import Controls, Lesson, show
from engine.readable.slice_sampling import slice_sampling as readable
from engine.samplers import slice_sampling
from engine.targets import parameters_of
from lessons.slice_sampling import analysis, scenes
from lessons.slice_sampling.questions import QUESTIONS
from lessons.slice_sampling.spec import SCENARIOS, WORDS, SliceSamplingLesson


def controls(panel: Controls[SliceSamplingLesson]) -> None:
    """The widgets beside the stage."""
    panel.segmented("interval")
    panel.slider("w")
    if panel.spec.interval != "hyperrectangle":
        panel.slider("limit")
    panel.target([name for name in parameters_of(panel.spec.target) if name != "dimension"])
    panel.note(pictures.truth_note(panel.spec.build_target()))
    with panel.more("chains"):
        for name in ("chains", "draws", "warmup"):
            panel.slider(name)
        panel.start()
    with panel.more("break"):
        panel.select("variant")
        if panel.spec.variant == "no_test" and not panel.spec.mistaken:
            panel.remark("no_test")


LESSON = Lesson(
    slug="slice-sampling",
    words=WORDS,
    spec=SliceSamplingLesson,
    scenarios=SCENARIOS,
    controls=controls,
    scene=scenes.scene,
    grow=scenes.grow,
    previews=scenes.PREVIEWS,
    recording=lambda spec: analysis.simulate(spec)[0],
    kernels=analysis.kernels,
    audit=analysis.audit,
    checks=analysis.checks,
    panels=analysis.panels,
    diagnostics=analysis.diagnostics,
    predict=QUESTIONS,
    twins=lambda spec: [readable],
    code=[
        slice_sampling.slice_sampling_chunk,
        slice_sampling._step_out,
        slice_sampling._double,
        slice_sampling._shrink,
        slice_sampling._would_come_back,
    ],
    runs=analysis.runs,
)
show(LESSON)
