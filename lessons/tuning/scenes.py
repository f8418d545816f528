"""A run with its warm-up as a scene: the plane with the mass as an ellipse, and beside it the step size, the acceptance
statistic, and what the draws cost or what an average of them says.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from app.kit import pictures, theme
from app.kit.player.scene import Axis, Panel, Phase, Scene, Show
from app.kit.preview import of_target
from engine.kept import kept
from engine.samplers.nuts import ADAPTED_MASSES
from engine.targets.target import Target
from lessons.tuning import analysis
from lessons.tuning.analysis import Tuned
from lessons.tuning.spec import TuningLesson

Array = NDArray[np.float64]

PHASES = (
    Phase("follow", "follow the trajectory", "inner"),
    Phase("statistic", "average the acceptance"),
    Phase("step", "update ε"),
    Phase("average", "average ε"),
    Phase("mass", "learn the mass"),
)
WIDTH = 40  # transitions of a window
STATES = 127  # new states of a transition that are shown
SPAN = 50  # transitions of a running mean
MAP = (0, 0, 8, 3)
BESIDE = ((8, 0, 7, 1), (8, 1, 7, 1), (8, 2, 7, 1))
HEIGHT = 510


PREVIEWS = of_target(("target_accept", "step_size"))


def scene(spec: TuningLesson, window: int | None = None) -> bytes:
    """The scene of a run, with the inside of the transitions around `window`."""
    runs = analysis.side_by_side(spec)
    alone = spec.view == "one"
    picture = Scene(
        run=repr([run.spec for run in runs]),
        steps=spec.steps,
        rate=12.0 if alone else 30.0,
        phases=PHASES if alone else (),
        theme=theme.palette(),
        label="The warm-up of the No-U-Turn Sampler on the target "
        f"{spec.target.replace('_', ' ')}: draws in the plane with the mass as an ellipse, and beside them the step "
        f"size, the acceptance statistic and the cost of each transition.",
    )
    detail = None
    if alone:
        detail = _Detail.around(spec, window)
        picture.window(detail.first, detail.offsets)
    _map(picture, spec, runs, detail)
    _step_size(picture, spec, runs)
    _acceptance(picture, spec, runs)
    (_cost if spec.third == "cost" else _estimate)(picture, spec, runs)
    if detail is not None:
        _arithmetic(picture, spec, runs[0], detail)
    else:
        _numbers(picture, spec, runs)
    return picture.encode()


@dataclass(frozen=True, eq=False)
class _Detail:
    """The trajectories of the transitions first, first + 1, ...: all states in the order in which they were made, the
    start first, of transition i the rows offsets[i]..offsets[i+1].

    before : the neighbouring state from which a state was reached, NaN at the start
    error : H − H₀; accept : min(1, e^(H₀−H)), 1 at the start; mean : of all values of `accept` so far but the start's
    """

    first: int
    offsets: NDArray[np.int32]
    number: Array
    position: Array
    before: Array
    error: Array
    accept: Array
    mean: Array

    @classmethod
    def around(cls, spec: TuningLesson, wanted: int | None) -> _Detail:
        first, count = pictures.window_around(wanted, spec.steps, 1, budget=WIDTH)
        inside = analysis.inside(spec, first, count, STATES)
        rows = []
        for i in range(count):
            n = int(min(inside.leaves[i], STATES + 1))
            time = inside.leaf_time[i, :n]
            position = inside.leaf_position[i, :n]
            row_of = {int(at): row for row, at in enumerate(time)}
            came_from = np.array([row_of.get(int(at - np.sign(at)), 0) for at in time])
            before = position[came_from]
            before[0] = np.nan
            error = inside.leaf_energy[i, :n] - inside.leaf_energy[i, 0]
            accept = np.nan_to_num(np.exp(-np.maximum(error, 0.0)))
            mean = np.ones(n)
            mean[1:] = np.cumsum(accept[1:]) / np.arange(1, n)
            rows.append((np.arange(n, dtype=float), position, before, error, accept, mean))
        offsets = np.concatenate([[0], np.cumsum([len(row[0]) for row in rows])]).astype(np.int32)
        return cls(first, offsets, *(np.concatenate(column) for column in zip(*rows, strict=True)))


# Panels ---------------------------------------------------------------------------------------------------------------


def _map(picture: Scene, spec: TuningLesson, runs: list[Tuned], detail: _Detail | None) -> Panel:
    target = runs[0].target
    panel = pictures.density_panel(picture, _close(target), place=MAP, height=HEIGHT, equal=False)
    if detail is None:
        for c, run in enumerate(runs):
            panel.points(
                run.draws[0, :, :2],
                show="upto",
                chain=c,
                shape=theme.MARKERS[c],
                size=2.4,
                alpha=0.55,
                label=f"draws, δ = {run.spec.target_accept:g}",
            )
    else:
        warm = (np.arange(spec.steps) < spec.warmup).astype(np.uint8)
        panel.points(
            runs[0].draws[0, :, :2],
            show="upto",
            classes=1 - warm,
            role=["muted", "posterior"],
            shape=["ring", "circle"],
            size=2.4,
            alpha=0.6,
            label=["warm-up", "draws"] if spec.warmup else [None, "draws"],
        )
        panel.arrows(detail.before, detail.position, show="inner", role="highlight", width=0.8)
        panel.points(detail.position, show="inner", role="highlight", size=2.6, label="trajectory")
    truth = target.truth
    centre = np.zeros(2) if truth is None else truth.mean[:2]
    seen = []
    for c, run in enumerate(runs):
        frames = np.stack([analysis.ellipse(mass[:2, :2], centre) for mass in run.inverse_mass])
        seen.append(frames)
        panel.path(
            frames,
            at=run.mass_number.astype(np.int32),
            role="momentum",
            chain=None if detail is not None else c,
            width=2.5,
            label="M⁻¹: the 95 % ellipse that the sampler believes in" if c == 0 else None,
        )
    if spec.target == "gaussian" and truth is not None:
        panel.path(analysis.ellipse(truth.covariance[:2, :2], centre), role="ink", dash=True, width=1.5, label="true covariance: 95 %")
    if detail is not None:
        pictures.last_draw(panel, runs[0].draws[0, :, :2])
    return panel


@kept
def _close(target: Target) -> Target:
    """The target, a Gaussian seen from so near that it fills the map whatever its widths."""
    if target.name != "gaussian" or target.truth is None:
        return target
    reach = 3.5 * np.sqrt(np.diag(target.truth.covariance)[:2])
    x, y = ((float(mean - r), float(mean + r)) for mean, r in zip(target.truth.mean, reach, strict=False))
    return replace(target, view=(x, y))


def _step_size(picture: Scene, spec: TuningLesson, runs: list[Tuned]) -> None:
    used = np.concatenate([run.step_size.ravel() for run in runs])
    panel = picture.panel(
        "step",
        title="Step size ε",
        x=Axis("transition", 0, spec.steps),
        y=Axis("ε", float(used.min()) * 0.8, float(used.max()) * 1.25, log=True),
        place=BESIDE[0],
        height=HEIGHT // 3,
    )
    _windows(panel, spec, labels=True)
    at = np.arange(1, spec.steps + 1, dtype=float)
    alone = spec.view == "one"
    if alone and spec.chains > 1:
        for c in range(1, spec.chains):
            label = "other chains" if c == 1 else None
            panel.line(at, runs[0].step_size[c], show="upto", role="muted", width=0.8, alpha=0.45, label=label)
    for c, run in enumerate(runs):
        named = "" if alone else f", δ = {run.spec.target_accept:g}"
        own: dict[str, Any] = {} if alone else {"chain": c}
        panel.line(
            at,
            run.step_size[0],
            show="upto",
            role="energy",
            width=1.1,
            alpha=0.9 if alone else 0.45,
            label="ε used" if alone else None,
            **own,
        )
        if run.ledger is not None:
            panel.line(at, run.average, show="upto", role="highlight", width=2.4, dash=True, label=f"average ε̄{named}", **own)


def _windows(panel: Panel, spec: TuningLesson, *, labels: bool = False) -> None:
    """Where the mass is estimated, and where the warm-up ends."""
    _, ends = analysis.windows_of(spec)
    for k, end in enumerate(ends):
        label = "mass estimated, ε sought anew" if labels and k == 0 else None
        panel.rule(x=float(end), role="momentum", dash=True, label=label)
    if spec.warmup:
        panel.rule(x=float(spec.warmup), role="ink", label="warm-up ends" if labels else None)


def _acceptance(picture: Scene, spec: TuningLesson, runs: list[Tuned]) -> None:
    panel = picture.panel(
        "acceptance",
        title="Acceptance statistic",
        x=Axis("transition", 0, spec.steps),
        y=Axis("a", 0.0, 1.0),
        place=BESIDE[1],
        height=HEIGHT // 3,
    )
    _windows(panel, spec)
    at = np.arange(1, spec.steps + 1, dtype=float)
    alone = spec.view == "one"
    if alone:
        pairs = np.column_stack([at, runs[0].accept[0]])
        panel.points(pairs, show="upto", role="energy", size=1.6, alpha=0.5, label="a of a transition")
    for c, run in enumerate(runs):
        own: dict[str, Any] = {} if alone else {"chain": c}
        delta = run.spec.target_accept
        named = f"mean of the last {SPAN}" + ("" if alone else f", δ = {delta:g}")
        panel.line(at, analysis.running(run.accept[0], SPAN), show="upto", role="highlight", width=2.0, label=named, **own)
        if spec.tuning == "adapt":
            panel.rule(y=delta, role="ink", dash=True, label=f"target δ = {delta:g}" if alone else None, **own)


def _cost(picture: Scene, spec: TuningLesson, runs: list[Tuned]) -> None:
    spent = np.concatenate([run.gradients[0] for run in runs])
    panel = picture.panel(
        "cost",
        title="Cost of a transition",
        x=Axis("transition", 0, spec.steps),
        y=Axis("gradients", 0.8, float(max(spent.max() * 1.3, 10.0)), log=True),
        place=BESIDE[2],
        height=HEIGHT // 3,
    )
    _windows(panel, spec)
    at = np.arange(1, spec.steps + 1, dtype=float)
    alone = spec.view == "one"
    if alone:
        pairs = np.column_stack([at, runs[0].gradients[0]])
        panel.points(pairs, show="upto", role="energy", size=1.6, alpha=0.5, label="gradients")
    for c, run in enumerate(runs):
        own: dict[str, Any] = {} if alone else {"chain": c}
        mean = analysis.running(run.gradients[0], SPAN)
        label = f"mean of the last {SPAN}" if alone else f"δ = {run.spec.target_accept:g}"
        panel.line(at, mean, show="upto", role="highlight", width=2.0, label=label, **own)


def _estimate(picture: Scene, spec: TuningLesson, runs: list[Tuned]) -> None:
    wanted = analysis.quantity(runs[0].target)
    curves = [analysis.estimates(run, spec) for run in runs]
    settled = np.concatenate([found[:, min(spec.steps - 1, spec.warmup + 30) :].ravel() for found in curves])
    middle = 0.0 if wanted.exact is None else wanted.exact
    low, high = (float(v) for v in np.nanquantile(np.append(settled, middle), [0.0, 1.0]))
    pad = 0.15 * max(high - low, 0.1)
    panel = picture.panel(
        "estimate",
        title=f"Average so far of {wanted.name}",
        x=Axis("transition", 0, spec.steps),
        y=Axis("average", low - pad, high + pad),
        place=BESIDE[2],
        height=HEIGHT // 3,
    )
    _windows(panel, spec)
    if wanted.exact is not None:
        panel.rule(y=wanted.exact, role="truth", dash=True, label=f"exact: {wanted.exact:g}")
    at = np.arange(1, spec.steps + 1, dtype=float)
    alone = spec.view == "one"
    for c, (run, found) in enumerate(zip(runs, curves, strict=True)):
        for k, curve in enumerate(found):
            label = (f"chain {k + 1}" if spec.chains > 1 else None) if alone else f"δ = {run.spec.target_accept:g}"
            panel.line(at, curve, show="upto", width=1.6, chain=k if alone else c, label=label)


# Numbers and words ----------------------------------------------------------------------------------------------------


def _arithmetic(picture: Scene, spec: TuningLesson, run: Tuned, detail: _Detail) -> None:
    """The arithmetic card: the updates of one transition with their numbers."""
    from_here = {phase.id: Show("at", phase=(phase.id, None)) for phase in PHASES}
    steps = np.arange(spec.steps)
    picture.readout(
        "state",
        "state {i:d}: H − H₀ = {e:+.3f}, so min(1, exp(H₀ − H)) = {a:.3f}; mean so far {m:.3f}",
        show=Show("all", phase=("follow", None)),
        inner=True,
        i=detail.number,
        e=detail.error,
        a=detail.accept,
        m=detail.mean,
    )
    tuned = spec.tuning == "adapt" and spec.adapted > 0
    tuning = steps < spec.adapted
    words = "{on?still tuning:frozen since the warm-up, whose last update stands below}" if tuned else "ε is not tuned"
    on: dict[str, Any] = {"on": tuning} if tuned else {}
    picture.readout(
        "statistic",
        f"ε = {{e:.4g}}, gradients: {{g:d}}, acceptance statistic a = {{a:.4f}}.  {words}",
        show=from_here["statistic"],
        e=run.step_size[0],
        g=run.gradients[0].astype(np.int32),
        a=run.accept[0],
        **on,
    )
    ledger = run.ledger
    if ledger is not None:

        def whole(values: Array) -> Array:
            """For all transitions: after the last update its numbers stay."""
            return np.concatenate([values, np.full(spec.steps - len(values), values[-1])])

        delta = np.full(spec.steps, spec.target_accept)
        picture.readout(
            "error",
            "H̄ ← H̄ + (δ − a − H̄)/(c + 10) = {h0:.4f} + ({d:.2f} − {a:.4f} − ({h0:.4f}))/{k:.0f} = {h:.4f}",
            show=from_here["step"],
            h0=whole(ledger.h_before),
            d=delta,
            a=whole(ledger.accept),
            k=whole(1.0 / ledger.weight),
            h=whole(ledger.h),
        )
        picture.readout(
            "step",
            "log ε ← μ − 20·√c·H̄ = {mu:.3f} − 20·√{c:.0f}·({h:.4f}) = {l:.3f}:  the next ε = {e:.4g}",
            show=from_here["step"],
            mu=whole(ledger.mu),
            c=whole(ledger.number.astype(float)),
            h=whole(ledger.h),
            l=whole(ledger.log_step),
            e=whole(np.exp(ledger.log_step)),
        )
        picture.readout(
            "average",
            "log ε̄ ← η·log ε + (1 − η)·log ε̄ = {s:.3f}·({l:.3f}) + {r:.3f}·({b:.3f}) = {n:.3f}:  ε̄ = {e:.4g}   (η = c^−0.75)",
            show=from_here["average"],
            s=whole(ledger.share),
            l=whole(ledger.log_step),
            r=whole(1.0 - ledger.share),
            b=whole(ledger.log_average_before),
            n=whole(ledger.log_average),
            e=whole(np.exp(ledger.log_average)),
        )
    _mass_line(picture, spec, run, from_here["mass"])
    picture.say(
        "Transition {t} of {steps}, {phase}: {warm?sampling:warm-up}. ε is {e:.3g}, its average {b:.3g}, acceptance "
        "{a:.2f}, {g:d} gradients.",
        warm=steps >= spec.warmup,
        e=run.step_size[0],
        b=run.average,
        a=run.accept[0],
        g=run.gradients[0].astype(np.int32),
    )
    name, other = run.target.labels[:2]
    picture.table(
        {
            name: run.draws[0, :, 0],
            other: run.draws[0, :, 1],
            "ε": run.step_size[0],
            "average of ε": run.average,
            "acceptance statistic": run.accept[0],
            "gradients": run.gradients[0].astype(np.int32),
            "divergent": run.divergent[0],
            "warm-up": steps < spec.warmup,
        }
    )


def _mass_line(picture: Scene, spec: TuningLesson, run: Tuned, show: Show) -> None:
    """What the mass is now, and whether this draw teaches it."""
    name, other = run.target.labels[:2]
    now = run.inverse_mass[run.mass_number]
    learnt = spec.mass in ADAPTED_MASSES and run.windows
    first, ends = analysis.windows_of(spec)
    done = np.arange(1, spec.steps + 1)
    state = np.zeros(spec.steps, dtype=np.int32)
    if learnt:
        state[(done > first) & (done <= ends[-1])] = 1
        state[np.isin(done, ends)] = 2
    words = "{s|mass kept|this draw teaches the mass|window ends: M⁻¹ from its draws, ε sought anew}"
    template = f"{words}.  M⁻¹ = ({name}: {{v:.4g}}, {other}: {{w:.4g}}" + (", both: {c:.4g})" if _dense(spec) else ")")
    values: dict[str, Any] = {"s": state, "v": now[:, 0, 0], "w": now[:, 1, 1]}
    if _dense(spec):
        values["c"] = now[:, 0, 1]
    picture.readout("mass", template, show=show, **values)


def _dense(spec: TuningLesson) -> bool:
    return spec.mass in ("dense", "covariance")


def _numbers(picture: Scene, spec: TuningLesson, runs: list[Tuned]) -> None:
    """One line for each target acceptance."""
    columns: dict[str, Array] = {}
    for k, run in enumerate(runs):
        delta = f"{run.spec.target_accept:g}"
        total = np.cumsum(run.gradients[0])
        values = {"e": run.step_size[0], "b": run.average, "a": analysis.running(run.accept[0], SPAN), "g": total.astype(np.int32)}
        picture.readout(
            f"delta-{k}",
            f"δ = {delta}:  ε = {{e:.3g}}, ε̄ = {{b:.3g}}, acceptance (mean of {SPAN}) {{a:.3f}}, gradients so far {{g:d}}",
            **values,
        )
        picture.say(f"With target {delta} the step size is {{e:.2g}}, acceptance {{a:.2f}}.", e=values["e"], a=values["a"])
        columns |= {
            f"ε, δ = {delta}": run.step_size[0],
            f"average of ε, δ = {delta}": run.average,
            f"acceptance, δ = {delta}": run.accept[0],
            f"gradients, δ = {delta}": run.gradients[0].astype(np.int32),
        }
    picture.table(columns)
