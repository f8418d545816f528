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
from lessons.real_data.spec import WORDS, RealDataSpec

SECONDS = 10.0  # that a run takes
FARTHEST = 5.0  # sds from fair that the first picture reaches
TEN = math.log(10.0)
ROLES = {"hot": "posterior", "overdue": "chain-2"}  # of tickets


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
        label=WORDS.phrase("lottery.picture", draws=found.n, white=WHITE, balls=spec.balls),
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
    x, y = Axis(WORDS.phrase("lottery.ball"), 0.0, spec.balls + 1.0), Axis(WORDS.phrase("lottery.sd"), -top, top)
    panel = made.panel("balls", title=WORDS.phrase("lottery.each_ball"), x=x, y=y)
    panel.line(np.arange(1, spec.balls + 1), z, show="at", role="posterior", width=1.6, label=WORDS.phrase("lottery.came"))
    for level in (-2.0, 2.0):
        panel.rule(y=level, role="truth", dash=True, label=WORDS.phrase("lottery.between") if level > 0 else None)
    if spec.data == "urn" and spec.weight != 1.0:
        panel.rule(x=float(spec.odd), role="highlight", dash=True, label=WORDS.phrase("lottery.odd"))


def _evidence(made: Scene, spec: RealDataSpec, found: Course, at: np.ndarray) -> None:
    log = found.log_factor[at] / TEN
    limit = math.log10(FACTOR)
    slope = urn.gain(spec.weight, spec.balls, WHITE) / TEN if spec.data == "urn" else 0.0
    low, high = min(-2.0, 1.05 * float(log.min())), max(2.0, 1.05 * float(log.max()), 1.05 * slope * found.n)
    x, y = Axis(WORDS.phrase("lottery.draw"), 0, found.n), Axis(WORDS.phrase("lottery.log_factor"), low, high)
    panel = made.panel("evidence", title=WORDS.phrase("lottery.evidence"), x=x, y=y)
    panel.line(at, log, show="upto", role="posterior", label=WORDS.phrase("lottery.gained"))
    if slope > 0.0:
        panel.line(at, slope * at, role="truth", dash=True, label=WORDS.phrase("lottery.knows"))
    panel.rule(y=limit, role="accept", dash=True, label=WORDS.phrase("lottery.to_one", factor=FACTOR))
    panel.rule(y=0.0, role="muted")


def _tickets(made: Scene, spec: RealDataSpec, found: Course, at: np.ndarray) -> None:
    fair, after = WHITE**2 / spec.balls, np.maximum(at, 1)
    sd = math.sqrt(WHITE * WHITE / spec.balls * (1.0 - WHITE / spec.balls) * (spec.balls - WHITE) / (spec.balls - 1.0))
    best = urn.most_matches(spec.weight, spec.balls, WHITE) if spec.data == "urn" else fair
    reach = max(8.0 * sd / math.sqrt(found.n), 1.6 * (best - fair))
    x, y = Axis(WORDS.phrase("lottery.draw"), 0, found.n), Axis(WORDS.phrase("lottery.matches"), max(0.0, fair - reach), fair + reach)
    panel = made.panel("tickets", title=WORDS.phrase("lottery.tickets"), x=x, y=y)
    wide, label = 2.0 * sd / np.sqrt(after), WORDS.phrase("lottery.any")
    panel.line(at, np.full(len(at), fair), band=(fair - wide, fair + wide), role="truth", dash=True, label=label)
    for name, role in ROLES.items():
        panel.line(at, _so_far(found, name)[at], show="upto", role=role, width=1.8, label=WORDS.phrase(f"lottery.{name}"))
    if best > fair:
        panel.rule(y=best, role="accept", dash=True, label=WORDS.phrase("lottery.best"))


def _so_far(found: Course, name: str) -> np.ndarray:
    """(n + 1,) matches a draw, on average so far."""
    return np.concatenate([[math.nan], np.cumsum(found.matches[name]) / np.arange(1, found.n + 1)])


def _fair(made: Scene, spec: RealDataSpec, found: Course, at: np.ndarray) -> None:
    shares = found.shares[at]
    likeliest = int(found.shares[-1, :-1].argmax())
    x, y = Axis(WORDS.phrase("lottery.draw"), 0, found.n), Axis(WORDS.phrase("lottery.probability"), 0.0, 1.03)
    panel = made.panel("fair", title=WORDS.phrase("lottery.is_fair"), x=x, y=y)
    panel.line(at, shares[:, -1], show="upto", role="prior", label=WORDS.phrase("lottery.fair"))
    panel.line(at, shares[:, likeliest], show="upto", role="highlight", label=WORDS.phrase("lottery.likeliest"))


def _card(made: Scene, spec: RealDataSpec, found: Course, at: np.ndarray) -> None:
    fair, counts = WHITE / spec.balls, found.counts[at]
    hottest = counts.argmax(axis=1)
    most = counts.max(axis=1)
    single = lottery.alone(most, at, fair)
    draws = WORDS.phrase("lottery.draws", draws=number(found.n), white=WHITE, balls=spec.balls)
    if spec.data == "own":
        made.readout("data", _of_file(draws, found))
        if tops := lottery.two_urns(found, spec.balls):
            made.readout("two", WORDS.phrase("lottery.two_urns_card", first=tops[0], last=tops[1]))
    elif spec.weight == 1.0:
        made.readout("data", WORDS.phrase("lottery.fair_card", draws=draws))
    else:
        made.readout("data", WORDS.phrase("lottery.odd_card", draws=draws, ball=spec.odd, weight=spec.weight))
    made.readout(
        "hottest",
        WORDS.phrase("lottery.hottest_card"),
        ball=hottest + 1,
        most=most,
        expected=at * fair,
        single=single,
        worst=np.minimum(1.0, spec.balls * single),
    )
    log = found.log_factor[at] / TEN
    made.readout("factor", WORDS.phrase("lottery.factor_card"), log=log, fair=found.shares[at, -1])
    averages = {name: np.nan_to_num(_so_far(found, name)[at]) for name in ROLES}
    made.readout("matches", WORDS.phrase("lottery.matches_card", white=WHITE, balls=spec.balls, fair=WHITE**2 / spec.balls), **averages)
    made.say(WORDS.phrase("lottery.said"), t=at, log=log)
    made.table({"draws": at, "log10 Bayes factor": log, **{f"matches, {name}": values for name, values in averages.items()}})


def _of_file(draws: str, found: Course) -> str:
    if found.n == found.of:
        return WORDS.phrase("lottery.file_card", draws=draws)
    return WORDS.phrase("lottery.first_of_file_card", draws=draws, all=number(found.of))


# Below the stage ------------------------------------------------------------------------------------------------------


def power(spec: RealDataSpec) -> Figure:
    """Urns found out by so many draws: counted for this weight, exact bounds for others, and false alarms."""
    weight = lottery.shown_weight(spec)
    figure = charts.blank(WORDS.phrase("stage.draws"), WORDS.phrase("panels.found_out"), height=340)
    figure.layout.xaxis.type = "log"
    for place, each in enumerate(sorted({*lottery.WEIGHTS, weight})):
        look = {"color": theme.colour("posterior" if each == weight else f"chain-{1 + place}"), "width": 2}
        figure.add_scatter(
            x=MARKS, y=lottery.least_power(spec, each), mode="lines", line=look, name=WORDS.phrase("panels.times", weight=each)
        )
    for each, seed, role, symbol, name in (
        (weight, 0, "posterior", "circle", WORDS.phrase("panels.counted", weight=weight)),
        (1.0, 1, "reject", "x", WORDS.phrase("panels.fair_counted")),
    ):
        share, error = lottery.power(spec, each, seed)
        marker = {"color": theme.colour(role), "symbol": symbol, "size": 7}
        bars = {"array": 2.0 * error, "color": theme.colour(role)}
        figure.add_scatter(x=MARKS, y=share, mode="markers", marker=marker, error_y=bars, name=name)
    figure.add_hline(y=1.0 / FACTOR, line={"color": theme.colour("reject"), "width": 1, "dash": "dot"})
    caption = WORDS.phrase("panels.power_caption", factor=FACTOR, urns=spec.urns, chance=1.0 / FACTOR)
    return Figure(WORDS.phrase("panels.power"), figure, WORDS.phrase("panels.power_alt", weight=weight), caption)


def waiting(spec: RealDataSpec) -> Table:
    """What an odd ball of each weight would be worth, and how long until half of such urns are found out."""
    rows = sorted({*lottery.WEIGHTS, lottery.shown_weight(spec)})
    needed = [lottery.needed(spec, weight) for weight in rows]
    columns = {
        "weight of the odd ball": [f"{weight:g}" for weight in rows],
        "is in a draw": [f"{100 * urn.chance(weight, spec.balls, WHITE):.2f} %" for weight in rows],
        "best ticket, matches a draw": [f"{urn.most_matches(weight, spec.balls, WHITE):.3f}" for weight in rows],
        "most gain (bits a draw)": [f"{urn.gain(weight, spec.balls, WHITE) / math.log(2.0):.5f}" for weight in rows],
        "draws until half are found out": [number(n) if math.isfinite(n) else WORDS.phrase("panels.over_a_million") for n in needed],
        "in years of Powerball": [f"{n / lottery.A_YEAR:,.1f}" if math.isfinite(n) else "–" for n in needed],
    }
    caption = WORDS.phrase("panels.worth_caption", chance=100 * WHITE / spec.balls, matches=WHITE**2 / spec.balls)
    return Table(WORDS.phrase("panels.worth"), columns, caption)
