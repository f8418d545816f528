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

TARGETS = {"mean": "mean of a bivariate normal", "non_centred": "funnel, non-centred"}
VIEWS = {"tree": "tree", "draws": "marginals", "cost": "cost", "compare": "slice beside multinomial"}
PACES = {"doublings": "a doubling", "leapfrogs": "a leapfrog step"}
TUNINGS = {"adapt": "found in warm-up", "fixed": "set here"}
VARIANTS = {
    "exact": "no, the right sampler",
    "aliased_momentum": "aliased momentum (a real bug)",
    "reversed_dot": "second dot product reversed (a misprint: slow, not wrong)",
    "final_accept": "a final accept step (a misprint)",
}


def controls(panel: Controls[NutsLesson]) -> None:
    """The widgets beside the stage."""
    panel.segmented("view", "Beside the map", VIEWS)
    if panel.spec.view == "draws":
        panel.note(pictures.truth_note(panel.spec.build_target()))
    panel.segmented("pace", "One sub-step is", PACES)
    panel.segmented("sampling", "Sampling from a trajectory")
    panel.segmented("tuning", "Step size ε", TUNINGS)
    panel.slider(*(("step_size", "ε") if panel.spec.tuning == "fixed" else ("target_accept", "Acceptance aimed at")))
    panel.slider("max_depth", "Maximum depth")
    panel.target([name for name in panel.spec.parameters() if name != "dimension"], TARGETS)
    with panel.more("Chains, draws and mass"):
        panel.slider("chains")
        if panel.spec.chains > 1:
            panel.note("The map shows the draws of all chains; orbits, trees and numbers are those of chain 1.")
        panel.slider("draws")
        panel.slider("warmup")
        panel.segmented("mass", "Mass M: identity, or the inverse of the target's …")
        panel.segmented("start")
        if panel.spec.start == "at":
            panel.number("start_x")
            panel.number("start_y")
    with panel.more("Break it"):
        panel.select("variant", "A mistake on purpose", VARIANTS)


def runs(spec: NutsLesson) -> str:
    """Which kernel runs."""
    form = {
        "multinomial": "NUTS, multinomial weights, generalised U-turn test, biased progressive sampling.",
        "slice": "NUTS with a slice (Hoffman and Gelman 2014, algorithm 3, candidates chosen progressively).",
    }[spec.sampling]
    return {
        "exact": form,
        "aliased_momentum": f"{form} Wrong on purpose: both ends of a subtree share one momentum.",
        "reversed_dot": f"{form} A misprint on purpose: the second dot product has its sign reversed. It biases "
        "nothing, but the trees stop after one doubling.",
        "final_accept": f"{form} Wrong on purpose: the draw is accepted once more, with the acceptance statistic.",
    }[spec.variant]


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
