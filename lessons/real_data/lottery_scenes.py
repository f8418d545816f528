"""The picture of draws and of what predicts them; the power and the waiting time below it."""

from __future__ import annotations

import math

import numpy as np

from app.kit import charts, theme
from app.kit.charts import Figure, Table
from app.kit.player.scene import Axis, Scene
from app.kit.text import number
from datasets.powerball import WHITE
from engine import urn
from lessons.real_data import lottery
from lessons.real_data.lottery import FACTOR, MARKS, Course
from lessons.real_data.spec import RealDataSpec

SECONDS = 10.0  # that a run takes
FARTHEST = 5.0  # sds from fair that the first picture reaches
TEN = math.log(10.0)
NAMED = {"hot": ("the five hottest", "posterior"), "overdue": ("the five longest overdue", "chain-2")}


def picture(spec: RealDataSpec) -> bytes:
    """How often each ball came, the evidence for an odd one, two tickets, and who it would be."""
    found = lottery.course(spec)
    at = lottery.frames(found.n)
    made = Scene(
        run=repr(spec),
        steps=len(at),
        rate=len(at) / SECONDS,
        autoplay=True,
        theme=theme.palette(),
        label=f"{found.n} draws of {WHITE} from {spec.balls}: each ball, the evidence that one is odd, and two tickets.",
    )
    made.layout("balls*11 evidence*9 / tickets*11 fair*9", [220, 200])
    _balls(made, spec, found, at)
    _evidence(made, spec, found, at)
    _tickets(made, spec, found, at)
    _fair(made, spec, found, at)
    _card(made, spec, found, at)
    return made.encode()


def _balls(made: Scene, spec: RealDataSpec, found: Course, at: np.ndarray) -> None:
    fair, n = WHITE / spec.balls, np.maximum(at, 1)[:, None]
    z = (found.counts[at] - n * fair * (at > 0)[:, None]) / np.sqrt(n * fair * (1.0 - fair))
    if spec.data == "own":
        top = max(FARTHEST, 1.05 * float(np.abs(z).max()))
    else:  # the same for each seed: an axis is seen before a prediction
        expected = (urn.chance(spec.weight, spec.balls, WHITE) - fair) * math.sqrt(found.n / (fair * (1.0 - fair)))
        top = FARTHEST + abs(expected)
    panel = made.panel(
        "balls", title="Each ball so far, beside a fair urn", x=Axis("ball", 0.0, spec.balls + 1.0), y=Axis("sd from fair", -top, top)
    )
    panel.line(np.arange(1, spec.balls + 1), z, show="at", role="posterior", width=1.6, label="how often it came")
    for level in (-2.0, 2.0):
        panel.rule(y=level, role="truth", dash=True, label="19 of 20 fair balls lie between" if level > 0 else None)
    if spec.data == "urn" and spec.weight != 1.0:
        panel.rule(x=float(spec.odd), role="highlight", dash=True, label="the odd ball")


def _evidence(made: Scene, spec: RealDataSpec, found: Course, at: np.ndarray) -> None:
    log = found.log_factor[at] / TEN
    limit = math.log10(FACTOR)
    slope = urn.gain(spec.weight, spec.balls, WHITE) / TEN if spec.data == "urn" else 0.0
    panel = made.panel(
        "evidence",
        title="Evidence for an odd ball",
        x=Axis("draw", 0, found.n),
        y=Axis("log₁₀ of the Bayes factor", min(-2.0, 1.05 * float(log.min())), max(2.0, 1.05 * float(log.max()), 1.05 * slope * found.n)),
    )
    panel.line(at, log, show="upto", role="posterior", label="what the predictions gained")
    if slope > 0.0:
        panel.line(at, slope * at, role="truth", dash=True, label="who knows the ball gains, on average")
    panel.rule(y=limit, role="accept", dash=True, label=f"{FACTOR:g} to 1")
    panel.rule(y=0.0, role="muted")


def _tickets(made: Scene, spec: RealDataSpec, found: Course, at: np.ndarray) -> None:
    fair, after = WHITE**2 / spec.balls, np.maximum(at, 1)
    sd = math.sqrt(WHITE * WHITE / spec.balls * (1.0 - WHITE / spec.balls) * (spec.balls - WHITE) / (spec.balls - 1.0))
    best = urn.most_matches(spec.weight, spec.balls, WHITE) if spec.data == "urn" else fair
    reach = max(8.0 * sd / math.sqrt(found.n), 1.6 * (best - fair))
    panel = made.panel(
        "tickets",
        title="Numbers that a ticket had right, on average so far",
        x=Axis("draw", 0, found.n),
        y=Axis("matches a draw", max(0.0, fair - reach), fair + reach),
    )
    wide = 2.0 * sd / np.sqrt(after)
    panel.line(at, np.full(len(at), fair), band=(fair - wide, fair + wide), role="truth", dash=True, label="any ticket, fair urn, ± 2 sd")
    for name, (words, role) in NAMED.items():
        panel.line(at, _so_far(found, name)[at], show="upto", role=role, width=1.8, label=words)
    if best > fair:
        panel.rule(y=best, role="accept", dash=True, label="best there is")


def _so_far(found: Course, name: str) -> np.ndarray:
    """(n + 1,) matches a draw, on average so far."""
    return np.concatenate([[math.nan], np.cumsum(found.matches[name]) / np.arange(1, found.n + 1)])


def _fair(made: Scene, spec: RealDataSpec, found: Course, at: np.ndarray) -> None:
    shares = found.shares[at]
    likeliest = int(found.shares[-1, :-1].argmax())
    panel = made.panel("fair", title="Is the urn fair?", x=Axis("draw", 0, found.n), y=Axis("probability", 0.0, 1.03))
    panel.line(at, shares[:, -1], show="upto", role="prior", label="it is fair")
    panel.line(at, shares[:, likeliest], show="upto", role="highlight", label="one ball is odd: the likeliest in the end")


def _card(made: Scene, spec: RealDataSpec, found: Course, at: np.ndarray) -> None:
    fair, counts = WHITE / spec.balls, found.counts[at]
    hottest = counts.argmax(axis=1)
    most = counts.max(axis=1)
    single = lottery.alone(most, at, fair)
    if spec.data == "own":
        rest = "" if found.n == found.of else f", the first of {number(found.of)}"
        made.readout("data", f"your file: {number(found.n)} draws of {WHITE} from {spec.balls}{rest}")
        if tops := lottery.two_urns(found, spec.balls):
            made.readout(
                "two",
                f"no number is above {tops[0]} in the first half of them, none above {tops[1]} in the last: these are draws of two "
                "urns. Leave one of them out",
            )
    else:
        weight = "a fair urn" if spec.weight == 1.0 else f"ball {spec.odd} weighs {spec.weight:g}, all others 1"
        made.readout("data", f"{number(found.n)} draws of {WHITE} from {spec.balls}: {weight}")
    made.readout(
        "hottest",
        "the hottest ball, {ball:d}, came {most:d} times, {expected:.1f} are fair: named before, p = {single:.2g}; as the hottest of "
        "all, at most {worst:.2g}",
        ball=hottest + 1,
        most=most,
        expected=at * fair,
        single=single,
        worst=np.minimum(1.0, spec.balls * single),
    )
    log = found.log_factor[at] / TEN
    made.readout(
        "factor",
        "one odd ball against none: log₁₀ of the Bayes factor {log:.2f}; the urn is fair with probability {fair:.3f}",
        log=log,
        fair=found.shares[at, -1],
    )
    averages = {name: np.nan_to_num(_so_far(found, name)[at]) for name in NAMED}
    made.readout(
        "matches",
        f"matches a draw: hottest {{hot:.3f}}, overdue {{overdue:.3f}}; any ticket of a fair urn {WHITE}²/"
        f"{spec.balls} = {WHITE**2 / spec.balls:.3f}",
        **averages,
    )
    made.say("After {t:d} draws the log Bayes factor is {log:.2f}.", t=at, log=log)
    made.table({"draws": at, "log10 Bayes factor": log, **{f"matches, {name}": values for name, values in averages.items()}})


# Below the stage ------------------------------------------------------------------------------------------------------


def power(spec: RealDataSpec) -> Figure:
    """Urns found out by so many draws: counted for this weight, exact bounds for others, and false alarms."""
    weight = lottery.shown_weight(spec)
    figure = charts.blank("draws", "share found out", height=340)
    figure.layout.xaxis.type = "log"
    for place, each in enumerate(sorted({*lottery.WEIGHTS, weight})):
        look = {"color": theme.colour("posterior" if each == weight else f"chain-{1 + place}"), "width": 2}
        figure.add_scatter(x=MARKS, y=lottery.least_power(spec, each), mode="lines", line=look, name=f"{each:g} times")
    for each, seed, role, symbol, name in (
        (weight, 0, "posterior", "circle", f"{weight:g} times, counted"),
        (1.0, 1, "reject", "x", "fair, counted"),
    ):
        share, error = lottery.power(spec, each, seed)
        marker = {"color": theme.colour(role), "symbol": symbol, "size": 7}
        bars = {"array": 2.0 * error, "color": theme.colour(role)}
        figure.add_scatter(x=MARKS, y=share, mode="markers", marker=marker, error_y=bars, name=name)
    figure.add_hline(y=1.0 / FACTOR, line={"color": theme.colour("reject"), "width": 1, "dash": "dot"})
    caption = (
        f"Urns whose odd ball weighs so many times what the others do, and a Bayes factor of {FACTOR:g} or more. Points: of {spec.urns} "
        "urns each, ± 2 standard errors. Lines: exact sums, and no less than they say is found out. A fair urn ever "
        f"comes to {FACTOR:g} with probability {1.0 / FACTOR:g} at most, the dotted line, however often one looks."
    )
    alt = f"Power against the number of draws for odd balls of several weights; weight {weight:g} is counted, too."
    return Figure("How many draws does it take?", figure, alt, caption)


def waiting(spec: RealDataSpec) -> Table:
    """What an odd ball of each weight would be worth, and how long until half of such urns are found out."""
    rows = sorted({*lottery.WEIGHTS, lottery.shown_weight(spec)})
    needed = [lottery.needed(spec, weight) for weight in rows]
    columns = {
        "weight of the odd ball": [f"{weight:g}" for weight in rows],
        "is in a draw": [f"{100 * urn.chance(weight, spec.balls, WHITE):.2f} %" for weight in rows],
        "best ticket, matches a draw": [f"{urn.most_matches(weight, spec.balls, WHITE):.3f}" for weight in rows],
        "most gain (bits a draw)": [f"{urn.gain(weight, spec.balls, WHITE) / math.log(2.0):.5f}" for weight in rows],
        "draws until half are found out": [number(n) if math.isfinite(n) else "over a million" for n in needed],
        "in years of Powerball": [f"{n / lottery.A_YEAR:,.1f}" if math.isfinite(n) else "–" for n in needed],
    }
    caption = (
        f"A fair ball is in {100 * WHITE / spec.balls:.2f} % of the draws; any ticket of a fair urn has {WHITE**2 / spec.balls:.3f} "
        "matches. Three draws a week. No prediction gains more bits on the fair urn than the fourth column, whatever model makes it."
    )
    return Table("What an odd ball would be worth", columns, caption)
