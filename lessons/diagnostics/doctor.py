"""The doctor: what the signs in a run point to. It sees the draws and what the sampler reports, never the truth."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from engine import diagnostics
from engine.kept import kept
from lessons.diagnostics import analysis
from lessons.diagnostics.patients import ILLNESSES
from lessons.diagnostics.spec import WORDS, DiagnosticsLesson

MAX_RHAT = 1.01
MIN_ESS = 400.0  # 100 a chain
MIN_EBFMI = 0.3
MIN_ACCEPTED = 0.05
FAR = 5.0  # sd of the later draws between where a chain began and where it ended up
SETTLED = 1.1  # R-hat below which the later draws alone pass for chains that agree
CONTENT = 1.05  # R-hat below which a chain's own halves agree
NARROW = 0.95  # correlation beyond which a ridge is called narrow
EARLY = 0.02  # of the draws: the beginning


@dataclass(frozen=True)
class Signs:
    """What can be seen in the kept draws; the worst of all coordinates.

    rhat, ess : R-hat, and the lesser of bulk and tail ESS
    later_rhat : R-hat of the second half of each chain
    inside_rhat : R-hat of the halves of each chain alone, the median over chains
    away : distance of a chain's first 2 % of draws from the middle of the later half, in its sd
    accepted : share of transitions that changed the state
    divergent : divergent transitions
    ebfmi : least E-BFMI of any chain; NaN for a sampler without energy
    correlation : largest between two coordinates
    """

    rhat: float
    ess: float
    later_rhat: float
    inside_rhat: float
    away: float
    accepted: float
    divergent: int
    ebfmi: float
    correlation: float


@kept
def examine(spec: DiagnosticsLesson) -> Signs:
    """The signs of the run of `spec`, burn-in and thinning as they are set."""
    run = analysis.simulate(spec)
    energy = run.energy
    draws = analysis.counted(spec, run.draws)
    later = draws[:, draws.shape[1] // 2 :]
    summary = diagnostics.summarise(draws)
    beginning = draws[:, : max(1, int(EARLY * draws.shape[1]))].mean(axis=1)
    with np.errstate(all="ignore"):
        away = np.abs(beginning - later.mean(axis=(0, 1))) / later.std(axis=(0, 1))
        flat = draws.reshape(-1, draws.shape[2])
        correlation = np.abs(np.corrcoef(flat.T) - np.eye(flat.shape[1])).max()
    moved = np.any(np.diff(run.draws, axis=1) != 0.0, axis=2)
    inside = [np.nanmax(diagnostics.summarise(chain[None]).rhat, initial=1.0) for chain in draws]
    return Signs(
        rhat=_worst(summary.rhat, np.inf),
        ess=-_worst(-np.concatenate([summary.ess_bulk, summary.ess_tail]), 0.0),
        later_rhat=_worst(diagnostics.summarise(later).rhat, np.inf),
        inside_rhat=float(np.median(inside)),
        away=float(np.nanmax(away, initial=0.0)),
        accepted=float(moved.mean()),
        divergent=int(analysis.counted(spec, run.divergent).sum()),
        ebfmi=float("nan") if energy is None else float(diagnostics.ebfmi(analysis.counted(spec, energy)).min()),
        correlation=float(correlation),
    )


def _worst(values: np.ndarray, otherwise: float) -> float:
    """The largest value, or `otherwise` where one cannot be had (a chain that never moved)."""
    return float(values.max()) if np.all(np.isfinite(values)) else otherwise


def diagnose(spec: DiagnosticsLesson) -> tuple[str, str]:
    """A key of `ILLNESSES`, and the signs that led to it as a sentence.

    The rules are asked in this order; the first that holds decides.
    """
    signs = examine(spec)
    if signs.accepted < MIN_ACCEPTED:
        return "large", WORDS.phrase("signs.large", accepted=signs.accepted)
    if signs.away > FAR and signs.later_rhat < SETTLED:
        return "burn", WORDS.phrase("signs.burn", away=signs.away, rhat=signs.rhat, later_rhat=signs.later_rhat)
    if signs.divergent or signs.ebfmi < MIN_EBFMI:
        return "neck", WORDS.phrase("signs.neck", divergent=signs.divergent, ebfmi=signs.ebfmi, least_ebfmi=MIN_EBFMI)
    if signs.rhat <= MAX_RHAT and signs.ess >= MIN_ESS:
        return "none", WORDS.phrase("signs.none", rhat=signs.rhat, ess=signs.ess)
    if signs.rhat > SETTLED and signs.inside_rhat < CONTENT:
        return "modes", WORDS.phrase("signs.modes", rhat=signs.rhat, inside_rhat=signs.inside_rhat)
    if signs.correlation > NARROW:
        return "ridge", WORDS.phrase("signs.ridge", accepted=signs.accepted, ess=signs.ess, correlation=signs.correlation)
    return "small", WORDS.phrase("signs.small", accepted=signs.accepted, ess=signs.ess)


def index(spec: DiagnosticsLesson) -> int:
    """The diagnosis as a place in `ILLNESSES`."""
    return list(ILLNESSES).index(diagnose(spec)[0])
