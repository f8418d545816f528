"""The pictures of the lesson: a jump on its way, a jump between two NUTS moves, and methods beside each other."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from app.kit import theme
from app.kit.player.scene import Axis, Panel, Scene
from datasets import remote
from engine.networks.predictive import probabilities
from lessons.families.growing.drawn import Drawn, network_panel, padded_weights
from lessons.families.growing.evidence import EVIDENCE, finished_evidence, shared_evidence
from lessons.families.growing.plane import REACH, ROLES, SHAPES, quantised
from lessons.families.growing.spec import CLASSES
from lessons.landing import analysis, boston
from lessons.landing.analysis import FACTORS_AROUND, Race, called
from lessons.landing.spec import DIGITS, THESIS, WORDS, LandingSpec

Array = NDArray[np.float64]

MAPS = 90  # at most
CELLS = 32
MOST_BARS = 20
REACH_UP, REACH_DOWN = 12.0, 30.0  # nats that the sum is shown over, at most
LABELS = [["x₁", "x₂"], None, ["0", "1"]]


def scene(spec: LandingSpec, window: int | None) -> bytes:
    """The picture of `spec`. What a jump goes through travels whole, so the window does not matter."""
    if spec.part == "thesis":
        return printed(spec).encode()
    return (between(spec, analysis.between(spec)) if spec.part == "sandwich" else crossing(spec, analysis.stage(spec))).encode()


def grow(spec: LandingSpec, job: Any) -> bytes | None:
    """The same, with the first jumps of the chain while it goes on."""
    if spec.part == "landing" and (jumps := analysis.beginning(spec)) is not None:
        job.publish(crossing(spec, jumps).encode())
    elif spec.part == "sandwich" and (few := analysis.first_between(spec)) is not None:
        job.publish(between(spec, few).encode())
    return None if job.is_set() else scene(spec, None)


# A jump on its way ----------------------------------------------------------------------------------------------------


def crossing(spec: LandingSpec, found: analysis.Stage) -> Scene:
    """Jump after jump, each state on the way a step: the network, what it predicts, the sum that decides."""
    where = [(i, r) for i, rows in enumerate(found.rows) for r in range(len(rows))]
    jump = np.array([i for i, _ in where])
    rows = [found.rows[i][r] for i, r in where]
    number, length = np.array([r for _, r in where]), np.array([len(found.rows[i]) - 1 for i, _ in where])
    verdict = np.array([row.verdict for row in rows])
    jumps = analysis.shown_jumps(spec)
    steps = len(rows) if len(found.rows) == jumps else jumps * (analysis.rows_of(spec) + 1)  # of all jumps
    made = Scene(
        run=repr(spec),
        steps=len(rows),
        rate=4.0,
        autoplay=True,
        total=steps if len(rows) < steps else None,
        theme=theme.palette(),
        label=WORDS.phrase("stage.picture"),
    )
    _network(made, spec, found)
    _map(made, spec, found, where, -(-steps // MAPS))
    value, hurdle = np.array([row.value for row in rows]), np.array([row.hurdle for row in rows])
    gained = np.array([row.gained for row in rows])
    states = max(len(each) - 1 for each in found.rows)
    curves = _curves(found, where, states, spec.jump != "delayed")
    _sum(made, spec, curves, hurdle, value, verdict)
    if 1 < states <= MOST_BARS and spec.jump != "delayed":
        _bars(made, found, where, states)
    k = found.recording.width[0, found.sweeps].astype(float)
    now = np.where(verdict, k[jump], found.jumps.before[jump])
    trace = made.panel(
        "trace",
        title=WORDS.phrase("stage.trace"),
        x=Axis(WORDS.phrase("stage.step"), 1, steps),
        y=Axis("k", 0.5, spec.high + 0.5),
        place=(0, 2, 12, 1),
        height=140,
    )
    trace.line(np.arange(1.0, len(rows) + 1), now, show="upto", role="posterior", width=2.0)
    _words(made, spec, found, jump, number, length, rows, value, hurdle, gained, verdict, now)
    return made


def _there(spec: LandingSpec, width: int, slot: int | None) -> NDArray[np.bool_]:
    flags = np.arange(spec.high) < width
    if slot is not None:
        flags[slot] = False
    return np.concatenate([[True] * 2, flags, [True] * 2])


def _network(made: Scene, spec: LandingSpec, found: analysis.Stage) -> None:
    sizes = [2, spec.high, 2]
    weights, before, after = [], [], []
    for i, rows in enumerate(found.rows):
        net, slot = analysis.larger(found.recording, found.jumps, i), int(found.jumps.slot[i])
        thetas = [analysis.shown(net, row, slot, spec.jump == "annealed") if row.there else row.theta for row in rows]
        weights.append(padded_weights(net, np.stack(thetas), sizes))
        with_unit, without = _there(spec, net.width, None), _there(spec, net.width, slot)  # type: ignore[arg-type]
        there = np.array([not found.jumps.birth[i], *(row.there for row in rows)])[:, None]
        units = np.where(there, with_unit, without)
        before.append(units[:-1])
        after.append(units[1:])
    now = np.concatenate(after)
    drawn = Drawn(sizes, np.concatenate(weights), np.concatenate(before), now, now)
    title = WORDS.phrase("stage.network", chain=spec.shown)
    network_panel(made, drawn, labels=LABELS, title=title, place=(0, 0, 7, 1), height=300)


def _map(made: Scene, spec: LandingSpec, found: analysis.Stage, where: list[tuple[int, int]], stride: int) -> None:
    """What the network of every `stride`-th step predicts: with the unit as far as it is there."""
    middles = REACH * (2 * np.arange(CELLS) + 1 - CELLS) / CELLS
    plane = np.stack(np.meshgrid(middles, middles), axis=-1).reshape(-1, 2)
    frames = np.empty((len(where[::stride]), CELLS, CELLS), np.uint8)
    groups: dict[int, list[tuple[int, Array]]] = {}
    for n, (i, r) in enumerate(where[::stride]):
        net = analysis.larger(found.recording, found.jumps, i)
        theta = analysis.shown(net, found.rows[i][r], int(found.jumps.slot[i]), spec.jump == "annealed")
        groups.setdefault(int(net.width), []).append((n, np.nan_to_num(theta)))  # type: ignore[arg-type]
    for width, members in groups.items():
        maps = probabilities(found.recording.network(width, 1), np.stack([t for _, t in members]), plane)[:, :, 1]
        for (n, _), values in zip(members, maps, strict=True):
            frames[n] = quantised(values, 1.0)
    view, ticks = (-REACH, REACH), [(-1.0, "−1"), (0.0, "0"), (1.0, "1")]
    panel = made.panel(
        "map",
        title=WORDS.phrase("stage.map"),
        x=Axis("x₁", *view, ticks=ticks),
        y=Axis("x₂", *view, ticks=ticks),
        place=(7, 0, 5, 1),
        equal=True,
        height=300,
    )
    at = np.arange(len(where)) // stride
    panel.heatmap(frames, x=view, y=view, low=0.0, high=1.0, at=at, colormap="diverging", alpha=0.75)
    x, y = spec.data_set()
    panel.points(x, classes=y, role=["surface"] * 2, shape=SHAPES, size=2.2, alpha=1.0)
    panel.points(x, classes=y, role=ROLES, shape=SHAPES, size=1.5, alpha=1.0, label=list(CLASSES))


def _curves(found: analysis.Stage, where: list[tuple[int, int]], states: int, from_zero: bool) -> Array:
    """(steps, states + 1), what has been gained so far at each state passed."""
    curves = np.full((len(where), states + 1), np.nan)
    curves[:, 0] = 0.0 if from_zero else np.nan
    for n, (i, r) in enumerate(where):
        passed = [row.value for row in found.rows[i][: r + 1] if not row.verdict]
        curves[n, 1 : len(passed) + 1] = passed
    return curves


def _sum(made: Scene, spec: LandingSpec, curves: Array, hurdle: Array, value: Array, verdict: NDArray[np.bool_]) -> None:
    low = max(-REACH_DOWN, float(np.nanquantile(np.append(curves[np.isfinite(curves)], hurdle), 0.02)))
    high = min(REACH_UP, float(np.nanmax(np.append(curves[np.isfinite(curves)], hurdle))))
    border = max(1.0, 0.06 * (high - low))  # a ring on the last value is seen whole
    states = curves.shape[1] - 1
    wide = not (1 < states <= MOST_BARS) or spec.jump == "delayed"
    panel = made.panel(
        "sum",
        title=WORDS.phrase("stage.tries" if spec.jump == "delayed" else "stage.sum"),
        x=Axis(WORDS.phrase(f"stage.along_{spec.jump}"), 0, states + 0.2),
        y=Axis(WORDS.phrase("stage.nats"), low - border, high + border),
        place=(0, 1, 12 if wide else 7, 1),
        height=300,
    )
    cut = np.clip(curves, low, high)
    panel.line(np.arange(states + 1.0), cut, show="at", role="likelihood", width=3.0)
    end = np.column_stack([_last(curves), np.clip(value, low, high)])
    label = WORDS.phrase("stage.log_ratio" if spec.jump == "delayed" else "stage.gained")
    panel.points(end, show="at", role="likelihood", shape="circle", size=6.0, label=label)
    panel.rule(y=np.clip(hurdle, low, high), role="reject", dash=True, label=WORDS.phrase("stage.hurdle"))
    landed = value > hurdle
    for name, mask, role, shape in (("landed", verdict & landed, "accept", "ring"), ("rejected", verdict & ~landed, "reject", "cross")):
        panel.points(end, show="at", mask=mask, role=role, shape=shape, size=10.0, label=WORDS.phrase(f"stage.{name}"))


def _last(curves: Array) -> Array:
    """(steps,), the last state passed."""
    return curves.shape[1] - 1.0 - np.isfinite(curves[:, ::-1]).argmax(axis=1)


def _bars(made: Scene, found: analysis.Stage, where: list[tuple[int, int]], states: int) -> None:
    weights = np.zeros((len(where), states))
    for n, (i, r) in enumerate(where):
        for s, row in enumerate(found.rows[i][: r + 1]):
            if not row.verdict:
                weights[n, s] = row.gained
    reach = float(np.clip(np.quantile(np.abs(weights), 0.99), 0.5, 20.0))
    y = Axis(WORDS.phrase("stage.nats"), -1.1 * reach, 1.1 * reach)
    panel = made.panel("weights", title=WORDS.phrase("stage.weights"), y=y, place=(7, 1, 5, 1), height=300)
    labels = [str(s + 1) if states <= 10 or s % 4 == 3 else "" for s in range(states)]
    panel.bars(weights, labels=labels, role="likelihood")


def _words(
    made: Scene,
    spec: LandingSpec,
    found: analysis.Stage,
    jump: Any,
    number: Any,
    length: Any,
    rows: list,
    value: Array,
    hurdle: Array,
    gained: Array,
    verdict: Array,
    now: Array,
) -> None:
    """The arithmetic card, the spoken sentence and the table."""
    jumps = found.jumps
    level = np.array([row.level for row in rows])
    accept = np.nan_to_num(np.array([row.accept_prob for row in rows]))
    landed = jumps.accepted[jump]
    rest = jumps.log_ratio[jump] - jumps.factors[jump, 0]
    made.readout(
        "move",
        WORDS.phrase("stage.move_card"),
        j=jump + 1,
        n=np.full(len(jump), analysis.shown_jumps(spec)),
        birth=jumps.birth[jump],
        slot=jumps.slot[jump] + 1,
        before=jumps.before[jump],
        after=jumps.after[jump],
    )
    way = WORDS.phrase(f"stage.way_{spec.jump}_card")
    state = np.minimum(number + 1, length)
    inside: dict[str, Any] = {"value": value, "r": state, "S": length, "level": level}
    made.readout("way", way, **{name: array for name, array in inside.items() if f"{{{name}:" in way})
    if spec.jump in ("annealed", "tempered"):
        made.readout("moves", WORDS.phrase("stage.moves_card"), a=accept)
    if spec.jump != "delayed":
        made.readout("rest", WORDS.phrase("stage.rest_card"), rest=rest, total=jumps.log_ratio[jump])
    made.readout(
        "verdict", WORDS.phrase("stage.verdict_card"), done=verdict, value=value, hurdle=hurdle, word=np.where(verdict, 1 + landed, 0)
    )
    decided = np.cumsum(np.where(verdict, landed, False)) / np.maximum(np.cumsum(verdict), 1)
    made.readout("share", WORDS.phrase("stage.share_card"), share=decided)
    made.say(
        WORDS.phrase("stage.said"),
        j=jump + 1,
        birth=jumps.birth[jump],
        r=state,
        S=length,
        value=value,
        word=np.where(verdict, 1 + landed, 0),
    )
    made.table(
        {
            "jump": jump + 1,
            "birth": jumps.birth[jump],
            "state": state,
            "k before": jumps.before[jump],
            "k proposed": jumps.after[jump],
            "level": level,
            "log weight": gained,
            "value": value,
            "hurdle": hurdle,
            "decided": verdict,
            "landed": landed,
            "k": now,
        }
    )


# A jump between two NUTS moves ----------------------------------------------------------------------------------------

STAGES = 4  # of a jump: every factor, without NUTS before, without NUTS after, the verdict


def between(spec: LandingSpec, found: analysis.Sandwich) -> Scene:
    """The factors of the ratio, as bars that cancel one by one until those of the bare jump are left."""
    n, right = len(found.bare), spec.sandwich == "palindromic"
    made = Scene(
        run=repr(spec),
        steps=STAGES * n,
        rate=1.0,
        autoplay=True,
        total=STAGES * found.total if n < found.total else None,
        theme=theme.palette(),
        label=WORDS.phrase("between.picture" if right else "between.picture_left_out"),
    )
    _network_between(made, spec, found)
    _path(made, found)
    _cancelling(made, found, right)
    _between_words(made, found, right)
    return made


def _network_between(made: Scene, spec: LandingSpec, found: analysis.Sandwich) -> None:
    jumps, sizes, weights, flags = found.jumps, [2, spec.high, 2], [], []
    for i, theta in enumerate(found.thetas):
        k = int(max(jumps.before[i], jumps.after[i]))
        weights += [padded_weights(found.recording.network(k, 1), theta, sizes)] * STAGES
        pair = _there(spec, k, int(jumps.slot[i])), _there(spec, k, None)
        before, proposed = pair if jumps.birth[i] else pair[::-1]
        after = proposed if jumps.accepted[i] else before
        flags += [(before, proposed, proposed), *[(proposed,) * 3] * (STAGES - 2), (proposed, proposed, after)]
    drawn = Drawn(sizes, np.stack(weights), *(np.stack(column) for column in zip(*flags, strict=True)))
    network_panel(made, drawn, labels=LABELS, title=WORDS.phrase("between.network"), place=(0, 0, 6, 1), height=280)


def _path(made: Scene, found: analysis.Sandwich) -> None:
    """Log posterior at the four states."""
    relative = np.repeat(found.posterior - found.posterior[:, :1], STAGES, axis=0)
    reach = float(np.clip(np.quantile(np.abs(relative), 0.95), 3.0, 40.0)) * 1.15
    ticks = [(float(s), name) for s, name in enumerate(("θ", "θ~", "θ′", "θ*"))]
    panel = made.panel(
        "path",
        title=WORDS.phrase("between.path"),
        x=Axis(WORDS.phrase("between.moves"), -0.2, 3.2, ticks=ticks),
        y=Axis(WORDS.phrase("between.nats"), -reach, reach),
        place=(6, 0, 6, 1),
        height=280,
    )
    panel.rule(y=0.0, role="grid")
    panel.line(np.arange(4.0), np.clip(relative, -reach, reach), show="at", role="posterior", width=2.5)
    looks = (("circle", "ink"), ("square", "posterior"), ("diamond", "proposal"), ("ring", "ink"))
    for s, (shape, role) in enumerate(looks):
        at = np.column_stack([np.full(len(relative), float(s)), np.clip(relative[:, s], -reach, reach)])
        panel.points(at, show="at", shape=shape, role=role, size=6.0)


def _cancelling(made: Scene, found: analysis.Sandwich, right: bool) -> None:
    """The factors stage by stage; the last bar, their sum, stays."""
    total = found.factors.sum(axis=1, keepdims=True)
    everything = np.concatenate([found.factors, total], axis=1)
    rows = np.repeat(everything[:, None], STAGES, axis=1)
    if right:
        rows[:, 1:, [0, 1]] = 0.0
        rows[:, 2:, [5, 6]] = 0.0
    reach = 1.1 * float(np.abs(everything[np.isfinite(everything)]).max())
    panel = made.panel(
        "factors",
        title=WORDS.phrase("between.factors"),
        y=Axis(WORDS.phrase("ledger.axis"), -reach, reach),
        place=(0, 1, 12, 1),
        height=260,
    )
    panel.bars(rows.reshape(-1, rows.shape[2]), labels=[*FACTORS_AROUND, "log r"], role="likelihood")


def _between_words(made: Scene, found: analysis.Sandwich, right: bool) -> None:
    jumps = found.jumps
    start, tilde, prime, star = (np.repeat(column, STAGES) for column in found.posterior.T)
    move, used, q, bare = (np.repeat(column, STAGES) for column in (jumps.birth, jumps.log_ratio, found.proposal, found.bare))
    stage, landed = np.tile(np.arange(STAGES), len(jumps.birth)), np.repeat(jumps.accepted, STAGES)
    word = np.where(stage == STAGES - 1, 1 + landed, 0)
    made.readout(
        "move",
        WORDS.phrase("between.move_card"),
        j=1 + np.arange(len(stage)) // STAGES,
        birth=move,
        slot=np.repeat(jumps.slot, STAGES) + 1,
        k=np.repeat(jumps.before, STAGES),
        new=np.repeat(jumps.after, STAGES),
    )
    if right:
        made.readout("stage", WORDS.phrase("between.stage_card"), s=stage, r=used)
        made.readout("before", WORDS.phrase("between.before_card"), start=start, tilde=tilde)
        made.readout("after", WORDS.phrase("between.after_card"), prime=prime, star=star)
        made.readout("bare", WORDS.phrase("between.bare_card"), prime=prime, tilde=tilde, q=q, bare=bare)
    else:
        made.readout("used", WORDS.phrase("between.used_card"), star=star, start=start, q=q, r=used)
        made.readout("lost", WORDS.phrase("between.lost_card"), lost=start - tilde, also=prime - star, bare=bare)
    made.readout(
        "decision",
        WORDS.phrase("between.decision_card"),
        alpha=np.exp(np.minimum(used, 0.0)),
        u=np.repeat(jumps.uniform, STAGES),
        word=word,
    )
    made.say(WORDS.phrase("between.said"), birth=move, r=used, bare=bare, word=word)
    made.table(
        {
            "birth": move,
            "stage": stage + 1,
            "k before": np.repeat(jumps.before, STAGES),
            "k proposed": np.repeat(jumps.after, STAGES),
            "log π(θ)": start,
            "log π(θ~)": tilde,
            "log π(θ′)": prime,
            "log π(θ*)": star,
            "jump": q,
            "log r": used,
            "bare log r": bare,
            "accepted": landed,
        }
    )


# The thesis -----------------------------------------------------------------------------------------------------------


def printed(spec: LandingSpec) -> Scene:
    """The acceptance that the thesis printed, setting by setting."""
    made = Scene(
        run=repr(spec),
        steps=len(THESIS),
        start=list(THESIS).index(spec.setting),
        rate=1.0,
        theme=theme.palette(),
        label=WORDS.phrase("thesis.picture"),
    )
    names, settings = list(THESIS), list(THESIS.values())
    which, across, within = np.arange(len(names)), np.array([s.across for s in settings]), np.array([s.within for s in settings])
    for id, values, top, row in (("across", across, 14.0, 0), ("within", within, 100.0, 1)):
        panel = made.panel(id, title=WORDS.phrase(f"thesis.{id}"), y=Axis("%", 0, top), place=(0, row, 12, 1), height=210)
        panel.bars(values, labels=names, role="prior", label=WORDS.phrase("thesis.printed"))
        chosen = np.where(np.eye(len(names), dtype=bool), values, 0.0)
        panel.bars(chosen, labels=names, role="highlight", label=WORDS.phrase("thesis.at_cursor"))
    each = "|".join(names)
    made.readout("setting", WORDS.phrase("thesis.setting_card", names=each), which=which, across=across, within=within)
    made.readout("what", "{which|" + "|".join(s.told for s in settings) + "}", which=which)
    made.readout("data", WORDS.phrase("thesis.data_card"), digits=np.array([name in DIGITS for name in names]))
    made.say(WORDS.phrase("thesis.said", names=each), which=which, across=across)
    made.table({"across (%)": across, "within (%)": within})
    return made


# Methods beside each other --------------------------------------------------------------------------------------------


def race(found: Race, exact: Any = None, total: int | None = None) -> bytes:
    """The comparison as far as it has come, a step a round."""
    spec, names = found.spec, list(found.runs)
    history = found.judged(exact)

    def column(field: str) -> Array:
        return np.array([[getattr(now[name], field) for name in names] for now in history], dtype=float)

    seconds = column("seconds")
    made = Scene(
        run="race " + repr(spec),
        steps=len(history),
        start=len(history) - 1,
        rate=6.0,
        autoplay=True,
        total=total,
        theme=theme.palette(),
        label=WORDS.phrase("race.picture", kinds=len(names)),
    )
    share, size = 100.0 * column("accepted"), spec.symbol
    panel = made.panel(
        "accepted", title=WORDS.phrase("race.landed"), y=Axis("%", 0, 1.25 * max(float(share.max()), 1.0)), place=(0, 0, 6, 1), height=240
    )
    panel.bars(share, labels=[called(name, briefly=True) for name in names], role="posterior", label=WORDS.phrase("race.share"))
    if spec.part == "thesis":
        panel.rule(y=THESIS[spec.setting].across, role="prior", dash=True, label=WORDS.phrase("race.printed"))
    if spec.on_boston:  # chains that stay at the depth where they began have no effective draws of it
        _speed(made, WORDS.phrase("race.landed_a_second"), names, column("accepted") * column("jumps") / seconds)
    else:
        _worth(made, spec, names, column("trips") / seconds, column("effective") / seconds)
    _errors(made, spec, found, history, names, seconds)
    within, places = column("within"), ".2f" if spec.on_boston else ".1f"  # of the houses few land
    for j, name in enumerate(names):
        made.readout(
            f"method-{j}",
            WORDS.phrase("race.method_card", name=called(name), places=places, size=size),
            a=share[:, j],
            e=200.0 * column("error")[:, j],
            n=column("jumps")[:, j].astype(int),
            k=column("mean")[:, j],
            s=seconds[:, j],
        )
    made.readout("within", WORDS.phrase("race.within_card", name=called(names[0])), w=within[:, 0])
    made.say(WORDS.phrase("race.said"), n=np.array(found.at))
    columns: dict[str, Array] = {"sweeps": np.array(found.at)}
    for j, name in enumerate(names):
        columns |= {f"{called(name)}: accepted (%)": share[:, j], f"{called(name)}: mean {size}": column("mean")[:, j]}
    made.table(columns)
    return made.encode()


def colour_of(method: int) -> str:
    """The role of a method's marks; there are eight colours of chains."""
    return f"chain-{method}" if method < 8 else "muted"


def _worth(made: Scene, spec: LandingSpec, names: list[str], trips: Array, effective: Array) -> None:
    """Round trips a second, or where there are hardly any, effective draws of k."""
    low, high = analysis.trip_ends(spec)
    values, title = trips, WORDS.phrase("race.trips", low=low, high=high)
    if spec.part != "landing" or not trips[-1].any():
        values, title = effective, WORDS.phrase("race.effective")
    _speed(made, title, names, values)


def _speed(made: Scene, title: str, names: list[str], values: Array) -> None:
    """What each method does a second, (rounds, methods)."""
    top = 1.2 * max(float(values[len(values) // 2 :].max()), 0.1)
    panel: Panel = made.panel("worth", title=title, y=Axis(WORDS.phrase("race.a_second"), 0, top), place=(6, 0, 6, 1), height=240)
    panel.bars(
        np.minimum(values, top), labels=[called(name, briefly=True) for name in names], role="accept", label=WORDS.phrase("race.all_chains")
    )


def _errors(made: Scene, spec: LandingSpec, found: Race, history: list, names: list[str], seconds: Array) -> None:
    """How far the shares of k are from the exact ones against seconds; until these are known, mean k."""
    judged = np.isfinite(history[-1][names[0]].distance)
    field = "distance" if judged else "mean"
    title = WORDS.phrase("race.error") if judged else WORDS.phrase("race.mean", size=spec.symbol)
    top = 1.0 if judged else float(spec.high)
    panel = made.panel(
        "errors",
        title=title,
        x=Axis(WORDS.phrase("race.seconds"), 0.0, float(seconds.max()) * 1.02),
        y=Axis(WORDS.phrase("race.distance") if judged else spec.symbol, 0.0, top),
        place=(0, 1, 12, 1),
        height=240,
    )
    for j, name in enumerate(names):
        values = np.array([getattr(now[name], field) for now in history])
        if len(values) > 1:
            panel.line(seconds[:, j], values, show="upto", role=colour_of(j), width=2.0, dash=j % 2 == 1, label=called(name))
        else:
            panel.points(np.array([[seconds[0, j], values[0]]]), show="at", role=colour_of(j), size=4.0, label=called(name))


def live(spec: LandingSpec) -> Callable[[Any], bytes]:
    """The body of the long comparison: a download where needed; all methods in turns, then the evidence of each k."""

    def body(job: Any) -> bytes:
        if spec.on_boston and not spec.file:
            remote.fetch_table(boston.NAME, job)
        found = Race(spec, spec.sweeps, analysis.chains_of(spec))
        evidence = 0 if spec.part != "landing" else spec.count * EVIDENCE.pieces
        total, rounds = spec.sweeps + evidence, -(-spec.sweeps // analysis.ROUND)
        while not found.done and found.advance(job.is_set):
            job.report(found.sweeps, total)
            job.publish(race(found, total=rounds))
        if not found.history:
            return scene(spec, None)
        if found.done and evidence:
            try:
                x, y = spec.data_set()
                shared_evidence(spec.network(), x, y, cancel=job, report=lambda done, _: job.report(spec.sweeps + done, total))
            except InterruptedError:
                pass  # stopped: the comparison stands without the exact answer
        if found.done:
            job.report(total, total)
        return race(found, exact_now(spec))

    return body


def exact_now(spec: LandingSpec) -> Any:
    """p(k | data) by annealing of each k alone, if it has been computed."""
    if spec.part == "thesis":
        return None
    found = finished_evidence(spec.network(), *spec.data_set())
    return None if found is None else found.probabilities(spec.log_prior())
