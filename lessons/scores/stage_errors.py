"""Does the score find the errors? The threshold rises; γ(α) and the ROC curve are one curve, seen from two sides."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from app.kit.player.scene import Axis, Panel, Scene
from engine import scores
from engine.scores import Curve
from lessons.scores import analysis
from lessons.scores.analysis import ALPHA, NAMES, Array, Flags, Reading
from lessons.scores.marks import HEIGHT, MOST, begun, digit, said, strip
from lessons.scores.spec import WORDS, ScoresSpec

# Steyn 2018, table of γ at α = 0.1: two networks of its own on MNIST
PRINTED = {"sd": (0.866, 0.934), "inconsistency": (0.865, 0.931), "ga": (0.978, 0.99)}
FINE = np.linspace(0.0, 1.0, 41)


def made(spec: ScoresSpec, reading: Reading, trained: bool) -> Scene:
    """The scene; without bands and errors while the networks still learn."""
    score, wrong = analysis.values(reading, spec.score), reading.wrong
    cuts = _cuts(score, wrong)
    scene = begun(spec, len(cuts), WORDS.phrase("errors.picture", score=NAMES[spec.score], digits=len(wrong)))
    below = score[:, None] <= cuts
    missed, kept = below[wrong].sum(axis=0), below[~wrong].sum(axis=0)
    shown = _images(score, wrong, cuts)
    alpha, gamma = missed / max(wrong.sum(), 1), kept / max((~wrong).sum(), 1)

    both = 0 < wrong.sum() < len(wrong)
    _curves(scene, spec, reading, score, (alpha, gamma), both, trained)
    digit(scene, spec, reading, shown, ((12, 0, 6, 1), (6, 1, 6, 1)))
    strip(scene, spec, score, wrong, (0, 1, 6, 1)).rule(x=cuts, role="highlight", label=WORDS.phrase("errors.threshold"))
    _risk(scene, score, wrong, (missed + kept) / len(wrong), missed / np.maximum(missed + kept, 1))
    _words(scene, spec, reading, cuts, missed, kept, shown)
    if both and trained:
        _summary(scene, spec, reading, score)
    return scene


def _cuts(score: Array, wrong: Flags) -> Array:
    """Up to `MOST` thresholds: every score of a wrong prediction and those just before, then evenly."""
    every = np.unique(score)
    at = np.searchsorted(every, np.unique(score[wrong]))
    corners = np.unique(np.concatenate([at, np.maximum(at - 1, 0)]))
    if len(corners) > MOST // 2:
        corners = corners[:: -(-len(corners) // (MOST // 2))]
    others = np.setdiff1d(np.arange(len(every)), corners)
    room = MOST - len(corners)
    if len(others) > room:
        others = others[np.linspace(0, len(others) - 1, room).astype(int)]
    return every[np.union1d(corners, others)]


def _images(score: Array, wrong: Flags, cuts: Array) -> NDArray[np.int64]:
    """An image whose score is each threshold, a wrongly read one where there is any."""
    order = np.lexsort((~wrong, score))
    return order[np.searchsorted(score[order], cuts)]


def _curves(scene: Scene, spec: ScoresSpec, reading: Reading, score: Array, here: tuple[Array, Array], both: bool, trained: bool) -> None:
    gamma = scene.panel(
        "gamma",
        title=WORDS.phrase("errors.gamma"),
        x=Axis(WORDS.phrase("errors.gamma_x"), 0.0, 1.0),
        y=Axis(WORDS.phrase("errors.gamma_y"), 0.0, 1.02),
        place=(0, 0, 6, 1),
        height=HEIGHT,
    )
    roc = scene.panel(
        "roc",
        title=WORDS.phrase("errors.roc"),
        x=Axis(WORDS.phrase("errors.roc_x"), 0.0, 1.0),
        y=Axis(WORDS.phrase("errors.roc_y"), 0.0, 1.02),
        place=(6, 0, 6, 1),
        height=HEIGHT,
    )
    diagonal = np.array([[0.0, 0.0], [1.0, 1.0]])
    for panel in (gamma, roc):
        panel.path(diagonal, role="muted", dash=True, width=1.2, label=WORDS.phrase("errors.useless"))
    if both:
        wrong = reading.wrong
        for name, role, dash in ((spec.against, "class-1", True), (spec.score, "posterior", False)):
            if name == "none":
                continue
            found = analysis.curve(spec, score if name == spec.score else analysis.values(reading, name), wrong)
            if name == spec.score and trained and spec.variant == "exact":
                _band(gamma, spec, score, wrong)
            _both(gamma, roc, found, role=role, dash=dash, width=2.6 if dash else 2.0, label=NAMES[name])
    if spec.score in PRINTED:
        marks = np.array([[ALPHA, value] for value in PRINTED[spec.score]])
        gamma.points(marks, role="ink", shape="diamond", size=4.0, label=WORDS.phrase("errors.printed"))
    gamma.points(np.column_stack(here), show="at", role="highlight", shape="ring", size=7.0, label=WORDS.phrase("errors.here"))
    roc.points(1.0 - np.column_stack(here[::-1]), show="at", role="highlight", shape="ring", size=7.0)


def _both(gamma: Panel, roc: Panel, found: Curve, **look: Any) -> None:
    gamma.path(np.column_stack([found.x, found.y]), **look)
    roc.path(1.0 - np.column_stack([found.y, found.x])[::-1], **look)


def _band(panel: Panel, spec: ScoresSpec, score: Array, wrong: Flags) -> None:
    low, high = analysis.gamma_band(score, wrong, FINE, spec.seed)
    middle = 0.5 * (low + high)
    panel.line(FINE, middle, band=(low, high), role="posterior", width=0.0, alpha=0.35, label=WORDS.phrase("errors.band"))


def _risk(scene: Scene, score: Array, wrong: Flags, coverage: Array, risk: Array) -> None:
    full = scores.risk_coverage(score, wrong)
    top = max(2.0 * float(wrong.mean()), 0.05)
    panel = scene.panel(
        "risk",
        title=WORDS.phrase("errors.risk"),
        x=Axis(WORDS.phrase("errors.answered"), 0.0, 1.0),
        y=Axis(WORDS.phrase("errors.share_wrong"), 0.0, top),
        place=(12, 1, 6, 1),
        height=HEIGHT,
    )
    error = analysis.share_error(full.risk, full.coverage * len(wrong))
    band = (np.maximum(full.risk - error, 0.0)[1:], np.minimum(full.risk + error, top)[1:])
    panel.line(full.coverage[1:], full.risk[1:], band=band, role="reject", label=WORDS.phrase("errors.risk_line"))
    panel.rule(y=float(wrong.mean()), role="muted", dash=True, label=WORDS.phrase("errors.all_answered"))
    panel.points(np.column_stack([coverage, risk]), show="at", role="highlight", shape="ring", size=7.0)


def _words(scene: Scene, spec: ScoresSpec, reading: Reading, cuts: Array, missed: NDArray, kept: NDArray, shown: NDArray) -> None:
    bad, good = int(reading.wrong.sum()), int((~reading.wrong).sum())
    counts: dict[str, Any] = {"missed": missed, "kept": kept}
    scene.readout(
        "gamma",
        WORDS.phrase("errors.gamma_card", wrong=bad, right=good),
        k=cuts,
        alpha=missed / max(bad, 1),
        gamma=kept / max(good, 1),
        show="at",
        withheld=True,  # how many are wrong is not known before
        **counts,
    )
    scene.readout("roc", WORDS.phrase("errors.roc_card", wrong=bad), caught=bad - missed, alarms=good - kept, show="at", withheld=True)
    scene.readout("image", WORDS.phrase("errors.image_card"), show="at", **said(reading, shown))
    scene.say(WORDS.phrase("errors.said"), k=cuts, **counts)
    scene.table(
        {
            f"threshold on the {NAMES[spec.score]}": cuts,
            "wrong below": missed,
            "right below": kept,
            "α": missed / max(bad, 1),
            "γ": kept / max(good, 1),
            **said(reading, shown),
        }
    )


def _summary(scene: Scene, spec: ScoresSpec, reading: Reading, score: Array) -> None:
    wrong = reading.wrong
    area, error = analysis.curve(spec, score, wrong).area, analysis.ranked([score], wrong).error(0)
    text = WORDS.phrase("errors.area_card", area=area, error=error, errors=int(wrong.sum()))
    if spec.variant == "exact":
        low, high = analysis.gamma_band(score, wrong, np.array([ALPHA]), spec.seed)
        gamma = scores.gamma(score, wrong, ALPHA)
        text = WORDS.phrase("errors.area_and_gamma_card", area=text, alpha=ALPHA, gamma=gamma, low=low[0], high=high[0])
    scene.readout("area", text, withheld=True)
    if "ga" in (spec.score, spec.against):
        cutoff = WORDS.phrase("errors.cutoff_card", cutoff=analysis.cutoff(reading), votes=len(reading.draws) - 1)
        scene.readout("cutoff", cutoff, withheld=True)
