"""The trees of some transitions, as the pictures need them: parts in the order in which they came to be, their places,
their weights and the chance that each state had of becoming the draw.

A part is a state (leaf) or a subtree (node) of one transition.
"""

from __future__ import annotations

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
    times, endings, signs = x["leaf_time"], x["doubling_ending"], x["doubling_direction"]
    leaves, nodes = len(times), len(x["node_low"])
    rank = np.argsort(np.argsort(times))
    row_of = {int(time): row for row, time in enumerate(times)}
    made = int(np.sum(signs != 0))
    last_doubling = min(made, int(leaves - 1).bit_length()) - 1  # that is recorded
    cut = last_doubling + 1 < made
    failed = last_doubling >= 0 and endings[last_doubling] != JOINED
    leaf_doubling = np.concatenate([[-1], np.floor(np.log2(np.arange(1, leaves)))]).astype(int)

    # The order of making: each state, then the subtrees that it completes.
    made_with = np.empty(nodes, dtype=int)
    for k in range(nodes):
        d = int(x["node_doubling"][k])
        ahead = x["node_high"][k] if signs[d] > 0 else x["node_low"][k]
        made_with[k] = row_of[int(ahead)]
    events = sorted([(r, -1) for r in range(leaves)] + [(int(made_with[k]), k) for k in range(nodes)])

    count = len(events)
    leaf = np.array([k < 0 for _, k in events])
    row = np.array([r if k < 0 else k for r, k in events], dtype=np.int32)
    low, high = np.empty((2, count), dtype=np.int32)
    place, level = np.empty((2, count))
    parent, before, at = np.full((3, count), -1, dtype=np.int32)
    look, fate = np.zeros((2, count), dtype=np.int32)
    older, newer = np.full((2, count), np.nan)
    weight: dict[tuple[int, int], float] = {}
    part_of: dict[tuple[int, int], int] = {}
    steps: list[tuple[int, int, int, int]] = []  # doubling, states, verdict, edge
    reached = [0, 0]  # first and last time of the trajectory
    begun = -1
    for i, (r, k) in enumerate(events):
        d = int(leaf_doubling[r]) if k < 0 else int(x["node_doubling"][k])
        if d > begun:  # the coin of a new doubling
            begun = d
            edge = part_of[(reached[1],) * 2 if signs[d] > 0 else (reached[0],) * 2]
            steps.append((d, reached[1] - reached[0] + 1, 0, edge))
            if not fine:
                steps.append((d, 0, 0, -1))
        elif fine and i > 0:
            steps.append((d, 0, 0, -1))
        if fine and k < 0 and i > 0 and steps[-1][3] >= 0:
            steps.append((d, 0, 0, -1))
        at[i] = max(0, len(steps) - 1)
        thrown = failed and d == last_doubling
        fate[i] = 0 if not thrown else 2 if endings[d] == DIVERGED else 1
        if k < 0:
            low[i] = high[i] = times[r]
            place[i], level[i] = (rank[r] + 0.5) / leaves, 0.0
            look[i] = START if r == 0 else BROKEN if x["leaf_divergent"][r] else THROWN if thrown else KEPT
            time = int(times[r])
            before[i] = part_of[(time - int(np.sign(time)),) * 2] if time else -1
            weight[time, time] = float(np.exp(x["leaf_log_weight"][r]))
        else:
            low[i], high[i] = x["node_low"][k], x["node_high"][k]
            span = (int(low[i]), int(high[i]))
            middle = (span[0] + span[1] + 1) // 2
            halves = [(span[0], middle - 1), (middle, span[1])][:: int(signs[d])]
            place[i] = 0.5 * (rank[row_of[span[0]]] + rank[row_of[span[1]]] + 1) / leaves
            level[i] = np.log2(span[1] - span[0] + 1)
            older[i], newer[i] = weight[halves[0]], weight[halves[1]]
            weight[span] = older[i] + newer[i]
            for half in halves:
                parent[part_of[half]] = i
            if x["node_turning"][k]:
                look[i], fate[i] = (TURN_INSIDE, 4) if thrown else (TURN, 3)
            else:
                look[i] = THROWN if thrown else KEPT
            if x["node_whole"][k]:
                reached = [span[0], span[1]]
        part_of[int(low[i]), int(high[i])] = i
    if not steps:
        steps.append((0, 1, 0, -1))
    chances = _chances(x, leaf_doubling, failed, last_doubling)
    return Tree(
        leaf,
        row,
        at,
        low,
        high,
        place,
        level,
        parent,
        before,
        look,
        fate,
        np.where(leaf, np.nan if cut else chances[np.where(leaf, row, 0)], 0.0),
        older,
        newer,
        **_substeps(steps, x, at, leaf, last_doubling),
        cut=cut,
    )


def _substeps(
    steps: list[tuple[int, int, int, int]], x: dict[str, np.ndarray], at: Whole, leaf: NDArray[np.bool_], last_doubling: int
) -> dict[str, np.ndarray]:
    doubling, before, _, edge = (np.array(column, dtype=np.int32) for column in zip(*steps, strict=True))
    made = np.array([int(np.sum(leaf & (at <= s))) for s in range(len(steps))], dtype=np.int32)
    verdict = np.zeros(len(steps), dtype=np.int32)
    for d in range(last_doubling + 1):
        final = int(np.flatnonzero(doubling == d)[-1])
        ended = int(x["doubling_ending"][d])
        verdict[final] = 1 if ended == JOINED else 3 if ended == DIVERGED else 2
    coin = x["doubling_coin"]
    shown = coin[doubling] if len(coin) else np.full(len(steps), np.nan)
    return {
        "doubling": doubling,
        "coin": shown,
        "forwards": shown < 0.5,
        "states": np.where(edge >= 0, before, made).astype(np.int32),
        "verdict": verdict,
        "deed": np.array([_deed(edge[s], leaf[at == s]) for s in range(len(steps))], dtype=np.int32),
        "edge": edge,
    }


def _deed(edge: int, leaf: NDArray[np.bool_]) -> int:
    """Of a sub-step at which these parts appear."""
    if edge >= 0:
        return DEEDS.index("coin")
    if len(leaf) != 1:
        return DEEDS.index("extension")
    return DEEDS.index("leapfrog" if leaf[0] else "join")


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
