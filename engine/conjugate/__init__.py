"""Conjugate pairs: exact updates, evidence and predictions, the same posterior by quadrature, and as a target."""

from engine.conjugate.beliefs import (
    PAIRS,
    AlphaBeta,
    Belief,
    BetaBernoulli,
    DirichletCategorical,
    GammaExponential,
    GammaNormal,
    GammaPoisson,
    NormalGamma,
    NormalMean,
)
from engine.conjugate.posterior import posterior
from engine.conjugate.quadrature import Quadrature, integrate

__all__ = [
    "PAIRS",
    "AlphaBeta",
    "Belief",
    "BetaBernoulli",
    "DirichletCategorical",
    "GammaExponential",
    "GammaNormal",
    "GammaPoisson",
    "NormalGamma",
    "NormalMean",
    "Quadrature",
    "integrate",
    "posterior",
]
