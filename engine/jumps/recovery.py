"""Prior recovery: with the likelihood switched off, a right chain returns the prior of sizes and weights."""

from __future__ import annotations

from typing import Any

import numpy as np

from engine.judge import Check, mean_check, worst
from engine.jumps.run import sample_architecture
from engine.jumps.settings import BRIDGED, JumpSettings, log_size_prior, size_range
from engine.networks import Network

CHAINS = 2


def prior_recovery(
    network: Network, jump: str = "plain", *, draws: int = 3000, seed: int = 0, **settings: Any
) -> list[Check]:
    """Run the chain of these settings without data: are sizes and weights those of the prior, within 4 MCSE?

    settings : those of `engine.sample_architecture` that decide what the jumps do (variant, priors, scale_by_width,
        weight_precision); the moves within a model are HMC, which is exact on the prior

    One check for the widths and one for the depths, where they vary, and one for the weights (their mean, and their
    mean square over the prior's; not where the precisions are sampled). It cannot see mistakes in the likelihood.
    """
    chosen = JumpSettings(jump=jump, **settings)
    # A jump between two NUTS runs costs as much as a hundred bare ones, and wrong schemes are seen with few. An odd
    # number: a wrong scheme that accepts every jump would stay at even or at odd sizes from sweep to sweep.
    jumps = 3 if chosen.surrounded else 5 if jump in BRIDGED else 51
    recording = sample_architecture(
        network,
        np.zeros((0, network.inputs)),
        np.zeros((0, network.outputs) if network.likelihood == "gaussian" else 0),
        jump,
        **{
            **settings,
            "chains": CHAINS,
            "draws": draws,
            "warmup": 100,
            "jumps": jumps,
            "seed": seed,
            "within": "hmc",
            "step_size": 0.2 * network.prior_sd,
            "steps": 8,
            "detail": "draws",
        },
    )
    checks = []
    for name, seen, prior in (
        ("width", recording.width, chosen.width_prior),
        ("depth", recording.depth, chosen.depth_prior),
    ):
        low, high = size_range(name, getattr(network, name))
        if low < high:
            shares = np.exp(log_size_prior(f"{name}_prior", prior, low, high))
            checks.append(
                worst(
                    [
                        mean_check(f"{name} prior", f"the share of {name} {size}", (seen == size).astype(float), share)
                        for size, share in zip(range(low, high + 1), shares, strict=True)
                    ]
                )
            )
    if chosen.weight_precision is None:
        scaled = np.full_like(recording.draws, np.nan)
        for width, depth in recording.by_architecture():
            here = (recording.width == width) & (recording.depth == depth)
            sd = np.full(recording.network(width, depth).dim, network.prior_sd)
            if chosen.scale_by_width:
                first = recording.network(width, 1).layer_shapes[0]
                at = sum(first)
                for weights, biases in recording.network(width, depth).layer_shapes[1:]:
                    sd[at : at + weights] /= np.sqrt(width)
                    at += weights + biases
            scaled[here, : len(sd)] = recording.draws[here, : len(sd)] / sd
        checks.append(
            worst(
                [
                    mean_check("weight prior", "the mean of the weights", np.nanmean(scaled, axis=2), 0.0),
                    mean_check(
                        "weight prior", "their mean square over the prior's", np.nanmean(scaled**2, axis=2), 1.0
                    ),
                ]
            )
        )
    return checks
