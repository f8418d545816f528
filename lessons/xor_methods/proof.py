"""The badge's checks. The samplers claim exactness: their averages must be those of the reference run, within the Monte
Carlo error of both. The fitted methods do not: checked is that each did what it says, and told is how far off it is.
"""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
from numpy.typing import NDArray

from engine.judge import MAX_RHAT, MIN_ESS, Z_LIMIT, Check
from engine.networks.predictive import probabilities
from engine.variational.advi import elbo
from lessons.xor_methods.analysis import (
    Estimate,
    advi_run,
    data_of,
    dropped,
    entropy,
    model_of,
    plane,
)
from lessons.xor_methods.spec import MethodsSpec
from lessons.xor_methods.study import CELLS, QUANTITIES, REFERENCE, Study, study

Array = NDArray[np.float64]

WHOLE = QUANTITIES.index("epistemic uncertainty over the map")
FAR_AWAY = QUANTITIES.index("epistemic uncertainty far from the data")
ELBO_DRAWS = 4000
SETTLED = 1.0  # nats that the ELBO may still change in the last third of the steps
TO_THE_MODE = 0.5  # nats of log posterior that a trained network may have left to climb


def prove(spec: MethodsSpec, cancel: Any) -> list[Check]:
    """Every check, the samplers' first."""
    seen = study(spec, cancel)
    reference = seen.says[REFERENCE]
    return [
        against("HMC", seen.says["hmc"], reference),
        against("NUTS", seen.says["nuts"], reference),
        jump_check(spec, seen, reference),
        dropout_check(spec, seen),
        ensemble_check(spec, seen),
        advi_check(spec, seen),
    ]


def against(name: str, ours: Estimate, theirs: Estimate, which: str = "") -> Check:
    """Do two exact answers agree on every quantity?"""
    title = f"{name} against the long NUTS run"
    there = np.isfinite(ours.value) & np.isfinite(theirs.value)
    for who, one in ((name, ours), ("the long NUTS run", theirs)):
        worst = float(np.max(np.where(np.isfinite(one.rhat), one.rhat, np.inf)[there]))
        if worst > MAX_RHAT:
            sentence = (
                f"The chains of {who} disagree (R-hat in function space {worst:.3f}): no error bar means anything."
            )
            return Check(title, "unknown", worst, MAX_RHAT, sentence, "")
        least = float(np.min(one.ess[there]))
        if not least >= MIN_ESS:
            sentence = f"{who} has only {least:.0f} effective networks{which}: too few to judge."
            return Check(title, "unknown", least, MIN_ESS, sentence, "")
    z = ((ours.value - theirs.value) / np.hypot(ours.error, theirs.error))[there]
    at = int(np.argmax(np.abs(z)))
    index = int(np.flatnonzero(there)[at])
    sentence = (
        f"{QUANTITIES[index]}{which} is {ours.value[index]:.4f}, the long NUTS run says {theirs.value[index]:.4f}: "
        f"{abs(z[at]):.1f} standard errors apart, the worst of {there.sum()} quantities."
    )
    return Check(title, "pass" if abs(z[at]) < Z_LIMIT else "fail", float(z[at]), Z_LIMIT, sentence, "MCSE")


def jump_check(spec: MethodsSpec, seen: Study, reference: Estimate) -> Check:
    """Reversible jump averages over widths: another question. Its networks with k units answer the others' question."""
    if seen.same_width is None:
        sentence = f"No network with {spec.units} units was drawn."
        return Check("Reversible jump against the long NUTS run", "unknown", 0.0, MIN_ESS, sentence, "")
    return against("Reversible jump", seen.same_width, reference, f" in its networks with {spec.units} units")


def off(seen: Study, method: str) -> str:
    """How far an approximation is from the reference, in words."""
    difference, error = seen.difference(method)
    text = f"Not meant to be exact: its epistemic uncertainty over the map is off by {signed(difference[WHOLE])}"
    text += f" ± {error[WHOLE]:.3f} nats"
    if np.isfinite(difference[FAR_AWAY]):
        text += f", far from the data by {signed(difference[FAR_AWAY])} ± {error[FAR_AWAY]:.3f}"
    return text + " (one standard error)."


def signed(value: float) -> str:
    """With its sign, a true minus."""
    return f"{value:+.3f}".replace("-", "−")


def dropout_check(spec: MethodsSpec, seen: Study) -> Check:
    """The random masks against all masks, each with its probability."""
    found = seen.found["dropout"]
    name, places = "MC dropout draws its masks", plane(CELLS)
    ours, theirs = entropy(found.at(places)[0]).mean(axis=1), all_masks(spec, places)
    if np.ptp(ours) == 0.0:
        return Check(name, "unknown", 0.0, Z_LIMIT, "All masks give the same network.", "SE")
    z = float((ours.mean() - theirs) / (ours.std(ddof=1) / np.sqrt(len(ours))))
    sentence = (
        f"{len(ours)} random masks give an aleatoric uncertainty of {ours.mean():.4f}, all {2**spec.units} masks with "
        f"their probabilities {theirs:.4f}: {abs(z):.1f} standard errors. {off(seen, 'dropout')}"
    )
    return Check(name, "pass" if abs(z) < Z_LIMIT else "fail", z, Z_LIMIT, sentence, "SE")


def all_masks(spec: MethodsSpec, places: Array) -> float:
    """Aleatoric uncertainty over all masks of hidden units, weighed by their probabilities, mean over places (m, 2)."""
    model, theta = model_of(spec), dropped(spec).theta
    (inner, bias), (outer, last) = model.unpack(theta)
    rows, weights = [], []
    for mask in itertools.product((0.0, 1.0), repeat=spec.units):
        kept = np.array(mask)
        rows.append(np.concatenate([inner.ravel(), bias, (outer * kept / spec.keep).ravel(), last]))
        weights.append(np.prod(np.where(kept > 0, spec.keep, 1.0 - spec.keep)))
    inside = entropy(probabilities(model, np.array(rows), places)[:, :, 1])
    return float(np.array(weights) @ inside.mean(axis=1))


def ensemble_check(spec: MethodsSpec, seen: Study) -> Check:
    """Has every member reached a mode of the posterior?"""
    from scipy.optimize import minimize

    posterior = model_of(spec).posterior(*data_of(spec))

    def downhill(theta: Array) -> tuple[float, Array]:
        value, gradient = posterior.log_density_and_gradient(theta)
        return -value, -gradient

    members = seen.found["ensemble"].parts[0][2]
    ends = np.array([-minimize(downhill, theta, jac=True, method="L-BFGS-B").fun for theta in members])
    left = ends - posterior.log_density_many(members)
    worst, kinds = float(left.max()), len(np.unique(np.round(ends, 1)))
    sentence = (
        f"Each of {len(members)} members stands at most {worst:.2f} nats of log posterior below the mode it climbs; "
        f"modes of {kinds} different heights were reached. {off(seen, 'ensemble')}"
    )
    return Check(
        "the ensemble is trained", "pass" if worst <= TO_THE_MODE else "unknown", worst, TO_THE_MODE, sentence, "nats"
    )


def advi_check(spec: MethodsSpec, seen: Study) -> Check:
    """Has the ELBO stopped rising?"""
    run = advi_run(spec)
    run.advance(run.total)
    fit = run.fit()
    third = len(fit.parameters) // 3
    rows = np.stack([fit.parameters[third : 2 * third].mean(axis=0), fit.parameters[2 * third :].mean(axis=0)])
    value = elbo(run.target, rows, draws=ELBO_DRAWS, seed=spec.seed)
    rise, error = float(value.value[1] - value.value[0]), float(value.error[1])
    sentence = (
        f"The ELBO of the averaged q is {value.value[1]:.2f} ± {error:.2f} nats, {signed(rise)} after the last third "
        f"of the steps. {off(seen, 'advi')}"
    )
    return Check(
        "ADVI has settled", "pass" if abs(rise) <= SETTLED + 2 * error else "unknown", rise, SETTLED, sentence, "nats"
    )
