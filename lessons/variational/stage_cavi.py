"""Coordinate ascent as a scene: one factor of q at a time, on the map and on its own axis, and the ELBO that never
falls.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from app.kit import pictures, theme
from app.kit.player.scene import Axis, Phase, Scene, Show
from engine.variational import GaussianAscent, NormalGammaAscent
from lessons.variational import analysis
from lessons.variational.spec import WORDS, VariationalLesson
from lessons.variational.stage_advi import SHARES

Array = NDArray[np.float64]

PHASES = tuple(Phase(name, WORDS.phrase(f"cavi.{name}")) for name in ("hold", "average", "update"))
HEIGHT = 420
MAP, BESIDE, BELOW = (0, 0, 9, 2), ((9, 0, 6, 1), (9, 1, 6, 1)), (0, 2, 15, 1)
CURVE = 81
DEEP = 10.0


def stage(spec: VariationalLesson, window: int | None) -> Scene:
    """The scene of an ascent; there is no inside to ask for."""
    found, target = analysis.coordinate_ascent(spec), analysis.pair_target(spec)
    U, j = len(found.coordinate), found.coordinate
    picture = Scene(
        run=repr(spec.replace(view="elbo")), steps=U, rate=1.5, phases=PHASES, theme=theme.palette(), label=WORDS.phrase("cavi.picture")
    )
    centre = analysis.centres(found)
    panel = pictures.density_panel(picture, target, title=WORDS.phrase("stage.target_and_q"), place=MAP, height=HEIGHT)
    rings = _rings(found)
    steps = np.arange(U)
    panel.path(rings[1:], at=steps, role="posterior", width=2.4, label=WORDS.phrase("stage.rings"))
    held = np.where(j == 0, centre[:-1, 1], np.nan), np.where(j == 1, centre[:-1, 0], np.nan)
    panel.rule(y=held[0], role="proposal", dash=True, label=WORDS.phrase("cavi.held"))
    panel.rule(x=held[1], role="proposal", dash=True)
    panel.path(centre[1:], show="upto", role="posterior", width=1.2, alpha=0.6)
    update = Show("at", phase=("update", None))
    panel.arrows(centre[:-1], centre[1:], show=update, role="accept", width=2.6, label=WORDS.phrase("cavi.the_update"))
    for axis in (0, 1):
        _factor(picture, found, target, axis)
    _elbo(picture, found)
    _card(picture, spec, found, target.labels)
    return picture


def _rings(found: GaussianAscent | NormalGammaAscent) -> Array:
    if isinstance(found, GaussianAscent):
        roots = np.zeros((len(found.mean), 2, 2))
        roots[:, [0, 1], [0, 1]] = found.sd
        return analysis.ellipses(found.mean, roots, SHARES)
    return np.stack([analysis.gamma_normal_rings(found, u, SHARES) for u in range(len(found.mean))])


def _density(found: GaussianAscent | NormalGammaAscent, axis: int, x: Array) -> Array:
    """(U + 1, M) density of one factor at x (M,)."""
    if axis == 1 and isinstance(found, NormalGammaAscent):
        from scipy.stats import gamma

        return np.asarray(gamma.pdf(x, found.shape[:, None], scale=1.0 / found.rate[:, None]))
    mean, sd = analysis.centres(found)[:, axis, None], analysis.spreads(found)[:, axis, None]
    return np.asarray(np.exp(-0.5 * ((x - mean) / sd) ** 2) / (sd * np.sqrt(2.0 * np.pi)))


def _factor(picture: Scene, found: GaussianAscent | NormalGammaAscent, target, axis: int) -> None:
    low, high = target.view[axis]
    x = np.linspace(low, high, CURVE)
    curves, truth = _density(found, axis, x), target.truth.marginals[axis](x)
    top = 1.15 * float(max(np.nanmax(curves[-1]), truth.max()))
    name = target.labels[axis]
    panel = picture.panel(
        f"factor-{axis}",
        title=WORDS.phrase("cavi.factor", coordinate=name),
        x=Axis(name, low, high),
        y=Axis(WORDS.phrase("stage.density"), 0.0, top),
        place=BESIDE[axis],
        height=HEIGHT // 2,
    )
    panel.line(x, truth, role="truth", dash=True, width=2.5, label=WORDS.phrase("cavi.exact_marginal") if axis == 0 else None)
    curves = np.minimum(curves, top)
    steps = np.arange(len(curves) - 1)
    both = np.stack([np.broadcast_to(x, curves.shape), curves], axis=-1)
    panel.path(both[1:], at=steps, role="posterior", width=2.4, label=WORDS.phrase("cavi.factor_of_q") if axis == 0 else None)


def _elbo(picture: Scene, found: GaussianAscent | NormalGammaAscent) -> None:
    U = len(found.coordinate)
    low = max(float(found.elbo.min()), found.log_evidence - DEEP)
    span = max(found.log_evidence - low, 0.1)
    panel = picture.panel(
        "elbo",
        title=WORDS.phrase("cavi.elbo"),
        x=Axis(WORDS.phrase("cavi.number"), 0, U),
        y=Axis(WORDS.phrase("stage.nats"), low - 0.08 * span, found.log_evidence + 0.12 * span),
        place=BELOW,
        height=HEIGHT // 2,
    )
    values = np.maximum(found.elbo[1:], low)
    at = np.arange(1.0, U + 1.0)
    panel.line(at, values, show="upto", role="posterior", width=2.0, label=WORDS.phrase("stage.elbo"))
    panel.points(np.column_stack([at, values]), show="upto", role="posterior", size=3.0)
    panel.rule(y=found.log_evidence, role="truth", dash=True, label=WORDS.phrase("stage.log_evidence"))


def _card(picture: Scene, spec: VariationalLesson, found, labels: tuple[str, ...]) -> None:
    j, U = found.coordinate, len(found.coordinate)
    centre, spread = analysis.centres(found), analysis.spreads(found)
    rows, x, y = np.arange(U), labels[0], labels[1]
    factor, held, other = f"{{j|{x}|{y}}}", f"{{o|{x}|{y}}}", 1 - j
    picture.readout(
        "hold",
        WORDS.phrase("cavi.hold_card", other=held, factor=factor),
        u=rows + 1,
        o=other,
        m=centre[rows, other],
        s=spread[rows, other],
        j=j,
        show="at",
    )
    averaging, last = Show("at", phase=("average", None)), Show("at", phase=("update", None))
    picture.readout("rule", WORDS.phrase(f"cavi.{spec.pair}_card"), j=j, m=centre[rows + 1, j], s=spread[rows + 1, j], show=averaging)
    picture.readout(
        "update",
        WORDS.phrase("cavi.update_card", factor=factor),
        j=j,
        a=centre[rows, j],
        b=centre[rows + 1, j],
        c=spread[rows, j],
        d=spread[rows + 1, j],
        show=last,
    )
    picture.readout(
        "elbo",
        WORDS.phrase("cavi.elbo_card"),
        a=found.elbo[:-1],
        b=found.elbo[1:],
        e=found.energy[1:],
        h=found.entropy[1:],
        z=np.full(U, found.log_evidence),
        k=found.log_evidence - found.elbo[1:],
        show=last,
    )
    picture.say(WORDS.phrase("cavi.said", factor=factor), j=j, b=centre[rows + 1, j], d=spread[rows + 1, j])
    picture.table(
        {
            "coordinate (number)": (j + 1).astype(np.int32),
            "mean 1": centre[1:, 0],
            "mean 2": centre[1:, 1],
            "sd 1": spread[1:, 0],
            "sd 2": spread[1:, 1],
            "ELBO": found.elbo[1:],
        }
    )
