"""Is delayed rejection exact with two and three stages, timid or pulled, and is every forgotten factor seen? The ledger
against the formula written a second time.
"""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from scipy.stats import norm

import engine
from engine import judge, targets
from engine.samplers import DelayedRejection
from engine.samplers.delayed_rejection import FACTORS
from tests.exactness.test_samplers import FAMILIES, balance_z, flows

STAGES = {
    "two": {"stages": 2},
    "two, away": {"stages": 2, "shrink": 0.5, "pull": -0.6},
    "three, towards": {"stages": 3, "shrink": 0.5, "pull": 0.4},
    "three": {"stages": 3, "shrink": 0.4},
}
SCALE = {"gaussian": 3.0, "gaussian 10-d": 1.2, "banana": 3.0, "ring": 4.0, "student": 4.0, "formula": 2.5}


def run(name, draws, **settings):
    target = FAMILIES[name].build_target()
    return engine.sample(target, "delayed_rejection", chains=4, draws=draws, warmup=2000, seed=21, **{"scale": SCALE[name], **settings})


def judged(recording, truth=None):
    target = recording.run.target
    return judge.truth_check(recording.draws[:, ::20], truth or target.truth, target.labels)


@pytest.mark.parametrize(
    "name,stages", [*((name, "two") for name in SCALE), *(("gaussian", s) for s in STAGES), *(("banana", s) for s in STAGES)]
)
def test_moments(name, stages):
    check = judged(run(name, 600_000, **STAGES[stages]))
    assert check.verdict == "pass", check.sentence


@pytest.mark.parametrize("stages", STAGES)
def test_forgotten_rejection_terms_are_caught(stages):
    check = judged(run("gaussian", 600_000, variant="no_rejection_terms", **STAGES[stages]))
    assert check.verdict == "fail", check.sentence


def test_a_bias_of_one_per_cent_is_caught():
    recording = run("gaussian", 1_500_000)
    truth = recording.run.target.truth
    off = dataclasses.replace(truth, covariance=truth.covariance * 1.01**2)
    assert judged(recording, off).verdict == "fail"


@pytest.mark.parametrize("stages", STAGES)
def test_detailed_balance_on_a_grid(stages):
    recording = run("gaussian", 200_000, **STAGES[stages])
    assert balance_z(flows(recording, np.array([-1.2, -0.5, 0.0, 0.4, 1.1]))) < 4


@pytest.mark.parametrize(
    "family,variant,expected", [("gaussian", "exact", "pass"), ("banana", "exact", "pass"), ("gaussian", "no_rejection_terms", "fail")]
)
def test_invariance_from_exact_draws(family, variant, expected):
    method = DelayedRejection(3.0, 3, 0.5, 0.4, variant)
    found = judge.proofs(judge.TransitionKernel(judge.Known(FAMILIES[family].build_target()), method), seed=7)
    assert judge.overall(found) == expected, [check.sentence for check in found]


def test_one_stage_is_metropolis():
    target = FAMILIES["banana"].build_target()
    settings = {"chains": 2, "draws": 500, "seed": 3, "scale": 1.4}
    delayed, plain = (
        engine.sample(target, method, **settings, **more) for method, more in (("delayed_rejection", {"stages": 1}), ("metropolis", {}))
    )
    np.testing.assert_array_equal(delayed.draws, plain.draws)


def test_it_accepts_more_of_bold_proposals():
    one, two = (run("gaussian", 50_000, scale=6.0, stages=stages) for stages in (1, 2))
    assert two.accepted.mean() > 2 * one.accepted.mean()
    assert np.all(one.gradient_evaluations == 1)
    assert two.gradient_evaluations.max() == 2


# The ledger against the formulas.


def alpha(points, log_density, scale, shrink, pull, forgetful):
    """log ratio of the last stage of the path `points` (x, y1, ..., ys), and the a's of the stages before it."""
    x, *failed, y = points
    back = [y, *failed[::-1], x]

    def log_q(path):
        """log density of the proposals of a path, all of its stages."""
        total = 0.0
        for i in range(1, len(path)):
            centre = path[0] + (pull * (path[i - 1] - path[0]) if i > 1 else 0.0)
            total += norm.logpdf(path[i], centre, scale * shrink ** (i - 1)).sum()
        return total

    ratio = log_density(y) - log_density(x) + log_q(back) - log_q(points)
    before = []
    for i in range(2, len(points)):
        there, here = (min(1.0, np.exp(alpha(path[:i], log_density, scale, shrink, pull, forgetful)[0])) for path in (back, points))
        before.append(there)
        if not forgetful:
            with np.errstate(divide="ignore"):
                ratio += np.log1p(-there) - np.log1p(-here)
    return ratio, before


@pytest.mark.parametrize("variant", ["exact", "no_rejection_terms"])
@pytest.mark.parametrize("stages", ["two, away", "three, towards"])
def test_ledger_explains_every_transition(stages, variant):
    settings = {"scale": 2.5, "variant": variant, **STAGES[stages]}
    target = targets.build("banana")
    recording = engine.sample(target, "delayed_rejection", chains=1, draws=300, seed=4, detail="transitions", **settings)
    inside, x = recording.transitions, recording.start[0]
    reached = set()
    for t in range(300):
        count = int(inside.stages[0, t])
        reached.add(count)
        for stage in range(count):
            points = [x, *inside.proposal[0, t, : stage + 1]]
            ratio, back = alpha(points, target.log_density, 2.5, settings["shrink"], settings["pull"], variant != "exact")
            np.testing.assert_allclose(inside.log_ratio[0, t, stage], ratio, atol=1e-8)
            if back[:1] == [1.0]:  # the way back has no second stage
                back[1:] = [np.nan] * (len(back) - 1)
            np.testing.assert_allclose(inside.back[0, t, stage, :stage], back, atol=1e-8)
            counted = inside.factors[0, t, stage, : 4 if variant != "exact" else len(FACTORS)]
            assert inside.log_ratio[0, t, stage] == sum(counted.tolist()) or np.isinf(ratio)
            assert inside.proposal_log_density[0, t, stage] == target.log_density(points[-1])
        accepted = inside.uniform[0, t, count - 1] < inside.accept_prob[0, t, count - 1]
        assert recording.accepted[0, t] == accepted
        assert recording.gradient_evaluations[0, t] == count
        assert np.all(np.isnan(inside.proposal[0, t, count:]))
        x = inside.proposal[0, t, count - 1] if accepted else x
        np.testing.assert_array_equal(recording.draws[0, t], x)
    assert reached == set(range(1, settings["stages"] + 1))
