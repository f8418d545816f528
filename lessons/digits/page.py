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
from lessons.families.digit_posteriors.spec import DATA as SETS
from lessons.families.digit_posteriors.spec import NAMES, RUNS

DATA = {**SETS, "own": "your files"}
SOURCES = {"pad": "drawn on the pad", "test": "a test image"}
MAPS = {"gradient": "slope", "flip": "pixel turned over"}
MISTAKES = {"exact": "no, the right way", "no_centring": "the drawing is not centred", "log_average": "average of the logarithms"}


def controls(panel: Controls[DigitsSpec]) -> None:
    """The widgets beside the stage."""
    panel.segmented("method", "Posterior by", NAMES)
    panel.segmented("source", "The digit", SOURCES)
    if panel.spec.source == "test":
        panel.number("number", "Number of the test image")
    panel.segmented("maps", "Maps of pixels", MAPS)
    with panel.more("Data"):
        panel.segmented("data", "Learnt from", DATA)
        panel.note("The bundled digits come with scikit-learn: 1,347 to learn from, 450 to test.")
        panel.note(sources.NOTE)
        panel.files(
            "Your files: IDX (images and labels), NPZ, or the CSV of OptDigits",
            own_files,
            most_bytes=files.MOST_BYTES,
            most_files=files.MOST_FILES,
        )
        panel.note("They stay in this server's memory for a while and are sent nowhere. Digits 0 to 9, square, 8 to 32 pixels.")
    with panel.more("Break it"):
        panel.select("variant", "Wrong on purpose", MISTAKES)


def own_files(given: dict[str, bytes]) -> dict[str, str | int]:
    """The fields that change when files are given."""
    return {"data": "own", "files": own.keep(given), "number": 0}


def strokes(spec: DigitsSpec) -> tuple[tuple[float, float, int], ...] | None:
    """What is on the pad."""
    return spec.drawing if spec.source == "pad" else None


def on_event(spec: DigitsSpec, event: dict) -> Spec | None:
    """A drawing is the one thing that the stage sends."""
    return spec.replace(drawing=drawing_pad.strokes(event)) if event.get("kind") == "drawing" else None


def runs(spec: DigitsSpec) -> str:
    """How the networks were found."""
    return RUNS[spec.method]


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
    runs=runs,
    ready=lambda spec: sources.is_here(spec.data),
)
show(LESSON)
