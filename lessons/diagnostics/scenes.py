"""The chains as a scene: traces, what R-hat compares, and the diagnostics growing with the draws."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from app.kit import pictures, theme
from app.kit.player.scene import Axis, Phase, Scene, Show
from app.kit.preview import of_target
from engine.recording import Recording
from lessons.diagnostics import analysis, doctor
from lessons.diagnostics.analysis import Running
from lessons.diagnostics.spec import NOBODY, WORDS, DiagnosticsLesson

Array = NDArray[np.float64]

PHASES = (
    Phase("draw", WORDS.phrase("stage.draw")),
    Phase("within", WORDS.phrase("stage.within")),
    Phase("between", WORDS.phrase("stage.between")),
    Phase("rhat", WORDS.phrase("stage.compare")),
)
TRACE, MEANS = (0, 0, 8, 1), (8, 0, 4, 1)
BELOW, RHAT, ESS = (0, 1, 4, 1), (4, 1, 4, 1), (8, 1, 4, 1)
TALL, LOW = 250, 215
BINS = 10  # of the rank plot
ROOM = 1.04  # of the narrow axes beyond the last draw, so that its number fits
LEAST_EXCESS = 1e-3  # R-hat − 1 below it lies on the bottom of the panel
TICKS = ((0.001, "≤ 1.001"), (0.01, "1.01"), (0.1, "1.1"), (1.0, "2"), (10.0, "11"), (100.0, "101"))


PREVIEWS = of_target(("burn", "thin", "scale", "step_size", "steps", "start_x", "start_y", "spread"))


def scene(spec: DiagnosticsLesson, window: int | None = None) -> bytes:
    """The scene of some chains. It has no inner items, so `window` does not matter."""
    return drawn(spec, analysis.running(spec))


def grow(spec: DiagnosticsLesson, job: Any) -> bytes | None:
    """The same, with a picture of few looks at the chains while the others are made."""
    if analysis.running.peek(spec) is None:
        marks = analysis.FIRST_MARKS if spec.patient == NOBODY else analysis.FIRST_OF_PATIENT
        job.publish(drawn(spec, analysis.running(spec, marks)))
    return None if job.is_set() else scene(spec)


def drawn(spec: DiagnosticsLesson, now: Running) -> bytes:
    """The scene of some chains with the diagnostics as far as they have been worked out."""
    run = analysis.simulate(spec)
    name = analysis.name_of(spec)
    who = WORDS.phrase("stage.patient", number=spec.patient) if spec.sealed else analysis.describe(spec)
    picture = Scene(
        run=repr(spec.simulation()),
        steps=spec.draws,
        rate=60.0,
        # an empty picture says nothing, and a patient comes with its whole record
        start=spec.draws - 1 if spec.patient != NOBODY else spec.draws // 8,
        phases=PHASES,
        theme=theme.palette(),
        label=WORDS.phrase("stage.picture", chains=spec.chains, run=who, name=name),
    )
    values = analysis.watched(spec, run.draws)
    limits = _limits(spec, values)
    _trace(picture, spec, values, name, limits)
    _means(picture, spec, name, limits)
    _below(picture, spec, run, values, name, now)
    _rhat(picture, spec, now)
    _ess(picture, spec, now)
    _arithmetic(picture, spec, values, name, now)
    _words(picture, spec, values, name, now)
    return picture.encode()


# Panels ---------------------------------------------------------------------------------------------------------------


def _limits(spec: DiagnosticsLesson, values: Array) -> tuple[float, float]:
    """Room for all draws, and for the exact mean with its standard deviation."""
    true = analysis.exact(spec)
    ends = [values.min(), values.max()]
    if np.isfinite(true.mean):
        sd = true.sd if np.isfinite(true.sd) else 0.0
        ends += [true.mean - 1.2 * sd, true.mean + 1.2 * sd]
    return _wide(float(min(ends)), float(max(ends)))


def _trace(picture: Scene, spec: DiagnosticsLesson, values: Array, name: str, limits: tuple[float, float]) -> None:
    panel = pictures.trace_panel(picture, values, name, place=TRACE, height=TALL, truth=analysis.exact(spec).mean, limits=limits)
    if spec.burn:
        panel.rule(x=float(spec.burn), role="reject", dash=True, label=WORDS.phrase("stage.burn_in"))


def _means(picture: Scene, spec: DiagnosticsLesson, name: str, limits: tuple[float, float]) -> None:
    """Mean and standard deviation of each chain so far, on the scale of the trace, beside the exact ones."""
    so_far, true = analysis.classic(spec), analysis.exact(spec)
    known = bool(np.isfinite(true.mean))
    ticks = [(c + 1.0, str(c + 1)) for c in range(spec.chains)] + [(spec.chains + 1.0, WORDS.phrase("stage.exact"))] * known
    panel = picture.panel(
        "means",
        title=WORDS.phrase("stage.means"),
        x=Axis(WORDS.phrase("stage.chains"), 0.4, spec.chains + 0.6 + known, ticks=ticks),
        y=Axis(name, *limits),
        place=MEANS,
        height=TALL,
    )
    between = Show("at", phase=("between", None))
    panel.rule(y=so_far.means.mean(axis=0), role="highlight", dash=True, show=between, label=WORDS.phrase("stage.mean_of_means"))
    sd = np.sqrt(np.maximum(so_far.variances, 0.0))  # rounding, where a chain has not moved
    inside = Show("at", phase=("within", None))
    for chain in range(spec.chains):
        at = np.full(spec.draws, chain + 1.0)
        mean = np.column_stack([at, so_far.means[chain]])
        for sign in (-1.0, 1.0):
            tip = np.column_stack([at, so_far.means[chain] + sign * sd[chain]])
            panel.arrows(mean, tip, show=inside, width=2.0, chain=chain)
        panel.points(mean, show=inside, shape=theme.MARKERS[chain], size=5, chain=chain)
    if known:
        here = np.array([[spec.chains + 1.0, true.mean]])
        for sign in (-1.0, 1.0) if np.isfinite(true.sd) else ():
            panel.arrows(here, here + np.array([0.0, sign * true.sd]), show="all", role="truth", width=2.0)
        panel.points(here, role="truth", shape="diamond", size=6)


def _below(picture: Scene, spec: DiagnosticsLesson, run: Recording, values: Array, name: str, now: Running) -> None:
    if spec.view == "plane":
        _plane(picture, spec, run)
    elif spec.view == "average":
        _average(picture, spec, values, name, now)
    else:
        {"ranks": _ranks, "histogram": _histogram}[spec.view](picture, spec, values, name)


def _ranks(picture: Scene, spec: DiagnosticsLesson, values: Array, name: str) -> None:
    """Where each chain's draws stand among all draws kept: flat if the chains agree."""
    used = analysis.counted(spec, values)
    ranks = used.ravel().argsort(kind="stable").argsort(kind="stable").reshape(used.shape)
    bins = ranks * BINS // used.size
    panel = picture.panel(
        "ranks",
        title=WORDS.phrase("stage.ranks"),
        x=Axis(WORDS.phrase("stage.rank"), 0, BINS, ticks=[]),
        y=Axis(WORDS.phrase("stage.share"), 0.0, _tallest(bins)),
        place=BELOW,
        height=LOW,
    )
    tenth = [f"{100 * (k + 1) // BINS} %" for k in range(BINS)]
    whole = np.zeros(spec.draws, dtype=np.int32)
    for chain in range(spec.chains):
        at = whole.copy()
        at[spec.burn :] = np.repeat(bins[chain], spec.thin)[: spec.draws - spec.burn]
        panel.counts(at, BINS, tenth, burn=spec.burn, chain=chain)
    panel.rule(y=1.0 / BINS, role="truth", dash=True, label=WORDS.phrase("stage.agree"))


def _tallest(bins: NDArray[np.int64]) -> float:
    shares = np.array([np.bincount(chain, minlength=BINS).max() for chain in bins]) / bins.shape[1]
    return float(min(1.0, max(3.0 / BINS, 1.15 * shares.max())))


def _histogram(picture: Scene, spec: DiagnosticsLesson, values: Array, name: str) -> None:
    """The draws of each chain against the exact density."""
    low, high = _limits(spec, values)
    true = analysis.exact(spec)
    if true.density is not None and np.isfinite(true.sd):
        low, high = max(low, true.mean - 8 * true.sd), min(high, true.mean + 8 * true.sd)
    panel = picture.panel("histogram", title=WORDS.phrase("stage.histogram"), x=Axis(name, low, high), place=BELOW, height=LOW)
    for chain, draws in enumerate(values):
        panel.histogram(draws, bins=(low, high, 40), burn=spec.burn, chain=chain)
    if true.density is not None:
        grid = np.linspace(low, high, 241)
        panel.line(grid, true.density(grid), role="truth", width=2.5, dash=True, label=WORDS.phrase("stage.exact_density"))


def _average(picture: Scene, spec: DiagnosticsLesson, values: Array, name: str, found: Running) -> None:
    """The mean of all chains so far with the error bar that the chains claim, against the exact mean."""
    true = analysis.exact(spec).mean
    at = np.arange(1.0, spec.draws + 1)
    settled = found.at >= analysis.counted(spec, values).shape[1] // 4
    band = np.concatenate([(found.mean + k * found.mcse)[settled] for k in (-2.0, 2.0)])
    ends = [v for v in (*band[np.isfinite(band)], true) if np.isfinite(v)] or [-1.0, 1.0]
    pad = 0.15 * (max(ends) - min(ends)) or 0.5
    panel = picture.panel(
        "average",
        title=WORDS.phrase("stage.average", name=name),
        x=_time(spec),
        y=Axis(WORDS.phrase("stage.mean_of", name=name), min(ends) - pad, max(ends) + pad),
        place=BELOW,
        height=LOW,
    )
    panel.line(
        at,
        found.mean,
        band=(found.mean - 2 * found.mcse, found.mean + 2 * found.mcse),
        show="upto",
        role="posterior",
        label=WORDS.phrase("stage.average_so_far"),
    )
    if np.isfinite(true):
        panel.rule(y=true, role="truth", dash=True, label=WORDS.phrase("stage.exact_mean"))


def _plane(picture: Scene, spec: DiagnosticsLesson, run: Recording) -> None:
    """The draws on the first two coordinates."""
    target = analysis.target_of(spec)
    points = run.draws[:, :, :2]
    if spec.sealed:
        (x_low, y_low), (x_high, y_high) = points.min(axis=(0, 1)), points.max(axis=(0, 1))
        panel = picture.panel(
            "plane",
            title=WORDS.phrase("stage.plane"),
            x=Axis("x₁", *_wide(x_low, x_high)),
            y=Axis("x₂", *_wide(y_low, y_high)),
            place=BELOW,
            height=LOW,
        )
    else:
        panel = pictures.density_panel(picture, target, title=WORDS.phrase("stage.plane"), place=BELOW, height=LOW, equal=False)
    for chain in range(spec.chains):
        panel.points(points[chain], show="upto", shape=theme.MARKERS[chain], size=2.0, alpha=0.5, chain=chain)
        if run.divergent[chain].any():
            panel.points(
                points[chain],
                show="upto",
                mask=run.divergent[chain],
                role="divergent",
                shape="cross",
                size=4.5,
                label=WORDS.phrase("stage.divergent") if chain == int(run.divergent.any(axis=1).argmax()) else None,
            )


def _wide(low: float, high: float) -> tuple[float, float]:
    """An interval with room at its ends, also for draws that never moved."""
    span = high - low
    pad = 0.04 * span if span > 1e-9 * max(1.0, abs(low), abs(high)) else 0.5
    return float(low - pad), float(high + pad)


def _time(spec: DiagnosticsLesson) -> Axis:
    return Axis(WORDS.phrase("stage.transition"), 0, ROOM * spec.draws)


def _rhat(picture: Scene, spec: DiagnosticsLesson, now: Running) -> None:
    old, new = analysis.classic(spec).rhat - 1.0, now.rhat - 1.0
    late = np.concatenate([part[part.size // 50 :] for part in (old, new)])
    top = float(np.clip(1.5 * np.nanmax(late, initial=0.2), 0.3, 100.0))
    panel = picture.panel(
        "rhat",
        title=WORDS.phrase("stage.rhat"),
        x=_time(spec),
        y=Axis(WORDS.phrase("stage.rhat_axis"), LEAST_EXCESS, top, log=True, ticks=[t for t in TICKS if t[0] <= top]),
        place=RHAT,
        height=LOW,
    )
    at = np.arange(1.0, spec.draws + 1)
    classic, today = WORDS.phrase("stage.classic"), WORDS.phrase("stage.today")
    panel.line(at, np.maximum(old, LEAST_EXCESS), show="upto", role="muted", width=1.5, dash=True, label=classic)
    panel.line(at, np.maximum(new, LEAST_EXCESS), show="upto", role="posterior", width=2.2, label=today)
    panel.rule(y=doctor.MAX_RHAT - 1.0, role="reject", dash=True, label=WORDS.phrase("stage.rhat_limit", rhat=doctor.MAX_RHAT))


def _ess(picture: Scene, spec: DiagnosticsLesson, found: Running) -> None:
    drawn = spec.chains * analysis.kept_so_far(spec).astype(float)
    top = max(float(np.nanmax([found.ess_bulk, found.ess_tail], initial=0.0)), 450.0)
    panel = picture.panel(
        "ess",
        title=WORDS.phrase("stage.ess"),
        x=_time(spec),
        y=Axis(WORDS.phrase("stage.ess_axis"), 0.0, 1.12 * min(top, 1.2 * drawn[-1])),
        place=ESS,
        height=LOW,
    )
    at = np.arange(1.0, spec.draws + 1)
    panel.line(at, drawn, role="muted", width=1.2, dash=True, label=WORDS.phrase("stage.independent"))
    panel.line(at, found.ess_bulk, show="upto", role="posterior", width=2.2, label=WORDS.phrase("stage.bulk"))
    panel.line(at, found.ess_tail, show="upto", role="momentum", width=2.2, dash=True, label=WORDS.phrase("stage.tail"))
    panel.rule(y=doctor.MIN_ESS, role="reject", dash=True, label=WORDS.phrase("stage.least_ess", ess=doctor.MIN_ESS))


# Numbers and words ----------------------------------------------------------------------------------------------------


def _arithmetic(picture: Scene, spec: DiagnosticsLesson, values: Array, name: str, now: Running) -> None:
    """The arithmetic card: W, B/n and R-hat with the numbers of the draws so far."""
    so_far, chains = analysis.classic(spec), range(spec.chains)
    phase = {part.id: Show("at", phase=(part.id, None)) for part in PHASES}
    each = [f"v{c + 1}" for c in chains]

    def listed(form: str, link: str) -> str:
        return link.join(f"{{{slot}:{form}}}" for slot in each)

    picture.readout(
        "draw",
        WORDS.phrase("stage.draw_card", name=name, values=listed(".2f", ", "), chains=spec.chains),
        show=phase["draw"],
        n=so_far.count,
        **{slot: values[c] for c, slot in zip(chains, each, strict=True)},
    )
    picture.readout(
        "within",
        WORDS.phrase("stage.within_card", variances=listed(".3g", " + "), chains=spec.chains),
        show=phase["within"],
        w=so_far.within,
        **{slot: so_far.variances[c] for c, slot in zip(chains, each, strict=True)},
    )
    picture.readout(
        "between",
        WORDS.phrase("stage.between_card", means=listed(".3g", ", ")),
        show=phase["between"],
        b=so_far.between,
        **{slot: so_far.means[c] for c, slot in zip(chains, each, strict=True)},
    )
    picture.readout(
        "classic",
        WORDS.phrase("stage.classic_card"),
        show=phase["rhat"],
        withheld=True,  # asked is what it comes to: a part of the run says much of that
        n=so_far.count,
        m=np.maximum(so_far.count - 1, 0),
        w=so_far.within,
        b=so_far.between,
        r=so_far.rhat,
    )
    picture.readout(
        "today",
        WORDS.phrase("stage.today_card"),
        show=phase["rhat"],
        withheld=True,
        n=now.at.astype(np.int32),
        r=now.rhat,
        bulk=now.ess_bulk,
        tail=now.ess_tail,
        m=now.mean,
        e=now.mcse,
    )


def _words(picture: Scene, spec: DiagnosticsLesson, values: Array, name: str, now: Running) -> None:
    so_far = analysis.classic(spec)
    picture.say(WORDS.phrase("stage.said"), withheld=True, r=now.rhat, c=so_far.rhat, bulk=now.ess_bulk)
    picture.table(
        {
            **{f"{name}, chain {c + 1}": series for c, series in enumerate(values)},
            "kept": so_far.count,
            "W": so_far.within,
            "B/n": so_far.between,
            "classic R-hat": so_far.rhat,
            "R-hat": now.rhat,
            "ESS bulk": now.ess_bulk,
            "ESS tail": now.ess_tail,
        }
    )
