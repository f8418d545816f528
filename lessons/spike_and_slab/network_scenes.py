"""The training as a scene: one look a step. Heat maps of the inclusion probabilities, the ELBO and its parts, accuracy
and density, the histogram of the inclusion probabilities. Of 28 × 28 pixels the first layer is shown as images, some of
the hidden units, and in place of the histogram the gates of pixels that are never inked.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from app.kit import theme
from app.kit.player.scene import Axis, Place, Scene
from engine.kept import kept
from lessons.families.digit_posteriors import sources
from lessons.families.sheets import sheet
from lessons.spike_and_slab import learning
from lessons.spike_and_slab.learning import BINS, DRAWS, Frame, Learning, column, data_of
from lessons.spike_and_slab.spec import WORDS, SpikeAndSlabSpec

HEIGHT = 260
RATE = 6.0  # looks a second
FIRST = 3  # looks of the picture that is there before anything is pressed
FLOOR, LARGE_FLOOR = -8.0, -2.5  # nats per digit: the first looks are far below
FIRST_OF_MANY = 0.5  # s of training on MNIST before the first picture
TILES, IN_ROW = 12, 3  # hidden units whose pixels are shown as images, where they are many


def first(spec: SpikeAndSlabSpec) -> bytes:
    """The picture before the training is run: its first looks."""
    return picture(spec, _first(spec), None)


def beginning(spec: SpikeAndSlabSpec) -> bytes | None:
    """The picture of the look before the first step, while the others are made; None where they are there."""
    if _first.peek(spec) is not None:
        return None
    run = _begun(spec)
    return picture(spec, run.state.looks[:1], FIRST, upto=run.epoch(FIRST - 1))


@kept
def _first(spec: SpikeAndSlabSpec) -> tuple[Frame, ...]:
    run = _begun(spec)
    while len(run.state.looks) < FIRST:
        run.advance()
    return run.state.looks


_begun = kept(Learning)


def live(spec: SpikeAndSlabSpec) -> Callable[[Any], bytes]:
    """The body of the training as a job."""

    def body(job: Any) -> bytes:
        run = Learning(spec)
        while not run.done and not job.cancelled:
            run.advance(job.is_set)
            job.report(len(run.state.looks) - 1, run.total - 1)
            job.publish(picture(spec, run.state.looks, None if run.done else run.total))
        return picture(spec, run.state.looks, None)

    return body


def picture(spec: SpikeAndSlabSpec, frames: Sequence[Frame], total: int | None, note: str = "", upto: float = 0.0) -> bytes:
    """The scene of the looks so far; `total` while more are to come; `note`: how far the training is; `upto`: the epoch to
    which the axes go at least.
    """
    inputs = len(frames[0].layers[0]) - 1
    made = Scene(
        run=hashlib.blake2b(repr(spec).encode(), digest_size=12).hexdigest(),
        steps=len(frames),
        rate=RATE,
        autoplay=True,
        total=total,
        theme=theme.palette(),
        label=WORDS.phrase("network.picture", inputs=inputs, units=spec.units),
    )
    layers = [np.stack([frame.layers[depth] for frame in frames]) for depth in (0, 1)]
    _layers(made, spec, layers)
    end = max(frames[-1].epoch, upto, 1.0)
    _curves(made, spec, frames, end)
    if learning.is_large(spec) and learning.never_inked(spec).any():
        _idle(made, spec, frames, layers[0], end)
    else:
        _histogram(made, layers)
    sources.say(made, spec.data, note)
    _words(made, frames)
    return made.encode()


def side_of(layer: NDArray[Any]) -> int:
    """Pixels along an edge of the images that a first layer (..., pixels + 1, units) reads."""
    return math.isqrt(layer.shape[-2] - 1)


def pixel_axes(side: int) -> tuple[Axis, Axis]:
    """x and y of an image whose cells are its pixels."""
    return Axis(WORDS.phrase("network.column"), 0, side), Axis(WORDS.phrase("network.row", side=side), 0, side)


def first_axes(units: int, rows: int) -> tuple[Axis, Axis]:
    """x and y of the first layer of a small network, whose rows are pixels and a bias."""
    return Axis(WORDS.phrase("network.unit"), 0, units), Axis(WORDS.phrase("network.pixel", bias=rows), 0, rows)


def second_axes(units: int) -> tuple[Axis, Axis]:
    """x and y of the second layer."""
    return Axis(WORDS.phrase("stage.digit"), -0.5, 9.5), Axis(WORDS.phrase("network.unit_and_bias"), 0, units + 1)


def as_images(layer: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """The first hidden units of a first layer (F, pixels + 1, units) as images of their pixels, (F, units, side, side)."""
    side = side_of(layer)
    return np.moveaxis(layer[:, :-1, :TILES], 1, 2).reshape(len(layer), -1, side, side)


def _layers(made: Scene, spec: SpikeAndSlabSpec, layers: list[np.ndarray]) -> None:
    shown = np.arange(len(layers[0]), dtype=np.int32)
    units, side = spec.units, side_of(layers[0])
    pixels = np.minimum(2.0 * layers[0][:, :-1].mean(axis=2), 255.0)
    x, y = pixel_axes(side)
    panel = made.panel("pixels", title=WORDS.phrase("network.by_pixel"), x=x, y=y, place=(0, 0, 5, 1), equal=True, height=HEIGHT)
    images = np.rint(pixels).astype(np.uint8).reshape(-1, side, side)[:, ::-1]
    panel.heatmap(images, x=(0, side), y=(0, side), low=0.0, high=0.5, at=shown, colorbar=False)
    title = WORDS.phrase("network.first")
    if learning.is_large(spec):
        first_as_images(made, "first", title, layers[0], (5, 0, 5, 1), low=0.0, high=1.0)
    else:
        rows = layers[0].shape[1]
        x, y = first_axes(units, rows)
        panel = made.panel("first", title=title, x=x, y=y, place=(5, 0, 5, 1), height=HEIGHT)
        panel.heatmap(layers[0], x=(0, units), y=(0, rows), low=0.0, high=1.0, at=shown, colorbar=False)
    x, y = second_axes(units)
    panel = made.panel("second", title=WORDS.phrase("network.second"), x=x, y=y, place=(10, 0, 5, 1), height=HEIGHT)
    label = WORDS.phrase("network.inclusion")
    panel.heatmap(layers[1], x=(-0.5, 9.5), y=(0, units + 1), low=0.0, high=1.0, at=shown, label=label)


def first_as_images(made: Scene, id: str, title: str, layer: NDArray[np.uint8], place: Place, **look: Any) -> None:
    """The first layer (F, pixels + 1, units) of some hidden units, each as an image of the pixels that lead to it."""
    images = as_images(layer)
    caption = WORDS.phrase("network.some_units", units=images.shape[1])
    panel = {"place": place, "height": HEIGHT}
    sheet(made, id, title, images, in_row=IN_ROW, caption=caption, panel=panel, **{"colorbar": False, **look})


def _curves(made: Scene, spec: SpikeAndSlabSpec, frames: Sequence[Frame], end: float) -> None:
    epoch, n = column(frames, "epoch"), len(data_of(spec).y)
    energy, kl = column(frames, "energy") / n, column(frames, "kl") / n
    panel = made.panel(
        "elbo",
        title=WORDS.phrase("network.elbo"),
        x=Axis(WORDS.phrase("network.epoch"), 0.0, end),
        y=Axis(WORDS.phrase("network.nats"), LARGE_FLOOR if learning.is_large(spec) else FLOOR, 0.2),
        place=(0, 1, 5, 1),
        height=HEIGHT,
    )
    panel.line(epoch, energy, show="upto", role="likelihood", dash=True, label=WORDS.phrase("network.energy_line"))
    panel.line(epoch, -kl, show="upto", role="prior", width=1.2, label=WORDS.phrase("network.kl_line"))
    panel.line(epoch, energy - kl, show="upto", role="ink", width=2.5, label=WORDS.phrase("network.elbo_line"))
    panel = made.panel(
        "accuracy",
        title=WORDS.phrase("network.accuracy"),
        x=Axis(WORDS.phrase("network.epoch"), 0.0, end),
        y=Axis(WORDS.phrase("network.share"), 0.0, 1.02),
        place=(5, 1, 5, 1),
        height=HEIGHT,
    )
    looks = (
        ("averaged", "posterior", False, 2.5),
        ("single", "energy", True, 1.4),
        ("median", "accept", False, 1.4),
        ("drawn", "reject", True, 2.2),
        ("kept", "highlight", True, 1.2),
    )
    for name, role, dash, width in looks:
        label = WORDS.phrase(f"network.{name}", draws=DRAWS)
        panel.line(epoch, column(frames, name), show="upto", role=role, dash=dash, width=width, label=label)


def _histogram(made: Scene, layers: list[np.ndarray]) -> None:
    every = np.concatenate([layer.reshape(len(layer), -1) for layer in layers], axis=1)
    edges = np.linspace(0, 256, BINS + 1)
    shares = np.stack([np.histogram(row, edges)[0] / row.size for row in every])
    names = [f"{(k + 0.5) / BINS:.2f}" for k in range(BINS)]
    panel = made.panel(
        "histogram",
        title=WORDS.phrase("network.histogram"),
        x=Axis(WORDS.phrase("network.alpha"), 0.0, 1.0),
        y=Axis(WORDS.phrase("network.share_of_weights"), 0.0, 1.0),
        place=(10, 1, 5, 1),
        height=HEIGHT,
    )
    panel.bars(shares, labels=names, role="posterior")


def _idle(made: Scene, spec: SpikeAndSlabSpec, frames: Sequence[Frame], first: NDArray[np.uint8], end: float) -> None:
    """The gates of pixels that are never inked, which must come to their prior, beside all other gates of that layer."""
    epoch, idle = column(frames, "epoch"), learning.never_inked(spec)
    mean, least, most = np.array([frame.idle for frame in frames]).T
    prior = learning.price(learning.network_spec(spec), len(data_of(spec).y))
    others = first[:, :-1][:, ~idle].mean(axis=(1, 2)) / 255.0
    panel = made.panel(
        "idle",
        title=WORDS.phrase("network.idle", pixels=idle.sum()),
        x=Axis(WORDS.phrase("network.epoch"), 0.0, end),
        y=Axis(WORDS.phrase("network.alpha_log"), max(0.5 * min(float(least.min()), float(others.min()), prior), 1e-4), 1.0, log=True),
        place=(10, 1, 5, 1),
        height=HEIGHT,
    )
    panel.rule(y=prior, role="prior", dash=True, label=WORDS.phrase("network.prior", prior=prior))
    panel.line(epoch, others, show="upto", role="muted", width=1.4, label=WORDS.phrase("network.others"))
    for values, label in ((least, None), (most, None), (mean, WORDS.phrase("network.never_inked"))):
        panel.line(epoch, values, show="upto", role="highlight", width=1.0 if label is None else 2.4, label=label)
    words = WORDS.phrase("network.idle_card", pixels=idle.sum(), weights=idle.sum() * spec.units, prior=prior)
    made.readout("idle", words, show="at", alpha=mean)


def _words(made: Scene, frames: Sequence[Frame]) -> None:
    energy, kl = column(frames, "energy"), column(frames, "kl")
    values = {name: 100.0 * column(frames, name) for name in ("single", "averaged", "median", "drawn", "kept")}
    made.readout(
        "elbo", WORDS.phrase("network.elbo_card"), epoch=column(frames, "epoch"), energy=energy, kl=kl, elbo=energy - kl, show="at"
    )
    made.readout(
        "modes",
        WORDS.phrase("network.modes_card", draws=DRAWS),
        show="at",
        single=values["single"],
        averaged=values["averaged"],
        median=values["median"],
    )
    made.readout("density", WORDS.phrase("network.density_card"), show="at", drawn=values["drawn"], kept=values["kept"])
    path = np.array([frame.feasible for frame in frames], dtype=np.int32)
    made.readout("path", WORDS.phrase("network.path_card"), show="at", path=path)
    epoch = column(frames, "epoch")
    made.say(WORDS.phrase("network.said"), epoch=epoch, averaged=values["averaged"], drawn=values["drawn"])
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
