"""The page of the lesson: controls → spec → picture."""

from collections.abc import Callable
from typing import Any

from app.kit.frame import Controls, Lesson, show
from app.kit.player.events import placed, to_edit
from engine.readable.advi import advi
from engine.readable.hmc import hmc
from engine.readable.neurons import neurons
from engine.readable.nuts import nuts
from engine.readable.training import training
from lessons.xor_methods import analysis, proof
from lessons.xor_methods.panels import diagnostics, panels
from lessons.xor_methods.questions import QUESTIONS
from lessons.xor_methods.scenes import grow, scene
from lessons.xor_methods.spec import CLASSES, MAX_POINTS, NAMES, REACH, SCENARIOS, WORDS, MethodsSpec

VIEWS = {"networks": "one more network", "distance": "one step away"}
DATA = {"xor": "XOR", "noisy": "noisy XOR", "points": "your points"}


def controls(panel: Controls[MethodsSpec]) -> None:
    """The widgets beside the stage."""
    panel.select("method", "Method", NAMES)
    panel.segmented("view", "Each step", VIEWS)
    if panel.spec.view == "networks":
        panel.select("compare", "Compare with", NAMES)
    panel.segmented("data", "Data", DATA)
    if panel.spec.data == "points":
        panel.points("points", CLASSES)
    else:
        panel.slider("corner", "Points per corner")
        panel.button("Edit these points", own_copy, help="Take them as your own points: click, drag and delete them")
    panel.slider("units", "Hidden units k")
    panel.slider("prior_sd", "Prior sd σ")
    panel.select("activation", "Activation")
    with panel.more("The methods"):
        panel.slider("members", "Ensemble: members")
        panel.slider("keep", "MC dropout: keep probability")
        panel.slider("epochs", "Training: epochs")
        panel.slider("fit_steps", "ADVI: steps")
        panel.slider("step_size", "HMC: step size ε")
        panel.slider("leapfrog", "HMC: leapfrog steps L")
    panel.toggle("variant", "HMC never rejects", on="always_accept")


def own_copy(spec: MethodsSpec) -> dict:
    """The points of the clouds as own points: all of them, or every few where they are too many."""
    x, y = analysis.data_of(spec)
    return {"data": "points", "points": to_edit(x, y, most=MAX_POINTS, reach=REACH)}


def on_event(spec: MethodsSpec, event: dict) -> MethodsSpec | None:
    """Points placed in the stage become the data."""
    points = placed(event, "mean")
    return None if points is None else spec.replace(data="points", points=points)


def runs(spec: MethodsSpec) -> str:
    """Which kernels run."""
    wrong = " Wrong on purpose: HMC takes the end of every path." if spec.variant == "always_accept" else ""
    return (
        "NUTS, HMC and reversible jump over all weights (each is tried on exact draws); mean-field ADVI, MC dropout "
        f"and an ensemble (approximations: the sign numbers tells how far off they are).{wrong}"
    )


TWINS: dict[str, Callable[..., Any]] = {"nuts": nuts, "hmc": hmc, "jumps": neurons, "advi": advi, "dropout": training, "ensemble": training}

LESSON = Lesson(
    slug="xor-methods",
    words=WORDS,
    spec=MethodsSpec,
    scenarios=SCENARIOS,
    controls=controls,
    scene=scene,
    kernels=proof.kernels,
    audit=proof.audit,
    checks=proof.checks,
    panels=panels,
    diagnostics=diagnostics,
    predict=QUESTIONS,
    twins=lambda spec: [TWINS[method] for method in dict.fromkeys((spec.method, spec.compare))],
    code=[analysis.epistemic, analysis.fitted, analysis.sampler, proof.against],
    runs=runs,
    on_event=on_event,
    grow=grow,
)
show(LESSON)
