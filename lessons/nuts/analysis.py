"""What the lesson computes from a run: waste, endings, checks and diagnostics."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from engine import diagnostics, record, replay, sample, ticket
from engine.judge import (
    FIRST,
    SECOND,
    Check,
    Kernel,
    chains_checks,
    gradient_check,
    kernel_of,
    sampled_apart,
    truth_check,
    two_looks,
    unknown,
)
from engine.judge.recordings import LATER
from engine.kept import kept
from engine.recording import Recording
from engine.samplers import trees
from engine.samplers.hmc import factor_mass
from engine.samplers.nuts import TOO_DEEP, NutsTransitions
from engine.spec import MAX_SEED, SpecError
from engine.targets import funnel
from engine.targets.target import Target, TargetError
from lessons.nuts.spec import WORDS, NutsLesson

Array = NDArray[np.float64]
Flags = NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Walk:
    """A run as the lesson shows it.

    recording : all chains
    previous : (transitions, dim), the state that each transition of chain 1 starts from
    inverse_mass : (dim, dim)
    """

    target: Target
    recording: Recording
    previous: Array
    inverse_mass: Array

    @property
    def steps(self) -> int:
        return len(self.previous)

    @property
    def step_size(self) -> float:
        """ε of chain 1."""
        assert self.recording.step_size is not None
        return float(self.recording.step_size[0, 0])

    @property
    def depth(self) -> NDArray[np.int16]:
        """Doublings that joined, (transitions,) of chain 1."""
        assert self.recording.tree_depth is not None
        return self.recording.tree_depth[0]

    @property
    def leapfrogs(self) -> NDArray[np.int32]:
        """Leapfrog steps made, (transitions,) of chain 1."""
        return self.recording.gradient_evaluations[0]

    @property
    def wasted(self) -> NDArray[np.int64]:
        """Leapfrog steps of extensions that were thrown away, (transitions,) of chain 1."""
        return self.leapfrogs - (2 ** self.depth.astype(np.int64) - 1)

    @property
    def waste(self) -> float:
        """Share of all leapfrog steps that was thrown away."""
        return float(self.wasted.sum() / self.leapfrogs.sum())

    def velocity(self, momentum: Array) -> Array:
        """M⁻¹p, for momenta (..., dim)."""
        with np.errstate(invalid="ignore", over="ignore"):  # a state that diverged
            return np.asarray(momentum @ self.inverse_mass)

    @property
    def saturated(self) -> Flags:
        """Transitions of chain 1 whose trajectory was cut short at the depth allowed: it had not turned by then."""
        assert self.recording.tree_ending is not None
        return np.asarray(self.recording.tree_ending[0] == TOO_DEEP)

    def inside(self, first: int, count: int) -> NutsTransitions:
        """The inside of some transitions of chain 1, arrays (count, ...)."""
        return _inside(self, first, count)


def simulate(spec: NutsLesson) -> Walk:
    """The run of `spec`; the same object for all ways of looking at it."""
    return _simulate(spec.simulation())


@kept
def _simulate(spec: NutsLesson) -> Walk:
    try:
        recording = record(spec)
    except TargetError as error:
        raise SpecError("start", str(error)) from error
    inverse, _ = factor_mass(spec.settings()["mass"], 2)
    previous = np.concatenate([recording.start[:1], recording.draws[0, :-1]])
    return Walk(spec.build_target(), recording, previous, np.diag(inverse[0]) if len(inverse) == 1 else inverse)


@kept
def _inside(walk: Walk, first: int, count: int) -> NutsTransitions:
    again = replay(walk.recording, chain=0, first=first, count=count)
    return NutsTransitions(*(array[0] for array in again.transitions))


def frozen(spec: NutsLesson) -> dict[str, object]:
    """The settings of the run with the step size that it used, so that other runs use the same kernel."""
    return {**spec.settings(), "step_size": simulate(spec).step_size}


def to_funnel(draws: Array) -> Array:
    """(v, z) → (v, x) with x = z exp(v/2), for draws (..., 2)."""
    with np.errstate(over="ignore"):
        return np.stack([draws[..., 0], draws[..., 1] * np.exp(0.5 * draws[..., 0])], axis=-1)


# Checks ---------------------------------------------------------------------------------------------------------------

CHECK_CHAINS, CHECK_WARMUP = 4, 200
CHECK_GRADIENTS = 3_000_000
CHECK_DRAWS = 20_000
NO_DRAWS = WORDS.phrase("checks.no_draws")
MISTAKES = {"aliased_momentum": WORDS.phrase("checks.aliased_momentum"), "final_accept": WORDS.phrase("checks.final_accept")}


def longer(spec: NutsLesson, draws: int, chains: int = CHECK_CHAINS) -> Recording:
    """Chains with the kernel of the run on screen, its step size frozen."""
    arguments: dict[str, Any] = {"chains": chains, "draws": draws, "warmup": CHECK_WARMUP, "seed": spec.seed, **frozen(spec)}
    return sample(spec.build_target(), "nuts", init=spec.init(), **arguments)


@kept
def apart(spec: NutsLesson, seed: int, work: int) -> Recording:
    """Chains with the same kernel from starts far apart, `work` times as long as a first look needs."""
    target, leapfrogs = spec.build_target(), float(simulate(spec).leapfrogs.mean())
    draws = work * int(np.clip(CHECK_GRADIENTS / (CHECK_CHAINS * leapfrogs), 500, CHECK_DRAWS))
    settings = {"draws": draws, "warmup": CHECK_WARMUP, **frozen(spec)}
    return sampled_apart(target, "nuts", spec.init(), chains=CHECK_CHAINS, seed=seed, **settings)


def kernels(spec: NutsLesson) -> list[Kernel]:
    """The kernel of the run on screen, with the step size and mass that it used."""
    kernel = kernel_of(simulate(spec).recording, MISTAKES.get(spec.variant, ""))
    return [] if kernel is None else [kernel]


def audit(spec: NutsLesson, cancel: object = None) -> Sequence[Check]:
    """The gradient, at points of the run."""
    walk = simulate(spec)
    found = [gradient_check(walk.target, walk.previous[np.linspace(0, walk.steps - 1, 12).astype(int)])]
    if not kernels(spec):
        found.append(unknown(WORDS.phrase("checks.exact"), NO_DRAWS, kind="kernel"))
    return found


def checks(spec: NutsLesson, cancel: object = None) -> Sequence[Check]:
    """The kernel run longer than the picture, from starts far apart: do its chains agree, and with the truth?"""
    spec = spec.simulation()
    found = chains_checks(lambda seed, work: apart(spec, seed, work), spec.seed)
    if spec.target == "non_centred":
        found.append(two_looks(lambda number, work: _in_the_funnel(spec, number, work)))
    return found


def _in_the_funnel(spec: NutsLesson, number: int, work: int) -> Check:
    """The draws carried back to the funnel, against the funnel's own truth."""
    centred = funnel(neck=spec.neck)
    assert centred.truth is not None
    draws = apart(spec, spec.seed if number == 1 else (spec.seed + LATER) % (MAX_SEED + 1), work).draws
    level = FIRST if number == 1 else SECOND
    found = truth_check(to_funnel(draws), centred.truth, centred.labels, level=level)
    return replace(found, name=WORDS.phrase("checks.funnel"))


# Diagnostics ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Diagnostics:
    """Diagnostics of the run on screen."""

    summary: diagnostics.Summary
    cost: diagnostics.Cost
    acceptance: float
    divergences: int
    saturated: int


@kept
def _diagnose(spec: NutsLesson) -> Diagnostics:
    recording = simulate(spec).recording
    summary = diagnostics.summarise(recording.draws)
    assert recording.tree_ending is not None
    return Diagnostics(
        summary,
        diagnostics.cost(record(spec), summary),  # timed once more: the first run may have waited for a compiler
        float(recording.accept_prob.mean()),
        int(recording.divergent.sum()),
        int((recording.tree_ending == TOO_DEEP).sum()),
    )


def diagnose(spec: NutsLesson) -> Diagnostics:
    """R-hat, ESS, cost, divergences and transitions cut short at the maximum depth of the run."""
    return _diagnose(spec.simulation())


@dataclass(frozen=True)
class Form:
    """One way of sampling from a trajectory, in numbers."""

    step_size: float
    leapfrogs: float  # a transition
    waste: float
    depth: float
    acceptance: float
    jump: float  # root mean square distance from draw to draw
    ess_per_1000: float


FORM_DRAWS = 8000


@kept
def _form(spec: NutsLesson) -> Form:
    walk = simulate(spec)
    long = longer(spec, FORM_DRAWS)
    assert long.tree_depth is not None
    gradients = float(long.gradient_evaluations.sum())
    kept = float((2.0**long.tree_depth - 1).sum())
    jumps = np.diff(long.draws, axis=1)
    return Form(
        walk.step_size,
        float(long.gradient_evaluations.mean()),
        1.0 - kept / gradients,
        float(long.tree_depth.mean()),
        float(long.accept_prob.mean()),
        float(np.sqrt((jumps**2).sum(axis=-1).mean())),
        1000.0 * diagnostics.least_ess(long.draws) / gradients,
    )


def form(spec: NutsLesson) -> Form:
    """Four longer chains of the kernel on screen, in numbers."""
    return _form(spec.simulation())


@kept
def _origins(spec: NutsLesson) -> tuple[Array, Array, int]:
    walk = simulate(spec)
    count = min(walk.steps, 200)
    inside = walk.inside(0, count)
    chance, share = np.zeros((2, spec.max_depth + 1))
    used = 0
    for t in ticket.looking(range(count)):
        tree = trees.grow(inside, t, fine=False)
        if tree.cut:
            continue
        used += 1
        x = trees.one(inside, t)
        rows = tree.row[tree.leaf]
        with np.errstate(over="ignore"):
            weight = np.exp(x["leaf_log_weight"])[rows] * (tree.fate[tree.leaf] == 0)
        back = int(walk.depth[t]) - np.concatenate([[0], 1 + np.floor(np.log2(np.arange(1, len(rows))))]).astype(int)
        kept = tree.fate[tree.leaf] == 0
        np.add.at(chance, np.minimum(back[kept], spec.max_depth), tree.chance[tree.leaf][kept])
        np.add.at(share, np.minimum(back[kept], spec.max_depth), weight[kept] / weight.sum())
    return chance / max(1, used), share / max(1, used), used


def origins(spec: NutsLesson) -> tuple[Array, Array, int]:
    """Where draws come from: chance that the draw is from the last doubling that joined, the one before, …, and the
    share of the weight there, averaged over transitions. Also how many transitions: those recorded whole.
    """
    return _origins(spec.simulation())
