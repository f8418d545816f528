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
from lessons.priors.analysis import CURVE, NAMES, PRIORS, Functions
from lessons.priors.spec import PriorsLesson

Array = NDArray[np.float64]

PHASES = (Phase("weights", "NUTS moves the weights"), Phase("sum", "add up squares"), Phase("draw", "draw τ"))
FROM_SUM, FROM_DRAW = (Show("all", phase=(phase, None)) for phase in ("sum", "draw"))
AT_DRAW = Show("at", phase=("draw", None))
TRAIL = 20  # curves that stay in the picture
BAND_WORDS = "band: 90 % of the draws of f"


PREVIEWS = dict.fromkeys(("prior_sd", "weight_shape", "weight_rate"), Preview(smooth=False))


def scene(spec: PriorsLesson, window: int | None) -> bytes:
    """The picture of the view. `window` is not used: a sweep has no inside beyond its phases."""
    return (_watch if spec.view == "watch" else _compare)(spec).encode()


def _new(spec: PriorsLesson, label: str, phases: tuple[Phase, ...]) -> Scene:
    run = hashlib.blake2b(repr(spec).encode(), digest_size=12).hexdigest()
    return Scene(run=run, steps=spec.draws, label=label, phases=phases, rate=6.0, theme=theme.palette())


# One prior, sweep by sweep --------------------------------------------------------------------------------------------


def _watch(spec: PriorsLesson) -> Scene:
    picture = _new(
        spec,
        "Functions of a network, its weights against the prior sd they see, the gamma distribution that the next "
        "precision is drawn from, and the prior sd of every group of weights.",
        PHASES,
    )
    found = analysis.functions(spec)
    panel = picture.panel(
        "function",
        title=_sliced(spec),
        x=Axis(_input_name(spec), found.x[0], found.x[-1]),
        y=Axis("y", *_reach(spec, found)),
        place=(0, 0, 2, 2),
        height=390,
    )
    _function(spec, panel, found)
    panel.line(found.x, found.curves, show=Show("upto", last=TRAIL, fade=True), role="posterior", width=1.0, alpha=0.5)
    panel.line(found.x, found.curves, show="at", role="highlight", width=3.0, label="this draw")
    _funnel(spec, picture)
    _conditional(spec, picture)
    _bars(spec, picture)
    _card(spec, picture)
    return picture


def _sliced(spec: PriorsLesson) -> str:
    return "The function f" if spec.data == "wave" else f"f along input {spec.input}, the others at 0"


def _input_name(spec: PriorsLesson) -> str:
    return "input x" if spec.data == "wave" else f"input x{chr(0x2080 + spec.input)}"


def _reach(spec: PriorsLesson, found: Functions) -> tuple[float, float]:
    y = spec.values().y
    low = min(float(y.min()), float(np.quantile(found.band[0], 0.1)))
    high = max(float(y.max()), float(np.quantile(found.band[1], 0.9)))
    room = 0.15 * (high - low)
    return low - room, high + room


def _function(spec: PriorsLesson, panel: Panel, found: Functions, named: bool = True) -> None:
    """Band, truth and data. With six inputs the points lie beside the slice, so they are pale."""
    middle = found.curves.mean(axis=0)
    panel.line(found.x, middle, band=tuple(found.band), role="posterior", width=1.0, alpha=0.8, label=BAND_WORDS if named else None)
    panel.line(found.x, found.truth, role="truth", dash=True, width=2.0, label="truth, without noise" if named else None)
    data, flat = spec.values(), spec.data == "wave"
    panel.points(
        np.column_stack([data.x[:, spec.input - 1], data.y]),
        role="ink",
        shape="cross" if flat else "ring",
        size=4.5 if flat else 2.5,
        alpha=1.0 if flat else 0.35,
        label=("data" if flat else "data, other inputs not 0") if named else None,
    )


def _funnel(spec: PriorsLesson, picture: Scene) -> None:
    """Weights against the log of the prior sd that was then drawn for them."""
    run, mine = analysis.simulate(spec), analysis.members(spec)
    log_sd = np.log10(run.sd[:, mine])
    low, high = float(log_sd.min()) - 0.15, float(log_sd.max()) + 0.15
    if high - low < 0.8:
        low, high = (low + high) / 2.0 - 0.4, (low + high) / 2.0 + 0.4
    reach = 1.15 * float(np.abs(run.theta[:, mine]).max())
    panel = picture.panel(
        "funnel",
        title=f"{analysis.looked_at(spec).capitalize()} in their prior",
        x=Axis("weight w", -reach, reach),
        y=Axis("log₁₀ of prior sd s", low, high),
        place=(2, 0, 1, 1),
        height=230,
    )
    heights = np.linspace(low, high, 41)
    for side in (-1.96, 1.96):
        edge = np.column_stack([side * 10.0**heights, heights])
        panel.path(edge[np.abs(edge[:, 0]) <= reach], role="prior", dash=True, label="95 % of the prior" if side > 0 else None)
    first = np.column_stack([run.theta[:, mine[0]], log_sd[:, 0]])
    panel.points(first, show="upto", role="posterior", size=2.2, alpha=0.5, label="first of them, so far")
    for k, j in enumerate(mine):
        at = np.column_stack([run.theta[:, j], log_sd[:, k]])
        panel.points(
            at,
            show=AT_DRAW,
            role="highlight",
            shape="diamond" if k else "ring",
            size=5.0 if k else 6.5,
            label="all of them now (ring: the first)" if k == len(mine) - 1 else None,
        )


def _conditional(spec: PriorsLesson, picture: Scene) -> None:
    """The density of log10 s that the precision of the first weight looked at is drawn from."""
    drawn = analysis.gibbs_draw(spec)
    log_sd = -0.5 * np.log10(drawn.tau)
    panel_title = "Where s comes from" if spec.weights != "fixed" else "s is fixed: nothing is drawn"
    low, high = min(float(log_sd.min()) - 0.4, -1.0), max(float(log_sd.max()) + 0.4, 1.0)
    panel = picture.panel(
        "conditional",
        title=panel_title,
        x=Axis("log₁₀ of prior sd s", low, high),
        y=Axis("density", 0.0, 1.0 if spec.weights == "fixed" else None),
        place=(2, 1, 1, 1),
        height=170,
    )
    if spec.weights == "fixed":
        panel.rule(x=float(log_sd[0]), role="highlight", label="s")
        return
    x = np.linspace(low, high, CURVE)
    prior = analysis.log_sd_density(x, np.array([spec.weight_shape]), np.array([spec.weight_rate]))[0]
    panel.line(x, prior, role="prior", dash=True, width=1.8, label="before any weight: Gamma(a, b)")
    curves = analysis.log_sd_density(x, drawn.shape, drawn.rate)
    name = "given the weights: Gamma(a + n/2, b + ½Σw²)" if spec.variant == "exact" else "as it was drawn: wrong"
    panel.line(
        x, curves, show=Show("at", phase=("sum", None)), role="posterior" if spec.variant == "exact" else "reject", width=2.4, label=name
    )
    panel.points(
        np.column_stack([log_sd, np.zeros(len(log_sd))]), show=AT_DRAW, role="highlight", shape="diamond", size=6.0, label="s = 1/√τ drawn"
    )


def _bars(spec: PriorsLesson, picture: Scene) -> None:
    run, families = analysis.simulate(spec), analysis.family_of(spec)
    sds = analysis.family_sds(spec, run.recording)[0]
    names = [f"x{chr(0x2080 + int(name[5:-1]))}" if name.startswith("W1[") else name for name in families.names]
    top = 1.05 * max(float(np.quantile(sds, 0.9, axis=0).max()), 1.0)
    panel = picture.panel(
        "bars",
        title="Prior sd by group" + (" (x₁ … x₆: first weights of that input)" if spec.data == "inputs" else ""),
        y=Axis("prior sd s (rms)", 0.0, top),
        place=(0, 2, 3, 1),
        height=150,
    )
    panel.bars(sds, labels=names, role="posterior", label="this sweep")


def _card(spec: PriorsLesson, picture: Scene) -> None:
    """The arithmetic of one Gibbs draw."""
    run, drawn = analysis.simulate(spec), analysis.gibbs_draw(spec)
    j, n = analysis.members(spec)[0], drawn.count
    name = run.recording.network.labels[j]
    w, sd = run.theta[:, j], run.sd[:, j]
    before = np.concatenate([[np.nan], sd[:-1]])
    picture.readout(
        "weights", f"weights: NUTS moved all {run.theta.shape[1]}; {name} = {{w:.3f}}, its prior sd was {{s:.3f}}", w=w, s=before
    )
    if spec.weights == "fixed":
        picture.readout("fixed", f"τ = 1/s² = {{t:.3f}} is fixed: the prior N(0, {spec.prior_sd:g}²) learns nothing", t=drawn.tau)
        picture.say("Sweep {t} of {steps}: w is {w:.2f}, the prior sd stays {s:.2f}.", w=w, s=sd)
        picture.table({name: w, "prior sd": sd, "noise sd": run.noise_sd})
        return
    group = run.recording.groups.names[run.recording.groups.group[j]]
    square = "|w|" if spec.variant == "no_square" else "w²"
    shared = f"{n} weight{'s' * (n > 1)} share{'s' * (n == 1)} the τ of {group}"
    picture.readout("sum", f"sum: {shared}; Σ{square} = {{q:.3f}}", show=FROM_SUM, q=drawn.squares)
    half = f"{spec.weight_shape:g} + {n}/2" if spec.variant != "no_half_count" else f"{spec.weight_shape:g} (n/2 forgotten)"
    picture.readout("shape", f"shape: {half} = {{a:.3f}}", show=FROM_SUM, a=drawn.shape)
    picture.readout(
        "rate",
        f"rate: {spec.weight_rate:g} + ½ · {{q:.3f}} = {{b:.3f}}"
        + (", then taken for a scale: 1/rate" if spec.variant == "rate_as_scale" else ""),
        show=FROM_SUM,
        q=drawn.squares,
        b=spec.weight_rate + 0.5 * drawn.squares,
    )
    picture.readout(
        "draw",
        "draw: τ ~ Gamma({a:.3f}, rate {b:.3f}), mean {m:.3f}: τ = {t:.3f}, s = 1/√τ = {s:.3f}",
        show=FROM_DRAW,
        a=drawn.shape,
        b=drawn.rate,
        m=drawn.shape / drawn.rate,
        t=drawn.tau,
        s=1.0 / np.sqrt(drawn.tau),
    )
    if spec.noise == "learned":
        picture.readout(
            "noise",
            f"noise: τ_y drawn the same way from the residuals, noise sd = {{n:.3f}} (true {spec.true_noise:g})",
            show=FROM_DRAW,
            n=run.noise_sd,
        )
    picture.say(
        f"Sweep {{t}} of {{steps}}, {{phase}}: {name} is {{w:.2f}}, sum {{q:.2f}} over {n}, new prior sd {{s:.2f}}.",
        w=w,
        q=drawn.squares,
        s=sd,
    )
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


def _compare(spec: PriorsLesson) -> Scene:
    picture = _new(spec, "The functions of one network under several priors, on the same points with the same seed.", ())
    found = {weights: analysis.functions(spec, weights) for weights in priors_of(spec)}
    reach = [_reach(spec, functions) for functions in found.values()]
    low, high = float(np.median([r[0] for r in reach])), float(np.median([r[1] for r in reach]))
    columns = 2 if len(found) == 4 else 3
    widths = {}
    for place, (weights, functions) in enumerate(found.items()):
        panel = picture.panel(
            weights,
            title=f"τ {NAMES[weights]}" if weights != "own_mean" else "a mean and a sd for each weight",
            x=Axis(_input_name(spec), functions.x[0], functions.x[-1]),
            y=Axis("y" if place % columns == 0 else "", low, high),
            place=(place % columns, place // columns, 1, 1),
            height=255,
        )
        _function(spec, panel, functions, named=place == 0)
        panel.line(functions.x, functions.curves, show="at", role="highlight", width=2.5, label="this draw" if place == 0 else None)
        widths[weights] = float(np.diff(functions.band[:, [0, -1]], axis=0).mean())
    words = ", ".join(f"{NAMES[weights]} {width:.2f}" for weights, width in widths.items())
    picture.readout("edge", f"width of the 90 % band at the edges of the picture: {words}")
    places: dict[str, Any] = {weights: functions.curves[:, -1] for weights, functions in found.items()}
    picture.say(
        "Draw {t} of {steps}: at the right edge f is " + ", ".join(f"{{{weights}:.2f}} ({NAMES[weights]})" for weights in found) + ".",
        **places,
    )
    picture.table({f"f at the right edge, {NAMES[weights]}": values for weights, values in places.items()})
    return picture
