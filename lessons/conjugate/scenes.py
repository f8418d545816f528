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
from lessons.conjugate.spec import FIELDS, MAX_DATA, ConjugateLesson, in_plane

Array = NDArray[np.float64]

NODES = 121  # of the curves
PHASES = (Phase("prior", "today's prior"), Phase("datum", "the observation"), Phase("posterior", "multiply"))
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
        label=f"{words.name}: prior, likelihood and posterior of {words.unknowns[spec.shown()]} for {len(course.x)} "
        f"observations{', and a Metropolis chain' * walking}.",
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
        title=f"Belief about {words.unknowns[i]}",
        x=Axis(words.unknowns[i], float(at[0]), float(at[-1])),
        y=Axis("density", 0.0, ceiling),
        place=(0, 0, 9, 1),
        height=HEIGHT,
    )
    walking, newest = spec.play == "walk", spec.likelihood == "newest" and spec.play == "data"
    likelihood = np.minimum(likelihoods(course, at, newest=newest), 2.0 * ceiling)
    shown, exact = np.minimum(shown, 2.0 * ceiling), np.minimum(exact, 2.0 * ceiling)
    prior = np.vstack([shown[:1], shown[:-1]]) if newest else np.tile(shown[0], (course.steps, 1))
    name = "yesterday's posterior = today's prior" if newest else "prior"
    what = "newest observation" if newest else "all observations so far"
    averaged = ", the other unknown averaged out" if course.prior.dim > 1 else ""
    words_of_likelihood = f"likelihood of {what}{averaged}, area 1"
    if walking:
        draws = analysis.walk(spec).draws[0, :, i]
        panel.histogram(
            draws,
            bins=(float(at[0]), float(at[-1]), 80),
            burn=spec.draws // BURN,
            role="accept",
            label=f"Metropolis draws so far, the first {spec.draws // BURN} left out",
        )
        panel.line(at, prior[-1], role="prior", dash=True, label=name)
        panel.line(at, likelihood[-1], role="likelihood", width=1.5, label=words_of_likelihood)
        panel.line(at, shown[-1], role="posterior", width=2.5, label="posterior, exact formula")
    else:
        panel.line(at, prior[0], role="prior", dash=True, label=name) if not newest else panel.line(
            at, prior, show="at", role="prior", dash=True, label=name
        )
        panel.line(at, likelihood, show=Show("at", phase=("datum", None)), role="likelihood", width=1.5, label=words_of_likelihood)
        label = "posterior" + " as the mistake makes it" * course.wrong
        panel.line(at, shown, show=Show("at", phase=("posterior", None)), role="posterior", width=3.0, label=label)
    if course.wrong:
        if walking:
            panel.line(at, exact[-1], role="truth", width=2.0, dash=True, label="right posterior")
        else:
            panel.line(at, exact, show="at", role="truth", width=2.0, dash=True, label="right posterior")
    true = analysis.marked(spec)
    if true is not None and at[0] < true < at[-1]:
        panel.rule(x=true, role="truth", label="value that makes the data")


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
        title="Imagined data: drag ● or ■",
        x=Axis(words.plane[0], x_low, float(low[0] + 1.2 * span[0])),
        y=Axis(words.plane[1], 0.0, float(1.2 * every[:, 1].max())),
        place=(9, 0, 6, 1),
        height=HEIGHT,
        editable=Editable(points=[(*path[0], 0), (*rival[0], 1)], classes=("prior", "rival"), limit=2),
    )
    if course.spec.play == "walk":
        panel.path(path, role="posterior", width=1.5, label="from prior to posterior")
        panel.path(rival, role="class-1", dash=True, width=1.2, label="from rival to its posterior")
        return
    panel.path(path, show="upto", role="posterior", width=2.0, label="from prior to posterior")
    panel.path(rival, show="upto", role="class-1", dash=True, width=1.2, label="from rival to its posterior")
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
        title="Data: click, drag, double-click to remove",
        x=Axis("number of the observation", 0.0, n + max(2.0, 0.08 * n)),
        y=Axis(words.observed, low, high),
        place=(0, 1, 9, 1),
        height=HEIGHT - 60,
        editable=Editable(points=points, classes=("observation",), limit=MAX_DATA),
    )
    seen = np.vstack([[np.nan, np.nan], points])
    panel.points(seen, show="upto", role="posterior", shape="ring", size=6.5, label="seen so far")
    panel.points(seen, show=Show("at", phase=("datum", None)), role="ink", shape="ring", size=9, label="newest")


def _trace(picture: Scene, course: Course, words: Terms) -> None:
    spec, i = course.spec, course.spec.shown()
    draws = analysis.walk(spec).draws[0, :, i]
    panel = picture.panel(
        "trace",
        title="Random-walk Metropolis: chain 1",
        x=Axis("transition", 0.0, float(spec.draws)),
        y=Axis(words.unknowns[i]),
        place=(0, 1, 9, 1),
        height=HEIGHT - 60,
    )
    panel.line(np.arange(1.0, spec.draws + 1.0), draws, show="upto", role="accept", width=1.0, label="chain")
    panel.rule(y=float(course.exact[-1].mean()[i]), role="truth", dash=True, label="exact mean")
    panel.rule(x=float(spec.draws // BURN), role="muted", dash=True, label="left out before")


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
        names = ["tails (0)", "heads (1)"] if course.spec.pair == "bernoulli" else [f"{k:g}" for k in kinds]
        panel = picture.panel(
            "next",
            title="The next observation",
            x=Axis(words.observed, 0, len(kinds)),
            y=Axis("probability", 0.0, None),
            place=place,
            height=height,
        )
        panel.bars(
            shares[0] if walking else shares,
            labels=names,
            truth=observed,
            role="posterior",
            label="posterior predictive; marks: shares in all the data",
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
        title="The next observation",
        x=Axis(words.observed, at[0], at[-1]),
        y=Axis("density", 0.0, 1.15 * float(min(max(tops, curves[-1].max()), 4.0 * tops))),
        place=place,
        height=height,
    )
    if walking:
        panel.line(at, curves[0], role="posterior", width=2.5, label="posterior predictive")
        return
    panel.histogram(np.concatenate([[np.nan], x]), bins=(float(at[0]), float(at[-1]), bins), role="muted", label="data so far")
    panel.line(at, curves, show="at", role="posterior", width=2.5, label="posterior predictive")


def _evidence(picture: Scene, course: Course, words: Terms) -> None:
    factor = (course.log_evidence - course.rival_log_evidence) / np.log(10.0)
    edge = float(max(1.2, 1.15 * np.abs(factor).max()))
    panel = picture.panel(
        "evidence",
        title="Bayes factor: prior against rival",
        x=Axis("observations seen", 0.0, float(max(1, len(course.x)))),
        y=Axis("log₁₀ Bayes factor", -edge, edge),
        place=(9, 1, 6, 1),
        height=HEIGHT - 60,
    )
    panel.rule(y=0.0, role="muted", label="0: both predicted the data equally well")
    for line in (-1.0, 1.0):
        panel.rule(y=line, role="muted", dash=True, label="±1: ten to one" if line > 0 else None)
    show = "all" if course.spec.play == "walk" else "upto"
    panel.line(course.n, factor, show=show, role="highlight", width=2.5, label="Bayes factor so far")


def _estimate(picture: Scene, course: Course, words: Terms) -> None:
    i = course.spec.shown()
    rows = np.array([[belief.mean()[i], *belief.interval(i, MASS)] for belief in course.shown])
    low, high = np.nanmin(rows[len(rows) // 3 :, 1]), np.nanmax(rows[len(rows) // 3 :, 2])
    pad = 0.35 * max(high - low, 1e-9)
    share = course.spec.pair in ("bernoulli", "categorical")
    panel = picture.panel(
        "estimate",
        title="The estimate as data arrive",
        x=Axis("observations seen", 0.0, float(max(1, len(course.x)))),
        y=Axis(words.unknowns[i], 0.0 if share else float(low - pad), 1.0 if share else float(high + pad)),
        place=(9, 1, 6, 1),
        height=HEIGHT - 60,
    )
    show = "all" if course.spec.play == "walk" else "upto"
    panel.line(
        course.n,
        rows[:, 0],
        band=(rows[:, 1], rows[:, 2]),
        show=show,
        role="posterior",
        width=2.5,
        label="posterior mean; band: 95 % credible interval",
    )
    panel.line(course.n, course.best, show=show, role="likelihood", dash=True, label="maximum likelihood")
    true = analysis.marked(course.spec)
    if true is not None:
        panel.rule(y=true, role="truth", label="value that makes the data")


# Numbers and words ----------------------------------------------------------------------------------------------------


def _sums(picture: Scene, course: Course, words: Terms) -> None:
    spec, i = course.spec, course.spec.shown()
    done = Show("all", phase=("posterior", None))
    x = np.concatenate([[np.nan], course.x])
    picture.readout(
        "datum",
        "observation {n:d} of {N:d}: x = {x:.4g}",
        show=Show("all", phase=("datum", None)),
        n=course.n,
        N=np.full(course.steps, float(len(course.x))),
        x=x,
    )
    for name, template, values in arithmetic(course):
        picture.readout(name, template, show=done, **values)
    if course.wrong:
        picture.readout("mistake", f"broken on purpose ({MISTAKES[spec.mistake]}): the curve is not that posterior", show=done)
    rows = np.array([[b.mean()[i], b.mode()[i], *b.interval(i, MASS)] for b in course.shown])
    name = course.prior.unknowns[i]
    picture.readout(
        "estimate",
        f"{name}: mean {{m:.4g}}, MAP {{a:.4g}}, maximum likelihood {{b:.4g}}, 95 % credible interval {{l:.4g}} to {{h:.4g}}",
        show=done,
        m=rows[:, 0],
        a=rows[:, 1],
        b=course.best,
        l=rows[:, 2],
        h=rows[:, 3],
    )
    one, two = course.log_evidence, course.rival_log_evidence
    picture.readout(
        "evidence",
        "log evidence {a:.3f}, rival {b:.3f}. Bayes factor exp({a:.3f} − ({b:.3f})) = {f:.3g}",
        show=done,
        a=one,
        b=two,
        f=np.exp(np.clip(one - two, -80.0, 80.0)),
    )
    if course.spec.pair == "bernoulli":
        p, factor = course.fair
        picture.readout("fair", "a fair coin: p-value {p:.3g}; Bayes factor, fair against the prior: {f:.3g}", show=done, p=p, f=factor)
    picture.say(
        f"{{n:d}} observations seen, {{phase}}. {name}: posterior mean {{m:.3g}}, 95 percent between {{l:.3g}} and {{h:.3g}}.",
        n=course.n,
        m=rows[:, 0],
        l=rows[:, 2],
        h=rows[:, 3],
    )
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


MISTAKES = {"twice": "data used twice", "scale": "rate taken for scale", "miscount": "n miscounted", "none": ""}


def _walk_words(picture: Scene, course: Course, words: Terms) -> None:
    spec, i = course.spec, course.spec.shown()
    run = analysis.walk(spec)
    draws, accepted = run.draws[0, :, i], run.accepted[0]
    name = course.prior.unknowns[i]
    before = np.concatenate([[np.nan], draws[:-1]])
    mean = np.cumsum(draws) / np.arange(1, spec.draws + 1)
    exact = float(course.shown[-1].mean()[i])
    picture.readout(
        "move",
        f"{name}: {{b:.4g}} → {{x:.4g}}, acceptance probability {{a:.3f}}: {{yes?accepted:rejected}}",
        b=before,
        x=draws,
        a=run.accept_prob[0],
        yes=accepted,
    )
    picture.readout("mean", "mean of the draws so far {m:.5g}, exact {e:.5g}", m=mean, e=np.full(spec.draws, exact))
    picture.say(f"Transition {{t}} of {{steps}}: {name} is {{x:.3g}}, {{yes?accepted:rejected}}.", x=draws, yes=accepted)
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
