"""The page of the lesson: controls → spec → picture."""

from app.kit.frame import Controls, Lesson, show
from engine.networks import mlp, predictive
from engine.readable.bayes_by_backprop import bayes_by_backprop
from engine.variational import dense, fused
from lessons.families.digit_posteriors import sources
from lessons.weights import analysis, training
from lessons.weights.panels import diagnostics, panels
from lessons.weights.questions import QUESTIONS
from lessons.weights.scenes import PREVIEWS, grow, scene
from lessons.weights.spec import CLASSES, IMAGES, SCENARIOS, WORDS, WeightsSpec


def controls(panel: Controls[WeightsSpec]) -> None:
    """The widgets beside the stage."""
    spec = panel.spec
    panel.segmented("problem")
    if spec.problem == "digits":
        _digit_controls(panel)
    else:
        _small_controls(panel)


def _digit_controls(panel: Controls[WeightsSpec]) -> None:
    panel.segmented("images", names=IMAGES)
    panel.slider("hidden")
    panel.slider("prior_sd")
    panel.remark("bundled")
    panel.remark("mnist", where=sources.WHERE, tested=sources.TESTED)


def _small_controls(panel: Controls[WeightsSpec]) -> None:
    """Of the problems where NUTS runs beside q."""
    spec = panel.spec
    panel.segmented("data")
    if spec.data == "own":
        if spec.problem == "curve":
            panel.points("pairs")
        else:
            panel.points("points", CLASSES)
    elif spec.problem == "curve":
        panel.slider("rows")
        panel.slider("gap")
    else:
        panel.slider("corner")
    if spec.data == "made":
        panel.button("edit", own_copy)
    panel.slider("units")
    panel.slider("prior_sd")
    with panel.more("training"):
        panel.slider("initial_sd")
        panel.slider("steps")
        panel.slider("step_size")
        panel.slider("batch")
        panel.segmented("estimator")
        panel.slider("warm_up")
    with panel.more("prior"):
        panel.segmented("prior")
        if spec.prior == "mixture":
            panel.slider("mixture_share")
            panel.slider("mixture_sd")
        if spec.problem == "curve":
            panel.slider("noise_sd")
        panel.slider("draws")
    with panel.more("break"):
        panel.select("variant")


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
    noise = WORDS.phrase(f"runs.{spec.estimator}")
    if spec.warm_up:
        noise = WORDS.phrase("runs.warm_up", noise=noise, share=spec.warm_up)
    wrong = "" if spec.variant == "exact" else f" {WORDS.phrase(f'runs.{spec.variant}')}"
    return WORDS.phrase("runs.small", noise=noise, wrong=wrong)


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
