"""The contract of evidence runs: same spec, same bytes, however the run is cut and whatever runs beside it."""

import pickle

import numpy as np
import pytest

import engine
from engine import targets
from engine.evidence import (
    ArchitectureEvidenceRun,
    EvidenceSpec,
    architecture_evidence,
    log_evidence,
    model_probabilities,
    normal_reference,
)
from engine.evidence.annealing import Path, Population
from engine.evidence.pilot import explore
from engine.evidence.run import judged

SPEC = EvidenceSpec(particles=16, islands=4, moves=2, seed=9)
X = np.array([[-0.5, -0.5], [0.5, 0.5], [-0.5, 0.5], [0.5, -0.5]])
Y = np.array([0, 0, 1, 1])
NETWORK = engine.network(2, 2, width=(1, 3))


@pytest.fixture(scope="module")
def whole():
    return architecture_evidence(NETWORK, X, Y, SPEC)


@pytest.mark.parametrize("piece", [1, 3, 100])
def test_pieces_do_not_matter(whole, piece):
    run = ArchitectureEvidenceRun(NETWORK, X, Y, SPEC)
    assert run.total == 3 * (1 + SPEC.islands + SPEC.islands // 2)
    while not run.done:
        run.advance(piece)
    assert run.result().log_evidence.tobytes() == whole.log_evidence.tobytes()
    assert run.result().error.tobytes() == whole.error.tobytes()


def test_an_architecture_does_not_depend_on_the_others(whole):
    alone = architecture_evidence(engine.network(2, 2, width=2), X, Y, SPEC)
    assert alone.log_evidence[0] == whole.log_evidence[1]
    assert architecture_evidence(NETWORK, X, Y, SPEC.replace(seed=10)).log_evidence[1] != whole.log_evidence[1]


@pytest.mark.parametrize("method", ["smc", "ais"])
def test_a_population_goes_on_the_same_after_pickling_and_in_pieces(method):
    target = targets.build("banana")
    reference = normal_reference(2, 0.0, 3.0)
    pilot, seed = np.random.SeedSequence(1).spawn(2)
    path = explore(target, reference, pilot, particles=32, moves=3, overlap=0.5, trajectory=1.0, resample=method == "smc")
    levels = len(path.steps)
    assert path.beta[0] == 0.0 and path.beta[-1] == 1.0 and np.all(np.diff(path.beta) > 0)
    assert path.resample.any() == (method == "smc")
    once = Population.from_reference(target, reference, 32, seed)
    accept = once.advance(target, reference, path, 0, levels, 0)
    pieces = Population.from_reference(target, reference, 32, seed)
    again = []
    for level in range(levels):
        pieces = pickle.loads(pickle.dumps(pieces))
        again.append(pieces.advance(target, reference, path, level, level + 1, 0))
    assert np.concatenate(again).tobytes() == accept.tobytes()
    assert pieces.position.tobytes() == once.position.tobytes()
    assert pieces.log_evidence() == once.log_evidence()


def test_every_second_level_ends_where_the_path_ends_and_resamples_as_often():
    beta = np.array([0.0, 0.1, 0.2, 0.4, 0.7, 1.0])
    resample = np.array([False, True, False, False, True])
    path = Path(beta, resample, np.arange(5.0), np.arange(5), np.arange(5.0)[:, None])
    coarse = path.every_second()
    np.testing.assert_array_equal(coarse.beta, [0.0, 0.1, 0.4, 1.0])
    np.testing.assert_array_equal(coarse.resample, [False, True, True])
    np.testing.assert_array_equal(coarse.steps, [0, 2, 4])
    single = Path(beta[[0, 5]], resample[4:], np.ones(1), np.ones(1, dtype=int), np.ones((1, 1)))
    np.testing.assert_array_equal(single.every_second().beta, single.beta)


def islands(mean, sd, count, seed=1):
    return mean + sd * np.random.Generator(np.random.SFC64(seed)).standard_normal(count)


def test_the_error_of_calm_islands_is_their_relative_spread():
    fine = islands(-90.0, 0.1, 16)
    estimate, error, drift = judged(fine, islands(-90.05, 0.2, 8, seed=2))
    values = np.exp(fine + 90.0)
    assert estimate == pytest.approx(-90.0 + np.log(values.mean()))
    assert error == pytest.approx(values.std(ddof=1) / values.mean() / 4.0, rel=0.05)
    assert abs(drift) < 0.3


def test_one_island_that_decides_is_no_certainty():
    """The relative standard error is at most 1, however heavy an island weighs: the estimate may be nats away."""
    fine = islands(-90.5, 0.3, 16)
    calm = judged(fine, fine[:8])[1]
    fine[0] = -84.0
    assert calm < 0.2 and judged(fine, fine[8:])[1] > 3.0


def test_an_estimate_that_rises_with_the_levels_is_known_no_better_than_it_rose():
    fine = islands(-90.0, 0.2, 16)
    _, error, drift = judged(fine, islands(-91.5, 0.4, 8, seed=2))
    assert error == drift and 1.0 < drift < 2.0
    assert judged(fine, islands(-90.1, 0.4, 8, seed=2))[1] < 0.1
    assert judged(fine, islands(-88.0, 0.4, 8, seed=2))[1] < 0.1, "what falls has lost nothing"
    assert judged(fine, np.full(8, -np.inf))[:2] == judged(fine, fine[:8])[:2], "nothing to compare with"
    assert judged(np.full(16, -np.inf), fine)[:2] == (-np.inf, np.inf)


def test_progress_is_reported_and_a_stop_is_obeyed():
    seen = []
    with pytest.raises(InterruptedError):
        architecture_evidence(NETWORK, X, Y, SPEC, stop=lambda: len(seen) == 3, report=lambda done, total: seen.append((done, total)))
    assert len(seen) == 3 and seen == sorted(seen) and seen[-1][0] < seen[-1][1] == 21


def test_what_is_finished_shows_while_the_rest_runs():
    run = ArchitectureEvidenceRun(NETWORK, X, Y, SPEC)
    assert np.all(np.isnan(run.result().log_evidence))
    with pytest.raises(engine.SpecError):
        run.result().probabilities()
    while np.isnan(run.result().log_evidence[0]):
        run.advance(1)
    assert not run.done and np.isnan(run.result().log_evidence[2])


def test_widths_and_depths_make_a_table():
    found = architecture_evidence(engine.network(2, 2, width=(1, 2), depth=(1, 2)), X, Y, SPEC)
    assert list(zip(found.depth, found.width, strict=True)) == [(1, 1), (1, 2), (2, 1), (2, 2)]
    assert found.probabilities().probability.sum() == pytest.approx(1.0)
    assert all(each.accept.shape == (4, len(each.beta) - 1) for each in found.evidence)


@pytest.mark.parametrize(
    "parameter,changes",
    [
        ("method", {"method": "bridge"}),
        ("particles", {"particles": 1}),
        ("islands", {"islands": 1}),
        ("moves", {"moves": 0}),
        ("overlap", {"overlap": 1.0}),
        ("trajectory", {"trajectory": float("inf")}),
        ("variant", {"variant": "right"}),
        ("seed", {"seed": -1}),
    ],
)
def test_wrong_settings_are_named(parameter, changes):
    with pytest.raises(engine.SpecError) as error:
        SPEC.replace(**changes)
    assert error.value.parameter == parameter


@pytest.mark.parametrize("parameter,reference", [("sd", {"sd": 0.0}), ("mean", {"mean": [1.0, 2.0, 3.0]})])
def test_a_wrong_reference_is_named(parameter, reference):
    with pytest.raises(engine.SpecError) as error:
        log_evidence(targets.build("gaussian"), SPEC, **reference)
    assert error.value.parameter == parameter


def test_a_reference_outside_the_support_is_refused():
    with pytest.raises(engine.TargetError, match="hardly any"):
        log_evidence(targets.normal_gamma(), SPEC, mean=[0.0, -9.0])


@pytest.mark.parametrize(
    "parameter,arguments",
    [
        ("log_evidence", ([],)),
        ("log_evidence", ([1.0, np.nan],)),
        ("error", ([1.0, 2.0], [0.1, 0.1, 0.1])),
        ("error", ([1.0, 2.0], -0.1)),
        ("log_prior", ([1.0, 2.0], 0.1, [0.0])),
    ],
)
def test_wrong_evidences_are_named(parameter, arguments):
    with pytest.raises(engine.SpecError) as error:
        model_probabilities(*arguments)
    assert error.value.parameter == parameter


def test_one_model_is_certain():
    found = model_probabilities([-5.0, -np.inf], [0.1, 0.0])
    np.testing.assert_array_equal(found.probability, [1.0, 0.0])
    np.testing.assert_array_equal(found.error, [0.0, 0.0])


def test_probabilities_are_normalised_and_follow_the_prior(whole):
    flat, steep = whole.probabilities(), whole.probabilities(np.log([0.7, 0.2, 0.1]))
    weights = np.exp(whole.log_evidence - whole.log_evidence.max())
    assert flat.probability == pytest.approx(weights / weights.sum())
    assert steep.probability == pytest.approx(weights * [0.7, 0.2, 0.1] / (weights @ [0.7, 0.2, 0.1]))


def test_groups_of_sizes_have_the_probability_of_their_members_and_its_error(whole):
    log_prior = np.log([0.2, 0.5, 0.3])
    alone = whole.probabilities(log_prior)
    each = whole.group_probabilities([0, 1, 2], log_prior)
    assert np.allclose(each.probability, alone.probability) and np.allclose(each.error, alone.error)
    two = whole.group_probabilities([0, 1, 1], log_prior)
    assert two.probability == pytest.approx([alone.probability[0], alone.probability[1:].sum()])
    assert two.error == pytest.approx([alone.error[0]] * 2)
