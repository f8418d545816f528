"""The run contract: same (spec, seed), same bytes, however the run is cut; settings are validated by name."""

import pickle
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import engine
from engine import targets
from engine.samplers import start

METHODS = {
    "metropolis": {"scale": 0.8, "drift": 0.3},
    "delayed_rejection": {"scale": 3.0, "stages": 3, "shrink": 0.4, "pull": 0.3},
    "hmc": {"step_size": 0.3, "steps": 7, "jitter": 0.2},
    "slice_sampling": {"w": 0.6, "interval": "doubling"},
}


@pytest.fixture(scope="module")
def banana():
    return targets.TargetSpec(target="banana").build_target()


def whole(target, method, **overrides):
    arguments = {"chains": 2, "draws": 60, "warmup": 5, "seed": 11, **METHODS[method], **overrides}
    return engine.sample(target, method, **arguments)


@pytest.mark.parametrize("method", METHODS)
@settings(max_examples=15, deadline=None)
@given(cuts=st.lists(st.integers(1, 40), min_size=1, max_size=8))
def test_chunks_do_not_matter(banana, method, cuts):
    run = start(banana, method, chains=2, draws=60, warmup=5, seed=11, **METHODS[method])
    for cut in cuts:
        run.advance(cut)
    run.advance(run.total)
    expected, got = whole(banana, method), run.recording()
    assert run.done
    for name in ("draws", "log_density", "accept_prob", "accepted", "gradient_evaluations", "warmup_gradient_evaluations"):
        assert getattr(expected, name).tobytes() == getattr(got, name).tobytes(), name


@pytest.mark.parametrize("begun", [0, 3, 5, 9])
def test_what_is_left_until_so_many_draws_counts_the_warm_up(banana, begun):
    run = start(banana, "metropolis", chains=2, draws=60, warmup=5, seed=11, **METHODS["metropolis"])
    run.advance(begun)
    assert run.left(20) == 25 - begun
    run.advance(run.left(20))
    assert run.completed == 20 and run.left(20) == run.left(7) == 0


@pytest.mark.parametrize("method", METHODS)
def test_detail_does_not_change_the_draws(banana, method):
    assert whole(banana, method).draws.tobytes() == whole(banana, method, detail="transitions").draws.tobytes()


@pytest.mark.parametrize("method", METHODS)
def test_chain_does_not_depend_on_the_number_of_chains_or_the_thread(banana, method):
    four = whole(banana, method, chains=4)
    with ThreadPoolExecutor(4) as threads:
        again = list(threads.map(lambda _: whole(banana, method, chains=4), range(4)))
    assert whole(banana, method, chains=1).draws[0].tobytes() == four.draws[0].tobytes()
    assert all(recording.draws.tobytes() == four.draws.tobytes() for recording in again)


@pytest.mark.parametrize("method", METHODS)
def test_pickled_chain_goes_on_the_same(banana, method):
    run = start(banana, method, chains=1, draws=60, warmup=5, seed=11, **METHODS[method])
    run.advance(30)
    run._chains = pickle.loads(pickle.dumps(run._chains))
    run.advance(100)
    assert run.recording().draws.tobytes() == whole(banana, method, chains=1).draws.tobytes()


@pytest.mark.parametrize("method", METHODS)
def test_another_seed_gives_another_run(banana, method):
    assert not np.array_equal(whole(banana, method).draws, whole(banana, method, seed=12).draws)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("first,count", [(0, 1), (7, 20), (59, 1)])
def test_replay_repeats_the_transitions_with_their_inside(banana, method, first, count):
    recording = whole(banana, method)
    again = engine.replay(recording, chain=1, first=first, count=count)
    assert again.draws[0].tobytes() == recording.draws[1, first : first + count].tobytes()
    before = recording.start[1] if first == 0 else recording.draws[1, first - 1]
    assert np.array_equal(again.start[0], before)


def test_inside_of_metropolis_explains_each_verdict(banana):
    recording = whole(banana, "metropolis", chains=1, detail="transitions")
    inside = recording.transitions
    before = np.vstack([recording.start[:, None], recording.draws[:, :-1].swapaxes(0, 1)])[:, 0]
    log_before = np.append(recording.start_log_density[0], recording.log_density[0, :-1])
    step = inside.proposal[0] - before
    drift = np.array([0.3, 0.0])
    hastings = (np.sum((step - drift) ** 2, axis=1) - np.sum((step + drift) ** 2, axis=1)) / (2 * 0.8**2)
    np.testing.assert_allclose(inside.log_hastings[0], hastings, atol=1e-12)
    np.testing.assert_allclose(inside.proposal_log_density[0], banana.log_density_many(inside.proposal[0]), rtol=1e-12)
    np.testing.assert_allclose(inside.log_ratio[0], inside.proposal_log_density[0] - log_before + hastings, atol=1e-10)
    np.testing.assert_array_equal(recording.accepted[0], inside.uniform[0] < np.exp(inside.log_ratio[0]))
    np.testing.assert_array_equal(recording.draws[0], np.where(recording.accepted[0][:, None], inside.proposal[0], before))


def test_inside_of_hmc_explains_each_verdict(banana):
    recording = whole(banana, "hmc", chains=1, detail="transitions")
    inside = recording.transitions
    before = np.vstack([recording.start[0][None], recording.draws[0, :-1]])
    np.testing.assert_array_equal(inside.path[0, :, 0], before)
    energy = 0.5 * np.sum(inside.path_momentum[0] ** 2, axis=2) - banana.log_density_many(inside.path[0].reshape(-1, 2)).reshape(60, 8)
    np.testing.assert_allclose(inside.path_energy[0], energy, rtol=1e-10, atol=1e-10)
    np.testing.assert_allclose(inside.energy_error[0], energy[:, -1] - energy[:, 0], atol=1e-9)
    np.testing.assert_allclose(recording.accept_prob[0], np.minimum(1, np.exp(-inside.energy_error[0])), rtol=1e-9)
    np.testing.assert_array_equal(recording.accepted[0], inside.uniform[0] < recording.accept_prob[0])
    np.testing.assert_array_equal(recording.draws[0], np.where(recording.accepted[0][:, None], inside.path[0, :, -1], before))
    assert np.all(np.abs(inside.step_size[0] / 0.3 - 1) <= 0.2) and np.ptp(inside.step_size[0]) > 0


def test_gradient_evaluations_are_all_counted(banana):
    recording = whole(banana, "hmc")
    assert np.all(recording.gradient_evaluations == 7)
    assert np.all(recording.warmup_gradient_evaluations == 1 + 5 * 7)
    assert np.all(whole(banana, "metropolis").warmup_gradient_evaluations == 1 + 5)


@pytest.mark.parametrize(
    "parameter,arguments",
    [
        ("method", {"method": "hcm"}),
        ("chains", {"chains": 0}),
        ("draws", {"draws": 0}),
        ("draws", {"draws": 10**9, "chains": 100}),
        ("warmup", {"warmup": -1}),
        ("seed", {"seed": -1}),
        ("seed", {"seed": 2**32}),
        ("seed", {"seed": 1.5}),
        ("detail", {"detail": "everything"}),
        ("init", {"init": [0.0, 0.0, 0.0]}),
        ("init", {"init": [np.nan, 0.0]}),
        ("scale", {"scale": 0.0}),
        ("scale", {"scale": np.nan}),
        ("scale", {"scale": [1.0, 1.0, 1.0]}),
        ("variant", {"variant": "right"}),
        ("step_size", {"step_size": 0.1}),
        ("faults", {"faults": ()}),
        ("step_size", {"method": "hmc", "step_size": -1.0}),
        ("step_size", {"method": "hmc", "step_size": np.inf}),
        ("steps", {"method": "hmc", "steps": 0}),
        ("steps", {"method": "hmc", "steps": 2.5}),
        ("jitter", {"method": "hmc", "jitter": 1.1}),
        ("mass", {"method": "hmc", "mass": [1.0, -1.0]}),
        ("mass", {"method": "hmc", "mass": [[1.0, 2.0], [2.0, 1.0]]}),
        ("mass", {"method": "hmc", "mass": [[1.0, 0.5], [0.0, 1.0]]}),
        ("integrator", {"method": "hmc", "integrator": "rk4"}),
    ],
)
def test_wrong_settings_name_the_parameter(banana, parameter, arguments):
    arguments = {"method": "metropolis", "draws": 10, **arguments}
    with pytest.raises(engine.SpecError) as error:
        engine.sample(banana, arguments.pop("method"), **arguments)
    assert error.value.parameter == parameter


def test_start_outside_the_support_is_refused():
    def half_line(q, grad, data, ints):
        grad[0] = -1.0
        return -q[0] if q[0] > 0 else -np.inf

    target = engine.target(half_line, 1, at=[1.0])
    with pytest.raises(engine.TargetError, match="inside its support"):
        engine.sample(target, "metropolis", init=[-1.0])
    recording = engine.sample(target, "metropolis", chains=4, draws=200, seed=3)
    assert np.all(recording.draws > 0)


def test_nan_density_is_never_entered():
    def hole(q, grad, data, ints):
        grad[0] = -q[0]
        return np.nan if abs(q[0]) > 1 else -0.5 * q[0] ** 2

    target = engine.target(hole, 1)
    for method, values in (("metropolis", {"scale": 1.0}), ("hmc", {"step_size": 0.5, "steps": 4})):
        recording = engine.sample(target, method, chains=2, draws=2000, seed=1, init=[0.0], **values)
        assert np.all(np.abs(recording.draws) <= 1)
        assert recording.accepted.mean() > 0.1
        assert np.all(recording.accept_prob >= 0)
    assert recording.divergent.any()
