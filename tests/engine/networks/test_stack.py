"""Many networks read together: predictions in pieces, and uncertainty's gradient against finite differences."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from engine import scores
from engine.networks import stack
from engine.networks.stack import Networks
from engine.spec import SpecError

RNG = np.random.Generator(np.random.SFC64(1))
SIZES = (64, 12, 7, 10)
LAYERS = tuple((RNG.standard_normal((20, n_in + 1, n_out)) / np.sqrt(n_in)).astype(np.float32) for n_in, n_out in pairwise(SIZES))
IMAGES = RNG.random((40, 64)).astype(np.float32)


@pytest.mark.parametrize("activation", ["relu", "tanh"])
def test_the_gradient_is_that_of_finite_differences(activation: str):
    """In double precision, so that small steps can be seen."""
    single, image, step = Networks(LAYERS, activation), IMAGES[3].astype(np.float64), 1e-6 * np.eye(64)
    nets = single.precise()
    found = nets.sensitivity(image)
    up, down = (scores.decompose(nets.predict(image + way)) for way in (step, -step))
    for name in ("total", "aleatoric", "epistemic"):
        slope = (getattr(up, name) - getattr(down, name)) / 2e-6
        assert getattr(found, name) == pytest.approx(slope, abs=1e-6 * max(1.0, np.abs(slope).max())), name
    assert found.total == pytest.approx(found.aleatoric + found.epistemic)
    assert single.sensitivity(image).epistemic == pytest.approx(found.epistemic, abs=1e-4)


def test_predictions_in_pieces_and_a_stop(monkeypatch: pytest.MonkeyPatch):
    nets = Networks(LAYERS, "relu")
    whole = nets.predict(IMAGES)
    assert whole is not None and whole.sum(axis=2) == pytest.approx(1.0, abs=1e-5)
    assert np.array_equal(nets.predict(IMAGES.reshape(-1, 8, 8)), whole)
    monkeypatch.setattr(stack, "CELLS", 700)
    assert nets.predict(IMAGES) == pytest.approx(whole, abs=1e-6)
    assert nets.predict(IMAGES, stop=lambda: True) is None
    with pytest.raises(SpecError, match="784 pixels; these networks read 64"):
        nets.predict(np.zeros((1, 28, 28)))
