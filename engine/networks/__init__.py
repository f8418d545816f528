"""Neural networks: their posteriors as targets, and what their draws predict."""

import numpy as np

from engine.networks import predictive
from engine.networks.mlp import MapEstimate, Network, network
from engine.networks.sweep import NetworkRecording, NetworkRun, SweepSpec, sample_network, start_network

__all__ = [
    "MapEstimate",
    "Network",
    "NetworkRecording",
    "NetworkRun",
    "SweepSpec",
    "network",
    "predictive",
    "sample_network",
    "start_network",
    "warm",
]


def warm() -> None:
    """Run every network kernel once, so that the cache holds it."""
    small = network(2, 2, width=1)
    draws, x = small.prior_draws(1, seed=0), np.zeros((1, 2))
    small.posterior(x, [0]).log_density_and_gradient(draws[0])
    predictive.decompose(small, draws, x)
    predictive.probabilities(small, draws, x)
