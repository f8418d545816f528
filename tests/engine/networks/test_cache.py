"""The same bytes from a kernel just compiled and from the same kernel out of the cache."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = """
import hashlib
import engine
import numpy as np
from engine import targets, training
from engine.networks import network, predictive

digest, rng = hashlib.sha256(), np.random.default_rng(1)
for net in (network(2, 2, 4), network(20, 10, 5), network(3, 1, 6, depth=2, likelihood="gaussian")):
    x = rng.standard_normal((200, net.inputs))
    y = rng.integers(0, net.classes, 200) if net.classes else rng.standard_normal(200)
    posterior, draws = net.posterior(x, y), net.prior_draws(50, seed=1)
    for theta in draws:
        value, gradient = posterior.log_density_and_gradient(theta)
        digest.update(np.float64(value).tobytes() + gradient.tobytes())
    digest.update(predictive.outputs(net, draws, x).tobytes())
net = network(2, 2, 4)
digest.update(predictive.decompose(net, net.prior_draws(50, 1), x[:, :2]).total.tobytes())
x, y = rng.standard_normal((200, 3)), rng.standard_normal(200)
net = network(3, 1, 7, depth=2, likelihood="gaussian", noise_sd=0.3)
for optimiser in training.RULES:
    settings = {"optimiser": optimiser, "step_size": 0.003, "epochs": 20, "weight_decay": 0.01}
    digest.update(training.train(net, x, y, **settings).path.tobytes())
    digest.update(training.train(net, x, y, batch=33, keep=0.7, **settings).path.tobytes())
descent = training.descend(targets.build("banana"), training.Adam(), [-2.0, 3.0], steps=200, gradient_noise=0.3)
digest.update(descent.path.tobytes())
print(digest.hexdigest())
"""


@pytest.mark.long
def test_fresh_and_cached_kernels_agree_to_the_bit(tmp_path):
    environment = os.environ | {"POSTERIOR_LAB_CACHE": str(tmp_path), "PYTHONPATH": str(Path(__file__).parents[3])}
    runs = [
        subprocess.run([sys.executable, "-c", PROGRAM], env=environment, capture_output=True, text=True, check=True).stdout
        for _ in range(2)
    ]
    assert runs[0] == runs[1] != ""
