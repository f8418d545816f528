"""What decides the picture of this lesson: a target, a family of distributions, and how the best of it is found."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from app.kit.words import Words
from datasets.logistic import logistic_pairs
from engine.conjugate.beliefs import NormalGamma
from engine.spec import SpecError, choice, integer, number, seed_field, text
from engine.targets import build, normal_gamma
from engine.targets.spec import TargetSpec
from engine.targets.target import Target
from engine.variational import FAMILIES, VARIANTS, Adam, Advi, Decaying, NormalMixture
from engine.variational.logistic import simple_logistic_regression

WORDS = Words(__file__)

METHODS = ("advi", "cavi", "kl")
TARGETS = ("gaussian", "logistic", "precision", "banana", "two_modes", "formula")
PAIRS = ("gaussian", "precision")
PARAMETERS = {
    "gaussian": ("correlation", "scale_ratio"),
    "logistic": ("rows", "prior_sd"),
    "precision": ("measurements",),
    "banana": ("width", "curvature"),
    "two_modes": ("separation", "weight"),
    "formula": ("formula",),
}
VIEWS = ("elbo", "marginals", "gradients")
ESTIMATORS = ("reparameterised", "score", "score_control")
OPTIMISERS = ("adam", "decaying")
DATA_SEED = 3
NODES = 161  # of the grid that adds up the logistic posterior, a side
PRIOR = NormalGamma(m=0.0, kappa=0.1, alpha=1.0, beta=1.0)  # of mean and precision


@dataclass(frozen=True, kw_only=True)
class VariationalLesson(TargetSpec):
    """One fit. Fields of other methods and targets are kept and ignored."""

    method: str = choice("advi", METHODS, "stochastic gradients, coordinate ascent, or the two divergences on a line")
    target: str = choice("gaussian", TARGETS, "what is fitted: a density in the plane, or the posterior of a model")
    pair: str = choice("gaussian", PAIRS, "what coordinate ascent fits: a Gaussian, or mean and precision of data")
    dimension: int = integer(2, 2, 2, "this lesson shows the whole density, so it stays in the plane")
    rows: int = integer(40, 5, 150, "pairs (x, y) of the logistic regression", log=True)
    prior_sd: float = number(2.0, 0.2, 10.0, "prior sd of both weights of the logistic regression", log=True)
    measurements: str = text("4.6, 6.9, 3.1, 5.4", 160, "measurements y of one normal quantity, with commas between")
    family: str = choice("mean_field", FAMILIES, "q: independent coordinates, or a full covariance matrix")
    samples: int = integer(10, 1, 40, "points drawn from q for one step", log=True)
    estimator: str = choice("reparameterised", ESTIMATORS, "how a step's gradient is estimated from the points")
    optimiser: str = choice("adam", OPTIMISERS, "Adam, or steps that shrink like 1/√t (Steyn 2018, eq. 5.14)")
    step_size: float = number(0.1, 0.001, 100.0, "length of a step", log=True)
    steps: int = integer(200, 20, 1000, "steps of the optimiser", log=True)
    batch: int = integer(0, 0, 100, "rows of data looked at in one step, 0 for all of them")
    start_x: float = number(0.0, -20.0, 20.0, "mean of q at the start, first coordinate", step=0.1)
    start_y: float = number(0.0, -20.0, 20.0, "mean of q at the start, second coordinate", step=0.1)
    start_sd: float = number(1.0, 0.05, 10.0, "sd of q at the start, in both coordinates", log=True)
    sweeps: int = integer(8, 1, 30, "sweeps of coordinate ascent over both coordinates")
    view: str = choice("elbo", VIEWS, "what stands beside the map")
    variant: str = choice("exact", VARIANTS, "the right gradient, or one with a well-known mistake")
    seed: int = seed_field()

    def check(self) -> None:
        super().check()
        if self.method != "advi":
            if self.method == "cavi" and self.pair == "precision":
                self.measured()
            return
        self.checked_target()
        if self.estimator == "score_control" and self.samples < 2:
            raise SpecError("samples", "a control variate needs the other points of the step: at least 2")
        if self.variant == "no_jacobian" and self.target != "precision":
            raise SpecError("variant", "only the target “precision” has a transformed coordinate to forget about")
        if self.variant == "no_scaling" and not self.minibatch:
            raise SpecError("variant", "there is a scaling to forget only where minibatches are drawn from data")

    @property
    def minibatch(self) -> int | None:
        """Rows of a minibatch, or None where every step sees all data."""
        if self.target != "logistic" or self.batch == 0 or self.batch >= self.rows:
            return None
        return self.batch

    @property
    def supports(self) -> tuple[str, str]:
        """Of both coordinates."""
        return ("real", "positive" if self.target == "precision" else "real")

    def simulation(self) -> VariationalLesson:
        """The part that decides the run: the same for every way of looking at it."""
        return self.replace(view="elbo")

    def settings(self) -> Advi:
        """Of the fit."""
        optimiser = {"adam": Adam, "decaying": Decaying}[self.optimiser]
        return Advi(
            family=self.family,
            samples=self.samples,
            optimiser=optimiser(step_size=self.step_size),
            estimator="reparameterised" if self.estimator == "reparameterised" else "score",
            control_variate=self.estimator == "score_control",
            supports=self.supports,
            batch=self.minibatch,
            init=(self.start_x, self.start_y),
            init_sd=self.start_sd,
            variant=self.variant,
        )

    def build_target(self) -> Target:
        """The target; the same object for the same parameters."""
        if self.target == "logistic":
            return _logistic(self.rows, self.prior_sd)
        if self.target == "precision":
            return _precision(self.measured())
        return build(self.target, **{name: getattr(self, name) for name in PARAMETERS[self.target]})

    def measured(self) -> tuple[float, ...]:
        """The measurements. Raises SpecError naming the entry that is wrong."""
        entries = [entry.strip() for entry in self.measurements.split(",")]
        values = []
        for position, entry in enumerate(entries, start=1):
            try:
                values.append(float(entry))
            except ValueError:
                raise SpecError("measurements", f"entry {position}, “{entry[:20]}”, is not a number") from None
        if not 2 <= len(values) <= 40 or not np.all(np.abs(values) < 1e6):
            raise SpecError("measurements", "give 2 to 40 numbers below a million, with commas between")
        if np.ptp(values) == 0.0:
            raise SpecError("measurements", "all are the same, so they say nothing about a spread")
        return tuple(values)

    def mixture(self) -> NormalMixture:
        """The two modes on a line: weight and distance as in the plane, sds 1."""
        half = 0.5 * self.separation
        return NormalMixture.of([self.weight, 1.0 - self.weight], [-half, half], [1.0, 1.0])


@lru_cache(maxsize=32)
def _logistic(rows: int, prior_sd: float) -> Target:
    """Posterior of a logistic regression, with its truth added up on a grid."""
    pairs = logistic_pairs(rows, seed=DATA_SEED)
    return simple_logistic_regression(pairs.x, pairs.y, prior_sd=prior_sd, nodes=NODES)


@lru_cache(maxsize=32)
def _precision(y: tuple[float, ...]) -> Target:
    """Posterior of mean and precision of normal data."""
    found = PRIOR.update(y)
    return normal_gamma(mean=found.m, kappa=found.kappa, shape=found.alpha, rate=found.beta)


FIT = VariationalLesson(target="logistic", rows=40, start_x=-1.5, start_y=-0.5, start_sd=0.3, steps=200, seed=1)
RIDGE = VariationalLesson(correlation=0.9, steps=200, start_x=-2.0, start_y=1.0, view="marginals", seed=2)
MODES = VariationalLesson(method="kl", separation=7.0, weight=0.6, start_x=1.0, start_sd=1.0)
SCORE = VariationalLesson(target="logistic", start_x=-0.5, start_sd=0.5, estimator="score", step_size=0.03, view="gradients", seed=3)
PRECISION = VariationalLesson(target="precision", start_x=3.0, start_sd=0.6, view="marginals", steps=300, step_size=0.05, seed=4)

SCENARIOS = WORDS.scenarios(
    {
        "fit": FIT,
        "modes": MODES,
        "mean-field": RIDGE,
        "full-rank": RIDGE.replace(family="full_rank", steps=300),
        "coordinates": VariationalLesson(method="cavi", correlation=0.9, start_x=-2.5, start_y=2.0, sweeps=10),
        "mean-precision": VariationalLesson(method="cavi", pair="precision", start_x=0.0, start_sd=1.0, sweeps=6),
        "score": SCORE,
        "too-big": FIT.replace(step_size=3.0, samples=3, steps=200),
        "three": VariationalLesson(
            target="logistic", rows=10, prior_sd=5.0, family="full_rank", start_sd=0.5, view="marginals", steps=300, step_size=0.05, seed=5
        ),
        "jacobian": PRECISION.replace(variant="no_jacobian"),
        "minibatch": FIT.replace(rows=100, batch=10, variant="no_scaling", step_size=0.05, steps=400),
    }
)
