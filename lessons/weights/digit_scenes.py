"""The training of the network of digits as a scene, one look a step: mean and sd of weights as images of pixels, histograms of
all means and of |mean| / sd by layer, what is left of the accuracy where weights are cut, the weights that no data reach,
and what ten networks say of a few digits.
"""

from __future__ import annotations

import hashlib
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from app.kit import theme
from app.kit.player.scene import Axis, Scene, levels, pixel_blocks, stairs
from datasets.images import DIGIT_NAMES
from engine.variational import NetworkFit
from lessons.families.digit_posteriors import sources
from lessons.families.sheets import sheet
from lessons.families.watched import State
from lessons.weights import digits
from lessons.weights.digits import DRAWS, MEANS, RATIOS, THRESHOLDS, Look
from lessons.weights.spec import WORDS, WeightsSpec

Array = NDArray[np.float64]

PLAN = "mean-images*8 sd-images*8 / means*4 ratios*4 prune*4 idle*4 / seen*5 votes*6 elbo*5"
HEIGHTS = (180, 220, 220)
RATE = 4.0  # looks a second
IN_ROW, SEEN_IN_ROW = 5, 3  # images of a sheet
GRAIN = 3  # cells of a pixel of small images along an edge, and of a vote: the player smooths
LEAST = 1e-5  # share of weights at the bottom of the histogram of means, whose scale is logarithmic
FLOOR = -4.0  # nats per image: the first looks are far below
LOOKS = {"layer-0": ("posterior", 2.2), "layer-1": ("reject", 1.8), "layer-2": ("highlight", 1.8)}  # role and width, by layer


def scene(spec: WeightsSpec) -> bytes:
    """The picture of the whole training."""
    return picture(spec, digits.ended(spec), "")


def grow(spec: WeightsSpec, job: Any) -> bytes | None:
    """The same, with pictures on the way while the network learns; None when stopped."""
    return sources.behind(spec.images, lambda: digits.learning(spec).grown(partial(picture, spec), job), job)


def picture(spec: WeightsSpec, state: State[NetworkFit, Look], note: str) -> bytes:
    """The scene of the looks so far; `note`: how far the training is."""
    looks, sizes = state.looks, state.fit.shape.sizes
    made = Scene(
        run=hashlib.blake2b(repr(spec).encode(), digest_size=12).hexdigest(),
        steps=len(looks),
        rate=RATE,
        autoplay=True,
        total=None if state.done else digits.LOOKS + 1,
        theme=theme.palette(),
        label=WORDS.phrase("digit_stage.label", sizes="–".join(map(str, sizes))),
    ).layout(PLAN, HEIGHTS)
    _images(made, spec, looks)
    _pruned(made, looks)
    _histograms(made, looks)
    _idle(made, spec, looks)
    _votes(made, spec, looks)
    _elbo(made, spec, looks)
    sources.say(made, spec.images, note)
    _words(made, spec, looks)
    return made.encode()


def column(looks: tuple[Look, ...], name: str) -> Array:
    """(T, ...) a field of every look."""
    return np.array([getattr(look, name) for look in looks], dtype=np.float64)


def _images(made: Scene, spec: WeightsSpec, looks: tuple[Look, ...]) -> None:
    """Means and sds of the weights that lead from the pixels to some hidden units."""
    means, sds = (np.stack([getattr(look, name) for look in looks]) for name in ("mean", "sd"))
    reach = float(f"{max(float(np.abs(means[-1]).max()), 1e-3):.2g}")
    grain = GRAIN if means.shape[-1] <= sources.SMALL else 1
    kinds: tuple[tuple[str, NDArray[Any], float, float, str], ...] = (
        ("mean", means, -reach, reach, "diverging"),
        ("sd", sds, 0.0, spec.prior_sd, "viridis"),
    )
    for kind, values, low, high, colours in kinds:
        sheet(
            made,
            f"{kind}-images",
            WORDS.phrase(f"digit_stage.{kind}_images"),
            levels(values, high, low),
            in_row=IN_ROW,
            caption=WORDS.phrase("digit_stage.units", units=means.shape[1]),
            grain=grain,
            low=low,
            high=high,
            colormap=colours,
            label=WORDS.phrase(f"digit_stage.{kind}_label"),
        )


def _histograms(made: Scene, looks: tuple[Look, ...]) -> None:
    """All means, and all |mean| / sd, layer by layer."""
    shown = np.arange(len(looks))
    for id, edges, axis, floor in (
        ("means", MEANS, Axis(WORDS.phrase("digit_stage.mean_axis"), MEANS[0], MEANS[-1]), LEAST),
        ("ratios", RATIOS, Axis(WORDS.phrase("digit_stage.ratio_axis"), RATIOS[0], RATIOS[-1], log=True), 0.0),
    ):
        shares = column(looks, id)
        y = Axis(WORDS.phrase(f"digit_stage.share_{id}"), floor, 1.0 if floor else 1.1 * float(shares[-1].max()), log=bool(floor))
        panel = made.panel(id, title=WORDS.phrase(f"digit_stage.{id}"), x=axis, y=y)
        for layer, (name, (role, width)) in enumerate(LOOKS.items()):
            outline = stairs(edges, np.maximum(shares[:, layer], floor))
            panel.path(outline, at=shown, role=role, width=width, dash=layer == 1, label=WORDS.phrase(f"digit_stage.{name}"))


def _pruned(made: Scene, looks: tuple[Look, ...]) -> None:
    """What is left of the accuracy, and of the weights, above each threshold."""
    panel = made.panel(
        "prune",
        title=WORDS.phrase("digit_stage.prune"),
        x=Axis(WORDS.phrase("digit_stage.threshold"), THRESHOLDS[0], THRESHOLDS[-1], log=True),
        y=Axis("%", 0.0, 102.0),
    )
    for name, role in (("right", "accept"), ("kept", "reject")):
        label = WORDS.phrase(f"digit_stage.{name}")
        panel.line(THRESHOLDS, 100.0 * column(looks, name), show="at", role=role, dash=role == "reject", width=2.4, label=label)
    panel.rule(x=np.array([safe(look) for look in looks]), role="highlight", label=WORDS.phrase("digit_stage.safe"))


def safe(look: Look) -> float:
    """The threshold up to which no more than one in a hundred is lost."""
    return float(THRESHOLDS[max(look.cut, 0)])


def _idle(made: Scene, spec: WeightsSpec, looks: tuple[Look, ...]) -> None:
    """The weights of pixels that are never inked, which must come to the prior, beside those of the others."""
    epoch, idle = column(looks, "epoch"), digits.never_inked(spec)
    mean, low, high = column(looks, "idle").T
    panel = made.panel(
        "idle",
        title=WORDS.phrase("digit_stage.idle", pixels=idle.sum()),
        x=Axis(WORDS.phrase("digit_stage.epoch"), 0.0, max(float(epoch[-1]), 1.0)),
        y=Axis(WORDS.phrase("digit_stage.prior_sds"), 0.0, 1.15),
    )
    panel.rule(y=1.0, role="prior", dash=True, label=WORDS.phrase("digit_stage.prior"))
    panel.line(epoch, column(looks, "inked"), show="upto", role="muted", width=1.4, label=WORDS.phrase("digit_stage.inked"))
    if idle.any():
        for values, label in ((low, None), (high, WORDS.phrase("digit_stage.idle_sd"))):
            panel.line(epoch, values, show="upto", role="highlight", width=1.0 if label is None else 2.4, label=label)
        panel.line(epoch, mean, show="upto", role="energy", dash=True, width=2.0, label=WORDS.phrase("digit_stage.idle_mean"))


def _votes(made: Scene, spec: WeightsSpec, looks: tuple[Look, ...]) -> None:
    """Some test images, and the probabilities that ten networks give them."""
    data, numbers = digits.data_of(spec), digits.shown(spec)
    images = levels(data.images_test[numbers], float(data.top))[None]
    caption = WORDS.phrase("digit_stage.seen_caption", images=len(numbers))
    look: dict[str, Any] = {"low": 0.0, "high": 1.0, "colormap": "cividis", "colorbar": False}
    grain = GRAIN if data.side <= sources.SMALL else 1
    sheet(made, "seen", WORDS.phrase("digit_stage.seen"), images, in_row=SEEN_IN_ROW, caption=caption, grain=grain, **look)
    told = [WORDS.phrase("digit_stage.row", number=k, digit=digit) for k, digit in enumerate(data.labels_test[numbers], 1)]
    ticks = [(len(told) - k - 0.5, text) for k, text in enumerate(told)]
    panel = made.panel(
        "votes",
        title=WORDS.phrase("digit_stage.votes", networks=DRAWS),
        x=Axis(WORDS.phrase("digit_stage.digit"), -0.5, 9.5, ticks=[(float(k), name) for k, name in enumerate(DIGIT_NAMES)]),
        y=Axis("", 0.0, float(len(numbers)), ticks=ticks),
    )
    said = pixel_blocks(levels(column(looks, "votes"), 1.0), GRAIN)
    label, here = WORDS.phrase("digit_stage.probability"), np.arange(len(looks))
    panel.heatmap(said, x=(-0.5, 9.5), y=(0.0, float(len(numbers))), low=0.0, high=1.0, at=here, label=label)


def _elbo(made: Scene, spec: WeightsSpec, looks: tuple[Look, ...]) -> None:
    epoch, n = column(looks, "epoch"), len(digits.data_of(spec).y)
    energy, kl = column(looks, "energy") / n, column(looks, "kl") / n
    panel = made.panel(
        "elbo",
        title=WORDS.phrase("digit_stage.elbo"),
        x=Axis(WORDS.phrase("digit_stage.epoch"), 0.0, max(float(epoch[-1]), 1.0)),
        y=Axis(WORDS.phrase("digit_stage.nats"), FLOOR, 0.2),
    )
    panel.line(epoch, energy, show="upto", role="likelihood", dash=True, label=WORDS.phrase("digit_stage.energy"))
    panel.line(epoch, -kl, show="upto", role="prior", width=1.3, label=WORDS.phrase("digit_stage.kl"))
    panel.line(epoch, energy - kl, show="upto", role="ink", width=2.5, label=WORDS.phrase("stage.elbo_line"))


def _words(made: Scene, spec: WeightsSpec, looks: tuple[Look, ...]) -> None:
    energy, kl, epoch = column(looks, "energy"), column(looks, "kl"), column(looks, "epoch")
    percent: dict[str, Any] = {name: 100.0 * column(looks, name) for name in ("single", "averaged", "middle")}
    cut = 100.0 * np.array([1.0 - look.kept[look.cut] if look.cut >= 0 else 0.0 for look in looks])
    threshold, idle = np.array([safe(look) for look in looks]), digits.never_inked(spec)
    made.readout("elbo", WORDS.phrase("digit_stage.card_elbo"), show="at", epoch=epoch, energy=energy, kl=kl, elbo=energy - kl)
    made.readout("ways", WORDS.phrase("digit_stage.card_ways"), show="at", **percent)
    if idle.any():
        mean, low, high = spec.prior_sd * column(looks, "idle").T
        text = WORDS.phrase("digit_stage.card_idle", pixels=idle.sum(), weights=idle.sum() * spec.hidden, sd=spec.prior_sd)
        made.readout("idle", text, show="at", mean=mean, low=low, high=high)
    made.say(WORDS.phrase("digit_stage.say"), epoch=epoch, averaged=percent["averaged"])
    made.table(
        {
            "epoch": epoch,
            "ELBO (nats)": energy - kl,
            "energy (nats)": energy,
            "KL (nats)": kl,
            "one network (%)": percent["single"],
            "averaged (%)": percent["averaged"],
            "means (%)": percent["middle"],
            "weights that can go (%)": cut,
            "their |mean|/sd is below": threshold,
            "never inked: largest |mean| (prior sds)": column(looks, "idle")[:, 0],
            "never inked: least sd (prior sds)": column(looks, "idle")[:, 1],
            "never inked: largest sd (prior sds)": column(looks, "idle")[:, 2],
        }
    )
