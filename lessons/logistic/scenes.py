"""From the chain to the picture: the joint posterior, the data with its curves, the prediction, the marginals."""

from __future__ import annotations

import hashlib

import numpy as np
from numpy.typing import NDArray

from app.kit import theme
from app.kit.player.scene import Axis, Editable, Phase, Scene, Show
from app.kit.preview import Preview
from app.kit.text import number
from datasets.logistic import TRUE_WEIGHTS
from engine.logistic import sigmoid
from engine.recording import Recording
from lessons.logistic import analysis
from lessons.logistic.spec import MAX_POINTS, REACH, WORDS, LogisticSpec

Array = NDArray[np.float64]

PHASES = (
    Phase("propose", WORDS.phrase("stage.propose_it")),
    Phase("ratio", WORDS.phrase("stage.ratio_it")),
    Phase("u", WORDS.phrase("stage.draw_u")),
    Phase("decide", WORDS.phrase("stage.decide")),
)
SHARES = (0.5, 0.8, 0.95, 0.99)
CURVE, BINS = 31, 40
TRAIL = 12
NAMES = ("w₀", "w₁")
UNDECIDED = Show("at", phase=("propose", "u"))
AT_DECIDE = Show("at", phase=("decide", None))
FROM_RATIO, FROM_U, FROM_DECIDE = (Show("all", phase=(phase, None)) for phase in ("ratio", "u", "decide"))


PREVIEWS = dict.fromkeys(("prior_sd", "at", "scale"), Preview(smooth=False))


def scene(spec: LogisticSpec, window: int | None) -> bytes:
    """The picture. `window` is not used: a transition has no inside beyond its phases."""
    recording = analysis.record(spec)
    draws, inside = analysis.weights(recording), recording.transitions
    proposal = inside.proposal[0, :, ::-1]
    before = np.concatenate([np.zeros((1, 2)), draws[:-1]])
    picture = Scene(
        run=hashlib.blake2b(repr(spec).encode(), digest_size=12).hexdigest(),
        steps=spec.draws,
        rate=12.0,
        phases=PHASES,
        theme=theme.palette(),
        label=WORDS.phrase("stage.picture"),
    )
    _joint(picture, spec, before, proposal, draws, recording.accepted[0])
    _data(picture, spec, draws)
    _prediction(picture, spec, draws)
    for which in range(2):
        _marginal(picture, spec, draws, which)
    _arithmetic(picture, spec, before, proposal, draws, recording)
    return picture.encode()


def _view(spec: LogisticSpec, draws: Array) -> list[tuple[float, float]]:
    """Ranges of w0 and w1: the posterior, the way in from (0, 0), and where the chain went."""
    grid = analysis.grid(spec)
    ranges = []
    for j, nodes in enumerate((grid.w0, grid.w1)):
        shares = np.cumsum(grid.weight.sum(axis=j))
        low, high = (float(nodes[np.searchsorted(shares, q)]) for q in (3e-4, 1 - 3e-4))
        low, high = min(low, float(draws[:, j].min())), max(high, float(draws[:, j].max()))
        low, high = min(low, 0.0), max(high, 0.0)
        ranges.append((low - 0.05 * (high - low), high + 0.05 * (high - low)))
    return ranges


def _joint(picture: Scene, spec: LogisticSpec, before: Array, proposal: Array, draws: Array, accepted: Array) -> None:
    grid, normal = analysis.grid(spec), analysis.laplace(spec)
    x, y = _view(spec, draws)
    panel = picture.panel(
        "joint",
        title=WORDS.phrase("stage.joint"),
        x=Axis(WORDS.phrase("stage.intercept"), *x),
        y=Axis(WORDS.phrase("stage.slope"), *y),
        place=(0, 0, 2, 2),
        height=410,
    )
    logs = grid.log_density - grid.log_density.max()
    descending = np.sort(logs.ravel())[::-1]
    held = np.cumsum(np.exp(descending))
    levels = np.unique(descending[np.searchsorted(held, np.array(SHARES) * held[-1])])
    panel.contour(
        np.maximum(logs, levels[0] - 40.0),
        levels=levels,
        x=(grid.w0[0], grid.w0[-1]),
        y=(grid.w1[0], grid.w1[-1]),
        role="truth",
        label=WORDS.phrase("stage.regions"),
    )
    for share in (0.5, 0.95):
        panel.path(
            _ellipse(normal.mean, normal.covariance, share),
            role="likelihood",
            dash=True,
            width=2.0,
            label=WORDS.phrase("stage.ellipses") if share == 0.5 else None,
        )
    panel.points(draws, show="upto", role="posterior", size=2.2, alpha=0.5, label=WORDS.phrase("stage.draws_so_far"))
    panel.path(draws, show=Show("upto", last=TRAIL, fade=True), role="ink", width=1.0, alpha=0.6)
    path = analysis.climb(spec).path
    panel.path(path, role="momentum", width=1.6)
    panel.points(path, role="momentum", shape="diamond", size=4.5, label=WORDS.phrase("stage.newton"))
    if spec.data == "pairs":
        panel.points([TRUE_WEIGHTS], role="ink", shape="cross", size=7, label=WORDS.phrase("stage.made"))
    panel.arrows(before, proposal, show=UNDECIDED, role="proposal", width=2.2)
    panel.points(
        proposal,
        show=AT_DECIDE,
        classes=accepted.astype(np.uint8),
        role=["reject", "accept"],
        shape=["cross", "circle"],
        size=6,
        label=[WORDS.phrase("stage.rejected"), WORDS.phrase("stage.accepted")],
    )
    panel.points(draws, show=AT_DECIDE, role="ink", shape="ring", size=8, label=WORDS.phrase("stage.present"))


def _ellipse(mean: Array, covariance: Array, share: float) -> Array:
    angle = np.linspace(0.0, 2.0 * np.pi, 91)
    circle = np.sqrt(-2.0 * np.log(1.0 - share)) * np.column_stack([np.cos(angle), np.sin(angle)])
    return mean + circle @ np.linalg.cholesky(covariance).T


def _data(picture: Scene, spec: LogisticSpec, draws: Array) -> None:
    data = analysis.data_of(spec)
    editable = None
    if spec.data == "points":
        rows = np.column_stack([data.x, data.y]) if len(data.x) else ()
        editable = Editable(points=rows, classes=("pair",), limit=MAX_POINTS)
    panel = picture.panel(
        "data",
        title=WORDS.phrase("stage.data"),
        x=Axis(WORDS.phrase("stage.input"), -REACH, REACH),
        y=Axis("y, p", -0.09, 1.09),
        place=(2, 0, 2, 1),
        height=200,
        editable=editable,
        clickable=editable is None,
    )
    fine, mean, (low, high) = analysis.curves(spec)
    panel.line(fine, mean, band=(low, high), role="truth", width=2.0, dash=True, label=WORDS.phrase("stage.band"))
    coarse = np.linspace(-REACH, REACH, CURVE)
    curves = sigmoid(draws[:, :1] + draws[:, 1:] * coarse)
    panel.line(coarse, curves, show="at", role="highlight", width=2.5, label=WORDS.phrase("stage.curve"))
    if editable is None and len(data.x):
        panel.points(
            np.column_stack([data.x, data.y]),
            classes=data.y,
            role=["class-0", "class-1"],
            shape=["circle", "square"],
            size=2.6,
            alpha=0.6,
            label=["y = 0", "y = 1"],
        )
    panel.rule(x=spec.at, role="energy", dash=True, label="x′")


def _prediction(picture: Scene, spec: LogisticSpec, draws: Array) -> None:
    p = analysis.chances(draws, spec.at)
    panel = picture.panel(
        "prediction",
        title=WORDS.phrase("stage.prediction", at=number(spec.at)),
        x=Axis(WORDS.phrase("stage.probability"), 0, 1),
        place=(2, 1, 2, 1),
        height=210,
    )
    panel.histogram(p, bins=(0.0, 1.0, BINS), role="posterior", label=WORDS.phrase("stage.draws_so_far"))
    middle = (np.arange(BINS) + 0.5) / BINS
    panel.line(
        middle,
        analysis.grid(spec).probability_density(spec.at, BINS),
        role="truth",
        width=2.0,
        dash=True,
        label=WORDS.phrase("stage.exact"),
    )
    inside = np.linspace(0.002, 0.998, 250)
    panel.line(
        inside,
        analysis.laplace(spec).probability_density(spec.at, inside),
        role="likelihood",
        width=1.5,
        label=WORDS.phrase("stage.laplace"),
    )
    mode = analysis.climb(spec).path[-1]
    panel.rule(x=float(analysis.chances(mode, spec.at)), role="momentum", dash=True, label=WORDS.phrase("stage.mode"))


def _marginal(picture: Scene, spec: LogisticSpec, draws: Array, which: int) -> None:
    grid, normal = analysis.grid(spec), analysis.laplace(spec)
    low, high = _view(spec, draws)[which]
    panel = picture.panel(
        f"marginal-{which}",
        title=(WORDS.phrase("stage.of_intercept"), WORDS.phrase("stage.of_slope"))[which],
        x=Axis(NAMES[which], low, high),
        place=(2 * which, 2, 2, 1),
        height=185,
    )
    panel.histogram(draws[:, which], bins=(low, high, 44), role="posterior", label=WORDS.phrase("stage.draws_so_far"))
    panel.line(*grid.marginal(which), role="truth", width=2.0, dash=True, label=WORDS.phrase("stage.exact"))
    xs = np.linspace(low, high, 161)
    sd = np.sqrt(normal.covariance[which, which])
    bell = np.exp(-0.5 * ((xs - normal.mean[which]) / sd) ** 2) / (sd * np.sqrt(2.0 * np.pi))
    panel.line(xs, bell, role="likelihood", width=1.5, label=WORDS.phrase("stage.laplace"))


def _arithmetic(picture: Scene, spec: LogisticSpec, before: Array, proposal: Array, draws: Array, recording: Recording) -> None:
    inside, accepted = recording.transitions, recording.accepted[0]
    new, ratio, u = inside.proposal_log_density[0], inside.log_ratio[0], inside.uniform[0]
    picture.readout(
        "propose", WORDS.phrase("stage.propose", scale=spec.scale), a=before[:, 0], b=before[:, 1], c=proposal[:, 0], d=proposal[:, 1]
    )
    picture.readout(
        "ratio",
        WORDS.phrase("stage.ratio_of_likelihood" if spec.variant == "no_prior" else "stage.ratio"),
        show=FROM_RATIO,
        n=new,
        o=new - ratio,
        r=ratio,
        e=np.exp(np.clip(ratio, -700.0, 700.0)),
    )
    picture.readout("u", WORDS.phrase("stage.u"), show=FROM_U, u=u)
    rate = np.cumsum(accepted) / np.arange(1, spec.draws + 1)
    verdict = WORDS.phrase("stage.decided")
    if spec.variant == "drop_rejections":
        verdict = WORDS.phrase("stage.thrown_away")
        picture.readout("decide", f"u < r: {verdict}", show=FROM_DECIDE)
    else:
        picture.readout("decide", f"u < r: {verdict}", show=FROM_DECIDE, ok=accepted, rate=rate)
    p = analysis.chances(draws, spec.at)
    mean = np.cumsum(p) / np.arange(1, spec.draws + 1)
    exact, sd = analysis.grid(spec).predictive(spec.at)
    picture.readout(
        "predict",
        WORDS.phrase("stage.predict", at=number(spec.at), exact=exact[0], sd=sd[0]),
        show=FROM_DECIDE,
        a=draws[:, 0],
        b=draws[:, 1],
        p=p,
        m=mean,
    )
    picture.say(WORDS.phrase("stage.said"), ok=accepted, a=draws[:, 0], b=draws[:, 1], p=p)
    picture.table({"w0": draws[:, 0], "w1": draws[:, 1], "p at x′": p, "log r": ratio, "u": u, "accepted": accepted})
