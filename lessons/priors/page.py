"""The page of the lesson: controls → spec → picture."""

from app.kit.frame import Controls, Lesson, show
from engine.networks import scales, sweep
from engine.readable.nuts import nuts
from engine.readable.scales import scales as readable
from lessons.priors import analysis
from lessons.priors.panels import diagnostics, panels
from lessons.priors.questions import QUESTIONS
from lessons.priors.scenes import PREVIEWS, grow, scene
from lessons.priors.spec import SCENARIOS, WORDS, PriorsLesson


def controls(panel: Controls[PriorsLesson]) -> None:
    """The widgets beside the stage."""
    spec = panel.spec
    panel.segmented("view")
    panel.segmented("data")
    if spec.view == "watch":
        panel.segmented("weights")
        panel.segmented("look")
    if spec.data == "inputs":
        panel.slider("input")
    if spec.view == "compare" or spec.weights == "fixed":
        panel.slider("prior_sd")
    if spec.view == "compare" or spec.weights != "fixed":
        panel.slider("weight_shape")
        panel.slider("weight_rate")
    panel.slider("points")
    with panel.more("network"):
        panel.slider("width")
        panel.slider("true_noise")
        panel.segmented("noise")
        if spec.noise == "learned":
            panel.slider("noise_shape")
            panel.slider("noise_rate")
        panel.toggle("width_scaling")
        panel.number("data_seed")
        panel.slider("draws")
        panel.slider("warmup")
    if spec.view == "watch" and spec.weights != "fixed":
        with panel.more("break"):
            panel.select("variant")


def runs(spec: PriorsLesson) -> str:
    """Which kernel runs."""
    if spec.view == "compare":
        return WORDS.phrase("runs.compare")
    if spec.weights == "fixed":
        return WORDS.phrase("runs.fixed")
    if spec.variant != "exact":
        return WORDS.phrase("runs.wrong", mistake=WORDS["options.variant"][spec.variant])
    return WORDS.phrase("runs.exact")


LESSON = Lesson(
    slug="priors",
    words=WORDS,
    spec=PriorsLesson,
    scenarios=SCENARIOS,
    controls=controls,
    scene=scene,
    grow=grow,
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
