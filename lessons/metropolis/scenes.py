"""The pictures of the Metropolis lesson: a recording, laid out for the player."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from app.kit import pictures, theme
from app.kit.player.scene import Axis, Panel, Phase, Scene, Show
from app.kit.preview import of_target
from engine.targets import Target
from lessons.metropolis import analysis
from lessons.metropolis.analysis import Prediction, Walk
from lessons.metropolis.spec import WORDS, MetropolisLesson

Array = NDArray[np.float64]

PHASES = (
    Phase("propose", WORDS.phrase("stage.propose")),
    Phase("ratio", WORDS.phrase("stage.ratio")),
    Phase("u", WORDS.phrase("stage.draw_u")),
    Phase("decide", WORDS.phrase("stage.decide")),
)
FROM_PROPOSE, FROM_RATIO = Show("at"), Show("at", phase=("ratio", None))
FROM_U, AT_DECIDE = Show("at", phase=("u", None)), Show("at", phase=("decide", None))
UNDECIDED = Show("at", phase=(None, "u"))

TRAIL = 60  # newest transitions whose proposals stay visible
RINGS = 6  # a point visited more often gets no further rings
SIZES = ("small", "middle", "big")

PREVIEWS = of_target(("scale", "factor", "drift", "p_right"))


def scene(spec: MetropolisLesson, window: int | None) -> bytes:
    """The picture of `spec`. No transition has inner detail, so the window does not matter."""
    return {"islands": islands, "plane": plane, "triptych": triptych}[spec.part](spec).encode()


# The ring of islands --------------------------------------------------------------------------------------------------


def islands(spec: MetropolisLesson) -> Scene:
    """A walker on a ring of islands, the shares of its visits, and how far they are off."""
    people, walk = spec.people(), analysis.island_walk(spec)
    n, steps = len(people), spec.draws
    before = np.append(walk.start, walk.draws[:-1])
    picture = Scene(
        run=repr(spec), steps=steps, rate=4.0, phases=PHASES, theme=theme.palette(), label=WORDS.phrase("stage.islands_picture", islands=n)
    )
    _ring(picture, people, before, walk.proposal, walk.draws, walk.accepted)
    names = [str(k + 1) for k in range(n)]
    truth, limit = analysis.shares(spec), analysis.long_run(spec)
    top = 1.25 * max(truth.max(), limit.max())
    panel = picture.panel(
        "shares",
        title=WORDS.phrase("stage.shares"),
        x=Axis(WORDS.phrase("stage.island"), 0, n),
        y=Axis(WORDS.phrase("stage.share"), 0, top),
        place=(1, 0, 1, 1),
        height=205,
    )
    panel.counts(walk.draws, n, names, truth=truth, label=WORDS.phrase("stage.visits"))
    panel.points(np.column_stack([np.arange(n) + 0.5, limit]), role="highlight", shape="ring", size=6, label=WORDS.phrase("stage.long_run"))
    off = analysis.running_distance(spec)
    time = Axis(WORDS.phrase("stage.transition"), 0, steps)
    panel = picture.panel(
        "distance",
        title=WORDS.phrase("stage.distance"),
        x=time,
        y=Axis(WORDS.phrase("stage.total_variation"), 0, 1),
        place=(1, 1, 1, 1),
        height=155,
    )
    panel.line(np.arange(1, steps + 1), off, show="upto", role="posterior")
    panel.rule(y=float(analysis.distance(limit, truth)), role="highlight", dash=True)
    trace = picture.panel("trace", title=WORDS.phrase("stage.trace"), x=time, y=_island_axis(n), place=(0, 2, 2, 1), height=150)
    trace.line(np.arange(1, steps + 1), walk.draws + 1.0, show="upto", role="posterior", width=1.2)
    _island_arithmetic(picture, spec, before)
    picture.table(
        {
            "island before": before + 1,
            "proposed": walk.proposal + 1,
            "ratio": walk.ratio,
            "u": walk.uniform,
            "accepted": walk.accepted,
            "island": walk.draws + 1,
            "distance": off,
        }
    )
    return picture


def _island_axis(n: int) -> Axis:
    stride = -(-n // 4)
    return Axis(WORDS.phrase("stage.island"), 0.5, n + 0.5, ticks=[(k, str(k)) for k in range(1, n + 1, stride)])


def _around(n: int, radius: float) -> Array:
    """(n, 2) places on a circle, clockwise from the top."""
    angle = 0.5 * np.pi - 2 * np.pi * np.arange(n) / n
    return radius * np.column_stack([np.cos(angle), np.sin(angle)])


def _ring(picture: Scene, people: Array, before: NDArray, proposal: NDArray, after: NDArray, accepted: NDArray) -> None:
    n = len(people)
    blank = Axis("", -2.15, 2.15, ticks=[])
    panel = picture.panel("ring", title=WORDS.phrase("stage.ring"), x=blank, y=blank, equal=True, place=(0, 0, 1, 2), height=380)
    foot, unit = _around(n, 1.06), _around(n, 1.0)
    tip = foot + unit * (0.8 * people / people.max())[:, None]
    bars = np.stack([foot, tip, np.full_like(foot, np.nan)], axis=1).reshape(-1, 2)
    panel.path(_around(120, 1.06)[np.arange(121) % 120], role="muted", width=1.0)
    panel.path(bars, role="truth", width=16 if n <= 10 else 10, alpha=0.75, label=WORDS.phrase("stage.people"))
    for k in range(n):
        (x, y), (x_top, y_top) = 0.88 * unit[k], tip[k] + 0.14 * unit[k]
        panel.text(x, y, str(k + 1), role="muted")
        panel.text(x_top, y_top, f"{people[k]:.4g}")
    place = _around(n, 0.66)
    here, there, landed = place[before], place[proposal], place[after]
    panel.arrows(here, there, show=UNDECIDED, role="proposal", width=2.5)
    panel.points(there, show=UNDECIDED, role="proposal", shape="diamond", size=8, label=WORDS.phrase("stage.proposed"))
    panel.points(there, show=AT_DECIDE, mask=~accepted, role="reject", shape="cross", size=7, label=WORDS.phrase("stage.stay"))
    panel.points(here, show=UNDECIDED, role="ink", shape="circle", size=8)
    panel.points(landed, show=AT_DECIDE, role="ink", shape="circle", size=8, label=WORDS.phrase("stage.walker"))


def _island_arithmetic(picture: Scene, spec: MetropolisLesson, before: NDArray) -> None:
    people, walk = spec.people(), analysis.island_walk(spec)
    clockwise = walk.proposal == (before + 1) % len(people)
    forth = np.where(clockwise, spec.p_right, 1 - spec.p_right)
    picture.readout(
        "propose", WORDS.phrase("stage.propose_island"), show=FROM_PROPOSE, i=before + 1, j=walk.proposal + 1, way=clockwise, q=forth
    )
    people_there, people_here = people[walk.proposal], people[before]
    template = WORDS.phrase("stage.ratio_people_only" if spec.variant == "no_hastings" else "stage.ratio_people")
    picture.readout("ratio", template, show=FROM_RATIO, there=people_there, here=people_here, back=1 - forth, forth=forth, r=walk.ratio)
    _verdict(picture, walk.uniform, walk.ratio, walk.accepted)
    picture.say(WORDS.phrase("stage.said_of_islands"), i=before + 1, j=walk.proposal + 1, r=walk.ratio, u=walk.uniform, ok=walk.accepted)


# The plane ------------------------------------------------------------------------------------------------------------


def plane(spec: MetropolisLesson) -> Scene:
    """One walk with its proposals, the running marginals against the exact ones, and the traces of all chains."""
    target, walk, draws = analysis.plane_of(spec), analysis.walk(spec), analysis.record(spec).draws
    prediction = analysis.predicted(spec)
    seen = analysis.shown(target, _view(target, draws, prediction))
    x, y = target.labels[:2]
    picture = Scene(
        run=repr(spec),
        steps=spec.draws,
        rate=12.0,
        phases=PHASES,
        theme=theme.palette(),
        label=WORDS.phrase("stage.plane_picture", x=x, y=y),
    )
    dimension = analysis.target_of(spec).dim
    title = WORDS.phrase("stage.walk") if dimension == 2 else WORDS.phrase("stage.walk_in_part", dimension=dimension)
    panel = pictures.density_panel(picture, target, title=title, view=seen.view, place=(0, 0, 2, 2), height=430)
    if prediction is not None:
        _wrong_density(panel, prediction)
    pictures.draw_layers(panel, draws)
    _walker(panel, walk, rings=spec.variant != "drop_rejections")
    _step_rule(panel, seen, spec.scale)
    for j in range(2):
        _marginal(picture, seen, draws[0, :, j], j, spec, prediction)
    truth = target.truth
    trace = pictures.trace_panel(
        picture, draws[:, :, 0], x, place=(0, 2, 3, 1), height=170, truth=None if truth is None else float(truth.mean[0])
    )
    if spec.burn:
        trace.rule(x=spec.burn, role="reject", dash=True, label=WORDS.phrase("stage.burn_in"))
    _plane_arithmetic(picture, spec, walk, (x, y))
    return picture


def _view(target: Target, draws: Array, prediction: Prediction | None) -> analysis.View:
    """The target's view, widened to where the chains went and to where a wrong sampler is going."""
    sides = []
    for j, (low, high) in enumerate(target.view):
        reached = draws[:, :, j].ravel()
        bounds = [low, high]
        if reached.min() < low or reached.max() > high:
            room = 0.04 * (max(high, reached.max()) - min(low, reached.min()))
            bounds += [reached.min() - room if reached.min() < low else low, reached.max() + room if reached.max() > high else high]
        if prediction is not None:
            mean, sd = prediction.moments(j)
            bounds += [mean - 3.2 * sd, mean + 3.2 * sd]
        sides.append((float(min(bounds)), float(max(bounds))))
    return sides[0], sides[1]


def _wrong_density(panel: Panel, prediction: Prediction) -> None:
    values = prediction.values[::2, ::2]
    descending = np.sort(values.ravel())[::-1]
    held = np.cumsum(descending) / descending.sum()
    levels = descending[np.searchsorted(held, [0.95, 0.5])]
    floor = levels.min() * 1e-6
    panel.contour(
        np.log(np.maximum(values, floor)),
        levels=np.unique(np.log(levels)),
        x=(prediction.xs[0], prediction.xs[-1]),
        y=(prediction.ys[0], prediction.ys[-1]),
        role="divergent",
        fill=False,
        label=WORDS.phrase("stage.wrong_regions"),
    )


def _marginal(picture: Scene, seen: Target, draws: Array, j: int, spec: MetropolisLesson, prediction: Prediction | None) -> None:
    low, high = seen.view[j]
    own_low, own_high = analysis.plane_of(spec).view[j]
    bins = int(np.clip(round(36 * (high - low) / (own_high - own_low)), 36, 140))
    label = WORDS.phrase("stage.draws_after" if spec.burn else "stage.draws_so_far")
    if spec.chains > 1:
        label = WORDS.phrase("stage.of_chain_1", draws=label)
    panel = pictures.marginal_panel(picture, seen, draws, j, place=(2, j, 1, 1), height=205, bins=bins, burn=spec.burn, label=label)
    if spec.burn:
        panel.histogram(draws, bins=(low, high, bins), role="reject", label=WORDS.phrase("stage.with_burn_in"))
    if prediction is not None:
        xs, density = prediction.marginal(j)
        panel.line(xs, density, role="divergent", width=2.0, label=WORDS.phrase("stage.wrong_marginal"))


def _walker(panel: Panel, walk: Walk, *, rings: bool) -> None:
    """The newest transitions: proposals by their fate, the present state, a ring for each visit counted again."""
    before, proposal = walk.before[:, :2], walk.proposal[:, :2]
    newest = Show("upto", last=TRAIL, fade=True)
    panel.path(walk.draws[:, :2], show=newest, role="ink", width=1.0, alpha=0.6)
    if rings:
        for visits in range(2, RINGS + 1):
            panel.points(
                walk.draws[:, :2],
                show=newest,
                mask=walk.dwell == visits,
                role="accept",
                shape="ring",
                size=1.5 + 2.0 * visits,
                alpha=0.9,
                label=WORDS.phrase("stage.rings") if visits == 2 else None,
            )
    panel.points(proposal, show=newest, mask=~walk.accepted, role="reject", shape="cross", size=3.5, label=WORDS.phrase("stage.rejected"))
    panel.points(before, show=UNDECIDED, role="ink", shape="circle", size=6)
    panel.arrows(before, proposal, show=UNDECIDED, role="proposal", width=2.2)
    panel.points(proposal, show=UNDECIDED, role="proposal", shape="diamond", size=6.5, label=WORDS.phrase("stage.proposal"))
    panel.points(
        proposal,
        show=AT_DECIDE,
        classes=walk.accepted.astype(np.uint8),
        role=["reject", "accept"],
        shape=["cross", "circle"],
        size=6.5,
        label=[WORDS.phrase("stage.rejected"), WORDS.phrase("stage.accepted")],
    )
    panel.points(walk.draws[:, :2], show=AT_DECIDE, role="ink", shape="ring", size=8, label=WORDS.phrase("stage.present"))


def _step_rule(panel: Panel, seen: Target, scale: float) -> None:
    """A ruler as long as the step size, where it fits."""
    (x_low, x_high), (y_low, y_high) = seen.view
    if scale > 0.8 * (x_high - x_low):
        return
    x, y = x_low + 0.05 * (x_high - x_low), y_low + 0.05 * (y_high - y_low)
    panel.path([(x, y), (x + scale, y)], role="proposal", width=4.0, label=WORDS.phrase("stage.scale"))


def _plane_arithmetic(picture: Scene, spec: MetropolisLesson, walk: Walk, names: tuple[str, str]) -> None:
    """The card of the present transition."""
    x, y = names
    inside: dict[str, Any] = {"x1": walk.before[:, 0], "x2": walk.before[:, 1], "y1": walk.proposal[:, 0], "y2": walk.proposal[:, 1]}
    picture.readout(
        "propose",
        WORDS.phrase("stage.propose_drift", drift=spec.drift * spec.scale, scale=spec.scale)
        if spec.drift
        else WORDS.phrase("stage.propose_step", scale=spec.scale),
        show=FROM_PROPOSE,
        **inside,
    )
    values: dict[str, Any] = {"new": walk.log_proposal, "old": walk.log_before, "q": walk.log_hastings, "r": walk.log_ratio}
    ratio = WORDS.phrase("stage.ratio_density_only" if spec.variant == "no_hastings" else "stage.ratio_density")
    picture.readout("ratio", ratio, show=FROM_RATIO, **values)
    _verdict(picture, walk.uniform, walk.ratio, walk.accepted)
    if spec.variant == "drop_rejections":
        picture.readout("thrown", WORDS.phrase("stage.thrown"), show=FROM_PROPOSE, k=walk.tries - 1)
    accepted_so_far = np.cumsum(walk.accepted) / np.cumsum(walk.tries)
    picture.readout("rate", WORDS.phrase("stage.rate"), show="at", rate=accepted_so_far)
    picture.say(WORDS.phrase("stage.said_of_plane", x=x, y=y), ok=walk.accepted, r=walk.log_ratio, rate=accepted_so_far, **inside)
    picture.table(
        {
            x: walk.draws[:, 0],
            y: walk.draws[:, 1],
            f"proposed {x}": walk.proposal[:, 0],
            f"proposed {y}": walk.proposal[:, 1],
            "log density proposed": walk.log_proposal,
            "log q ratio": walk.log_hastings,
            "log r": walk.log_ratio,
            "u": walk.uniform,
            "accepted": walk.accepted,
        }
    )


def _verdict(picture: Scene, uniform: Array, ratio: Array, accepted: NDArray) -> None:
    """The last two lines of the card: the coin and what it decides."""
    picture.readout("u", WORDS.phrase("stage.coin"), show=FROM_U, u=uniform)
    picture.readout("decide", WORDS.phrase("stage.verdict"), show=AT_DECIDE, u=uniform, r=ratio, ok=accepted)


# Three step sizes -----------------------------------------------------------------------------------------------------


def triptych(spec: MetropolisLesson) -> Scene:
    """Three walks with the same random numbers and three step sizes, side by side."""
    target = analysis.plane_of(spec)
    x = target.labels[0]
    picture = Scene(
        run=repr(spec), steps=spec.draws, rate=20.0, phases=PHASES, theme=theme.palette(), label=WORDS.phrase("stage.triptych_picture")
    )
    runs = analysis.three(spec)
    truth = None if target.truth is None else float(target.truth.mean[0])
    for k, (run, size) in enumerate(zip(runs, SIZES, strict=True)):
        walk = analysis.walk(run)
        title = WORDS.phrase(f"stage.{size}", scale=run.scale)
        panel = pictures.density_panel(picture, target, id=f"plane-{k}", title=title, place=(k, 0, 1, 1), height=235)
        panel.points(walk.draws[:, :2], show="upto", role="posterior", size=2.2, alpha=0.55, label=WORDS.phrase("stage.draws"))
        _walker(panel, walk, rings=False)
        pictures.trace_panel(
            picture, walk.draws[None, :, 0], x, id=f"trace-{k}", place=(k, 1, 1, 1), height=170, truth=truth, limits=target.view[0]
        )
        picture.readout(
            f"walk-{k}",
            WORDS.phrase("stage.of_scale", scale=run.scale, draws=spec.draws),
            show=AT_DECIDE,
            r=walk.ratio,
            u=walk.uniform,
            ok=walk.accepted,
            rate=np.cumsum(walk.accepted) / np.cumsum(walk.tries),
            worth=np.full(spec.draws, analysis.effective(run)),  # in the words themselves it would stand there from the start
        )
        picture.say(WORDS.phrase("stage.said_of_scale", scale=run.scale), ok=walk.accepted)
    walks = [analysis.walk(run) for run in runs]
    picture.table(
        {
            f"{name}, step {run.scale:.3g}": w.draws[:, j]
            for run, w in zip(runs, walks, strict=True)
            for j, name in enumerate(target.labels[:2])
        }
    )
    return picture
