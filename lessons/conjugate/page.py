"""The page of the lesson: controls → spec → picture."""

from app.kit.frame import Controls, Lesson, show
from engine.conjugate import beliefs, quadrature
from engine.judge import Kernel, TransitionKernel
from engine.readable.conjugate import conjugate
from engine.readable.metropolis import metropolis
from engine.samplers import Metropolis
from lessons.conjugate import analysis, drawing
from lessons.conjugate.kernel import Pair, UpdateKernel
from lessons.conjugate.pairs import TERMS
from lessons.conjugate.panels import diagnostics, panels
from lessons.conjugate.questions import QUESTIONS
from lessons.conjugate.scenes import PREVIEWS, scene
from lessons.conjugate.spec import DATA, FIELDS, SCENARIOS, WORDS, ConjugateLesson


def controls(panel: Controls[ConjugateLesson]) -> None:
    """The widgets beside the stage."""
    spec, words = panel.spec, TERMS[panel.spec.pair]
    panel.select("pair")
    panel.segmented("view")
    if spec.pair in ("both", "categorical"):
        panel.slider("unknown")
    for name in FIELDS[spec.pair]:
        panel.slider(name)
    panel.remark("worth", worth=words.worth)
    panel.text(DATA[spec.pair], WORDS.phrase("controls.data"), "1 0 1 1")
    panel.remark("data")
    if spec.pair == "bernoulli":
        panel.button("heads", lambda spec: drawing.added(spec, [1.0]))
        panel.button("tails", lambda spec: drawing.added(spec, [0.0]))
    flips = spec.pair == "bernoulli"
    panel.button("flip_one" if flips else "draw_one", lambda spec: drawing.more(spec, 1))
    panel.button("flip_ten" if flips else "draw_ten", lambda spec: drawing.more(spec, 10))
    panel.segmented("play")
    panel.segmented("likelihood")
    with panel.more("rival"):
        panel.number("rival_1", label=WORDS.phrase("controls.rival", axis=words.plane[0]))
        panel.number("rival_2", label=WORDS.phrase("controls.rival", axis=words.plane[1]))
        for name in drawing.MAKERS[spec.pair]:
            panel.slider(name)
        panel.toggle("truth")
    with panel.more("chain"):
        panel.slider("step")
        panel.slider("draws")
    panel.select("mistake")
    if spec.mistake != "none" and not analysis.course(spec).wrong:
        panel.remark("nothing_wrong")


def kernels(spec: ConjugateLesson) -> list[Kernel]:
    """The update that the page shows, and Metropolis on prior times likelihood, for as many observations."""
    here = analysis.course(spec)
    n, wrong = len(here.x), _broken(spec) if here.wrong else ""
    method = Metropolis(scale=spec.step * analysis.smallest_sd(here.exact[-1]))
    update = UpdateKernel(here.prior, n, spec.mistake if here.wrong else "none", wrong)
    return [update, TransitionKernel(Pair(here.prior, n), method)]


def runs(spec: ConjugateLesson) -> str:
    """Which formula runs."""
    formula = WORDS.phrase("runs.formula", model=TERMS[spec.pair].model)
    return formula if spec.mistake == "none" else f"{formula} {_broken(spec)}"


def _broken(spec: ConjugateLesson) -> str:
    return WORDS.phrase("runs.broken", mistake=WORDS["options.mistake"][spec.mistake])


LESSON = Lesson(
    slug="conjugate",
    words=WORDS,
    spec=ConjugateLesson,
    scenarios=SCENARIOS,
    controls=controls,
    scene=scene,
    previews=PREVIEWS,
    recording=lambda spec: analysis.walk(spec) if spec.play == "walk" else None,
    predicted=analysis.predicted,
    kernels=kernels,
    audit=analysis.audit,
    checks=analysis.checks,
    panels=panels,
    diagnostics=diagnostics,
    predict=QUESTIONS,
    twins=lambda spec: [conjugate, metropolis] if spec.play == "walk" else [conjugate],
    wrong=lambda spec: {spec.mistake} if analysis.course(spec).wrong else set(),
    code=[*(pair.update for pair in beliefs.PAIRS.values()), beliefs.Belief.log_evidence, quadrature.integrate],
    runs=runs,
    on_event=drawing.on_event,
)
show(LESSON)
