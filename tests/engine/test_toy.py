"""The toy's contract: same spec, same bytes, however the run is cut; parameters are validated by name."""

import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import engine
from engine.jumps import toy
from engine.jumps.toy import ToySpec

SPEC = ToySpec(family="polynomial", models=4, truth=3, chains=2, draws=60, seed=5)


def assert_same(one, other):
    for name in ("model", "theta", "accepted", "start"):
        assert getattr(one, name).tobytes() == getattr(other, name).tobytes(), name
    for mine, theirs in zip(one.ledger or (), other.ledger or (), strict=True):
        assert mine.tobytes() == theirs.tobytes()


@settings(max_examples=15)
@given(cuts=st.lists(st.integers(1, 40), min_size=1, max_size=8))
def test_chunks_do_not_matter(cuts):
    run = toy.begin(SPEC, detail="jumps")
    for cut in cuts:
        run.advance(cut)
    run.advance(run.total)
    assert run.done
    assert_same(run.recording(), toy.record(SPEC, detail="jumps"))


def test_a_pickled_run_goes_on_the_same():
    run = toy.begin(SPEC, detail="jumps")
    run.advance(23)
    run = pickle.loads(pickle.dumps(run))
    run.advance(run.total)
    assert_same(run.recording(), toy.record(SPEC, detail="jumps"))


def test_detail_and_other_chains_do_not_change_a_chain():
    plain, ledger = toy.record(SPEC), toy.record(SPEC.replace(chains=4), detail="jumps")
    assert plain.ledger is None
    assert plain.theta.tobytes() == ledger.theta[:2].tobytes()


def test_a_run_stopped_half_way_shows_what_is_there():
    run = toy.begin(SPEC, detail="jumps")
    assert run.advance(10) == 10 and not run.done
    assert run.recording().model.shape == (2, 10) and run.recording().ledger.factors.shape == (2, 10, 6)
    assert run.advance(1000) == 50 and run.done and run.advance(1) == 0


def test_another_seed_gives_another_run_and_the_same_data():
    other = SPEC.replace(seed=6)
    assert not np.array_equal(toy.record(SPEC).theta, toy.record(other).theta)
    assert np.array_equal(toy.data_of(SPEC).y, toy.data_of(other).y)


def test_start_model_is_where_the_chains_start():
    recording = toy.record(SPEC.replace(start=3), detail="jumps")
    assert np.all(recording.ledger.source[:, 0] == 3)
    np.testing.assert_array_equal(recording.ledger.before[:, 0], recording.start)


def test_shapes_and_padding():
    recording = toy.record(SPEC)
    assert recording.model.shape == (2, 60) and recording.theta.shape == (2, 60, 4)
    np.testing.assert_array_equal(np.isfinite(recording.theta).sum(axis=2), recording.model)
    exact = toy.exact(SPEC)
    assert exact.probability.sum() == pytest.approx(1.0)
    np.testing.assert_array_equal(np.isfinite(exact.mean).sum(axis=1), [1, 2, 3, 4])


@pytest.mark.parametrize(
    "parameter,changes",
    [
        ("family", {"family": "mixture"}),
        ("models", {"models": 2}),
        ("truth", {"models": 3, "truth": 4}),
        ("start", {"models": 3, "truth": 1, "start": 4}),
        ("spread", {"spread": 0.0}),
        ("birth", {"birth": 1.0}),
        ("prior_sd", {"prior_sd": float("nan")}),
        ("variant", {"variant": "right"}),
        ("draws", {"draws": 2_000_000, "chains": 4}),
        ("seed", {"seed": -1}),
    ],
)
def test_wrong_parameters_are_named(parameter, changes):
    with pytest.raises(engine.SpecError) as error:
        SPEC.replace(**changes)
    assert error.value.parameter == parameter


def test_unknown_detail_is_named():
    with pytest.raises(engine.SpecError) as error:
        toy.record(SPEC, detail="everything")
    assert error.value.parameter == "detail"
