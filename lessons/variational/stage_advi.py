"""Stochastic gradients as a scene: q on the map with the points of each step, and beside it the ELBO with its parts,
the marginals, or the noise of the gradient.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from app.kit import pictures, theme
from app.kit.player.scene import Axis, Panel, Phase, Scene, Show, stairs
from app.kit.text import number
from lessons.variational import analysis
from lessons.variational.analysis import Climb, Noise
from lessons.variational.spec import WORDS, VariationalLesson

Array = NDArray[np.float64]

PHASES = tuple(Phase(name, WORDS.phrase(f"advi.{name}")) for name in ("draw", "vote", "move"))
SHARES = (0.5, 0.95)
HEIGHT = 420
MAP, BESIDE = (0, 0, 9, 2), ((9, 0, 6, 1), (9, 1, 6, 1))
FRAMES = 250  # ellipses that travel
CURVES, CURVE = 100, 61  # frames and points of the marginals
BUDGET = 3000  # points that travel at once
DEEP = 12.0  # nats below the log evidence that the ELBO's panel shows at most
ARROW = 0.16  # of the map's width: the typical arrow


def stage(spec: VariationalLesson, window: int | None) -> Scene:
    """The scene of a fit."""
    return drawn(spec, window, analysis.simulate(spec))


def drawn(spec: VariationalLesson, window: int | None, climb: Climb, whole: bool = True) -> Scene:
    """The scene of a fit, with its exact ELBO as far as it is known. `whole`: with the exact slopes, and the noise about them."""
    picture = Scene(
        run=repr(spec.simulation()), steps=climb.steps, rate=12.0, phases=PHASES, theme=theme.palette(), label=WORDS.phrase("advi.picture")
    )
    first, width = pictures.window_around(window, climb.steps, spec.samples, budget=BUDGET)
    picture.window(first, np.arange(width + 1, dtype=np.int32) * spec.samples)
    _map(picture, climb, slice(first, first + width))
    if spec.view == "marginals":
        for axis in (0, 1):
            _marginal(picture, climb, axis)
    elif spec.view == "gradients":
        reach = _gradient(picture, climb, finite(analysis.slopes(climb.spec)) if whole else None)
        _noise(picture, climb, analysis.noise(climb.spec) if whole else None, reach)
    else:
        _elbo(picture, climb)
        _parts(picture, climb)
    _arithmetic(picture, climb)
    _words(picture, climb)
    return picture


def frames(steps: int, most: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Numbers of steps taken at which q has a frame of its own, 0 among them, and (steps + 1,) the frame of each such number."""
    chosen = np.unique(np.linspace(0, steps, min(steps, most) + 1).astype(int))
    return chosen, np.searchsorted(chosen, np.arange(steps + 1), side="right") - 1


def finite(values: Array, limit: float = 1e6) -> Array:
    """Numbers that can be drawn; NaN for others."""
    with np.errstate(invalid="ignore"):
        return np.where(np.abs(values) < limit, values, np.nan)


def _map(picture: Scene, climb: Climb, rows: slice) -> Panel:
    fit, spec = climb.fit, climb.spec
    panel = pictures.density_panel(picture, climb.target, title=WORDS.phrase("stage.target_and_q"), place=MAP, height=HEIGHT)
    taken, frame = frames(climb.steps, FRAMES)
    rings = climb.on_map(analysis.ellipses(fit.mean[taken], fit.root[taken], SHARES))
    panel.path(finite(rings), at=frame, role="posterior", width=2.4, label=WORDS.phrase("stage.rings"))
    means = finite(climb.on_map(fit.mean))
    panel.path(means[1:], show="upto", role="posterior", width=1.2, alpha=0.6, label=WORDS.phrase("advi.path"))
    points = climb.on_map(climb.inside.point[rows].reshape(-1, 2))
    votes = _votes(climb)[rows].reshape(-1, 2)
    (low, high), _ = climb.target.view
    typical = np.nanmedian(np.hypot(*finite(votes).T)) if len(votes) else 1.0
    with np.errstate(all="ignore"):
        scale = ARROW * (high - low) / max(float(typical), 1e-12)
        tips = climb.on_map(climb.inside.point[rows].reshape(-1, 2) + np.clip(votes * scale, -high + low, high - low))
    votes_label = WORDS.phrase("advi.slopes" if spec.estimator == "reparameterised" else "advi.scores")
    voting = Show("inner_all", phase=("vote", "vote"))
    panel.arrows(finite(points), finite(tips), show=voting, role="momentum", width=1.4, label=votes_label)
    panel.points(
        finite(points),
        show=Show("inner_all", phase=("draw", None)),
        role="highlight",
        size=3.2,
        alpha=0.9,
        label=WORDS.phrase("advi.point") if spec.samples == 1 else WORDS.phrase("advi.points", points=spec.samples),
    )
    panel.arrows(
        means[:-1], means[1:], show=Show("at", phase=("move", None)), role="accept", width=2.6, label=WORDS.phrase("advi.the_step")
    )
    panel.points(means[1:], show=Show("upto", last=1), role="posterior", shape="ring", size=6)
    return panel


def _votes(climb: Climb) -> Array:
    """(N, S, 2) what each point says about where the mean should go; their average is the gradient."""
    inside, spec = climb.inside, climb.spec
    if spec.estimator == "reparameterised":
        return inside.slope
    root, noise = climb.fit.root[:-1], inside.noise
    with np.errstate(all="ignore"):
        log_q = -0.5 * (noise**2).sum(axis=2) - np.log(2.0 * np.pi)
        log_q = log_q - np.log(root[:, 0, 0] * root[:, 1, 1])[:, None]
        f = inside.log_joint + (log_q if spec.variant == "entropy_sign" else -log_q)
        if spec.estimator == "score_control":
            f = (spec.samples * f - f.sum(axis=1, keepdims=True)) / (spec.samples - 1)
        second = noise[..., 1] / root[:, 1, 1, None]  # the slope of log q in the mean: L⁻ᵀ ε
        first = (noise[..., 0] - root[:, 1, 0, None] * second) / root[:, 0, 0, None]
        return f[..., None] * np.stack([first, second], axis=-1)


def _axis_range(values: Array, low: float, high: float) -> tuple[float, float]:
    seen = values[np.isfinite(values)]
    low = max(low, float(seen.min(initial=high))) if seen.size else low
    return low - 0.06 * (high - low), high + 0.1 * (high - low)


def _elbo(picture: Scene, climb: Climb) -> None:
    step = np.arange(1.0, climb.steps + 1.0)
    exact = finite(climb.exact.value[1:])
    top = climb.log_evidence if np.isfinite(climb.log_evidence) else float(np.nanmax(exact, initial=-1e6))
    low, high = _axis_range(exact, top - DEEP, top)
    panel = picture.panel(
        "elbo",
        title=WORDS.phrase("advi.elbo_and_gap"),
        x=Axis(WORDS.phrase("advi.step"), 0, climb.steps),
        y=Axis(WORDS.phrase("advi.elbo_in_nats"), low, high),
        place=BESIDE[0],
        height=HEIGHT // 2,
    )
    noisy = finite(climb.fit.elbo)
    panel.points(
        np.column_stack([step - 1.0, np.where((noisy > low) & (noisy < high), noisy, np.nan)]),
        show="upto",
        role="muted",
        size=1.6,
        alpha=0.6,
        label=WORDS.phrase("advi.estimate"),
    )
    panel.line(step, np.where(exact > low, exact, np.nan), show="upto", role="posterior", width=2.2, label=WORDS.phrase("stage.elbo"))
    if np.isfinite(climb.log_evidence):
        panel.rule(y=climb.log_evidence, role="truth", dash=True, label=WORDS.phrase("stage.log_evidence"))


def _parts(picture: Scene, climb: Climb) -> None:
    """Energy and entropy on one scale: the energy counted down from log p(y), so that the distance is KL(q‖p)."""
    step = np.arange(1.0, climb.steps + 1.0)
    known = np.isfinite(climb.log_evidence)
    energy, entropy = finite(climb.exact.energy[1:]), finite(climb.exact.entropy[1:])
    first = climb.log_evidence - energy if known else energy
    settled = entropy[len(entropy) // 2 :]
    settled = settled[np.isfinite(settled)]
    centre = float(np.median(settled)) if settled.size else 0.0
    both = np.concatenate([first, entropy])
    low = max(float(np.nanmin(both, initial=centre)), centre - DEEP / 2) - 0.2
    high = min(float(np.nanmax(both, initial=centre)), centre + DEEP / 2) + 0.2
    panel = picture.panel(
        "parts",
        title=WORDS.phrase("advi.parts_and_gap" if known else "advi.parts"),
        x=Axis(WORDS.phrase("advi.step"), 0, climb.steps),
        y=Axis(WORDS.phrase("stage.nats"), low, high),
        place=BESIDE[1],
        height=HEIGHT // 2,
    )
    for values, role, dash, label in (
        (first, "energy", False, WORDS.phrase("advi.energy_below" if known else "advi.energy")),
        (entropy, "reject", True, WORDS.phrase("advi.entropy")),
    ):
        inside = np.where((values >= low) & (values <= high), values, np.nan)
        panel.line(step, inside, show="upto", role=role, dash=dash, width=2.2, label=label)


def _marginal(picture: Scene, climb: Climb, axis: int) -> None:
    target, name = climb.target, climb.target.labels[axis]
    low, high = target.view[axis]
    x = np.linspace(low, high, CURVE)
    taken, frame = frames(climb.steps, CURVES)
    curves = analysis.marginals_of_q(climb, taken, axis, x)
    fine = np.linspace(low, high, 161)
    truth = None if target.truth is None else target.truth.marginals[axis](fine)
    drawn = analysis.draws(climb.spec)[:, :, axis].ravel()
    counts, edges = np.histogram(drawn, 40, (low, high), density=True)
    tops = [counts.max(), 0.0 if truth is None else truth.max(), np.nanquantile(curves.max(axis=1), 0.9)]
    top = 1.15 * float(min(max(tops), 3.0 * max(tops[:2])))
    panel = picture.panel(
        f"marginal-{axis}",
        title=WORDS.phrase("advi.marginal", coordinate=name),
        x=Axis(name, low, high),
        y=Axis(WORDS.phrase("stage.density"), 0.0, top),
        place=BESIDE[axis],
        height=HEIGHT // 2,
    )
    nuts = WORDS.phrase("advi.nuts", chains=analysis.NUTS_CHAINS, draws=number(analysis.NUTS_DRAWS))
    panel.path(stairs(edges, counts), role="accept", width=1.2, alpha=0.9, label=nuts)
    if truth is not None:
        label = WORDS.phrase("advi.truth", source=pictures.source_of(target))
        panel.line(fine, np.minimum(truth, top), role="truth", dash=True, width=2.5, label=label)
    both = np.stack([np.broadcast_to(x, curves.shape), np.minimum(finite(curves), top)], axis=-1)
    panel.path(both, at=frame, role="posterior", width=2.4, label=WORDS.phrase("advi.q"))


def _gradient(picture: Scene, climb: Climb, exact: Array | None) -> float:
    """The estimate each step used, about the exact slope if that is known. Returns how far the axis reaches."""
    step = np.arange(1.0, climb.steps + 1.0)
    used = finite(climb.inside.gradient[:, 0])
    # a slope that is not known is below most of its estimates: so the axis is the same
    seen = np.abs(np.concatenate([used, np.zeros_like(used) if exact is None else exact]))
    reach = 1.1 * float(np.nanquantile(seen, 0.97)) if np.isfinite(seen).any() else 1.0
    panel = picture.panel(
        "gradient",
        title=WORDS.phrase("advi.slope_of_elbo", coordinate=climb.target.labels[0]),
        x=Axis(WORDS.phrase("advi.step"), 0, climb.steps),
        y=Axis(WORDS.phrase("advi.slope"), -reach, reach),
        place=BESIDE[0],
        height=HEIGHT // 2,
    )
    panel.points(
        np.column_stack([step, np.where(np.abs(used) <= reach, used, np.nan)]),
        show="upto",
        role="momentum",
        size=2.2,
        alpha=0.8,
        label=WORDS.phrase("advi.estimate_used"),
    )
    if exact is not None:
        panel.line(step, np.clip(exact, -reach, reach), show="upto", role="ink", width=1.8, label=WORDS.phrase("advi.exact_slope"))
    return reach


LOOKS = {"reparameterised": ("posterior", False), "score": ("reject", True), "score_control": ("highlight", False)}


def _noise(picture: Scene, climb: Climb, found: Noise | None, reach: float) -> None:
    """How noisy each estimator would be along this very path. `reach` : of the estimates, which tells about how noisy they
    are while that is not known."""
    low, high = 0.01 * reach, reach
    if found is not None:
        values = np.concatenate([v[np.isfinite(v) & (v > 0)] for v in found.sd.values()])
        low, high = 0.7 * float(values.min()), 1.5 * float(values.max())
    panel = picture.panel(
        "noise",
        title=WORDS.phrase("advi.noise", points=climb.spec.samples),
        x=Axis(WORDS.phrase("advi.step"), 0, climb.steps),
        y=Axis(WORDS.phrase("advi.sd_of_estimate"), low, high, log=True),
        place=BESIDE[1],
        height=HEIGHT // 2,
    )
    if found is not None:
        for name, sd in found.sd.items():
            role, dash = LOOKS[name]
            panel.line(found.at + 1.0, np.maximum(sd, 1e-12), role=role, dash=dash, label=WORDS["estimators"][name])
    panel.rule(x=np.arange(1.0, climb.steps + 1.0), role="muted")


# Numbers and words ----------------------------------------------------------------------------------------------------


def _arithmetic(picture: Scene, climb: Climb) -> None:
    """The card of the present step."""
    fit, spec, inside = climb.fit, climb.spec, climb.inside
    x, y = climb.target.labels
    point = finite(climb.on_map(inside.point[:, 0]))
    mean, gradient = fit.mean, finite(inside.gradient)
    name = x if spec.supports[0] == "real" else f"log {x}"  # of the coordinate that q has
    voting, moving = Show("at", phase=("vote", None)), Show("at", phase=("move", None))
    picture.readout(
        "draw",
        WORDS.phrase("advi.draw_card", name=name, x=x, y=y),
        e=inside.noise[:, 0, 0],
        f=inside.noise[:, 0, 1],
        m=mean[:-1, 0],
        s=finite(fit.root[:-1, 0, 0]),
        a=point[:, 0],
        b=point[:, 1],
        show="at",
    )
    if spec.estimator == "reparameterised":
        picture.readout(
            "vote",
            WORDS.phrase("advi.slope_card", points=spec.samples),
            a=finite(inside.slope[:, 0, 0]),
            b=finite(inside.slope[:, 0, 1]),
            g=gradient[:, 0],
            h=gradient[:, 1],
            show=voting,
        )
        wrong = spec.variant == "entropy_sign"
        picture.readout(
            "spread",
            WORDS.phrase("advi.wrong_spread_card" if wrong else "advi.spread_card"),
            a=gradient[:, 2] - (-1.0 if wrong else 1.0),
            b=gradient[:, 2],
            show=voting,
        )
    else:
        votes = finite(_votes(climb))
        picture.readout(
            "vote",
            WORDS.phrase(f"advi.{spec.estimator}_card", points=spec.samples),
            a=votes[:, 0, 0],
            b=votes[:, 0, 1],
            g=gradient[:, 0],
            h=gradient[:, 1],
            show=voting,
        )
    picture.readout(
        "step",
        WORDS.phrase(f"advi.{spec.optimiser}_card", name=name),
        a=mean[:-1, 0],
        b=finite(mean[1:, 0]),
        c=finite(fit.sd[:-1, 0]),
        d=finite(fit.sd[1:, 0]),
        show=moving,
    )
    values: dict[str, Any] = {"e": finite(climb.exact.energy[1:]), "h": finite(climb.exact.entropy[1:]), "l": finite(climb.exact.value[1:])}
    if np.isfinite(climb.log_evidence):
        picture.readout(
            "elbo",
            WORDS.phrase("advi.elbo_and_gap_card"),
            z=np.full(climb.steps, climb.log_evidence),
            k=finite(climb.gap[1:]),
            show=moving,
            **values,
        )
    else:
        picture.readout("elbo", WORDS.phrase("advi.elbo_card"), show=moving, **values)
    truth = climb.target.truth
    if truth is not None and np.all(np.isfinite(truth.covariance)):
        _, sd = analysis.moments_of_q(spec, fit.mean[1:], fit.sd[1:])
        ratio = finite(sd / np.sqrt(np.diag(truth.covariance)))
        picture.readout("ratio", WORDS.phrase("advi.ratio_card", x=x, y=y), a=ratio[:, 0], b=ratio[:, 1], show=moving)


def _words(picture: Scene, climb: Climb) -> None:
    mean, sd = finite(climb.fit.mean[1:]), finite(climb.fit.sd[1:])
    picture.say(WORDS.phrase("advi.said"), a=mean[:, 0], b=mean[:, 1], l=finite(climb.exact.value[1:]))
    columns = {
        "mean 1": mean[:, 0],
        "mean 2": mean[:, 1],
        "sd 1": sd[:, 0],
        "sd 2": sd[:, 1],
        "energy": finite(climb.exact.energy[1:]),
        "entropy": finite(climb.exact.entropy[1:]),
        "ELBO": finite(climb.exact.value[1:]),
        "ELBO, estimate": finite(climb.fit.elbo),
    }
    picture.table(columns)
