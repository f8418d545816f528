"""MNIST in the lessons: how soon a picture is there, how fast the pad is read, what it takes, and whether others wait.

    python -m benchmarks.mnist [METHOD …]     dense by default; POSTERIOR_LAB_DATA names the folder with MNIST

Of each posterior, from nothing and from what is on disk: seconds to the first picture, to the last, test accuracy, memory.
Of the pad: a drawing to what 100 networks say and both maps; to the whole picture. Of others: the first pictures of another
page while networks learn, in turn with the same on an idle process.
"""

from __future__ import annotations

import argparse
import os
import tempfile
import time
from typing import Any

import numpy as np

from benchmarks import peak_memory

STROKES, ROUNDS, PICTURES = 30, 3, 10
BETWEEN = 0.35  # s from one reader's picture to the next


class Watched:
    """A job that tells when its pictures come."""

    def __init__(self) -> None:
        self.begin, self.seconds = time.perf_counter(), list[float]()

    def is_set(self) -> bool:
        return False

    def report(self, done: int, total: int) -> None:
        """Nobody asks."""

    def publish(self, blob: bytes) -> None:
        self.seconds.append(time.perf_counter() - self.begin)


def learnt(method: str) -> None:
    """From nothing, then from the disk."""
    from engine import kept
    from lessons.digits import analysis, scenes
    from lessons.digits.spec import FOUR_OR_NINE, DigitsSpec

    spec = DigitsSpec(data="mnist", method=method, drawing=FOUR_OR_NINE)
    for whence in ("from nothing", "from the disk"):
        kept.store.forget()
        job = Watched()
        scenes.grow(spec, job)
        whole = time.perf_counter() - job.begin
        first = (*job.seconds, whole)[0]
        print(
            f"{method}, {whence}: first picture after {first:.2f} s, {1 + len(job.seconds)} in all, the last after {whole:.1f} s",
            flush=True,
        )
    quality = analysis.quality(spec)
    assert quality is not None
    print(f"  {quality.accuracy:.4f} of 1,000 test images right; peak {peak_memory():.0f} MB")
    networks = analysis.trained(spec)
    assert networks is not None
    read, drawn = [], []
    for stroke in range(STROKES):
        moved = spec.replace(drawing=tuple((0.9 * x + 0.002 * stroke, y, number) for x, y, number in FOUR_OR_NINE))
        begin = time.perf_counter()
        reading = analysis.read(moved, networks)
        analysis.maps(moved, networks, reading.image)
        read.append(time.perf_counter() - begin)
        begin = time.perf_counter()
        scenes.picture(moved, networks)
        drawn.append(time.perf_counter() - begin)
    _spread(f"  pad, {len(networks)} networks: read, with both maps", read)
    _spread("  pad: the whole picture", drawn)


def others(method: str) -> None:
    """First pictures of another page, with and without a reader for whom networks learn."""
    from app.kit.jobs import Pool
    from engine import turns
    from lessons.digits import scenes
    from lessons.digits.spec import THREE, DigitsSpec
    from lessons.hmc import scenes as other
    from lessons.hmc.spec import HmcLesson

    pool = Pool()

    def first(seed: int) -> tuple[float, float]:
        asked, begun = time.perf_counter(), list[float]()

        def work(ticket: Any) -> bytes:
            begun.append(time.perf_counter())
            return other.scene(HmcLesson(seed=seed), None)

        job = pool.submit((f"reader {seed}", "scene"), seed, work, rank=turns.FIRST, keep=False, local=True)
        job.wait(60.0)
        return begun[0] - asked, time.perf_counter() - asked

    first(999)
    idle, learning = [], []
    for number in range(ROUNDS):
        idle += [first(1000 * number + each) for each in range(PICTURES)]
        spec = DigitsSpec(data="mnist", method=method, drawing=THREE, seed=100 + number)
        job = pool.submit(("learner", "scene"), spec, lambda ticket, spec=spec: scenes.grow(spec, ticket), rank=turns.FIRST, local=True)
        job.wait_for_a_look(60.0)
        for each in range(PICTURES):
            job.heartbeat()
            learning.append(first(1000 * number + 500 + each))
            time.sleep(BETWEEN)
        job.stop()
        job.wait(30.0)
    for name, found in (("idle", idle), ("while networks learn", learning)):
        waited, whole = zip(*found, strict=True)
        _spread(f"another page's first picture, {name}: waits for its turn", list(waited))
        _spread(f"another page's first picture, {name}: is there after", list(whole))
    pool.close()


def _spread(name: str, seconds: list[float]) -> None:
    median, most = (1e3 * float(np.quantile(seconds, at)) for at in (0.5, 0.95))
    print(f"{name} {median:.1f} ms, 95 % {most:.1f} ms", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("methods", nargs="*", default=["dense"], metavar="METHOD", help="dense, lbbnn, dropout, ensemble, nuts")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        os.environ["POSTERIOR_LAB_STATE"] = folder
        for method in options.methods:
            learnt(method)
            others(method)


if __name__ == "__main__":
    main()
