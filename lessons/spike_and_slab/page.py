"""The page of the lesson: controls, and what the frame needs."""

from collections.abc import Callable
from typing import Any

from app.kit.frame import Controls, Lesson, show
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
from lessons.families.digit_posteriors.spec import DATA
from lessons.spike_and_slab import analysis, estimators
from lessons.spike_and_slab.learning import TESTED
from lessons.spike_and_slab.panels import diagnostics, panels
from lessons.spike_and_slab.questions import QUESTIONS
from lessons.spike_and_slab.scenes import PREVIEWS, grow, live, scene
from lessons.spike_and_slab.spec import SCENARIOS, WORDS, SpikeAndSlabSpec

PARTS = {"regression": "Regression", "network": "Network"}
WEIGHT_PRIORS = {"aic": "odds e⁻²", "bic": "odds n⁻²", "own": "own"}
VIEWS = {"training": "training", "cut": "a rising cut", "draws": "networks drawn"}
LIKELIHOODS = {"linear": "a number (linear)", "logistic": "yes or no (logistic)"}


def controls(panel: Controls[SpikeAndSlabSpec]) -> None:
    """The widgets of the part that is shown."""
    panel.segmented("part", "Picture", PARTS)
    if panel.spec.part == "network":
        _network_controls(panel)
    else:
        _regression_controls(panel)


def _network_controls(panel: Controls[SpikeAndSlabSpec]) -> None:
    panel.segmented("view", "Look at", VIEWS)
    panel.segmented("weight_prior", "Prior of a weight being in", WEIGHT_PRIORS)
    if panel.spec.weight_prior == "own":
        panel.slider("weight_inclusion", "Your prior probability")
    panel.slider("epochs", "Epochs")
    panel.slider("units", "Hidden units")
    panel.segmented("data", "Learnt from", DATA)
    panel.note("1,347 handwritten digits of 8 × 8 pixels (scikit-learn) to learn from, 450 to test.")
    panel.note(
        f"{sources.WHERE} Of it all 60,000 images are learnt from, and the first {TESTED:,} of its test images are tested. "
        "Training begins by itself. The first picture is of a network that has learnt for half a second. It goes on "
        "while you look, for less than a minute at 60 epochs. What it has learnt is kept for the next reader."
    )


def _regression_controls(panel: Controls[SpikeAndSlabSpec]) -> None:
    panel.segmented("likelihood", "y is", LIKELIHOODS)
    panel.text("effects", "True coefficients")
    panel.slider("rows", "Rows n")
    panel.slider("correlation", "Correlation of x₁ and x₂")
    panel.slider("inclusion", "Prior probability π")
    panel.slider("slab_sd", "Slab sd s")
    with panel.more("Noise, data and chains"):
        if panel.spec.likelihood == "linear":
            panel.slider("noise_sd", "Noise sd σ")
        panel.number("data_seed", "Seed of the data")
        panel.slider("draws", "Sweeps")
        panel.slider("chains")
    with panel.more("Break it"):
        panel.toggle("variant", "Leave out the slab's constant 1/(s√2π)")


def runs(spec: SpikeAndSlabSpec) -> str:
    """Which kernel runs."""
    if spec.part == "network":
        return "Mean-field spike-and-slab network, local reparameterisation, Adam. An approximation: it is not exact."
    if spec.variant != "exact":
        return "Gibbs over γ with the slab's normalising constant left out: wrong on purpose."
    how = "Pólya–Gamma weights, then " if spec.likelihood == "logistic" else ""
    return f"Gibbs over γ: {how}each γ with the coefficients integrated out, then the coefficients."


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
    live_label="Run live",
    ready=lambda spec: spec.part != "network" or sources.is_here(spec.data),
)
show(LESSON)
