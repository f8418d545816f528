"""The public face of variational networks: jobs, predictions, selection, and what is refused."""

import dataclasses
import math
import os
import pickle
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import load_digits
from threadpoolctl import threadpool_info

import engine
from engine import ticket
from engine.networks import predictive
from engine.networks.passes import ACTIVATIONS
from engine.spec import SpecError
from engine.variational import fused, minibatch, network
from engine.variational.dense import Dense
from engine.variational.dropout import Dropout
from engine.variational.minibatch import Shape
from engine.variational.network import METHODS, NetworkSpec, fit_network, start_network
from engine.variational.optimisers import Decaying, ascend
from engine.variational.predict import forward
from engine.variational.selection import connected, select_model
from engine.variational.sparse import SparseLayers, worth_it

RNG = np.random.Generator(np.random.SFC64(2))
X = RNG.normal(size=(120, 3)).astype(np.float32)
Y = (X[:, 0] + 0.5 * X[:, 1] > 0).astype(int)
CASES = [
    ("map", "default"),
    ("gaussian", "local"),
    ("gaussian", "flipout"),
    ("gaussian", "weights"),
    ("mixture", "weights"),
    ("spike_and_slab", "local"),
    ("spike_and_slab", "relaxed"),
    ("spike_and_slab", "score"),
    ("mc_dropout", "default"),
    ("concrete_dropout", "default"),
    ("horseshoe", "default"),
]


@pytest.fixture(scope="module")
def digits():
    """64 pixels from 0 to 1 and the digit, 1,347 to train and 450 to test."""
    data = load_digits()
    order = np.random.Generator(np.random.SFC64(0)).permutation(len(data.target))
    x, y = (data.data[order] / 16.0).astype(np.float32), data.target[order]
    return x[:1347], y[:1347], x[1347:], y[1347:]


def content(run):
    """Everything that training has made of a run, as bytes."""
    fit = run.fit()
    return (
        b"".join(w.tobytes() for w in [*fit.expected_weights(), *fit.draw_weights(3)])
        + getattr(fit.posterior, "dense", fit.posterior).blocks.tobytes()
        + np.asarray(fit.history).tobytes()
    )


@pytest.mark.parametrize(
    "method,estimator,optimiser",
    [*((*case, "adam") for case in CASES), ("gaussian", "local", "decaying"), ("gaussian", "weights", "decaying")],
)
def test_same_bytes_in_any_pieces_on_any_thread_after_pickling(method, estimator, optimiser):
    spec = NetworkSpec(hidden=(5, 4), method=method, estimator=estimator, optimiser=optimiser, epochs=6, batch=50, seed=7)
    whole = start_network(X, Y, spec, snapshots=3)
    assert whole.advance(whole.total) == whole.total == 12
    pieces = start_network(X, Y, spec, snapshots=3)
    pieces.advance(1)
    pieces = pickle.loads(pickle.dumps(pieces))
    thread = threading.Thread(target=pieces.advance, args=(4,))
    thread.start()
    thread.join()
    pieces.fit()
    assert pieces.advance(1000) == 7
    assert pieces.done
    assert content(whole) == content(pieces)
    assert [s for s, _ in whole.snapshots] == [s for s, _ in pieces.snapshots]
    other = start_network(X, Y, spec.replace(seed=8))
    other.advance(12)
    assert content(other) != content(whole)


@pytest.mark.parametrize("method,estimator", [("gaussian", "local"), ("gaussian", "flipout"), ("spike_and_slab", "local")])
def test_two_cores_share_the_products_of_a_large_minibatch_and_the_bytes_are_those_of_one(monkeypatch, method, estimator):
    settings = {"method": method, "estimator": estimator, "hidden": (20, 30, 10), "batch": 50, "epochs": 3, "seed": 3}
    whole = start_network(X, Y, **settings)
    whole.advance(whole.total)
    monkeypatch.setattr(network, "_LARGE", 1)
    monkeypatch.setattr(minibatch, "_SMALL", 50 * 21 * 30)  # one of the products is as large
    shared = []
    each = ticket.each
    monkeypatch.setattr(minibatch.ticket, "each", lambda function, items: shared.append(len(items)) or each(function, items))
    run = start_network(X, Y, **settings)
    run.advance(1)
    assert len(run._works) == 1 and shared.count(2) == 3, "forward, backward, and the step's halves"
    run.advance(run.total)
    assert content(run) == content(whole)


@pytest.mark.parametrize("method,estimator", [c for c in CASES if c[1] != "score"])
def test_every_method_learns(digits, method, estimator):
    x, y, x_test, y_test = digits
    run = start_network(x, y, method=method, estimator=estimator, epochs=40)
    run.advance(run.total)
    fit = run.fit()
    assert fit.predict(x_test, "MA").accuracy(y_test) > 0.9
    assert fit.predict(x_test, "MEAN").accuracy(y_test) > 0.9
    history = fit.history
    assert history.elbo[-1] > history.elbo[0]
    assert history.elbo == pytest.approx(history.energy - history.kl)
    assert 0.8 < history.accuracy[-5:].mean() <= 1.0  # of one draw of the weights each, with many left out
    assert history.step[-1] == run.total


@pytest.mark.parametrize("way", [fused.LOCAL, fused.SAMPLED])
def test_the_decaying_rule_moves_as_its_equation_says(way):
    rng, kl_weight, prior_sd = np.random.default_rng(5), 0.5, 2.0
    q = Dense(Shape((3, 100)), (1.0, prior_sd, 1.0), way)
    mean, sd = rng.normal(size=400), rng.uniform(0.2, 2.0, 400)
    q.set(mean, sd)
    q.draw(fused.key(1, 0, 0))
    rho, rule = fused.inverse_softplus(sd), Decaying(0.3).rule()
    averages = {name: np.zeros(400) for name in ("mean", "rho")}
    for step in range(1, 5):
        g, h = rng.normal(0.0, 30.0, 400), rng.normal(0.0, 30.0, 400)
        w = q.weights[:400].astype(float)
        q.gradient[:400] = g
        if way == fused.LOCAL:
            q.variance_gradient[:400] = h
        data = 2.0 * h * sd if way == fused.LOCAL else g * (w - mean) / sd
        along_sd = data - kl_weight * (sd / prior_sd**2 - 1.0 / sd)
        along_mean = g - kl_weight * mean / prior_sd**2
        q.step(fused.decay(step, 0.3, kl_weight), 0.0, None, fused.key(1, step, 0))
        ascend(rule, step, mean, along_mean, np.zeros(400), averages["mean"])
        ascend(rule, step, rho, along_sd * -np.expm1(-sd), np.zeros(400), averages["rho"])
        sd = np.log1p(np.exp(rho))
        assert q.mean == pytest.approx(mean, abs=1e-4)
        assert q.sd == pytest.approx(sd, abs=1e-4)


@pytest.mark.parametrize("estimator", ["local", "weights"])
def test_the_decaying_rule_learns(digits, estimator):
    x, y, x_test, y_test = digits
    settings = {"method": "gaussian", "estimator": estimator, "final_step_size": 1.0, "epochs": 60}
    fit = fit_network(x, y, optimiser="decaying", step_size=0.1, **settings)
    assert fit.predict(x_test, "MA", samples=50).accuracy(y_test) > 0.92


def test_spike_and_slab_report(digits):
    """Predictions in every mode, density, snapshots and post-training, as the paper's table has them."""
    x, y, x_test, y_test = digits
    run = start_network(x, y, method="spike_and_slab", epochs=100, snapshots=10)
    run.advance(run.total)
    fit = run.fit()
    found = {mode: fit.predict(x_test, mode, samples=10) for mode in ("SM", "MA", "MED", "MEAN")}
    assert found["MED"].density < found["SM"].density < found["MA"].density < found["MEAN"].density
    assert fit.history.density[-1] == pytest.approx(found["SM"].density, abs=0.02)
    ma = found["MA"]
    assert ma.draws.shape == (10, 450, 10)
    assert ma.mean.sum(axis=1) == pytest.approx(np.ones(450), abs=1e-5)
    assert ma.accuracy(y_test) == ma.running_accuracy(y_test)[-1]
    assert ma.accuracy(y_test) > np.median(ma.draw_accuracies(y_test))
    first, *rest = fit.inclusion_probabilities()
    assert first.shape == (65, 50) and rest[0].shape == (51, 10)
    step, layers = run.snapshots[-1]
    assert step == run.total and len(run.snapshots) == 11
    assert layers[0] == pytest.approx(255.0 * first, abs=0.51)
    # pixels that are always empty are of no use: the prior's word is kept, or less
    empty = x.max(axis=0) == 0.0
    assert first[:-1][empty].mean() < 0.2 < first[:-1][~empty].max()

    for mask in ("median", "probabilities"):
        post = run.post_train(mask, epochs=20)
        before = post.fit().inclusion_probabilities()
        post.advance(post.total)
        after = post.fit()
        assert all(np.array_equal(a, b) for a, b in zip(before, after.inclusion_probabilities(), strict=True))
        if mask == "median":
            assert post.selection.density == pytest.approx(found["MED"].density, abs=1e-3)
            prediction = after.predict(x_test, "MED")
            assert prediction.density == pytest.approx(post.selection.density, abs=1e-6)
            assert after.predict(x_test, "MEAN").density == prediction.density
            assert prediction.accuracy(y_test) >= found["MED"].accuracy(y_test)
        else:
            assert after.predict(x_test, "MA").accuracy(y_test) >= ma.accuracy(y_test) - 0.01
    assert not run.post_train("median").done


def test_stronger_priors_are_sparser(digits):
    x, y, *_ = digits
    density = []
    for settings in ({"inclusion_prior": "own", "inclusion": 0.5}, {}, {"inclusion_prior": "bic"}):
        fit = fit_network(x, y, method="spike_and_slab", epochs=60, **settings)
        density.append(fit.history.density[-1])
    assert density[0] > density[1] > density[2]


def test_regression_bands():
    rng = np.random.Generator(np.random.SFC64(4))
    x = rng.uniform(-1, 1, size=(80, 1))
    y = np.sin(3 * x[:, 0]) + 0.1 * rng.normal(size=80)
    fit = fit_network(x, y, method="gaussian", hidden=(30,), activation="tanh", likelihood="gaussian", epochs=1500, batch=80)
    prediction = fit.predict(x, "MA", samples=50)
    assert prediction.rmse(y) < 0.2
    far = fit.predict([[4.0]], "MA", samples=50).draws.std()
    assert far > prediction.draws.std(axis=0).mean()
    assert math.isnan(fit.history.accuracy[-1])
    with pytest.raises(SpecError, match="classes"):
        prediction.accuracy(y)


def test_draws_serve_the_networks_of_the_samplers():
    network = engine.network(3, 2, width=4, depth=2, activation="tanh")
    fit = fit_network(X, Y, method="gaussian", hidden=(4, 4), activation="tanh", epochs=3)
    draws = fit.network_draws(network, 5, seed=1)
    by_engine = predictive.probabilities(network, draws, X)
    ours = fit.predict(X, "MA", samples=5, seed=1).draws
    assert np.asarray(by_engine) == pytest.approx(ours, abs=1e-5)
    with pytest.raises(SpecError, match="network"):
        fit.network_draws(engine.network(3, 2, width=5, depth=2), 5)


def test_stopping_is_quick_and_leaves_a_usable_state():
    rng = np.random.Generator(np.random.SFC64(3))
    x, y = rng.normal(size=(2000, 100)).astype(np.float32), rng.integers(0, 10, 2000)
    run = start_network(x, y, hidden=(100,), epochs=1000)
    run.advance(2)
    looks = []

    def stop():
        looks.append(time.perf_counter())
        return len(looks) == 5

    taken = run.advance(run.total, stop)
    assert len(looks) == 5 and 0 < taken < run.total and run.completed == taken + 2
    assert run.advance(3) == 3
    assert run.fit().predict(x, "MA", stop=lambda: True) is None


def test_a_training_that_nobody_waits_for_gives_way_and_can_go_on():
    """Many small steps, each a little Python: without a look a slider's picture had to wait for all of them."""

    class Gone:
        def is_set(self) -> bool:
            return True

    def begin():
        rng = np.random.Generator(np.random.SFC64(4))
        return start_network(rng.normal(size=(40, 2)), rng.normal(size=(40, 1)), likelihood="gaussian", hidden=(5,), batch=40, epochs=4000)

    run, whole = begin(), begin()
    with ticket.holding(Gone()), pytest.raises(InterruptedError):  # type: ignore[arg-type]
        run.advance(run.total)
    assert 0 < run.completed < run.total / 2
    assert run.completed + run.advance(run.total) == whole.advance(whole.total)
    for ours, theirs in zip(run.fit().draw_weights(1), whole.fit().draw_weights(1), strict=True):
        assert np.array_equal(ours, theirs)


@pytest.mark.parametrize("method", ["gaussian", "mixture", "horseshoe", "spike_and_slab"])
def test_pruning_by_signal_to_noise(digits, method):
    """Standard deviations against draws, and half of the weights are enough."""
    x, y, x_test, y_test = digits
    fit = fit_network(x, y, method=method, epochs=30)
    draws = np.array([np.concatenate([w.reshape(-1) for w in fit.draw_weights(s)]) for s in range(400)])
    sds = fit.posterior.sds()
    wide = sds > np.quantile(sds, 0.5)
    assert np.median(draws.std(axis=0)[wide] / sds[wide]) == pytest.approx(1.0, abs=0.05)
    masks, ratios = fit.prune(0.5), fit.signal_to_noise()
    kept, cut = (np.concatenate([r[m if keep else ~m] for r, m in zip(ratios, masks, strict=True)]) for keep in (True, False))
    assert kept.min() >= cut.max() and ratios[0].shape == (x.shape[1] + 1, 50)
    prediction = fit.predict(x_test, "MEAN", masks=masks)
    assert prediction.density == pytest.approx(0.5, abs=0.01)
    assert prediction.accuracy(y_test) > fit.predict(x_test, "MEAN").accuracy(y_test) - 0.03
    worst = [~m for m in masks]
    assert fit.predict(x_test, "MEAN", masks=worst).accuracy(y_test) < prediction.accuracy(y_test)


# The median model and what to do without one.


def test_median_model_without_a_path():
    first = np.array([[0.9, 0.2], [0.3, 0.1], [0.9, 0.9]])  # two inputs, then biases, to two units
    second = np.array([[0.2, 0.4], [0.9, 0.6], [0.9, 0.1]])  # two units, then biases, to two outputs
    found = select_model([first, second], fallback="none")
    assert not found.feasible and found.connected_outputs == 0 and "no path" in found.note
    # 0.9 then 0.4: odds 0.67; 0.2 then 0.9: odds 0.25
    best = select_model([first, second])
    assert best.masks[1][0, 1] and best.masks[0][0, 0] and best.connected_outputs == 1
    assert sum(m.sum() for m in best.masks) == sum(m.sum() for m in found.masks) + 1
    lower = select_model([first, second], fallback="threshold")
    assert lower.threshold == pytest.approx(0.4) and lower.connected_outputs == 1
    assert select_model([first, second], threshold=0.15).feasible


def test_best_path_against_enumeration():
    rng = np.random.Generator(np.random.SFC64(6))
    for _ in range(20):
        layers = [rng.uniform(0.01, 0.49, size=(n + 1, m)) for n, m in ((3, 4), (4, 2), (2, 3))]
        found = select_model(layers)
        odds = [a / (1 - a) for a in layers]
        best = max(odds[0][i, j] * odds[1][j, k] * odds[2][k, o] for i in range(3) for j in range(4) for k in range(2) for o in range(3))
        chosen = np.prod([o[m].prod() for o, m in zip(odds, found.masks, strict=True)])
        assert chosen == pytest.approx(best)
        assert connected(found.masks).sum() == 1
        widest = select_model(layers, fallback="threshold").threshold
        assert connected([a >= widest for a in layers]).any()
        assert not connected([a > widest for a in layers]).any()


def test_an_infeasible_fit_says_so():
    fit = fit_network(
        X, Y, method="spike_and_slab", hidden=(4,), epochs=300, inclusion_prior="own", inclusion=1e-9, inclusion_step_size=0.2
    )
    assert not fit.select(fallback="none").feasible
    prediction = fit.predict(X, "MED")
    assert "no path" in prediction.note and prediction.density > 0
    flat = fit.predict(X, "MED", fallback="none")
    assert flat.mean == pytest.approx(np.tile(flat.mean[:1], (len(X), 1)))


def test_the_rate_of_inclusion_falls_after_so_many_epochs():
    """Adam's first steps are as long as its step size, and later ones hardly longer."""
    settings = {"hidden": (4,), "epochs": 3, "step_size": 1e-4, "inclusion_step_size": 0.1, "final_step_size": 1.0}
    slow, fast = start_network(X, Y, **settings, inclusion_epochs=2), start_network(X, Y, **settings)
    for run in (slow, fast):
        run.advance(2 * run.steps_per_epoch)
    before = slow.posterior.omega.copy()
    assert np.array_equal(before, fast.posterior.omega)
    for run in (slow, fast):
        run.advance(1)
    steps = [np.abs(run.posterior.omega - before).max() for run in (slow, fast)]
    assert 0.0 < steps[0] < 3e-4 and steps[1] > 1e-2


# What is refused, by name.


@pytest.mark.parametrize(
    "settings,parameter",
    [
        ({"method": "laplace"}, "method"),
        ({"method": "gaussian", "estimator": "score"}, "estimator"),
        ({"method": "map", "estimator": "local"}, "estimator"),
        ({"method": "mixture", "estimator": "flipout"}, "estimator"),
        ({"method": "mc_dropout", "warm_up": 2}, "warm_up"),
        ({"method": "gaussian", "inclusion_epochs": 2}, "inclusion_epochs"),
        ({"method": "mixture", "optimiser": "decaying"}, "optimiser"),
        ({"method": "gaussian", "estimator": "flipout", "optimiser": "decaying"}, "optimiser"),
        ({"hidden": (0,)}, "hidden"),
        ({"hidden": (2.5,)}, "hidden"),
        ({"keep": 0.0}, "keep"),
        ({"widht": 3}, "widht"),
        ({"likelihood": "bernoulli"}, None),
    ],
)
def test_settings_are_checked(settings, parameter):
    if parameter is None:
        start_network(X, Y, **settings)
        return
    with pytest.raises(SpecError) as problem:
        start_network(X, Y, **settings)
    assert problem.value.parameter == parameter


def test_data_are_checked():
    for x, y in ((X[0], Y), (X, Y[:-1]), (X * np.nan, Y), (X, Y - 1), (X, Y + 0.5)):
        with pytest.raises(SpecError):
            start_network(x, y)
    with pytest.raises(SpecError, match="y"):
        start_network(X, 2 * Y, likelihood="bernoulli")
    fit = fit_network(X, Y, method="gaussian", hidden=(2,), epochs=1)
    with pytest.raises(SpecError, match="inputs"):
        fit.predict(X[:, :2])
    with pytest.raises(SpecError, match="mode"):
        fit.predict(X, "MED")
    with pytest.raises(SpecError, match="mode"):
        fit.predict(X, "BEST")
    with pytest.raises(SpecError, match="method"):
        start_network(X, Y, method="gaussian").post_train()
    with pytest.raises(SpecError, match="method"):
        start_network(X, Y, method="horseshoe").gradient_estimates(2)


def test_every_setting_of_the_methods_is_declared():
    assert set(NetworkSpec.declarations()) | {"hidden"} == {field.name for field in dataclasses.fields(NetworkSpec)}
    assert NetworkSpec.declarations()["method"].options == METHODS


# Single precision functions and counted random numbers.


@fused.single_kernel
def _apply(x, out):
    for i in range(x.size):
        out[0, i] = fused.exp(x[i])
        out[1, i] = fused.log(abs(x[i]) + fused.ONE)
        out[2, i] = fused.softplus(x[i])[0]
        out[3, i] = fused.softplus(x[i])[1]
        out[4, i] = fused.tanh(x[i])
        out[5, i] = fused.inverse_root(abs(x[i]))


def test_functions():
    x = np.concatenate([np.linspace(-80, 80, 20001), np.linspace(-1, 1, 2001)]).astype(np.float32)
    x = x[x != 0.0]
    out = np.zeros((6, x.size), dtype=np.float32)
    _apply(x, out)
    wide = x.astype(float)
    exact = [
        np.exp(wide),
        np.log(np.abs(wide) + 1.0),
        np.logaddexp(0.0, wide),
        1.0 / (1.0 + np.exp(-wide)),
        np.tanh(wide),
        np.abs(wide) ** -0.5,
    ]
    for row, (got, true, limit) in enumerate(zip(out, exact, (3e-7, 3e-7, 5e-7, 3e-7, 4e-7, 1e-5), strict=True)):
        scale = np.ones_like(true) if row in (1, 4) else np.abs(true)
        assert np.abs((got - true) / np.maximum(scale, 1e-30)).max() < limit, row


def test_counted_random_numbers():
    from scipy.stats import kstest

    n = 1 << 20
    x, u = np.zeros(n, dtype=np.float32), np.zeros(n, dtype=np.float32)
    fused.normals(x, *fused.key(1, 2, 0))
    fused.uniforms(u, *fused.key(1, 2, 1))
    assert kstest(x.astype(float), "norm").pvalue > 1e-4
    assert kstest(u.astype(float), "uniform").pvalue > 1e-4
    assert u.min() > 0.0 and u.max() < 1.0
    wide = x.astype(float)
    for power, moment in ((1, 0.0), (2, 1.0), (3, 0.0), (4, 3.0)):
        z = ((wide**power).mean() - moment) / (wide**power).std() * math.sqrt(n)
        assert abs(z) < 4, power
    other = np.zeros(n, dtype=np.float32)
    for step, stream in ((3, 0), (2, 1), (2, 2)):
        fused.normals(other, *fused.key(1, step, stream))
        assert abs(np.corrcoef(x, other)[0, 1]) * math.sqrt(n) < 4
        assert abs(np.corrcoef(x[:-1], other[1:])[0, 1]) * math.sqrt(n) < 4
    for lag in (1, 2, 64, 128, 256):
        assert abs(np.corrcoef(x[:-lag], x[lag:])[0, 1]) * math.sqrt(n) < 4, lag
        assert abs(np.corrcoef(x[:-lag] ** 2, x[lag:] ** 2)[0, 1]) * math.sqrt(n) < 4, lag


def test_one_thread_of_linear_algebra():
    """No matrix product may start threads of its own: jobs are threads already."""
    fit_network(X, Y, method="gaussian", hidden=(50,), epochs=1)
    assert {pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"} == {1}


PROGRAM = """
import hashlib
import numpy as np
import engine
from engine.variational.network import ESTIMATORS, METHODS, fit_network

digest, rng = hashlib.sha256(), np.random.Generator(np.random.SFC64(1))
x, y = rng.normal(size=(300, 20)), rng.integers(0, 3, 300)
for method in METHODS:
    for estimator in ESTIMATORS.get(method, ("default",)):
        fit = fit_network(x, y, method=method, estimator=estimator, hidden=(30, 20), epochs=3)
        digest.update(fit.posterior.expected().tobytes() + np.asarray(fit.history).tobytes())
print(digest.hexdigest())
"""


@pytest.mark.long
def test_fresh_and_cached_kernels_agree_to_the_bit(tmp_path):
    environment = os.environ | {"POSTERIOR_LAB_CACHE": str(tmp_path), "PYTHONPATH": str(Path(__file__).parents[3])}
    command = [sys.executable, "-c", PROGRAM]
    runs = [subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout for _ in range(2)]
    assert runs[0] == runs[1] != ""


@pytest.mark.parametrize("method", ["mc_dropout", "concrete_dropout"])
def test_units_that_are_never_dropped_stay_so(method):
    """With keep = 1 dropout is plain training; where keep is learned, its slope there is 0."""
    run = start_network(X, Y, hidden=(5, 4), method=method, keep=1.0, keep_inputs=1.0, epochs=6, batch=50, seed=7)
    run.advance(run.total)
    fit = run.fit()
    assert np.all(fit.posterior.keep == 1.0)
    assert all(np.isfinite(weights).all() for weights in [*fit.expected_weights(), *fit.draw_weights(3)])
    plain = start_network(X, Y, hidden=(5, 4), method="map", epochs=6, batch=50, seed=7)
    plain.advance(plain.total)
    for one, other in zip(fit.expected_weights(), plain.fit().expected_weights(), strict=True):
        assert one == pytest.approx(other, abs=1e-5)


@pytest.mark.parametrize("method,learned", [("mc_dropout", False), ("concrete_dropout", True)])
def test_what_the_odds_of_keeping_decide_is_worked_out_when_they_change(method, learned, monkeypatch):
    worked_out, of_the_prior, walks, walk = [], Dropout._of_the_prior, [], Dropout.walk
    monkeypatch.setattr(Dropout, "_of_the_prior", lambda self: worked_out.append(self.keep) or of_the_prior(self))
    monkeypatch.setattr(Dropout, "walk", lambda self, *arguments: walks.append(self) or walk(self, *arguments))
    run = start_network(X, Y, hidden=(5, 4), method=method, keep=0.8, epochs=6, batch=50, seed=7)
    run.advance(run.total)
    assert len(worked_out) == (len(walks) if learned else 1)
    np.testing.assert_array_max_ulp(run.posterior.keep, 1.0 / (1.0 + np.exp(-run.posterior.logits)), 1)


@pytest.mark.parametrize("scaling", ["inverse", "none"])
@pytest.mark.parametrize("method", ["mc_dropout", "concrete_dropout"])
def test_a_kernel_takes_several_steps_of_dropout_as_single_ones_are_taken(method, scaling, monkeypatch):
    """To the byte: masks, pass, step, and the odds where they are learned; across an epoch's end and a report."""
    settings = {"hidden": (5, 4), "keep": 0.8, "keep_inputs": 0.9, "scaling": scaling, "epochs": 5, "batch": 50, "seed": 7}
    run, single = (start_network(X, Y, method=method, report_every=4, **settings) for _ in range(2))
    run.advance(run.total)
    while not single.done:
        monkeypatch.setattr(network, "Shape", None)  # of no layers that a kernel knows
        single.advance(1)
    for name in ("logits", "_first", "_second", "blocks"):
        assert getattr(run.posterior, name).tobytes() == getattr(single.posterior, name).tobytes()
    assert np.array(run.history()).tobytes() == np.array(single.history()).tobytes()


@pytest.mark.parametrize("samples", [1, 300])
def test_sparse_products_predict_what_dense_ones_do(samples):
    shape, rng = Shape((37, 61, 23, 4)), np.random.Generator(np.random.SFC64(6))
    x = rng.random((samples, 37), dtype=np.float32)
    weights = rng.standard_normal(shape.weights, dtype=np.float32) * (rng.random(shape.weights) < 0.1)
    dense, sparse = (forward(shape, "relu", "softmax", x, weights, sparse=how) for how in (False, True))
    assert sparse == pytest.approx(dense, abs=1e-6)
    layers, sigmoid = SparseLayers(shape, weights), ACTIVATIONS.index("sigmoid")  # whose units are never silent:
    layers._layers[-1][2][-1] += 1.0  # a wrong weight shows
    assert np.abs(layers.forward(sigmoid, x) - shape.forward(sigmoid, x, weights)).max() > 1e-3
    large = Shape((400, 300))
    assert worth_it(large, np.zeros(large.weights)) and not worth_it(large, np.ones(large.weights)) and not worth_it(shape, weights)


@pytest.mark.parametrize("estimator", ["local", "relaxed", "score"])
def test_gates_that_no_data_reach_stay_at_the_prior(digits, estimator):
    """Odds e^-2 are 0.1192: what Hubin and Storvik's pixels that are never inked must keep, and so lift the density."""
    x, y, *_ = digits
    run = start_network(x, y, hidden=(20,), method="spike_and_slab", estimator=estimator, epochs=8, step_size=0.01, final_step_size=0.01)
    shape, q = run.shape, run.posterior
    dead = np.zeros(shape.weights, dtype=bool)
    shape.split(dead)[0][:-1][x.max(axis=0) == 0.0] = True
    assert dead.sum() >= 20 * 3
    q.set(np.where(dead, 0.0, q.mean), np.where(dead, 1.0, q.sd), np.where(dead, q.log_odds, q.omega))
    run.advance(run.total)
    alpha = run.posterior.alpha
    assert alpha[dead].mean() == pytest.approx(0.1192, abs=0.002 if estimator == "local" else 0.01)
    inked = shape.split(alpha)[0][:-1][x.max(axis=0) > 0.0]
    assert abs(inked.mean() - 0.1192) > 0.05, "where data are, they move"
    # ten masks together hold 1 - (1 - 0.1192)^10 = 0.72 of them
    masks = np.array([run.fit().draw_weights(seed)[0] != 0 for seed in range(10)])
    union = masks.any(axis=0)[:-1][x.max(axis=0) == 0.0].mean()
    assert union == pytest.approx(1.0 - (1.0 - 0.1192) ** 10, abs=0.2)
