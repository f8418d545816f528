"""The picture of chains on neurons or on layers, as they grow."""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np
from numpy.typing import NDArray

from app.kit import pictures, theme
from app.kit.player.scene import Axis, Editable, Panel, Phase, Scene, Show
from engine import kept
from engine.evidence import ModelProbabilities
from engine.judge.answers import UNSURE, leader
from engine.jumps.shares import running_shares
from engine.ticket import Lock
from lessons.families.growing.chains import FIRST, Growth, exact_now
from lessons.families.growing.drawn import drawn_networks, network_panel
from lessons.families.growing.evidence import quick_evidence
from lessons.families.growing.ledger import SHORT, Jumps, jumps_of, ledger_panel, ledger_words, merged_slots
from lessons.families.growing.plane import LN2, MAX_POINTS, ROLES, SHAPES, VIEW
from lessons.families.growing.sizes import size_panel, size_traces
from lessons.families.growing.spec import CLASSES, WORDS, GrowingSpec

Array = NDArray[np.float64]

RATE = 4.0  # sweeps a second: slow enough to see a unit fade in
FEW_SIZES = 6  # each of which has its tick
FEWEST = 4  # chains of the first picture
SCALES = (4, 2, 1)  # the map of disagreement ends at log 2 over one of them: networks that mostly agree would leave it dark
MOVE, PROPOSE, WEIGH, DECIDE = "within", "propose", "weigh", "decide"


class _Shared:
    """Chains that whoever has them on the stage moves on."""

    def __init__(self, spec: GrowingSpec):
        self.growth, self.lock = Growth(spec), Lock()


def grow(spec: GrowingSpec, job: Any) -> bytes | None:
    """The chains to their last sweep, from a picture of some of them on; then, if they agree, the evidence of each
    architecture. Readers of the same settings share the work.
    """
    key = _Shared, spec
    if kept.store.get(key) is None and not job.is_set():
        first = Growth(spec, chains=max(FEWEST, spec.shown))  # all of them would take longer than the rest of the picture
        job.publish(picture(first.advance(first.chunk()), growing=True))
    shared = kept.store.make(key, lambda: _Shared(spec))
    growth = shared.growth
    if growth.sweeps and not job.is_set():  # what another reader has, or what was there before, is there at once
        with shared.lock:
            blob = picture(growth, growing=not growth.done)
        job.publish(blob)
    done = False
    while not done:
        if job.is_set():
            return None
        with shared.lock:
            growth.advance(growth.sweeps + growth.chunk())
            done = growth.done
            blob = picture(growth, growing=not done)
        job.publish(blob)
    try:
        if growth.agree():
            quick_evidence(spec.network(), *spec.data_set(), cancel=job)
    except InterruptedError:
        return None
    return picture(growth)


def picture(growth: Growth, growing: bool = False) -> bytes:
    """The scene of the chains as far as they have come."""
    spec, times, frames = growth.spec, growth.times, growth.frame_at()
    recording, at = growth.run.recording(), growth.times - 1
    moved = WORDS.phrase("stage.nuts" if spec.within == "nuts" else "stage.no_move")
    made = Scene(
        run=hashlib.blake2b(repr(spec).encode(), digest_size=12).hexdigest(),
        steps=len(times),
        label=_label(spec, growth.run.chains),
        rate=RATE,
        phases=[
            Phase(MOVE, moved),
            Phase(PROPOSE, WORDS.phrase("stage.come_or_go", thing=spec.thing)),
            Phase(WEIGH, WORDS.phrase("stage.weigh")),
            Phase(DECIDE, WORDS.phrase("stage.decide")),
        ],
        autoplay=True,
        total=growth.steps if growing else None,
        theme=theme.palette(),
    )
    chain = spec.shown - 1
    jumps = jumps_of(recording, chain, at)
    drawn = drawn_networks(recording, chain, at, jumps)
    network_panel(
        made,
        drawn,
        labels=[["x₁", "x₂"], *[None] * (len(drawn.sizes) - 2), ["0", "1"]],
        phase=PROPOSE,
        title=WORDS.phrase("stage.network", chain=spec.shown),
        place=(0, 0, 8, 1),
        height=280,
    )
    factors, names = merged_slots(jumps, spec.symbol)
    ledger_panel(made, factors, names=names, show=Show("at", phase=(WEIGH, None)), place=(8, 0, 12, 1), height=280)
    exact = exact_now(spec)
    rows = running_shares(growth.sizes, spec.low, spec.count, growth.burn)[at]
    size_panel(
        made,
        rows,
        spec.low,
        exact=exact,
        name=WORDS.phrase("sizes.axis", thing=spec.thing, symbol=spec.symbol),
        title=WORDS.phrase("stage.shares" if exact is None else "stage.shares_and_exact", symbol=spec.symbol, chains=growth.run.chains),
        label=WORDS.phrase("stage.bars", chains=growth.run.chains, burn=growth.burn),
        place=(0, 1, 10, 1),
        height=260,
    )
    _maps(made, growth, frames)
    x = Axis(WORDS.phrase("stage.sweep"), 1, growth.total, log=True)
    size_traces(
        made,
        times.astype(float),
        growth.sizes[:, at].astype(float),
        id="size-traces",
        shown=chain,
        x=x,
        title=WORDS.phrase("stage.traces", symbol=spec.symbol, chains=growth.run.chains),
        y=Axis("", spec.low - 0.5, spec.high + 0.5, ticks=_whole(spec)),
        place=(0, 2, 10, 1),
        height=240,
    )
    posterior = recording.log_density[:, at]
    settled = posterior[:, len(at) // 2 :]
    low = float(np.quantile(posterior, 0.02))
    traces = size_traces(
        made,
        times.astype(float),
        posterior,
        id="posterior-traces",
        shown=chain,
        x=x,
        title=WORDS.phrase("stage.log_posterior"),
        y=Axis("", low - 5.0, float(settled.max()) + 5.0),
        place=(0, 3, 10, 1),
        height=160,
    )
    if growth.burn:
        for panel in (made.panels[-2], traces):
            panel.rule(x=float(growth.burn), role="highlight", dash=True, label=WORDS.phrase("stage.begin"))
    _words(made, growth, jumps, rows, exact, at)
    _tally(made, growth, at)
    _scores(made, growth, at)
    return made.encode()


def _tally(made: Scene, growth: Growth, at: NDArray[np.int64]) -> None:
    """Births and deaths of all chains so far, tried and landed, as shares of all jumps, the first sweeps left out."""
    counts = growth.tally()[:, at]
    all_tried = np.maximum(counts[0].sum(axis=1, keepdims=True), 1.0)
    title, y = WORDS.phrase("stage.tally", burn=growth.burn), Axis(WORDS.phrase("stage.share"), 0.0, 1.0)
    panel = made.panel("tally", title=title, y=y, place=(0, 4, 6, 1), height=200)
    for name, values, role in (("stage.tried", counts[0], "proposal"), ("stage.landed", counts[1], "accept")):
        panel.bars(
            values / all_tried, labels=[WORDS.phrase("panels.births"), WORDS.phrase("panels.deaths")], role=role, label=WORDS.phrase(name)
        )
    share = counts[1] / np.maximum(counts[0], 1.0)
    made.readout(
        "tally",
        WORDS.phrase("stage.tally_card"),
        births=counts[0, :, 0],
        born=counts[1, :, 0],
        up=share[:, 0],
        deaths=counts[0, :, 1],
        died=counts[1, :, 1],
        down=share[:, 1],
    )


def _scores(made: Scene, growth: Growth, at: NDArray[np.int64]) -> None:
    """Points right and loss of the average of all chains so far."""
    found = {whose: one.at(at) for whose, one in growth.scores().items()}
    x, first = Axis(WORDS.phrase("stage.sweep"), 1, growth.total, log=True), int((growth.times <= FIRST).sum())
    places = (6, 4, 7, 1), (13, 4, 7, 1)
    for panel in pictures.performance_panels(made, growth.times.astype(float), x, found, first=first, places=places, height=200):
        if growth.burn:
            panel.rule(x=float(growth.burn), role="highlight", dash=True)
    text, values = WORDS.phrase("stage.scores_card"), found["average"]._asdict()
    if "held" in found:
        text = WORDS.phrase("stage.scores_held_out_card")
        values |= {"held_right": found["held"].right, "held_loss": found["held"].loss}
    made.readout("scores", text, **values)


def _maps(made: Scene, growth: Growth, frames: NDArray[np.int64]) -> None:
    """The average of all networks of all sizes, and where they disagree."""
    spec, maps = growth.spec, growth.maps()
    editable = None
    if spec.data == "points":
        editable = Editable(points=np.array(spec.points, dtype=float), classes=CLASSES, limit=MAX_POINTS)
    ticks = [(-1.0, "−1"), (0.0, "0"), (1.0, "1")]
    for id, title, place, height, edit in (
        ("mean", WORDS.phrase("stage.mean"), (10, 1, 10, 1), 260, editable),
        ("epistemic", WORDS.phrase("stage.disagree"), (10, 2, 10, 2), 340, None),
    ):
        x, y = Axis("x₁", *VIEW, ticks=ticks), Axis("x₂", *VIEW, ticks=ticks)
        panel = made.panel(id, title=title, x=x, y=y, place=place, equal=True, height=height, editable=edit)
        if id == "mean":
            panel.heatmap(maps.mean, x=VIEW, y=VIEW, low=0.0, high=1.0, at=frames, colormap="diverging", alpha=0.75)
        else:
            scale = next(scale for scale in SCALES if scale * int(maps.epistemic.max()) <= np.iinfo(np.uint8).max)
            panel.heatmap(maps.epistemic * np.uint8(scale), x=VIEW, y=VIEW, low=0.0, high=LN2 / scale, at=frames)
        if edit is None:
            _data(panel, growth, labelled=id == "mean")


def _whole(spec: GrowingSpec) -> list[tuple[float, str]] | None:
    """Ticks at every size; None where they are so many that the axis leaves out some by itself, and the halves with them."""
    return [(float(size), str(size)) for size in range(spec.low, spec.high + 1)] if spec.count <= FEW_SIZES else None


def _data(panel: Panel, growth: Growth, labelled: bool) -> None:
    """The points, class by shape and colour, on a rim of the background's colour."""
    panel.points(growth.x, classes=growth.y, role=["surface"] * 2, shape=SHAPES, size=2.2, alpha=1.0)
    label = list(CLASSES) if labelled else None
    panel.points(growth.x, classes=growth.y, role=ROLES, shape=SHAPES, size=1.5, alpha=1.0, label=label)


def _words(made: Scene, growth: Growth, jumps: Jumps, rows: Array, exact: ModelProbabilities | None, at: NDArray[np.int64]) -> None:
    """The arithmetic card, the spoken sentence and the table."""
    spec, recording = growth.spec, growth.run.recording()
    size = growth.sizes[spec.shown - 1, at]
    fit, posterior = recording.log_likelihood[spec.shown - 1, at], recording.log_density[spec.shown - 1, at]
    mean = rows @ np.arange(spec.low, spec.high + 1)
    made.readout(
        "state",
        WORDS.phrase("stage.state_card", symbol=spec.symbol),
        n=growth.times,
        size=size,
        sum=posterior,
        fit=fit,
        prior=posterior - fit,
    )
    ledger_words(made, jumps, spec.symbol, spec.thing, (PROPOSE, WEIGH, DECIDE))
    mode = spec.low + rows.argmax(axis=1)
    text = WORDS.phrase("stage.sizes_card", symbol=spec.symbol)
    values: dict[str, Any] = {"mean": mean, "mode": mode}
    if exact is not None:
        first = leader(*exact)
        told = WORDS.phrase("stage.not_sure") if first == UNSURE else f"{spec.symbol} = {spec.low + first}"
        exact_mean = exact.probability @ np.arange(spec.low, spec.high + 1)
        text = f"{text}; {WORDS.phrase('stage.exact_card', mean=exact_mean, told=told)}"
    made.readout("sizes", text, withheld=True, **values)  # the exact answer may be asked
    made.say(
        WORDS.phrase("stage.said", thing=spec.thing, symbol=spec.symbol),
        n=growth.times,
        birth=jumps.birth,
        before=jumps.before,
        after=jumps.after,
        accepted=jumps.accepted,
        mean=mean,
    )
    made.table(
        {
            "sweep": growth.times,
            "birth": jumps.birth,
            f"{spec.symbol} before": jumps.before,
            f"{spec.symbol} proposed": jumps.after,
            **({"slot (from 1)": jumps.slot + 1} if (jumps.slot >= 0).any() else {}),
            **{f"log {name}": jumps.factors[:, i] for i, name in enumerate(SHORT)},
            "log r": jumps.log_ratio,
            "u": jumps.uniform,
            "accepted": jumps.accepted,
            f"{spec.symbol} after": size,
            "log likelihood": fit,
            "log posterior": posterior,
            f"mean {spec.symbol} of {growth.run.chains} chains": mean,
        }
    )


def _label(spec: GrowingSpec, chains: int) -> str:
    data = WORDS.phrase(f"stage.data_{spec.data}")
    return WORDS.phrase("stage.picture", chains=chains, thing=spec.thing, symbol=spec.symbol, data=data)
