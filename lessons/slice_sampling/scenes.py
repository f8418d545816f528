"""A run as a scene, one transition a step: the interval and the points tried on the map, the slice along each
coordinate, the histogram against the truth. Its sub-steps are the events that the kernel recorded.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from app.kit import pictures, theme
from app.kit.player.scene import Panel, Phase, Scene, Show
from app.kit.preview import of_target
from engine.recording import Recording
from engine.samplers.slice_sampling import EVENTS, LEVEL, OUTSIDE, PLACED, REFUSED, TAKEN, Events, events_of
from engine.targets.target import Target
from lessons.slice_sampling import analysis
from lessons.slice_sampling.spec import WORDS, SliceSamplingLesson

Array = NDArray[np.float64]

PHASES = (Phase("slice", WORDS.phrase("stage.inside"), "inner"), Phase("draw", WORDS.phrase("stage.draw")))
ALONG = "plane*6 slice-0*5 / plane*6 slice-1*5 / marginal-0*6 trace*5"
BOX = "plane*6 marginal-0*5 / plane*6 marginal-1*5 / trace*11"
HEIGHTS = (215, 215, 180)
BUDGET, LEAST = 900, 16  # events that travel at once; of a transition, at least
NODES = 81  # of the curve along a coordinate
TRAIL = 30  # newest transitions whose path stays visible


PREVIEWS = of_target(("w",))


def scene(spec: SliceSamplingLesson, window: int | None = None) -> bytes:
    """The picture of `spec`, with the events of the transitions around `window`."""
    return _drawn(spec, window, whole=True)


def grow(spec: SliceSamplingLesson, job: Any) -> bytes | None:
    """The same; of a wrong sampler with a picture of its run while it is found out what it draws from."""
    if spec.mistaken and analysis.long_run.peek(spec) is None:
        job.publish(_drawn(spec, None, whole=False))
    return None if job.is_set() else scene(spec)


def _drawn(spec: SliceSamplingLesson, window: int | None, whole: bool) -> bytes:
    """`whole`: with what a wrong sampler draws from."""
    (run, one), target, box = analysis.simulate(spec), spec.build_target(), spec.interval == "hyperrectangle"
    draws, inside, (x, y) = one.draws[0], one.transitions, target.labels
    items = max(LEAST, int(inside.events.mean()))
    first, count = pictures.window_around(window, spec.draws, items, budget=BUDGET)
    events = events_of(type(inside)(*(array[0, first : first + count] for array in inside)))
    made = (
        Scene(
            run=repr(spec), steps=spec.draws, rate=6.0, phases=PHASES, theme=theme.palette(), label=WORDS.phrase("stage.picture", x=x, y=y)
        )
        .layout(BOX if box else ALONG, HEIGHTS)
        .window(first, events.offsets)
    )
    panel = pictures.density_panel(made, target, title=WORDS.phrase("stage.box") if box else WORDS.phrase("stage.one_at_a_time"), equal=box)
    pictures.draw_layers(panel, run.draws)
    panel.path(draws, show="upto", last=TRAIL, fade=True, width=1.0, alpha=0.5)
    _sides(panel, events)
    _points(panel, events, events.x0, events.point)
    for j in (0, 1):
        if not box:
            _slice(made, target, events, j)
        if box or j == 0:
            label = WORDS.phrase("stage.draws_so_far") if spec.chains == 1 else WORDS.phrase("stage.draws_of_chain_1")
            marginal = pictures.marginal_panel(made, target, draws[:, j], j, bins=36, label=label)
            if spec.mistaken and whole:
                marginal.line(*analysis.drawn_from(spec, j), role="divergent", label=WORDS.phrase("stage.drawn_from"))
    mean = None if target.truth is None else float(target.truth.mean[0])
    pictures.trace_panel(made, run.draws[:, :, 0], x, truth=mean, limits=target.view[0])
    _card(made, spec, one, events, (x, y))
    return made.encode()


def _sides(panel: Panel, events: Events) -> None:
    """The interval, there and back, or the sides of the box, as arrows from corner to corner."""
    (a, b), (c, d) = events.low.T, events.high.T
    corners = [np.column_stack(pair) for pair in ((a, b), (c, b), (c, d), (a, d), (a, b))]
    for start, end in pairwise(corners):
        side = np.where(np.all(start == end, axis=1)[:, None], np.nan, start)
        panel.arrows(side, end, show="inner_at", role="proposal", label=WORDS.phrase("stage.interval") if start is corners[0] else None)


def _points(panel: Panel, events: Events, x0: Array, point: Array) -> None:
    """Where the update began, and the points tried in this transition, by what became of them."""
    panel.points(x0, show="inner_at", role="ink", shape="ring", size=6.5, label="x₀")
    panel.points(
        point,
        show="inner",
        classes=np.clip(events.kind - OUTSIDE, 0, TAKEN - OUTSIDE),
        size=5.5,
        role=["reject", "divergent", "accept"],
        shape=["cross", "square", "circle"],
        label=[
            WORDS.phrase("stage.outside"),
            WORDS.phrase("stage.refused") if (events.kind == REFUSED).any() else None,
            WORDS.phrase("stage.taken"),
        ],
    )


def _slice(made: Scene, target: Target, events: Events, j: int) -> None:
    """The density along coordinate j in each transition, the level, the slice above it, the interval."""
    (low, high), x, mine = target.view[j], target.labels[j], events.coordinate == j
    starts = np.flatnonzero(mine & (events.kind == LEVEL))  # one a transition
    xs, here = np.tile(np.linspace(low, high, NODES), len(starts)), events.log_density[starts, 3]
    lines = np.repeat(events.x0[starts], NODES, axis=0)
    lines[:, j] = xs
    logs = target.log_density_many(lines).reshape(-1, NODES)
    top = np.fmax(np.nanmax(logs, axis=1), here)
    heights, levels = np.exp(logs - top[:, None]).ravel(), np.exp(events.log_level[starts] - top)
    name, none = f"slice-{j}", np.zeros(len(xs), dtype=np.int64)
    appears = np.repeat(starts - events.offsets[:-1], NODES)
    made.parts(name, np.arange(len(starts) + 1) * NODES, appears, low=none, high=none)
    panel = made.panel(name, title=WORDS.phrase("stage.slice", x=x), x=(x, low, high), y=(WORDS.phrase("stage.height"), 0, 1.12))
    above = np.where(heights > np.repeat(levels, NODES), np.repeat(levels, NODES), np.nan)
    for ys, role, width, label in (
        (heights, "truth", 2.0, WORDS.phrase("stage.density")),
        (above, "highlight", 4.0, WORDS.phrase("stage.above")),
    ):
        panel.path(np.column_stack([xs, ys]), show=Show("inner", parts=name), role=role, width=width, label=label)
    for ends in (events.low, events.high):
        panel.rule(x=np.where(mine, ends[:, j], np.nan), show="inner_at", role="proposal", dash=True)
    row = np.repeat(np.arange(len(starts)), np.diff(events.offsets))
    x0, point = (
        np.column_stack([np.where(mine, at[:, j], np.nan), height[row]])
        for at, height in ((events.x0, np.exp(here - top)), (events.point, levels))
    )
    _points(panel, events, x0, point)


def _card(made: Scene, spec: SliceSamplingLesson, one: Recording, events: Events, names: tuple[str, str]) -> None:
    """The numbers of the present event, and the words for those who do not see the picture."""
    (x, y), kind, j = names, events.kind, events.coordinate.astype(np.int64)
    x0, low, high, point = (np.take_along_axis(each, j[:, None], 1)[:, 0] for each in (events.x0, events.low, events.high, events.point))
    first = np.maximum.accumulate(np.where(kind == PLACED, np.arange(len(kind)), 0))
    made.inside(EVENTS, kind)
    made.inner_values(
        j=j,
        kind=kind,
        x0=x0,
        old=events.log_density[:, 3],
        u=events.uniform,
        level=events.log_level,
        offset=np.where(kind == LEVEL, np.nan, events.offset),
        begin=np.where(kind == LEVEL, np.nan, low[first]),
        low=low,
        high=high,
        widths=(high - low) / spec.w,
        other_low=events.low[:, 1],
        other_high=events.high[:, 1],
        log_low=events.log_density[:, 0],
        log_high=events.log_density[:, 1],
        log_point=events.log_density[:, 2],
        point=point,
        other=events.point[:, 1],
        side=np.clip(kind - OUTSIDE + 1, 0, 2),
    )
    against = WORDS.phrase("stage.against")
    made.line("event", f"{{kind|{'|'.join(WORDS['events'].values())}}}")
    if spec.interval == "hyperrectangle":
        made.line("level", "log y = log π(x₀) + log u = {old:.2f} + log {u:.3f} = {level:.2f}")
        made.line("interval", WORDS.phrase("stage.sides", x=x, y=y))
        made.line("point", WORDS.phrase("stage.point_of_box", against=against))
    else:
        made.line("level", f"{{j|{x}|{y}}}: log y = log π(x₀) + log u = {{old:.2f}} + log {{u:.3f}} = {{level:.2f}}")
        placed = (
            WORDS.phrase("stage.placed_wrong")
            if spec.variant == "fixed_side"
            else f"x₀ − U w = {{x0:.2f}} − {{offset:.3f}} · {spec.w:g} = {{begin:.2f}}"
        )
        made.line("place", WORDS.phrase("stage.first", placed=placed))
        made.line("interval", WORDS.phrase("stage.now"))
        made.line("ends", WORDS.phrase("stage.ends"))
        made.line("point", WORDS.phrase("stage.point", against=against))
    spent, tried = one.gradient_evaluations[0], (one.transitions.kind[0] >= OUTSIDE).sum(axis=1)
    draws = {x: one.draws[0, :, 0], y: one.draws[0, :, 1]}
    made.values(spent=spent, tried=tried)
    made.line("spent", WORDS.phrase("stage.spent"), show="at", since="draw")
    made.say(WORDS.phrase("stage.said", x=x, y=y), x=draws[x], y=draws[y], tried=tried, spent=spent)
    made.table(draws | {"points tried": tried, "evaluations": spent})
