"""The documented error bounds, checked against 80-digit arithmetic, in plain loops and in loops compiled with
fastmath.
"""

from __future__ import annotations

import decimal
import math

import numba
import numpy as np
import pytest

from engine import vectormath
from engine.kernels import FASTMATH

decimal.getcontext().prec = 80  # exp(x) - 1 of an x of 1e-30 loses 30 of them
Decimal = decimal.Decimal


def _exact_tanh(x: Decimal) -> Decimal:
    e = (2 * x).exp()
    return (e - 1) / (e + 1)


EXACT = {"exp": lambda x: x.exp(), "log": lambda x: x.ln(), "tanh": _exact_tanh, "sigmoid": lambda x: 1 / (1 + (-x).exp())}
BOUND = {"exp": 3e-16, "log": 3e-16, "tanh": 4e-16, "sigmoid": 4e-16}  # relative, as the module says


def _loop(name, compile_):
    function = getattr(vectormath, name)

    def loop(x, out):
        for i in range(x.size):
            out[i] = function(x[i])

    # Not cached: the function is a closure.
    return compile_(loop)


def _compile_fast(function):
    return numba.njit(error_model="numpy", fastmath=FASTMATH)(function)


def _compile_plain(function):
    return numba.njit(error_model="numpy")(function)


def _arguments(name: str) -> np.ndarray:
    rng = np.random.default_rng(7)
    near_ties = (np.arange(-40, 41) + 0.5) * math.log(2)  # where the reduction changes to the next power of two
    ties = np.concatenate([near_ties, np.nextafter(near_ties, np.inf), np.nextafter(near_ties, -np.inf), near_ties / 2])
    tiny = 10.0 ** rng.uniform(-30, 0, 1000) * rng.choice([-1, 1], 1000)
    if name == "log":
        return np.concatenate(
            [10.0 ** rng.uniform(-307, 308, 3000), rng.uniform(0.5, 2, 3000), 1 + tiny, np.exp(ties), [1.0, 2.0, 0.5**0.5]]
        )
    low, high = {"exp": (-708, 708), "tanh": (-30, 30), "sigmoid": (-700, 60)}[name]
    return np.concatenate([rng.uniform(low, high, 3000), rng.standard_normal(3000), tiny, ties, [0.0, float(low), float(high)]])


@pytest.mark.parametrize("compile_", [_compile_plain, _compile_fast])
@pytest.mark.parametrize("name", EXACT)
def test_error_is_within_the_documented_bound(name, compile_):
    x = _arguments(name)
    got = np.empty_like(x)
    _loop(name, compile_)(x, got)
    worst = Decimal(0)
    for argument, value in zip(x, got, strict=True):
        exact = EXACT[name](Decimal(float(argument)))
        error = abs(Decimal(float(value)) - exact)
        worst = max(worst, error / abs(exact) if exact else error)
    assert worst < Decimal(BOUND[name])


@pytest.mark.parametrize("name", EXACT)
def test_the_loop_is_vectorised(name):
    """Division instructions and multiplications on packed doubles, and no call to libm."""
    loop = _loop(name, _compile_fast)
    x = np.linspace(0.1, 2, 64)
    loop(x, np.empty(64))
    code = "\n".join(loop.inspect_asm().values())
    assert "vmulpd" in code or "mulpd" in code or "fmul\tv" in code
    for function in ("callq\t*exp", "callq\t*tanh", "callq\t*log"):
        assert function not in code


@pytest.mark.parametrize("name", EXACT)
def test_nan_in_nan_out(name):
    assert math.isnan(getattr(vectormath, name)(math.nan))


def test_tanh_is_odd_to_the_bit_and_saturates():
    x = np.random.default_rng(1).normal(0, 5, 1000)
    up, down = (np.array([vectormath.tanh(v) for v in values]) for values in (x, -x))
    assert np.array_equal(up, -down)
    assert np.all(np.abs(up) <= 1.0)
    assert [vectormath.tanh(v) for v in (20.0, 1e300, math.inf, -math.inf)] == [1.0, 1.0, 1.0, -1.0]


def test_outside_their_range_they_stay_at_the_end():
    assert vectormath.exp(1e9) == vectormath.exp(math.inf) == vectormath.exp(708.0) < math.inf
    assert vectormath.exp(-1e9) == vectormath.exp(-math.inf) == vectormath.exp(-708.0) > 0.0
    assert vectormath.sigmoid(math.inf) == 1.0
    assert 0.0 < vectormath.sigmoid(-math.inf) < 4e-308


def test_log_at_the_edges_of_its_domain():
    assert vectormath.log(0.0) == -math.inf
    assert vectormath.log(5e-324) == -math.inf  # subnormal, as documented
    assert vectormath.log(math.inf) == math.inf
    assert math.isnan(vectormath.log(-1.0))
    assert vectormath.log(1.0) == 0.0
