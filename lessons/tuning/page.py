"""The page of the lesson: controls → spec → picture."""

from app.kit.frame import Controls, Lesson, show
from engine.readable.dual_averaging import dual_averaging as readable
from engine.readable.nuts import nuts
from engine.samplers import adaptation
from engine.targets import parameters_of
from lessons.tuning import analysis
from lessons.tuning.panels import diagnostics, panels
from lessons.tuning.questions import QUESTIONS
from lessons.tuning.scenes import PREVIEWS, grow, scene
from lessons.tuning.spec import SCENARIOS, WORDS, TuningLesson


def controls(panel: Controls[TuningLesson]) -> None:
    """The widgets beside the stage."""
    panel.segmented("view")
    if panel.spec.view == "one":
        panel.slider("target_accept")
    panel.select("mass")
    panel.slider("warmup")
    panel.segmented("third")
    panel.target([name for name in parameters_of(panel.spec.target) if name != "dimension"])
    with panel.more("chains"):
        panel.slider("chains")
        panel.remark("chains")
        panel.slider("draws")
        panel.start()
        panel.segmented("tuning")
        if panel.spec.tuning == "fixed":
            panel.slider("step_size")
    with panel.more("break"):
        panel.toggle("after")
        panel.toggle("count")


def runs(spec: TuningLesson) -> str:
    """Which kernel runs."""
    use = "adapting" if spec.after == "adapting" else "counted" if spec.count == "all" else "frozen"
    return f"{WORDS.phrase('runs.nuts')} {WORDS.phrase(f'runs.{use}')}"


LESSON = Lesson(
    slug="tuning",
    words=WORDS,
    spec=TuningLesson,
    scenarios=SCENARIOS,
    controls=controls,
    scene=scene,
    grow=grow,
    previews=PREVIEWS,
    recording=analysis.simulate,
    kernels=analysis.kernels,
    audit=analysis.audit,
    checks=analysis.checks,
    panels=panels,
    diagnostics=diagnostics,
    predict=QUESTIONS,
    twins=lambda spec: [readable, nuts],
    code=[adaptation.learn, adaptation.restart, adaptation._estimate_mass, adaptation.windows],
    runs=runs,
)
show(LESSON)
