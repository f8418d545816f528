"""The chains on stage: the trace of one quantity, its ranks, a plane of two, and effective draws of the worst."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from app.kit import theme
from app.kit.player.scene import Axis, Panel, Scene
from app.kit.preview import Preview
from lessons.own_chain import analysis, findings
from lessons.own_chain.spec import WORDS, OwnChain

Array = NDArray[np.float64]

TRACE, RANKS = (0, 0, 8, 1), (8, 0, 4, 1)
PLANE, WORST = (0, 1, 6, 1), (6, 1, 6, 1)
TALL, LOW = 250, 230
BINS = 10
STEPS = 1_000  # draws of a chain on stage: every so many-th of longer ones
CHAINS = 8  # on stage
BARS = 6
ROOM = 1.02
LETTERS = 14  # of a name below a bar


PREVIEWS = dict.fromkeys(("burn", "draws"), Preview(smooth=False))


def scene(spec: OwnChain, window: int | None = None) -> bytes:
    """The scene of some chains. It has no inner items, so `window` does not matter."""
    found = analysis.look(spec)
    j, second = analysis.on_stage(spec)
    stride = -(-found.run.draws.shape[1] // STEPS)
    draws = found.run.draws[:CHAINS, ::stride]
    values, name = draws[:, :, j], found.run.names[j]
    picture = Scene(
        run=repr(spec.of_table().replace(place=spec.place)),
        steps=draws.shape[1],
        rate=90.0,
        start=draws.shape[1] - 1,
        theme=theme.palette(),
        label=WORDS.phrase("stage.picture", chains=len(found.run.draws), name=name),
    )
    at = spec.burn + stride * np.arange(1.0, draws.shape[1] + 1)
    _trace(picture, values, name, at)
    _ranks(picture, values)
    if second is None:
        other, other_name = _before(values), WORDS.phrase("stage.before", name=name)
    else:
        other, other_name = draws[:, :, second], found.run.names[second]
    bad = found.run.stats.get("divergent")
    _plane(picture, values, name, other, other_name, None if bad is None else bad[:CHAINS, ::stride] > 0)
    _worst(picture, found)
    _words(picture, found, values, j, stride)
    return picture.encode()


def _plain(words: str) -> str:
    """Without the braces of a template: names come from files."""
    return words.replace("{", "(").replace("}", ")")


def _before(values: Array) -> Array:
    return np.concatenate([values[:, :1], values[:, :-1]], axis=1)


def limits(values: Array) -> tuple[float, float]:
    """An interval with room at its ends, of finite values that may all be the same."""
    finite = values[np.isfinite(values)]
    low, high = (float(finite.min()), float(finite.max())) if finite.size else (0.0, 1.0)
    span = high - low
    pad = 0.04 * span if span > 1e-9 * max(1.0, abs(low), abs(high)) else 0.5 * max(1.0, abs(low))
    return low - pad, high + pad


def _trace(picture: Scene, values: Array, name: str, at: Array) -> None:
    panel = picture.panel(
        "trace",
        title=WORDS.phrase("stage.trace", name=name),
        x=Axis(WORDS.phrase("stage.draw"), at[0] - 1, ROOM * at[-1]),
        y=Axis(name, *limits(values)),
        place=TRACE,
        height=TALL,
    )
    for chain, series in enumerate(values):
        panel.line(at, series, show="upto", width=1.2, chain=chain, label=WORDS.phrase("stage.chain", chain=chain + 1))


def _ranks(picture: Scene, values: Array) -> None:
    """Where each chain's draws stand among all: flat if the chains agree."""
    ranks = values.ravel().argsort(kind="stable").argsort(kind="stable").reshape(values.shape)
    bins = ranks * BINS // values.size
    shares = np.array([np.bincount(chain, minlength=BINS).max() for chain in bins]) / values.shape[1]
    panel = picture.panel(
        "ranks",
        title=WORDS.phrase("stage.ranks"),
        x=Axis(WORDS.phrase("stage.rank"), 0, BINS, ticks=[]),
        y=Axis(WORDS.phrase("stage.share"), 0.0, float(min(1.0, max(3.0 / BINS, 1.15 * shares.max())))),
        place=RANKS,
        height=TALL,
    )
    names = [f"{100 * (k + 1) // BINS} %" for k in range(BINS)]
    for chain, row in enumerate(bins):
        panel.counts(row, BINS, names, chain=chain)
    panel.rule(y=1.0 / BINS, role="truth", dash=True, label=WORDS.phrase("stage.agree"))


def _plane(picture: Scene, x: Array, x_name: str, y: Array, y_name: str, divergent: NDArray[np.bool_] | None) -> Panel:
    panel = picture.panel(
        "plane", title=WORDS.phrase("stage.plane"), x=Axis(x_name, *limits(x)), y=Axis(y_name, *limits(y)), place=PLANE, height=LOW
    )
    for chain in range(len(x)):
        points = np.column_stack([x[chain], y[chain]])
        panel.points(points, show="upto", shape=theme.MARKERS[chain], size=2.0, alpha=0.5, chain=chain)
    if divergent is not None and divergent.any():
        first = int(divergent.any(axis=1).argmax())
        for chain in np.flatnonzero(divergent.any(axis=1)).tolist():
            points = np.column_stack([x[chain], y[chain]])
            label = WORDS.phrase("stage.divergent") if chain == first else None
            panel.points(points, show="upto", mask=divergent[chain], role="divergent", shape="cross", size=4.5, label=label)
    return panel


def _worst(picture: Scene, found: analysis.Found) -> None:
    """Effective draws of the quantities with most trouble."""
    moving = set(found.moving.tolist())
    worst = [int(j) for j in found.order if j in moving][:BARS]
    ess = np.fmin(found.summary.ess_bulk, found.summary.ess_tail)[worst] if worst else np.zeros(1)
    names = [found.run.names[j] for j in worst] or [WORDS.phrase("stage.none")]
    shown = [name if len(name) <= LETTERS else f"{name[: LETTERS - 1]}…" for name in names]
    top = max(450.0, 1.1 * float(np.nanmax(ess)) if np.isfinite(ess).any() else 0.0)
    panel = picture.panel(
        "worst",
        title=WORDS.phrase("stage.worst"),
        x=Axis(WORDS.phrase("stage.quantity"), 0, len(shown)),
        y=Axis(WORDS.phrase("stage.ess"), 0.0, top),
        place=WORST,
        height=LOW,
    )
    panel.bars(np.nan_to_num(ess), labels=shown)
    panel.rule(y=400.0, role="reject", dash=True, label=WORDS.phrase("stage.least"))


def _words(picture: Scene, found: analysis.Found, values: Array, j: int, stride: int) -> None:
    summary, name = found.summary, found.run.names[j]
    numbers = {"r": float(summary.rhat[j]), "b": float(summary.ess_bulk[j]), "t": float(summary.ess_tail[j])}
    numbers |= {"m": float(summary.mean[j]), "e": float(summary.mcse_mean[j])}
    constant = {key: np.full(values.shape[1], value) for key, value in numbers.items()}
    picture.readout("rhat", WORDS.phrase("stage.rhat_card"), withheld=True, r=constant["r"], b=constant["b"], t=constant["t"])
    sure = float(found.decimals[j])
    picture.readout(
        "mean",
        WORDS.phrase("stage.mean_card"),  # in the words themselves it would stand there from the start
        m=constant["m"],
        e=constant["e"],
        d=np.full(values.shape[1], sure if sure >= 0.0 else np.nan),
        withheld=True,
    )
    stands_out = [*findings.sentences(found), WORDS.phrase("findings.none")][0]
    picture.line("finding", _plain(stands_out))
    said = WORDS.phrase("stage.said", name=_plain(name))
    picture.say(f"{said} {WORDS.phrase('stage.every', stride=stride)}" if stride > 1 else said)
    picture.table({f"chain {c + 1}": series for c, series in enumerate(values)})
