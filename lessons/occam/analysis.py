"""From the spec to numbers: the chains over k, the evidence of every k, and its split into fit and price."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from engine import ticket
from engine.diagnostics import ess_mean, jackknife, rhat
from engine.evidence import ArchitectureEvidence, EvidenceSpec, ModelProbabilities
from engine.judge import Check, JumpKernel, Kernel
from engine.judge.shares import shares_looks
from engine.jumps import ArchitectureRecording, ArchitectureRun, start_architecture
from engine.jumps.predict import mean_of
from engine.kept import kept
from engine.networks.predictive import Ensemble, probabilities
from lessons.families.growing.chains import advanced
from lessons.families.growing.evidence import finished_evidence, shared_evidence
from lessons.families.growing.plane import CELLS, plane, quantised
from lessons.occam.spec import OccamSpec

Array = NDArray[np.float64]

CHAINS = 16
JUMPS = 100  # in a sweep: they cost little beside the NUTS move
MAX_DEPTH = 6
FIRST = 16  # sweeps of the picture that does not grow
BEGINNING, GROWS = 2, 4  # sweeps of the first picture of one that grows; each next one has at most so many times as many
STUDIED = 200  # sweeps that questions and diagnostics look at
CHECKED = 600  # sweeps that are judged
EVIDENCE = EvidenceSpec(particles=64, islands=8)  # errors of about 0.1 nats, in seconds
EACH, WARM, KEPT = 2, 80, 120  # chains at every k, their warm-up and their draws, for fit and predictions
FRAMES = 200
TEST_SEED, TEST_CORNER = 2, 50


def begin(spec: OccamSpec, sweeps: int) -> ArchitectureRun:
    """The chains over k at their starts, spread over all k."""
    starts = np.round(np.linspace(1, spec.highest, CHAINS)).astype(int)
    return start_architecture(
        spec.network(),
        *spec.data_set(),
        chains=CHAINS,
        draws=sweeps,
        jumps=JUMPS,
        seed=spec.seed,
        within="nuts",
        step_size=spec.step_size,
        max_depth=MAX_DEPTH,
        start_width=starts.tolist(),
        width_prior=spec.size_prior(),
        scale_by_width=spec.scaled,
    )


@kept
def first_look(spec: OccamSpec) -> ArchitectureRun:
    """As far as the first picture goes. Shared: not to be advanced."""
    run = begin(spec, FIRST)
    run.advance(FIRST)
    return run


def times(spec: OccamSpec, sweeps: int) -> NDArray[np.int64]:
    """The sweeps that are shown of a run that has done `sweeps`: the first ones all, then evenly spread."""
    every = np.arange(min(40, spec.sweeps))
    spread = np.linspace(len(every), spec.sweeps - 1, FRAMES - len(every)).astype(np.int64)
    shown = np.unique(np.concatenate([every, spread]))
    return shown[shown < sweeps]


def running_fit(recording: ArchitectureRecording, highest: int, burn: int, at: NDArray[np.int64]) -> Array:
    """Mean log likelihood of the draws so far at each k, (len(at), highest); NaN where there is none. Sweep t counts
    burn..t, and before the burn-in ends t alone.
    """
    here = recording.width[:, :, None] == np.arange(1, highest + 1)
    count, total = here.sum(axis=0), (here * recording.log_likelihood[:, :, None]).sum(axis=0)
    count[burn:], total[burn:] = np.cumsum(count[burn:], axis=0), np.cumsum(total[burn:], axis=0)
    with np.errstate(invalid="ignore"):
        return np.asarray(np.where(count[at] > 0, total[at] / count[at], np.nan))


def map_of(recording: ArchitectureRecording, burn: int) -> NDArray[np.uint8]:
    """P(class 1) over the plane, averaged over the networks of all k, (CELLS, CELLS); after the burn-in, once it is
    over, thinned to some hundreds of networks.
    """
    sweeps = recording.width.shape[1]
    first = burn if sweeps > burn else sweeps - 1
    groups = recording.by_architecture(slice(first, sweeps, max(1, (sweeps - first) // 25)))
    cells = plane()
    made = [Ensemble(recording.network(*sizes), cells).add(theta) for sizes, theta in groups.items()]
    return quantised(mean_of(made)[:, 1], 1.0).reshape(CELLS, CELLS)


# The long run's first part, and the evidence --------------------------------------------------------------------------


class Study(NamedTuple):
    """The first part of the long run, and the sweeps at its start to leave out."""

    recording: ArchitectureRecording
    burn: int

    @property
    def widths(self) -> NDArray[np.int16]:
        return np.asarray(self.recording.width[:, self.burn :])


def study(spec: OccamSpec, cancel: Any) -> Study:
    """Raises InterruptedError when stopped."""
    with ticket.holding(cancel):
        return _study(spec)


@kept
def _study(spec: OccamSpec) -> Study:
    last = min(spec.sweeps, STUDIED)
    return Study(advanced(begin(spec, last)), min(spec.burn, last // 3))


def evidence(spec: OccamSpec, cancel: Any = None, report: Any = None, number: int = 1) -> ArchitectureEvidence:
    """log p(D | k) of every k by annealing, with its error. Another number: other random numbers."""
    how: Any = EVIDENCE.replace(seed=EVIDENCE.seed + number - 1)
    return shared_evidence(spec.network(), *spec.data_set(), scale_by_width=spec.scaled, spec=how, cancel=cancel, report=report)


def evidence_if_known(spec: OccamSpec) -> ArchitectureEvidence | None:
    """`evidence` where it is there already."""
    return finished_evidence(spec.network(), *spec.data_set(), scale_by_width=spec.scaled, spec=EVIDENCE)


def exact(spec: OccamSpec, found: ArchitectureEvidence) -> ModelProbabilities:
    """p(k | D) from the evidence and the prior on k."""
    return found.probabilities(spec.log_prior())


# Fit and price --------------------------------------------------------------------------------------------------------


class Split(NamedTuple):
    """log p(D | k) = fit − price, for every k (K,).

    fit : posterior mean of the log likelihood, and fit_error, its Monte Carlo standard error
    price : Kullback-Leibler divergence from prior to posterior of the weights, in nats, and its standard error
    rhat : of the log likelihood, two chains at each k
    score : mean log probability that the average network of that k gives to a new point's class, nats a point, and
        score_error, its Monte Carlo standard error; NaN without new points
    """

    fit: Array
    fit_error: Array
    price: Array
    price_error: Array
    rhat: Array
    score: Array
    score_error: Array


def split(spec: OccamSpec, cancel: Any) -> Split:
    """From chains that stay at their k, and the evidence by annealing. The prior on k plays no part.

    log p(D | k) = E log p(D | θ, k) − E log [p(θ | D, k) / p(θ | k)], means over the posterior of the weights θ.
    """
    plain = spec.replace(prior="uniform", sweeps=600, burn=0)
    with ticket.holding(cancel):
        recording = _stay(plain)
    found = evidence(spec, cancel)
    values = recording.log_likelihood.reshape(spec.highest, EACH, KEPT)
    fit = values.mean(axis=(1, 2))
    error = np.array([error_of(v) for v in values])
    price = fit - found.log_evidence
    return Split(fit, error, price, np.hypot(error, found.error), np.array([rhat(v) for v in values]), *scores(spec, recording))


@kept
def _stay(spec: OccamSpec) -> ArchitectureRecording:
    return advanced(fixed(spec))


def fixed(spec: OccamSpec) -> ArchitectureRun:
    """`EACH` chains at every k that never jump."""
    return start_architecture(
        spec.network(),
        *spec.data_set(),
        chains=EACH * spec.highest,
        draws=KEPT,
        warmup=WARM,
        jumps=0,
        seed=spec.seed,
        within="nuts",
        max_depth=7,
        start_width=np.repeat(np.arange(1, spec.highest + 1), EACH).tolist(),
        start="best",
        scale_by_width=spec.scaled,
    )


def error_of(values: Array) -> float:
    """Standard error of the mean of two chains (2, draws). Chains that disagree have found different modes: half their
    difference is error, too.
    """
    return float(max(values.std() / np.sqrt(ess_mean(values)), abs(np.diff(values.mean(axis=1))[0]) / 2))


THIN = 3  # every so many draws predict


def scores(spec: OccamSpec, recording: ArchitectureRecording) -> tuple[Array, Array]:
    """Mean log predictive probability of the classes of new points at each k (K,), and its standard error; by chains
    that stay at their k, after a warm-up.
    """
    result, error = np.full((2, spec.highest), np.nan)
    if spec.data == "points":
        return result, error
    x, y = spec.replace(corner=TEST_CORNER).data_set(TEST_SEED)
    for (width, depth), theta in recording.by_architecture().items():
        p = probabilities(recording.network(width, depth), theta[::THIN], x)[:, np.arange(len(y)), y]
        mean = p.mean(axis=0)
        result[width - 1] = np.log(mean).mean()
        error[width - 1] = error_of((p / mean).mean(axis=1).reshape(EACH, -1))  # what each draw adds to the score
    return result, error


class Predicted(NamedTuple):
    """Probabilities given to the true classes of new points, added up over a chain's draws after the burn-in: of every
    k together (chains, points), and of one k; and the draws added up, (chains,).
    """

    total: Array
    counted: Array
    alone: Array
    count_alone: Array


def predicted(spec: OccamSpec, runs: Study, k: int = 0) -> Predicted:
    """By the jumping chains, thinned; `k` is the size that is looked at alone."""
    x, y = spec.replace(corner=TEST_CORNER).data_set(TEST_SEED)
    widths, draws = runs.recording.width[:, runs.burn :: 4], runs.recording.draws[:, runs.burn :: 4]
    made = Predicted(*(np.zeros((CHAINS, len(y)) if i % 2 == 0 else CHAINS) for i in range(4)))
    for size in np.unique(widths):
        network = runs.recording.network(int(size), 1)
        chain, draw = np.nonzero(widths == size)
        p = probabilities(network, draws[chain, draw, : network.dim], x)[:, np.arange(len(y)), y]
        for sums, counts in ((made.total, made.counted), (made.alone, made.count_alone))[: 2 if size == k else 1]:
            np.add.at(sums, chain, p)
            np.add.at(counts, chain, 1.0)
    return made


def score_of_all(spec: OccamSpec, runs: Study) -> tuple[float, float]:
    """The score of the average over all k, each with its posterior probability, and its standard error: the draws of
    the jumping chains.
    """
    found = predicted(spec, runs)
    return jackknife(lambda c: float(np.log(found.total[c].sum(axis=0) / found.counted[c].sum()).mean()), CHAINS)


def gap_of(spec: OccamSpec, runs: Study, k: int) -> tuple[float, float]:
    """Score of the draws with `k` units, less that of all draws together, nats a point, and its standard error."""
    found = predicted(spec, runs, k)

    def gap(c: NDArray[np.int64]) -> float:
        alone = found.alone[c].sum(axis=0) / found.count_alone[c].sum()
        return float((np.log(alone) - np.log(found.total[c].sum(axis=0) / found.counted[c].sum())).mean())

    return jackknife(gap, CHAINS)


# Checks ---------------------------------------------------------------------------------------------------------------


def kernels(spec: OccamSpec) -> list[Kernel]:
    """The sweep of the chains over k."""
    return [JumpKernel(first_look(spec))]


def checks(spec: OccamSpec, cancel: Any = None) -> list[Check]:
    """The chains of the long run: do they agree, and is p(k | D) that which annealing finds?"""
    sweeps = min(spec.sweeps, CHECKED)

    def chains(seed: int, number: int, work: int) -> ArchitectureRecording:
        run = begin(spec.replace(seed=seed), work * sweeps)
        return advanced(run, cancel).after(min(spec.burn, sweeps // 2))

    return shares_looks(chains, spec.seed, 1, lambda number: exact(spec, evidence(spec, cancel, number=number)), EVIDENCE.islands)
