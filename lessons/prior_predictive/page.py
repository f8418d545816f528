"""The page of the lesson: controls → spec → picture."""

import engine.rejection as rejection
from app.kit.frame import Controls, Lesson, show
from app.kit.player.events import placed
from engine.networks import prior, process
from engine.readable.rejection import rejection as readable
from lessons.prior_predictive import evidence
from lessons.prior_predictive.questions import QUESTIONS
from lessons.prior_predictive.scenes import PREVIEWS, scene
from lessons.prior_predictive.spec import SCENARIOS, WIDER, WORDS, PriorSpec

VIEWS = {"functions": "Functions", "compare": "Six networks", "rejection": "Rejection by data", "limit": "The limit, given data"}
SCALINGS = {"sqrt": "by √k (right)", "none": "not at all", "full": "by k"}
BOUNDS = {
    "exact": "by the largest possible L (exact)",
    "observed": "by the largest L seen (as in the thesis)",
    "undivided": "not divided (wrong)",
}


def controls(panel: Controls[PriorSpec]) -> None:
    """The widgets beside the stage."""
    spec = panel.spec
    panel.segmented("view", "Picture", VIEWS)
    if spec.view in ("rejection", "limit"):
        panel.segmented("data", "Data", {"six": "six points", "points": "your points"})
        if spec.data == "six":
            panel.slider("used", "Points used")
        else:
            panel.points("points", ("always",))
        panel.slider("noise_sd", "Noise sd σ")
        panel.slider("tries", "Networks tested")
    if spec.view == "rejection":
        panel.select("bound", "Likelihood divided", BOUNDS)
    if spec.view in ("functions", "rejection"):
        panel.slider("width", "Hidden units k")
    if spec.view != "compare":
        panel.slider("depth", "Hidden layers L")
    panel.select("activation", "Activation φ", {"step": "step ±1", "relu": "ReLU", "linear": "linear (none)"})
    panel.slider("weight_sd", "Hidden weights, sd σ_w")
    panel.slider("bias_sd", "Hidden biases, sd σ_b")
    panel.slider("out_sd", "Output weights, sd σ_v")
    panel.segmented("scaling", "Weights from k units divided", SCALINGS)
    with panel.more("More of the prior"):
        panel.slider("out_bias_sd", "Output bias, sd σ_c")
        if spec.view == "rejection":
            panel.segmented("squash", "Output activation")
        elif spec.view != "limit":
            panel.slider("draws", "Networks drawn")
            panel.slider("at_a", "Input a")
            panel.slider("at_b", "Input b")


def on_event(spec: PriorSpec, event: dict) -> PriorSpec | None:
    """Points placed in the stage become the data."""
    points = placed(event, "functions", f"given-{WIDER[0]}", label=0)
    return None if points is None else spec.replace(data="points", points=points)


def runs(spec: PriorSpec) -> str:
    """Which kernel runs."""
    if spec.view != "rejection":
        wrong = {
            "none": " The weights are not divided by √k: wrong on purpose.",
            "full": " The weights are divided by k, not √k: wrong on purpose.",
        }
        said = "Independent draws of all weights from their normal prior."
        if spec.view == "limit":
            said = "Chains that propose a little of a fresh prior draw, over the posterior of networks of four widths."
        return said + wrong.get(spec.scaling if spec.view != "compare" else "", "")
    return {
        "exact": "Rejection sampling from the prior with the exact bound of the likelihood.",
        "observed": "Rejection sampling with the largest likelihood seen as its bound: right in the limit of many "
        "networks, and only nearly so with these.",
        "undivided": "Rejection without a bound: u is compared with the likelihood itself, wrong on purpose.",
    }[spec.bound]


def faults(spec: PriorSpec) -> dict[str, PriorSpec]:
    """The mistakes that these settings can show."""
    if spec.view == "rejection":
        return {"the likelihood undivided": spec.replace(bound="undivided")}
    if spec.view == "compare":
        return {}
    return {"not divided by √k": spec.replace(scaling="none"), "divided by k": spec.replace(scaling="full")}


LESSON = Lesson(
    slug="prior-predictive",
    words=WORDS,
    spec=PriorSpec,
    scenarios=SCENARIOS,
    controls=controls,
    scene=scene,
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
