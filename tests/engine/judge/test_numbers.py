"""Numbers are judged rightly where it is hard: heavy tails, chains stuck in a mode, mistakes too small to see."""

import dataclasses

import numpy as np
import pytest

import engine
from engine import judge, targets


def worlds_of(name: str, n: int, seed: int, **parameters):
    """Independent exact draws as four chains, (4, n, dim), with the target."""
    target = targets.build(name, **parameters)
    drawn = target.truth.draw(np.random.Generator(np.random.SFC64(seed)), 4 * n)
    return drawn.reshape(4, n, -1), target


HEAVY = [("student", {"dof": 2.0}), ("student", {"dof": 1.0}), ("funnel", {})]


@pytest.mark.parametrize("name,parameters", HEAVY)
@pytest.mark.parametrize("seed", range(4))
def test_right_draws_pass_on_heavy_tails(name, parameters, seed):
    draws, target = worlds_of(name, 5000, seed, **parameters)
    found = judge.truth_check(draws, target.truth, target.labels)
    assert found.verdict == "pass", found.sentence


@pytest.mark.parametrize("name,parameters", HEAVY)
def test_wrong_draws_fail_on_heavy_tails(name, parameters):
    """A twentieth wider: seen by shares where moments do not exist."""
    draws, target = worlds_of(name, 50_000, 1, **parameters)
    assert judge.truth_check(1.05 * draws, target.truth, target.labels).verdict == "fail"


def test_the_worst_of_many_is_held_against_the_worst_of_many():
    """150 checks of 60 right averages: half of their p-values lie below a half, and none is red."""
    rng = np.random.Generator(np.random.SFC64(3))
    names = [f"number {j}" for j in range(60)]
    p = []
    for _ in range(150):
        drawn = rng.standard_normal((4, 300, 60))
        p.append(judge.averages_check("x", [judge.Average(n, drawn[:, :, j], 0.0) for j, n in enumerate(names)]).p)
    assert abs(np.mean(np.array(p) < 0.5) - 0.5) < 4 * 0.5 / np.sqrt(150) and min(p) > 1e-5


def test_chains_that_start_apart_expose_two_modes():
    """From one common start all chains sit in one mode and agree: their averages are off. From starts far apart nothing
    can be told, and nothing is red.
    """
    target = targets.build("two_modes", separation=10.0)
    settings = {"chains": 4, "draws": 5000, "warmup": 500, "seed": 1, "step_size": 0.3, "steps": 8}
    together = engine.sample(target, "hmc", init=[5.0, 0.0], **settings)
    apart = engine.sample(target, "hmc", init=judge.dispersed_starts(target.truth, 4, 1), **settings)
    found = [judge.truth_check(run.draws, target.truth, target.labels).verdict for run in (together, apart)]
    assert found == ["fail", "unknown"]


def test_averages_of_a_run_that_diverged_prove_nothing():
    target = targets.build("funnel")
    run = engine.sample(target, "hmc", draws=20_000, seed=1, step_size=0.5, steps=8)
    assert run.divergent.any()
    off = dataclasses.replace(target.truth, marginals=tuple(lambda x, f=f: f(x - 1.0) for f in target.truth.marginals))
    quiet = dataclasses.replace(run, draws=worlds_of("funnel", 5000, 2)[0])  # right draws, some transitions divergent
    assert judge.numbers_check(quiet, off).verdict == "unknown"
    calm = dataclasses.replace(quiet, divergent=np.zeros_like(run.divergent))
    assert judge.numbers_check(calm, off).verdict == "fail"


def test_a_family_is_as_red_as_its_worst_times_its_size():
    checks = [judge.Check("a", "pass", 0.0, 1.0, "", p=p) for p in (0.5, 4e-6)]
    assert judge.family(checks).verdict == "fail" and judge.family(checks).p == pytest.approx(8e-6)
    assert judge.family([dataclasses.replace(c, p=2.0 * c.p) for c in checks]).verdict == "pass"
    waiting = judge.unknown("b", "too few draws", kind="numbers")
    assert judge.family([checks[0], waiting]).verdict == "unknown"


@pytest.mark.parametrize("step_size,verdict", [(1.2, "fail"), (0.02, "unknown")])
def test_leaving_out_the_accept_step_is_never_a_pass(step_size, verdict):
    recording = engine.sample(
        targets.build("gaussian", correlation=0.0), "hmc", draws=5000, seed=1, step_size=step_size, steps=8, variant="always_accept"
    )
    assert judge.acceptance_check(recording.accept_prob, recording.accepted, exact=False).verdict == verdict


def test_one_rare_rejection_is_no_surprise():
    accept_prob = np.full(10_000, 1.0 - 1e-6)
    accepted = np.ones(10_000, dtype=bool)
    accepted[17] = False
    assert judge.acceptance_check(accept_prob, accepted).verdict == "pass"


def test_acceptance_of_a_right_sampler_passes():
    recording = engine.sample(targets.build("banana"), "hmc", draws=20_000, seed=1, step_size=0.5, steps=8)
    assert judge.acceptance_check(recording.accept_prob, recording.accepted).verdict == "pass"


def test_a_wrong_gradient_is_caught():
    def wrong(q, grad, data, ints):
        grad[0] = -q[0] * 1.0001
        return -0.5 * q[0] ** 2

    target = engine.target(wrong, 1)
    assert judge.gradient_check(target, np.array([[0.7], [-1.3]])).verdict == "fail"
    assert judge.gradient_check(targets.build("banana"), np.array([[0.7, 0.1], [-1.3, 2.0]])).verdict == "pass"


def test_shares_catch_a_marginal_that_is_off_by_a_little():
    target = targets.build("gaussian")
    recording = engine.sample(target, "hmc", draws=100_000, seed=1, step_size=0.6, steps=4, jitter=0.2)
    truth = dataclasses.replace(target.truth, heavy_tails=True)  # shares alone
    assert judge.truth_check(recording.draws, truth, target.labels).verdict == "pass"
    wide = targets.build("gaussian", scale_ratio=1.02).truth
    off = dataclasses.replace(truth, marginals=(truth.marginals[0], wide.marginals[1]))
    assert judge.truth_check(recording.draws, off, target.labels).verdict == "fail"


def test_no_exact_draws_is_no_kernel_to_judge():
    target = targets.build("formula", formula="-x^2/2 - y^2/2")
    target = dataclasses.replace(target, truth=dataclasses.replace(target.truth, draw=None))
    recording = engine.sample(target, "hmc", draws=100, seed=1, step_size=0.3, steps=5)
    assert judge.kernel_of(recording) is None and judge.judge(recording).kernel.verdict == "unknown"
