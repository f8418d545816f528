"""The trial of a kernel: exact draws are moved by it, and must stay what they are.

A kernel that leaves a distribution unchanged cannot be told from doing nothing by the distribution of its states, if
they began as exact draws. So many independent *worlds* are drawn (unknowns from the prior, data from the likelihood),
each is moved a few transitions by the compiled kernel with the settings of the run, and what is watched must have the
same distribution after as before. No chain has to mix. Every world is independent of the others, so the errors are
those of a plain mean: no Monte Carlo error has to be estimated from a chain.

What is watched is carried through its prior distribution function, u, so that tails of any weight count equally, and
judged by the means of u and of (u - 1/2)^2 after the moves. The exact start of each world serves as control variate:
what two worlds have different from the start says nothing about the kernel.

Sources: Geweke 2004; Gandy and Scott 2020, "Unit testing for MCMC and other Monte Carlo methods"; Modrak et al. 2023.
"""

from __future__ import annotations

import dataclasses
import math
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from engine import ticket
from engine.judge.check import Check, Curve, Verdict
from engine.judge.looks import FIRST, SECOND, largest_of_right_ones, surprise, two_looks

Array = NDArray[np.float64]

REFERENCE = 8_000  # exact draws that define the distribution functions
WORLDS, FEWEST = 2_000, 60  # of a first look; fewer than FEWEST tell nothing
TRANSITIONS = 5
PILOT = 24  # worlds by which the work is measured
WORK = 1.5e9  # operations that a first look may take, some seconds at most
PATIENCE = 8  # times WORK, where it takes that much for FEWEST worlds
LEAST_MOVED = 0.02  # share of worlds that must have changed
FEW_CHANGES = 25  # worlds in which a quantity changed, below which it is not judged
PLACES = np.linspace(0.02, 0.98, 49)  # of the figure
BAND = 0.95


class Worlds(NamedTuple):
    """n exact joint draws: `states` as the kernel wants them, `values` (n, q) of what is watched."""

    states: Any
    values: Array


class Kernel(Protocol):
    """A Markov kernel with what it must leave as it is.

    name : what runs, a few words
    quantities : (q,), names of what is watched; the log likelihood is among them where there are data
    faults : names of what can be planted in it
    mistake : what is wrong on purpose already; "" for a right kernel
    """

    @property
    def name(self) -> str: ...

    @property
    def quantities(self) -> tuple[str, ...]: ...

    @property
    def faults(self) -> tuple[str, ...]: ...

    @property
    def mistake(self) -> str: ...

    def reference(self, n: int, rng: np.random.Generator) -> Array:
        """(n, q), what is watched at exact draws."""

    def worlds(self, n: int, rng: np.random.Generator) -> Worlds:
        """n exact joint draws."""

    def move(self, worlds: Worlds, transitions: int, seeds: list[np.random.SeedSequence]) -> tuple[Array, float]:
        """What is watched after each transition, (n, transitions, q), and the operations spent."""

    def audit(self, seed: int) -> Check | None:
        """Decisions of some transitions worked out again by other code; None where there is nothing to decide."""

    def planted(self, fault: str) -> Kernel:
        """The same kernel with one of its `faults`."""


def proofs(kernel: Kernel, seed: int = 0) -> list[Check]:
    """All that the judge has against a kernel: the trial, then its decisions worked out again, where it decides."""
    found = [kernel_check(kernel, seed)]
    books = kernel.audit(seed)
    if books is not None and kernel.mistake and books.verdict == "pass":
        books = dataclasses.replace(books, verdict="unknown", sentence=f"{books.sentence} {kernel.mistake}")
    return found if books is None else [*found, books]


def kernel_check(kernel: Kernel, seed: int = 0, *, worlds: int = WORLDS) -> Check:
    """Does the kernel leave its distribution unchanged? By `two_looks` of `worlds` and more worlds.

    A kernel that is wrong on purpose never passes: where the trial does not see it, it cannot tell.
    """
    found = two_looks(lambda number, work: _look(kernel, (seed, number), work, worlds))
    if kernel.mistake and found.verdict == "pass":
        sentence = f"{found.sentence} {kernel.mistake} With these settings that is too little to see."
        return dataclasses.replace(found, verdict="unknown", sentence=sentence)
    return found


def _look(kernel: Kernel, seed: tuple[int, int], work: int, most: int) -> Check:
    drawn, started, streams = np.random.SeedSequence(seed).spawn(3)
    reference, rng = kernel.reference(REFERENCE, _generator(drawn)), _generator(started)
    name = "exact draws stay exact"

    def unknown(reason: str) -> Check:
        return Check(name, "unknown", math.nan, math.nan, f"{kernel.name}: {reason}", "SE", kind="kernel")

    ticket.look()
    pilot = kernel.worlds(PILOT, rng)
    _, spent = kernel.move(pilot, TRANSITIONS, streams.spawn(PILOT))
    affordable = int(WORK * PILOT / max(spent, 1.0))
    if affordable * PATIENCE < FEWEST:
        return unknown(f"a transition costs so much that hardly {affordable + 1} exact draws could be moved.")
    n = max(FEWEST, work * min(most, affordable))
    worlds = kernel.worlds(n, rng)
    ticket.look()
    moved, _ = kernel.move(worlds, TRANSITIONS, streams.spawn(n))
    ticket.look()
    order = np.sort(reference, axis=0)
    expected, before, after = (_shares(order, values) for values in (reference, worlds.values, moved))
    if np.any(after != before[:, None], axis=(1, 2)).mean() < LEAST_MOVED:
        return unknown(f"of {n:,} exact draws hardly one moved at all, so nothing is shown.")
    errors = _errors(*(_features(u) for u in ticket.looking((expected, before, after))))
    ticket.look()
    found = surprise(errors.z, errors.correlation)
    if found.place < 0:
        return unknown("nothing that is watched moved.")
    which, level = found.place % len(kernel.quantities), SECOND if seed[1] > 1 else FIRST
    what, about = kernel.quantities[which], ("level", "spread")[found.place // len(kernel.quantities)]
    verdict: Verdict = "fail" if seed[1] > 1 and found.p < level else "pass"
    sentence = (
        f"{kernel.name}: {n:,} exact draws, each moved {TRANSITIONS} times by this kernel, must stay what they are. "
        f"Of {len(kernel.quantities)} quantities the worst is {what}: its {about} is {abs(found.z):.1f} standard "
    )
    if verdict == "fail":
        sentence += "errors off. A first look with other random numbers saw it too: the kernel is wrong."
    else:
        sentence += f"errors off, no more than chance makes it (p = {found.p:.2g})."
    ticket.look()
    limit = float(np.quantile(largest_of_right_ones(errors.correlation), 1.0 - level))
    figure = _curve(what, *(u[..., which] for u in (expected, before, after)))
    return Check(name, verdict, found.z, limit, sentence, "SE", kind="kernel", p=found.p, figure=figure)


def _generator(seed: np.random.SeedSequence) -> np.random.Generator:
    return np.random.Generator(np.random.SFC64(seed))


def _shares(order: Array, values: Array) -> Array:
    """Empirical distribution functions, of the columns of `order` (n, q), at `values` (..., q); what is not a number
    lies beyond all others.
    """
    u = np.empty(values.shape)
    for j in ticket.looking(range(values.shape[-1])):
        low = np.searchsorted(order[:, j], values[..., j], "left")
        u[..., j] = 0.5 * (low + np.searchsorted(order[:, j], values[..., j], "right")) / len(order)
    return u


def _features(u: Array) -> Array:
    return np.concatenate([u - 0.5, (u - 0.5) ** 2], axis=-1)


class _Errors(NamedTuple):
    """z (f,), errors in standard errors, NaN where not judged; error, standard_error (f,); correlation (f, f)."""

    z: Array
    error: Array
    standard_error: Array
    correlation: Array


def _errors(expected: Array, before: Array, after: Array) -> _Errors:
    """Of means after the moves, after (n, transitions, f), against the mean of `expected` (m, f); what the starts
    before (n, f) had by chance is taken out by regression.
    """
    end, centre = after.mean(axis=1), expected.mean(axis=0)
    start = before - centre
    ticket.look()
    slope = ((end - end.mean(axis=0)) * start).mean(axis=0) / np.maximum(start.var(axis=0), 1e-300)
    residual = end - centre - slope * start
    ticket.look()
    with np.errstate(all="ignore"):
        covariance = np.cov(residual.T) / len(end)
        covariance = covariance + np.outer(1.0 - slope, 1.0 - slope) * np.cov(expected.T) / len(expected)
        standard_error = np.sqrt(np.diag(np.atleast_2d(covariance)))
        error = residual.mean(axis=0)
        z = error / standard_error
        scale = np.where(standard_error > 0.0, standard_error, 1.0)
        correlation = np.atleast_2d(covariance) / np.outer(scale, scale)
    ticket.look()
    changed = (np.abs(after - before[:, None]).max(axis=1) > 1e-12).sum(axis=0)
    z[(changed < FEW_CHANGES) | ~np.isfinite(z)] = np.nan
    np.fill_diagonal(correlation, 1.0)
    return _Errors(z, error, standard_error, correlation)


def _curve(what: str, expected: Array, before: Array, after: Array) -> Curve:
    """How far the distribution function of one quantity is from its own after the moves, with the band that holds a
    right kernel's whole curve with a probability of `BAND`.
    """
    below = [(u[..., None] <= PLACES).astype(np.float64) for u in ticket.looking((expected, before, after))]
    found = _errors(*below)
    known = np.isfinite(found.z)
    reach = 0.0
    if known.any():
        reach = float(np.quantile(largest_of_right_ones(found.correlation[np.ix_(known, known)]), BAND))
    with np.errstate(all="ignore"):  # of a quantity that cannot be told the band is not finite
        band = reach * found.standard_error
    return Curve(
        f"Distribution of {what} after the moves, less what it must be",
        "prior probability below",
        "share of draws below, difference",
        PLACES,
        found.error,
        -band,
        band,
    )
