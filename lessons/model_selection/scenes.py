"""The stage: data arriving and the evidence of each degree, posterior draws, or all data sets there could be."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from app.kit import theme
from app.kit.player.events import placed
from app.kit.player.scene import Axis, Editable, Panel, Phase, Scene, Show
from app.kit.preview import Preview
from app.kit.text import number
from engine import linear
from engine.linear import polynomial_design
from lessons.model_selection import analysis
from lessons.model_selection.analysis import CELLS, EACH, GRID, LIMIT, PLACES, ROUNDS, STRENGTHS
from lessons.model_selection.spec import MAX_POINTS, REACH, WORDS, ModelSelectionLesson

Array = NDArray[np.float64]

PHASES = tuple(Phase(name, WORDS.phrase(f"phases.{name}")) for name in ("predict", "observe", "update"))
OBSERVED, AFTER = Show("all", phase=("observe", None)), Show("all", phase=("update", None))
EARLIER, NOW = Show("at", phase=("predict", "observe")), Show("at", phase=("update", None))
HEIGHT, LOWER = 270, 215
LEFT, RIGHT = (0, 9), (9, 6)  # first column and columns of the two halves
VIEW = 1.75  # of y at least
DEEP = 30.0  # nats below the average that are shown
BELL = (121, 401)  # nodes of a predictive density, at least and at most
FIRST = 3  # observations seen when the page opens: the contest has begun and is not decided
TRAIL = 14  # drawn curves that stay
NEIGHBOURS = 9  # data sets, in the order of rank, whose probabilities are averaged in the picture
MARKS = ("circle", "diamond", "square")  # of the followed degrees


PREVIEWS = dict.fromkeys(("prior_sd", "noise_sd", "worth", "at", "degree"), Preview(smooth=False))


def scene(spec: ModelSelectionLesson, window: int | None) -> bytes:
    """The picture. `window` is not used: a step has no inside beyond its phases."""
    return {"data": _arriving, "draws": _drawing, "razor": _possible}[spec.play](spec)


def _scene(spec: ModelSelectionLesson, run: tuple, label: str, **layout) -> Scene:
    return Scene(run=repr((spec.play, *run)), theme=theme.palette(), label=label, **layout)


def _curve_panel(picture: Scene, spec: ModelSelectionLesson, title: str) -> Panel:
    """x and y with the true curve; the data can be edited."""
    data = analysis.fits(spec).data
    reach = min(REACH, max(VIEW, 1.1 * float(np.abs(data.y).max())))
    panel = picture.panel(
        "curve",
        title=title,
        x=Axis("x", 0.0, 1.0),
        y=Axis("y", -reach, reach),
        place=(LEFT[0], 0, LEFT[1], 1),
        height=HEIGHT,
        editable=Editable(points=np.column_stack([data.x, data.y]), classes=("observation",), limit=MAX_POINTS),
    )
    curve = analysis.truth(spec)
    if curve is not None:
        panel.line(GRID, curve, role="truth", dash=True, width=2.0, label=WORDS.phrase("stage.true_curve"))
    return panel


# Data arriving --------------------------------------------------------------------------------------------------------


def _arriving(spec: ModelSelectionLesson) -> bytes:
    run = analysis.arrival(spec)
    n = len(run.order)
    picture = _scene(
        spec,
        (tuple(run.fits.data.x), tuple(run.fits.data.y), spec.order, spec.seed),
        WORDS.phrase("stage.picture", degrees=spec.degrees, points=n),
        steps=n + 1,
        rate=max(2.5, n / 10.0),
        phases=PHASES,
        start=min(FIRST, n),
    )
    _seen(picture, spec, run)
    _probabilities(picture, spec, run)
    _prediction(picture, spec, run)
    _evidence(picture, spec, run)
    _scores(picture, spec, run)
    return picture.encode()


def _seen(picture: Scene, spec: ModelSelectionLesson, run: analysis.Arrival) -> None:
    data, order = run.fits.data, run.order
    panel = _curve_panel(picture, spec, WORDS.phrase("stage.data"))
    limit = 3.0 * REACH  # beyond it nothing is seen
    for show, moved in ((EARLIER, _before), (NOW, np.asarray)):
        named = show is NOW
        for values, words in ((run.low, WORDS.phrase("stage.band")), (run.high, None)):
            panel.line(
                GRID,
                moved(np.clip(values, -limit, limit)),
                show=show,
                role="posterior",
                width=1.2,
                dash=True,
                label=words if named else None,
            )
        label = WORDS.phrase("stage.average") if named else None
        panel.line(GRID, moved(run.average), show=show, role="posterior", width=2.8, label=label)
        label = WORDS.phrase("stage.likely", degree=spec.degree) if named else None
        likely = moved(np.clip(run.likely, -limit, limit))
        panel.line(GRID, likely, show=show, role="likelihood", width=1.6, label=label)
    points = np.vstack([[np.nan, np.nan], np.column_stack([data.x, data.y])[order]])
    panel.points(points, show="upto", role="highlight", shape="ring", size=8, label=WORDS.phrase("stage.seen"))
    panel.points(points, show=Show("at", phase=("observe", None)), role="ink", shape="ring", size=11, label=WORDS.phrase("stage.newest"))
    panel.rule(x=np.concatenate([[np.nan], data.x[order]]), show=Show("at", phase=("predict", "observe")), role="muted", dash=True)


def _before(values: Array) -> Array:
    """What is known of each step before its observation: the row of the step before."""
    return np.concatenate([values[:1], values[:-1]])


def _probabilities(picture: Scene, spec: ModelSelectionLesson, run: analysis.Arrival) -> None:
    panel = picture.panel(
        "degrees",
        title=WORDS.phrase("stage.degrees"),
        x=Axis(WORDS.phrase("stage.degree"), 0, spec.degrees),
        y=Axis(WORDS.phrase("stage.given_data"), 0.0, 1.0),
        place=(RIGHT[0], 0, RIGHT[1], 1),
        height=HEIGHT,
    )
    label = WORDS.phrase("stage.probability" if spec.mistake == "none" else "stage.mistaken")
    names = [str(d) for d in spec.all_degrees()]
    panel.bars(run.probability, labels=names, show=NOW, role="posterior", label=label)
    earlier = _before(run.probability)
    edges = (np.arange(spec.degrees)[:, None] + np.array([0.1, 0.1, 0.9, 0.9])).ravel()
    outline = np.repeat(earlier, 4, axis=1) * np.tile([0.0, 1.0, 1.0, 0.0], spec.degrees)
    panel.line(edges, outline, show="at", role="muted", width=1.2, label=WORDS.phrase("stage.before"))


def _prediction(picture: Scene, spec: ModelSelectionLesson, run: analysis.Arrival) -> None:
    """Each followed degree's density of the next y before it is seen; its height at what came is the score."""
    course, y = run.course, run.fits.data.y[run.order]
    columns = [d - 1 for d in spec.followed()]
    seen, dof = course.score[:, columns], course.dof[:-1, None]
    edge = min(2.0 * REACH, max(1.3, 1.4 * float(np.abs(y).max())))
    nodes = np.clip(8.0 * edge / course.spread[:, columns].min(), *BELL)  # four to the narrowest sd, if it can be
    at = np.linspace(-edge, edge, int(nodes))
    bells = []
    for column in columns:
        z = (at - course.expected[:, column, None]) / course.spread[:, column, None]
        bells.append(np.exp(linear.log_density(z**2, 1, 2.0 * np.log(course.spread[:, column, None]), dof)))
    top = min(float(np.max(bells)), 2.5 * float(np.exp(seen).max(initial=0.1)))
    panel = picture.panel(
        "next",
        title=WORDS.phrase("stage.next"),
        x=Axis("y", -edge, edge),
        y=Axis(WORDS.phrase("stage.density"), 0.0, 1.15 * top),
        place=(LEFT[0], 1, LEFT[1], 1),
        height=LOWER,
    )
    for line, d in enumerate(spec.followed()):
        curves = np.vstack([np.full((1, len(at)), np.nan), bells[line]])
        panel.line(at, curves, show="at", role=_role(line), dash=line == 2, width=2.0, label=_degree(d))
        tops = np.vstack([[np.nan, np.nan], np.column_stack([y, np.exp(seen[:, line])])])
        panel.points(tops, show=Show("at", phase=("observe", None)), role=_role(line), shape=MARKS[line], size=5)
    panel.rule(
        x=np.concatenate([[np.nan], y]), show=Show("at", phase=("observe", None)), role="ink", dash=True, label=WORDS.phrase("stage.came")
    )


def _role(line: int) -> str:
    return ("momentum", "accept", "reject")[line]


def _degree(degree: int) -> str:
    return WORDS.phrase("stage.of_degree", degree=degree)


def _listed(degrees: Sequence[int], values: Sequence[str]) -> str:
    """What is said of each degree: "degree 1: …, degree 4: …"."""
    return ", ".join(f"{_degree(degree)}: {value}" for degree, value in zip(degrees, values, strict=True))


def _evidence(picture: Scene, spec: ModelSelectionLesson, run: analysis.Arrival) -> None:
    n = len(run.order)
    lines = {d: run.log_evidence[:, d - 1] - run.log_average for d in spec.followed()}
    lowest = min(float(np.nanmin(line)) for line in lines.values())
    panel = picture.panel(
        "evidence",
        title=WORDS.phrase("stage.evidence"),
        x=Axis(WORDS.phrase("stage.observations"), 0.0, float(n)),
        y=Axis(WORDS.phrase("stage.over_average"), max(-DEEP, 1.1 * lowest - 1.0), _above(lines)),
        place=(RIGHT[0], 1, RIGHT[1], 1),
        height=LOWER,
    )
    panel.rule(y=0.0, role="muted", label=WORDS.phrase("stage.of_all"))
    for line, (d, values) in enumerate(lines.items()):
        panel.line(np.arange(n + 1.0), values, show="upto", role=_role(line), dash=line == 2, width=2.2, label=_degree(d))


def _above(lines: dict[int, Array]) -> float:
    return 1.0 + 1.15 * max(0.5, *(float(np.nanmax(line)) for line in lines.values()))


def _scores(picture: Scene, spec: ModelSelectionLesson, run: analysis.Arrival) -> None:
    course, n, d = run.course, len(run.order), spec.degree
    x, y = run.fits.data.x[run.order], run.fits.data.y[run.order]
    column = d - 1

    def late(values: Array) -> Array:
        return np.concatenate([[np.nan], values])

    others = [other for other in spec.followed() if other != d]
    # With the noise known the next y is normal; unknown, it is Student's t, whose scale is smaller than its sd.
    shape: dict[str, Any] = {"v": late(course.dof[:-1])} if spec.noise == "unknown" else {}
    picture.readout(
        "predict",
        WORDS.phrase("stage.predict_card", degree=d, density=WORDS.phrase(f"stage.density_{spec.noise}")),
        k=np.maximum(np.arange(n + 1) - 1, 0),
        x=late(x),
        m=late(course.expected[:, column]),
        s=late(course.spread[:, column]),
        **shape,
    )
    told = "; ".join(f"{_degree(other)}: {{{name}:.3f}}" for name, other in zip("bc", others, strict=False))
    scored: dict[str, Any] = {name: late(course.score[:, other - 1]) for name, other in zip("bc", others, strict=False)}
    picture.readout(
        "observe",
        WORDS.phrase("stage.observe_card") + (f" ({told})" if told else ""),
        show=OBSERVED,
        y=late(y),
        a=late(course.score[:, column]),
        **scored,
    )
    exact = course.log_evidence[:, column]
    picture.readout(
        "add", WORDS.phrase("stage.add_card", degree=d), show=AFTER, o=late(exact[:-1]), a=late(course.score[:, column]), e=exact
    )
    for other in others[:2]:
        gap = run.log_evidence[:, column] - run.log_evidence[:, other - 1]
        in_favour: dict[str, Any] = {"for": gap >= 0.0}
        picture.readout(
            f"factor-{other}",
            WORDS.phrase("stage.factor_card", degree=d, other=other, strengths="|".join(STRENGTHS)),
            show=AFTER,
            a=run.log_evidence[:, column],
            b=run.log_evidence[:, other - 1],
            g=gap,
            f=gap / np.log(10.0),
            w=analysis.grade(gap),
            **in_favour,
        )
    best = run.probability.argmax(axis=1)
    top = run.probability.max(axis=1)
    picture.readout("best", WORDS.phrase("stage.best_card"), show=AFTER, d=best + 1, p=top)
    if spec.noise == "unknown":
        picture.readout("noise", WORDS.phrase("stage.noise_card", degree=d, guess=spec.noise_sd), show=AFTER, s=course.scale[:, column])
    if spec.mistake != "none":
        picture.readout("mistake", WORDS.phrase(f"stage.{spec.mistake}_card"))
    picture.say(WORDS.phrase("stage.said"), k=np.arange(n + 1), d=best + 1, p=top)
    columns = {"seen": np.arange(n + 1), "x": late(x), "y": late(y), "most probable degree": best + 1}
    columns |= {f"score of degree {f}": late(course.score[:, f - 1]) for f in spec.followed()}
    columns |= {f"log evidence of degree {f}": run.log_evidence[:, f - 1] for f in spec.followed()}
    picture.table(columns)


# Draws ----------------------------------------------------------------------------------------------------------------


def _drawing(spec: ModelSelectionLesson) -> bytes:
    here, drawn = analysis.fits(spec), analysis.record(spec)
    picture = _scene(spec, (repr(spec),), WORDS.phrase("stage.picture_of_draws"), steps=spec.draws, rate=12.0)
    panel = _curve_panel(picture, spec, WORDS.phrase("stage.curves"))
    mean, sd = here.average()
    low, high = (np.clip(mean + sign * 2.0 * sd, -3 * REACH, 3 * REACH) for sign in (-1, 1))
    panel.line(GRID, mean, band=(low, high), role="posterior", width=2.2, label=WORDS.phrase("stage.of_all_band"))
    curves = np.clip(drawn.curve, -3.0 * REACH, 3.0 * REACH)
    panel.line(GRID, curves, show=Show("upto", last=TRAIL, fade=True), role="highlight", width=1.2, label=WORDS.phrase("stage.draws"))
    panel.line(GRID, curves, show="at", role="highlight", width=2.6, label=WORDS.phrase("stage.newest_draw"))
    panel.rule(x=spec.at, role="muted", dash=True, label="x′")
    names = [str(d) for d in spec.all_degrees()]
    panel = picture.panel(
        "degrees",
        title=WORDS.phrase("stage.frequencies"),
        x=Axis(WORDS.phrase("stage.degree"), 0, spec.degrees),
        y=Axis(WORDS.phrase("stage.share"), 0.0, None),
        place=(RIGHT[0], 0, RIGHT[1], 1),
        height=HEIGHT,
    )
    label = WORDS.phrase("stage.counted" if spec.mistake == "none" else "stage.counted_mistaken")
    panel.counts(drawn.degree - 1, spec.degrees, names, role="highlight", truth=here.probability, label=label)
    _value(picture, spec, drawn.value)
    means, _, _ = analysis.value_laws(spec)
    lowest, highest = _value_range(spec)
    exact = float(here.probability @ means)
    panel = picture.panel(
        "trace",
        title=WORDS.phrase("stage.trace"),
        x=Axis(WORDS.phrase("stage.draw"), 0.0, float(spec.draws)),
        y=Axis(WORDS.phrase("stage.curve_at"), lowest, highest),
        place=(LEFT[0], 1, LEFT[1], 1),
        height=LOWER,
    )
    panel.line(np.arange(1.0, spec.draws + 1.0), drawn.value, show="upto", role="highlight", width=1.2)
    panel.rule(y=exact, role="posterior", dash=True, label=WORDS.phrase("stage.exact_mean"))
    so_far = np.cumsum(drawn.value) / np.arange(1, spec.draws + 1)
    probability = here.probability[drawn.degree - 1]
    picture.readout("degree", WORDS.phrase("stage.degree_card"), d=drawn.degree, p=probability)
    picture.readout("value", WORDS.phrase("stage.value_card", at=spec.at, exact=number(exact, 4)), v=drawn.value, m=so_far)
    picture.say(WORDS.phrase("stage.said_of_draws", at=spec.at), d=drawn.degree, v=drawn.value)
    picture.table({"degree": drawn.degree, f"curve at {spec.at:g}": drawn.value, "average so far": so_far})
    return picture.encode()


def _value_range(spec: ModelSelectionLesson) -> tuple[float, float]:
    values = analysis.record(spec).value
    low, high = np.quantile(values, [0.01, 0.99])
    pad = 0.3 * (high - low) + 1e-6
    return float(low - pad), float(high + pad)


def _value(picture: Scene, spec: ModelSelectionLesson, values: Array) -> None:
    low, high = _value_range(spec)
    at = np.linspace(low, high, 121)
    best = analysis.fits(spec).best
    average, single = analysis.value_density(spec, at), analysis.value_density(spec, at, best)
    panel = picture.panel(
        "value",
        title=WORDS.phrase("stage.value", at=spec.at),
        x=Axis(WORDS.phrase("stage.height"), low, high),
        y=Axis(WORDS.phrase("stage.density"), 0.0, 1.25 * float(max(average.max(), single.max()))),
        place=(RIGHT[0], 1, RIGHT[1], 1),
        height=LOWER,
    )
    panel.histogram(values, bins=(low, high, 36), role="highlight", label=WORDS.phrase("stage.draws_so_far"))
    panel.line(at, average, role="posterior", width=2.2, label=WORDS.phrase("stage.of_all_exact"))
    panel.line(at, single, role="likelihood", dash=True, width=2.0, label=WORDS.phrase("stage.alone", degree=best))
    if spec.data == "cosine":
        panel.rule(x=float(analysis.true_curve(spec.at)), role="truth", dash=True, label=WORDS.phrase("stage.true_curve"))


# All possible data sets -----------------------------------------------------------------------------------------------


def _possible(spec: ModelSelectionLesson) -> bytes:
    found = analysis.razor(spec)
    steps = np.arange(1, ROUNDS + 1)
    picture = _scene(spec, (repr(spec),), WORDS.phrase("stage.picture_of_razor", cells=CELLS), steps=ROUNDS, rate=6.0, start=ROUNDS - 1)
    _imagined(picture, spec, found)
    _spread(picture, spec, found)
    held = found.holding(0.9)
    panel = picture.panel(
        "held",
        title=WORDS.phrase("stage.held"),
        x=Axis(WORDS.phrase("stage.model"), 0, len(found.degrees)),
        y=Axis(WORDS.phrase("stage.hold"), 0.0, float(CELLS)),
        place=(RIGHT[0], 0, RIGHT[1], 1),
        height=HEIGHT,
    )
    panel.bars(held.astype(float), labels=[_degree(d) for d in found.degrees], role="posterior", label=WORDS.phrase("stage.sets"))
    names = "abc"[: len(found.degrees)]
    picture.readout("made", WORDS.phrase("stage.made_card"), n=EACH * steps)
    whole, fine = [f"{{{name}:d}}" for name in names], [f"{{{name}:.4f}}" for name in names]
    holding: dict[str, Any] = {name: held[:, i] for i, name in enumerate(names)}
    picture.readout("held", WORDS.phrase("stage.held_card", cells=CELLS, listed=_listed(found.degrees, whole)), **holding)
    if found.own is not None:
        share = found.share[:, :, found.own]
        own: dict[str, Any] = {name: share[:, i] for i, name in enumerate(names)}
        picture.readout("own", WORDS.phrase("stage.own_card", listed=_listed(found.degrees, fine)), **own)
    exact = [number(analysis.fits(spec).exact[d - 1], 4) for d in found.degrees]
    picture.readout("exact", WORDS.phrase("stage.exact_card", listed=_listed(found.degrees, exact)))
    said = WORDS.phrase("stage.said_of_razor", models=len(names), numbers=", ".join(whole))
    picture.say(said, n=EACH * steps, **holding)
    picture.table(
        {"data sets of each": EACH * steps}
        | {f"90 % of degree {d}": held[:, i] for i, d in enumerate(found.degrees)}
        | {f"drawn from degree {d}": found.cell[:, i] for i, d in enumerate(found.degrees)}
    )
    return picture.encode()


def _imagined(picture: Scene, spec: ModelSelectionLesson, found: analysis.Razor) -> None:
    edge = 4.0 if spec.prior_sd < 2.0 else 3.0 * spec.prior_sd
    panel = picture.panel(
        "imagined",
        title=WORDS.phrase("stage.imagined"),
        x=Axis("x", 0.0, 1.0),
        y=Axis("y", -edge, edge),
        place=(LEFT[0], 0, LEFT[1], 1),
        height=HEIGHT,
    )
    for limit in (-LIMIT, LIMIT):
        panel.rule(y=limit, role="muted", dash=True, label=WORDS.phrase("stage.rounded") if limit > 0 else None)
    for line, d in enumerate(found.degrees):
        curves = found.coefficients[line] @ polynomial_design(GRID, d, spec.basis).T
        panel.line(GRID, curves, show="at", role=_role(line), dash=line == 2, width=2.0, label=_degree(d))
        for place, values in zip(PLACES, found.y[:, line].T, strict=True):
            points = np.column_stack([np.full(ROUNDS, place), values])
            panel.points(points, show="at", role=_role(line), shape=MARKS[line], size=4.5)


def _spread(picture: Scene, spec: ModelSelectionLesson, found: analysis.Razor) -> None:
    panel = picture.panel(
        "razor",
        title=WORDS.phrase("stage.razor", cells=CELLS),
        x=Axis(WORDS.phrase("stage.by_rank"), 0.0, float(CELLS)),
        y=Axis(WORDS.phrase("stage.mean_of_neighbours", neighbours=NEIGHBOURS), 1e-5, 0.2, log=True),
        place=(LEFT[0], 1, LEFT[1] + RIGHT[1], 1),
        height=LOWER + 30,
    )
    at = (np.arange(CELLS // NEIGHBOURS) + 0.5) * NEIGHBOURS
    for line, d in enumerate(found.degrees):
        share = found.share[:, line].reshape(ROUNDS, -1, NEIGHBOURS).mean(axis=2)
        share = np.where(share > 0.0, share, np.nan)
        panel.line(at, share, show="at", role=_role(line), dash=line == 2, width=1.6, label=_degree(d))
        cell = found.cell[:, line]
        newest = np.column_stack([cell + 0.5, share[np.arange(ROUNDS), cell // NEIGHBOURS]])
        panel.points(newest, show="at", role=_role(line), shape=MARKS[line], size=6)
    if found.own is not None:
        panel.rule(x=found.own + 0.5, role="ink", dash=True, label=WORDS.phrase("stage.own"))


# What the reader does in the stage ------------------------------------------------------------------------------------


def on_event(spec: ModelSelectionLesson, event: dict) -> ModelSelectionLesson | None:
    """Points placed, moved or removed in the stage become the data."""
    points = placed(event, "curve", x=(0.0, 1.0), y=(-REACH, REACH), label=0, most=MAX_POINTS)
    return None if points is None else spec.replace(data="points", points=points)
