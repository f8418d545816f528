"""The page of the lesson: controls → spec → picture."""

from app.kit.frame import Controls, Lesson, show
from engine import logistic
from engine.readable.metropolis import metropolis as readable
from engine.samplers import metropolis
from lessons.logistic import analysis, evidence
from lessons.logistic.questions import QUESTIONS
from lessons.logistic.scenes import PREVIEWS, scene
from lessons.logistic.spec import REACH, SCENARIOS, WORDS, LogisticSpec

VARIANTS = {"exact": "right", "no_prior": "forget the prior", "drop_rejections": "rejections not counted"}


def controls(panel: Controls[LogisticSpec]) -> None:
    """The widgets beside the stage."""
    panel.segmented("data", "Data", {"pairs": "150 pairs", "points": "your points"})
    if panel.spec.data == "pairs":
        panel.slider("used", "Pairs used")
    else:
        panel.points("points", ("y = 0", "y = 1"))
        panel.note("In the picture: click above one half for y = 1, below for y = 0.")
    panel.slider("prior_sd", "Prior sd σ₀")
    panel.slider("at", "Predict at x′")
    panel.slider("scale", "Metropolis step s")
    panel.slider("draws", "Transitions")
    if panel.spec.data == "pairs":
        with panel.more("Other pairs"):
            panel.number("data_seed", "Seed of the pairs")
    panel.select("variant", "Break it", VARIANTS)


def on_event(spec: LogisticSpec, event: dict) -> LogisticSpec | None:
    """A click moves x′; points placed in the stage become the data."""
    if event.get("panel") != "data":
        return None
    if event.get("kind") == "click":
        return spec.replace(at=round(min(max(float(event["x"]), -REACH), REACH), 2))
    if event.get("kind") == "points":
        rows = [(min(max(float(x), -REACH), REACH), float(y > 0.5)) for x, y, *_ in event["points"]]
        return spec.replace(data="points", points=tuple((round(x, 2), y, int(y)) for x, y in rows))
    return None


def runs(spec: LogisticSpec) -> str:
    """Which kernel runs."""
    return {
        "exact": "Random-walk Metropolis on both weights; the exact answer is a sum over a grid.",
        "no_prior": "Random-walk Metropolis on the likelihood alone: the prior is forgotten, wrong on purpose.",
        "drop_rejections": "Random-walk Metropolis that forgets its rejections: wrong on purpose.",
    }[spec.variant]


LESSON = Lesson(
    slug="logistic",
    words=WORDS,
    spec=LogisticSpec,
    scenarios=SCENARIOS,
    controls=controls,
    scene=scene,
    previews=PREVIEWS,
    recording=analysis.record,
    predicted=lambda spec: analysis.predicted(spec, analysis.record(spec).draws[:, :, ::-1]),
    kernels=analysis.kernels,
    audit=evidence.audit,
    checks=evidence.checks,
    panels=evidence.panels,
    diagnostics=evidence.diagnostics,
    predict=QUESTIONS,
    twins=lambda spec: [readable],
    code=[logistic.exact, logistic.newton, logistic.laplace, metropolis.metropolis_chunk],
    runs=runs,
    on_event=on_event,
)
show(LESSON)
