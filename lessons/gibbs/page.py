"""The page of the lesson: controls → spec → picture."""

from app.kit import pictures
from app.kit.frame import Controls, Lesson, show
from engine.readable.gibbs import gibbs as readable
from engine.samplers import gibbs
from engine.targets import conjugate
from engine.targets.gaussian import _autoregressive_conditional
from lessons.gibbs import analysis
from lessons.gibbs.panels import diagnostics, panels
from lessons.gibbs.questions import QUESTIONS
from lessons.gibbs.scenes import PREVIEWS, scene
from lessons.gibbs.spec import PARAMETERS, SCENARIOS, WORDS, GibbsLesson

PRIOR = ("kappa", "prior_sd", "shape", "rate")


def controls(panel: Controls[GibbsLesson]) -> None:
    """The widgets beside the stage."""
    panel.segmented("view", names=WORDS.options("view_of_groups") if panel.spec.target == "hierarchical" else None)
    panel.select("target")
    for name in PARAMETERS[panel.spec.target]:
        if name == "formula":
            panel.text("formula", placeholder="-x^2/2 - (y - x^2)^2")
        elif name in ("measurements", "estimates", "errors"):
            panel.text(name)
        elif name not in PRIOR:
            panel.slider(name)
    if panel.spec.variant == "exact":
        panel.segmented("update")
    if panel.spec.can_block:
        panel.toggle("block")
    if panel.spec.update == "metropolis" or panel.spec.variant == "window":
        panel.slider("scale")
    panel.note(pictures.truth_note(panel.spec.build_target()))
    with panel.more("chains"):
        panel.slider("draws")
        panel.slider("warmup")
        panel.slider("chains")
        panel.segmented("scan")
        for name in PRIOR:
            if name in PARAMETERS[panel.spec.target]:
                panel.slider(name)
        if panel.spec.target not in ("normal_gamma", "hierarchical"):
            panel.start()
    with panel.more("break"):
        panel.toggle("variant")


def runs(spec: GibbsLesson) -> str:
    """Which kernel runs."""
    if spec.variant == "window":
        return WORDS.phrase("runs.window", points=analysis.WINDOW)
    if spec.update == "metropolis":
        return WORDS.phrase("runs.metropolis")
    return WORDS.phrase("runs.block" if spec.blocked else f"runs.{spec.scan}")


LESSON = Lesson(
    slug="gibbs",
    words=WORDS,
    spec=GibbsLesson,
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
        gibbs.gibbs_chunk,
        gibbs._from_conditional,
        gibbs._by_metropolis,
        gibbs._from_window,
        _autoregressive_conditional,
        conjugate._normal_gamma_conditional,
        conjugate._hierarchical_conditional,
    ],
    runs=runs,
)
show(LESSON)
