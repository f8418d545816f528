"""The trees of some transitions, as the pictures need them: parts in the order in which they came to be, their places,
their weights and the chance that each state had of becoming the draw.

A part is a state (leaf) or a subtree (node) of one transition.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from engine.samplers.nuts import DIVERGED, JOINED, NutsTransitions

Array = NDArray[np.float64]
Whole = NDArray[np.int32]

# The looks of a part.
KEPT, THROWN, BROKEN, START, TURN, TURN_INSIDE = range(6)

# What became of a part: index into `FATES`.
FATES = (
    "part of the trajectory",
    "thrown away, since its extension turns inside",
    "thrown away, since its extension diverges",
    "part of the trajectory, which turns and ends here",
    "the U-turn for which the whole extension is thrown away",
)


# What a sub-step does: index into `DEEDS`; "extension" is several leapfrog steps and joins.
DEEDS = ("coin", "leapfrog", "join", "extension")


@dataclass(frozen=True, eq=False)
class Tree:
    """One transition: P parts, L of them states, and S sub-steps of its growth.

    Parts (P,): states and subtrees in order of making.

    leaf : bool, a state; row : its row in the recording's leaf_ or node_ arrays
    at : the sub-step at which it appears
    low, high : first and last time it spans
    x, y : place in the picture of the tree: rank in time over (0, 1), and doublings to its size
    parent : the part that joins it to another, −1 for none; before : of a state the part one step nearer to the start
    look, fate : see above
    chance : of a state, of becoming the draw, given the trajectory; 0 if thrown away, NaN if the tree is cut
    older, newer : of a subtree, the weights of its halves in order of making

    Sub-steps (S,), two for each doubling (coin, extension), or with fine steps one for each state and join between:

    doubling, coin, forwards, states : states of the trajectory with all that has been made
    verdict : 0 under way, 1 joined, 2 turned inside, 3 diverged
    deed : see `DEEDS`
    """

    leaf: NDArray[np.bool_]
    row: Whole
    at: Whole
    low: Whole
    high: Whole
    x: Array
    y: Array
    parent: Whole
    before: Whole
    look: Whole
    fate: Whole
    chance: Array
    older: Array
    newer: Array
    doubling: Whole
    coin: Array
    forwards: NDArray[np.bool_]
    states: Whole
    verdict: Whole
    deed: Whole
    edge: Whole  # of a sub-step that shows a coin, the part from which the extension will grow; else −1
    cut: bool  # more states were made than are recorded: this is the tree of the first ones

    @property
    def wide(self) -> float:
        """Width of one state in the picture."""
        return 1.0 / max(1, int(self.leaf.sum()))


def one(inside: NutsTransitions, t: int) -> dict[str, np.ndarray]:
    """Transition t of recorded transitions (n, ...), cut to the rows that are filled."""
    leaves, nodes = int(inside.leaves[t]), int(inside.nodes[t])
    cut = {"leaf_": leaves, "node_": nodes}
    return {name: array[t][: cut[name[:5]]] if name[:5] in cut else array[t] for name, array in inside._asdict().items()}


def grow(inside: NutsTransitions, t: int, fine: bool) -> Tree:
    """The tree of transition t of recorded transitions; `fine`: one sub-step for each state and each join."""
    x = one(inside, t)
    # one number after the other is what lists give more quickly than arrays
    times, signs, endings = (x[name].tolist() for name in ("leaf_time", "doubling_direction", "doubling_ending"))
    node_doubling, node_low, node_high = (x[f"node_{name}"].tolist() for name in ("doubling", "low", "high"))
    leaves = len(times)
    rank = np.argsort(np.argsort(x["leaf_time"])).tolist()
    row_of = {time: row for row, time in enumerate(times)}
    made = sum(sign != 0 for sign in signs)
    last_doubling = min(made, int(leaves - 1).bit_length()) - 1  # that is recorded
    cut = last_doubling + 1 < made
    failed = last_doubling >= 0 and endings[last_doubling] != JOINED
    leaf_doubling = [-1] + [row.bit_length() - 1 for row in range(1, leaves)]

    # The order of making: each state, then the subtrees that it completes.
    ahead = (high if signs[d] > 0 else low for d, low, high in zip(node_doubling, node_low, node_high, strict=True))
    events = sorted([(row, -1) for row in range(leaves)] + [(row_of[time], k) for k, time in enumerate(ahead)])

    low, high, place, level, look, fate, at = ([] for _ in range(7))
    parent, before = [-1] * len(events), [-1] * len(events)
    older, newer = [np.nan] * len(events), [np.nan] * len(events)
    with np.errstate(over="ignore"):
        weight_of_leaf = np.exp(x["leaf_log_weight"]).tolist()
    weight: dict[tuple[int, int], float] = {}
    part_of: dict[tuple[int, int], int] = {}
    steps: list[tuple[int, int, int]] = []  # doubling, states, edge
    reached = (0, 0)  # first and last time of the trajectory
    begun = -1
    for i, (r, k) in enumerate(events):
        d = leaf_doubling[r] if k < 0 else node_doubling[k]
        if d > begun:  # the coin of a new doubling
            begun = d
            edge = part_of[(reached[1],) * 2 if signs[d] > 0 else (reached[0],) * 2]
            steps.append((d, reached[1] - reached[0] + 1, edge))
            if not fine:
                steps.append((d, 0, -1))
        elif fine and i > 0:
            steps.append((d, 0, -1))
        if fine and k < 0 and i > 0 and steps[-1][2] >= 0:
            steps.append((d, 0, -1))
        at.append(max(0, len(steps) - 1))
        thrown = failed and d == last_doubling
        fate.append(0 if not thrown else 2 if endings[d] == DIVERGED else 1)
        if k < 0:
            time = times[r]
            span = (time, time)
            place.append((rank[r] + 0.5) / leaves)
            level.append(0.0)
            look.append(START if r == 0 else BROKEN if x["leaf_divergent"][r] else THROWN if thrown else KEPT)
            if time:
                before[i] = part_of[(time - (1 if time > 0 else -1),) * 2]
            weight[span] = weight_of_leaf[r]
        else:
            span = (node_low[k], node_high[k])
            middle = (span[0] + span[1] + 1) // 2
            halves = [(span[0], middle - 1), (middle, span[1])][:: signs[d]]
            place.append(0.5 * (rank[row_of[span[0]]] + rank[row_of[span[1]]] + 1) / leaves)
            level.append(math.log2(span[1] - span[0] + 1))
            older[i], newer[i] = weight[halves[0]], weight[halves[1]]
            weight[span] = older[i] + newer[i]
            for half in halves:
                parent[part_of[half]] = i
            if x["node_turning"][k]:
                ending, fate[i] = (TURN_INSIDE, 4) if thrown else (TURN, 3)
                look.append(ending)
            else:
                look.append(THROWN if thrown else KEPT)
            if x["node_whole"][k]:
                reached = span
        low.append(span[0])
        high.append(span[1])
        part_of[span] = i
    if not steps:
        steps.append((0, 1, -1))
    leaf = np.array([k < 0 for _, k in events])
    row = _whole([r if k < 0 else k for r, k in events])
    chances = _chances(x, np.array(leaf_doubling), failed, last_doubling)
    steps_at = _whole(at)
    return Tree(
        leaf=leaf,
        row=row,
        at=steps_at,
        low=_whole(low),
        high=_whole(high),
        x=np.array(place),
        y=np.array(level),
        parent=_whole(parent),
        before=_whole(before),
        look=_whole(look),
        fate=_whole(fate),
        chance=np.where(leaf, np.nan if cut else chances[np.where(leaf, row, 0)], 0.0),
        older=np.array(older),
        newer=np.array(newer),
        **_substeps(steps, x, steps_at, leaf, last_doubling),
        cut=cut,
    )


def _whole(values: Sequence[int]) -> Whole:
    return np.array(values, dtype=np.int32)


def _substeps(
    steps: list[tuple[int, int, int]], x: dict[str, np.ndarray], at: Whole, leaf: NDArray[np.bool_], last_doubling: int
) -> dict[str, np.ndarray]:
    doubling, before, edge = (_whole(column) for column in zip(*steps, strict=True))
    every = np.arange(len(steps))
    begin, end = np.searchsorted(at, every), np.searchsorted(at, every, side="right")  # the parts of a sub-step
    made = np.concatenate([[0], np.cumsum(leaf)])[end]
    verdict = np.zeros(len(steps), dtype=np.int32)
    final = np.searchsorted(doubling, np.arange(last_doubling + 1), side="right") - 1
    ending = x["doubling_ending"][: last_doubling + 1]
    verdict[final] = np.where(ending == JOINED, 1, np.where(ending == DIVERGED, 3, 2))
    coin = x["doubling_coin"]
    shown = coin[doubling] if len(coin) else np.full(len(steps), np.nan)
    alone = np.where(leaf[np.minimum(begin, len(leaf) - 1)], DEEDS.index("leapfrog"), DEEDS.index("join"))
    deed = np.where(end - begin == 1, alone, DEEDS.index("extension"))
    return {
        "doubling": doubling,
        "coin": shown,
        "forwards": shown < 0.5,
        "states": np.where(edge >= 0, before, made).astype(np.int32),
        "verdict": verdict,
        "deed": np.where(edge >= 0, DEEDS.index("coin"), deed).astype(np.int32),
        "edge": edge,
    }


def _chances(x: dict[str, np.ndarray], doubling: NDArray[np.int_], failed: bool, last: int) -> Array:
    """Chance of each recorded state to become the draw, given the trajectory: within an extension in proportion to the
    weights, and the extension's draw replaces the trajectory's with probability min(1, w_new / w_old).
    """
    with np.errstate(over="ignore"):
        weight = np.exp(x["leaf_log_weight"])
    chance = np.zeros(len(weight))
    chance[0] = 1.0
    total = float(weight[0])
    for d in range(last + 1 - failed):
        new = doubling == d
        extension = float(weight[new].sum())
        taken = min(1.0, extension / total) if total > 0 else 1.0
        if extension > 0:
            chance *= 1.0 - taken
            chance[new] = taken * weight[new] / extension
        total += extension
    return chance
