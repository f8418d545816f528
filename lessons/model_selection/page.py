"""The page of the lesson: controls → spec → picture."""

from app.kit.frame import Controls, Lesson, show
from engine import linear
from engine.readable.evidence import evidence
from lessons.model_selection import analysis, proof
from lessons.model_selection.panels import diagnostics, panels
from lessons.model_selection.questions import QUESTIONS
from lessons.model_selection.scenes import PREVIEWS, on_event, scene
from lessons.model_selection.spec import MISTAKES, SCENARIOS, WORDS, ModelSelectionLesson


def controls(panel: Controls[ModelSelectionLesson]) -> None:
    """The widgets beside the stage."""
    spec = panel.spec
    panel.segmented("play")
    panel.slider("degree")
    panel.slider("prior_sd")
    panel.segmented("basis")
    panel.slider("noise_sd", WORDS.phrase("controls.noise_sd" if spec.noise == "known" else "controls.noise_guess"))
    panel.segmented("noise")
    if spec.noise == "unknown":
        panel.slider("worth")
    if spec.play == "data":
        panel.segmented("order")
    if spec.play == "draws":
        panel.slider("at")
        panel.slider("draws")
    panel.segmented("data")
    if spec.data == "points":
        panel.points("points")
        panel.remark("points")
    else:
        panel.slider("observations")
        panel.slider("data_noise")
        with panel.more("other_points"):
            panel.number("data_seed")
    with panel.more("degrees"):
        panel.slider("degrees")
        panel.segmented("degree_prior")
        panel.slider("folds")
    panel.select("mistake")


def runs(spec: ModelSelectionLesson) -> str:
    """Which formula runs."""
    formula = WORDS.phrase(f"runs.noise_{spec.noise}")
    if spec.mistake == "none":
        return formula
    return f"{formula} {WORDS.phrase('runs.broken', mistake=WORDS['options.mistake'][spec.mistake])}"


def faults(spec: ModelSelectionLesson) -> dict[str, ModelSelectionLesson]:
    """The mistakes by their words."""
    return {WORDS["options.mistake"][name]: spec.replace(mistake=name) for name in MISTAKES if name != "none"}


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
