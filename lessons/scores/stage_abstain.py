"""The abstain game: a threshold is chosen on one half of the test digits and judged on the other."""

from __future__ import annotations

import numpy as np

from app.kit.player.scene import Axis, Scene
from engine import scores
from lessons.scores import analysis
from lessons.scores.analysis import NAMES, Array, Flags, Play, Reading
from lessons.scores.marks import HEIGHT, MOST, begun, digit, said, strip
from lessons.scores.spec import ScoresSpec


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
    scene = begun(spec, len(cuts), f"The cost of answering, as the threshold on the {NAMES[spec.score]} rises.", start)
    _cost(scene, spec, score, wrong, (first, second), cuts, mine)
    inside = np.flatnonzero(first)
    order = inside[np.argsort(here, kind="stable")]
    shown = order[np.searchsorted(score[order], cuts)]
    digit(scene, spec, reading, shown, ((12, 0, 6, 1), (13, 1, 5, 1)))
    panel = strip(scene, spec, here, wrong[first], (0, 1, 5, 1))
    panel.rule(x=cuts, role="highlight")
    if np.isfinite(mine):
        panel.rule(x=mine, role="ink", dash=True, label="your threshold")
    _all_scores(scene, spec, reading)
    _words(scene, spec, reading, score, (first, second), cuts, mine, shown)
    return scene


def _cost(scene: Scene, spec: ScoresSpec, score: Array, wrong: Flags, parts: tuple[Flags, Flags], cuts: Array, mine: float) -> None:
    first, second = parts
    panel = scene.panel(
        "cost",
        title="Mean cost of an image",
        x=Axis("answered, of the first half (%)", 0.0, 100.0),
        y=Axis("cost (an error costs 1)", 0.0, None),
        place=(0, 0, 12, 1),
        height=HEIGHT,
    )
    here = score[first]
    found = scores.risk_coverage(here, wrong[first])
    costs = scores.abstain_costs(here, wrong[first], 1.0, spec.abstain_cost)
    covered = 100.0 * found.coverage
    panel.line(covered, costs, role="posterior", label="first half: you see it")
    if spec.judged == "yes":
        other = np.array([analysis.play(score[second], wrong[second], at, spec.abstain_cost) for at in found.threshold])
        low, high = _around([Play(*row) for row in other])
        panel.line(covered, other[:, 4], band=(low, high), role="class-1", dash=True, label="other half, ± 1 standard error")
    lowest = int(costs.argmin())
    panel.points([[covered[lowest], costs[lowest]]], role="accept", shape="diamond", size=5.0, label="least, first half")
    panel.rule(y=float(wrong[first].mean()), role="muted", dash=True, label="answer all")
    yours = analysis.play(here, wrong[first], mine, spec.abstain_cost)
    panel.rule(x=100.0 * yours.answered / yours.of, role="ink", dash=True, label="your threshold")
    at_cuts = np.searchsorted(found.threshold, cuts)
    panel.points(np.column_stack([covered[at_cuts], costs[at_cuts]]), show="at", role="highlight", shape="ring", size=7.0, label="cursor")


def _around(plays: list[Play]) -> tuple[Array, Array]:
    costs, errors = np.array([play.cost for play in plays]), np.array([play.error for play in plays])
    return np.maximum(costs - errors, 0.0), costs + errors


def _all_scores(scene: Scene, spec: ScoresSpec, reading: Reading) -> None:
    """The least cost of every score on the first half, which each choice of a threshold flatters."""
    names = list(NAMES)
    games = [analysis.game(spec, reading, name) for name in names]
    top = 1.1 * max(max(game.first.cost, game.second.cost + game.second.error) for game in games)
    panel = scene.panel(
        "scores",
        title="Every score at its best",
        x=Axis("score", -0.6, len(names) - 0.4, ticks=_short()),
        y=Axis("cost", 0.0, max(top, 0.01)),
        place=(5, 1, 8, 1),
        height=HEIGHT,
    )
    at = np.arange(len(names), dtype=float)
    panel.points(
        np.column_stack([at - 0.1, [g.first.cost for g in games]]), role="posterior", size=4.5, label="first half, where it was chosen"
    )
    if spec.judged == "yes":
        low, high = _around([g.second for g in games])
        bars = np.full((len(names), 3, 2), np.nan)
        bars[:, :2, 0], bars[:, 0, 1], bars[:, 1, 1] = at[:, None] + 0.1, low, high
        panel.path(bars.reshape(-1, 2), role="class-1", width=2.0)
        panel.points(
            np.column_stack([at + 0.1, [g.second.cost for g in games]]),
            role="class-1",
            shape="square",
            size=4.5,
            label="other half, ± 1 SE",
        )


def _short() -> list[tuple[float, str]]:
    return list(enumerate(("sd", "inc.", "GA", "H", "m.i.", "1−c")))


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
        "cursor at {k:.3f}: {given:.0f} answered, {errors:.0f} of them wrong; cost = ({errors:.0f} × 1 + "
        "{silent:.0f} × "
        f"{price:g}) / {of}"
        " = {cost:.4f}",
        show="at",
        k=cuts,
        given=given,
        errors=errors,
        silent=of - given,
        cost=np.array([p.cost for p in plays]),
    )
    yours = analysis.play(score[first], wrong[first], mine, price)
    text = f"your threshold answers {yours.answered} of {of}: cost {yours.cost:.4f} ± {yours.error:.4f} on the first half"
    if spec.judged == "yes":
        judged = analysis.play(score[second], wrong[second], mine, price)
        text += f", {judged.cost:.4f} ± {judged.error:.4f} on the other"
    scene.readout("yours", text)
    game = analysis.game(spec, reading)
    text = f"least cost on the first half: {game.first.cost:.4f}, answering {game.first.answered}"
    if spec.judged == "yes":
        text += f"; the same threshold on the other half: {game.second.cost:.4f} ± {game.second.error:.4f}"
    scene.readout("least", text)
    known = analysis.chow(spec)
    if known is not None and spec.judged == "yes":
        rule = analysis.play(score[second], wrong[second], known, price)
        scene.readout("chow", f"Chow's rule, refuse where 1 − confidence > {known:g}: {rule.cost:.4f} on the other half")
    scene.readout(
        "image",
        "image at the cursor, {image:.0f}: label {label:.0f}, read as {read:.0f} with {sure:.2f}",
        show="at",
        **said(reading, shown),
    )
    scene.say("{given:.0f} answered, {errors:.0f} of them wrong.", given=given, errors=errors)
    scene.table({"threshold": cuts, "answered": given, "errors": errors, "mean cost": np.array([p.cost for p in plays])})
