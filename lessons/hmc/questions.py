"""The predictions, with answers computed from runs."""

from __future__ import annotations

import numpy as np

from app.kit.frame import Question
from engine import diagnostics, sample
from engine.samplers.hmc import trajectory
from lessons.hmc import analysis
from lessons.hmc.scenarios import NO_ACCEPT, RAVINE
from lessons.hmc.spec import HmcLesson


def nearest(value: float, choices: tuple[float, ...]) -> int:
    """Index of the choice nearest to `value` on a logarithmic scale."""
    return int(np.argmin([abs(np.log(value / choice)) for choice in choices]))


def error_ratio(spec: HmcLesson) -> float:
    """Typical energy error at half the step size and twice the steps over that of the run, same starts and pushes."""
    walk = analysis.simulate(spec)
    some = range(min(walk.steps, 200))
    finer = [
        trajectory(
            walk.target,
            walk.previous[t],
            walk.inside.path_momentum[t, 0],
            step_size=spec.step_size / 2,
            steps=2 * spec.steps,
            mass=spec.mass_matrix(),
            integrator=spec.integrator,
        )
        for t in some
    ]
    fine = np.median([abs(path.energy[-1] - path.energy[0]) for path in finer])
    return float(fine / np.median(np.abs(walk.inside.energy_error[: len(finer)])))


def efficiency(spec: HmcLesson) -> float:
    """Effective draws per 1,000 gradients of four longer chains with the settings of `spec`."""
    run = sample(
        spec.build_target(),
        "hmc",
        chains=4,
        draws=2000,
        warmup=100,
        seed=spec.seed,
        init=spec.init(),
        **spec.settings(),
    )
    return 1000.0 * diagnostics.least_ess(run.draws) / float(run.gradient_evaluations.sum())


def _explain_halving(spec: HmcLesson) -> str:
    return (
        f"From the same starts with the same pushes, the median error became {error_ratio(spec):.2f} times as large. "
        "Leapfrog's error falls like $\\varepsilon^2$: half the step, a quarter of the error, for twice the gradients. "
        "Euler's falls only like $\\varepsilon$."
    )


SHORT = 12


def length_gain(spec: HmcLesson) -> float:
    """Efficiency of the run over that of one with 12 steps."""
    return efficiency(spec) / efficiency(spec.replace(steps=SHORT))


def _explain_length(spec: HmcLesson) -> str:
    long, short = efficiency(spec), efficiency(spec.replace(steps=SHORT))
    return (
        f"{long:.2g} effective draws per 1 000 gradients with L = {spec.steps}, {short:.2g} with L = {SHORT}. "
        f"{100 * analysis.simulate(spec).waste:.0f} % of the steps were made after the U-turn. NUTS stops at the "
        f"U-turn by itself."
    )


def _variance(spec: HmcLesson) -> tuple[float, float, float]:
    """Variance of the first coordinate over four longer chains, the exact one, and R-hat of those chains."""
    run = sample(
        spec.build_target(),
        "hmc",
        chains=4,
        draws=5000,
        warmup=100,
        seed=spec.seed,
        init=spec.init(),
        **spec.settings(),
    )
    truth = spec.build_target().truth
    first = run.draws[:, :, 0]
    return float(first.var()), float(truth.covariance[0, 0]) if truth else float("nan"), diagnostics.rhat(first)


def _which_way(spec: HmcLesson) -> int:
    found, true, _ = _variance(spec)
    return 0 if found < 0.95 * true else 2 if found > 1.05 * true else 1


def _shadow_energy_is_known(spec: HmcLesson) -> bool:
    """Is this the scenario's sampler, whose stationary variance is 1/(1 - step_size**2 / 4)?"""
    known = NO_ACCEPT.replace(step_size=spec.step_size, steps=spec.steps, seed=spec.seed, draws=spec.draws)
    return spec.step_size < 2.0 and spec.simulation() == known.simulation()


def _explain_variance(spec: HmcLesson) -> str:
    found, true, agreement = _variance(spec)
    text = f"Measured variance {found:.3f}, true {true:.3f}."
    if _shadow_energy_is_known(spec):
        text += f" Theory says $1/(1-\\varepsilon^2/4) = {1 / (1 - spec.step_size**2 / 4):.3f}$."
    return (
        text
        + f" R-hat is {agreement:.3f}: it compares chains with each other, and they agree on the same wrong density."
    )


def mass_gain(spec: HmcLesson) -> float:
    """Efficiency of the run over that of one with the identity as mass and steps that suit it."""
    return efficiency(spec) / efficiency(RAVINE)


def _explain_mass(spec: HmcLesson) -> str:
    return (
        f"{efficiency(spec):.3g} effective draws per 1 000 gradients with the inverse covariance as mass, "
        f"{efficiency(RAVINE):.3g} with the identity and the small "
        f"steps that it needs (ε = {RAVINE.step_size:g}, L = {RAVINE.steps}). Without it the narrowest width sets ε, "
        f"and the length of the ravine sets how many "
        "such steps a path needs. The map below shows how much easier the tuning becomes, too."
    )


QUESTIONS = [
    Question(
        "halve",
        "Half the step size and twice the steps: the path covers the same time. What happens to the energy error at "
        "its end?",
        ["It stays the same", "It becomes half as large", "It becomes a quarter as large"],
        lambda spec: nearest(error_ratio(spec), (1.0, 0.5, 0.25)),
        _explain_halving,
        scenario="just-right",
    ),
    Question(
        "length",
        f"Paths of 100 steps instead of {SHORT}. How many effective draws does the same number of gradients give?",
        ["About five times as many", "About the same", "About five times fewer"],
        lambda spec: nearest(length_gain(spec), (5.0, 1.0, 0.2)),
        _explain_length,
        scenario="too-long",
    ),
    Question(
        "mass",
        "The ravine with the inverse of the covariance as mass matrix, against the identity, each with steps that suit "
        "it. Effective draws per gradient?",
        ["About the same", "About three times as many", "About ten times as many"],
        lambda spec: nearest(mass_gain(spec), (1.0, 3.0, 10.0)),
        _explain_mass,
        scenario="mass",
    ),
    Question(
        "no-accept",
        "Accept every path, whatever its energy error. What does the variance of the draws become?",
        ["Too small", "Right", "Too large"],
        _which_way,
        _explain_variance,
        scenario="no-accept",
    ),
]
