"""The stage: prior, likelihood and posterior on one axis; the plane of imagined data; the data; what follows."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from app.kit import theme
from app.kit.player.scene import Axis, Editable, Phase, Scene, Show
from app.kit.preview import Preview
from engine.conjugate import Belief
from lessons.conjugate import analysis
from lessons.conjugate.analysis import MASS, Course
from lessons.conjugate.pairs import TERMS, Terms, arithmetic
from lessons.conjugate.spec import FIELDS, MAX_DATA, WORDS, ConjugateLesson, in_plane

Array = NDArray[np.float64]

NODES = 121  # of the curves
PHASES = tuple(Phase(name, WORDS.phrase(f"phases.{name}")) for name in ("prior", "datum", "posterior"))
HEIGHT = 250
BURN = 10  # the first tenth of a chain is left out of its histogram


PREVIEWS = {field: Preview() for field in dict.fromkeys(name for names in FIELDS.values() for name in names)}


def scene(spec: ConjugateLesson, window: int | None = None) -> bytes:
    """The scene of a spec: data arriving one by one, or a Metropolis chain on the finished posterior."""
    course, words = analysis.course(spec), TERMS[spec.pair]
    walking = spec.play == "walk"
    steps = spec.draws if walking else course.steps
    moves = ("walk", spec) if walking else ("data", spec.pair, tuple(course.x))
    picture = Scene(
        run=repr(moves),
        steps=steps,
        rate=200.0 if walking else max(3.0, course.steps / 12.0),
        phases=() if walking else PHASES,
        start=steps - 1,
        theme=theme.palette(),
        label=WORDS.phrase(
            "stage.picture_with_chain" if walking else "stage.picture",
            model=words.model,
            unknown=words.unknowns[spec.shown()],
            points=len(course.x),
        ),
    )
    _belief(picture, course, words)
    _plane(picture, course, words)
    if walking:
        _trace(picture, course, words)
    else:
        _data(picture, course, words)
    {"next": _next, "evidence": _evidence, "estimate": _estimate}[spec.view](picture, course, words)
    if walking:
        _walk_words(picture, course, words)
    else:
        _sums(picture, course, words)
    return picture.encode()


# The belief -----------------------------------------------------------------------------------------------------------


def _axis(course: Course) -> Array:
    """Where the curves are evaluated (NODES,): even over all that matters, and denser where the posterior ends up."""
    i, last = course.spec.shown(), course.exact[-1]
    narrow = np.array(last.interval(i, 0.9999))
    if course.spec.pair in ("bernoulli", "categorical"):
        low, high = 0.0, 1.0
    else:
        reach = 5.0 * np.ptp(np.array(last.interval(i, MASS)))
        wide = np.array([belief.interval(i, 0.98) for belief in (course.prior, course.shown[-1], course.shown[len(course.x) // 4])])
        seen = [value for value in (course.best[-1], analysis.marked(course.spec)) if value is not None]
        low = max(min(narrow[0], wide[:, 0].min()), narrow[0] - reach)
        high = min(max(narrow[1], wide[:, 1].max()), narrow[1] + reach)
        low, high = np.nanmin([low, *seen]), np.nanmax([high, *seen])
        near = 0.5 * np.ptp(narrow)  # room for the likelihood around its top
        low, high = np.nanmin([low, course.best[-1] - near]), np.nanmax([high, course.best[-1] + near])
        low = max(low, 0.0) if course.spec.pair != "mean" and not (course.spec.pair == "both" and i == 0) else low
    pad = 1e-3 * (high - low)
    even = np.linspace(low + pad, high - pad, NODES // 2)
    first, last = np.clip(narrow, low + pad, high - pad)
    return np.sort(np.concatenate([even, np.linspace(first, last, NODES - len(even))]))


def densities(beliefs: tuple[Belief, ...], unknown: int, at: Array) -> Array:
    """(beliefs, points) marginal densities of one unknown."""
    return np.array([belief.marginal(unknown, at) for belief in beliefs])


def likelihoods(course: Course, at: Array, *, newest: bool) -> Array:
    """(steps, points) likelihood of the unknown shown, of all observations so far or of the newest alone, with area 1
    over the axis. Of two unknowns the other is averaged out, so that prior × likelihood is still the posterior.
    """
    if course.prior.dim == 1:
        each = course.prior.log_likelihoods(at, course.x).T
        log = np.vstack([np.zeros(len(at)), each if newest else np.cumsum(each, axis=0)])
    else:
        with np.errstate(divide="ignore"):
            curves = np.log(densities(course.exact, course.spec.shown(), at))
        before = np.vstack([curves[:1], curves[:-1]]) if newest else curves[:1]
        log = curves - before
    values = np.exp(log - log.max(axis=1, keepdims=True))
    area = np.sum(0.5 * (values[:, 1:] + values[:, :-1]) * np.diff(at), axis=1, keepdims=True)
    return values / area


def _belief(picture: Scene, course: Course, words: Terms) -> None:
    spec, i = course.spec, course.spec.shown()
    at = _axis(course)
    shown, exact = densities(course.shown, i, at), densities(course.exact, i, at)
    ceiling = 1.12 * float(max(np.nanmax(np.where(np.isfinite(exact[-1]), exact[-1], 0.0)), 1e-12))
    ceiling = max(ceiling, min(float(np.quantile(shown[-1], 0.98)), 2.5 * ceiling))
    panel = picture.panel(
        "belief",
        title=WORDS.phrase("stage.belief", unknown=words.unknowns[i]),
        x=Axis(words.unknowns[i], float(at[0]), float(at[-1])),
        y=Axis(WORDS.phrase("stage.density"), 0.0, ceiling),
        place=(0, 0, 9, 1),
        height=HEIGHT,
    )
    walking, newest = spec.play == "walk", spec.likelihood == "newest" and spec.play == "data"
    likelihood = np.minimum(likelihoods(course, at, newest=newest), 2.0 * ceiling)
    shown, exact = np.minimum(shown, 2.0 * ceiling), np.minimum(exact, 2.0 * ceiling)
    prior = np.vstack([shown[:1], shown[:-1]]) if newest else np.tile(shown[0], (course.steps, 1))
    name = WORDS.phrase("stage.yesterday" if newest else "stage.prior")
    of_data = WORDS.phrase("stage.of_newest" if newest else "stage.of_all")
    words_of_likelihood = WORDS.phrase("stage.likelihood_averaged" if course.prior.dim > 1 else "stage.likelihood", of_data=of_data)
    if walking:
        draws = analysis.walk(spec).draws[0, :, i]
        panel.histogram(
            draws,
            bins=(float(at[0]), float(at[-1]), 80),
            burn=spec.draws // BURN,
            role="accept",
            label=WORDS.phrase("stage.walked", burn=spec.draws // BURN),
        )
        panel.line(at, prior[-1], role="prior", dash=True, label=name)
        panel.line(at, likelihood[-1], role="likelihood", width=1.5, label=words_of_likelihood)
        panel.line(at, shown[-1], role="posterior", width=2.5, label=WORDS.phrase("stage.exact_posterior"))
    else:
        if newest:
            panel.line(at, prior, show="at", role="prior", dash=True, label=name)
        else:
            panel.line(at, prior[0], role="prior", dash=True, label=name)
        panel.line(at, likelihood, show=Show("at", phase=("datum", None)), role="likelihood", width=1.5, label=words_of_likelihood)
        label = WORDS.phrase("stage.mistaken" if course.wrong else "stage.posterior")
        panel.line(at, shown, show=Show("at", phase=("posterior", None)), role="posterior", width=3.0, label=label)
    if course.wrong:
        right = WORDS.phrase("stage.right")
        if walking:
            panel.line(at, exact[-1], role="truth", width=2.0, dash=True, label=right)
        else:
            panel.line(at, exact, show="at", role="truth", width=2.0, dash=True, label=right)
    true = analysis.marked(spec)
    if true is not None and at[0] < true < at[-1]:
        panel.rule(x=true, role="truth", label=WORDS.phrase("stage.true_value"))


# Imagined data --------------------------------------------------------------------------------------------------------


def _plane(picture: Scene, course: Course, words: Terms) -> None:
    path = np.array([in_plane(belief) for belief in course.shown])
    rival = np.array([in_plane(belief) for belief in course.rival])
    every = np.vstack([path, rival])
    signed = course.spec.pair in ("mean", "both")
    low = every.min(axis=0) if signed else np.zeros(2)
    span = np.maximum(every.max(axis=0) - low, 1.0)
    x_low = float(low[0] - 0.15 * span[0]) if signed else 0.0
    panel = picture.panel(
        "plane",
        title=WORDS.phrase("stage.plane"),
        x=Axis(words.plane[0], x_low, float(low[0] + 1.2 * span[0])),
        y=Axis(words.plane[1], 0.0, float(1.2 * every[:, 1].max())),
        place=(9, 0, 6, 1),
        height=HEIGHT,
        editable=Editable(points=[(*path[0], 0), (*rival[0], 1)], classes=("prior", "rival"), limit=2),
    )
    to_posterior, of_rival = WORDS.phrase("stage.to_posterior"), WORDS.phrase("stage.of_rival")
    if course.spec.play == "walk":
        panel.path(path, role="posterior", width=1.5, label=to_posterior)
        panel.path(rival, role="class-1", dash=True, width=1.2, label=of_rival)
        return
    panel.path(path, show="upto", role="posterior", width=2.0, label=to_posterior)
    panel.path(rival, show="upto", role="class-1", dash=True, width=1.2, label=of_rival)
    panel.points(path, show="at", role="posterior", shape="diamond", size=5)
    panel.points(rival, show="at", role="class-1", shape="diamond", size=4)


# The data -------------------------------------------------------------------------------------------------------------


def _data(picture: Scene, course: Course, words: Terms) -> None:
    x, n = course.x, len(course.x)
    low, high = words.low, words.high
    span = max(float(np.ptp(x)), 1.0)
    low = float(x.min() - 0.2 * span) if low is None else low
    high = float(max(x.max() + 0.2 * span, 1.0)) if high is None else high
    points = np.column_stack([np.arange(1.0, n + 1.0), x])
    panel = picture.panel(
        "data",
        title=WORDS.phrase("stage.data"),
        x=Axis(WORDS.phrase("stage.number"), 0.0, n + max(2.0, 0.08 * n)),
        y=Axis(words.observed, low, high),
        place=(0, 1, 9, 1),
        height=HEIGHT - 60,
        editable=Editable(points=points, classes=("observation",), limit=MAX_DATA),
    )
    seen = np.vstack([[np.nan, np.nan], points])
    panel.points(seen, show="upto", role="posterior", shape="ring", size=6.5, label=WORDS.phrase("stage.seen"))
    panel.points(seen, show=Show("at", phase=("datum", None)), role="ink", shape="ring", size=9, label=WORDS.phrase("stage.newest"))


def _trace(picture: Scene, course: Course, words: Terms) -> None:
    spec, i = course.spec, course.spec.shown()
    draws = analysis.walk(spec).draws[0, :, i]
    panel = picture.panel(
        "trace",
        title=WORDS.phrase("stage.trace"),
        x=Axis(WORDS.phrase("stage.transition"), 0.0, float(spec.draws)),
        y=Axis(words.unknowns[i]),
        place=(0, 1, 9, 1),
        height=HEIGHT - 60,
    )
    panel.line(np.arange(1.0, spec.draws + 1.0), draws, show="upto", role="accept", width=1.0, label=WORDS.phrase("stage.chain"))
    panel.rule(y=float(course.exact[-1].mean()[i]), role="truth", dash=True, label=WORDS.phrase("stage.exact_mean"))
    panel.rule(x=float(spec.draws // BURN), role="muted", dash=True, label=WORDS.phrase("stage.burn"))


# What follows ---------------------------------------------------------------------------------------------------------


def _next(picture: Scene, course: Course, words: Terms) -> None:
    walking = course.spec.play == "walk"
    place, height = (9, 1, 6, 1), HEIGHT - 60
    beliefs = course.shown[-1:] if walking else course.shown
    if words.discrete:
        first = 1 if course.spec.pair == "categorical" else 0
        last = {"bernoulli": 1, "categorical": 3}.get(course.spec.pair, int(min(max(course.x.max() + 3, 6), 40)))
        kinds = np.arange(first, last + 1, dtype=float)
        shares = np.array([np.exp(belief.log_predictive(kinds)) for belief in beliefs])
        observed = (course.x[:, None] == kinds).mean(axis=0)
        names = [WORDS.phrase("stage.tails"), WORDS.phrase("stage.heads")] if course.spec.pair == "bernoulli" else [f"{k:g}" for k in kinds]
        panel = picture.panel(
            "next",
            title=WORDS.phrase("stage.next"),
            x=Axis(words.observed, 0, len(kinds)),
            y=Axis(WORDS.phrase("stage.probability"), 0.0, None),
            place=place,
            height=height,
        )
        panel.bars(
            shares[0] if walking else shares,
            labels=names,
            truth=observed,
            marks=WORDS.phrase("stage.shares"),
            role="posterior",
            label=WORDS.phrase("stage.predictive_bars"),
        )
        return
    x = course.x
    spread = max(float(np.ptp(x)), 0.5)
    low = 0.0 if course.spec.pair == "exponential" else float(x.min() - 0.6 * spread)
    at = np.linspace(low, float(x.max() + 0.6 * spread), 81)
    curves = np.array([np.exp(belief.log_predictive(at)) for belief in beliefs])
    bins = int(np.clip(2 * np.sqrt(len(x)), 5, 24))
    tops = np.histogram(x, bins=bins, range=(at[0], at[-1]))[0].max() / (len(x) * (at[-1] - at[0]) / bins)
    panel = picture.panel(
        "next",
        title=WORDS.phrase("stage.next"),
        x=Axis(words.observed, at[0], at[-1]),
        y=Axis(WORDS.phrase("stage.density"), 0.0, 1.15 * float(min(max(tops, curves[-1].max()), 4.0 * tops))),
        place=place,
        height=height,
    )
    if walking:
        panel.line(at, curves[0], role="posterior", width=2.5, label=WORDS.phrase("stage.predictive"))
        return
    panel.histogram(
        np.concatenate([[np.nan], x]), bins=(float(at[0]), float(at[-1]), bins), role="muted", label=WORDS.phrase("stage.data_so_far")
    )
    panel.line(at, curves, show="at", role="posterior", width=2.5, label=WORDS.phrase("stage.predictive"))


def _evidence(picture: Scene, course: Course, words: Terms) -> None:
    factor = (course.log_evidence - course.rival_log_evidence) / np.log(10.0)
    edge = float(max(1.2, 1.15 * np.abs(factor).max()))
    panel = picture.panel(
        "evidence",
        title=WORDS.phrase("stage.evidence"),
        x=Axis(WORDS.phrase("stage.observations"), 0.0, float(max(1, len(course.x)))),
        y=Axis(WORDS.phrase("stage.log_bayes_factor"), -edge, edge),
        place=(9, 1, 6, 1),
        height=HEIGHT - 60,
    )
    panel.rule(y=0.0, role="muted", label=WORDS.phrase("stage.equally_well"))
    for line in (-1.0, 1.0):
        panel.rule(y=line, role="muted", dash=True, label=WORDS.phrase("stage.ten_to_one") if line > 0 else None)
    show = "all" if course.spec.play == "walk" else "upto"
    panel.line(course.n, factor, show=show, role="highlight", width=2.5, label=WORDS.phrase("stage.bayes_factor"))


def _estimate(picture: Scene, course: Course, words: Terms) -> None:
    i = course.spec.shown()
    rows = np.array([[belief.mean()[i], *belief.interval(i, MASS)] for belief in course.shown])
    low, high = np.nanmin(rows[len(rows) // 3 :, 1]), np.nanmax(rows[len(rows) // 3 :, 2])
    pad = 0.35 * max(high - low, 1e-9)
    share = course.spec.pair in ("bernoulli", "categorical")
    panel = picture.panel(
        "estimate",
        title=WORDS.phrase("stage.estimate"),
        x=Axis(WORDS.phrase("stage.observations"), 0.0, float(max(1, len(course.x)))),
        y=Axis(words.unknowns[i], 0.0 if share else float(low - pad), 1.0 if share else float(high + pad)),
        place=(9, 1, 6, 1),
        height=HEIGHT - 60,
    )
    show = "all" if course.spec.play == "walk" else "upto"
    panel.line(
        course.n, rows[:, 0], band=(rows[:, 1], rows[:, 2]), show=show, role="posterior", width=2.5, label=WORDS.phrase("stage.interval")
    )
    panel.line(course.n, course.best, show=show, role="likelihood", dash=True, label=WORDS.phrase("stage.maximum_likelihood"))
    true = analysis.marked(course.spec)
    if true is not None:
        panel.rule(y=true, role="truth", label=WORDS.phrase("stage.true_value"))


# Numbers and words ----------------------------------------------------------------------------------------------------


def _sums(picture: Scene, course: Course, words: Terms) -> None:
    spec, i = course.spec, course.spec.shown()
    done = Show("all", phase=("posterior", None))
    x = np.concatenate([[np.nan], course.x])
    picture.readout(
        "datum",
        WORDS.phrase("stage.datum_card"),
        show=Show("all", phase=("datum", None)),
        n=course.n,
        N=np.full(course.steps, float(len(course.x))),
        x=x,
    )
    for name, template, values in arithmetic(course):
        picture.readout(name, template, show=done, **values)
    if course.wrong:
        picture.readout("mistake", WORDS.phrase("stage.broken_card", mistake=WORDS["mistakes"][spec.mistake]), show=done)
    rows = np.array([[b.mean()[i], b.mode()[i], *b.interval(i, MASS)] for b in course.shown])
    name = course.prior.unknowns[i]
    picture.readout(
        "estimate",
        WORDS.phrase("stage.estimate_card", unknown=name),
        show=done,
        m=rows[:, 0],
        a=rows[:, 1],
        b=course.best,
        l=rows[:, 2],
        h=rows[:, 3],
    )
    one, two = course.log_evidence, course.rival_log_evidence
    picture.readout("evidence", WORDS.phrase("stage.evidence_card"), show=done, a=one, b=two, f=np.exp(np.clip(one - two, -80.0, 80.0)))
    if course.spec.pair == "bernoulli":
        p, factor = course.fair
        picture.readout("fair", WORDS.phrase("stage.fair_card"), show=done, p=p, f=factor)
    picture.say(WORDS.phrase("stage.said", unknown=name), n=course.n, m=rows[:, 0], l=rows[:, 2], h=rows[:, 3])
    picture.table(
        {
            "seen": course.n,
            "x": x,
            f"mean of {name}": rows[:, 0],
            "95 % from": rows[:, 2],
            "95 % to": rows[:, 3],
            "maximum likelihood": course.best,
            "log evidence": one,
            "log evidence, rival": two,
        }
    )


def _walk_words(picture: Scene, course: Course, words: Terms) -> None:
    spec, i = course.spec, course.spec.shown()
    run = analysis.walk(spec)
    draws, accepted = run.draws[0, :, i], run.accepted[0]
    name = course.prior.unknowns[i]
    before = np.concatenate([[np.nan], draws[:-1]])
    mean = np.cumsum(draws) / np.arange(1, spec.draws + 1)
    exact = float(course.shown[-1].mean()[i])
    picture.readout("move", WORDS.phrase("stage.move_card", unknown=name), b=before, x=draws, a=run.accept_prob[0], yes=accepted)
    picture.readout("mean", WORDS.phrase("stage.mean_card"), m=mean, e=np.full(spec.draws, exact))
    picture.say(WORDS.phrase("stage.said_of_chain", unknown=name), x=draws, yes=accepted)
    picture.table({name: draws, "accepted": accepted, "acceptance probability": run.accept_prob[0]})


# What the reader does in the stage ------------------------------------------------------------------------------------


def placed(spec: ConjugateLesson, event: dict) -> dict | None:
    """The prior or the rival that was dragged, or the data that were clicked, as points of their panels."""
    if event.get("kind") != "points" or event.get("panel") not in ("plane", "data"):
        return None
    rows = [(float(x), float(y), int(label)) for x, y, label in event["points"][:MAX_DATA]]
    if event["panel"] == "plane":
        return {"plane": {label: (x, y) for x, y, label in rows}}
    heights = np.array([y for _, y, _ in sorted(rows)])
    snapped = TERMS[spec.pair].snap(heights)
    return {"data": snapped if TERMS[spec.pair].discrete else np.round(snapped, 3)}
