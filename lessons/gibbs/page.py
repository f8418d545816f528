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

TARGETS = {
    "gaussian": "bivariate Gaussian",
    "normal_gamma": "mean and precision (Normal-Gamma)",
    "hierarchical": "hierarchical normal (groups)",
    "formula": "your own formula",
}
VIEWS = {"marginals": "marginals", "memory": "trace, autocorrelation"}
UPDATES = {"conditional": "Gibbs", "metropolis": "Metropolis"}
SCANS = {"systematic": "in order", "random": "at random"}
LABELS = {
    "correlation": "Correlation ρ",
    "scale_ratio": "Scale ratio s₁/s₂",
    "group": "Group on the map",
    "kappa": "Prior: worth of the mean κ",
    "shape": "Prior of the precision: shape a",
    "rate": "Prior of the precision: rate b",
    "prior_sd": "Prior sd of the common mean",
}


def controls(panel: Controls[GibbsLesson]) -> None:
    """The widgets beside the stage."""
    names = {**VIEWS, "marginals": "groups"} if panel.spec.target == "hierarchical" else VIEWS
    panel.segmented("view", "Beside the map", names)
    panel.select("target", "Target", TARGETS)
    for name in PARAMETERS[panel.spec.target]:
        if name in ("shape", "rate", "kappa", "prior_sd"):
            continue
        if name == "formula":
            panel.text("formula", "log density in x and y", "-x^2/2 - (y - x^2)^2")
        elif name in ("measurements", "estimates", "errors"):
            panel.text(name, {"measurements": "Measurements y", "estimates": "Estimates y", "errors": "Errors σ"}[name])
        else:
            panel.slider(name, LABELS.get(name))
    if panel.spec.variant == "exact":
        panel.segmented("update", "Each coordinate by", UPDATES)
    if panel.spec.can_block:
        panel.toggle("block", "Draw correlated coordinates as a block")
    if panel.spec.update == "metropolis" or panel.spec.variant == "window":
        panel.slider("scale", "Step, in units of each sd")
    panel.note(pictures.truth_note(panel.spec.build_target()))
    with panel.more("Chains, draws and prior"):
        panel.slider("draws", "Sweeps")
        panel.slider("warmup")
        panel.slider("chains")
        panel.segmented("scan", "Coordinates", SCANS)
        for name in ("kappa", "prior_sd", "shape", "rate"):
            if name in PARAMETERS[panel.spec.target]:
                panel.slider(name, LABELS[name])
        if panel.spec.target not in ("normal_gamma", "hierarchical"):
            panel.start()
    with panel.more("Break it"):
        panel.toggle("variant", "A windowed “Gibbs”: grid around the present value, always accept")


def runs(spec: GibbsLesson) -> str:
    """Which kernel runs."""
    if spec.variant == "window":
        return "Grid of 11 points around the present value, always accepted: wrong on purpose."
    if spec.update == "metropolis":
        return "Metropolis one variable at a time, normal proposals."
    order = "in order" if spec.scan == "systematic" else "at random"
    how = "as a block, each given those before it" if spec.blocked else f"from their full conditionals, {order}"
    return f"Gibbs sampling: coordinates drawn {how}."


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
