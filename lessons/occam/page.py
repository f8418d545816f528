"""The page of the lesson: controls → spec → picture."""

from app.kit.frame import Controls, Lesson, show
from engine.evidence import run as evidence_run
from engine.jumps import sweep
from engine.jumps.predict import of_data
from engine.predicted import Predicted
from engine.readable.annealed_importance import annealed_importance
from engine.readable.neurons import neurons
from lessons.families.growing.plane import CLASSES
from lessons.occam.analysis import checks, first_look, fixed, kernels, split
from lessons.occam.panels import diagnostics, panels
from lessons.occam.questions import QUESTIONS
from lessons.occam.scenes import grow, on_event, scene
from lessons.occam.spec import FIRST_POINTS, SCENARIOS, WORDS, OccamSpec

DATA = {"clouds": "XOR clouds", "points": "your points"}
SCALINGS = {"none": "σ for every k", "width": "σ/√k out of hidden units"}
PRIORS = {"uniform": "uniform", "geometric": "geometric", "poisson": "Poisson"}


def controls(panel: Controls[OccamSpec]) -> None:
    """The widgets beside the stage."""
    panel.slider("prior_sd", "Prior sd σ")
    panel.segmented("scaling", "Width scaling", SCALINGS)
    panel.slider("temper", "Temper a")
    panel.segmented("prior", "Prior on k", PRIORS)
    if panel.spec.prior == "geometric":
        panel.slider("ratio", "Ratio")
    if panel.spec.prior == "poisson":
        panel.slider("mean", "Mean")
    panel.slider("highest", "Largest k")
    panel.segmented("data", "Data", DATA)
    if panel.spec.data == "clouds":
        panel.slider("corner", "Points per corner")
        panel.slider("variance", "Noise: variance of a cloud")
        panel.button("Place points myself", {"data": "points", "points": FIRST_POINTS})
    else:
        panel.points("points", CLASSES)
    with panel.more("The run"):
        panel.slider("sweeps", "Sweeps")
        panel.slider("burn", "Leave out")
        panel.slider("step_size", "Step size ε")


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
    runs="Reversible jump over k with every factor in place, NUTS within each k; beside it annealing, which never jumps.",
    on_event=on_event,
    grow=grow,
)
show(LESSON)
