"""The predictions. Who wins is computed from the race."""

from __future__ import annotations

import numpy as np

from app.kit.words import Said, say
from lessons.race import analysis
from lessons.race.spec import RACERS, WORDS, RaceLesson

ALIKE = 1.3  # times as long, up to which two racers take the same time


def winner(spec: RaceLesson) -> int:
    """Index of the racer with the smallest median error of both moments when the budget is spent."""
    return RACERS.index(analysis.race(spec).winner())


def standings(spec: RaceLesson) -> str:
    """Final errors and wins, best first."""
    found, names = analysis.race(spec), analysis.names(spec)
    wins = found.wins()
    finals = {racer: float(np.median(found.final(racer))) for racer in RACERS}
    best_first = sorted(RACERS, key=lambda racer: finals[racer])
    each = [WORDS.phrase("pieces.standing", racer=names[racer], error=finals[racer], wins=100 * wins[racer]) for racer in best_first]
    return ", ".join(each)


def _explain_high(spec: RaceLesson) -> Said:
    return say(
        standings=standings(spec),
        dim=spec.build_target().dim,
        tuning=int(np.median(analysis.race(spec).lanes["nuts"].tuning)),
        budget=spec.budget,
    )


def _explain_rough(spec: RaceLesson) -> Said:
    return say(standings=standings(spec))


def turns(spec: RaceLesson) -> float:
    """How often a trajectory of HMC goes round its circle on a unit normal."""
    return spec.step_size * spec.steps / (2 * np.pi)


def _explain_resonance(spec: RaceLesson) -> Said:
    lane = analysis.race(spec).lanes["hmc"]
    return say(
        standings=standings(spec), accepted=100 * lane.acceptance, turns=turns(spec), steps=spec.steps, quarter_steps=spec.steps // 4
    )


def honest(spec: RaceLesson) -> RaceLesson:
    """The same race with HMC's accept step."""
    return spec.replace(cheat="off")


def _explain_cheat(spec: RaceLesson) -> Said:
    cheat, fair = (analysis.race(s).lanes["hmc"].error[1] for s in (spec, honest(spec)))
    found = dict(
        standings=standings(spec),
        cheat_error=np.median(cheat[:, -1]),
        fair_error=np.median(fair[:, -1]),
        winner=analysis.names(spec)[analysis.race(honest(spec)).winner()],
    )
    if spec.target == "gaussian" and spec.correlation == 0.0 and spec.scale_ratio == 1.0 and spec.step_size < 2:
        return say("errors", "theory", "fair", **found, floor=1 / (1 - spec.step_size**2 / 4) - 1)
    return say("errors", "fair", **found)


def slowest(spec: RaceLesson) -> int:
    """Who takes longest by the clock: nobody by much, one of the two blind samplers, HMC or NUTS."""
    seconds = analysis.clock(spec)
    if max(seconds.values()) < ALIKE * min(seconds.values()):
        return 0
    return {"metropolis": 1, "gibbs": 1, "hmc": 2, "nuts": 3}[max(seconds, key=lambda racer: seconds[racer])]


def _explain_clock(spec: RaceLesson) -> Said:
    _, then = analysis.fastest(spec)
    names, seconds = analysis.names(spec), analysis.clock(spec)
    errors = ", ".join(f"{names[racer]} {then[racer]:.3f}" for racer in sorted(RACERS, key=lambda r: then[r]))
    milliseconds = ", ".join(f"{names[racer]} {1000 * seconds[racer]:.2f}" for racer in RACERS)
    return say(errors=errors, milliseconds=milliseconds, winner=names[analysis.race(spec).winner()])


QUESTIONS = [
    WORDS.question("high", winner, _explain_high, scenario="high"),
    WORDS.question("clock", slowest, _explain_clock, scenario="banana"),
    WORDS.question("rough", winner, _explain_rough, scenario="rough"),
    WORDS.question(
        "resonance",
        lambda spec: int(np.argmax([np.median(analysis.race(spec).final(racer)) for racer in RACERS])),
        _explain_resonance,
        scenario="resonance",
    ),
    WORDS.question("cheat", winner, _explain_cheat, scenario="cheat"),
]
