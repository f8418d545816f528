"""What Steyn 2018 and Hubin and Storvik 2019 conclude of MNIST, each sentence beside our numbers: it holds here, it does not,
or it cannot be told.

A claim is judged by the gap that it speaks of, against `SURE` standard errors of that gap. Networks that were not trained at
full length cannot refute it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from lessons.reproduce import store
from lessons.reproduce.experiment import FULL, SURE, WORDS, Estimate
from lessons.reproduce.steyn import BY_WINDOW, ENOUGH, SETTLED

HOLDS, DOES_NOT = WORDS.phrase("concluded.holds"), WORDS.phrase("concluded.does_not")
UNTOLD = WORDS.phrase("concluded.untold")
MARKS = (HOLDS, DOES_NOT, UNTOLD)
TESTS = 10_000  # images by which accuracies are known
CHANCE = 0.1  # γ(0.1) of a score that knows nothing
LONGEST = "steyn-7.4-longer"  # of the convolutional network: its full form is not the printed length …
AT_LENGTH = "steyn-7.4-scores"  # … and this one's is, which knows the same numbers
BOTH = ("steyn-7.3", LONGEST)
SCORED = ("steyn-7.3-scores", LONGEST)
FAMILIES = ("", "-gaussian", "-mixture", "-concrete")  # of table 1, that have one network and ten

Numbers = Mapping[str, Mapping[str, Estimate]]  # estimates by experiment and key


class Told(NamedTuple):
    """A mark, and the numbers that make it."""

    mark: str
    numbers: str


class Conclusion(NamedTuple):
    """A sentence of conclusion, in our words.

    source : id of the work; id : of the sentence
    needs : experiments whose numbers are looked at; trained : whether their length of training may decide
    judge : these numbers -> what comes of them
    """

    source: str
    id: str
    needs: Sequence[str]
    trained: bool
    judge: Callable[[Numbers], Told]

    @property
    def claim(self) -> str:
        """What it says."""
        return WORDS.phrase(f"conclusions.{self.id}.claim")


def by_gap(gap: float, error: float, numbers: str) -> Told:
    """Of a claim that a gap is above 0."""
    if abs(gap) <= SURE * error:
        return Told(UNTOLD, WORDS.phrase("concluded.gap", numbers=numbers, gap=gap, chance=SURE * error))
    return Told(HOLDS if gap > 0.0 else DOES_NOT, numbers)


def told(conclusion: Conclusion) -> Told:
    """What our numbers, as kept, say of it."""
    kept = {id: _kept(id) for id in conclusion.needs}
    missing = [id for id, each in kept.items() if each is None]
    if missing:
        return Told(UNTOLD, WORDS.phrase("concluded.missing", ids=", ".join(missing)))
    estimates = {id: {key: Estimate(*numbers) for key, numbers in each["estimates"].items()} for id, each in kept.items() if each}
    try:
        found = conclusion.judge(estimates)
    except KeyError:
        return Told(UNTOLD, WORDS.phrase("concluded.changed"))
    short = [id for id, each in kept.items() if each and each["form"] != FULL]
    if not (conclusion.trained and short):
        return found
    mark = UNTOLD if found.mark == DOES_NOT else found.mark
    return Told(mark, WORDS.phrase("concluded.short", numbers=found.numbers, ids=", ".join(short)))


def _kept(id: str) -> Mapping[str, Any] | None:
    """Form and estimates of an experiment; of the convolutional network the longest training's."""
    if id != LONGEST:
        return store.result(id)
    whole, found = store.result(AT_LENGTH), store.result(id)
    if whole is not None and whole["form"] == FULL:
        return whole
    return None if found is None else {**found, "form": LONGEST}


def _share(p: float) -> float:
    """Standard error of a share of the test images."""
    return math.sqrt(p * (1.0 - p) / TESTS)


def _convolution(n: Numbers) -> Told:
    dense, convolution = (n[id]["right"].value / 100.0 for id in BOTH)
    numbers = WORDS.phrase("conclusions.convolution.numbers", dense=dense, convolution=convolution)
    return by_gap(convolution - dense, math.hypot(_share(dense), _share(convolution)), numbers)


def _separates(n: Numbers) -> Told:
    dense, convolution = (n[id]["sd"].value for id in BOTH)
    wrong = min(TESTS * (1.0 - n[id]["right"].value / 100.0) for id in BOTH)
    error = math.sqrt(0.25 / wrong)  # of a share of the misread ones, at most
    numbers = WORDS.phrase("conclusions.separates.numbers", dense=dense, convolution=convolution, chance=CHANCE)
    return by_gap(min(dense, convolution) - CHANCE, error, numbers)


def _approximation(n: Numbers) -> Told:
    gap, (dense, convolution) = n["steyn-7.1"]["ga"].value, (n[id]["GA less inconsistency"].value for id in SCORED)
    numbers = WORDS.phrase("conclusions.approximation.numbers", gap=gap, dense=dense, convolution=convolution)
    return Told(HOLDS if min(gap, dense, convolution) > 1e-9 else DOES_NOT, numbers)


def _highest(n: Numbers) -> Told:
    at = [n[id]["highest"].value for id in SCORED]
    inside = all(0.4 <= p <= 0.6 for p in at)
    return Told(HOLDS if inside else DOES_NOT, WORDS.phrase("conclusions.highest.numbers", dense=at[0], convolution=at[1]))


def _linear(n: Numbers) -> Told:
    at = [n[id]["straight"].value for id in SCORED]
    numbers = WORDS.phrase("conclusions.linear.numbers", dense=at[0], convolution=at[1])
    if max(at) <= -0.95:
        return Told(HOLDS, numbers)
    return Told(DOES_NOT if min(at) > -0.9 else UNTOLD, numbers)


def _dropout(n: Numbers) -> Told:
    plain, dropped = (n["steyn-6.7"][key] for key in ("descent", "dropout"))
    gap, error = abs(plain.value - dropped.value), math.hypot(plain.error, dropped.error)
    numbers = WORDS.phrase("conclusions.dropout.numbers", plain=plain.value, dropped=dropped.value)
    return Told(DOES_NOT if gap > max(SURE * error, 2.0) else HOLDS, numbers)


def _sparse(n: Numbers) -> Told:
    slab, dense = n["hubin-table-1"], n["hubin-table-1-gaussian"]["MA"].value
    median, share = slab["MED post"].value, slab["MED post density"].value
    lost, error = dense - median, math.hypot(_share(dense), _share(median))
    numbers = WORDS.phrase("conclusions.sparse.numbers", median=median, share=share, dense=dense)
    near = share < 0.1 and lost <= 0.01 + SURE * error
    return Told(HOLDS if near else DOES_NOT, numbers)


def _averaging(n: Numbers) -> Told:
    pairs = [(n[f"hubin-table-1{name}"]["SM"].value, n[f"hubin-table-1{name}"]["MA"].value) for name in FAMILIES]
    gap = sum(ten - one for one, ten in pairs) / len(pairs)
    error = math.sqrt(sum(_share(one) ** 2 + _share(ten) ** 2 for one, ten in pairs)) / len(pairs)
    each = ", ".join(WORDS.phrase("conclusions.averaging.pair", one=one, ten=ten) for one, ten in pairs)
    return by_gap(gap, error, WORDS.phrase("conclusions.averaging.numbers", pairs=each))


def _post_training(n: Numbers) -> Told:
    slab = n["hubin-table-1"]
    before, after = slab["MA"].value, slab["MA post"].value
    numbers = WORDS.phrase("conclusions.post_training.numbers", before=before, after=after)
    return by_gap(after - before, math.hypot(_share(before), _share(after)), numbers)


def _draws(n: Numbers) -> Told:
    close, loose = n["hubin-draws"]["draws"].value, n["hubin-draws"]["draws, looser"].value
    numbers = WORDS.phrase("conclusions.draws.numbers", close=close, loose=loose)
    if close <= 15.0:
        return Told(HOLDS, numbers)
    return Told(UNTOLD if loose <= 15.0 else DOES_NOT, WORDS.phrase("conclusions.draws.open", numbers=numbers))


def _outside(n: Numbers) -> Told:
    inside, outside = (n["hubin-figure-7"][key].value / 100.0 for key in ("in", "out"))
    numbers = WORDS.phrase("conclusions.outside.numbers", inside=inside, outside=outside)
    return Told(HOLDS if inside > 0.5 > outside else UNTOLD, numbers)


def _misread(n: Numbers) -> Told:
    unsure, truth = (n["hubin-figure-7"][key].value / 100.0 for key in ("unsure", "truth"))
    numbers = WORDS.phrase("conclusions.misread.numbers", unsure=unsure, truth=truth)
    return Told(HOLDS if unsure >= 0.9 and truth > 0.5 else DOES_NOT, numbers)


def _sparser(n: Numbers) -> Told:
    slab, concrete = n["hubin-table-1"]["MA density"].value, n["hubin-table-1-concrete"]["MA density"].value
    numbers = WORDS.phrase("conclusions.sparser.numbers", slab=slab, concrete=concrete)
    return Told(HOLDS if slab < 0.5 * concrete else DOES_NOT, numbers)


def _settles(n: Numbers) -> Told:
    settled = [n["steyn-5.5"][key] for key in (SETTLED, BY_WINDOW)]
    metropolis = n["steyn-5.5"]["metropolis"]
    numbers = WORDS.phrase(
        "conclusions.settles.numbers", printed=settled[0].value, windowed=settled[1].value, enough=ENOUGH, metropolis=metropolis.value
    )
    gaps = [(metropolis.value - each.value, SURE * math.hypot(metropolis.error, each.error)) for each in settled]
    if all(gap > chance for gap, chance in gaps):
        return Told(HOLDS, numbers)
    return Told(DOES_NOT if all(gap < -chance for gap, chance in gaps) else UNTOLD, numbers)


CONCLUSIONS = (
    Conclusion("steyn", "convolution", BOTH, True, _convolution),
    Conclusion("steyn", "separates", BOTH, False, _separates),
    Conclusion("steyn", "approximation", ("steyn-7.1", *SCORED), False, _approximation),
    Conclusion("steyn", "highest", SCORED, False, _highest),
    Conclusion("steyn", "linear", SCORED, False, _linear),
    Conclusion("steyn", "dropout", ("steyn-6.7",), False, _dropout),
    Conclusion("steyn", "settles", ("steyn-5.5",), False, _settles),
    Conclusion("hubin", "sparse", ("hubin-table-1", "hubin-table-1-gaussian"), True, _sparse),
    Conclusion("hubin", "sparser", ("hubin-table-1", "hubin-table-1-concrete"), True, _sparser),
    Conclusion("hubin", "averaging", tuple(f"hubin-table-1{name}" for name in FAMILIES), True, _averaging),
    Conclusion("hubin", "post_training", ("hubin-table-1",), True, _post_training),
    Conclusion("hubin", "draws", ("hubin-draws",), False, _draws),
    Conclusion("hubin", "outside", ("hubin-figure-7",), True, _outside),
    Conclusion("hubin", "misread", ("hubin-figure-7",), True, _misread),
)


def rows() -> list[tuple[str, str, str, str]]:
    """Source, claim, mark and numbers of every conclusion."""
    return [(WORDS.phrase("concluded.source", **WORDS.entry("works", each.source)), each.claim, *told(each)) for each in CONCLUSIONS]
