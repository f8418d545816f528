"""A run as a scene: the map with the path, and beside it energy and distance, phase space, or the running marginals."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from app.kit import pictures, theme
from app.kit.player.scene import Panel, Phase, Scene
from app.kit.preview import Preview, of_target
from engine.kept import kept
from engine.targets.target import Target
from lessons.hmc import analysis
from lessons.hmc.analysis import Walk
from lessons.hmc.spec import WORDS, HmcLesson

Array = NDArray[np.float64]

PHASES = (
    Phase("momentum", WORDS.phrase("stage.draw_momentum")),
    Phase("leapfrog", WORDS.phrase("stage.move_along_path"), "inner"),
    Phase("energy", WORDS.phrase("stage.compare_energies")),
    Phase("u", WORDS.phrase("stage.draw_u")),
    Phase("decide", WORDS.phrase("stage.accept_reject")),
)
BUDGET = 1600  # points of paths that travel at once
LAYOUTS = {
    "path": "plane*9 energy*6 / plane*9 distance*6",
    "phase": "plane*9 phase-0*6 / plane*9 phase-1*6",
    "draws": "plane*9 marginal-0*6 / plane*9 marginal-1*6",
}
_ARROW = 0.13  # of the map's width: the length of a typical arrow
_ASTRAY = 1e100  # coordinates beyond it are as good as infinite
_AHEAD, _BACK, _HOME = range(3)  # a point of a path: moving away, past the U-turn, run backwards


def scene(spec: HmcLesson, window: int | None = None) -> bytes:
    """The scene of a run, with the inside of the transitions around `window`."""
    return _picture(spec, analysis.simulate(spec), window)


def _path_ahead(old: HmcLesson, spec: HmcLesson, t: int) -> bytes:
    """The picture of the run of `old` whose transition t goes by the step size and the number of steps of `spec`."""
    return _picture(spec, analysis.continued(old, spec, t), t)


PREVIEWS = of_target() | dict.fromkeys(("step_size", "steps"), Preview(instead=_path_ahead))


def _picture(spec: HmcLesson, walk: Walk, window: int | None) -> bytes:
    detail = _Detail.around(spec, walk, window)
    picture = Scene(
        run=repr(spec.simulation()),
        steps=walk.steps,
        rate=6.0,
        phases=PHASES,
        theme=theme.palette(),
        label=WORDS.phrase("stage.picture", target=spec.target.replace("_", " "), steps=spec.steps),
    )
    picture.layout(LAYOUTS[spec.view], heights=200)
    picture.window(detail.first, detail.offsets)
    _map(picture, spec, walk, detail)
    if spec.view == "path":
        _energy(picture, spec, walk, detail)
        _distance(picture, spec, walk, detail)
    for coordinate in (0, 1):
        if spec.view == "phase":
            _phase_space(picture, walk, detail, coordinate)
        if spec.view == "draws":
            draws = walk.recording.draws[0, :, coordinate]
            label = WORDS.phrase("stage.draws_so_far") if spec.chains == 1 else WORDS.phrase("stage.draws_of_chain_1")
            pictures.marginal_panel(picture, walk.target, draws, coordinate, label=label)
    _arithmetic(picture, spec, walk, detail)
    _words(picture, spec, walk)
    return picture.encode()


# The inside of some transitions ---------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class _Detail:
    """The paths of the transitions first..first+count-1, each there and, if wanted, back: arrays (count * items, ...),
    NaN after a path broke.

    number : leapfrog steps made to reach the point
    before_position, before_momentum : one step earlier, NaN at the start
    kind : moving away, past the U-turn, or run backwards
    """

    first: int
    count: int
    items: int
    number: Array
    position: Array
    momentum: Array
    error: Array
    before_position: Array
    before_momentum: Array
    kind: NDArray[np.uint8]

    @property
    def offsets(self) -> NDArray[np.int32]:
        return np.arange(self.count + 1, dtype=np.int32) * self.items

    def only(self, forward: bool) -> Array:
        """The positions of the way there, or of the way back (which starts where the other ends); NaN elsewhere."""
        length = (self.items - 1) // 2 if (self.kind == _HOME).any() else self.items - 1
        wanted = self.number <= length if forward else self.number >= length
        return np.where(wanted[:, None], self.position, np.nan)

    @classmethod
    def around(cls, spec: HmcLesson, walk: Walk, wanted: int | None) -> _Detail:
        length = spec.steps
        items = length + 1 + (length if spec.reverse == "on" else 0)
        first, count = pictures.window_around(wanted, walk.steps, items, budget=BUDGET)
        part = slice(first, first + count)
        position, momentum = np.full((2, count, items, 2), np.nan)
        before_position, before_momentum = np.full((2, count, items, 2), np.nan)
        energy, kind = np.full((count, items), np.nan), np.zeros((count, items), dtype=np.uint8)
        there = slice(0, length + 1)
        position[:, there], momentum[:, there] = walk.inside.path[part], walk.inside.path_momentum[part]
        energy[:, there] = walk.inside.path_energy[part]
        before_position[:, 1 : length + 1], before_momentum[:, 1 : length + 1] = (position[:, :length], momentum[:, :length])
        kind[:, there] = np.arange(length + 1) > walk.u_turns[part, None]
        broken = np.arange(length + 1) > walk.inside.steps[part, None]
        for array in (position, momentum, energy):
            array[:, there][broken] = np.nan
        if spec.reverse == "on":
            kind[:, length + 1 :] = _HOME
            for row in range(count):
                q, p, h = analysis.way_back(spec, walk, first + row)
                position[row, length + 1 :], momentum[row, length + 1 :], energy[row, length + 1 :] = (q[1:], p[1:], h[1:])
                before_position[row, length + 1 :], before_momentum[row, length + 1 :] = q[:-1], p[:-1]
        lost = ~((np.abs(position) < _ASTRAY) & (np.abs(momentum) < _ASTRAY)).all(axis=-1)
        for array in (position, momentum, energy):
            array[lost] = np.nan
        flat = (count * items, 2)
        error = energy - walk.inside.path_energy[part, :1]
        return cls(
            first,
            count,
            items,
            np.tile(np.arange(items, dtype=float), count),
            position.reshape(flat),
            momentum.reshape(flat),
            error.ravel(),
            before_position.reshape(flat),
            before_momentum.reshape(flat),
            kind.ravel(),
        )


# Panels ---------------------------------------------------------------------------------------------------------------


def _map(picture: Scene, spec: HmcLesson, walk: Walk, detail: _Detail) -> Panel:
    equal = False if spec.target == "funnel" else None  # its two coordinates have no common scale
    panel = pictures.density_panel(picture, walk.target, equal=equal)
    pictures.draw_layers(panel, walk.recording.draws)
    reach, name = _arrow(spec, walk)
    start, push = walk.previous, walk.velocity(walk.inside.path_momentum[:, 0])
    dot = 3.2 if spec.steps <= 40 else 2.2
    panel.path(detail.only(forward=True), show="inner", role="highlight", width=2.0, label=WORDS.phrase("stage.path"))
    if spec.reverse == "on":
        panel.path(detail.only(forward=False), show="inner", role="energy", width=2.0, dash=True, label=WORDS.phrase("stage.way_back"))
    panel.points(
        detail.position,
        show="inner",
        classes=detail.kind,
        role=["highlight", "reject", "energy"],
        shape=["circle", "ring", "square"],
        size=dot,
        label=[None, WORDS.phrase("stage.wasted"), None],
    )
    panel.points(start, show="at", during=("momentum", "u"), role="ink", shape="ring", size=6)
    panel.arrows(start, start + reach * push, during="momentum", width=2.5, label=name)
    tips = detail.position + reach * walk.velocity(detail.momentum)
    panel.arrows(detail.position, tips, show="inner_at", during="leapfrog", width=2.5)
    pictures.divergences(panel, walk.divergence_points, walk.recording.divergent[0], WORDS.phrase("stage.divergent"))
    panel.points(
        _finite(walk.proposal),
        show="at",
        since="decide",
        classes=walk.recording.accepted[0].astype(np.uint8),
        role=["reject", "accept"],
        shape=["diamond", "circle"],
        size=6,
        label=[WORDS.phrase("stage.end_rejected"), WORDS.phrase("stage.end_accepted")],
    )
    return pictures.last_draw(panel, walk.recording.draws[0, :, :2])


def _energy(picture: Scene, spec: HmcLesson, walk: Walk, detail: _Detail) -> None:
    limit = energy_limit(walk)
    panel = picture.panel(
        "energy",
        title=WORDS.phrase("stage.energy"),
        x=(WORDS.phrase("stage.leapfrog_step"), 0, detail.items - 1),
        y=("H − H₀", -limit, limit),
    )
    panel.rule(y=0.0, role="muted")
    panel.line(detail.number, detail.error, show="inner", role="energy", width=2.0)
    panel.points(np.column_stack([detail.number, detail.error]), show="inner_at", role="energy", size=4)
    with np.errstate(divide="ignore"):
        bar = -np.log(walk.inside.uniform)
    if (bar < limit).any():
        panel.rule(y=np.where(bar < limit, bar, np.nan), since="u", role="accept", dash=True, label=WORDS.phrase("stage.bar"))
    if spec.reverse == "on":
        panel.rule(x=float(spec.steps), role="muted", dash=True, label=WORDS.phrase("stage.turned_round"))


def energy_limit(walk: Walk) -> float:
    """Half the height of the energy panel: nearly all paths of the run fit that do not break."""
    swings = walk.swings[np.isfinite(walk.swings)]
    return float(np.clip(1.1 * np.quantile(swings, 0.98), 1e-6, 6.0)) if swings.size else 6.0


def _distance(picture: Scene, spec: HmcLesson, walk: Walk, detail: _Detail) -> None:
    origin = np.repeat(walk.previous[detail.first : detail.first + detail.count], detail.items, axis=0)
    distance = np.linalg.norm(detail.position - origin, axis=1)
    seen = walk.distances
    top = float(np.quantile(seen[np.isfinite(seen)], 0.999)) * 1.08
    far = float(np.ptp(walk.target.view[0]) + np.ptp(walk.target.view[1]))
    panel = picture.panel(
        "distance",
        title=WORDS.phrase("stage.distance"),
        x=(WORDS.phrase("stage.leapfrog_step"), 0, detail.items - 1),
        y=("|x − x₀|", 0, max(min(top, far), 1e-9)),
    )
    turns = walk.u_turns
    panel.line(detail.number, distance, show="inner", role="highlight", width=2.0)
    panel.points(
        np.column_stack([detail.number, distance]),
        show="inner",
        classes=detail.kind,
        role=["highlight", "reject", "energy"],
        shape=["circle", "ring", "square"],
        size=3.0 if spec.steps <= 40 else 2.0,
    )
    panel.rule(x=np.where(turns <= spec.steps, turns.astype(float), np.nan), since="energy", role="reject", dash=True)


def _phase_space(picture: Scene, walk: Walk, detail: _Detail, coordinate: int) -> None:
    name, momentum_name = walk.target.labels[coordinate], _momentum_names(walk.target)[coordinate]
    mass = float(np.linalg.inv(walk.inverse_mass)[coordinate, coordinate])
    (q_low, q_high), p_high = pictures.coordinate_range(walk.target, coordinate), 3.6 * float(np.sqrt(mass))
    panel = picture.panel(
        f"phase-{coordinate}",
        title=WORDS.phrase("stage.phase_space", name=name),
        x=(name, q_low, q_high),
        y=(momentum_name, -p_high, p_high),
    )
    if walk.target.truth is not None:
        values, levels = _phase_map(walk.target, coordinate, mass)
        panel.contour(values, levels=levels, x=(q_low, q_high), y=(-p_high, p_high), role="truth", label=WORDS.phrase("stage.same_shares"))
    pairs = np.column_stack([detail.position[:, coordinate], detail.momentum[:, coordinate]])
    there, back = (np.where(np.isfinite(detail.only(forward=way))[:, :1], pairs, np.nan) for way in (True, False))
    panel.path(there, show="inner", role="highlight", width=1.5)
    if (detail.kind == _HOME).any():
        panel.path(_flipped_first(back, detail), show="inner", role="energy", width=1.5, dash=True)
    panel.points(
        pairs, show="inner", classes=detail.kind, role=["highlight", "reject", "energy"], shape=["circle", "ring", "square"], size=2.6
    )
    panel.points(pairs, show="inner_at", role="momentum", shape="diamond", size=4.5)


def _flipped_first(back: Array, detail: _Detail) -> Array:
    """The way back in phase space, begun one step after the flip: the flip itself is a jump, not a path."""
    return np.where((detail.number > (detail.items - 1) // 2)[:, None], back, np.nan)


@kept
def _phase_map(target: Target, coordinate: int, mass: float) -> tuple[Array, Array]:
    """log density of one coordinate and its momentum, (61, 121), exact, and the levels that hold `pictures.SHARES`."""
    assert target.truth is not None
    low, high = pictures.coordinate_range(target, coordinate)
    top = 3.6 * np.sqrt(mass)
    with np.errstate(divide="ignore"):
        of_position = np.log(target.truth.marginals[coordinate](np.linspace(low, high, 121)))
    of_momentum = -0.5 * np.linspace(-top, top, 61) ** 2 / mass
    values = np.maximum(of_position[None, :] + of_momentum[:, None], -1e3)
    descending = np.sort(values.ravel())[::-1]
    held = np.cumsum(np.exp(descending - descending[0]))
    levels = np.unique(descending[np.searchsorted(held, np.array(pictures.SHARES) * held[-1])])
    return np.maximum(values, levels[0] - 40.0), levels


# Numbers and words ----------------------------------------------------------------------------------------------------


def _arithmetic(picture: Scene, spec: HmcLesson, walk: Walk, detail: _Detail) -> None:
    """The arithmetic card: what each phase computes, with its numbers."""
    inside, recording = walk.inside, walk.recording
    name, other = walk.target.labels[:2]
    p, p_other = _momentum_names(walk.target)
    momentum, error, turns, length = inside.path_momentum[:, 0], inside.energy_error, walk.u_turns, spec.steps
    kinetic = 0.5 * np.einsum("ti,ti->t", momentum, walk.velocity(momentum))
    start, accept_prob = inside.path_energy[:, 0], recording.accept_prob[0]
    picture.values(
        p=momentum[:, 0],
        q=momentum[:, 1],
        kinetic=kinetic,
        potential=start - kinetic,
        start=start,
        turned=turns <= length,
        turn=np.minimum(turns, length),
        lost=np.maximum(0, length - turns),
        end=start + error,
        error=error,
        ratio=np.exp(-np.maximum(error, -700.0)),
        u=inside.uniform,
        bar=-np.log(np.maximum(inside.uniform, 1e-300)),
        accept_prob=accept_prob,
        fine=inside.uniform < accept_prob,
        yes=recording.accepted[0],
        divergent=recording.divergent[0],
    )
    picture.inner_values(step=detail.number, x=detail.position[:, 0], y=detail.position[:, 1], so_far=detail.error)
    picture.line("momentum", f"({p}, {p_other}) ~ N(0, M) = ({{p:.3f}}, {{q:.3f}}).  K = ½pᵀM⁻¹p = {{kinetic:.3f}}")
    picture.line("start", "H₀ = −log π + K = {potential:.3f} + {kinetic:.3f} = {start:.3f}")
    _steps(picture, spec, walk, detail, name, p)
    point = WORDS.phrase("stage.point", name=name, other=other)
    picture.line("point", point, since="leapfrog")
    picture.line("turn", WORDS.phrase("stage.turn", length=length), show="at", since="energy")
    ratio = "H₁ − H₀ = {end:.4f} − {start:.4f} = {error:+.4f}.  exp(H₀ − H₁) = {ratio:.4g}"
    picture.line("ratio", ratio, show="at", since="energy")
    picture.line("u", "u ~ U(0, 1) = {u:.4f},  −log u = {bar:.4f}", show="at", since="u")
    verdict = WORDS.phrase("stage.broken" if spec.variant == "always_accept" else "stage.verdict")
    picture.line("verdict", verdict, show="at", since="decide")
    if spec.reverse == "on":
        home = detail.position.reshape(detail.count, detail.items, 2)
        gap = np.full(walk.steps, np.nan)
        gap[detail.first : detail.first + detail.count] = np.linalg.norm(home[:, -1] - home[:, 0], axis=1)
        picture.values(gap=gap)
        picture.line("round", WORDS.phrase("stage.gap"), show="at", since="energy")


def _steps(picture: Scene, spec: HmcLesson, walk: Walk, detail: _Detail, name: str, p: str) -> None:
    """The arithmetic of one step in its first coordinate, from the recorded states before and after it."""
    epsilon = np.repeat(walk.inside.step_size[detail.first : detail.first + detail.count], detail.items)
    before, after = detail.before_momentum[:, 0], detail.momentum[:, 0]
    speed = (detail.position - detail.before_position) / epsilon[:, None]  # M⁻¹p during the drift
    middle = (speed @ np.linalg.inv(walk.inverse_mass))[:, 0]  # p during the drift
    half = 0.5 * epsilon
    picture.inner_values(
        epsilon=epsilon,
        half=half,
        before_x=detail.before_position[:, 0],
        speed=speed[:, 0],
        before=before,
        middle=middle,
        after=after,
        slope=(after - before) / epsilon,
        first_slope=(middle - before) / half,
        second_slope=(after - middle) / half,
    )
    drift = f"drift: {name} + ε(M⁻¹{p[0]})₁ = {{before_x:.3f}} + {{epsilon:.3g}}·({{speed:.3f}}) = {{x:.3f}}"
    kick = WORDS.phrase("stage.half_kick", p=p)
    whole = WORDS.phrase("stage.old_slope", p=p)
    first, second = (
        f"{kick}{{{one}:.3f}} + {{half:.3g}}·({{{which}_slope:.3f}}) = {{{then}:.3f}}"
        for one, which, then in (("before", "first", "middle"), ("middle", "second", "after"))
    )
    lines = {
        "leapfrog": {"kick": first, "drift": drift, "kick again": second},
        "euler": {"drift": drift, "kick": whole},
        "swapped_kicks": {"drift": drift},
    }[spec.integrator]
    for id, line in lines.items():
        picture.line(id, line, since="leapfrog")


def _words(picture: Scene, spec: HmcLesson, walk: Walk) -> None:
    recording, draws = walk.recording, walk.recording.draws[0]
    name, other = walk.target.labels[:2]
    error = walk.inside.energy_error
    picture.say(
        WORDS.phrase("stage.said", name=name, other=other),
        e=error,
        yes=recording.accepted[0],
        div=recording.divergent[0],
        x=draws[:, 0],
        y=draws[:, 1],
    )
    turns = walk.u_turns
    picture.table(
        {
            name: draws[:, 0],
            other: draws[:, 1],
            "energy error": error,
            "swing": np.where(recording.divergent[0], np.nan, walk.swings),
            "acceptance probability": recording.accept_prob[0],
            "u": walk.inside.uniform,
            "accepted": recording.accepted[0],
            "divergent": recording.divergent[0],
            "steps after the U-turn": np.maximum(0, spec.steps - turns).astype(np.int32),
        }
    )


def _arrow(spec: HmcLesson, walk: Walk) -> tuple[float, str]:
    """How much longer the arrows are than what they show, and its name. A typical arrow is a fixed part of the map."""
    typical = float(np.sqrt(np.trace(walk.inverse_mass)))
    reach = _ARROW * float(np.ptp(walk.target.view[0])) / typical
    return reach, WORDS.phrase("stage.momentum") if spec.mass == "identity" else WORDS.phrase("stage.velocity")


def _momentum_names(target: Target) -> tuple[str, str]:
    """p₁, p₂ for x₁, x₂; p with the coordinate's name where that has no index of its own."""
    names = tuple(label.replace("x", "p") if label[1:] else f"p({label})" for label in target.labels[:2])
    return names[0], names[1]


def _finite(points: Array) -> Array:
    """Points that are not finite as NaN, which is not drawn."""
    return np.where(np.isfinite(points), points, np.nan)
