"""The page of the lesson: controls → spec → picture."""

from app.kit.frame import Controls, Lesson, show
from engine import diagnostics
from engine.networks import mlp, symmetry
from engine.readable.nuts import nuts as readable
from engine.samplers import nuts
from lessons.weight_space import analysis
from lessons.weight_space import panels as figures
from lessons.weight_space.questions import QUESTIONS
from lessons.weight_space.scenes import PREVIEWS, grow, on_event, scene
from lessons.weight_space.spec import SCENARIOS, WORDS, WeightSpaceSpec


def controls(panel: Controls[WeightSpaceSpec]) -> None:
    """The widgets beside the stage."""
    spec = panel.spec
    panel.segmented("view")
    panel.segmented("data")
    if spec.data == "points":
        panel.points("points")
        panel.remark("points")
    panel.slider("units")
    if spec.view == "walk":
        panel.segmented("symmetry")
        panel.select("mistake")
        panel.segmented("order")
    else:
        panel.slider("at")
        panel.remark("at")
    panel.segmented("activation")
    if spec.view == "walk":
        with panel.more("plane"):
            panel.select("first")
            panel.select("second")
            panel.slider("chain")
    with panel.more("model"):
        panel.slider("prior_sd")
        if spec.data != "xor":
            panel.slider("noise_sd")
        panel.slider("chains")
        panel.slider("draws")
        panel.slider("warmup")


def runs(spec: WeightSpaceSpec) -> str:
    """Which kernel runs, and what is done to its draws."""
    ran = WORDS.phrase("runs.nuts", weights=len(spec.weights), doublings=analysis.MAX_DEPTH)
    return ran if analysis.is_symmetry(spec) else f"{ran} {WORDS.phrase('runs.wrong')}"


LESSON = Lesson(
    slug="weight-space",
    words=WORDS,
    spec=WeightSpaceSpec,
    scenarios=SCENARIOS,
    controls=controls,
    scene=scene,
    grow=grow,
    previews=PREVIEWS,
    recording=analysis.on_stage,
    predicted=lambda spec: analysis.predicted(spec, analysis.on_stage(spec).draws),
    kernels=analysis.kernels,
    audit=analysis.audit,
    checks=analysis.checks,
    panels=figures.panels,
    diagnostics=figures.diagnostics,
    predict=QUESTIONS,
    twins=lambda spec: [readable],
    code=[
        symmetry.act,
        symmetry.ordered,
        symmetry.shadows,
        diagnostics.split_rhat,
        diagnostics.summarise,
        mlp._network,
        nuts.nuts_chunk,
        nuts._double,
        nuts._build_tree,
    ],
    runs=runs,
    on_event=on_event,
)
show(LESSON)
