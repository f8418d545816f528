"""Parts of kernels count no references (`engine.kernels.part`): numba must refuse one that allocates, and what kernels
hold must be given back once, neither more nor less often.
"""

from __future__ import annotations

import sys

import numpy as np
import pytest
from numba.core.errors import NumbaError
from numba.core.runtime import _nrt_python, rtsys

from engine import targets
from engine.kernels import kernel, part
from engine.samplers import start

METHODS = {
    "metropolis": {},
    "delayed_rejection": {"stages": 3, "scale": 3.0},
    "hmc": {"steps": 5},
    "gibbs": {},
    "slice_sampling": {},
    "nuts": {},
}


@part
def _allocates(x):
    return np.empty(3)[0] + x[0]


@kernel
def _calls_it(x):
    return _allocates(x)


@part
def _first(x):
    return x[0]


@kernel
def _first_of_new(n):
    """Sum of n numbers, each read from an array of its own."""
    total = 0.0
    for i in range(n):
        total += _first(np.full(2, float(i)))
    return total


def held() -> int:
    """Arrays that compiled code has made and not given back."""
    found = rtsys.get_allocation_stats()
    return found.mi_alloc - found.mi_free


@pytest.fixture
def counting():
    _nrt_python.memsys_enable_stats()
    yield
    _nrt_python.memsys_disable_stats()


def test_a_part_that_allocates_is_refused():
    with pytest.raises(NumbaError, match="_allocates"):
        _calls_it(np.zeros(3))


def test_what_a_kernel_hands_to_a_part_is_given_back(counting):
    before = held()
    assert _first_of_new(100) == 4950.0
    assert held() == before


@pytest.mark.parametrize("detail", ["draws", "transitions"])
@pytest.mark.parametrize("method", METHODS)
def test_samplers_give_back_what_they_took(counting, method, detail):
    settings = {"chains": 1, "draws": 40, "warmup": 30, "seed": 1, "detail": detail, **METHODS[method]}
    run = start(targets.build("gaussian"), method, **settings)
    run.advance(40)
    chain = run._chains[0]
    arrays = [chain.position, chain.gradient, chain.running, chain.adaptation, run.target.data]
    counted, before = [sys.getrefcount(array) for array in arrays], held()
    for _ in range(30):
        run.advance(1)
    assert [sys.getrefcount(array) for array in arrays] == counted
    assert held() == before
