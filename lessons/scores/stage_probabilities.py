"""Are the probabilities right? Precision and recall as the threshold on the confidence rises (Berezowski 2021); the
reliability diagram as its bins grow finer.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from app.kit.player.scene import Axis, Scene, levels, pixel_blocks
from engine import scores
from lessons.scores import analysis
from lessons.scores.analysis import FORECASTERS, MOST_BINS, Reading
from lessons.scores.marks import CLASSES, HEIGHT, begun, digit, said
from lessons.scores.spec import WORDS, ScoresSpec

# Berezowski 2021, table 7.2, ten classes, two runs on its own OptDigits data: per cent
TOPS = {"10a": (90.65, 96.50, 98.25), "10b": (92.60, 97.30, 98.40)}
PRECISION_RECALL = {"10a": ((92.16, 98.73), (100.0, 50.47)), "10b": ((92.5, 100.0), (97.73, 91.07))}
PRINTED_AT = (0.2, 0.4)
THRESHOLDS = np.linspace(0.0, 0.99, 100)
NUMBERS = (1, 2, 3, 5, 7, 10, 15, 20, 30, 50, 70, 100)  # of networks averaged
START = 9  # ten bins
GRAIN = 5  # cells of the picture to one of the confusion matrix, along an edge


# Thresholds -----------------------------------------------------------------------------------------------------------


def thresholds(spec: ScoresSpec, reading: Reading, trained: bool) -> Scene:
    """Answer only what is at least so probable."""
    scene = begun(spec, len(THRESHOLDS), WORDS.phrase("thresholds.picture", digits=len(reading.y)), 40)
    y, right = reading.y, ~reading.wrong
    given = reading.confidence >= THRESHOLDS[:, None]
    answers, good = given.sum(axis=1), (given & right).sum(axis=1)
    precision = np.where(answers > 0, good / np.maximum(answers, 1), np.nan)
    recall = good / max(int(right.sum()), 1)

    panel = scene.panel(
        "lines",
        title=WORDS.phrase("thresholds.lines"),
        x=Axis(WORDS.phrase("thresholds.needed"), 0.0, 1.0),
        y=Axis(WORDS.phrase("stage.share"), 0.0, 1.04),
        place=(0, 0, 9, 1),
        height=HEIGHT,
    )
    for values, of, role, dash, name in (
        (precision, answers, "posterior", False, "precision"),
        (recall, np.full(len(THRESHOLDS), max(int(right.sum()), 1)), "reject", True, "recall"),
    ):
        error = 2.0 * analysis.share_error(values, of)
        band = (np.nan_to_num(np.maximum(values - error, 0.0)), np.nan_to_num(np.minimum(values + error, 1.0)))
        panel.line(THRESHOLDS, values, band=band, role=role, dash=dash, label=WORDS.phrase(f"thresholds.{name}"))
    panel.line(THRESHOLDS, answers / len(y), role="muted", width=1.2, label=WORDS.phrase("thresholds.answered"))
    for column, shape, name in ((0, "diamond", "precision"), (1, "square", "recall")):
        printed = [[at, rows[k][column] / 100] for rows in PRECISION_RECALL.values() for k, at in enumerate(PRINTED_AT)]
        panel.points(np.array(printed), role="ink", shape=shape, size=3.6, label=WORDS.phrase(f"thresholds.printed_{name}"))
    panel.rule(x=THRESHOLDS, role="highlight")

    pairs, least = _confusion(scene, reading, given)
    _tops(scene, reading)
    order = np.argsort(reading.confidence, kind="stable")
    shown = order[np.minimum(np.searchsorted(reading.confidence[order], THRESHOLDS), len(order) - 1)]
    digit(scene, spec, reading, shown, ((7, 1, 4, 1), (11, 1, 9, 1)))

    scene.readout(
        "precision",
        WORDS.phrase("thresholds.precision_card", right=int(right.sum())),
        show="at",
        at=THRESHOLDS,
        good=good,
        answers=answers,
        precision=precision,
        recall=recall,
        silent=len(y) - answers,
    )
    scene.readout(
        "confusion", WORDS.phrase("thresholds.confusion_card"), show="at", label=pairs // CLASSES, read=pairs % CLASSES, times=least
    )
    scene.readout("image", WORDS.phrase("thresholds.image_card"), show="at", **said(reading, shown))
    scene.say(WORDS.phrase("thresholds.said"), at=THRESHOLDS, answers=answers, good=good)
    scene.table({"confidence needed": THRESHOLDS, "answers": answers, "right": good, "precision": precision, "recall": recall})
    return scene


def _confusion(scene: Scene, reading: Reading, given: NDArray) -> tuple[NDArray, NDArray]:
    """The confusion matrix of what is answered; the most frequent error of each step and how often it is made."""
    cell = CLASSES * reading.y + reading.mean.argmax(axis=1)
    counts = np.stack([np.bincount(cell[row], minlength=CLASSES**2) for row in given])
    errors = counts.copy()
    errors[:, :: CLASSES + 1] = 0
    most = max(int(errors.max()), 1)
    ticks = [(k + 0.5, str(k)) for k in range(CLASSES)]
    upwards = [(CLASSES - 0.5 - k, str(k)) for k in range(CLASSES)]
    panel = scene.panel(
        "confusion",
        title=WORDS.phrase("thresholds.confusion"),
        x=Axis(WORDS.phrase("thresholds.read_as"), 0, CLASSES, ticks=ticks),
        y=Axis(WORDS.phrase("thresholds.true_label"), 0, CLASSES, ticks=upwards),
        place=(9, 0, 11, 1),
        height=HEIGHT,
    )
    frames, at = np.unique(levels(counts, most).reshape(-1, CLASSES, CLASSES), axis=0, return_inverse=True)
    panel.heatmap(
        pixel_blocks(frames, GRAIN),
        x=(0, CLASSES),
        y=(0, CLASSES),
        low=0.0,
        high=float(most),
        at=at.reshape(-1),
        label=WORDS.phrase("thresholds.confusion_scale", most=most),
    )
    return errors.argmax(axis=1), errors.max(axis=1)


def _tops(scene: Scene, reading: Reading) -> None:
    panel = scene.panel(
        "tops",
        title=WORDS.phrase("thresholds.tops"),
        x=Axis(WORDS.phrase("thresholds.tops_x"), 0.5, 3.5, ticks=_ticks(3)),
        y=Axis(WORDS.phrase("thresholds.tops_y"), 0.8, 1.005),
        place=(0, 1, 7, 1),
        height=HEIGHT,
    )
    k = np.arange(1, 4)
    share = np.array([scores.top_accuracy(reading.mean, reading.y, int(n)) for n in k])
    error = 2.0 * analysis.share_error(share, len(reading.y))
    bars = np.full((3, 3, 2), np.nan)
    bars[:, :2, 0] = k[:, None] - 0.1
    bars[:, 0, 1], bars[:, 1, 1] = share - error, np.minimum(share + error, 1.0)
    panel.path(bars.reshape(-1, 2), role="posterior", width=2.0)
    panel.points(np.column_stack([k - 0.1, share]), role="posterior", size=4.5, label=WORDS.phrase("thresholds.ours"))
    for name, shape, aside in (("10a", "diamond", 0.1), ("10b", "square", 0.2)):
        printed = np.column_stack([k + aside, np.array(TOPS[name]) / 100])
        panel.points(printed, role="ink", shape=shape, size=4.0, label=WORDS.phrase("thresholds.printed", run=name))


def _ticks(count: int) -> list[tuple[float, str]]:
    return [(k, str(k)) for k in range(1, count + 1)]


# Reliability ----------------------------------------------------------------------------------------------------------


def bins(spec: ScoresSpec, reading: Reading, trained: bool) -> Scene:
    """The reliability diagram with 1, 2, ... bins, and what the number of bins does to the error that is read off."""
    scene = begun(spec, MOST_BINS, WORDS.phrase("calibration.picture", digits=len(reading.y), bins=MOST_BINS), START)
    p, y = reading.mean, reading.y
    number = np.arange(1, MOST_BINS + 1)
    found = [analysis.calibration(spec, p, y, int(b)) for b in number]
    # while the networks still learn, no time is spent on chance
    right = analysis.forecasters(reading.confidence, spec.seed, FORECASTERS if trained else 20)
    lucky = [analysis.chance(reading.confidence, right, int(b)) for b in number]

    panel = scene.panel(
        "diagram",
        title=WORDS.phrase("calibration.diagram"),
        x=Axis(WORDS.phrase("calibration.of_truth" if spec.variant == "true_class" else "stage.confidence"), 0.0, 1.0),
        y=Axis(WORDS.phrase("calibration.share_right"), 0.0, 1.02),
        place=(0, 0, 9, 1),
        height=HEIGHT + 45,
    )
    panel.path(np.array([[0.0, 0.0], [1.0, 1.0]]), role="muted", dash=True, width=1.2, label=WORDS.phrase("calibration.calibrated"))
    frames = np.arange(MOST_BINS)
    spans = np.full((MOST_BINS, MOST_BINS, 3, 2), np.nan)
    caps = spans.copy()
    for row, (diagram, chance) in enumerate(zip(found, lucky, strict=True)):
        b = row + 1
        width = 0.4 * np.minimum(1.0 / b, 0.1)
        spans[row, :b, 0, 1], spans[row, :b, 1, 1] = chance.low, chance.high
        caps[row, :b, 0, 0], caps[row, :b, 1, 0] = diagram.confidence - width, diagram.confidence + width
        caps[row, :b, :2, 1] = diagram.accuracy[:, None]
        spans[row, :b, :2, 0] = diagram.confidence[:, None]
    forecasters, networks = WORDS.phrase("calibration.forecasters"), WORDS.phrase("calibration.networks")
    panel.path(spans.reshape(MOST_BINS, -1, 2), at=frames, role="muted", width=7.0, alpha=0.45, label=forecasters)
    panel.path(caps.reshape(MOST_BINS, -1, 2), at=frames, role="posterior", width=3.2, label=networks)

    error = np.array([diagram.error for diagram in found])
    spread = np.quantile([chance.errors for chance in lucky], [0.05, 0.5, 0.95], axis=1).T
    panel = scene.panel(
        "ece",
        title=WORDS.phrase("calibration.ece"),
        x=Axis(WORDS.phrase("calibration.bins"), 1, MOST_BINS),
        y=Axis(WORDS.phrase("calibration.ece_axis"), 0.0, None),
        place=(9, 0, 11, 1),
        height=HEIGHT + 45,
    )
    forecasters = WORDS.phrase("calibration.forecasters_ece")
    panel.line(number, spread[:, 1], band=(spread[:, 0], spread[:, 2]), role="muted", dash=True, label=forecasters)
    panel.line(number, error, role="posterior", label=networks)
    panel.points(np.column_stack([number, error]), show="at", role="highlight", shape="ring", size=7.0)
    _confidences(scene, reading)
    _averaging(scene, reading, len(reading.draws) if trained else spec.networks)

    scene.readout(
        "ece",
        WORDS.phrase("calibration.ece_card", digits=len(y)),
        show="at",
        b=number,
        error=error,
        low=spread[:, 0],
        middle=spread[:, 1],
        high=spread[:, 2],
    )
    confidence, share = float(reading.confidence.mean()), float((~reading.wrong).mean())
    gap = WORDS.phrase(
        "calibration.over_card" if confidence > share else "calibration.under_card",
        confidence=confidence,
        right=share,
        error=float(analysis.share_error(share, len(y))),
        gap=abs(confidence - share),
    )
    scene.readout("gap", gap, withheld=True)
    brier, log = (analysis.mean_told(each(p, y)) for each in (scores.brier_scores, scores.log_scores))
    scene.readout("proper", WORDS.phrase("calibration.proper_card", brier=brier, log=log), withheld=True)
    scene.say(WORDS.phrase("calibration.said"), b=number, error=error)
    columns: dict[str, NDArray] = {"bins": number, "ECE": error, "ECE, calibrated: median": spread[:, 1]}
    scene.table({**columns, "5 %": spread[:, 0], "95 %": spread[:, 2]})
    return scene


def _confidences(scene: Scene, reading: Reading) -> None:
    panel = scene.panel(
        "confidences",
        title=WORDS.phrase("calibration.confidences"),
        x=Axis(WORDS.phrase("stage.confidence"), 0.0, 1.0),
        y=Axis(WORDS.phrase("calibration.images"), 0.0, None),
        place=(0, 1, 9, 1),
        height=HEIGHT - 30,
    )
    for values, role, name in (
        (reading.confidence, "posterior", WORDS.phrase("calibration.all_images")),
        (reading.confidence[reading.wrong], "reject", WORDS.phrase("stage.read_wrong")),
    ):
        panel.histogram(values, bins=(0.0, 1.0, 20), show="all", density=False, role=role, label=name)


def _averaging(scene: Scene, reading: Reading, networks: int) -> None:
    """`networks` : of the whole picture."""
    numbers = [number for number in NUMBERS if number <= len(reading.draws)]
    averages = [analysis.averaged(reading, number) for number in numbers]
    curves = {
        "log_score": [float(scores.log_scores(p, reading.y).mean()) for p in averages],
        "brier_score": [float(scores.brier_scores(p, reading.y).mean()) for p in averages],
        "ece_of_ten": [scores.calibration_error(p, reading.y) for p in averages],
    }
    panel = scene.panel(
        "averaging",
        title=WORDS.phrase("calibration.averaging"),
        y=Axis(WORDS.phrase("calibration.averaging_y"), 0.0, None),
        x=Axis(WORDS.phrase("calibration.averaging_x"), 1.0, float(max(2, *(n for n in NUMBERS if n <= networks))), log=True),
        place=(9, 1, 11, 1),
        height=HEIGHT - 30,
    )
    for (name, values), (role, dash) in zip(curves.items(), (("posterior", False), ("class-1", True), ("highlight", False)), strict=True):
        panel.line(numbers, values, role=role, dash=dash, label=WORDS.phrase(f"calibration.{name}"))
