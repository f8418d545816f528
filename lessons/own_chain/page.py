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

SOURCES = {"example": "an example", "file": "your chains", "density": "your density"}
EXAMPLES = {"healthy": "healthy", "stuck": "two chains stuck", "corner": "a divergent corner", "unwarmed": "warm-up counted"}
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
    panel.segmented("source", "Look at", SOURCES)
    if spec.source == "example":
        panel.segmented("example", "Example", EXAMPLES)
    elif spec.source == "density":
        panel.text("parameters", "Parameters", "mu, sigma positive, p simplex 3")
        panel.text("log_density", "Log density", "-mu^2/2 - sigma")
        panel.toggle("jacobian", "Break it: forget the Jacobian", on="forgotten")
        panel.slider("draws", "Draws of each chain")
    else:
        panel.note(
            "CmdStan CSV (all chains at once), ArviZ NetCDF, NPY or NPZ of shape (chains, draws, dim), CSV with a column chain, or "
            f"a ZIP of them. Up to {chains.MOST_BYTES / 1e6:.0f} MB, {chains.MOST_VALUES:,} numbers and {chains.MOST_NAMES:,} quantities. "
            "It stays in this server's memory and is not written anywhere."
        )
    panel.number("place", "On stage: quantity number")
    panel.slider("burn", "Leave out first draws")
    panel.download(
        "Report", "report.html", report.report, help="Signs, findings, figures and every quantity, in one file that needs no server"
    )
    with panel.more("What is known"):
        panel.files("Reference draws or a table", own_truth, types=["json", "csv", "txt", "zip"], most_bytes=chains.MOST_BYTES)
        panel.note("posteriordb's reference draws (JSON, also zipped), or a CSV with the columns name, mean and sd.")
        if spec.truth:
            panel.button("Forget what is known", {"truth": ""})


def is_here(spec: OwnChain) -> bool:
    """Whether the files that a link needs are held."""
    needed = [spec.file] * (spec.source == "file") + [spec.truth] * bool(spec.truth)
    return all(files.is_held(reference) for reference in needed)


def runs(spec: OwnChain) -> str:
    """Which kernel runs."""
    if spec.source == "file":
        return "None: the draws come from a file."
    if spec.source == "density":
        return "NUTS on the free coordinates of your density; its program runs on dual numbers."
    return f"The example was drawn here: {EXAMPLES[spec.example]}."


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
