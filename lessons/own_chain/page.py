"""The page of the lesson: controls → spec → picture."""

from app.kit import files
from app.kit.frame import Controls, Lesson, show
from datasets import chains, known
from engine import diagnostics
from engine.readable.rhat import rhat
from engine.targets import constrained
from lessons.families import chain_files
from lessons.own_chain import analysis, findings, panels, report
from lessons.own_chain.questions import QUESTIONS
from lessons.own_chain.scenes import PREVIEWS, scene
from lessons.own_chain.spec import SCENARIOS, WORDS, OwnChain

FROM_THE_START: dict[str, object] = {"burn": 0, "place": 1}


def own_truth(given: dict[str, bytes]) -> dict[str, object]:
    """The field that changes when an answer is given. Raises SpecError where it cannot be read."""
    ((name, content),) = given.items()
    known.read(given)
    return {"truth": files.hold(name, content)}


def controls(panel: Controls[OwnChain]) -> None:
    """The widgets beside the stage."""
    spec = panel.spec
    chain_files.place(panel, lambda fields: fields | FROM_THE_START)
    panel.segmented("source")
    if spec.source == "example":
        panel.segmented("example")
    elif spec.source == "density":
        panel.text("parameters", placeholder=WORDS.phrase("placeholders.parameters"))
        panel.text("log_density", placeholder=WORDS.phrase("placeholders.log_density"))
        panel.toggle("jacobian", on="forgotten")
        panel.slider("draws")
    else:
        most = {"megabytes": chains.MOST_BYTES / 1e6, "numbers": chains.MOST_VALUES, "quantities": chains.MOST_NAMES}
        panel.remark("files", **most)
    panel.number("place")
    panel.slider("burn")
    panel.download("report", "report.html", report.report)
    with panel.more("known"):
        panel.files("truth", own_truth, types=["json", "csv", "txt", "zip"], most_bytes=chains.MOST_BYTES)
        panel.remark("truth")
        if spec.truth:
            panel.button("forget", {"truth": ""})


def is_here(spec: OwnChain) -> bool:
    """Whether the files that a link needs are held."""
    needed = [spec.file] * (spec.source == "file") + [spec.truth] * bool(spec.truth)
    return all(files.is_held(reference) for reference in needed)


def runs(spec: OwnChain) -> str:
    """Which kernel runs."""
    if spec.source == "example":
        return WORDS.phrase("runs.example", example=WORDS.options("example")[spec.example])
    return WORDS.phrase(f"runs.{spec.source}")


LESSON = Lesson(
    slug="own-chain",
    words=WORDS,
    spec=OwnChain,
    scenarios=SCENARIOS,
    controls=controls,
    scene=scene,
    previews=PREVIEWS,
    audit=analysis.audit,
    checks=analysis.checks,
    faults=analysis.faults,
    panels=panels.panels,
    diagnostics=panels.diagnostics,
    predict=QUESTIONS,
    twins=lambda spec: [rhat],
    code=[findings.sentences, analysis.decimals, diagnostics.rank_curves, constrained.density, constrained._constrain],
    runs=runs,
    recording=analysis.taken,
    ready=is_here,
)
show(LESSON)
