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
from engine.targets.target import Target
from lessons.tuning import analysis
from lessons.tuning.analysis import Tuned
from lessons.tuning.spec import WORDS, TuningLesson

Array = NDArray[np.float64]

PHASES = (
    Phase("follow", WORDS.phrase("stage.follow"), "inner"),
    Phase("statistic", WORDS.phrase("stage.average_it")),
    Phase("step", WORDS.phrase("stage.update")),
    Phase("average", WORDS.phrase("stage.average_step")),
    Phase("mass", WORDS.phrase("stage.learn_mass")),
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
    return _drawn(spec, analysis.side_by_side(spec), window)


def grow(spec: TuningLesson, job: Any) -> bytes | None:
    """The same, with a picture of the first transitions while the others of a long run are made."""
    first = analysis.beginnings(spec)
    if first is not None:
        job.publish(_drawn(spec, first, None))
    return None if job.is_set() else scene(spec)


def _drawn(spec: TuningLesson, runs: list[Tuned], window: int | None) -> bytes:
    """The scene of runs as far as they are there."""
    alone = spec.view == "one"
    picture = Scene(
        run=repr([run.spec for run in runs]),
        steps=runs[0].steps,
        total=spec.steps if runs[0].steps < spec.steps else None,
        rate=12.0 if alone else 30.0,
        phases=PHASES if alone else (),
        theme=theme.palette(),
        label=WORDS.phrase("stage.picture", target=spec.target.replace("_", " ")),
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
            by_time, neighbour = np.argsort(time), time - np.sign(time)
            came_from = by_time[np.minimum(np.searchsorted(time, neighbour, sorter=by_time), n - 1)]
            before = position[np.where(time[came_from] == neighbour, came_from, 0)]
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
                label=WORDS.phrase("stage.draws_of", delta=run.spec.target_accept),
            )
    else:
        warm = (np.arange(runs[0].steps) < spec.warmup).astype(np.uint8)
        panel.points(
            runs[0].draws[0, :, :2],
            show="upto",
            classes=1 - warm,
            role=["muted", "posterior"],
            shape=["ring", "circle"],
            size=2.4,
            alpha=0.6,
            label=[WORDS.phrase("stage.warm_up"), WORDS.phrase("stage.draws")] if spec.warmup else [None, WORDS.phrase("stage.draws")],
        )
        panel.arrows(detail.before, detail.position, show="inner", role="highlight", width=0.8)
        panel.points(detail.position, show="inner", role="highlight", size=2.6, label=WORDS.phrase("stage.trajectory"))
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
            label=WORDS.phrase("stage.believed") if c == 0 else None,
        )
    if spec.target == "gaussian" and truth is not None:
        panel.path(
            analysis.ellipse(truth.covariance[:2, :2], centre),
            role="ink",
            dash=True,
            width=1.5,
            label=WORDS.phrase("stage.true_covariance"),
        )
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
        title=WORDS.phrase("stage.step_size"),
        x=Axis(WORDS.phrase("stage.transition"), 0, spec.steps),
        y=Axis("ε", float(used.min()) * 0.8, float(used.max()) * 1.25, log=True),
        place=BESIDE[0],
        height=HEIGHT // 3,
    )
    _windows(panel, spec, labels=True)
    at = np.arange(1, runs[0].steps + 1, dtype=float)
    alone = spec.view == "one"
    if alone and spec.chains > 1:
        for c in range(1, spec.chains):
            label = WORDS.phrase("stage.other_chains") if c == 1 else None
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
            label=WORDS.phrase("stage.used") if alone else None,
            **own,
        )
        if run.adapts:
            panel.line(
                at,
                run.average,
                show="upto",
                role="highlight",
                width=2.4,
                dash=True,
                label=WORDS.phrase("stage.average", named=named),
                **own,
            )


def _windows(panel: Panel, spec: TuningLesson, *, labels: bool = False) -> None:
    """Where the mass is estimated, and where the warm-up ends."""
    _, ends = analysis.windows_of(spec)
    for k, end in enumerate(ends):
        label = WORDS.phrase("stage.estimated") if labels and k == 0 else None
        panel.rule(x=float(end), role="momentum", dash=True, label=label)
    if spec.warmup:
        panel.rule(x=float(spec.warmup), role="ink", label=WORDS.phrase("stage.ends") if labels else None)


def _acceptance(picture: Scene, spec: TuningLesson, runs: list[Tuned]) -> None:
    y, each = Axis("a", 0.0, 1.0), [run.accept[0] for run in runs]
    several = [WORDS.phrase("stage.mean_at", span=SPAN, delta=run.spec.target_accept) for run in runs]
    panel = _running(picture, spec, "acceptance", 1, y, each, WORDS.phrase("stage.of_transition"), several)
    if spec.tuning == "adapt":
        for c, run in enumerate(runs):
            delta = run.spec.target_accept
            if spec.view == "one":
                panel.rule(y=delta, role="ink", dash=True, label=WORDS.phrase("stage.target", delta=delta))
            else:
                panel.rule(y=delta, role="ink", dash=True, chain=c)


def _cost(picture: Scene, spec: TuningLesson, runs: list[Tuned]) -> None:
    each = [run.gradients[0] for run in runs]
    most = float(np.concatenate(each).max())
    y = Axis(WORDS.phrase("stage.gradients"), 0.8, max(1.3 * most, 10.0), log=True)
    several = [f"δ = {run.spec.target_accept:g}" for run in runs]
    _running(picture, spec, "cost", 2, y, each, WORDS.phrase("stage.gradients"), several)


def _running(
    picture: Scene, spec: TuningLesson, what: str, row: int, y: Axis, each: list[NDArray], of_one: str, several: list[str]
) -> Panel:
    """A quantity of each transition, `each` run's (steps,), and its running mean; the dots of a run that is alone."""
    x = Axis(WORDS.phrase("stage.transition"), 0, spec.steps)
    panel = picture.panel(what, title=WORDS.phrase(f"stage.{what}"), x=x, y=y, place=BESIDE[row], height=HEIGHT // 3)
    _windows(panel, spec)
    at, alone = np.arange(1, len(each[0]) + 1, dtype=float), spec.view == "one"
    if alone:
        panel.points(np.column_stack([at, each[0]]), show="upto", role="energy", size=1.6, alpha=0.5, label=of_one)
    for c, values in enumerate(each):
        own: dict[str, Any] = {} if alone else {"chain": c}
        label = WORDS.phrase("stage.mean_of_last", span=SPAN) if alone else several[c]
        panel.line(at, analysis.running(values, SPAN), show="upto", role="highlight", width=2.0, label=label, **own)
    return panel


def _estimate(picture: Scene, spec: TuningLesson, runs: list[Tuned]) -> None:
    wanted = analysis.quantity(runs[0].target)
    curves = [analysis.estimates(run, spec) for run in runs]
    settled = np.concatenate([found[:, min(runs[0].steps - 1, spec.warmup + 30) :].ravel() for found in curves])
    middle = 0.0 if wanted.exact is None else wanted.exact
    low, high = (float(v) for v in np.nanquantile(np.append(settled, middle), [0.0, 1.0]))
    pad = 0.15 * max(high - low, 0.1)
    panel = picture.panel(
        "estimate",
        title=WORDS.phrase("stage.average_so_far", name=wanted.name),
        x=Axis(WORDS.phrase("stage.transition"), 0, spec.steps),
        y=Axis(WORDS.phrase("stage.average_axis"), low - pad, high + pad),
        place=BESIDE[2],
        height=HEIGHT // 3,
    )
    _windows(panel, spec)
    if wanted.exact is not None:
        panel.rule(y=wanted.exact, role="truth", dash=True, label=WORDS.phrase("stage.exact", exact=wanted.exact))
    at = np.arange(1, runs[0].steps + 1, dtype=float)
    alone = spec.view == "one"
    for c, (run, found) in enumerate(zip(runs, curves, strict=True)):
        for k, curve in enumerate(found):
            label = (WORDS.phrase("stage.chain", chain=k + 1) if spec.chains > 1 else None) if alone else f"δ = {run.spec.target_accept:g}"
            panel.line(at, curve, show="upto", width=1.6, chain=k if alone else c, label=label)


# Numbers and words ----------------------------------------------------------------------------------------------------


def _arithmetic(picture: Scene, spec: TuningLesson, run: Tuned, detail: _Detail) -> None:
    """The arithmetic card: the updates of one transition with their numbers."""
    from_here = {phase.id: Show("at", phase=(phase.id, None)) for phase in PHASES}
    steps = np.arange(run.steps)
    picture.readout(
        "state",
        WORDS.phrase("stage.state"),
        show=Show("all", phase=("follow", None)),
        inner=True,
        i=detail.number,
        e=detail.error,
        a=detail.accept,
        m=detail.mean,
    )
    tuning = steps < spec.adapted
    words = WORDS.phrase("stage.tuned") if run.adapts else WORDS.phrase("stage.not_tuned")
    on: dict[str, Any] = {"on": tuning} if run.adapts else {}
    picture.readout(
        "statistic",
        WORDS.phrase("stage.arithmetic", words=words),
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
            return np.concatenate([values, np.full(run.steps - len(values), values[-1])])

        delta = np.full(run.steps, spec.target_accept)
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
            WORDS.phrase("stage.next"),
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
        WORDS.phrase("stage.said"),
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
    first, ends = analysis.windows_of(spec)
    done = np.arange(1, run.steps + 1)
    state = np.zeros(run.steps, dtype=np.int32)
    if ends:
        state[(done > first) & (done <= ends[-1])] = 1
        state[np.isin(done, ends)] = 2
    words = WORDS.phrase("stage.taught")
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
        picture.readout(f"delta-{k}", WORDS.phrase("stage.one_of_several", delta=delta, span=SPAN), **values)
        picture.say(WORDS.phrase("stage.said_of_one", delta=delta), e=values["e"], a=values["a"])
        columns |= {
            f"ε, δ = {delta}": run.step_size[0],
            f"average of ε, δ = {delta}": run.average,
            f"acceptance, δ = {delta}": run.accept[0],
            f"gradients, δ = {delta}": run.gradients[0].astype(np.int32),
        }
    picture.table(columns)
