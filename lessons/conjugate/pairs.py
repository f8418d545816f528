"""What each pair is called, and its update as arithmetic with numbers filled in."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from engine.conjugate import DirichletCategorical, NormalGamma
from lessons.conjugate.analysis import Course
from lessons.conjugate.spec import WORDS

Array = NDArray[np.float64]
Line = tuple[str, str, dict[str, Any]]  # id, template, values


@dataclass(frozen=True)
class Terms:
    """How a pair is spoken of.

    model : the model and its prior
    observed : of one observation, with its unit
    unknowns : of each unknown, with its unit
    plane : titles of the two axes of the plane of imagined data
    worth : what the prior claims to have seen
    snap : a height clicked in the data panel → an observation
    low, high : the heights of the data panel, None from the data
    discrete : whether the observations are whole numbers
    """

    model: str
    observed: str
    unknowns: tuple[str, ...]
    plane: tuple[str, str]
    worth: str
    snap: Callable[[Array], Array]
    discrete: bool
    low: float | None = None
    high: float | None = None


def _terms(
    pair: str, snap: Callable[[Array], Array] = lambda x: x, *, discrete: bool, low: float | None = None, high: float | None = None
) -> Terms:
    words = WORDS[f"pairs.{pair}"]
    unknowns = tuple(words[name] for name in ("unknown", "unknown_2") if name in words)
    plane = words["plane_x"], words["plane_y"]
    return Terms(words["model"], words["observed"], unknowns, plane, words["worth"], snap, discrete, low, high)


TERMS: dict[str, Terms] = {
    "bernoulli": _terms("bernoulli", lambda x: (x >= 0.5).astype(float), discrete=True, low=-0.3, high=1.3),
    "poisson": _terms("poisson", lambda x: np.maximum(0.0, np.round(x)), discrete=True, low=-0.4),
    "exponential": _terms("exponential", lambda x: np.maximum(0.001, x), discrete=False, low=0.0),
    "precision": _terms("precision", discrete=False),
    "mean": _terms("mean", discrete=False),
    "both": _terms("both", discrete=False),
    "categorical": _terms("categorical", lambda x: np.clip(np.round(x), 1.0, 3.0), discrete=True, low=0.4, high=3.6),
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
        ("update", WORDS.phrase("pairs.bernoulli.update"), {"a": a, "h": heads, "b": b, "t": n - heads, "c": a + heads, "d": b + n - heads})
    ]
    if course.spec.alpha == course.spec.beta == 1.0:
        r = course.grid_point()
        lines.append(
            (
                "formula",
                WORDS.phrase("pairs.bernoulli.flat"),
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
    return [("update", WORDS.phrase("pairs.poisson.update"), values)]


def _waits(course: Course) -> list[Line]:
    a, b = _constant(course, course.spec.alpha, course.spec.beta)
    values = {"a": a, "n": course.n, "b": b, "x": course.total, "c": a + course.n, "d": b + course.total}
    return [("update", WORDS.phrase("pairs.exponential.update"), values)]


def _precision(course: Course) -> list[Line]:
    a, b = _constant(course, course.spec.alpha, course.spec.beta)
    squares = np.concatenate([[0.0], np.cumsum((course.x - course.spec.centre) ** 2)])
    half = 0.5 * course.n
    values = {"a": a, "n": half, "b": b, "x": 0.5 * squares, "c": a + half, "d": b + 0.5 * squares}
    return [("update", WORDS.phrase("pairs.precision.update"), values)]


def _mean(course: Course) -> list[Line]:
    spec = course.spec
    p, w, m = _constant(course, spec.s**-2, spec.sigma**-2, spec.m)
    precision = p + course.n * w
    return [
        ("precision", WORDS.phrase("pairs.mean.precision"), {"p": p, "n": course.n, "w": w, "q": precision, "s": precision**-0.5}),
        (
            "update",
            WORDS.phrase("pairs.mean.update"),
            {"p": p, "m": m, "w": w, "x": course.total, "q": precision, "c": (p * m + w * course.total) / precision},
        ),
    ]


def _both(course: Course) -> list[Line]:
    spec, n = course.spec, course.n
    k, m = _constant(course, spec.kappa, spec.m)
    exact = course.exact
    a, b = np.array([(belief.alpha, belief.beta) for belief in exact if isinstance(belief, NormalGamma)]).T
    return [
        ("update", WORDS.phrase("pairs.both.update"), {"k": k, "m": m, "x": course.total, "n": n, "c": (k * m + course.total) / (k + n)}),
        ("spread", WORDS.phrase("pairs.both.spread"), {"k": k, "n": n, "q": k + n, "a": a, "b": b}),
    ]


def _kinds(course: Course) -> list[Line]:
    seen = np.vstack([np.zeros(3), np.cumsum(course.x[:, None] == np.arange(1.0, 4.0), axis=0)])
    assert isinstance(course.prior, DirichletCategorical)
    prior = np.array(course.prior.a)
    values = {f"a{k}": np.full(course.steps, prior[k]) for k in range(3)}
    values |= {f"c{k}": seen[:, k] for k in range(3)} | {f"d{k}": prior[k] + seen[:, k] for k in range(3)}
    return [("update", WORDS.phrase("pairs.categorical.update"), values)]


_SUMS = {
    "bernoulli": _coin,
    "poisson": _counts,
    "exponential": _waits,
    "precision": _precision,
    "mean": _mean,
    "both": _both,
    "categorical": _kinds,
}
