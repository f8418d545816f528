"""Checks of the sweep over a network and its prior: one Gibbs draw against its density, and the prior recovered."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from engine.judge import Z_LIMIT, Check, Verdict, mean_check, worst
from engine.networks.mlp import Network
from engine.networks.scales import VARIANTS, draw_precisions
from engine.networks.sweep import NetworkRecording, NetworkRun, SweepSpec

Array = NDArray[np.float64]


def conditional_check(
    recording: NetworkRecording, *, chain: int = 0, draw: int = -1, repeats: int = 4000, seed: int = 0
) -> Check:
    """Draw the precisions given one draw's weights `repeats` times, as the run does, and hold them against their gamma
    distributions: through its distribution function every draw becomes uniform, with mean 1/2 and variance 1/12. The
    statistic is the chi-square of all these errors, as a normal deviate.
    """
    name, spec, groups = "conditional", recording.spec, recording.groups
    if spec.weights in ("fixed", "own_mean"):
        reason = f"with {spec.weights} weights no precision is drawn from a gamma distribution."
        return Check(name, "unknown", math.nan, Z_LIMIT, f"Nothing to judge: {reason}", "SE")
    from scipy.stats import gamma

    theta = np.ascontiguousarray(recording.draws[chain, draw])
    rng, drawn = np.random.Generator(np.random.SFC64(seed)), np.empty((repeats, len(groups.names)))
    for row in drawn:
        draw_precisions(
            rng, theta, groups.group, groups.factor, spec.weight_shape, spec.weight_rate,
            VARIANTS.index(spec.variant), row,
        )  # fmt: skip
    squares = np.bincount(groups.group, groups.factor * theta**2)
    u = gamma.cdf(drawn * (spec.weight_rate + 0.5 * squares), spec.weight_shape + 0.5 * groups.counts)
    errors = np.concatenate(
        [
            (u.mean(axis=0) - 0.5) * math.sqrt(12.0 * repeats),
            (np.mean((u - 0.5) ** 2, axis=0) - 1.0 / 12.0) * math.sqrt(180.0 * repeats),
        ]
    )
    # All errors together, as one normal deviate: Wilson and Hilferty's cube root of chi-square.
    spread = 2.0 / (9.0 * errors.size)
    z = float((np.mean(errors**2) ** (1.0 / 3.0) - 1.0 + spread) / math.sqrt(spread))
    verdict: Verdict = "pass" if z < Z_LIMIT else "fail"
    sentence = (
        f"{repeats:,} draws of each of {len(groups.names)} precisions, given the same weights, against their gamma "
        f"distributions: mean and variance are off by {np.abs(errors).max():.1f} standard errors at most, "
        f"all together by {max(z, 0.0):.1f}."
    )
    return Check(name, verdict, z, Z_LIMIT, sentence, "SE")


def prior_recovery(network: Network, spec: SweepSpec, *, draws: int = 3000, seed: int = 0) -> list[Check]:
    """Run the sweep of these settings without data: do precisions and weights come back as their prior has them?

    One check for the weights and one for what the prior has unknown, each of quantiles under the exact marginal prior,
    which are uniform. It cannot see mistakes in the likelihood or in the noise.
    """
    from scipy import stats

    changed = spec.replace(
        chains=4, draws=draws, warmup=300, seed=seed, noise="fixed", tuning="adapt", max_depth=10, start="prior"
    )
    assert isinstance(changed, SweepSpec)
    targets = (0, network.outputs) if network.likelihood == "gaussian" else 0
    run = NetworkRun(network, np.zeros((0, network.inputs)), np.zeros(targets), changed)
    run.advance(run.total)
    found, groups = run.recording(), run.groups
    sizes = np.abs(found.draws)
    if spec.weights == "fixed":
        prior_sd = network.prior_sd / np.sqrt(groups.factor)
        return [_uniform("weights", "weights", 2.0 * stats.norm.cdf(sizes / prior_sd) - 1.0)]
    if spec.weights == "own_mean":
        means = 2.0 * stats.cauchy.cdf(np.abs(found.means)) - 1.0
        scales = 2.0 * stats.norm.cdf(1.0 / np.sqrt(found.precisions)) - 1.0
        return [worst([_uniform("scales", "means", means), _uniform("scales", "scales", scales)])]
    a, b = spec.weight_shape, spec.weight_rate
    student = 2.0 * stats.t.cdf(sizes * np.sqrt(a * groups.factor / b), 2.0 * a) - 1.0
    return [
        _uniform("weights", "weights", student),
        _uniform("precisions", "precisions", stats.gamma.cdf(b * found.precisions, a)),
    ]


def _uniform(name: str, what: str, u: Array) -> Check:
    """Quantiles u (chains, draws, n) should have mean 1/2 and mean square 1/3."""
    return worst(
        [
            mean_check(name, f"the mean prior quantile of the {what}", u.mean(axis=2), 0.5),
            mean_check(name, f"the mean squared prior quantile of the {what}", (u**2).mean(axis=2), 1.0 / 3.0),
        ]
    )
