"""Training, one look a step: the means and sds of all filters, the ELBO, the share read right, the KL by layer; of the
large network also the reader's digit, and what the network says of it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from app.kit.player.scene import Axis, Scene, levels
from datasets.images import DIGIT_NAMES
from engine.variational import ConvolutionFit
from lessons.convolution import analysis
from lessons.convolution.marks import begin, most, square
from lessons.convolution.spec import ConvolutionLesson
from lessons.convolution.training import LOOKS, TESTED, Look, State, is_large
from lessons.families.sheets import sheet

PLAN = "filters*8 sds*8 / elbo*5 accuracy*5 kl*6"
LARGE_PLAN = "filters*7 sds*7 seen*4 / elbo*5 accuracy*5 kl*4 says*4"
HEIGHTS = (215, 225)
ROWS = {8: 2, 32: 4}  # of a sheet with so many filters
GRAIN = {3: 8, 5: 4}  # cells of a weight along an edge: the player smooths, and weights should be seen as such
LAYERS = ("conv 1", "conv 2", "hidden", "output")

Array = NDArray[np.float64]


def draw(spec: ConvolutionLesson, state: State | None) -> bytes:
    """The picture of this part."""
    assert state is not None
    looks = state.looks
    label = "A convolutional network in training: means and sds of its first filters, the ELBO, the share read right, the KL by layer."
    large = is_large(spec)
    plan = LARGE_PLAN if large else PLAN
    made = begin(spec, state, len(looks), label, rate=5.0, total=None if state.done else LOOKS + 1).layout(plan, HEIGHTS)
    means, sds = (np.stack([getattr(look, name) for look in looks]) for name in ("mean", "sd"))
    _sheet(made, "filters", f"Means of the {means.shape[1]} filters", means, -most(means), most(means), "diverging", "weight")
    _sheet(made, "sds", "Their sds", sds, 0.0, most(sds), "viridis", "sd")
    _traces(made, looks)
    counted = np.stack([look.kl * look.counted for look in looks])
    panel = made.panel("kl", title="KL by layer, as counted", x=None, y=Axis("nats", 0.0, 1.05 * float(counted.max())))
    panel.bars(counted, labels=LAYERS, role="energy")
    if large:
        _digit(made, spec, state)
    _words(made, looks, state.fit)
    return made.encode()


def _digit(made: Scene, spec: ConvolutionLesson, state: State) -> None:
    """The reader's digit in 28 × 28 pixels, and what networks drawn from q say of it as it stands now."""
    image = analysis.image_of(spec)
    square(made, "seen", "Your digit", image.astype(np.float64), low=0.0, high=1.0, colours="cividis", caption="28 × 28 pixels")
    said = state.fit.predict(image[None], samples=analysis.NETWORKS, seed=spec.seed)
    assert said is not None
    panel = made.panel("says", title=f"{analysis.NETWORKS} networks say", x=None, y=Axis("probability", 0.0, 1.02))
    panel.bars(np.broadcast_to(said.mean[0], (len(state.looks), 10)).copy(), labels=DIGIT_NAMES, role="posterior")


def _sheet(made: Scene, id: str, title: str, values: Array, low: float, high: float, colours: str, label: str) -> None:
    """Filters (looks, F, k, k) in some rows."""
    filters, edge = values.shape[1:3]
    sheet(
        made,
        id,
        title,
        levels(values, high, low),
        in_row=filters // ROWS[filters],
        caption=f"{edge} × {edge} weights each",
        grain=GRAIN[edge],
        low=low,
        high=high,
        colormap=colours,
        label=label,
    )


def _traces(made: Scene, looks: Sequence[Look]) -> None:
    """What the training reported."""
    steps = np.array([look.step for look in looks], dtype=float)
    elbo, energy, accuracy = (np.array([getattr(look, name) for look in looks]) for name in ("elbo", "energy", "accuracy"))
    x = Axis("step", 0.0, max(float(steps[-1]), 1.0))
    shown = np.concatenate([elbo[1:], energy[1:]]) if len(looks) > 1 else np.array([-1.0, 0.0])
    panel = made.panel("elbo", title="ELBO", x=x, y=Axis("nats", 1.05 * float(shown.min()), 0.0))
    panel.line(steps, energy, show="upto", role="likelihood", label="log likelihood")
    panel.line(steps, elbo, show="upto", role="posterior", width=2.6, label="ELBO: less the KL, as counted")
    panel = made.panel("accuracy", title="Digits read right by a draw", x=x, y=Axis("share", 0.0, 1.02))
    panel.line(steps, accuracy, show="upto", role="posterior", width=2.6, label="in the minibatches")
    tested = np.array([look.tested for look in looks])
    if np.isfinite(tested).all():
        panel.line(steps, tested, show="upto", role="truth", label=f"of {TESTED:,} test images, by the means")
    panel.rule(y=0.1, role="muted", dash=True, label="guessing")


def _words(made: Scene, looks: Sequence[Look], fit: ConvolutionFit) -> None:
    columns = {name: np.array([getattr(look, name) for look in looks]) for name in ("step", "elbo", "energy", "accuracy")}
    kl, counted = np.stack([look.kl for look in looks]), looks[-1].counted
    whole = kl @ counted
    made.readout("step", "step {step}: {accuracy:.1%} read right", show="at", step=columns["step"], accuracy=columns["accuracy"])
    made.readout(
        "elbo",
        "ELBO = log likelihood − KL = {energy:.0f} − {kl:.0f} = {elbo:.0f} nats",
        show="at",
        energy=columns["energy"],
        kl=columns["energy"] - columns["elbo"],
        elbo=columns["elbo"],
    )
    times, stage = int(counted[0]), fit.shape.stages[0]
    how = f"each once, for {stage.places**2} places" if times == 1 else f"each {times} times, once a place"
    words = f"conv 1: {stage.columns * stage.filters} weights, {how}: {{kl:.0f}} × {times} = {{counted:.0f}} nats"
    made.readout("stage", words, show="at", kl=kl[:, 0], counted=kl[:, 0] * times)
    spoken: dict[str, Any] = {name: columns[name] for name in ("step", "accuracy", "elbo")}
    made.say("Step {step}: {accuracy:.0%} read right, ELBO {elbo:.0f} nats.", **spoken)
    made.table(columns | {"KL as counted": whole, "KL of conv 1, once": kl[:, 0]})
