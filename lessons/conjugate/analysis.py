"""What the lesson computes: beliefs as data arrive, mistakes made on purpose, the Metropolis chain, checks."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

import engine
from engine import conjugate, diagnostics
from engine.conjugate import AlphaBeta, Belief, BetaBernoulli, DirichletCategorical, GammaExponential, NormalGamma, NormalMean
from engine.judge import Check, Kind, Verdict, chains_checks, dispersed_starts
from engine.kept import kept, lazy
from engine.predicted import Predicted
from engine.recording import Recording
from engine.targets.target import Target
from lessons.conjugate.spec import WORDS, ConjugateLesson

Array = NDArray[np.float64]

MASS = 0.95  # that the intervals on this page hold


@dataclass(frozen=True, eq=False)
class Course:
    """The beliefs of a spec before any data and after each observation: lists of n + 1.

    shown : with the mistake, if one is made; exact : without
    log_evidence : of the observations so far, under the prior: the sum of the log predictive of each when it came
    rival_log_evidence : the same under the rival prior
    best : maximum likelihood estimate of the unknown shown; NaN where there is none
    """

    spec: ConjugateLesson
    x: Array
    exact: tuple[Belief, ...]
    shown: tuple[Belief, ...]
    rival: tuple[Belief, ...]
    log_evidence: Array
    rival_log_evidence: Array
    best: Array

    @property
    def prior(self) -> Belief:
        return self.exact[0]

    @property
    def steps(self) -> int:
        return len(self.x) + 1

    @property
    def wrong(self) -> bool:
        """Does the mistake change anything?"""
        return self.shown[-1] != self.exact[-1]

    @lazy
    def n(self) -> Array:
        """(steps,) observations seen."""
        return np.arange(self.steps, dtype=float)

    @lazy
    def total(self) -> Array:
        """(steps,) their sum."""
        return np.concatenate([[0.0], np.cumsum(self.x)])

    @lazy
    def fair(self) -> tuple[Array, Array]:
        """Of a fair coin after each flip, (steps,) both: the two-sided exact p-value, and the Bayes factor of r = ½ against
        the prior.
        """
        from scipy.special import betainc

        heads = np.concatenate([[0.0], np.cumsum(self.x)]).astype(int)
        n = self.n.astype(int)
        # the probability of all counts that are no likelier than this one; of a fair coin these are both tails, and one of
        # them is P(at most k heads of n) = I_½(n − k, k + 1)
        fewer = np.minimum(heads, n - heads)
        p = np.where(2 * fewer == n, 1.0, 2.0 * betainc(n - fewer, fewer + 1, 0.5))
        return np.asarray(p), np.exp(np.clip(-n * np.log(2.0) - self.log_evidence, -80.0, 80.0))

    def grid_point(self) -> float:
        """Where the card evaluates the posterior density: the observed share, away from the ends."""
        return float(np.clip(round(float(self.x.mean()), 2), 0.05, 0.95))


def _running(beliefs: Sequence[Belief], x: Array) -> Array:
    each = [float(belief.log_predictive(x[k : k + 1])[0]) for k, belief in enumerate(beliefs[:-1])]
    return np.concatenate([[0.0], np.cumsum(each)])


@kept
def course(spec: ConjugateLesson) -> Course:
    """The beliefs of `spec` as its data arrive one by one: the same for all seeds."""
    return dataclasses.replace(_course(spec.replace(seed=spec.default("seed"))), spec=spec)


@kept
def _course(spec: ConjugateLesson) -> Course:
    x = spec.observations()
    exact, rival = [spec.prior()], [spec.rival()]
    for k in range(len(x)):
        exact.append(exact[-1].update(x[k : k + 1]))
        rival.append(rival[-1].update(x[k : k + 1]))
    shown = exact
    if spec.mistake != "none":
        shown = [mistaken(exact[0], x[:k], spec.mistake) for k in range(len(x) + 1)]
    best = np.array([most_likely(spec, x[:k]) for k in range(len(x) + 1)])
    return Course(spec, x, tuple(exact), tuple(shown), tuple(rival), _running(exact, x), _running(rival, x), best)


def mistaken(prior: Belief, x: Array, mistake: str) -> Belief:
    """The update with a classic mistake; the right one where the mistake is none, or cannot be made with this pair.

    twice : the posterior taken as the prior for the same data again. scale : the posterior's rate taken for a scale.
    miscount : the number of observations taken wrongly (as 1, or for shares added whole to the last kind).
    """
    after = prior.update(x)
    if not x.size:
        return after
    if mistake == "twice":
        return after.update(x)
    if mistake == "scale" and isinstance(after, (AlphaBeta, NormalGamma)) and not isinstance(after, BetaBernoulli):
        return dataclasses.replace(after, beta=1.0 / after.beta)
    if mistake == "miscount":
        return _miscounted(prior, after, x)
    return after


def _miscounted(prior: Belief, after: Belief, x: Array) -> Belief:
    n = x.size
    if isinstance(after, BetaBernoulli) and isinstance(prior, BetaBernoulli):
        return dataclasses.replace(after, beta=prior.beta + n)
    if isinstance(after, DirichletCategorical) and isinstance(prior, DirichletCategorical):
        return dataclasses.replace(after, a=(*after.a[:-1], prior.a[-1] + n))
    if isinstance(after, NormalMean):
        return prior.update([float(x.mean())])
    if isinstance(after, NormalGamma) and isinstance(prior, NormalGamma):
        return dataclasses.replace(after, kappa=prior.kappa + 1.0, alpha=prior.alpha + 0.5)
    if isinstance(after, GammaExponential) and isinstance(prior, GammaExponential):
        return dataclasses.replace(after, alpha=prior.alpha + 1.0)
    if isinstance(after, conjugate.GammaNormal) and isinstance(prior, conjugate.GammaNormal):
        return dataclasses.replace(after, alpha=prior.alpha + 0.5)
    assert isinstance(after, conjugate.GammaPoisson) and isinstance(prior, conjugate.GammaPoisson)
    return dataclasses.replace(after, beta=prior.beta + 1.0)


def most_likely(spec: ConjugateLesson, x: Array) -> float:
    """Maximum likelihood estimate of the unknown shown, NaN where there is none."""
    if not x.size:
        return math.nan
    if spec.pair == "categorical":
        return float(np.mean(x == spec.shown() + 1))
    if spec.pair == "exponential":
        return float(1.0 / x.mean()) if x.sum() > 0.0 else math.nan
    if spec.pair == "precision" or (spec.pair == "both" and spec.shown() == 1):
        around = spec.centre if spec.pair == "precision" else float(x.mean())
        variance = float(((x - around) ** 2).mean())
        return 1.0 / variance if variance > 1e-12 else math.nan
    return float(x.mean())


def simulated(spec: ConjugateLesson) -> float | None:
    """The unknown shown as the draw buttons have it."""
    if spec.pair == "bernoulli":
        return spec.p_true
    if spec.pair in ("poisson", "exponential"):
        return spec.rate_true
    if spec.pair == "categorical":
        return SHARES[spec.shown()]
    if spec.pair == "precision" or spec.shown() == 1:
        return spec.sd_true**-2
    return spec.mean_true


def marked(spec: ConjugateLesson) -> float | None:
    """That value where the reader wants it marked."""
    return simulated(spec) if spec.truth == "on" else None


SHARES = (0.5, 0.3, 0.2)  # of the three kinds, for the draw buttons


# The random walk ------------------------------------------------------------------------------------------------------

CHAINS = 4


@kept
def walk(spec: ConjugateLesson) -> Recording:
    """Four random-walk Metropolis chains on prior times likelihood, from the prior's middle."""
    prior, x = spec.prior(), spec.observations()
    start = prior.mean() if np.all(np.isfinite(prior.mean())) else np.array([prior.quantile(0, 0.5), prior.mean()[1]])
    return engine.sample(
        target_of(spec),
        "metropolis",
        chains=CHAINS,
        draws=spec.draws,
        warmup=0,
        seed=spec.seed,
        init=np.tile(start, (CHAINS, 1)),
        scale=spec.step * smallest_sd(prior.update(x)),
    )


def predicted(spec: ConjugateLesson) -> Predicted | None:
    """What the walk says of each observation; None before there is one, and where the walk is not shown."""
    prior, x = spec.prior(), spec.observations()
    if spec.play != "walk" or not len(x):
        return None
    draws = walk(spec).draws
    rows = draws.reshape(-1, draws.shape[2])
    rng = np.random.Generator(np.random.SFC64([spec.seed, len(x)]))
    shape = (*draws.shape[:2], len(x))
    drawn = np.stack([prior.observe(rng, rows) for _ in x], axis=1)
    return Predicted(x, prior.log_likelihoods(rows, x).reshape(shape), drawn.reshape(shape))


def target_of(spec: ConjugateLesson) -> Target:
    """The posterior as a target, with what the page shows as its truth."""
    prior, x = spec.prior(), spec.observations()
    return conjugate.posterior(prior, x, truth=mistaken(prior, x, spec.mistake))


def smallest_sd(belief: Belief) -> float:
    """The least standard deviation of any unknown; of infinite ones a quarter of the middle 95 %."""
    sds = np.sqrt(np.diag(belief.covariance()))
    widths = [np.ptp(belief.interval(i, MASS)) / 4.0 for i in range(belief.dim)]
    return float(min(np.where(np.isfinite(sds), sds, widths)))


# Conflict of prior and data -------------------------------------------------------------------------------------------

REPEATS = 4000


def statistic(spec: ConjugateLesson, x: Array) -> Array:
    """What a row of observations (…, n) is judged by: the share of heads or of a kind, the mean, or the mean square."""
    if spec.pair == "categorical":
        return (x == spec.shown() + 1).mean(axis=-1)
    if spec.pair == "precision" or (spec.pair == "both" and spec.shown() == 1):
        around = spec.centre if spec.pair == "precision" else x.mean(axis=-1, keepdims=True)
        return ((x - around) ** 2).mean(axis=-1)
    return x.mean(axis=-1)


@dataclass(frozen=True, eq=False)
class Conflict:
    """Data that the prior expects, by their statistic (REPEATS,), against the observed one.

    share : of the imagined data at least as far out as the observed, counted on both sides
    """

    imagined: Array
    observed: float
    share: float


@kept
def conflict(spec: ConjugateLesson) -> Conflict:
    """Rows of data drawn from the prior predictive: an unknown from the prior, then as many observations as there are.

    Source: Box 1980.
    """
    prior, x = spec.prior(), spec.observations()
    rng = np.random.Generator(np.random.SFC64(spec.seed))
    theta = prior.draw(rng, REPEATS)
    rows = np.stack([prior.observe(rng, theta) for _ in range(x.size)], axis=1)
    imagined, observed = statistic(spec, rows), float(statistic(spec, x))
    below, above = float(np.mean(imagined <= observed)), float(np.mean(imagined >= observed))
    return Conflict(imagined, observed, min(1.0, 2.0 * min(below, above)))


# The width of the prior -----------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Width:
    """Estimates of the unknown shown as the prior is taken more or less seriously: arrays over `factor`."""

    factor: Array
    mean: Array
    mode: Array
    low: Array
    high: Array
    prior_low: Array
    prior_high: Array


def widths(spec: ConjugateLesson) -> Width:
    """The posterior for the same prior worth `factor` times as many imagined observations."""
    factors, x, shown = np.geomspace(1e-2, 1e2, 41), spec.observations(), spec.shown()
    rows = []
    for factor in factors:
        prior = weighted(spec.prior(), float(factor))
        after = prior.update(x)
        rows.append([after.mean()[shown], after.mode()[shown], *after.interval(shown, MASS), *prior.interval(shown, MASS)])
    return Width(factors, *np.array(rows).T)


def weighted(prior: Belief, factor: float) -> Belief:
    """The same prior as if `factor` times as many observations had been imagined."""
    if isinstance(prior, DirichletCategorical):
        return dataclasses.replace(prior, a=tuple(factor * a for a in prior.a))
    if isinstance(prior, NormalMean):
        return dataclasses.replace(prior, s=prior.s / math.sqrt(factor))
    if isinstance(prior, NormalGamma):
        return dataclasses.replace(prior, kappa=factor * prior.kappa)
    assert isinstance(prior, AlphaBeta)
    return dataclasses.replace(prior, alpha=factor * prior.alpha, beta=factor * prior.beta)


# Checks ---------------------------------------------------------------------------------------------------------------

AGREE = 1e-6  # relative; quadrature is better than 1e-8
CHECK_DRAWS = 20_000


def audit(spec: ConjugateLesson, cancel: object = None) -> Sequence[Check]:
    """The formulas for the present prior and data, against quadrature and against themselves one by one."""
    here = course(spec)
    quadrature = conjugate.integrate(here.prior, here.x)
    found = [_sequence_check(spec, here), _evidence_check(here, quadrature)]
    return [*found, _predictive_check(here, here.shown[-1], quadrature)]


def checks(spec: ConjugateLesson, cancel: object = None) -> Sequence[Check]:
    """The numbers of the formula against quadrature; longer Metropolis chains against the right formula."""
    here = course(spec)
    found = _posterior_check(here.shown[-1], conjugate.integrate(here.prior, here.x))
    return [found, *chains_checks(lambda seed, work: longer(spec, seed, work), spec.seed)]


def longer(spec: ConjugateLesson, seed: int, work: int) -> Recording:
    """Metropolis chains on the exact posterior, from starts far apart, `work` times as long as a first look needs."""
    here = course(spec)
    right = conjugate.posterior(here.prior, here.x)
    return engine.sample(
        right,
        "metropolis",
        chains=CHAINS,
        draws=work * CHECK_DRAWS,
        warmup=2000,
        seed=seed,
        init=dispersed_starts(right.truth, CHAINS, seed),
        scale=spec.step * smallest_sd(here.exact[-1]),
    )


def _verdict(name: str, error: float, sentence: str, unit: str, *, kind: Kind = "kernel") -> Check:
    verdict: Verdict = "pass" if error < AGREE else "fail"
    return Check(WORDS.phrase(f"checks.{name}"), verdict, error, AGREE, sentence, unit, kind=kind)


def _posterior_check(after: Belief, quadrature: conjugate.Quadrature) -> Check:
    """Shares of the mass below the formula's quantiles, by quadrature."""
    worst, told = 0.0, ""
    for i, name in enumerate(after.unknowns):
        exact_mean, mean = float(quadrature.mean()[i]), float(after.mean()[i])
        spread = math.sqrt(float(quadrature.covariance()[i, i]))
        error = abs(mean - exact_mean) / spread if math.isfinite(mean) and spread > 0.0 else 0.0
        sd = math.sqrt(float(after.covariance()[i, i]))
        if math.isfinite(sd):
            error = max(error, abs(sd - spread) / spread)
        if error >= worst:
            worst = error
            told = WORDS.phrase("checks.formula", unknown=name, mean=mean, sd=sd, exact_mean=exact_mean, exact_sd=spread)
    return _verdict("posterior", worst, told, "sd", kind="numbers")


def _sequence_check(spec: ConjugateLesson, here: Course) -> Check:
    order = np.random.Generator(np.random.SFC64(spec.seed)).permutation(len(here.x))
    belief = here.prior
    for k in order:
        belief = mistaken(belief, here.x[k : k + 1], spec.mistake)
    batch = here.shown[-1]
    pairs = [(np.array(getattr(belief, f.name)), np.array(getattr(batch, f.name))) for f in dataclasses.fields(batch)]
    error = max(float(np.max(np.abs(a - b) / np.maximum(1e-12, np.abs(b) + (b == 0.0)))) for a, b in pairs)
    return _verdict("sequence", error, WORDS.phrase("checks.shuffled", points=len(here.x), error=error), WORDS.phrase("checks.relative"))


def _evidence_check(here: Course, quadrature: conjugate.Quadrature) -> Check:
    closed, summed = here.prior.log_evidence(here.x), float(here.log_evidence[-1])
    error = max(abs(closed - quadrature.log_evidence), abs(closed - summed))
    sentence = WORDS.phrase("checks.three_ways", closed=closed, integrated=quadrature.log_evidence, summed=summed)
    return _verdict("evidence", error, sentence, "nats")


def _predictive_check(here: Course, after: Belief, quadrature: conjugate.Quadrature) -> Check:
    places = np.unique(here.x)[:12]
    closed = np.exp(after.log_predictive(places))
    averaged = quadrature.weight @ np.exp(after.log_likelihoods(quadrature.theta, places))
    error = float(np.max(np.abs(closed - averaged) / averaged))
    sentence = WORDS.phrase("checks.next", places=len(places), error=error)
    return _verdict("predictive", error, sentence, WORDS.phrase("checks.relative"))


@kept
def summary(spec: ConjugateLesson) -> tuple[diagnostics.Summary, diagnostics.Cost]:
    """Diagnostics of the chains on this page, the first tenth of each left out."""
    run = walk(spec)
    found = diagnostics.summarise(run.draws[:, spec.draws // 10 :])
    return found, diagnostics.cost(run, found)
