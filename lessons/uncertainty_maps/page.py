"""The page of the lesson: controls, and what the frame needs."""

from app.kit.digit_posteriors import NAMES, Networks
from app.kit.frame import Controls, Lesson, show
from datasets import transforms
from engine import scores
from engine.spec import Spec
from lessons.uncertainty_maps import analysis
from lessons.uncertainty_maps.panels import diagnostics, panels
from lessons.uncertainty_maps.questions import QUESTIONS
from lessons.uncertainty_maps.scenarios import SCENARIOS
from lessons.uncertainty_maps.scenes import grow, scene
from lessons.uncertainty_maps.spec import MISTAKES, REACH, MapsSpec

CHANGES = {"rotate": "turn", "blur": "blur", "shift": "shift", "noise": "noise", "morph": "morph"}
WRONG = {
    "exact": "no, the right way",
    "one_network": "one network alone",
    "total_as_epistemic": "total taken for epistemic",
}


def controls(panel: Controls) -> None:
    """The widgets beside the stage."""
    panel.segmented("method", "Posterior by", NAMES)
    panel.segmented("across", "Step by step", CHANGES)
    panel.select("second", "Upwards in the maps", CHANGES)
    panel.slider("level", "Row of the maps: share of the second change")
    panel.number("image", "Test image")
    if "morph" in (panel.spec.across, panel.spec.second):
        panel.number("other", "Test image at the end of the morph")
    with panel.more("Break it"):
        panel.select("variant", "Wrong on purpose", WRONG)


def on_event(spec: MapsSpec, event: dict) -> Spec | None:
    """A click in a map chooses its row."""
    if event.get("kind") != "click" or not str(event.get("panel")).startswith("map-"):
        return None
    share = float(event["y"]) / REACH[spec.second]
    return spec.replace(level=round(min(max(share, 0.0), 1.0), 2))


def kernel(spec: MapsSpec) -> str:
    """How the networks were found, and what is wrong on purpose."""
    found = {
        "nuts": "NUTS over all weights of a 20-16-10 tanh network on principal components of 500 digits.",
        "lbbnn": "Mean-field spike and slab over every weight, Adam. An approximation.",
        "dense": "Mean-field Gaussian over every weight, Adam. An approximation.",
        "dropout": "One network trained and read with units dropped out. An approximation, if it is one.",
        "ensemble": "Most probable weights from different starts. Not draws of the posterior.",
    }[spec.method]
    wrong = MISTAKES.get(spec.variant)
    return f"{found} Wrong on purpose: {wrong}" if wrong else found


LESSON = Lesson(
    slug="uncertainty-maps",
    title="Where it should not know",
    promise="Turn, blur, shift or morph a digit step by step, and watch a hundred networks: where they should not know "
    "any more, and whether they do.",
    spec=MapsSpec,
    scenarios=SCENARIOS,
    controls=controls,
    scene=scene,
    grow=grow,
    on_event=on_event,
    checks=analysis.checks,
    panels=panels,
    diagnostics=diagnostics,
    predict=QUESTIONS,
    code=[scores.decompose, transforms.rotate, transforms.morph, Networks.predict],
    claim="checked",
    kernel=kernel,
)
show(LESSON)
