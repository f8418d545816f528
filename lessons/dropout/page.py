"""The page of the lesson: controls → spec → picture."""

from app.kit.frame import Controls, Lesson, show
from engine.readable.dropout import dropout as readable
from engine.readable.nuts import nuts
from engine.variational import dropout
from lessons.dropout import analysis
from lessons.dropout.panels import diagnostics, panels
from lessons.dropout.questions import QUESTIONS
from lessons.dropout.scenes import live, scene
from lessons.dropout.spec import SCENARIOS, WORDS, DropoutSpec

DATA = {"gap": "curve with a gap", "xor": "XOR", "points": "your points"}
METHODS = {"mc_dropout": "p fixed", "concrete_dropout": "p learned"}


def controls(panel: Controls[DropoutSpec]) -> None:
    """The widgets beside the stage."""
    spec = panel.spec
    panel.segmented("data", "Data", DATA)
    if spec.data == "points":
        panel.points("points")
    else:
        panel.slider("rows", "Points of data n")
    panel.note(
        "MNIST is not among these data: all 2ᵏ masks are counted here, and NUTS samples the same network. A network for "
        "MNIST has 400 units, and neither can be done. MC dropout reads MNIST in the lesson *Draw a digit*."
    )
    panel.segmented("method", "Dropout", METHODS)
    panel.slider("keep", "Keep probability p" if spec.method == "mc_dropout" else "p at the start")
    panel.toggle("scaling", "Forget 1/p", on="none")
    panel.slider("units", "Hidden units k")
    panel.slider("probe", "Place x*")
    with panel.more("Network and training"):
        panel.select("activation", "Activation")
        panel.slider("prior_sd", "Prior sd σ")
        if not spec.classifies:
            panel.slider("noise_sd", "Noise sd s")
        panel.slider("steps", "Training steps")
        panel.slider("step_size", "Step size")
        panel.slider("passes", "Passes T")


def on_event(spec: DropoutSpec, event: dict) -> DropoutSpec | None:
    """Points placed in the stage become the data."""
    if event.get("kind") != "points" or event.get("panel") != "functions":
        return None
    points = tuple((round(float(x), 3), round(float(y), 3), 0) for x, y, _ in event["points"])
    return spec.replace(data="points", points=points)


def runs(spec: DropoutSpec) -> str:
    """Which kernel runs."""
    what = "p fixed" if spec.method == "mc_dropout" else "p learned through relaxed masks"
    wrong = "" if spec.scaling == "inverse" else " Wrong on purpose: kept units are not multiplied by 1/p."
    return f"Dropout on hidden units, {what}, trained by Adam; NUTS on the posterior of the same network.{wrong}"


LESSON = Lesson(
    slug="dropout",
    words=WORDS,
    spec=DropoutSpec,
    scenarios=SCENARIOS,
    controls=controls,
    scene=scene,
    kernels=analysis.kernels,
    audit=analysis.audit,
    checks=analysis.checks,
    faults=analysis.faults,
    panels=panels,
    diagnostics=diagnostics,
    predict=QUESTIONS,
    twins=lambda spec: [readable, nuts],
    wrong=lambda spec: {"unscaled"} if spec.scaling == "none" else set(),
    code=[dropout.Dropout, analysis.enumerated, analysis.floor],
    runs=runs,
    on_event=on_event,
    live=live,
    live_label="Sample the posterior",
)
show(LESSON)
