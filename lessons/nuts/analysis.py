"""What the lesson computes from a run: waste, endings, the U-turn test recomputed, checks and diagnostics."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from engine import diagnostics, record, replay, sample
from engine.judge import Check, dispersed_starts, gradient_check, invariance_check, truth_check
from engine.recording import Recording
from engine.samplers.hmc import factor_mass
from engine.samplers.nuts import TOO_DEEP, Nuts, NutsTransitions
from engine.spec import SpecError
from engine.targets import funnel
from engine.targets.target import Target, TargetError
from lessons.nuts import trees
from lessons.nuts.spec import NutsLesson

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


@lru_cache(maxsize=12)
def _simulate(spec: NutsLesson) -> Walk:
    try:
        recording = record(spec)
    except TargetError as error:
        raise SpecError("start", str(error)) from error
    inverse, _ = factor_mass(spec.settings()["mass"], 2)
    previous = np.concatenate([recording.start[:1], recording.draws[0, :-1]])
    return Walk(spec.build_target(), recording, previous, np.diag(inverse[0]) if len(inverse) == 1 else inverse)


@lru_cache(maxsize=8)
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
CHECK_ESS, CHECK_RHAT = 1000, 1.01  # chains that mix worse have error bars that cannot be trusted to four of them
CHECK_TREES = 150


def longer(spec: NutsLesson, draws: int, chains: int = CHECK_CHAINS, *, apart: bool = False) -> Recording:
    """Chains with the kernel of the run on screen, its step size frozen; `apart`: started at exact draws far apart."""
    target = spec.build_target()
    starts = dispersed_starts(target.truth, chains, spec.seed) if apart else None
    arguments = {"chains": chains, "draws": draws, "warmup": CHECK_WARMUP, "seed": spec.seed, **frozen(spec)}
    return sample(target, "nuts", init=spec.init() if starts is None else starts, **arguments)


def checks(spec: NutsLesson, cancel: object = None) -> Sequence[Check]:
    """The kernel on screen, run longer than the picture: moments, exact draws kept exact, its trees recomputed."""
    target, walk = spec.build_target(), simulate(spec)
    draws = int(np.clip(CHECK_GRADIENTS / (CHECK_CHAINS * walk.leapfrogs.mean()), 500, CHECK_DRAWS))
    found = _against_truth(spec, target, longer(spec, draws, apart=True).draws)
    found.append(tree_check(spec))
    some = np.linspace(0, walk.steps - 1, 12).astype(int)
    found.append(gradient_check(target, walk.previous[some]))
    return found


def _against_truth(spec: NutsLesson, target: Target, draws: Array) -> list[Check]:
    """Long chains against the exact answer if they mix well enough to tell, and exact draws moved by the kernel."""

    def unknown(reason: str) -> Check:
        return Check("moments", "unknown", float("nan"), float("nan"), reason)

    if target.truth is None:
        return [unknown("Nothing is known about this density without sampling.")]
    heavy = target.truth.heavy_tails
    effective = diagnostics.least_ess(np.arctan(draws) if heavy else draws)
    agreement = max(diagnostics.rhat(draws[:, :, j]) for j in range(draws.shape[2]))
    if effective >= CHECK_ESS and agreement <= CHECK_RHAT:
        found = truth_check(draws, target.truth, target.labels)
        if spec.target == "non_centred":
            found += _in_the_funnel(spec, draws)
    else:
        reason = (
            f"{draws.shape[0]} chains of {draws.shape[1]:,} draws made {effective:,.0f} effective ones, R-hat "
            f"{agreement:.3f}. To judge their averages at least {CHECK_ESS:,} and at most {CHECK_RHAT} are asked: this "
            "setting mixes too slowly."
        )
        found = [unknown(reason)]
    if target.truth.draw is not None:
        found.append(invariance_check(target, Nuts(**frozen(spec)), points=2000, transitions=10, seed=spec.seed))
    return found


def _in_the_funnel(spec: NutsLesson, draws: Array) -> list[Check]:
    """The draws carried back to the funnel, against the funnel's own truth."""
    centred = funnel(neck=spec.neck)
    assert centred.truth is not None
    return [
        Check(f"{c.name} in the funnel", c.verdict, c.statistic, c.limit, c.sentence, c.unit)
        for c in truth_check(to_funnel(draws), centred.truth, centred.labels)
    ]


def tree_check(spec: NutsLesson) -> Check:
    """Every subtree of some transitions recomputed from its states: the dot products, the verdict, and the draw."""
    walk = simulate(spec)
    inside = walk.inside(0, min(walk.steps, CHECK_TREES))
    wrong, judged, stayed = 0, 0, 0
    for t in range(len(inside.leaves)):
        x = trees.one(inside, t)
        row_of = {int(time): row for row, time in enumerate(x["leaf_time"])}
        for k in range(len(x["node_low"])):
            span = range(int(x["node_low"][k]), int(x["node_high"][k]) + 1)
            if not (span[0] in row_of and span[-1] in row_of):
                continue  # beyond what is recorded
            rows = [row_of[time] for time in span]
            q, p = x["leaf_position"][rows], x["leaf_momentum"][rows]
            dots = trees.expected_dots(q, p, walk.inverse_mass, spec.sampling)
            near = np.allclose(dots, x["node_dots"][k], rtol=1e-6, atol=1e-8, equal_nan=True)
            judged += 1
            wrong += not near or trees.turns(dots, spec.sampling) != bool(x["node_turning"][k])
        drawn = x["leaf_position"][row_of[int(x["proposal"])]] if int(x["proposal"]) in row_of else None
        stayed += drawn is not None and not np.array_equal(drawn, walk.recording.draws[0, t])
    sentence = (
        f"In {len(inside.leaves)} transitions the U-turn test of {judged:,} subtrees was recomputed from their states: "
        f"{wrong or 'no'} wrong number or verdict."
    )
    if stayed:
        sentence += f" In {stayed} of the transitions the draw is not the state that the tree chose."
    if spec.variant == "reversed_dot" and wrong:
        sentence += (
            " The draws are right all the same, since the wrong test still asks the same of every state of a "
            f"trajectory. What it costs: the trees have {walk.depth.mean():.1f} doublings, a slow random walk."
        )
    bad = wrong + stayed
    return Check("trees", "fail" if bad else "pass", float(bad), 0.0, sentence)


# Diagnostics ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Diagnostics:
    """Diagnostics of the run on screen."""

    summary: diagnostics.Summary
    cost: diagnostics.Cost
    acceptance: float
    divergences: int
    saturated: int


@lru_cache(maxsize=12)
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


@lru_cache(maxsize=16)
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


@lru_cache(maxsize=12)
def _origins(spec: NutsLesson) -> tuple[Array, Array, int]:
    walk = simulate(spec)
    count = min(walk.steps, 200)
    inside = walk.inside(0, count)
    chance, share = np.zeros((2, spec.max_depth + 1))
    used = 0
    for t in range(count):
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
