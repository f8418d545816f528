"""Two ways to look at a trained network, as scenes: a cut that rises through the inclusion probabilities, one threshold
a step, and networks drawn from q, one a step (masks and weights as pictures: figures 5 and 6 of Hubin and Storvik).
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from app.kit import theme
from app.kit.player.scene import Axis, Scene, levels
from engine.kept import kept
from engine.variational import NetworkFit
from lessons.families.digit_posteriors import sources
from lessons.spike_and_slab import learning
from lessons.spike_and_slab.learning import BINS, data_of, predicted
from lessons.spike_and_slab.network_scenes import HEIGHT, first_as_images, first_axes, pixel_axes, second_axes, side_of
from lessons.spike_and_slab.spec import WORDS, SpikeAndSlabSpec

Array = NDArray[np.float64]
Bytes = NDArray[np.uint8]

THRESHOLDS = np.linspace(0.02, 0.98, 25)
SHARE = 0.3  # of a pixel's weights kept, at the bright end of the image
CUT_DRAWS = 5  # networks averaged at each threshold
NETWORKS = 20  # drawn
BEGINNING = 2  # epochs behind the picture that is there while the first one is made
FIRST_STEPS = 800  # of training that a first picture waits for
CHUNK = 50  # steps between two reports
RATE = 3.0
STRONG = 1.0  # weight drawn at full colour, in prior sds: the prior of a weight that is in has sd 1


def first(spec: SpikeAndSlabSpec) -> bytes:
    """The picture before the long run: training as far as a first picture can wait for."""
    return picture(spec, *_first(learning.network_part(spec)))


def beginning(spec: SpikeAndSlabSpec) -> bytes | None:
    """The picture after the first epochs; None where the one of the training is there."""
    part = learning.network_part(spec)
    if _first.peek(part) is not None:
        return None
    run = learning.start(learning.network_spec(part))
    run.advance(BEGINNING * run.steps_per_epoch)
    return picture(spec, run.fit(), run.completed / run.steps_per_epoch)


@kept
def _first(spec: SpikeAndSlabSpec) -> tuple[NetworkFit, float]:
    run = learning.start(learning.network_spec(spec))
    if run.total <= FIRST_STEPS:
        return learning.fitted(spec), float(spec.epochs)
    run.advance(FIRST_STEPS)
    return run.fit(), run.completed / run.steps_per_epoch


def live(spec: SpikeAndSlabSpec) -> Callable[[Any], bytes]:
    """The body of the training as a job; the picture follows it."""

    def body(job: Any) -> bytes:
        run = learning.start(learning.network_spec(spec))
        while not run.done and not job.cancelled:
            run.advance(CHUNK, job.is_set)
            job.report(run.completed, run.total)
        return picture(spec, run.fit(), run.completed / run.steps_per_epoch)

    return body


def picture(spec: SpikeAndSlabSpec, fit: NetworkFit, epochs: float, note: str = "") -> bytes:
    """The scene of the view that `spec` asks for, of a training as it stands after so many epochs; `note`: how far it is."""
    made = _cut(spec, fit, epochs) if spec.view == "cut" else _drawn(spec, fit, epochs)
    sources.say(made, spec.data, note)
    return made.encode()


def _scene(spec: SpikeAndSlabSpec, epochs: float, steps: int, label: str, start: int | None = None) -> Scene:
    """A scene that plays by itself, or waits at `start`."""
    identity = hashlib.blake2b(f"{spec!r} {epochs}".encode(), digest_size=12).hexdigest()
    return Scene(run=identity, steps=steps, rate=RATE, autoplay=start is None, start=start, theme=theme.palette(), label=label)


def _layers(made: Scene, spec: SpikeAndSlabSpec, first_layer: Bytes, second: Bytes, **look: Any) -> None:
    """Heat maps of both layers; `look` goes to both, `titles`, `ids` and `places` are pairs."""
    shown = np.arange(len(first_layer), dtype=np.int32)
    (title, other), (id, second_id), (place, second_place) = look.pop("titles"), look.pop("ids"), look.pop("places")
    colorbar = look.pop("colorbar", False)
    if learning.is_large(spec):
        first_as_images(made, id, title, first_layer, place, **look)
    else:
        rows = first_layer.shape[1]
        x, y = first_axes(spec.units, rows)
        panel = made.panel(id, title=title, x=x, y=y, place=place, height=HEIGHT)
        panel.heatmap(first_layer, x=(0, spec.units), y=(0, rows), at=shown, colorbar=False, **look)
    x, y = second_axes(spec.units)
    panel = made.panel(second_id, title=other, x=x, y=y, place=second_place, height=HEIGHT)
    panel.heatmap(second, x=(-0.5, 9.5), y=(0, spec.units + 1), at=shown, colorbar=colorbar, **look)


def _pixels(made: Scene, masks: NDArray[np.bool_], title: str) -> None:
    """How many hidden units each pixel leads to, as an image."""
    counts = masks[:, :-1].mean(axis=2)
    side = side_of(masks)
    images = levels(counts, SHARE).reshape(-1, side, side)[:, ::-1]
    x, y = pixel_axes(side)
    panel = made.panel("pixels", title=title, x=x, y=y, place=(0, 0, 5, 1), equal=True, height=HEIGHT)
    shown = np.arange(len(images), dtype=np.int32)
    panel.heatmap(images, x=(0, side), y=(0, side), low=0.0, high=SHARE, at=shown, colorbar=False)


def _bytes(masks: list[NDArray[np.bool_]]) -> Bytes:
    return 255 * np.stack(masks).astype(np.uint8)


# The cut --------------------------------------------------------------------------------------------------------------


def _cut(spec: SpikeAndSlabSpec, fit: NetworkFit, epochs: float) -> Scene:
    data = data_of(spec)
    truth = data.y_test
    chosen = [fit.select(float(threshold), fallback="none") for threshold in THRESHOLDS]
    kept = np.array([100.0 * selection.density for selection in chosen])
    right: list[float] = []
    for k, threshold in enumerate(THRESHOLDS):
        same = k > 0 and kept[k] == kept[k - 1]  # each model is a part of the one before
        right.append(right[-1] if same else 100.0 * predicted(fit, data, "MED", CUT_DRAWS, float(threshold)).accuracy(truth))
    averaged = 100.0 * predicted(fit, data, "MA").accuracy(truth)
    feasible = np.array([selection.feasible for selection in chosen])
    made = _scene(spec, epochs, len(THRESHOLDS), WORDS.phrase("cut.picture"), start=len(THRESHOLDS) // 2)
    masks = [_bytes([selection.masks[depth] for selection in chosen]) for depth in (0, 1)]
    _pixels(made, masks[0] > 0, WORDS.phrase("cut.by_pixel", most=SHARE))
    _layers(
        made,
        spec,
        *masks,
        titles=(WORDS.phrase("cut.first"), WORDS.phrase("cut.second")),
        ids=("first", "second"),
        places=((5, 0, 5, 1), (10, 0, 5, 1)),
        low=0.0,
        high=1.0,
    )
    panel = made.panel(
        "trade",
        title=WORDS.phrase("cut.trade"),
        x=Axis(WORDS.phrase("cut.threshold"), 0.0, 1.0),
        y=Axis(WORDS.phrase("network.per_cent"), 0.0, 102.0),
        place=(0, 1, 8, 1),
        height=HEIGHT,
    )
    panel.line(THRESHOLDS, right, show="upto", role="accept", width=2.4, label=WORDS.phrase("network.right"))
    panel.line(THRESHOLDS, kept, show="upto", role="reject", dash=True, width=2.2, label=WORDS.phrase("cut.kept"))
    panel.rule(y=averaged, role="posterior", label=WORDS.phrase("cut.averaged"))
    panel.rule(x=0.5, role="truth", dash=True, label=WORDS.phrase("cut.median"))
    panel.rule(x=THRESHOLDS, role="highlight")
    panel.points(np.column_stack([THRESHOLDS, right]), show="at", role="accept", size=5)
    panel.points(np.column_stack([THRESHOLDS, kept]), show="at", role="reject", shape="square", size=5)
    alpha = np.concatenate([layer.ravel() for layer in fit.inclusion_probabilities()])
    shares = np.histogram(alpha, BINS, (0.0, 1.0))[0] / alpha.size
    panel = made.panel(
        "histogram",
        title=WORDS.phrase("network.histogram"),
        x=Axis(WORDS.phrase("network.alpha"), 0.0, 1.0),
        y=Axis(WORDS.phrase("network.share_of_weights"), 0.0, None),
        place=(8, 1, 7, 1),
        height=HEIGHT,
    )
    panel.columns((np.arange(BINS) + 0.5) / BINS, shares, widths=0.9 / BINS, role="posterior")
    panel.rule(x=THRESHOLDS, role="highlight", label=WORDS.phrase("cut.the_threshold"))
    if learning.is_large(spec):
        prior = learning.price(fit.spec, len(data.y))
        panel.rule(x=prior, role="prior", dash=True, label=WORDS.phrase("cut.prior", prior=prior))
    made.readout("cut", WORDS.phrase("cut.cut_card"), show="at", threshold=THRESHOLDS, kept=kept, right=right)
    made.readout("path", WORDS.phrase("cut.path_card"), show="at", path=feasible.astype(np.int32))
    made.readout("epochs", WORDS.phrase("network.epochs_card"), show="at", epochs=np.full(len(THRESHOLDS), epochs))
    made.say(WORDS.phrase("cut.said"), threshold=THRESHOLDS, kept=kept, right=right)
    made.table({"threshold": THRESHOLDS, "weights kept (%)": kept, "test digits right (%)": right, "a path": feasible})
    return made


# Networks drawn -------------------------------------------------------------------------------------------------------


def networks(fit: NetworkFit) -> list[list[NDArray[np.float32]]]:
    """NETWORKS draws from q, layer by layer: those that averaging uses."""
    rng = np.random.Generator(np.random.SFC64(fit.spec.seed))
    return [fit.shape.split(fit.posterior.sample(rng)) for _ in range(NETWORKS)]


def _drawn(spec: SpikeAndSlabSpec, fit: NetworkFit, epochs: float) -> Scene:
    data = data_of(spec)
    truth, draws = data.y_test, networks(fit)
    found = predicted(fit, data, "MA", NETWORKS)
    alone, together = 100.0 * found.draw_accuracies(truth), 100.0 * found.running_accuracy(truth)
    used = np.array([100.0 * np.mean(np.concatenate([w.ravel() for w in draw]) != 0.0) for draw in draws])
    union = np.zeros(fit.shape.weights, dtype=bool)
    ever = np.empty(NETWORKS)
    for r, draw in enumerate(draws):
        union |= np.concatenate([w.ravel() for w in draw]) != 0.0
        ever[r] = 100.0 * union.mean()
    made = _scene(spec, epochs, NETWORKS, WORDS.phrase("drawn.picture"))
    masks = [_bytes([draw[depth] != 0.0 for draw in draws]) for depth in (0, 1)]
    _layers(
        made,
        spec,
        *masks,
        titles=(WORDS.phrase("drawn.first_mask"), WORDS.phrase("drawn.second_mask")),
        ids=("first", "second"),
        places=((0, 0, 5, 1), (0, 1, 5, 1)),
        low=0.0,
        high=1.0,
    )
    values = [levels(np.stack([draw[depth] for draw in draws]), STRONG, -STRONG) for depth in (0, 1)]
    _layers(
        made,
        spec,
        *values,
        titles=(WORDS.phrase("drawn.first_weights"), WORDS.phrase("drawn.second_weights")),
        ids=("weights", "weights-2"),
        places=((5, 0, 5, 1), (5, 1, 5, 1)),
        low=-STRONG,
        high=STRONG,
        colormap="diverging",
        label=WORDS.phrase("drawn.weight"),
        colorbar=True,
    )
    _accuracy(made, alone, together)
    _ever(made, used, ever)
    number = np.arange(1, NETWORKS + 1)
    made.readout("draw", WORDS.phrase("drawn.draw_card"), show="at", number=number, used=used, alone=alone)
    made.readout("average", WORDS.phrase("drawn.average_card"), show="at", number=number, together=together, ever=ever)
    made.readout("epochs", WORDS.phrase("network.epochs_card"), show="at", epochs=np.full(NETWORKS, epochs))
    made.say(WORDS.phrase("drawn.said"), number=number, used=used, together=together)
    made.table(
        {"network": number, "weights used (%)": used, "used so far (%)": ever, "right alone (%)": alone, "right, averaged (%)": together}
    )
    return made


def _accuracy(made: Scene, alone: Array, together: Array) -> None:
    number = np.arange(1, NETWORKS + 1, dtype=np.float64)
    low = 5.0 * np.floor((min(alone.min(), together.min()) - 1.0) / 5.0)
    panel = made.panel(
        "accuracy",
        title=WORDS.phrase("drawn.accuracy"),
        x=Axis(WORDS.phrase("drawn.averaged"), 0.0, NETWORKS + 1.0),
        y=Axis(WORDS.phrase("network.right"), low, 100.0),
        place=(10, 0, 5, 1),
        height=HEIGHT,
    )
    alone_at = np.column_stack([number, alone])
    panel.points(alone_at, show="upto", role="energy", shape="cross", size=3.5, label=WORDS.phrase("drawn.alone"))
    panel.line(number, together, show="upto", role="posterior", width=2.5, label=WORDS.phrase("drawn.together"))


def _ever(made: Scene, used: Array, ever: Array) -> None:
    number = np.arange(1, NETWORKS + 1, dtype=np.float64)
    panel = made.panel(
        "used",
        title=WORDS.phrase("drawn.used"),
        x=Axis(WORDS.phrase("drawn.drawn"), 0.0, NETWORKS + 1.0),
        y=Axis(WORDS.phrase("network.per_cent"), 0.0, 102.0),
        place=(10, 1, 5, 1),
        height=HEIGHT,
    )
    panel.points(np.column_stack([number, used]), show="upto", role="reject", shape="square", size=3.0, label=WORDS.phrase("drawn.by_each"))
    panel.line(number, ever, show="upto", role="ink", dash=True, width=2.0, label=WORDS.phrase("drawn.by_any"))
