"""The discrete walk against its exact transition matrix: detailed balance counted, and the wrong variants caught."""

import numpy as np
import pytest

import engine
from engine.samplers.islands import stationary, transition_matrix, walk_islands

WEIGHTS = np.array([1.0, 2.0, 5.0, 3.0, 0.5, 4.0])
TRUE = WEIGHTS / WEIGHTS.sum()
DRAWS = 400_000


def flows(walk):
    """Counts (n, n) of transitions from i to j."""
    n = len(WEIGHTS)
    before = np.append(walk.start, walk.draws[:-1])
    return np.bincount(before * n + walk.draws, minlength=n * n).reshape(n, n)


def balance_z(counts):
    """Largest |z| of flow i -> j against flow j -> i: binomial halves, up to the net winding around the ring."""
    upper = np.triu_indices(len(counts), 1)
    forth, back = counts[upper].astype(float), counts.T[upper].astype(float)
    seen = forth + back > 0
    return np.max(np.abs(forth - back)[seen] / np.sqrt((forth + back)[seen]))


@pytest.mark.parametrize("p_right", [0.5, 0.8])
def test_matrix_is_in_detailed_balance(p_right):
    flow = TRUE[:, None] * transition_matrix(WEIGHTS, p_right=p_right)
    np.testing.assert_allclose(flow, flow.T, atol=1e-15)
    np.testing.assert_allclose(stationary(transition_matrix(WEIGHTS, p_right=p_right)), TRUE, atol=1e-12)


@pytest.mark.parametrize("p_right", [0.5, 0.8])
def test_walk_follows_its_matrix_and_balances(p_right):
    counts = flows(walk_islands(WEIGHTS, DRAWS, seed=5, p_right=p_right))
    expected = transition_matrix(WEIGHTS, p_right=p_right) * counts.sum(axis=1, keepdims=True)
    possible = expected > 0
    assert not counts[~possible].any()
    z = (counts - expected)[possible] / np.sqrt(expected[possible] + 1)
    assert np.max(np.abs(z)) < 4
    assert balance_z(counts) < 4


@pytest.mark.parametrize("variant,p_right", [("no_hastings", 0.8), ("drop_rejections", 0.5)])
def test_wrong_variants_are_caught(variant, p_right):
    walk = walk_islands(WEIGHTS, DRAWS, seed=5, p_right=p_right, variant=variant)
    share = np.bincount(walk.draws, minlength=len(WEIGHTS)) / DRAWS
    wrong = stationary(transition_matrix(WEIGHTS, p_right=p_right, variant=variant))
    assert np.max(np.abs(share - wrong)) < 0.01, "the variant does what its own matrix says"
    assert np.max(np.abs(wrong - TRUE)) > 0.02, "which is not the target"
    if variant == "no_hastings":
        assert balance_z(flows(walk)) > 10


@pytest.mark.parametrize(
    "parameter,arguments",
    [
        ("weights", {"weights": [1.0, 2.0]}),
        ("weights", {"weights": [1.0, 0.0, 2.0]}),
        ("weights", {"weights": [1.0, np.nan, 2.0]}),
        ("p_right", {"p_right": 1.0}),
        ("start", {"start": 9}),
        ("variant", {"variant": "gibbs"}),
        ("draws", {"draws": 0}),
    ],
)
def test_wrong_arguments_name_the_parameter(parameter, arguments):
    with pytest.raises(engine.SpecError) as error:
        walk_islands(**{"weights": WEIGHTS, "draws": 5, "seed": 1, **arguments})
    assert error.value.parameter == parameter
