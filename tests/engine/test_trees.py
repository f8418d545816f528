"""The trees of NUTS: they hang together, and the chances of their states are those of the draws."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

import engine
from engine import targets
from engine.samplers import trees
from engine.samplers.nuts import DIVERGED, TURNED_INSIDE, NutsTransitions

RUNS = {
    "banana": (targets.build("banana"), {"target_accept": 0.9}),
    "slice": (targets.build("gaussian", correlation=0.6), {"sampling": "slice", "step_size": 0.25}),
    "funnel": (targets.build("funnel"), {}),
    "ravine": (targets.build("gaussian", correlation=0.95, scale_ratio=3.0), {"step_size": 0.1}),
}


@cache
def recorded(name: str) -> NutsTransitions:
    target, settings = RUNS[name]
    settings = settings | {"chains": 1, "draws": 600, "warmup": 300, "detail": "transitions"}
    for seed in range(4, 20):  # in the neck of the funnel a chain may be left with steps so long that each diverges
        run = engine.sample(target, "nuts", seed=seed, **settings)
        inside = NutsTransitions(*(array[0] for array in run.transitions))
        if (inside.proposal != 0).mean() > 0.7:
            return inside
    raise AssertionError("no chain moves")


def grown(name: str, count: int, fine: bool) -> tuple[NutsTransitions, list[trees.Tree]]:
    return recorded(name), [trees.grow(recorded(name), t, fine) for t in range(count)]


@pytest.mark.parametrize("name", RUNS)
@pytest.mark.parametrize("fine", [False, True])
def test_trees_hang_together(name, fine):
    inside, found = grown(name, 60, fine)
    for t, tree in enumerate(found):
        assert int(tree.leaf.sum()) == inside.leaves[t] and int((~tree.leaf).sum()) == inside.nodes[t]
        assert np.all(np.diff(tree.at) >= 0) and tree.at[-1] <= len(tree.doubling) - 1
        assert tree.states[-1] == inside.leaves[t]
        for i in np.flatnonzero(~tree.leaf):
            children = np.flatnonzero(tree.parent == i)
            assert len(children) == 2 and np.all(children < i)
            assert tree.low[i] == tree.low[children].min() and tree.high[i] == tree.high[children].max()
            assert tree.y[i] == np.log2(tree.high[i] - tree.low[i] + 1)
        for i in np.flatnonzero(tree.leaf & (tree.low != 0)):
            nearer = tree.before[i]
            assert tree.leaf[nearer] and abs(tree.low[i]) - abs(tree.low[nearer]) == 1
        in_time = np.argsort(tree.low[tree.leaf])
        assert np.all(np.diff(tree.x[tree.leaf][in_time]) > 0)
        assert np.isin(tree.fate, (1, 2, 4)).any() == (inside.ending[t] in (TURNED_INSIDE, DIVERGED))


@pytest.mark.parametrize("name", ["banana", "slice", "funnel"])
def test_chances_are_those_of_the_draws(name):
    """The chance of the states of each trajectory sums to 1, and proposals fall as the chances say."""
    inside, every = grown(name, 600, False)
    found = {t: tree for t, tree in enumerate(every) if not tree.cut}  # not all states of a long tree are recorded
    assert len(found) > 550
    surprise, spread = 0.0, 0.0
    for t, tree in found.items():
        leaf = tree.leaf
        assert tree.chance[leaf].sum() == pytest.approx(1.0) and not tree.chance[~leaf].any()
        assert not tree.chance[leaf & np.isin(tree.fate, (1, 2, 4))].any()
        times = tree.low[leaf].astype(float)
        mean = float((tree.chance[leaf] * np.abs(times)).sum())
        surprise += abs(float(inside.proposal[t])) - mean
        spread += float((tree.chance[leaf] * (np.abs(times) - mean) ** 2).sum())
    assert abs(surprise) < 4 * np.sqrt(spread)
    # by weight alone the draws would lie nearer to the start
    nearer = sum(
        float((np.abs(tree.low[kept]) * share).sum() / share.sum()) - float((tree.chance[kept] * np.abs(tree.low[kept])).sum())
        for t, tree in found.items()
        for kept in [tree.leaf & (tree.fate == 0)]
        for share in [np.exp(inside.leaf_log_weight[t][tree.row[kept]])]
    )
    assert nearer < -4 * np.sqrt(spread)
