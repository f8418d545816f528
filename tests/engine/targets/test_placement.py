"""The same point gives the same bits, wherever its arrays happen to lie in memory: else a seed would not give the same
bytes twice in one process.
"""

from __future__ import annotations

import ctypes

import numpy as np
import pytest

import engine
from engine import targets
from engine.targets.spec import FAMILIES, parameters_of
from engine.targets.target import Target

KERNEL = ctypes.CFUNCTYPE(ctypes.c_double, *(ctypes.c_void_p,) * 2, ctypes.c_int64, *(ctypes.c_void_p,) * 3)
RNG = np.random.default_rng(3)
X, Y = RNG.normal(size=(40, 3)), RNG.normal(size=40)
CASES = {
    **{
        f"{name} {dim}-d": lambda name=name, dim=dim: targets.build(name, dimension=dim)
        for name in FAMILIES
        if "dimension" in parameters_of(name)
        for dim in (5, 9, 17)
    },
    **{name: lambda name=name: targets.build(name) for name in FAMILIES if "dimension" not in parameters_of(name)},
    "dense": lambda: targets.dense_gaussian(np.zeros(9), np.eye(9) + 0.3),
    "normal_gamma": targets.normal_gamma,
    "hierarchical": targets.hierarchical_normal,
    "network": lambda: engine.network(3, 1, width=4, likelihood="gaussian", noise_sd=0.5).posterior(X, Y),
}


def evaluated(target: Target, q: np.ndarray, at: int, grad_at: int) -> bytes:
    """Log density and gradient with q and grad at these places of one block of memory."""
    block = np.zeros(6 * target.dim + 64)
    here, grad = block[at : at + target.dim], block[grad_at : grad_at + target.dim]
    here[:] = q
    ints, scratch = target.buffers()
    arrays = [each.ctypes.data for each in (here, grad)], [each.ctypes.data for each in (target.data, ints, scratch)]
    value = KERNEL(target.address)(*arrays[0], target.dim, *arrays[1])
    return np.float64(value).tobytes() + grad.tobytes()


@pytest.mark.parametrize("name", CASES)
def test_bits_do_not_hang_on_where_arrays_lie(name: str):
    target = CASES[name]()
    dim = target.dim
    for _ in range(20):
        q = 0.5 + np.abs(RNG.normal(size=dim))
        places = [(0, 4 * dim + 32), (1, 4 * dim + 32), (0, dim), (dim, 0), (0, dim + 1), (dim + 3, 2)]
        assert len({evaluated(target, q, *place) for place in places}) == 1
