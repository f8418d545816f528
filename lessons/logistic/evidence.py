"""The proof and what stands below the stage."""

from __future__ import annotations

from typing import Any

import numpy as np

from app.kit import researcher
from app.kit.charts import Column, Figure, Table
from app.kit.text import number
from engine import judge, logistic
from engine.diagnostics import summarise
from engine.judge import Check, Verdict
from engine.judge.recordings import LATER
from engine.spec import MAX_SEED
from engine.targets.quadrature import quadrature_truth
from lessons.logistic import analysis
from lessons.logistic.analysis import CHAINS, CHECKED, TOLERANCE
from lessons.logistic.spec import WORDS, LogisticSpec

LIMIT = 1e-5  # relative error of the grid
FLAT = 1e-6  # gradient at the mode
THINNED = 4000  # draws for what is predicted
SCORED = 1e-12  # least probability that a log score takes


def audit(spec: LogisticSpec, cancel: Any) -> list[Check]:
    """The grid against another quadrature, Newton's mode, the gradient against differences."""
    return [grid_check(spec), mode_check(spec), gradient(spec)]


def checks(spec: LogisticSpec, cancel: Any) -> list[Check]:
    """Longer chains of this sampler: do they agree, and with the grid?"""

    def look(number: int, work: int) -> Check:
        seed = spec.seed if number == 1 else (spec.seed + LATER) % (MAX_SEED + 1)
        return chain_check(spec, seed, work, level=judge.FIRST if number == 1 else judge.SECOND)

    return [*run_checks(spec), judge.two_looks(look)]


def run_checks(spec: LogisticSpec) -> list[Check]:
    """What the chains say of themselves: weights, prediction, log density."""
    run = analysis.longer(spec, spec.seed, 1)
    p = analysis.chances(run.draws[:, :, ::-1], spec.at)
    values = np.concatenate([run.draws[:, :, ::-1], p[:, :, None], run.log_density[:, :, None]], axis=2)
    return [judge.agreement_check(values, ["w₀", "w₁", WORDS.phrase("panels.p_at"), "log density"])]


def chain_check(spec: LogisticSpec, seed: int, work: int, *, level: float) -> Check:
    """Means, squares and the prediction of a longer run of this sampler against the grid."""
    grid, draws = analysis.grid(spec), analysis.longer(spec, seed, work).draws[:, :, ::-1]
    p = analysis.chances(draws, spec.at)
    mean, sd = grid.predictive(spec.at)
    names = ("w₀", "w₁")
    averages = [judge.Average(WORDS.phrase("checks.mean", w=w), draws[:, :, j], float(grid.mean[j])) for j, w in enumerate(names)]
    averages += [
        judge.Average(WORDS.phrase("checks.variance", w=w), (draws[:, :, j] - grid.mean[j]) ** 2, float(grid.covariance[j, j]))
        for j, w in enumerate(names)
    ]
    averages.append(judge.Average(WORDS.phrase("checks.mean_p_x", at=spec.at), p, float(mean[0])))
    averages.append(judge.Average(WORDS.phrase("checks.variance_p_x", at=spec.at), (p - mean[0]) ** 2, float(sd[0] ** 2)))
    return judge.averages_check(WORDS.phrase("checks.metropolis"), averages, level=level)


def grid_check(spec: LogisticSpec) -> Check:
    """The grid against the engine's adaptive quadrature, which shares no line with it."""
    name, grid, data = WORDS.phrase("checks.quadrature"), analysis.grid(spec), analysis.data_of(spec)
    found = quadrature_truth(logistic.posterior(data.x, data.y, spec.prior_sd))
    if found.truth is None:
        return judge.unknown(
            name,
            WORDS.phrase("checks.no_quadrature", reason=found.reason),
            kind="kernel",
            limit=LIMIT,
            unit=WORDS.phrase("checks.relative"),
        )
    sd = np.sqrt(np.diag(grid.covariance))
    errors = {
        "evidence": abs(found.truth.log_normaliser - grid.log_evidence),
        "means": float(np.max(np.abs(found.truth.mean[::-1] - grid.mean) / sd)),
        "covariances": float(np.max(np.abs(found.truth.covariance[::-1, ::-1] - grid.covariance) / np.outer(sd, sd))),
    }
    which = max(errors, key=lambda key: errors[key])
    sentence = WORDS.phrase(
        "checks.quadrature_sentence", which=WORDS["quadrature"][which], error=errors[which], log_evidence=grid.log_evidence
    )
    verdict: Verdict = "pass" if errors[which] < LIMIT else "fail"
    return Check(name, verdict, errors[which], LIMIT, sentence, "relative", kind="kernel")


def mode_check(spec: LogisticSpec) -> Check:
    """Is the gradient zero where Newton's steps end?"""
    data = analysis.data_of(spec)
    end = logistic.newton(data.x, data.y, spec.prior_sd).path[-1]
    slope = logistic.posterior(data.x, data.y, spec.prior_sd).log_density_and_gradient(end[::-1])[1]
    size = float(np.max(np.abs(slope)))
    sentence = WORDS.phrase("checks.mode_sentence", intercept=end[0], slope=end[1], size=size)
    verdict: Verdict = "pass" if size < FLAT else "fail"
    return Check(WORDS.phrase("checks.mode"), verdict, size, FLAT, sentence, WORDS.phrase("checks.nats_per_unit"), kind="kernel")


def gradient(spec: LogisticSpec) -> Check:
    """The coded gradient against central differences, at draws of the posterior."""
    data = analysis.data_of(spec)
    target = logistic.posterior(data.x, data.y, spec.prior_sd)
    rng = np.random.Generator(np.random.SFC64(spec.seed))
    normal = analysis.laplace(spec)
    points = rng.multivariate_normal(normal.mean, normal.covariance, 6)[:, ::-1]
    return judge.gradient_check(target, points)


def panels(spec: LogisticSpec, cancel: Any) -> list[Figure | Table]:
    """The four answers side by side, Newton's steps, and how they score."""
    return [answers(spec), steps(spec), *predictive(spec)]


def predictive(spec: LogisticSpec) -> list[Figure | Table]:
    """Points left out, and classes drawn from the posterior predictive of the long chains."""
    draws = analysis.long_run(spec)
    draws = draws[:, :: -(-draws.shape[0] * draws.shape[1] // THINNED)]
    return researcher.classes_card(analysis.predicted(spec, draws))


def answers(spec: LogisticSpec) -> Table:
    """Mean and sd of the weights and of p at x′ by four methods."""
    grid, normal = analysis.grid(spec), analysis.laplace(spec)
    draws = analysis.long_run(spec).reshape(-1, 2)
    mode, likelihood = analysis.climb(spec).path[-1], analysis.climb_likelihood(spec)
    mean, sd = grid.predictive(spec.at)
    p = analysis.chances(draws, spec.at)
    at = np.linspace(0, 1, 4001)[1:-1]
    density = normal.probability_density(spec.at, at)
    density = density / density.sum()
    centre = float(density @ at)
    none = float("nan")
    best = likelihood.path[-1] if likelihood.converged else np.full(2, none)
    columns = {
        "method": list(WORDS["methods"].values()),
        "w₀": [grid.mean[0], draws[:, 0].mean(), normal.mean[0], mode[0], best[0]],
        "sd of w₀": [*(np.sqrt(v) for v in (grid.covariance[0, 0], draws[:, 0].var(), normal.covariance[0, 0])), 0.0, 0.0],
        "w₁": [grid.mean[1], draws[:, 1].mean(), normal.mean[1], mode[1], best[1]],
        "sd of w₁": [*(np.sqrt(v) for v in (grid.covariance[1, 1], draws[:, 1].var(), normal.covariance[1, 1])), 0.0, 0.0],
        "p at x′": [mean[0], p.mean(), centre, analysis.chances(mode, spec.at), analysis.chances(best, spec.at)],
        "sd of p": [sd[0], p.std(), float(np.sqrt(density @ (at - centre) ** 2)), 0.0, 0.0],
        "log evidence": [grid.log_evidence, none, normal.log_evidence, none, none],
    }
    columns = {name: [v if isinstance(v, str) else float(v) for v in values] for name, values in columns.items()}
    told = [WORDS.phrase("panels.answers_caption", chains=CHAINS, draws=number(CHECKED), prior_sd=spec.prior_sd)]
    if not likelihood.converged:
        told.append(WORDS.phrase("panels.no_maximum"))
    if spec.data == "pairs":
        test = analysis.held_out(spec)
        exact = grid.predictive(test.x)[0]
        single = analysis.chances(mode[None], test.x)
        right = [float(np.mean((q > 0.5) == test.y)) for q in (exact, single)]
        score = [float(np.mean(np.log(np.maximum(np.where(test.y == 1, q, 1 - q), SCORED)))) for q in (exact, single)]
        scores = {"score": number(score[0]), "score_alone": number(score[1])}
        told.append(WORDS.phrase("panels.held_out", pairs=len(test.x), right=right[0], right_alone=right[1], **scores))
    return Table(WORDS.phrase("panels.answers"), columns, " ".join(told))


def steps(spec: LogisticSpec) -> Table:
    """Newton's steps, with and without the prior."""
    ours, plain = analysis.climb(spec), analysis.climb_likelihood(spec)
    rows = max(len(ours.path), len(plain.path))

    def padded(values: Any) -> list[float]:
        values = [float(v) for v in values]
        return values + [float("nan")] * (rows - len(values))

    columns: dict[str, Column] = {
        "step": list(range(rows)),
        "w₀": padded(ours.path[:, 0]),
        "w₁": padded(ours.path[:, 1]),
        "log posterior (nats)": padded(ours.value),
        "without prior: w₀": padded(plain.path[:, 0]),
        "w₁ without prior": padded(plain.path[:, 1]),
        "log likelihood (nats)": padded(plain.value),
    }
    told = [WORDS.phrase("panels.with_prior", tolerance=TOLERANCE, steps=len(ours.path) - 1)]
    if plain.converged:
        told.append(WORDS.phrase("panels.without_prior", steps=len(plain.path) - 1))
    else:
        told.append(WORDS.phrase("panels.no_end", slope=number(float(plain.path[-1, 1])), steps=len(plain.path) - 1))
    caption = " ".join(["".join(told), WORDS.phrase("panels.constant")])
    return Table(WORDS.phrase("panels.newton"), columns, caption)


def diagnostics(spec: LogisticSpec, cancel: Any) -> Table:
    """R-hat, effective draws and errors of the longer run."""
    draws, grid = analysis.long_run(spec), analysis.grid(spec)
    p = analysis.chances(draws, spec.at)
    found = summarise(np.concatenate([draws, p[:, :, None]], axis=2))
    mean, sd = grid.predictive(spec.at)
    columns = {
        "quantity": ["w₀", "w₁", WORDS.phrase("panels.p_at")],
        "mean": list(found.mean),
        "exact": [*map(float, grid.mean), float(mean[0])],
        "MCSE": list(found.mcse_mean),
        "sd": list(found.sd),
        "exact sd": [*(float(v) for v in np.sqrt(np.diag(grid.covariance))), float(sd[0])],
        "R-hat": [f"{value:.3f}" for value in found.rhat],
        "ESS bulk": list(np.round(found.ess_bulk)),
        "ESS tail": list(np.round(found.ess_tail)),
    }
    accepted = float(analysis.record(spec).accepted.mean())
    caption = WORDS.phrase("panels.cost", chains=CHAINS, draws=number(CHECKED), warmup=number(CHECKED // 4), accepted=accepted)
    return Table(WORDS.phrase("panels.sampler"), columns, caption)
