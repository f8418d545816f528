"""The posterior of one filter, one draw a step: the filter, its map, two places that share it, spreads before and after
pooling."""

from __future__ import annotations

import math

import numpy as np

from app.kit.player.scene import Scene
from lessons.convolution import analysis
from lessons.convolution.analysis import DRAWS, Spread
from lessons.convolution.marks import begin, most, square, window_of
from lessons.convolution.spec import ConvolutionLesson
from lessons.convolution.training import KERNEL, State

PLAN = "seen*4 draw*4 map*4 pair*6 / mean*6 sd*6 pooled*6 / map-sd*9 pooled-sd*9"
HEIGHTS = (230, 205, 215)


def draw(spec: ConvolutionLesson, state: State | None) -> bytes:
    """The picture of this part."""
    assert state is not None
    fit = state.fit
    found = analysis.spread(spec, fit)
    label = f"Draws of filter {spec.filter} from its posterior: what each makes of the digit, and how far the draws differ."
    made = begin(spec, state, DRAWS, label, rate=8.0).layout(PLAN, HEIGHTS)
    here = np.arange(DRAWS)

    image = analysis.image_of(spec).astype(np.float64)
    panel = square(made, "seen", "The digit, windows A and B", image, low=0.0, high=1.0, colours="cividis", rim=1, caption="8 × 8 pixels")
    for place, name, role in ((found.a, "A", "class-1"), (found.b, "B", "class-2")):
        corners = window_of(place)
        panel.path(corners, role=role, width=3.0, label=name)
        panel.text(float(corners[0, 0]) + 0.5, float(corners[0, 1]) + 0.35, name, role=role)

    filters = found.draws[:, :-1].reshape(DRAWS, KERNEL, KERNEL)
    mean, sd = (part[:-1].reshape(KERNEL, KERNEL) for part in analysis.moments_of(spec, fit))
    top = most(np.concatenate([filters, mean[None]]))
    square(made, "draw", "A draw of the filter", filters, low=-top, high=top, at=here, caption="3 × 3 weights")
    square(made, "mean", "Its mean", mean, low=-top, high=top, label="weight")
    square(made, "sd", "Its sd", sd, low=0.0, high=most(sd), colours="viridis", label="sd")

    top = most(found.maps)
    square(made, "map", "The map of this draw", found.maps, low=-top, high=top, at=here, caption="before pooling")
    square(made, "pooled", "Pooled", found.pooled, low=-top, high=top, at=here, label="map", caption=_pooled(fit.spec.pool))
    _pair(made, found)
    _spreads(made, found, fit.spec.pool)
    _words(made, spec, state, found)
    return made.encode()


def _pooled(pool: int) -> str:
    return f"largest of {pool} × {pool}" if pool > 1 else "no pooling: every place"


def _pair(made: Scene, found: Spread) -> None:
    """The map at A against the map at B: one point a draw, and where the draws lie by the exact correlation."""
    flat, mean, sd = found.maps.reshape(DRAWS, -1), found.mean.ravel(), found.sd.ravel()
    (x, y), wide = (flat[:, place] for place in (found.a, found.b)), 3.4
    low_x, high_x = mean[found.a] - wide * sd[found.a], mean[found.a] + wide * sd[found.a]
    low_y, high_y = mean[found.b] - wide * sd[found.b], mean[found.b] + wide * sd[found.b]
    panel = made.panel("pair", title="One filter, two places", x=("map at A", low_x, high_x), y=("map at B", low_y, high_y))
    angle = np.linspace(0.0, 2.0 * math.pi, 73)
    u, v = np.cos(angle), found.rho * np.cos(angle) + math.sqrt(max(1.0 - found.rho**2, 0.0)) * np.sin(angle)
    for size, label in ((1.0, None), (2.0, "exact: 1 and 2 sd")):
        ring = np.column_stack([mean[found.a] + size * sd[found.a] * u, mean[found.b] + size * sd[found.b] * v])
        panel.path(ring, role="truth", width=1.5, label=label)
    points = np.column_stack([x, y])
    panel.points(points, show="upto", role="posterior", size=3.0, label="a draw")
    panel.points(points, show="at", role="highlight", shape="diamond", size=6.0, label="this draw")


def _spreads(made: Scene, found: Spread, pool: int) -> None:
    """sds over q of the map, before and after pooling, on one scale."""
    after = found.pooled.std(axis=0)
    top = most(np.array([found.sd.max(), after.max()]))
    square(made, "map-sd", "sd before pooling", found.sd, low=0.0, high=top, colours="viridis", label="sd", caption="exact, 8 × 8 places")
    side = "4 × 4 windows" if pool > 1 else "8 × 8 places"
    square(
        made, "pooled-sd", "sd after pooling", after, low=0.0, high=top, colours="viridis", label="sd", caption=f"of {DRAWS} draws, {side}"
    )


def _words(made: Scene, spec: ConvolutionLesson, state: State, found: Spread) -> None:
    flat, mean, sd = found.maps.reshape(DRAWS, -1), found.mean.ravel(), found.sd.ravel()
    a, b = flat[:, found.a], flat[:, found.b]
    made.readout("weights", "this filter: 9 weights and a bias, drawn once for all 64 places")
    for name, place, values in (("a", found.a, a), ("b", found.b, b)):
        words = f"at {name.upper()}: {{value:.2f}}, {{away:+.1f}} sd from the mean {mean[place]:.2f}".replace("-", "−")
        made.readout(f"at-{name}", words, show="at", value=values, away=(values - mean[place]) / sd[place])
    so_far = np.array([np.corrcoef(a[:n], b[:n])[0, 1] if n > 2 else np.nan for n in range(1, DRAWS + 1)])
    made.readout("rho", f"correlation of A and B: {{r:.2f}} so far, exactly {found.rho:.2f}", show="at", r=so_far)
    made.readout(
        "spread",
        f"mean sd: {found.sd.mean():.2f} before pooling, {found.pooled.std(axis=0).mean():.2f} after, "
        f"{found.active.std(axis=0).mean():.2f} after the activation",
    )
    made.say("Draw {t} of {steps}: {a:.2f} at A, {b:.2f} at B.", a=a, b=b)
    made.table({"map at A": a, "map at B": b, "mean of the map": flat.mean(axis=1), "correlation so far": so_far})
