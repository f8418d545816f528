"""The contract of runs over models, and errors that name what was wrong."""

import numpy as np
import pytest

from engine.spec import SpecError
from engine.spike_and_slab import SelectionRun, ascend_selection, enumerate_models, sample_models, spike_and_slab

X = np.random.Generator(np.random.SFC64(1)).standard_normal((15, 3))
MODELS = {
    "linear": spike_and_slab(X, X[:, 0]),
    "logistic": spike_and_slab(X, (X[:, 0] > 0).astype(float), likelihood="logistic", intercept=False),
}


@pytest.mark.parametrize("chunk", [1, 7])
@pytest.mark.parametrize("name", MODELS)
def test_chunks_and_chains_do_not_matter(name, chunk):
    whole = sample_models(MODELS[name], chains=2, draws=30, warmup=5, seed=4)
    run = SelectionRun(MODELS[name], chains=1, draws=30, warmup=5, seed=4)
    while not run.done:
        run.advance(chunk)
    pieces = run.recording()
    for a, b in ((whole.included, pieces.included), (whole.conditional, pieces.conditional)):
        assert a[:1].tobytes() == b.tobytes()
    assert np.all((whole.coefficients[:, :, -3:] != 0) == whole.included)


@pytest.mark.parametrize("name", MODELS)
def test_the_same_seed_gives_the_same_enumeration(name):
    one, two = (enumerate_models(MODELS[name], seed=2) for _ in range(2))
    assert one.probability.tobytes() == two.probability.tobytes()
    assert np.array_equal(one.models[5], [True, False, True])
    assert one.error.max() < 0.2


@pytest.mark.parametrize(
    "parameter,arguments",
    [
        ("x", {"x": X[0]}),
        ("x", {"y": np.zeros(3)}),
        ("x", {"y": np.full(15, np.nan)}),
        ("y", {"likelihood": "logistic"}),
        ("likelihood", {"likelihood": "poisson"}),
        ("inclusion", {"inclusion": 1.0}),
        ("inclusion", {"inclusion": [0.5, 0.5]}),
        ("slab_sd", {"slab_sd": 0.0}),
        ("noise_sd", {"noise_sd": -1.0}),
        ("intercept_sd", {"intercept_sd": np.inf}),
    ],
)
def test_wrong_settings_are_named(parameter, arguments):
    with pytest.raises(SpecError) as error:
        spike_and_slab(**{"x": X, "y": X[:, 0], **arguments})
    assert error.value.parameter == parameter


def test_limits_are_named():
    wide = spike_and_slab(np.ones((2, 13)), np.zeros(2))
    with pytest.raises(SpecError, match="at most 12"):
        enumerate_models(wide)
    with pytest.raises(SpecError, match="start"):
        ascend_selection(MODELS["linear"], start=2.0)
