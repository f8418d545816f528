"""The page of the lesson: controls → spec → picture."""

from app.kit.frame import Controls, Lesson, show
from engine import logistic
from engine.readable.metropolis import metropolis as readable
from engine.samplers import metropolis
from lessons.logistic import analysis, evidence
from lessons.logistic.questions import QUESTIONS
from lessons.logistic.scenes import PREVIEWS, scene
from lessons.logistic.spec import REACH, SCENARIOS, WORDS, LogisticSpec


def controls(panel: Controls[LogisticSpec]) -> None:
    """The widgets beside the stage."""
    panel.segmented("data")
    if panel.spec.data == "pairs":
        panel.slider("used")
    else:
        panel.points("points", ("y = 0", "y = 1"))
        panel.remark("click")
    panel.slider("prior_sd")
    panel.slider("at")
    panel.slider("scale")
    panel.slider("draws")
    if panel.spec.data == "pairs":
        with panel.more("other"):
            panel.number("data_seed")
    panel.select("variant")


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
    return WORDS.phrase(f"runs.{spec.variant}")


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
