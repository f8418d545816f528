"""From a run to the picture: the function, the weights inside their prior, the draw of a precision, all precisions."""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np
from numpy.typing import NDArray

from app.kit import theme
from app.kit.player.scene import Axis, Panel, Phase, Scene, Show
from app.kit.preview import Preview
from lessons.priors import analysis
from lessons.priors.analysis import CURVE, NAMES, PRIORS, Functions, GibbsDraw, Run
from lessons.priors.spec import REACH, WORDS, PriorsLesson

Array = NDArray[np.float64]

PHASES = (
    Phase("weights", WORDS.phrase("stage.nuts")),
    Phase("sum", WORDS.phrase("stage.add_up")),
    Phase("draw", WORDS.phrase("stage.draw")),
)
FROM_SUM, FROM_DRAW = (Show("all", phase=(phase, None)) for phase in ("sum", "draw"))
AT_DRAW = Show("at", phase=("draw", None))
TRAIL = 20  # curves that stay in the picture
BAND_WORDS = WORDS.phrase("stage.band")


PREVIEWS = dict.fromkeys(("prior_sd", "weight_shape", "weight_rate"), Preview(smooth=False))


def scene(spec: PriorsLesson, window: int | None) -> bytes:
    """The picture of the view. `window` is not used: a sweep has no inside beyond its phases."""
    if spec.view == "watch":
        return _watch(spec, analysis.simulate(spec), analysis.functions(spec)).encode()
    return _compare(spec, priors_of(spec)).encode()


def grow(spec: PriorsLesson, job: Any) -> bytes | None:
    """The same, with the first sweeps, or the first of the priors, while the rest is made."""
    if spec.view == "watch":
        first = analysis.beginning(spec)
        if first is not None:
            job.publish(_watch(spec, first, analysis.functions_of(spec, first)).encode())
    elif analysis.functions.peek(spec, priors_of(spec)[-1]) is None:
        job.publish(_compare(spec, priors_of(spec)[:1]).encode())
    return None if job.is_set() else scene(spec, None)


def _new(spec: PriorsLesson, label: str, phases: tuple[Phase, ...], steps: int) -> Scene:
    run = hashlib.blake2b(repr(spec).encode(), digest_size=12).hexdigest()
    total = spec.draws if steps < spec.draws else None
    return Scene(run=run, steps=steps, label=label, phases=phases, rate=6.0, total=total, theme=theme.palette())


# One prior, sweep by sweep --------------------------------------------------------------------------------------------


def _watch(spec: PriorsLesson, run: Run, found: Functions) -> Scene:
    """`run` : all its sweeps, or the first ones."""
    picture = _new(spec, WORDS.phrase("stage.picture"), PHASES, len(run.theta))
    panel = picture.panel(
        "function",
        title=_sliced(spec),
        x=Axis(_input_name(spec), found.x[0], found.x[-1]),
        y=Axis("y", *_reach(spec, found)),
        place=(0, 0, 2, 2),
        height=390,
    )
    _function(spec, panel, found, whole=len(run.theta) == spec.draws)
    panel.line(found.x, found.curves, show=Show("upto", last=TRAIL, fade=True), role="posterior", width=1.0, alpha=0.5)
    panel.line(found.x, found.curves, show="at", role="highlight", width=3.0, label=WORDS.phrase("stage.this_draw"))
    drawn = analysis.gibbs_draw(spec, run)
    _funnel(spec, picture, run)
    _conditional(spec, picture, drawn)
    _bars(spec, picture, run)
    _card(spec, picture, run, drawn)
    return picture


def _sliced(spec: PriorsLesson) -> str:
    return WORDS.phrase("stage.function") if spec.data == "wave" else WORDS.phrase("stage.along", input=spec.input)


def _input_name(spec: PriorsLesson) -> str:
    return WORDS.phrase("stage.input") if spec.data == "wave" else WORDS.phrase("stage.input_i", i=chr(0x2080 + spec.input))


def _reach(spec: PriorsLesson, found: Functions) -> tuple[float, float]:
    y = spec.values().y
    low = min(float(y.min()), float(np.quantile(found.band[0], 0.1)))
    high = max(float(y.max()), float(np.quantile(found.band[1], 0.9)))
    room = 0.15 * (high - low)
    return low - room, high + room


def _function(spec: PriorsLesson, panel: Panel, found: Functions, named: bool = True, whole: bool = True) -> None:
    """Band, if the draws are `whole`, truth and data. With six inputs the points lie beside the slice, so they are pale."""
    if whole:
        middle = found.curves.mean(axis=0)
        panel.line(found.x, middle, band=tuple(found.band), role="posterior", width=1.0, alpha=0.8, label=BAND_WORDS if named else None)
    panel.line(found.x, found.truth, role="truth", dash=True, width=2.0, label=WORDS.phrase("stage.truth") if named else None)
    data, flat = spec.values(), spec.data == "wave"
    panel.points(
        np.column_stack([data.x[:, spec.input - 1], data.y]),
        role="ink",
        shape="cross" if flat else "ring",
        size=4.5 if flat else 2.5,
        alpha=1.0 if flat else 0.35,
        label=(WORDS.phrase("stage.data") if flat else WORDS.phrase("stage.data_beside")) if named else None,
    )


def _funnel(spec: PriorsLesson, picture: Scene, run: Run) -> None:
    """Weights against the log of the prior sd that was then drawn for them."""
    mine = analysis.members(spec)
    log_sd = np.log10(run.sd[:, mine])
    low, high = float(log_sd.min()) - 0.15, float(log_sd.max()) + 0.15
    if high - low < 0.8:
        low, high = (low + high) / 2.0 - 0.4, (low + high) / 2.0 + 0.4
    reach = 1.15 * float(np.abs(run.theta[:, mine]).max())
    panel = picture.panel(
        "funnel",
        title=WORDS.phrase("stage.in_their_prior", looked_at=analysis.looked_at(spec).capitalize()),
        x=Axis(WORDS.phrase("stage.weight"), -reach, reach),
        y=Axis(WORDS.phrase("stage.log_sd"), low, high),
        place=(2, 0, 1, 1),
        height=230,
    )
    heights = np.linspace(low, high, 41)
    for side in (-1.96, 1.96):
        edge = np.column_stack([side * 10.0**heights, heights])
        panel.path(edge[np.abs(edge[:, 0]) <= reach], role="prior", dash=True, label=WORDS.phrase("stage.of_prior") if side > 0 else None)
    first = np.column_stack([run.theta[:, mine[0]], log_sd[:, 0]])
    panel.points(first, show="upto", role="posterior", size=2.2, alpha=0.5, label=WORDS.phrase("stage.first"))
    for k, j in enumerate(mine):
        at = np.column_stack([run.theta[:, j], log_sd[:, k]])
        panel.points(
            at,
            show=AT_DRAW,
            role="highlight",
            shape="diamond" if k else "ring",
            size=5.0 if k else 6.5,
            label=WORDS.phrase("stage.all") if k == len(mine) - 1 else None,
        )


def _conditional(spec: PriorsLesson, picture: Scene, drawn: GibbsDraw) -> None:
    """The density of log10 s that the precision of the first weight looked at is drawn from."""
    log_sd = -0.5 * np.log10(drawn.tau)
    panel_title = WORDS.phrase("stage.conditional") if spec.weights != "fixed" else WORDS.phrase("stage.conditional_fixed")
    low, high = min(float(log_sd.min()) - 0.4, -1.0), max(float(log_sd.max()) + 0.4, 1.0)
    panel = picture.panel(
        "conditional",
        title=panel_title,
        x=Axis(WORDS.phrase("stage.log_sd"), low, high),
        y=Axis(WORDS.phrase("stage.density"), 0.0, 1.0 if spec.weights == "fixed" else None),
        place=(2, 1, 1, 1),
        height=170,
    )
    if spec.weights == "fixed":
        panel.rule(x=float(log_sd[0]), role="highlight", label="s")
        return
    x = np.linspace(low, high, CURVE)
    prior = analysis.log_sd_density(x, np.array([spec.weight_shape]), np.array([spec.weight_rate]))[0]
    panel.line(x, prior, role="prior", dash=True, width=1.8, label=WORDS.phrase("stage.before"))
    curves = analysis.log_sd_density(x, drawn.shape, drawn.rate)
    name = WORDS.phrase("stage.given") if spec.variant == "exact" else WORDS.phrase("stage.wrong")
    panel.line(
        x, curves, show=Show("at", phase=("sum", None)), role="posterior" if spec.variant == "exact" else "reject", width=2.4, label=name
    )
    panel.points(
        np.column_stack([log_sd, np.zeros(len(log_sd))]),
        show=AT_DRAW,
        role="highlight",
        shape="diamond",
        size=6.0,
        label=WORDS.phrase("stage.drawn"),
    )


def _bars(spec: PriorsLesson, picture: Scene, run: Run) -> None:
    families = analysis.family_of(spec)
    sds = analysis.family_sds(spec, run.recording)[0]
    names = [f"x{chr(0x2080 + int(name[5:-1]))}" if name.startswith("W1[") else name for name in families.names]
    top = 1.05 * max(float(np.quantile(sds, 0.9, axis=0).max()), 1.0)
    panel = picture.panel(
        "bars",
        title=WORDS.phrase("stage.groups_of_inputs" if spec.data == "inputs" else "stage.groups"),
        y=Axis(WORDS.phrase("stage.sd"), 0.0, top),
        place=(0, 2, 3, 1),
        height=150,
    )
    panel.bars(sds, labels=names, role="posterior", label=WORDS.phrase("stage.this_sweep"))


def _card(spec: PriorsLesson, picture: Scene, run: Run, drawn: GibbsDraw) -> None:
    """The arithmetic of one Gibbs draw."""
    j, n = analysis.members(spec)[0], drawn.count
    name = run.recording.network.labels[j]
    w, sd = run.theta[:, j], run.sd[:, j]
    before = np.concatenate([[np.nan], sd[:-1]])
    picture.readout("weights", WORDS.phrase("stage.weights_card", weights=run.theta.shape[1], name=name), w=w, s=before)
    if spec.weights == "fixed":
        picture.readout("fixed", WORDS.phrase("stage.fixed_card", prior_sd=spec.prior_sd), t=drawn.tau)
        picture.say(WORDS.phrase("stage.said_fixed"), w=w, s=sd)
        picture.table({name: w, "prior sd": sd, "noise sd": run.noise_sd})
        return
    group = run.recording.groups.names[run.recording.groups.group[j]]
    square = "|w|" if spec.variant == "no_square" else "w²"
    shared = WORDS.phrase("stage.shares" if n == 1 else "stage.share", n=n, group=group)
    picture.readout("sum", WORDS.phrase("stage.sum_card", shared=shared, square=square), show=FROM_SUM, q=drawn.squares)
    half = "stage.shape_card" if spec.variant != "no_half_count" else "stage.shape_without_half_card"
    picture.readout("shape", WORDS.phrase(half, a=spec.weight_shape, n=n), show=FROM_SUM, a=drawn.shape)
    picture.readout(
        "rate",
        WORDS.phrase("stage.scale_card" if spec.variant == "rate_as_scale" else "stage.rate_card", rate=spec.weight_rate),
        show=FROM_SUM,
        q=drawn.squares,
        b=spec.weight_rate + 0.5 * drawn.squares,
    )
    picture.readout(
        "draw",
        WORDS.phrase("stage.draw_card"),
        show=FROM_DRAW,
        a=drawn.shape,
        b=drawn.rate,
        m=drawn.shape / drawn.rate,
        t=drawn.tau,
        s=1.0 / np.sqrt(drawn.tau),
    )
    if spec.noise == "learned":
        picture.readout("noise", WORDS.phrase("stage.noise_card", true_noise=spec.true_noise), show=FROM_DRAW, n=run.noise_sd)
    picture.say(WORDS.phrase("stage.said", name=name, n=n), w=w, q=drawn.squares, s=sd)
    picture.table(
        {
            name: w,
            f"sum of {square}": drawn.squares,
            "shape": drawn.shape,
            "rate": drawn.rate,
            "tau": drawn.tau,
            "prior sd": sd,
            "noise sd": run.noise_sd,
        }
    )


# Five priors on the same data -----------------------------------------------------------------------------------------


def priors_of(spec: PriorsLesson) -> list[str]:
    """Those that differ on these data: with one input, a precision an input is one a layer."""
    return [weights for weights in PRIORS if weights != "per_input" or spec.data == "inputs"]


def _compare(spec: PriorsLesson, known: list[str]) -> Scene:
    """`known` : all priors, or the first ones."""
    picture = _new(spec, WORDS.phrase("stage.comparison"), (), spec.draws)
    found = {weights: analysis.functions(spec, weights) for weights in known}
    reach = [_reach(spec, functions) for functions in found.values()]
    low, high = float(np.median([r[0] for r in reach])), float(np.median([r[1] for r in reach]))
    columns = 2 if len(priors_of(spec)) == 4 else 3
    widths = {}
    for place, weights in enumerate(priors_of(spec)):
        panel = picture.panel(
            weights,
            title=f"τ {NAMES[weights]}" if weights != "own_mean" else WORDS.phrase("stage.own_mean"),
            x=Axis(_input_name(spec), -REACH[spec.data], REACH[spec.data]),
            y=Axis("y" if place % columns == 0 else "", low, high),
            place=(place % columns, place // columns, 1, 1),
            height=255,
        )
        if weights not in found:
            continue
        functions = found[weights]
        _function(spec, panel, functions, named=place == 0)
        panel.line(
            functions.x,
            functions.curves,
            show="at",
            role="highlight",
            width=2.5,
            label=WORDS.phrase("stage.this_draw") if place == 0 else None,
        )
        widths[weights] = float(np.diff(functions.band[:, [0, -1]], axis=0).mean())
    words = ", ".join(f"{NAMES[weights]} {width:.2f}" for weights, width in widths.items())
    picture.readout("edge", WORDS.phrase("stage.edge_card", words=words))
    places: dict[str, Any] = {weights: functions.curves[:, -1] for weights, functions in found.items()}
    picture.say(WORDS.phrase("stage.said_all", functions=", ".join(f"{{{weights}:.2f}} ({NAMES[weights]})" for weights in found)), **places)
    picture.table({f"f at the right edge, {NAMES[weights]}": values for weights, values in places.items()})
    return picture
