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
from lessons.gibbs.analysis import CORRELATIONS, LONG_CHAINS, LONG_SWEEPS
from lessons.gibbs.spec import WORDS, GibbsLesson

LAGS = 40
LOOKS = {"gibbs": ("posterior", "solid", "circle"), "block": ("accept", "dot", "square"), "metropolis": ("reject", "dash", "cross")}
VARIANTS = {
    "gibbs": {"update": "conditional"},
    "blocked": {"update": "conditional", "block": "yes"},
    "random_order": {"update": "conditional", "scan": "random"},
    "metropolis": {},
}


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
    figure = charts.blank(WORDS.phrase("stage.lag"), WORDS.phrase("panels.autocorrelation"))
    for axis, j in enumerate(analysis.plane(spec).coordinates):
        found = autocorrelation(walk.recording.draws[:, :, j], lags, pooled=True)
        line = {"color": theme.colour(f"chain-{axis}"), "dash": theme.DASHES[axis], "width": 2}
        figure.add_scatter(y=found, mode="lines", line=line, name=walk.target.labels[j])
    told = [WORDS.phrase("panels.averaged", chains=spec.chains, draws=spec.draws)]
    exact = analysis.exact_autocorrelation(spec, lags)
    lag_one = analysis.exact_lag_one(spec)
    diamond = {"symbol": "diamond-open", "size": 7, "color": theme.colour("ink")}
    if exact is not None:
        figure.add_scatter(y=exact, mode="markers", marker=diamond, name=WORDS.phrase("panels.exact"))
        told.append(WORDS.phrase("panels.exact_block" if spec.blocked else f"panels.exact_{spec.scan}"))
    if lag_one is not None:
        larger = {**diamond, "size": 10}
        figure.add_scatter(x=[1], y=[lag_one], mode="markers", marker=larger, name=WORDS.phrase("panels.exact_lag_one"))
        told.append(WORDS.phrase("panels.exact_precision", lag_one=lag_one))
    figure.update_yaxes(range=[-0.3, 1.03])
    caption = " ".join(told)
    return Figure(WORDS.phrase("panels.memory"), figure, WORDS.phrase("panels.memory_alt", lags=lags, caption=caption), caption)


def _by_correlation(spec: GibbsLesson, what: str, values: dict[str, np.ndarray]) -> Figure:
    """`what` of each sampler against the correlation."""
    y = WORDS.phrase(f"panels.{what}_axis")
    made = WORDS.phrase("panels.by_correlation", scale=number(spec.scale), chains=LONG_CHAINS, sweeps=number(LONG_SWEEPS))
    caption = f"{WORDS.phrase(f'panels.{what}_law')} {made}"
    figure = charts.blank(WORDS.phrase("panels.target_correlation"), y)
    for name, found in values.items():
        role, dash, symbol = LOOKS[name]
        figure.add_scatter(
            x=CORRELATIONS,
            y=found,
            mode="markers+lines" if name != "gibbs" else "markers",
            line={"color": theme.colour(role), "dash": dash},
            marker={"symbol": symbol, "size": 8, "color": theme.colour(role)},
            name=WORDS.phrase(f"panels.{name}"),
        )
    pairs = zip(CORRELATIONS, values["gibbs"], strict=True)
    listed = "; ".join(WORDS.phrase("panels.at_correlation", rho=rho, value=value) for rho, value in pairs)
    figure.add_vline(x=abs(spec.correlation), line={"color": theme.colour("muted"), "dash": "dot", "width": 1.5})
    alt = WORDS.phrase("panels.by_correlation_alt", what=y, listed=listed, caption=caption)
    return Figure(WORDS.phrase(f"panels.{what}"), figure, alt, caption)


def _lag_one(spec: GibbsLesson) -> Figure:
    figure = _by_correlation(spec, "lag_one", analysis.correlation_sweep(spec.seed, spec.scale).lag_one)
    rho, line = np.linspace(0, 0.995, 200), {"color": theme.colour("ink")}
    figure.figure.add_scatter(x=rho, y=rho**2, mode="lines", line=line, name=WORDS.phrase("panels.lag_one_exact"))
    return figure


def _effective(spec: GibbsLesson) -> Figure:
    figure = _by_correlation(spec, "effective", analysis.correlation_sweep(spec.seed, spec.scale).efficiency)
    rho, line = np.linspace(0, 0.995, 200), {"color": theme.colour("ink")}
    figure.figure.add_scatter(x=rho, y=gaussian_efficiency(rho), mode="lines", line=line, name=WORDS.phrase("panels.exact"))
    figure.figure.update_yaxes(type="log", dtick=1)
    return figure


def _compared(spec: GibbsLesson, cancel: Any) -> Figure:
    """Effective draws of every sampler that can run on this target."""
    found: dict[str, float] = {}
    right = spec.replace(variant="exact", update="metropolis")
    target = right.build_target()
    known = target.conditionals
    options: dict[str, dict[str, Any]]
    if known is None:
        options = {WORDS.phrase("panels.step", scale=scale): {"scale": scale} for scale in (0.1, 0.3, 1.0, 3.0, 10.0)}
    else:
        options = {WORDS.phrase(f"panels.{name}"): changes for name, changes in VARIANTS.items() if name != "blocked" or known.blocked}
    for name, changes in options.items():
        if cancel is not None and cancel.is_set():
            break
        found[name] = analysis.efficiency(right.replace(**{"block": "no", "scan": "systematic", **changes}))
    steps = WORDS.phrase("panels.steps_as_named") if known is None else WORDS.phrase("panels.steps_alike", scale=number(spec.scale))
    caption = WORDS.phrase("panels.compared_caption", dimension=target.dim, chains=LONG_CHAINS, sweeps=number(LONG_SWEEPS), steps=steps)
    return charts.bars(
        WORDS.phrase("panels.compared"),
        list(found),
        list(found.values()),
        alt=WORDS.phrase("panels.compared_alt", listed="; ".join(f"{name}: {value:.3g}" for name, value in found.items())),
        x=WORDS.phrase("panels.one_at_a_time" if known is None else "panels.updates"),
        y=WORDS.phrase("panels.ess"),
        caption=caption,
    )


def _pooling(spec: GibbsLesson) -> Figure:
    """Estimate against posterior mean: how far each group is pulled."""
    y, sigma = (np.array(values) for values in spec.groups())
    truth = spec.build_target().known
    mean, sd = truth.mean[2:], np.sqrt(np.diag(truth.covariance))[2:]
    draws = analysis.simulate(spec).recording.draws[:, :, 2:].mean(axis=(0, 1))
    names = [str(k + 1) for k in range(len(y))]
    figure = charts.blank(WORDS.phrase("panels.group"), WORDS.phrase("stage.effect"))
    looks = (
        (WORDS.phrase("panels.estimate"), y, sigma, "square", "muted"),
        (WORDS.phrase("stage.posterior_mean"), mean, sd, "diamond-open", "ink"),
    )
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
        name=WORDS.phrase("panels.posterior_draws"),
    )
    figure.update_xaxes(tickvals=list(range(len(y))), ticktext=names)
    figure.add_scatter(
        x=[-0.5, len(y) - 0.5],
        y=[float(truth.mean[1])] * 2,
        mode="lines",
        line={"color": theme.colour("truth"), "dash": "dash"},
        name=WORDS.phrase("panels.common_mean"),
    )
    shrunk = 1.0 - float(np.std(mean) / np.std(y)) if np.std(y) > 0 else math.nan
    rows = zip(names, y, mean, strict=True)
    listed = "; ".join(WORDS.phrase("panels.pulled", group=name, estimate=estimate, mean=left) for name, estimate, left in rows)
    alt, caption = WORDS.phrase("panels.pooling_alt", listed=listed), WORDS.phrase("panels.pooling_caption", shrunk=100 * shrunk)
    return Figure(WORDS.phrase("panels.pooling"), figure, alt, caption)


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
    figure = charts.blank(WORDS.phrase("panels.measurement"), WORDS.phrase("stage.density"))
    curve, dashed = {"color": theme.colour("posterior")}, {"color": theme.colour("ink"), "dash": "dash"}
    figure.add_scatter(x=x, y=mixed.mean(axis=1), mode="lines", line=curve, name=WORDS.phrase("panels.from_draws"))
    figure.add_scatter(x=x, y=exact, mode="lines", line=dashed, name=WORDS.phrase("panels.student"))
    figure.add_scatter(
        x=y,
        y=np.zeros(len(y)),
        mode="markers",
        marker={"symbol": "line-ns-open", "size": 16, "color": theme.colour("ink")},
        name=WORDS.phrase("panels.measurements"),
    )
    caption = WORDS.phrase("panels.next_caption")
    return Figure(WORDS.phrase("panels.next"), figure, WORDS.phrase("panels.next_alt", caption=caption), caption)


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
    caption = WORDS.phrase(
        "panels.cost",
        chains=chains(spec.chains),
        sweeps=number(spec.draws),
        evaluations=number(cost.gradient_evaluations),
        each=WORDS.phrase("panels.to_record" if spec.by_conditional else "panels.by_updates"),
        ms=number(1000 * cost.seconds),
    )
    return Table(WORDS.phrase("panels.diagnostics"), columns, caption)
