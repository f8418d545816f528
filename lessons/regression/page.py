"""The page of the lesson: controls → spec → picture."""

from collections.abc import Callable
from typing import Any

from app.kit.frame import Controls, Lesson, show
from engine.networks import mlp, predictive
from engine.readable.laplace import laplace as readable_laplace
from engine.readable.nuts import nuts as readable_nuts
from engine.readable.scales import scales as readable_scales
from engine.readable.training import training as readable_training
from engine.samplers import nuts
from engine.training import ensemble, laplace
from lessons.regression import analysis, proof
from lessons.regression.panels import diagnostics, panels
from lessons.regression.questions import QUESTIONS
from lessons.regression.scenes import NAMES, PREVIEWS, grow, live, on_event, scene
from lessons.regression.spec import SCENARIOS, WORDS, RegressionLesson

PLAYS = {"draws": "one method", "compare": "five methods", "repeat": "many data sets"}
VARIANTS = {"exact": "right", "aliased_momentum": "one momentum for both ends", "final_accept": "one accept step too many"}


def controls(panel: Controls[RegressionLesson]) -> None:
    """The widgets beside the stage."""
    spec = panel.spec
    panel.segmented("play", "What moves", PLAYS)
    if spec.play != "compare":
        panel.select("method", "Curves by", NAMES)
    panel.segmented("noise", "Is σ known?", {"known": "fixed", "learned": "learned"})
    panel.slider("noise_sd", "Noise σ assumed" if spec.noise == "known" else "Guess of σ")
    panel.slider("at", "Read the curves at x′")
    panel.segmented("data", "Data", {"curve": "curve", "line": "line", "points": "your points"})
    if spec.data == "points":
        panel.points("points", label="Points: x, y, 0")
        panel.note("Or click in the picture; a double click removes a point.")
    else:
        panel.slider("observations", "Measurements")
        panel.slider("data_noise", "True noise")
        panel.slider("gap", "Gap")
        panel.number("data_seed", "Seed of the measurements")
    panel.segmented("model", "Model", {"network": "network", "line": "straight line"})
    if spec.model == "network":
        panel.slider("units", "Hidden units k")
        panel.select("activation", "Activation")
    panel.slider("prior_sd", "Prior sd s")
    with panel.more("The methods"):
        panel.slider("draws", "Draws on the stage")
        panel.slider("warmup", "Warm-up")
        panel.slider("members", "Networks in the ensemble")
        panel.slider("keep", "Dropout keeps a unit with")
        panel.slider("epochs", "Training passes")
        panel.segmented("laplace", "Laplace's curves", {"linear": "linear in the weights", "bent": "through the network"})
        panel.slider("repeats", "Data sets of the long run")
    panel.select("variant", "Break it", VARIANTS)


def runs(spec: RegressionLesson) -> str:
    """Which sampler runs."""
    if not proof.by_nuts(spec):
        return (
            f"{NAMES[spec.method]}: no sampler makes these curves. What is proven is that its parts do what their "
            "formulas say, not that the curves are the posterior's."
        )
    gibbs = "" if spec.noise == "known" else ", and Gibbs for the noise in turns"
    wrong = "" if spec.variant == "exact" else f" Broken on purpose: {VARIANTS[spec.variant]}."
    return f"NUTS over all weights, gradients by backpropagation{gibbs}.{wrong}"


def twins(spec: RegressionLesson) -> list[Callable[..., Any]]:
    """Those of the method; learned noise is drawn between the transitions of NUTS."""
    if spec.method == "nuts":
        return [readable_scales, readable_nuts] if spec.noise == "learned" else [readable_nuts]
    return [readable_laplace if spec.method == "laplace" else readable_training]


LESSON = Lesson(
    slug="regression",
    words=WORDS,
    spec=RegressionLesson,
    scenarios=SCENARIOS,
    controls=controls,
    scene=scene,
    previews=PREVIEWS,
    recording=analysis.on_stage,
    predicted=analysis.predicted_on_stage,
    kernels=proof.kernels,
    audit=proof.audit,
    checks=proof.checks,
    panels=panels,
    diagnostics=diagnostics,
    predict=QUESTIONS,
    twins=twins,
    wrong=lambda spec: {spec.variant} if spec.method == "nuts" else set(),
    code=[nuts.nuts_chunk, nuts._double, nuts._build_tree, mlp._network, predictive.outputs, laplace, ensemble, analysis.exact],
    runs=runs,
    on_event=on_event,
    grow=grow,
    live=live,
    live_label="Repeat on new data",
)
show(LESSON)
