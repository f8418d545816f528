"""The passes of the network that reads digits as a scene, one pass a step: the digit, what each pass says of it, the hidden
units that it keeps, the log odds of two digits over the passes beside their exact mean and sd over all masks, how much the
passes disagree on digits that are read right and wrong, and how the training has gone so far.
"""

from __future__ import annotations

import hashlib
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from app.kit import theme
from app.kit.player.scene import Axis, Scene, levels, stairs
from engine.variational import NetworkFit
from lessons.dropout import digits
from lessons.dropout.digits import DOUBTS, DRAWS, Look, Passes
from lessons.dropout.spec import WORDS, DropoutSpec, factor
from lessons.families.digit_posteriors import sources
from lessons.families.digit_posteriors.spec import WORDS as FAMILY
from lessons.families.digit_posteriors.strip import digit_axis, probability_axis, strip
from lessons.families.sheets import sheet
from lessons.families.watched import State

Array = NDArray[np.float64]

PLAN = "seen*4 said*8 network*8 / value*10 average*10 / doubt*10 learning*10"
HEIGHTS = (240, 210, 210)
RATE = 6.0  # passes a second
TILES, IN_ROW = 15, 5  # hidden units whose pixels are shown as images
GRAIN = 3  # cells of a pixel of small images along an edge: the player smooths
BINS = 24
LOWEST = 80.0  # % read right at the bottom of the training, unless it ends lower


def scene(spec: DropoutSpec) -> bytes:
    """The picture of the whole training."""
    return picture(spec, digits.ended(spec), "")


def grow(spec: DropoutSpec, job: Any) -> bytes | None:
    """The same, with pictures on the way while the network learns; None when stopped."""
    return sources.behind(spec.images, lambda: digits.learning(spec).grown(partial(picture, spec), job), job)


def picture(spec: DropoutSpec, state: State[NetworkFit, Look], note: str) -> bytes:
    """The scene of the network as it stands; `note`: how far the training is."""
    fit, (x, digit) = state.fit, digits.image_of(spec)
    passes = digits.passes(fit, x, spec.passes, spec.seed)
    made = Scene(
        run=hashlib.blake2b(repr(spec).encode(), digest_size=12).hexdigest(),
        steps=spec.passes,
        rate=RATE,
        autoplay=True,
        theme=theme.palette(),
        label=WORDS.phrase("digit_stage.label", units=spec.hidden, passes=spec.passes),
    ).layout(PLAN, HEIGHTS)
    _seen(made, x, digit, digits.number_of(spec))
    _said(made, fit, x, passes)
    _units(made, fit, passes)
    _log_odds(made, spec, fit, x, passes, digit, note)
    _doubt(made, state.looks[-1])
    _learning(made, state.looks)
    return made.encode()


def _side(x: NDArray[Any]) -> int:
    """Pixels along an edge of images (..., pixels)."""
    return round(x.shape[-1] ** 0.5)


def _grain(side: int) -> int:
    return GRAIN if side <= sources.SMALL else 1


def _seen(made: Scene, x: NDArray[np.float32], digit: int, number: int) -> None:
    side = _side(x)
    ink = levels(x.reshape(1, 1, side, side), 1.0)
    look: dict[str, Any] = {"low": 0.0, "high": 1.0, "colormap": "cividis", "colorbar": False}
    caption = WORDS.phrase("digit_stage.seen_caption", number=number, digit=digit)
    sheet(made, "seen", WORDS.phrase("digit_stage.seen", side=side), ink, in_row=1, caption=caption, grain=_grain(side), **look)


def _said(made: Scene, fit: NetworkFit, x: NDArray[np.float32], passes: Passes) -> None:
    """Each pass's probabilities, their average, and what the network says with dropout switched off."""
    count, classes = passes.draws.shape
    panel = made.panel("said", title=WORDS.phrase("digit_stage.said"), x=digit_axis(classes), y=probability_axis())
    mean = np.cumsum(passes.draws, axis=0) / np.arange(1, count + 1)[:, None]
    each, average, this = (WORDS.phrase(f"digit_stage.{name}") for name in ("each", "average_so_far", "this"))
    strip(panel, passes.draws, mean, each, average, this)
    off = fit.predict(x, "MEAN")
    assert off is not None  # nobody stops it
    at = np.column_stack([np.arange(classes), off.draws[0, 0]])
    panel.points(at, role="reject", shape="cross", size=5.0, label=WORDS.phrase("stage.off"))


def _units(made: Scene, fit: NetworkFit, passes: Passes) -> None:
    """Weights from the pixels to the first hidden units as images; those of a unit that this pass drops are blank."""
    first = fit.expected_weights()[0][:-1, :TILES].T
    side = _side(first)
    reach = float(f"{max(float(np.abs(first).max()), 1e-3):.2g}")
    images = first.reshape(-1, side, side)
    frames = levels(np.stack([np.zeros_like(images), images]), reach, -reach)
    sheet(
        made,
        "network",
        WORDS.phrase("stage.network"),
        frames,
        in_row=IN_ROW,
        caption=WORDS.phrase("digit_stage.units", shown=len(images), units=passes.units.shape[1]),
        grain=_grain(side),
        label=WORDS.phrase("digit_stage.weight"),
        at=passes.units[:, :TILES].astype(np.int64),
        low=-reach,
        high=reach,
        colormap="diverging",
    )


def _log_odds(made: Scene, spec: DropoutSpec, fit: NetworkFit, x: NDArray[np.float32], passes: Passes, digit: int, note: str) -> None:
    """The log odds of two digits over the passes, and the lines of the card, most of which are about them."""
    here = digits.parts_of(fit, x)
    one, other = pair = digits.rivals(here)
    exact, known = digits.log_odds(spec, fit, here, pair), not digits.drops_pixels(fit)
    mean, sd = float(exact.mean[0]), float(exact.sd[0])
    off = float(here.off[0, one] - here.off[0, other])
    values, count = passes.outputs[:, one] - passes.outputs[:, other], np.arange(1, spec.passes + 1)
    so_far = np.cumsum(values) / count
    spread = np.sqrt(np.maximum(np.cumsum(values**2) / count - so_far**2, 0.0))
    name = WORDS.phrase("digit_stage.log_odds", one=one, other=other)

    low, high = min(values.min(), off, mean - 2.5 * sd), max(values.max(), off, mean + 2.5 * sd)
    pad = 0.04 * (high - low) if high - low > 1e-6 else 0.5
    low, high = float(low - pad), float(high + pad)
    title = WORDS.phrase("stage.over_the_passes", name=name)
    panel = made.panel("value", title=title, x=Axis(name, low, high), y=Axis(WORDS.phrase("stage.density"), 0.0))
    panel.histogram(values, bins=(low, high, BINS), role="proposal", label=WORDS.phrase("stage.passes_so_far"))
    if known:
        panel.rule(x=mean, role="truth", dash=True, label=WORDS.phrase("digit_stage.exact"))
        for end in (mean - 2.0 * sd, mean + 2.0 * sd):
            panel.rule(x=end, role="truth")
    panel.rule(x=off, role="reject", dash=True, label=WORDS.phrase("stage.off"))
    panel.rule(x=values, role="highlight", label=WORDS.phrase("stage.this_pass"))

    panel = made.panel("average", title=WORDS.phrase("stage.settles"), x=Axis(WORDS.phrase("stage.passes"), 0, spec.passes), y=Axis(name))
    panel.line(count.astype(np.float64), so_far, show="upto", role="proposal")
    for value, role in ((mean, "truth"), (off, "reject")) if known else ((off, "reject"),):
        panel.rule(y=value, role=role, dash=True)
        panel.points([[0.0, value]], role=role, size=0.1, alpha=0.0)  # keeps the rule inside the axis

    keep_pixels, keep = (float(p) for p in fit.posterior.keep)
    kept = passes.units.sum(axis=1)
    right = (passes.draws.argmax(axis=1) == digit).astype(int).cumsum()
    sources.say(made, spec.images, note)
    made.readout("kept", WORDS.phrase("stage.kept_card", units=spec.hidden, keep=keep), n=count, kept=kept)
    made.readout("votes", WORDS.phrase("digit_stage.card_votes", digit=digit), n=count, right=right)
    made.readout("average", WORDS.phrase("digit_stage.card_average", name=name), n=count, average=so_far, sd=spread)
    if known:
        about = {"units": spec.hidden, "mean": mean, "sd": sd, "floor": float(exact.floor[0])}
        made.readout("exact", WORDS.phrase("digit_stage.card_exact", **about))
        bias = float(here.bias[one] - here.bias[other])
        ratio = (off - bias) / (mean - bias) if abs(mean - bias) > 1e-9 else 1.0 / (keep * factor(spec, keep))
        made.readout("off", WORDS.phrase("stage.off_card", off=off, ratio=ratio))
    else:
        made.readout("exact", WORDS.phrase("digit_stage.card_not_known", off=off))
    if spec.method == "concrete_dropout":
        made.readout("learned", WORDS.phrase("digit_stage.card_learned", keep=keep, pixels=keep_pixels))
    made.say(WORDS.phrase("digit_stage.say", units=spec.hidden, name=name), n=count, kept=kept, value=values, average=so_far)
    columns: dict[str, Any] = {"pass": count, "units kept": kept, name: values, "average so far": so_far}
    made.table(columns | {f"P({k})": passes.draws[:, k] for k in range(passes.draws.shape[1])})


def _doubt(made: Scene, look: Look) -> None:
    """How much the passes disagree on the test images, by whether their average reads them right."""
    panel = made.panel(
        "doubt",
        title=WORDS.phrase("digit_stage.doubt"),
        x=Axis(WORDS.phrase("digit_stage.doubt_axis"), DOUBTS[0], DOUBTS[-1], log=True),
        y=Axis(WORDS.phrase("digit_stage.share"), 0.0),
    )
    for name, shares, role in (("read_right", look.doubt_right, "accept"), ("read_wrong", look.doubt_wrong, "reject")):
        panel.path(stairs(DOUBTS, shares), role=role, width=2.0, dash=role == "reject", label=FAMILY.phrase(f"stage.{name}"))


def _learning(made: Scene, looks: tuple[Look, ...]) -> None:
    """What share of the test images is read right, look by look."""
    epoch = np.array([look.epoch for look in looks])
    ways = {name: 100.0 * np.array([getattr(look, name) for look in looks]) for name in ("single", "averaged", "off")}
    lowest = min(LOWEST, *(float(values[-1]) - 10.0 for values in ways.values()))
    panel = made.panel(
        "learning",
        title=WORDS.phrase("digit_stage.learning"),
        x=Axis(WORDS.phrase("digit_stage.epoch"), 0.0, max(float(epoch[-1]), 0.1)),
        y=Axis(WORDS.phrase("digit_stage.right"), max(lowest, 0.0), 100.0),
    )
    for name, role, width in (("single", "highlight", 1.4), ("averaged", "proposal", 2.4), ("off", "reject", 1.4)):
        label = WORDS.phrase(f"digit_stage.{name}", draws=DRAWS)
        panel.line(epoch, ways[name], role=role, width=width, dash=name == "off", label=label)
    made.readout("ways", WORDS.phrase("digit_stage.card_ways", draws=DRAWS, **{name: float(values[-1]) for name, values in ways.items()}))
