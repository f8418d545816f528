"""The page of the lesson: controls → spec → picture."""

from app.kit.frame import Controls, Lesson, show
from engine.jumps import nested, toy
from engine.readable.reversible_jump import reversible_jump as readable
from lessons.dimensions import analysis
from lessons.dimensions.panels import diagnostics_table, panels
from lessons.dimensions.questions import QUESTIONS
from lessons.dimensions.scenes import PREVIEWS, dragged, grow, scene
from lessons.dimensions.spec import SCENARIOS, WORDS, DimensionsLesson, written


def controls(panel: Controls[DimensionsLesson]) -> None:
    """The widgets beside the stage."""
    spec = panel.spec
    means = spec.family == "means"
    panel.segmented("family")
    panel.select("variant")
    panel.slider("spread")
    panel.remark("split" if means else "append", jacobian=2 * spec.spread if means else spec.spread)
    panel.toggle("likelihood")
    panel.text("measurements", placeholder="0.4, 1.2, −0.3, …")
    panel.remark("groups" if means else "spaced")
    if spec.own:
        panel.button("made", {"measurements": ""})
    else:
        panel.slider("observations")
        panel.slider("truth")
        panel.slider("effect")
        panel.number("data_seed")
    with panel.more("models"):
        panel.slider("models")
        panel.segmented("model_prior")
        panel.slider("prior_sd")
        panel.slider("noise_sd")
    with panel.more("moves"):
        panel.slider("birth")
        panel.slider("start")
        panel.slider("draws")
        panel.slider("chains")


def runs(spec: DimensionsLesson) -> str:
    """Which kernel runs."""
    run = WORDS.phrase(f"runs.{spec.family}")
    return run if spec.variant == "exact" else WORDS.phrase("runs.wrong", run=run, mistake=WORDS.options("variant")[spec.variant])


def on_event(spec: DimensionsLesson, event: dict) -> DimensionsLesson | None:
    """A measurement dragged, added or removed in the stage."""
    y = dragged(spec, event)
    return None if y is None else spec.replace(measurements=written(y))


LESSON = Lesson(
    slug="dimensions",
    words=WORDS,
    spec=DimensionsLesson,
    scenarios=SCENARIOS,
    controls=controls,
    scene=scene,
    grow=grow,
    previews=PREVIEWS,
    recording=analysis.recorded,
    kernels=analysis.kernels,
    audit=analysis.audit,
    checks=analysis.checks,
    panels=panels,
    diagnostics=diagnostics_table,
    predict=QUESTIONS,
    twins=lambda spec: [readable],
    code=[toy.toy_chunk, nested.split_maps, nested.append_maps, nested.nested, toy.limit],
    runs=runs,
    on_event=on_event,
)
show(LESSON)
