"""What each pair is called, and its update as arithmetic with numbers filled in."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from engine.conjugate import DirichletCategorical, NormalGamma
from lessons.conjugate.analysis import Course

Array = NDArray[np.float64]
Line = tuple[str, str, dict[str, Any]]  # id, template, values


@dataclass(frozen=True)
class Terms:
    """How a pair is spoken of.

    name : the model and its prior
    short : for the list of pairs
    observed : of one observation, with its unit
    unknowns : of each unknown, with its unit
    plane : titles of the two axes of the plane of imagined data
    worth : what the prior claims to have seen
    snap : a height clicked in the data panel → an observation
    low, high : the heights of the data panel, None from the data
    discrete : whether the observations are whole numbers
    """

    name: str
    short: str
    observed: str
    unknowns: tuple[str, ...]
    plane: tuple[str, str]
    worth: str
    snap: Callable[[Array], Array]
    discrete: bool
    low: float | None = None
    high: float | None = None


def _any(x: Array) -> Array:
    return x


TERMS: dict[str, Terms] = {
    "bernoulli": Terms(
        "x ~ Bernoulli(p), p ~ Beta(α, β)",
        "coin: Bernoulli and Beta",
        "flip (1 is heads)",
        ("p, probability of heads",),
        ("α: heads, imagined + seen", "β: tails, imagined + seen"),
        "α heads and β tails",
        lambda x: (x >= 0.5).astype(float),
        True,
        -0.3,
        1.3,
    ),
    "poisson": Terms(
        "x ~ Poisson(λ), λ ~ Gamma(α, rate β)",
        "counts: Poisson and Gamma",
        "count",
        ("λ, mean count",),
        ("α: events, imagined + seen", "β: intervals, imagined + seen"),
        "α events in β intervals",
        lambda x: np.maximum(0.0, np.round(x)),
        True,
        -0.4,
    ),
    "exponential": Terms(
        "x ~ Exponential(λ), λ ~ Gamma(α, rate β)",
        "waiting times: exponential and Gamma",
        "waiting time (minutes)",
        ("λ, events a minute",),
        ("α: waits, imagined + seen", "β: total wait, imagined + seen (min)"),
        "α waits of β minutes in all",
        lambda x: np.maximum(0.001, x),
        False,
        0.0,
    ),
    "precision": Terms(
        "x ~ N(μ, 1/τ) with μ known, τ ~ Gamma(α, rate β)",
        "spread: normal with known mean and Gamma",
        "measurement",
        ("τ, precision = 1/variance",),
        ("α: half the number of points", "β: half the sum of squares"),
        "2α points with a sum of squares 2β",
        _any,
        False,
    ),
    "mean": Terms(
        "x ~ N(μ, σ²) with σ known, μ ~ N(m, s²)",
        "mean: normal with known spread, and normal",
        "measurement",
        ("μ, mean",),
        ("m: mean of imagined and seen", "σ²/s²: number imagined + seen"),
        "σ²/s² points with mean m",
        _any,
        False,
    ),
    "both": Terms(
        "x ~ N(μ, 1/τ), (μ, τ) ~ Normal-Gamma(m, κ, α, β)",
        "mean and spread: normal and Normal-Gamma",
        "measurement",
        ("μ, mean", "τ, precision = 1/variance"),
        ("m: mean of imagined and seen", "κ: number imagined + seen"),
        "κ points with mean m (for τ: 2α points with a sum of squares 2β)",
        _any,
        False,
    ),
    "categorical": Terms(
        "x ~ Categorical(p₁, p₂, p₃), p ~ Dirichlet(a₁, a₂, a₃)",
        "kinds: categorical and Dirichlet",
        "kind",
        ("p₁, share of kind 1", "p₂, share of kind 2"),
        ("a₁: kind 1, imagined + seen", "a₂: kind 2, imagined + seen"),
        "a₁, a₂ and a₃ of each kind",
        lambda x: np.clip(np.round(x), 1.0, 3.0),
        True,
        0.4,
        3.6,
    ),
}


def arithmetic(course: Course) -> list[Line]:
    """The update as a sum, one array entry for each number of observations seen."""
    return _SUMS[course.spec.pair](course)


def _constant(course: Course, *values: float) -> tuple[Array, ...]:
    return tuple(np.full(course.steps, value) for value in values)


def _coin(course: Course) -> list[Line]:
    a, b = _constant(course, course.spec.alpha, course.spec.beta)
    n, heads = course.n, course.total
    lines: list[Line] = [
        (
            "update",
            "posterior = Beta(α + heads, β + tails) = Beta({a:.4g} + {h:d}, {b:.4g} + {t:d}) = Beta({c:.4g}, {d:.4g})",
            {"a": a, "h": heads, "b": b, "t": n - heads, "c": a + heads, "d": b + n - heads},
        )
    ]
    if course.spec.alpha == course.spec.beta == 1.0:
        r = course.grid_point()
        lines.append(
            (
                "formula",
                "flat prior: (h+t+1)!/(h! t!) rʰ(1−r)ᵗ = {f:d}!/({h:d}! {t:d}!) · {r:.3f}^{h:d} · {q:.3f}^{t:d} = {v:.4g}",
                {
                    "f": n + 1,
                    "h": heads,
                    "t": n - heads,
                    "r": np.full(course.steps, r),
                    "q": np.full(course.steps, 1.0 - r),
                    "v": coin_formula(heads, n - heads, r),
                },
            )
        )
    return lines


def coin_formula(heads: Array, tails: Array, r: float) -> Array:
    """(h+t+1)!/(h! t!) r^h (1-r)^t: the posterior density of a coin's p at r under the flat prior. Source: Mullachery,
    Khera and Husain, Bayesian Neural Networks, figure 3.
    """
    from scipy.special import gammaln

    log_choose = gammaln(heads + tails + 2.0) - gammaln(heads + 1.0) - gammaln(tails + 1.0)
    return np.exp(log_choose + heads * np.log(r) + tails * np.log1p(-r))


def _counts(course: Course) -> list[Line]:
    a, b = _constant(course, course.spec.alpha, course.spec.beta)
    values = {"a": a, "x": course.total, "b": b, "n": course.n, "c": a + course.total, "d": b + course.n}
    text = "posterior = Gamma(α + Σx, β + n) = Gamma({a:.4g} + {x:d}, {b:.4g} + {n:d}) = Gamma({c:.4g}, rate {d:.4g})"
    return [("update", text, values)]


def _waits(course: Course) -> list[Line]:
    a, b = _constant(course, course.spec.alpha, course.spec.beta)
    values = {"a": a, "n": course.n, "b": b, "x": course.total, "c": a + course.n, "d": b + course.total}
    text = "posterior = Gamma(α + n, β + Σx) = Gamma({a:.4g} + {n:d}, {b:.4g} + {x:.2f}) = Gamma({c:.4g}, rate {d:.4g})"
    return [("update", text, values)]


def _precision(course: Course) -> list[Line]:
    a, b = _constant(course, course.spec.alpha, course.spec.beta)
    squares = np.concatenate([[0.0], np.cumsum((course.x - course.spec.centre) ** 2)])
    half = 0.5 * course.n
    values = {"a": a, "n": half, "b": b, "x": 0.5 * squares, "c": a + half, "d": b + 0.5 * squares}
    text = "posterior = Gamma(α + n/2, β + ½Σ(x−μ)²) = Gamma({a:.4g} + {n:.1f}, {b:.4g} + {x:.2f}) = Gamma({c:.4g}, rate {d:.4g})"
    return [("update", text, values)]


def _mean(course: Course) -> list[Line]:
    spec = course.spec
    p, w, m = _constant(course, spec.s**-2, spec.sigma**-2, spec.m)
    precision = p + course.n * w
    return [
        (
            "precision",
            "precision: 1/s² + n/σ² = {p:.4g} + {n:d}·{w:.4g} = {q:.4g}, so sd = {s:.4g}",
            {"p": p, "n": course.n, "w": w, "q": precision, "s": precision**-0.5},
        ),
        (
            "update",
            "mean: (m/s² + Σx/σ²) / precision = ({p:.4g}·{m:.4g} + {w:.4g}·{x:.4g}) / {q:.4g} = {c:.4g}",
            {"p": p, "m": m, "w": w, "x": course.total, "q": precision, "c": (p * m + w * course.total) / precision},
        ),
    ]


def _both(course: Course) -> list[Line]:
    spec, n = course.spec, course.n
    k, m = _constant(course, spec.kappa, spec.m)
    exact = course.exact
    a, b = np.array([(belief.alpha, belief.beta) for belief in exact if isinstance(belief, NormalGamma)]).T
    return [
        (
            "update",
            "m = (κm + Σx)/(κ + n) = ({k:.4g}·{m:.4g} + {x:.4g})/({k:.4g} + {n:d}) = {c:.4g}",
            {"k": k, "m": m, "x": course.total, "n": n, "c": (k * m + course.total) / (k + n)},
        ),
        (
            "spread",
            "κ = {k:.4g} + {n:d} = {q:.4g}, α = α₀ + n/2 = {a:.4g}, β = β₀ + ½Σ(x−x̄)² + κn(x̄−m)²/(2(κ+n)) = {b:.4g}",
            {"k": k, "n": n, "q": k + n, "a": a, "b": b},
        ),
    ]


def _kinds(course: Course) -> list[Line]:
    seen = np.vstack([np.zeros(3), np.cumsum(course.x[:, None] == np.arange(1.0, 4.0), axis=0)])
    assert isinstance(course.prior, DirichletCategorical)
    prior = np.array(course.prior.a)
    values = {f"a{k}": np.full(course.steps, prior[k]) for k in range(3)}
    values |= {f"c{k}": seen[:, k] for k in range(3)} | {f"d{k}": prior[k] + seen[:, k] for k in range(3)}
    text = "posterior = Dirichlet(a + counts) = ({a0:.4g} + {c0:d}, {a1:.4g} + {c1:d}, {a2:.4g} + {c2:d})"
    return [("update", text + " = ({d0:.4g}, {d1:.4g}, {d2:.4g})", values)]


_SUMS = {
    "bernoulli": _coin,
    "poisson": _counts,
    "exponential": _waits,
    "precision": _precision,
    "mean": _mean,
    "both": _both,
    "categorical": _kinds,
}
