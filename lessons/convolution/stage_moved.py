"""A digit moved pixel by pixel: its map moves along, its pooled map by whole windows, and two networks read it."""

from __future__ import annotations

import numpy as np

from app.kit.player.scene import Axis, Scene
from app.kit.text import minus
from datasets.images import digits
from lessons.convolution import analysis
from lessons.convolution.analysis import SHIFTS, Moved, Read
from lessons.convolution.marks import begin, most, outline, pooling, square
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
    label = WORDS.phrase("moved.picture", most=max(SHIFTS))
    made = begin(spec, state, len(SHIFTS), label, rate=0.8).layout(PLAN, HEIGHTS)
    here = np.arange(len(SHIFTS))
    title, pixels = WORDS.phrase("moved.digit"), WORDS.phrase("stage.pixels", side=SIDE)
    panel = square(made, "seen", title, found.images, low=0.0, high=1.0, at=here, colours="cividis", caption=pixels)
    panel.path(outline(0, 0, SIDE), role="muted", width=1.0)
    top = most(found.maps)
    title, before = WORDS.phrase("moved.map", filter=spec.filter), WORDS.phrase("stage.before_pooling")
    square(made, "map", title, found.maps, low=-top, high=top, at=here, caption=before)
    pool = state.fit.spec.pool
    square(made, "pooled", WORDS.phrase("stage.pooled"), found.pooled, low=-top, high=top, at=here, caption=pooling(pool))
    title, label, caption = WORDS.phrase("moved.gap"), WORDS.phrase("stage.map"), WORDS.phrase("moved.gap_caption")
    square(made, "gap", title, found.gap, low=-top, high=top, at=here, label=label, caption=caption)
    _accuracy(made, spec, read)
    _says(made, read)
    _words(made, spec, found, read, pool)
    return made.encode()


def _unread() -> Read:
    nothing = np.full(len(SHIFTS), np.nan)
    return Read(nothing, nothing, np.full((len(SHIFTS), CLASSES), np.nan), np.full((len(SHIFTS), CLASSES), np.nan))


def _accuracy(made: Scene, spec: ConvolutionLesson, read: Read) -> None:
    x = np.array(SHIFTS, dtype=float)
    ticks = [(by, minus(f"{by}")) for by in SHIFTS]
    axis, share = Axis(WORDS.phrase("moved.by"), -3.2, 3.2, ticks=ticks), Axis(WORDS.phrase("stage.share_right"), 0.0, 1.02)
    panel = made.panel("accuracy", title=WORDS.phrase("moved.tested", digits=len(digits().labels_test)), x=axis, y=share)
    panel.rule(y=0.1, role="muted", label=WORDS.phrase("stage.guessing"), dash=True)
    for values, role, shape, name in (
        (read.right, "posterior", "circle", WORDS.phrase("moved.convolutional", pooling=WORDS["options.pooling"][spec.pooling])),
        (read.dense_right, "class-1", "square", WORDS.phrase("moved.dense")),
    ):
        panel.line(x, values, show="upto", role=role, label=name)
        panel.points(np.column_stack([x, values]), show="upto", role=role, shape=shape, size=4.0)
    panel.rule(x=x, role="highlight")


def _says(made: Scene, read: Read) -> None:
    digits = [str(digit) for digit in range(CLASSES)]
    for id, title, values, role in (
        ("says", WORDS.phrase("moved.convolutional_says"), read.says, "posterior"),
        ("dense", WORDS.phrase("moved.dense_says"), read.dense_says, "class-1"),
    ):
        made.panel(id, title=title, x=None, y=Axis(WORDS.phrase("stage.probability"), 0.0, 1.02)).bars(values, labels=digits, role=role)


def _words(made: Scene, spec: ConvolutionLesson, found: Moved, read: Read, pool: int) -> None:
    by = np.array(SHIFTS)
    made.readout("moved", WORDS.phrase("moved.moved_card"), show="at", by=by)
    made.readout("gap", WORDS.phrase("moved.gap_card"), show="at", gap=found.inside)
    if pool > 1:
        made.readout(
            "off",
            WORDS.phrase("moved.pooled_card", pool=pool),
            show="at",
            windows=np.array([round(step / pool) for step in SHIFTS]),
            off=found.off / found.size,
        )
    else:
        made.readout("off", WORDS.phrase("moved.not_pooled_card"))
    if np.isfinite(read.right).all():
        made.readout("read", WORDS.phrase("moved.read_card"), show="at", right=read.right, dense=read.dense_right)
        made.readout(
            "says",
            WORDS.phrase("moved.says_card"),
            show="at",
            says=read.says.argmax(axis=1),
            sure=read.says.max(axis=1),
            other=read.dense_says.argmax(axis=1),
            other_sure=read.dense_says.max(axis=1),
        )
    made.say(WORDS.phrase("moved.said"), by=by, gap=found.inside)
    made.table({"pixels to the right": by, "gap inside": found.inside, "read right": read.right, "read right, dense": read.dense_right})
