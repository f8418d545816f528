"""The page of the lesson: controls → spec → picture."""

from app.kit.frame import Controls, Lesson, show
from engine.evidence import run as evidence_run
from engine.jumps import sweep
from engine.jumps.predict import of_data
from engine.predicted import Predicted
from engine.readable.annealed_importance import annealed_importance
from engine.readable.neurons import neurons
from lessons.families.growing.spec import CLASSES
from lessons.occam.analysis import checks, first_look, fixed, kernels, split
from lessons.occam.panels import diagnostics, panels
from lessons.occam.questions import QUESTIONS
from lessons.occam.scenes import grow, on_event, scene
from lessons.occam.spec import FIRST_POINTS, SCENARIOS, WORDS, OccamSpec


def controls(panel: Controls[OccamSpec]) -> None:
    """The widgets beside the stage."""
    panel.slider("prior_sd")
    panel.segmented("scaling")
    panel.slider("temper")
    panel.segmented("prior")
    if panel.spec.prior == "geometric":
        panel.slider("ratio")
    if panel.spec.prior == "poisson":
        panel.slider("mean")
    panel.slider("highest")
    panel.segmented("data")
    if panel.spec.data == "clouds":
        panel.slider("corner")
        panel.slider("variance")
        panel.button("place_points", {"data": "points", "points": FIRST_POINTS})
    else:
        panel.points("points", CLASSES)
    with panel.more("run"):
        panel.slider("sweeps")
        panel.slider("burn")
        panel.slider("step_size")


def predicted(spec: OccamSpec) -> Predicted | None:
    """What each draw of the picture's run says of the data."""
    return of_data(first_look(spec).recording(), *spec.data_set(), spec.seed)


LESSON = Lesson(
    slug="occam",
    words=WORDS,
    spec=OccamSpec,
    scenarios=SCENARIOS,
    controls=controls,
    scene=scene,
    recording=lambda spec: first_look(spec).recording(),
    predicted=predicted,
    kernels=kernels,
    checks=checks,
    panels=panels,
    diagnostics=diagnostics,
    predict=QUESTIONS,
    twins=lambda spec: [neurons, annealed_importance],
    code=[sweep.propose, evidence_run.architecture_evidence, split, fixed],
    runs=WORDS.phrase("runs.jumps"),
    on_event=on_event,
    grow=grow,
)
show(LESSON)
