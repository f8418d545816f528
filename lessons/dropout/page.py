"""The page of the lesson: controls → spec → picture."""

from app.kit.frame import Controls, Lesson, show
from engine.readable.dropout import dropout as readable
from engine.readable.nuts import nuts
from engine.variational import dropout
from lessons.dropout import analysis
from lessons.dropout.panels import diagnostics, panels
from lessons.dropout.questions import QUESTIONS
from lessons.dropout.scenes import grow, live, scene
from lessons.dropout.spec import IMAGES, SCENARIOS, WORDS, DropoutSpec
from lessons.families.digit_posteriors import sources


def controls(panel: Controls[DropoutSpec]) -> None:
    """The widgets beside the stage."""
    spec = panel.spec
    panel.segmented("data")
    if spec.data == "digits":
        panel.segmented("images", names=IMAGES)
        panel.number("number")
    elif spec.data == "points":
        panel.points("points")
    else:
        panel.slider("rows")
    panel.segmented("method")
    panel.slider("keep", None if spec.method == "mc_dropout" else WORDS.phrase("controls.keep_at_first"))
    panel.toggle("scaling", on="none")
    if spec.data == "digits":
        _digit_controls(panel)
    else:
        _small_controls(panel)


def _digit_controls(panel: Controls[DropoutSpec]) -> None:
    panel.slider("hidden")
    with panel.more("training"):
        panel.slider("prior_sd")
        panel.slider("passes")
    panel.remark("bundled")
    panel.remark("mnist", where=sources.WHERE, tested=sources.TESTED)


def _small_controls(panel: Controls[DropoutSpec]) -> None:
    """Of the networks whose masks are counted, and that NUTS samples."""
    panel.slider("units")
    panel.slider("probe")
    with panel.more("training"):
        panel.select("activation")
        panel.slider("prior_sd")
        if not panel.spec.classifies:
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
    what, digits = WORDS.phrase(f"runs.{spec.method}"), spec.data == "digits"
    told = WORDS.phrase("runs.digits", what=what, units=spec.hidden) if digits else WORDS.phrase("runs.all", what=what)
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
    twins=lambda spec: [readable] if spec.data == "digits" else [readable, nuts],
    wrong=lambda spec: {"unscaled"} if spec.scaling == "none" else set(),
    code=[dropout.Dropout, analysis.enumerated, analysis.floor],
    runs=runs,
    on_event=on_event,
    grow=grow,
    ready=lambda spec: spec.data != "digits" or sources.is_here(spec.images),
    live=live,
    live_label=WORDS.phrase("buttons.sample"),
)
show(LESSON)
