"""Computing experiments on several processes or at a cluster: what is on disk already is not computed again."""

from __future__ import annotations

import multiprocessing
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from typing import Any

from engine import slices
from lessons.reproduce import store
from lessons.reproduce.experiment import FULL, WORDS, Experiment, Outcome, Part
from lessons.reproduce.registry import BY_ID, compute

Which = tuple[str, int]  # a part: its experiment's id and its number


def work(which: Which, form: str) -> dict[str, Any]:
    """Compute a part: what is kept of it."""
    started = time.perf_counter()
    part = compute(*which, form)
    return {"part": part, "seconds": time.perf_counter() - started}


def run(chosen: Sequence[Experiment], form: str, cores: int, cluster: slices.Place | None = None, most: int | None = None) -> None:
    """What is still missing of these experiments, at a cluster or on so many processes here; then their results.

    most : parts of each that are wanted now; by default all
    """
    counts = {e.id: min(e.count(form), most or e.count(form)) for e in chosen}
    todo = [(e.id, n) for e in chosen for n in range(counts[e.id]) if store.read_part(e, form, n) is None]
    each = {e.id: e.seconds[form == FULL] / e.count(form) for e in chosen}
    total, done, started = sum(each[id] for id, _ in todo), 0.0, time.perf_counter()
    waiting = {e.id: sum(id == e.id for id, _ in todo) for e in chosen}
    for experiment in chosen:
        if not waiting[experiment.id]:
            finish(experiment, form)
    for count, (id, _) in enumerate(_computed(todo, form, cores, cluster), start=1):
        done += each[id]
        waiting[id] -= 1
        left = (time.perf_counter() - started) * (total - done) / done
        print(WORDS.phrase("command.left", count=count, of=len(todo), id=id, minutes=left / 60), flush=True)
        if not waiting[id]:
            finish(BY_ID[id], form)


def _computed(todo: Sequence[Which], form: str, cores: int, cluster: slices.Place | None) -> Iterator[Which]:
    """The parts as they come to lie on disk; what does not come back from the cluster is computed here."""
    left = dict.fromkeys(todo)
    if cluster is not None and todo:
        try:
            for which in _there(todo, form, cluster):
                del left[which]
                yield which
        except slices.StaysHere as problem:
            print(WORDS.phrase("command.here", problem=problem), flush=True)
    if left:
        yield from _here(list(left), form, cores)


def _there(todo: Sequence[Which], form: str, cluster: slices.Place) -> Iterator[Which]:
    with cluster.working(_part, slices.Shared(form)) as sent:
        for which in todo:
            sent.send(which, which)
        for (id, number), kept, _ in sent:
            store.keep_part(BY_ID[id], form, number, **kept)
            yield id, number


def _part(form: str, which: Which) -> dict[str, Any]:
    return work(which, form)


def _here(todo: Sequence[Which], form: str, cores: int) -> Iterator[Which]:
    with ProcessPoolExecutor(cores, multiprocessing.get_context("spawn")) as pool:
        futures = {pool.submit(_keep, which, form): which for which in todo}
        for future in as_completed(futures):
            future.result()
            yield futures[future]


def _keep(which: Which, form: str) -> None:
    """Compute a part and put it on disk: it is there even if whoever asked for it is not any more."""
    id, number = which
    store.keep_part(BY_ID[id], form, number, **work(which, form))


def finish(experiment: Experiment, form: str) -> None:
    """Make the result of an experiment from the parts that are there, all or the first of them."""
    kept = [store.read_part(experiment, form, number) for number in range(experiment.count(form))]
    parts = [part for part in kept if part is not None]
    outcome = outcome_of(experiment, [part for part, _ in parts])
    store.keep(experiment, form, outcome, sum(seconds for _, seconds in parts), len(parts))


def outcome_of(experiment: Experiment, parts: Sequence[Part]) -> Outcome:
    """What the parts come to together."""
    return Outcome(experiment.combine(parts), experiment.exact())
