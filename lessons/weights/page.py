"""The page of the lesson: controls → spec → picture."""

from app.kit.frame import Controls, Lesson, show
from engine.networks import mlp, predictive
from engine.readable.bayes_by_backprop import bayes_by_backprop
from engine.variational import dense, fused
from lessons.families.digit_posteriors import sources
from lessons.weights import analysis, training
from lessons.weights.digits import TESTED
from lessons.weights.panels import diagnostics, panels
from lessons.weights.questions import QUESTIONS
from lessons.weights.scenes import PREVIEWS, grow, scene
from lessons.weights.spec import CLASSES, SCENARIOS, WORDS, WeightsSpec

PROBLEMS = {"curve": "a curve", "plane": "XOR", "digits": "digits"}
DATA = {"made": "made", "own": "your own points"}
PRIORS = {"normal": "normal", "mixture": "mixture of two"}
ESTIMATORS = {"weights": "of each weight", "local": "of each unit's input", "flipout": "once, signs turned"}
NOISES = {
    "weights": "noise in every weight",
    "local": "noise in every unit's input",
    "flipout": "noise drawn once, its signs turned for every point",
}
VARIANTS = {"exact": "no, the right objective", "no_scaling": "forget n/B of a minibatch", "light_kl": "count a tenth of the KL"}


def controls(panel: Controls[WeightsSpec]) -> None:
    """The widgets beside the stage."""
    spec = panel.spec
    panel.segmented("problem", "Problem", PROBLEMS)
    if spec.problem == "digits":
        _digit_controls(panel)
    else:
        _small_controls(panel)


def _digit_controls(panel: Controls[WeightsSpec]) -> None:
    panel.segmented("images")
    panel.slider("hidden")
    panel.slider("prior_sd", "Prior sd σ")
    panel.remark("bundled")
    panel.note(sources.WHERE)
    panel.remark("mnist", tested=TESTED)


def _small_controls(panel: Controls[WeightsSpec]) -> None:
    """Of the problems where NUTS runs beside q."""
    spec = panel.spec
    panel.segmented("data", "Data", DATA)
    if spec.data == "own":
        if spec.problem == "curve":
            panel.points("pairs", label="Points: x, y, 0")
        else:
            panel.points("points", CLASSES)
    elif spec.problem == "curve":
        panel.slider("rows", "Points n")
        panel.slider("gap", "Gap: no data within")
    else:
        panel.slider("corner", "Points per corner")
    if spec.data == "made":
        panel.button("Edit these points", own_copy, help="Take them as your own points: click, drag and delete them")
    panel.slider("units", "Hidden units k")
    panel.slider("prior_sd", "Prior sd σ")
    with panel.more("Training of q"):
        panel.slider("initial_sd", "sd of q at the start")
        panel.slider("steps", "Steps")
        panel.slider("step_size", "Step size η")
        panel.slider("batch", "Minibatch B (0: all data)")
        panel.segmented("estimator", "Noise is drawn", ESTIMATORS)
        panel.slider("warm_up", "Warm-up of the KL")
    with panel.more("Prior, noise, NUTS"):
        panel.segmented("prior", "Prior", PRIORS)
        if spec.prior == "mixture":
            panel.slider("mixture_share", "Share of the wide one")
            panel.slider("mixture_sd", "sd of the narrow one")
        if spec.problem == "curve":
            panel.slider("noise_sd", "Noise sd")
        panel.slider("draws", "NUTS draws")
    with panel.more("Break it"):
        panel.select("variant", "Wrong on purpose", VARIANTS)


def own_copy(spec: WeightsSpec) -> dict:
    """The made points as own points."""
    return {"data": "own", **training.own_points_of(spec)}


def on_event(spec: WeightsSpec, event: dict) -> WeightsSpec | None:
    """Points placed in the stage become the data."""
    if event.get("kind") != "points" or event.get("panel") != "q":
        return None
    placed = tuple((round(float(x), 3), round(float(y), 3), int(label)) for x, y, label in event["points"])
    return spec.replace(data="own", **{"pairs" if spec.problem == "curve" else "points": placed})


def runs(spec: WeightsSpec) -> str:
    """Which kernel runs."""
    if spec.problem == "digits":
        return WORDS.phrase("runs.digits", layers=spec.hidden)
    noise = NOISES[spec.estimator]
    if spec.warm_up:
        noise += f", the KL's weight growing to 1 over the first {spec.warm_up:.0%} of the steps"
    wrong = {
        "exact": "",
        "no_scaling": " Wrong on purpose: a minibatch is taken for all the data.",
        "light_kl": " Wrong on purpose: the KL counts a tenth.",
    }[spec.variant]
    return (
        f"Bayes by Backprop: independent normals, reparameterised gradients ({noise}), Adam.{wrong} Beside it NUTS on "
        "the same posterior. q is an approximation: what is checked is how it is trained, not that it is exact."
    )


LESSON = Lesson(
    slug="weights",
    words=WORDS,
    spec=WeightsSpec,
    scenarios=SCENARIOS,
    controls=controls,
    scene=scene,
    previews=PREVIEWS,
    kernels=analysis.kernels,
    audit=analysis.audit,
    checks=analysis.checks,
    faults=analysis.faults,
    panels=panels,
    diagnostics=diagnostics,
    predict=QUESTIONS,
    twins=lambda spec: [bayes_by_backprop],
    code=[dense._step, dense._step_local, dense._step_flipout, fused.softplus, mlp._network, predictive.Ensemble, analysis.ratio],
    runs=runs,
    on_event=on_event,
    grow=grow,
    ready=lambda spec: spec.problem != "digits" or sources.is_here(spec.images),
)
show(LESSON)
