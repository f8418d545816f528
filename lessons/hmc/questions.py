"""The predictions, with answers computed from runs."""

from __future__ import annotations

import numpy as np

from app.kit.words import Said, say
from engine import diagnostics, sample
from engine.judge.answers import nearest
from engine.samplers.hmc import trajectory
from lessons.hmc import analysis
from lessons.hmc.spec import NO_ACCEPT, RAVINE, WORDS, HmcLesson


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


SECOND = 1  # transition of which the push is shown


def _explain_end(spec: HmcLesson) -> Said:
    walk = analysis.simulate(spec)
    path, error = walk.inside.path[SECOND], float(walk.inside.energy_error[SECOND])
    far, length = np.linalg.norm(path[-1] - path[0]), np.linalg.norm(np.diff(path, axis=0), axis=1).sum()
    return say(steps=spec.steps, far=far, length=length, error=error, accept=min(1.0, float(np.exp(-error))))


def efficiency(spec: HmcLesson) -> float:
    """Effective draws per 1,000 gradients of four longer chains with the settings of `spec`."""
    run = sample(spec.build_target(), "hmc", chains=4, draws=2000, warmup=100, seed=spec.seed, init=spec.init(), **spec.settings())
    return 1000.0 * diagnostics.least_ess(run.draws) / float(run.gradient_evaluations.sum())


def _explain_halving(spec: HmcLesson) -> Said:
    return say(error_ratio=error_ratio(spec))


SHORT = 12


def length_gain(spec: HmcLesson) -> float:
    """Efficiency of the run over that of one with 12 steps."""
    return efficiency(spec) / efficiency(spec.replace(steps=SHORT))


def _explain_length(spec: HmcLesson) -> Said:
    with_long, with_short = efficiency(spec), efficiency(spec.replace(steps=SHORT))
    return say(with_long=with_long, with_short=with_short, steps=spec.steps, waste=100 * analysis.simulate(spec).waste)


def _variance(spec: HmcLesson) -> tuple[float, float, float]:
    """Variance of the first coordinate over four longer chains, the exact one, and R-hat of those chains."""
    run = sample(spec.build_target(), "hmc", chains=4, draws=5000, warmup=100, seed=spec.seed, init=spec.init(), **spec.settings())
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


def _explain_variance(spec: HmcLesson) -> Said:
    found, true, rhat = _variance(spec)
    if not _shadow_energy_is_known(spec):
        return say("measured", "agreement", found=found, true=true, rhat=rhat)
    theory = 1 / (1 - spec.step_size**2 / 4)
    return say("measured", "theory", "agreement", found=found, true=true, theory=theory, rhat=rhat)


def mass_gain(spec: HmcLesson) -> float:
    """Efficiency of the run over that of one with the identity as mass and steps that suit it."""
    return efficiency(spec) / efficiency(RAVINE)


def _explain_mass(spec: HmcLesson) -> Said:
    return say(with_mass=efficiency(spec), with_identity=efficiency(RAVINE), step_size=RAVINE.step_size, steps=RAVINE.steps)


QUESTIONS = [
    WORDS.question("end", lambda spec: tuple(analysis.simulate(spec).proposal[SECOND, :2]), _explain_end, scenario="just-right"),
    WORDS.question(
        "halve",
        lambda spec: nearest(error_ratio(spec), (1.0, 0.5, 0.25)),
        _explain_halving,
        scenario="just-right",
        reveal=lambda spec: spec.replace(step_size=spec.step_size / 2, steps=2 * spec.steps),
    ),
    WORDS.question(
        "length", lambda spec: nearest(length_gain(spec), (5.0, 1.0, 0.2)), _explain_length, scenario="too-long", short_steps=SHORT
    ),
    WORDS.question("mass", lambda spec: nearest(mass_gain(spec), (1.0, 3.0, 10.0)), _explain_mass, scenario="mass"),
    WORDS.question("no-accept", _which_way, _explain_variance, scenario="no-accept"),
]
