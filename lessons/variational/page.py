"""The page of the lesson: controls → spec → picture."""

from collections.abc import Callable
from typing import Any

from app.kit import pictures
from app.kit.frame import Controls, Lesson, show
from engine.readable.advi import advi
from engine.readable.coordinate_ascent import gaussian, mean_and_precision
from engine.variational import cavi, divergence, optimisers, transforms
from engine.variational.advi import _estimate, _score
from lessons.variational import analysis
from lessons.variational.panels import diagnostics, panels
from lessons.variational.questions import QUESTIONS
from lessons.variational.scenes import PREVIEWS, scene
from lessons.variational.spec import PARAMETERS, SCENARIOS, WORDS, VariationalLesson

METHODS = {"advi": "stochastic gradients", "cavi": "coordinate ascent", "kl": "two divergences"}
TARGETS = {
    "gaussian": "correlated Gaussian",
    "logistic": "logistic regression (posterior)",
    "precision": "mean and precision (posterior)",
    "two_modes": "two modes",
    "formula": "your own formula",
}
FAMILIES = {"mean_field": "mean-field", "full_rank": "full rank"}
VIEWS = {"elbo": "ELBO", "marginals": "marginals", "gradients": "gradient noise"}
ESTIMATORS = {"reparameterised": "through the point", "score": "score function", "score_control": "score, with control variate"}
OPTIMISERS = {"adam": "Adam", "decaying": "shrinking steps"}
VARIANTS = {
    "exact": "no, the right gradient",
    "no_jacobian": "forget the log-Jacobian",
    "entropy_sign": "the entropy with the wrong sign",
    "no_scaling": "forget n/B of a minibatch",
}
LABELS = {
    "correlation": "Correlation ρ",
    "scale_ratio": "Scale ratio s₁/s₂",
    "rows": "Pairs of data n",
    "prior_sd": "Prior sd of both weights",
    "separation": "Distance of the modes",
    "weight": "Weight of the left mode",
}


def controls(panel: Controls[VariationalLesson]) -> None:
    """The widgets beside the stage."""
    spec = panel.spec
    panel.segmented("method", "Method", METHODS)
    if spec.method == "kl":
        for name in ("separation", "weight"):
            panel.slider(name, LABELS[name])
        panel.slider("start_x", "Mean of both q at the start")
        panel.slider("start_sd", "Their sd at the start")
        return
    if spec.method == "cavi":
        panel.segmented("pair", "Target", {"gaussian": "correlated Gaussian", "precision": "mean and precision"})
        _parameters(panel, spec.pair)
        panel.slider("sweeps", "Sweeps over both factors")
        _start(panel, both=spec.pair == "gaussian")
        return
    panel.segmented("view", "Beside the map", VIEWS)
    panel.segmented("family", "Family of q", FAMILIES)
    panel.slider("step_size", "Step size η")
    panel.slider("samples", "Points a step S")
    panel.select("target", "Target", TARGETS)
    _parameters(panel, spec.target)
    if spec.target == "logistic":
        panel.slider("batch", "Minibatch B (0: all data)")
    panel.note(pictures.truth_note(spec.build_target()))
    with panel.more("Estimator, optimiser, start"):
        panel.select("estimator", "Gradient estimate", ESTIMATORS)
        panel.segmented("optimiser", "Step rule", OPTIMISERS)
        panel.slider("steps", "Steps")
        _start(panel)
    with panel.more("Break it"):
        panel.select("variant", "Wrong on purpose", VARIANTS)


def _parameters(panel: Controls[VariationalLesson], target: str) -> None:
    for name in PARAMETERS[target]:
        if name == "formula":
            panel.text("formula", "log density", "-x^2/2 - (y - x^2)^2")
        elif name == "measurements":
            panel.text("measurements", "Measurements y")
        else:
            panel.slider(name, LABELS.get(name))


def _start(panel: Controls[VariationalLesson], both: bool = True) -> None:
    panel.number("start_x", "Start: first mean")
    if both:
        panel.number("start_y", "Start: second mean")
    panel.slider("start_sd", "Start: sd")


def runs(spec: VariationalLesson) -> str:
    """Which kernel runs."""
    if spec.method == "kl":
        return "Natural gradient steps down both divergences, by quadrature and in closed form."
    if spec.method == "cavi":
        return "Coordinate ascent: each factor to its closed-form optimum given the other."
    wrong = {
        "exact": "",
        "no_jacobian": " Wrong on purpose: the log-Jacobian is left out.",
        "entropy_sign": " Wrong on purpose: the entropy enters with the wrong sign.",
        "no_scaling": " Wrong on purpose: a minibatch is taken for all the data.",
    }[spec.variant]
    return f"ADVI, {FAMILIES[spec.family]}, {ESTIMATORS[spec.estimator]}, {OPTIMISERS[spec.optimiser]}.{wrong}"


def twins(spec: VariationalLesson) -> list[Callable[..., Any]]:
    """That of the method; the two divergences on a line have none."""
    if spec.method == "cavi":
        return [gaussian if spec.pair == "gaussian" else mean_and_precision]
    return [advi] if spec.method == "advi" else []


LESSON = Lesson(
    slug="variational",
    words=WORDS,
    spec=VariationalLesson,
    scenarios=SCENARIOS,
    controls=controls,
    scene=scene,
    previews=PREVIEWS,
    kernels=analysis.kernels,
    audit=analysis.audit,
    checks=analysis.checks,
    faults=analysis.faults,
    panels=panels,
    diagnostics=diagnostics,
    predict=QUESTIONS,
    twins=twins,
    wrong=lambda spec: {spec.variant} if spec.method == "advi" else set(),
    code=[_estimate, _score, transforms.constrain, optimisers.ascend, cavi.ascend_gaussian, cavi.ascend_normal_gamma, divergence.descend],
    runs=runs,
)
show(LESSON)
