"""An experiment as a job of the page: part by part, and what the parts so far come to."""

from __future__ import annotations

import contextlib
from typing import Any

from engine import ticket
from lessons.reproduce import store
from lessons.reproduce.experiment import FULL, Experiment, Outcome, Part
from lessons.reproduce.registry import BY_ID
from lessons.reproduce.running import outcome_of, work

LEAST = 3  # parts before there is something to show


def run(id: str, form: str, job: Any) -> Outcome | None:
    """Run a form of it; publishes the outcome so far as parts come in. None when it was stopped.

    Parts of the full form are on disk where those of the command are, so that it goes on where it was stopped, here or there;
    one that has come to its end is run anew.
    """
    experiment, parts = BY_ID[id], list[Part]()
    count = experiment.count(form)
    kept = _kept(experiment) if form == FULL else {}
    job.report(0, 1)  # before the parts are counted: those that are kept tell nothing of the pace
    for number in range(count):
        if number not in kept:
            if job.is_set():
                return None
            within = _Within(job, number, count)
            within.report(0, 1)
            with ticket.holding(within):
                found = work((id, number), form)
            if form == FULL:
                with contextlib.suppress(OSError):  # a disk that takes nothing costs the way back, not the run
                    store.keep_part(experiment, form, number, **found)
        parts.append(kept[number] if number in kept else found["part"])
        if LEAST <= len(parts) < count:
            job.publish(outcome_of(experiment, parts))
    job.report(count, count)
    return outcome_of(experiment, parts)


def _kept(experiment: Experiment) -> dict[int, Part]:
    """The parts of its full form that a run which was stopped has left, by number."""
    count = experiment.count(FULL)
    found = ((number, store.read_part(experiment, FULL, number)) for number in range(count))
    parts = {number: kept[0] for number, kept in found if kept is not None}
    return parts if len(parts) < count else {}


class _Within:
    """The job as a part of its work sees it: what the part reports is a share of the whole."""

    def __init__(self, job: Any, number: int, count: int):
        self._job, self._number, self._count = job, number, count

    def is_set(self) -> bool:
        """Whether the result is not wanted any more."""
        return bool(self._job.is_set())

    def report(self, done: int, total: int) -> None:
        """That `done` of `total` units of the part are finished."""
        self._job.report(self._number * total + done, self._count * total)
