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
from lessons.variational.scenes import PREVIEWS, grow, scene
from lessons.variational.spec import PARAMETERS, SCENARIOS, WORDS, VariationalLesson


def controls(panel: Controls[VariationalLesson]) -> None:
    """The widgets beside the stage."""
    spec = panel.spec
    panel.segmented("method")
    if spec.method == "kl":
        panel.slider("separation")
        panel.slider("weight")
        panel.slider("start_x", label=WORDS.phrase("controls.mean_of_both"))
        panel.slider("start_sd", label=WORDS.phrase("controls.sd_of_both"))
        return
    if spec.method == "cavi":
        panel.segmented("pair")
        _parameters(panel, spec.pair)
        panel.slider("sweeps")
        _start(panel, both=spec.pair == "gaussian")
        return
    panel.segmented("view")
    panel.segmented("family")
    panel.slider("step_size")
    panel.slider("samples")
    panel.select("target")
    _parameters(panel, spec.target)
    if spec.target == "logistic":
        panel.slider("batch")
    panel.note(pictures.truth_note(spec.build_target()))
    with panel.more("estimator"):
        panel.select("estimator")
        panel.segmented("optimiser")
        panel.slider("steps")
        _start(panel)
    with panel.more("break"):
        panel.select("variant")


def _parameters(panel: Controls[VariationalLesson], target: str) -> None:
    for name in PARAMETERS[target]:
        if name == "formula":
            panel.text("formula", placeholder="-x^2/2 - (y - x^2)^2")
        elif name == "measurements":
            panel.text("measurements")
        else:
            panel.slider(name)


def _start(panel: Controls[VariationalLesson], both: bool = True) -> None:
    panel.number("start_x")
    if both:
        panel.number("start_y")
    panel.slider("start_sd")


def runs(spec: VariationalLesson) -> str:
    """Which kernel runs."""
    named = {field: WORDS[f"options.{field}"][getattr(spec, field)] for field in ("family", "estimator", "optimiser")}
    ran = WORDS.phrase(f"runs.{spec.method}", **named)
    return ran if spec.method != "advi" or spec.variant == "exact" else f"{ran} {WORDS.phrase(f'runs.{spec.variant}')}"


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
    grow=grow,
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
