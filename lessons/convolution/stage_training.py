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
from lessons.convolution.spec import WORDS, ConvolutionLesson
from lessons.convolution.training import LOOKS, TESTED, Look, State, is_large
from lessons.families.sheets import sheet

PLAN, HEIGHTS = "filters*17 sds*17 / elbo*10 accuracy*10 kl*14", (215, 225)
LARGE_PLAN, LARGE_HEIGHTS = "filters*9 sds*9 / elbo*9 accuracy*9 / kl*9 seen*3 says*6", (190, 190, 200)
ROWS = {8: 2, 32: 4}  # of a sheet with so many filters
GRAIN = {3: 8, 5: 4}  # cells of a weight along an edge: the player smooths, and weights should be seen as such
LAYERS = tuple(WORDS["layers"].values())

Array = NDArray[np.float64]


def draw(spec: ConvolutionLesson, state: State | None) -> bytes:
    """The picture of this part."""
    assert state is not None
    looks = state.looks
    label = WORDS.phrase("training.picture")
    large = is_large(spec)
    plan = (LARGE_PLAN, LARGE_HEIGHTS) if large else (PLAN, HEIGHTS)
    made = begin(spec, state, len(looks), label, rate=5.0, total=None if state.done else LOOKS + 1).layout(*plan)
    means, sds = (np.stack([getattr(look, name) for look in looks]) for name in ("mean", "sd"))
    title = WORDS.phrase("training.means", filters=means.shape[1])
    _sheet(made, "filters", title, means, -most(means), most(means), "diverging", WORDS.phrase("stage.weight"))
    _sheet(made, "sds", WORDS.phrase("training.sds"), sds, 0.0, most(sds), "viridis", WORDS.phrase("stage.sd"))
    _traces(made, looks)
    counted = np.stack([look.kl * look.counted for look in looks])
    nats = Axis(WORDS.phrase("training.nats"), 0.0, 1.05 * float(counted.max()))
    panel = made.panel("kl", title=WORDS.phrase("training.kl"), x=None, y=nats)
    panel.bars(counted, labels=LAYERS, role="energy")
    if large:
        _digit(made, spec, state)
    _words(made, looks, state.fit)
    return made.encode()


def _digit(made: Scene, spec: ConvolutionLesson, state: State) -> None:
    """The reader's digit in 28 × 28 pixels, and what networks drawn from q say of it as it stands now."""
    image = analysis.image_of(spec)
    title, pixels = WORDS.phrase("training.digit"), WORDS.phrase("stage.pixels", side=len(image))
    square(made, "seen", title, image.astype(np.float64), low=0.0, high=1.0, colours="cividis", caption=pixels)
    said = state.fit.predict(image[None], samples=analysis.NETWORKS, seed=spec.seed)
    assert said is not None
    title, probability = WORDS.phrase("training.says", networks=analysis.NETWORKS), Axis(WORDS.phrase("stage.probability"), 0.0, 1.02)
    panel = made.panel("says", title=title, x=None, y=probability)
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
        caption=WORDS.phrase("training.weights_each", edge=edge),
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
    x = Axis(WORDS.phrase("training.step"), 0.0, max(float(steps[-1]), 1.0))
    shown = np.concatenate([elbo[1:], energy[1:]]) if len(looks) > 1 else np.array([-1.0, 0.0])
    nats = Axis(WORDS.phrase("training.nats"), 1.05 * float(shown.min()), 0.0)
    panel = made.panel("elbo", title=WORDS.phrase("training.elbo"), x=x, y=nats)
    panel.line(steps, energy, show="upto", role="likelihood", label=WORDS.phrase("training.log_likelihood"))
    panel.line(steps, elbo, show="upto", role="posterior", width=2.6, label=WORDS.phrase("training.elbo_line"))
    panel = made.panel("accuracy", title=WORDS.phrase("training.right"), x=x, y=Axis(WORDS.phrase("training.share"), 0.0, 1.02))
    panel.line(steps, accuracy, show="upto", role="posterior", width=2.6, label=WORDS.phrase("training.minibatches"))
    tested = np.array([look.tested for look in looks])
    if np.isfinite(tested).all():
        panel.line(steps, tested, show="upto", role="truth", label=WORDS.phrase("training.tested", tested=TESTED))
    panel.rule(y=0.1, role="muted", dash=True, label=WORDS.phrase("stage.guessing"))


def _words(made: Scene, looks: Sequence[Look], fit: ConvolutionFit) -> None:
    columns = {name: np.array([getattr(look, name) for look in looks]) for name in ("step", "elbo", "energy", "accuracy")}
    kl, counted = np.stack([look.kl for look in looks]), looks[-1].counted
    whole = kl @ counted
    made.readout("step", WORDS.phrase("training.step_card"), show="at", step=columns["step"], accuracy=columns["accuracy"])
    made.readout(
        "elbo",
        WORDS.phrase("training.elbo_card"),
        show="at",
        energy=columns["energy"],
        kl=columns["energy"] - columns["elbo"],
        elbo=columns["elbo"],
    )
    times, stage = int(counted[0]), fit.shape.stages[0]
    weights = stage.columns * stage.filters
    once = WORDS.phrase("training.once_card", weights=weights, places=stage.places**2)
    words = once if times == 1 else WORDS.phrase("training.times_card", weights=weights, times=times)
    made.readout("stage", words, show="at", kl=kl[:, 0], counted=kl[:, 0] * times)
    spoken: dict[str, Any] = {name: columns[name] for name in ("step", "accuracy", "elbo")}
    made.say(WORDS.phrase("training.said"), **spoken)
    made.table(columns | {"KL as counted": whole, "KL of conv 1, once": kl[:, 0]})
