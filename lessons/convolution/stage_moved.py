"""A digit moved pixel by pixel: its map moves along, its pooled map by whole windows, and two networks read it."""

from __future__ import annotations

import numpy as np

from app.kit.player.scene import Axis, Scene
from lessons.convolution import analysis
from lessons.convolution.analysis import SHIFTS, Moved, Read
from lessons.convolution.marks import begin, most, outline, square
from lessons.convolution.spec import WORDS, ConvolutionLesson
from lessons.convolution.training import SIDE, State

PLAN = "seen*4 map*4 pooled*4 gap*5 / accuracy*17 / says*9 dense*8"
HEIGHTS = (215, 215, 180)
CLASSES = 10


def draw(spec: ConvolutionLesson, state: State | None) -> bytes:
    """The picture of this part; how well the networks read is told once they are trained."""
    assert state is not None
    found = analysis.moved(spec, state)
    read = analysis.read(spec) if state.done else _unread()
    label = "A digit moved by up to 3 pixels to either side: its map, its pooled map, what a convolutional and a dense network read."
    made = begin(spec, state, len(SHIFTS), label, rate=0.8).layout(PLAN, HEIGHTS)
    here = np.arange(len(SHIFTS))
    panel = square(made, "seen", "The digit, moved", found.images, low=0.0, high=1.0, at=here, colours="cividis", caption="8 × 8 pixels")
    panel.path(outline(0, 0, SIDE), role="muted", width=1.0)
    top = most(found.maps)
    square(made, "map", f"Map of filter {spec.filter}", found.maps, low=-top, high=top, at=here, caption="before pooling")
    pool = state.fit.spec.pool
    after = "largest of 2 × 2" if pool > 1 else "no pooling: every place"
    square(made, "pooled", "Pooled", found.pooled, low=-top, high=top, at=here, caption=after)
    square(made, "gap", "Map moved back − map", found.gap, low=-top, high=top, at=here, label="map", caption="0 inside the rim")
    _accuracy(made, spec, read)
    _says(made, read)
    _words(made, spec, found, read, pool)
    return made.encode()


def _unread() -> Read:
    nothing = np.full(len(SHIFTS), np.nan)
    return Read(nothing, nothing, np.full((len(SHIFTS), CLASSES), np.nan), np.full((len(SHIFTS), CLASSES), np.nan))


def _accuracy(made: Scene, spec: ConvolutionLesson, read: Read) -> None:
    x = np.array(SHIFTS, dtype=float)
    ticks = [(by, f"{by}".replace("-", "−")) for by in SHIFTS]
    axis = Axis("pixels to the right", -3.2, 3.2, ticks=ticks)
    panel = made.panel("accuracy", title="450 test digits, moved alike", x=axis, y=Axis("share read right", 0.0, 1.02))
    panel.rule(y=0.1, role="muted", label="guessing", dash=True)
    for values, role, shape, name in (
        (read.right, "posterior", "circle", f"convolutional, {WORDS['poolings'][spec.pooling]}"),
        (read.dense_right, "class-1", "square", "dense"),
    ):
        panel.line(x, values, show="upto", role=role, label=name)
        panel.points(np.column_stack([x, values]), show="upto", role=role, shape=shape, size=4.0)
    panel.rule(x=x, role="highlight")


def _says(made: Scene, read: Read) -> None:
    digits = [str(digit) for digit in range(CLASSES)]
    for id, title, values, role in (
        ("says", "The convolutional network says", read.says, "posterior"),
        ("dense", "The dense network says", read.dense_says, "class-1"),
    ):
        made.panel(id, title=title, x=None, y=Axis("probability", 0.0, 1.02)).bars(values, labels=digits, role=role)


def _words(made: Scene, spec: ConvolutionLesson, found: Moved, read: Read, pool: int) -> None:
    by = np.array(SHIFTS)
    made.readout("moved", "moved {by:.0f} pixels to the right", show="at", by=by)
    made.readout("gap", "inside the rim, map moved back − map: at most {gap:.1g}", show="at", gap=found.inside)
    if pool > 1:
        made.readout(
            "off",
            "pooled, moved by {windows:.0f} windows of 2 pixels: off by {off:.0%} of the largest value",
            show="at",
            windows=np.array([round(step / pool) for step in SHIFTS]),
            off=found.off / found.size,
        )
    else:
        made.readout("off", "nothing is pooled: what follows reads every place by itself")
    if np.isfinite(read.right).all():
        made.readout(
            "read",
            "read right: {right:.1%} by the convolutional network, {dense:.1%} by the dense one",
            show="at",
            right=read.right,
            dense=read.dense_right,
        )
        made.readout(
            "says",
            "this digit: a {says:.0f} with probability {sure:.2f}; dense: a {other:.0f} with {other_sure:.2f}",
            show="at",
            says=read.says.argmax(axis=1),
            sure=read.says.max(axis=1),
            other=read.dense_says.argmax(axis=1),
            other_sure=read.dense_says.max(axis=1),
        )
    made.say("Moved by {by:.0f} pixels to the right: largest difference of the maps inside the rim {gap:.1g}.", by=by, gap=found.inside)
    made.table({"pixels to the right": by, "gap inside": found.inside, "read right": read.right, "read right, dense": read.dense_right})
