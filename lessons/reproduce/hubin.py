"""Hubin and Storvik 2019: what their densities say of their network, and weights that no data reach."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from datasets.images import Images, digits
from engine.variational import NetworkFit, NetworkRun, fit_network, start_network
from engine.variational.spike_and_slab_network import prior_inclusion
from lessons.reproduce import data
from lessons.reproduce.experiment import A_PART, FULL, Cell, Experiment, NotRun, Part, Source
from lessons.reproduce.trained import state_path, trained

AUTHOR = "Hubin, Storvik"
PRINTED = (784, 400, 600, 600, 10)  # the network of the text
CODED = (784, 400, 600, 10)  # that of its public code
# table 2: mean inclusion probability of each layer, median of ten simulations
MNIST, FASHION = (0.0520, 0.0598, 0.2217), (0.0665, 0.0613, 0.2013)
MNIST_SD, FASHION_SD = (0.0005, 0.0003, 0.0064), (0.0004, 0.0005, 0.0051)  # over the simulations
SINGLE, MEDIAN = 0.057, 0.051  # table 1, densities of one draw and of the median model, MNIST
AVERAGED = 10  # networks of a model average


def _place(place: str, title: str, **words: Any) -> dict[str, Any]:
    return {
        "source": Source(author=AUTHOR, year=2019, place=place),
        "topic": "spike and slab",
        "title": title,
        "link": "/spike-and-slab?scenario=digits",
        **words,
    }


def density(layers: Sequence[int], inclusion: Sequence[float]) -> float:
    """Share of weights that are in, from a mean inclusion probability for each layer of weights."""
    sizes = [a * b for a, b in pairwise(layers)]
    return float(np.dot(sizes, inclusion) / sum(sizes))


def _densities(number: int, form: str) -> Part:
    # its table has three rows; with the four layers of the text the third is the one that the fourth, with nothing in
    # it, makes the least
    return {
        "mnist": density(PRINTED, (*MNIST, 0.0)),
        "fashion": density(PRINTED, (*FASHION, 0.0)),
        "mnist, coded": density(CODED, MNIST),
        "fashion, coded": density(CODED, FASHION),
    }


def never_inked() -> int:
    """Pixels of MNIST that are paper in every image to learn from."""
    return int((data.images("mnist").images.max(axis=0) == 0).sum())


@cache
def _unreached() -> dict[str, float]:
    prior, weights = prior_inclusion("aic", 1), sum(a * b for a, b in pairwise(CODED))
    reached = 1.0 - (1.0 - prior) ** AVERAGED
    idle = never_inked() * CODED[1]
    return {
        "union": MEDIAN + idle / weights * reached,
        "union, printed": MEDIAN + idle / sum(a * b for a, b in pairwise(PRINTED)) * reached,
    }


def _averaged(number: int, form: str) -> Part:
    return dict(_unreached())


def _dead_weights(number: int, form: str) -> Part:
    """Mean inclusion of weights that leave a pixel that is never inked, after training on the bundled digits."""
    images = digits()
    x, y = images.x, images.y
    fit = fit_network(
        x,
        y,
        method="spike_and_slab",
        hidden=(30,),
        epochs=400 if form == FULL else 150,
        inclusion_prior="aic",
        step_size=0.05,
        inclusion_step_size=0.1,
        final_step_size=0.02,
        seed=number,
    )
    dead = np.flatnonzero(x.max(axis=0) == 0.0)
    return {"inclusion": float(fit.inclusion_probabilities()[0][dead].mean())}


# MNIST at the size of the public code ---------------------------------------------------------------------------------

TRAINED = {False: (10, 2), True: (250, 50)}  # epochs, and of post-training; of the quick form, and as printed
# Printed are the rates; start and temperature are those of the public code.
FULL_SETTINGS = {
    "estimator": "relaxed",
    "temperature": 0.001,
    "step_size": 1e-4,
    "inclusion_step_size": 0.1,
    "final_step_size": 1.0,
    "initial_sd": 0.012,
    "initial_inclusion": 0.62,
}
QUICK_SETTINGS = {"step_size": 1e-3, "inclusion_step_size": 0.02, "initial_sd": 0.005, "initial_inclusion": 0.5}


def _slab(number: int, form: str) -> Part:
    """Accuracies and densities of table 1, mean inclusion by layer of table 2, and of the weights that no pixel feeds."""
    images, full = data.images("mnist"), form == FULL
    x, y = images.x, images.y
    epochs, more = TRAINED[full]
    settings: dict[str, Any] = FULL_SETTINGS if full else QUICK_SETTINGS

    def state(name: str) -> Path:
        return state_path("hubin-table-1", form, f"{number}{name}")

    def begin() -> NetworkRun:
        return start_network(x, y, hidden=CODED[1:-1], method="spike_and_slab", epochs=epochs, seed=number, **settings)

    run = trained(state(""), begin)
    fit = run.fit()
    found: dict[str, Any] = {}
    for mode in ("SM", "MA", "MED", "MEAN"):
        found |= _read(fit, images, mode, mode)
    layers = [layer[:-1] for layer in fit.inclusion_probabilities()]
    found |= {f"layer {depth}": float(layer.mean()) for depth, layer in enumerate(layers, start=1)}
    found["never inked"] = float(layers[0][x.max(axis=0) == 0.0].mean())
    for mode, mask in (("MA", "probabilities"), ("MED", "median")):
        after = trained(state(f"-{mask}"), lambda mask=mask: run.post_train(mask, more, step_size=1e-4 if full else None))  # type: ignore[misc]
        found |= _read(after.fit(), images, mode, f"{mode} post")
    return found


def _read(fit: NetworkFit, images: Images, mode: str, name: str) -> Part:
    prediction = fit.predict(images.x_test, mode, samples=AVERAGED, seed=1)
    assert prediction is not None
    return {name: prediction.accuracy(images.y_test), f"{name} density": prediction.density}


def _table(rows: Sequence[tuple[str, str, float, float]]) -> tuple[Cell, ...]:
    """Accuracies, with the error that 10,000 test images give, and their densities."""
    cells = []
    for key, label, accuracy, dense in rows:
        error = math.sqrt(accuracy * (1.0 - accuracy) / 10_000)
        cells.append(Cell(key=key, label=f"accuracy, {label}", printed=accuracy, half=0.0005, error=error, like=A_PART))
        cells.append(Cell(key=f"{key} density", label=f"density, {label}", printed=dense, half=0.0005, like=A_PART))
    return tuple(cells)


def _of_medians(sds: Sequence[float]) -> float:
    """Standard error of the gap of two densities, each a median of ten simulations, from the printed sds of the layers."""
    sizes = np.array([a * b for a, b in pairwise(CODED)], dtype=np.float64)
    sd = float(np.linalg.norm(sizes * sds) / sizes.sum())
    return sd * math.sqrt(math.pi / 2.0 / 10.0) * math.sqrt(2.0)


ENOUGH = {"": 0.002, ", looser": 0.01}  # of accuracy, away from that of 60 draws


def _draws(number: int, form: str) -> Part:
    """Draws of the network after which the accuracy of their average stays within a limit of that of 60."""
    images = digits()
    fit = fit_network(images.x, images.y, method="spike_and_slab", hidden=(30,), epochs=150, inclusion_prior="aic", seed=number)
    predicted = fit.predict(images.x_test, samples=MOST_DRAWS, seed=number)
    assert predicted is not None
    total = np.cumsum(predicted.draws, axis=0, dtype=np.float64)
    right = (total.argmax(axis=2) == images.y_test).mean(axis=1)
    found: Part = {}
    for suffix, limit in ENOUGH.items():
        away = np.flatnonzero(np.abs(right - right[-1]) > limit)
        found["draws" + suffix] = float(away[-1] + 2 if len(away) else 1)
    return found


MOST_DRAWS = 60

# Families and modes on small images -----------------------------------------------------------------------------------

SMALL: dict[str, Any] = {"hidden": (50,), "epochs": 150}
FAMILIES = {
    "spike_and_slab": "spike and slab",
    "gaussian": "dense Gaussian",
    "mixture": "dense mixture",
    "concrete_dropout": "concrete dropout",
}
LONGER, LONG = 4, ", longer"
MORE = 30  # epochs of post-training, as 50 of 250 are there


def _families(number: int, form: str) -> Part:
    """What averaging ten networks adds to one, by family; of spike and slab also the other modes, densities and layers."""
    images = digits()
    found: Part = {}
    for family in FAMILIES:
        more: dict[str, Any] = {"inclusion_prior": "aic"} if family == "spike_and_slab" else {}
        run = start_network(images.x, images.y, method=family, seed=number, **SMALL, **more)
        run.advance(run.total)
        fit = run.fit()
        read = {name: part for mode in ("SM", "MA", "MEAN") for name, part in _read(fit, images, mode, mode).items()}
        found[f"{family} MA"] = 100.0 * (read["MA"] - read["SM"])
        found[f"{family} MEAN"] = 100.0 * (read["MEAN"] - read["SM"])
        if family != "spike_and_slab":
            continue
        read |= _read(fit, images, "MED", "MED")
        for mode, mask in (("MA", "probabilities"), ("MED", "median")):
            after = run.post_train(mask, MORE)
            after.advance(after.total)
            found[f"{mode} post"] = 100.0 * (_read(after.fit(), images, mode, mode)[mode] - read[mode])
        found["MED"] = 100.0 * (read["MED"] - read["SM"])
        longer = fit_network(images.x, images.y, method=family, seed=number, **{**SMALL, **more, "epochs": LONGER * SMALL["epochs"]})
        found |= _structure(fit, images) | {f"{key}{LONG}": value for key, value in _structure(longer, images).items()}
    return found


def _structure(fit: NetworkFit, images: Images) -> Part:
    """Densities of ten networks and of the median model over that of one, and mean inclusion of the last layer over that
    of the first."""
    density = {mode: _read(fit, images, mode, mode)[f"{mode} density"] for mode in ("SM", "MA", "MED")}
    layers = [float(layer[:-1].mean()) for layer in fit.inclusion_probabilities()]
    return {"MA density": density["MA"] / density["SM"], "MED density": density["MED"] / density["SM"], "layers": layers[-1] / layers[0]}


GAIN = 0.1  # points: two accuracies, each rounded to 0.1

EXPERIMENTS = (
    Experiment(
        id="hubin-median",
        **_place("table 1, MNIST, MEAN", "A median and the largest value"),
        covers=("table 1",),
        settings=("ten simulations, median 0.971, largest 0.970",),
        run=lambda number, form: {"median": 0.970},
        exact=lambda: {"median": 0.970},
        cells=(
            Cell(
                key="median",
                label="median accuracy, at most the largest",
                printed=0.971,
                half=0.00049,  # rounded, the median is at least 0.9705 and the largest value below it
                because="no median is above the largest value",
            ),
        ),
        tolerance="the rounding of the median",
    ),
    Experiment(
        id="hubin-draws",
        **_place("figure 2", "Draws that are enough"),
        covers=("figure 2",),
        settings=("averages of 1 to 60 draws",),
        chosen=("8 × 8 digits, one layer of 30 units, in place of MNIST", "enough: within 0.002 of the accuracy of 60 draws"),
        parts=(4, 12),
        seconds=(15, 40),
        run=_draws,
        cells=(
            Cell(
                key="draws",
                label="draws that are enough (10 to 15)",
                printed=12.5,
                half=2.5,
                like=A_PART,
                instead="draws, looser",
                because="0.01 in place of 0.002",
                no_reason=("draws, looser",),
            ),
        ),
        tolerance="other networks, which scatter as ours do",
    ),
    Experiment(
        id="hubin-families",
        **_place("tables 1 and 2, figure 1, on small images", "What averaging and post-training add, by family"),
        settings=("one network, ten networks averaged, expected weights, median model", "each after post-training", "odds e⁻²"),
        chosen=(
            "8 × 8 digits, 64-50-10, 150 epochs and 30 of post-training, in place of MNIST",
            "no horseshoe: its pruning is not printed",
        ),
        parts=(3, 10),
        seconds=(40, 120),
        run=_families,
        cells=(
            *(
                Cell(key=f"{family} {mode}", label=f"{name}: {words} − one network, points", printed=gain, half=GAIN, like=A_PART)
                for family, gains in {
                    "spike_and_slab": (1.0, 1.1),
                    "gaussian": (1.9, 1.9),
                    "mixture": (1.7, 1.8),
                    "concrete_dropout": (0.2, 0.0),
                }.items()
                for name in (FAMILIES[family],)
                for mode, words, gain in zip(("MA", "MEAN"), ("ten networks", "expected weights"), gains, strict=True)
            ),
            Cell(key="MED", label="median model − one network, points", printed=0.3, half=GAIN, like=A_PART),
            Cell(key="MA post", label="ten networks, what post-training adds, points", printed=0.8, half=GAIN, like=A_PART),
            Cell(key="MED post", label="median model, what post-training adds, points", printed=1.6, half=GAIN, like=A_PART),
            *(
                Cell(
                    key=key,
                    label=label,
                    printed=printed,
                    half=half,
                    error=error,
                    like=A_PART,
                    tried=((f"{key}{LONG}", "four times the epochs"),),
                    no_reason=(f"{key}{LONG}",),
                )
                for key, label, printed, half, error in (
                    ("MA density", "density of ten networks ÷ of one", 1.456, 0.022, 0.0),
                    ("MED density", "density of the median model ÷ of one draw", 0.895, 0.017, 0.0),
                    ("layers", "mean inclusion, last layer ÷ first", 4.26, 0.01, 0.13),
                )
            ),
        ),
        tolerance="other images and another network: gaps tell how far a smaller problem goes with it, not who is right",
    ),
    Experiment(
        id="hubin-density",
        covers=("table 1", "table 2", "table 3"),
        **_place("tables 1, 2 and 3", "Density of one draw, from the inclusion probabilities of the layers"),
        settings=("784-400-600-600-10", "three rows of inclusion probabilities"),
        run=_densities,
        exact=lambda: _densities(0, FULL),
        cells=(
            Cell(
                key="mnist",
                label="MNIST, one draw",
                printed=SINGLE,
                half=0.0005,
                error=_of_medians(MNIST_SD),
                instead="mnist, coded",
                because="784-400-600-10, the network of its public code,",
            ),
            Cell(
                key="fashion",
                label="Fashion-MNIST, one draw",
                printed=0.065,
                half=0.0005,
                error=_of_medians(FASHION_SD),
                instead="fashion, coded",
                because="784-400-600-10, the network of its public code,",
            ),
        ),
        tolerance="medians of ten simulations",
    ),
    Experiment(
        id="hubin-never-inked",
        **_place("table 1", "Density of ten networks together: weights of pixels that are never inked"),
        settings=("784-400-600-10", "10 networks averaged", "prior odds e⁻²", "median model 0.051"),
        chosen=("all other weights taken as surely in or out",),
        needs=("mnist",),
        run=_averaged,
        # half a unit of each, of 0.083 and of the median model's density
        cells=(
            Cell(
                key="union",
                label="MNIST, model average",
                printed=0.083,
                half=0.001,
                error=_of_medians(MNIST_SD),
                instead="union, printed",
                because="784-400-600-600-10, as printed,",
            ),
        ),
        tolerance="two medians of ten simulations, with the printed sds, each rounded to 0.001",
    ),
    Experiment(
        id="hubin-prior",
        **_place("the prior, odds e⁻²", "Inclusion of weights that no data reach"),
        settings=("spike and slab, odds e⁻²",),
        chosen=("8 × 8 digits, one layer of 30 units", "step sizes fall to a fiftieth"),
        parts=(3, 10),
        seconds=(20, 150),
        run=_dead_weights,
        exact=lambda: {"inclusion": prior_inclusion("aic", 1)},
        cells=(Cell(key="inclusion", label="weights of pixels that are never inked", printed=0.1192, half=0.00005),),
        tolerance="none but the rounding: odds e⁻² are printed, and 0.1192 is their probability",
    ),
    Experiment(
        id="hubin-table-1",
        **_place("tables 1 and 2", "MNIST by a network whose weights may be absent"),
        settings=("784-400-600-10", "60,000 images to learn from", "batches of 100", "odds e⁻², N(0, 1)", "10 networks averaged"),
        chosen=(
            "the network of its public code, which its densities fit",
            f"quick form: local reparameterisation and rates ten times as high, {TRAINED[False][0]} of {TRAINED[True][0]} epochs and "
            f"{TRAINED[False][1]} of {TRAINED[True][1]} of post-training: not run at full length, so densities have not settled",
            "full form: start and temperature as in its public code",
        ),
        needs=("mnist",),
        parts=(1, 10),
        seconds=(600, 30_000),
        run=_slab,
        cells=(
            *_table(
                (
                    ("SM", "one network", 0.960, SINGLE),
                    ("MA", "ten networks", 0.970, 0.083),
                    ("MED", "median model", 0.963, MEDIAN),
                    ("MEAN", "expected weights", 0.971, 1.0),
                    ("MA post", "ten networks, trained on", 0.978, 0.083),
                    ("MED post", "median model, trained on", 0.979, MEDIAN),
                )
            ),
            *(
                Cell(key=f"layer {depth}", label=f"mean inclusion, layer {depth}", printed=mean, half=0.00005, error=sd)
                for depth, (mean, sd) in enumerate(zip(MNIST, MNIST_SD, strict=True), start=1)
            ),
        ),
        tolerance="10,000 test images, and the printed sds of the layers",
    ),
)

NOT_HERE = tuple(
    NotRun(source=Source(author=AUTHOR, year=2019, place=place), why=why)
    for place, why in (
        (
            "table 1, rows of the four other families",
            "ten simulations each take hours; what averaging adds stands in hubin-families, on small images",
        ),
        ("table 3, table 2 on Fashion-MNIST, figures 4, 6 and 8", "data: Fashion-MNIST"),
        ("figure 3, images of the other data set", "data: Fashion-MNIST; how many images is not printed"),
        ("figure 5, masks and weights", "a picture without a number"),
        ("figure 7, votes on 30 misread images", "words without a number: nearly all unsure, mostly 6 of 100 votes or more"),
    )
)
