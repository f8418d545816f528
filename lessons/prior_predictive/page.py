"""The page of the lesson: controls → spec → picture."""

import engine.rejection as rejection
from app.kit.frame import Controls, Lesson, show
from app.kit.player.events import placed
from engine.networks import prior, process
from engine.readable.rejection import rejection as readable
from lessons.prior_predictive import evidence
from lessons.prior_predictive.questions import QUESTIONS
from lessons.prior_predictive.scenes import PREVIEWS, grow, scene
from lessons.prior_predictive.spec import SCENARIOS, WIDER, WORDS, PriorSpec


def controls(panel: Controls[PriorSpec]) -> None:
    """The widgets beside the stage."""
    spec = panel.spec
    panel.segmented("view")
    if spec.view in ("rejection", "limit"):
        panel.segmented("data")
        if spec.data == "six":
            panel.slider("used")
        else:
            panel.points("points", (WORDS.phrase("controls.class"),))
        panel.slider("noise_sd")
        panel.slider("tries")
    if spec.view == "rejection":
        panel.select("bound")
    if spec.view in ("functions", "rejection"):
        panel.slider("width")
    if spec.view != "compare":
        panel.slider("depth")
    panel.select("activation")
    panel.slider("weight_sd")
    panel.slider("bias_sd")
    panel.slider("out_sd")
    panel.segmented("scaling")
    with panel.more("prior"):
        panel.slider("out_bias_sd")
        if spec.view == "rejection":
            panel.segmented("squash")
        elif spec.view != "limit":
            panel.slider("draws")
            panel.slider("at_a")
            panel.slider("at_b")


def on_event(spec: PriorSpec, event: dict) -> PriorSpec | None:
    """Points placed in the stage become the data."""
    points = placed(event, "functions", f"given-{WIDER[0]}", label=0)
    return None if points is None else spec.replace(data="points", points=points)


def runs(spec: PriorSpec) -> str:
    """Which kernel runs."""
    if spec.view == "rejection":
        return WORDS.phrase(f"runs.{spec.bound}")
    said = WORDS.phrase("runs.chains" if spec.view == "limit" else "runs.draws")
    if spec.view == "compare" or spec.scaling == "sqrt":
        return said
    return f"{said} {WORDS.phrase(f'runs.scaling_{spec.scaling}')}"


def faults(spec: PriorSpec) -> dict[str, PriorSpec]:
    """The mistakes that these settings can show."""
    if spec.view == "rejection":
        return {WORDS.phrase("faults.undivided"): spec.replace(bound="undivided")}
    if spec.view == "compare":
        return {}
    return {WORDS.phrase(f"faults.scaling_{scaling}"): spec.replace(scaling=scaling) for scaling in ("none", "full")}


LESSON = Lesson(
    slug="prior-predictive",
    words=WORDS,
    spec=PriorSpec,
    scenarios=SCENARIOS,
    controls=controls,
    scene=scene,
    grow=grow,
    previews=PREVIEWS,
    kernels=evidence.kernels,
    audit=evidence.audit,
    checks=evidence.checks,
    faults=faults,
    panels=evidence.panels,
    diagnostics=evidence.diagnostics,
    predict=QUESTIONS,
    twins=lambda spec: [readable] if spec.view == "rejection" else [],
    wrong=lambda spec: {spec.bound if spec.view == "rejection" else f"scaling_{spec.scaling}"},
    code=[prior.function_values, prior.activation_moment, process.limit_posterior, rejection.reject, rejection._walk],
    runs=runs,
    on_event=on_event,
)
show(LESSON)
