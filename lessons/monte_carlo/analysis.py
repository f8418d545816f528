"""What the lesson computes: repeated estimates, their errors and bands, checks."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from engine.judge import ALONE, FIRST, SECOND, Z_LIMIT, Check, Kind, Verdict, two_looks, unknown
from engine.judge.looks import surprise, two_sided
from engine.judge.numbers import OFF
from engine.judge.plant import SHIFTED, STUCK, is_planted
from engine.kept import kept, lazy
from engine.montecarlo import Integral, Replications, power, rare, replicate, square
from engine.spec import MAX_SEED
from lessons.monte_carlo.spec import WORDS, MonteCarloLesson

Array = NDArray[np.float64]

Z95 = 1.959964  # a normal stays within it with probability 0.95


@dataclass(frozen=True, eq=False)
class Estimates:
    """The repeated estimates of a spec. Arrays (replications, draws); row 0 is the run on the stage."""

    spec: MonteCarloLesson
    integral: Integral
    runs: Replications

    @lazy
    def n(self) -> Array:
        """(draws,) 1, 2, …"""
        return np.arange(1.0, self.runs.values.shape[1] + 1.0)

    @property
    def truth(self) -> float:
        """The integral, or the centre of symmetry where there is none."""
        return self.integral.mean if math.isfinite(self.integral.mean) else 0.0

    @property
    def finite(self) -> bool:
        """Is the variance finite, as it must be for the error to fall like 1/√n?"""
        return math.isfinite(self.integral.variance)

    @property
    def wrong(self) -> bool:
        """Does the mistake change anything?"""
        return self.spec.mistake == "band" or (self.spec.mistake == "no_weight" and self.integral.weighted)

    @lazy
    def errors(self) -> Array:
        """Of every running average."""
        return self.runs.means - self.truth

    @lazy
    def reported(self) -> Array:
        """The standard error each run reports of itself: s/√n, or s/n by mistake."""
        return self._reported(slice(None))

    @lazy
    def own(self) -> Array:
        """(draws,) that of the run on stage."""
        return self._reported(slice(1))[0]

    def _reported(self, some: slice) -> Array:
        found = self.runs.standard_errors(some)
        return found / np.sqrt(self.n) if self.spec.mistake == "band" else found

    @lazy
    def exact_error(self) -> Array:
        """(draws,) σ/√n; inf where the variance is, NaN where there is none."""
        return np.sqrt(self.integral.variance / self.n)

    @lazy
    def typical(self) -> Array:
        """(draws,) root mean square error over the repetitions; the median error where the variance is not finite."""
        if self.finite:
            return np.sqrt((self.errors**2).mean(axis=0))
        return np.median(np.abs(self.errors), axis=0)

    @lazy
    def standardised(self) -> Array:
        """What the central limit theorem speaks of: errors over σ/√n. Where σ is infinite, over the reported standard
        error; where there is no mean, the average itself.
        """
        if math.isnan(self.integral.mean):
            return self.runs.means
        scale = self.exact_error if self.finite and self.integral.variance > 0.0 else self.reported
        with np.errstate(divide="ignore", invalid="ignore"):
            return self.errors / scale

    def coverage(self, at: int) -> float:
        """Share of the repetitions whose reported 95 % band held the truth after `at` draws."""
        return float(np.mean(np.abs(self.errors[:, at - 1]) <= Z95 * self.reported[:, at - 1]))

    @lazy
    def largest(self) -> Array:
        """(draws,) share of the largest value in the sum of all so far, the median over the repetitions; 1 before any
        value but 0 was seen.
        """
        size = np.abs(self.runs.values)
        total = np.cumsum(size, axis=1)
        top = np.maximum.accumulate(size, axis=1)
        return np.median(np.divide(top, total, out=np.ones_like(total), where=total > 0.0), axis=0)


BEGINNING = 20  # repetitions of the first picture


@kept
def estimates(spec: MonteCarloLesson, replications: int | None = None) -> Estimates:
    """The estimates of `spec`; `replications`: the first of them alone."""
    integral = spec.build()
    number, weighted = replications or spec.replications, spec.mistake != "no_weight"
    runs = replicate(integral, replications=number, draws=spec.draws, seed=spec.seed, weighted=weighted)
    return Estimates(spec, integral, runs)


def marks(draws: int) -> list[int]:
    """Numbers of draws to look at: 10, 30, 100, … and the last."""
    return [n for n in (10, 30, 100, 300, 1000) if n < draws] + [draws]


# The proposal ---------------------------------------------------------------------------------------------------------


def proposals(spec: MonteCarloLesson) -> tuple[Array, Array, float] | None:
    """(settings of the proposal, exact sd of one value there, present setting); None where there is nothing to set."""
    if spec.integral == "power":
        at, present = np.linspace(0.0, 0.95, 96), spec.b
        found = [power(spec.a, float(b)).variance for b in at]
    elif spec.integral == "rare":
        at, present = np.linspace(0.0, 8.0, 81), spec.shift
        found = [rare(spec.threshold, float(shift)).variance for shift in at]
    elif spec.integral == "square":
        at, present = np.linspace(0.3, 4.0, 149), spec.scale
        found = [square(float(scale)).variance for scale in at]
    else:
        return None
    return at, np.sqrt(np.array(found)), present


# Checks ---------------------------------------------------------------------------------------------------------------

CHECK_RUNS = 1000  # repetitions of a first look
DRAWN = 40_000  # points whose distribution is checked
SHARES = (0.02, 0.1, 0.25, 0.5, 0.75, 0.9, 0.98)
AGREE = 1e-6  # relative error of two computations of one number
HITS = 30.0  # values that count, below which an average is not judged
HELD, MISSED = 0.93, 0.90  # shares of 95 % bands that hold the truth: at least, and below which no band is believed


def audit(spec: MonteCarloLesson, cancel: object = None) -> Sequence[Check]:
    """The parts of the estimator: where its points fall, what they count, and what error it reports."""
    found = [points_check(spec), values_check(spec), error_check(spec)]
    return found if spec.integral == "cauchy" else [*found, closed_form_check(spec)]


def checks(spec: MonteCarloLesson, cancel: object = None) -> Sequence[Check]:
    """Has the central limit theorem set in after so many draws? And the average of many repetitions."""
    runs = _repeated(spec, 1, 1)
    numbers = two_looks(lambda number, work: mean_check(runs if number == 1 else _repeated(spec, number, work), number))
    return [band_check(runs), *([reported_check(runs)] if spec.mistake == "band" else []), numbers]


def _repeated(spec: MonteCarloLesson, number: int, work: int) -> Estimates:
    integral = spec.build()
    runs = replicate(
        integral,
        replications=work * CHECK_RUNS,
        draws=spec.draws,
        seed=(spec.seed + number * OTHER) % (MAX_SEED + 1),
        weighted=spec.mistake != "no_weight",
    )
    return Estimates(spec, integral, runs)


OTHER = 1_000_003  # added to a seed for random numbers of a look's own


def points_check(spec: MonteCarloLesson) -> Check:
    """The share of points below quantiles of the density that they are meant to have, coordinate by coordinate."""

    def look(number: int, work: int) -> Check:
        rng = np.random.Generator(np.random.SFC64([spec.seed, number]))
        drawn = spec.build().draw(rng, work * DRAWN)
        places = quantiles(spec)
        seen = (drawn[:, :, None] < places).mean(axis=0)
        error = np.sqrt(np.array(SHARES) * (1.0 - np.array(SHARES)) / len(drawn))
        z = (seen - SHARES) / error
        found = surprise(z.ravel())
        j, k = np.unravel_index(found.place, z.shape)
        sentence = WORDS.phrase(
            "checks.worst_share",
            points=len(drawn),
            share=100 * seen[j, k],
            places=places[k],
            due=100 * SHARES[k],
            z=abs(found.z),
            shares=z.size,
            p=found.p,
        )
        return _told("points", found.z, found.p, number, sentence, "kernel")

    return two_looks(look)


def quantiles(spec: MonteCarloLesson) -> Array:
    """Where the density that is drawn from has `SHARES` of its mass below, in every coordinate."""
    shares = np.array(SHARES)
    if spec.integral == "ball":
        return 2.0 * shares - 1.0
    if spec.integral == "power":
        return shares ** (1.0 / (1.0 - spec.b))
    if spec.integral == "cauchy":
        return np.tan(math.pi * (shares - 0.5))
    from scipy.special import ndtri  # slow to import

    z = ndtri(shares)
    return np.asarray(spec.shift + z if spec.integral == "rare" else spec.scale * z)


def values_check(spec: MonteCarloLesson) -> Check:
    """What each point counts: the integrand over the density that it was drawn from, both worked out anew."""
    integral = spec.build()
    x = integral.draw(np.random.Generator(np.random.SFC64([spec.seed, 0])), 1000)
    used = (integral.unweighted if spec.mistake == "no_weight" else integral.value)(x)
    due = due_values(spec, x)
    error = float(np.max(np.abs(used - due) / np.maximum(np.abs(due), 1e-300), where=due != 0.0, initial=0.0))
    error = max(error, float(np.max(np.abs(used), where=due == 0.0, initial=0.0)))
    sentence = WORDS.phrase("checks.counted", points=len(x), error=error)
    if error >= AGREE:
        sentence = f"{sentence} {WORDS.phrase('checks.weight_missing')}"
    return _agree("values", error, sentence)


def due_values(spec: MonteCarloLesson, x: Array) -> Array:
    """(n,) integrand over density at points (n, dim), by logarithms."""
    first = x[:, 0]
    if spec.integral == "ball":
        return np.where(np.linalg.norm(x, axis=1) <= 1.0, 2.0**spec.dimension, 0.0)
    if spec.integral == "power":
        return np.exp(-spec.a * np.log(first) - math.log1p(-spec.b) + spec.b * np.log(first))
    if spec.integral == "rare":
        return np.where(first > spec.threshold, np.exp(-0.5 * first**2 + 0.5 * (first - spec.shift) ** 2), 0.0)
    if spec.integral == "square":
        log = 2.0 * np.log(np.abs(first)) - 0.5 * first**2 + 0.5 * (first / spec.scale) ** 2 + math.log(spec.scale)
        return np.exp(log)
    return first


def closed_form_check(spec: MonteCarloLesson) -> Check:
    """Mean and variance of a value by their formulas against numerical integration."""
    integral = spec.build()
    mean, second = numerical(spec)
    error = abs(mean / integral.mean - 1.0)
    words = WORDS.phrase("checks.mean_against", exact=integral.mean, mean=mean)
    if math.isfinite(integral.variance):
        error = max(error, abs(second / (integral.variance + integral.mean**2) - 1.0))
        square = WORDS.phrase("checks.square_against", exact=integral.variance + integral.mean**2, second=second)
        words = f"{words}, {square}"
    return _agree("formulas", error, WORDS.phrase("checks.formula", words=words))


def numerical(spec: MonteCarloLesson) -> tuple[float, float]:
    """Mean and mean square of a value by quadrature; the latter inf where it is not finite."""
    from scipy.integrate import quad

    integral = spec.build()
    finite = math.isfinite(integral.variance)
    if spec.integral == "ball":  # slice by slice: the part of each that is inside is the power of a half chord
        part = 1.0
        for below in range(1, spec.dimension):
            part *= quad(lambda t, k=below: math.cos(t) ** (k + 1), -0.5 * math.pi, 0.5 * math.pi)[0]
        volume = 2.0 * part
        return volume, volume * 2.0**spec.dimension
    if spec.integral == "power":  # x = exp(-t)

        def density(x: float) -> float:
            return (1.0 - spec.b) * x**-spec.b

        def term(t: float, power: int) -> float:
            x = math.exp(-t)
            return float(due_values(spec, np.array([[x]]))[0]) ** power * density(x) * x

        rates = (1.0 - spec.a, 1.0 - 2.0 * spec.a + spec.b)
        ends = [min(690.0, 40.0 / rate) if rate > 0.0 else 0.0 for rate in rates]
        found = [quad(term, 0.0, end, args=(power,), limit=400)[0] for power, end in zip((1, 2), ends, strict=True)]
        return found[0], found[1] if finite else math.inf
    sd, middle = (1.0, spec.shift) if spec.integral == "rare" else (spec.scale, 0.0)

    def part_of(z: float, power: int) -> float:
        value = float(due_values(spec, np.array([[z]]))[0]) if z != 0.0 else 0.0
        return value**power * math.exp(-0.5 * ((z - middle) / sd) ** 2) / (sd * math.sqrt(2.0 * math.pi))

    edge = 25.0 if finite else 10.0  # beyond, nothing is left of the mean, and a weight would overflow
    breaks = [spec.threshold, edge] if spec.integral == "rare" else [-edge, 0.0, edge]
    settings = {"limit": 400, "epsabs": 0.0, "epsrel": 1e-9}
    pieces = [[quad(part_of, low, high, args=(power,), **settings)[0] for power in (1, 2)[: 1 + finite]] for low, high in pairwise(breaks)]
    sums = np.sum(pieces, axis=0)
    return float(sums[0]), float(sums[1]) if finite else math.inf


def error_check(spec: MonteCarloLesson) -> Check:
    """The standard errors that runs report, worked out again as s/√n."""
    here = estimates(spec)
    values = here.runs.values[:50]
    due = values.std(axis=1, ddof=1) / math.sqrt(values.shape[1])
    size = np.maximum(due, 1e-9 * np.abs(values).max(axis=1))
    error = float(np.max(np.abs(here.reported[:50, -1] - due) / np.maximum(size, 1e-300)))
    sentence = WORDS.phrase("checks.error_reported", runs=len(values), error=error)
    return _agree(WORDS.phrase("checks.reported_error"), error, sentence)


def _agree(name: str, error: float, sentence: str) -> Check:
    return Check(name, "pass" if error < AGREE else "fail", error, AGREE, sentence, "relative", kind="kernel")


def _told(name: str, z: float, p: float, number: int, sentence: str, kind: Kind) -> Check:
    verdict: Verdict = "pass" if p >= (FIRST if number == 1 else SECOND) else "fail"
    return Check(name, verdict, z, Z_LIMIT, sentence, "SE", kind=kind, p=p)


def mean_check(many: Estimates, number: int) -> Check:
    """The average of all values of all repetitions against the truth, in exact standard errors."""
    integral, values = many.integral, many.runs.values
    if math.isnan(integral.mean):
        reason = WORDS.phrase("checks.no_mean")
        return unknown("mean", reason, kind="numbers")
    if not many.finite and many.spec.mistake != "no_weight":
        reason = WORDS.phrase("checks.no_variance")
        return unknown("mean", reason, kind="numbers", unit="SE")
    wrong = many.spec.mistake == "no_weight" and integral.weighted
    sd = float(values.std()) if wrong else math.sqrt(integral.variance)
    average, size = float(values.mean()), values.size
    if sd <= 1e-12 * abs(integral.mean):
        error = abs(average / integral.mean - 1.0) + (OFF if is_planted(SHIFTED) else 0.0)
        sentence = WORDS.phrase("checks.every_value", average=average)
        return Check("mean", "pass" if error < AGREE else "fail", error, AGREE, sentence, "relative")
    expected_hits = size * integral.mean / float(values.max()) if values.max() > 0.0 else 0.0
    if not wrong and expected_hits < HITS:
        reason = WORDS.phrase("checks.too_few", size=size, expected_hits=expected_hits)
        return unknown("mean", reason, kind="numbers", unit="SE")
    z = (average - integral.mean) / (sd / math.sqrt(size)) + (OFF if is_planted(SHIFTED) else 0.0)
    p = two_sided(z)
    sentence = WORDS.phrase("checks.average", size=size, runs=len(values), average=average, exact=integral.mean, z=abs(z), p=p)
    return _told("mean", z, p, number, sentence, "numbers")


def band_check(many: Estimates) -> Check:
    """Is a run of so many draws long enough for its own s/√n: does the 95 % band hold the truth as often as it says?"""
    draws, repetitions = many.errors.shape[1], len(many.errors)
    if many.integral.variance <= 1e-24:
        return unknown("band", WORDS.phrase("checks.no_band"), kind="run")
    ends = many.runs.means[:, 0 if is_planted(STUCK) else -1]  # stuck: all draws are the first one
    if math.isnan(many.integral.mean):
        share = float(np.mean(np.abs(ends) > 1.0))
        sentence = WORDS.phrase("checks.beyond", share=100 * share, repetitions=repetitions, draws=draws)
        return Check(WORDS.phrase("checks.nearer"), "fail", share, 0.25, sentence, WORDS.phrase("checks.of_averages"), kind="run")
    wrong = many.spec.mistake == "no_weight" and many.integral.weighted
    converges_to = many.integral.unweighted_mean if wrong else many.integral.mean
    share = float(np.mean(np.abs(ends - converges_to) <= Z95 * many.runs.standard_errors()[:, -1]))
    sentence = WORDS.phrase("checks.band", draws=draws, share=100 * share, repetitions=repetitions)
    verdict: Verdict = "pass" if share >= HELD else "fail" if share < MISSED else "unknown"
    if verdict != "pass":
        why = WORDS.phrase("checks.too_skewed" if many.finite else "checks.infinite")
        sentence = f"{sentence} {why}"
    return Check("band", verdict, share, HELD, sentence, WORDS.phrase("checks.of_repetitions"), kind="run")


def reported_check(many: Estimates) -> Check:
    """The band that is shown, against the truth."""
    draws, repetitions = many.errors.shape[1], len(many.errors)
    share = many.coverage(draws)
    z = (share - 0.95) / math.sqrt(0.95 * 0.05 / repetitions)
    sentence = WORDS.phrase("checks.band_shown_held", share=100 * share, repetitions=repetitions)
    p = two_sided(z)
    return Check(WORDS.phrase("checks.band_shown"), "fail" if p < ALONE else "unknown", z, Z_LIMIT, sentence, "SE", p=p)
