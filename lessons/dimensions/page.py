"""The page of the lesson: controls → spec → picture."""

from app.kit.frame import Controls, Lesson, show
from engine.jumps import nested, toy
from engine.readable.reversible_jump import reversible_jump as readable
from lessons.dimensions import analysis
from lessons.dimensions.panels import diagnostics_table, panels
from lessons.dimensions.questions import QUESTIONS
from lessons.dimensions.scenes import PREVIEWS, dragged, scene
from lessons.dimensions.spec import SCENARIOS, WORDS, DimensionsLesson, written

FAMILIES = {"means": "means", "polynomial": "polynomial"}
VARIANTS = {
    "exact": "right",
    "no_jacobian": "Jacobian forgotten",
    "no_end_points": "ends forgotten (d/b)",
    "no_proposal": "density of u forgotten",
    "one_sided": "d/b in births only",
}
DATA = {"observations": "Measurements", "truth": "Model that made them", "effect": "Effect (true values are ±)"}


def controls(panel: Controls[DimensionsLesson]) -> None:
    """The widgets beside the stage."""
    spec = panel.spec
    panel.segmented("family", "Models", FAMILIES)
    panel.select("variant", "Break it: the sampler", VARIANTS)
    panel.slider("spread", "Spread s of the jump")
    factor = "2s" if spec.family == "means" else "s"
    panel.note(f"Jacobian of a birth: {factor} = {2 * spec.spread if spec.family == 'means' else spec.spread:.3g}.")
    panel.toggle("likelihood", "No data: the prior must come back")
    panel.text("measurements", "Your own measurements", "0.4, 1.2, −0.3, …")
    panel.note(
        "In order, with commas; or drag them in the picture. The groups are consecutive. The prior mean is 0, so give "
        "deviations from what you expected."
        if spec.family == "means"
        else "At evenly spaced x, with commas; or drag them in the picture."
    )
    if spec.own:
        panel.button("Back to the data made by the settings", {"measurements": ""})
    else:
        for name, label in DATA.items():
            panel.slider(name, label)
        panel.number("data_seed", "Seed of the data")
    with panel.more("Models and prior"):
        panel.slider("models", "Number of models")
        panel.segmented("model_prior", "Prior of k", {"uniform": "uniform", "geometric": "halved at each step"})
        panel.slider("prior_sd", "Prior sd τ of a parameter")
        panel.slider("noise_sd", "Noise sd σ")
    with panel.more("Moves, chains and draws"):
        panel.slider("birth", "Probability of a birth, between the ends")
        panel.slider("start", "Model at the start")
        panel.slider("draws", "Sweeps")
        panel.slider("chains")


def runs(spec: DimensionsLesson) -> str:
    """Which kernel runs."""
    moves = "split and merge of a mean" if spec.family == "means" else "one coefficient more or less"
    wrong = "" if spec.variant == "exact" else f" Wrong on purpose: {VARIANTS[spec.variant]}."
    return f"Reversible jump, {moves}, then the parameters from their exact posterior.{wrong}"


def on_event(spec: DimensionsLesson, event: dict) -> DimensionsLesson | None:
    """A measurement dragged, added or removed in the stage."""
    y = dragged(spec, event)
    return None if y is None else spec.replace(measurements=written(y))


LESSON = Lesson(
    slug="dimensions",
    words=WORDS,
    spec=DimensionsLesson,
    scenarios=SCENARIOS,
    controls=controls,
    scene=scene,
    previews=PREVIEWS,
    recording=analysis.recorded,
    kernels=analysis.kernels,
    audit=analysis.audit,
    checks=analysis.checks,
    panels=panels,
    diagnostics=diagnostics_table,
    predict=QUESTIONS,
    twins=lambda spec: [readable],
    code=[toy.toy_chunk, nested.split_maps, nested.append_maps, nested.nested, toy.limit],
    runs=runs,
    on_event=on_event,
)
show(LESSON)
