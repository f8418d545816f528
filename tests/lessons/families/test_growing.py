"""What lessons on growing networks share: exact probabilities kept and shared, shares of draws, pictures, ledgers."""

from __future__ import annotations

import threading

import numpy as np
import pytest

import datasets
import engine
from app.kit.player.scene import Phase, Scene, decode
from engine.evidence import EvidenceSpec, ModelProbabilities, architecture_evidence
from engine.jumps import FACTORS, start_architecture
from engine.jumps.shares import running_shares, shares
from lessons.families.growing.chains import advanced
from lessons.families.growing.drawn import drawn_networks, network_panel
from lessons.families.growing.evidence import DEEP_MOVES, finished_evidence, shared_evidence
from lessons.families.growing.ledger import SHORT, accept_table, jumps_of, ledger_panel, ledger_words, merged_slots
from lessons.families.growing.sizes import HELD, size_figure, size_panel, size_traces

SMALL = EvidenceSpec(particles=32, islands=4)
X, Y, _ = datasets.xor(2, seed=1)
NETWORK = engine.network(2, 2, width=(1, 3), temper=0.5)


@pytest.fixture(scope="module")
def recording():
    return engine.sample_architecture(NETWORK, X, Y, chains=2, draws=50, seed=1, within="none", detail="jumps")


def scene(steps: int) -> Scene:
    return Scene(run="test", steps=steps, label="A test.")


# The exact answer -----------------------------------------------------------------------------------------------------


def test_evidence_is_the_engines_and_is_computed_once():
    assert finished_evidence(NETWORK, X, Y, spec=SMALL) is None
    pieces = []
    found = shared_evidence(NETWORK, X, Y, spec=SMALL, report=lambda done, total: pieces.append((done, total)))
    right = architecture_evidence(NETWORK, X, Y, SMALL)
    assert np.array_equal(found.log_evidence, right.log_evidence) and np.array_equal(found.error, right.error)
    assert pieces[-1][0] == pieces[-1][1] and len(pieces) > 1
    again = shared_evidence(NETWORK, X, Y, spec=SMALL, report=lambda *_: pytest.fail("computed anew"))
    kept = finished_evidence(NETWORK, X, Y, spec=SMALL)
    assert np.array_equal(again.log_evidence, found.log_evidence) and kept is not None
    assert finished_evidence(NETWORK, X + 1, Y, spec=SMALL) is None, "other data, other evidence"


def test_deep_networks_get_more_levels():
    """Fewer miss what is hard to find, see `DEEP_MOVES`."""
    levels = {}
    for depth in (1, (1, 2)):
        found = shared_evidence(engine.network(2, 2, width=2, depth=depth), X, Y, spec=SMALL)
        levels[depth] = len(found.evidence[0].beta) - 1
    assert levels[1] % SMALL.moves == 0 and levels[(1, 2)] % DEEP_MOVES == 0
    assert levels[(1, 2)] > 2 * levels[1]


def test_a_stopped_job_leaves_its_pieces_to_the_next():
    stop, first, second = threading.Event(), [], []

    def once(done, total):
        first.append(done)
        stop.set()

    other = Y[::-1].copy()
    with pytest.raises(InterruptedError):
        shared_evidence(NETWORK, X, other, spec=SMALL, cancel=stop, report=once)
    shared_evidence(NETWORK, X, other, spec=SMALL, report=lambda done, total: second.append(done))
    assert len(first) == 1 and second[0] > first[0]


# Draws ----------------------------------------------------------------------------------------------------------------


def test_the_draws_after_the_burn_in():
    run = start_architecture(NETWORK, X, Y, chains=2, draws=7, within="none", detail="jumps")
    whole = advanced(run)
    late = whole.after(3)
    assert np.array_equal(late.width, whole.width[:, 3:]) and late.precisions.shape[1] == 4
    assert np.array_equal(late.start, whole.start, equal_nan=True) and late.transitions is None
    stop = threading.Event()
    stop.set()
    with pytest.raises(InterruptedError):
        advanced(start_architecture(NETWORK, X, Y, chains=2, draws=7, within="none"), stop)


# Pictures -------------------------------------------------------------------------------------------------------------


def test_the_size_panel_shows_draws_and_exact_error_bars():
    rows = running_shares(np.array([[1, 2, 2], [3, 3, 2]]), 1, 3)
    exact = ModelProbabilities(np.array([0.2, 0.5, 0.3]), np.array([0.01, 0.02, 0.03]))
    made = scene(3)
    size_panel(made, rows, 1, exact=exact)
    header, arrays = decode(made.encode())
    bars, error_bars, points = header["panels"][0]["layers"]
    assert arrays[bars["values"]] == pytest.approx(rows)
    assert arrays[points["points"]] == pytest.approx(np.stack([[1, 2, 3], exact.probability], axis=1))
    segments = arrays[error_bars["points"]].reshape(3, 3, 2)
    assert segments[:, 1, 1] - segments[:, 0, 1] == pytest.approx(2 * HELD * exact.error)
    assert np.isnan(segments[:, 2]).all()
    vague = scene(3)
    size_panel(vague, rows, 1, exact=ModelProbabilities(exact.probability, np.full(3, 0.4)))
    header, arrays = decode(vague.encode())
    reached = arrays[header["panels"][0]["layers"][1]["points"]].reshape(3, 3, 2)[:, :2, 1]
    assert reached[:, 0] == pytest.approx(0.0) and reached[:, 1] == pytest.approx(1.0), "no bar leaves [0, 1]"
    assert header["panels"][0]["x"]["low"] == 0.5 and header["panels"][0]["x"]["high"] == 3.5, "bars meet their ticks"


def test_the_size_figure_says_what_it_shows():
    drawn = shares(np.random.default_rng(3).choice([1, 2], size=(2, 500)), 1, 2)
    exact = ModelProbabilities(np.array([0.5, 0.5]), np.array([0.01, 0.01]))
    made = size_figure("Shares", drawn, 1, exact=exact, prior=np.array([0.5, 0.5]))
    assert f"1: {drawn.mean[0]:.3f}" in made.alt and "Exact: 1: 0.500" in made.alt
    assert {trace.name for trace in made.figure.data} == {"jumps", "prior", "exact (annealing)"}


def test_traces_set_the_shown_chain_apart():
    made = scene(4)
    values = np.arange(48.0).reshape(12, 4)
    size_traces(made, np.arange(1.0, 5.0), values, id="k", title="k", y=made_axis(), shown=3)
    header, arrays = decode(made.encode())
    layers = header["panels"][0]["layers"]
    assert len(layers) == 12 and layers[-1]["role"] == "ink" and layers[-1]["label"] == "chain 4, on the stage"
    assert arrays[layers[-1]["ys"]] == pytest.approx(values[3])
    looks = [(layer["role"], layer["dash"]) for layer in layers]
    assert len(set(looks)) == 12, "no two chains look the same"


def made_axis():
    from app.kit.player.scene import Axis

    return Axis("k", 0, 50)


# The ledger -----------------------------------------------------------------------------------------------------------


def test_jumps_are_the_ledgers_rows(recording):
    jumps = jumps_of(recording, 1, [3, 7, 20])
    ledger = recording.ledger
    assert np.array_equal(jumps.log_ratio, ledger.log_ratio[1, [3, 7, 20], 0])
    assert np.array_equal(jumps.birth, ledger.move[1, [3, 7, 20], 0] == 0)
    assert np.array_equal(jumps.after - jumps.before, np.where(jumps.birth, 1, -1))
    settled = np.where(jumps.accepted, jumps.after, jumps.before)
    assert np.array_equal(settled, recording.width[1, [3, 7, 20]])


def test_the_ledger_adds_up_on_screen(recording):
    jumps = jumps_of(recording, 0)
    made = scene(50)
    ledger_panel(made, jumps.factors, reach=1000.0)
    ledger_words(made, jumps)
    header, arrays = decode(made.encode())
    bars = header["panels"][0]["layers"][0]
    assert bars["labels"] == [*SHORT.values(), "log r"] and list(SHORT) == list(FACTORS)
    drawn = arrays[bars["values"]]
    assert drawn[:, :-1].sum(axis=1) == pytest.approx(drawn[:, -1], abs=1e-4)
    assert drawn[:, -1] == pytest.approx(jumps.log_ratio, abs=1e-4)
    decision = next(line for line in header["readouts"] if line["id"] == "decision")
    alpha = arrays[decision["values"]["alpha"]["array"]]
    assert np.array_equal(jumps.uniform < alpha, jumps.accepted)


def test_long_bars_go_on_and_say_their_length(recording):
    made = scene(2)
    ledger_panel(made, np.array([[1.0, -2.0], [5000.0, -np.inf]]), names=["a", "b"], reach=3.0)
    header, arrays = decode(made.encode())
    drawn = arrays[header["panels"][0]["layers"][0]["values"]]
    assert drawn[0] == pytest.approx([1.0, -2.0, -1.0]) and drawn[1].tolist() == [5000.0, -np.inf, -np.inf]
    assert header["panels"][0]["y"]["high"] == 3.0, "the axis stays as it is; the player draws an arrow head"


def test_acceptance_is_told_by_move(recording):
    table = accept_table(recording)
    assert table["move"] == ["neuron birth", "neuron death"]
    assert sum(table["proposed"]) == 100
    assert table["accepted"] == [int(n) for n in recording.jumped.sum(axis=(0, 1))[:2]]
    assert table["accepted (%)"] == pytest.approx([100 * v for v in recording.jump_accept.values()])


def test_slots_are_merged_without_loss(recording):
    jumps = jumps_of(recording, 0)
    factors, names = merged_slots(jumps)
    assert factors.sum(axis=1) == pytest.approx(jumps.log_ratio) and len(names) == factors.shape[1] == len(FACTORS) - 1


# The network ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("ranges", [{"width": (1, 5)}, {"width": 3, "depth": (1, 4)}, {"width": (1, 3), "depth": (1, 3)}])
def test_the_network_of_a_jump_is_the_larger_one(ranges):
    network = engine.network(2, 2, **ranges)
    found = engine.sample_architecture(network, X, Y, chains=1, draws=300, seed=1, within="none", detail="jumps")
    sweeps = np.arange(1, 300)
    jumps = jumps_of(found, 0, sweeps)
    drawn = drawn_networks(found, 0, sweeps, jumps)
    hidden = slice(2, sum(drawn.sizes) - 2)
    for i, t in enumerate(sweeps):
        after, before = (int(found.width[0, s]) * int(found.depth[0, s]) for s in (t, t - 1))
        assert drawn.active[i, hidden].sum() == after and drawn.before[i, hidden].sum() == before
        weights = drawn.weights[i][np.isfinite(drawn.weights[i])]  # in the order of the larger network's parameters
        thetas = [found.theta(0, int(s)) for s in (t, t - 1)]  # nothing moves between the jumps here
        for theta in thetas:
            assert np.isin(theta, weights).all()
        if jumps.accepted[i]:
            assert np.array_equal(max(thetas, key=len), weights)


def test_the_network_panel_fades_from_before_to_after(recording):
    made = Scene(run="test", steps=50, label="A test.", phases=[Phase("propose"), Phase("decide")])
    drawn = drawn_networks(recording, 0, np.arange(50), jumps_of(recording, 0))
    network_panel(made, drawn, phase="propose")
    header, arrays = decode(made.encode())
    layer = header["panels"][0]["layers"][0]
    assert layer["sizes"] == [2, 3, 2] and layer["phase"] == 0
    assert (arrays[layer["active"]][:, 2:5].sum(axis=1) == recording.width[0]).all()
    assert np.array_equal(arrays[layer["before"]] != arrays[layer["active"]], changed_where_accepted(drawn))


def changed_where_accepted(drawn):
    return (drawn.before != drawn.proposed) & (drawn.active == drawn.proposed)
