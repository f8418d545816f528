"""The page of the lesson: controls → spec → picture."""

from app.kit import pictures
from app.kit.frame import Controls, Lesson, show
from engine.readable.hmc import hmc as readable
from engine.samplers import hmc
from engine.targets import parameters_of
from lessons.hmc import analysis
from lessons.hmc.panels import diagnostics, panels
from lessons.hmc.questions import QUESTIONS
from lessons.hmc.scenes import PREVIEWS, scene
from lessons.hmc.spec import SCENARIOS, WORDS, HmcLesson


def controls(panel: Controls[HmcLesson]) -> None:
    """The widgets beside the stage."""
    panel.segmented("view")
    if panel.spec.view == "draws":
        panel.note(pictures.truth_note(panel.spec.build_target()))
    panel.slider("step_size")
    panel.slider("steps")
    panel.button("best", take_best)
    panel.target([name for name in parameters_of(panel.spec.target) if name != "dimension"])
    panel.segmented("mass")
    panel.toggle("reverse")
    with panel.more("chains"):
        panel.slider("chains")
        if panel.spec.chains > 1:
            panel.remark("chains")
        panel.slider("draws")
        panel.slider("warmup")
        panel.slider("jitter")
        panel.start()
    with panel.more("break"):
        panel.select("integrator")
        panel.toggle("variant")


def take_best(spec: HmcLesson) -> dict[str, float]:
    """The changes that go to the best cell of the map."""
    step_size, steps = analysis.tuning_map(spec).best()
    return {"step_size": float(f"{step_size:.3g}"), "steps": steps}


def runs(spec: HmcLesson) -> str:
    """Which kernel runs."""
    if spec.variant == "always_accept":
        return WORDS.phrase("runs.no_accept")
    return WORDS.phrase(f"runs.{spec.integrator}")


LESSON = Lesson(
    slug="hmc",
    words=WORDS,
    spec=HmcLesson,
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
    code=[hmc._integrate, hmc._drift, hmc._kick, hmc.draw_momentum, hmc.kinetic_energy, hmc.hmc_chunk],
    runs=runs,
)
show(LESSON)
