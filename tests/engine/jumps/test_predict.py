"""Predictions over architectures, against the plain average of every draw's own."""

from __future__ import annotations

import numpy as np
import pytest

import engine
from engine.jumps import bands, uncertainty
from engine.jumps.predict import mean_of
from engine.networks.predictive import Ensemble
from tests.engine.networks import reference

X, CLASSES = reference.samples(engine.network(2, 3, width=2), 20, seed=1)
POINTS = np.random.default_rng(3).standard_normal((7, 2))


def outputs(recording):
    for c in range(recording.chains):
        for t in range(recording.draws.shape[1]):
            at = recording.network(int(recording.width[c, t]), int(recording.depth[c, t]))
            yield reference.outputs(at, recording.theta(c, t), POINTS)


def test_classes():
    network = engine.network(2, 3, width=(1, 4), temper=0.7)
    recording = engine.sample_architecture(network, X, CLASSES, chains=2, draws=40, seed=4, step_size=0.1)
    assert len(recording.by_architecture()) > 1
    z = 0.7 * np.array(list(outputs(recording)))
    p = np.exp(z) / np.exp(z).sum(axis=-1, keepdims=True)
    seen = uncertainty(recording, POINTS)
    np.testing.assert_allclose(seen.mean, p.mean(axis=0), atol=1e-12)
    ensembles = [Ensemble(recording.network(*sizes), POINTS).add(theta) for sizes, theta in recording.by_architecture().items()]
    np.testing.assert_array_equal(mean_of(ensembles), seen.mean)
    np.testing.assert_allclose(seen.sd, p.std(axis=0), atol=1e-9)
    np.testing.assert_allclose(seen.aleatoric, -(p * np.log(p)).sum(axis=-1).mean(axis=0), atol=1e-12)
    np.testing.assert_allclose(seen.total, seen.aleatoric + seen.epistemic, atol=1e-12)
    with pytest.raises(engine.SpecError):
        bands(recording, POINTS)


def test_values():
    network = engine.network(2, 1, width=2, depth=(1, 3), likelihood="gaussian")
    y = np.random.default_rng(5).standard_normal(20)
    recording = engine.sample_architecture(network, X, y, chains=2, draws=40, seed=6, step_size=0.1, noise_precision=(1.0, 1.0))
    z = np.array(list(outputs(recording)))
    seen = bands(recording, POINTS)
    np.testing.assert_allclose(seen.mean, z.mean(axis=0), atol=1e-12)
    np.testing.assert_allclose(seen.epistemic, z.std(axis=0), atol=1e-9)
    np.testing.assert_allclose(seen.aleatoric**2, (1.0 / recording.precisions[:, :, -1]).mean())
