"""The page of the lesson: controls, and what the frame needs."""

from typing import Any

from app.kit import pad as drawing_pad
from app.kit.charts import Figure, Table
from app.kit.frame import Controls, Lesson, show
from datasets import transforms
from engine import scores
from engine.judge import Check
from engine.networks.stack import Networks
from engine.readable.uncertainty import uncertainty
from engine.spec import Spec
from lessons.families.digit_posteriors import sources
from lessons.uncertainty_maps import analysis, domain, domain_panels, panels
from lessons.uncertainty_maps.questions import QUESTIONS
from lessons.uncertainty_maps.scenes import PREVIEWS, grow, scene
from lessons.uncertainty_maps.spec import MISTAKES, SCENARIOS, WORDS, MapsSpec


def controls(panel: Controls[MapsSpec]) -> None:
    """The widgets beside the stage."""
    panel.segmented("part")
    panel.segmented("method")
    if panel.spec.part == "domain":
        _domain_controls(panel)
    else:
        _sweep_controls(panel)
    with panel.more("data"):
        panel.segmented("data")
        panel.remark("some")
        panel.remark("mnist", where=sources.WHERE)
    with panel.more("break"):
        panel.select("variant")


def _domain_controls(panel: Controls[MapsSpec]) -> None:
    panel.segmented("outside")
    if panel.spec.outside == "letters" and panel.spec.drawing:
        panel.button("letters", {"drawing": ()})
    if panel.spec.outside == "fashion":
        panel.remark("fashion")


def _sweep_controls(panel: Controls[MapsSpec]) -> None:
    panel.segmented("across", names=WORDS.options("change"))
    panel.select("second", names=WORDS.options("change"))
    panel.slider("level")
    panel.number("image")
    if "morph" in (panel.spec.across, panel.spec.second):
        panel.number("other")


def on_event(spec: MapsSpec, event: dict) -> Spec | None:
    """A click in a map chooses its row; a finished stroke takes the place of the letters."""
    if event.get("kind") == "drawing":
        return spec.replace(drawing=drawing_pad.strokes(event)) if event.get("final") else None
    if event.get("kind") != "click" or not str(event.get("panel")).startswith("map-"):
        return None
    share = float(event["y"]) / analysis.reach(spec, spec.second)
    return spec.replace(level=round(min(max(share, 0.0), 1.0), 2))


def strokes(spec: MapsSpec) -> tuple[tuple[float, float, int], ...] | None:
    """What is on the pad."""
    return spec.drawing if spec.part == "domain" and spec.outside == "letters" else None


def audit(spec: MapsSpec, cancel: Any) -> list[Check]:
    """Of the part that is shown."""
    return (domain if spec.part == "domain" else analysis).audit(spec, cancel)


def checks(spec: MapsSpec, cancel: Any) -> list[Check]:
    """Of the part that is shown."""
    return (domain if spec.part == "domain" else analysis).checks(spec, cancel)


def figures(spec: MapsSpec, cancel: Any) -> list[Figure | Table]:
    """Of the part that is shown."""
    return (domain_panels if spec.part == "domain" else panels).panels(spec, cancel)


def faults(spec: MapsSpec) -> dict[str, MapsSpec]:
    """Mistakes in the parts of the uncertainty."""
    return {WORDS.phrase(f"options.variant.{name}"): spec.replace(variant=name) for name in MISTAKES if name != spec.variant}


def runs(spec: MapsSpec) -> str:
    """How the networks were found, and what is wrong on purpose."""
    run = WORDS.phrase(f"runs.{spec.method}")
    wrong = spec.variant in MISTAKES
    return WORDS.phrase("runs.wrong", run=run, mistake=WORDS.phrase(f"mistakes.{spec.variant}")) if wrong else run


LESSON = Lesson(
    slug="uncertainty-maps",
    words=WORDS,
    spec=MapsSpec,
    scenarios=SCENARIOS,
    controls=controls,
    scene=scene,
    previews=PREVIEWS,
    grow=grow,
    on_event=on_event,
    pad=strokes,
    kernels=analysis.kernels,
    audit=audit,
    checks=checks,
    faults=faults,
    panels=figures,
    diagnostics=panels.diagnostics,
    predict=QUESTIONS,
    twins=lambda spec: [uncertainty],
    code=[scores.decompose, transforms.rotate, transforms.morph, scores.wins, domain.area, Networks.predict],
    runs=runs,
    ready=lambda spec: sources.is_here(spec.data),
)
show(LESSON)
