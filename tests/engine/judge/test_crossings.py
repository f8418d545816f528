"""The books of jumps: every jump that has a right ratio is found right, and every mistake in it is seen."""

from __future__ import annotations

import numpy as np
import pytest

import engine
from engine.judge import JumpKernel
from engine.jumps import start_architecture

RNG = np.random.default_rng(0)
X, LABELS, VALUES = RNG.uniform(-1, 1, (20, 2)), RNG.integers(0, 2, 20), RNG.standard_normal((20, 1))
NETWORKS = {
    "units": (engine.network(2, 2, width=(1, 6), temper=2.0), LABELS),
    "layers": (engine.network(2, 2, width=2, depth=(1, 4)), LABELS),
    "both": (engine.network(2, 1, width=(1, 4), depth=(1, 3), likelihood="gaussian", prior_sd=0.7), VALUES),
}
JUMPS = {
    "plain": {},
    "rescaled": {},
    "annealed": {"bridges": 5, "jump_steps": 3},
    "tempered": {"bridges": 4, "jump_steps": 3},
    "delayed": {},
    "palindromic": {},
    "split": {},
    "redraw": {},
}
CASES = [(network, jump) for network in NETWORKS for jump in JUMPS if network == "units" or jump != "split"]


def kernel(network: str, jump: str, **settings: object) -> JumpKernel:
    """A jump on a network, with a fixed step size."""
    model, y = NETWORKS[network]
    given = {**JUMPS[jump], "step_size": 0.1, **settings}
    return JumpKernel(start_architecture(model, X, y, jump, chains=1, draws=1, seed=1, **given))


@pytest.mark.parametrize("settings", [{}, {"weight_precision": (2.0, 2.0), "scale_by_width": True}], ids=["", "scaled"])
@pytest.mark.parametrize(("network", "jump"), CASES)
def test_right_jumps_pass_and_each_mistake_is_seen(network: str, jump: str, settings: dict[str, object]) -> None:
    right = kernel(network, jump, **settings)
    found = right.audit(1)
    assert found is not None and found.verdict == "pass" and found.statistic < 1e-8, found
    for fault in right.faults:
        found = right.planted(fault).audit(0)
        if fault == "no_kernel_densities" and jump in ("plain", "rescaled"):
            assert found is None, "between moves that are not reversible there is no right ratio"
        else:
            assert found is not None and found.verdict == "fail", fault


def test_the_second_of_two_moves_on_a_bridge_is_made_again_too() -> None:
    found = kernel("units", "annealed", jump_moves=2).audit(0)
    assert found is not None and found.verdict == "pass"


def test_step_sizes_that_were_tuned_are_those_of_the_bridges() -> None:
    model, y = NETWORKS["units"]
    run = start_architecture(model, X, y, "annealed", bridges=3, chains=1, draws=30, warmup=30, seed=1)
    run.advance(run.total)
    found = JumpKernel(run).audit(0)
    assert found is not None and found.verdict == "pass"


def test_one_bridge_has_no_bridge_to_move_on() -> None:
    assert "old_level" not in kernel("units", "annealed", bridges=1).faults
