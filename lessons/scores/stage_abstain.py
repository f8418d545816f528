"""The abstain game: a threshold is chosen on one half of the test digits and judged on the other."""

from __future__ import annotations

import numpy as np

from app.kit.player.scene import Axis, Scene
from engine import scores
from lessons.scores import analysis
from lessons.scores.analysis import NAMES, Array, Flags, Play, Reading
from lessons.scores.marks import HEIGHT, MOST, begun, digit, said, strip
from lessons.scores.spec import SCORES, WORDS, ScoresSpec


def made(spec: ScoresSpec, reading: Reading, trained: bool) -> Scene:
    """The scene: the first half, and once judged the other."""
    first, second = analysis.halves(spec.split, len(reading.y))
    score, wrong = analysis.values(reading, spec.score, first), reading.wrong
    here = score[first]
    cuts = np.unique(here)
    if len(cuts) > MOST:
        cuts = cuts[np.linspace(0, len(cuts) - 1, MOST).astype(int)]
    mine = analysis.chosen(here, spec.answered)
    start = max(int(np.searchsorted(cuts, mine, side="right")) - 1, 0)
    scene = begun(spec, len(cuts), WORDS.phrase("abstain.picture", score=NAMES[spec.score]), start)
    _cost(scene, spec, score, wrong, (first, second), cuts, mine)
    inside = np.flatnonzero(first)
    order = inside[np.argsort(here, kind="stable")]
    shown = order[np.searchsorted(score[order], cuts)]
    digit(scene, spec, reading, shown, ((12, 0, 6, 1), (13, 1, 5, 1)))
    panel = strip(scene, spec, here, wrong[first], (0, 1, 5, 1))
    panel.rule(x=cuts, role="highlight")
    if np.isfinite(mine):
        panel.rule(x=mine, role="ink", dash=True, label=WORDS.phrase("abstain.yours"))
    _all_scores(scene, spec, reading)
    _words(scene, spec, reading, score, (first, second), cuts, mine, shown)
    return scene


def _cost(scene: Scene, spec: ScoresSpec, score: Array, wrong: Flags, parts: tuple[Flags, Flags], cuts: Array, mine: float) -> None:
    first, second = parts
    panel = scene.panel(
        "cost",
        title=WORDS.phrase("abstain.cost"),
        x=Axis(WORDS.phrase("abstain.cost_x"), 0.0, 100.0),
        y=Axis(WORDS.phrase("abstain.cost_y"), 0.0, None),
        place=(0, 0, 12, 1),
        height=HEIGHT,
    )
    here = score[first]
    found = scores.risk_coverage(here, wrong[first])
    costs = scores.abstain_costs(here, wrong[first], 1.0, spec.abstain_cost)
    covered = 100.0 * found.coverage
    panel.line(covered, costs, role="posterior", label=WORDS.phrase("abstain.first_half"))
    if spec.judged == "yes":
        other = np.array([analysis.play(score[second], wrong[second], at, spec.abstain_cost) for at in found.threshold])
        low, high = _around([Play(*row) for row in other])
        panel.line(covered, other[:, 4], band=(low, high), role="class-1", dash=True, label=WORDS.phrase("abstain.other_half"))
    lowest = int(costs.argmin())
    panel.points([[covered[lowest], costs[lowest]]], role="accept", shape="diamond", size=5.0, label=WORDS.phrase("abstain.least"))
    panel.rule(y=float(wrong[first].mean()), role="muted", dash=True, label=WORDS.phrase("abstain.answer_all"))
    yours = analysis.play(here, wrong[first], mine, spec.abstain_cost)
    panel.rule(x=100.0 * yours.answered / yours.of, role="ink", dash=True, label=WORDS.phrase("abstain.yours"))
    at_cuts = np.searchsorted(found.threshold, cuts)
    here_now = np.column_stack([covered[at_cuts], costs[at_cuts]])
    panel.points(here_now, show="at", role="highlight", shape="ring", size=7.0, label=WORDS.phrase("abstain.cursor"))


def _around(plays: list[Play]) -> tuple[Array, Array]:
    costs, errors = np.array([play.cost for play in plays]), np.array([play.error for play in plays])
    return np.maximum(costs - errors, 0.0), costs + errors


def _all_scores(scene: Scene, spec: ScoresSpec, reading: Reading) -> None:
    """The least cost of every score on the first half, which each choice of a threshold flatters."""
    games = [analysis.game(spec, reading, name) for name in SCORES]
    top = 1.1 * max(max(game.first.cost, game.second.cost + game.second.error) for game in games)
    ticks = [(place, WORDS.phrase(f"short.{name}")) for place, name in enumerate(SCORES)]
    panel = scene.panel(
        "scores",
        title=WORDS.phrase("abstain.scores"),
        x=Axis(WORDS.phrase("abstain.scores_x"), -0.6, len(SCORES) - 0.4, ticks=ticks),
        y=Axis(WORDS.phrase("abstain.scores_y"), 0.0, max(top, 0.01)),
        place=(5, 1, 8, 1),
        height=HEIGHT,
    )
    at = np.arange(len(SCORES), dtype=float)
    chosen = np.column_stack([at - 0.1, [g.first.cost for g in games]])
    panel.points(chosen, role="posterior", size=4.5, label=WORDS.phrase("abstain.where_chosen"))
    if spec.judged == "yes":
        low, high = _around([g.second for g in games])
        bars = np.full((len(SCORES), 3, 2), np.nan)
        bars[:, :2, 0], bars[:, 0, 1], bars[:, 1, 1] = at[:, None] + 0.1, low, high
        panel.path(bars.reshape(-1, 2), role="class-1", width=2.0)
        judged = np.column_stack([at + 0.1, [g.second.cost for g in games]])
        panel.points(judged, role="class-1", shape="square", size=4.5, label=WORDS.phrase("abstain.judged"))


def _words(
    scene: Scene, spec: ScoresSpec, reading: Reading, score: Array, parts: tuple[Flags, Flags], cuts: Array, mine: float, shown: np.ndarray
) -> None:
    first, second = parts
    wrong, price = reading.wrong, spec.abstain_cost
    plays = [analysis.play(score[first], wrong[first], at, price) for at in cuts]
    given, errors = np.array([p.answered for p in plays]), np.array([p.errors for p in plays])
    of = int(first.sum())
    scene.readout(
        "cursor",
        WORDS.phrase("abstain.cursor_card", price=price, all=of),
        show="at",
        k=cuts,
        given=given,
        errors=errors,
        silent=of - given,
        cost=np.array([p.cost for p in plays]),
    )
    yours = analysis.play(score[first], wrong[first], mine, price)
    text = WORDS.phrase("abstain.yours_card", answered=yours.answered, all=of, cost=yours.cost, error=yours.error)
    if spec.judged == "yes":
        judged = analysis.play(score[second], wrong[second], mine, price)
        text = WORDS.phrase("abstain.yours_judged_card", yours=text, cost=judged.cost, error=judged.error)
    scene.readout("yours", text)
    game = analysis.game(spec, reading)
    text = WORDS.phrase("abstain.least_card", cost=game.first.cost, answered=game.first.answered)
    if spec.judged == "yes":
        text = WORDS.phrase("abstain.least_judged_card", least=text, cost=game.second.cost, error=game.second.error)
    scene.readout("least", text)
    known = analysis.chow(spec)
    if known is not None and spec.judged == "yes":
        rule = analysis.play(score[second], wrong[second], known, price)
        scene.readout("chow", WORDS.phrase("abstain.chow_card", price=known, cost=rule.cost))
    scene.readout("image", WORDS.phrase("abstain.image_card"), show="at", **said(reading, shown))
    scene.say(WORDS.phrase("abstain.said"), given=given, errors=errors)
    scene.table({"threshold": cuts, "answered": given, "errors": errors, "mean cost": np.array([p.cost for p in plays])})
