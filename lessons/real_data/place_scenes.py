"""The picture of one number of a sorted draw: the network as it learns, its posterior, and the rule that no other beats."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from app.kit import theme
from app.kit.charts import Table
from app.kit.pictures import upright
from app.kit.player.scene import Axis, Panel, Scene
from app.kit.text import number
from datasets import powerball
from datasets.powerball import WHITE
from engine.networks import NetworkRecording
from lessons.families.powerball import CUT, PRINTED, RIVALS, TEST, crossing, error_of, expected
from lessons.real_data import analysis, place
from lessons.real_data.place import NAMES, Model
from lessons.real_data.spec import WORDS, RealDataSpec

Array = NDArray[np.float64]

RATE, FRAMES = 20.0, 200
WIDE = 4  # rows a bar of the histogram
ROLES = {"network": "posterior", "forest": "chain-1", "boosted": "chain-2", "process": "chain-3"}


def _scene(spec: RealDataSpec, steps: int, label: str) -> Scene:
    return Scene(run=repr(spec), steps=steps, rate=RATE, autoplay=True, theme=theme.palette(), label=label)


def _curve(made: Scene, spec: RealDataSpec) -> Panel:
    """P(smallest | x): what is exact, and what was seen."""
    panel = made.panel(
        "curve",
        title=WORDS.phrase("place.curve"),
        x=Axis(WORDS.phrase("place.shown"), 0.0, spec.balls + 1.0),
        y=Axis(WORDS.phrase("place.smallest"), -0.03, 1.03),
    )
    x = place.numbers(spec)
    panel.points(np.column_stack([x, place.shares(spec)]), role="muted", shape="ring", size=2.6, label=WORDS.phrase("place.share"))
    panel.line(x, place.exact(spec), role="truth", dash=True, label=WORDS.phrase("place.exact"))
    return panel


def _rule(spec: RealDataSpec) -> str:
    best = powerball.best_rule(spec.balls)
    return WORDS.phrase("place.rule_card", cut=best.cut, right=100 * best.accuracy, nats=powerball.least_nats(spec.balls))


# While the network learns ---------------------------------------------------------------------------------------------


def beginning(spec: RealDataSpec) -> bytes | None:
    """The picture before the rule is tried on test sets; None where it has been."""
    return training_picture(spec, tried=False) if place.tests.peek(spec, len(analysis.fit(spec).trained.path)) is None else None


def training_picture(spec: RealDataSpec, tried: bool = True) -> bytes:
    """The trained network's curve beside the exact one; every cut, and what luck does to it on test sets of a few rows,
    once it is `tried` on them.
    """
    fit = analysis.fit(spec)
    said = place.curves(spec, fit.trained.path)
    looks = len(said)
    made = _scene(spec, looks, WORDS.phrase("place.training", rows=spec.rows))
    made.layout("curve*11 cuts*9 / luck*11 loss*9", [250, 220])
    panel = _curve(made, spec)
    panel.line(place.numbers(spec), said, show="at", role="proposal", label=WORDS.phrase("stage.trained"))
    accuracy, nats = np.array([expected(p) for p in said]).T
    epochs = np.linspace(0, spec.epochs, looks)
    _loss(made, spec, epochs, fit.train, nats)
    _cuts(made, spec, np.array([crossing(p) for p in said]), accuracy)
    _luck(made, spec, place.tests(spec, looks) if tried else None)
    rows = analysis.problem(spec)
    counts = {"draws": len(rows.task.y) // 2, "learned": len(rows.y), "tested": len(rows.y_test)}
    told = {name: number(count) for name, count in counts.items()}
    made.readout("data", WORDS.phrase("place.data_card", name=rows.task.card.name, white=WHITE, balls=spec.balls, **told))
    made.readout("now", WORDS.phrase("place.epoch_card"), epoch=epochs, accuracy=accuracy, nats=nats)
    made.say(WORDS.phrase("place.said_training"), epoch=epochs, accuracy=accuracy)
    made.table({"epoch": epochs, "expected accuracy (%)": accuracy, "expected log loss (nats)": nats})
    return made.encode()


def _loss(made: Scene, spec: RealDataSpec, epochs: Array, train: Array, nats: Array) -> None:
    x, y = Axis(WORDS.phrase("stage.epoch"), 0, spec.epochs), Axis(WORDS.phrase("stage.nats_a_row"), 0.3, 0.72)
    panel = made.panel("loss", title=WORDS.phrase("place.loss"), x=x, y=y)
    panel.line(epochs, train, show="upto", role="muted", width=1.2, label=WORDS.phrase("stage.learned_from"))
    panel.line(epochs, nats, show="upto", role="proposal", label=WORDS.phrase("place.expected"))
    panel.rule(y=powerball.least_nats(spec.balls), role="truth", dash=True, label=WORDS.phrase("place.least"))


def _cuts(made: Scene, spec: RealDataSpec, torn: Array, accuracy: Array) -> None:
    cuts = np.arange(1.0, spec.balls)
    x, y = Axis(WORDS.phrase("place.cut"), 0.0, spec.balls), Axis(WORDS.phrase("place.right"), 50.0, 90.0)
    panel = made.panel("cuts", title=WORDS.phrase("place.cuts"), x=x, y=y)
    panel.line(cuts, place.by_cut(spec), role="truth", label=WORDS.phrase("place.exact"))
    for which, role in (("process", "chain-3"), ("network", "posterior")):
        panel.rule(y=PRINTED[which], role=role, dash=True, label=_printed(NAMES[which], which))
    panel.rule(x=float(CUT), role="muted", dash=True, label=WORDS.phrase("place.printed_cut", cut=CUT))
    ends, label = np.column_stack([torn - 0.5, accuracy]), WORDS.phrase("stage.trained")
    panel.points(ends, show="at", role="proposal", shape="diamond", size=5.0, label=label)


def _printed(name: str, which: str) -> str:
    return WORDS.phrase("place.printed", name=name, accuracy=PRINTED[which])


def _luck(made: Scene, spec: RealDataSpec, right: Array | None) -> None:
    """What the best rule has right on small test sets; None while that is not known."""
    share, p = place.chance(spec)
    best, error = place.best_accuracy(spec.balls), error_of(place.best_accuracy(spec.balls), spec.test_rows)
    low, high = min(best - 4.0 * error, *(each - error for each in PRINTED.values())), max(best + 4.0 * error, *PRINTED.values())
    bars = math.ceil((high - low) / (100.0 * WIDE / spec.test_rows))
    x, y = Axis(WORDS.phrase("place.right"), low, high), Axis(WORDS.phrase("stage.density"), 0.0)
    panel = made.panel("luck", title=WORDS.phrase("place.luck", rows=spec.test_rows), x=x, y=y)
    if right is not None:
        panel.histogram(right, bins=(low, high, bars), role="muted", label=WORDS.phrase("place.test_sets"))
    seen = (share > low) & (share < high)
    panel.line(share[seen], p[seen] * spec.test_rows / 100.0, role="truth", label=WORDS.phrase("place.exact"))
    for which, role in (("network", "posterior"), ("forest", "chain-1"), ("process", "chain-3")):
        name = WORDS.phrase("place.both") if which == "forest" else NAMES[which]
        panel.rule(x=PRINTED[which], role=role, dash=True, label=_printed(name, which))


# Posterior ------------------------------------------------------------------------------------------------------------


def beside(spec: RealDataSpec, recording: NetworkRecording, job: Any, total: int) -> bytes:
    """The other models of the paper, one after the other, beside the posterior. total : steps of the whole job"""
    found: list[Model] = []
    for which in RIVALS:
        job.publish(posterior_picture(spec, recording, found))
        try:
            found.append(place.rival(spec, which))
        except InterruptedError:
            break
        job.report(total - len(RIVALS) + len(found), total)
    return posterior_picture(spec, recording, found)


def posterior_picture(spec: RealDataSpec, recording: NetworkRecording, rivals: Sequence[Model] = ()) -> bytes:
    """The posterior of the curve from a recording, as far as it goes; models, as far as they are there, beside the best
    rule: accuracy, and whether what they say is so."""
    curves, stride = place.drawn_curves(spec, recording)
    count, x = len(curves), place.numbers(spec)
    at = np.unique(np.linspace(0, count - 1, min(FRAMES, count)).astype(int))
    pooled = curves.reshape(-1, spec.balls)
    so_far = (np.cumsum(curves.mean(axis=1), axis=0) / np.arange(1.0, count + 1.0)[:, None])[at]
    network = place.model("network", pooled.mean(axis=0))
    models = [network, *rivals]
    roles = [ROLES[which] for which in ("network", *RIVALS)]
    made = _scene(spec, len(at), WORDS.phrase("place.posterior", others=len(rivals)))
    made.layout("curve*11 accuracy*9 / curve*11 kept*9 / running*20", [220, 220, 150])
    panel = _curve(made, spec)
    tails = (1.0 - spec.level) / 2.0
    low, high = np.quantile(pooled, (tails, 1.0 - tails), axis=0)
    panel.line(x, network.p, band=(low, high), role="posterior", label=WORDS.phrase("place.mean", level=100 * spec.level))
    panel.line(x, curves[at, 0], show="at", role="ink", width=1.0, alpha=0.6, label=WORDS.phrase("place.one"))
    for each, role in zip(models[1:], roles[1:], strict=False):
        panel.line(x, each.p, role=role, width=1.5, label=each.name)
    _accuracies(made, spec, models, roles)
    _kept(made, spec, models, roles)
    accuracy, nats = np.array([expected(p) for p in so_far]).T
    drawn = (at + 1.0) * stride
    least = powerball.least_nats(spec.balls)
    running = made.panel(
        "running",
        title=WORDS.phrase("stage.running"),
        x=Axis(WORDS.phrase("stage.draw"), 0.0, float(drawn[-1])),
        y=Axis(WORDS.phrase("place.expected_nats"), least - 0.002, 1.02 * float(nats.max())),
    )
    running.line(drawn, nats, show="upto", role="posterior", label=WORDS.phrase("stage.mean_so_far"))
    running.rule(y=least, role="truth", dash=True, label=WORDS.phrase("place.least"))
    made.readout("best", _rule(spec))
    for index, each in enumerate(models):
        made.readout(f"model-{index}", _told(each))
    if waiting := list(RIVALS)[len(rivals) :]:
        made.readout("waiting", WORDS.phrase("place.waiting_card", names=", ".join(NAMES[which] for which in waiting)))
    made.say(WORDS.phrase("place.said_posterior"), accuracy=accuracy)
    made.table({"draw of each chain": drawn, "expected accuracy, mean so far (%)": accuracy, "expected log loss (nats)": nats})
    return made.encode()


def _told(each: Model) -> str:
    torn = ", " + WORDS.phrase("place.torn", at=each.torn) if np.isfinite(each.torn) else ""
    here = WORDS.phrase("place.model_card", name=each.name, right=each.accuracy, nats=each.nats, torn=torn)
    side = "place.above_card" if each.apart > 0.0 else "place.below_card"
    return f"{here} {WORDS.phrase(side, printed=each.printed, errors=abs(each.apart))}"


def _accuracies(made: Scene, spec: RealDataSpec, models: Sequence[Model], roles: Sequence[str]) -> None:
    """Each model over the urn, and as printed with two standard errors."""
    best = place.best_accuracy(spec.balls)
    ticks = [(index + 1.0, WORDS.phrase(f"short.{which}")) for index, which in enumerate(NAMES)]
    low = min(76.0, *(each.accuracy - 1.0 for each in models))
    x, y = Axis("", 0.4, 4.6, ticks=ticks), Axis(WORDS.phrase("place.right"), low, 90.0)
    panel = made.panel("accuracy", title=WORDS.phrase("place.accuracy"), x=x, y=y)
    panel.rule(y=best, role="truth", dash=True, label=WORDS.phrase("place.best"))
    at, printed = np.arange(1.0, 1.0 + len(PRINTED)) + 0.12, np.array(list(PRINTED.values()))
    wide = 2.0 * error_of(best, TEST)
    panel.path(upright(at, printed - wide, printed + wide), role="muted", width=1.4)
    label = WORDS.phrase("place.printed_errors", rows=TEST)
    panel.points(np.column_stack([at, printed]), role="muted", shape="cross", size=4.0, label=label)
    for index, (each, role) in enumerate(zip(models, roles, strict=False)):
        here = WORDS.phrase("place.here") if index == 0 else None
        panel.points([[index + 0.88, each.accuracy]], role=role, shape="diamond", size=5.0, label=here)


def _kept(made: Scene, spec: RealDataSpec, models: Sequence[Model], roles: Sequence[str]) -> None:
    """What each says against what is so, number by number: exact calibration."""
    x, y = Axis(WORDS.phrase("place.said"), -0.02, 1.02), Axis(WORDS.phrase("place.exactly"), -0.02, 1.02)
    panel = made.panel("kept", title=WORDS.phrase("place.kept"), x=x, y=y)
    panel.path([[0.0, 0.0], [1.0, 1.0]], role="truth", dash=True, label=WORDS.phrase("place.as_said"))
    so = place.exact(spec)
    for each, role in zip(models, roles, strict=False):
        panel.path(np.column_stack([each.p, so]), role=role, width=1.8, label=each.name)


# Below the stage ------------------------------------------------------------------------------------------------------


def models(spec: RealDataSpec) -> Table:
    """All models on the same rows, beside the best rule, once the chains are there."""
    rows = analysis.problem(spec)
    x = np.rint(np.exp(rows.task.x[rows.test, 0])).astype(int)
    curves, _ = place.drawn_curves(spec, analysis.chains(spec).run.recording())
    every = [place.model("network", curves.mean(axis=(0, 1))), *(place.rival(spec, which) for which in RIVALS)]
    best = powerball.best_rule(spec.balls)
    said = [place.exact(spec), *(each.p for each in every)]
    columns = {
        "model": [WORDS.phrase("place.best"), *(each.name for each in every)],
        "right over the urn (%)": [f"{100 * best.accuracy:.2f}", *(f"{each.accuracy:.2f}" for each in every)],
        f"right on {len(x)} test rows (%)": [f"{100 * np.mean((p[x - 1] > 0.5) == (rows.y_test > 0.5)):.2f}" for p in said],
        "printed (%)": ["–", *(f"{each.printed:.2f}" for each in every)],
        "log loss over the urn (nats)": [f"{powerball.least_nats(spec.balls):.4f}", *(f"{each.nats:.4f}" for each in every)],
        "torn at": [f"{powerball.crossing(spec.balls):.1f}", *(f"{each.torn:.1f}" for each in every)],
    }
    shares = ", ".join(str(math.ceil(accuracy / 100.0 * TEST)) for accuracy in dict.fromkeys(PRINTED.values()))
    error = error_of(100 * best.accuracy, len(x))
    caption = WORDS.phrase("panels.models_caption", rows=len(x), error=error, shares=shares, printed_rows=TEST)
    if spec.balls > CUT:
        caption += " " + WORDS.phrase("panels.models_cut", cut=CUT, right=place.by_cut(spec)[CUT - 1])
    return Table(WORDS.phrase("panels.models"), columns, caption)
