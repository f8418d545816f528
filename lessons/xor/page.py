"""The page of the lesson: controls → spec → picture."""

from app.kit.frame import Controls, Lesson, show
from app.kit.player.events import placed, to_edit
from engine.networks import mlp, predictive
from engine.readable.hmc import hmc as readable
from engine.samplers import hmc
from lessons.xor.figures import diagnostics, panels
from lessons.xor.learning import Learning, data_of, first_look, predicted
from lessons.xor.proof import audit, checks, kernels
from lessons.xor.questions import QUESTIONS
from lessons.xor.scenes import PREVIEWS, grow, live, scene
from lessons.xor.spec import CLASSES, MAX_POINTS, SCENARIOS, WORDS, XorSpec


def controls(panel: Controls[XorSpec]) -> None:
    """The widgets beside the stage."""
    panel.segmented("data")
    if panel.spec.data in ("xor", "noisy"):
        panel.slider("corner")
        panel.button("edit_these", own_copy)
    if panel.spec.data == "points":
        panel.points("points", CLASSES)
    panel.slider("units")
    panel.select("activation")
    panel.slider("prior_sd")
    panel.slider("temper")
    with panel.more("sampler"):
        panel.slider("step_size")
        panel.slider("leapfrog")
        panel.slider("jitter")
        panel.slider("burn")
        panel.slider("draws")
        panel.segmented("start")
    panel.select("variant")


def own_copy(spec: XorSpec) -> dict:
    """The points of the clouds as own points: all of them, or every few where they are too many."""
    x, y = data_of(spec)
    return {"data": "points", "points": to_edit(x, y, most=MAX_POINTS, reach=1.5)}


def on_event(spec: XorSpec, event: dict) -> XorSpec | None:
    """Points placed in the stage become the data."""
    points = placed(event, "mean")
    return None if points is None else spec.replace(data="points", points=points)


LESSON = Lesson(
    slug="xor",
    words=WORDS,
    spec=XorSpec,
    scenarios=SCENARIOS,
    controls=controls,
    scene=scene,
    grow=grow,
    previews=PREVIEWS,
    recording=lambda spec: first_look(spec).run.recording(),
    predicted=lambda spec: predicted(spec, first_look(spec).run.recording().draws) if len(data_of(spec)[1]) else None,
    kernels=kernels,
    audit=audit,
    checks=checks,
    panels=panels,
    diagnostics=diagnostics,
    predict=QUESTIONS,
    twins=lambda spec: [readable],
    code=[hmc.hmc_chunk, mlp._network, predictive.Ensemble, Learning.advance],
    runs=WORDS.phrase("runs.hmc"),
    on_event=on_event,
    live=live,
    live_label=WORDS.phrase("buttons.live"),
)
show(LESSON)
