"""The page of the lesson: controls → spec → picture."""

from app.kit.frame import Controls, Lesson, show
from engine.readable.dual_averaging import dual_averaging as readable
from engine.readable.nuts import nuts
from engine.samplers import adaptation
from engine.targets import parameters_of
from lessons.tuning import analysis
from lessons.tuning.panels import diagnostics, panels
from lessons.tuning.questions import QUESTIONS
from lessons.tuning.scenes import PREVIEWS, scene
from lessons.tuning.spec import SCENARIOS, WORDS, TuningLesson

VIEWS = {"one": "one δ", "three": "0.6 / 0.8 / 0.95", "pair": "0.8 / 0.99"}
THIRDS = {"cost": "gradients", "estimate": "an average"}
MASSES = {
    "diagonal": "learn the variances (diagonal)",
    "dense": "learn the covariance (dense)",
    "identity": "identity, fixed",
    "variances": "true variances, fixed",
    "covariance": "true covariance, fixed",
}


def controls(panel: Controls[TuningLesson]) -> None:
    """The widgets beside the stage."""
    panel.segmented("view", "Samplers on the stage", VIEWS)
    if panel.spec.view == "one":
        panel.slider("target_accept", "Target acceptance δ")
    panel.select("mass", "Mass matrix", MASSES)
    panel.slider("warmup", "Warm-up")
    panel.segmented("third", "Lowest panel", THIRDS)
    panel.target([name for name in parameters_of(panel.spec.target) if name != "dimension"])
    with panel.more("Chains and draws"):
        panel.slider("chains")
        panel.note("The stage follows chain 1; pale lines are the step sizes of the others. Several δ: one chain each.")
        panel.slider("draws")
        panel.segmented("start")
        if panel.spec.start == "at":
            panel.number("start_x")
            panel.number("start_y")
        panel.segmented("tuning", "Step size", {"adapt": "find it", "fixed": "keep mine"})
        if panel.spec.tuning == "fixed":
            panel.slider("step_size", "Step size ε")
    with panel.more("Break it"):
        panel.toggle("after", "Never stop tuning")
        panel.toggle("count", "Count the warm-up as draws")


def runs(spec: TuningLesson) -> str:
    """Which kernel runs."""
    words = "No-U-Turn Sampler, multinomial, dual averaging of ε, mass in windows that double."
    if spec.after == "adapting":
        return words + " It never stops tuning: wrong on purpose."
    if spec.count == "all":
        return words + " Its warm-up is counted as draws: wrong on purpose."
    return words + " Both are frozen after the warm-up."


LESSON = Lesson(
    slug="tuning",
    words=WORDS,
    spec=TuningLesson,
    scenarios=SCENARIOS,
    controls=controls,
    scene=scene,
    previews=PREVIEWS,
    recording=analysis.simulate,
    kernels=analysis.kernels,
    audit=analysis.audit,
    checks=analysis.checks,
    panels=panels,
    diagnostics=diagnostics,
    predict=QUESTIONS,
    twins=lambda spec: [readable, nuts],
    code=[adaptation.learn, adaptation.restart, adaptation._estimate_mass, adaptation.windows],
    runs=runs,
)
show(LESSON)
