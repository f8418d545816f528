"""Simulation-based calibration of a model of one's own: does the whole way, from data to draws, give right ranks?

Unknowns are drawn from the prior, data from the likelihood, and the sampler is run on those data from a start of its
own. The rank of each unknown among the draws must then be uniform (Talts et al. 2018). Unlike `kernel_check` this
also sees chains that have not converged; it needs a whole run a replication. The log density is ranked too: a sampler
that ignores the data passes on the unknowns alone (Modrak et al. 2023).
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from engine import slices
from engine.judge.check import Check, Curve, Verdict
from engine.judge.models import Known, Model, Simulated
from engine.judge.network_models import OfNetwork, joint_model
from engine.networks.mlp import Network
from engine.samplers.run import start
from engine.spec import SpecError
from engine.targets.target import Target

Array = NDArray[np.float64]
Rng = np.random.Generator

PLACES = np.linspace(0.0, 1.0, 101)
BAND = 0.95
LEVEL = 1e-3  # p-value below which the calibration fails
SIMULATED = 2_000  # sets of uniform ranks by which the band is made


@dataclass(frozen=True, eq=False)
class Calibration:
    """What calibration found.

    ranks : (replications, q), of the true value among the draws, 0 to `draws`
    names : (q,), the unknowns, then the log density
    draws : draws of each replication, thinned
    places : (p,); ecdf : (p, q), share of ranks at or below each place, minus the place
    low, high : (p,), the band that holds the whole curve of a right sampler with probability 0.95
    check : the verdict on all of them together
    """

    ranks: NDArray[np.int64]
    names: tuple[str, ...]
    draws: int
    places: Array
    ecdf: Array
    low: Array
    high: Array
    check: Check


def calibrate(
    method: str,
    model: Model | Target | Network,
    *,
    prior: Callable[[int, Rng], Array] | None = None,
    simulate: Callable[[Array, Rng], ArrayLike] | None = None,
    x: ArrayLike | None = None,
    replications: int = 500,
    draws: int = 63,
    thin: int = 5,
    warmup: int = 200,
    seed: int = 0,
    **settings: Any,
) -> Calibration:
    """Simulation-based calibration of `method` on a model.

    model : a target from `engine.target` whose `data` are replaced by simulated ones, with `prior(n, rng) -> (n, dim)`
        and `simulate(theta, rng) -> data` of the same length; or an `engine.network` with inputs `x`; or anything with
        the methods of `engine.judge.models.Model`
    replications, draws : how many data sets, and ranks go from 0 to `draws`; every `thin`-th draw counts
    warmup : transitions before them; settings : of the method, as in `engine.sample`

    Raises SpecError naming what is missing.
    """
    joint = _model(model, prior, simulate, x)
    drawn, *streams = np.random.SeedSequence(seed).spawn(replications + 1)
    theta, data = joint.draw(replications, np.random.Generator(np.random.SFC64(drawn)))

    run = {"method": method, "draws": draws * thin, "warmup": warmup, **settings}
    ranks = np.stack(slices.each(_rank, (joint, thin, run), list(zip(theta, data, streams, strict=True))))
    labels = joint.target(data[0]).labels
    return judged(ranks, (*labels, "the log density"), draws)


def _rank(shared: tuple[Model, int, dict[str, Any]], item: tuple[Array, Any, np.random.SeedSequence]) -> NDArray[np.int64]:
    """Ranks (q,) of the true unknowns among draws given data that were simulated with them."""
    (joint, thin, settings), (theta, data, stream) = shared, item
    target, seed = joint.target(data), int(stream.generate_state(1)[0])
    run = start(target, chains=1, seed=seed, **settings)
    run.advance(run.total)
    kept = run.recording().draws[0, thin - 1 :: thin]
    logs = target.log_density_many(np.vstack([theta, kept]))
    values = np.column_stack([np.vstack([theta, kept]), logs])
    ties = np.random.Generator(np.random.SFC64(seed)).random(len(values) - 1) < 0.5
    below = (values[1:] < values[0]) | ((values[1:] == values[0]) & ties[:, None])
    return np.asarray(below.sum(axis=0), dtype=np.int64)


def _model(model: Any, prior: Any, simulate: Any, x: ArrayLike | None) -> Model:
    if isinstance(model, Network):
        if x is None:
            raise SpecError("x", "is missing: the inputs (n, inputs) at which the network's data are simulated")
        return OfNetwork(model, np.asarray(x, dtype=np.float64))
    if not isinstance(model, Target):
        return model
    of_network = joint_model(model)
    if of_network is not None and prior is None:
        return of_network
    if prior is None and model.truth is not None and model.truth.draw is not None:
        return Known(model)
    for name, given in (("prior", prior), ("simulate", simulate)):
        if given is None:
            raise SpecError(name, "is missing: calibration draws the unknowns and simulates the data itself")
    return Simulated(model.name, model.labels, prior, simulate, partial(_given, model.bare()))


def _given(target: Target, data: ArrayLike) -> Target:
    numbers = np.asarray(data, dtype=np.float64).ravel()
    if numbers.size != target.data.size:
        raise SpecError("simulate", f"gave {numbers.size} numbers, the target was made for {target.data.size}")
    return dataclasses.replace(target, data=numbers)


def judged(ranks: NDArray[np.int64], names: tuple[str, ...], draws: int) -> Calibration:
    """The calibration of ranks (replications, q) from 0 to `draws`."""
    n, q = ranks.shape
    rng = np.random.Generator(np.random.SFC64(n))
    right = rng.integers(0, draws + 1, (SIMULATED, n))
    curves, expected = _curve(right.T, draws), _below(draws) / (draws + 1)
    sd = np.sqrt(np.maximum(expected * (1.0 - expected), 1e-12) / n)
    largest = np.sort((np.abs(curves - expected[:, None]) / sd[:, None])[1:-1].max(axis=0))
    reach = float(np.quantile(largest, BAND))
    ecdf = _curve(ranks, draws) - expected[:, None]
    off = (np.abs(ecdf) / sd[:, None])[1:-1].max(axis=0)
    worst = int(np.argmax(off))
    p = min(1.0, q * _tail(largest, float(off[worst])))
    verdict: Verdict = "fail" if p < LEVEL else "pass"
    sentence = (
        f"{n:,} data sets simulated from the model, and the true values ranked among {draws} draws each: of {q} "
        f"quantities {names[worst]} is the least uniform (p = {p:.2g})."
    )
    figure = Curve(
        f"Ranks of {names[worst]}: share below, less what it must be",
        "rank, as a share",
        "difference",
        PLACES,
        ecdf[:, worst],
        -reach * sd,
        reach * sd,
    )
    limit = float(np.quantile(largest, 1.0 - LEVEL))
    check = Check("calibration", verdict, float(off[worst]), limit, sentence, "SE", kind="kernel", p=p, figure=figure)
    return Calibration(ranks, names, draws, PLACES, ecdf, -reach * sd, reach * sd, check)


def _tail(largest: Array, off: float) -> float:
    """Probability of a curve further off; beyond what was simulated, the normal bound."""
    count = len(largest) - int(np.searchsorted(largest, off))
    return (count + 1) / (len(largest) + 1) if count > 5 else min(0.003, len(PLACES) * math.erfc(off / math.sqrt(2.0)))


def _curve(ranks: NDArray[np.int64], draws: int) -> Array:
    """Share of ranks (n, q) below each of PLACES, as shares of the draws + 1 ranks that there are: (p, q)."""
    n, q = ranks.shape
    counts = np.bincount((ranks + (draws + 1) * np.arange(q)).ravel(), minlength=(draws + 1) * q).reshape(q, -1)
    below = np.concatenate([np.zeros((1, q)), np.cumsum(counts, axis=1).T / n])
    return np.asarray(below[_below(draws)])


def _below(draws: int) -> NDArray[np.int64]:
    """How many of the draws + 1 ranks lie below each of PLACES, (p,)."""
    return np.floor(PLACES * (draws + 1) + 0.5).astype(np.int64).clip(0, draws + 1)
