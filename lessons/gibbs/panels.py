"""What stands below the stage: memory, mixing against correlation, partial pooling, the diagnostics."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from app.kit import charts, pictures, theme
from app.kit.charts import Figure, Table
from app.kit.text import chains, number
from engine.diagnostics import autocorrelation
from engine.samplers.gibbs_theory import gaussian_efficiency
from lessons.gibbs import analysis
from lessons.gibbs.analysis import CORRELATIONS, LONG_CHAINS, SWEEP_DRAWS
from lessons.gibbs.spec import GibbsLesson

LAGS = 40
LOOKS = {"Gibbs": ("posterior", "solid", "circle"), "block": ("accept", "dot", "square"), "Metropolis": ("reject", "dash", "cross")}
SHORT = {"Gibbs": {}, "blocked": {"block": "yes"}, "random order": {"scan": "random"}}


def panels(spec: GibbsLesson, cancel: object = None) -> list[Figure]:
    """Memory of the run; then what correlation does to three samplers, or the samplers compared on this target."""
    if spec.target == "gaussian":
        return [_memory(spec), _lag_one(spec), _effective(spec)]
    figures = [_memory(spec), _compared(spec, cancel)]
    if spec.target == "hierarchical":
        figures.append(_pooling(spec))
    elif spec.target == "normal_gamma":
        figures.append(_predictive(spec))
    return figures


def _memory(spec: GibbsLesson) -> Figure:
    walk = analysis.simulate(spec)
    lags = min(LAGS, spec.draws // 3)
    figure = charts.blank("lag (sweeps)", "autocorrelation")
    for axis, j in enumerate(analysis.plane(spec).coordinates):
        found = autocorrelation(walk.recording.draws[:, :, j], lags, pooled=True)
        line = {"color": theme.colour(f"chain-{axis}"), "dash": theme.DASHES[axis], "width": 2}
        figure.add_scatter(y=found, mode="lines", line=line, name=walk.target.labels[j])
    caption = f"Of the {spec.chains} × {spec.draws} draws of this run, averaged over chains."
    exact = analysis.exact_autocorrelation(spec, lags)
    lag_one = analysis.exact_lag_one(spec)
    diamond = {"symbol": "diamond-open", "size": 7, "color": theme.colour("ink")}
    if exact is not None:
        figure.add_scatter(y=exact, mode="markers", marker=diamond, name="exact")
        law = "0 at every lag" if spec.blocked else "ρ²ᵏ" if spec.scan == "systematic" else "known from 2 × 2 matrices"
        caption += f" Exact, for both coordinates: {law}."
    if lag_one is not None:
        figure.add_scatter(x=[1], y=[lag_one], mode="markers", marker={**diamond, "size": 10}, name="exact, lag 1")
        caption += f" Exact: 0 for μ at every lag, and 1/(2a + 3) = {lag_one:.3f} for τ at lag 1, with a its shape."
    figure.update_yaxes(range=[-0.3, 1.03])
    alt = f"Autocorrelation of the two coordinates on the map up to lag {lags}. {caption}"
    return Figure("How long the walk remembers", figure, alt, caption)


def _sweep_figure(spec: GibbsLesson, title: str, y: str, values: dict[str, np.ndarray], caption: str) -> Figure:
    figure = charts.blank("correlation ρ of the target", y)
    for name, found in values.items():
        role, dash, symbol = LOOKS[name]
        figure.add_scatter(
            x=CORRELATIONS,
            y=found,
            mode="markers+lines" if name != "Gibbs" else "markers",
            line={"color": theme.colour(role), "dash": dash},
            marker={"symbol": symbol, "size": 8, "color": theme.colour(role)},
            name=name,
        )
    listed = "; ".join(f"ρ = {rho:g}: {value:.2g}" for rho, value in zip(CORRELATIONS, values["Gibbs"], strict=True))
    figure.add_vline(x=abs(spec.correlation), line={"color": theme.colour("muted"), "dash": "dot", "width": 1.5})
    return Figure(title, figure, f"{y} against the correlation. Gibbs: {listed}. {caption}", caption)


def _made(spec: GibbsLesson) -> str:
    return (
        "Block: both coordinates jointly. Metropolis: one coordinate at a time, proposal sd "
        f"{number(spec.scale)}. Points: {LONG_CHAINS} chains of {number(SWEEP_DRAWS)} sweeps each, unit variances. "
        "Line: "
        "exact for Gibbs. Dotted: |ρ| on the stage."
    )


def _lag_one(spec: GibbsLesson) -> Figure:
    sweep = analysis.correlation_sweep(spec.seed, spec.scale)
    title = "Correlation of neighbouring draws"
    figure = _sweep_figure(spec, title, "lag-one autocorrelation of x₁", sweep.lag_one, "Exact: ρ². " + _made(spec))
    rho = np.linspace(0, 0.995, 200)
    figure.figure.add_scatter(x=rho, y=rho**2, mode="lines", line={"color": theme.colour("ink")}, name="ρ², exact")
    return figure


def _effective(spec: GibbsLesson) -> Figure:
    sweep = analysis.correlation_sweep(spec.seed, spec.scale)
    words = "Exact: (1 − ρ²)/(1 + ρ²). " + _made(spec)
    figure = _sweep_figure(spec, "Effective draws per sweep", "ESS of x₁ per sweep", sweep.efficiency, words)
    rho = np.linspace(0, 0.995, 200)
    figure.figure.add_scatter(x=rho, y=gaussian_efficiency(rho), mode="lines", line={"color": theme.colour("ink")}, name="exact")
    figure.figure.update_yaxes(type="log", dtick=1)
    return figure


def _compared(spec: GibbsLesson, cancel: Any) -> Figure:
    """Effective draws of every sampler that can run on this target."""
    found: dict[str, float] = {}
    right = spec.replace(variant="exact", update="metropolis")
    known = right.build_target().conditionals
    options: dict[str, dict[str, Any]]
    if known is None:
        options = {f"step {scale:g}": {"scale": scale} for scale in (0.1, 0.3, 1.0, 3.0, 10.0)}
    else:
        options = {name: {**c, "update": "conditional"} for name, c in SHORT.items()}
        options["Metropolis"] = {}
    for name, changes in options.items():
        if name == "blocked" and not (known is not None and known.blocked):
            continue
        if cancel is not None and cancel.is_set():
            break
        found[name] = analysis.efficiency(right.replace(**{"block": "no", "scan": "systematic", **changes}))
    caption = (
        f"For the mean of the worst of all {right.build_target().dim} coordinates, {LONG_CHAINS} chains of 5 000 "
        f"sweeps "
        f"each. Metropolis: one coordinate at a time, proposal sd "
        + (f"{number(spec.scale)} of each coordinate's sd." if known else "as named, in units of each coordinate's sd.")
    )
    alt = "; ".join(f"{name}: {value:.3g}" for name, value in found.items())
    title = "Effective draws per 1 000 sweeps"
    return charts.bars(
        title,
        list(found),
        list(found.values()),
        alt=f"{title}. {alt}.",
        x="update" if known else "Metropolis, one variable at a time",
        y="ESS",
        caption=caption,
    )


def _pooling(spec: GibbsLesson) -> Figure:
    """Estimate against posterior mean: how far each group is pulled."""
    y, sigma = (np.array(values) for values in spec.groups())
    truth = spec.build_target().known
    mean, sd = truth.mean[2:], np.sqrt(np.diag(truth.covariance))[2:]
    draws = analysis.simulate(spec).recording.draws[:, :, 2:].mean(axis=(0, 1))
    names = [str(k + 1) for k in range(len(y))]
    figure = charts.blank("group", "effect (unit of the estimates)")
    looks = (("estimate ± σ", y, sigma, "square", "muted"), ("exact posterior mean ± sd", mean, sd, "diamond-open", "ink"))
    for offset, (name, values, spread, symbol, role) in zip((-0.12, 0.12), looks, strict=True):
        figure.add_scatter(
            x=np.arange(len(y)) + offset,
            y=values,
            mode="markers",
            error_y={"type": "data", "array": spread, "color": theme.colour(role, 0.6)},
            marker={"symbol": symbol, "size": 9, "color": theme.colour(role)},
            name=name,
        )
    figure.add_scatter(
        x=np.arange(len(y)) + 0.24,
        y=draws,
        mode="markers",
        marker={"symbol": "circle", "size": 7, "color": theme.colour("posterior")},
        name="mean of the draws",
    )
    figure.update_xaxes(tickvals=list(range(len(y))), ticktext=names)
    figure.add_scatter(
        x=[-0.5, len(y) - 0.5],
        y=[float(truth.mean[1])] * 2,
        mode="lines",
        line={"color": theme.colour("truth"), "dash": "dash"},
        name="mean of μ (exact)",
    )
    shrunk = 1.0 - float(np.std(mean) / np.std(y)) if np.std(y) > 0 else math.nan
    caption = (
        f"Partial pooling: the posterior means lie {100 * shrunk:.0f} % closer together than the estimates (their sds "
        "compared). The larger its σ, the larger the share of the way to μ that a group is pulled."
    )
    listed = "; ".join(f"group {k}: {a:.3g} to {b:.3g}" for k, a, b in zip(names, y, mean, strict=True))
    return Figure("Estimates and what is left of them", figure, f"Each group's estimate and posterior mean. {listed}.", caption)


def _predictive(spec: GibbsLesson) -> Figure:
    """The measurements and the exact predictive density of the next one: Student t."""
    y = np.array(spec.measured())
    _, mean, kappa, shape, rate = spec.build_target().data
    scale = math.sqrt(rate * (kappa + 1.0) / (shape * kappa))
    low, high = min(float(y.min()), mean - 4 * scale), max(float(y.max()), mean + 4 * scale)
    x = np.linspace(low, high, 200)
    draws = analysis.simulate(spec).recording.draws.reshape(-1, 2)
    mixed = np.exp(-0.5 * draws[:, 1] * (x[:, None] - draws[:, 0]) ** 2) * np.sqrt(draws[:, 1] / (2 * np.pi))
    log_top = math.lgamma(shape + 0.5) - math.lgamma(shape) - 0.5 * math.log(2 * math.pi * shape) - math.log(scale)
    exact = np.exp(log_top - (shape + 0.5) * np.log1p(((x - mean) / scale) ** 2 / (2 * shape)))
    figure = charts.blank("measurement y", "density")
    figure.add_scatter(x=x, y=mixed.mean(axis=1), mode="lines", line={"color": theme.colour("posterior")}, name="from the draws")
    figure.add_scatter(x=x, y=exact, mode="lines", line={"color": theme.colour("ink"), "dash": "dash"}, name="exact (Student t)")
    figure.add_scatter(
        x=y,
        y=np.zeros(len(y)),
        mode="markers",
        marker={"symbol": "line-ns-open", "size": 16, "color": theme.colour("ink")},
        name="measurements",
    )
    caption = "Averaged over the draws of (μ, τ): normal curves, one a draw. Their mixture has heavier tails than any of them."
    return Figure("The next measurement", figure, f"Predictive density of the next measurement. {caption}", caption)


def diagnostics(spec: GibbsLesson, cancel: object = None) -> Table:
    """One row a coordinate: R-hat, effective draws, what they cost, how often updates are accepted."""
    walk, found = analysis.simulate(spec), analysis.diagnose(spec)
    summary, cost = found.summary, found.cost
    columns = {
        **charts.estimates(
            walk.target.labels, summary, *pictures.exact(walk.target), per="sweeps", spent=spec.chains * spec.draws, seconds=cost.seconds
        ),
        "updates accepted": [f"{100 * share:.0f} %" for share in found.acceptance],
    }
    each = "1 a sweep, to record the log density" if spec.by_conditional else "by the updates"
    caption = (
        f"{chains(spec.chains)} of {number(spec.draws)} sweeps. {number(cost.gradient_evaluations)} evaluations of "
        f"the density, {each}; {number(1000 * cost.seconds)} ms. Gibbs needs no gradient and makes no divergences: it "
        "has no energy. MCSE is the Monte Carlo standard error of the mean. Accepted: of the updates on the "
        "stage (chain 1)."
    )
    return Table("Diagnostics of this run", columns, caption)
