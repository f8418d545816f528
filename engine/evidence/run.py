"""Evidence of targets and of network architectures, estimated by independent populations in threads."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from engine import slices, ticket, turns
from engine.diagnostics import Z_LIMIT
from engine.evidence.annealing import VARIANTS, Array, Path, Population, Reference
from engine.evidence.pilot import explore
from engine.evidence.probabilities import ModelProbabilities, group_probabilities, model_probabilities
from engine.evidence.spec import EvidenceSpec
from engine.kept import lazy
from engine.networks.mlp import Network
from engine.samplers.chain import per_coordinate
from engine.spec import SpecError
from engine.targets.target import Target

CORES = turns.machine.cores
ROUNDS = 8  # pieces for each of the processes elsewhere, some of which end sooner than others


@dataclass(frozen=True, eq=False)
class Evidence:
    """The estimated log of the integral of exp(log density).

    log_evidence : log of the mean of the islands' estimates, each of which is unbiased before the log is taken
    error : its standard error: the jackknife's over the islands, with islands - 1 degrees of freedom, large where one
        of them decides; or `drift`, where that is larger and no chance. Neither knows of what no island has come near
    drift : what the estimate has gained over that of islands with every second level only, both read off the mean and
        spread of the logs. Particles that move too little miss what is hard to find: an estimate that still rises with
        the levels has not arrived
    islands : (R,), log of every island's estimate
    coarse : (R // 2,), of those with every second level
    beta : (T + 1,), temperatures from the reference (0) to the target (1)
    accept : (R, T), mean acceptance probability at every level
    gradient_evaluations : calls of the target, at most, the pilot's included
    seconds : of computing, over all threads
    """

    log_evidence: float
    error: float
    drift: float
    islands: Array
    coarse: Array
    beta: Array
    accept: Array
    gradient_evaluations: int
    seconds: float


@dataclass(frozen=True, eq=False)
class ArchitectureEvidence:
    """Evidence of several architectures, K of them; NaN where it is not finished.

    width, depth : (K,) int64
    log_evidence, error : (K,), log p(y | architecture) and its standard error
    evidence : (K,), what is known of each, None where it is not finished
    """

    width: NDArray[np.int64]
    depth: NDArray[np.int64]
    log_evidence: Array
    error: Array
    evidence: tuple[Evidence | None, ...]

    def probabilities(self, log_prior: ArrayLike | None = None) -> ModelProbabilities:
        """p(architecture | y), see `model_probabilities`. Raises SpecError while any evidence is missing."""
        return model_probabilities(self.log_evidence, self.error, log_prior)

    def group_probabilities(self, groups: ArrayLike, log_prior: ArrayLike | None = None) -> ModelProbabilities:
        """Probabilities of groups of architectures, see `group_probabilities`; groups : (K,). Raises as above."""
        return group_probabilities(groups, self.log_evidence, self.error, log_prior)


class Problem(NamedTuple):
    """A target, the reference its populations start from, and what tells its random numbers from those of others."""

    target: Target
    reference: Reference
    key: tuple[int, ...] = ()


class _Island(NamedTuple):
    log_evidence: float
    accept: Array
    seconds: float


def judged(fine: Array, coarse: Array) -> tuple[float, float, float]:
    """`Evidence.log_evidence`, `error` and `drift` of the logs of islands (R,) and of those with fewer levels (C,)."""
    estimate, error = _log_mean(fine)
    with np.errstate(invalid="ignore"):  # islands that weigh nothing: no drift can be told
        s = fine.std(ddof=1)
        ours, its_error = _lognormal(fine.mean(), s, len(fine))
        # Fewer levels scatter more: where these seem to scatter less, it is luck.
        theirs, their_error = _lognormal(coarse.mean(), max(coarse.std(ddof=1), s), len(coarse))
    drift = ours - theirs
    return estimate, max(error, drift) if drift > Z_LIMIT * np.hypot(its_error, their_error) else error, drift


def _lognormal(mean: float, sd: float, count: int) -> tuple[float, float]:
    """Log of the mean of lognormal variables whose logs have this mean and sd, and its standard error: a heavy one
    decides less than in the mean itself.
    """
    return float(mean + 0.5 * sd**2), float(np.sqrt(sd**2 / count + 0.5 * sd**4 / (count - 1)))


def _log_mean(logs: Array) -> tuple[float, float]:
    """Log of the mean of exp(logs) (R,), and its jackknife standard error."""
    top = logs.max()
    if top == -np.inf:
        return -np.inf, np.inf
    values = np.exp(logs - top)
    without = np.maximum(values.sum() - values, 1e-300) / (len(logs) - 1)
    return float(top + np.log(values.mean())), float(np.sqrt((len(logs) - 1) * np.log(without).var()))


_Shared = tuple[list[Problem], EvidenceSpec]


def _pilot(shared: _Shared, item: tuple[int, np.random.SeedSequence]) -> tuple[Path, float]:
    """The path of a problem, and the seconds that it took to find."""
    begin, (problems, spec), (i, seed) = time.perf_counter(), shared, item
    path = explore(
        problems[i].target,
        problems[i].reference,
        seed,
        particles=spec.particles,
        moves=spec.moves,
        overlap=spec.overlap,
        trajectory=spec.trajectory,
        resample=spec.method == "smc",
    )
    return path, time.perf_counter() - begin


def _island(shared: _Shared, item: tuple[int, Path, np.random.SeedSequence]) -> _Island:
    begin, (problems, spec), (i, path, seed) = time.perf_counter(), shared, item
    target, reference, _ = problems[i]
    population = Population.from_reference(target, reference, spec.particles, seed)
    levels, variant, accept = 0, VARIANTS.index(spec.variant), []
    for n in ticket.pieces(len(path.steps)):
        accept.append(population.advance(target, reference, path, levels, levels + n, variant))
        levels += n
    return _Island(population.log_evidence(), np.concatenate(accept), time.perf_counter() - begin)


class EvidenceRun:
    """The evidence of several problems, computed piece by piece.

    A piece is one pilot or one island; `total` pieces in all. As many problems as there are cores are taken up at a
    time, their pilots first. What comes out for a problem depends neither on the pieces nor on the other problems.
    The islands after the first `spec.islands` take every second level.
    """

    def __init__(self, problems: Sequence[Problem], spec: EvidenceSpec):
        self.problems, self.spec, self.completed = tuple(problems), spec, 0
        self._paths: list[Path | None] = [None] * len(problems)
        self._pilot_seconds = np.zeros(len(problems))
        islands = spec.pieces - 1
        self._islands: list[list[_Island | None]] = [[None] * islands for _ in problems]
        self._seeds = [np.random.SeedSequence([spec.seed, *p.key]).spawn(spec.pieces) for p in problems]
        self._pieces: list[tuple[int, int]] = []  # problem and island, -1 for the pilot
        for first in range(0, len(problems), CORES):
            group = range(first, min(first + CORES, len(problems)))
            self._pieces += [(i, -1) for i in group]
            self._pieces += [(i, island) for i in group for island in range(islands)]

    @property
    def total(self) -> int:
        """Pieces in all."""
        return len(self._pieces)

    @property
    def done(self) -> bool:
        return self.completed == self.total

    @property
    def at_once(self) -> int:
        """Pieces that are well done at the same time, where this computes."""
        return CORES if slices.place() is None else ROUNDS * slices.width()

    def advance(self, n: int) -> int:
        """Do the next n pieces, in threads or elsewhere; fastest in multiples of `at_once`. Returns how many were done.

        Raises TargetError where no path leads to a target.
        """
        pieces = self._pieces[self.completed : self.completed + n]
        shared = self._shared
        pilots = [i for i, island in pieces if island < 0]
        for i, (path, seconds) in zip(pilots, slices.each(_pilot, shared, [(i, self._seeds[i][0]) for i in pilots]), strict=True):
            self._paths[i], self._pilot_seconds[i] = path, seconds
        islands = [piece for piece in pieces if piece[1] >= 0]
        begin = [(i, self._path(i, island), self._seeds[i][island + 1]) for i, island in islands]
        for (i, island), found in zip(islands, slices.each(_island, shared, begin), strict=True):
            self._islands[i][island] = found
        self.completed += len(pieces)
        return len(pieces)

    @lazy
    def _shared(self) -> slices.Shared:
        return slices.Shared(([problem._replace(target=problem.target.bare()) for problem in self.problems], self.spec))

    def _path(self, i: int, island: int) -> Path:
        path = self._paths[i]
        assert path is not None
        return path.every_second() if island >= self.spec.islands else path

    def evidence(self, i: int) -> Evidence | None:
        """Of problem i; None until its last island is done."""
        path, done = self._paths[i], [island for island in self._islands[i] if island is not None]
        if path is None or len(done) < len(self._islands[i]):
            return None
        logs, count = np.array([island.log_evidence for island in done]), self.spec.islands
        fine, coarse = logs[:count], logs[count:]
        estimate, error, drift = judged(fine, coarse)
        return Evidence(
            log_evidence=estimate,
            error=error,
            drift=drift,
            islands=fine,
            coarse=coarse,
            beta=path.beta,
            accept=np.stack([island.accept for island in done[:count]]),
            gradient_evaluations=int(
                self.spec.particles * ((count + 1) * (1 + path.steps.sum()) + len(coarse) * (1 + path.every_second().steps.sum()))
            ),
            seconds=float(self._pilot_seconds[i] + sum(island.seconds for island in done)),
        )

    def finish(self, stop: Callable[[], bool] | None = None, report: Callable[[int, int], None] | None = None) -> None:
        """Run to the end.

        stop : asked between pieces; once it says true, InterruptedError is raised
        report : called with (pieces done, pieces in all)
        """
        while not self.done:
            if stop is not None and stop():
                raise InterruptedError
            self.advance(self.at_once)
            if report is not None:
                report(self.completed, self.total)


class ArchitectureEvidenceRun(EvidenceRun):
    """The evidence of every architecture of a network, with what is finished at any time. Parameters as
    `architecture_evidence`.
    """

    def __init__(self, network: Network, x: ArrayLike, y: ArrayLike, spec: EvidenceSpec, *, scale_by_width: bool = False):
        self.networks = architectures(network)
        problems = [network_problem(each, x, y, scale_by_width=scale_by_width) for each in self.networks]
        super().__init__(problems, spec)

    def result(self) -> ArchitectureEvidence:
        """What is finished so far."""
        found = tuple(self.evidence(i) for i in range(len(self.problems)))
        return ArchitectureEvidence(
            np.array([network.width for network in self.networks]),
            np.array([network.depth for network in self.networks]),
            np.array([each.log_evidence if each else np.nan for each in found]),
            np.array([each.error if each else np.nan for each in found]),
            found,
        )


def log_evidence(
    target: Target,
    spec: EvidenceSpec | None = None,
    *,
    mean: ArrayLike = 0.0,
    sd: ArrayLike = 1.0,
    likelihood: bool = False,
    stop: Callable[[], bool] | None = None,
    report: Callable[[int, int], None] | None = None,
) -> Evidence:
    """Estimate the log of the integral of exp(log density) of a target, with its error.

    target : any target; its posterior `network.posterior(x, y)`, for example, with the prior as reference, gives
        log p(y | x), and so does `network.log_likelihood(x, y)` with `likelihood=True`
    mean, sd : scalar or (dim,), of the normal reference the populations start from. Its tails must not be much lighter
        than the target's, and it must reach all of the target's modes: the prior does
    likelihood : the target is a likelihood, and what is asked for is the integral of reference x exp(log density)
    stop, report : see `EvidenceRun.finish`

    Raises SpecError naming a wrong parameter, TargetError where the reference and the target do not overlap,
    InterruptedError when stopped.
    """
    run = EvidenceRun([Problem(target, normal_reference(target.dim, mean, sd, likelihood=likelihood))], spec or EvidenceSpec())
    run.finish(stop, report)
    evidence = run.evidence(0)
    assert evidence is not None
    return evidence


def architecture_evidence(
    network: Network,
    x: ArrayLike,
    y: ArrayLike,
    spec: EvidenceSpec | None = None,
    *,
    scale_by_width: bool = False,
    stop: Callable[[], bool] | None = None,
    report: Callable[[int, int], None] | None = None,
) -> ArchitectureEvidence:
    """Estimate log p(y | x, architecture) for every width and depth in the ranges of `network`.

    x, y : as `Network.posterior` wants them
    scale_by_width : prior variance prior_sd^2 / width for the weights that lead out of hidden units (Neal)
    stop, report : see `EvidenceRun.finish`; `ArchitectureEvidenceRun` shows what is finished on the way

    Raises SpecError naming a wrong parameter, TargetError when x or y does not fit, InterruptedError when stopped.
    """
    run = ArchitectureEvidenceRun(network, x, y, spec or EvidenceSpec(), scale_by_width=scale_by_width)
    run.finish(stop, report)
    return run.result()


def architectures(network: Network) -> list[Network]:
    """One network for every depth and width in the ranges of `network`, widths running fastest."""
    depths, widths = (_values(value) for value in (network.depth, network.width))
    return [dataclasses.replace(network, width=width, depth=depth) for depth in depths for width in widths]


def network_problem(network: Network, x: ArrayLike, y: ArrayLike, *, scale_by_width: bool = False) -> Problem:
    """The likelihood of one architecture, with its prior as reference; `scale_by_width` as in
    `architecture_evidence`.
    """
    target = network.log_likelihood(x, y)
    width, depth = network.sizes[-2], len(network.sizes) - 2
    sd = np.full(target.dim, network.prior_sd)
    if scale_by_width:
        for weights, _ in network.unpack(sd)[1:]:  # views
            weights /= np.sqrt(width)
    return Problem(target, normal_reference(target.dim, 0.0, sd, likelihood=True), (width, depth))


def normal_reference(dim: int, mean: ArrayLike, sd: ArrayLike, *, likelihood: bool = False) -> Reference:
    """N(mean, sd^2) in every coordinate; `likelihood` as in `log_evidence`. Raises SpecError naming the parameter."""
    centre, spread = per_coordinate("mean", mean, dim), per_coordinate("sd", sd, dim)
    if not np.all(spread > 0):
        raise SpecError("sd", "every entry must be above 0")
    log_constant = -float(np.sum(np.log(np.sqrt(2.0 * np.pi) * spread)))
    return Reference(centre, spread**-2.0, log_constant, 0.0 if likelihood else 1.0)


def _values(value: int | tuple[int, int]) -> range:
    low, high = (value, value) if isinstance(value, int) else value
    return range(low, high + 1)
