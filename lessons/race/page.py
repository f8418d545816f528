"""The page of the race: controls → spec → picture."""

from app.kit import pictures
from app.kit.frame import Controls, Lesson, show
from engine.readable.gibbs import gibbs as readable_gibbs
from engine.readable.hmc import hmc as readable_hmc
from engine.readable.metropolis import metropolis as readable_metropolis
from engine.readable.nuts import nuts as readable_nuts
from engine.samplers import gibbs, hmc, metropolis, nuts
from lessons.race import analysis
from lessons.race.panels import diagnostics_table, panels
from lessons.race.questions import QUESTIONS
from lessons.race.scenes import PREVIEWS, grow, scene
from lessons.race.spec import SCENARIOS, WORDS, RaceLesson


def controls(panel: Controls[RaceLesson]) -> None:
    """The widgets beside the stage."""
    panel.target(panel.spec.parameters())
    panel.note(pictures.truth_note(panel.spec.build_target()))
    panel.slider("budget")
    panel.slider("scale")
    if not panel.spec.has_conditionals:
        panel.slider("single_scale")
    panel.slider("step_size")
    panel.slider("steps")
    with panel.more("rules"):
        panel.slider("pairs")
        panel.slider("gradient_price")
        panel.segmented("tuning")
        panel.slider("warmup")
        panel.segmented("begin")
    with panel.more("break"):
        panel.toggle("cheat")


def runs(spec: RaceLesson) -> str:
    """Which kernels run."""
    second = WORDS.phrase("runs.gibbs" if spec.has_conditionals else "runs.single")
    third = WORDS.phrase("runs.cheat" if spec.cheat == "on" else "runs.hmc")
    return WORDS.phrase("runs.all", second=second, third=third)


LESSON = Lesson(
    slug="race",
    words=WORDS,
    spec=RaceLesson,
    scenarios=SCENARIOS,
    controls=controls,
    scene=scene,
    grow=grow,
    previews=PREVIEWS,
    kernels=analysis.kernels,
    audit=analysis.audit,
    checks=analysis.checks,
    panels=panels,
    diagnostics=diagnostics_table,
    predict=QUESTIONS,
    twins=lambda spec: [readable_metropolis, readable_gibbs, readable_hmc, readable_nuts],
    wrong=lambda spec: {"always_accept"} if spec.cheat == "on" else set(),
    code=[
        metropolis.metropolis_chunk,
        gibbs.gibbs_chunk,
        gibbs._from_conditional,
        gibbs._by_metropolis,
        hmc.hmc_chunk,
        nuts.nuts_chunk,
        nuts._double,
        nuts._build_tree,
    ],
    runs=runs,
)
show(LESSON)
