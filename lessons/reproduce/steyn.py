"""Steyn 2018: Newton steps, sizes of networks, and scores that rank alike."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np

from datasets.images import digits
from datasets.logistic import TRAIN, logistic_pairs
from engine import scores
from engine.logistic import newton, sigmoid
from engine.networks import network
from engine.spec import SpecError
from engine.variational import fit_network
from lessons.reproduce.experiment import A_PART, FULL, Cell, Experiment, Part, Source

AUTHOR = "Steyn"


def _place(place: str, topic: str, link: str, **words: Any) -> dict[str, Any]:
    return {"source": Source(author=AUTHOR, year=2018, place=place), "topic": topic, "link": link, **words}


# Newton ---------------------------------------------------------------------------------------------------------------

CRITERION, MOST_SETS = 5e-4, 400


def _newton(number: int, form: str) -> Part:
    pairs = logistic_pairs(seed=number)
    found = newton(pairs.x[:TRAIN], pairs.y[:TRAIN], tolerance=CRITERION)
    w = found.path[-1]
    said = sigmoid(w[0] + w[1] * pairs.x[TRAIN:]) > 0.5
    right = 100.0 * float((said == pairs.y[TRAIN:]).mean())
    return {"w0": float(w[0]), "w1": float(w[1]), "right": right, "steps": float(len(found.path) - 1)}


# Sizes ----------------------------------------------------------------------------------------------------------------


def weights_of(*layers: int) -> int:
    """Weights of a dense network, biases not counted."""
    return sum(a * b for a, b in pairwise(layers))


def flattened(side: int, filters: int, kernel: int, pool: int, times: int = 2) -> int:
    """Inputs of the dense layer behind `times` convolutions without padding, each with max-pooling of stride 2."""
    for _ in range(times):
        side = (side - kernel + 1 - pool) // 2 + 1
    return side * side * filters


def _sizes(number: int, form: str) -> Part:
    net = network(2, 1, width=5, depth=2, likelihood="bernoulli")
    biases = sum(count for _, count in net.layer_shapes)
    return {
        "small": float(net.dim - biases),
        "dense": float(weights_of(784, 600, 600, 10)),
        "flat": float(flattened(28, 32, 5, 2)),
        "flat, pooled by 3": float(flattened(28, 32, 5, 3)),
    }


# Scores ---------------------------------------------------------------------------------------------------------------

NETWORKS = 200


def _scores(number: int, form: str) -> Part:
    """γ(0.1) of three scores for one posterior on the bundled digits, and their gaps."""
    images = digits()
    fit = fit_network(images.x[:500], images.y[:500], method="gaussian", hidden=(30,), epochs=60, seed=number)
    prediction = fit.predict(images.x_test, samples=NETWORKS, seed=number)
    assert prediction is not None
    draws, y = prediction.draws.astype(np.float64), images.y_test
    wrong = draws.mean(axis=0).argmax(axis=1) != y
    if not wrong.any():
        raise SpecError("images", "no prediction is wrong")
    apart = scores.gamma(scores.inconsistency(draws), wrong)
    ga = scores.gamma(scores.gaussian_approximation(draws, scores.agreement_cutoff(draws, y)), wrong)
    return {"sd": scores.gamma(scores.predicted_sd(draws), wrong) - apart, "ga": ga - apart}


GAMMA_SETTINGS = ("mean-field posterior", "γ at α = 0.1", "cut-off of the Gaussian approximation from 90 % of the misread test images")
GAMMA_CHOSEN = ("8 × 8 digits and one layer of 30 units in place of MNIST", f"{NETWORKS} networks")


def _gaps(id: str, title: str, place: str, sd: float, ga: float, wrong: int) -> Experiment:
    # α is known to sqrt(0.1 * 0.9 / wrong); both scores are of the same images, so most of it is common to both
    return Experiment(
        id=id,
        title=title,
        **_place(place, "scores of uncertainty", "/scores?scenario=ga"),
        settings=GAMMA_SETTINGS,
        chosen=GAMMA_CHOSEN,
        parts=(6, 20),
        seconds=(15, 60),
        run=_scores,
        exact=lambda: {"ga": 0.0},
        cells=(
            Cell(
                key="ga",
                label="γ of GA − γ of inconsistency",
                printed=ga,
                half=0.001,
                because="GA falls strictly as agreement grows, so both rank alike",
            ),
            Cell(key="sd", label="γ of sd − γ of inconsistency", printed=sd, half=0.001, error=float(np.sqrt(0.09 / wrong)), like=A_PART),
        ),
        tolerance=f"GA falls as agreement grows and ranks as inconsistency does: no gap at all; α is known to its {wrong} misread images",
    )


EXPERIMENTS = (
    Experiment(
        id="steyn-4.1",
        title="Logistic regression by Newton's method",
        **_place("figures 4.1 to 4.3", "logistic regression", "/logistic?scenario=exact"),
        settings=("200 pairs, 150 to learn from", "w = (1, 2)", "criterion 5e−4", "start at 0"),
        chosen=("law of x: N(0, 1.5²)", "seed"),
        parts=(MOST_SETS // 4, MOST_SETS),
        seconds=(2, 5),
        run=_newton,
        cells=(
            Cell(key="w0", label="w0", printed=0.84, half=0.005, like=A_PART),
            Cell(key="w1", label="w1", printed=2.47, half=0.005, like=A_PART),
            Cell(key="right", label="test accuracy", printed=94.0, half=0.5, unit=" %", like=A_PART),
            Cell(key="steps", label="iterations", printed=500, half=0.5, like=A_PART),
        ),
        tolerance="one data set of theirs, which scatters as one of ours does",
    ),
    Experiment(
        id="steyn-sizes",
        title="Sizes of its networks",
        **_place("figure 6.12 and chapter 7", "sizes", "/weights"),
        settings=("2-5-5-1", "784-600-600-10", "two convolutions 5 × 5 of 32 filters, each with pooling 2 and stride 2"),
        chosen=("no padding",),
        run=_sizes,
        exact=lambda: {key: float(value) for key, value in _sizes(0, FULL).items()},
        cells=(
            Cell(key="small", label="weights of 2-5-5-1", printed=40, half=0.0),
            Cell(key="dense", label="weights of 784-600-600-10", printed=836_400, half=0.0),
            Cell(
                key="flat",
                label="inputs of the dense layer behind the convolutions",
                printed=288,
                half=0.0,
                instead="flat, pooled by 3",
                because="pooling windows of 3 with stride 2",
            ),
        ),
        tolerance="none: a count",
    ),
    _gaps("steyn-7.1", "γ(0.1) of scores that rank alike, dense network", "figures 7.3 to 7.9", 0.001, 0.113, 486),
    _gaps("steyn-7.2", "γ(0.1) of scores that rank alike, convolutions", "figures 7.12 to 7.17", 0.003, 0.059, 182),
)
