"""The page of the lesson: controls → spec → picture."""

from app.kit import pictures
from app.kit.frame import Controls, Lesson, show
from engine.judge.audit import turn_products
from engine.readable.nuts import nuts as readable
from engine.samplers import nuts
from lessons.nuts import analysis
from lessons.nuts.panels import diagnostics, panels
from lessons.nuts.questions import QUESTIONS
from lessons.nuts.scenes import PREVIEWS, scene
from lessons.nuts.spec import SCENARIOS, WORDS, NutsLesson


def controls(panel: Controls[NutsLesson]) -> None:
    """The widgets beside the stage."""
    panel.segmented("view")
    if panel.spec.view == "draws":
        panel.note(pictures.truth_note(panel.spec.build_target()))
    panel.segmented("pace")
    panel.segmented("sampling")
    panel.segmented("tuning")
    panel.slider("step_size" if panel.spec.tuning == "fixed" else "target_accept")
    panel.slider("max_depth")
    panel.target([name for name in panel.spec.parameters() if name != "dimension"])
    with panel.more("chains"):
        panel.slider("chains")
        if panel.spec.chains > 1:
            panel.remark("chains")
        panel.slider("draws")
        panel.slider("warmup")
        panel.segmented("mass")
        panel.start()
    with panel.more("break"):
        panel.select("variant")


def runs(spec: NutsLesson) -> str:
    """Which kernel runs."""
    form = WORDS.phrase(f"runs.{spec.sampling}")
    return form if spec.variant == "exact" else f"{form} {WORDS.phrase(f'runs.{spec.variant}')}"


LESSON = Lesson(
    slug="nuts",
    words=WORDS,
    spec=NutsLesson,
    scenarios=SCENARIOS,
    controls=controls,
    scene=scene,
    previews=PREVIEWS,
    recording=lambda spec: analysis.simulate(spec).recording,
    kernels=analysis.kernels,
    audit=analysis.audit,
    checks=analysis.checks,
    panels=panels,
    diagnostics=diagnostics,
    predict=QUESTIONS,
    twins=lambda spec: [readable],
    code=[
        nuts.nuts_chunk,
        nuts._double,
        nuts._build_tree,
        nuts._leapfrog,
        nuts._weigh,
        nuts._merge,
        nuts._products,
        nuts._half_dots,
        nuts._span_dots,
        nuts._u_turn,
        nuts._join,
        nuts._reversed_dot,
        nuts._accept_again,
        turn_products,
    ],
    runs=runs,
)
show(LESSON)
