"""Densities in constrained parameters: Jacobians and gradients by finite differences, draws against exact answers."""

from __future__ import annotations

import numpy as np
import pytest

import engine
from engine.judge.numbers import Average, averages_check
from engine.targets.constrained import declared, density
from engine.targets.formula import FormulaError
from engine.targets.target import TargetError

EVERY = "mu, x real 2, sigma positive, theta unit, c ordered 3, p simplex 4, s positive 2"
FORMULA = (
    "-mu^2/2 - (x1 - mu)^2 - x2^4/9 - sigma*x1^2 + log(theta) + 2*log(1-theta) - (c1+1)^2 - c2^2 - (c3-mu)^2/2 "
    "+ 2*log(p1) + log(p2) + 0.5*log(p4) - s1*s2 - s1 - s2"
)


def log_determinant(made, u: np.ndarray, h: float = 1e-5) -> float:
    """log |det dx/du| by finite differences, a simplex without its last value: the others determine it."""
    names = [name for block in made.blocks for name in block.values[: block.free]]
    kept = [made.names.index(name) for name in names]
    steps = h * np.eye(len(u))
    columns = (made.constrain(u + steps)[0] - made.constrain(u - steps)[0])[:, kept] / (2 * h)
    return float(np.linalg.slogdet(columns)[1])


@pytest.mark.parametrize("seed", range(4))
def test_the_jacobian_and_the_gradient_agree_with_finite_differences(seed):
    made = density(EVERY, FORMULA)
    u = np.random.default_rng(seed).uniform(-2, 2, made.target.dim)
    x, log_jacobian = made.constrain(u)
    values = dict(zip(made.names, x, strict=True))
    assert values["c1"] < values["c2"] < values["c3"] and min(values[f"p{i}"] for i in (1, 2, 3, 4)) > 0
    assert sum(values[f"p{i}"] for i in (1, 2, 3, 4)) == pytest.approx(1.0, abs=1e-14) and 0 < values["theta"] < 1
    assert log_jacobian == pytest.approx(log_determinant(made, u), abs=1e-6)
    value, gradient = made.target.log_density_and_gradient(u)
    plain = eval(FORMULA.replace("^", "**"), {"log": np.log}, values)  # the test's own formula, read by Python
    assert value == pytest.approx(plain + log_jacobian, rel=1e-12)
    h = 1e-6
    slopes = [(made.target.log_density(u + h * e) - made.target.log_density(u - h * e)) / (2 * h) for e in np.eye(len(u))]
    np.testing.assert_allclose(gradient, slopes, rtol=2e-5, atol=1e-6)


def test_a_density_that_forgets_the_jacobian_is_another_one():
    right, wrong = density(EVERY, FORMULA), density(EVERY, FORMULA, jacobian=False)
    u = np.linspace(-1, 1, right.target.dim)
    forgotten = right.target.log_density(u) - wrong.target.log_density(u)
    assert forgotten == pytest.approx(log_determinant(right, u), abs=1e-6) and abs(forgotten) > 1
    gap = np.abs(right.target.log_density_and_gradient(u)[1] - wrong.target.log_density_and_gradient(u)[1])
    assert gap.max() > 0.5


PARAMETERS = "sigma positive, theta unit, p simplex 3, c ordered 2"
EXACT = {  # half-normal, Beta(2, 4), Dirichlet(3, 2, 1), the smaller and the larger of two standard normals
    "sigma": (2 / np.pi) ** 0.5,
    **{"theta": 1 / 3, "p1": 1 / 2, "p2": 1 / 3, "p3": 1 / 6, "c1": -(np.pi**-0.5), "c2": np.pi**-0.5},
}
LOG_DENSITY = "-sigma^2/2 + log(theta) + 3*log(1-theta) + 2*log(p1) + log(p2) - c1^2/2 - c2^2/2"


@pytest.mark.parametrize("jacobian", [True, False])
def test_draws_have_the_exact_means_and_without_the_jacobian_they_have_not(jacobian):
    made = density(PARAMETERS, LOG_DENSITY, jacobian=jacobian)
    if not jacobian:  # or it could not be sampled at all
        made = density("theta unit", "log(theta) + 3*log(1-theta)", jacobian=False)
    run = engine.sample(made.target, "nuts", chains=4, draws=2_500, warmup=500, seed=3)
    x, _ = made.constrain(run.draws)
    check = averages_check("means", [Average(f"the mean of {name}", x[:, :, j], EXACT[name]) for j, name in enumerate(made.names)])
    assert check.verdict == ("pass" if jacobian else "fail"), check.sentence


def test_two_variables_are_the_formula_lesson_s_own():
    """The same program on the same machine: to the last bit."""
    from engine.targets.formula import unchecked_target

    made, plain = density("x, y", "-x^2/2 - (y - x^2)^2 where x < 2"), unchecked_target("-x^2/2 - (y - x^2)^2 where x < 2")
    for q in ([0.3, -1.2], [1.9, 2.0], [2.1, 0.0]):
        value, gradient = made.target.log_density_and_gradient(q)
        assert value == plain.log_density(q) and np.array_equal(gradient, plain.log_density_and_gradient(q)[1])


@pytest.mark.parametrize(
    ("parameters", "said"),
    {
        "": "no parameter",
        "mu wide": "“wide” is not one of",
        "p simplex": "needs its size",
        "e": "meaning of its own",
        "log positive": "meaning of its own",
        "a 2, a1": "“a1” is a value of “a”",
        "2mu": "not a name",
        "x 21": "1 to 20",
        "x 11, y 11": "22 values",
    }.items(),
)
def test_a_declaration_that_cannot_be_read_is_named(parameters, said):
    with pytest.raises(TargetError, match=said):
        declared(parameters)


def test_a_formula_that_leaves_a_parameter_free_is_refused():
    with pytest.raises(FormulaError, match="nu does not stand in it"):
        density("mu, nu", "-mu^2/2")
    with pytest.raises(FormulaError, match="did you mean sigma"):
        density("mu, sigma positive", "-mu^2/2 - sigm^2")
