"""Seven conjugate pairs: what is believed about the unknowns of a model, before and after data.

A belief is a frozen set of hyperparameters. `update(x)` returns the belief after the observations x, which is a belief
of the same kind: the posterior is the next prior. Gammas have a *rate*. Formulas: Gelman et al., Bayesian Data
Analysis, chapters 2 and 3 (Berezowski 2021, table 3.1, misprints three of them).

scipy is imported where it is used: it takes a while.
"""

from __future__ import annotations

import dataclasses
import math
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from engine.spec import SpecError

Array = NDArray[np.float64]

LOG_2PI = math.log(2.0 * math.pi)
MAX_OBSERVATIONS = 10_000_000
LARGEST = 2.0**53  # whole numbers beyond it are not exact, and squares of reals soon overflow


@dataclass(frozen=True)
class Belief:
    """A distribution over the unknowns of a model, with the model of one observation given them.

    Arrays of unknowns `theta` have shape (n, dim); observations `x` are (m,), each independent given the unknowns.
    Hyperparameters and observations that make no sense raise `SpecError`, which names the field ("data" for x).
    """

    unknowns: ClassVar[tuple[str, ...]]
    any_sign: ClassVar[tuple[str, ...]] = ()  # hyperparameters that may be 0 or negative

    def __post_init__(self) -> None:
        for field in dataclasses.fields(self):
            value = getattr(self, field.name)
            for entry in value if isinstance(value, tuple) else (value,):
                _hyperparameter(field.name, entry, positive=field.name not in self.any_sign)

    @property
    def dim(self) -> int:
        """Number of unknowns."""
        return len(self.unknowns)

    def observations(self, x: ArrayLike) -> Array:
        """`x` as (m,) floats. Raises SpecError if this model cannot make such observations."""
        try:
            values = np.asarray(x, dtype=np.float64)
        except (TypeError, ValueError, OverflowError):
            raise SpecError("data", "is not a list of numbers") from None
        if values.ndim != 1:
            raise SpecError("data", f"must be one row of observations, has shape {values.shape}")
        if values.size > MAX_OBSERVATIONS:
            raise SpecError("data", f"{values.size:,} observations are more than the {MAX_OBSERVATIONS:,} allowed")
        if not np.all(np.isfinite(values)):
            raise SpecError("data", f"observation {_first(~np.isfinite(values))} is not a finite number")
        if np.any(np.abs(values) > LARGEST):
            raise SpecError("data", f"observation {_first(np.abs(values) > LARGEST)} is beyond ±{LARGEST:.0e}")
        self._possible(values)
        return values

    def _possible(self, x: Array) -> None:
        """Refuse observations that the model cannot make."""

    def update(self, x: ArrayLike) -> Self:
        """The belief after the observations `x` (m,)."""
        raise NotImplementedError

    def log_density(self, theta: ArrayLike) -> Array:
        """Log density of this belief at `theta` (n, dim) -> (n,), normalised; -inf outside the support."""
        raise NotImplementedError

    def log_likelihoods(self, theta: ArrayLike, x: ArrayLike) -> Array:
        """Log probability (density) of each observation given each `theta`: (n, dim), (m,) -> (n, m)."""
        raise NotImplementedError

    def log_evidence(self, x: ArrayLike) -> float:
        """Log probability (density) of the observations `x`, in the order they came, before any of them was seen."""
        return self.update(x)._log_normaliser() - self._log_normaliser() + self._log_base(self.observations(x))

    def _log_normaliser(self) -> float:
        """Log integral of the unnormalised density."""
        raise NotImplementedError

    def _log_base(self, x: Array) -> float:
        """The part of the log likelihood of `x` that holds no unknown."""
        return 0.0

    def log_predictive(self, x: ArrayLike) -> Array:
        """Log probability (density) of one next observation, at each of `x` (m,) -> (m,)."""
        raise NotImplementedError

    def mean(self) -> Array:
        """(dim,); NaN where there is none."""
        raise NotImplementedError

    def covariance(self) -> Array:
        """(dim, dim); inf where a variance is infinite."""
        raise NotImplementedError

    def mode(self) -> Array:
        """(dim,) where the density is largest; NaN where it has no maximum inside its support."""
        raise NotImplementedError

    def marginal(self, unknown: int, at: ArrayLike) -> Array:
        """Density of one unknown alone, at `at` (n,) -> (n,)."""
        raise NotImplementedError

    def quantile(self, unknown: int, share: ArrayLike) -> Array:
        """Where the marginal of one unknown has `share` of its mass below."""
        raise NotImplementedError

    def interval(self, unknown: int = 0, mass: float = 0.95) -> tuple[float, float]:
        """The interval that holds `mass`, with equal tails outside."""
        low, high = self.quantile(unknown, [0.5 * (1.0 - mass), 0.5 * (1.0 + mass)])
        return float(low), float(high)

    def draw(self, rng: np.random.Generator, n: int) -> Array:
        """(n, dim) independent draws."""
        raise NotImplementedError

    def observe(self, rng: np.random.Generator, theta: ArrayLike) -> Array:
        """(n,) one observation for each row of `theta` (n, dim)."""
        raise NotImplementedError


def _hyperparameter(name: str, value: Any, *, positive: bool) -> None:
    real = isinstance(value, (int, float, np.integer, np.floating)) and not isinstance(value, bool)
    if not (real and math.isfinite(value)):
        raise SpecError(name, f"{value!r} is not a finite number")
    if positive and not value > 0:
        raise SpecError(name, f"{value:g} is not above 0: there is no such distribution")


def _first(wrong: NDArray[np.bool_]) -> int:
    return int(np.argmax(wrong)) + 1


def _rows(theta: ArrayLike, dim: int) -> Array:
    rows = np.asarray(theta, dtype=np.float64)
    return rows.reshape(-1, dim)


def _log(x: Array) -> Array:
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(np.log(x))


def _times(power: float | Array, log_value: Array) -> Array:
    """power · log value, where 0 · log 0 is 0."""
    with np.errstate(invalid="ignore"):
        return np.where(np.asarray(power) == 0.0, 0.0, power * log_value)


def _inside(log_density: Array, inside: NDArray[np.bool_]) -> Array:
    return np.where(inside, log_density, -np.inf)


def _whole(x: Array, what: str) -> None:
    if np.any(x < 0.0):
        raise SpecError("data", f"observation {_first(x < 0.0)}, {x[x < 0.0][0]:g}, is negative: {what}")
    if np.any(x != np.floor(x)):
        wrong = x != np.floor(x)
        raise SpecError("data", f"observation {_first(wrong)}, {x[wrong][0]:g}, is not a whole number: {what}")


def _student(at: ArrayLike, dof: float, centre: float, scale: float) -> Array:
    """Log density of a Student t."""
    z = (np.asarray(at, dtype=np.float64) - centre) / scale
    log_top = math.lgamma(0.5 * (dof + 1.0)) - math.lgamma(0.5 * dof) - 0.5 * math.log(dof * math.pi) - math.log(scale)
    return np.asarray(log_top - 0.5 * (dof + 1.0) * np.log1p(z * z / dof))


# Coins ----------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class BetaBernoulli(Belief):
    """x is 1 with probability p, else 0; p ~ Beta(alpha, beta)."""

    alpha: float = 1.0
    beta: float = 1.0
    unknowns: ClassVar[tuple[str, ...]] = ("p",)

    def _possible(self, x: Array) -> None:
        wrong = (x != 0.0) & (x != 1.0)
        if np.any(wrong):
            raise SpecError("data", f"observation {_first(wrong)}, {x[wrong][0]:g}, is neither 1 nor 0")

    def update(self, x: ArrayLike) -> Self:
        values = self.observations(x)
        successes = float(values.sum())
        return dataclasses.replace(self, alpha=self.alpha + successes, beta=self.beta + values.size - successes)

    def log_density(self, theta: ArrayLike) -> Array:
        p = _rows(theta, 1)[:, 0]
        value = _times(self.alpha - 1.0, _log(p)) + _times(self.beta - 1.0, _log(1.0 - p)) - self._log_normaliser()
        return _inside(value, (p >= 0.0) & (p <= 1.0))

    def log_likelihoods(self, theta: ArrayLike, x: ArrayLike) -> Array:
        p = _rows(theta, 1)
        return np.where(self.observations(x) == 1.0, _log(p), _log(1.0 - p))

    def _log_normaliser(self) -> float:
        return math.lgamma(self.alpha) + math.lgamma(self.beta) - math.lgamma(self.alpha + self.beta)

    def log_predictive(self, x: ArrayLike) -> Array:
        one = self.alpha / (self.alpha + self.beta)
        return np.log(np.where(self.observations(x) == 1.0, one, 1.0 - one))

    def mean(self) -> Array:
        return np.array([self.alpha / (self.alpha + self.beta)])

    def covariance(self) -> Array:
        n = self.alpha + self.beta
        return np.array([[self.alpha * self.beta / (n * n * (n + 1.0))]])

    def mode(self) -> Array:
        inside = self.alpha >= 1.0 and self.beta >= 1.0 and self.alpha + self.beta > 2.0
        return np.array([(self.alpha - 1.0) / (self.alpha + self.beta - 2.0) if inside else math.nan])

    def marginal(self, unknown: int, at: ArrayLike) -> Array:
        return np.exp(self.log_density(at))

    def quantile(self, unknown: int, share: ArrayLike) -> Array:
        from scipy.special import betaincinv

        return np.asarray(betaincinv(self.alpha, self.beta, share))

    def draw(self, rng: np.random.Generator, n: int) -> Array:
        return rng.beta(self.alpha, self.beta, (n, 1))

    def observe(self, rng: np.random.Generator, theta: ArrayLike) -> Array:
        p = _rows(theta, 1)[:, 0]
        return (rng.random(p.size) < p).astype(np.float64)


# Rates ----------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Gamma(Belief):
    """An unknown above 0 that is Gamma(alpha, rate beta)."""

    alpha: float = 1.0
    beta: float = 1.0

    def log_density(self, theta: ArrayLike) -> Array:
        at = _rows(theta, 1)[:, 0]
        value = _times(self.alpha - 1.0, _log(at)) - self.beta * at - self._log_normaliser()
        return _inside(value, at >= 0.0)

    def _log_normaliser(self) -> float:
        return math.lgamma(self.alpha) - self.alpha * math.log(self.beta)

    def mean(self) -> Array:
        return np.array([self.alpha / self.beta])

    def covariance(self) -> Array:
        return np.array([[self.alpha / self.beta**2]])

    def mode(self) -> Array:
        return np.array([(self.alpha - 1.0) / self.beta if self.alpha >= 1.0 else math.nan])

    def marginal(self, unknown: int, at: ArrayLike) -> Array:
        return np.exp(self.log_density(at))

    def quantile(self, unknown: int, share: ArrayLike) -> Array:
        from scipy.special import gammaincinv

        return np.asarray(gammaincinv(self.alpha, share)) / self.beta

    def draw(self, rng: np.random.Generator, n: int) -> Array:
        return rng.gamma(self.alpha, 1.0 / self.beta, (n, 1))


@dataclass(frozen=True)
class GammaPoisson(_Gamma):
    """x is a count, Poisson with mean lambda; lambda ~ Gamma(alpha, rate beta)."""

    unknowns: ClassVar[tuple[str, ...]] = ("λ",)

    def _possible(self, x: Array) -> None:
        _whole(x, "counts are 0, 1, 2, …")

    def update(self, x: ArrayLike) -> Self:
        values = self.observations(x)
        return dataclasses.replace(self, alpha=self.alpha + float(values.sum()), beta=self.beta + values.size)

    def log_likelihoods(self, theta: ArrayLike, x: ArrayLike) -> Array:
        from scipy.special import gammaln

        rate, values = _rows(theta, 1), self.observations(x)
        return _times(values, _log(rate)) - rate - gammaln(values + 1.0)

    def _log_base(self, x: Array) -> float:
        from scipy.special import gammaln

        return -float(gammaln(x + 1.0).sum())

    def log_predictive(self, x: ArrayLike) -> Array:
        """Negative binomial."""
        from scipy.special import gammaln

        values = self.observations(x)
        log_more = math.log(self.beta + 1.0)
        return np.asarray(
            gammaln(self.alpha + values)
            - math.lgamma(self.alpha)
            - gammaln(values + 1.0)
            + self.alpha * (math.log(self.beta) - log_more)
            - values * log_more
        )

    def observe(self, rng: np.random.Generator, theta: ArrayLike) -> Array:
        return rng.poisson(_rows(theta, 1)[:, 0]).astype(np.float64)


@dataclass(frozen=True)
class GammaExponential(_Gamma):
    """x is a waiting time, exponential with rate lambda; lambda ~ Gamma(alpha, rate beta)."""

    unknowns: ClassVar[tuple[str, ...]] = ("λ",)

    def _possible(self, x: Array) -> None:
        if np.any(x < 0.0):
            raise SpecError("data", f"observation {_first(x < 0.0)}, {x[x < 0.0][0]:g}, is negative: nobody waits so")

    def update(self, x: ArrayLike) -> Self:
        values = self.observations(x)
        return dataclasses.replace(self, alpha=self.alpha + values.size, beta=self.beta + float(values.sum()))

    def log_likelihoods(self, theta: ArrayLike, x: ArrayLike) -> Array:
        rate = _rows(theta, 1)
        return _log(rate) - rate * self.observations(x)

    def log_predictive(self, x: ArrayLike) -> Array:
        """Lomax."""
        values = self.observations(x)
        return math.log(self.alpha / self.beta) - (self.alpha + 1.0) * np.log1p(values / self.beta)

    def observe(self, rng: np.random.Generator, theta: ArrayLike) -> Array:
        rate = _rows(theta, 1)[:, 0]
        return rng.standard_exponential(rate.size) / rate


@dataclass(frozen=True)
class GammaNormal(_Gamma):
    """x ~ N(centre, 1 / tau) with the mean `centre` known; the precision tau ~ Gamma(alpha, rate beta)."""

    centre: float = 0.0
    unknowns: ClassVar[tuple[str, ...]] = ("τ",)
    any_sign: ClassVar[tuple[str, ...]] = ("centre",)

    def update(self, x: ArrayLike) -> Self:
        values = self.observations(x)
        squares = float(((values - self.centre) ** 2).sum())
        return dataclasses.replace(self, alpha=self.alpha + 0.5 * values.size, beta=self.beta + 0.5 * squares)

    def log_likelihoods(self, theta: ArrayLike, x: ArrayLike) -> Array:
        tau = _rows(theta, 1)
        return 0.5 * (_log(tau) - LOG_2PI) - 0.5 * tau * (self.observations(x) - self.centre) ** 2

    def _log_base(self, x: Array) -> float:
        return -0.5 * x.size * LOG_2PI

    def log_predictive(self, x: ArrayLike) -> Array:
        return _student(self.observations(x), 2.0 * self.alpha, self.centre, math.sqrt(self.beta / self.alpha))

    def observe(self, rng: np.random.Generator, theta: ArrayLike) -> Array:
        tau = _rows(theta, 1)[:, 0]
        return self.centre + rng.standard_normal(tau.size) / np.sqrt(tau)


# Measurements ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class NormalMean(Belief):
    """x ~ N(mu, sigma**2) with the standard deviation sigma known; mu ~ N(m, s**2)."""

    m: float = 0.0
    s: float = 1.0
    sigma: float = 1.0
    unknowns: ClassVar[tuple[str, ...]] = ("μ",)
    any_sign: ClassVar[tuple[str, ...]] = ("m",)

    def update(self, x: ArrayLike) -> Self:
        values = self.observations(x)
        prior, data = 1.0 / self.s**2, values.size / self.sigma**2  # precisions
        if not values.size:
            return self
        m = (prior * self.m + data * float(values.mean())) / (prior + data)
        return dataclasses.replace(self, m=m, s=1.0 / math.sqrt(prior + data))

    def log_density(self, theta: ArrayLike) -> Array:
        z = (_rows(theta, 1)[:, 0] - self.m) / self.s
        return np.asarray(-0.5 * (z * z + LOG_2PI) - math.log(self.s))

    def log_likelihoods(self, theta: ArrayLike, x: ArrayLike) -> Array:
        z = (self.observations(x) - _rows(theta, 1)) / self.sigma
        return np.asarray(-0.5 * (z * z + LOG_2PI) - math.log(self.sigma))

    def log_evidence(self, x: ArrayLike) -> float:
        values = self.observations(x)
        n, variance, prior = values.size, self.sigma**2, self.s**2
        if not n:
            return 0.0
        inner = float(((values - values.mean()) ** 2).sum()) / variance
        outer = n * (float(values.mean()) - self.m) ** 2 / (variance + n * prior)
        return -0.5 * (n * (LOG_2PI + math.log(variance)) + math.log1p(n * prior / variance) + inner + outer)

    def log_predictive(self, x: ArrayLike) -> Array:
        variance = self.sigma**2 + self.s**2
        return np.asarray(-0.5 * ((self.observations(x) - self.m) ** 2 / variance + LOG_2PI + math.log(variance)))

    def mean(self) -> Array:
        return np.array([self.m])

    def covariance(self) -> Array:
        return np.array([[self.s**2]])

    def mode(self) -> Array:
        return np.array([self.m])

    def marginal(self, unknown: int, at: ArrayLike) -> Array:
        return np.exp(self.log_density(at))

    def quantile(self, unknown: int, share: ArrayLike) -> Array:
        from scipy.special import ndtri

        return self.m + self.s * np.asarray(ndtri(share))

    def draw(self, rng: np.random.Generator, n: int) -> Array:
        return rng.normal(self.m, self.s, (n, 1))

    def observe(self, rng: np.random.Generator, theta: ArrayLike) -> Array:
        mu = _rows(theta, 1)[:, 0]
        return mu + self.sigma * rng.standard_normal(mu.size)


@dataclass(frozen=True)
class NormalGamma(Belief):
    """x ~ N(mu, 1 / tau); tau ~ Gamma(alpha, rate beta) and, given tau, mu ~ N(m, 1 / (kappa tau))."""

    m: float = 0.0
    kappa: float = 1.0
    alpha: float = 1.0
    beta: float = 1.0
    unknowns: ClassVar[tuple[str, ...]] = ("μ", "τ")
    any_sign: ClassVar[tuple[str, ...]] = ("m",)

    def update(self, x: ArrayLike) -> Self:
        values = self.observations(x)
        n = values.size
        if not n:
            return self
        average, kappa = float(values.mean()), self.kappa + n
        within = 0.5 * float(((values - average) ** 2).sum())
        between = 0.5 * self.kappa * n * (average - self.m) ** 2 / kappa
        m = (self.kappa * self.m + n * average) / kappa
        return dataclasses.replace(self, m=m, kappa=kappa, alpha=self.alpha + 0.5 * n, beta=self.beta + within + between)

    def _tau(self) -> GammaNormal:
        return GammaNormal(self.alpha, self.beta)

    def _scale(self) -> float:
        """Scale of mu's marginal, a Student t with 2 alpha degrees of freedom."""
        return math.sqrt(self.beta / (self.kappa * self.alpha))

    def log_density(self, theta: ArrayLike) -> Array:
        mu, tau = _rows(theta, 2).T
        precision = _log(self.kappa * tau)
        return self._tau().log_density(tau) + 0.5 * (precision - LOG_2PI - self.kappa * tau * (mu - self.m) ** 2)

    def log_likelihoods(self, theta: ArrayLike, x: ArrayLike) -> Array:
        mu, tau = _rows(theta, 2).T[:, :, None]
        return 0.5 * (_log(tau) - LOG_2PI - tau * (self.observations(x) - mu) ** 2)

    def _log_normaliser(self) -> float:
        return self._tau()._log_normaliser() + 0.5 * (LOG_2PI - math.log(self.kappa))

    def _log_base(self, x: Array) -> float:
        return -0.5 * x.size * LOG_2PI

    def log_predictive(self, x: ArrayLike) -> Array:
        scale = math.sqrt(self.beta * (self.kappa + 1.0) / (self.kappa * self.alpha))
        return _student(self.observations(x), 2.0 * self.alpha, self.m, scale)

    def mean(self) -> Array:
        return np.array([self.m if self.alpha > 0.5 else math.nan, self.alpha / self.beta])

    def covariance(self) -> Array:
        spread = self.beta / (self.kappa * (self.alpha - 1.0)) if self.alpha > 1.0 else math.inf
        return np.diag([spread, self.alpha / self.beta**2])

    def mode(self) -> Array:
        tau = (self.alpha - 0.5) / self.beta
        return np.array([self.m, tau]) if tau > 0.0 else np.array([math.nan, math.nan])

    def marginal(self, unknown: int, at: ArrayLike) -> Array:
        if unknown == 1:
            return self._tau().marginal(0, at)
        return np.exp(_student(at, 2.0 * self.alpha, self.m, self._scale()))

    def quantile(self, unknown: int, share: ArrayLike) -> Array:
        from scipy.special import stdtrit

        if unknown == 1:
            return self._tau().quantile(0, share)
        return self.m + self._scale() * np.asarray(stdtrit(2.0 * self.alpha, share))

    def draw(self, rng: np.random.Generator, n: int) -> Array:
        tau = self._tau().draw(rng, n)
        return np.hstack([self.m + rng.standard_normal((n, 1)) / np.sqrt(self.kappa * tau), tau])

    def observe(self, rng: np.random.Generator, theta: ArrayLike) -> Array:
        mu, tau = _rows(theta, 2).T
        return mu + rng.standard_normal(mu.size) / np.sqrt(tau)


# Kinds ----------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class DirichletCategorical(Belief):
    """x is kind k = 1, …, K with probability p_k; (p_1, …, p_K) ~ Dirichlet(a). The last p is 1 minus the others, so
    `theta` holds the first K - 1 of them.
    """

    a: tuple[float, ...] = (1.0, 1.0, 1.0)

    def __post_init__(self) -> None:
        if not isinstance(self.a, tuple) or len(self.a) < 2:
            raise SpecError("a", "a Dirichlet needs at least two numbers")
        super().__post_init__()

    @property
    def unknowns(self) -> tuple[str, ...]:  # type: ignore[override]
        return tuple(f"p{chr(0x2080 + k)}" for k in range(1, len(self.a)))

    def _possible(self, x: Array) -> None:
        _whole(x, f"kinds are 1 to {len(self.a)}")
        wrong = (x < 1.0) | (x > len(self.a))
        if np.any(wrong):
            raise SpecError("data", f"observation {_first(wrong)}, {x[wrong][0]:g}, is no kind from 1 to {len(self.a)}")

    def counts(self, x: ArrayLike) -> Array:
        """(K,) how often each kind was observed."""
        return np.bincount(self.observations(x).astype(np.int64) - 1, minlength=len(self.a)).astype(np.float64)

    def update(self, x: ArrayLike) -> Self:
        return dataclasses.replace(self, a=tuple(float(v) for v in np.array(self.a) + self.counts(x)))

    def _shares(self, theta: ArrayLike) -> Array:
        """(n, K): all the probabilities."""
        rows = _rows(theta, self.dim)
        return np.hstack([rows, 1.0 - rows.sum(axis=1, keepdims=True)])

    def log_density(self, theta: ArrayLike) -> Array:
        p = self._shares(theta)
        value = _times(np.array(self.a) - 1.0, _log(p)).sum(axis=1) - self._log_normaliser()
        return _inside(value, np.all(p >= 0.0, axis=1))

    def log_likelihoods(self, theta: ArrayLike, x: ArrayLike) -> Array:
        return _log(self._shares(theta))[:, self.observations(x).astype(np.int64) - 1]

    def _log_normaliser(self) -> float:
        return math.fsum(map(math.lgamma, self.a)) - math.lgamma(math.fsum(self.a))

    def log_predictive(self, x: ArrayLike) -> Array:
        return np.log(np.array(self.a) / math.fsum(self.a))[self.observations(x).astype(np.int64) - 1]

    def mean(self) -> Array:
        return np.array(self.a[:-1]) / math.fsum(self.a)

    def covariance(self) -> Array:
        total, mean = math.fsum(self.a), self.mean()
        return (np.diag(mean) - np.outer(mean, mean)) / (total + 1.0)

    def mode(self) -> Array:
        total = math.fsum(self.a)
        if min(self.a) < 1.0 or total <= len(self.a):
            return np.full(self.dim, math.nan)
        return (np.array(self.a[:-1]) - 1.0) / (total - len(self.a))

    def one(self, unknown: int) -> BetaBernoulli:
        """The belief about one probability alone."""
        return BetaBernoulli(self.a[unknown], math.fsum(self.a) - self.a[unknown])

    def marginal(self, unknown: int, at: ArrayLike) -> Array:
        return self.one(unknown).marginal(0, at)

    def quantile(self, unknown: int, share: ArrayLike) -> Array:
        return self.one(unknown).quantile(0, share)

    def draw(self, rng: np.random.Generator, n: int) -> Array:
        return rng.dirichlet(self.a, n)[:, :-1]

    def observe(self, rng: np.random.Generator, theta: ArrayLike) -> Array:
        edges = np.cumsum(_rows(theta, self.dim), axis=1)
        return 1.0 + (rng.random(len(edges))[:, None] > edges).sum(axis=1)


AlphaBeta = BetaBernoulli | _Gamma  # beliefs that two numbers tell, α and β

PAIRS: dict[str, type[Belief]] = {
    "bernoulli": BetaBernoulli,
    "poisson": GammaPoisson,
    "exponential": GammaExponential,
    "precision": GammaNormal,
    "mean": NormalMean,
    "both": NormalGamma,
    "categorical": DirichletCategorical,
}
