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

from app.kit.text import minus
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
from lessons.xor_methods.spec import FITTED, NAMES, SAMPLERS, WORDS, MethodsSpec
from lessons.xor_methods.study import CELLS, FAR_AWAY, PLACE_NAMES, PLACES, QUANTITIES, REFERENCE, WHOLE, Study, name_of, study

Array = NDArray[np.float64]

MASKS = 4000  # of dropout, drawn to be held against all of them
GRADIENTS = 6  # weights at which the gradient is tried
ELBO_DRAWS = 4000
SETTLED = 1.0  # nats that the ELBO may still change in the last third of the steps
TO_THE_MODE = 0.5  # nats of log posterior that a trained network may have left to climb


def kernels(spec: MethodsSpec) -> list[Kernel]:
    """NUTS, HMC and reversible jump, at the points of the page, each with what its first chain has tuned."""
    wrong = WORDS.phrase("checks.always_accept") if spec.variant == "always_accept" else ""
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
    name, there = WORDS.phrase("checks.agree", name=name_of(method)), np.isfinite(one.value)
    rhat = np.where(np.isfinite(one.rhat), one.rhat, np.inf)[there]
    rhat = np.full(len(rhat), np.inf) if is_planted(STUCK) else rhat
    worst, least = float(rhat.max()), float(np.min(one.ess[there]))
    sentence = WORDS.phrase("checks.agree_told", functions=len(rhat), rhat=worst, ess=least)
    verdict: Verdict = "pass" if worst <= MAX_RHAT and least >= MIN_ESS else "unknown"
    if worst > APART:
        verdict = "fail"
        sentence = f"{sentence} {WORDS.phrase('checks.disagree')}"
    elif verdict == "unknown":
        sentence = f"{sentence} {WORDS.phrase('checks.run_longer', rhat=MAX_RHAT, ess=MIN_ESS)}"
    return Check(name, verdict, worst, MAX_RHAT, sentence, "R-hat", kind="run")


def numbers(spec: MethodsSpec, seen: Study) -> list[Check]:
    """What the two methods on the stage say, against a long run of NUTS, whose kernel is proven: nothing exact is
    known. Reversible jump averages over widths, another question; its networks with k units answer the others'.
    """
    reference, found = seen.says[REFERENCE], []
    for method in dict.fromkeys((spec.method, spec.compare)):
        if method != "jumps":
            told = off(seen, method) if method in FITTED else ""
            found.append(against(NAMES[method], seen.says[method], reference, told=told))
        elif seen.same_width is None:
            title = WORDS.phrase("checks.against", name=NAMES[method])
            found.append(unknown(title, WORDS.phrase("checks.no_same_width", units=spec.units), kind="numbers"))
        else:
            which = WORDS.phrase("checks.same_width", units=spec.units)
            found.append(against(NAMES[method], seen.same_width, reference, which))
    return found


def against(name: str, ours: Estimate, theirs: Estimate, which: str = "", *, told: str = "") -> Check:
    """Do two answers agree on every quantity? Independent networks, which have no R-hat, always count.

    which : of our networks, if not all are meant; told : what else is to be said
    """
    title, unit = WORDS.phrase("checks.against", name=name), WORDS.phrase("checks.mcse")
    where = f" {which}" if which else ""
    there = np.isfinite(ours.value) & np.isfinite(theirs.value)
    for who, one in ((name, ours), (WORDS.phrase("checks.long_run"), theirs)):
        if not np.isfinite(one.rhat).any():
            continue
        worst = float(np.max(np.where(np.isfinite(one.rhat), one.rhat, np.inf)[there]))
        if worst > MAX_RHAT:
            return unknown(title, WORDS.phrase("checks.not_mixed", who=who, rhat=worst), kind="numbers", unit=unit)
        least = float(np.min(one.ess[there]))
        if not least >= MIN_ESS:
            return unknown(title, WORDS.phrase("checks.too_few", who=who, ess=least, where=where), kind="numbers", unit=unit)
    z = np.where(there, (ours.value - theirs.value) / np.hypot(ours.error, theirs.error), np.nan)
    z = z + (OFF if is_planted(SHIFTED) else 0.0)
    found = surprise(z)
    sentence = WORDS.phrase(
        "checks.against_told",
        quantity=QUANTITIES[found.place],
        where=where,
        ours=ours.value[found.place],
        theirs=theirs.value[found.place],
        apart=abs(found.z),
        quantities=there.sum(),
    )
    verdict: Verdict = "fail" if found.p < ALONE else "pass"
    return Check(title, verdict, found.z, math.nan, f"{sentence} {told}".strip(), unit, p=found.p)


def off(seen: Study, method: str) -> str:
    """How far an approximation is from the reference, in words."""
    difference, error = seen.difference(method)
    over_all = {"whole": signed(difference[WHOLE]), "error": error[WHOLE]}
    if not np.isfinite(difference[FAR_AWAY]):
        return WORDS.phrase("checks.off", **over_all)
    return WORDS.phrase("checks.off_far_too", **over_all, far=signed(difference[FAR_AWAY]), far_error=error[FAR_AWAY])


def signed(value: float) -> str:
    """With its sign, a true minus."""
    return minus(f"{value:+.3f}")


def masks_check(spec: MethodsSpec, keep: float | None = None) -> Check:
    """Random masks against all masks, each with its probability: the mean probability at some places, and the mean
    entropy over the map. keep : of all masks, default the page's
    """
    name, model, theta = WORDS.phrase("checks.masks"), model_of(spec), dropped(spec).theta
    drawn = features(model, dropout_draws(model, theta, spec.keep, MASKS, spec.seed))
    every, weights = all_masks(spec, spec.keep if keep is None else keep)
    true = weights @ features(model, every)
    moved = np.ptp(drawn, axis=0) > 1e-9  # beyond rounding
    if not moved.any():
        return unknown(name, WORDS.phrase("checks.masks_alike"), kind="kernel", unit="SE")
    drawn, true = drawn[:, moved], true[moved]
    z = (drawn.mean(axis=0) - true) / (drawn.std(axis=0) / np.sqrt(MASKS))
    found = surprise(z, np.atleast_2d(np.corrcoef(drawn.T)))
    averages = [*(WORDS.phrase("checks.average_at", place=place) for place in PLACE_NAMES), WORDS.phrase("checks.entropy")]
    sentence = WORDS.phrase(
        "checks.masks_told",
        masks=MASKS,
        all=2**spec.units,
        averages=len(true),
        which=np.array(averages)[moved][found.place],
        drawn=drawn[:, found.place].mean(),
        exact=true[found.place],
        apart=abs(found.z),
    )
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
    sentence = WORDS.phrase("checks.ensemble_told", members=len(members), below=worst, heights=kinds)
    verdict: Verdict = "pass" if worst <= TO_THE_MODE else "unknown"
    return Check(WORDS.phrase("checks.ensemble"), verdict, worst, TO_THE_MODE, sentence, "nats", kind="run")


def advi_check(spec: MethodsSpec) -> Check:
    """Has the ELBO stopped rising?"""
    run = advi_run(spec)
    run.advance(run.total)
    fit = run.fit()
    third = len(fit.parameters) // 3
    rows = np.stack([fit.parameters[third : 2 * third].mean(axis=0), fit.parameters[2 * third :].mean(axis=0)])
    value = elbo(run.target, rows, draws=ELBO_DRAWS, seed=spec.seed)
    rise, error = float(value.value[1] - value.value[0]), float(value.error[1])
    sentence = WORDS.phrase("checks.advi_told", elbo=value.value[1], error=error, rise=signed(rise))
    verdict: Verdict = "pass" if abs(rise) <= SETTLED + 2 * error else "unknown"
    return Check(WORDS.phrase("checks.advi"), verdict, rise, SETTLED, sentence, "nats", kind="run")
