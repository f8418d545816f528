"""How well a model would predict a datum that it has not seen, from one run: PSIS-LOO and WAIC.

Sources: Vehtari, Gelman, Gabry 2017 (elpd and its errors, eq. 3 to 13); Vehtari, Simpson, Gelman, Yao, Gabry 2024
(Pareto k, and below what k its estimates hold). Smoothing and fit of k are those of ArviZ.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from engine import ticket
from engine.diagnostics import _stats
from engine.spec import SpecError

Array = NDArray[np.float64]

LEAST = 2  # data, and draws, below which there is nothing to leave out


@dataclass(frozen=True)
class LeaveOneOut:
    """Sums over the data, in nats: higher is better.

    elpd, se : expected log predictive density of new data by PSIS-LOO, and its standard error over the data
    parameters : effective number of them, `log predictive density of the data themselves - elpd`
    pareto_k : (n,), of each datum; above `limit` its estimate is not to be trusted
    limit : min(1 - 1 / log10(S), 0.7) for S draws
    waic, waic_se, waic_parameters : the same by WAIC, which gives no warning of its own
    """

    elpd: float
    se: float
    parameters: float
    pareto_k: Array
    limit: float
    waic: float
    waic_se: float
    waic_parameters: float

    @property
    def trusted(self) -> bool:
        """Whether the estimate holds for every datum."""
        return bool(np.all(self.pareto_k <= self.limit))


def leave_one_out(log_likelihood: ArrayLike) -> LeaveOneOut:
    """PSIS-LOO and WAIC of pointwise log likelihoods (chains, draws, n), of each datum at each draw.

    Raises SpecError where there are too few data or draws, or a log likelihood that is not finite.
    """
    values = np.asarray(log_likelihood, dtype=np.float64)
    chains, draws, n = values.shape
    if n < LEAST or chains * draws < LEAST:
        raise SpecError("data", f"{n} data and {chains * draws} draws are too few to leave one out")
    if not np.all(np.isfinite(values)):
        raise SpecError("draws", "give a datum a likelihood of 0 or one that is not a number: the run has fallen to pieces")
    stats, size = _stats(), chains * draws
    columns = [values[:, :, i] for i in range(n)]  # one at a time: a copy of all of them may be hundreds of megabytes
    effective = np.array([stats.ess(np.exp(one - one.max()), method="mean", chain_axis=0, draw_axis=1) for one in ticket.looking(columns)])
    efficiency = float(np.clip(np.nanmean(effective) / size, 1.0 / size, 1.0)) if np.any(np.isfinite(effective)) else 1.0
    each, k, own, penalty = np.empty((4, n))
    for i, one in enumerate(ticket.looking(columns)):
        own[i], penalty[i] = math.log(np.exp(one - one.max()).mean()) + one.max(), one.var(ddof=1)
        if np.ptp(one) == 0.0:  # no draw says anything else: nothing to weigh
            each[i], k[i] = one[0, 0], 0.0
            continue
        try:
            each[i], k[i] = stats.loo(one, chain_axis=0, draw_axis=1, r_eff=efficiency)[:2]
        except ValueError:  # its largest weights are all the same: chains that hardly moved
            lowest = one.min()
            each[i], k[i] = lowest - math.log(np.exp(lowest - one).mean()), math.inf
    widely = own - penalty
    return LeaveOneOut(
        elpd=float(each.sum()),
        se=_error(each),
        parameters=float((own - each).sum()),
        pareto_k=k,
        limit=min(1.0 - 1.0 / math.log10(size), 0.7) if size > 10 else 0.0,
        waic=float(widely.sum()),
        waic_se=_error(widely),
        waic_parameters=float(penalty.sum()),
    )


def _error(each: Array) -> float:
    return float(math.sqrt(len(each) * each.var(ddof=1)))


def normal_log_density(y: ArrayLike, mean: ArrayLike, sd: ArrayLike) -> Array:
    """Log density of values around their means, arrays that fit each other."""
    z = (np.asarray(y) - np.asarray(mean)) / np.asarray(sd)
    return np.asarray(-0.5 * z**2 - np.log(sd) - 0.5 * math.log(2.0 * math.pi))
