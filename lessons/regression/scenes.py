"""The stage: curves drawn by one method, five methods beside one another, or one method on many data sets."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from app.kit import theme
from app.kit.player.events import placed
from app.kit.player.scene import Axis, Editable, Panel, Scene, Show
from app.kit.preview import Preview
from app.kit.text import number
from engine.spec import SpecError
from lessons.regression import analysis
from lessons.regression.analysis import FINE, GRID, HELD, Answer
from lessons.regression.spec import MAX_POINTS, METHODS, REACH, TALL, WORDS, RegressionLesson

Array = NDArray[np.float64]

NAMES = WORDS["options.method"]
PERCENT = 100 * HELD
LEFT, RIGHT = (0, 9), (9, 6)  # first column and columns of the two halves
TRAIL = 8  # drawn curves that stay
CLIP = 3.0 * TALL  # beyond it nothing is seen
BINS = 28
SHARES = [(float(share), str(share)) for share in (0, 25, 50, 75, 100)]  # ticks
COMPARED = 60  # steps of the comparison
QUICK = METHODS[1:]  # its methods that take less time than the posterior
FIRST_SETS = 4  # data sets of the first picture


OF_DATA = ("observations", "data_noise", "gap")
OF_METHODS = ("prior_sd", "noise_sd", "units", "keep", "members", "epochs")
PREVIEWS = {"at": Preview(), **dict.fromkeys((*OF_DATA, *OF_METHODS), Preview(smooth=False))}


def scene(spec: RegressionLesson, window: int | None) -> bytes:
    """The picture. `window` is not used: a draw has no inside here."""
    if spec.play == "draws":
        return _climbing(spec, analysis.answer(spec)) if spec.method == "map" else _drawing(spec, analysis.answer(spec))
    return _comparing(spec, METHODS) if spec.play == "compare" else _repeated(spec, FIRST_SETS, FIRST_SETS)


def grow(spec: RegressionLesson, job: Any) -> bytes | None:
    """The same, with what is there at once: the data before any method has answered, the first draws of a chain, the first
    climb, the methods that are quick, the first of many data sets.
    """
    if spec.play == "draws" and spec.method == "nuts":
        if spec.model == "network" and not analysis.is_there(spec, "nuts"):
            job.publish(_drawing(spec, analysis.unknown(spec, "nuts")))
        first = analysis.beginning(spec)
        if first is not None:
            job.publish(_drawing(spec, first))
    elif spec.play == "draws" and spec.method == "map":
        first = analysis.first_climb(spec)
        if first is not None:
            job.publish(_climbing(spec, first, first=True))
    elif spec.play == "compare":
        there = [method for method in METHODS if analysis.is_there(spec, method)]
        if len(there) < len(METHODS):
            job.publish(_comparing(spec, there))
        if "nuts" not in there:
            job.publish(_comparing(spec, QUICK))
    elif spec.play == "repeat":
        for sets in range(analysis.repeated(spec, FIRST_SETS), FIRST_SETS):
            job.publish(_repeated(spec, sets, FIRST_SETS))
    return None if job.is_set() else scene(spec, None)


def view(spec: RegressionLesson) -> float:
    """How far up and down the panels with curves reach."""
    y = analysis.data_of(spec)[1]
    seen = [np.abs(y).max(initial=0.0)]
    true = analysis.truth(spec, GRID)
    if true is not None:
        seen.append(np.abs(true).max())
    return float(min(TALL, max(2.5, math.ceil(2.0 * (float(max(seen)) + 0.4)) / 2.0)))


def curve_panel(
    picture: Scene,
    spec: RegressionLesson,
    found: Answer,
    id: str,
    title: str,
    place: tuple,
    height: int,
    editable: bool = False,
    labels: bool = True,
    climbed: Array | None = None,
) -> Panel:
    """Data, true curve and the two bands of one answer; with `climbed` (N, FINE), one curve on its way to the answer's."""
    x, y = analysis.data_of(spec)
    data = np.column_stack([x[:, 0], y])
    tall = view(spec)
    editor = Editable(points=data, classes=("measurement",), limit=MAX_POINTS) if editable else None
    axes = Axis(WORDS.phrase("stage.x"), -REACH, REACH), Axis("y", -tall, tall)
    panel = picture.panel(id, title=title, x=axes[0], y=axes[1], place=place, height=height, editable=editor)

    def label(name: str, **values: Any) -> str | None:
        return WORDS.phrase(f"stage.{name}", **values) if labels else None

    mean, bands, show, name = found.curves.mean(axis=0), (found.new_band, found.curve_band), "all", "mean_and_band"
    if climbed is not None:  # about each of them the noise is the same
        noise = found.new_band - mean
        mean, bands, show, name = climbed, (climbed + noise[:, None], np.stack([climbed, climbed])), "at", "one_curve"
    mean, (new, curve) = np.clip(mean, -CLIP, CLIP), (np.clip(band, -CLIP, CLIP) for band in bands)
    panel.line(GRID, mean, band=tuple(new), show=show, role="likelihood", width=0.1, label=label("new_band", held=PERCENT))
    panel.line(GRID, mean, band=tuple(curve), show=show, role="posterior", width=2.4, label=label(name, held=PERCENT))
    true = analysis.truth(spec, GRID)
    if true is not None:
        panel.line(GRID, true, role="truth", dash=True, width=2.2, label=label("true_curve"))
    if not editable:
        panel.points(data, role="ink", size=2.4, label=label("measurements"))
    return panel


# One method, draw by draw ---------------------------------------------------------------------------------------------


def _drawing(spec: RegressionLesson, found: Answer) -> bytes:
    steps = len(found.theta)
    picture = Scene(
        run=repr(spec),
        steps=steps,
        label=WORDS.phrase("stage.picture", method=NAMES[spec.method], held=PERCENT),
        rate=10.0,
        theme=theme.palette(),
        total=spec.draws if spec.method == "nuts" and steps < spec.draws else None,
    )
    title = WORDS.phrase("stage.edit")
    panel = curve_panel(picture, spec, found, "curve", title, (LEFT[0], 0, LEFT[1], 2), 430, editable=True)
    curves = np.clip(found.curves, -CLIP, CLIP)
    trail = Show("upto", last=TRAIL, fade=True)
    panel.line(GRID, curves, show=trail, role="highlight", width=1.2, label=WORDS.phrase("stage.single_curves"))
    panel.line(GRID, curves, show="at", role="highlight", width=2.6)
    panel.rule(x=spec.at, role="muted", label="x′")
    _spread(picture, spec, found)
    value = found.at([spec.at])[:, 0]
    _value(picture, spec, value)
    _trace(picture, spec, value)
    if spec.noise == "learned" and spec.method == "nuts":
        _noise(picture, spec, found)
    elif spec.data != "points":
        _calibration(picture, found, row=2)
    _words(picture, spec, found, value)
    return picture.encode()


def _spread(picture: Scene, spec: RegressionLesson, found: Answer) -> None:
    """The standard deviations at every input."""
    noise = np.full(FINE, found.aleatoric)
    total = np.hypot(noise, found.epistemic)
    panel = picture.panel(
        "spread",
        title=WORDS.phrase("stage.spread"),
        x=Axis(WORDS.phrase("stage.x"), -REACH, REACH),
        y=Axis(WORDS.phrase("stage.sd"), 0.0, 1.1 * min(float(np.nan_to_num(total.max(), nan=spec.noise_sd)), 2.0 * TALL)),
        place=(RIGHT[0], 0, RIGHT[1], 1),
        height=215,
    )
    panel.line(GRID, total, role="ink", width=1.4, label=WORDS.phrase("stage.total"))
    panel.line(GRID, found.epistemic, role="posterior", width=2.4, label=WORDS.phrase("stage.epistemic"))
    panel.line(GRID, noise, role="likelihood", dash=True, width=2.0, label=WORDS.phrase("stage.aleatoric"))
    if spec.model == "line" and len(analysis.data_of(spec)[1]):
        label = WORDS.phrase("stage.exact_epistemic")
        panel.line(GRID, analysis.exact(spec, GRID).sd, role="truth", dash=True, width=2.0, label=label)
    panel.rule(x=spec.at, role="muted")


def _range(values: Array, *more: float) -> tuple[float, float]:
    """Limits of an axis that shows most of the values, if any is known, and these."""
    ends = [float(edge) for edge in np.quantile(values, [0.005, 0.995])] if np.isfinite(values).all() else []
    low, high = min(*ends, *more), max(*ends, *more)
    pad = 0.15 * (high - low) + 0.02
    return low - pad, high + pad


def _limits(spec: RegressionLesson, value: Array) -> tuple[float, float]:
    if not np.isfinite(value).all():
        return -view(spec), view(spec)
    true = analysis.truth(spec, [spec.at])
    return _range(value, *(() if true is None else (float(true[0]),)), float(np.median(value)))


def _value(picture: Scene, spec: RegressionLesson, value: Array) -> None:
    """The curve at x′: how often each height came."""
    low, high = _limits(spec, value)
    panel = picture.panel(
        "value",
        title=WORDS.phrase("stage.value", at=number(spec.at)),
        x=Axis(WORDS.phrase("stage.height"), low, high),
        y=Axis(WORDS.phrase("stage.density")),
        place=(RIGHT[0], 1, RIGHT[1], 1),
        height=215,
    )
    panel.histogram(value, bins=(low, high, BINS), role="highlight", label=WORDS.phrase("stage.curves_so_far"))
    if spec.model == "line":
        at = np.linspace(low, high, 121)
        density = analysis.exact(spec, [spec.at]).density(at)
        panel.line(at, density, role="posterior", width=2.2, label=WORDS.phrase("stage.exact_posterior"))
    true = analysis.truth(spec, [spec.at])
    if true is not None:
        panel.rule(x=float(true[0]), role="truth", dash=True, label=WORDS.phrase("stage.true_curve"))


def _trace(picture: Scene, spec: RegressionLesson, value: Array) -> None:
    low, high = _limits(spec, value)
    panel = picture.panel(
        "trace",
        title=WORDS.phrase("stage.trace"),
        x=Axis(WORDS.phrase("stage.curve"), 0.0, float(len(value))),
        y=Axis(WORDS.phrase("stage.height_at"), low, high),
        place=(LEFT[0], 2, LEFT[1], 1),
        height=190,
    )
    panel.line(np.arange(1.0, len(value) + 1.0), value, show="upto", role="highlight", width=1.3)
    true = analysis.truth(spec, [spec.at])
    if true is not None:
        panel.rule(y=float(true[0]), role="truth", dash=True, label=WORDS.phrase("stage.true_curve"))


def _noise(picture: Scene, spec: RegressionLesson, found: Answer) -> None:
    """The noise that was learned."""
    low, high = _range(found.noise, spec.noise_sd, spec.data_noise if spec.data != "points" else spec.noise_sd)
    low = max(low, 0.0)
    panel = picture.panel(
        "noise",
        title=WORDS.phrase("stage.noise"),
        x=Axis(WORDS.phrase("stage.noise_axis"), low, high),
        y=Axis(WORDS.phrase("stage.density")),
        place=(RIGHT[0], 2, RIGHT[1], 1),
        height=190,
    )
    panel.histogram(found.noise, bins=(low, high, BINS), role="highlight", label=WORDS.phrase("stage.draws_so_far"))
    at = np.linspace(max(low, 1e-3), high, 121)
    prior = np.exp(analysis.log_noise_prior(spec, -2.0 * np.log(at))) * 2.0 / at
    panel.line(at, prior, role="prior", dash=True, width=1.8, label=WORDS.phrase("stage.prior"))
    if spec.data != "points":
        panel.rule(x=spec.data_noise, role="truth", dash=True, label=WORDS.phrase("stage.true_noise"))


def _calibration(picture: Scene, found: Answer, row: int) -> None:
    """What the bands hold against what they say."""
    says, holds = analysis.calibration(found)
    panel = picture.panel(
        "calibration",
        title=WORDS.phrase("stage.calibration"),
        x=Axis(WORDS.phrase("stage.should_hold"), 0.0, 100.0),
        y=Axis(WORDS.phrase("stage.it_holds"), 0.0, 100.0),
        place=(RIGHT[0], row, RIGHT[1], 1),
        height=190,
    )
    panel.line([0.0, 100.0], [0.0, 100.0], role="truth", dash=True, width=1.6, label=WORDS.phrase("stage.as_it_should"))
    panel.line(100 * says, 100 * holds, role="likelihood", width=2.4, label=WORDS.phrase("stage.fresh"))


def _words(picture: Scene, spec: RegressionLesson, found: Answer, value: Array) -> None:
    """What the draws say so far."""
    steps = len(value)
    count = np.arange(1, steps + 1)
    mean = np.cumsum(value) / count
    epistemic = np.sqrt(np.maximum(np.cumsum(value**2) / count - mean**2, 0.0))
    aleatoric = np.sqrt(np.cumsum(found.noise**2) / count)
    z = _luck(spec, steps)
    y = value + found.noise * z
    at = number(spec.at)
    picture.readout("outcome", WORDS.phrase("stage.outcome_card", at=at), f=value, s=found.noise, z=z, y=y)
    picture.readout(
        "split",
        WORDS.phrase("stage.split_card"),
        n=count,
        v=aleatoric**2 + epistemic**2,
        a=aleatoric**2,
        e=epistemic**2,
        t=np.hypot(aleatoric, epistemic),
        b=aleatoric,
        c=epistemic,
    )
    _held(picture, spec, found, steps)
    picture.say(WORDS.phrase("stage.said", at=at), f=value, e=epistemic, a=aleatoric)
    picture.table(
        {
            f"curve at {at}": value,
            "σ": found.noise,
            "new measurement": y,
            "mean so far": mean,
            "epistemic sd": epistemic,
            "aleatoric sd": aleatoric,
        }
    )


def _luck(spec: RegressionLesson, draws: int) -> Array:
    """The noise of so many new measurements, in units of σ."""
    return np.random.Generator(np.random.SFC64([spec.seed, 7])).standard_normal(draws)


def _held(picture: Scene, spec: RegressionLesson, found: Answer, steps: int) -> None:
    """What the bands held, at the last of the steps."""
    if spec.data == "points":
        return
    held = analysis.covered(found)
    picture.readout(
        "coverage",
        WORDS.phrase("stage.coverage_card", fresh=analysis.FRESH, held=PERCENT),
        h=at_the_end(steps, 100 * held.new),
        w=at_the_end(steps, 100 * held.error),
    )
    words, shares = told(spec, held, steps)
    picture.readout("curve", WORDS.phrase("stage.curve_card", held=PERCENT, shares=words), **shares)


# One network, on its way to the mode ----------------------------------------------------------------------------------

NEAREST = 0.01  # nats below the top that still count
BELOW = [(float(-power), f"{10.0**power:g}") for power in range(-2, 9, 2)]  # ticks: the top is where little is missing


def _climbing(spec: RegressionLesson, found: Answer, first: bool = False) -> bytes:
    """The scene of the best climb; `first`: of the first one, while there is no other."""
    climb = analysis.climb(spec, first)
    steps = len(climb.theta)
    picture = Scene(
        run=repr(spec), steps=steps, label=WORDS.phrase("stage.picture_of_climb", held=PERCENT), rate=10.0, theme=theme.palette()
    )
    iterates = dataclasses.replace(found, theta=climb.theta, noise=np.full(steps, found.noise[0]))
    title = WORDS.phrase("stage.edit")
    place = (LEFT[0], 0, LEFT[1], 2)
    panel = curve_panel(picture, spec, found, "curve", title, place, 430, editable=True, climbed=iterates.curves)
    panel.rule(x=spec.at, role="muted", label="x′")
    _spread(picture, spec, found)
    if spec.data != "points":
        _calibration(picture, found, row=1)
    _uphill(picture, climb)
    at, value, z = number(spec.at), iterates.at([spec.at])[:, 0], _luck(spec, 1)[0]
    y, noise, nothing = value + iterates.noise * z, iterates.noise**2, np.zeros(steps)
    card = WORDS.phrase("stage.first_climb_card" if first else "stage.climb_card", last=climb.last, climbs=analysis.CLIMBS)
    picture.readout("climb", card, i=climb.iteration, below=climb.below)
    picture.readout("outcome", WORDS.phrase("stage.outcome_of_one_card", at=at), f=value, s=iterates.noise, z=np.full(steps, z), y=y)
    picture.readout("split", WORDS.phrase("stage.split_of_one_card"), v=noise, a=noise, e=nothing)
    _held(picture, spec, found, steps)
    picture.say(WORDS.phrase("stage.said_of_climb", last=climb.last, at=at), i=climb.iteration, f=value)
    picture.table({"iteration": climb.iteration, "nats below the top": climb.below, f"curve at {at}": value, "new measurement": y})
    return picture.encode()


def _uphill(picture: Scene, climb: analysis.Climb) -> None:
    """How far below the mode the iterates are."""
    height = -np.log10(np.maximum(climb.below, NEAREST))
    low = float(np.floor(height.min()))
    panel = picture.panel(
        "uphill",
        title=WORDS.phrase("stage.uphill"),
        x=Axis(WORDS.phrase("stage.iteration"), 0.0, float(max(climb.last, 1))),
        y=Axis(WORDS.phrase("stage.below"), low, 2.3, ticks=[tick for tick in BELOW if tick[0] >= low]),
        place=(LEFT[0], 2, LEFT[1] + RIGHT[1], 1),
        height=190,
    )
    panel.line(climb.iteration.astype(float), height, show="upto", role="highlight", width=1.8)


# Five methods ---------------------------------------------------------------------------------------------------------


def _comparing(spec: RegressionLesson, methods: Sequence[str]) -> bytes:
    """The methods beside one another, as many of them as shall have answered."""
    picture = Scene(
        run=repr(spec), steps=COMPARED, label=WORDS.phrase("stage.picture_of_methods", held=PERCENT), rate=6.0, theme=theme.palette()
    )
    answers = {method: (analysis.answer if method in methods else analysis.unknown)(spec, method) for method in reversed(METHODS)}
    for index, (method, found) in enumerate(answers.items()):
        first = index == 0
        title, place = f"{index + 1} · {NAMES[method]}", (5 * (index % 3), index // 3, 5, 1)
        panel = curve_panel(picture, spec, found, method, title, place, 250, labels=first)
        curves = np.clip(_cycled(found.curves), -CLIP, CLIP)
        width = 1.8 if len(found.theta) > 1 else 1.0
        panel.line(GRID, curves, show="at", role="highlight", width=width, label=WORDS.phrase("stage.single_curves") if first else None)
    if spec.data == "points" or spec.gap == 0.0:
        near = int(np.argmin(np.abs(GRID - spec.at)))
        values = [float(found.epistemic[near]) for found in answers.values()]
        title, axis = WORDS.phrase("stage.epistemic_at", at=number(spec.at)), Axis(WORDS.phrase("stage.units_of_y"), 0.0, None)
    else:
        values = [100 * analysis.covered(found).gap for found in answers.values()]
        title, axis = WORDS.phrase("stage.gap_held"), Axis(WORDS.phrase("stage.held_by_band", held=PERCENT), 0.0, 100.0)
    panel = picture.panel("held", title=title, x=Axis(WORDS.phrase("stage.method"), 0, 5), y=axis, place=(10, 1, 5, 1), height=250)
    panel.bars(np.array(values), labels=[str(i + 1) for i in range(len(answers))], role="posterior")
    if axis.high is not None:
        panel.rule(y=PERCENT, role="truth", dash=True)
    _compared_words(picture, spec, answers)
    return picture.encode()


def _compared_words(picture: Scene, spec: RegressionLesson, answers: dict[str, Answer]) -> None:
    near = int(np.argmin(np.abs(GRID - spec.at)))
    for index, (method, found) in enumerate(answers.items()):
        text = WORDS.phrase("stage.method_card", number=index + 1, method=NAMES[method], at=number(spec.at))
        values: dict[str, Any] = {"e": at_the_end(COMPARED, found.epistemic[near])}
        if spec.data != "points":
            held = analysis.covered(found)
            words, shares = told(spec, held, COMPARED)
            text = f"{text}; {WORDS.phrase('stage.method_held', shares=words)}"
            values |= shares | {"h": at_the_end(COMPARED, 100 * held.new), "w": at_the_end(COMPARED, 100 * held.error)}
        picture.readout(method, text, **values)
    picture.say(WORDS.phrase("stage.said_of_methods"))
    picture.table({NAMES[m]: _cycled(found.curves[:, near]) for m, found in answers.items()})


def at_the_end(steps: int, value: float) -> Array:
    """What all curves together tell: unknown before the last of them."""
    return np.append(np.full(steps - 1, np.nan), value)


def told(spec: RegressionLesson, held: analysis.Coverage, steps: int) -> tuple[str, dict[str, Any]]:
    """How much of the true curve was held: words with fields, and their values, known at the last of the steps."""
    gap = [("b", "held_in_gap", held.gap)] if spec.gap > 0.0 else []
    parts = [("a", "held_on_data", held.near), *gap, ("c", "held_at_ends", held.ends)]
    words = ", ".join(WORDS.phrase(f"stage.{where}") for _, where, _ in parts)
    return words, {field: at_the_end(steps, 100 * share) for field, _, share in parts}


def _cycled(values: Array) -> Array:
    """COMPARED rows: spread over many, or few again and again."""
    if len(values) > COMPARED:
        return values[np.linspace(0, len(values) - 1, COMPARED).astype(int)]
    return values[np.arange(COMPARED) % len(values)]


# Many data sets -------------------------------------------------------------------------------------------------------


def live(spec: RegressionLesson) -> Any:
    """The body of the long run: the spec's method on more and more data sets."""

    def body(job: Any) -> bytes:
        if spec.data == "points":
            raise SpecError("data", "your own points cannot be measured again: choose the curve or the line")
        done = min(FIRST_SETS, spec.repeats)
        while done < spec.repeats and not job.cancelled:
            done = min(spec.repeats, done + 2)
            found = _repeated(spec, done, spec.repeats)
            job.report(done, spec.repeats)
            job.publish(found)
        return _repeated(spec, done, done)

    return body


def _repeated(spec: RegressionLesson, number_of: int, total: int) -> bytes:
    """The method on so many data sets, or none yet."""
    sets = analysis.repeat(spec, number_of)
    steps = len(sets)
    picture = Scene(
        run=repr(("repeat", spec)),
        steps=steps,
        label=WORDS.phrase("stage.picture_of_sets", method=NAMES[spec.method]),
        rate=3.0,
        autoplay=True,
        theme=theme.palette(),
        total=total if total > steps else None,
    )
    tall = view(spec)
    axes = Axis(WORDS.phrase("stage.x"), -REACH, REACH), Axis("y", -tall, tall)
    panel = picture.panel("set", title=WORDS.phrase("stage.sets"), x=axes[0], y=axes[1], place=(*_at(LEFT, 0), 1), height=330)
    edges = np.clip(np.stack([one.band for one in sets]), -CLIP, CLIP)
    news = np.clip(np.stack([one.new_band for one in sets]), -CLIP, CLIP)
    for side in (0, 1):
        new, curves = (WORDS.phrase(f"stage.{name}", held=PERCENT) if side == 0 else None for name in ("new_band", "curve_band"))
        panel.line(GRID, news[:, side], show="at", role="likelihood", dash=True, width=1.6, label=new)
        panel.line(GRID, edges[:, side], show="at", role="posterior", width=2.2, label=curves)
    panel.line(GRID, analysis.truth(spec, GRID), role="truth", dash=True, width=2.2, label=WORDS.phrase("stage.true_curve"))
    panel.rule(x=spec.at, role="muted", label="x′")
    measured = np.stack([one.data for one in sets])
    paths = np.stack([_ticks(data, 0.012 * tall) for data in measured])
    panel.path(paths, at=np.arange(steps), role="ink", width=3.0, label=WORDS.phrase("stage.measurements"))
    _running(picture, spec, sets, total)
    return picture.encode()


def _at(half: tuple[int, int], row: int) -> tuple[int, int, int]:
    return half[0], row, half[1]


def _ticks(data: Array, half: float) -> Array:
    """Measurements (n, 2) as short upright strokes, NaN between them: one polyline."""
    rows = np.full((len(data), 3, 2), np.nan)
    rows[:, :2, 0] = data[:, :1]
    rows[:, 0, 1], rows[:, 1, 1] = data[:, 1] - half, data[:, 1] + half
    return rows.reshape(-1, 2)


def _running(picture: Scene, spec: RegressionLesson, sets: list[analysis.OneSet], total: int) -> None:
    steps = len(sets)
    known = np.isfinite([one.new_share for one in sets])
    number_of = np.cumsum(known)
    count = np.where(known, number_of, np.nan)
    rows = {
        "new": (WORDS.phrase("stage.new_at"), np.array([one.new_held for one in sets]), "likelihood"),
        "curve": (WORDS.phrase("stage.true_at"), np.array([one.held_at for one in sets]), "posterior"),
    }
    panel = picture.panel(
        "running",
        title=WORDS.phrase("stage.running", held=PERCENT),
        x=Axis(WORDS.phrase("stage.number_of_sets"), 0.0, float(max(total, steps))),
        y=Axis(WORDS.phrase("stage.share"), 0.0, 105.0, ticks=SHARES),
        place=(RIGHT[0], 0, RIGHT[1], 1),
        height=330,
    )
    panel.rule(y=PERCENT, role="truth", dash=True, label=WORDS.phrase("stage.as_it_says"))
    shares, errors = {}, {}
    for name, (words, held, role) in rows.items():
        shares[name] = np.cumsum(held) / count
        smooth = (np.cumsum(held) + 1.0) / (count + 2.0)  # an error of 0 at a share of 0 or 1 would be a lie
        errors[name] = np.sqrt(smooth * (1.0 - smooth) / count)
        panel.line(count, 100 * shares[name], show="upto", role=role, width=2.4, label=words, dash=name == "new")
    inside = np.stack([one.held for one in sets])
    so_far = np.cumsum(inside, axis=0) / count[:, None]
    panel = picture.panel(
        "places",
        title=WORDS.phrase("stage.places"),
        x=Axis(WORDS.phrase("stage.x"), -REACH, REACH),
        y=Axis(WORDS.phrase("stage.share"), 0.0, 108.0, ticks=SHARES[::2]),
        place=(LEFT[0], 1, LEFT[1] + RIGHT[1], 1),
        height=190,
    )
    panel.line(GRID, 100 * so_far, show="at", role="posterior", width=2.4, label=WORDS.phrase("stage.so_far"))
    panel.rule(y=PERCENT, role="truth", dash=True, label=WORDS.phrase("stage.as_it_says"))
    for edge in analysis.gap_of(spec.gap):
        panel.rule(x=edge, role="muted", label=WORDS.phrase("stage.gap") if edge < 0.7 else None)
    at = number(spec.at)
    for name, (words, held, _) in rows.items():
        picture.readout(
            name,
            WORDS.phrase("stage.running_card", what=words, at=at),
            this=held,
            k=np.nancumsum(held).astype(int),
            n=number_of,
            p=100 * shares[name],
            e=100 * errors[name],
        )
    everywhere = np.cumsum([one.new_share for one in sets]) / count
    picture.readout("all", WORDS.phrase("stage.all_card", fresh=analysis.REPEATED_FRESH), p=100 * everywhere)
    picture.say(WORDS.phrase("stage.said_of_sets"), k=np.nancumsum(rows["curve"][1]).astype(int), n=number_of)
    picture.table(
        {
            "data set": count,
            "true curve at x′ held": rows["curve"][1],
            "new measurement at x′ held": rows["new"][1],
            "new measurements held": np.array([one.new_share for one in sets]),
        }
    )


# What the reader does in the stage ------------------------------------------------------------------------------------


def on_event(spec: RegressionLesson, event: dict) -> RegressionLesson | None:
    """Points placed, moved or removed in the stage become the data."""
    points = placed(event, "curve", x=(-REACH, REACH), y=(-TALL, TALL), label=0, most=MAX_POINTS)
    return None if points is None else spec.replace(data="points", points=points)
