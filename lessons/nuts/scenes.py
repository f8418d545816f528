"""A run as a scene: the map with the orbit, and beside it the tree that is built on it, its weights, the running
marginals, what the steps were spent on, or the other way of sampling from a trajectory.

The states and subtrees of a transition are one set of parts, so that pointing at one of them in any panel makes what it
spans stand out in all of them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from app.kit import pictures, theme
from app.kit.player.scene import Axis, Panel, Phase, Scene, Show
from app.kit.preview import of_target
from engine.samplers import trees
from engine.samplers.nuts import NutsTransitions
from engine.samplers.trees import FATES
from engine.targets import build
from engine.targets.target import Target
from lessons.nuts import analysis
from lessons.nuts.analysis import Walk
from lessons.nuts.spec import WORDS, NutsLesson

Array = NDArray[np.float64]

PHASES = (
    Phase("momentum", WORDS.phrase("stage.momentum")),
    Phase("grow", WORDS.phrase("stage.double"), "inner"),
    Phase("draw", WORDS.phrase("stage.take")),
)
BUDGET = 600  # parts that travel at once, about
LONGEST = 600  # leapfrog steps of one transition that are counted for it: no more are recorded
MAP = (0, 0, 8, 2)
BESIDE = ((8, 0, 7, 1), (8, 1, 7, 1))
HEIGHT = 440
TREE_HEIGHT = 235
_ARROW = 0.12  # of the map's width: the length of a typical arrow
HINT = WORDS.phrase("stage.hint")

TIME = ((0.09, WORDS.phrase("stage.earlier")), (0.91, WORDS.phrase("stage.later")))

# Looks of the parts, in the order of `trees`.
ROLES = ["highlight", "muted", "divergent", "ink", "reject", "reject"]
SHAPES = ["circle", "ring", "cross", "square", "triangle", "diamond"]
DASHED = [False, True, True, False, False, True]
NAMES = [
    WORDS.phrase("stage.in_trajectory"),
    WORDS.phrase("stage.thrown_away"),
    WORDS.phrase("stage.divergent_part"),
    WORDS.phrase("stage.start"),
    WORDS.phrase("stage.ended"),
    WORDS.phrase("stage.turned_inside"),
]

ENDINGS = (
    "",
    WORDS.phrase("stage.end_turned_inside"),
    WORDS.phrase("stage.end_diverged"),
    WORDS.phrase("stage.end_turned"),
    WORDS.phrase("stage.end_too_deep"),
)


PREVIEWS = of_target(("target_accept", "step_size"))


def scene(spec: NutsLesson, window: int | None = None) -> bytes:
    """The scene of a run, with the inside of the transitions around `window`."""
    walk = analysis.simulate(spec)
    both = spec.view == "compare"
    walks = {"": walk} | ({"other": analysis.simulate(spec.other_form())} if both else {})
    first, count = _window(walks.values(), window)
    picture = Scene(
        run=repr(spec.simulation().replace(pace=spec.pace, view="compare" if both else "tree")),
        steps=walk.steps,
        rate=6.0,
        phases=PHASES,
        theme=theme.palette(),
        label=WORDS.phrase("stage.picture", target=spec.target.replace("_", " ")),
    )
    orbits = [_Orbits(w.inside(first, count), first, spec.pace == "leapfrogs") for w in walks.values()]
    lengths = np.max([orbit.lengths for orbit in orbits], axis=0)
    picture.window(first, np.concatenate([[0], np.cumsum(lengths)]).astype(np.int32))
    forms = [spec, spec.other_form()]
    for (name, w), orbit, form in zip(walks.items(), orbits, forms, strict=False):
        orbit.pad(lengths)
        _parts(picture, name or "tree", form, w, orbit)
    if both:
        for k, ((name, w), orbit, form) in enumerate(zip(walks.items(), orbits, forms, strict=True)):
            places = ((8 * k, 0, 7, 1), (8 * k, 1, 7, 1))
            _map(picture, form, w, orbit, name or "tree", places[0], 330, id=f"plane{k}", title=_form_title(form))
            _tree(picture, orbit, name or "tree", places[1], 190, id=f"tree{k}", title="")
    else:
        _map(picture, spec, walk, orbits[0], "tree", MAP, HEIGHT)
        _beside(picture, spec, walk, orbits[0])
    _arithmetic(picture, spec, walk, orbits[0], first, lengths)
    _words(picture, spec, walk)
    return picture.encode()


def _window(walks: Iterable[Walk], wanted: int | None) -> tuple[int, int]:
    """The transitions whose inside is sent: so many that their parts fit, counting on average."""
    walks = list(walks)
    parts = sum(2.0 * float(np.minimum(walk.leapfrogs, LONGEST).mean()) + 2.0 for walk in walks)
    return pictures.window_around(wanted, walks[0].steps, int(np.ceil(parts)), budget=BUDGET)


def _form_title(spec: NutsLesson) -> str:
    return "Multinomial" if spec.sampling == "multinomial" else "Slice"


# The inside of some transitions ---------------------------------------------------------------------------------------


class _Orbits:
    """The trees of some transitions side by side, from transition `first` on: arrays of all their parts, and of all their
    sub-steps."""

    def __init__(self, inside: NutsTransitions, first: int, fine: bool):
        self.inside, self.first = inside, first
        self.trees = [trees.grow(inside, t, fine) for t in range(len(inside.leaves))]
        self.lengths = np.array([len(tree.doubling) for tree in self.trees])
        self.counts = np.array([len(tree.leaf) for tree in self.trees])
        self.offsets = np.concatenate([[0], np.cumsum(self.counts)]).astype(np.int32)
        self.owner = np.repeat(np.arange(len(self.trees)), self.counts)  # transition of a part, from the window's first
        self.leaf = self.all("leaf")
        self.row = self.all("row")
        self.deep = self.counts > 150

    def all(self, name: str) -> np.ndarray:
        """One array of the trees, all parts in a row."""
        return np.concatenate([getattr(tree, name) for tree in self.trees])

    def above(self, name: str) -> np.ndarray:
        """An array of rows of other parts, counted over the window."""
        values = self.all(name)
        return np.where(values < 0, -1, values + self.offsets[self.owner]).astype(np.int32)

    def of_leaves(self, name: str) -> np.ndarray:
        """A leaf_ array of the recording for each part; NaN for subtrees."""
        array = getattr(self.inside, f"leaf_{name}").astype(float)
        values = array[self.owner, np.where(self.leaf, self.row, 0)]
        values[~self.leaf] = np.nan
        return values

    def of_nodes(self, name: str) -> np.ndarray:
        """A node_ array of the recording for each part; NaN for states."""
        array = getattr(self.inside, f"node_{name}").astype(float)
        if array.shape[1] == 0:
            return np.full((len(self.row), *array.shape[2:]), np.nan)
        values = array[self.owner, np.where(self.leaf, 0, self.row)]
        values[self.leaf] = np.nan
        return values

    def pad(self, lengths: NDArray[np.int_]) -> None:
        """Sub-steps as many as asked for in each transition: the last one lasts."""
        self._index = [np.minimum(np.arange(n), len(tree.doubling) - 1) for tree, n in zip(self.trees, lengths, strict=True)]

    def of_steps(self, name: str) -> np.ndarray:
        """One array of the sub-steps of all transitions."""
        return np.concatenate([getattr(tree, name)[i] for tree, i in zip(self.trees, self._index, strict=True)])

    def edges(self) -> NDArray[np.int32]:
        """Of each sub-step that shows a coin the part from which the trajectory will grow, else −1."""
        found = [tree.edge[i] for tree, i in zip(self.trees, self._index, strict=True)]
        return np.concatenate([np.where(edge < 0, -1, edge + start) for edge, start in zip(found, self.offsets, strict=False)]).astype(
            np.int32
        )

    def states_at(self, times: Array) -> Array:
        """Positions of the states of each part's transition at given times (P,), NaN where none is recorded."""
        found = np.full((len(times), 2), np.nan)
        for t, start in enumerate(self.offsets[:-1]):
            end = self.offsets[t + 1]
            here = slice(start, end)
            row_of = {int(time): row for row, time in enumerate(self.inside.leaf_time[t, : self.inside.leaves[t]])}
            rows = [row_of.get(int(time), -1) for time in times[here]]
            found[here] = np.where(np.array(rows)[:, None] >= 0, self.inside.leaf_position[t][np.maximum(rows, 0)], np.nan)
        return found


@dataclass(frozen=True, eq=False)
class _Ends:
    """The two ends of every subtree, (P, 2) each, NaN for states."""

    low: Array
    high: Array
    low_momentum: Array
    high_momentum: Array
    total: Array  # sum of its momenta


def _ends(orbits: _Orbits) -> _Ends:
    count = len(orbits.row)
    low, high, p_low, p_high, total = np.full((5, count, 2), np.nan)
    inside = orbits.inside
    for t, tree in enumerate(orbits.trees):
        start = int(orbits.offsets[t])
        times = inside.leaf_time[t, : inside.leaves[t]]
        order = np.argsort(times)
        q, p = inside.leaf_position[t][order], inside.leaf_momentum[t][order]
        sums = np.concatenate([np.zeros((1, 2)), np.cumsum(p, axis=0)])
        first = int(times[order[0]])
        nodes = np.flatnonzero(~tree.leaf)
        a, b = tree.low[nodes] - first, tree.high[nodes] - first
        at = start + nodes
        low[at], high[at], p_low[at], p_high[at] = q[a], q[b], p[a], p[b]
        total[at] = sums[b + 1] - sums[a]
    return _Ends(low, high, p_low, p_high, total)


# Panels ---------------------------------------------------------------------------------------------------------------


def _map(
    picture: Scene,
    spec: NutsLesson,
    walk: Walk,
    orbits: _Orbits,
    parts: str,
    place: pictures.Place,
    height: int,
    *,
    id: str = "plane",
    title: str = WORDS.phrase("stage.position"),
) -> None:
    equal = False if spec.target in ("funnel", "non_centred") else None  # their coordinates have no common scale
    panel = pictures.density_panel(picture, walk.target, id=id, title=title, place=place, height=height, equal=equal)
    pictures.draw_layers(panel, walk.recording.draws)
    _orbit(panel, spec, walk, orbits, parts, walk.target)
    pictures.divergences(panel, walk.previous, walk.recording.divergent[0], WORDS.phrase("stage.divergent"))
    pictures.last_draw(panel, walk.recording.draws[0, :, :2])


def _orbit(panel: Panel, spec: NutsLesson, walk: Walk, orbits: _Orbits, parts: str, target: Target) -> None:
    """The orbit of the present transition, with the arrows that belong to it."""
    start = walk.previous
    first = _first_momentum(orbits, walk)
    reach, name = _arrow(spec, walk, target)
    position = _clipped(orbits.of_leaves("position"), target)
    grown = Show("inner", parts=parts)
    panel.tree(
        position,
        orbits.above("before"),
        show=grown,
        classes=orbits.all("look"),
        role=ROLES,
        shape=SHAPES,
        dash=DASHED,
        size=3.0 if orbits.deep.any() else 4.0,
        width=1.8,
    )
    panel.arrows(
        start, start + reach * walk.velocity(first), show=Show("at", phase=("momentum", "momentum")), role="momentum", width=2.5, label=name
    )
    edges = orbits.edges()
    direction = np.where(orbits.of_steps("forwards"), 1.0, -1.0)[:, None]
    momentum = orbits.of_leaves("momentum")
    tail = np.where(edges[:, None] >= 0, position[edges], np.nan)
    tip = tail + direction * reach * walk.velocity(momentum[edges])
    panel.arrows(tail, tip, show=Show("inner_at", phase=("grow", "grow")), role="ink", width=2.5, label=WORDS.phrase("stage.next"))
    ends = _ends(orbits)
    picked = Show("picked", parts=parts)
    if spec.sampling == "slice":
        panel.arrows(ends.low, ends.high, show=picked, role="energy", width=2.0, label=WORDS.phrase("stage.span"))
        for at, p in ((ends.low, ends.low_momentum), (ends.high, ends.high_momentum)):
            panel.arrows(at, at + reach * p, show=picked, role="momentum", width=2.5)
    else:
        mean = ends.total / np.maximum(1, orbits.all("high") - orbits.all("low") + 1)[:, None]
        for at, p in ((ends.low, ends.low_momentum), (ends.high, ends.high_momentum)):
            panel.arrows(at, at + reach * walk.velocity(p), show=picked, role="momentum", width=2.5)
            panel.arrows(at, at + reach * mean, show=picked, role="energy", width=2.0, label=WORDS.phrase("stage.mean_momentum"))


def _first_momentum(orbits: _Orbits, walk: Walk) -> Array:
    """The momentum drawn in each transition, (steps, 2); NaN where the inside is not here."""
    return _over_window(orbits.inside.leaf_momentum[:, 0], orbits, walk)


def _over_window(values: np.ndarray, orbits: _Orbits, walk: Walk) -> Array:
    whole = np.full((walk.steps, *values.shape[1:]), np.nan)
    whole[orbits.first : orbits.first + len(values)] = values
    return whole


def _clipped(points: Array, target: Target) -> Array:
    """Points that are astronomically far as NaN, which is not drawn: a divergent step may end anywhere."""
    far = 50.0 * max(float(np.ptp(side)) for side in target.view)
    with np.errstate(invalid="ignore"):
        return np.where((np.abs(points) < far).all(axis=-1, keepdims=True), points, np.nan)


def _beside(picture: Scene, spec: NutsLesson, walk: Walk, orbits: _Orbits) -> None:
    upper, lower = BESIDE
    if spec.view == "draws":
        label = WORDS.phrase("stage.draws_so_far") if spec.chains == 1 else WORDS.phrase("stage.draws_of_chain_1")
        for coordinate, place in enumerate(BESIDE):
            draws = walk.recording.draws[0, :, coordinate]
            pictures.marginal_panel(picture, walk.target, draws, coordinate, place=place, height=HEIGHT // 2, label=label)
    elif spec.view == "cost":
        _spent(picture, walk, upper)
        _depths(picture, spec, walk, lower)
    elif spec.target == "non_centred":
        _funnel(picture, spec, walk, orbits, upper)
        _tree(picture, orbits, "tree", lower, TREE_HEIGHT)
    else:
        _tree(picture, orbits, "tree", upper, TREE_HEIGHT)
        _weights(picture, spec, walk, orbits, lower)


def _tree(
    picture: Scene,
    orbits: _Orbits,
    parts: str,
    place: pictures.Place,
    height: int,
    *,
    id: str = "tree",
    title: str = WORDS.phrase("stage.tree"),
) -> None:
    level, look = orbits.all("y"), orbits.all("look")
    top = max(2, int(level.max()))
    panel = picture.panel(
        id,
        title=title,
        x=Axis(WORDS.phrase("stage.states"), -0.01, 1.01, ticks=TIME),
        y=Axis(WORDS.phrase("stage.below"), -0.35, top + 0.35, ticks=[(k, str(2**k)) for k in range(top + 1)]),
        place=place,
        height=height,
    )
    panel.tree(
        np.column_stack([orbits.all("x"), level]),
        orbits.above("parent"),
        show=Show("inner", parts=parts),
        classes=look,
        role=ROLES,
        shape=SHAPES,
        dash=DASHED,
        size=2.6 if orbits.deep.any() else 4.5,
        label=[name if (look == k).any() else None for k, name in enumerate(NAMES)],
    )
    proposal = orbits.inside.proposal
    drawn = np.array(
        [
            (tree.x[tree.leaf][np.flatnonzero(tree.low[tree.leaf] == time)[:1]].sum(), 0.0)
            if (tree.low[tree.leaf] == time).any()
            else (np.nan, np.nan)
            for tree, time in zip(orbits.trees, proposal, strict=True)
        ]
    )
    at = np.full((picture.steps, 2), np.nan)
    at[orbits.first : orbits.first + len(drawn)] = drawn
    panel.points(at, show=Show("at", phase=("draw", None)), role="ink", shape="ring", size=7)


def _weights(picture: Scene, spec: NutsLesson, walk: Walk, orbits: _Orbits, place: pictures.Place) -> None:
    """Weight of each state, and its chance to become the draw, both over their mean."""
    sliced = spec.sampling == "slice"
    kept = orbits.leaf & (orbits.all("fate") == 0)
    with np.errstate(over="ignore"):
        weight = np.where(orbits.leaf, np.exp(orbits.of_leaves("log_weight")), np.nan)
    scale = np.ones(len(weight))
    chance = np.full(len(weight), np.nan)
    wide = np.array([tree.wide for tree in orbits.trees])
    for t, tree in enumerate(orbits.trees):
        here = slice(orbits.offsets[t], orbits.offsets[t + 1])
        mine = kept[here]
        scale[here] = weight[here][mine].mean()
        chance[here] = np.where(mine, tree.chance * mine.sum(), np.nan)
    heights = weight / scale
    top = float(np.clip(1.08 * np.nanquantile(np.concatenate([heights[kept], chance[kept]]), 0.995), 2.2, 6.0))
    panel = picture.panel(
        "weights",
        title=WORDS.phrase("stage.weights"),
        x=Axis(WORDS.phrase("stage.same_states"), -0.01, 1.01, ticks=TIME),
        y=Axis(WORDS.phrase("stage.over_mean"), 0, top),
        place=place,
        height=HEIGHT - TREE_HEIGHT,
    )
    name = WORDS.phrase("stage.in_slice") if sliced else "weight exp(H₀ − H)"
    panel.columns(
        orbits.all("x"),
        np.minimum(heights, 2 * top),
        widths=0.82 * wide[orbits.owner],
        show=Show("inner", parts="tree"),
        classes=(orbits.all("fate") > 0).astype(np.int32),
        role=["posterior", "muted"],
        hollow=[False, True],
        label=[name, None],
    )
    panel.rule(y=1.0, role="muted", dash=True)
    panel.points(
        np.column_stack([orbits.all("x"), np.minimum(chance, 0.98 * top)]),
        show=Show("inner_all", parts="tree", phase=("draw", None)),
        role="ink",
        shape="diamond",
        size=3.0 if orbits.deep.any() else 4.0,
        label=WORDS.phrase("stage.chance"),
    )


def _spent(picture: Scene, walk: Walk, place: pictures.Place) -> None:
    made, lost = np.cumsum(walk.leapfrogs).astype(float), np.cumsum(walk.wasted).astype(float)
    panel = picture.panel(
        "spent",
        title=WORDS.phrase("stage.cost"),
        x=Axis(WORDS.phrase("stage.transition"), 0, walk.steps),
        y=Axis(WORDS.phrase("stage.leapfrog_steps"), 0, 1.05 * float(made[-1])),
        place=place,
        height=HEIGHT // 2,
    )
    at = np.arange(1, walk.steps + 1, dtype=float)
    panel.line(at, made, show="upto", role="posterior", label=WORDS.phrase("stage.all"))
    panel.line(at, lost, show="upto", role="reject", dash=True, label=WORDS.phrase("stage.thrown_away"))


def _depths(picture: Scene, spec: NutsLesson, walk: Walk, place: pictures.Place) -> None:
    size = min(spec.max_depth, int(walk.depth.max()) + 1) + 1
    panel = picture.panel("depth", title=WORDS.phrase("stage.depth"), place=place, height=HEIGHT // 2)
    panel.counts(walk.depth.astype(np.int32), size, label=WORDS.phrase("stage.share"))


def _funnel(picture: Scene, spec: NutsLesson, walk: Walk, orbits: _Orbits, place: pictures.Place) -> None:
    """The same draws and the same orbit, carried back to the funnel."""
    target = build("funnel", neck=spec.neck)  # the same object each time, whose map is kept
    panel = pictures.density_panel(
        picture, target, id="funnel", title=WORDS.phrase("stage.carried_back"), place=place, height=TREE_HEIGHT - 20, equal=False
    )
    panel.points(analysis.to_funnel(walk.recording.draws[0]), show="upto", role="posterior", size=2.2, alpha=0.55)
    panel.tree(
        _clipped(analysis.to_funnel(orbits.of_leaves("position")), target),
        orbits.above("before"),
        show=Show("inner", parts="tree"),
        classes=orbits.all("look"),
        role=ROLES,
        shape=SHAPES,
        dash=DASHED,
        size=3.0,
    )


# Numbers and words ----------------------------------------------------------------------------------------------------


def _parts(picture: Scene, parts: str, spec: NutsLesson, walk: Walk, orbits: _Orbits) -> None:
    """The set of states and subtrees, and what the card says of each."""
    low, high, leaf, fate = orbits.all("low"), orbits.all("high"), orbits.leaf, orbits.all("fate")
    node = ~leaf
    picture.parts(parts, orbits.offsets, orbits.all("at"), low=low, high=high, hint=HINT)
    name, other = walk.target.labels[:2]
    position, momentum = orbits.of_leaves("position"), orbits.of_leaves("momentum")
    energy = orbits.of_leaves("energy")
    start = np.repeat(orbits.inside.leaf_energy[:, 0], orbits.counts)
    what = "{what|" + "|".join(FATES) + "}"
    which = f"{_form_title(spec)}: " if parts == "other" or spec.view == "compare" else ""
    picture.part_line(
        parts,
        which + f"State {{k:+d}}, {what}: ({name}, {other}) = ({{x:.3f}}, {{y:.3f}}), p = ({{p:.3f}}, {{q:.3f}})",
        when=leaf,
        k=low,
        x=position[:, 0],
        y=position[:, 1],
        p=momentum[:, 0],
        q=momentum[:, 1],
        what=fate,
    )
    with np.errstate(over="ignore", invalid="ignore"):
        error = energy - start
        weight = np.exp(orbits.of_leaves("log_weight"))
    chance = orbits.all("chance")
    if spec.sampling == "slice":
        bar = np.repeat(-np.log(orbits.inside.slice_uniform), orbits.counts)
        picture.part_line(parts, WORDS.phrase("stage.leaf_of_slice"), when=leaf, e=error, b=bar, inside=weight > 0, c=chance)
    else:
        picture.part_line(parts, WORDS.phrase("stage.leaf"), when=leaf, e=error, w=weight, c=chance)
    picture.part_line(
        parts,
        which + WORDS.phrase("stage.node", what=what),
        when=node,
        n=high - low + 1,
        a=low,
        b=high,
        d=np.nan_to_num(orbits.of_nodes("doubling")) + 1,
        what=fate,
    )
    _dot_lines(picture, parts, spec, walk, orbits, node)
    whole, uniform, took = (orbits.of_nodes(key) for key in ("whole", "uniform", "took_new"))
    older, newer = orbits.all("older"), orbits.all("newer")
    with np.errstate(divide="ignore", invalid="ignore"):
        share, ratio = newer / (older + newer), np.minimum(1.0, newer / older)
    decided = node & np.isfinite(uniform)
    picture.part_line(parts, WORDS.phrase("stage.needless"), when=node & ~decided, a=older, b=newer, c=older + newer)
    candidate = np.nan_to_num(orbits.of_nodes("proposal"))
    told = {"u": uniform, "new": np.nan_to_num(took), "k": candidate, "a": older, "b": newer}
    picture.part_line(parts, WORDS.phrase("stage.chosen"), when=decided & (whole == 0), r=share, **told)
    picture.part_line(parts, WORDS.phrase("stage.joined"), when=decided & (whole == 1), r=ratio, **told)


def _dot_lines(picture: Scene, parts: str, spec: NutsLesson, walk: Walk, orbits: _Orbits, node: NDArray[np.bool_]) -> None:
    """The dot products of a subtree and what they decide."""
    dots, turning = orbits.of_nodes("dots"), np.nan_to_num(orbits.of_nodes("turning"))
    v = "p" if spec.mass == "identity" else "M⁻¹p"
    verdict = WORDS.phrase("stage.turn_reversed" if spec.variant == "reversed_dot" else "stage.turn")
    if spec.sampling == "slice":
        picture.part_line(parts, WORDS.phrase("stage.slice_test", verdict=verdict), when=node, a=dots[:, 0], b=dots[:, 1], turn=turning)
    else:
        picture.part_line(parts, WORDS.phrase("stage.test", v=v, verdict=verdict), when=node, a=dots[:, 0], b=dots[:, 1], turn=turning)
        picture.part_line(
            parts,
            WORDS.phrase("stage.half_tests"),
            when=node & np.isfinite(dots[:, 2]),
            a=dots[:, 2],
            b=dots[:, 3],
            c=dots[:, 4],
            d=dots[:, 5],
        )
    if spec.variant == "aliased_momentum":
        right = _right_dots(spec, walk, orbits)
        with np.errstate(invalid="ignore"):
            differ = node & ~np.isclose(right[:, 0], dots[:, 0]) | node & ~np.isclose(right[:, 1], dots[:, 1])
        picture.part_line(parts, WORDS.phrase("stage.aliased"), when=differ, a=right[:, 0], b=right[:, 1])


def _right_dots(spec: NutsLesson, walk: Walk, orbits: _Orbits) -> Array:
    """The first two dot products of each subtree from its states, (P, 2)."""
    ends = _ends(orbits)
    if spec.sampling == "slice":
        span = ends.high - ends.low
        pair = [(span * ends.low_momentum).sum(axis=1), (span * ends.high_momentum).sum(axis=1)]
    else:
        pair = [(walk.velocity(p) * ends.total).sum(axis=1) for p in (ends.low_momentum, ends.high_momentum)]
    return np.column_stack(pair)


def _arithmetic(picture: Scene, spec: NutsLesson, walk: Walk, orbits: _Orbits, first: int, lengths: NDArray[np.int_]) -> None:
    """The arithmetic card: what each phase computes, with its numbers."""
    inside = orbits.inside
    name, other = walk.target.labels[:2]
    momentum = _first_momentum(orbits, walk)
    kinetic = 0.5 * (momentum * walk.velocity(momentum)).sum(axis=1)
    start = _over_window(inside.leaf_energy[:, 0], orbits, walk)
    side = f"{_form_title(spec)}, left: " if spec.view == "compare" else ""
    picture.readout(
        "momentum",
        side + "p ~ N(0, M) = ({p:.3f}, {q:.3f}).  H₀ = −log π + ½pᵀM⁻¹p = {u:.3f} + {k:.3f} = {h:.3f}",
        p=momentum[:, 0],
        q=momentum[:, 1],
        u=start - kinetic,
        k=kinetic,
        h=start,
    )
    if spec.sampling == "slice":
        uniform = _over_window(inside.slice_uniform, orbits, walk)
        picture.readout("slice", WORDS.phrase("stage.slice"), u=uniform, b=-np.log(uniform))
    picture.inside(trees.DEEDS, orbits.of_steps("deed"))
    growing = Show("all", phase=("grow", None))
    coin, forwards, doubling = (orbits.of_steps(key) for key in ("coin", "forwards", "doubling"))
    picture.readout(
        "coin",
        WORDS.phrase("stage.coin"),
        show=growing,
        inner=True,
        d=doubling + 1,
        c=coin,
        f=forwards,
        n=2**doubling,
        e=np.repeat(walk.recording.step_size[0, first : first + len(lengths)], lengths),  # type: ignore[index]
    )
    picture.readout(
        "grown", WORDS.phrase("stage.so_far"), show=growing, inner=True, n=orbits.of_steps("states"), v=orbits.of_steps("verdict")
    )
    drawn = Show("at", phase=("draw", None))
    ending = _over_window(inside.ending.astype(float), orbits, walk)
    picture.readout(
        "ending",
        WORDS.phrase("stage.end", endings="|".join(ENDINGS)),
        show=drawn,
        why=ending,
        d=walk.depth,
        n=2 ** walk.depth.astype(np.int64),
    )
    proposal = _over_window(inside.proposal.astype(float), orbits, walk)
    draws = walk.recording.draws[0]
    chosen = WORDS.phrase("stage.draw", name=name, other=other)
    values = {"k": proposal, "x": draws[:, 0], "y": draws[:, 1]}
    if spec.variant == "final_accept":
        chosen = f"{chosen}. {WORDS.phrase('stage.final_accept')}"
        values |= {
            "u": _over_window(inside.final_uniform, orbits, walk),
            "a": walk.recording.accept_prob[0],
            "m": walk.recording.accepted[0],
        }
    picture.readout("draw", chosen, show=drawn, **values)
    if any(tree.cut for tree in orbits.trees):
        cut = _over_window(np.array([tree.cut for tree in orbits.trees], dtype=float), orbits, walk)
        shown = orbits.inside.leaf_time.shape[1]
        picture.readout("cut", WORDS.phrase("stage.cut", shown=shown), c=cut)
    total = np.cumsum(walk.wasted) / np.cumsum(walk.leapfrogs)
    picture.readout("waste", WORDS.phrase("stage.spent"), show=drawn, g=walk.leapfrogs, w=walk.wasted, s=total)


def _words(picture: Scene, spec: NutsLesson, walk: Walk) -> None:
    draws = walk.recording.draws[0]
    name, other = walk.target.labels[:2]
    picture.say(
        WORDS.phrase("stage.said", name=name, other=other),
        d=walk.depth,
        g=walk.leapfrogs,
        w=walk.wasted,
        div=walk.recording.divergent[0],
        x=draws[:, 0],
        y=draws[:, 1],
    )
    picture.table(
        {
            name: draws[:, 0],
            other: draws[:, 1],
            "doublings joined": walk.depth.astype(np.int32),
            "leapfrog steps": walk.leapfrogs,
            "thrown away": walk.wasted.astype(np.int32),
            "acceptance statistic": walk.recording.accept_prob[0],
            "divergent": walk.recording.divergent[0],
            "moved": walk.recording.accepted[0],
        }
    )


def _arrow(spec: NutsLesson, walk: Walk, target: Target) -> tuple[float, str]:
    """How much longer the arrows are than what they show, and its name. A typical arrow is a fixed part of the map."""
    typical = float(np.sqrt(np.trace(walk.inverse_mass)))
    reach = _ARROW * float(np.ptp(target.view[0])) / typical
    return reach, "momentum p" if spec.mass == "identity" else "velocity M⁻¹p"


__all__: Sequence[str] = ("scene",)
