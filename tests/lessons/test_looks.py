"""What a page computes behind its reader looks up while it does: a picture that somebody waits for goes first.

A look a slice, `turns.SLICE` of a core, and what a call takes that was begun before its end.
"""

from __future__ import annotations

import datetime
import gc
import threading
import time

import pytest

from app.kit import predict
from engine import ticket, turns
from engine.judge.trial import proofs
from engine.spec import Spec
from engine.turns import AFTER, Claim, Turns
from tests.fuzz import lesson_of
from tests.lessons.pages import ENTRIES, Job
from tests.pace import slower

LONGEST = 0.3  # s of CPU between two looks; the longest call takes half of it on a quiet machine
EACH_DAY = 4
TODAY = datetime.date.today().toordinal() * EACH_DAY
SAMPLE = {list(ENTRIES)[(TODAY + i) % len(ENTRIES)] for i in range(EACH_DAY)}


class Wanted(Job):
    """A job that notes the most CPU seconds of its thread between two questions whether it is still wanted."""

    def __init__(self) -> None:
        super().__init__()
        self.longest, self._thread, self._asked = 0.0, threading.get_ident(), time.thread_time()

    def is_set(self) -> bool:
        if threading.get_ident() == self._thread:
            now = time.thread_time()
            self.longest, self._asked = max(self.longest, now - self._asked), now
        return super().is_set()


def computed(slug: str, seed: int) -> float:
    """The most CPU seconds between two looks of the picture, the verdicts and the answers of a lesson's first scenario,
    at whose turn it is and at whether they are still wanted.
    """
    lesson, claim, job = lesson_of(slug), Claim(Turns(1), AFTER, "a reader"), Wanted()

    def seeded(spec: Spec) -> Spec:
        return spec.replace(seed=seed) if "seed" in spec.declarations() else spec

    spec = seeded(lesson.specs()[lesson.scenarios[0].id])
    with turns.turn(claim), ticket.holding(job):
        lesson.scene(spec, None)
        if lesson.checks is not None:
            lesson.checks(spec, job)
        for kernel in lesson.kernels(spec) if lesson.kernels is not None else ():
            proofs(kernel, seed)
        for question in lesson.predict:
            predict._answered(question, seeded(lesson.specs().get(question.scenario or "", spec)))
        ticket.look()
    return max(claim.longest, job.longest)


@pytest.fixture
def what_is_there_stays():
    """As in the product after its start: what earlier tests left is not looked over by each collection of garbage, which
    took 0.2 s of whatever computed then.
    """
    gc.collect()
    gc.freeze()
    yield
    gc.unfreeze()


@pytest.mark.usefixtures("what_is_there_stays")
@pytest.mark.parametrize("slug", [pytest.param(slug, marks=() if slug in SAMPLE else pytest.mark.long) for slug in ENTRIES])
def test_what_is_computed_behind_a_reader_gives_way(slug):
    computed(slug, 71)  # kernels are loaded
    before = slower(time.thread_time)
    longest = computed(slug, 72)
    assert longest < LONGEST * max(before, slower(time.thread_time))
