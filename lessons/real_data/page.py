"""The page of the lesson: controls → spec → picture."""

from functools import partial

from app.kit import files
from app.kit.frame import Controls, Lesson, show
from datasets import tables
from engine import urn
from engine.networks import sweep
from engine.readable.nuts import nuts
from engine.readable.own_means import own_means
from engine.readable.scales import scales
from lessons.real_data import analysis, lottery, place
from lessons.real_data.panels import diagnostics, panels
from lessons.real_data.questions import QUESTIONS
from lessons.real_data.scenes import live, scene
from lessons.real_data.spec import SCENARIOS, WORDS, RealDataSpec

SHOWS = {"fit": "one network", "protocol": "a published table", "draw": "draws of a lottery", "place": "smallest or third"}
DATA = {
    "diabetes": "diabetes (442 patients)",
    "breast_cancer": "breast cancer (569 tumours)",
    "boston": "Boston house prices (download)",
    "credit": "credit default (download)",
    "own": "your own table",
    "urn": "an urn: five numbers of 69",
}
SPLITS = {"seeded": "drawn with the seed", "published": "those of the thesis"}
WEIGHTS = {"fixed": "fixed", "per_layer": "learned for each layer", "own_mean": "each weight its own (the thesis)"}
TRAININGS = {"plain": "nothing", "weight_decay": "weight decay", "early_stopping": "stop early"}
TYPES = ("csv", "txt", "tsv")
VARIANTS = {"exact": "right", "no_half_count": "forget half the number of weights", "rate_as_scale": "take a rate for a scale"}


def own_table(given: dict[str, bytes]) -> dict[str, str]:
    """The fields that change when a file is given. Raises SpecError where it cannot be used."""
    ((name, content),) = given.items()
    reference = files.hold(name, content)
    analysis.own_table(reference)
    return {"data": "own", "file": reference}


def own_draws(show: str, balls: int, given: dict[str, bytes]) -> dict[str, str]:
    """The same of a lottery's draws, of which `show` is asked."""
    ((name, content),) = given.items()
    reference = files.hold(name, content)
    lottery.own(reference, balls)
    return {"show": show, "data": "own", "file": reference}


def controls(panel: Controls[RealDataSpec]) -> None:
    """The widgets beside the stage."""
    spec = panel.spec
    panel.select("data", "Table", DATA)
    if spec.lottery or spec.show == "place":
        _lottery(panel)
        return
    panel.files("Your own table (CSV)", own_table, types=TYPES, most_bytes=tables.MOST_BYTES)
    if spec.data == "own":
        panel.text("target", "Column to predict", "the last one")
        panel.note(
            f"Up to {tables.MOST_BYTES / 1e6:.0f} MB, {tables.MOST_ROWS:,} rows, {tables.MOST_COLUMNS} columns and "
            f"{tables.MOST_CELLS:,} cells are read; of these, rows are drawn with the seed. It stays in this server's "
            "memory and is not written anywhere."
        )
    panel.toggle("scaled", "Scale the columns", on="yes")
    if spec.data in ("boston", "credit", "own"):
        panel.segmented("show", "What to run", SHOWS, only=None if spec.data == "own" else ("fit", "protocol"))
    if spec.show == "protocol":
        _budget(panel)
        return
    panel.slider("hidden", "Hidden units")
    if analysis.has_classes(spec):
        panel.slider("miss_cost", "Cost of a miss")
        panel.slider("alarm_cost", "Cost of a false alarm")
    else:
        panel.segmented("noise", "Noise of a value")
        if spec.noise == "fixed":
            panel.slider("noise_sd", "Noise sd")
    panel.number("case", "Case to look at")
    panel.slider("level", "Intervals should hold")
    with panel.more("Rows and columns"):
        panel.slider("rows", "Rows to learn from")
        panel.slider("test_rows", "Rows to test on")
        panel.segmented("split", "Which rows", SPLITS)
        panel.text("without", "Columns left out", "b, lstat")
    _training(panel)
    _sampler(panel)


def _training(panel: Controls[RealDataSpec]) -> None:
    with panel.more("Network and training"):
        panel.select("activation", "Activation")
        panel.select("weights", "Prior of the weights", WEIGHTS)
        panel.slider("prior_sd", "Prior sd, where fixed")
        panel.select("training", "Against overfitting", TRAININGS)
        panel.slider("epochs", "Epochs of training")
        panel.slider("step_size", "Step size of training")


def _sampler(panel: Controls[RealDataSpec]) -> None:
    with panel.more("Sampler"):
        _budget(panel)
        panel.select("variant", "Break it", VARIANTS)


def _lottery(panel: Controls[RealDataSpec]) -> None:
    spec = panel.spec
    take = partial(own_draws, "draw" if spec.lottery else "place", spec.balls)
    panel.files("Draws of a lottery (CSV)", take, types=TYPES, most_bytes=tables.MOST_BYTES)
    if spec.data == "urn":
        draws = "draw" if spec.show == "place" else spec.show  # whatever a link says, they are the draws of the urn
        panel.segmented("show", "What to run", {**SHOWS, draws: SHOWS["draw"]}, only=(draws, "place"))
    else:
        panel.segmented("show", "What to run", SHOWS)
        panel.note(
            "A draw a row: its numbers in one cell, or in five neighbouring columns. Further numbers, such as the powerball, are not read."
        )
    if spec.show == "place":
        _place(panel)
        return
    panel.slider("seen", "Draws")
    if spec.data == "urn":
        panel.slider("weight", "Weight of the odd ball")
        panel.number("odd", "Which ball is odd")
    panel.slider("balls", "Balls in the urn")
    with panel.more("The test"):
        panel.slider("belief", "Draws that the prior is worth")
        panel.slider("urns", "Urns for the power")


def _place(panel: Controls[RealDataSpec]) -> None:
    panel.slider("rows", "Rows to learn from")
    panel.slider("test_rows", "Rows to test on")
    panel.slider("balls", "Balls in the urn")
    panel.slider("hidden", "Hidden units")
    panel.slider("level", "Intervals should hold")
    _training(panel)
    _sampler(panel)


def _budget(panel: Controls[RealDataSpec]) -> None:
    panel.slider("chains", "Chains")
    panel.slider("warmup", "Warm-up sweeps")
    panel.slider("draws", "Draws of each chain")
    panel.slider("max_depth", "Most doublings")


def runs(spec: RealDataSpec) -> str:
    """Which kernel runs."""
    if spec.lottery:
        return "engine.urn: draws without replacement, one ball of another weight; the evidence is in closed form, no chain runs."
    wrong = "" if spec.variant == "exact" else " Wrong on purpose: the draw of the precisions."
    return f"NUTS on all weights, and Gibbs on the precisions of their prior and of the noise, in turns.{wrong}"


LESSON = Lesson(
    slug="real-data",
    words=WORDS,
    spec=RealDataSpec,
    scenarios=SCENARIOS,
    controls=controls,
    scene=scene,
    kernels=analysis.kernels,
    audit=lambda spec, cancel: (lottery if spec.lottery else analysis).audit(spec, cancel),
    checks=lambda spec, cancel: (lottery if spec.lottery else place if spec.show == "place" else analysis).checks(spec, cancel),
    panels=panels,
    diagnostics=diagnostics,
    predict=QUESTIONS,
    twins=lambda spec: [] if spec.lottery else [own_means, scales, nuts] if spec.weights == "own_mean" else [scales, nuts],
    code=[tables.choose, tables.Standard, analysis.study, analysis.costs, sweep.draw_scales, urn.draw, urn.log_factors],
    runs=runs,
    live=live,
    live_label="Sample the posterior",
    recording=lambda spec: None if spec.show == "protocol" or spec.lottery else analysis.recorded(spec),
    whole=True,
    predicted=analysis.recorded_predictions,
    ready=analysis.is_here,
)
show(LESSON)
