"""The page of the lesson: controls, and what the frame needs."""

from collections.abc import Callable
from typing import Any

from app.kit.frame import Controls, Lesson, show
from datasets.images import DIGITS_TRAIN
from engine.readable.polya_gamma import polya_gamma
from engine.readable.spike_and_slab import spike_and_slab
from engine.readable.spike_and_slab_network import spike_and_slab_network
from engine.spike_and_slab import ascend_selection
from engine.spike_and_slab.enumeration import _linear
from engine.spike_and_slab.gibbs import selection_chunk
from engine.spike_and_slab.model import factorise
from engine.variational import select_model
from engine.variational.spike_and_slab_network import SpikeAndSlab
from lessons.families.digit_posteriors import sources
from lessons.families.digit_posteriors.spec import TESTS
from lessons.spike_and_slab import analysis, estimators
from lessons.spike_and_slab.panels import diagnostics, panels
from lessons.spike_and_slab.questions import QUESTIONS
from lessons.spike_and_slab.scenes import PREVIEWS, grow, live, scene
from lessons.spike_and_slab.spec import SCENARIOS, WORDS, SpikeAndSlabSpec


def controls(panel: Controls[SpikeAndSlabSpec]) -> None:
    """The widgets of the part that is shown."""
    panel.segmented("part")
    if panel.spec.part == "network":
        _network_controls(panel)
    else:
        _regression_controls(panel)


def _network_controls(panel: Controls[SpikeAndSlabSpec]) -> None:
    panel.segmented("view")
    panel.segmented("weight_prior")
    if panel.spec.weight_prior == "own":
        panel.slider("weight_inclusion")
    panel.slider("epochs")
    panel.slider("units")
    panel.segmented("data")
    panel.remark("digits", learnt=DIGITS_TRAIN, tested=TESTS["digits"])
    panel.remark("mnist", where=sources.WHERE, tested=sources.TESTED)


def _regression_controls(panel: Controls[SpikeAndSlabSpec]) -> None:
    panel.segmented("likelihood")
    panel.text("effects")
    panel.slider("rows")
    panel.slider("correlation")
    panel.slider("inclusion")
    panel.slider("slab_sd")
    with panel.more("data"):
        if panel.spec.likelihood == "linear":
            panel.slider("noise_sd")
        panel.number("data_seed")
        panel.slider("draws")
        panel.slider("chains")
    with panel.more("break"):
        panel.toggle("variant")


def runs(spec: SpikeAndSlabSpec) -> str:
    """Which kernel runs."""
    if spec.part == "network":
        return WORDS.phrase("runs.network")
    return WORDS.phrase(f"runs.{spec.likelihood if spec.variant == 'exact' else spec.variant}")


def twins(spec: SpikeAndSlabSpec) -> list[Callable[..., Any]]:
    """Gibbs sampling over the models, with the weights of yes or no; or a step of the network."""
    if spec.part == "network":
        return [spike_and_slab_network]
    return [spike_and_slab, polya_gamma] if spec.likelihood == "logistic" else [spike_and_slab]


LESSON = Lesson(
    slug="spike-and-slab",
    words=WORDS,
    spec=SpikeAndSlabSpec,
    scenarios=SCENARIOS,
    controls=controls,
    scene=scene,
    previews=PREVIEWS,
    grow=grow,
    recording=lambda spec: analysis.record(spec) if spec.part == "regression" else None,
    predicted=lambda spec: analysis.predicted(spec) if spec.part == "regression" else None,
    kernels=analysis.kernels,
    audit=analysis.audit,
    checks=analysis.checks,
    faults=analysis.faults,
    panels=panels,
    diagnostics=diagnostics,
    predict=QUESTIONS,
    twins=twins,
    wrong=lambda spec: {spec.variant} if spec.part == "regression" else set(),
    code=[selection_chunk, factorise, _linear, ascend_selection, SpikeAndSlab, select_model, estimators.elbo],
    runs=runs,
    live=live,
    live_label=WORDS.phrase("buttons.live"),
    ready=lambda spec: spec.part != "network" or sources.is_here(spec.data),
)
show(LESSON)
