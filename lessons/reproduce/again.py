"""The quick form of an experiment as a job of the page: part by part, and what the parts so far come to."""

from __future__ import annotations

from typing import Any

from lessons.reproduce.experiment import QUICK, Outcome, Part
from lessons.reproduce.registry import BY_ID, compute
from lessons.reproduce.running import outcome_of

LEAST = 3  # parts before there is something to show


def quick(id: str, job: Any) -> Outcome | None:
    """Run it; publishes (outcome so far, parts) as parts come in. None when it was stopped."""
    experiment, parts = BY_ID[id], list[Part]()
    count = experiment.count(QUICK)
    for number in range(count):
        if job.is_set():
            return None
        job.report(number, count)
        parts.append(compute(id, number, QUICK))
        if LEAST <= len(parts) < count:
            job.publish(outcome_of(experiment, parts))
    job.report(count, count)
    return outcome_of(experiment, parts)
