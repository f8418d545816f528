"""Training: gradient steps by hand, weight decay against ridge and MAP, early stopping, dropout, ensembles."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from sklearn.linear_model import Ridge

import engine
from engine import training
from engine.networks import predictive
from engine.spec import SpecError
from engine.targets.target import TargetError
from engine.training import EnsembleRun, TrainingRun, TrainingSpec, dropout_draws, ensemble, train
from engine.training.nodes import pass_nodes

RNG = np.random.default_rng(7)
X = RNG.uniform(-2, 2, (150, 2))
Y = np.sin(X[:, 0]) + 0.3 * X[:, 1] + 0.2 * RNG.standard_normal(150)
LABELS = (X[:, 0] * X[:, 1] > 0).astype(int)
LINE = engine.network(2, 1, depth=0, likelihood="gaussian", noise_sd=0.5, prior_sd=0.8)
CURVE = engine.network(2, 1, width=4, likelihood="gaussian", noise_sd=0.5)
XOR = engine.network(2, 1, width=3, likelihood="bernoulli")


def mean_gradient(network, theta, rows, y, decay):
    return np.mean([pass_nodes(network, theta, X[i], y[i]).gradient for i in rows], axis=0) + decay * theta


def test_full_steps_are_those_of_the_pass_node_by_node():
    found = train(CURVE, X[:20], Y[:20], optimiser="momentum", step_size=0.01, weight_decay=0.3, epochs=5)
    theta, velocity = found.path[0], 0.0
    for seen in found.path[1:]:
        velocity = 0.9 * velocity - mean_gradient(CURVE, theta, range(20), Y, 0.3)
        theta = theta + 0.01 * velocity
        assert seen == pytest.approx(theta, abs=1e-12)
    assert found.stopped == "epochs" and found.gradient_evaluations == 5.0
    logs = [-predictive.log_likelihood(CURVE, [theta], X[:20], Y[:20])[0] / 20 for theta in found.path]
    assert found.loss == pytest.approx(logs)


def test_minibatches_visit_every_row_once_an_epoch():
    # With steps too small to matter, the moves of an epoch add up to the gradient of all rows, each counted once.
    spec = {"optimiser": "sgd", "step_size": 1e-6, "batch": 32, "epochs": 2}
    found = train(XOR, X, LABELS, every=1, **spec)
    moves = np.diff(found.path, axis=0)[:5] * np.array([32, 32, 32, 32, 22])[:, None]
    assert -moves.sum(axis=0) / 1e-6 / 150 == pytest.approx(mean_gradient(XOR, found.path[0], range(150), LABELS, 0.0), abs=1e-5)
    assert len(found.steps) == 11 and found.gradient_evaluations == 2.0
    assert not np.allclose(np.diff(found.path, axis=0)[0], np.diff(found.path, axis=0)[5], rtol=1e-3)  # shuffled anew


def test_weight_decay_leads_to_ridge_and_to_the_mode():
    decay = training.map_decay(LINE, len(X))
    found = train(LINE, X, Y, optimiser="nesterov", step_size=0.02, weight_decay=decay, epochs=3000, every=3000)
    design = np.hstack([X, np.ones((len(X), 1))])
    exact = np.linalg.solve(design.T @ design / 0.25 + np.eye(3) / 0.64, design.T @ Y / 0.25)
    assert found.theta == pytest.approx(exact, abs=1e-9)
    assert found.theta == pytest.approx(LINE.map_estimate(X, Y, seed=0, starts=1).theta, abs=1e-4)
    assert found.theta == pytest.approx(Ridge(alpha=0.25 / 0.64, fit_intercept=False).fit(design, Y).coef_, abs=1e-9)
    wrong = train(LINE, X, Y, optimiser="nesterov", step_size=0.02, weight_decay=3 * decay, epochs=3000, every=3000)
    assert np.abs(wrong.theta - exact).max() > 1e-3


def test_early_stopping_stops_where_patience_ends():
    settings = {"validation": 0.3, "step_size": 0.1, "seed": 3}
    wide = engine.network(2, 1, width=30, likelihood="gaussian", noise_sd=0.3)
    noisy = RNG.standard_normal(40)
    whole = train(wide, X[:40], noisy, epochs=300, **settings)
    best, end = 0, None
    for look, value in enumerate(whole.held_out):
        if value < whole.held_out[best]:
            best = look
        if look - best == 7:
            end = look
            break
    assert end is not None and end < 300
    found = train(wide, X[:40], noisy, epochs=300, patience=7, **settings)
    assert found.stopped == "patience" and len(found.held_out) == end + 1 and found.best == best
    assert np.array_equal(found.path, whole.path[: end + 1]) and np.array_equal(found.theta, whole.path[best])
    assert len(found.held_out_rows) == 12 and not set(found.rows) & set(found.held_out_rows)
    held = found.held_out_rows
    assert found.held_out[-1] == pytest.approx(-predictive.log_likelihood(wide, found.path[-1:], X[held], noisy[held])[0] / 12)


def masked_gradient(theta, rows, keep, draws):
    """Mean gradient over dropout masks, by a formula of its own: one hidden layer of tanh, gaussian."""
    (w1, b1), (w2, b2) = CURVE.unpack(theta)
    total = np.zeros(CURVE.dim)
    rng = np.random.default_rng(0)
    for i in rows:
        h = np.tanh(w1 @ X[i] + b1)
        mask = (rng.random((draws, 4)) < keep) / keep
        delta = (mask * h @ w2[0] + b2[0] - Y[i]) / 0.25
        back = delta[:, None] * mask * w2[0] * (1 - h**2)
        parts = [(back[:, :, None] * X[i]).reshape(draws, -1), back, delta[:, None] * mask * h, delta[:, None]]
        total += np.hstack(parts).mean(axis=0)
    return total / len(rows)


def test_dropout_has_the_gradient_of_masked_networks():
    theta = CURVE.prior_draws(1, 5)[0]
    steps, step = 40_000, 1e-9
    found = train(CURVE, X[:3], Y[:3], start=theta, optimiser="sgd", step_size=step, keep=0.6, epochs=steps, every=100)
    moves = -np.diff(found.path, axis=0) / step / 100
    error = moves.std(axis=0, ddof=1) / np.sqrt(len(moves))
    wanted = masked_gradient(theta, range(3), 0.6, 400_000)
    assert np.all(np.abs(moves.mean(axis=0) - wanted) < 4.5 * error + 1e-4)
    z = (moves.mean(axis=0) - masked_gradient(theta, range(3), 0.7, 20_000)) / error
    assert np.abs(z).max() > 6  # another probability is seen


def test_dropout_draws_are_masked_networks():
    theta = CURVE.prior_draws(1, 5)[0]
    draws = dropout_draws(CURVE, theta, 0.75, 4000, seed=1)
    ratio = draws[:, 12:16] / theta[12:16]
    assert set(np.round(np.unique(ratio), 9)) == {0.0, round(4 / 3, 9)}
    assert abs(ratio.mean() - 1.0) < 4 * ratio.std() / np.sqrt(ratio.size)
    others = [*range(12), 16]
    assert np.array_equal(draws[:, others], np.tile(theta[others], (4000, 1)))
    assert np.array_equal(dropout_draws(CURVE, theta, 1.0, 2, seed=1), np.tile(theta, (2, 1)))
    deep = engine.network(1, 1, width=2, depth=2, likelihood="gaussian")
    unit, units = training.outgoing_units(deep)
    assert units == 4 and unit.tolist() == [-1] * 4 + [0, 1, 0, 1, -1, -1, 2, 3, -1]


@pytest.mark.parametrize("settings", [{"batch": 32, "optimiser": "adam"}, {"keep": 0.5, "batch": 7, "validation": 0.2}])
def test_pieces_pickles_and_repeats_give_the_same_bytes(settings):
    spec = TrainingSpec(epochs=6, seed=11, **settings)
    whole = TrainingRun(XOR, X, LABELS, spec, every=3)
    whole.advance(whole.total)
    pieces = TrainingRun(XOR, X, LABELS, spec, every=3)
    for piece in (1, 1, 2, 5, 7, 1000):
        pieces.advance(piece)
        pieces = pickle.loads(pickle.dumps(pieces))
    for a, b in zip(vars(whole.trained()).values(), vars(pieces.trained()).values(), strict=True):
        if isinstance(a, np.ndarray):
            assert a.tobytes() == b.tobytes()
    assert not np.array_equal(whole.trained().theta, train(XOR, X, LABELS, **settings, epochs=6, seed=12).theta)


def test_it_stops_when_asked_and_when_it_diverges():
    run = TrainingRun(XOR, X, LABELS, TrainingSpec(epochs=1000), every=10)
    assert run.advance(1000, lambda: True) == 10 and not run.done
    lost = train(LINE, X, Y, optimiser="sgd", step_size=50.0, epochs=1000)
    assert lost.stopped == "diverged" and lost.gradient_evaluations < 1000


def test_ensembles_differ_by_member_and_predict_like_draws():
    run = EnsembleRun(CURVE, X, Y, TrainingSpec(epochs=30, seed=2), members=4)
    for _ in range(1000):
        if not run.advance(11):
            break
    draws = run.draws()
    assert np.array_equal(draws, ensemble(CURVE, X, Y, epochs=30, seed=2, members=4))
    assert draws.shape == (4, CURVE.dim) and len(np.unique(draws[:, 0])) == 4
    bands = predictive.bands(CURVE, draws, X[:5])
    assert bands.epistemic == pytest.approx(predictive.outputs(CURVE, draws, X[:5]).std(axis=0))
    boot = EnsembleRun(CURVE, X, Y, TrainingSpec(epochs=1, validation=0.2), members=2, bootstrap=True)
    for member in boot.trained():
        assert len(np.unique(member.rows)) < len(member.rows)
        assert not set(member.rows) & set(member.held_out_rows)


def test_a_bootstrap_of_lines_has_the_spread_of_least_squares():
    x, y = X[:60], X[:60] @ [1.0, -0.5] + 0.3 + 0.5 * np.random.default_rng(1).standard_normal(60)
    draws = ensemble(LINE, x, y, members=150, bootstrap=True, optimiser="nesterov", step_size=0.02, epochs=400, every=400, seed=1)
    design = np.hstack([x, np.ones((60, 1))])
    fitted, *_ = np.linalg.lstsq(design, y, rcond=None)
    off = y - design @ fitted
    inverse = np.linalg.inv(design.T @ design)
    sandwich = np.sqrt(np.diag(inverse @ (design.T * off**2) @ design @ inverse))
    assert draws.std(axis=0) == pytest.approx(sandwich, rel=4 / np.sqrt(2 * 150) + 0.05)
    assert np.abs(draws.mean(axis=0) - fitted).max() < 5 * sandwich.max() / np.sqrt(150)


@pytest.mark.parametrize(
    ("settings", "named"),
    [
        ({"optimiser": "newton"}, "optimiser"),
        ({"patience": 5}, "patience"),
        ({"keep": 0.0}, "keep"),
        ({"validation": 0.001}, "validation"),
        ({"batches": 3}, "batches"),
        ({"start": [1.0, 2.0]}, "start"),
    ],
)
def test_wrong_settings_are_named(settings, named):
    with pytest.raises(SpecError, match=named):
        train(XOR, X, LABELS, **settings)


def test_wrong_data_are_named():
    with pytest.raises(TargetError, match="label"):
        train(XOR, X, LABELS + 1)
    with pytest.raises(TargetError, match="no rows"):
        train(XOR, X[:0], LABELS[:0])
    with pytest.raises(SpecError, match="keep"):
        dropout_draws(XOR, np.zeros(XOR.dim), 0.0, 1, 0)
