"""The sentences that a methods section needs, made from a run."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from engine.diagnostics import Summary
from engine.judge import MAX_RHAT, MIN_ESS

ARTICLE = "Vehtari et al. 2021"


def sentences(
    sampler: str,
    shape: tuple[int, int],
    summary: Summary,
    *,
    warmup: int | None = None,
    burn: int = 0,
    thin: int = 1,
    divergent: NDArray[np.bool_] | None = None,
    ebfmi: NDArray[np.float64] | None = None,
) -> str:
    """What was run, and what the diagnostics say of it.

    sampler : what drew, as a sentence begins ("NUTS (ε = 0.5)")
    shape : chains, and draws of each that count ; summary : of all quantities
    warmup : transitions before them that were not kept; None: not known ; burn, thin : of the draws kept
    divergent : (chains, draws) ; ebfmi : (chains,)
    """
    chains, draws = shape
    left = {None: "", 0: ", without warm-up"}.get(warmup, f" after {warmup or 0:,} of warm-up")
    left += f", of which the first {burn:,} were discarded" if burn else ""
    left += f" and every {thin}th was kept" if thin > 1 else ""
    several = "chains" if chains > 1 else "chain"
    told = [f"{sampler} was run with {chains} {several}{left}; inference is based on {chains * draws:,} draws ({draws:,} from each chain)."]
    finite = np.isfinite(summary.rhat)
    left_out = int((~finite).sum())
    if finite.any():
        of = "the" if finite.sum() == 1 else f"all {int(finite.sum())}"
        quantity = "quantity" if finite.sum() == 1 else "quantities"
        told.append(
            f"For {of} {quantity} rank-normalised split R-hat was at most {np.nanmax(summary.rhat):.3f}, bulk ESS at least "
            f"{np.nanmin(summary.ess_bulk):,.0f} and tail ESS at least {np.nanmin(summary.ess_tail):,.0f} ({ARTICLE})."
        )
        if not (np.nanmax(summary.rhat) <= MAX_RHAT and min(np.nanmin(summary.ess_bulk), np.nanmin(summary.ess_tail)) >= MIN_ESS):
            told.append(f"This misses the usual limits (R-hat at most {MAX_RHAT}, ESS at least {MIN_ESS:.0f}): the run has not converged.")
        share = summary.mcse_mean[finite] / summary.sd[finite]
        told.append(
            f"The Monte Carlo standard error of each mean was at most {100 * np.nanmax(share):.2g} % of the posterior standard deviation."
        )
    if left_out:
        told.append(f"{left_out} further quantit{'y was' if left_out == 1 else 'ies were'} not judged: constant, or not finite.")
    if divergent is not None:
        count = int(divergent.sum())
        told.append(f"{'No' if count == 0 else f'{count:,}'} transition{'s' * (count != 1)} diverged after warm-up.")
    if ebfmi is not None and np.isfinite(ebfmi).any():
        told.append(f"E-BFMI was at least {np.nanmin(ebfmi):.2f} in every chain.")
    return " ".join(told)
