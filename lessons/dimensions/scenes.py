"""A run as a scene, one sweep a step: the map (θ, u) ↔ θ′ of its jump, the ledger of its ratio, the fit to the data,
and the share of each model beside the exact one.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from app.kit import pictures, theme
from app.kit.player.scene import Axis, Editable, Panel, Phase, Scene, Show
from app.kit.preview import Preview
from app.kit.text import minus
from engine.jumps import toy
from engine.jumps.toy import FACTORS
from lessons.dimensions import analysis
from lessons.dimensions.analysis import Walk
from lessons.dimensions.spec import MOST, WORDS, DimensionsLesson

Array = NDArray[np.float64]

TERMS = ("likelihood", "model", "parameters", "proposal", "move", "jacobian")  # as FACTORS
ROWS = tuple(WORDS.phrase(f"factors.{term}") for term in TERMS)
PHASES = (
    Phase("choose", WORDS.phrase("stage.choose")),
    Phase("u", WORDS.phrase("stage.draw_u")),
    Phase("map", WORDS.phrase("stage.map")),
    *(Phase(name, row) for name, row in zip(FACTORS, ROWS, strict=True)),
    Phase("alpha", WORDS.phrase("stage.alpha")),
    Phase("v", WORDS.phrase("stage.draw_v")),
    Phase("verdict", WORDS.phrase("stage.verdict")),
    Phase("redraw", WORDS.phrase("stage.redraw")),
)
JUMPING = Show("at", phase=(None, "verdict"))
FROM_U, FROM_MAP = Show("at", phase=("u", None)), Show("at", phase=("map", None))
FROM_ALPHA, FROM_V = Show("at", phase=("alpha", None)), Show("at", phase=("v", None))
FROM_VERDICT, AT_END = Show("at", phase=("verdict", None)), Show("at", phase=("redraw", None))

MAP, SHARES = (0, 0, 11, 1), (11, 0, 5, 1)
LEDGER, DATA, TRACE = (0, 1, 9, 1), (9, 1, 7, 1), (0, 2, 16, 1)

AROUND = 25  # vertices of an ellipse
ITEMS = AROUND + 4  # inner items of a sweep: the vertices of its ellipse and interval
NINETY = 4.605  # squared radius of the ellipse that holds 90 % of a Gaussian in the plane
CURVE = 17  # places of a polynomial's curve
BUDGET = 200 * ITEMS


def names(spec: DimensionsLesson) -> list[str]:
    """Of the models, for the axes."""
    if spec.family == "polynomial":
        return [WORDS.phrase("models.degree", k=k) for k in range(spec.models)]
    return [WORDS.phrase("models.first_mean"), *(WORDS.phrase("models.means", k=k) for k in range(2, spec.models + 1))]


OF_MODELS = ("spread", "birth", "models", "start", "prior_sd", "noise_sd")
PREVIEWS = dict.fromkeys((*OF_MODELS, "observations", "truth", "effect"), Preview(smooth=False))


def scene(spec: DimensionsLesson, window: int | None = None) -> bytes:
    """The scene of a run, with the shapes on the map for the jumps around `window`."""
    return _picture(spec, window, analysis.settles(spec))


def grow(spec: DimensionsLesson, job: Any) -> bytes | None:
    """The same; of a wrong sampler first without where its shares settle, if that takes a long run."""
    if analysis.limit(spec) is None and analysis.settles.peek(spec) is None:
        job.publish(_picture(spec, None, None))
    return None if job.is_set() else scene(spec)


def _picture(spec: DimensionsLesson, window: int | None, settles: Array | None) -> bytes:
    walk = analysis.walk(spec)
    picture = Scene(run=repr(spec), steps=walk.steps, rate=6.0, phases=PHASES, theme=theme.palette(), label=WORDS.phrase("stage.picture"))
    first, count = pictures.window_around(window, walk.steps, ITEMS, budget=BUDGET)
    picture.window(first, np.arange(count + 1, dtype=np.int32) * ITEMS)
    _map(picture, walk, slice(first, first + count))
    _shares(picture, walk, settles)
    _ledger(picture, walk)
    _data(picture, walk)
    _trace(picture, walk)
    _arithmetic(picture, walk)
    _words(picture, walk)
    return picture.encode()


# The map --------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Boxes:
    """Two square boxes side by side in one panel, both from −reach to reach: (parameter, u) on the left, the two
    parameters of the larger model on the right.
    """

    reach: float

    @property
    def offset(self) -> float:
        """How far the middle of each box lies from the panel's."""
        return 1.3 * self.reach

    def left(self, points: Array) -> Array:
        """(N, 2) places in the panel of points (N, 2) of the left box."""
        return points - np.array([self.offset, 0.0])

    def right(self, points: Array) -> Array:
        """(N, 2) places in the panel of points (N, 2) of the right box."""
        return points + np.array([self.offset, 0.0])

    def frames(self) -> Array:
        """The borders of both boxes and the line u = 0."""
        corners = self.reach * np.array([[-1, -1], [1, -1], [1, 1], [-1, 1], [-1, -1]])
        axis = self.reach * np.array([[-1.0, 0.0], [1.0, 0.0]])
        return _apart(self.left(corners), self.left(axis), self.right(corners))

    def ticks(self) -> list[float]:
        """Values that both boxes name."""
        decade = 10.0 ** np.floor(np.log10(0.8 * self.reach))
        unit = max(step for step in (1.0, 2.0, 5.0) if step * decade <= 0.8 * self.reach) * decade
        return [-unit, 0.0, unit]


def boxes(walk: Walk) -> Boxes:
    """Wide enough for nearly all that the run tries."""
    tried = np.abs(np.concatenate([walk.small, walk.jump.u, walk.large.ravel()]))
    return Boxes(max(3.2, float(np.quantile(tried, 0.98))))


def _apart(*pieces: Array) -> Array:
    """Polylines as one path, broken between them."""
    broken = [row for piece in pieces for row in (piece, np.full((1, 2), np.nan))]
    return np.concatenate(broken[:-1])


def _map(picture: Scene, walk: Walk, part: slice) -> None:
    spec, box = walk.spec, boxes(walk)
    jacobian = float(np.exp(analysis.models_of(spec).log_jacobian[0]))
    ticks = box.ticks()
    edge = box.offset + 1.08 * box.reach
    panel = picture.panel(
        "map",
        title=WORDS.phrase("stage.matched", jacobian=jacobian),
        x=Axis(
            WORDS.phrase(f"stage.map_x_{spec.family}"),
            -edge,
            edge,
            ticks=[(side * box.offset + at, minus(f"{at:g}")) for side in (-1, 1) for at in ticks],
        ),
        y=Axis(
            WORDS.phrase(f"stage.map_y_{spec.family}"), -1.05 * box.reach, 1.28 * box.reach, ticks=[(at, minus(f"{at:g}")) for at in ticks]
        ),
        place=MAP,
        equal=True,
        height=270,
    )
    panel.path(box.frames(), role="muted", width=1.0, alpha=0.7)
    u = np.linspace(-min(3.5, box.reach), min(3.5, box.reach), 61)
    bell = np.column_stack([-box.reach + 0.5 * box.reach * np.exp(-0.5 * u**2), u])
    panel.path(box.left(bell), role="prior", width=1.8, label=WORDS.phrase("stage.density_of_u"))
    panel.text(-box.offset, 1.15 * box.reach, WORDS.phrase(f"stage.small_{spec.family}"))
    panel.text(box.offset, 1.15 * box.reach, WORDS.phrase(f"stage.large_{spec.family}"))
    panel.path(_posteriors(walk, box, part), show="inner_all", role="truth", width=1.6, label=WORDS.phrase("stage.posteriors"))
    _cells(panel, walk, box, jacobian)
    _jump(panel, walk, box)


def _posteriors(walk: Walk, box: Boxes, part: slice) -> Array:
    """Of each jump in `part`: where the posteriors of the two models lie on the map, (count * ITEMS, 2)."""
    spec, models = walk.spec, analysis.models_of(walk.spec)
    angle = np.linspace(0.0, 2.0 * np.pi, AROUND)
    circle = np.sqrt(NINETY) * np.column_stack([np.cos(angle), np.sin(angle)])
    shapes = []
    for k, i in enumerate(analysis.moved(spec, np.arange(1, spec.models)), 1):
        covariance = models.root[k] @ models.root[k].T
        root = np.linalg.cholesky(covariance[i : i + 2, i : i + 2])
        ellipse = box.right(models.mean[k, i : i + 2] + circle @ root.T)
        mean, sd = models.mean[k - 1, i], np.linalg.norm(models.root[k - 1, i])
        ends = mean + 1.645 * sd * np.array([-1.0, 1.0])
        shapes.append(_apart(ellipse, box.left(np.column_stack([ends, np.zeros(2)])), np.empty((0, 2))))
    return np.stack(shapes)[walk.low[part] - 1].reshape(-1, 2)


def _cells(panel: Panel, walk: Walk, box: Boxes, jacobian: float) -> None:
    """The two edges of a small cell at (θ, u), and where the map takes them: they span an area |det A| times larger."""
    side = 0.3 * box.reach
    low = int(walk.low[0])
    i = int(analysis.moved(walk.spec, walk.low[:1])[0])
    models = analysis.models_of(walk.spec)
    A = models.maps[low - 1][np.ix_([i, i + 1], [i, low])]
    here = box.left(np.column_stack([walk.small, walk.jump.u]))
    there = box.right(walk.large)
    for edge in range(2):
        step = side * np.eye(2)[edge]
        label = WORDS.phrase("stage.edges", jacobian=jacobian) if edge == 0 else None
        panel.arrows(here, here + step, show=FROM_MAP, role="highlight", width=1.6, label=label)
        panel.arrows(there, there + A @ step, show=FROM_MAP, role="highlight", width=1.6)


def _jump(panel: Panel, walk: Walk, box: Boxes) -> None:
    birth, ok = walk.jump.birth, walk.accepted
    line = box.left(np.column_stack([walk.small, np.zeros(walk.steps)]))
    lifted = box.left(np.column_stack([walk.small, walk.jump.u]))
    large = box.right(walk.large)
    here, there = np.where(birth[:, None], line, large), np.where(birth[:, None], large, line)

    def only(points: Array, mask: NDArray[np.bool_]) -> Array:
        return np.where(mask[:, None], points, np.nan)

    panel.arrows(only(line, birth), lifted, show=FROM_U, role="prior", width=2.2)
    panel.arrows(only(lifted, birth), large, show=FROM_MAP, role="proposal", width=2.2, label=WORDS.phrase("stage.the_map"))
    panel.arrows(only(large, ~birth), lifted, show=FROM_MAP, role="proposal", width=2.2)
    panel.arrows(only(lifted, ~birth), line, show=FROM_MAP, role="prior", width=2.2)
    panel.points(here, role="ink", shape="circle", size=5, show=JUMPING, label=WORDS.phrase("stage.state"))
    panel.points(there, role="proposal", shape="diamond", size=6, show=Show("at", phase=("map", "v")))
    panel.points(
        there,
        show=FROM_VERDICT,
        classes=ok.astype(np.uint8),
        role=["reject", "accept"],
        shape=["cross", "ring"],
        size=7,
        label=[WORDS.phrase("stage.rejected"), WORDS.phrase("stage.accepted")],
    )


# Shares ---------------------------------------------------------------------------------------------------------------


def _shares(picture: Scene, walk: Walk, settles: Array | None) -> None:
    """`settles` : where the shares do; None while that is not known."""
    spec = walk.spec
    true, K = analysis.exact(spec), spec.models
    top = 1.2 * max(true.max(), 0.0 if settles is None else settles.max(), np.bincount(walk.after).max() / walk.steps)
    given = WORDS.phrase("stage.given_data" if spec.likelihood == "on" else "stage.prior")
    panel = picture.panel(
        "shares",
        title=WORDS.phrase("stage.shares", given=given),
        x=Axis(WORDS.phrase(f"stage.number_of_{spec.family}"), 0, K),
        y=Axis(WORDS.phrase("stage.share"), 0.0, min(1.0, top)),
        place=SHARES,
        height=270,
    )
    numbers = [str(k + (spec.family == "means")) for k in range(K)]
    panel.counts(walk.after - 1, K, numbers, label=WORDS.phrase("stage.so_far"))
    panel.bars(true, labels=numbers, role="truth", label=WORDS.phrase("stage.exact"))
    if spec.variant != "exact" and settles is not None:
        if analysis.limit(spec) is not None:
            label = WORDS.phrase("stage.settles_exactly")
        else:
            label = WORDS.phrase("stage.settles", chains=analysis.LONG_CHAINS, sweeps=analysis.LONG)
        panel.points(np.column_stack([np.arange(K) + 0.31, settles]), role="divergent", shape="ring", size=6, label=label)


def _trace(picture: Scene, walk: Walk) -> None:
    spec = walk.spec
    panel = picture.panel(
        "trace",
        title=WORDS.phrase("stage.trace"),
        x=Axis(WORDS.phrase("stage.sweep"), 0, walk.steps),
        y=Axis("", 0.6, spec.models + 0.4, ticks=list(enumerate(names(spec), 1))),
        place=TRACE,
        height=90 + 16 * spec.models,
    )
    panel.line(np.arange(1.0, walk.steps + 1.0), walk.after.astype(float), show="upto", role="posterior", width=1.3)


# The ledger -----------------------------------------------------------------------------------------------------------


def running(walk: Walk) -> Array:
    """(N, 7) sum of the counted factors before the first, after the first, ..., after the last."""
    counted = np.where(walk.counts, walk.factors, 0.0)
    return np.column_stack([np.zeros(walk.steps), np.cumsum(counted, axis=1)])


def _ledger(picture: Scene, walk: Walk) -> None:
    sums, n = running(walk), len(FACTORS)
    low = float(np.clip(np.quantile(sums, 0.15) - 1.0, -8.0, -5.0))
    high = float(np.clip(np.quantile(sums, 0.99) + 0.5, 1.5, 6.0))
    height = np.arange(n + 2, 0, -1, dtype=float)
    forgotten = ~np.all(toy.counted(walk.spec.variant), axis=0)
    ticks = [WORDS.phrase("stage.left_out", factor=row) if gone else row for row, gone in zip(ROWS, forgotten, strict=True)]
    ticks += [WORDS.phrase("stage.alpha"), WORDS.phrase("stage.log_v")]
    panel = picture.panel(
        "ledger",
        title=WORDS.phrase("stage.ledger"),
        x=Axis(WORDS.phrase("stage.log_factor"), low, high),
        y=Axis("", 0.4, n + 2.6, ticks=list(zip(height, ticks, strict=True))),
        place=LEDGER,
        height=300,
    )
    panel.rule(x=0.0, role="muted")
    for i, name in enumerate(FACTORS):
        show, row = Show("at", phase=(name, None)), np.full(walk.steps, height[i])
        start = np.column_stack([sums[:, i], row])
        tip = np.column_stack([sums[:, i] + walk.factors[:, i], row])
        counted, up = walk.counts[:, i], walk.factors[:, i] > 0
        for chosen, role, label in (
            (counted & up, "positive", WORDS.phrase("stage.helps")),
            (counted & ~up, "negative", WORDS.phrase("stage.hinders")),
            (~counted, "divergent", WORDS.phrase("stage.forgotten")),
        ):
            if role == "divergent" and counted.all():
                continue
            first = i == (0 if role != "divergent" else int(np.argmin(walk.counts.all(axis=0))))
            width = 5.0 if role != "divergent" else 2.0
            panel.arrows(np.where(chosen[:, None], start, np.nan), tip, show=show, role=role, width=width, label=label if first else None)
        edge = low + 0.02 * (high - low)
        panel.points(
            np.column_stack([np.maximum(sums[:, i + 1], edge), row]),
            show=show,
            classes=(sums[:, i + 1] < edge).astype(np.uint8),
            role=["ink", "muted"],
            shape=["circle", "square"],
            size=3.0,
            label=[WORDS.phrase("stage.sum_so_far"), WORDS.phrase("stage.sum_beyond")] if i == 0 else None,
        )
        panel.points(tip, mask=~counted, show=show, role="divergent", shape="cross", size=5)
    with np.errstate(divide="ignore"):
        log_v = np.log(walk.jump.uniform)
    panel.rule(x=walk.jump.log_ratio, show=FROM_ALPHA, role="ink", dash=True, label=WORDS.phrase("stage.log_r"))
    panel.points(
        np.column_stack([np.maximum(walk.jump.log_alpha, low), np.full(walk.steps, height[n])]),
        show=FROM_ALPHA,
        role="highlight",
        shape="diamond",
        size=6,
    )
    panel.points(
        np.column_stack([np.maximum(log_v, low), np.full(walk.steps, height[n + 1])]),
        show=FROM_V,
        classes=walk.accepted.astype(np.uint8),
        role=["reject", "accept"],
        shape=["cross", "ring"],
        size=6.5,
    )


# The data -------------------------------------------------------------------------------------------------------------


def places(spec: DimensionsLesson) -> Array:
    """(n,) where the measurements stand: by number, or at x of the polynomial."""
    data = analysis.data_of(spec)
    return np.arange(1.0, len(data.y) + 1.0) if spec.family == "means" else data.x


def curves(spec: DimensionsLesson) -> tuple[Array, list[Array]]:
    """Places (M,) of a model's curve and its designs X_k (M, k) there: the steps of the means, or a fine grid."""
    data = analysis.data_of(spec)
    if spec.family == "polynomial":
        xs = np.linspace(-1.0, 1.0, CURVE)
        return xs, analysis.designs_at(spec, xs)
    first, last = steps(spec)
    ends = np.column_stack([first, last]).ravel()
    return np.column_stack([first + 0.5, last + 1.5]).ravel(), [design[ends] for design in data.designs]


def steps(spec: DimensionsLesson) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """First and last measurement of each group, counted from 0."""
    group = np.argmax(analysis.data_of(spec).designs[-1], axis=1)
    groups = np.arange(spec.models)
    return np.searchsorted(group, groups), np.searchsorted(group, groups, side="right") - 1


def _data(picture: Scene, walk: Walk) -> None:
    spec, data, jump = walk.spec, analysis.data_of(walk.spec), walk.jump
    at, (xs, designs) = places(spec), curves(spec)
    known, width = spec.likelihood == "on", float(np.ptp(at))
    reach = float(np.abs(data.y).max()) + 0.6 if known else 2.2 * spec.prior_sd
    measurement = WORDS.phrase("stage.measurement")
    panel = picture.panel(
        "data",
        title=WORDS.phrase("stage.drag" if known else "stage.no_data"),
        x=Axis(measurement if spec.family == "means" else "x", at[0] - 0.04 * width, at[-1] + 0.04 * width),
        y=Axis("y", -reach, reach),
        place=DATA,
        height=300,
        editable=Editable(points=np.column_stack([at, data.y]), classes=(measurement,), limit=MOST) if known else None,
    )
    if known and data.true_mean is not None:
        truth = at, data.true_mean
        if spec.family == "means":
            truth = xs, data.true_mean[np.column_stack(steps(spec)).ravel()]
        panel.line(*truth, role="truth", dash=True, width=1.6, label=WORDS.phrase("stage.made_by"))
    before, proposed = (analysis.fitted(designs, k, theta) for k, theta in ((jump.source, jump.before), (jump.destination, jump.proposed)))
    panel.line(xs, before, show=JUMPING, role="ink", width=2.0, label=WORDS.phrase("stage.state_theta"))
    trying, label = Show("at", phase=("map", "verdict")), WORDS.phrase("stage.proposed_theta")
    panel.line(xs, proposed, show=trying, role="proposal", dash=True, width=2.4, label=label)
    after = analysis.fitted(designs, walk.after, walk.theta)
    panel.line(xs, after, show=AT_END, role="posterior", width=2.4, label=WORDS.phrase("stage.after_sweep"))


# Numbers and words ----------------------------------------------------------------------------------------------------


def _arithmetic(picture: Scene, walk: Walk) -> None:
    spec, jump, terms = walk.spec, walk.jump, walk.terms
    b, lost = jump.birth, ~walk.counts
    births, deaths = analysis.move_probabilities(spec)
    tried = np.where(b, births[jump.source - 1], deaths[jump.source - 1])
    picture.readout("choose", WORDS.phrase("card.choose"), k=jump.source, b=b, p=tried, to=jump.destination, show=Show("at"))
    picture.readout("u", WORDS.phrase("card.u"), u=jump.u, b=b, show=FROM_U)
    picture.readout(
        "map",
        WORDS.phrase(f"card.map_{spec.family}", spread=spec.spread),
        b=b,
        m=walk.small,
        u=jump.u,
        one=walk.large[:, 0],
        two=walk.large[:, 1],
        show=FROM_MAP,
    )
    lines = ("likelihood" if spec.likelihood == "on" else "no_data", *TERMS[1:-1], f"jacobian_{spec.family}")
    pairs: tuple[tuple[Array, Array | None], ...] = (
        *((terms[f"{name} proposed"], terms[f"{name} before"]) for name in TERMS[:3]),
        (jump.u**2, np.full(walk.steps, analysis.LOG_2PI)),
        (np.where(b, terms["d"], terms["b"]), np.where(b, terms["b"], terms["d"])),
        (np.full(walk.steps, spec.spread), None),
    )
    for i, (factor, row, line, (one, two)) in enumerate(zip(FACTORS, ROWS, lines, pairs, strict=True)):
        values: dict[str, Any] = {"one": one, "b": b, "f": walk.factors[:, i], "lost": lost[:, i]}
        values |= {} if two is None else {"two": two}
        template = WORDS.phrase("card.factor", factor=row, worked_out=WORDS.phrase(f"card.{line}"))
        picture.readout(factor, template, show=Show("at", phase=(factor, None)), **values)
    _decision(picture, walk, tried)


def _decision(picture: Scene, walk: Walk, tried: Array) -> None:
    jump, K = walk.jump, walk.spec.models
    counted = np.where(walk.counts, walk.factors, 0.0)
    slots = " ".join(f"{{f{i}:+.2f}}" for i in range(len(FACTORS)))
    alpha = np.exp(jump.log_alpha)
    terms: dict[str, Any] = {f"f{i}": counted[:, i] for i in range(len(FACTORS))}
    picture.readout("sum", WORDS.phrase("card.sum", factors=slots), r=jump.log_ratio, show=FROM_ALPHA, **terms)
    picture.readout("alpha", WORDS.phrase("card.alpha"), la=jump.log_alpha, a=alpha, show=FROM_ALPHA)
    picture.readout("v", WORDS.phrase("card.v"), v=jump.uniform, a=alpha, ok=walk.accepted, show=FROM_V)
    picture.readout("verdict", WORDS.phrase("card.verdict"), ok=walk.accepted, k=walk.after, show=FROM_VERDICT)
    models = "|".join(WORDS.phrase("card.of_models", k=k, models=K) for k in range(K + 1))
    picture.readout("redraw", WORDS.phrase("card.redraw", models=models), k=walk.after, show=AT_END)
    rate = np.cumsum(walk.accepted) / np.arange(1, walk.steps + 1)
    picture.readout("rate", WORDS.phrase("card.rate"), rate=rate, show=AT_END)
    picture.say(WORDS.phrase("card.said"), b=jump.birth, k=jump.source, to=jump.destination, la=jump.log_alpha, ok=walk.accepted)


def _words(picture: Scene, walk: Walk) -> None:
    jump = walk.jump
    picture.table(
        {
            "birth": jump.birth,
            "k": jump.source,
            "k proposed": jump.destination,
            "u": jump.u,
            **{row: jump.factors[:, i] for i, row in enumerate(FACTORS)},
            "log r": jump.log_ratio,
            "v": jump.uniform,
            "accepted": walk.accepted,
            "k after": walk.after,
        }
    )


def dragged(spec: DimensionsLesson, event: dict) -> Array | None:
    """(n,) the measurements as the reader has placed them on the stage, in order; None for another event."""
    if event.get("kind") != "points" or event.get("panel") != "data":
        return None
    rows = sorted((float(x), float(y)) for x, y, _ in event["points"][: MOST + 1])
    return np.array([y for _, y in rows])
