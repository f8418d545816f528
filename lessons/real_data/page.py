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
from lessons.real_data.scenes import grow, live, scene
from lessons.real_data.spec import SCENARIOS, WORDS, RealDataSpec

TYPES = ("csv", "txt", "tsv")


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
    panel.select("data")
    if spec.lottery or spec.show == "place":
        _lottery(panel)
        return
    panel.files("own_table", own_table, types=TYPES, most_bytes=tables.MOST_BYTES)
    if spec.data == "own":
        panel.text("target", placeholder=WORDS.phrase("placeholders.target"))
        most = {"rows": tables.MOST_ROWS, "columns": tables.MOST_COLUMNS, "cells": tables.MOST_CELLS}
        panel.remark("own_table", megabytes=tables.MOST_BYTES / 1e6, **most)
    panel.toggle("scaled", on="yes")
    if spec.data in ("boston", "credit", "own"):
        panel.segmented("show", only=None if spec.data == "own" else ("fit", "protocol"))
    if spec.show == "protocol":
        _budget(panel)
        return
    panel.slider("hidden")
    if analysis.has_classes(spec):
        panel.slider("miss_cost")
        panel.slider("alarm_cost")
    else:
        panel.segmented("noise")
        if spec.noise == "fixed":
            panel.slider("noise_sd")
    panel.number("case")
    panel.slider("level")
    with panel.more("rows"):
        panel.slider("rows")
        panel.slider("test_rows")
        panel.segmented("split")
        panel.text("without", placeholder="b, lstat")
    _training(panel)
    _sampler(panel)


def _training(panel: Controls[RealDataSpec]) -> None:
    with panel.more("training"):
        panel.select("activation")
        panel.select("weights")
        panel.slider("prior_sd")
        panel.select("training")
        panel.slider("epochs")
        panel.slider("step_size")


def _sampler(panel: Controls[RealDataSpec]) -> None:
    with panel.more("sampler"):
        _budget(panel)
        panel.select("variant")


def _lottery(panel: Controls[RealDataSpec]) -> None:
    spec = panel.spec
    take = partial(own_draws, "draw" if spec.lottery else "place", spec.balls)
    panel.files("own_draws", take, types=TYPES, most_bytes=tables.MOST_BYTES)
    if spec.data == "urn":
        draws = "draw" if spec.show == "place" else spec.show  # whatever a link says, they are the draws of the urn
        panel.segmented("show", names={draws: WORDS.phrase("options.show.draw")}, only=(draws, "place"))
    else:
        panel.segmented("show")
        panel.remark("own_draws")
    if spec.show == "place":
        _place(panel)
        return
    panel.slider("seen")
    if spec.data == "urn":
        panel.slider("weight")
        panel.number("odd")
    panel.slider("balls")
    with panel.more("test"):
        panel.slider("belief")
        panel.slider("urns")


def _place(panel: Controls[RealDataSpec]) -> None:
    panel.slider("rows")
    panel.slider("test_rows")
    panel.slider("balls")
    panel.slider("hidden")
    panel.slider("level")
    _training(panel)
    _sampler(panel)


def _budget(panel: Controls[RealDataSpec]) -> None:
    panel.slider("chains")
    panel.slider("warmup")
    panel.slider("draws")
    panel.slider("max_depth")


def runs(spec: RealDataSpec) -> str:
    """Which kernel runs."""
    if spec.lottery:
        return WORDS.phrase("runs.urn")
    run = WORDS.phrase("runs.sweeps")
    return run if spec.variant == "exact" else f"{run} {WORDS.phrase('runs.wrong')}"


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
    grow=grow,
    live=live,
    live_label=WORDS.phrase("buttons.run"),
    recording=lambda spec: None if spec.show == "protocol" or spec.lottery else analysis.recorded(spec),
    whole=True,
    predicted=analysis.recorded_predictions,
    ready=analysis.is_here,
)
show(LESSON)
