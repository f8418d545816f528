"""The predictions. Who wins is computed from the race."""

from __future__ import annotations

import numpy as np

from app.kit.frame import Question
from lessons.race import analysis
from lessons.race.spec import RACERS, RaceLesson


def winner(spec: RaceLesson) -> int:
    """Index of the racer with the smallest median error of both moments when the budget is spent."""
    return RACERS.index(analysis.race(spec).winner())


def standings(spec: RaceLesson) -> str:
    """Final errors and wins, best first."""
    found, names = analysis.race(spec), analysis.names(spec)
    wins = found.wins()
    finals = {racer: float(np.median(found.final(racer))) for racer in RACERS}
    best_first = sorted(RACERS, key=lambda racer: finals[racer])
    return ", ".join(f"{names[racer]} {finals[racer]:.3f} ({100 * wins[racer]:.0f} % of pairs)" for racer in best_first)


def _explain_high(spec: RaceLesson) -> str:
    return (
        f"Final errors (and wins): {standings(spec)}. In {spec.build_target().dim} dimensions a blind step must "
        f"be small "
        "to be accepted at all; a path that follows the slope crosses the whole density. NUTS has paid "
        f"{int(np.median(analysis.race(spec).lanes['nuts'].tuning)):,} of its {spec.budget:,} evaluations for "
        f"finding the "
        "step size that was given to HMC for nothing."
    )


def _explain_rough(spec: RaceLesson) -> str:
    return (
        f"Final errors (and wins): {standings(spec)}. Long blind jumps clear the rims of the pits; the gradient points "
        "into the nearest one. No sampler is best everywhere."
    )


def turns(spec: RaceLesson) -> float:
    """How often a trajectory of HMC goes round its circle on a unit normal."""
    return spec.step_size * spec.steps / (2 * np.pi)


def _explain_resonance(spec: RaceLesson) -> str:
    lane = analysis.race(spec).lanes["hmc"]
    return (
        f"Final errors (and wins): {standings(spec)}. HMC accepted {100 * lane.acceptance:.1f} % and each path made "
        f"{turns(spec):.3f} turns. Change L from {spec.steps} to {spec.steps // 4}, a quarter turn, and look again."
    )


def honest(spec: RaceLesson) -> RaceLesson:
    """The same race with HMC's accept step."""
    return spec.replace(cheat="off")


def _explain_cheat(spec: RaceLesson) -> str:
    cheat, fair = (analysis.race(s).lanes["hmc"].error[1] for s in (spec, honest(spec)))
    theory = ""
    if spec.target == "gaussian" and spec.correlation == 0.0 and spec.scale_ratio == 1.0 and spec.step_size < 2:
        bias = 1 / (1 - spec.step_size**2 / 4) - 1
        theory = f" Theory says that its floor is $1/(1-\\varepsilon^2/4) - 1 = {bias:.3f}$."
    return (
        f"Final errors (and wins): {standings(spec)}. Error of the variance of HMC: {np.median(cheat[:, -1]):.3f} "
        f"with the "
        f"cheat, {np.median(fair[:, -1]):.3f} with the accept step.{theory} Played fairly, the race goes to "
        f"**{analysis.names(spec)[analysis.race(honest(spec)).winner()]}**."
    )


def _explain_clock(spec: RaceLesson) -> str:
    _, then = analysis.fastest(spec)
    names, seconds = analysis.names(spec), analysis.clock(spec)
    errors = ", ".join(f"{names[racer]} {then[racer]:.3f}" for racer in sorted(RACERS, key=lambda r: then[r]))
    whole = ", ".join(f"{names[racer]} {1000 * seconds[racer]:.2f}" for racer in RACERS)
    return (
        f"When the first had finished: {errors}. Milliseconds for the whole budget: {whole}. By evaluations the "
        f"race went "
        f"to {names[analysis.race(spec).winner()]}. Timed just now on this machine; on a density that costs a "
        f"millisecond "
        "the bookkeeping of the samplers would not count at all."
    )


def _names(gibbs: str) -> list[str]:
    return ["Metropolis", gibbs, "HMC", "NUTS"]


QUESTIONS = [
    Question(
        "high",
        "Twenty correlated coordinates, 8 000 evaluations each. Who ends with the smallest error of mean and variance?",
        _names("Gibbs"),
        winner,
        _explain_high,
        scenario="high",
    ),
    Question(
        "clock",
        "The banana again, but by the clock: who is ahead when the first racer has spent its budget?",
        _names("Metropolis, one variable at a time"),
        lambda spec: RACERS.index(analysis.fastest(spec)[0]),
        _explain_clock,
        scenario="banana",
    ),
    Question(
        "rough",
        "A hill full of small pits. Who wins?",
        _names("Metropolis, one variable at a time"),
        winner,
        _explain_rough,
        scenario="rough",
    ),
    Question(
        "resonance",
        "Independent unit normals; HMC takes 16 steps of 0.393 and accepts 99 %. Who comes **last**?",
        _names("Gibbs"),
        lambda spec: int(np.argmax([np.median(analysis.race(spec).final(racer)) for racer in RACERS])),
        _explain_resonance,
        scenario="resonance",
    ),
    Question(
        "cheat",
        "HMC leaves out its accept step. It leads after 1 000 evaluations. Who leads after 20 000?",
        _names("Gibbs"),
        winner,
        _explain_cheat,
        scenario="cheat",
    ),
]
