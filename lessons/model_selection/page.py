"""The page of the lesson: controls → spec → picture."""

from app.kit.frame import Controls, Lesson, show
from engine import linear
from engine.readable.evidence import evidence
from lessons.model_selection import analysis, proof
from lessons.model_selection.panels import diagnostics, panels
from lessons.model_selection.questions import QUESTIONS
from lessons.model_selection.scenes import PREVIEWS, on_event, scene
from lessons.model_selection.spec import SCENARIOS, WORDS, ModelSelectionLesson

PLAYS = {"data": "data arrive", "draws": "posterior draws", "razor": "Occam's razor"}
BASES = {"legendre": "Legendre", "powers": "powers of x"}
MISTAKES = {"none": "none", "best_fit": "judge by the best fit", "constant": "forget the prior's constant"}


def controls(panel: Controls[ModelSelectionLesson]) -> None:
    """The widgets beside the stage."""
    spec = panel.spec
    panel.segmented("play", "What moves", PLAYS)
    panel.slider("degree", "Degree followed")
    panel.slider("prior_sd", "Prior sd s of a coefficient")
    panel.segmented("basis", "Coefficients multiply", BASES)
    panel.slider("noise_sd", "Noise σ assumed" if spec.noise == "known" else "Guess of the noise σ")
    panel.segmented("noise", "Is the noise known?", {"known": "known", "unknown": "a guess"})
    if spec.noise == "unknown":
        panel.slider("worth", "Guess worth (observations)")
    if spec.play == "data":
        panel.segmented("order", "Order of arrival", {"random": "shuffled", "sorted": "left to right"})
    if spec.play == "draws":
        panel.slider("at", "Read the curves at x′")
        panel.slider("draws", "Draws")
    panel.segmented("data", "Data", {"cosine": "cosine", "points": "your points"})
    if spec.data == "points":
        panel.points("points", label="Points: x, y, 0")
        panel.note("Or click in the picture; a double click removes a point.")
    else:
        panel.slider("observations", "Points")
        panel.slider("data_noise", "Noise sd of the data")
        with panel.more("Other points"):
            panel.number("data_seed", "Seed of the points")
    with panel.more("Degrees and folds"):
        panel.slider("degrees", "Highest degree compared")
        panel.segmented("degree_prior", "Prior on the degree", {"uniform": "all alike", "halved": "halved each time"})
        panel.slider("folds", "Folds")
    panel.select("mistake", "Break it", MISTAKES)


def runs(spec: ModelSelectionLesson) -> str:
    """Which formula runs."""
    law = "normal" if spec.noise == "known" else "Normal-Gamma"
    wrong = "" if spec.mistake == "none" else f" Broken on purpose: {MISTAKES[spec.mistake]}."
    return (
        f"engine.linear: {law} linear regression in closed form, against the sum of predictive scores, quadrature, "
        f"weighted draws and simulated data.{wrong}"
    )


def faults(spec: ModelSelectionLesson) -> dict[str, ModelSelectionLesson]:
    """The mistakes by their words."""
    return {words: spec.replace(mistake=name) for name, words in MISTAKES.items() if name != "none"}


LESSON = Lesson(
    slug="model-selection",
    words=WORDS,
    spec=ModelSelectionLesson,
    scenarios=SCENARIOS,
    controls=controls,
    scene=scene,
    previews=PREVIEWS,
    audit=proof.audit,
    checks=proof.checks,
    faults=faults,
    panels=panels,
    diagnostics=diagnostics,
    predict=QUESTIONS,
    twins=lambda spec: [evidence],
    code=[linear.solve, linear.arrive, linear.left_out_scores, linear.left_out_errors, analysis.razor],
    runs=runs,
    on_event=on_event,
)
show(LESSON)
