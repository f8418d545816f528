"""The badge's checks judge rightly where it is hard: heavy tails, chains stuck in a mode, mistakes too small to see."""

import dataclasses

import numpy as np
import pytest

import engine
from engine import judge, targets
from engine.samplers import Hmc, Metropolis


@pytest.mark.parametrize("name,parameters", [("student", {"dof": 2.0}), ("student", {"dof": 1.0}), ("funnel", {})])
@pytest.mark.parametrize("seed", range(4))
def test_a_right_sampler_passes_on_heavy_tails(name, parameters, seed):
    target = targets.build(name, **parameters)
    check = checks.invariance_check(target, Metropolis(scale=1.0), points=2000, transitions=10, seed=seed)
    assert check.verdict == "pass", check.sentence


@pytest.mark.parametrize("name", ["student", "funnel"])
def test_a_wrong_sampler_fails_on_heavy_tails(name):
    method = Metropolis(scale=1.5, drift=0.7, variant="no_hastings")
    check = checks.invariance_check(targets.build(name), method, points=2000, transitions=20, seed=1)
    assert check.verdict == "fail", check.sentence


def test_chains_that_start_apart_expose_two_modes():
    """From one common start all chains sit in one mode, agree, and would be called wrong."""
    target = targets.build("two_modes", separation=10.0)
    settings = {"chains": 4, "draws": 5000, "warmup": 500, "seed": 1, "step_size": 0.3, "steps": 8}
    together = engine.sample(target, "hmc", init=[5.0, 0.0], **settings)
    apart = engine.sample(target, "hmc", init=checks.dispersed_starts(target.truth, 4, 1), **settings)
    verdicts = [
        {c.verdict for c in judge.truth_check(r.draws, target.truth, target.labels)} for r in (together, apart)
    ]
    assert "fail" in verdicts[0]
    assert "fail" not in verdicts[1] and "unknown" in verdicts[1]


@pytest.mark.parametrize("step_size,verdict", [(1.2, "fail"), (0.02, "unknown")])
def test_leaving_out_the_accept_step_is_never_a_pass(step_size, verdict):
    recording = engine.sample(
        targets.build("gaussian", correlation=0.0), "hmc", draws=5000, seed=1, step_size=step_size, steps=8,
        variant="always_accept",
    )  # fmt: skip
    assert judge.acceptance_check(recording.accept_prob, recording.accepted, exact=False).verdict == verdict


def test_one_rare_rejection_is_no_surprise():
    accept_prob = np.full(10_000, 1.0 - 1e-6)
    accepted = np.ones(10_000, dtype=bool)
    accepted[17] = False
    assert judge.acceptance_check(accept_prob, accepted).verdict == "pass"


def test_acceptance_of_a_right_sampler_passes():
    recording = engine.sample(targets.build("banana"), "hmc", draws=20_000, seed=1, step_size=0.5, steps=8)
    assert judge.acceptance_check(recording.accept_prob, recording.accepted).verdict == "pass"


def test_a_wrong_gradient_and_an_irreversible_map_are_caught():
    def wrong(q, grad, data, ints):
        grad[0] = -q[0] * 1.0001
        return -0.5 * q[0] ** 2

    target = engine.target(wrong, 1)
    assert judge.gradient_check(target, np.array([[0.7], [-1.3]])).verdict == "fail"
    assert judge.gradient_check(targets.build("banana"), np.array([[0.7, 0.1], [-1.3, 2.0]])).verdict == "pass"


def test_marginals_catch_a_truth_that_is_off_by_a_little():
    target = targets.build("gaussian")
    recording = engine.sample(target, "hmc", draws=100_000, seed=1, step_size=0.6, steps=4, jitter=0.2)
    assert checks.marginal_check(recording.draws, target.truth, target.labels).verdict == "pass"
    wide = targets.build("gaussian", scale_ratio=1.02).truth
    off = dataclasses.replace(target.truth, marginals=(target.truth.marginals[0], wide.marginals[1]))
    assert checks.marginal_check(recording.draws, off, target.labels).verdict == "fail"


def test_no_exact_draws_is_unknown_not_a_pass():
    target = targets.build("formula", formula="-x^2/2 - y^2/2")
    target = dataclasses.replace(target, truth=dataclasses.replace(target.truth, draw=None))
    assert checks.invariance_check(target, Hmc(0.3, 5), points=100).verdict == "unknown"
