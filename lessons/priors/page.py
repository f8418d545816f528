"""The page of the lesson: controls → spec → picture."""

from app.kit.frame import Controls, Lesson, show
from engine.networks import scales, sweep
from engine.readable.nuts import nuts
from engine.readable.scales import scales as readable
from lessons.priors import analysis
from lessons.priors.panels import diagnostics, panels
from lessons.priors.questions import QUESTIONS
from lessons.priors.scenes import PREVIEWS, scene
from lessons.priors.spec import SCENARIOS, WORDS, PriorsLesson

VIEWS = {"watch": "One prior", "compare": "Side by side"}
DATA = {"wave": "a wave", "inputs": "six inputs"}
SHARED = {"fixed": "fixed", "per_layer": "a layer", "per_input": "an input", "per_weight": "a weight"}
FAMILIES = {"W1": "input weights", "b1": "hidden biases", "W2": "output weights", "b2": "output bias"}
VARIANTS = {
    "exact": "nothing broken",
    "no_half_count": "shape forgets ½n",
    "no_square": "rate forgets the square",
    "rate_as_scale": "rate used as a scale",
}


def controls(panel: Controls[PriorsLesson]) -> None:
    """The widgets beside the stage."""
    spec = panel.spec
    panel.segmented("view", "Picture", VIEWS)
    panel.segmented("data", "Data", DATA)
    if spec.view == "watch":
        panel.segmented("weights", "One precision τ for", SHARED)
        panel.segmented("look", "Look at", FAMILIES)
    if spec.data == "inputs":
        panel.slider("input", "Input")
    if spec.view == "compare" or spec.weights == "fixed":
        panel.slider("prior_sd", "Fixed prior sd s")
    if spec.view == "compare" or spec.weights != "fixed":
        panel.slider("weight_shape", "Shape a of τ's prior")
        panel.slider("weight_rate", "Rate b of τ's prior")
    panel.slider("points", "Points")
    with panel.more("Network, noise and sweeps"):
        panel.slider("width", "Hidden units")
        panel.slider("true_noise", "Noise sd of the data")
        panel.segmented("noise", "Noise precision", {"fixed": "the true one", "learned": "learned"})
        if spec.noise == "learned":
            panel.slider("noise_shape", "Shape of its prior")
            panel.slider("noise_rate", "Rate of its prior")
        panel.toggle("width_scaling", "Divide output weights' variance by the units")
        panel.number("data_seed", "Seed of the data")
        panel.slider("draws", "Sweeps")
        panel.slider("warmup")
    if spec.view == "watch" and spec.weights != "fixed":
        with panel.more("Break it"):
            panel.select("variant", "The draw of τ", VARIANTS)


def runs(spec: PriorsLesson) -> str:
    """Which kernel runs."""
    if spec.view == "compare":
        return "NUTS for the weights, exact Gibbs draws for their scales; the checks are of the prior chosen before."
    if spec.weights == "fixed":
        return "NUTS for the weights; their prior is fixed."
    if spec.variant != "exact":
        return f"NUTS for the weights; the Gibbs draw of τ is wrong on purpose: {VARIANTS[spec.variant]}."
    return "NUTS for the weights, an exact Gibbs draw for every precision."


LESSON = Lesson(
    slug="priors",
    words=WORDS,
    spec=PriorsLesson,
    scenarios=SCENARIOS,
    controls=controls,
    scene=scene,
    previews=PREVIEWS,
    recording=lambda spec: analysis.simulate(spec).recording,
    predicted=lambda spec: analysis.predicted(spec, analysis.simulate(spec).recording),
    kernels=analysis.kernels,
    audit=analysis.audit,
    checks=analysis.checks,
    panels=panels,
    diagnostics=diagnostics,
    predict=QUESTIONS,
    twins=lambda spec: [readable, nuts],
    wrong=lambda spec: {spec.variant} if spec.view == "watch" else set(),
    code=[scales.draw_precisions, scales.gamma_parameters, sweep._sweeps, sweep.set_mass, scales.draw_means],
    runs=runs,
)
show(LESSON)
