"""Spike-and-slab regression: which predictors are in? By enumeration, by Gibbs sampling, and by mean-field."""

from engine.spike_and_slab.enumeration import MOST_PREDICTORS, Enumeration, enumerate_models
from engine.spike_and_slab.gibbs import SelectionRecording, SelectionRun, sample_models
from engine.spike_and_slab.mean_field import SelectionAscent, ascend_selection
from engine.spike_and_slab.model import LIKELIHOODS, SpikeAndSlab, spike_and_slab

__all__ = [
    "LIKELIHOODS",
    "MOST_PREDICTORS",
    "Enumeration",
    "SelectionAscent",
    "SelectionRecording",
    "SelectionRun",
    "SpikeAndSlab",
    "ascend_selection",
    "enumerate_models",
    "sample_models",
    "spike_and_slab",
]
