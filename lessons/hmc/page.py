"""The page of the lesson: controls → spec → picture."""

from app.kit import pictures
from app.kit.frame import Controls, Lesson, show
from engine.readable.hmc import hmc as readable
from engine.samplers import hmc
from engine.targets import parameters_of
from lessons.hmc import analysis
from lessons.hmc.panels import diagnostics, panels
from lessons.hmc.questions import QUESTIONS
from lessons.hmc.scenes import PREVIEWS, scene
from lessons.hmc.spec import SCENARIOS, WORDS, HmcLesson

VIEWS = {"path": "energy and U-turn", "phase": "phase space", "draws": "marginals"}
INTEGRATORS = {"swapped_kicks": "swapped kicks (exact, wasteful)", "euler": "Euler (wrong)"}


def controls(panel: Controls[HmcLesson]) -> None:
    """The widgets beside the stage."""
    panel.segmented("view", "Beside the map", VIEWS)
    if panel.spec.view == "draws":
        panel.note(pictures.truth_note(panel.spec.build_target()))
    panel.slider("step_size", "Step size ε")
    panel.slider("steps", "Steps L")
    panel.button("Take the map's best", take_best, help="Set ε and L to the best cell of the map below the picture")
    panel.target([name for name in parameters_of(panel.spec.target) if name != "dimension"])
    panel.segmented("mass", "Mass M: identity, or the inverse of the target's …")
    panel.toggle("reverse", "Run it back")
    with panel.more("Chains and draws"):
        panel.slider("chains")
        if panel.spec.chains > 1:
            panel.note("The map shows the draws of all chains; paths, marginals and numbers are those of chain 1.")
        panel.slider("draws")
        panel.slider("warmup")
        panel.slider("jitter", "Jitter of ε")
        panel.segmented("start")
        if panel.spec.start == "at":
            panel.number("start_x")
            panel.number("start_y")
    with panel.more("Break it"):
        panel.select("integrator", names=INTEGRATORS)
        panel.toggle("variant", "Leave out the accept step")


def take_best(spec: HmcLesson) -> dict[str, float]:
    """The changes that go to the best cell of the map."""
    step_size, steps = analysis.tuning_map(spec).best()
    return {"step_size": float(f"{step_size:.3g}"), "steps": steps}


def runs(spec: HmcLesson) -> str:
    """Which kernel runs."""
    if spec.variant == "always_accept":
        return "Hamiltonian Monte Carlo without its accept step: wrong on purpose."
    return {
        "leapfrog": "Hamiltonian Monte Carlo, leapfrog, Metropolis accept step.",
        "swapped_kicks": "Hamiltonian Monte Carlo with full kicks at the ends and half kicks between: exact, but it wastes acceptance.",
        "euler": "Explicit Euler in place of leapfrog: neither reversible nor volume preserving, wrong on purpose.",
    }[spec.integrator]


LESSON = Lesson(
    slug="hmc",
    words=WORDS,
    spec=HmcLesson,
    scenarios=SCENARIOS,
    controls=controls,
    scene=scene,
    previews=PREVIEWS,
    recording=lambda spec: analysis.simulate(spec).recording,
    kernels=analysis.kernels,
    audit=analysis.audit,
    checks=analysis.checks,
    panels=panels,
    diagnostics=diagnostics,
    predict=QUESTIONS,
    twins=lambda spec: [readable],
    code=[hmc._integrate, hmc._drift, hmc._kick, hmc.draw_momentum, hmc.kinetic_energy, hmc.hmc_chunk],
    runs=runs,
)
show(LESSON)
