"""The contract of fits: same arguments, same bytes, however the run is cut; errors that name what was wrong."""

import pickle

import numpy as np
import pytest

from engine import targets
from engine.judge import gradient_check
from engine.spec import SpecError
from engine.targets import TargetError
from engine.variational import (
    Adam,
    Advi,
    AdviRun,
    Decaying,
    NormalMixture,
    advi,
    ascend,
    ascend_gaussian,
    elbo,
    gaussian_kl,
    gradients,
    linear_regression,
    logistic_regression,
)
from engine.variational.transforms import constrained, transform, unconstrained

GAUSSIAN = targets.gaussian(correlation=0.7)
X = np.random.Generator(np.random.SFC64(1)).standard_normal((9, 3))
ROWS = linear_regression(X, X.sum(axis=1))
SETTINGS = {
    "mean-field": (GAUSSIAN, Advi()),
    "full rank, decaying": (GAUSSIAN, Advi(family="full_rank", samples=3, optimiser=Decaying())),
    "score": (GAUSSIAN, Advi(estimator="score", samples=4, control_variate=True)),
    "minibatches": (ROWS, Advi(batch=4, family="full_rank")),
}


def arrays(fit):
    inside = [] if fit.inside is None else list(fit.inside)
    return [a.tobytes() for a in (fit.parameters, fit.energy, fit.entropy, *inside)]


@pytest.mark.parametrize("chunk", [1, 7, 1000])
@pytest.mark.parametrize("name", SETTINGS)
def test_chunks_and_pickling_do_not_matter(name, chunk):
    target, settings = SETTINGS[name]
    whole = AdviRun(target, settings, steps=50, seed=3, every=4, detail="samples")
    whole.advance(50)
    pieces = AdviRun(target, settings, steps=50, seed=3, every=4, detail="samples")
    while not pieces.done:
        pieces.advance(chunk)
        pieces.climb = pickle.loads(pickle.dumps(pieces.climb))
    assert arrays(pieces.fit()) == arrays(whole.fit())
    assert whole.fit().parameters.shape[0] == 13


def test_detail_changes_nothing_and_shows_the_inside():
    quiet, told = (advi(GAUSSIAN, steps=20, samples=2, seed=5, detail=detail) for detail in ("path", "samples"))
    assert quiet.inside is None and told.parameters.tobytes() == quiet.parameters.tobytes()
    inside = told.inside
    mean, sd = told.mean[:-1, None], told.sd[:-1, None]
    assert inside.point == pytest.approx(mean + sd * inside.noise)
    for step, s in ((0, 0), (7, 1)):
        value, slope = GAUSSIAN.log_density_and_gradient(inside.point[step, s])
        assert inside.log_joint[step, s] == pytest.approx(value)
        assert inside.slope[step, s] == pytest.approx(slope)
    by_hand = np.concatenate([inside.slope.mean(axis=1), (told.sd[:-1, None] * inside.noise * inside.slope).mean(axis=1) + 1.0], axis=1)
    assert inside.gradient == pytest.approx(by_hand)
    assert told.energy == pytest.approx(inside.log_joint.mean(axis=1))


def test_seeds_differ():
    assert advi(GAUSSIAN, steps=5, seed=1).parameters.tobytes() != advi(GAUSSIAN, steps=5, seed=2).parameters.tobytes()


@pytest.mark.one_seed
def test_a_step_that_is_too_big_stops_where_numbers_end():
    fit = advi(GAUSSIAN, steps=300, optimiser=Adam(step_size=500.0), init=1.0)
    assert fit.stopped is not None and fit.stopped < 300
    assert np.all(fit.parameters[fit.stopped + 1 :] == fit.parameters[fit.stopped])
    assert np.isnan(fit.energy[-1])


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_step_rules(dtype):
    """Against the formulas, written out."""
    rng = np.random.Generator(np.random.SFC64(1))
    for optimiser in (Adam(step_size=0.1), Decaying(step_size=0.5, alpha=0.3)):
        at, first, second = (np.zeros(5, dtype) for _ in range(3))
        expected, m, v = np.zeros(5), np.zeros(5), np.zeros(5)
        for t in range(1, 30):
            g = rng.standard_normal(5)
            ascend(optimiser.rule(), t, at, g.astype(dtype), first, second)
            if optimiser.name == "adam":
                m, v = 0.9 * m + 0.1 * g, 0.999 * v + 0.001 * g * g
                expected += 0.1 * (m / (1 - 0.9**t)) / (np.sqrt(v / (1 - 0.999**t)) + 1e-8)
            else:
                v = g * g if t == 1 else 0.3 * g * g + 0.7 * v
                expected += 0.5 * t**-0.5 * g / (1 + np.sqrt(v))
        assert at.dtype == dtype
        assert at == pytest.approx(expected, rel=1e-4 if dtype == np.float32 else 1e-11, abs=1e-5)


def test_transforms_there_and_back():
    maps = transform(("real", "positive", (-2.0, 3.0), (1.0, np.inf)), 4)
    zeta = np.random.Generator(np.random.SFC64(2)).normal(0, 2, (50, 4))
    theta, log_jacobian = constrained(maps, zeta)
    assert np.all(theta[:, 1] > 0) and np.all((theta[:, 2] > -2) & (theta[:, 2] < 3)) and np.all(theta[:, 3] > 1)
    assert unconstrained(maps, theta) == pytest.approx(zeta, abs=1e-9)
    h = 1e-6
    slopes = np.stack(
        [(constrained(maps, zeta + h * e)[0] - constrained(maps, zeta - h * e)[0])[:, j] / (2 * h) for j, e in enumerate(np.eye(4))]
    )
    assert log_jacobian == pytest.approx(np.log(slopes).sum(axis=0), abs=1e-6)
    far = constrained(maps, np.array([[0.0, -30.0, 40.0, 0.0], [0.0, 30.0, -40.0, 0.0]]))
    assert np.all(np.isfinite(far[0])) and np.all(np.isfinite(far[1]))


@pytest.mark.parametrize("target", [ROWS, logistic_regression(X, X[:, 0] > 0)], ids=["linear", "logistic"])
def test_row_targets_know_their_gradient(target):
    points = np.random.Generator(np.random.SFC64(3)).normal(0, 1.5, (5, 3))
    assert gradient_check(target, points).verdict == "pass"


@pytest.mark.parametrize(
    "parameter,settings",
    [
        ("family", {"family": "round"}),
        ("estimator", {"estimator": "magic"}),
        ("variant", {"variant": "wrong"}),
        ("samples", {"samples": 0}),
        ("control_variate", {"control_variate": True}),
        ("control_variate", {"estimator": "score", "control_variate": True}),
        ("supports", {"supports": ("real",)}),
        ("supports", {"supports": ("real", (2.0, 1.0))}),
        ("batch", {"batch": 5}),
        ("init", {"init": [1.0, np.nan]}),
        ("init_sd", {"init_sd": 0.0}),
        ("step_size", {"optimiser": Adam(step_size=-1.0)}),
        ("alpha", {"optimiser": Decaying(alpha=0.0)}),
        ("beta1", {"optimiser": Adam(beta1=1.0)}),
        ("steps", {"steps": 0}),
        ("every", {"every": 0}),
        ("detail", {"detail": "all"}),
        ("seed", {"seed": -1}),
        ("colour", {"colour": "red"}),
    ],
)
def test_wrong_settings_are_named(parameter, settings):
    with pytest.raises(SpecError) as error:
        advi(GAUSSIAN, **settings)
    assert error.value.parameter == parameter


def test_other_errors_are_for_people():
    with pytest.raises(TargetError, match="supports"):
        advi(targets.normal_gamma(), init=[0.0, -1.0])
    with pytest.raises(SpecError, match="quadrature"):
        elbo(targets.gaussian(dimension=5), np.zeros(10))
    with pytest.raises(SpecError, match="do not describe"):
        elbo(GAUSSIAN, np.zeros(3))
    with pytest.raises(SpecError, match="parameters"):
        gradients(GAUSSIAN, Advi(), np.zeros(3), repeats=2)
    with pytest.raises(SpecError, match="positive definite"):
        gaussian_kl([0.0], [[-1.0]], [0.0], [[1.0]])
    with pytest.raises(SpecError, match="add up to 1"):
        NormalMixture.of([0.5, 0.4], [0.0, 1.0], [1.0, 1.0])
    with pytest.raises(SpecError, match="start"):
        ascend_gaussian([0.0], [[1.0]], start=[0.0], start_sd=0.0)
    with pytest.raises(SpecError, match="0 or 1"):
        logistic_regression(X, X[:, 0])
    with pytest.raises(SpecError, match="GiB"):
        AdviRun(targets.gaussian(dimension=200), Advi(family="full_rank"), steps=1_000_000)
