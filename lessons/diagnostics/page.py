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
from lessons.diagnostics.scenes import PREVIEWS, grow, scene
from lessons.diagnostics.spec import NOBODY, PATIENTS, SCENARIOS, WORDS, DiagnosticsLesson
from lessons.families import chain_files


def controls(panel: Controls[DiagnosticsLesson]) -> None:
    """The widgets beside the stage."""
    panel.segmented("view")
    panel.segmented("quantity")
    panel.slider("burn")
    panel.slider("thin")
    chain_files.place(panel, chain_files.elsewhere)
    panel.remark("judged")
    if panel.spec.patient == NOBODY:
        _sampler(panel)
    elif not panel.spec.sealed:
        panel.remark("file", run=analysis.describe(panel.spec))
        panel.button("sandbox", to_sandbox)
    with panel.more("gallery"):
        panel.slider("chains")
        panel.slider("draws")
        panel.select("patient", names={number: WORDS.phrase("options.patient.number", number=number) for number in PATIENTS})
        if panel.spec.patient != NOBODY:
            panel.toggle("file")


def _sampler(panel: Controls[DiagnosticsLesson]) -> None:
    spec = panel.spec
    panel.segmented("sampler")
    if spec.sampler in ("hmc", "nuts"):
        panel.slider("step_size")
        if spec.sampler == "hmc":
            panel.slider("steps")
    elif spec.sampler == "metropolis" or spec.broken == "yes" or spec.build_target().conditionals is None:
        panel.slider("scale")
    panel.toggle("broken", label=WORDS.phrase(f"break.{spec.sampler}"))
    panel.target(parameters_of(spec.target))
    panel.note(truth_note(spec.build_target()))
    with panel.more("starts"):
        panel.slider("start_x")
        panel.slider("start_y")
        panel.slider("spread")


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
        return WORDS.phrase("runs.sealed")
    which = "runs.told_of_nuts" if analysis.case(spec).sampler == "nuts" else "runs.told"
    return WORDS.phrase(which, run=analysis.describe(spec))


LESSON = Lesson(
    slug="diagnostics",
    words=WORDS,
    spec=DiagnosticsLesson,
    scenarios=SCENARIOS,
    controls=controls,
    scene=scene,
    grow=grow,
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
