"""All experiments, and the part of one that a process computes."""

from __future__ import annotations

from collections.abc import Sequence

from datasets import local
from lessons.reproduce import andersen, berezowski, hubin, mullachery, steyn
from lessons.reproduce.experiment import Experiment, NotRun, Part

EXPERIMENTS: tuple[Experiment, ...] = (
    *berezowski.EXPERIMENTS,
    *andersen.EXPERIMENTS,
    *steyn.EXPERIMENTS,
    *hubin.EXPERIMENTS,
    *mullachery.EXPERIMENTS,
)
NOT_HERE: tuple[NotRun, ...] = (*hubin.NOT_HERE, *mullachery.NOT_HERE)
BY_ID = {experiment.id: experiment for experiment in EXPERIMENTS}


def missing(experiment: Experiment) -> Sequence[str]:
    """Data sets that it needs and that are not on this machine."""
    return [name for name in experiment.needs if not local.here(name)]


def compute(id: str, number: int, form: str) -> Part:
    """One part of an experiment."""
    return BY_ID[id].run(number, form)
