"""What Steyn 2018 and Hubin and Storvik 2019 conclude of MNIST, each sentence beside our numbers: it holds here, it does not,
or it cannot be told.

A claim is judged by the gap that it speaks of, against `SURE` standard errors of that gap. Networks that were not trained at
full length cannot refute it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from lessons.reproduce import store
from lessons.reproduce.experiment import FULL, SURE, Estimate

HOLDS, DOES_NOT, UNTOLD = "holds here", "does not", "cannot be told"
MARKS = (HOLDS, DOES_NOT, UNTOLD)
TESTS = 10_000  # images by which accuracies are known
CHANCE = 0.1  # γ(0.1) of a score that knows nothing
BOTH = ("steyn-7.3", "steyn-7.4")
SCORED = tuple(f"{id}-scores" for id in BOTH)
FAMILIES = ("", "-gaussian", "-mixture", "-concrete")  # of table 1, that have one network and ten

Numbers = Mapping[str, Mapping[str, Estimate]]  # estimates by experiment and key


class Told(NamedTuple):
    """A mark, and the numbers that make it."""

    mark: str
    numbers: str


class Conclusion(NamedTuple):
    """A sentence of conclusion, in our words.

    source : who; claim : what
    needs : experiments whose numbers are looked at; trained : whether their length of training may decide
    judge : these numbers -> what comes of them
    """

    source: str
    claim: str
    needs: Sequence[str]
    trained: bool
    judge: Callable[[Numbers], Told]


def by_gap(gap: float, error: float, numbers: str) -> Told:
    """Of a claim that a gap is above 0."""
    if abs(gap) <= SURE * error:
        return Told(UNTOLD, f"{numbers}: a gap of {gap:.3g}, by chance up to {SURE * error:.2g}")
    return Told(HOLDS if gap > 0.0 else DOES_NOT, numbers)


def told(conclusion: Conclusion) -> Told:
    """What our numbers, as kept, say of it."""
    kept = {id: store.result(id) for id in conclusion.needs}
    missing = [id for id, each in kept.items() if each is None]
    if missing or not kept:
        return Told(UNTOLD, f"not run: {', '.join(missing)}" if missing else "not run")
    estimates = {id: {key: Estimate(*numbers) for key, numbers in each["estimates"].items()} for id, each in kept.items() if each}
    try:
        found = conclusion.judge(estimates)
    except KeyError:
        return Told(UNTOLD, "not run since the experiments were changed")
    short = [id for id, each in kept.items() if each and each["form"] != FULL]
    if not (conclusion.trained and short):
        return found
    mark = UNTOLD if found.mark == DOES_NOT else found.mark
    return Told(mark, f"{found.numbers}; not at full length: {', '.join(short)}")


def _share(p: float) -> float:
    """Standard error of a share of the test images."""
    return math.sqrt(p * (1.0 - p) / TESTS)


def _convolution(n: Numbers) -> Told:
    dense, convolution = (n[id]["right"].value / 100.0 for id in BOTH)
    gap = convolution - dense
    return by_gap(
        gap, math.hypot(_share(dense), _share(convolution)), f"{dense:.2%} by the dense network, {convolution:.2%} by convolutions"
    )


def _separates(n: Numbers) -> Told:
    dense, convolution = (n[id]["sd"].value for id in BOTH)
    wrong = min(TESTS * (1.0 - n[id]["right"].value / 100.0) for id in BOTH)
    error = math.sqrt(0.25 / wrong)  # of a share of the misread ones, at most
    numbers = f"γ(0.1) of the sd is {dense:.3f} and {convolution:.3f}; of a score that knows nothing it is {CHANCE:g}"
    return by_gap(min(dense, convolution) - CHANCE, error, numbers)


def _approximation(n: Numbers) -> Told:
    gap = n["steyn-7.1"]["ga"].value
    numbers = f"γ(0.1) of GA less that of inconsistency is {gap:.4f}, on 8 × 8 digits, and must be 0: both rank alike"
    return Told(HOLDS if gap > 1e-9 else DOES_NOT, numbers)


def _highest(n: Numbers) -> Told:
    at = [n[id]["highest"].value for id in SCORED]
    inside = all(0.4 <= p <= 0.6 for p in at)
    return Told(HOLDS if inside else DOES_NOT, f"it is highest at probabilities around {at[0]:.3f} and {at[1]:.3f}")


def _linear(n: Numbers) -> Told:
    at = [n[id]["straight"].value for id in SCORED]
    numbers = f"the correlation is {at[0]:.3f} and {at[1]:.3f}"
    if max(at) <= -0.95:
        return Told(HOLDS, numbers)
    return Told(DOES_NOT if min(at) > -0.9 else UNTOLD, numbers)


def _dropout(n: Numbers) -> Told:
    plain, dropped = (n["steyn-6.7"][key] for key in ("descent", "dropout"))
    gap, error = abs(plain.value - dropped.value), math.hypot(plain.error, dropped.error)
    numbers = f"{plain.value:.1f} % without, {dropped.value:.1f} % with dropout (keep, which is not printed, 0.8)"
    return Told(DOES_NOT if gap > max(SURE * error, 2.0) else HOLDS, numbers)


def _sparse(n: Numbers) -> Told:
    slab, dense = n["hubin-table-1"], n["hubin-table-1-gaussian"]["MA"].value
    median, share = slab["MED post"].value, slab["MED post density"].value
    lost, error = dense - median, math.hypot(_share(dense), _share(median))
    numbers = f"{median:.2%} with {share:.1%} of the weights, {dense:.2%} with all"
    near = share < 0.1 and lost <= 0.01 + SURE * error
    return Told(HOLDS if near else DOES_NOT, numbers)


def _averaging(n: Numbers) -> Told:
    pairs = [(n[f"hubin-table-1{name}"]["SM"].value, n[f"hubin-table-1{name}"]["MA"].value) for name in FAMILIES]
    gap = sum(ten - one for one, ten in pairs) / len(pairs)
    error = math.sqrt(sum(_share(one) ** 2 + _share(ten) ** 2 for one, ten in pairs)) / len(pairs)
    return by_gap(gap, error, "one network and ten: " + ", ".join(f"{one:.2%} and {ten:.2%}" for one, ten in pairs))


def _post_training(n: Numbers) -> Told:
    before, after = (n["hubin-table-1"][key].value for key in ("MA", "MA post"))
    return by_gap(after - before, math.hypot(_share(before), _share(after)), f"{before:.2%} before, {after:.2%} after")


def _draws(n: Numbers) -> Told:
    close, loose = n["hubin-draws"]["draws"].value, n["hubin-draws"]["draws, looser"].value
    numbers = f"{close:.0f} draws until the accuracy stays within 0.002 of that of 60, {loose:.0f} within 0.01"
    if close <= 15.0:
        return Told(HOLDS, numbers)
    return Told(UNTOLD if loose <= 15.0 else DOES_NOT, f"{numbers}; what is enough is not printed")


def _outside(n: Numbers) -> Told:
    inside, outside = (n["hubin-figure-7"][key].value / 100.0 for key in ("in", "out"))
    numbers = f"95 of 100 networks agree on {inside:.0%} of the test images and on {outside:.0%} of letters (Fashion-MNIST is not here)"
    return Told(HOLDS if inside > 0.5 > outside else UNTOLD, numbers)


def _misread(n: Numbers) -> Told:
    unsure, truth = (n["hubin-figure-7"][key].value / 100.0 for key in ("unsure", "truth"))
    numbers = f"{unsure:.0%} of the misread images have fewer than 95 equal votes; of {truth:.0%} the truth has 6 or more"
    return Told(HOLDS if unsure >= 0.9 and truth > 0.5 else DOES_NOT, numbers)


def _sparser(n: Numbers) -> Told:
    slab, concrete = n["hubin-table-1"]["MA density"].value, n["hubin-table-1-concrete"]["MA density"].value
    return Told(
        HOLDS if slab < 0.5 * concrete else DOES_NOT, f"ten networks use {slab:.1%} of the weights, with concrete dropout {concrete:.1%}"
    )


STEYN, HUBIN = "Steyn (2018)", "Hubin, Storvik (2019)"
CONCLUSIONS = (
    Conclusion(STEYN, "Convolutions read MNIST better than a dense network", BOTH, True, _convolution),
    Conclusion(STEYN, "The sd of the predicted class tells misread images from others", BOTH, False, _separates),
    Conclusion(STEYN, "Its approximation by a normal distribution (GA) tells them best", ("steyn-7.1",), False, _approximation),
    Conclusion(STEYN, "The sd is highest where the probability is 0.4 to 0.6", SCORED, False, _highest),
    Conclusion(STEYN, "Inconsistency falls linearly as the probability rises", SCORED, False, _linear),
    Conclusion(STEYN, "A small network reads as well with dropout as without", ("steyn-6.7",), False, _dropout),
    Conclusion(
        STEYN, "Variational inference settles soon, and a little sooner than Metropolis", (), False, lambda n: Told(UNTOLD, "not run")
    ),
    Conclusion(
        HUBIN, "A twentieth of the weights is nearly as accurate as all", ("hubin-table-1", "hubin-table-1-gaussian"), True, _sparse
    ),
    Conclusion(HUBIN, "It is sparser than dropout that learns", ("hubin-table-1", "hubin-table-1-concrete"), True, _sparser),
    Conclusion(HUBIN, "Ten networks are more accurate than one", tuple(f"hubin-table-1{name}" for name in FAMILIES), True, _averaging),
    Conclusion(HUBIN, "Training on with the structure fixed makes it more accurate", ("hubin-table-1",), True, _post_training),
    Conclusion(HUBIN, "10 to 15 draws are enough", ("hubin-draws",), False, _draws),
    Conclusion(HUBIN, "Networks are sure of their own kind of images and mostly unsure of others", ("hubin-figure-7",), True, _outside),
    Conclusion(
        HUBIN, "Of nearly all misread images they are unsure, and mostly some vote for the truth", ("hubin-figure-7",), True, _misread
    ),
)


def rows() -> list[tuple[str, str, str, str]]:
    """Source, claim, mark and numbers of every conclusion."""
    return [(each.source, each.claim, *told(each)) for each in CONCLUSIONS]
