"""Convolutional variational networks: forward and backward against their definition in double precision, what the
divergence counts, bytes that do not hang on the pieces, and what a convolution keeps of a moved image.
"""

import pickle
import threading

import numpy as np
import pytest

from datasets.images import digits
from engine.spec import SpecError
from engine.variational import convolution_pass, fused, minibatch, network
from engine.variational.convolution import (
    STEYN,
    ConvolutionSpec,
    correlate,
    equivariance_gap,
    feature_maps,
    fit_convolution,
    max_pool,
    shifted,
    stages_of,
    start_convolution,
)
from engine.variational.network import start_network

RNG = np.random.Generator(np.random.SFC64(3))
IMAGES = RNG.random((7, 7, 7, 2)).astype(np.float32)
LABELS = np.array([0, 1, 2, 0, 1, 2, 0])
SHAPE = {"filters": (3, 4), "kernel": 3, "hidden": (5,), "initial_sd": 0.1, "batch": 7, "epochs": 2, "seed": 4}


def noise_of(run, step):
    """The normal draws of a local pass over all images: of every stage, then of the dense layers."""
    index, found = 0, []
    for stage in run.shape.stages:
        size = stage.places**2 * stage.filters
        draws = np.zeros(fused.padded(len(IMAGES) * size), np.float32)
        convolution_pass._normals(draws, index, *fused.key(run.spec.seed, step, 3))
        found.append(draws[: len(IMAGES) * size].reshape(len(IMAGES), stage.places, stage.places, -1))
        index += len(IMAGES) * -(-size // fused.BLOCK)
    dense = np.zeros_like(run._works[0].spread)
    fused.normals(dense, *fused.key(run.spec.seed, step, 2))
    for width in run.shape.sizes[1:]:
        found.append(dense[: len(IMAGES) * width].reshape(len(IMAGES), width))
        dense = dense[len(IMAGES) * width :]
    return found


def log_likelihood(run, means, variances=None, noise=None):
    """By definition, in double precision; where there are variances, pre-activations are drawn with this noise."""
    h, layers, spreads = IMAGES.astype(float), run.shape.split(means), variances is not None and run.shape.split(variances)
    for number, layer in enumerate(layers):
        convolves = number < len(run.shape.stages)

        def through(values, weights, number=number, convolves=convolves):
            if convolves:
                return correlate(values, weights, 3, run.shape.stages[number].pad)
            flat = values.reshape(len(values), -1)
            return flat @ weights[:-1] + weights[-1]

        z = through(h, layer)
        if spreads:
            z = z + np.sqrt(through(h**2, spreads[number]) + minibatch.FLOOR) * noise[number]
        if convolves:
            z = max_pool(z, run.shape.stages[number].pool)
        h = np.maximum(z, 0.0) if number < len(layers) - 1 else z
    return float((h - np.log(np.exp(h).sum(axis=1, keepdims=True)))[np.arange(len(h)), LABELS].sum())


def gap(found, function, at):
    """Largest error of a gradient at 40 coordinates of every part, in units of its largest entry."""
    chosen = np.unique(np.linspace(0, len(at) - 1, 160).astype(int))
    true = []
    for i in chosen:
        step = np.zeros(len(at))
        step[i] = 1e-6 * max(1.0, abs(at[i]))
        true.append((function(at + step) - function(at - step)) / (2 * step[i]))
    return float(np.abs(found[chosen] - true).max() / np.abs(true).max())


def passed(**settings):
    """A run with its gradient after one pass over all images."""
    run = start_convolution(IMAGES, LABELS, **(SHAPE | settings))
    run._pass(np.arange(len(IMAGES)), 1)
    return run


@pytest.mark.parametrize(
    "settings", [{"padding": "same"}, {"padding": "valid", "pool": 1}, {"padding": "same", "pool": 3, "filters": (3,)}]
)
def test_gradient_of_drawn_weights(settings):
    run = passed(estimator="weights", **settings)
    q, n = run.posterior, run.shape.weights
    drawn = q.weights[:n].astype(float)
    assert gap(q.gradient[:n], lambda w: log_likelihood(run, w), drawn) < 1e-5


@pytest.mark.parametrize("padding", ["same", "valid"])
def test_gradient_of_local_reparameterisation(padding):
    run = passed(estimator="local", padding=padding, pool=2 if padding == "same" else 1)
    q, n = run.posterior, run.shape.weights
    noise = noise_of(run, 1)
    means, variances = q.weights[:n].astype(float), q.variances[:n].astype(float)
    assert gap(q.gradient[:n], lambda w: log_likelihood(run, w, variances, noise), means) < 1e-5
    assert gap(q.variance_gradient[:n], lambda v: log_likelihood(run, means, v, noise), variances) < 1e-4  # of roots


def turned(run, means, deviations, signs):
    """Log likelihood by definition where every image has weights of its own, means + deviations s r'."""
    total, layers, parts = 0.0, run.shape.split(means), run.shape.split(deviations)
    for image, label, turns in zip(IMAGES.astype(float), LABELS, signs, strict=True):
        h = image[None]
        for number, (mean, part, (s, r)) in enumerate(zip(layers, parts, turns, strict=True)):
            weights = mean + part * np.outer(s, r)
            if number < len(run.shape.stages):
                stage = run.shape.stages[number]
                h = max_pool(correlate(h, weights, stage.kernel, stage.pad), stage.pool)
            else:
                h = h.reshape(1, -1) @ weights[:-1] + weights[-1]
            h = np.maximum(h, 0.0) if number < len(layers) - 1 else h
        total += float(h[0, label] - np.log(np.exp(h).sum()))
    return total


def signs_of(run, step=1):
    """Of every image and layer in the last pass, that of `step`: signs of the inputs, bias last, and of the outputs."""
    work, m = run._works[0], len(IMAGES)
    by_layer, at = [], 0
    for stage in run.shape.stages:
        middle, end = at + m * stage.columns, at + m * (stage.columns + stage.filters)
        by_layer.append((work.turns[at:middle].reshape(m, -1), work.turns[middle:end].reshape(m, -1)))
        at = end
    outputs = np.zeros_like(work.spread)
    fused.signs(outputs, *fused.key(run.spec.seed, step, 2))
    for inputs, width in zip(work.by_layer(work.signs), run.shape.sizes[1:], strict=True):
        by_layer.append((inputs, outputs[: m * width].reshape(m, width)))
        outputs = outputs[m * width :]
    return [[(s[i].astype(float), r[i].astype(float)) for s, r in by_layer] for i in range(m)]


@pytest.mark.parametrize("padding", ["same", "valid"])
def test_gradient_of_flipout(padding):
    """Every image sees one draw, at all places; with the signs of another pass the gradient is another one."""
    run = passed(estimator="flipout", padding=padding, pool=2 if padding == "same" else 1)
    q, n, signs = run.posterior, run.shape.weights, signs_of(run)
    assert {abs(float(value)) for turns in signs for pair in turns for value in np.concatenate(pair)} == {1.0}
    means, deviations = q.weights[:n].astype(float), q.variances[:n].astype(float)
    assert gap(q.gradient[:n], lambda w: turned(run, w, deviations, signs), means) < 1e-5
    assert gap(q.variance_gradient[:n], lambda d: turned(run, means, d, signs), deviations) < 1e-5
    gradients = q.gradient[:n].copy(), q.variance_gradient[:n].copy()
    run._pass(np.arange(len(IMAGES)), 2)
    assert gap(gradients[0], lambda w: turned(run, w, deviations, signs_of(run, 2)), means) > 0.01
    assert gap(gradients[1], lambda d: turned(run, means, d, signs_of(run, 2)), deviations) > 0.01


@pytest.mark.parametrize("variant", ["flipped", "padding"])
def test_a_wrong_backward_pass_is_caught(variant):
    run = passed(estimator="weights", padding="same", variant=variant)
    q, n = run.posterior, run.shape.weights
    assert gap(q.gradient[:n], lambda w: log_likelihood(run, w), q.weights[:n].astype(float)) > 0.01


def test_the_divergence_counts_a_filter_once():
    exact, wrong = (start_convolution(IMAGES, LABELS, variant=v, **SHAPE) for v in ("exact", "places"))
    mean, sd = exact.posterior.mean.astype(float), exact.posterior.sd.astype(float)
    each = 0.5 * (mean**2 + sd**2) - 0.5 - np.log(sd)
    by_layer = [part.sum() for part in exact.shape.split(each)]
    assert exact.fit().kl_by_layer() == pytest.approx(by_layer, rel=1e-5)
    assert exact._kl() == pytest.approx(sum(by_layer), rel=1e-5)
    places = [stage.places**2 for stage in exact.shape.stages]
    assert wrong._kl() == pytest.approx(sum(by_layer) + sum((p - 1) * k for p, k in zip(places, by_layer, strict=False)), rel=1e-5)

    # the same in the gradient: of the means it is that of the likelihood less the mean
    n = exact.shape.weights
    found, counted = (run.gradient_estimates(1, 1)[0][:n] for run in (exact, wrong))
    likelihood = exact.posterior.gradient[:n]
    assert found == pytest.approx(likelihood - mean, abs=1e-4)
    first = exact.shape.split(np.arange(n))[0].ravel()
    assert counted[first] * places[0] == pytest.approx(likelihood[first] - places[0] * mean[first], abs=1e-2)
    assert np.abs(counted * places[0] - found)[first].max() > 1.0


def test_minibatches_add_up_to_the_whole():
    run = start_convolution(
        np.concatenate([IMAGES, IMAGES])[:12], np.tile(LABELS, 2)[:12], **(SHAPE | {"batch": 4, "estimator": "weights"})
    )
    n, parts, energies = run.shape.weights, [], []
    for begin in (0, 4, 8):
        energies.append(run._pass(np.arange(begin, begin + 4), 1)[0])
        parts.append(run.posterior.gradient[:n].astype(float))
    run._works = run._workspaces(12)
    energy, _ = run._pass(np.arange(12), 1)
    whole = run.posterior.gradient[:n]
    assert np.mean(energies) == pytest.approx(energy, rel=1e-5)
    assert np.abs(np.mean(parts, axis=0) - whole).max() < 1e-5 * np.abs(whole).max()
    assert np.abs(np.mean(parts, axis=0) / 3 - whole).max() > 0.1 * np.abs(whole).max()  # n / B forgotten


@pytest.mark.parametrize(
    "method,estimator",
    [("gaussian", "local"), ("gaussian", "weights"), ("gaussian", "flipout"), ("spike_and_slab", "relaxed"), ("map", "default")],
)
def test_same_bytes_in_any_pieces_on_any_thread_after_pickling(method, estimator):
    spec = ConvolutionSpec(**(SHAPE | {"method": method, "estimator": estimator, "batch": 3, "epochs": 4}))
    whole, pieces = start_convolution(IMAGES, LABELS, spec), start_convolution(IMAGES, LABELS, spec)
    assert whole.advance(whole.total) == 8
    pieces.advance(1)
    pieces = pickle.loads(pickle.dumps(pieces))
    thread = threading.Thread(target=pieces.advance, args=(4,))
    thread.start()
    thread.join()
    pieces.advance(100)
    for a, b in zip(whole.fit().draw_weights(3), pieces.fit().draw_weights(3), strict=True):
        assert a.tobytes() == b.tobytes()
    assert np.asarray(whole.history()).tobytes() == np.asarray(pieces.history()).tobytes()


@pytest.mark.parametrize("activation", ["relu", "elu"])
def test_prediction_is_the_definition(activation):
    bend = {"relu": lambda z: np.maximum(z, 0.0), "elu": lambda z: np.where(z > 0.0, z, np.exp(np.minimum(z, 0.0)) - 1.0)}[activation]
    fit = fit_convolution(IMAGES, LABELS, **(SHAPE | {"padding": "valid", "pool": 1, "epochs": 3, "activation": activation}))
    layers = fit.expected_weights()
    maps = feature_maps(IMAGES, layers, fit.shape.stages, activation)
    h = maps[-1].pooled.reshape(len(IMAGES), -1)
    h = bend(h @ layers[2][:-1] + layers[2][-1])
    z = h @ layers[3][:-1] + layers[3][-1]
    assert fit.predict(IMAGES, "MEAN").draws[0] == pytest.approx(np.exp(z) / np.exp(z).sum(axis=1, keepdims=True), abs=1e-5)
    assert np.array_equal(fit.drawn(4, seed=2).predict(IMAGES), fit.predict(IMAGES, "MA", samples=4, seed=2).draws)
    mean, sd = fit.filters(1)
    assert mean.shape == sd.shape == (4, 3, 3, 3) and fit.draw_filters(5).shape == (5, 3, 3, 3, 2)
    assert mean[2, 1, 0, 2] == layers[1][(1 * 3 + 0) * 3 + 2, 2]


def test_a_convolution_moves_with_the_image_and_a_dense_layer_does_not():
    image, layer = np.zeros((1, 12, 12, 1)), RNG.normal(size=(26, 3))
    image[:, 3:9, 4:8] = RNG.random((1, 6, 4, 1))
    assert equivariance_gap(image, layer, 5, 2, 2, -3) < 1e-12
    z = correlate(image, layer, 5, 2)
    once = correlate(shifted(image, 2, -3), layer, 5, 2)
    dense = RNG.normal(size=(144, 144))
    moved = (shifted(image, 2, -3).reshape(1, -1) @ dense).reshape(1, 12, 12, 1)
    assert np.abs(moved - shifted((image.reshape(1, -1) @ dense).reshape(1, 12, 12, 1), 2, -3)).max() > 0.1
    # pooling keeps it for whole windows only
    assert np.abs(max_pool(correlate(shifted(image, 2, -2), layer, 5, 2), 2) - shifted(max_pool(z, 2), 1, -1))[:, 2:-2, 2:-2].max() < 1e-12
    assert np.abs(max_pool(once, 2) - shifted(max_pool(z, 2), 1, -1))[:, 2:-2, 2:-2].max() > 0.01
    with pytest.raises(SpecError, match="leave no place"):
        equivariance_gap(image, layer, 5, 2, 12, 0)


def test_learns_the_bundled_digits():
    data = digits()
    fit = fit_convolution(data.images / 16.0, data.labels, epochs=60, initial_sd=0.02)
    assert fit.predict(data.images_test / 16.0).accuracy(data.labels_test) > 0.94


def test_the_papers_network():
    spec = ConvolutionSpec(**STEYN)
    assert [(s.places, s.pooled) for s in stages_of(28, 1, spec)] == [(24, 12), (8, 4)]
    run = start_convolution(np.zeros((2, 28, 28)), np.array([0, 9]), spec)
    assert run.shape.sizes[0] == 512  # printed: 288
    assert run.shape.weights == 160_032 + 330


@pytest.mark.parametrize(
    "settings,named",
    [
        ({"filters": ()}, "filters"),
        ({"filters": (3, 3, 3, 3), "padding": "valid"}, "filters"),
        ({"kernel": 4, "padding": "same"}, "kernel"),
        ({"variant": "padding", "padding": "valid"}, "variant"),
        ({"method": "horseshoe"}, "method"),
    ],
)
def test_refused(settings, named):
    with pytest.raises(SpecError, match=named):
        start_convolution(IMAGES, LABELS, **(SHAPE | settings))
    with pytest.raises(SpecError, match="images"):
        start_convolution(IMAGES[:, :5], LABELS)


def of_rows(x, y, filters, kernel, **rest):
    return start_network(x.reshape(len(x), -1), y, **rest)


@pytest.mark.parametrize(
    "start,method,estimator",
    [
        (start_convolution, "gaussian", "local"),
        (start_convolution, "gaussian", "weights"),
        (start_convolution, "spike_and_slab", "score"),
        (of_rows, "gaussian", "weights"),
        (of_rows, "spike_and_slab", "score"),
    ],
)
def test_large_minibatches_are_cut_in_two_and_one_or_two_threads_give_the_same_bytes(monkeypatch, start, method, estimator):
    monkeypatch.setattr(network, "_LARGE", 1)
    runs = [start(IMAGES, LABELS, **(SHAPE | {"hidden": (30,), "method": method, "estimator": estimator})) for _ in range(3)]
    assert len(runs[0]._works) == 2
    for run in runs[:2]:
        run.advance(run.total)
        monkeypatch.setattr(network.ticket, "each", lambda function, items: [function(item) for item in items])
    assert runs[0].posterior.blocks.tobytes() == runs[1].posterior.blocks.tobytes()
    if estimator == "weights":  # the two halves are the whole
        n, rows = runs[2].shape.weights, np.arange(len(IMAGES))
        halves = runs[2]._pass(rows, 1), runs[2].posterior.gradient[:n].copy()
        monkeypatch.setattr(network, "_LARGE", 1 << 40)
        runs[2]._works = runs[2]._workspaces(len(IMAGES))
        whole = runs[2]._pass(rows, 1), runs[2].posterior.gradient[:n]
        assert halves[0][0] == pytest.approx(whole[0][0], rel=1e-5) and halves[0][1] == whole[0][1]
        assert halves[1] == pytest.approx(whole[1], abs=1e-5 * float(np.abs(whole[1]).max()))
