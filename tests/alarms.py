"""How often does a right page turn red? First looks over many seeds: `python -m tests.alarms [--seeds N] [--write]`.

For every right scenario of every page with a kernel: the trial's first look, with few worlds, on each seed. Red needs a
p-value below FIRST there and below SECOND in a second, independent look; so the share of first looks below FIRST,
times SECOND, is the rate of false alarms. The p-values must be uniform, for a check that is constant or too timid never
alarms either: the table tells the p-value of Kolmogorov and Smirnov's test. `--write` writes `docs/ALARMS.md`.
"""

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from itertools import chain, repeat
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from app import catalogue
from engine.judge import FIRST, SECOND, Kernel
from engine.judge import trial as trials
from engine.spec import SpecError
from tests.power import lesson_of

TABLE = Path(__file__).parents[1] / "docs" / "ALARMS.md"
WORLDS = 150
UNIFORM = 1e-5  # p-value of the test for uniformity below which a row fails: one in 1,000 tables of 100 rows
HEAD = """# False alarms: right pages over many seeds

Made by `python -m tests.alarms --write`. Each row: the kernel of a right scenario tried on many seeds, first looks of
the fast path. “p < 0.01”: share of first looks that ask for a second one (due: 0.01). “red”: the bound on the rate of
red signs that follows. “uniform”: p-value of a test that the p-values are uniform.

"""


class Row(NamedTuple):
    """A kernel of a right scenario over `seeds` seeds; `open` of them could not tell."""

    slug: str
    scenario: str
    kernel: str
    seeds: int
    open: int
    surprised: float
    uniform: float

    @property
    def good(self) -> bool:
        """Whether the p-values are those of a right check of a right kernel."""
        return math.isnan(self.uniform) or self.uniform > UNIFORM


class _Referenced:
    """A kernel with the same reference draws for every seed, which may take a second each time. They say on which scale a
    quantity is looked at, and that their own error is common to all seeds hardly matters beside that of the worlds.
    """

    def __init__(self, kernel: Kernel):
        self._kernel, self._drawn = kernel, None

    def __getattr__(self, name: str) -> Any:
        return getattr(self._kernel, name)

    def reference(self, n: int, rng: np.random.Generator) -> Any:
        if self._drawn is None:
            self._drawn = self._kernel.reference(n, rng)
        return self._drawn


def row(slug: str, scenario: str, kernel: Kernel, seeds: int) -> Row:
    """First looks of one kernel. Where it moves a state to what the start already says, as HMC with a trajectory of half a
    turn does, the reference's error is all that is left: p-values that are not uniform with one reference for all seeds
    are found anew with one for each.
    """
    p = _first_looks(_Referenced(kernel), seeds)
    uniform = _uniform(p)
    if uniform <= UNIFORM:
        p = _first_looks(kernel, seeds)
        uniform = _uniform(p)
    surprised = float((p < FIRST).mean()) if len(p) else 0.0
    return Row(slug, scenario, kernel.name, seeds, seeds - len(p), surprised, uniform)


def _first_looks(kernel: Any, seeds: int) -> NDArray[np.float64]:
    """p-values of those that could tell."""
    looks = [trials._look(kernel, (1000 + seed, 1), 1, WORLDS).p for seed in range(seeds)]
    return np.array([p for p in looks if not math.isnan(p)])


def _uniform(p: NDArray[np.float64]) -> float:
    return float(stats.kstest(p, "uniform").pvalue) if len(p) > 4 else math.nan


def right_kernels(slug: str) -> Iterator[tuple[str, Kernel]]:
    """The right kernels of a page, each with the id of its scenario."""
    lesson = lesson_of(slug)
    for scenario in lesson.scenarios:
        try:
            kernels = lesson.kernels(scenario.spec) if lesson.kernels else []
        except SpecError:  # its data are not on this machine
            continue
        yield from ((scenario.id, kernel) for kernel in kernels if not kernel.mistake)


def rows(slug: str, seeds: int) -> Iterator[Row]:
    """Every right scenario of a page."""
    for scenario, kernel in right_kernels(slug):
        yield row(slug, scenario, kernel, seeds)


def _page(slug: str, seeds: int) -> list[Row]:
    return list(rows(slug, seeds))


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the table, and write it if asked; 1 where a row is not uniform."""
    parser = argparse.ArgumentParser(prog="python -m tests.alarms", description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=200)
    parser.add_argument("--write", action="store_true", help=f"write {TABLE.name}")
    parser.add_argument("slugs", nargs="*", metavar="SLUG")
    options = parser.parse_args(arguments)
    lines = ["| page | scenario | kernel | seeds | p < 0.01 | uniform |", "|---|---|---|---|---|---|"]
    found = []
    slugs = options.slugs or [entry.slug for entry in catalogue.LESSONS]
    with ProcessPoolExecutor() as processes:
        for each in chain.from_iterable(processes.map(_page, slugs, repeat(options.seeds))):
            found.append(each)
            told = "cannot tell" if math.isnan(each.uniform) else f"{each.surprised:.3f} | {each.uniform:.2g}"
            lines.append(f"| {each.slug} | {each.scenario} | {each.kernel} | {each.seeds} | {told} |")
            print(lines[-1], flush=True)
    looks = sum(each.seeds - each.open for each in found)
    surprised = sum(each.surprised * (each.seeds - each.open) for each in found)
    rate = surprised / max(looks, 1)
    total = (
        f"{looks:,} first looks, {surprised:.0f} of them with p < {FIRST} ({rate:.4f}; {FIRST} is due): red with a "
        f"probability of {rate * SECOND:.1e}. {sum(not each.good for each in found)} rows are not uniform."
    )
    print(total)
    if options.write:
        TABLE.write_text(HEAD + total + "\n\n" + "\n".join(lines) + "\n", encoding="utf-8")
    return int(not all(each.good for each in found))


if __name__ == "__main__":
    sys.exit(main())
