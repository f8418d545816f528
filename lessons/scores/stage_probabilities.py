"""Are the probabilities right? Precision and recall as the threshold on the confidence rises (Berezowski 2021); the
reliability diagram as its bins grow finer.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from app.kit.player.scene import Axis, Scene, levels, pixel_blocks
from engine import scores
from lessons.scores import analysis
from lessons.scores.analysis import MOST_BINS, Array, Reading
from lessons.scores.marks import CLASSES, HEIGHT, begun, digit, said
from lessons.scores.spec import ScoresSpec

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
    scene = begun(
        spec, len(THRESHOLDS), f"The confidence that an answer needs rises from 0 to 0.99, over {len(reading.y)} test digits.", 40
    )
    y, right = reading.y, ~reading.wrong
    given = reading.confidence >= THRESHOLDS[:, None]
    answers, good = given.sum(axis=1), (given & right).sum(axis=1)
    precision = np.where(answers > 0, good / np.maximum(answers, 1), np.nan)
    recall = good / max(int(right.sum()), 1)

    panel = scene.panel(
        "lines",
        title="Precision and recall",
        x=Axis("confidence that an answer needs", 0.0, 1.0),
        y=Axis("share", 0.0, 1.04),
        place=(0, 0, 9, 1),
        height=HEIGHT,
    )
    for values, of, role, dash, name in (
        (precision, answers, "posterior", False, "precision, ± 2 SE"),
        (recall, np.full(len(THRESHOLDS), max(int(right.sum()), 1)), "reject", True, "recall, ± 2 SE"),
    ):
        error = 2.0 * analysis.share_error(values, of)
        band = (np.nan_to_num(np.maximum(values - error, 0.0)), np.nan_to_num(np.minimum(values + error, 1.0)))
        panel.line(THRESHOLDS, values, band=band, role=role, dash=dash, label=name)
    panel.line(THRESHOLDS, answers / len(y), role="muted", width=1.2, label="answered")
    for column, shape, name in ((0, "diamond", "precision"), (1, "square", "recall")):
        printed = [[at, rows[k][column] / 100] for rows in PRECISION_RECALL.values() for k, at in enumerate(PRINTED_AT)]
        panel.points(np.array(printed), role="ink", shape=shape, size=3.6, label=f"{name}, printed, Berezowski 2021")
    panel.rule(x=THRESHOLDS, role="highlight")

    pairs, least = _confusion(scene, reading, given)
    _tops(scene, reading)
    order = np.argsort(reading.confidence, kind="stable")
    shown = order[np.minimum(np.searchsorted(reading.confidence[order], THRESHOLDS), len(order) - 1)]
    digit(scene, spec, reading, shown, ((7, 1, 4, 1), (11, 1, 9, 1)))

    scene.readout(
        "precision",
        "at {at:.2f}: precision {good:.0f} / {answers:.0f} = {precision:.3f}; recall {good:.0f} / "
        f"{int(right.sum())}"
        " = {recall:.3f}; {silent:.0f} left unanswered",
        show="at",
        at=THRESHOLDS,
        good=good,
        answers=answers,
        precision=precision,
        recall=recall,
        silent=len(y) - answers,
    )
    scene.readout(
        "confusion",
        "most often confused among the answers: {label:.0f} read as {read:.0f}, {times:.0f} times",
        show="at",
        label=pairs // CLASSES,
        read=pairs % CLASSES,
        times=least,
    )
    scene.readout(
        "image",
        "next to be refused, test image {image:.0f}: label {label:.0f}, read as {read:.0f} with {sure:.2f}",
        show="at",
        **said(reading, shown),
    )
    scene.say(
        "Answers need a confidence of {at:.2f}: {answers:.0f} are given, {good:.0f} of them right.",
        at=THRESHOLDS,
        answers=answers,
        good=good,
    )
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
        title="Confusion matrix of the answers",
        x=Axis("read as", 0, CLASSES, ticks=ticks),
        y=Axis("label", 0, CLASSES, ticks=upwards),
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
        label=f"images (diagonal: {most} or more)",
    )
    return errors.argmax(axis=1), errors.max(axis=1)


def _tops(scene: Scene, reading: Reading) -> None:
    panel = scene.panel(
        "tops",
        title="Label among the top 1, 2, 3",
        x=Axis("first k guesses", 0.5, 3.5, ticks=_ticks(3)),
        y=Axis("share of the images", 0.8, 1.005),
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
    panel.points(np.column_stack([k - 0.1, share]), role="posterior", size=4.5, label="ours, ± 2 SE")
    for name, shape, aside in (("10a", "diamond", 0.1), ("10b", "square", 0.2)):
        printed = np.column_stack([k + aside, np.array(TOPS[name]) / 100])
        panel.points(printed, role="ink", shape=shape, size=4.0, label=f"printed, Berezowski 2021, {name}")


def _ticks(count: int) -> list[tuple[float, str]]:
    return [(k, str(k)) for k in range(1, count + 1)]


# Reliability ----------------------------------------------------------------------------------------------------------


def bins(spec: ScoresSpec, reading: Reading, trained: bool) -> Scene:
    """The reliability diagram with 1, 2, ... bins, and what the number of bins does to the error that is read off."""
    scene = begun(spec, MOST_BINS, f"The reliability diagram of {len(reading.y)} test digits with 1 to {MOST_BINS} bins.", START)
    p, y = reading.mean, reading.y
    number = np.arange(1, MOST_BINS + 1)
    found = [analysis.calibration(spec, p, y, int(b)) for b in number]
    # while the networks still learn, no time is spent on chance
    right = analysis.forecasters(reading.confidence, spec.seed)[: None if trained else 20]
    lucky = [analysis.chance(reading.confidence, right, int(b)) for b in number]

    given = "probability of the true digit" if spec.variant == "true_class" else "confidence"
    panel = scene.panel(
        "diagram", title="Reliability", x=Axis(given, 0.0, 1.0), y=Axis("share right", 0.0, 1.02), place=(0, 0, 9, 1), height=HEIGHT + 45
    )
    panel.path(np.array([[0.0, 0.0], [1.0, 1.0]]), role="muted", dash=True, width=1.2, label="calibrated")
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
    panel.path(spans.reshape(MOST_BINS, -1, 2), at=frames, role="muted", width=7.0, alpha=0.45, label="90 % of calibrated forecasters")
    panel.path(caps.reshape(MOST_BINS, -1, 2), at=frames, role="posterior", width=3.2, label="these networks")

    error = np.array([diagram.error for diagram in found])
    spread = np.array([np.quantile(chance.errors, [0.05, 0.5, 0.95]) for chance in lucky])
    panel = scene.panel(
        "ece",
        title="Calibration error by number of bins",
        x=Axis("bins", 1, MOST_BINS),
        y=Axis("ECE", 0.0, None),
        place=(9, 0, 11, 1),
        height=HEIGHT + 45,
    )
    panel.line(number, spread[:, 1], band=(spread[:, 0], spread[:, 2]), role="muted", dash=True, label="calibrated forecasters, 90 %")
    panel.line(number, error, role="posterior", label="these networks")
    panel.points(np.column_stack([number, error]), show="at", role="highlight", shape="ring", size=7.0)
    _confidences(scene, reading)
    _averaging(scene, reading)

    scene.readout(
        "ece",
        f"{{b:.0f}} bins: ECE = {{error:.3f}}; a calibrated forecaster on {len(y)} digits has {{middle:.3f}}, "
        "90 % within {low:.3f} to {high:.3f}",
        show="at",
        b=number,
        error=error,
        low=spread[:, 0],
        middle=spread[:, 1],
        high=spread[:, 2],
    )
    gap = float(reading.confidence.mean() - (~reading.wrong).mean())
    scene.readout(
        "gap",
        f"mean confidence {reading.confidence.mean():.3f}, share right {(~reading.wrong).mean():.3f} ± "
        f"{float(analysis.share_error((~reading.wrong).mean(), len(y))):.3f}: "
        f"{'over' if gap > 0 else 'under'}confident by {abs(gap):.3f}",
    )
    brier, log = scores.brier_scores(p, y), scores.log_scores(p, y)
    scene.readout("proper", f"Brier score {_mean(brier)}; log score {_mean(log)} nats: smaller is better, no bins")
    scene.say("{b:.0f} bins: calibration error {error:.3f}.", b=number, error=error)
    columns: dict[str, NDArray] = {"bins": number, "ECE": error, "ECE, calibrated: median": spread[:, 1]}
    scene.table({**columns, "5 %": spread[:, 0], "95 %": spread[:, 2]})
    return scene


def _mean(each: Array) -> str:
    return f"{each.mean():.3f} ± {each.std(ddof=1) / np.sqrt(len(each)):.3f}"


def _confidences(scene: Scene, reading: Reading) -> None:
    panel = scene.panel(
        "confidences",
        title="How confident they are",
        x=Axis("confidence", 0.0, 1.0),
        y=Axis("images", 0.0, None),
        place=(0, 1, 9, 1),
        height=HEIGHT - 30,
    )
    for values, role, name in (
        (reading.confidence, "posterior", "all images"),
        (reading.confidence[reading.wrong], "reject", "read wrong"),
    ):
        panel.histogram(values, bins=(0.0, 1.0, 20), show="all", density=False, role=role, label=name)


def _averaging(scene: Scene, reading: Reading) -> None:
    numbers = [number for number in NUMBERS if number <= len(reading.draws)]
    curves: dict[str, list[float]] = {"log score (nats)": [], "Brier score": [], "ECE, 10 bins": []}
    for number in numbers:
        p = analysis.averaged(reading, number)
        curves["log score (nats)"].append(float(scores.log_scores(p, reading.y).mean()))
        curves["Brier score"].append(float(scores.brier_scores(p, reading.y).mean()))
        curves["ECE, 10 bins"].append(scores.calibration_error(p, reading.y))
    panel = scene.panel(
        "averaging",
        title="One network, or the average of many",
        y=Axis("score, smaller is better", 0.0, None),
        x=Axis("networks averaged (log scale)", 1.0, float(max(numbers[-1], 2)), log=True),
        place=(9, 1, 11, 1),
        height=HEIGHT - 30,
    )
    for (name, values), (role, dash) in zip(curves.items(), (("posterior", False), ("class-1", True), ("highlight", False)), strict=True):
        panel.line(numbers, values, role=role, dash=dash, label=name)
