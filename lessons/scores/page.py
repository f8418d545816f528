"""The page of the lesson: controls, and what the frame needs."""

from app.kit.frame import Controls, Lesson, show
from engine import scores
from engine.readable.uncertainty import uncertainty
from lessons.families.digit_posteriors import sources
from lessons.scores import analysis, proof
from lessons.scores.panels import diagnostics, panels
from lessons.scores.questions import QUESTIONS
from lessons.scores.scenes import PREVIEWS, grow, scene
from lessons.scores.spec import SCENARIOS, WORDS, ScoresSpec


def controls(panel: Controls[ScoresSpec]) -> None:
    """The widgets beside the stage."""
    spec = panel.spec
    panel.segmented("view")
    panel.segmented("method")
    if spec.view in ("errors", "abstain"):
        panel.select("score")
    if spec.view == "errors":
        panel.select("against", names=analysis.NAMES)
    if spec.view == "abstain":
        panel.slider("answered")
        panel.slider("abstain_cost")
        panel.toggle("judged", on="yes")
        with panel.more("halves"):
            panel.number("split")
    with panel.more("data"):
        panel.slider("networks")
        panel.segmented("data")
        if spec.data == "digits":
            panel.slider("learnt")
        panel.remark("bundled")
        panel.remark("large", tested=analysis.TESTED)
        panel.remark("mnist", where=sources.WHERE)
    with panel.more("break"):
        panel.select("variant")


def runs(spec: ScoresSpec) -> str:
    """How the networks were found, and what else is checked."""
    return WORDS.phrase("runs.scores", run=WORDS.phrase(f"runs.{spec.method}"))


LESSON = Lesson(
    slug="scores",
    words=WORDS,
    spec=ScoresSpec,
    scenarios=SCENARIOS,
    controls=controls,
    scene=scene,
    previews=PREVIEWS,
    grow=grow,
    kernels=proof.kernels,
    audit=proof.audit,
    checks=proof.checks,
    faults=proof.faults,
    panels=panels,
    diagnostics=diagnostics,
    predict=QUESTIONS,
    twins=lambda spec: [uncertainty],
    code=[
        scores.gamma_curve,
        scores.inconsistency,
        scores.gaussian_approximation,
        scores.decompose,
        scores.reliability,
        scores.abstain_costs,
        analysis.ranked,
    ],
    runs=runs,
    ready=lambda spec: sources.is_here(spec.data),
)
show(LESSON)
