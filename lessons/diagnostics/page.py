"""The page of the lesson: controls → spec → picture."""

from collections.abc import Callable
from typing import Any

from app.kit.frame import Controls, Lesson, show
from app.kit.pictures import truth_note
from engine import diagnostics
from engine.judge.numbers import averages_check
from engine.readable.gibbs import gibbs
from engine.readable.hmc import hmc
from engine.readable.metropolis import metropolis
from engine.readable.nuts import nuts
from engine.readable.rhat import rhat
from engine.targets import parameters_of
from lessons.diagnostics import analysis, doctor, panels
from lessons.diagnostics.patients import GALLERY
from lessons.diagnostics.questions import QUESTIONS
from lessons.diagnostics.scenes import PREVIEWS, scene
from lessons.diagnostics.spec import NOBODY, PATIENTS, SCENARIOS, WORDS, DiagnosticsLesson
from lessons.families import chain_files

VIEWS = {"ranks": "rank plot", "histogram": "histogram", "average": "average", "plane": "plane"}
QUANTITIES = {"first": "x₁", "second": "x₂", "square": "x₁²"}
WRONG = {
    "metropolis": "Break it: do not count rejections",
    "hmc": "Break it: leave out the accept step",
    "nuts": "Break it: one momentum for both ends of a subtree",
    "gibbs": "Break it: draw within a window only",
}


def controls(panel: Controls[DiagnosticsLesson]) -> None:
    """The widgets beside the stage."""
    panel.segmented("view", "Below the traces", VIEWS)
    panel.segmented("quantity", "Watched", QUANTITIES)
    panel.slider("burn", "Burn-in")
    panel.slider("thin", "Keep every k-th draw")
    chain_files.place(panel, chain_files.elsewhere)
    panel.note("The draws of any sampler are judged on [Bring your own chain](own-chain). This page stays as it is.")
    names = {NOBODY: "none: settings of your own", **{number: f"patient {number}" for number in PATIENTS}}
    if panel.spec.patient == NOBODY:
        _sampler(panel)
    elif not panel.spec.sealed:
        panel.note(f"The file says: {analysis.describe(panel.spec)}.")
        panel.button("Take this run to the sandbox", to_sandbox, help="The same run with all its settings open to change")
    with panel.more("Chains, draws, gallery"):
        panel.slider("chains")
        panel.slider("draws")
        panel.select("patient", "Patient of the gallery", names)
        if panel.spec.patient != NOBODY:
            panel.toggle("file", "Open the file")


def _sampler(panel: Controls[DiagnosticsLesson]) -> None:
    spec = panel.spec
    panel.segmented("sampler", "Sampler", analysis.SAMPLER_NAMES)
    if spec.sampler in ("hmc", "nuts"):
        panel.slider("step_size", "Step size ε")
        if spec.sampler == "hmc":
            panel.slider("steps", "Steps L")
    elif spec.sampler == "metropolis" or spec.broken == "yes" or spec.build_target().conditionals is None:
        panel.slider("scale", "Scale of the proposal")
    panel.toggle("broken", WRONG[spec.sampler])
    panel.target(parameters_of(spec.target))
    panel.note(truth_note(spec.build_target()))
    with panel.more("Where the chains start"):
        panel.slider("start_x", "Middle, x₁")
        panel.slider("start_y", "Middle, x₂")
        panel.slider("spread", "Distance of the corners")


def to_sandbox(spec: DiagnosticsLesson) -> dict[str, object]:
    """The changes that turn a patient into settings of one's own."""
    run = GALLERY[spec.patient].run
    own = ("burn", "thin", "view", "quantity", "seed", "chains", "draws", "file")
    return {name: getattr(run, name) for name in spec.declarations() if name not in own}


def twins(spec: DiagnosticsLesson) -> list[Callable[..., Any]]:
    """R-hat, and the sampler unless the file of the patient is sealed."""
    samplers: dict[str, Callable[..., Any]] = {"metropolis": metropolis, "hmc": hmc, "nuts": nuts, "gibbs": gibbs}
    return [rhat] if spec.sealed else [rhat, samplers[analysis.case(spec).sampler]]


def runs(spec: DiagnosticsLesson) -> str:
    """Which kernel runs."""
    if spec.sealed:
        return "The file of this patient is sealed."
    form = " NUTS is the slice form of Hoffman and Gelman." if analysis.case(spec).sampler == "nuts" else ""
    return f"{analysis.describe(spec)}.{form} R-hat, ESS and MCSE are those of arviz-stats."


LESSON = Lesson(
    slug="diagnostics",
    words=WORDS,
    spec=DiagnosticsLesson,
    scenarios=SCENARIOS,
    controls=controls,
    scene=scene,
    previews=PREVIEWS,
    recording=analysis.simulate,
    kernels=analysis.kernels,
    audit=analysis.audit,
    checks=analysis.checks,
    panels=panels.panels,
    diagnostics=panels.diagnostics,
    predict=QUESTIONS,
    twins=twins,
    wrong=lambda spec: set() if spec.sealed else {str(analysis.case(spec).settings().get("variant", "exact"))},
    code=[diagnostics.summarise, diagnostics.ebfmi, analysis.classic.__wrapped__, averages_check, doctor.diagnose],
    runs=runs,
)
show(LESSON)
