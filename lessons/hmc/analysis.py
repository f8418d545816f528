"""What the lesson computes from a run: U-turns, divergences, round trips, the tuning map, checks and diagnostics."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from engine import diagnostics, record, sample, ticket
from engine.judge import Check, Kernel, Known, TransitionKernel, chains_checks, gradient_check, sampled_apart, unknown
from engine.kept import kept, lazy
from engine.recording import Recording
from engine.samplers.hmc import DIVERGENCE, Hmc, HmcTransitions, factor_mass, trajectory
from engine.spec import SpecError
from engine.targets.target import Target, TargetError
from lessons.hmc.spec import WORDS, HmcLesson

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Walk:
    """A run as the lesson shows it.

    recording : all chains
    inside : the inside of chain 1, arrays (transitions, ...)
    previous : (transitions, dim), the state that each transition of chain 1 starts from
    inverse_mass : (dim, dim)
    """

    target: Target
    recording: Recording
    inside: HmcTransitions
    previous: Array
    inverse_mass: Array

    @property
    def steps(self) -> int:
        return len(self.previous)

    @property
    def proposal(self) -> Array:
        """Where each trajectory ends, (transitions, dim)."""
        return self.inside.path[:, -1]

    def velocity(self, momentum: Array) -> Array:
        """M⁻¹p, for momenta (..., dim)."""
        with np.errstate(invalid="ignore", over="ignore"):  # a path that broke
            return momentum @ self.inverse_mass

    @lazy
    def energy_errors(self) -> Array:
        """H − H₀ along each path, (transitions, L+1); infinite where the path left the support."""
        with np.errstate(invalid="ignore"):
            errors = self.inside.path_energy - self.inside.path_energy[:, :1]
        return np.where(np.isfinite(errors), errors, np.inf)

    @lazy
    def swings(self) -> Array:
        """The largest energy error along each path, (transitions,)."""
        return np.abs(self.energy_errors).max(axis=1)

    @lazy
    def distances(self) -> Array:
        """Distance from the start along each path, (transitions, L+1)."""
        with np.errstate(invalid="ignore", over="ignore"):
            return np.linalg.norm(self.inside.path - self.inside.path[:, :1], axis=-1)

    @lazy
    def u_turns(self) -> NDArray[np.int64]:
        """The first point of each path from which the next moment leads back towards its start: (x − x₀)·M⁻¹p < 0. L+1
        where none does.
        """
        with np.errstate(invalid="ignore", over="ignore"):
            away = self.inside.path - self.inside.path[:, :1]
            turned = (away * self.velocity(self.inside.path_momentum)).sum(axis=-1) < 0.0
        return np.where(turned.any(axis=1), turned.argmax(axis=1), turned.shape[1])

    @property
    def waste(self) -> float:
        """Share of all leapfrog steps taken after the U-turn."""
        length = self.inside.path.shape[1] - 1
        return float(np.maximum(0, length - self.u_turns).mean() / length)

    @lazy
    def divergence_points(self) -> Array:
        """Where each divergent path was before the step that broke it, (transitions, dim); NaN for the others."""
        broken = self.energy_errors > DIVERGENCE
        last_good = np.maximum(broken.argmax(axis=1) - 1, 0)
        points = self.inside.path[np.arange(self.steps), last_good].copy()
        points[~broken.any(axis=1)] = np.nan
        return points


def simulate(spec: HmcLesson) -> Walk:
    """The run of `spec`; the same object for all ways of looking at it."""
    return _simulate(spec.simulation())


@kept
def _simulate(spec: HmcLesson) -> Walk:
    try:
        alone = record(spec.replace(chains=1), detail="transitions")  # chain 1 is the same whatever the number of chains
        recording = alone if spec.chains == 1 else record(spec)
    except TargetError as error:
        raise SpecError("start", str(error)) from error
    inside = HmcTransitions(*(array[0] for array in alone.transitions))
    inverse, _ = factor_mass(spec.mass_matrix(), 2)
    return Walk(spec.build_target(), recording, inside, inside.path[:, 0], np.diag(inverse[0]) if len(inverse) == 1 else inverse)


def continued(old: HmcLesson, spec: HmcLesson, t: int) -> Walk:
    """The run of `old` with another transition t: from where it begins there, with its momentum and its u, by the step
    size and the number of steps of `spec`. The first transition of `spec` is just that: there it is the run of `spec`.
    """
    if t == 0:
        return simulate(spec)
    walk = simulate(old)
    epsilon = float(walk.inside.step_size[t]) * spec.step_size / old.step_size  # the jitter stays
    path = trajectory(
        walk.target,
        walk.previous[t],
        walk.inside.path_momentum[t, 0],
        step_size=epsilon,
        steps=spec.steps,
        mass=spec.mass_matrix(),
        integrator=spec.integrator,
    )
    error = float(path.energy[-1] - path.energy[0])
    error = error if np.isfinite(path.log_density).all() and np.isfinite(error) else np.inf
    accept_prob = float(np.exp(-max(error, 0.0)))
    accepted = error < np.inf if spec.variant == "always_accept" else walk.inside.uniform[t] < accept_prob
    points = np.minimum(np.arange(spec.steps + 1), old.steps)  # of the other paths, none of which is shown
    inside = HmcTransitions._make(a[:, points] if a.ndim > 1 else a.copy() for a in walk.inside)
    inside.path[t], inside.path_momentum[t] = path.position, path.momentum
    inside.path_energy[t], inside.path_log_density[t] = path.energy, path.log_density
    broken = ~np.isfinite(path.log_density)
    inside.steps[t] = broken.argmax() if broken.any() else spec.steps
    inside.step_size[t], inside.energy_error[t] = epsilon, error
    rows = {name: getattr(walk.recording, name).copy() for name in ("draws", "accepted", "accept_prob", "divergent")}
    rows["draws"][0, t] = path.position[-1] if accepted else walk.previous[t]
    rows["accepted"][0, t], rows["accept_prob"][0, t], rows["divergent"][0, t] = accepted, accept_prob, not error <= DIVERGENCE
    return replace(walk, recording=replace(walk.recording, **rows), inside=inside)


def way_back(spec: HmcLesson, walk: Walk, t: int) -> tuple[Array, Array, Array]:
    """Position, momentum (L+1, dim), energy (L+1,) of the path from the end of transition t with p flipped."""
    end, momentum = walk.inside.path[t, -1], walk.inside.path_momentum[t, -1]
    shape = walk.inside.path[t].shape
    if walk.inside.steps[t] < spec.steps or not (np.all(np.isfinite(end)) and np.all(np.isfinite(momentum))):
        return np.full(shape, np.nan), np.full(shape, np.nan), np.full(shape[0], np.nan)
    path = trajectory(
        walk.target,
        end,
        -momentum,
        step_size=float(walk.inside.step_size[t]),
        steps=spec.steps,
        mass=spec.mass_matrix(),
        integrator=spec.integrator,
    )
    return path.position, path.momentum, path.energy


# The map of settings --------------------------------------------------------------------------------------------------

MAP_STEPS = (1, 2, 4, 8, 16, 32, 64, 128)
MAP_CHAINS, MAP_WARMUP = 4, 50


@dataclass(frozen=True, eq=False)
class TuningMap:
    """Mean acceptance and effective draws per 1,000 gradients over a grid: rows steps, columns step sizes."""

    step_sizes: Array
    steps: tuple[int, ...]
    acceptance: Array
    ess_per_1000: Array

    def best(self) -> tuple[float, int]:
        """The setting with the most effective draws per gradient."""
        row, column = np.unravel_index(np.nanargmax(self.ess_per_1000), self.ess_per_1000.shape)
        return float(self.step_sizes[column]), self.steps[int(row)]


def tuning_map(spec: HmcLesson, cancel: Any = None) -> TuningMap:
    """Short runs over a grid of step sizes and numbers of steps, the rest as in `spec`: one map for all of these.
    Raises InterruptedError when cancelled.
    """
    key = spec.simulation().replace(step_size=0.2, steps=15, draws=500, warmup=0, chains=1, variant="exact")
    with ticket.holding(cancel):
        return _map(key)


@kept
def _map(spec: HmcLesson) -> TuningMap:
    target, settings = spec.build_target(), spec.settings()
    sizes = map_step_sizes(spec)
    acceptance, ess = np.full((2, len(MAP_STEPS), len(sizes)), np.nan)
    for row, steps in enumerate(MAP_STEPS):
        for column, step_size in enumerate(sizes):
            ticket.look()
            run = sample(
                target,
                "hmc",
                chains=MAP_CHAINS,
                draws=map_draws(steps),
                warmup=MAP_WARMUP,
                seed=spec.seed,
                init=spec.init(),
                **{**settings, "step_size": float(step_size), "steps": steps},
            )
            acceptance[row, column] = run.accept_prob.mean()
            ess[row, column] = 1000.0 * diagnostics.least_ess(run.draws) / run.gradient_evaluations.sum()
    return TuningMap(sizes, MAP_STEPS, acceptance, ess)


def map_draws(steps: int) -> int:
    """Draws of each chain of a cell: more of the short paths, which need more draws for the same ESS."""
    return int(np.clip(16_000 // steps, 400, 4000))


def map_step_sizes(spec: HmcLesson) -> Array:
    """Twelve step sizes, evenly spaced in their logarithm, on both sides of what the target allows."""
    scale = 1.0
    truth = spec.build_target().truth
    if spec.mass == "identity" and truth is not None and np.all(np.isfinite(truth.covariance)):
        scale = float(np.sqrt(np.linalg.eigvalsh(truth.covariance)[0]))
    low, high = spec.declarations()["step_size"].low, spec.declarations()["step_size"].high
    return np.geomspace(max(low, 0.03 * scale), min(high, 3.0 * scale), 12)


# Checks and diagnostics -----------------------------------------------------------------------------------------------

CHECK_CHAINS = 4
CHECK_GRADIENTS = 3_000_000
CHECK_DRAWS = 20_000


def kernels(spec: HmcLesson) -> list[Kernel]:
    """The kernel with the present settings."""
    target = spec.build_target()
    if target.truth is None or target.truth.draw is None:
        return []
    wrong = WORDS.phrase("checks.no_accept") if spec.variant != "exact" else ""
    if spec.integrator == "euler":
        wrong = WORDS.phrase("checks.euler")
    return [TransitionKernel(Known(target), Hmc(**spec.settings()), mistake=wrong)]


def audit(spec: HmcLesson, cancel: object = None) -> Sequence[Check]:
    """The gradient, at points of the run. Alone it is no proof of the sampler: that needs exact draws."""
    walk = simulate(spec)
    found = [gradient_check(spec.build_target(), walk.previous[np.linspace(0, walk.steps - 1, 12).astype(int)])]
    if not kernels(spec):
        words = WORDS.phrase("checks.no_draws")
        found.append(unknown(WORDS.phrase("checks.exact"), words, kind="kernel"))
    return found


def checks(spec: HmcLesson, cancel: object = None) -> Sequence[Check]:
    """The kernel run longer than the picture, from starts far apart: do its chains agree, and with the truth?"""
    return chains_checks(lambda seed, work: longer(spec, seed, work), spec.seed)


def longer(spec: HmcLesson, seed: int, work: int) -> Recording:
    """Chains of the present kernel, `work` times as long as a first look needs."""
    draws = max(500, min(CHECK_DRAWS, CHECK_GRADIENTS // (CHECK_CHAINS * spec.steps)))
    settings = {"draws": work * draws, "warmup": max(spec.warmup, draws // 10), **spec.settings()}
    return sampled_apart(spec.build_target(), "hmc", spec.init(), chains=CHECK_CHAINS, seed=seed, **settings)


@dataclass(frozen=True, eq=False)
class Diagnostics:
    """Diagnostics of the run on screen."""

    summary: diagnostics.Summary
    cost: diagnostics.Cost
    acceptance: float
    divergences: int
    waste: float


@kept
def _diagnose(spec: HmcLesson) -> Diagnostics:
    walk = simulate(spec)
    summary = diagnostics.summarise(walk.recording.draws)
    return Diagnostics(
        summary,
        diagnostics.cost(record(spec), summary),  # timed once more: the first run may have waited for a compiler
        float(walk.recording.accept_prob.mean()),
        int(walk.recording.divergent.sum()),
        walk.waste,
    )


def diagnose(spec: HmcLesson) -> Diagnostics:
    """R-hat, ESS, cost, divergences and waste of the run."""
    return _diagnose(spec.simulation())
