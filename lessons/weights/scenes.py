"""Training and sampling side by side as a scene: one look a step."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from app.kit import theme
from app.kit.player.scene import Axis, Editable, Panel, Phase, Scene, Show, levels, stairs
from app.kit.preview import Preview
from engine import ticket
from engine.kept import kept
from lessons.weights import digit_scenes, training
from lessons.weights.spec import CLASSES, HEIGHT, MOST, REACH, WORDS, WeightsSpec
from lessons.weights.training import CELLS, FRAMES, NODES, SHOWN, Learning, Look, data_of, places

Array = NDArray[np.float64]

PHASES = tuple(Phase(id, words) for id, words in WORDS["phases"].items())
RATE = 5.0  # looks a second
FIRST = 5  # looks of a first picture
TALL, SMALL = 300, 220
RATIOS = (0.05, 20.0)  # shown
MAP = 2.0  # |log₂ ratio| at the ends of the map
BINS = 30
LOWEST = 60.0  # nats below the last ELBO that its panel reaches


def scene(spec: WeightsSpec, window: int | None = None) -> bytes:
    """The first looks; of digits all of them. `window` is not used: a look's inside travels with it."""
    return digit_scenes.scene(spec) if spec.problem == "digits" else first(spec)


@kept
def first(spec: WeightsSpec) -> bytes:
    """The same, kept."""
    learning = Learning(spec)
    while len(learning.looks) < FIRST:
        learning.advance()
    return picture(spec, learning.looks, None)


@kept
def whole(spec: WeightsSpec) -> bytes:
    """All looks."""
    if spec.problem == "digits":
        return digit_scenes.scene(spec)
    learning = Learning(spec)
    while not learning.done:
        learning.advance(ticket.stopped)
        ticket.look()
    return picture(spec, learning.looks, None)


OF_DATA = ("rows", "gap", "corner", "noise_sd")
PREVIEWS = dict.fromkeys(
    (*OF_DATA, "units", "prior_sd", "initial_sd", "step_size"),
    Preview(smooth=False, whole=whole, slow=lambda spec: spec.problem == "digits"),
)


def grow(spec: WeightsSpec, job: Any) -> bytes | None:
    """Training and sampling to their ends; of digits the training."""
    if spec.problem == "digits":
        return digit_scenes.grow(spec, job)
    known = whole.peek(spec)
    if known is not None:
        return known
    learning = Learning(spec)
    while not learning.done and not job.is_set():
        learning.advance(job.is_set)
        job.publish(picture(spec, learning.looks, None if learning.done else FRAMES + 1))
    return None if job.is_set() else picture(spec, learning.looks, None)


def picture(spec: WeightsSpec, looks: Sequence[Look], total: int | None) -> bytes:
    """The scene of the looks so far; `total` while more are to come."""
    made = Scene(
        run=hashlib.blake2b(repr(spec).encode(), digest_size=12).hexdigest(),
        steps=len(looks),
        rate=RATE,
        phases=PHASES,
        autoplay=True,
        total=total,
        theme=theme.palette(),
        label=WORDS.phrase("stage.label", problem=WORDS["options.problem"][spec.problem]),
    )
    if spec.problem == "curve":
        _curves(made, spec, looks)
    else:
        _planes(made, spec, looks)
    _weights(made, spec, looks)
    _words(made, spec, looks)
    return made.encode()


def editable(spec: WeightsSpec) -> Editable | None:
    """The reader's own points, where they are the data."""
    if spec.data != "own":
        return None
    rows = np.array(spec.pairs if spec.problem == "curve" else spec.points, dtype=np.float64)
    classes = ("point",) if spec.problem == "curve" else CLASSES
    return Editable(points=rows, classes=classes, limit=MOST)


# The curve ------------------------------------------------------------------------------------------------------------


def _curves(made: Scene, spec: WeightsSpec, looks: Sequence[Look]) -> None:
    line, shown = places("curve")[:, 0], np.arange(len(looks))
    sides = (
        ("q", WORDS.phrase("stage.q"), [look.q for look in looks], (0, 0, 10, 1)),
        ("nuts", WORDS.phrase("stage.nuts"), [look.nuts for look in looks], (10, 0, 10, 1)),
    )
    for id, title, views, place in sides:
        panel = made.panel(
            id,
            title=title,
            x=Axis("x", -REACH["curve"], REACH["curve"]),
            y=Axis("y", -HEIGHT, HEIGHT),
            place=place,
            height=TALL,
            editable=editable(spec) if id == "q" else None,
        )
        half = REACH["curve"] * (1.0 + 1.0 / (NODES - 1))  # nodes are the middles of cells
        fans = np.stack([view.fan for view in views])
        panel.heatmap(
            fans,
            x=(-half, half),
            y=(-HEIGHT, HEIGHT),
            low=0.0,
            high=1.0,
            at=shown,
            alpha=0.55,
            colorbar=id == "nuts",
            label=WORDS.phrase("stage.fan"),
        )
        for end in ("low", "high"):
            ends = np.stack([np.column_stack([line, getattr(view, end)]) for view in views])
            label = WORDS.phrase("stage.band") if end == "low" else None
            panel.path(ends, at=shown, role="posterior", width=2.0, label=label)
        means = np.stack([np.column_stack([line, view.mean]) for view in views])
        panel.path(means, at=shown, role="ink", width=2.2, label=WORDS.phrase("stage.mean"))
        if spec.data == "made":
            fine = np.linspace(-REACH["curve"], REACH["curve"], 161)
            panel.line(fine, training.truth(fine), role="truth", dash=True, width=1.6, label=WORDS.phrase("stage.truth"))
        if id == "q":
            hands = np.stack([look.hand.weights for look in looks])
            panel.line(
                line,
                training.functions(spec, hands),
                show=Show("at", phase=("draw", "slope")),
                role="highlight",
                width=2.0,
                label=WORDS.phrase("stage.drawn"),
            )
        if editable(spec) is None or id == "nuts":
            x, y = data_of(spec)
            panel.points(np.column_stack([x[:, 0], y]), role="class-1", shape="diamond", size=3.6, label=WORDS.phrase("stage.data"))
    panel = made.panel(
        "ratio",
        title=WORDS.phrase("stage.ratio"),
        x=Axis("x", -REACH["curve"], REACH["curve"]),
        y=Axis(WORDS.phrase("stage.ratio_axis"), *RATIOS, log=True),
        place=(0, 1, 10, 1),
        height=SMALL,
    )
    ratios = np.stack([np.column_stack([line, ratio_of(look)]) for look in looks])
    panel.path(ratios, at=shown, role="reject", width=2.4)
    panel.rule(y=1.0, role="truth", dash=True, label=WORDS.phrase("stage.equally_sure"))
    x, _ = data_of(spec)
    panel.points(np.column_stack([x[:, 0], np.full(len(x), 1.15 * RATIOS[0])]), role="class-1", shape="diamond", size=2.6)
    _elbo(made, looks, (10, 1, 10, 1))


def ratio_of(look: Look) -> Array:
    """(m,) sd of q's functions over that of the NUTS draws so far; 1 while there is one draw."""
    if look.draw < 2:
        return np.ones_like(look.q.sd)
    return np.clip(look.q.sd / np.maximum(look.nuts.sd, 1e-9), *RATIOS)


# The plane ------------------------------------------------------------------------------------------------------------


def _planes(made: Scene, spec: WeightsSpec, looks: Sequence[Look]) -> None:
    shown = np.arange(len(looks))
    rows = (
        ("q", WORDS.phrase("stage.plane_q"), [look.q.mean for look in looks], 1.0, (0, 0, 9, 1)),
        ("nuts", WORDS.phrase("stage.plane_nuts"), [look.nuts.mean for look in looks], 1.0, (9, 0, 11, 1)),
        ("q-sd", WORDS.phrase("stage.plane_q_sd"), [look.q.sd for look in looks], 0.5, (0, 1, 9, 1)),
        ("nuts-sd", WORDS.phrase("stage.plane_nuts_sd"), [look.nuts.sd for look in looks], 0.5, (9, 1, 11, 1)),
    )
    for id, title, values, high, place in rows:
        panel = _plane(made, id, title, place, editable(spec) if id == "q" else None)
        panel.heatmap(
            quantised(np.stack(values), 0.0, high),
            x=_view(),
            y=_view(),
            low=0.0,
            high=high,
            at=shown,
            colormap="diverging" if high == 1.0 else "viridis",
            alpha=0.8 if high == 1.0 else 1.0,
            label=WORDS.phrase("stage.probability" if high == 1.0 else "stage.spread"),
            colorbar=id.startswith("nuts"),
        )
        if id != "q" or editable(spec) is None:
            _points(panel, spec)
    panel = _plane(made, "ratio", WORDS.phrase("stage.log_ratio"), (0, 2, 11, 1), None)
    ratios = np.stack([np.log2(ratio_of(look)) for look in looks])
    panel.heatmap(
        quantised(ratios, -MAP, MAP),
        x=_view(),
        y=_view(),
        low=-MAP,
        high=MAP,
        at=shown,
        colormap="diverging",
        label=WORDS.phrase("stage.log_ratio_scale"),
        colorbar=True,
    )
    _points(panel, spec)
    _elbo(made, looks, (11, 2, 9, 1))


def _view() -> tuple[float, float]:
    return -REACH["plane"], REACH["plane"]


def _plane(made: Scene, id: str, title: str, place: tuple[int, int, int, int], points: Editable | None) -> Panel:
    ticks = [(-1, "−1"), (0, "0"), (1, "1")]
    x, y = Axis("x₁", *_view(), ticks=ticks), Axis("x₂", *_view(), ticks=ticks)
    return made.panel(id, title=title, x=x, y=y, place=place, equal=True, height=230, editable=points)


def _points(panel: Panel, spec: WeightsSpec) -> None:
    x, y = data_of(spec)
    panel.points(x, classes=y.astype(np.int64), role=["class-0", "class-1"], shape=["circle", "triangle"], size=2.4)


def quantised(values: Array, low: float, high: float) -> NDArray[np.uint8]:
    """(F, m) values from `low` to `high` as frames of bytes (F, CELLS, CELLS)."""
    return levels(values, high, low).reshape(-1, CELLS, CELLS)


# Both -----------------------------------------------------------------------------------------------------------------


def _elbo(made: Scene, looks: Sequence[Look], place: tuple[int, int, int, int]) -> None:
    step = np.array([look.step for look in looks], dtype=np.float64)
    elbo = np.array([look.elbo for look in looks])
    energy, kl = np.array([look.energy for look in looks]), np.array([look.kl for look in looks])
    panel = made.panel(
        "elbo",
        title=WORDS.phrase("stage.elbo"),
        x=Axis(WORDS.phrase("stage.step"), 0.0, max(float(step[-1]), 1.0)),
        y=Axis(WORDS.phrase("stage.nats"), float(elbo.max()) - LOWEST, float(energy.max()) + 5.0),
        place=place,
        height=SMALL,
    )
    panel.line(step, energy, show="upto", role="likelihood", dash=True, label=WORDS.phrase("stage.energy"))
    panel.line(step, -kl, show="upto", role="prior", width=1.3, label=WORDS.phrase("stage.kl"))
    panel.line(step, elbo, show="upto", role="ink", width=2.5, label=WORDS.phrase("stage.elbo_line"))


def names(spec: WeightsSpec) -> list[str]:
    """Short names of all weights, in order: w to a unit, b its bias, v from it, c the output's bias."""
    marks = str.maketrans("0123456789", "₀₁₂₃₄₅₆₇₈₉")
    inputs = 1 if spec.problem == "curve" else 2

    def low(*numbers: int) -> str:
        return "".join(str(n).translate(marks) for n in numbers)

    units = range(1, spec.units + 1)
    into = [f"w{low(u)}" if inputs == 1 else f"w{low(u, i)}" for u in units for i in range(1, inputs + 1)]
    return [*into, *(f"b{low(u)}" for u in units), *(f"v{low(u)}" for u in units), "c"]


def _weights(made: Scene, spec: WeightsSpec, looks: Sequence[Look]) -> None:
    labels, shown = names(spec), np.arange(len(looks))
    dim = len(labels)
    stride = -(-dim // 18)
    means = [(look.mean, look.weights.mean(axis=0)) for look in looks]
    sds = [(look.sd, look.weights.std(axis=0)) for look in looks]
    reach = 1.1 * max(float((np.abs(m) + s).max()) for m, s in zip(np.array(means), np.array(sds), strict=True))
    panel = made.panel(
        "weights",
        title=WORDS.phrase("stage.weights"),
        place=(0, 3, 12, 1),
        height=SMALL,
        x=Axis(WORDS.phrase("stage.weight"), 0.3, dim + 0.7, ticks=[(j + 1, labels[j]) for j in range(0, dim, stride)]),
        y=Axis(WORDS.phrase("stage.weight"), -reach, reach),
    )
    for side, (role, width, offset, label) in enumerate(
        (("posterior", 3.0, -0.15, "q"), ("reject", 1.6, 0.2, WORDS.phrase("stage.so_far")))
    ):
        bars = np.stack([_bars(m[side], s[side], offset) for m, s in zip(means, sds, strict=True)])
        panel.path(bars, at=shown, role=role, width=width, dash=side == 1, label=label)
    panel.rule(y=0.0, role="grid")
    _one(made, spec, looks, labels[SHOWN])


def _bars(mean: Array, sd: Array, offset: float) -> Array:
    """Whiskers mean ± sd beside one another, with a gap after each and a tick at the mean: (6 dim, 2)."""
    at = np.arange(1, len(mean) + 1) + offset
    gap = np.full(len(mean), np.nan)
    x = np.stack([at, at, at, at - 0.14, at + 0.14, gap], axis=1)
    y = np.stack([mean - sd, mean + sd, mean, mean, mean, gap], axis=1)
    return np.column_stack([x.ravel(), y.ravel()])


def _one(made: Scene, spec: WeightsSpec, looks: Sequence[Look], name: str) -> None:
    shown = np.arange(len(looks))
    last = looks[-1]
    drawn = last.weights[:, SHOWN]
    reach = float(max(np.abs(drawn).max(), abs(last.mean[SHOWN]) + 3.0 * last.sd[SHOWN], 3.0 * spec.prior_sd))
    edges = np.linspace(-reach, reach, BINS + 1)
    grid = np.linspace(-reach, reach, 81)
    counts = np.stack([np.histogram(look.weights[:, SHOWN], edges)[0] / look.draw for look in looks])
    heights = counts / (edges[1] - edges[0])
    normal = np.stack(
        [np.exp(-0.5 * ((grid - look.mean[SHOWN]) / look.sd[SHOWN]) ** 2) / (look.sd[SHOWN] * np.sqrt(2.0 * np.pi)) for look in looks]
    )
    top = 1.1 * float(max(heights[-1].max(), min(normal[-1].max(), 4.0 * heights[-1].max())))
    panel = made.panel(
        "one",
        title=WORDS.phrase("stage.one", name=name),
        x=Axis(WORDS.phrase("stage.one_axis", name=name), -reach, reach),
        y=Axis(WORDS.phrase("stage.density"), 0.0, top),
        place=(12, 3, 8, 1),
        height=SMALL,
    )
    panel.path(stairs(edges, heights), at=shown, role="reject", width=1.4)
    curves = np.stack([np.column_stack([grid, np.minimum(row, 2.0 * top)]) for row in normal])
    panel.path(curves, at=shown, role="posterior", width=2.6)


def _words(made: Scene, spec: WeightsSpec, looks: Sequence[Look]) -> None:
    name = names(spec)[SHOWN]
    hands = [look.hand for look in looks]

    def column(field: str) -> Array:
        return np.array([getattr(hand, field) for hand in hands])

    draw, slope, step = (Show("at", phase=(phase, phase)) for phase in ("draw", "slope", "step"))
    sd = column("sd")
    made.readout(
        "weight",
        WORDS.phrase("stage.card_weight", name=name),
        show=draw,
        mean=column("mean"),
        sd=sd,
        noise=column("noise"),
        weight=column("weight"),
    )
    made.readout("softplus", WORDS.phrase("stage.card_softplus"), show=draw, rho=np.log(np.expm1(np.maximum(sd, 1e-9))))
    if spec.estimator != "weights":
        made.readout("local", WORDS.phrase(f"stage.card_{spec.estimator}"), show=draw)
    if spec.warm_up:
        weights = [min(1.0, look.step / (spec.warm_up * spec.steps)) for look in looks]
        made.readout("warm-up", WORDS.phrase("stage.card_warm_up"), weight=np.array(weights))
    times = WORDS["times"][spec.variant]
    made.readout(
        "slope",
        WORDS.phrase("stage.card_slope", name=name, batch=spec.minibatch, points=spec.size, times=times),
        show=slope,
        slope=column("slope"),
        factor=column("factor"),
        total=column("slope") * column("factor"),
    )
    made.readout(
        "mu",
        WORDS.phrase("stage.card_mu"),
        show=step,
        total=column("slope") * column("factor"),
        prior=column("prior"),
        gradient=column("mean_gradient"),
    )
    made.readout("rho", WORDS.phrase(f"stage.card_rho_{spec.prior}"), show=step, gradient=column("rho_gradient"))
    energy, kl = np.array([look.energy for look in looks]), np.array([look.kl for look in looks])
    error, elbo = np.array([look.error for look in looks]), np.array([look.elbo for look in looks])
    made.readout("elbo", WORDS.phrase("stage.card_elbo"), energy=energy, kl=kl, elbo=elbo, error=error, withheld=True)  # it may be asked
    steps, draws = np.array([look.step for look in looks]), np.array([look.draw for look in looks])
    middle = np.array([float(np.median(ratio_of(look))) for look in looks])
    made.say(WORDS.phrase("stage.said"), withheld=True, step=steps, draw=draws, elbo=elbo, ratio=middle)
    made.table(
        {
            "training step": steps,
            "NUTS draws": draws,
            "ELBO (nats)": elbo,
            "energy (nats)": energy,
            "its standard error (nats)": error,
            "KL (nats)": kl,
            "median ratio of sds": middle,
            f"mean of {name}": np.array([look.mean[SHOWN] for look in looks]),
            f"sd of {name}": np.array([look.sd[SHOWN] for look in looks]),
            f"ε of {name}": column("noise"),
            f"gradient in μ of {name}": column("mean_gradient"),
            f"gradient in ρ of {name}": column("rho_gradient"),
        }
    )
