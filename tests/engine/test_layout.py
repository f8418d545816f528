"""The same bytes wherever the arrays lie: a density's last bits do not hang on addresses."""

from __future__ import annotations

import ctypes

import numpy as np
import pytest

import datasets
import engine
from engine import targets

KERNEL = ctypes.CFUNCTYPE(ctypes.c_double, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64, *[ctypes.c_void_p] * 3)
PLACES = 150


def answers(target: engine.Target, seed: int = 0) -> set[bytes]:
    """Log density and gradient at one point, bytes, with the arrays at random places of one buffer."""
    rng = np.random.default_rng(seed)
    kernel, (ints, scratch) = KERNEL(target.address), target.buffers()
    arrays = [rng.normal(size=target.dim), np.zeros(target.dim), np.asarray(target.data), scratch]
    found = set()
    for _ in range(PLACES):
        gaps = rng.integers(0, 3, len(arrays)) * rng.integers(0, 100, len(arrays))
        room = np.zeros(64 + sum(array.size for array in arrays) + gaps.sum())
        at, places = int(rng.integers(64)), {}
        for i in rng.permutation(len(arrays)):
            places[i] = room[at : at + arrays[i].size]
            places[i][:] = arrays[i]
            at += arrays[i].size + gaps[i]
        q, gradient, data, own = (places[i].ctypes.data for i in range(len(arrays)))
        counts = ints.copy()  # held by its name: an address alone keeps no array
        value = kernel(q, gradient, target.dim, data, counts.ctypes.data, own)
        found.add(np.float64(value).tobytes() + places[1].tobytes())
    return found


@pytest.mark.parametrize("samples", [8, 20, 200])
@pytest.mark.parametrize("activation", ["tanh", "relu"])
@pytest.mark.parametrize("likelihood,outputs", [("bernoulli", 1), ("softmax", 2), ("softmax", 3), ("gaussian", 1)])
def test_the_posterior_of_a_network(samples, activation, likelihood, outputs):
    x, y, _ = datasets.xor(seed=1)
    y = y + np.arange(len(y)) % 2 if outputs == 3 else y.astype(float) if likelihood == "gaussian" else y
    for width in (1, 3, 4):
        network = engine.network(2, outputs, width=width, depth=1, activation=activation, likelihood=likelihood)
        assert len(answers(network.posterior(x[:samples], y[:samples]))) == 1, width


@pytest.mark.parametrize("family", sorted(targets.FAMILIES))
def test_a_target(family):
    assert len(answers(targets.build(family))) == 1
