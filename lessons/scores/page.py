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

VIEWS = {"errors": "finds the errors?", "thresholds": "precision, recall", "calibration": "calibrated?", "abstain": "abstain game"}
MISTAKES = {"exact": "no, the right way", "ties": "ties put in a lucky order", "true_class": "binned by the true class"}


def controls(panel: Controls[ScoresSpec]) -> None:
    """The widgets beside the stage."""
    spec = panel.spec
    panel.segmented("view", "Question", VIEWS)
    panel.segmented("method")
    if spec.view in ("errors", "abstain"):
        panel.select("score", "Score of uncertainty", analysis.NAMES)
    if spec.view == "errors":
        panel.select("against", "Compare with", {"none": "nothing", **analysis.NAMES})
    if spec.view == "abstain":
        panel.slider("answered", "Your threshold: answered, first half")
        panel.slider("abstain_cost", "Price of no answer")
        panel.toggle("judged", "Judge on the other half", on="yes")
        with panel.more("The halves"):
            panel.number("split", "Split")
    with panel.more("Networks and data"):
        panel.slider("networks", "Networks asked R")
        panel.segmented("data")
        if spec.data == "digits":
            panel.slider("learnt", "Digits learnt from")
        panel.note("Bundled digits of 8 × 8 pixels: 450 are tested, never learnt from. NUTS learns from 500 at most.")
        panel.note(
            f"Of MNIST all 60,000 are learnt from, and the first {analysis.TESTED:,} of its 10,000 test images are tested: "
            "a hundred networks read no more in the seconds that a reader waits."
        )
        panel.remark("mnist", where=sources.WHERE)
    with panel.more("Break it"):
        panel.select("variant", "Wrong on purpose", MISTAKES)


def runs(spec: ScoresSpec) -> str:
    """How the networks were found, and what else is checked."""
    return f"{WORDS.phrase(f'runs.{spec.method}')} The scores are computed a second time by other code."


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
