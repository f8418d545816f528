"""Berezowski 2021: reversible jump over networks, by the exact scheme and by the one of its public code.

A part is one chain of the sixteen, of each scheme.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import cache, partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from datasets import local
from datasets.images import principal_components, stratified
from datasets.tables import Standard
from datasets.xor import NOISY_VARIANCE, VARIANCE, xor
from engine import sample, targets
from engine.jumps import ArchitectureRecording, ArchitectureRun
from engine.jumps import predict as marginal
from engine.jumps.settings import JumpSettings
from engine.networks import Network, network
from engine.scores import precision_recall, top_accuracy
from lessons.reproduce.experiment import A_PART, ALL_PARTS, FULL, WORDS, Cell, Estimate, Experiment, Part, together, worded

Array = NDArray[np.float64]


CHAINS = 16


class Scheme(NamedTuple):
    """How chains move. settings : of the engine; warmup : sweeps dropped, which tune the step sizes"""

    settings: dict[str, Any]
    warmup: int


SCHEMES = {
    "exact": Scheme({"jump": "plain", "target_accept": 0.65, "max_depth": 6}, 50),
    "as coded": Scheme({"jump": "as_coded"}, 0),
    "slot factor": Scheme({"jump": "plain", "variant": "slot_once", "target_accept": 0.65, "max_depth": 6}, 50),
    "frozen and slot factor": Scheme({"jump": "plain", "variant": "slot_once", "within": "none"}, 0),
    "frozen": Scheme({"jump": "plain", "within": "none"}, 0),
}
_, CODED, SLOT, SAVED, FROZEN = SCHEMES


def chain(net: Network, x: Array, y: NDArray[Any], scheme: str, number: int, draws: int, **more: Any) -> ArchitectureRecording:
    """One of the sixteen chains."""
    how = SCHEMES[scheme]
    settings = JumpSettings(**{**how.settings, "chains": 1, "draws": draws, "warmup": how.warmup, "seed": 2021, **more})
    run = ArchitectureRun(net, x, y, settings, first_chain=number)
    run.advance(run.total)
    return run.recording()


def moves(recording: ArchitectureRecording, sizes: NDArray[Any], most: int) -> Part:
    """Counts that add up over chains: jumps proposed and accepted, moves within that changed the state, sizes."""
    draws = recording.draws.shape[1]
    return {
        "proposed": recording.proposed.sum(axis=(0, 1)).tolist(),
        "jumped": recording.jumped.sum(axis=(0, 1)).tolist(),
        "changed": int(recording.accepted.sum()),
        "accept": float(recording.accept_prob.sum()),
        "sweeps": draws,
        "sizes": np.bincount(sizes.ravel(), minlength=most + 1)[: most + 1].tolist(),
    }


def total(parts: Sequence[Part], scheme: str, key: str) -> Array:
    """A count, or a sum of arrays, over the parts."""
    return np.sum([part[scheme][key] for part in parts], axis=0, dtype=np.float64)


def rates(scheme: str, suffix: str = "") -> dict[str, Callable[[Sequence[Part]], float]]:
    """Acceptance of jumps and of moves within, in %; mode and mean of the size."""

    def across(parts: Sequence[Part]) -> float:
        return 100.0 * total(parts, scheme, "jumped").sum() / total(parts, scheme, "proposed").sum()

    def within(parts: Sequence[Part]) -> float:
        return 100.0 * float(total(parts, scheme, "changed") / total(parts, scheme, "sweeps"))

    def mode(parts: Sequence[Part]) -> float:
        return float(total(parts, scheme, "sizes").argmax())

    def mean(parts: Sequence[Part]) -> float:
        sizes = total(parts, scheme, "sizes")
        return float(sizes @ np.arange(len(sizes)) / sizes.sum())

    def tuned(parts: Sequence[Part]) -> float:
        return 100.0 * float(total(parts, scheme, "accept") / total(parts, scheme, "sweeps"))

    named = {"across": across, "within": within, "tuned": tuned, "mode": mode, "mean": mean}
    return {f"{name}{suffix}": estimate for name, estimate in named.items()}


# XOR ------------------------------------------------------------------------------------------------------------------

WIDEST = 16
XOR_SCHEMES = ("exact", CODED, SLOT, SAVED)
NOISE_OF_TEST = 0.08  # of noisy XOR, in the public code


def _xor(number: int, form: str, *, variance: float, of_test: float) -> Part:
    net, points, test = network(2, 2, width=(1, WIDEST), temper=0.5), xor(50, variance, 1), xor(500, of_test, 2)
    draws = 1000 if form == FULL else 250
    found: Part = {}
    for scheme in XOR_SCHEMES:
        recording = chain(net, points.x, points.y, scheme, number, draws, start_width=list(range(1, WIDEST + 1)))
        found[scheme] = moves(recording, recording.width, WIDEST)
        p = marginal.uncertainty(recording.after(draws // 5), test.x).mean
        found[scheme]["right"] = 100.0 * float((p.argmax(axis=1) == test.y).mean())
    return found


def _accuracy(parts: Sequence[Part], scheme: str) -> float:
    return float(np.mean([part[scheme]["right"] for part in parts]))


def _xor_estimates(parts: Sequence[Part]) -> dict[str, Estimate]:
    estimates: dict[str, Callable[[Sequence[Part]], float]] = {}
    for scheme in XOR_SCHEMES:
        suffix = "" if scheme == "exact" else f", {scheme}"
        estimates |= rates(scheme, suffix)
        estimates[f"accuracy{suffix}"] = partial(_accuracy, scheme=scheme)
    return together(parts, estimates, [key for key in estimates if key.startswith("mode")])


def bayes_accuracy(variance: float) -> float:
    """Of the best rule for XOR clouds, the signs of the coordinates, in %: both right or both wrong."""
    right = 0.5 * math.erfc(-0.5 / math.sqrt(2.0 * variance))
    return 100.0 * (right**2 + (1.0 - right) ** 2)


ALL_SWEEPS = "sweeps=1000&burn=0"  # of a link: as many as printed, the first ones too


def _clouds(
    id: str, noisy: bool, scenarios: tuple[str, str], mode: int, mean: float, accuracy: float, half: float, error: float
) -> Experiment:
    """scenarios : of the lessons on the published scheme and on the right one"""
    variance, of_test = (NOISY_VARIANCE, NOISE_OF_TEST) if noisy else (VARIANCE, VARIANCE)
    coded, right = (f"/{slug}?scenario={each}&{ALL_SWEEPS}" for slug, each in zip(("missing-factor", "neurons"), scenarios, strict=True))
    exact = {"accuracy": bayes_accuracy(of_test)} if noisy else {}
    return worded(
        id=id,
        link=coded,
        also=(right,),
        parts=(CHAINS, CHAINS),
        seconds=(30, 120),
        run=partial(_xor, variance=variance, of_test=of_test),
        combine=_xor_estimates,
        exact=lambda: exact,
        cells=(
            *(
                Cell(
                    key=key,
                    printed=printed,
                    half=half,
                    like=ALL_PARTS,
                    tried={f"{key}, {CODED}": "", f"{key}, {SLOT}": "", f"{key}, {SAVED}": ""},
                    no_reason=(f"{key}, {SAVED}",),
                    fits_also=("mean",) if key == "mode" else (),  # both are of one histogram
                )
                for key, printed, half in (("mode", mode, 0.5), ("mean", mean, 0.15))
            ),
            Cell(key="accuracy", printed=accuracy, half=half, unit=" %", error=error),
        ),
    )


# Boston ---------------------------------------------------------------------------------------------------------------

ROWS = 253  # to learn from, and to test on
RUNS = {"2A": (2, 8, 1.0), "2B": (2, 8, 0.8), "4A": (4, 4, 1.0), "4B": (4, 4, 0.8)}  # units, most layers, variance


@cache
def boston() -> tuple[Array, Array, Array, Array, float]:
    """Rows to learn from and to test on, x and y, standardised over all rows as in the public code; sd of y."""
    task = local.table("boston")
    both = np.column_stack([task.x, task.y])
    standard = Standard.of(both)
    both = standard.apply(both)
    test, learn = np.split(np.random.RandomState(23).permutation(len(both)), [ROWS])  # as scikit-learn splits with this seed
    x, y = np.ascontiguousarray(both[:, :-1]), both[:, -1].copy()
    return x[learn], y[learn], x[test], y[test], float(standard.sd[-1])


def _boston(number: int, form: str, *, run: str) -> Part:
    units, most, variance = RUNS[run]
    x, y, x_test, _, _ = boston()
    net = network(13, 1, width=units, depth=(1, most), likelihood="gaussian", activation="relu", noise_sd=math.sqrt(variance))
    draws = 1000 if form == FULL else 200
    found: Part = {}
    for scheme in ("exact", CODED):
        starts = [1 + c * most // CHAINS for c in range(CHAINS)]
        more: dict[str, Any] = {"start": "best", "start_depth": starts}
        if scheme == CODED:
            more |= {"short_steps": 2 if run == "4B" else 1, "short_energy_error": 1000.0}
        recording = chain(net, x, y, scheme, number, draws, **more)
        found[scheme] = moves(recording, recording.depth, most)
        found[scheme]["predicted"] = (draws * marginal.bands(recording, x_test).mean.ravel()).tolist()
    return found


def _misses(parts: Sequence[Part], scheme: str) -> float:
    """Sum of squared errors of the mean prediction over the test rows, in $1000 squared."""
    *_, y_test, sd = boston()
    mean = total(parts, scheme, "predicted") / total(parts, scheme, "sweeps")
    return float(np.sum((sd * (mean - y_test)) ** 2))


def _rmse(parts: Sequence[Part], scheme: str) -> float:
    return math.sqrt(_misses(parts, scheme) / ROWS)


def _root_over_n(parts: Sequence[Part], scheme: str) -> float:
    return math.sqrt(_misses(parts, scheme)) / ROWS


def _best_chain(parts: Sequence[Part], scheme: str) -> float:
    return min(_root_over_n([part], scheme) for part in parts)


def _best_over_all(parts: Sequence[Part], scheme: str) -> float:
    return _best_chain(parts, scheme) / _root_over_n(parts, scheme)


def _boston_estimates(parts: Sequence[Part]) -> dict[str, Estimate]:
    estimates = {**rates("exact"), **rates(CODED, f", {CODED}")}
    for scheme, suffix in (("exact", ""), (CODED, f", {CODED}")):
        estimates[f"rmse{suffix}"] = partial(_rmse, scheme=scheme)
        estimates[f"root of the sum over n{suffix}"] = partial(_root_over_n, scheme=scheme)
        estimates[f"best chain{suffix}"] = partial(_best_chain, scheme=scheme)
        estimates[f"best over all{suffix}"] = partial(_best_over_all, scheme=scheme)
    found = together(parts, estimates, [key for key in estimates if key.startswith(("mode", "best"))])
    if found["across"].value == 0.0:  # chains that agree on none: of so many jumps the first may be the next
        error = 100.0 / total(parts, "exact", "proposed").sum()
        found["across"] = Estimate(0.0, error, error * math.sqrt(len(parts)))
    return found


# sd over 20 random halves of the rows, by least squares, on the print's scale: networks may scatter otherwise
OF_SPLIT = 0.020


def _houses(run: str, printed: tuple[float, ...]) -> Experiment:
    across, within, rmse, best, mode, mean = printed
    units, most, variance = RUNS[run]
    return worded(
        id=f"berezowski-boston-{run.lower()}",
        values={"units": units, "most": most, "variance": variance},
        link=f"/landing?scenario=boston&setting=BH{run.lower()}&{ALL_SWEEPS}",
        needs=("boston",),
        parts=(CHAINS, CHAINS),
        seconds=(60, 300),
        run=partial(_boston, run=run),
        combine=_boston_estimates,
        cells=(
            Cell(
                key="across",
                printed=across,
                half=0.05,
                unit=" %",
                like=ALL_PARTS,
                tried={f"across, {CODED}": ""},
                no_reason=(f"across, {CODED}",),  # it has about half of what is printed of the three other runs
            ),
            Cell(
                key="within",
                printed=within,
                half=0.05,
                unit=" %",
                like=ALL_PARTS,
                tried={f"tuned, {CODED}": "", "tuned": "", f"within, {CODED}": ""},
            ),
            Cell(key="rmse", printed=rmse, half=0.0005, error=OF_SPLIT, like=ALL_PARTS, tried={"root of the sum over n": ""}),
            Cell(key="best chain", printed=best, half=0.0005, error=OF_SPLIT, like=ALL_PARTS, tried={f"best chain, {CODED}": ""}),
            Cell(
                key="best over all",
                printed=round(best / rmse, 3),
                half=round(0.0005 / best + 0.0005 / rmse, 4),
                like=ALL_PARTS,
                tried={f"best over all, {CODED}": ""},
            ),
            Cell(key="mode", printed=mode, half=0.5, like=ALL_PARTS, tried={f"mode, {CODED}": ""}),
            Cell(key="mean", printed=mean, half=0.005, like=ALL_PARTS, tried={f"mean, {CODED}": ""}),
        ),
    )


# OptDigits ------------------------------------------------------------------------------------------------------------

DIGITS = {"5a": (5, 0.1), "5b": (5, 0.5), "10a": (10, 0.1), "10b": (10, 0.5)}  # classes, temper
EACH, COMPONENTS, TESTED = 50, 20, 200  # images of a class to learn from, principal components, images to test on


@cache
def digits(classes: int) -> tuple[Array, NDArray[np.int64], Array, NDArray[np.int64]]:
    """Images to learn from and to test on, of which none is both, as principal components."""
    images = local.images("optdigits")
    rows = stratified(images.labels, classes, EACH)
    pixels, tested = standardised(images.images), standardised(images.images_test)
    others = np.setdiff1d(np.arange(len(pixels)), rows)
    pool, labels = np.vstack([tested, pixels[others]]), np.concatenate([images.labels_test, images.labels[others]])
    test = stratified(labels, classes, TESTED)
    project = principal_components(pixels[rows], COMPONENTS)
    return project(pixels[rows]), images.labels[rows], project(pool[test]), labels[test]


def standardised(images: NDArray[np.uint8]) -> Array:
    """(n, pixels) each image by itself with mean 0 and variance 1, as in the public code."""
    pixels = images.reshape(len(images), -1).astype(np.float64)
    return np.asarray((pixels - pixels.mean(axis=1, keepdims=True)) / pixels.std(axis=1, keepdims=True))


DIGIT_SCHEMES = ("exact", SAVED, FROZEN, SLOT)


def _digits(number: int, form: str, *, run: str) -> Part:
    return {scheme: digit_chain(number, form, run, scheme) for scheme in DIGIT_SCHEMES}


def digit_chain(number: int, form: str, run: str, scheme: str) -> Part:
    """One chain of a run by one scheme: its counts, and p of the test images, averaged over its second half."""
    classes, temper = DIGITS[run]
    x, y, x_test, _ = digits(classes)
    widest = 64 if classes == 5 else 128
    net = network(COMPONENTS, classes, width=(1, widest), temper=temper)
    more: dict[str, Any] = {"start": "best", "start_width": [widest // CHAINS * (c + 1) for c in range(CHAINS)]}
    short = form != FULL and SCHEMES[scheme].warmup > 0  # where weights move
    if short:
        more |= {"warmup": 30, "max_depth": 5}
    draws = 40 if short else 1000
    recording = chain(net, x, y, scheme, number, draws, **more)
    p = marginal.uncertainty(recording.after(draws // 2), x_test).mean
    return {**moves(recording, recording.width, widest), "p": np.round(p, 5).tolist()}


def _digit_estimates(parts: Sequence[Part], *, classes: int) -> dict[str, Estimate]:
    y_test = digits(classes)[3]
    estimates: dict[str, Callable[[Sequence[Part]], float]] = {}
    arrays = {(id(part), scheme): np.array(part[scheme]["p"]) for part in parts for scheme in DIGIT_SCHEMES}

    def mean(rows: Sequence[Part], scheme: str) -> Array:
        return np.mean([arrays[id(row), scheme] for row in rows], axis=0)

    def top(rows: Sequence[Part], scheme: str, k: int) -> float:
        return 100.0 * top_accuracy(mean(rows, scheme), y_test, k)

    def share(rows: Sequence[Part], scheme: str, threshold: float, name: str) -> float:
        return 100.0 * float(np.nan_to_num(getattr(precision_recall(mean(rows, scheme), y_test, threshold), name)))

    def of_digit(rows: Sequence[Part], scheme: str, digit: int) -> float:
        return float((mean(rows, scheme)[y_test == digit].argmax(axis=1) == digit).mean())

    for scheme in DIGIT_SCHEMES:
        suffix = "" if scheme == "exact" else f", {scheme}"
        estimates |= rates(scheme, suffix)
        for digit in range(classes):
            estimates[f"digit {digit}{suffix}"] = partial(of_digit, scheme=scheme, digit=digit)
        for k in (1, 2, 3):
            estimates[f"top {k}{suffix}"] = partial(top, scheme=scheme, k=k)
        for threshold in (0.2, 0.4):
            for name in ("precision", "recall"):
                estimates[f"{name} at {threshold}{suffix}"] = partial(share, scheme=scheme, threshold=threshold, name=name)
    return together(parts, estimates, [key for key in estimates if key.startswith("mode")])


def _images(run: str, printed: dict[str, float]) -> Experiment:
    classes, temper = DIGITS[run]
    n, widest = classes * TESTED, 64 if classes == 5 else 128
    cells = []
    for key, value in printed.items():
        of_chains = key in ("across", "within", "mode", "mean")
        error = 0.0 if of_chains else 100.0 * math.sqrt(value / 100 * max(1 - value / 100, 1 / n) / n)
        half = {"mode": 2.5, "mean": 0.005}.get(key, 0.05 if key in ("across", "within") else 0.005)
        unit = "" if key in ("mode", "mean") else " %"
        cells.append(
            Cell(
                key=key,
                printed=value,
                half=half,
                unit=unit,
                error=error,
                like=ALL_PARTS,
                tried={f"{key}, {SAVED}": "", f"{key}, {FROZEN}": "", f"{key}, {SLOT}": ""},
                no_reason=(f"{key}, {FROZEN}", f"{key}, {SLOT}"),  # its saved runs have both
            )
        )
    for digit, share in enumerate(CONFUSED[run]):
        cells.append(
            Cell(
                key=f"digit {digit}",
                label=WORDS.phrase("berezowski.digit", digit=digit),
                printed=share,
                half=0.01,
                error=math.sqrt(max(share * (1 - share), 1 / TESTED) / TESTED),
                like=ALL_PARTS,
                tried={f"digit {digit}, {SAVED}": ""},
            )
        )
    return worded(
        id=f"berezowski-digits-{run}",
        values={"classes": classes, "temper": temper, "images": EACH * classes, "components": COMPONENTS, "widest": widest, "tests": n},
        link=f"/landing?scenario=thesis&setting=OD{run}&sweeps=500&burn=250",
        needs=("optdigits",),
        parts=(CHAINS, CHAINS),
        seconds=(150, 3600) if classes == 5 else (600, 14400),
        run=partial(_digits, run=run),
        combine=partial(_digit_estimates, classes=classes),
        cells=tuple(cells),
    )


def _variance(number: int, form: str) -> Part:
    """Share of the variance of 100 images, ten of each digit, that 20 components hold."""
    images = local.images("optdigits")
    rng = np.random.default_rng(number)
    rows = np.concatenate([rng.choice(np.flatnonzero(images.labels == label), 10, replace=False) for label in range(10)])
    pixels = standardised(images.images[rows])
    parts = principal_components(pixels, COMPONENTS)(pixels)
    return {"share": float(parts.var(axis=0).sum() / pixels.var(axis=0).sum())}


def _integers(number: int, form: str) -> Part:
    """Precision and recall that whole numbers of images can come to, nearest to each printed pair."""
    found: Part = {}
    for (run, at), (right, precision, recall) in PAIRS.items():
        confident = min(range(right + 1), key=lambda c: abs(100.0 * c / right - recall))
        shares = [100.0 * confident / called for called in range(confident, EACH_TEST[run] + 1)]
        found[f"{run}, recall at {at:g}"] = 100.0 * confident / right
        found[f"{run}, precision at {at:g}"] = min(shares, key=lambda share: abs(share - precision))
    return found


# images right, as the saved runs have them; precision and recall in %
PAIRS = {
    ("5a", 0.4): (975, 99.45, 92.82),
    ("5b", 0.4): (978, 99.34, 92.43),
    ("10a", 0.2): (1813, 92.16, 98.73),
    ("10a", 0.4): (1813, 100.0, 50.47),
    ("10b", 0.4): (1852, 97.73, 91.07),
}
EACH_TEST = {"5a": 1000, "5b": 1000, "10a": 2000, "10b": 2000}


def _official(number: int, form: str) -> Part:
    """Images of the official test set."""
    labels = local.images("optdigits").labels_test
    return {"five": float((labels < 5).sum()), "ten": float(len(labels))}


COUNTS_4B = (952, 1899, 8087, 5078)  # of L = 1 to 4, as read off a saved run


def _mean_of_counts(number: int, form: str) -> Part:
    mean = float(np.dot(COUNTS_4B, [1, 2, 3, 4]) / sum(COUNTS_4B))
    return {"mean": mean, "mean, cut": math.floor(100.0 * mean) / 100.0}


def _one_iteration(number: int, form: str) -> Part:
    """States that the first transition of NUTS visits: 1,000 points of sd 1 around (2.5, 1.5), from (0.52, 0.78), in units
    of the posterior's sd."""
    scale = math.sqrt(1000.0)
    target = targets.build("gaussian", dimension=2, correlation=0.0)
    start = [(0.52 - 2.5) * scale, (0.78 - 1.5) * scale]
    found = sample(target, "nuts", chains=1, draws=1, step_size=0.01 * scale, seed=number, init=start)
    return {"nodes": float(found.gradient_evaluations[0, 0] + 1), "doublings": math.ceil(math.log2(found.gradient_evaluations[0, 0] + 1))}


# diagonals of the confusion matrices, as read off pictures
CONFUSED = {
    "5a": (1.0, 0.96, 0.97, 0.99, 0.96),
    "5b": (1.0, 0.96, 0.98, 0.97, 0.97),
    "10a": (1.0, 0.80, 0.95, 0.92, 0.85, 0.90, 0.98, 0.98, 0.79, 0.89),
    "10b": (0.99, 0.90, 0.98, 0.92, 0.92, 0.89, 0.96, 0.98, 0.81, 0.92),
}

EXPERIMENTS = (
    worded(
        id="berezowski-4.1",
        link="/nuts?scenario=figure",
        parts=(40, 400),
        seconds=(1, 5),
        run=_one_iteration,
        cells=(Cell(key="nodes", printed=8, half=0.5, like=A_PART), Cell(key="doublings", printed=3, half=0.5, like=A_PART)),
    ),
    worded(
        id="berezowski-6.2.2",
        link="/landing?scenario=thesis&setting=OD5a",
        needs=("optdigits",),
        run=_official,
        exact=lambda: _official(0, FULL),
        cells=(Cell(key="five", printed=1000, half=0.0), Cell(key="ten", printed=2000, half=0.0)),
    ),
    worded(
        id="berezowski-6.6d",
        link=f"/landing?scenario=boston&setting=BH4b&{ALL_SWEEPS}",
        run=_mean_of_counts,
        exact=lambda: {"mean": _mean_of_counts(0, FULL)["mean"]},
        cells=(Cell(key="mean", printed=3.07, half=0.005, tried={"mean, cut": ""}),),
    ),
    worded(
        id="berezowski-7.2",
        link="/scores?scenario=thresholds",
        run=_integers,
        exact=lambda: _integers(0, FULL),
        cells=tuple(
            Cell(key=f"{run}, {name} at {at:g}", printed=value, half=0.005, unit=" %")
            for (run, at), (_, *pair) in PAIRS.items()
            for name, value in zip(("precision", "recall"), pair, strict=True)
        ),
    ),
    _clouds("berezowski-5.6", False, ("as-coded", "xor"), 7, 7.9, 100.0, 0.5, 0.0),
    _clouds("berezowski-5.8", True, ("noisy", "noisy"), 8, 8.1, 92.0, 0.5, 1.8),
    _houses("2A", (4.5, 66.1, 0.236, 0.235, 2, 3.74)),
    _houses("2B", (4.9, 65.8, 0.245, 0.249, 4, 3.73)),
    _houses("4A", (1.1, 63.4, 0.223, 0.211, 3, 2.67)),
    _houses("4B", (1.4, 64.8, 0.215, 0.209, 3, 3.07)),
    worded(
        id="berezowski-6.2",
        link="/landing?scenario=thesis&setting=OD10a",
        needs=("optdigits",),
        parts=(20, 100),
        run=_variance,
        cells=(Cell(key="share", printed=0.93, half=0.005, like=A_PART),),
    ),
    _images(
        "5a",
        {"across": 11.2, "within": 82.5, "mode": 48, "mean": 43.35, "top 1": 97.50, "top 2": 99.30, "top 3": 99.90}
        | {"precision at 0.2": 97.5, "recall at 0.2": 100.0, "precision at 0.4": 99.45, "recall at 0.4": 92.82},
    ),
    _images(
        "5b",
        {"across": 9.8, "within": 64.3, "mode": 30, "mean": 28.73, "top 1": 97.80, "top 2": 99.30, "top 3": 99.80}
        | {"precision at 0.2": 97.8, "recall at 0.2": 100.0, "precision at 0.4": 99.34, "recall at 0.4": 92.43},
    ),
    _images(
        "10a",
        {"across": 7.8, "within": 67.2, "mode": 89, "mean": 81.34, "top 1": 90.65, "top 2": 96.50, "top 3": 98.25}
        | {"precision at 0.2": 92.16, "recall at 0.2": 98.73, "precision at 0.4": 100.0, "recall at 0.4": 50.47},
    ),
    _images(
        "10b",
        {"across": 5.6, "within": 57.6, "mode": 55, "mean": 60.31, "top 1": 92.60, "top 2": 97.30, "top 3": 98.40}
        | {"precision at 0.2": 92.5, "recall at 0.2": 100.0, "precision at 0.4": 97.73, "recall at 0.4": 91.07},
    ),
)
