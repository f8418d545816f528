"""The training as a scene: one look a step. Heat maps of the inclusion probabilities, the ELBO and its parts, accuracy
and density, the histogram of the inclusion probabilities.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from app.kit import theme
from app.kit.player.scene import Axis, Scene
from engine.kept import kept
from lessons.spike_and_slab.learning import BINS, DRAWS, Frame, Learning, column, digits
from lessons.spike_and_slab.spec import SpikeAndSlabSpec

HEIGHT = 260
RATE = 6.0  # looks a second
FIRST = 3  # looks of the picture that is there before anything is pressed
FLOOR = -8.0  # nats per digit: the first looks are far below
SIDE = 8  # pixels of an image's side


@kept
def first(spec: SpikeAndSlabSpec) -> bytes:
    """The picture before the training is run: its first looks."""
    learning = Learning(spec)
    while len(learning.frames) < FIRST:
        learning.advance()
    return picture(spec, learning.frames, None)


def live(spec: SpikeAndSlabSpec) -> Callable[[Any], bytes]:
    """The body of the training as a job."""

    def body(job: Any) -> bytes:
        learning = Learning(spec)
        while not learning.done and not job.cancelled:
            learning.advance(job.is_set)
            job.report(len(learning.frames) - 1, learning.total - 1)
            job.publish(picture(spec, learning.frames, None if learning.done else learning.total))
        return picture(spec, learning.frames, None)

    return body


def picture(spec: SpikeAndSlabSpec, frames: Sequence[Frame], total: int | None) -> bytes:
    """The scene of the looks so far; `total` while more are to come."""
    made = Scene(
        run=hashlib.blake2b(repr(spec).encode(), digest_size=12).hexdigest(),
        steps=len(frames),
        rate=RATE,
        autoplay=True,
        total=total,
        theme=theme.palette(),
        label=f"Inclusion probabilities of all weights of a 64-{spec.units}-10 network while it learns the digits.",
    )
    layers = [np.stack([frame.layers[depth] for frame in frames]) for depth in (0, 1)]
    _layers(made, spec, layers)
    _curves(made, frames)
    _histogram(made, layers)
    _words(made, frames)
    return made.encode()


def _layers(made: Scene, spec: SpikeAndSlabSpec, layers: list[np.ndarray]) -> None:
    shown = np.arange(len(layers[0]), dtype=np.int32)
    units = spec.units
    pixels = np.minimum(2.0 * layers[0][:, :-1].mean(axis=2), 255.0)
    panel = made.panel(
        "pixels",
        title="Mean α by pixel (0 to ½)",
        x=Axis("column", 0, SIDE),
        y=Axis("row (top: 8)", 0, SIDE),
        place=(0, 0, 5, 1),
        height=HEIGHT,
    )
    images = np.rint(pixels).astype(np.uint8).reshape(-1, SIDE, SIDE)[:, ::-1]
    panel.heatmap(images, x=(0, SIDE), y=(0, SIDE), low=0.0, high=0.5, at=shown, colorbar=False)
    panel = made.panel(
        "first",
        title="α: pixels to hidden",
        x=Axis("hidden unit", 0, units),
        y=Axis("pixel (65: bias)", 0, 65),
        place=(5, 0, 5, 1),
        height=HEIGHT,
    )
    panel.heatmap(layers[0], x=(0, units), y=(0, 65), low=0.0, high=1.0, at=shown, colorbar=False)
    panel = made.panel(
        "second",
        title="α: hidden to digits",
        x=Axis("digit", -0.5, 9.5),
        y=Axis("hidden unit (top: bias)", 0, units + 1),
        place=(10, 0, 5, 1),
        height=HEIGHT,
    )
    panel.heatmap(layers[1], x=(-0.5, 9.5), y=(0, units + 1), low=0.0, high=1.0, at=shown, label="inclusion α")


def _curves(made: Scene, frames: Sequence[Frame]) -> None:
    epoch, n = column(frames, "epoch"), len(digits().x)
    energy, kl = column(frames, "energy") / n, column(frames, "kl") / n
    panel = made.panel(
        "elbo",
        title="ELBO = energy − KL",
        x=Axis("epoch", 0.0, max(float(epoch[-1]), 1.0)),
        y=Axis("nats per digit", FLOOR, 0.2),
        place=(0, 1, 5, 1),
        height=HEIGHT,
    )
    panel.line(epoch, energy, show="upto", role="likelihood", dash=True, label="energy")
    panel.line(epoch, -kl, show="upto", role="prior", width=1.2, label="−KL")
    panel.line(epoch, energy - kl, show="upto", role="ink", width=2.5, label="ELBO")
    panel = made.panel(
        "accuracy",
        title="Test accuracy; density",
        x=Axis("epoch", 0.0, max(float(epoch[-1]), 1.0)),
        y=Axis("share", 0.0, 1.02),
        place=(5, 1, 5, 1),
        height=HEIGHT,
    )
    looks = (
        ("averaged", "posterior", False, 2.5, f"{DRAWS} networks (MA)"),
        ("single", "energy", True, 1.4, "one network (SM)"),
        ("median", "accept", False, 1.4, "median model (MED)"),
        ("drawn", "reject", True, 2.2, "density of a draw"),
        ("kept", "highlight", True, 1.2, "density of the median model"),
    )
    for name, role, dash, width, label in looks:
        panel.line(epoch, column(frames, name), show="upto", role=role, dash=dash, width=width, label=label)


def _histogram(made: Scene, layers: list[np.ndarray]) -> None:
    every = np.concatenate([layer.reshape(len(layer), -1) for layer in layers], axis=1)
    edges = np.linspace(0, 256, BINS + 1)
    shares = np.stack([np.histogram(row, edges)[0] / row.size for row in every])
    names = [f"{(k + 0.5) / BINS:.2f}" for k in range(BINS)]
    panel = made.panel(
        "histogram",
        title="Inclusion probabilities",
        x=Axis("α", 0.0, 1.0),
        y=Axis("share of weights", 0.0, 1.0),
        place=(10, 1, 5, 1),
        height=HEIGHT,
    )
    panel.bars(shares, labels=names, role="posterior")


def _words(made: Scene, frames: Sequence[Frame]) -> None:
    energy, kl = column(frames, "energy"), column(frames, "kl")
    values = {name: 100.0 * column(frames, name) for name in ("single", "averaged", "median", "drawn", "kept")}
    made.readout(
        "elbo",
        "epoch {epoch:.1f}: ELBO = energy − KL = {energy:.0f} − {kl:.0f} = {elbo:.0f} nats, all training data",
        epoch=column(frames, "epoch"),
        energy=energy,
        kl=kl,
        elbo=energy - kl,
        show="at",
    )
    made.readout(
        "modes",
        "test digits right: one network {single:.1f} %, " + f"{DRAWS} averaged" + " {averaged:.1f} %, median model {median:.1f} %",
        show="at",
        single=values["single"],
        averaged=values["averaged"],
        median=values["median"],
    )
    made.readout(
        "density",
        "weights in use: one draw {drawn:.1f} %, median model (α > ½) {kept:.1f} %",
        show="at",
        drawn=values["drawn"],
        kept=values["kept"],
    )
    made.readout(
        "path",
        "the median model {path?has a path from pixels to digits:has no path: the likeliest path is added}",
        show="at",
        path=np.array([frame.feasible for frame in frames], dtype=np.int32),
    )
    made.say(
        "Epoch {epoch:.0f}: {averaged:.0f} per cent of the test digits right with {drawn:.0f} per cent of the weights.",
        epoch=column(frames, "epoch"),
        averaged=values["averaged"],
        drawn=values["drawn"],
    )
    made.table(
        {
            "epoch": column(frames, "epoch"),
            "ELBO (nats)": energy - kl,
            "energy (nats)": energy,
            "KL (nats)": kl,
            "training accuracy (%)": 100.0 * column(frames, "trained"),
            "one network (%)": values["single"],
            "averaged (%)": values["averaged"],
            "median model (%)": values["median"],
            "density of a draw (%)": values["drawn"],
            "density of the median model (%)": values["kept"],
        }
    )
