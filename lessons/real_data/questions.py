"""Predict → lock → run → explain. Every answer is computed from the run."""

from __future__ import annotations

import math

from app.kit.text import number
from app.kit.words import Said, say
from datasets import powerball
from datasets.powerball import WHITE
from engine import ticket, urn
from engine.judge.answers import nearest
from engine.scores import binary_entropy
from lessons.families.powerball import CUT, PRINTED, TEST, error_of
from lessons.real_data import analysis, lottery, place, protocol
from lessons.real_data.spec import WORDS, RealDataSpec


def held(spec: RealDataSpec) -> float:
    """Share of the test values inside the intervals."""
    return float(analysis.studied(spec, ticket.held()).held.mean())


def _held(spec: RealDataSpec) -> int:
    share = held(spec)
    return 0 if share >= 0.85 else 1 if share >= 0.75 else 2


def _held_why(spec: RealDataSpec) -> Said:
    learned = analysis.studied(spec.replace(noise="learned"), ticket.held())
    found = analysis.studied(spec, ticket.held())
    return say(
        held=100 * held(spec),
        test_values=len(found.held),
        error=found.error,
        noise_sd=spec.noise_sd,
        learned_noise_sd=learned.noise_sd.mean(),
        learned_held=100 * learned.held.mean(),
    )


THRESHOLDS = (0.05, 0.5, 0.95)


def _threshold(spec: RealDataSpec) -> int:
    return nearest(analysis.best_threshold(spec), THRESHOLDS, log=False)


def _threshold_why(spec: RealDataSpec) -> Said:
    found, y = analysis.studied(spec, ticket.held()), analysis.problem(spec).y_test
    threshold = analysis.best_threshold(spec)
    cost, cost_at_half = analysis.costs(spec, found.guess, y, [threshold, 0.5])
    return say(alarm_cost=spec.alarm_cost, miss_cost=spec.miss_cost, threshold=threshold, rows=len(y), cost=cost, cost_at_half=cost_at_half)


LEVELS = (0.221, 0.528, 0.693)


def _constant(spec: RealDataSpec) -> int:
    return nearest(float(binary_entropy(protocol.BASE_RATE)), LEVELS, log=False)


def _constant_why(spec: RealDataSpec) -> Said:
    rate, model = protocol.BASE_RATE, protocol.CREDIT[5]
    return say(rate=rate, complement=1 - rate, entropy=binary_entropy(rate), train=model.train, test=model.test)


COIN = (50.0, 84.0, 100.0)  # %: what the options say of the best rule


def _smallest(spec: RealDataSpec) -> int:
    return nearest(place.best_accuracy(spec.balls), COIN, log=False)


def _smallest_why(spec: RealDataSpec) -> Said:
    best = powerball.best_rule(spec.balls)
    return say(best=100.0 * best.accuracy, cut=best.cut, nats=powerball.least_nats(spec.balls), coin=math.log(2.0))


APART = 2.0  # standard errors that chance is given


def _printed_apart(which: str) -> float:
    return place.apart(PRINTED[which], powerball.BALLS)


def _luck(spec: RealDataSpec) -> int:
    better, worse = _printed_apart("process") > APART, _printed_apart("network") < -APART
    return 2 if better and worse else 0 if better else 1 if worse else 3


def _luck_why(spec: RealDataSpec) -> Said:
    best = place.best_accuracy(powerball.BALLS)
    return say(
        rows=TEST,
        error=error_of(best, TEST),
        process=_printed_apart("process"),
        network=-_printed_apart("network"),
        cost=best - 100.0 * powerball.rule(CUT).accuracy,
    )


def _tickets(spec: RealDataSpec) -> int:
    apart, error = lottery.gap(lottery.course(spec), "hot", "overdue")
    return 2 if abs(apart) <= 2.0 * error else int(apart < 0.0)


def _tickets_why(spec: RealDataSpec) -> Said:
    found = lottery.course(spec)
    apart, error = lottery.gap(found, "hot", "overdue")
    averages = {name: found.matches[name].mean() for name in ("hot", "overdue")}
    return say(seen=found.n, apart=abs(apart), error=error, any=WHITE**2 / spec.balls, white=WHITE, balls=spec.balls, **averages)


DRAWS = (40, 400, 4000)


def _odd(spec: RealDataSpec) -> int:
    return nearest(lottery.needed(spec, lottery.TWICE), DRAWS)


def _odd_why(spec: RealDataSpec) -> Said:
    needed, lighter = (lottery.needed(spec, weight) for weight in (lottery.TWICE, SLIGHT))
    best, chance = (of(lottery.TWICE, spec.balls, WHITE) for of in (urn.most_matches, urn.chance))
    return say(
        needed=needed,
        years=needed / lottery.A_YEAR,
        lighter=lighter,
        centuries=lighter / lottery.A_YEAR,
        best=best,
        fair=WHITE**2 / spec.balls,
        chance=100.0 * chance,
        fair_chance=100.0 * WHITE / spec.balls,
    )


SLIGHT = 1.1  # weight of an odd ball that is hardly odd

QUESTIONS = [
    WORDS.question("held", _held, _held_why, scenario="too-sure"),
    WORDS.question("threshold", _threshold, _threshold_why, scenario="tumours", options=tuple(f"{value:g}" for value in THRESHOLDS)),
    WORDS.question("constant", _constant, _constant_why, scenario="credit-table"),
    WORDS.question("smallest", _smallest, _smallest_why, scenario="powerball"),
    WORDS.question("luck", _luck, _luck_why, scenario="powerball", best=place.best_accuracy(powerball.BALLS)),
    WORDS.question("tickets", _tickets, _tickets_why, scenario="draw"),
    WORDS.question("odd", _odd, _odd_why, options=tuple(f"about {number(n)}" for n in DRAWS)),
]
