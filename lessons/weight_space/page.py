"""The page of the lesson: controls → spec → picture."""

from app.kit.frame import Controls, Lesson, show
from engine import diagnostics
from engine.networks import mlp, symmetry
from engine.readable.nuts import nuts as readable
from engine.samplers import nuts
from lessons.weight_space import analysis
from lessons.weight_space import panels as figures
from lessons.weight_space.questions import QUESTIONS
from lessons.weight_space.scenes import PREVIEWS, on_event, scene
from lessons.weight_space.spec import SCENARIOS, WORDS, WeightSpaceSpec

VIEWS = {"walk": "weights", "predictive": "prediction at x′"}
DATA = {"hump": "hump", "gap": "a gap", "uneven": "three levels", "xor": "XOR", "points": "your points"}
SYMMETRIES = {"permute": "units move on", "flip": "unit 1 flips", "random": "any"}
MISTAKES = {"none": "nothing", "forget_bias": "biases stay", "forget_output": "output weights stay"}
ORDERS = {"none": "as sampled", "output": "by v", "bend": "by −b/w"}


def controls(panel: Controls[WeightSpaceSpec]) -> None:
    """The widgets beside the stage."""
    spec = panel.spec
    panel.segmented("view", "Look at", VIEWS)
    panel.segmented("data", "Data", DATA)
    if spec.data == "points":
        panel.points("points", label="Points: x, y, 0")
        panel.note("Or click in the function's picture (view: weights); a double click removes a point.")
    panel.slider("units", "Hidden units k")
    if spec.view == "walk":
        panel.segmented("symmetry", "Done to each draw", SYMMETRIES)
        panel.select("mistake", "Break it: what is forgotten", MISTAKES)
        panel.segmented("order", "Units sorted", ORDERS)
    else:
        panel.slider("at", "Predict at x′")
        panel.note("Or click in the function's picture.")
    panel.segmented("activation", "Activation", {"tanh": "tanh", "relu": "ReLU"})
    if spec.view == "walk":
        with panel.more("Weights in the plane"):
            panel.select("first", "x axis")
            panel.select("second", "y axis")
            panel.slider("chain", "Chain followed")
    with panel.more("Model and chains"):
        panel.slider("prior_sd", "Prior sd s")
        if spec.data != "xor":
            panel.slider("noise_sd", "Noise sd σ")
        panel.slider("chains", "Chains")
        panel.slider("draws", "Draws shown")
        panel.slider("warmup", "Warm-up")


def runs(spec: WeightSpaceSpec) -> str:
    """Which kernel runs, and what is done to its draws."""
    wrong = "" if analysis.is_symmetry(spec) else " What is done to each draw is no symmetry, on purpose."
    depth = f"with at most {analysis.MAX_DEPTH} doublings"
    return f"NUTS over all {len(spec.weights)} weights at once, tuned in its warm-up, {depth}.{wrong}"


LESSON = Lesson(
    slug="weight-space",
    words=WORDS,
    spec=WeightSpaceSpec,
    scenarios=SCENARIOS,
    controls=controls,
    scene=scene,
    previews=PREVIEWS,
    recording=analysis.on_stage,
    predicted=lambda spec: analysis.predicted(spec, analysis.on_stage(spec).draws),
    kernels=analysis.kernels,
    audit=analysis.audit,
    checks=analysis.checks,
    panels=figures.panels,
    diagnostics=figures.diagnostics,
    predict=QUESTIONS,
    twins=lambda spec: [readable],
    code=[
        symmetry.act,
        symmetry.ordered,
        symmetry.shadows,
        diagnostics.split_rhat,
        diagnostics.summarise,
        mlp._network,
        nuts.nuts_chunk,
        nuts._double,
        nuts._build_tree,
    ],
    runs=runs,
    on_event=on_event,
)
show(LESSON)
