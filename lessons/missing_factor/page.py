"""The page of the lesson: controls → spec → picture."""

from app.kit.frame import Controls, Lesson, show
from engine.jumps import sweep
from engine.jumps.predict import of_data
from engine.jumps.run import ArchitectureRun
from engine.readable.neurons import neurons
from engine.readable.palindrome import palindrome
from lessons.missing_factor.analysis import checks, data_of, first_look, kept_births, kernels, log_weights, put_right, runs, survivors
from lessons.missing_factor.panels import diagnostics, panels
from lessons.missing_factor.questions import QUESTIONS
from lessons.missing_factor.scenes import grow, scene
from lessons.missing_factor.spec import SCENARIOS, WORDS, MissingSpec


def controls(panel: Controls[MissingSpec]) -> None:
    """The widgets beside the stage."""
    panel.select("variant")
    panel.segmented("data")
    if panel.spec.data != "none":
        panel.slider("corner")
    panel.slider("highest")
    panel.select("jump")
    with panel.more("run"):
        panel.slider("sweeps")
        panel.slider("burn")


LESSON = Lesson(
    slug="missing-factor",
    words=WORDS,
    spec=MissingSpec,
    scenarios=SCENARIOS,
    controls=controls,
    scene=scene,
    recording=lambda spec: first_look(spec).scheme.recording(),
    predicted=lambda spec: of_data(first_look(spec).scheme.recording(), *data_of(spec), spec.seed),
    kernels=kernels,
    checks=checks,
    panels=panels,
    diagnostics=diagnostics,
    predict=QUESTIONS,
    twins=lambda spec: [neurons, palindrome] if spec.variant in ("no_kernel_densities", "as_coded") else [neurons],
    code=[sweep.propose, ArchitectureRun._surrounded_jumps, log_weights, kept_births, survivors, put_right],
    runs=runs,
    grow=grow,
)
show(LESSON)
