"""The posterior of one filter, one draw a step: the filter, its map, two places that share it, spreads before and after
pooling."""

from __future__ import annotations

import math

import numpy as np

from app.kit.player.scene import Scene
from lessons.convolution import analysis
from lessons.convolution.analysis import DRAWS, Spread
from lessons.convolution.marks import begin, most, pooling, square, window_of
from lessons.convolution.spec import WORDS, ConvolutionLesson
from lessons.convolution.training import KERNEL, SIDE, State

PLAN = "seen*4 draw*4 map*4 pair*6 / mean*6 sd*6 pooled*6 / map-sd*9 pooled-sd*9"
HEIGHTS = (230, 205, 215)


def draw(spec: ConvolutionLesson, state: State | None) -> bytes:
    """The picture of this part."""
    assert state is not None
    fit = state.fit
    found = analysis.spread(spec, fit)
    label = WORDS.phrase("posterior.picture", filter=spec.filter)
    made = begin(spec, state, DRAWS, label, rate=8.0).layout(PLAN, HEIGHTS)
    here = np.arange(DRAWS)

    image = analysis.image_of(spec).astype(np.float64)
    title, pixels = WORDS.phrase("posterior.digit"), WORDS.phrase("stage.pixels", side=SIDE)
    panel = square(made, "seen", title, image, low=0.0, high=1.0, colours="cividis", rim=1, caption=pixels)
    for place, name, role in ((found.a, "A", "class-1"), (found.b, "B", "class-2")):
        corners = window_of(place)
        panel.path(corners, role=role, width=3.0, label=name)
        panel.text(float(corners[0, 0]) + 0.5, float(corners[0, 1]) + 0.35, name, role=role)

    filters = found.draws[:, :-1].reshape(DRAWS, KERNEL, KERNEL)
    mean, sd = (part[:-1].reshape(KERNEL, KERNEL) for part in analysis.moments_of(spec, fit))
    top = most(np.concatenate([filters, mean[None]]))
    title, weights = WORDS.phrase("posterior.draw"), WORDS.phrase("stage.weights", edge=KERNEL)
    square(made, "draw", title, filters, low=-top, high=top, at=here, caption=weights)
    square(made, "mean", WORDS.phrase("posterior.mean"), mean, low=-top, high=top, label=WORDS.phrase("stage.weight"))
    square(made, "sd", WORDS.phrase("posterior.sd"), sd, low=0.0, high=most(sd), colours="viridis", label=WORDS.phrase("stage.sd"))

    top = most(found.maps)
    title, before = WORDS.phrase("posterior.map"), WORDS.phrase("stage.before_pooling")
    square(made, "map", title, found.maps, low=-top, high=top, at=here, caption=before)
    title, label = WORDS.phrase("stage.pooled"), WORDS.phrase("stage.map")
    square(made, "pooled", title, found.pooled, low=-top, high=top, at=here, label=label, caption=pooling(fit.spec.pool))
    _pair(made, found)
    _spreads(made, found, fit.spec.pool)
    _words(made, spec, state, found)
    return made.encode()


def _pair(made: Scene, found: Spread) -> None:
    """The map at A against the map at B: one point a draw, and where the draws lie by the exact correlation."""
    flat, mean, sd = found.maps.reshape(DRAWS, -1), found.mean.ravel(), found.sd.ravel()
    (x, y), wide = (flat[:, place] for place in (found.a, found.b)), 3.4
    low_x, high_x = mean[found.a] - wide * sd[found.a], mean[found.a] + wide * sd[found.a]
    low_y, high_y = mean[found.b] - wide * sd[found.b], mean[found.b] + wide * sd[found.b]
    x_axis, y_axis = (WORDS.phrase("posterior.at_a"), low_x, high_x), (WORDS.phrase("posterior.at_b"), low_y, high_y)
    panel = made.panel("pair", title=WORDS.phrase("posterior.pair"), x=x_axis, y=y_axis)
    angle = np.linspace(0.0, 2.0 * math.pi, 73)
    u, v = np.cos(angle), found.rho * np.cos(angle) + math.sqrt(max(1.0 - found.rho**2, 0.0)) * np.sin(angle)
    for size, label in ((1.0, None), (2.0, WORDS.phrase("posterior.exact"))):
        ring = np.column_stack([mean[found.a] + size * sd[found.a] * u, mean[found.b] + size * sd[found.b] * v])
        panel.path(ring, role="truth", width=1.5, label=label)
    points = np.column_stack([x, y])
    panel.points(points, show="upto", role="posterior", size=3.0, label=WORDS.phrase("posterior.a_draw"))
    panel.points(points, show="at", role="highlight", shape="diamond", size=6.0, label=WORDS.phrase("posterior.this_draw"))


def _spreads(made: Scene, found: Spread, pool: int) -> None:
    """sds over q of the map, before and after pooling, on one scale."""
    after = found.pooled.std(axis=0)
    top = most(np.array([found.sd.max(), after.max()]))
    places, sd = WORDS.phrase("stage.places", side=SIDE), WORDS.phrase("stage.sd")
    title, caption = WORDS.phrase("posterior.sd_before"), WORDS.phrase("posterior.sd_before_caption", places=places)
    square(made, "map-sd", title, found.sd, low=0.0, high=top, colours="viridis", label=sd, caption=caption)
    left = WORDS.phrase("stage.windows", side=SIDE // pool) if pool > 1 else places
    title, caption = WORDS.phrase("posterior.sd_after"), WORDS.phrase("posterior.sd_after_caption", draws=DRAWS, places=left)
    square(made, "pooled-sd", title, after, low=0.0, high=top, colours="viridis", label=sd, caption=caption)


def _words(made: Scene, spec: ConvolutionLesson, state: State, found: Spread) -> None:
    flat, mean, sd = found.maps.reshape(DRAWS, -1), found.mean.ravel(), found.sd.ravel()
    a, b = flat[:, found.a], flat[:, found.b]
    made.readout("weights", WORDS.phrase("posterior.weights_card", weights=KERNEL**2, places=SIDE**2))
    for name, place, values in (("A", found.a, a), ("B", found.b, b)):
        words, about = WORDS.phrase("posterior.place_card", place=name), np.full(DRAWS, mean[place])
        away = (values - mean[place]) / sd[place]
        made.readout(f"at-{name.lower()}", words, show="at", withheld=name == "B", value=values, away=away, mean=about)  # asked is B
    so_far = np.array([np.corrcoef(a[:n], b[:n])[0, 1] if n > 2 else np.nan for n in range(1, DRAWS + 1)])
    exact = np.where(np.isnan(so_far), np.nan, found.rho)  # not before there is something to compare: it is asked about
    made.readout("rho", WORDS.phrase("posterior.correlation_card"), show="at", r=so_far, exact=exact)
    after, active = found.pooled.std(axis=0).mean(), found.active.std(axis=0).mean()
    made.readout("spread", WORDS.phrase("posterior.spread_card", before=found.sd.mean(), after=after, active=active), withheld=True)
    made.say(WORDS.phrase("posterior.said"), a=a, b=b)
    made.table({"map at A": a, "map at B": b, "mean of the map": flat.mean(axis=1), "correlation so far": so_far})
