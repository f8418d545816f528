"""Variational inference: fit a distribution with a distribution, by making a divergence small.

Divergences in both directions, coordinate ascent for conjugate pairs, stochastic gradients of the ELBO for any target,
and networks of any size trained by minibatches.
"""

from engine.variational.advi import ESTIMATORS, VARIANTS, Advi, AdviRun, Elbo, Fit, Inside, advi, elbo, gradients
from engine.variational.approximation import FAMILIES, Approximation, pack, unpack
from engine.variational.cavi import GaussianAscent, NormalGammaAscent, ascend_gaussian, ascend_normal_gamma
from engine.variational.convolution import (
    CONVOLUTION_METHODS,
    CONVOLUTION_VARIANTS,
    STEYN,
    ConvolutionFit,
    ConvolutionRun,
    ConvolutionSpec,
    fit_convolution,
    start_convolution,
)
from engine.variational.divergence import Descent, NormalMixture, descend, gaussian_kl, kl_from_p, kl_from_q
from engine.variational.network import METHODS, History, NetworkFit, NetworkRun, NetworkSpec, fit_network, start_network
from engine.variational.optimisers import OPTIMISERS, Adam, Decaying, ascend
from engine.variational.predict import MODES, Prediction
from engine.variational.rows import RowTarget, linear_regression, logistic_regression
from engine.variational.selection import Selection, select_model

__all__ = [
    "CONVOLUTION_METHODS",
    "CONVOLUTION_VARIANTS",
    "ESTIMATORS",
    "FAMILIES",
    "METHODS",
    "MODES",
    "OPTIMISERS",
    "STEYN",
    "VARIANTS",
    "Adam",
    "Advi",
    "AdviRun",
    "Approximation",
    "ConvolutionFit",
    "ConvolutionRun",
    "ConvolutionSpec",
    "Decaying",
    "Descent",
    "Elbo",
    "Fit",
    "GaussianAscent",
    "History",
    "Inside",
    "NetworkFit",
    "NetworkRun",
    "NetworkSpec",
    "NormalGammaAscent",
    "NormalMixture",
    "Prediction",
    "RowTarget",
    "Selection",
    "advi",
    "ascend",
    "ascend_gaussian",
    "ascend_normal_gamma",
    "descend",
    "elbo",
    "fit_convolution",
    "fit_network",
    "gaussian_kl",
    "gradients",
    "kl_from_p",
    "kl_from_q",
    "linear_regression",
    "logistic_regression",
    "pack",
    "select_model",
    "start_convolution",
    "start_network",
    "unpack",
]
