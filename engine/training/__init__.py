"""Networks trained the usual way, to compare posteriors with: optimisers, early stopping, dropout, ensembles, Laplace;
the perceptron; a pass through a network node by node.
"""

import numpy as np

from engine.networks import network
from engine.targets.gaussian import gaussian
from engine.training.descent import Descent, descend
from engine.training.ensemble import EnsembleRun, dropout_draws, ensemble
from engine.training.laplace import HESSIANS, Laplace, difference_hessian, gauss_newton, laplace
from engine.training.nodes import Nodes, activation, activation_slope, difference_gradient, forward, jacobian, pass_nodes
from engine.training.perceptron import Margin, PerceptronRun, learn, margin
from engine.training.train import RULES, Trained, TrainingRun, TrainingSpec, initial_parameters, map_decay, outgoing_units, train
from engine.variational.optimisers import AdaGrad, Adam, Momentum, RmsProp, Sgd

__all__ = [
    "HESSIANS",
    "RULES",
    "AdaGrad",
    "Adam",
    "Descent",
    "EnsembleRun",
    "Laplace",
    "Margin",
    "Momentum",
    "Nodes",
    "PerceptronRun",
    "RmsProp",
    "Sgd",
    "Trained",
    "TrainingRun",
    "TrainingSpec",
    "activation",
    "activation_slope",
    "descend",
    "difference_gradient",
    "difference_hessian",
    "dropout_draws",
    "ensemble",
    "forward",
    "gauss_newton",
    "initial_parameters",
    "jacobian",
    "laplace",
    "learn",
    "map_decay",
    "margin",
    "outgoing_units",
    "pass_nodes",
    "train",
    "warm",
]


def warm() -> None:
    """Run every kernel of training once, so that the cache holds it."""
    train(network(1, 1, width=1, likelihood="gaussian"), np.zeros((2, 1)), np.zeros(2), epochs=1)
    descend(gaussian(), Sgd(), np.zeros(2), steps=1)
