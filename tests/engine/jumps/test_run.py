"""Runs over architectures: same bytes in chunks, pickled and replayed; starts, priors, settings, step sizes."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

import engine
from engine.jumps import start_architecture
from engine.jumps.settings import log_size_prior
from tests.engine.networks import reference

NETWORKS = {
    "width": engine.network(2, 2, width=(1, 5)),
    "depth": engine.network(2, 3, width=2, depth=(1, 3)),
    "both": engine.network(2, 1, width=(1, 3), depth=(1, 2), likelihood="gaussian"),
    "bernoulli, relu": engine.network(2, 1, width=(2, 4), likelihood="bernoulli", activation="relu"),
}
X, CLASSES = reference.samples(engine.network(2, 2, width=2), 20, seed=1)
VALUES = np.random.default_rng(2).standard_normal(20)


def start(name, **settings):
    network = NETWORKS[name]
    y = VALUES if network.likelihood == "gaussian" else CLASSES
    defaults = {"chains": 2, "draws": 30, "warmup": 15, "jumps": 2, "seed": 3, "detail": "jumps"}
    return start_architecture(network, X, y, **{**defaults, **settings})


def finished(run, chunk=10**9):
    while not run.done:
        run.advance(chunk)
    return run.recording()


def same(a, b):
    for name in ("draws", "width", "depth", "log_likelihood", "log_density", "precisions", "step_size", "jumped"):
        assert getattr(a, name).tobytes() == getattr(b, name).tobytes(), name
    for x, y in zip(a.ledger, b.ledger, strict=True):
        assert x.tobytes() == y.tobytes()


@pytest.mark.parametrize(
    "name,settings",
    [
        ("width", {}),
        ("width", {"within": "hmc", "jump": "rescaled"}),
        ("width", {"within": "none"}),
        ("width", {"jump": "as_coded"}),
        ("width", {"jump": "palindromic", "jump_moves": 2}),
        ("width", {"jump": "annealed", "bridges": 3}),
        ("width", {"jump": "annealed", "bridges": 2, "within": "none", "jump_step_size": 0.1}),
        ("both", {"jump": "tempered", "bridges": 2, "within": "hmc"}),
        ("width", {"jump": "delayed", "second": "informed"}),
        ("depth", {"jump": "delayed", "within": "none"}),
        ("bernoulli, relu", {"jump": "delayed", "keep_outputs": False}),
        ("depth", {"weight_precision": (2.0, 2.0)}),
        ("both", {"noise_precision": (1.0, 1.0), "scale_by_width": True}),
        ("bernoulli, relu", {}),
    ],
)
def test_chunks_pickling_and_replay_give_the_same_bytes(name, settings):
    whole = finished(start(name, **settings))
    same(whole, finished(start(name, **settings), chunk=1))
    run = start(name, **settings)
    run.advance(20)
    run._chains = pickle.loads(pickle.dumps(run._chains))
    same(whole, finished(run, chunk=7))
    again = engine.replay(whole, chain=1, first=4, count=6)
    assert again.draws[0].tobytes() == whole.draws[1, 4:10].tobytes()
    assert again.ledger.factors[0].tobytes() == whole.ledger.factors[1, 4:10].tobytes()


@pytest.mark.parametrize("jump", ["plain", "as_coded", "palindromic", "annealed"])
def test_the_first_jumps_of_a_sweep_are_made_ahead_of_it(jump):
    run = start("width", jump=jump, jumps=6, draws=3, warmup=0, step_size=0.1)
    few, whole = run.ahead(2), finished(run)
    same(whole, finished(start("width", jump=jump, jumps=6, draws=3, warmup=0, step_size=0.1)))
    for ahead, later in zip(few.ledger, whole.ledger, strict=True):
        np.testing.assert_array_equal(ahead, later[:, :1, :2])


def test_a_chain_does_not_depend_on_the_number_of_chains():
    two, three = finished(start("width")), finished(start("width", chains=3))
    assert two.draws[1].tobytes() == three.draws[1].tobytes()


@pytest.mark.parametrize("name", NETWORKS)
def test_what_is_recorded_of_a_draw_belongs_together(name):
    recording = finished(start(name))
    network, y = NETWORKS[name], VALUES if NETWORKS[name].likelihood == "gaussian" else CLASSES
    for t in range(0, 30, 7):
        at = recording.network(int(recording.width[0, t]), int(recording.depth[0, t]))
        theta = recording.theta(0, t)
        assert not np.isnan(theta).any() and np.isnan(recording.draws[0, t, at.dim :]).all()
        log_likelihood = reference.log_likelihood(at, theta, X, y)
        assert abs(recording.log_likelihood[0, t] - log_likelihood) < 1e-9
        sizes = [high - low + 1 for low, high in (s if isinstance(s, tuple) else (s, s) for s in (network.width, network.depth))]
        prior = reference.log_prior(at, theta) - np.log(sizes).sum()
        assert abs(recording.log_density[0, t] - log_likelihood - prior) < 1e-9
    assert sum(len(group) for group in recording.by_architecture().values()) == recording.width.size
    assert recording.proposed.sum() == 2 * 30 * 2
    assert recording.jumped.sum() == recording.ledger.accepted.sum()
    assert set(recording.jump_accept) <= set(engine.jumps.MOVES)


def test_as_coded_is_a_variant_of_the_plain_jump():
    same(finished(start("width", jump="as_coded")), finished(start("width", variant="as_coded")))


def test_starts():
    chosen = start("width", chains=3, start_width=[5, 1, 3], within="none", warmup=0)
    assert chosen.recording().start_width.tolist() == [5, 1, 3]
    drawn = [start("width", chains=20, within="none", warmup=0, start=s).recording() for s in ("prior", "best")]
    assert len(set(drawn[0].start_width.tolist())) > 2
    assert drawn[1].start_log_density.min() > np.median(drawn[0].start_log_density)
    deep = start("both", chains=2, start_depth=2, within="none", warmup=0).recording()
    assert deep.start_depth.tolist() == [2, 2]


def test_step_sizes_are_frozen_after_the_warm_up():
    recording = finished(start("width", draws=300, warmup=200, chains=1))
    for width in np.unique(recording.width):
        moved_in = np.concatenate([[0], recording.width[0, :-1]]) == width
        # A sweep moves first, in the architecture of the sweep before it, and then jumps.
        before = recording.step_size[0, 1:][moved_in[1:]]
        assert len(before) == 0 or np.ptp(before) == 0.0
    fixed = finished(start("width", step_size=0.07))
    assert np.all(fixed.step_size == 0.07)


def test_size_priors():
    np.testing.assert_allclose(np.exp(log_size_prior("p", "uniform", 3, 6)), 0.25)
    np.testing.assert_allclose(np.exp(log_size_prior("p", ("geometric", 0.5), 1, 3)), np.array([4, 2, 1]) / 7)
    np.testing.assert_allclose(np.exp(log_size_prior("p", ("poisson", 2.0), 1, 3)), np.array([2, 2, 4 / 3]) / (16 / 3))


@pytest.mark.parametrize(
    "parameter,settings",
    [
        ("jump", {"jump": "long"}),
        ("bridges", {"jump": "annealed", "bridges": 65}),
        ("bridge_power", {"jump": "annealed", "bridge_power": 0.0}),
        ("tempering", {"jump": "tempered", "tempering": 1.2}),
        ("jump_moves", {"jump": "annealed", "jump_moves": 0}),
        ("jump_step_size", {"jump": "annealed", "jump_step_size": -1.0}),
        ("jump_step_size", {"jump": "annealed", "within": "none"}),
        ("jump_steps", {"jump": "tempered", "jump_steps": 0}),
        ("second", {"jump": "delayed", "second": "bold"}),
        ("second", {"jump": "delayed", "second": "informed", "keep_outputs": False}),
        ("second_scale", {"jump": "delayed", "second_scale": 0.0}),
        ("within", {"jump": "palindromic", "within": "none"}),
        ("variant", {"jump": "annealed", "variant": "no_kernel_densities"}),
        ("variant", {"jump": "delayed", "variant": "as_coded"}),
        ("variant", {"jump": "annealed", "variant": "no_rejection_terms"}),
        ("within", {"within": "gibbs"}),
        ("variant", {"variant": "right"}),
        ("start", {"start": "worst"}),
        ("start_width", {"start_width": 9}),
        ("start_width", {"start_width": [1]}),
        ("width_prior", {"width_prior": "vague"}),
        ("width_prior", {"width_prior": ("geometric", 1.5)}),
        ("depth_prior", {"depth_prior": ("poisson", 0.0)}),
        ("step_size", {"step_size": 0.0}),
        ("target_accept", {"target_accept": 1.0}),
        ("weight_precision", {"weight_precision": (1.0, 0.0)}),
        ("noise_precision", {"noise_precision": (1.0, 1.0)}),
        ("draws", {"draws": 0}),
        ("draws", {"draws": 10**8}),
        ("jumps", {"jumps": 1.5}),
        ("seed", {"seed": -1}),
        ("detail", {"detail": "transitions"}),
        ("thinning", {"thinning": 2}),
    ],
)
def test_wrong_settings_name_the_parameter(parameter, settings):
    with pytest.raises(engine.SpecError) as error:
        start("width", **settings)
    assert error.value.parameter == parameter


def test_networks_that_cannot_grow_are_refused():
    with pytest.raises(engine.SpecError) as error:
        engine.sample_architecture(engine.network(2, 2, width=2, depth=(0, 2)), X, CLASSES)
    assert error.value.parameter == "depth"
    with pytest.raises(engine.SpecError) as error:
        engine.sample_architecture(engine.network(2, 2, width=2), X, CLASSES)
    assert error.value.parameter == "width"
    with pytest.raises(engine.TargetError):
        engine.sample_architecture(NETWORKS["width"], X[:, :1], CLASSES)
    recording = finished(start("width", detail="draws"))
    with pytest.raises(ValueError, match="jumps"):
        _ = recording.ledger
