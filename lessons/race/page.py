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

TARGETS = {"gaussian": "Gaussian", "normal_gamma": "mean and precision (Normal-Gamma)", "hierarchical": "eight schools (10 coordinates)"}
TUNING = {"charged": "out of the budget", "free": "free of charge"}
STARTS = {"typical": "an exact draw", "random": "U(−2, 2)"}


def controls(panel: Controls[RaceLesson]) -> None:
    """The widgets beside the stage."""
    panel.target(panel.spec.parameters(), TARGETS, label="Track (target)")
    panel.note(pictures.truth_note(panel.spec.build_target()))
    panel.slider("budget", "Budget (evaluations)")
    panel.slider("scale", "Metropolis: scale (true sds)")
    if not panel.spec.has_conditionals:
        panel.slider("single_scale", "One at a time: scale (true sds)")
    panel.slider("step_size", "HMC: step size ε")
    panel.slider("steps", "HMC: steps L")
    with panel.more("Rules of the race"):
        panel.slider("pairs", "Pairs")
        panel.slider("gradient_price", "Price of a gradient")
        panel.segmented("tuning", "NUTS pays for its tuning", TUNING)
        panel.slider("warmup", "NUTS: transitions of tuning")
        panel.segmented("begin", "Start", STARTS)
    with panel.more("Break it"):
        panel.toggle("cheat", "HMC leaves out its accept step")


def runs(spec: RaceLesson) -> str:
    """Which kernels run."""
    second = "Gibbs from full conditionals" if spec.has_conditionals else "Metropolis one variable at a time"
    third = "HMC without its accept step (wrong on purpose)" if spec.cheat == "on" else "HMC"
    return f"Metropolis, {second}, {third}, and NUTS. Each is judged on this target, and a sign is that of the worst."


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
