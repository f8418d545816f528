"""What decides the picture of this lesson: a pair, a prior and a rival, data, and how they are looked at."""

from __future__ import annotations

import dataclasses
import math
import re
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from app.kit.words import Words
from datasets import coin, counts, kinds, measurements, waiting_times
from engine.conjugate import PAIRS, AlphaBeta, Belief, DirichletCategorical, NormalGamma, NormalMean
from engine.spec import Spec, SpecError, choice, integer, number, seed_field, text

WORDS = Words(__file__)

Array = NDArray[np.float64]

MAX_DATA = 300  # observations that the page plays one by one
KINDS = 3
LENGTH = 2400  # characters of a row of data

FIELDS = {
    "bernoulli": ("alpha", "beta"),
    "poisson": ("alpha", "beta"),
    "exponential": ("alpha", "beta"),
    "precision": ("alpha", "beta", "centre"),
    "mean": ("m", "s", "sigma"),
    "both": ("m", "kappa", "alpha", "beta"),
    "categorical": ("a1", "a2", "a3"),
}  # hyperparameters of each pair, the two of the plane of imagined data first
DATA = {
    "bernoulli": "flips",
    "poisson": "counts",
    "exponential": "waits",
    "precision": "values",
    "mean": "values",
    "both": "values",
    "categorical": "kinds",
}  # the field that holds each pair's observations
MISTAKES = ("none", "twice", "scale", "miscount")


def written(x: Array) -> str:
    """Observations as the text of a data field, with four digits."""
    return " ".join(f"{value:.4g}" for value in x)


@dataclass(frozen=True, kw_only=True)
class ConjugateLesson(Spec):
    """A conjugate pair with its prior, a rival prior, and data that arrive one by one."""

    pair: str = choice("bernoulli", tuple(PAIRS), "what is observed, and what is unknown about it")

    alpha: float = number(6.0, 0.5, 500.0, "α of the Beta or Gamma prior: what it claims to have counted", log=True)
    beta: float = number(6.0, 0.5, 500.0, "β of the Beta prior, or the rate β of the Gamma prior", log=True)
    m: float = number(0.0, -100.0, 100.0, "mean of the prior for μ", step=0.1)
    s: float = number(1.0, 0.05, 100.0, "standard deviation of the prior for μ", log=True)
    sigma: float = number(1.0, 0.05, 100.0, "standard deviation of one observation, known", log=True)
    centre: float = number(5.0, -100.0, 100.0, "mean of the observations, known", step=0.1)
    kappa: float = number(1.0, 0.1, 500.0, "how many observations the prior mean counts for", log=True)
    a1: float = number(2.0, 0.5, 500.0, "imagined observations of kind 1", log=True)
    a2: float = number(2.0, 0.5, 500.0, "imagined observations of kind 2", log=True)
    a3: float = number(2.0, 0.5, 500.0, "imagined observations of kind 3", log=True)
    rival_1: float = number(1.0, -100.0, 500.0, "the rival prior's first number in the plane of imagined data")
    rival_2: float = number(1.0, 0.0001, 500.0, "the rival prior's second number in the plane of imagined data")

    flips: str = text(written(coin(20, 0.7, seed=3).x), LENGTH, "1 or H for heads, 0 or T for tails")
    counts: str = text(written(counts().x), LENGTH, "whole numbers from 0")
    waits: str = text(written(waiting_times(30, 0.5, seed=2).x), LENGTH, "times from 0, in minutes")
    values: str = text(written(measurements(12, seed=4).x), LENGTH, "any numbers")
    kinds: str = text(written(kinds(30, seed=2).x), LENGTH, f"whole numbers from 1 to {KINDS}")
    p_true: float = number(0.7, 0.0, 1.0, "probability of heads that the flip buttons use", step=0.01)
    rate_true: float = number(0.6, 0.01, 50.0, "rate that the draw buttons use", log=True)
    mean_true: float = number(5.0, -100.0, 100.0, "mean that the draw buttons use", step=0.1)
    sd_true: float = number(1.0, 0.05, 100.0, "standard deviation that the draw buttons use", log=True)

    play: str = choice("data", ("data", "walk"), "what moves: the data arriving, or a random-walk Metropolis chain")
    likelihood: str = choice(
        "all", ("all", "newest"), "prior and likelihood of all data so far, or yesterday's posterior and the newest point"
    )
    view: str = choice("next", ("next", "evidence", "estimate"), "what stands at the lower right")
    unknown: int = integer(1, 1, 2, "which unknown is shown, where a pair has two")
    truth: str = choice("off", ("off", "on"), "mark the value that the draw buttons use")
    mistake: str = choice("none", MISTAKES, "a classic mistake, made on purpose")
    step: float = number(2.4, 0.02, 30.0, "sd of the Metropolis proposal, in sd of the exact posterior", log=True)
    draws: int = integer(3000, 100, 5000, "transitions of the Metropolis chain", log=True)
    seed: int = seed_field()

    def check(self) -> None:
        self.observations()
        self.prior()
        self.rival()

    def observations(self) -> Array:
        """(n,) the data of the present pair. Raises SpecError that names their field."""
        name = DATA[self.pair]
        x = read(name, getattr(self, name))
        try:
            return self.prior().observations(x)
        except SpecError as error:
            raise SpecError(name if error.parameter == "data" else error.parameter, error.reason) from None

    def prior(self) -> Belief:
        """The belief before the data."""
        if self.pair == "categorical":
            return DirichletCategorical((self.a1, self.a2, self.a3))
        return PAIRS[self.pair](**{name: getattr(self, name) for name in FIELDS[self.pair]})

    def rival(self) -> Belief:
        """Another belief before the data: the rival's two numbers, the rest as in the prior."""
        try:
            return at_plane(self.prior(), (self.rival_1, self.rival_2))
        except SpecError as error:
            raise SpecError(f"rival_{1 + (error.parameter != FIELDS[self.pair][0])}", error.reason) from None

    def shown(self) -> int:
        """Index of the unknown shown."""
        return min(self.unknown, self.prior().dim) - 1


def read(name: str, row: str) -> Array:
    """The observations in a text: numbers, H and T, split by blanks or commas; `0*12` is twelve zeros. Raises SpecError
    that names the field.
    """
    values: list[float] = []
    for token in re.split(r"[\s,;]+", row.strip()):
        if not token:
            continue
        found = re.fullmatch(r"([+-]?[\w.+-]+?)(?:\*(\d{1,12}))?", token)
        try:
            if found is None:
                raise ValueError(token)
            value = {"H": 1.0, "T": 0.0}.get(found[1].upper())
            value = float(found[1]) if value is None else value
        except ValueError:
            raise SpecError(name, f"“{token[:20]}” is not a number") from None
        if not math.isfinite(value):
            raise SpecError(name, f"“{token[:20]}” is not a finite number")
        times = int(found[2] or 1)
        if len(values) + times > MAX_DATA:
            raise SpecError(name, f"{len(values) + times:,} observations are more than the {MAX_DATA} allowed here")
        values += [value] * times
    if not values:
        raise SpecError(name, "is empty: give at least one observation")
    return np.array(values)


def in_plane(belief: Belief) -> tuple[float, float]:
    """A belief in the plane of imagined data: two numbers that observations add to. For a normal mean with known sd
    they are its mean and how many observations it is worth.
    """
    if isinstance(belief, DirichletCategorical):
        return belief.a[0], belief.a[1]
    if isinstance(belief, NormalMean):
        return belief.m, (belief.sigma / belief.s) ** 2
    if isinstance(belief, NormalGamma):
        return belief.m, belief.kappa
    assert isinstance(belief, AlphaBeta)
    return belief.alpha, belief.beta


def at_plane(belief: Belief, place: tuple[float, float]) -> Belief:
    """The belief moved to `place` of that plane. Raises SpecError where there is none."""
    one, two = (float(value) for value in place)
    if isinstance(belief, DirichletCategorical):
        return dataclasses.replace(belief, a=(one, two, *belief.a[2:]))
    if isinstance(belief, NormalMean):
        if not two > 0.0:
            raise SpecError("s", f"a prior cannot be worth {two:g} observations")
        return dataclasses.replace(belief, m=one, s=belief.sigma / math.sqrt(two))
    if isinstance(belief, NormalGamma):
        return dataclasses.replace(belief, m=one, kappa=two)
    assert isinstance(belief, AlphaBeta)
    return dataclasses.replace(belief, alpha=one, beta=two)


def moved(spec: ConjugateLesson, place: tuple[float, float]) -> dict[str, float]:
    """The fields that move the prior to `place`, kept within what they may hold (a hand cannot aim at a bound)."""
    one, two = place
    if spec.pair == "mean":
        two = spec.sigma / math.sqrt(max(two, 1e-6))
    names = FIELDS[spec.pair][:2]
    return {name: _kept(spec, name, value) for name, value in zip(names, (one, two), strict=True)}


def moved_rival(spec: ConjugateLesson, place: tuple[float, float]) -> dict[str, float]:
    """The fields that move the rival to `place`, kept within what they may hold."""
    low = 0.5 if spec.pair not in ("mean", "both") else -100.0
    return {
        "rival_1": max(low, _kept(spec, "rival_1", place[0])),
        "rival_2": max(0.5 if low > 0.0 else 0.01, _kept(spec, "rival_2", place[1])),
    }


def _kept(spec: ConjugateLesson, name: str, value: float) -> float:
    declared = spec.declarations()[name]
    return float(np.clip(float(f"{value:.3g}"), declared.low, declared.high))


BIASED = written(coin(20, 0.7, seed=3).x)
HUNDRED = written(measurements(100, 5.0, 1.0, seed=2).x)

COIN = ConjugateLesson(pair="bernoulli", alpha=6.0, beta=6.0, flips=BIASED)
NARROW = ConjugateLesson(pair="mean", m=4.0, s=0.1, sigma=1.0, values=HUNDRED, rival_1=0.0, rival_2=0.01, truth="on")
WAITS = ConjugateLesson(pair="exponential", alpha=2.0, beta=2.0, rate_true=0.5, waits=written(waiting_times(30, 0.5, seed=2).x), truth="on")

SCENARIOS = WORDS.scenarios(
    {
        "coin": COIN.replace(view="evidence"),
        "flat": COIN.replace(alpha=1.0, beta=1.0, rival_1=6.0, rival_2=6.0, likelihood="newest", view="evidence"),
        "counts": ConjugateLesson(pair="poisson", alpha=2.0, beta=1.0, rival_1=20.0, rival_2=10.0, counts=written(counts().x), view="next"),
        "waits": WAITS,
        "narrow": NARROW,
        "vague": NARROW.replace(m=0.0, s=10.0, rival_1=4.0, rival_2=100.0),
        "spread": ConjugateLesson(
            pair="precision",
            centre=5.0,
            alpha=2.0,
            beta=2.0,
            rival_1=1.0,
            rival_2=0.5,
            truth="on",
            values=written(measurements(40, 5.0, 1.0, seed=4).x),
            view="estimate",
        ),
        "both": ConjugateLesson(
            pair="both",
            m=4.0,
            kappa=1.0,
            alpha=2.0,
            beta=2.0,
            rival_1=4.0,
            rival_2=20.0,
            truth="on",
            values=written(measurements(25, 5.0, 1.0, seed=6).x),
            view="estimate",
        ),
        "kinds": ConjugateLesson(
            pair="categorical", rival_1=20.0, rival_2=2.0, kinds=written(kinds(30, (0.5, 0.3, 0.2), seed=2).x), truth="on"
        ),
        "twice": COIN.replace(mistake="twice", view="estimate"),
        "rate": WAITS.replace(mistake="scale", view="next"),
    }
)
