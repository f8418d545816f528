"""The three signs of the page. Kernel: NUTS, HMC and reversible jump are tried on exact draws; of the methods that do
not sample, the parts that have a law are held against it. This run: have chains, training and fit come far enough? The
numbers: the methods on the stage against a long run of NUTS, within the Monte Carlo error of both; approximations are
off, and by how much is told.
"""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from engine.judge import ALONE, MAX_RHAT, MIN_ESS, Check, Kernel, Verdict, gradient_check, kernel_of, unknown
from engine.judge.looks import surprise
from engine.judge.numbers import OFF
from engine.judge.plant import SHIFTED, STUCK, is_planted
from engine.judge.run import APART
from engine.kept import kept
from engine.networks import Network
from engine.networks.predictive import probabilities
from engine.scores import binary_entropy
from engine.training import dropout_draws
from engine.variational.advi import elbo
from lessons.xor_methods.analysis import WARMUP, Estimate, advi_run, data_of, dropped, learning, model_of, plane, sampler
from lessons.xor_methods.spec import FITTED, NAMES, SAMPLERS, MethodsSpec
from lessons.xor_methods.study import CELLS, PLACE_NAMES, PLACES, QUANTITIES, REFERENCE, Study, name_of, study

Array = NDArray[np.float64]

WHOLE = QUANTITIES.index("epistemic uncertainty over the map")
FAR_AWAY = QUANTITIES.index("epistemic uncertainty far from the data")
MASKS = 4000  # of dropout, drawn to be held against all of them
GRADIENTS = 6  # weights at which the gradient is tried
ELBO_DRAWS = 4000
SETTLED = 1.0  # nats that the ELBO may still change in the last third of the steps
TO_THE_MODE = 0.5  # nats of log posterior that a trained network may have left to climb


def kernels(spec: MethodsSpec) -> list[Kernel]:
    """NUTS, HMC and reversible jump, at the points of the page, each with what its first chain has tuned."""
    wrong = "HMC never rejects, on purpose." if spec.variant == "always_accept" else ""
    found = [kernel_of(tuned(learning(spec), method), wrong if method == "hmc" else "") for method in SAMPLERS]
    return [kernel for kernel in found if kernel is not None]


@kept
def tuned(spec: MethodsSpec, method: str) -> Any:
    """The recording of a sampler just after its warm-up."""
    run = sampler(spec, method, 1, WARMUP, spec.seed)
    run.advance(run.total)
    return run.recording()


def audit(spec: MethodsSpec, cancel: Any) -> list[Check]:
    """The gradient that all but the masks stand on, against differences; the masks of dropout against all masks."""
    model = model_of(spec)
    gentle = min(1.0, 1.0 / spec.prior_sd) * model.prior_draws(GRADIENTS, spec.seed)
    return [gradient_check(model.posterior(*data_of(spec)), gentle), masks_check(spec)]


def checks(spec: MethodsSpec, cancel: Any) -> list[Check]:
    """Have chains, training and fit come far enough; and is what the two methods on the stage say the posterior's?"""
    seen = study(spec, cancel)
    shown = [seen.says[method] for method in SAMPLERS]
    found = [agreement(method, one) for method, one in zip(SAMPLERS, shown, strict=True)]
    found += [agreement(REFERENCE, seen.says[REFERENCE]), ensemble_check(spec, seen), advi_check(spec)]
    return [*found, *numbers(spec, seen)]


def agreement(method: str, one: Estimate) -> Check:
    """Do the chains of a sampler agree on every quantity?"""
    name, there = f"chains of {name_of(method)} agree", np.isfinite(one.value)
    rhat = np.where(np.isfinite(one.rhat), one.rhat, np.inf)[there]
    rhat = np.full(len(rhat), np.inf) if is_planted(STUCK) else rhat
    worst, least = float(rhat.max()), float(np.min(one.ess[there]))
    sentence = f"R-hat of {len(rhat)} functions is {worst:.3f} at most, with {least:,.0f} effective networks at least."
    verdict: Verdict = "pass" if worst <= MAX_RHAT and least >= MIN_ESS else "unknown"
    if worst > APART:
        verdict = "fail"
        sentence += " The chains disagree: what they say is not to be believed."
    elif verdict == "unknown":
        sentence += f" R-hat {MAX_RHAT} at most and {MIN_ESS:.0f} effective draws are asked for: run longer."
    return Check(name, verdict, worst, MAX_RHAT, sentence, "R-hat", kind="run")


def numbers(spec: MethodsSpec, seen: Study) -> list[Check]:
    """What the two methods on the stage say, against a long run of NUTS, whose kernel is proven: nothing exact is
    known. Reversible jump averages over widths, another question; its networks with k units answer the others'.
    """
    reference, found = seen.says[REFERENCE], []
    for method in dict.fromkeys((spec.method, spec.compare)):
        if method != "jumps":
            found.append(against(NAMES[method], seen.says[method], reference, told=told(seen, method)))
        elif seen.same_width is None:
            words = f"No network with {spec.units} units was drawn."
            found.append(unknown("Reversible jump against the long NUTS run", words, kind="numbers"))
        else:
            words = f" in its networks with {spec.units} units"
            found.append(against(NAMES[method], seen.same_width, reference, words))
    return found


def told(seen: Study, method: str) -> str:
    """What else is said of an approximation."""
    return f" {off(seen, method)}" if method in FITTED else ""


def against(name: str, ours: Estimate, theirs: Estimate, which: str = "", *, told: str = "") -> Check:
    """Do two answers agree on every quantity? Independent networks, which have no R-hat, always count."""
    title = f"{name} against the long NUTS run"
    there = np.isfinite(ours.value) & np.isfinite(theirs.value)
    for who, one in ((name, ours), ("the long NUTS run", theirs)):
        if not np.isfinite(one.rhat).any():
            continue
        worst = float(np.max(np.where(np.isfinite(one.rhat), one.rhat, np.inf)[there]))
        if worst > MAX_RHAT:
            words = f"The chains of {who} disagree (R-hat in function space {worst:.3f}): no error bar means anything."
            return unknown(title, words, kind="numbers", unit="MCSE")
        least = float(np.min(one.ess[there]))
        if not least >= MIN_ESS:
            words = f"{who} has only {least:.0f} effective networks{which}: too few to judge."
            return unknown(title, words, kind="numbers", unit="MCSE")
    z = np.where(there, (ours.value - theirs.value) / np.hypot(ours.error, theirs.error), np.nan)
    z = z + (OFF if is_planted(SHIFTED) else 0.0)
    found = surprise(z)
    sentence = (
        f"{QUANTITIES[found.place]}{which} is {ours.value[found.place]:.4f}, the long NUTS run says "
        f"{theirs.value[found.place]:.4f}: {abs(found.z):.1f} standard errors apart, the worst of {there.sum()} "
        f"quantities.{told}"
    )
    verdict: Verdict = "fail" if found.p < ALONE else "pass"
    return Check(title, verdict, found.z, math.nan, sentence, "MCSE", p=found.p)


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


def masks_check(spec: MethodsSpec, keep: float | None = None) -> Check:
    """Random masks against all masks, each with its probability: the mean probability at some places, and the mean
    entropy over the map. keep : of all masks, default the page's
    """
    name, model, theta = "MC dropout draws its masks", model_of(spec), dropped(spec).theta
    drawn = features(model, dropout_draws(model, theta, spec.keep, MASKS, spec.seed))
    every, weights = all_masks(spec, spec.keep if keep is None else keep)
    true = weights @ features(model, every)
    moved = np.ptp(drawn, axis=0) > 1e-9  # beyond rounding
    if not moved.any():
        return unknown(name, "All masks give the same network.", kind="kernel", unit="SE")
    drawn, true = drawn[:, moved], true[moved]
    z = (drawn.mean(axis=0) - true) / (drawn.std(axis=0) / np.sqrt(MASKS))
    found = surprise(z, np.atleast_2d(np.corrcoef(drawn.T)))
    what = np.array([*PLACE_NAMES, "the mean entropy over the map"])[moved][found.place]
    sentence = (
        f"{MASKS:,} random masks against all {2**spec.units} masks with their probabilities: the worst of {len(true)} "
        f"averages is that at {what}, {drawn[:, found.place].mean():.4f} and {true[found.place]:.4f}, "
        f"{abs(found.z):.1f} standard errors apart."
    ).replace("that at the mean", "the mean")
    return Check(name, "pass" if found.p >= ALONE else "fail", found.z, math.nan, sentence, "SE", kind="kernel", p=found.p)


def features(model: Network, theta: Array) -> Array:
    """(n, places + 1) probabilities of class 1 at PLACES, and the mean entropy over the map, of networks theta."""
    shown = probabilities(model, theta, PLACES)[:, :, 1]
    inside = binary_entropy(probabilities(model, theta, plane(CELLS))[:, :, 1]).mean(axis=1)
    return np.column_stack([shown, inside])


def all_masks(spec: MethodsSpec, keep: float) -> tuple[Array, Array]:
    """The network under every mask of its hidden units (masks, dim), and the probabilities of the masks (masks,)."""
    model, theta = model_of(spec), dropped(spec).theta
    (inner, bias), (outer, last) = model.unpack(theta)
    rows, weights = [], []
    for mask in itertools.product((0.0, 1.0), repeat=spec.units):
        kept = np.array(mask)
        rows.append(np.concatenate([inner.ravel(), bias, (outer * kept / spec.keep).ravel(), last]))
        weights.append(np.prod(np.where(kept > 0, keep, 1.0 - keep)))
    return np.array(rows), np.array(weights)


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
        f"modes of {kinds} different heights were reached."
    )
    return Check("the ensemble is trained", "pass" if worst <= TO_THE_MODE else "unknown", worst, TO_THE_MODE, sentence, "nats", kind="run")


def advi_check(spec: MethodsSpec) -> Check:
    """Has the ELBO stopped rising?"""
    run = advi_run(spec)
    run.advance(run.total)
    fit = run.fit()
    third = len(fit.parameters) // 3
    rows = np.stack([fit.parameters[third : 2 * third].mean(axis=0), fit.parameters[2 * third :].mean(axis=0)])
    value = elbo(run.target, rows, draws=ELBO_DRAWS, seed=spec.seed)
    rise, error = float(value.value[1] - value.value[0]), float(value.error[1])
    sentence = f"The ELBO of the averaged q is {value.value[1]:.2f} ± {error:.2f} nats, {signed(rise)} after the last third of the steps."
    return Check("ADVI has settled", "pass" if abs(rise) <= SETTLED + 2 * error else "unknown", rise, SETTLED, sentence, "nats", kind="run")
