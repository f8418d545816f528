"""The page of the lesson: controls → spec → picture."""

from app.kit.frame import Controls, Lesson, show
from engine.readable.dropout import dropout as readable
from engine.readable.nuts import nuts
from engine.variational import dropout
from lessons.dropout import analysis
from lessons.dropout.panels import diagnostics, panels
from lessons.dropout.questions import QUESTIONS
from lessons.dropout.scenes import live, scene
from lessons.dropout.spec import SCENARIOS, WORDS, DropoutSpec


def controls(panel: Controls[DropoutSpec]) -> None:
    """The widgets beside the stage."""
    spec = panel.spec
    panel.segmented("data")
    if spec.data == "points":
        panel.points("points")
    else:
        panel.slider("rows")
    panel.remark("mnist")
    panel.segmented("method")
    panel.slider("keep", None if spec.method == "mc_dropout" else WORDS.phrase("controls.keep_at_first"))
    panel.toggle("scaling", on="none")
    panel.slider("units")
    panel.slider("probe")
    with panel.more("training"):
        panel.select("activation")
        panel.slider("prior_sd")
        if not spec.classifies:
            panel.slider("noise_sd")
        panel.slider("steps")
        panel.slider("step_size")
        panel.slider("passes")


def on_event(spec: DropoutSpec, event: dict) -> DropoutSpec | None:
    """Points placed in the stage become the data."""
    if event.get("kind") != "points" or event.get("panel") != "functions":
        return None
    points = tuple((round(float(x), 3), round(float(y), 3), 0) for x, y, _ in event["points"])
    return spec.replace(data="points", points=points)


def runs(spec: DropoutSpec) -> str:
    """Which kernel runs."""
    told = WORDS.phrase("runs.all", what=WORDS.phrase(f"runs.{spec.method}"))
    return told if spec.scaling == "inverse" else f"{told} {WORDS.phrase('runs.unscaled')}"


LESSON = Lesson(
    slug="dropout",
    words=WORDS,
    spec=DropoutSpec,
    scenarios=SCENARIOS,
    controls=controls,
    scene=scene,
    kernels=analysis.kernels,
    audit=analysis.audit,
    checks=analysis.checks,
    faults=analysis.faults,
    panels=panels,
    diagnostics=diagnostics,
    predict=QUESTIONS,
    twins=lambda spec: [readable, nuts],
    wrong=lambda spec: {"unscaled"} if spec.scaling == "none" else set(),
    code=[dropout.Dropout, analysis.enumerated, analysis.floor],
    runs=runs,
    on_event=on_event,
    live=live,
    live_label=WORDS.phrase("buttons.sample"),
)
show(LESSON)
