"""The stage: the draws, the running average with its band, its error on logarithmic axes, and the central limit."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from app.kit import theme
from app.kit.player.scene import Axis, Phase, Scene, Show
from app.kit.preview import Preview
from engine.montecarlo import midpoint
from lessons.monte_carlo import analysis
from lessons.monte_carlo.analysis import Z95, Estimates
from lessons.monte_carlo.spec import WORDS, MonteCarloLesson

Array = NDArray[np.float64]

PHASES = (
    Phase("draw", WORDS.phrase("stage.draw_it")),
    Phase("value", WORDS.phrase("stage.value_it")),
    Phase("average", WORDS.phrase("stage.update_it")),
)
HEIGHT = 240
FAN = 10  # other repetitions drawn behind the run
EDGES = np.linspace(-4.0, 4.0, 25)  # of the histogram of standardised errors


@dataclass(frozen=True)
class Terms:
    """title of the whole; value: what one draw contributes; goal: what is estimated"""

    title: str
    x: str
    value: str
    goal: str


TERMS = {
    "ball": Terms(WORDS.phrase("stage.of_darts"), "x₁", WORDS.phrase("stage.ball"), WORDS.phrase("stage.volume")),
    "power": Terms("∫ x⁻ᵃ dx", "x", WORDS.phrase("stage.power"), WORDS.phrase("stage.integral")),
    "rare": Terms("P(z > c)", "z", WORDS.phrase("stage.rare"), WORDS.phrase("stage.probability")),
    "square": Terms("E[z²]", "z", WORDS.phrase("stage.square"), "E[z²]"),
    "cauchy": Terms(WORDS.phrase("stage.goal_of_cauchy"), "x", WORDS.phrase("stage.cauchy"), WORDS.phrase("stage.of_draws")),
}


PREVIEWS = dict.fromkeys(("dimension", "a", "b", "threshold", "shift", "scale"), Preview(smooth=False))


def scene(spec: MonteCarloLesson, window: int | None = None) -> bytes:
    """The scene of the first repetition, with the others behind it."""
    return drawn(spec, analysis.estimates(spec))


def grow(spec: MonteCarloLesson, job: Any) -> bytes | None:
    """The same, with a picture of the first repetitions while the others are made."""
    if spec.replications > analysis.BEGINNING and analysis.estimates.peek(spec) is None:
        job.publish(drawn(spec, analysis.estimates(spec, analysis.BEGINNING)))
    return None if job.is_set() else scene(spec)


def drawn(spec: MonteCarloLesson, here: Estimates) -> bytes:
    """The scene of a spec from as many of its repetitions as have been made."""
    picture = Scene(
        run=repr(spec),
        steps=spec.draws,
        rate=spec.draws / 15.0,
        phases=PHASES,
        start=spec.draws - 1,
        theme=theme.palette(),
        label=WORDS.phrase("stage.picture", what=TERMS[spec.integral].title, draws=spec.draws, replications=len(here.runs.values)),
    )
    (_darts if spec.integral == "ball" else _curve)(picture, here)
    _running(picture, here)
    _error(picture, here)
    _central(picture, here)
    _sums(picture, here)
    return picture.encode()


def _darts(picture: Scene, here: Estimates) -> None:
    points, hit = here.runs.points[:, :2], here.runs.values[0] > 0.0
    d = here.spec.dimension
    title = WORDS.phrase("stage.darts") if d == 2 else WORDS.phrase("stage.darts_at_cube", d=d)
    panel = picture.panel(
        "draws", title=title, x=Axis("x₁", -1.0, 1.0), y=Axis("x₂", -1.0, 1.0), place=(0, 0, 7, 1), equal=True, height=HEIGHT
    )
    turn = np.linspace(0.0, 2.0 * math.pi, 121)
    panel.path(np.column_stack([np.cos(turn), np.sin(turn)]), role="truth", width=2.0, label=WORDS.phrase("stage.edge"))
    panel.points(
        points,
        show="upto",
        classes=hit.astype(np.uint8),
        role=["reject", "accept"],
        shape=["cross", "circle"],
        size=2.4,
        label=[WORDS.phrase("stage.miss"), WORDS.phrase("stage.hit")],
    )
    panel.points(points, show=Show("upto", last=1), role="ink", shape="ring", size=7, label=WORDS.phrase("stage.newest"))


def _curve(picture: Scene, here: Estimates) -> None:
    """The value as a function of the draw, and the draws on it."""
    x, values, words = here.runs.points[:, 0], here.runs.values[0], TERMS[here.spec.integral]
    low, high = (
        (0.0, 1.0)
        if here.spec.integral == "power"
        else tuple(np.quantile(x, [0.015, 0.985] if here.spec.integral == "cauchy" else [0.004, 0.996]))
    )
    if here.spec.integral == "rare":
        high = max(high, here.spec.threshold + 1.5)
    bottom, top = min(0.0, float(np.quantile(values, 0.01))), float(np.quantile(values, 0.985))
    top = 1.25 * top if top > 0.0 else max(1e-12, 1.25 * float(values.max()), 1e-3)
    if here.spec.integral == "rare" and here.integral.value is here.integral.unweighted:
        top = 1.25
    at = np.linspace(low, high, 400)
    function = here.integral.unweighted if here.spec.mistake == "no_weight" else here.integral.value
    with np.errstate(divide="ignore", over="ignore"):
        curve = function(at[:, None])
    panel = picture.panel(
        "draws",
        title=WORDS.phrase("stage.each"),
        x=Axis(words.x, low, high),
        y=Axis(words.value, bottom, top),
        place=(0, 0, 7, 1),
        height=HEIGHT,
    )
    panel.line(at, np.clip(curve, bottom, 2.0 * top), role="truth", width=1.5, label=WORDS.phrase("stage.value_at"))
    beyond = values > top
    shown = np.column_stack([x, np.where(beyond, 0.985 * top, values)])
    panel.points(
        shown,
        show="upto",
        classes=beyond.astype(np.uint8),
        role=["posterior", "reject"],
        shape=["circle", "triangle"],
        size=2.6,
        label=[WORDS.phrase("stage.draws"), WORDS.phrase("stage.above")],
    )
    panel.points(shown, show=Show("upto", last=1), role="ink", shape="ring", size=7, label=WORDS.phrase("stage.newest"))


def _running(picture: Scene, here: Estimates) -> None:
    n, means, truth = here.n, here.runs.means, here.truth
    reference = here.exact_error if here.finite else np.where(n > 1, np.median(here.reported, axis=0), np.nan)
    reach = float(np.nanmedian(reference[len(n) // 20 : len(n) // 6 + 2])) * 4.0
    if here.wrong and here.spec.mistake == "no_weight":
        reach = max(reach, 1.6 * abs(float(means[0, -1]) - truth))
    reach = max(reach, 1e-9 + 0.02 * abs(truth)) if math.isfinite(reach) else 10.0
    panel = picture.panel(
        "average",
        title=WORDS.phrase("stage.average", goal=TERMS[here.spec.integral].goal),
        x=Axis(WORDS.phrase("stage.n"), 1.0, n[-1], log=True),
        y=Axis(WORDS.phrase("stage.of_draws"), truth - reach, truth + reach),
        place=(7, 0, 8, 1),
        height=HEIGHT,
    )
    keep = np.unique(np.round(np.geomspace(1, len(n), 160)).astype(int)) - 1
    others = [np.column_stack([n[keep], row[keep]]) for row in means[1 : FAN + 1]]
    broken = np.vstack([np.vstack([path, [[np.nan, np.nan]]]) for path in others])
    panel.path(broken, role="muted", width=0.8, alpha=0.5, label=WORDS.phrase("stage.others", fan=FAN))
    if here.finite:
        for side in (-1.0, 1.0):
            panel.line(
                n,
                truth + side * Z95 * here.exact_error,
                role="truth",
                dash=True,
                width=1.5,
                label=WORDS.phrase("stage.truth") if side > 0.0 else None,
            )
    band = here.own
    panel.line(
        n,
        means[0],
        band=(means[0] - Z95 * band, means[0] + Z95 * band),
        show="upto",
        role="posterior",
        width=2.5,
        label=WORDS.phrase("stage.band_of_n" if here.spec.mistake == "band" else "stage.band"),
    )
    name = WORDS.phrase("stage.mean") if math.isfinite(here.integral.mean) else WORDS.phrase("stage.centre")
    panel.rule(y=truth, role="truth", label=name)


def _error(picture: Scene, here: Estimates) -> None:
    n, typical = here.n, here.typical
    floor = max(1e-12, 1e-10 * abs(here.truth))
    mine = np.maximum(np.abs(here.errors[0]), floor)
    low = max(floor, 0.05 * float(typical[-1]))
    high = max(2.0 * float(np.max(typical[: len(n) // 2])), 20.0 * low)
    panel = picture.panel(
        "error",
        title=WORDS.phrase("stage.error"),
        x=Axis(WORDS.phrase("stage.n"), 1.0, n[-1], log=True),
        y=Axis(WORDS.phrase("stage.error_axis"), low, high, log=True),
        place=(0, 1, 7, 1),
        height=HEIGHT - 10,
    )
    panel.line(n, mine, show="upto", role="posterior", width=1.0, alpha=0.6, label=WORDS.phrase("stage.run"))
    what = WORDS.phrase("stage.root_mean_square") if here.finite else WORDS.phrase("stage.median")
    panel.line(n, np.maximum(typical, floor), show="upto", role="highlight", width=2.5, label=WORDS.phrase("stage.over_all", what=what))
    if here.finite and here.integral.variance > 0.0:
        panel.line(n, here.exact_error, show="upto", role="truth", dash=True, label=WORDS.phrase("stage.exact"))
    elif here.integral.variance > 0.0 or not here.finite:
        start = min(9, len(n) - 1)
        anchor = typical[start]
        panel.line(n, anchor * (n / n[start]) ** -0.5, role="muted", dash=True, width=1.2, label=WORDS.phrase("stage.slope"))
        rate = here.integral.rate
        name = WORDS.phrase("stage.constant") if rate == 0.0 else WORDS.phrase("stage.slope_of", rate=rate)
        panel.line(n, anchor * (n / n[start]) ** -rate, role="truth", dash=True, label=WORDS.phrase("stage.theory", name=name))
    if here.spec.integral == "ball":
        grid = [midpoint(here.integral, int(k)) for k in np.unique(np.geomspace(4, n[-1], 14).astype(int))]
        dots = [(cells, max(abs(v - here.truth), floor)) for v, cells in grid if low < abs(v - here.truth) < high]
        if dots:
            panel.points(dots, role="energy", shape="square", size=4, label=WORDS.phrase("stage.grid"))


def _central(picture: Scene, here: Estimates) -> None:
    z, middle = here.standardised, 0.5 * (EDGES[1:] + EDGES[:-1])
    repetitions, draws = z.shape
    bars = len(middle) + 1  # the last, which is not shown, of what is not known
    cell = z - EDGES[0]
    cell /= EDGES[1] - EDGES[0]
    np.clip(cell, 0.0, len(middle) - 1.0, out=cell)  # beyond the ends: outermost bars
    cell[np.isnan(cell)] = len(middle)
    flat = cell.astype(int)
    flat += np.arange(draws) * bars
    heights = np.bincount(flat.ravel(), minlength=draws * bars).reshape(draws, bars)[:, :-1] / repetitions
    width = EDGES[1] - EDGES[0]
    if math.isnan(here.integral.mean):
        truth, name, title = 1.0 / (math.pi * (1.0 + middle**2)) * width, "Cauchy", WORDS.phrase("stage.averages")
    else:
        truth = np.exp(-0.5 * middle**2) / math.sqrt(2.0 * math.pi) * width
        name, title = WORDS.phrase("stage.standard_normal"), WORDS.phrase("stage.central_limit")
    panel = picture.panel(
        "central",
        title=title,
        x=Axis(WORDS.phrase("stage.in_errors") if name != "Cauchy" else WORDS.phrase("stage.of_draws"), 0, len(middle)),
        y=Axis(WORDS.phrase("stage.share"), 0.0, float(max(1.6 * truth.max(), 1.1 * heights[-1].max()))),
        place=(7, 1, 8, 1),
        height=HEIGHT - 10,
    )
    names = [f"{v:.1f}" for v in middle]
    panel.bars(heights, labels=names, truth=truth, role="highlight", label=WORDS.phrase("stage.marks", repetitions=repetitions, name=name))


def _sums(picture: Scene, here: Estimates) -> None:
    spec, n, values, means = here.spec, here.n, here.runs.values[0], here.runs.means[0]
    total, se = np.cumsum(values), here.own
    steps = spec.draws
    x = here.runs.points
    at = "({x:.3f}, {y:.3f}" + (", …)" if x.shape[1] > 2 else ")") if x.shape[1] > 1 else "{x:.4g}"
    second: dict[str, Any] = {"y": x[:, 1]} if x.shape[1] > 1 else {}
    picture.readout("draw", f"draw {{n:d}}: {at}", n=n, x=x[:, 0], **second)
    picture.readout("value", WORDS.phrase("stage.value"), show=Show("all", phase=("value", None)), f=values)
    done = Show("all", phase=("average", None))
    picture.readout("average", "average = (f₁ + … + fₙ)/n = {s:.6g}/{n:d} = {m:.6g}", show=done, s=total, n=n, m=means)
    root = WORDS.phrase("stage.n_wrong") if spec.mistake == "band" else "√n"
    divisor = n if spec.mistake == "band" else np.sqrt(n)
    picture.readout(
        "band",
        WORDS.phrase("stage.standard_error", root=root),
        show=done,
        s=se * divisor,
        r=divisor,
        e=se,
        l=means - Z95 * se,
        h=means + Z95 * se,
    )
    if math.isfinite(here.integral.mean):
        sigma = math.sqrt(here.integral.variance)
        exact = f"σ = {sigma:.4g}" if here.finite else WORDS.phrase("stage.no_band")
        picture.readout("error", WORDS.phrase("stage.error_is", exact=exact), show=done, t=np.full(steps, here.truth), e=means - here.truth)
    if here.spec.mistake == "no_weight" and here.wrong:
        picture.readout("mistake", WORDS.phrase("stage.broken"), show=done, m=np.full(steps, here.integral.unweighted_mean))
    picture.say(WORDS.phrase("stage.said"), n=n, m=means, e=se)
    picture.table({"n": n, "value": values, "average": means, "standard error": se, "typical error": here.typical})
