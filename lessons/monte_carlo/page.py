"""The page of the lesson: controls → spec → picture."""

from app.kit.frame import Controls, Lesson, show
from engine import montecarlo
from engine.readable.monte_carlo import monte_carlo
from lessons.monte_carlo import analysis
from lessons.monte_carlo.panels import diagnostics, panels
from lessons.monte_carlo.questions import QUESTIONS
from lessons.monte_carlo.scenes import PREVIEWS, scene
from lessons.monte_carlo.spec import SCENARIOS, SETTINGS, WORDS, MonteCarloLesson

INTEGRALS = {
    "ball": "volume of a ball, by darts (π in the plane)",
    "power": "∫ x⁻ᵃ dx from 0 to 1",
    "rare": "P(z > c), a rare event",
    "square": "E[z²] with another normal's draws",
    "cauchy": "mean of a Cauchy (there is none)",
}
LABELS = {
    "dimension": "Dimension d",
    "a": "Power a of the integrand",
    "b": "Power b of the draws' density",
    "threshold": "Threshold c",
    "shift": "Shift of the draws",
    "scale": "sd of the draws s",
}
MISTAKES = {"none": "none", "no_weight": "forget the weight p/q", "band": "band with s/n"}


def controls(panel: Controls[MonteCarloLesson]) -> None:
    """The widgets beside the stage."""
    panel.select("integral", "What is estimated", INTEGRALS)
    for name in SETTINGS[panel.spec.integral]:
        panel.slider(name, LABELS[name])
    panel.slider("draws", "Draws n")
    panel.slider("replications", "Repetitions")
    panel.select("mistake", "Break it", MISTAKES)
    if panel.spec.mistake == "no_weight" and not panel.spec.build().weighted:
        panel.note("These draws need no weight: nothing is wrong yet. Choose another density for them.")


def runs(spec: MonteCarloLesson) -> str:
    """Which estimator runs."""
    wrong = {"no_weight": " Broken on purpose: no weight.", "band": " Broken on purpose: its band is s/n."}
    return f"engine.montecarlo.{spec.integral}: averages of independent draws." + wrong.get(spec.mistake, "")


def faults(spec: MonteCarloLesson) -> dict[str, MonteCarloLesson]:
    """The mistakes that these settings can show."""
    found = {"a band of s/n": spec.replace(mistake="band")}
    if spec.build().weighted:
        found["the weight forgotten"] = spec.replace(mistake="no_weight")
    return found


LESSON = Lesson(
    slug="monte-carlo",
    words=WORDS,
    spec=MonteCarloLesson,
    scenarios=SCENARIOS,
    controls=controls,
    scene=scene,
    previews=PREVIEWS,
    audit=analysis.audit,
    checks=analysis.checks,
    faults=faults,
    panels=panels,
    diagnostics=diagnostics,
    predict=QUESTIONS,
    twins=lambda spec: [monte_carlo],
    code=[
        montecarlo.replicate,
        montecarlo.Replications.standard_errors,
        montecarlo.ball,
        montecarlo.power,
        montecarlo.rare,
        montecarlo.square,
        montecarlo.midpoint,
    ],
    runs=runs,
)
show(LESSON)
