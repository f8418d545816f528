"""Computing experiments on several processes: what is on disk already is not computed again."""

from __future__ import annotations

import multiprocessing
import time
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed

from lessons.reproduce import store
from lessons.reproduce.experiment import FULL, Experiment, Outcome, Part
from lessons.reproduce.registry import BY_ID, compute


def work(id: str, number: int, form: str) -> None:
    """Compute a part and put it on disk."""
    started = time.perf_counter()
    part = compute(id, number, form)
    store.write(store.part_path(id, form, number), {"part": part, "seconds": time.perf_counter() - started})


def run(chosen: Sequence[Experiment], form: str, cores: int) -> None:
    """What is still missing of these experiments, on so many processes; then their results."""
    todo = [(e.id, n) for e in chosen for n in range(e.count(form)) if store.read_part(e.id, form, n) is None]
    each = {e.id: e.seconds[form == FULL] / e.count(form) for e in chosen}
    total, done, started = sum(each[id] for id, _ in todo), 0.0, time.perf_counter()
    waiting = {e.id: sum(id == e.id for id, _ in todo) for e in chosen}
    for experiment in chosen:
        if not waiting[experiment.id]:
            finish(experiment, form)
    if not todo:
        return
    with ProcessPoolExecutor(cores, multiprocessing.get_context("spawn")) as pool:
        futures = {pool.submit(work, id, number, form): id for id, number in todo}
        for count, future in enumerate(as_completed(futures), start=1):
            future.result()
            id = futures[future]
            done += each[id]
            waiting[id] -= 1
            left = (time.perf_counter() - started) * (total - done) / done
            print(f"{count}/{len(todo)} {id}: {left / 60:.0f} min left", flush=True)
            if not waiting[id]:
                finish(BY_ID[id], form)


def finish(experiment: Experiment, form: str) -> None:
    """Make the result of an experiment whose parts are all there."""
    kept = [store.read_part(experiment.id, form, number) for number in range(experiment.count(form))]
    parts = [part for part in kept if part is not None]
    store.keep(experiment, form, outcome_of(experiment, [part for part, _ in parts]), sum(seconds for _, seconds in parts))


def outcome_of(experiment: Experiment, parts: Sequence[Part]) -> Outcome:
    """What the parts come to together."""
    return Outcome(experiment.combine(parts), experiment.exact())
