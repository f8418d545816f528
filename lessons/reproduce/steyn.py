"""Steyn 2018: Newton steps, sizes of networks, and scores that rank alike."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from datasets.images import Images, digits
from datasets.logistic import TRAIN, logistic_pairs
from engine import scores
from engine.logistic import newton, sigmoid
from engine.networks import network
from engine.spec import SpecError
from engine.variational import STEYN, NetworkFit, fit_network, start_convolution, start_network
from lessons.reproduce import data
from lessons.reproduce.experiment import A_PART, FULL, Cell, Experiment, Part, Source
from lessons.reproduce.trained import state_path, trained

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


# MNIST ----------------------------------------------------------------------------------------------------------------

LEARNT, BATCH = 50_000, 1_000  # the first of the 60,000 images; which 50,000 is not printed
EPOCHS = {"steyn-7.3": (10, 100), "steyn-7.4": (4, 2_000)}  # quick, full
DRAWS = 100  # networks; 1,000 in the full form, as printed
AT_ONCE = 1_000  # test images whose probabilities are held by every network
# Small standard deviations at the start: the means learn before the noise has grown. Adam in place of the decaying step.
TRAINING = {"method": "gaussian", "prior_sd": 1.0, "batch": BATCH, "step_size": 1e-3, "initial_sd": 0.01}


def _mnist(id: str) -> Callable[[int, str], Part]:
    def run(number: int, form: str) -> Part:
        images = data.images("mnist").some(LEARNT)
        settings: dict[str, Any] = TRAINING | {"epochs": EPOCHS[id][form == FULL], "seed": number}
        if id == "steyn-7.4":
            training = trained(state_path(id, form, str(number)), lambda: start_convolution(images.x, images.y, **settings, **STEYN))
        else:
            training = trained(state_path(id, form, str(number)), lambda: start_network(images.x, images.y, hidden=(600, 600), **settings))
        return _judged(training.fit(), images, 1_000 if form == FULL else DRAWS, number)

    return run


def _judged(fit: NetworkFit, images: Images, draws: int, seed: int) -> Part:
    """Accuracy in %, γ(0.1) of the scores, and how many test images are misread by a majority above 95 %."""
    mean: list[NDArray] = []
    found: dict[str, list[NDArray]] = {"sd": [], "inconsistency": []}
    x, y = images.x_test, images.y_test
    for begin in range(0, len(x), AT_ONCE):
        prediction = fit.predict(x[begin : begin + AT_ONCE], samples=draws, seed=seed)
        assert prediction is not None
        mean.append(prediction.mean)
        found["sd"].append(scores.predicted_sd(prediction.draws))
        found["inconsistency"].append(scores.inconsistency(prediction.draws))
    labels = np.concatenate(mean).argmax(axis=1)
    wrong = labels != y
    apart = {name: np.concatenate(parts) for name, parts in found.items()}
    return {
        "right": 100.0 * float((~wrong).mean()),
        "sd": scores.gamma(apart["sd"], wrong),
        "inconsistency": scores.gamma(apart["inconsistency"], wrong),
        "sure": float((wrong & (apart["inconsistency"] < 0.05)).sum()),
    }


def _trained(id: str, network: str, right: float, sd: float, inconsistency: float, **words: Any) -> Experiment:
    wrong = round(100 * (100.0 - right))  # of the 10,000 test images
    return Experiment(
        id=id,
        **words,
        settings=(network, "50,000 images to learn from, 10,000 to test on", "batches of 1,000", "mean field, N(0, 1)", "1,000 networks"),
        chosen=(
            "the first 50,000 images, ink from 0 to 1",
            "Adam, 0.001; local reparameterisation",
            f"full length: {EPOCHS[id][1]:,} epochs; the quick form has {EPOCHS[id][0]}, and {DRAWS} networks: not run at full length",
        ),
        needs=("mnist",),
        parts=(1, 5),
        run=_mnist(id),
        cells=(
            Cell(key="right", label="test accuracy", printed=right, half=0.005, unit=" %", error=_share(right), like=A_PART),
            Cell(key="sd", label="γ(0.1) of the sd", printed=sd, half=0.0005, error=float(np.sqrt(0.09 / wrong)), like=A_PART),
            Cell(
                key="inconsistency",
                label="γ(0.1) of inconsistency",
                printed=inconsistency,
                half=0.0005,
                error=float(np.sqrt(0.09 / wrong)),
                like=A_PART,
            ),
        ),
        tolerance="10,000 test images, of which the misread ones tell where α is 0.1",
    )


def _share(right: float) -> float:
    """Standard error of an accuracy in %, of 10,000 images."""
    return float(np.sqrt(right * (100.0 - right) / 10_000))


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
    _trained(
        "steyn-7.3",
        "784-600-600-10",
        95.14,
        0.866,
        0.865,
        title="MNIST by a dense network",
        seconds=(300, 9_000),
        **_place("figures 7.1 to 7.6", "MNIST", "/digits"),
    ),
    _trained(
        "steyn-7.4",
        "28 × 28, two convolutions 5 × 5 of 32 filters with pooling 2, 512-256-10",
        98.18,
        0.934,
        0.931,
        title="MNIST by convolutions",
        seconds=(500, 250_000),
        **_place("figures 7.11 to 7.15", "MNIST", "/digits"),
    ),
)
