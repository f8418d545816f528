"""Hubin and Storvik 2019: what their densities say of their network, and weights that no data reach."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from datasets import local
from datasets.images import digits
from datasets.letters import letters
from datasets.transforms import rotate
from engine import scores
from engine.variational import NetworkFit, NetworkRun, fit_network, start_network
from engine.variational.spike_and_slab_network import prior_inclusion
from lessons.reproduce.experiment import (
    A_PART,
    ALL_PARTS,
    FULL,
    QUICK,
    WORDS,
    Beside,
    Cell,
    Estimate,
    Experiment,
    Part,
    averages,
    not_run,
    worded,
)
from lessons.reproduce.trained import state_path, trained

PRINTED = (784, 400, 600, 600, 10)  # the network of the text
CODED = (784, 400, 600, 10)  # that of its public code
# table 2: mean inclusion probability of each layer, median of ten simulations
MNIST, FASHION = (0.0520, 0.0598, 0.2217), (0.0665, 0.0613, 0.2013)
MNIST_SD, FASHION_SD = (0.0005, 0.0003, 0.0064), (0.0004, 0.0005, 0.0051)  # over the simulations
SINGLE, MEDIAN = 0.057, 0.051  # table 1, densities of one draw and of the median model, MNIST
AVERAGED = 10  # networks of a model average

LINK = "/spike-and-slab?scenario=digits"
SMALL = f"{LINK}&units=30&epochs=150"  # the stand-in for MNIST


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
    return int((local.images("mnist").images.max(axis=0) == 0).sum())


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


# Tables 1 and 3 at full size --------------------------------------------------------------------------------------------

TRAINED = {False: (10, 2), True: (250, 50)}  # epochs, and of post-training; of the quick form, and as printed
SIMULATIONS = 10
STRANGE, VOTERS, SURE = 1_000, 100, 95  # letters set in type; networks that vote on each image, votes from which they are sure
TURN = 90  # degrees, of digits in place of letters
LEAST_VOTES = 6  # of VOTERS, for the truth, in the sheet of misread images


class Printed(NamedTuple):
    """A row of table 1 or 3: accuracies over ten simulations, and the density."""

    median: float
    low: float
    high: float
    density: float


class Mode(NamedTuple):
    """One way to predict: its key, the mode and the network that it takes, its rows in print.

    network : "" as trained; "probabilities" or "median", trained on with masks drawn or the median model fixed;
        "compressed", cut to the printed density by |E w| / sd w
    """

    key: str
    mode: str
    network: str
    mnist: Printed
    fashion: Printed


class Family(NamedTuple):
    """A family of table 1: how it is trained, in the full and in the quick form, and how it predicts.

    tried : settings in place of these, by the forms in which they are tried; ours : whether they are a choice of ours, which
        explains nothing, and not what its public code sets
    """

    method: str
    full: dict[str, Any]
    quick: dict[str, Any]
    modes: tuple[Mode, ...]
    tried: Mapping[str, dict[str, Any]] = {}
    ours: bool = False


_LEARNT = {"step_size": 1e-4, "final_step_size": 1.0, "initial_sd": 0.012}  # the rate is printed, the start is its public code's
_SOON = {"step_size": 1e-3, "initial_sd": 0.005}
_DRAWN = {"estimator": "weights"}  # one draw a minibatch, as in its public code

FAMILIES = {
    "": Family(
        "spike_and_slab",
        # temperature and start of the public code
        {**_LEARNT, "estimator": "relaxed", "temperature": 0.001, "inclusion_step_size": 0.1, "initial_inclusion": 0.62},
        {**_SOON, "inclusion_step_size": 0.02, "initial_inclusion": 0.5},
        (
            Mode("SM", "SM", "", Printed(0.960, 0.957, 0.962, SINGLE), Printed(0.852, 0.848, 0.856, 0.065)),
            Mode("MA", "MA", "", Printed(0.970, 0.966, 0.971, 0.083), Printed(0.865, 0.862, 0.870, 0.066)),
            Mode("MED", "MED", "", Printed(0.963, 0.960, 0.966, MEDIAN), Printed(0.858, 0.853, 0.862, 0.059)),
            Mode("MEAN", "MEAN", "", Printed(0.971, 0.967, 0.970, 1.0), Printed(0.866, 0.862, 0.871, 1.0)),
            Mode(
                key="MA post",
                mode="MA",
                network="probabilities",
                mnist=Printed(0.978, 0.977, 0.978, 0.083),
                fashion=Printed(0.879, 0.879, 0.882, 0.066),
            ),
            Mode(
                key="MED post",
                mode="MED",
                network="median",
                mnist=Printed(0.979, 0.978, 0.980, MEDIAN),
                fashion=Printed(0.878, 0.877, 0.880, 0.059),
            ),
        ),
        {FULL: {"inclusion_epochs": 20}},
    ),
    "gaussian": Family(
        "gaussian",
        _LEARNT | _DRAWN,
        _SOON | _DRAWN,
        (
            Mode("SM", "SM", "", Printed(0.965, 0.965, 0.966, 1.0), Printed(0.864, 0.863, 0.866, 1.0)),
            Mode("MA", "MA", "", Printed(0.984, 0.982, 0.985, 1.0), Printed(0.893, 0.890, 0.894, 1.0)),
            Mode("MEAN", "MEAN", "", Printed(0.984, 0.982, 0.985, 1.0), Printed(0.886, 0.882, 0.888, 1.0)),
        ),
        {form: {"initial_sd": 0.05} for form in (QUICK, FULL)},
        ours=True,
    ),
    "mixture": Family(
        "mixture",
        _LEARNT | {"mixture_share": 0.5, "mixture_sd": math.exp(-3.0)},
        _SOON | {"mixture_share": 0.5, "mixture_sd": math.exp(-3.0)},
        (
            Mode("SM", "SM", "", Printed(0.965, 0.964, 0.967, 1.0), Printed(0.867, 0.866, 0.868, 1.0)),
            Mode("MA", "MA", "", Printed(0.982, 0.981, 0.983, 1.0), Printed(0.893, 0.892, 0.897, 1.0)),
            Mode("MEAN", "MEAN", "", Printed(0.983, 0.981, 0.984, 1.0), Printed(0.888, 0.885, 0.890, 1.0)),
        ),
        {form: {"mixture_sd": math.exp(-6.0)} for form in (QUICK, FULL)},
    ),
    "concrete": Family(
        "concrete_dropout",
        {"step_size": 1e-4, "final_step_size": 1.0, "inclusion_step_size": 1e-4, "keep": 0.5},
        {"step_size": 1e-3, "keep": 0.5},
        (
            Mode("SM", "SM", "", Printed(0.982, 0.895, 0.983, 0.226), Printed(0.896, 0.819, 0.900, 0.094)),
            Mode("MA", "MA", "", Printed(0.984, 0.896, 0.986, 0.820), Printed(0.897, 0.823, 0.901, 0.447)),
            Mode("MEAN", "MEAN", "", Printed(0.982, 0.894, 0.984, 1.0), Printed(0.896, 0.821, 0.901, 1.0)),
        ),
        {form: {"keep_inputs": 0.5} for form in (QUICK, FULL)},
        ours=True,
    ),
    "horseshoe": Family(
        "horseshoe",
        {"step_size": 1e-4, "final_step_size": 1.0, "inclusion_step_size": 1e-4, "initial_sd": 0.012},
        _SOON,
        (
            Mode("dense", "MA", "", Printed(0.983, 0.982, 0.984, 1.0), Printed(0.881, 0.878, 0.882, 1.0)),
            Mode("cut", "MA", "compressed", Printed(0.975, 0.970, 0.979, 0.194), Printed(0.872, 0.840, 0.879, 0.302)),
        ),
    ),
}
SETS = {"mnist": ("table-1", "MNIST"), "fashion": ("table-3", "Fashion-MNIST")}


def _id(family: str, data_set: str, layers: Sequence[int]) -> str:
    parts = ("hubin", SETS[data_set][0], family, "printed" if tuple(layers) == PRINTED else "")
    return "-".join(part for part in parts if part)


class Training(NamedTuple):
    """Which network is trained: that of a simulation, by its number, as printed or with what the public code sets."""

    family: str
    data_set: str
    layers: Sequence[int]
    number: int
    form: str
    changed: bool = False

    def path(self, *then: str) -> Path:
        """Where its state is kept, or that of what is made of it."""
        name = "-".join((str(self.number), *((CHANGED,) if self.changed else ()), *then))
        return state_path(_id(self.family, self.data_set, self.layers), self.form, name)


def _network(asked: Training) -> NetworkRun:
    """The network, trained to its end; from its state on disk on, where that is there."""
    images, known, full = local.images(asked.data_set), FAMILIES[asked.family], asked.form == FULL

    def begin() -> NetworkRun:
        settings = {"method": known.method, "epochs": TRAINED[full][0], "seed": asked.number, **(known.full if full else known.quick)}
        if asked.changed:
            settings |= known.tried[asked.form]
        return start_network(images.x, images.y, hidden=tuple(asked.layers[1:-1]), **settings)

    return trained(asked.path(), begin)


def _trained_on(run: NetworkRun, mask: str, asked: Training) -> NetworkFit:
    """It, trained on with its structure fixed."""
    full = asked.form == FULL
    return trained(asked.path(mask), lambda: run.post_train(mask, TRAINED[full][1], step_size=1e-4 if full else None)).fit()


CHANGED = "coded"  # what follows the key of an outcome with the other settings
SMALLER = "smaller"  # and by the network of the public code, in place of the text's
SOON = "soon"  # and of networks that learn as in the quick form: fewer epochs of longer steps


def _table_part(family: str, data_set: str, layers: Sequence[int]) -> Callable[[int, str], Part]:
    """One simulation: accuracies and densities of table 1 or 3, inclusion by layer of table 2, and what is not printed."""

    def run(number: int, form: str) -> Part:
        asked = Training(family, data_set, layers, number, form)
        found = _simulated(asked)
        if _tries(family, layers) and form in FAMILIES[family].tried:
            found |= {f"{key}, {CHANGED}": value for key, value in _simulated(asked._replace(changed=True)).items()}
        return found

    return run


def _soon(number: int, form: str) -> Part:
    """One simulation of networks with scales of the units, trained as in the quick form whichever is asked for."""
    return _simulated(Training("horseshoe", "mnist", CODED, number, QUICK))


def _tries(family: str, layers: Sequence[int]) -> bool:
    """Whether other settings are tried: on the network of the public code."""
    return bool(FAMILIES[family].tried) and tuple(layers) == CODED


def _simulated(asked: Training) -> Part:
    images, training, family = local.images(asked.data_set), _network(asked), FAMILIES[asked.family]
    fit = training.fit()
    found: Part = {}
    for mode in family.modes:
        masks, after = None, fit
        if mode.network == "compressed":
            masks = fit.prune((mode.mnist if asked.data_set == "mnist" else mode.fashion).density)
        elif mode.network:
            after = _trained_on(training, mode.network, asked)
        prediction = after.predict(images.x_test, mode.mode, samples=AVERAGED, seed=1, masks=masks)
        assert prediction is not None
        found |= {mode.key: prediction.accuracy(images.y_test), f"{mode.key} density": prediction.density}
        if mode is _averaging(asked.family):
            found["calibration"] = scores.calibration_error(prediction.mean, images.y_test)
            found["entropy"] = float(scores.entropy(prediction.mean).mean())
            strange = after.predict(_letters(asked.number), samples=AVERAGED, seed=1)
            assert strange is not None
            found["entropy of letters"] = float(scores.entropy(strange.mean).mean())
    if fit.posterior.has_mask:
        inclusion = [layer[:-1] for layer in fit.inclusion_probabilities()]
        found |= {f"layer {depth}": float(layer.mean()) for depth, layer in enumerate(inclusion, start=1)}
        found["never inked"] = float(inclusion[0][images.x.max(axis=0) == 0.0].mean())
    return found


def _averaging(family: str) -> Mode:
    """The family's average of ten networks, as trained."""
    return next(mode for mode in FAMILIES[family].modes if mode.mode == "MA" and not mode.network)


def _letters(seed: int) -> NDArray[np.float32]:
    """(STRANGE, 784) letters set in type: nothing that a network of digits or clothes has seen."""
    return letters(STRANGE, 28, seed)[0].reshape(STRANGE, -1)


LEAST_OF_TEN = 0.587  # sd of the least of ten normal numbers, in their sd; of the largest, too


def _medians(parts: Sequence[Part]) -> dict[str, Estimate]:
    """Median over simulations with its standard error, and from ten on the least and the largest."""
    found = averages(parts)
    for key, each in list(found.items()):
        values = np.array([part[key] for part in parts], dtype=np.float64)
        error = each.error * math.sqrt(math.pi / 2.0)
        found[key] = Estimate(float(np.median(values)), error, each.spread)
        if len(values) >= SIMULATIONS:
            found |= {
                f"{key} {end}": Estimate(float(of(values)), LEAST_OF_TEN * each.spread) for end, of in (("least", min), ("largest", max))
            }
    return found


def _cells(family: str, data_set: str, layers: Sequence[int]) -> tuple[Cell, ...]:
    """Accuracies, with the error that 10,000 test images give; densities where they are no choice of ours; table 2."""
    cells: list[Cell] = []
    for mode in FAMILIES[family].modes:
        row = mode.mnist if data_set == "mnist" else mode.fashion
        error = math.sqrt(row.median * (1.0 - row.median) / 10_000)
        name = WORDS["hubin.modes"][mode.key]
        label = WORDS.phrase("hubin.accuracy", mode=name)
        cells.append(Cell(key=mode.key, label=label, printed=row.median, half=0.0005, error=error, like=A_PART))
        for end, value, label in (
            ("least", row.low, WORDS.phrase("hubin.least", mode=name)),
            ("largest", row.high, WORDS.phrase("hubin.largest", mode=name)),
        ):
            cells.append(
                Cell(key=f"{mode.key} {end}", label=label, printed=value, half=0.0005, error=error, like=ALL_PARTS, parts=SIMULATIONS)
            )
        if mode.network != "compressed":
            label = WORDS.phrase("hubin.density", mode=name)
            cells.append(Cell(key=f"{mode.key} density", label=label, printed=row.density, half=0.0005, like=A_PART))
    if not family:
        means, sds = (MNIST, MNIST_SD) if data_set == "mnist" else (FASHION, FASHION_SD)
        cells += [
            Cell(key=f"layer {depth}", label=WORDS.phrase("hubin.inclusion", depth=depth), printed=mean, half=0.00005, error=sd)
            for depth, (mean, sd) in enumerate(zip(means, sds, strict=True), start=1)
        ]
    if _tries(family, layers):
        changed = WORDS.entry("hubin", family or "slab")["tried"]
        trained = [mode.key for mode in FAMILIES[family].modes if not mode.network]  # accuracies of one network: a reason fits all
        cells = [
            replace(
                cell,
                tried={f"{cell.key}, {CHANGED}": changed},
                no_reason=[f"{cell.key}, {CHANGED}"] if FAMILIES[family].ours else (),
                fits_also=[key for key in trained if key != cell.key],
            )
            if cell.parts == 1
            else cell
            for cell in cells
        ]
    for variant in _variants(family, data_set, layers):
        said = WORDS.phrase(f"hubin.{variant}", epochs=TRAINED[False][0], full=TRAINED[True][0])
        cells = [replace(cell, tried={f"{cell.key}, {variant}": said}) if cell.parts == 1 else cell for cell in cells]
    return tuple(cells)


def _variants(family: str, data_set: str, layers: Sequence[int]) -> dict[str, str]:
    """The experiment that is a reason for this one, by the name of what sets it apart."""
    if tuple(layers) == PRINTED:
        return {SMALLER: _id(family, data_set, CODED)}
    return {SOON: f"{_id(family, data_set, layers)}-{SOON}"} if (family, data_set) == ("horseshoe", "mnist") else {}


def _quick() -> str:
    """What sets the quick form of a training apart."""
    (epochs, after), (full, full_after) = TRAINED[False], TRAINED[True]
    return WORDS.phrase("hubin.quick", epochs=epochs, full=full, after=after, full_after=full_after)


def _table(family: str, data_set: str, layers: Sequence[int] = CODED, *, seconds: tuple[int, int]) -> Experiment:
    said, size = WORDS.entry("hubin", family or "slab"), "-".join(str(n) for n in layers)
    which = WORDS.phrase("hubin.told") if tuple(layers) == PRINTED else WORDS.phrase("hubin.coded")
    averaged = WORDS.phrase("hubin.averaged", networks=AVERAGED)
    ours = [
        Beside(key="calibration", label=WORDS.phrase("hubin.calibration"), digits=4),
        Beside(key="entropy", label=WORDS.phrase("hubin.entropy")),
        Beside(key="entropy of letters", label=WORDS.phrase("hubin.entropy_of_letters")),
    ]
    if not family:
        ours.append(Beside(key="never inked", label=WORDS.phrase("hubin.never_inked"), digits=4))
    return worded(
        id=_id(family, data_set, layers),
        values={"name": SETS[data_set][1], "size": size, "family": said["title"]},
        link=LINK,
        settings=(size, *WORDS.entry("hubin", "table")["settings"], *said["printed"], averaged),
        chosen=(which, *said["chosen"]),
        by_form={QUICK: (_quick(), *said.get(QUICK, ())), FULL: said.get(FULL, ())},
        needs=(data_set,),
        parts=(1, SIMULATIONS),
        seconds=seconds,
        run=_table_part(family, data_set, layers),
        combine=_medians,
        cells=_cells(family, data_set, layers),
        variants=_variants(family, data_set, layers),
        beside=tuple(ours),
    )


def _table_soon() -> Experiment:
    """Networks with scales of the units, trained for less."""
    of = _table("horseshoe", "mnist", seconds=(60, 600))
    said = WORDS.entry("hubin", "horseshoe")
    return worded(
        id=f"{of.id}-{SOON}",
        values={"name": SETS["mnist"][1], "size": "-".join(str(n) for n in CODED), "family": said["title"]},
        link=of.link,
        settings=of.settings,
        chosen=(*of.chosen, WORDS.phrase("hubin.shorter", epochs=TRAINED[False][0])),
        needs=of.needs,
        parts=of.parts,
        seconds=of.seconds,
        run=_soon,
        combine=of.combine,
        cells=tuple(replace(cell, tried={}) for cell in of.cells),
        beside=of.beside,
    )


def _misread(number: int, form: str) -> Part:
    """Votes of 100 networks on the images that ten networks, averaged, misread, and on letters."""
    images = local.images("mnist")
    fit = _network(Training("", "mnist", CODED, number, form)).fit()
    x, y = images.x_test, images.y_test
    averaged = fit.predict(x, samples=AVERAGED, seed=1)
    assert averaged is not None
    wrong = np.flatnonzero(averaged.labels != y)
    drawn = fit.drawn(VOTERS, seed=1)

    def votes(at: NDArray[np.float32]) -> NDArray[np.int64]:
        said = drawn.predict(at)
        assert said is not None
        return scores.votes(said)

    single = fit.predict(x, "SM", samples=1, seed=1)
    assert single is not None
    turned = rotate(images.images_test[:STRANGE].astype(np.float32) / np.float32(images.top), TURN).reshape(STRANGE, -1)
    counted, of_letters = votes(x[wrong]), votes(_letters(number))
    truth = counted[np.arange(len(wrong)), y[wrong]]
    return {
        "unsure": 100.0 * float((counted.max(axis=1) < SURE).mean()),
        "unsure, one": 100.0 * float((votes(x[single.labels != y]).max(axis=1) < SURE).mean()),
        "truth": 100.0 * float((truth >= LEAST_VOTES).mean()),
        "in": 100.0 * float((votes(x[:STRANGE]).max(axis=1) >= SURE).mean()),
        "out": 100.0 * float((of_letters.max(axis=1) >= SURE).mean()),
        "out, turned": 100.0 * float((votes(turned).max(axis=1) >= SURE).mean()),
        "misread": float(len(wrong)),
    }


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

EXPERIMENTS = (
    worded(
        id="hubin-median",
        link=f"{LINK}&data=mnist",
        run=lambda number, form: {"median": 0.970},
        exact=lambda: {"median": 0.970},
        cells=(
            Cell(
                key="median",
                printed=0.971,
                half=0.00049,  # rounded, the median is at least 0.9705 and the largest value below it
            ),
        ),
    ),
    worded(
        id="hubin-draws",
        link=SMALL,
        parts=(4, 12),
        seconds=(15, 40),
        run=_draws,
        cells=(Cell(key="draws", printed=12.5, half=2.5, like=A_PART, tried={"draws, looser": ""}, no_reason=("draws, looser",)),),
    ),
    worded(
        id="hubin-density",
        link=LINK,
        run=_densities,
        exact=lambda: _densities(0, FULL),
        cells=(
            Cell(key="mnist", printed=SINGLE, half=0.0005, error=_of_medians(MNIST_SD), tried={"mnist, coded": ""}),
            Cell(key="fashion", printed=0.065, half=0.0005, error=_of_medians(FASHION_SD), tried={"fashion, coded": ""}),
        ),
    ),
    worded(
        id="hubin-never-inked",
        link=LINK,
        needs=("mnist",),
        run=_averaged,
        # half a unit of each, of 0.083 and of the median model's density
        cells=(Cell(key="union", printed=0.083, half=0.001, error=_of_medians(MNIST_SD), tried={"union, printed": ""}),),
    ),
    worded(
        id="hubin-prior",
        link=SMALL,
        parts=(3, 10),
        seconds=(20, 150),
        run=_dead_weights,
        exact=lambda: {"inclusion": prior_inclusion("aic", 1)},
        cells=(Cell(key="inclusion", printed=0.1192, half=0.00005),),
    ),
    _table("", "mnist", seconds=(300, 30_000)),
    _table("", "mnist", PRINTED, seconds=(600, 15_000)),
    *(_table(family, "mnist", seconds=(120, 20_000)) for family in FAMILIES if family),
    _table_soon(),
    *(_table(family, "fashion", seconds=(120, 20_000)) for family in FAMILIES),
    worded(
        id="hubin-figure-7",
        values={"quick": _quick()},
        link=LINK,
        needs=("mnist",),
        parts=(1, SIMULATIONS),
        seconds=(550, 15_000),
        run=_misread,
        cells=(
            Cell(key="unsure", printed=95.0, half=5.0, unit=" %", tried={"unsure, one": ""}, no_reason=("unsure, one",)),
            Cell(key="truth", printed=75.0, half=25.0, unit=" %"),
            Cell(key="in", printed=75.0, half=25.0, unit=" %"),
            Cell(key="out", printed=25.0, half=25.0, unit=" %", tried={"out, turned": ""}, no_reason=("out, turned",)),
        ),
        beside=(Beside(key="misread", label=WORDS.phrase("hubin.misread"), digits=0),),
    ),
)

NOT_HERE = not_run("hubin")
