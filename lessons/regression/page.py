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


def controls(panel: Controls[RegressionLesson]) -> None:
    """The widgets beside the stage."""
    spec = panel.spec
    panel.segmented("play")
    if spec.play != "compare":
        panel.select("method")
    panel.segmented("noise")
    panel.slider("noise_sd", WORDS.phrase("controls.noise_sd" if spec.noise == "known" else "controls.noise_guess"))
    panel.slider("at")
    panel.segmented("data")
    if spec.data == "points":
        panel.points("points")
        panel.remark("points")
    else:
        panel.slider("observations")
        panel.slider("data_noise")
        panel.slider("gap")
        panel.number("data_seed")
    panel.segmented("model")
    if spec.model == "network":
        panel.slider("units")
        panel.select("activation")
    panel.slider("prior_sd")
    with panel.more("methods"):
        panel.slider("draws")
        panel.slider("warmup")
        panel.slider("members")
        panel.slider("keep")
        panel.slider("epochs")
        panel.segmented("laplace")
        panel.slider("repeats")
    panel.select("variant")


def runs(spec: RegressionLesson) -> str:
    """Which sampler runs."""
    if not proof.by_nuts(spec):
        return WORDS.phrase("runs.no_sampler", method=NAMES[spec.method])
    sampler = WORDS.phrase(f"runs.noise_{spec.noise}")
    if spec.variant == "exact":
        return sampler
    return f"{sampler} {WORDS.phrase('runs.broken', mistake=WORDS['options.variant'][spec.variant])}"


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
    live_label=WORDS.phrase("buttons.live"),
)
show(LESSON)
