"""What the lesson computes: the chains, the diagnostics of every quantity, and what is checked."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from app.kit import files
from app.kit.text import minus
from datasets import chains_text, known
from datasets.card import Card
from datasets.chains import Chains
from datasets.known import Known
from engine import diagnostics, sample, targets
from engine.array_stats import array_stats
from engine.diagnostics import Summary
from engine.judge import MAX_RHAT, MIN_ESS, Check, agreement_check, averages_check, divergence_check, energy_check, gradient_check, unknown
from engine.judge.numbers import Average
from engine.kept import kept
from engine.recording import Recording
from engine.spec import SpecError
from engine.targets.target import Target, TargetError
from lessons.families import chain_files
from lessons.own_chain.spec import WORDS, OwnChain

Array = NDArray[np.float64]

FIRST_PICTURE = (array_stats,)  # that it loads
CHAINS, WARMUP = 4, 500
LEAST_KEPT = 20  # draws of each chain that are left when some are left out
AWAY = ((-1.0, -1.0), (1.0, 1.0), (-1.0, 1.0), (1.0, -1.0))
LIMIT = 0.01  # R-hat − 1 that counts as much trouble as an ESS of `MIN_ESS`


# The chains -----------------------------------------------------------------------------------------------------------


def simulate(spec: OwnChain) -> Chains:
    """The chains that are looked at, nothing left out. Raises SpecError saying what is missing or wrong."""
    return chain_files.read(spec.file) if spec.source == "file" else _simulate(spec.of_chains())


@kept
def _simulate(spec: OwnChain) -> Chains:
    if spec.source == "density":
        made = spec.build()
        try:
            run = sample(made.target, "nuts", chains=CHAINS, draws=spec.draws, warmup=WARMUP, seed=spec.seed)
        except TargetError as error:
            raise SpecError("log_density", f"no chain could start: {error}") from error
        values, _ = made.constrain(run.draws)
        return _of_recording(run, made.names, values, WORDS.phrase("source.density"), WARMUP)
    target, method, settings = _example(spec.example)
    run = sample(target, method, seed=spec.seed, **settings)
    name = WORDS.phrase("source.example", sampler=run.run.method.label, target=target.name.replace("_", " "))
    return _of_recording(run, target.labels, run.draws, name, settings.get("warmup", 0))


def _example(name: str) -> tuple[Target, str, dict[str, Any]]:
    """Target, sampler and settings of an example."""
    size = {"chains": CHAINS, "draws": 1000}
    corners = np.array(AWAY)
    if name == "stuck":
        target = targets.build("two_modes", separation=9.0, weight=0.7)
        return target, "hmc", {**size, "step_size": 0.4, "steps": 4, "init": np.array([-4.5, 0.0]) * corners[:, :1] * [1.0, 0.0]}
    if name == "corner":
        return targets.build("funnel", dimension=5), "nuts", {**size, "warmup": 200, "step_size": 0.5}
    target = targets.build("gaussian", dimension=4, correlation=0.5)
    if name == "unwarmed":
        return target, "metropolis", {**size, "scale": 1.2, "init": 40.0 + 5.0 * np.hstack([corners, corners])}
    return target, "nuts", {**size, "warmup": 300}


def _of_recording(run: Recording, names: Sequence[str], values: Array, source: str, warmup: int) -> Chains:
    stats = {"log density": run.log_density}
    if run.energy is not None:
        stats |= {"energy": run.energy, "divergent": run.divergent.astype(np.float64)}
    card = Card(source, WORDS.phrase("source.here"), WORDS.phrase("source.public"), "")
    return Chains(tuple(names), values, stats, warmup, (), card)


def truth(spec: OwnChain) -> Known | None:
    """What is known: what the reader gave, or of an example its exact answer; None without."""
    if spec.truth:
        return _truth(spec.truth)
    if spec.source != "example":
        return None
    target = _example(spec.example)[0]
    exact = target.truth
    if exact is None or exact.heavy_tails:
        return None
    nothing = np.zeros(target.dim)
    sd = np.sqrt(np.diag(exact.covariance))
    card = Card(WORDS.phrase("source.exact"), "", "", "")
    return Known(target.labels, exact.mean, sd, nothing + math.inf, nothing, nothing, card)


@kept
def _truth(reference: str) -> Known:
    return known.read({reference.partition(" ")[2] or "truth": files.held(reference, "truth")})


def taken(spec: OwnChain) -> dict[str, Array]:
    """The draws that count for files to take home, (chains, draws) by name; what the sampler said, as CmdStan calls it."""
    run = counted(spec)
    draws = {name: np.ascontiguousarray(run.draws[:, :, j]) for j, name in enumerate(run.names)}
    return {**draws, **{chains_text.STATS[name]: values for name, values in run.stats.items()}}


# Every quantity -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Found:
    """Diagnostics of every quantity.

    run : the chains that count ; summary : of all quantities, (q,); NaN of those that cannot be judged
    order : (q,), quantities by trouble, the worst first
    decimals : (q,), of the mean, that may be said; negative: whole tens. NaN where nothing may, or chains disagree
    steady : (q,) bool, quantities that never change; broken : (q,) bool, those with NaN or infinities
    """

    run: Chains
    summary: Summary
    order: NDArray[np.int64]
    decimals: Array
    steady: NDArray[np.bool_]
    broken: NDArray[np.bool_]

    @property
    def moving(self) -> NDArray[np.int64]:
        """Quantities that can be judged."""
        return np.flatnonzero(~self.steady & ~self.broken)


def counted(spec: OwnChain) -> Chains:
    """The chains without the draws that are left out."""
    found = simulate(spec)
    draws = found.draws.shape[1]
    if not spec.burn:
        return found
    if draws - spec.burn < LEAST_KEPT:
        raise SpecError("burn", f"{spec.burn:,} of {draws:,} draws leaves less than {LEAST_KEPT}")
    stats = {name: values[:, spec.burn :] for name, values in found.stats.items()}
    where = tuple((file, lines[spec.burn :]) for file, lines in found.where)
    return replace(found, draws=found.draws[:, spec.burn :], stats=stats, where=where)


def look(spec: OwnChain) -> Found:
    """The diagnostics of every quantity; the same object for all ways of looking at them."""
    return _look(spec.of_table())


@kept
def _look(spec: OwnChain) -> Found:
    run = counted(spec)
    values = run.draws
    broken = ~np.all(np.isfinite(values), axis=(0, 1))
    steady = ~broken & np.all(values == values[:1, :1], axis=(0, 1))
    judged = ~broken & ~steady
    nothing = np.full(values.shape[2], np.nan)
    columns = {name: nothing.copy() for name in ("rhat", "ess_bulk", "ess_tail", "mean", "sd", "mcse_mean")}
    if judged.any():
        summary = diagnostics.summarise(values[:, :, judged])
        for name, column in columns.items():
            column[judged] = getattr(summary, name)
    columns["mean"][steady], columns["sd"][steady] = values[0, 0, steady], 0.0
    summary = Summary(**columns)
    known = np.where(summary.rhat <= MAX_RHAT, summary.mcse_mean, np.nan)  # of chains that disagree no error can be told
    return Found(run, summary, np.argsort(-_trouble(summary, broken, steady), kind="stable"), decimals(known), steady, broken)


def _trouble(summary: Summary, broken: NDArray[np.bool_], steady: NDArray[np.bool_]) -> Array:
    """How bad a quantity is: excess of R-hat over its limit, or lack of effective draws, whichever is worse."""
    rhat = np.where(np.isfinite(summary.rhat), summary.rhat, math.inf)
    ess = np.fmin(summary.ess_bulk, summary.ess_tail)
    with np.errstate(all="ignore"):
        found = np.fmax((rhat - 1.0) / LIMIT, MIN_ESS / np.where(np.isfinite(ess), ess, 1.0))
    return np.where(broken, math.inf, np.where(steady, -1.0, found))


def decimals(mcse: Array) -> Array:
    """Decimals of a mean that its error leaves alone: two MCSE are at most half a unit of the last one."""
    with np.errstate(all="ignore"):
        found = np.floor(-np.log10(4.0 * mcse))
    return np.where(np.isfinite(found), found, np.nan)


def said(value: float, places: float) -> str:
    """A mean to as many decimals as may be said; “–” where nothing may."""
    if not (math.isfinite(value) and math.isfinite(places)):
        return "–"
    shown = round(value, int(min(places, 12)))
    if places < 0 and shown == 0.0 and abs(value) > 0.0:
        return "–"
    return minus(f"{shown + 0.0:.{max(0, int(min(places, 12)))}f}")  # + 0.0: no minus before a zero


def on_stage(spec: OwnChain) -> tuple[int, int | None]:
    """The quantity on stage, and the next worst, with which it is drawn in the plane; None: there is only one."""
    order = look(spec).order
    if spec.place > len(order):
        raise SpecError("place", f"there are {len(order)} quantities")
    second = spec.place if spec.place < len(order) else 0
    return int(order[spec.place - 1]), int(order[second]) if len(order) > 1 else None


# Checks ---------------------------------------------------------------------------------------------------------------


def audit(spec: OwnChain, cancel: object = None) -> list[Check]:
    """Of a density that was typed: its gradient, and the change of volume. Of draws alone nothing can be told."""
    if spec.source != "density":
        return [unknown(WORDS.phrase("checks.kernel"), WORDS.phrase("checks.from_draws"), kind="kernel")]
    made = spec.build()
    points = np.random.Generator(np.random.SFC64(spec.seed)).uniform(-2.0, 2.0, (12, made.target.dim))
    points = points[np.isfinite(made.target.log_density_many(points))]
    if not len(points):
        return [unknown(WORDS.phrase("checks.gradient"), WORDS.phrase("checks.no_density"), kind="kernel")]
    return [gradient_check(made.target, points), jacobian_check(spec)]


def jacobian_check(spec: OwnChain) -> Check:
    """What the target adds to the density that was typed, against log |det dx/du| by finite differences."""
    made = spec.build()
    plain = _plain(spec)
    rng = np.random.Generator(np.random.SFC64(spec.seed))
    off, seen, h = 0.0, 0, 1e-5
    kept_values = [made.names.index(value) for block in made.blocks for value in block.values[: block.free]]
    for u in rng.uniform(-2.0, 2.0, (12, made.target.dim)):
        added = made.target.log_density(u) - plain.log_density(u)
        if not math.isfinite(added):
            continue
        steps = h * np.eye(len(u))
        slopes = (made.constrain(u + steps)[0] - made.constrain(u - steps)[0])[:, kept_values] / (2.0 * h)
        off, seen = max(off, abs(added - float(np.linalg.slogdet(slopes)[1]))), seen + 1
    name = WORDS.phrase("checks.jacobian")
    if not seen:
        return unknown(name, WORDS.phrase("checks.no_density"), kind="kernel")
    sentence, fine = WORDS.phrase("checks.added", points=seen, off=off), off < JACOBIAN_LIMIT
    if not fine:
        sentence = f"{sentence} {WORDS.phrase('checks.other_density')}"
    unit = WORDS.phrase("checks.log_density")
    return Check(name, "pass" if fine else "fail", off, JACOBIAN_LIMIT, sentence, unit, kind="kernel")


JACOBIAN_LIMIT = 1e-4


def _plain(spec: OwnChain) -> Target:
    """The density that was typed, in its parameters' own values: nothing is added for the constraints."""
    return spec.replace(jacobian="forgotten").build().target


def faults(spec: OwnChain) -> dict[str, OwnChain]:
    """The mistake that can be planted in a density with constraints."""
    if spec.source != "density" or spec.jacobian == "forgotten":
        return {}
    if all(block.constraint == 0 for block in spec.build().blocks):
        return {}
    return {WORDS.phrase("checks.forget_jacobian"): spec.replace(jacobian="forgotten")}


def checks(spec: OwnChain, cancel: object = None) -> list[Check]:
    """The run, by what its chains and its sampler say, and its numbers where the answer is known."""
    found, run = look(spec), counted(spec)
    shown = [int(j) for j in found.order if not (found.steady[j] or found.broken[j])] or [0]
    checked = [agreement_check(run.draws[:, :, shown], [run.names[j] for j in shown])]
    if found.broken.any():
        sentence, unit = WORDS.phrase("checks.broken", missing=run.missing()[0]), WORDS.phrase("checks.quantities")
        checked.insert(0, Check(WORDS.phrase("checks.finite"), "fail", float(found.broken.sum()), 0.0, sentence, unit, kind="run"))
    if "divergent" in run.stats:
        checked.append(divergence_check(run.stats["divergent"] > 0))
    if "energy" in run.stats and np.isfinite(run.stats["energy"]).all():
        checked.append(energy_check(run.stats["energy"]))
    return [*checked, numbers(spec)]


def numbers(spec: OwnChain) -> Check:
    """Means, and sds where they are known, against what is known."""
    answer, known_answer = truth(spec), WORDS.phrase("checks.known")
    if answer is None:
        return unknown(known_answer, WORDS.phrase("checks.nothing_known"), kind="numbers")
    found = look(spec)
    here = {found.run.names[j]: int(j) for j in found.moving}
    averages = []
    for i, name in enumerate(answer.names):
        if name not in here:
            continue
        values, mean, sd = found.run.draws[:, :, here[name]], float(answer.mean[i]), float(answer.sd[i])
        effective = math.sqrt(float(answer.draws[i]))
        rounding = 12.0**-0.5
        spread = sd if math.isfinite(sd) else float(values.std())
        error = math.hypot(spread / effective, rounding * answer.mean_unit[i])
        averages.append(Average(WORDS.phrase("checks.mean_of", name=name), values, mean, None, math.inf, error))
        if math.isfinite(sd) and sd > 0.0:
            squares = (values - mean) ** 2
            error = math.hypot(float(squares.std()) / effective, 2.0 * sd * rounding * answer.sd_unit[i])
            averages.append(Average(WORDS.phrase("checks.variance_of", name=name), squares, sd * sd, None, math.inf, error))
    if not averages:
        known_names, names = (", ".join(these[:3]) for these in (answer.names, found.run.names))
        words = WORDS.phrase("checks.other_names", source=answer.card.name, known=known_names, names=names)
        return unknown(known_answer, words, kind="numbers")
    return averages_check(known_answer, averages)
