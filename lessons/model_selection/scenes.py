"""The stage: data arriving and the evidence of each degree, posterior draws, or all data sets there could be."""

from __future__ import annotations

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
from lessons.model_selection.spec import MAX_POINTS, REACH, ModelSelectionLesson

Array = NDArray[np.float64]

PHASES = (Phase("predict", "predict"), Phase("observe", "observe"), Phase("update", "add the score"))
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
        panel.line(GRID, curve, role="truth", dash=True, width=2.0, label="true curve")
    return panel


# Data arriving --------------------------------------------------------------------------------------------------------


def _arriving(spec: ModelSelectionLesson) -> bytes:
    run = analysis.arrival(spec)
    n = len(run.order)
    picture = _scene(
        spec,
        (tuple(run.fits.data.x), tuple(run.fits.data.y), spec.order, spec.seed),
        f"Polynomials of degree 1 to {spec.degrees} on {n} points that arrive one by one: the average of all degrees, "
        "the probability of each degree, the prediction of the next point, and the log evidence so far.",
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
    panel = _curve_panel(picture, spec, "Data: click, drag, double-click to remove")
    limit = 3.0 * REACH  # beyond it nothing is seen
    for show, moved in ((EARLIER, _before), (NOW, np.asarray)):
        named = show is NOW
        for values, words in ((run.low, "its mean ± 2 sd"), (run.high, None)):
            panel.line(
                GRID,
                moved(np.clip(values, -limit, limit)),
                show=show,
                role="posterior",
                width=1.2,
                dash=True,
                label=words if named else None,
            )
        label = "average over all degrees" if named else None
        panel.line(GRID, moved(run.average), show=show, role="posterior", width=2.8, label=label)
        label = f"degree {spec.degree}, maximum likelihood" if named else None
        likely = moved(np.clip(run.likely, -limit, limit))
        panel.line(GRID, likely, show=show, role="likelihood", width=1.6, label=label)
    points = np.vstack([[np.nan, np.nan], np.column_stack([data.x, data.y])[order]])
    panel.points(points, show="upto", role="highlight", shape="ring", size=8, label="seen so far")
    panel.points(points, show=Show("at", phase=("observe", None)), role="ink", shape="ring", size=11, label="newest")
    panel.rule(x=np.concatenate([[np.nan], data.x[order]]), show=Show("at", phase=("predict", "observe")), role="muted", dash=True)


def _before(values: Array) -> Array:
    """What is known of each step before its observation: the row of the step before."""
    return np.concatenate([values[:1], values[:-1]])


def _probabilities(picture: Scene, spec: ModelSelectionLesson, run: analysis.Arrival) -> None:
    panel = picture.panel(
        "degrees",
        title="Which degree?",
        x=Axis("degree", 0, spec.degrees),
        y=Axis("probability given the data so far", 0.0, 1.0),
        place=(RIGHT[0], 0, RIGHT[1], 1),
        height=HEIGHT,
    )
    label = "p(degree | data so far)" if spec.mistake == "none" else "as the mistake makes it"
    names = [str(d) for d in spec.all_degrees()]
    panel.bars(run.probability, labels=names, show=NOW, role="posterior", label=label)
    earlier = _before(run.probability)
    edges = (np.arange(spec.degrees)[:, None] + np.array([0.1, 0.1, 0.9, 0.9])).ravel()
    outline = np.repeat(earlier, 4, axis=1) * np.tile([0.0, 1.0, 1.0, 0.0], spec.degrees)
    panel.line(edges, outline, show="at", role="muted", width=1.2, label="before the newest point")


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
        title="The next y, predicted",
        x=Axis("y", -edge, edge),
        y=Axis("density", 0.0, 1.15 * top),
        place=(LEFT[0], 1, LEFT[1], 1),
        height=LOWER,
    )
    for line, d in enumerate(spec.followed()):
        curves = np.vstack([np.full((1, len(at)), np.nan), bells[line]])
        panel.line(at, curves, show="at", role=_role(line), dash=line == 2, width=2.0, label=f"degree {d}")
        tops = np.vstack([[np.nan, np.nan], np.column_stack([y, np.exp(seen[:, line])])])
        panel.points(tops, show=Show("at", phase=("observe", None)), role=_role(line), shape=MARKS[line], size=5)
    panel.rule(x=np.concatenate([[np.nan], y]), show=Show("at", phase=("observe", None)), role="ink", dash=True, label="what came")


def _role(line: int) -> str:
    return ("momentum", "accept", "reject")[line]


def _evidence(picture: Scene, spec: ModelSelectionLesson, run: analysis.Arrival) -> None:
    n = len(run.order)
    lines = {d: run.log_evidence[:, d - 1] - run.log_average for d in spec.followed()}
    lowest = min(float(np.nanmin(line)) for line in lines.values())
    panel = picture.panel(
        "evidence",
        title="Log evidence so far",
        x=Axis("observations seen", 0.0, float(n)),
        y=Axis("minus the average's (nats)", max(-DEEP, 1.1 * lowest - 1.0), _above(lines)),
        place=(RIGHT[0], 1, RIGHT[1], 1),
        height=LOWER,
    )
    panel.rule(y=0.0, role="muted", label="average of all degrees")
    for line, (d, values) in enumerate(lines.items()):
        panel.line(np.arange(n + 1.0), values, show="upto", role=_role(line), dash=line == 2, width=2.2, label=f"degree {d}")


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
    student = spec.noise == "unknown"
    bell = "Student's t, {v:.0f} degrees of freedom, about {m:.3f}, scale" if student else "normal, mean {m:.3f}, sd"
    shape: dict[str, Any] = {"v": late(course.dof[:-1])} if student else {}
    picture.readout(
        "predict",
        f"predict: {{k:d}} seen; at x = {{x:.3f}} degree {d} gives y the density: {bell} {{s:.3f}}",
        k=np.maximum(np.arange(n + 1) - 1, 0),
        x=late(x),
        m=late(course.expected[:, column]),
        s=late(course.spread[:, column]),
        **shape,
    )
    told = "; ".join(f"degree {other}: {{{name}:.3f}}" for name, other in zip("bc", others, strict=False))
    scored: dict[str, Any] = {name: late(course.score[:, other - 1]) for name, other in zip("bc", others, strict=False)}
    picture.readout(
        "observe",
        "observe: y = {y:.3f}. Score = log density there = {a:.3f}" + (f" ({told})" if told else ""),
        show=OBSERVED,
        y=late(y),
        a=late(course.score[:, column]),
        **scored,
    )
    exact = course.log_evidence[:, column]
    picture.readout(
        "add",
        f"add: log evidence of degree {d} = {{o:.3f}} + ({{a:.3f}}) = {{e:.3f}}",
        show=AFTER,
        o=late(exact[:-1]),
        a=late(course.score[:, column]),
        e=exact,
    )
    for other in others[:2]:
        gap = run.log_evidence[:, column] - run.log_evidence[:, other - 1]
        words = "|".join(words for _, words in STRENGTHS)
        in_favour: dict[str, Any] = {"for": gap >= 0.0}
        picture.readout(
            f"factor-{other}",
            f"Bayes factor, degree {d} over {other}: {{a:.2f}} − ({{b:.2f}}) = {{g:.2f}} nats, "
            f"or 10^{{f:.1f}}: {{w|{words}}} {{for?for {d}:for {other}}}",
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
    picture.readout("best", "most probable: degree {d:d}, with {p:.1%}", show=AFTER, d=best + 1, p=top)
    if spec.noise == "unknown":
        picture.readout(
            "noise", f"noise as degree {d} sees it: σ about {{s:.3f}} (guess {spec.noise_sd:g})", show=AFTER, s=course.scale[:, column]
        )
    if spec.mistake != "none":
        said = {"best_fit": "best fit in place of evidence", "constant": "the prior's constant left out"}
        picture.readout("mistake", f"broken on purpose: {said[spec.mistake]}, in factors and probabilities")
    picture.say("{k:d} observations seen. The most probable degree is {d:d}, probability {p:.2f}.", k=np.arange(n + 1), d=best + 1, p=top)
    columns = {"seen": np.arange(n + 1), "x": late(x), "y": late(y), "most probable degree": best + 1}
    columns |= {f"score of degree {f}": late(course.score[:, f - 1]) for f in spec.followed()}
    columns |= {f"log evidence of degree {f}": run.log_evidence[:, f - 1] for f in spec.followed()}
    picture.table(columns)


# Draws ----------------------------------------------------------------------------------------------------------------


def _drawing(spec: ModelSelectionLesson) -> bytes:
    here, drawn = analysis.fits(spec), analysis.record(spec)
    picture = _scene(
        spec,
        (repr(spec),),
        "Polynomials drawn one after the other from the posterior: first a degree, then its coefficients. Beside them "
        "how often each degree came, and the height of the curves at one input.",
        steps=spec.draws,
        rate=12.0,
    )
    panel = _curve_panel(picture, spec, "Curves drawn from the posterior")
    mean, sd = here.average()
    low, high = (np.clip(mean + sign * 2.0 * sd, -3 * REACH, 3 * REACH) for sign in (-1, 1))
    panel.line(GRID, mean, band=(low, high), role="posterior", width=2.2, label="average of all degrees, ± 2 sd")
    curves = np.clip(drawn.curve, -3.0 * REACH, 3.0 * REACH)
    panel.line(GRID, curves, show=Show("upto", last=TRAIL, fade=True), role="highlight", width=1.2, label="draws")
    panel.line(GRID, curves, show="at", role="highlight", width=2.6, label="newest draw")
    panel.rule(x=spec.at, role="muted", dash=True, label="x′")
    names = [str(d) for d in spec.all_degrees()]
    panel = picture.panel(
        "degrees",
        title="How often each degree came",
        x=Axis("degree", 0, spec.degrees),
        y=Axis("share of the draws", 0.0, None),
        place=(RIGHT[0], 0, RIGHT[1], 1),
        height=HEIGHT,
    )
    truth = "marks: exact probability" if spec.mistake == "none" else "marks: as the mistake makes it"
    panel.counts(drawn.degree - 1, spec.degrees, names, role="highlight", truth=here.probability, label=f"draws so far; {truth}")
    _value(picture, spec, drawn.value)
    means, _, _ = analysis.value_laws(spec)
    lowest, highest = _value_range(spec)
    exact = float(here.probability @ means)
    panel = picture.panel(
        "trace",
        title="Draw after draw",
        x=Axis("draw", 0.0, float(spec.draws)),
        y=Axis("curve at x′", lowest, highest),
        place=(LEFT[0], 1, LEFT[1], 1),
        height=LOWER,
    )
    panel.line(np.arange(1.0, spec.draws + 1.0), drawn.value, show="upto", role="highlight", width=1.2)
    panel.rule(y=exact, role="posterior", dash=True, label="exact mean")
    so_far = np.cumsum(drawn.value) / np.arange(1, spec.draws + 1)
    probability = here.probability[drawn.degree - 1]
    picture.readout("degree", "degree {d:d} drawn, which has probability {p:.4f}", d=drawn.degree, p=probability)
    picture.readout(
        "value",
        f"its curve at x′ = {spec.at:g}: {{v:.3f}}; average of the draws so far {{m:.4f}}, exact {number(exact, 4)}",
        v=drawn.value,
        m=so_far,
    )
    picture.say(f"Draw {{t}} of {{steps}}: degree {{d:d}}, {{v:.2f}} at x′ = {spec.at:g}.", d=drawn.degree, v=drawn.value)
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
        title=f"The curve at x′ = {spec.at:g}",
        x=Axis("height of the curve", low, high),
        y=Axis("density", 0.0, 1.25 * float(max(average.max(), single.max()))),
        place=(RIGHT[0], 1, RIGHT[1], 1),
        height=LOWER,
    )
    panel.histogram(values, bins=(low, high, 36), role="highlight", label="draws so far")
    panel.line(at, average, role="posterior", width=2.2, label="average of all degrees, exact")
    panel.line(at, single, role="likelihood", dash=True, width=2.0, label=f"degree {best} alone")
    if spec.data == "cosine":
        panel.rule(x=float(analysis.true_curve(spec.at)), role="truth", dash=True, label="true curve")


# All possible data sets -----------------------------------------------------------------------------------------------


def _possible(spec: ModelSelectionLesson) -> bytes:
    found = analysis.razor(spec)
    steps = np.arange(1, ROUNDS + 1)
    picture = _scene(
        spec,
        (repr(spec),),
        "Data sets drawn from a simple, a middle and a complex model before any data are seen, and how often each of "
        f"the {CELLS} possible rounded data sets came from each.",
        steps=ROUNDS,
        rate=6.0,
        start=ROUNDS - 1,
    )
    _imagined(picture, spec, found)
    _spread(picture, spec, found)
    held = found.holding(0.9)
    panel = picture.panel(
        "held",
        title="How far a model spreads its bets",
        x=Axis("model", 0, len(found.degrees)),
        y=Axis("data sets that hold 90 %", 0.0, float(CELLS)),
        place=(RIGHT[0], 0, RIGHT[1], 1),
        height=HEIGHT,
    )
    panel.bars(held.astype(float), labels=[f"degree {d}" for d in found.degrees], role="posterior", label="data sets")
    names = "abc"[: len(found.degrees)]
    picture.readout("made", "{n:d} data sets drawn from the prior of each model", n=EACH * steps)
    said = ", ".join(f"degree {d}: {{{name}:d}}" for name, d in zip(names, found.degrees, strict=True))
    holding: dict[str, Any] = {name: held[:, i] for i, name in enumerate(names)}
    picture.readout("held", f"of {CELLS} possible data sets, 90 % of the probability lies on: {said}", **holding)
    if found.own is not None:
        said = ", ".join(f"degree {d}: {{{name}:.4f}}" for name, d in zip(names, found.degrees, strict=True))
        share = found.share[:, :, found.own]
        own: dict[str, Any] = {name: share[:, i] for i, name in enumerate(names)}
        picture.readout("own", f"probability of our own data, rounded likewise: {said}", **own)
    exact = analysis.fits(spec).exact
    said = ", ".join(f"degree {d}: {number(exact[d - 1], 4)}" for d in found.degrees)
    picture.readout("exact", f"log evidence of our data, not rounded, exact: {said}")
    picture.say(
        f"{{n:d}} data sets of each model. 90 percent of the probability lies on {said.count(':')} different numbers "
        "of data sets: " + ", ".join(f"{{{name}:d}}" for name in names) + ".",
        n=EACH * steps,
        **holding,
    )
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
        title="One data set drawn from each model",
        x=Axis("x", 0.0, 1.0),
        y=Axis("y", -edge, edge),
        place=(LEFT[0], 0, LEFT[1], 1),
        height=HEIGHT,
    )
    for limit in (-LIMIT, LIMIT):
        panel.rule(y=limit, role="muted", dash=True, label="rounded to low, middle, high" if limit > 0 else None)
    for line, d in enumerate(found.degrees):
        curves = found.coefficients[line] @ polynomial_design(GRID, d, spec.basis).T
        panel.line(GRID, curves, show="at", role=_role(line), dash=line == 2, width=2.0, label=f"degree {d}")
        for place, values in zip(PLACES, found.y[:, line].T, strict=True):
            points = np.column_stack([np.full(ROUNDS, place), values])
            panel.points(points, show="at", role=_role(line), shape=MARKS[line], size=4.5)


def _spread(picture: Scene, spec: ModelSelectionLesson, found: analysis.Razor) -> None:
    panel = picture.panel(
        "razor",
        title=f"Probability of each of the {CELLS} possible data sets",
        x=Axis("data sets, from those that speak for the simple model to those for the complex", 0.0, float(CELLS)),
        y=Axis(f"p(data set | model), mean of {NEIGHBOURS}", 1e-5, 0.2, log=True),
        place=(LEFT[0], 1, LEFT[1] + RIGHT[1], 1),
        height=LOWER + 30,
    )
    at = (np.arange(CELLS // NEIGHBOURS) + 0.5) * NEIGHBOURS
    for line, d in enumerate(found.degrees):
        share = found.share[:, line].reshape(ROUNDS, -1, NEIGHBOURS).mean(axis=2)
        share = np.where(share > 0.0, share, np.nan)
        panel.line(at, share, show="at", role=_role(line), dash=line == 2, width=1.6, label=f"degree {d}")
        cell = found.cell[:, line]
        newest = np.column_stack([cell + 0.5, share[np.arange(ROUNDS), cell // NEIGHBOURS]])
        panel.points(newest, show="at", role=_role(line), shape=MARKS[line], size=6)
    if found.own is not None:
        panel.rule(x=found.own + 0.5, role="ink", dash=True, label="our data, rounded likewise")


# What the reader does in the stage ------------------------------------------------------------------------------------


def on_event(spec: ModelSelectionLesson, event: dict) -> ModelSelectionLesson | None:
    """Points placed, moved or removed in the stage become the data."""
    points = placed(event, "curve", x=(0.0, 1.0), y=(-REACH, REACH), label=0, most=MAX_POINTS)
    return None if points is None else spec.replace(data="points", points=points)
