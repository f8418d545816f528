"""The two divergences as a scene: from one start, one q goes down KL(q‖p) and another down KL(p‖q)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from app.kit import theme
from app.kit.player.scene import Axis, Scene
from engine.kept import kept
from engine.variational import kl_from_p, kl_from_q
from lessons.variational import analysis
from lessons.variational.spec import WORDS, VariationalLesson

Array = NDArray[np.float64]

HEIGHT = 420
MAP, BESIDE = (9, 0, 6, 2), ((0, 0, 9, 1), (0, 1, 9, 1))
CURVE = 141
GRID = (41, 31)  # nodes of the landscape, mean and log sd
ROLES = {"from_q": "posterior", "from_p": "reject"}
NAMES = WORDS["descents"]


def stage(spec: VariationalLesson, window: int | None) -> Scene:
    """The scene of both descents; there is no inside to ask for."""
    found, mixture = analysis.descents(spec), spec.mixture()
    steps = analysis.DESCENT
    picture = Scene(run=repr(spec.replace(view="elbo")), steps=steps, rate=4.0, theme=theme.palette(), label=WORDS.phrase("kl.picture"))
    reach = 0.5 * spec.separation + 4.5
    x = np.linspace(-reach, reach, CURVE)
    log_p = mixture.log_density(x)
    p = np.exp(log_p)
    log_q = {name: _log_normal(x, descent.path[1:]) for name, descent in found.items()}
    density = picture.panel(
        "density",
        title=WORDS.phrase("kl.target_and_both"),
        x=Axis("x", -reach, reach),
        y=Axis(WORDS.phrase("stage.density"), 0.0, 1.25 * float(max(p.max(), np.exp(log_q["from_q"][-1]).max()))),
        place=BESIDE[0],
        height=HEIGHT // 2,
    )
    density.line(x, p, role="truth", width=2.6, label=WORDS.phrase("kl.target"))
    for name, values in log_q.items():
        density.line(x, np.exp(values), show="at", role=ROLES[name], dash=name == "from_p", width=2.4, label=NAMES[name])
    paid = {"from_q": np.exp(log_q["from_q"]) * (log_q["from_q"] - log_p), "from_p": p * (log_p - log_q["from_p"])}
    last = np.concatenate([paid["from_q"][-20:].ravel(), paid["from_p"][-20:].ravel()])
    low, high = 1.4 * float(min(last.min(), -0.02)), 1.6 * float(last.max())
    where = picture.panel(
        "paid",
        title=WORDS.phrase("kl.paid"),
        x=Axis("x", -reach, reach),
        y=Axis(WORDS.phrase("kl.nats_per_unit"), low, high),
        place=BESIDE[1],
        height=HEIGHT // 2,
    )
    where.rule(y=0.0, role="grid")
    where.line(x, np.clip(paid["from_q"], low, high), show="at", role=ROLES["from_q"], label="q log(q/p)")
    where.line(x, np.clip(paid["from_p"], low, high), show="at", role=ROLES["from_p"], dash=True, label="p log(p/q)")
    _landscape(picture, spec, reach)
    _card(picture, spec)
    return picture


def _log_normal(x: Array, path: Array) -> Array:
    """(steps, M) log density of N(mean, sd²) for rows (mean, sd)."""
    mean, sd = path[:, :1], path[:, 1:]
    return -0.5 * ((x - mean) / sd) ** 2 - np.log(sd * np.sqrt(2.0 * np.pi))


@kept
def landscape(separation: float, weight: float, reach: float) -> tuple[Array, tuple[float, float]]:
    """KL(q‖p) (H, W) over mean and log sd, and the range of log sd."""
    mixture = VariationalLesson(separation=separation, weight=weight).mixture()
    low, high = np.log(0.3), np.log(2.0 * mixture.moments()[1])
    mean, log_sd = np.meshgrid(np.linspace(-reach, reach, GRID[0]), np.linspace(low, high, GRID[1]))
    return kl_from_q(mean, np.exp(log_sd), mixture), (float(low), float(high))


def _landscape(picture: Scene, spec: VariationalLesson, reach: float) -> None:
    values, (low, high) = landscape(spec.separation, spec.weight, reach)
    panel = picture.panel(
        "landscape",
        title=WORDS.phrase("kl.landscape"),
        x=Axis(WORDS.phrase("kl.mean"), -reach, reach),
        y=Axis(WORDS.phrase("kl.log_sd"), low, high),
        place=MAP,
        height=HEIGHT,
    )
    levels = -np.array([0.25, 0.5, 1.0, 1.5, 2.0, 3.0, 5.0, 8.0])[::-1]
    panel.contour(-values, levels=levels, x=(-reach, reach), y=(low, high), role="truth", label="KL(q‖p) = 8, 5, 3, 2, 1.5, 1, 0.5, 0.25")
    for name, descent in analysis.descents(spec).items():
        places = np.column_stack([descent.path[1:, 0], np.clip(np.log(descent.path[1:, 1]), low, high)])
        panel.path(places, show="upto", role=ROLES[name], width=2.0, dash=name == "from_p")
        shape = "circle" if name == "from_q" else "diamond"
        panel.points(places, show="at", role=ROLES[name], shape=shape, size=6)


def _card(picture: Scene, spec: VariationalLesson) -> None:
    mixture, found = spec.mixture(), analysis.descents(spec)
    for id, name in NAMES.items():
        mean, sd = found[id].path[1:].T
        values = {"m": mean, "s": sd, "a": kl_from_q(mean, sd, mixture), "b": kl_from_p(mean, sd, mixture)}
        picture.readout(id, WORDS.phrase("kl.q_card", name=name), show="at", **values)
    centre, spread = mixture.moments()
    n = analysis.DESCENT
    picture.readout("target", WORDS.phrase("kl.target_card"), m=np.full(n, centre), s=np.full(n, spread), show="at")
    first, second = found["from_q"].path[1:], found["from_p"].path[1:]
    picture.say(WORDS.phrase("kl.said"), a=first[:, 0], b=first[:, 1], c=second[:, 0], d=second[:, 1])
    picture.table(
        {
            "mean, KL(q‖p)": first[:, 0],
            "sd, KL(q‖p)": first[:, 1],
            "mean, KL(p‖q)": second[:, 0],
            "sd, KL(p‖q)": second[:, 1],
            "KL(q‖p)": found["from_q"].kl[1:],
            "KL(p‖q)": found["from_p"].kl[1:],
        }
    )
