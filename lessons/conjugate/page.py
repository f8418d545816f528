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

PAIRS = {pair: words.short for pair, words in TERMS.items()}
VIEWS = {"next": "next observation", "evidence": "evidence", "estimate": "estimate"}
SYMBOLS = {
    "alpha": "α",
    "beta": "β",
    "m": "m",
    "s": "s",
    "sigma": "σ, known",
    "centre": "μ, known",
    "kappa": "κ",
    "a1": "a₁",
    "a2": "a₂",
    "a3": "a₃",
}
MISTAKES = {"none": "none", "twice": "use the data twice", "scale": "take the rate for a scale", "miscount": "miscount n"}


def controls(panel: Controls[ConjugateLesson]) -> None:
    """The widgets beside the stage."""
    spec = panel.spec
    panel.select("pair", "What is observed, and its prior", PAIRS)
    panel.segmented("view", "Lower right", VIEWS)
    if spec.pair in ("both", "categorical"):
        panel.slider("unknown", "Unknown shown")
    for name in FIELDS[spec.pair]:
        panel.slider(name, SYMBOLS[name])
    panel.note(f"The prior claims to have seen {TERMS[spec.pair].worth}.")
    panel.text(DATA[spec.pair], "Data", "1 0 1 1")
    panel.note("Blanks or commas between observations; `0*12` is twelve zeros.")
    if spec.pair == "bernoulli":
        panel.button("Heads", lambda spec: drawing.added(spec, [1.0]))
        panel.button("Tails", lambda spec: drawing.added(spec, [0.0]))
    word = "Flip" if spec.pair == "bernoulli" else "Draw"
    panel.button(f"{word} one more", lambda spec: drawing.more(spec, 1))
    panel.button(f"{word} ten more", lambda spec: drawing.more(spec, 10))
    panel.segmented("play", "What moves", {"data": "data arrive", "walk": "a Metropolis chain"})
    panel.segmented("likelihood", "Curves", {"all": "prior, all data", "newest": "posterior becomes prior"})
    with panel.more("Rival prior, and what makes the data"):
        panel.number("rival_1", f"Rival, {TERMS[spec.pair].plane[0]}")
        panel.number("rival_2", f"Rival, {TERMS[spec.pair].plane[1]}")
        for name in drawing.MAKERS[spec.pair]:
            panel.slider(name)
        panel.toggle("truth", "Mark it in the picture")
    with panel.more("The Metropolis chain"):
        panel.slider("step", "Proposal sd (posterior sds)")
        panel.slider("draws", "Transitions")
    panel.select("mistake", "Break it", MISTAKES)
    if spec.mistake != "none" and not analysis.course(spec).wrong:
        panel.note("With this pair that mistake cannot be made: nothing is wrong.")


def kernels(spec: ConjugateLesson) -> list[Kernel]:
    """The update that the page shows, and Metropolis on prior times likelihood, for as many observations."""
    here = analysis.course(spec)
    n, wrong = len(here.x), f"Broken on purpose: {MISTAKES[spec.mistake]}." if here.wrong else ""
    method = Metropolis(scale=spec.step * analysis.smallest_sd(here.exact[-1]))
    update = UpdateKernel(here.prior, n, spec.mistake if here.wrong else "none", wrong)
    return [update, TransitionKernel(Pair(here.prior, n), method)]


def runs(spec: ConjugateLesson) -> str:
    """Which formula runs."""
    wrong = "" if spec.mistake == "none" else f" Broken on purpose: {MISTAKES[spec.mistake]}."
    return f"engine.conjugate, {TERMS[spec.pair].name}, against quadrature and random-walk Metropolis on prior × likelihood." + wrong


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
