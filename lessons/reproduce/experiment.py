"""What an experiment is: data. And the verdict on each of its printed numbers, which is computed and never typed."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from app.kit.text import minus
from app.kit.words import Words
from engine.diagnostics import jackknife

WORDS = Words(__file__)

SURE = 3.0  # standard errors that a gap may have

AGREES, DIFFERS = WORDS.phrase("verdicts.agrees"), WORDS.phrase("verdicts.differs")
UNTOLD, NOT_RUN = WORDS.phrase("verdicts.untold"), WORDS.phrase("verdicts.not_run")
VERDICTS = (AGREES, DIFFERS, UNTOLD, NOT_RUN)
QUICK, FULL = "quick", "full"
A_PART, ALL_PARTS = "part", "parts"
RESAMPLED = 100
BLUNT = 0.25  # a gap that may be as large as this share of the print is no agreement; what leaves more of a gap, no reason

Part = dict[str, Any]


class Estimate(NamedTuple):
    """A number, its standard error, 0 where it is exact, and the standard deviation from part to part."""

    value: float
    error: float = 0.0
    spread: float = 0.0


@dataclass(frozen=True, kw_only=True)
class Cell:
    """A printed number.

    key : of the outcome it stands beside
    label : what it is; unit : of it, as printed
    printed, half : the number, and half a unit of its last digit; of one read off a picture, how far it may be off
    error : standard error that its own test set or rows give it
    like : what made it, of ours: A_PART (one run of many that could have been) or ALL_PARTS (a run like ours): it then
        scatters as ours does
    because : why the exact value is what it is
    tried : changed settings: the key of the outcome of each, and what was changed, a clause
    no_reason : keys of those whose agreement explains nothing: choices of ours where the print says nothing, and settings
        that the work's own files rule out, or numbers beside it
    fits_also : keys of cells of the same picture that a changed setting must fit, too, before it is a reason
    parts : of how many parts it is at least, such as the largest of ten
    """

    key: str
    label: str = ""
    printed: float
    half: float
    unit: str = ""
    error: float = 0.0
    like: str = ""
    because: str = ""
    tried: Mapping[str, str] = field(default_factory=dict)
    no_reason: Sequence[str] = ()
    fits_also: Sequence[str] = ()
    parts: int = 1


class Beside(NamedTuple):
    """A number that is not printed: its key, what it is, its digits and unit."""

    key: str
    label: str
    digits: int = 3
    unit: str = ""


@dataclass(frozen=True, kw_only=True)
class Source:
    """Where an experiment stands in print."""

    author: str
    year: int
    place: str


@dataclass(frozen=True, kw_only=True)
class Experiment:
    """One table or figure.

    id : "author-table"; source, title, topic : for people
    settings : as printed; chosen : what is not printed, and our choice; by_form : the same where a form has its own
    needs : data sets that are not bundled
    parts : independent pieces of work in the quick and in the full form; seconds : of each form on two cores
    run : (number of the part, form) -> numbers of that part
    combine : numbers of all parts -> estimates; by default the mean over parts with its standard error
    exact : what is known without sampling, by key
    tolerance : why a gap may be as large as it may
    link : a lesson with these settings; also : further ones
    covers : its tables and figures of print, "table 5.2"
    beside : what is worked out, too, and is not printed
    variants : experiments of their own that are this one with something changed, by what stands for that in the keys of
        `tried`: "key, variant"
    """

    id: str
    source: Source
    title: str
    topic: str
    cells: Sequence[Cell]
    run: Callable[[int, str], Part]
    parts: tuple[int, int] = (1, 1)
    seconds: tuple[int, int] = (1, 1)
    settings: Sequence[str] = ()
    chosen: Sequence[str] = ()
    by_form: Mapping[str, Sequence[str]] = field(default_factory=dict)
    needs: Sequence[str] = ()
    combine: Callable[[Sequence[Part]], Mapping[str, Estimate]] = field(default=lambda parts: averages(parts))
    exact: Callable[[], Mapping[str, float]] = dict
    tolerance: str = field(default_factory=lambda: WORDS.phrase("why.tolerance"))
    link: str = ""
    also: Sequence[str] = ()
    covers: Sequence[str] = ()
    beside: Sequence[Beside] = ()
    variants: Mapping[str, str] = field(default_factory=dict)

    @property
    def links(self) -> Sequence[str]:
        """All lessons with these settings."""
        return (self.link, *self.also) if self.link else ()

    def count(self, form: str) -> int:
        """Parts of a form."""
        return self.parts[form == FULL]

    def choices(self, form: str) -> Sequence[str]:
        """Ours, where the print says nothing, in this form."""
        return (*self.chosen, *self.by_form.get(form, ()))


def worded(id: str, cells: Sequence[Cell], values: Mapping[str, Any] | None = None, **data: Any) -> Experiment:
    """An experiment with what its entry in `words.toml` says of it, [experiments.id]: title, place, topic, settings, choices,
    tolerance and what it covers; labels of cells by their keys, where they are not called so, and their reasons by them, or
    one for all. What was changed, where a cell leaves it empty, stands by the key of `tried`, or by the last part of that.

    values : numbers that stand in its words by name

    An entry may be like another: it then has what it does not say itself from there.
    """
    said = WORDS.entry("experiments", id, **(values or {}))
    if "like" in said:
        said = WORDS.entry("experiments", said["like"], **(values or {})) | said
    labels, reasons, changes = (said.get(name, {}) for name in ("labels", "because", "changes"))
    return Experiment(
        id=id,
        source=_source(id.partition("-")[0], said["place"]),
        topic=said["topic"],
        cells=tuple(
            dataclasses.replace(
                cell,
                label=cell.label or labels.get(cell.key, cell.key),
                because=cell.because or (reasons if isinstance(reasons, str) else reasons.get(cell.key, "")),
                tried={key: change or changes.get(key) or changes[key.rpartition(", ")[2]] for key, change in cell.tried.items()},
            )
            for cell in cells
        ),
        **{name: said[name] for name in ("title", "settings", "chosen", "by_form", "tolerance", "covers") if name in said} | data,
    )


@dataclass(frozen=True, kw_only=True)
class NotRun:
    """What stands in print and has no experiment. why : a clause"""

    source: Source
    why: str


def not_run(work: str) -> tuple[NotRun, ...]:
    """What stands in print of a work and has no experiment, as its words have it."""
    return tuple(NotRun(source=_source(work, place), why=why) for place, why in WORDS.entry("works", work)["not_run"])


def _source(work: str, place: str) -> Source:
    said = WORDS.entry("works", work)
    return Source(author=said["author"], year=int(said["year"]), place=place)


@dataclass(frozen=True)
class Verdict:
    """On one cell.

    ours : our estimate, None where nothing ran; exact : the exact value, None where none is known
    z : gap over its error, None where there is none
    kind : one of `VERDICTS`; why : one line
    """

    ours: Estimate | None
    exact: float | None
    z: float | None
    kind: str
    why: str


class Outcome(NamedTuple):
    """What an experiment came to: estimates by key, and what is known exactly."""

    estimates: Mapping[str, Estimate]
    exact: Mapping[str, float]


def judge(experiment: Experiment, cell: Cell, outcome: Outcome | None) -> Verdict:
    """The verdict on a printed number. Of an experiment that has no outcome it names the data that it needs, whether or
    not they are on this machine.

    It agrees where the gap is at most the rounding of the print and `SURE` standard errors, ours and its own, unless
    these may be as large as `BLUNT` of the print, or ours is beyond the rounding and a changed setting that was tried
    comes nearer: then it cannot be told. If it does not agree, it differs where a changed setting that may be a reason
    agrees (see `_look`), or where the exact value is known and the print misses that too, however ours scatters; else it
    cannot be told as long as settings are not printed.
    """
    if outcome is None:
        why = WORDS.phrase("why.data", names=", ".join(experiment.needs)) if experiment.needs else WORDS.phrase("why.not_yet")
        return Verdict(None, None, None, NOT_RUN, why)
    if cell.key not in outcome.estimates:
        why = WORDS.phrase("why.more_parts", parts=cell.parts) if cell.parts > 1 else WORDS.phrase("why.changed")
        return Verdict(None, None, None, NOT_RUN, why)
    ours, exact = outcome.estimates[cell.key], outcome.exact.get(cell.key)
    scatter = _scatter(ours, cell)
    scale = math.hypot(scatter, cell.half / math.sqrt(3.0))
    z = (ours.value - cell.printed) / scale if scale > 0.0 else None
    changes = [(key, change) for key, change in cell.tried.items() if key in outcome.estimates]
    others = [(outcome.estimates[key], change) for key, change in changes]
    missed = exact is not None and not _fits(Estimate(exact), cell)
    if _fits(ours, cell) and not (missed and SURE * scatter > BLUNT * abs(cell.printed)):
        if SURE * scatter > BLUNT * abs(cell.printed) > 0.0:
            return Verdict(ours, exact, z, UNTOLD, WORDS.phrase("why.chance", gap=SURE * scatter))
        nearest, change = min(others, key=lambda other: abs(other[0].value - cell.printed), default=(ours, ""))
        gap = abs(ours.value - cell.printed)
        if gap > cell.half and abs(nearest.value - cell.printed) < gap:
            return Verdict(ours, exact, z, UNTOLD, WORDS.phrase("why.nearer", change=change, value=shown(nearest, cell)))
        return Verdict(ours, exact, z, AGREES, _within(ours, cell))
    looks = [_look(experiment, cell, outcome, key, change) for key, change in changes]
    tried = "; ".join(said for _, said in sorted(looks, key=lambda look: not look[0]))
    if any(agrees and key not in cell.no_reason for (key, _), (agrees, _) in zip(changes, looks, strict=True)):
        return Verdict(ours, exact, z, DIFFERS, tried)
    if exact is not None and missed:
        proof = f": {cell.because}" if cell.because else ""
        why = WORDS.phrase("why.exact", value=shown(Estimate(exact), cell), proof=proof)
        return Verdict(ours, exact, z, DIFFERS, "; ".join(filter(None, (why, tried))))
    return Verdict(ours, exact, z, UNTOLD, WORDS.phrase("why.open", tried=tried or WORDS.phrase("why.untried")))


def _look(experiment: Experiment, cell: Cell, outcome: Outcome, key: str, change: str) -> tuple[bool, str]:
    """Whether a changed setting may be why ours is another number, and what is said of it. It agrees, moves ours by more
    than chance, leaves little of the gap, and agrees with the other numbers of the picture."""
    ours, other = outcome.estimates[cell.key], outcome.estimates[key]
    value = shown(other, cell)
    if not (_fits(other, cell) and SURE * _scatter(other, cell) < abs(ours.value - other.value)):
        return False, WORDS.phrase("why.other", change=change, value=value)
    left = max(0.0, abs(other.value - cell.printed) - cell.half) / (abs(ours.value - cell.printed) - cell.half)
    if left > BLUNT:
        return False, WORDS.phrase("why.rough", change=change, value=value, left=left)
    for beside in (each for each in experiment.cells if each.key in cell.fits_also):
        found = outcome.estimates[beside.key + key.removeprefix(cell.key)]
        if not _fits(found, beside):
            return False, WORDS.phrase("why.misses", change=change, value=value, label=beside.label, other=shown(found, beside))
    return True, WORDS.phrase("why.agreeing", change=change, value=value)


def _scatter(estimate: Estimate, cell: Cell) -> float:
    """Standard error of the gap: that of ours, and that of the print."""
    theirs = {A_PART: estimate.spread, ALL_PARTS: estimate.error}.get(cell.like, 0.0)
    return math.hypot(estimate.error, cell.error, theirs)


def _fits(estimate: Estimate, cell: Cell) -> bool:
    allowed = cell.half * (1 + 1e-9) + 1e-12 * abs(cell.printed) + SURE * _scatter(estimate, cell)
    return abs(estimate.value - cell.printed) <= allowed


def _within(ours: Estimate, cell: Cell) -> str:
    gap = abs(ours.value - cell.printed)
    if gap <= cell.half * (1 + 1e-9) + 1e-12 * abs(cell.printed):
        return WORDS.phrase("why.rounding") if _scatter(ours, cell) else WORDS.phrase("why.last_digit")
    return WORDS.phrase("why.errors", errors=gap / _scatter(ours, cell))


def shown(estimate: Estimate, cell: Cell) -> str:
    """An estimate with as many digits as the print has, and one more."""
    digits = 0 if cell.half == 0.0 else min(max(0, 1 - math.floor(math.log10(2.0 * cell.half))), 6)
    return minus(f"{estimate.value:,.{digits}f}{cell.unit}")


def averages(parts: Sequence[Part]) -> dict[str, Estimate]:
    """Mean over independent parts, and its standard error; one part alone is exact."""
    found = {}
    for key in parts[0]:
        values = np.array([part[key] for part in parts], dtype=np.float64)
        spread = float(values.std(ddof=1)) if len(values) > 1 else 0.0
        found[key] = Estimate(float(values.mean()), spread / math.sqrt(len(values)), spread)
    return found


def together(
    parts: Sequence[Part], estimates: Mapping[str, Callable[[Sequence[Part]], float]], rough: Sequence[str] = ()
) -> dict[str, Estimate]:
    """What is estimated from all parts together, with the error that leaving out one part at a time gives. Those named
    in `rough` are no smooth function of the parts, such as a mode: theirs is that of drawing parts with replacement.
    """
    found = {}
    for key, estimate in estimates.items():

        def of(rows: Any, estimate: Callable[[Sequence[Part]], float] = estimate) -> float:
            return estimate([parts[i] for i in rows])

        value, error = (_bootstrap if key in rough else jackknife)(of, len(parts))
        found[key] = Estimate(float(value), error, error * math.sqrt(len(parts)))
    return found


def _bootstrap(estimate: Callable[[Any], float], parts: int) -> tuple[float, float]:
    rng = np.random.Generator(np.random.SFC64(0))
    return estimate(np.arange(parts)), float(np.std([estimate(rng.integers(parts, size=parts)) for _ in range(RESAMPLED)]))
