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

PARTS = {"islands": "Islands", "plane": "Plane", "triptych": "Three step sizes"}
VARIANTS = {"exact": "right", "no_hastings": "Hastings ratio left out", "drop_rejections": "rejections not counted"}
TARGETS = {"gaussian": "correlated Gaussian"}
STARTS = {"random": "random", "at": "at a point"}


def controls(panel: Controls[MetropolisLesson]) -> None:
    """The widgets of the part that is shown."""
    panel.segmented("part", "Picture", names=PARTS)
    if panel.spec.part == "islands":
        _island_controls(panel)
    else:
        _plane_controls(panel)
    panel.select("variant", "Sampler", names=VARIANTS)
    panel.slider("draws", "Transitions")
    _notes(panel)


def _island_controls(panel: Controls[MetropolisLesson]) -> None:
    panel.text("populations", "People on each island")
    with panel.more("Ready-made rings"):
        for name, people in PRESETS.items():
            panel.button(name, {"populations": people, "first_island": 4})
    panel.slider("p_right", "Coin: probability of clockwise")
    panel.number("first_island", "First island")


def _plane_controls(panel: Controls[MetropolisLesson]) -> None:
    panel.target(parameters_of(panel.spec.target), TARGETS)
    panel.slider("scale", "Scale σ of a step")
    if panel.spec.part == "triptych":
        panel.slider("factor", "Small and big: scale ÷ and × this")
    else:
        panel.slider("burn", "Burn-in")
        panel.slider("chains", "Chains")
    with panel.more("Proposal and start"):
        panel.slider("drift", "Drift δ (in scales)")
        panel.segmented("start", "Start", names=STARTS)
        if panel.spec.start == "at":
            panel.number("start_x")
            panel.number("start_y")


def _notes(panel: Controls[MetropolisLesson]) -> None:
    try:
        remarks = analysis.remarks(panel.spec)
        if panel.spec.part != "islands":
            remarks.append(truth_note(analysis.target_of(panel.spec)))
    except SpecError:  # the stage says what is wrong
        return
    for remark in remarks:
        panel.note(remark)


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
