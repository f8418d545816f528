"""The page of the lesson: controls, and what the frame needs."""

from app.kit import pad as drawing_pad
from app.kit.frame import Controls, Lesson, show
from datasets import files, own, pad
from engine import scores
from engine.networks.stack import Networks
from engine.readable.uncertainty import uncertainty
from engine.spec import Spec
from lessons.digits import analysis
from lessons.digits.panels import diagnostics, panels
from lessons.digits.questions import QUESTIONS
from lessons.digits.scenes import grow, scene
from lessons.digits.spec import SCENARIOS, WORDS, DigitsSpec
from lessons.families.digit_posteriors import sources


def controls(panel: Controls[DigitsSpec]) -> None:
    """The widgets beside the stage."""
    panel.segmented("method")
    panel.segmented("source")
    if panel.spec.source == "test":
        panel.number("number")
    panel.segmented("maps")
    with panel.more("data"):
        panel.segmented("data")
        panel.remark("bundled")
        panel.remark("mnist", where=sources.WHERE)
        panel.files("files", own_files, most_bytes=files.MOST_BYTES, most_files=files.MOST_FILES)
        panel.remark("files")
    with panel.more("break"):
        panel.select("variant")


def own_files(given: dict[str, bytes]) -> dict[str, str | int]:
    """The fields that change when files are given."""
    return {"data": "own", "files": own.keep(given), "number": 0}


def strokes(spec: DigitsSpec) -> tuple[tuple[float, float, int], ...] | None:
    """What is on the pad."""
    return spec.drawing if spec.source == "pad" else None


def on_event(spec: DigitsSpec, event: dict) -> Spec | None:
    """A drawing is the one thing that the stage sends."""
    return spec.replace(drawing=drawing_pad.strokes(event)) if event.get("kind") == "drawing" else None


LESSON = Lesson(
    slug="digits",
    words=WORDS,
    spec=DigitsSpec,
    scenarios=SCENARIOS,
    controls=controls,
    scene=scene,
    grow=grow,
    pad=strokes,
    on_event=on_event,
    kernels=analysis.kernels,
    audit=analysis.audit,
    checks=analysis.checks,
    faults=analysis.faults,
    panels=panels,
    diagnostics=diagnostics,
    predict=QUESTIONS,
    twins=lambda spec: [uncertainty],
    code=[scores.decompose, Networks.sensitivity, Networks.predict, pad.normalise],
    runs=lambda spec: WORDS.phrase(f"runs.{spec.method}"),
    ready=lambda spec: sources.is_here(spec.data),
)
show(LESSON)
