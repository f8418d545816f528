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
from lessons.families.powerball import CUT, NAMES, PRINTED, RIVALS, TEST, crossing, error_of, expected
from lessons.real_data import analysis, place
from lessons.real_data.place import Model
from lessons.real_data.spec import RealDataSpec

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
        title="Was it the smallest, or the third?",
        x=Axis("number shown x", 0.0, spec.balls + 1.0),
        y=Axis("P(smallest)", -0.03, 1.03),
    )
    x = place.numbers(spec)
    panel.points(np.column_stack([x, place.shares(spec)]), role="muted", shape="ring", size=2.6, label="share among rows learned from")
    panel.line(x, place.exact(spec), role="truth", dash=True, label="exact")
    return panel


def _rule(spec: RealDataSpec) -> str:
    best = powerball.best_rule(spec.balls)
    return (
        f"best rule: the smallest if x ≤ {best.cut}. Right in {100 * best.accuracy:.3f} %; the least log loss is "
        f"{powerball.least_nats(spec.balls):.5f} nats"
    )


# While the network learns ---------------------------------------------------------------------------------------------


def training_picture(spec: RealDataSpec) -> bytes:
    """The trained network's curve beside the exact one; every cut, and what luck does to it on test sets of a few rows."""
    fit = analysis.fit(spec)
    said = place.curves(spec, fit.trained.path)
    looks = len(said)
    made = _scene(spec, looks, f"A network learns from {spec.rows} numbers of draws, beside the rule that no other beats.")
    made.layout("curve*11 cuts*9 / luck*11 loss*9", [250, 220])
    panel = _curve(made, spec)
    panel.line(place.numbers(spec), said, show="at", role="proposal", label="trained network")
    accuracy, nats = np.array([expected(p) for p in said]).T
    epochs = np.linspace(0, spec.epochs, looks)
    _loss(made, spec, epochs, fit.train, nats)
    _cuts(made, spec, np.array([crossing(p) for p in said]), accuracy)
    _luck(made, spec, place.tests(spec, looks))
    rows = analysis.problem(spec)
    made.readout(
        "data",
        f"{rows.task.card.name}: {number(len(rows.task.y) // 2)} draws of {WHITE} from {spec.balls}, two numbers each: "
        f"{number(len(rows.y))} rows to learn from, {number(len(rows.y_test))} to test on",
    )
    made.readout(
        "now",
        "epoch {epoch:.0f}: the trained network is right in {accuracy:.2f} %, expected over the urn, with {nats:.4f} nats",
        epoch=epochs,
        accuracy=accuracy,
        nats=nats,
    )
    made.say("Epoch {epoch:.0f}: right in {accuracy:.2f} % over the urn.", epoch=epochs, accuracy=accuracy)
    made.table({"epoch": epochs, "expected accuracy (%)": accuracy, "expected log loss (nats)": nats})
    return made.encode()


def _loss(made: Scene, spec: RealDataSpec, epochs: Array, train: Array, nats: Array) -> None:
    panel = made.panel("loss", title="Log loss while it learns", x=Axis("epoch", 0, spec.epochs), y=Axis("nats a row", 0.3, 0.72))
    panel.line(epochs, train, show="upto", role="muted", width=1.2, label="rows learned from")
    panel.line(epochs, nats, show="upto", role="proposal", label="expected over the urn")
    panel.rule(y=powerball.least_nats(spec.balls), role="truth", dash=True, label="nothing is below")


def _cuts(made: Scene, spec: RealDataSpec, torn: Array, accuracy: Array) -> None:
    cuts = np.arange(1.0, spec.balls)
    panel = made.panel("cuts", title="“The smallest” up to this number", x=Axis("cut", 0.0, spec.balls), y=Axis("right (%)", 50.0, 90.0))
    panel.line(cuts, place.by_cut(spec), role="truth", label="exact")
    for which, role in (("process", "chain-3"), ("network", "posterior")):
        panel.rule(y=PRINTED[which], role=role, dash=True, label=f"printed: {NAMES[which]}, {PRINTED[which]}")
    panel.rule(x=float(CUT), role="muted", dash=True, label=f"printed: torn around {CUT}")
    panel.points(np.column_stack([torn - 0.5, accuracy]), show="at", role="proposal", shape="diamond", size=5.0, label="trained network")


def _luck(made: Scene, spec: RealDataSpec, right: Array) -> None:
    """What the best rule has right on small test sets."""
    share, p = place.chance(spec)
    best, error = place.best_accuracy(spec.balls), error_of(place.best_accuracy(spec.balls), spec.test_rows)
    low, high = min(best - 4.0 * error, *(each - error for each in PRINTED.values())), max(best + 4.0 * error, *PRINTED.values())
    bars = math.ceil((high - low) / (100.0 * WIDE / spec.test_rows))
    title = f"The best rule on {spec.test_rows} rows, again and again"
    panel = made.panel("luck", title=title, x=Axis("right (%)", low, high), y=Axis("density", 0.0))
    panel.histogram(right, bins=(low, high, bars), role="muted", label="test sets so far")
    seen = (share > low) & (share < high)
    panel.line(share[seen], p[seen] * spec.test_rows / 100.0, role="truth", label="exact")
    for which, role in (("network", "posterior"), ("forest", "chain-1"), ("process", "chain-3")):
        name = "forest, AdaBoost" if which == "forest" else NAMES[which]
        panel.rule(x=PRINTED[which], role=role, dash=True, label=f"printed: {name}, {PRINTED[which]}")


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
    made = _scene(spec, len(at), f"The posterior of a network, and {len(rivals)} other models, beside the rule that no other beats.")
    made.layout("curve*11 accuracy*9 / curve*11 kept*9 / running*20", [220, 220, 150])
    panel = _curve(made, spec)
    tails = (1.0 - spec.level) / 2.0
    low, high = np.quantile(pooled, (tails, 1.0 - tails), axis=0)
    panel.line(x, network.p, band=(low, high), role="posterior", label=f"posterior mean, {100 * spec.level:.0f} % of the networks")
    panel.line(x, curves[at, 0], show="at", role="ink", width=1.0, alpha=0.6, label="one network")
    for each, role in zip(models[1:], roles[1:], strict=False):
        panel.line(x, each.p, role=role, width=1.5, label=each.name)
    _accuracies(made, spec, models, roles)
    _kept(made, spec, models, roles)
    accuracy, nats = np.array([expected(p) for p in so_far]).T
    drawn = (at + 1.0) * stride
    least = powerball.least_nats(spec.balls)
    running = made.panel(
        "running",
        title="The mean of more and more networks",
        x=Axis("draw of each chain", 0.0, float(drawn[-1])),
        y=Axis("expected nats", least - 0.002, 1.02 * float(nats.max())),
    )
    running.line(drawn, nats, show="upto", role="posterior", label="mean of the draws so far")
    running.rule(y=least, role="truth", dash=True, label="nothing is below")
    made.readout("best", _rule(spec))
    for index, each in enumerate(models):
        made.readout(f"model-{index}", _told(each))
    if waiting := list(RIVALS)[len(rivals) :]:
        made.readout("waiting", f"still to come: {', '.join(NAMES[which] for which in waiting)}")
    made.say("The mean of the draws so far is right in {accuracy:.2f} % over the urn.", accuracy=accuracy)
    made.table({"draw of each chain": drawn, "expected accuracy, mean so far (%)": accuracy, "expected log loss (nats)": nats})
    return made.encode()


def _told(each: Model) -> str:
    torn = f", torn at {each.torn:.1f}" if np.isfinite(each.torn) else ""
    return (
        f"{each.name}: right in {each.accuracy:.2f} % over the urn, {each.nats:.4f} nats{torn}. Printed: {each.printed} %, "
        f"{abs(each.apart):.1f} standard errors {'above' if each.apart > 0.0 else 'below'} the best rule"
    )


def _accuracies(made: Scene, spec: RealDataSpec, models: Sequence[Model], roles: Sequence[str]) -> None:
    """Each model over the urn, and as printed with two standard errors."""
    best = place.best_accuracy(spec.balls)
    ticks = [(index + 1.0, name) for index, name in enumerate(("network", "forest", "AdaBoost", "Gauss"))]
    low = min(76.0, *(each.accuracy - 1.0 for each in models))
    panel = made.panel(
        "accuracy", title="Right, over the urn and as printed", x=Axis("", 0.4, 4.6, ticks=ticks), y=Axis("right (%)", low, 90.0)
    )
    panel.rule(y=best, role="truth", dash=True, label="best rule")
    at, printed = np.arange(1.0, 1.0 + len(PRINTED)) + 0.12, np.array(list(PRINTED.values()))
    wide = 2.0 * error_of(best, TEST)
    panel.path(upright(at, printed - wide, printed + wide), role="muted", width=1.4)
    panel.points(
        np.column_stack([at, printed]), role="muted", shape="cross", size=4.0, label=f"printed, ± 2 standard errors of {TEST} rows"
    )
    for index, (each, role) in enumerate(zip(models, roles, strict=False)):
        label = "here" if index == 0 else None
        panel.points([[index + 0.88, each.accuracy]], role=role, shape="diamond", size=5.0, label=label)


def _kept(made: Scene, spec: RealDataSpec, models: Sequence[Model], roles: Sequence[str]) -> None:
    """What each says against what is so, number by number: exact calibration."""
    panel = made.panel("kept", title="Is what they say so?", x=Axis("said: P(smallest)", -0.02, 1.02), y=Axis("exactly", -0.02, 1.02))
    panel.path([[0.0, 0.0], [1.0, 1.0]], role="truth", dash=True, label="as said")
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
        "model": ["best rule", *(each.name for each in every)],
        "right over the urn (%)": [f"{100 * best.accuracy:.2f}", *(f"{each.accuracy:.2f}" for each in every)],
        f"right on {len(x)} test rows (%)": [f"{100 * np.mean((p[x - 1] > 0.5) == (rows.y_test > 0.5)):.2f}" for p in said],
        "printed (%)": ["–", *(f"{each.printed:.2f}" for each in every)],
        "log loss over the urn (nats)": [f"{powerball.least_nats(spec.balls):.4f}", *(f"{each.nats:.4f}" for each in every)],
        "torn at": [f"{powerball.crossing(spec.balls):.1f}", *(f"{each.torn:.1f}" for each in every)],
    }
    shares = ", ".join(str(math.ceil(accuracy / 100.0 * TEST)) for accuracy in dict.fromkeys(PRINTED.values()))
    cut = (
        f" A cut at {CUT}, where the printed network is torn, is right in {place.by_cut(spec)[CUT - 1]:.2f} %." if spec.balls > CUT else ""
    )
    caption = (
        f"Over the urn: expected, without a test set. On {len(x)} rows an accuracy has a standard error of "
        f"{error_of(100 * best.accuracy, len(x)):.1f} points, so such rows cannot rank these models. The printed accuracies are {shares} "
        f"of {TEST} rows, cut to two places: of fewer rows not all of them are shares.{cut}"
    )
    return Table("Four models beside the best rule", columns, caption)
