"""What the lesson computes: repeated estimates, their errors and bands, checks."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np
from numpy.typing import NDArray

from engine.judge import Z_LIMIT, Check
from engine.montecarlo import Integral, Replications, power, rare, replicate, square
from lessons.monte_carlo.spec import MonteCarloLesson

Array = NDArray[np.float64]

Z95 = 1.959964  # a normal stays within it with probability 0.95


@dataclass(frozen=True, eq=False)
class Estimates:
    """The repeated estimates of a spec. Arrays (replications, draws); row 0 is the run on the stage."""

    spec: MonteCarloLesson
    integral: Integral
    runs: Replications

    @cached_property
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

    @cached_property
    def errors(self) -> Array:
        """Of every running average."""
        return self.runs.means - self.truth

    @cached_property
    def reported(self) -> Array:
        """The standard error each run reports of itself: s/√n, or s/n by mistake."""
        found = self.runs.standard_errors()
        return found / np.sqrt(self.n) if self.spec.mistake == "band" else found

    @cached_property
    def exact_error(self) -> Array:
        """(draws,) σ/√n; inf where the variance is, NaN where there is none."""
        return np.sqrt(self.integral.variance / self.n)

    @cached_property
    def typical(self) -> Array:
        """(draws,) root mean square error over the repetitions; the median error where the variance is not finite."""
        if self.finite:
            return np.sqrt((self.errors**2).mean(axis=0))
        return np.median(np.abs(self.errors), axis=0)

    @cached_property
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

    @cached_property
    def largest(self) -> Array:
        """(draws,) share of the largest value in the sum of all so far, the median over the repetitions; 1 before any
        value but 0 was seen.
        """
        size = np.abs(self.runs.values)
        total = np.cumsum(size, axis=1)
        top = np.maximum.accumulate(size, axis=1)
        return np.median(np.divide(top, total, out=np.ones_like(total), where=total > 0.0), axis=0)


@lru_cache(maxsize=8)
def estimates(spec: MonteCarloLesson) -> Estimates:
    """The estimates of `spec`."""
    integral = spec.build()
    runs = replicate(
        integral, replications=spec.replications, draws=spec.draws, seed=spec.seed, weighted=spec.mistake != "no_weight"
    )
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

CHECK_RUNS = 2000


def checks(spec: MonteCarloLesson, cancel: object = None) -> Sequence[Check]:
    """The estimate, repeated more often than on the stage: its mean, how its error falls, what its band holds."""
    here = estimates(spec.replace(replications=50, seed=spec.seed))
    integral = here.integral
    runs = replicate(
        integral, replications=CHECK_RUNS, draws=spec.draws, seed=spec.seed, weighted=spec.mistake != "no_weight"
    )
    many = Estimates(spec, integral, runs)
    if math.isnan(integral.mean):
        reason = (
            "This mean does not exist: the averages of n draws are as spread as single draws, so nothing converges."
        )
        return [Check("mean", "unknown", math.nan, Z_LIMIT, reason), _cauchy_check(many)]
    if spec.mistake == "no_weight" and integral.weighted:
        return [_mean_check(many)]
    if not many.finite:
        reason = "The variance of one value is infinite: no standard error exists to judge the average by."
        found = [Check("mean", "unknown", math.nan, Z_LIMIT, reason), _rate_check(many)]
    else:
        found = [_mean_check(many), _rate_check(many)]
    return [*found, _band_check(many)]


def _mean_check(many: Estimates) -> Check:
    """The average of all values of all repetitions against the truth; for a wrong estimate its own spread is used."""
    integral, values = many.integral, many.runs.values
    finite = math.isfinite(integral.variance) and many.spec.mistake != "no_weight"
    sd = math.sqrt(integral.variance) if finite else float(values.std())
    average, size = float(values.mean()), values.size
    expected_hits = size * integral.mean / float(values.max()) if values.max() > 0.0 else 0.0
    if finite and integral.variance > 0.0 and expected_hits < 30.0:
        reason = f"Of {size:,} draws only about {expected_hits:.0f} count: too few to judge by."
        return Check("mean", "unknown", math.nan, Z_LIMIT, reason)
    if sd <= 1e-12 * abs(integral.mean):
        error = abs(average / integral.mean - 1.0)
        sentence = f"Every value is {average:.6g}, the integral itself: with this proposal the variance is zero."
        return Check("mean", "pass" if error < 1e-9 else "fail", error, 1e-9, sentence, "relative")
    z = (average - integral.mean) / (sd / math.sqrt(size))
    sentence = (
        f"The average of {size:,} values ({len(values):,} repetitions) is {average:.6g}, exact {integral.mean:.6g}: "
        f"{abs(z):.1f} standard errors apart."
    )
    return Check("mean", "pass" if abs(z) < Z_LIMIT else "fail", z, Z_LIMIT, sentence, "SE")


def _rate_check(many: Estimates) -> Check:
    """Errors after n/4 draws (half of the repetitions) against errors after n (the others)."""
    draws, half = many.errors.shape[1], len(many.errors) // 2
    few = max(1, draws // 4)
    early, late = many.errors[:half, few - 1], many.errors[half:, draws - 1]
    if many.integral.variance <= 1e-24:
        return Check("rate", "pass", 0.0, Z_LIMIT, "There is no error that could fall.", "SE")
    if many.finite:
        ratio = math.sqrt(float((early**2).mean() / (late**2).mean()))
        spread = 0.5 * math.sqrt(sum(float(np.var(e**2)) / float((e**2).mean()) ** 2 / half for e in (early, late)))
        due = math.sqrt(draws / few)
        z = (math.log(ratio) - math.log(due)) / spread
        sentence = (
            f"Four times the draws divide the typical error by {ratio:.2f}; 1/√n says {due:.2f}: {abs(z):.1f} standard "
            "errors apart."
        )
        return Check("rate", "pass" if abs(z) < Z_LIMIT else "fail", z, Z_LIMIT, sentence, "SE")
    ratio = float(np.median(np.abs(early)) / np.median(np.abs(late)))
    due = (draws / few) ** many.integral.rate
    sentence = (
        f"Four times the draws divide the median error by {ratio:.2f}. 1/√n would give 2; for this tail theory says "
        f"{due:.2f} in the long run."
    )
    return Check("rate", "unknown", math.nan, Z_LIMIT, sentence)


def _band_check(many: Estimates) -> Check:
    """Share of the repetitions whose own 95 % band holds the truth."""
    draws, repetitions = many.errors.shape[1], len(many.errors)
    if many.integral.variance <= 1e-24 and many.spec.mistake != "band":
        return Check("band", "pass", 0.0, Z_LIMIT, "With variance zero the band is a line, on the truth.", "SE")
    share = many.coverage(draws)
    z = (share - 0.95) / math.sqrt(0.95 * 0.05 / repetitions)
    sentence = f"The 95 % band that a run reports after {draws:,} draws held the truth in {100 * share:.1f} % of "
    sentence += f"{repetitions:,} repetitions."
    if abs(z) < Z_LIMIT:
        return Check("band", "pass", z, Z_LIMIT, sentence, "SE")
    if many.spec.mistake == "band":
        return Check("band", "fail", z, Z_LIMIT, sentence + " It was divided by n instead of √n.", "SE")
    why = "the variance is infinite" if not many.finite else "the values are too skewed for so few draws"
    return Check("band", "unknown", z, Z_LIMIT, f"{sentence} The central limit theorem has not set in: {why}.", "SE")


def _cauchy_check(many: Estimates) -> Check:
    """The mean of n Cauchy draws is again Cauchy: a quarter of the averages lie beyond 1 on each side."""
    share = float(np.mean(np.abs(many.runs.means[:, -1]) > 1.0))
    z = (share - 0.5) / math.sqrt(0.25 / len(many.errors))
    sentence = (
        f"{100 * share:.1f} % of {len(many.errors):,} averages of {many.errors.shape[1]:,} draws lie beyond ±1, as 50 "
        f"% of single draws do: {abs(z):.1f} standard errors apart."
    )
    return Check("spread", "pass" if abs(z) < Z_LIMIT else "fail", z, Z_LIMIT, sentence, "SE")
