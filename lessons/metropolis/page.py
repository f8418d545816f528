"""The Metropolis page: widgets, and what the frame needs."""

from app.kit.frame import Controls, Lesson, show
from app.kit.pictures import truth_note
from engine.readable.islands import islands as readable_islands
from engine.readable.metropolis import metropolis as readable
from engine.samplers import islands, metropolis
from engine.spec import SpecError
from engine.targets import parameters_of
from lessons.metropolis import analysis, evidence, scenes
from lessons.metropolis.questions import QUESTIONS
from lessons.metropolis.spec import PRESETS, SCENARIOS, WORDS, MetropolisLesson


def controls(panel: Controls[MetropolisLesson]) -> None:
    """The widgets of the part that is shown."""
    panel.segmented("part")
    if panel.spec.part == "islands":
        _island_controls(panel)
    else:
        _plane_controls(panel)
    panel.select("variant")
    panel.slider("draws")
    _notes(panel)


def _island_controls(panel: Controls[MetropolisLesson]) -> None:
    panel.text("populations")
    with panel.more("rings"):
        for name, people in PRESETS.items():
            panel.button(name, {"populations": people, "first_island": 4})
    panel.slider("p_right")
    panel.number("first_island")


def _plane_controls(panel: Controls[MetropolisLesson]) -> None:
    panel.target(parameters_of(panel.spec.target))
    panel.slider("scale")
    if panel.spec.part == "triptych":
        panel.slider("factor")
    else:
        panel.slider("burn")
        panel.slider("chains")
    with panel.more("proposal"):
        panel.slider("drift")
        panel.start()


def _notes(panel: Controls[MetropolisLesson]) -> None:
    try:
        remarks = analysis.remarks(panel.spec)
        truth = "" if panel.spec.part == "islands" else truth_note(analysis.target_of(panel.spec))
    except SpecError:  # the stage says what is wrong
        return
    for name in remarks:
        panel.remark(name)
    if truth:
        panel.note(truth)


LESSON = Lesson(
    slug="metropolis",
    words=WORDS,
    spec=MetropolisLesson,
    scenarios=SCENARIOS,
    controls=controls,
    scene=scenes.scene,
    previews=scenes.PREVIEWS,
    recording=lambda spec: analysis.record(spec) if spec.part == "plane" else None,
    kernels=analysis.kernels,
    audit=evidence.audit,
    checks=evidence.checks,
    panels=evidence.panels,
    diagnostics=evidence.diagnose,
    predict=QUESTIONS,
    twins=lambda spec: [readable_islands if spec.part == "islands" else readable],
    code=[metropolis.metropolis_chunk, islands._walk, islands.transition_matrix, islands.stationary],
    runs=analysis.runs,
)
show(LESSON)
