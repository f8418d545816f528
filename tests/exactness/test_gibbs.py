"""Gibbs and variable-at-a-time Metropolis: conditionals against the joint density, moments, invariance, and the
windowed one caught.
"""

import numpy as np
import pytest
from scipy import integrate, stats

import engine
from engine import judge, targets
from engine.diagnostics import ess_mean
from engine.samplers import Gibbs, start
from engine.targets.conjugate import EIGHT_SCHOOLS

TARGETS = {
    "gaussian": targets.gaussian(correlation=0.7, scale_ratio=3.0),
    "gaussian 6-d": targets.gaussian(dimension=6, correlation=-0.5, scale_ratio=4.0),
    "gaussian 1-d": targets.gaussian(dimension=1),
    "normal-gamma": targets.normal_gamma(mean=1.0, kappa=2.0, shape=6.0, rate=4.0),
    # Eight schools in units of 10 points: every coordinate is then of the size of 1, as finite differences want it.
    "hierarchical": targets.hierarchical_normal(
        np.array(EIGHT_SCHOOLS[0]) / 10, np.array(EIGHT_SCHOOLS[1]) / 10, prior_sd=2.0, shape=4.0, rate=1.0
    ),
}
SCALES = {"gaussian": [1.5, 0.5], "normal-gamma": [0.8, 1.0], "hierarchical": [5.0, 1.2, *[1.2] * 8]}


def moments(recording, thin=1):
    target = recording.run.target
    return judge.truth_check(recording.draws[:, ::thin], target.truth, target.labels)


def passes(check):
    assert check.verdict == "pass", check.sentence


def conditional(target, q, coordinate):
    """Frozen scipy distribution of a coordinate at q, through the sampler's own record."""
    recording = engine.sample(target, "gibbs", chains=1, draws=1, seed=1, init=q, detail="transitions")
    inside = recording.transitions
    assert np.isclose(inside.before[0, 0, 0], q[0])
    a, b = inside.parameters[0, 0, coordinate]
    at = np.append(inside.after[0, 0, :coordinate], q[coordinate:])  # the state in which it was asked
    return at, stats.norm(a, b) if inside.conditional[0, 0, coordinate] == 0 else stats.gamma(a, scale=1 / b)


@pytest.mark.parametrize("name", TARGETS)
def test_conditionals_are_slices_of_the_joint_density(name):
    target = TARGETS[name]
    q = np.append(0.7, np.linspace(0.4, 1.1, target.dim - 1))
    for coordinate in range(target.dim):
        at, law = conditional(target, q, coordinate)
        places = law.ppf([0.02, 0.3, 0.5, 0.8, 0.99])
        points = np.tile(at, (5, 1))
        points[:, coordinate] = places
        difference = target.log_density_many(points) - law.logpdf(places)
        np.testing.assert_allclose(difference, difference[0], atol=1e-8)


@pytest.mark.parametrize("name", ["normal-gamma", "hierarchical"])
def test_new_targets(name):
    """Gradient, normaliser and truth: marginals integrate to 1, and exact draws have the stated moments."""
    target = TARGETS[name]
    points = target.truth.draw(np.random.default_rng(1), 20)
    check = judge.gradient_check(target, points)
    assert check.verdict == "pass", check.sentence
    draws = target.truth.draw(np.random.default_rng(2), 200_000)
    z = (draws.mean(axis=0) - target.truth.mean) / np.sqrt(np.diag(target.truth.covariance) / len(draws))
    assert np.max(np.abs(z)) < 4
    np.testing.assert_allclose(np.cov(draws.T), target.truth.covariance, rtol=0.05, atol=0.02 * np.diag(target.truth.covariance).max())
    for j, density in enumerate(target.truth.marginals):
        low, high = draws[:, j].min(), draws[:, j].max()
        x = np.linspace(low, high, 4001)
        assert abs(integrate.simpson(density(x), x=x) - 1) < 1e-3
        assert abs(integrate.simpson(x * density(x), x=x) - target.truth.mean[j]) < 0.01 * np.sqrt(target.truth.covariance[j, j])


def test_normal_gamma_is_normalised():
    target = TARGETS["normal-gamma"]
    total, _ = integrate.dblquad(lambda tau, mu: np.exp(target.log_density([mu, tau])), -6, 8, 1e-9, 12, epsabs=1e-6)
    assert abs(total - 1) < 1e-4


@pytest.mark.parametrize("name", TARGETS)
@pytest.mark.parametrize("scan", ["systematic", "random"])
def test_gibbs_moments(name, scan):
    thin = 4 if name == "hierarchical" else 2
    passes(
        moments(
            engine.sample(TARGETS[name], "gibbs", chains=4, draws=100_000, warmup=100, seed=5, scan=scan, init=np.ones(TARGETS[name].dim)),
            thin,
        )
    )


@pytest.mark.parametrize("name", [name for name, target in TARGETS.items() if target.conditionals.blocked])
def test_blocked_gibbs_moments(name):
    passes(
        moments(
            engine.sample(TARGETS[name], "gibbs", chains=4, draws=50_000, warmup=100, seed=14, block=True, init=np.ones(TARGETS[name].dim)),
            2,
        )
    )


@pytest.mark.parametrize("name", SCALES)
@pytest.mark.parametrize("scan", ["systematic", "random"])
def test_variable_at_a_time_metropolis_moments(name, scan):
    arguments = {"update": "metropolis", "scale": SCALES[name], "scan": scan, "init": np.ones(TARGETS[name].dim)}
    passes(moments(engine.sample(TARGETS[name], "gibbs", chains=4, draws=300_000, warmup=500, seed=7, **arguments), 15))


METHODS = {
    "gibbs": (Gibbs(), "pass"),
    "gibbs, random scan": (Gibbs(scan="random"), "pass"),
    "gibbs, blocked": (Gibbs(block=True), "pass"),
    "variable at a time": (Gibbs(update="metropolis", scale=0.8), "pass"),
    "window": (Gibbs(scale=0.3, variant="window"), "fail"),
    "narrow window": (Gibbs(scale=0.05, variant="window"), "fail"),
}


@pytest.mark.parametrize("name", METHODS)
def test_invariance_from_exact_draws(name):
    method, expected = METHODS[name]
    found = judge.proofs(judge.TransitionKernel(judge.Known(TARGETS["gaussian"]), method), seed=8)
    assert judge.overall(found) == expected, [check.sentence for check in found]


def test_windowed_gibbs_is_too_narrow():
    """The published app's default: grid within 5 steps of 0.3 on a unit normal, always accepted. Truth 1."""
    recording = engine.sample(
        targets.gaussian(correlation=0.0), "gibbs", chains=4, draws=50_000, warmup=100, seed=9, scale=0.3, variant="window"
    )
    assert 0.5 < recording.draws.var() < 0.9
    assert np.all(recording.accept_prob == 1.0)


def test_correlation_kills_mixing_and_blocking_cures_it():
    def effective(correlation, **settings):
        target = targets.gaussian(correlation=correlation)
        return ess_mean(engine.sample(target, "gibbs", chains=4, draws=5000, seed=10, **settings).draws[:, :, 0])

    assert effective(0.99) < 0.05 * effective(0.3)
    assert effective(0.99, block=True) > 15_000
    # The lag-one correlation of systematic Gibbs on a bivariate Gaussian is the squared correlation.
    x = engine.sample(targets.gaussian(correlation=0.9), "gibbs", chains=1, draws=100_000, warmup=100, seed=11).draws[0, :, 0]
    assert abs(np.corrcoef(x[1:], x[:-1])[0, 1] - 0.81) < 0.01


def test_inside_of_a_sweep_explains_it():
    for settings in (
        {},
        {"update": "metropolis", "scale": 0.7},
        {"update": "metropolis", "scan": "random"},
        {"variant": "window", "scale": 0.2},
    ):
        recording = engine.sample(TARGETS["gaussian"], "gibbs", chains=1, draws=200, seed=12, detail="transitions", **settings)
        inside, q = recording.transitions, recording.start[0].copy()
        target = recording.run.target
        for t in range(200):
            for k in range(2):
                j = inside.coordinate[0, t, k]
                assert inside.before[0, t, k] == q[j]
                if settings.get("update") == "metropolis":
                    y = q.copy()
                    y[j] = inside.proposal[0, t, k]
                    ratio = inside.log_ratio[0, t, k]
                    np.testing.assert_allclose(ratio, target.log_density(y) - target.log_density(q), atol=1e-9)
                    accepted = inside.uniform[0, t, k] < np.exp(min(ratio, 0.0))
                    assert inside.after[0, t, k] == (y[j] if accepted else q[j])
                q[j] = inside.after[0, t, k]
            np.testing.assert_array_equal(recording.draws[0, t], q)
            assert abs(recording.log_density[0, t] - target.log_density(q)) < 1e-9


@pytest.mark.parametrize("settings", [{}, {"scan": "random"}, {"block": True}, {"update": "metropolis"}, {"variant": "window"}])
def test_chunks_and_replay_give_the_same_bytes(settings):
    arguments = {"chains": 2, "draws": 60, "warmup": 5, "seed": 13, **settings}
    whole = engine.sample(TARGETS["gaussian"], "gibbs", **arguments)
    run = start(TARGETS["gaussian"], "gibbs", **arguments)
    while not run.done:
        run.advance(7)
    assert run.recording().draws.tobytes() == whole.draws.tobytes()
    assert run.recording().log_density.tobytes() == whole.log_density.tobytes()
    assert engine.replay(whole, chain=1, first=20, count=5).draws[0].tobytes() == whole.draws[1, 20:25].tobytes()


@pytest.mark.parametrize(
    "parameter,settings",
    [
        ("update", {"update": "slice"}),
        ("scan", {"scan": "palindromic"}),
        ("scale", {"scale": 0.0}),
        ("variant", {"variant": "right"}),
        ("block", {"block": True, "scan": "random"}),
        ("block", {"block": True, "update": "metropolis"}),
    ],
)
def test_wrong_settings_name_the_parameter(parameter, settings):
    with pytest.raises(engine.SpecError) as error:
        engine.sample(TARGETS["gaussian"], "gibbs", draws=10, **settings)
    assert error.value.parameter == parameter


def test_unknown_conditionals_are_refused():
    with pytest.raises(engine.SpecError) as error:
        engine.sample(targets.banana(), "gibbs", draws=10)
    assert error.value.parameter == "update"
    with pytest.raises(engine.SpecError) as error:
        engine.sample(TARGETS["normal-gamma"], "gibbs", draws=10, block=True)
    assert error.value.parameter == "block"
    passes(
        moments(engine.sample(targets.banana(), "gibbs", update="metropolis", scale=2.0, chains=4, draws=200_000, warmup=500, seed=3), 10)
    )
