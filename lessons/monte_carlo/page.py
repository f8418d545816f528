"""The page of the lesson: controls → spec → picture."""

from app.kit.frame import Controls, Lesson, show
from engine import montecarlo
from engine.readable.monte_carlo import monte_carlo
from lessons.monte_carlo import analysis
from lessons.monte_carlo.panels import diagnostics, panels
from lessons.monte_carlo.questions import QUESTIONS
from lessons.monte_carlo.scenes import PREVIEWS, grow, scene
from lessons.monte_carlo.spec import SCENARIOS, SETTINGS, WORDS, MonteCarloLesson


def controls(panel: Controls[MonteCarloLesson]) -> None:
    """The widgets beside the stage."""
    panel.select("integral")
    for name in SETTINGS[panel.spec.integral]:
        panel.slider(name)
    panel.slider("draws")
    panel.slider("replications")
    panel.select("mistake")
    if panel.spec.mistake == "no_weight" and not panel.spec.build().weighted:
        panel.remark("no_weight_needed")


def runs(spec: MonteCarloLesson) -> str:
    """Which estimator runs."""
    return WORDS.phrase(f"runs.{spec.mistake}", integral=spec.integral)


def faults(spec: MonteCarloLesson) -> dict[str, MonteCarloLesson]:
    """The mistakes that these settings can show."""
    found = {WORDS.phrase("faults.band"): spec.replace(mistake="band")}
    if spec.build().weighted:
        found[WORDS.phrase("faults.no_weight")] = spec.replace(mistake="no_weight")
    return found


LESSON = Lesson(
    slug="monte-carlo",
    words=WORDS,
    spec=MonteCarloLesson,
    scenarios=SCENARIOS,
    controls=controls,
    scene=scene,
    grow=grow,
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
