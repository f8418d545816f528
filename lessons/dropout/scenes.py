"""From the passes to the picture: the network with its dropped units, each pass's function, and their band."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from app.kit import theme
from app.kit.player import scene as pictured
from app.kit.player.scene import Axis, Editable, Panel, Place, Scene, Show
from lessons.dropout import analysis, digit_scenes
from lessons.dropout.analysis import CELLS, Exact, Passes, Study
from lessons.dropout.spec import HEIGHT, MAX_POINTS, OF_DIGITS, PLANE, REACH, WORDS, DropoutSpec

Array = NDArray[np.float64]
Probed = tuple[Array, Array]  # see `analysis.at_probe`

RATE = 6.0  # passes a second
TRAIL = 15  # passes that stay in sight
BINS = 36
WORST_SD = 0.5  # the largest sd a probability can have
LOOKS = 16  # at the growing chains
VIEW = (-PLANE, PLANE)


def scene(spec: DropoutSpec, window: int | None = None) -> bytes:
    """The passes, without the posterior. `window` is not used: a pass has no inside here."""
    return digit_scenes.scene(spec) if spec.data == "digits" else picture(spec, None)


def grow(spec: DropoutSpec, job: Any) -> bytes | None:
    """The same; of a network that reads digits with pictures on the way while it learns."""
    return digit_scenes.grow(spec, job) if spec.data == "digits" else picture(spec, None)


def live(spec: DropoutSpec) -> Callable[[Any], bytes] | None:
    """The body of the long run: NUTS on the same network, its band growing beside that of the passes. None where NUTS cannot
    sample so many weights.
    """
    if spec.data == "digits":
        return None

    def body(job: Any) -> bytes:
        run, found = analysis.begin(spec), None
        while not run.done and not job.cancelled:
            run.advance(max(1, run.total // LOOKS))
            job.report(run.warmed_up + run.completed, run.total)
            recording = run.recording()
            if recording.draws.shape[1] >= 8:
                found = analysis.studied(spec, recording)
                job.publish(picture(spec, found))
        return picture(spec, found)

    return body


def picture(spec: DropoutSpec, study: Study | None) -> bytes:
    """The scene, with the posterior as far as it has been sampled."""
    passes, exact, probed = analysis.passes(spec), analysis.everywhere(spec), analysis.at_probe(spec)
    made = Scene(
        run=_name(spec),
        steps=spec.passes,
        rate=RATE,
        autoplay=True,
        theme=theme.palette(),
        label=WORDS.phrase("stage.picture", units=spec.units, passes=spec.passes, masks=exact.masks),
    )
    if spec.classifies:
        _maps(made, spec, passes, exact, study)
        _network(made, spec, passes, (0, 2, 11 if study is None else 6, 1))
        _value(made, spec, passes, probed, (0, 3, 11, 1))
        _average(made, spec, passes, probed, (11, 3, 9, 1))
    else:
        _functions(made, spec, passes, exact, study)
        _network(made, spec, passes, (12, 0, 8, 1))
        _value(made, spec, passes, probed, (12, 1, 8, 1))
        _spread(made, spec, passes, exact, study)
        _average(made, spec, passes, probed, (12, 2, 8, 1))
    _words(made, spec, passes, exact, probed, study)
    return made.encode()


def _name(spec: DropoutSpec) -> str:
    """Of a run: all that decides it, so without the fields that the network of digits alone reads, which stand last."""
    return repr(spec).partition(f", {OF_DIGITS[0]}=")[0] + ")"


def running(values: Array) -> tuple[Array, Array]:
    """Mean and sd of the passes so far, (T, m) each, of values (T, m)."""
    count = np.arange(1, len(values) + 1)[:, None]
    mean = np.cumsum(values, axis=0) / count
    return mean, np.sqrt(np.maximum(np.cumsum(values**2, axis=0) / count - mean**2, 0.0))


# Regression -----------------------------------------------------------------------------------------------------------


def _functions(made: Scene, spec: DropoutSpec, passes: Passes, exact: Exact, study: Study | None) -> None:
    x, y = analysis.data(spec)
    at = analysis.places(spec)[:, 0]
    own = spec.data == "points"
    rows = np.column_stack([x[:, 0], y])
    panel = made.panel(
        "functions",
        title=WORDS.phrase("stage.functions"),
        x=Axis(WORDS.phrase("stage.input"), -REACH, REACH),
        y=Axis("f(x)", -HEIGHT, HEIGHT),
        place=(0, 0, 12, 2),
        height=370,
        editable=Editable(points=rows, limit=MAX_POINTS) if own else None,
    )
    if study is not None:
        mean = study.values.mean(axis=(0, 1))
        band = (mean - 2 * study.sd, mean + 2 * study.sd)
        panel.line(at, mean, band=band, role="posterior", label=WORDS.phrase("stage.posterior"))
    band = (exact.mean - 2 * exact.sd, exact.mean + 2 * exact.sd)
    panel.line(at, exact.mean, band=band, role="truth", dash=True, label=WORDS.phrase("stage.exact"))
    earlier = Show("upto", last=TRAIL, fade=True)
    panel.line(at, passes.values, show=earlier, role="highlight", width=1.0, alpha=0.6, label=WORDS.phrase("stage.passes"))
    mean, sd = running(passes.values)
    panel.line(at, mean - 2 * sd, show="at", role="proposal", width=1.8, label=WORDS.phrase("stage.band_so_far"))
    panel.line(at, mean + 2 * sd, show="at", role="proposal", width=1.8)
    off = analysis.switched_off(spec, analysis.places(spec))
    panel.line(at, off, role="reject", width=1.8, dash=True, label=WORDS.phrase("stage.off"))
    if not own:
        panel.points(rows, role="ink", size=3.2, label=WORDS.phrase("stage.data"))
    panel.rule(x=spec.probe, role="muted", dash=True, label="x*")


def _spread(made: Scene, spec: DropoutSpec, passes: Passes, exact: Exact, study: Study | None) -> None:
    at = analysis.places(spec)[:, 0]
    panel = made.panel(
        "sd",
        title=WORDS.phrase("stage.sd"),
        x=Axis(WORDS.phrase("stage.input"), -REACH, REACH),
        y=Axis(WORDS.phrase("stage.sd_axis"), 0.0),
        place=(0, 2, 12, 1),
        height=210,
    )
    panel.line(at, exact.sd, role="truth", dash=True, width=2.4)
    panel.line(at, running(passes.values)[1], show="at", role="proposal")
    if study is not None:
        panel.line(at, study.sd, role="posterior", width=2.4)


# XOR ------------------------------------------------------------------------------------------------------------------


def _maps(made: Scene, spec: DropoutSpec, passes: Passes, exact: Exact, study: Study | None) -> None:
    said = analysis.shown(spec, passes.values)
    mean, sd = running(said)
    plane = _plane(made, "mean", WORDS.phrase("stage.mean"), (0, 0, 11, 2), 360)
    plane.heatmap(
        levels(mean, 1.0), x=VIEW, y=VIEW, low=0.0, high=1.0, colormap="diverging", label=WORDS.phrase("stage.class_1"), alpha=0.75
    )
    _points(plane, spec, 2.6, labelled=True)
    now = _plane(made, "now", WORDS.phrase("stage.now"), (11, 0, 9, 1), 190)
    now.heatmap(
        levels(said, 1.0),
        x=VIEW,
        y=VIEW,
        low=0.0,
        high=1.0,
        colormap="diverging",
        label=WORDS.phrase("stage.class_1_now"),
        colorbar=False,
        alpha=0.75,
    )
    _points(now, spec, 1.2)
    exact_place: Place = (11, 2, 9, 1) if study is None else (6, 2, 6, 1)
    rows = [
        ("sd", WORDS.phrase("stage.sd_so_far"), sd, (11, 1, 9, 1)),
        ("sd-exact", WORDS.phrase("stage.sd_exact", masks=exact.masks), exact.sd, exact_place),
    ]
    if study is not None:
        rows.append(("sd-posterior", WORDS.phrase("stage.sd_posterior"), study.sd, (12, 2, 8, 1)))
    for id, title, cells, place in rows:
        panel = _plane(made, id, title, place, 190)
        panel.heatmap(
            levels(cells, WORST_SD), x=VIEW, y=VIEW, low=0.0, high=WORST_SD, label=WORDS.phrase("stage.sd_of_class_1"), colorbar=id == "sd"
        )
        _points(panel, spec, 1.2)


def _plane(made: Scene, id: str, title: str, place: Place, height: int) -> Panel:
    ticks = [(-1.0, "−1"), (0.0, "0"), (1.0, "1")]
    x, y = (Axis(WORDS.phrase("stage.input_of_two", name=name), *VIEW, ticks=ticks) for name in ("x₁", "x₂"))
    return made.panel(id, title=title, x=x, y=y, place=place, equal=True, height=height)


def _points(panel: Panel, spec: DropoutSpec, size: float, labelled: bool = False) -> None:
    x, y = analysis.data(spec)
    names = ["class 0", "class 1"] if labelled else None
    classes, shape = y.astype(np.int64), ["circle", "square"]
    panel.points(x, classes=classes, role=["surface", "surface"], shape=shape, size=size + 0.8, alpha=1.0)
    panel.points(x, classes=classes, role=["class-0", "class-1"], shape=shape, size=size, alpha=1.0, label=names)
    panel.points(analysis.probe(spec), role="ink", shape="cross", size=2.0 * size, label="x*" if labelled else None)


def levels(values: Array, high: float) -> NDArray[np.uint8]:
    """Values (..., CELLS²) from 0 to `high` as the frames of a heat map."""
    return pictured.levels(values, high).reshape(*values.shape[:-1], CELLS, CELLS)


# Both -----------------------------------------------------------------------------------------------------------------


def _network(made: Scene, spec: DropoutSpec, passes: Passes, place: Place) -> None:
    """The network of this pass: units that are dropped are not drawn."""
    panel = made.panel("network", title=WORDS.phrase("stage.network"), place=place, height=180)
    there = np.concatenate([passes.inputs, passes.units, np.ones((spec.passes, 1), dtype=bool)], axis=1)
    names = ["x₁", "x₂"] if spec.classifies else ["x"]
    sizes = [spec.inputs, spec.units, 1]
    panel.network(sizes, passes.theta, active=there, labels=[names, None, ["z" if spec.classifies else "f"]])


def _value(made: Scene, spec: DropoutSpec, passes: Passes, probed: Probed, place: Place) -> None:
    """The output at x*: its histogram over the passes, and the exact one over all masks."""
    share, outputs = probed
    off = float(analysis.switched_off(spec, analysis.probe(spec))[0])
    low, high = min(outputs.min(), off), max(outputs.max(), off)
    pad = 0.06 * (high - low) if high - low > 1e-6 else 0.5
    low, high = low - pad, high + pad
    density, edges = np.histogram(outputs, BINS, (low, high), weights=share)
    name = "logit z(x*)" if spec.classifies else "f(x*)"
    panel = made.panel(
        "value",
        title=WORDS.phrase("stage.over_the_passes", name=name),
        x=Axis(name, low, high),
        y=Axis(WORDS.phrase("stage.density"), 0.0),
        place=place,
        height=190,
    )
    width = edges[1] - edges[0]
    panel.histogram(passes.at_probe, bins=(low, high, BINS), role="proposal", label=WORDS.phrase("stage.passes_so_far"))
    panel.columns(edges[:-1] + width / 2, density / width, widths=width, role="truth", hollow=True, label=WORDS.phrase("stage.all_masks"))
    panel.rule(x=float(share @ outputs), role="truth", dash=True, label=WORDS.phrase("stage.over_all_masks"))
    panel.rule(x=off, role="reject", dash=True, label=WORDS.phrase("stage.off"))
    panel.rule(x=passes.at_probe, role="highlight", label=WORDS.phrase("stage.this_pass"))


def _average(made: Scene, spec: DropoutSpec, passes: Passes, probed: Probed, place: Place) -> None:
    share, outputs = probed
    count = np.arange(1, spec.passes + 1, dtype=float)
    panel = made.panel(
        "average",
        title=WORDS.phrase("stage.settles"),
        x=Axis(WORDS.phrase("stage.passes"), 0, spec.passes),
        y=Axis(WORDS.phrase("stage.average")),
        place=place,
        height=210,
    )
    panel.line(count, np.cumsum(passes.at_probe) / count, show="upto", role="proposal")
    panel.rule(y=float(share @ outputs), role="truth", dash=True)
    off = float(analysis.switched_off(spec, analysis.probe(spec))[0])
    panel.rule(y=off, role="reject", dash=True)
    panel.points([[0.0, off]], role="reject", size=0.1, alpha=0.0)  # keeps the rule inside the axis


def _words(made: Scene, spec: DropoutSpec, passes: Passes, exact: Exact, probed: Probed, study: Study | None) -> None:
    share, outputs = probed
    mean = float(share @ outputs)
    sd = float(np.sqrt(share @ (outputs - mean) ** 2))
    bias, keep = analysis.weights(spec).bias, analysis.keeps(spec)[1]
    factor = analysis.factor(spec, keep)
    off = float(analysis.switched_off(spec, analysis.probe(spec))[0])
    count = np.arange(1, spec.passes + 1)
    kept = passes.units.sum(axis=1)
    average = np.cumsum(passes.at_probe) / count
    name = "z(x*)" if spec.classifies else "f(x*)"
    times = "(1/p) ×" if spec.scaling == "inverse" else "1 (forgotten: 1/p) ×"
    asked = spec.method == "concrete_dropout"  # where p ends
    made.readout("kept", WORDS.phrase("stage.kept_card", units=spec.units, keep=keep), withheld=asked, n=count, kept=kept)
    made.readout(
        "sum",
        f"{name} = b + {times} Σ kept mⱼhⱼ = {bias:.3f} + {factor:.3g} × {{sum:.3f}} = {{value:.3f}}",
        withheld=asked,
        sum=(passes.at_probe - bias) / factor,
        value=passes.at_probe,
    )
    made.readout(
        "average", WORDS.phrase("stage.average_card", masks=len(share), mean=mean), n=count, average=average, error=sd / np.sqrt(count)
    )
    ratio = (off - bias) / (mean - bias) if abs(mean - bias) > 1e-9 else 1.0
    made.readout("off", WORDS.phrase("stage.off_card", off=off, ratio=ratio))
    low, high, below = analysis.widest_gap(*probed)
    if high - low > sd:
        made.readout("heaps", WORDS.phrase("stage.heaps_card", below=100 * below, low=low, high=high))
    if asked:
        inputs = analysis.keeps(spec)[0]
        made.readout("learned", WORDS.phrase("stage.learned_card", keep=keep, inputs=inputs), withheld=True)
    if not spec.classifies:
        scaled, plain = analysis.weight_decay(spec)
        share_of = "2pσ²n" if spec.scaling == "inverse" else "2σ²n, times p"
        words = WORDS.phrase("stage.decay_card", sd=spec.prior_sd, share=share_of, scaled=scaled, plain=plain)
        made.readout("decay", words, withheld=asked)
    if study is not None:
        at = int(np.argmin(((analysis.places(spec) - analysis.probe(spec)) ** 2).sum(axis=1)))
        what = WORDS.phrase("stage.class_1") if spec.classifies else "f"
        made.readout(
            "posterior",
            WORDS.phrase(
                "stage.posterior_card",
                what=what,
                dropout=exact.sd[at],
                posterior=study.sd[at],
                chains=study.values.shape[0],
                draws=study.values.shape[1],
            ),
        )
    made.say(WORDS.phrase("stage.said", units=spec.units, name=name, mean=mean), n=count, kept=kept, value=passes.at_probe, average=average)
    made.table({"pass": count, "units kept": kept, name: passes.at_probe, "average so far": average})
