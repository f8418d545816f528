"""What stands below the stage: burn-in, thinning, autocorrelation, and the table of diagnostics."""

from __future__ import annotations

import numpy as np

from app.kit import charts, methods, theme
from app.kit.charts import Figure, Quote, Table
from app.kit.text import number
from engine import diagnostics as engine_diagnostics
from engine.diagnostics import autocorrelation
from engine.recording import Recording
from lessons.diagnostics import analysis, doctor
from lessons.diagnostics.patients import ILLNESSES
from lessons.diagnostics.spec import DiagnosticsLesson

LAGS = 60


def panels(spec: DiagnosticsLesson, cancel: object = None) -> list[Figure | Quote]:
    """Error against burn-in where the truth may be shown, worth of thinned draws, autocorrelation, and what a methods
    section says of this run."""
    burn = analysis.burn_in(spec)
    figures: list[Figure | Quote] = [*([] if burn is None else [_burn_in(spec, burn)]), _thinning(spec), _autocorrelation(spec)]
    return figures if spec.sealed else [*figures, _methods(spec)]


def _methods(spec: DiagnosticsLesson) -> Quote:
    run = analysis.simulate(spec)
    kept = analysis.counted(spec, run.draws)
    text = methods.sentences(
        analysis.describe(spec),
        (spec.chains, kept.shape[1]),
        engine_diagnostics.summarise(kept),
        warmup=0,
        burn=spec.burn,
        thin=spec.thin,
        divergent=None if run.energy is None else analysis.counted(spec, run.divergent),
        ebfmi=None if run.energy is None else engine_diagnostics.ebfmi(analysis.counted(spec, run.energy)),
    )
    return Quote("For a methods section", text)


def _burn_in(spec: DiagnosticsLesson, found: analysis.BurnIn) -> Figure:
    name = analysis.name_of(spec)
    best = int(np.argmin(found.rmse))
    figure = charts.blank("draws of each chain discarded", f"error of the mean of {name}")
    for what, values, role, dash in (
        ("this run", found.error, "muted", "dot"),
        (f"bias: mean of {found.repeats} runs", found.bias, "reject", "dash"),
        (f"typical error: RMSE of {found.repeats} runs", found.rmse, "posterior", "solid"),
    ):
        line = {"color": theme.colour(role), "width": 2, "dash": dash}
        figure.add_scatter(x=found.discarded, y=values, mode="lines", line=line, name=what)
    _upright(figure, float(spec.burn))
    caption = (
        f"Typical error {number(found.rmse[0])} with nothing discarded, least ({number(found.rmse[best])}) at "
        f"{found.discarded[best]} draws, {number(found.rmse[-1])} at {found.discarded[-1]}. Bias falls with the "
        "discarded draws, then only precision is lost. The upright line is the present burn-in. RMSE is the root of "
        "the mean squared error; the runs differ in their random numbers alone."
    )
    alt = f"Error of the mean of {name} against discarded draws: this run, bias and typical error. {caption}"
    return Figure("Burn-in: what to discard", figure, alt, caption)


def _thinning(spec: DiagnosticsLesson) -> Figure:
    found = analysis.thinning(spec)
    figure = charts.blank("keep every k-th draw", "ratio")
    for what, values, role, dash, symbol in (
        ("ESS of all kept draws, relative to k = 1", found.ess / found.ess[0], "posterior", "solid", "circle"),
        ("ESS per kept draw", found.ess / found.draws, "highlight", "dash", "square"),
    ):
        look = {"line": {"color": theme.colour(role), "width": 2, "dash": dash}, "marker": {"symbol": symbol}}
        figure.add_scatter(x=found.every, y=values, mode="lines+markers", name=what, **look)
    _upright(figure, float(spec.thin))
    figure.update_yaxes(rangemode="tozero")
    caption = (
        f"All {number(int(found.draws[0]))} draws after the burn-in are worth {number(found.ess[0])} independent "
        f"ones; every {found.every[-1]}th of them, {number(int(found.draws[-1]))}, is worth {number(found.ess[-1])}. "
        "A kept draw may be worth more, all of them together are not (ESS is an estimate, and wobbles). The upright "
        "line is the present thinning."
    )
    return Figure("Thinning: what it costs", figure, f"Two curves against thinning. {caption}", caption)


def _autocorrelation(spec: DiagnosticsLesson) -> Figure:
    values = analysis.counted(spec, analysis.watched(spec, analysis.simulate(spec).draws))
    lags = min(LAGS, values.shape[1] // 2)
    found = autocorrelation(values, lags)
    figure = charts.blank("lag: kept draws apart", "autocorrelation")
    for chain, line in enumerate(found):
        look = {"color": theme.colour(f"chain-{chain}"), "width": 1.5, "dash": theme.DASHES[chain]}
        figure.add_scatter(x=np.arange(lags + 1), y=line, mode="lines", line=look, name=f"chain {chain + 1}")
    first = float(np.nanmean(found[:, 1])) if np.isfinite(found[:, 1]).any() else float("nan")
    caption = (
        f"Neighbours correlate by {number(first, 2)} on average. The slower these curves fall to 0, the fewer "
        "effective draws: ESS is the number of draws divided by 1 + 2 × their sum (within chains; disagreement "
        "between chains lowers it further)."
    )
    return Figure("Autocorrelation of each chain", figure, f"Autocorrelation against lag. {caption}", caption)


def _upright(figure: object, at: float) -> None:
    """A thin line at the present setting."""
    line = {"color": theme.colour("ink"), "width": 1.5, "dash": "dot"}
    shape = {"type": "line", "xref": "x", "yref": "y domain", "x0": at, "x1": at, "y0": 0, "y1": 1, "line": line}
    figure.layout.shapes = [shape]  # type: ignore[attr-defined]


def diagnostics(spec: DiagnosticsLesson, cancel: object = None) -> Table:
    """One row for all chains together and one for each chain; the watched quantity, burn-in and thinning as set."""
    run, true = analysis.simulate(spec), analysis.exact(spec)
    values = analysis.counted(spec, analysis.watched(spec, run.draws))[:, :, None]
    rows = [("all chains", slice(None)), *((f"chain {c + 1}", slice(c, c + 1)) for c in range(spec.chains))]
    columns: dict[str, list] = {}
    seconds = analysis.seconds(spec)
    for _, some in rows:
        for column, value in _row(spec, run, values, true, some, seconds).items():
            columns.setdefault(column, []).append(value)
    illness, reason = doctor.diagnose(spec)
    judged = "" if spec.sealed else f" **What the signs point to:** {ILLNESSES[illness].lower()}. {reason}"
    kept = spec.chains * spec.kept
    caption = (
        f"{number(spec.chains * spec.draws)} draws, {number(kept)} kept; "
        f"{number(int(run.gradient_evaluations.sum()))} evaluations of the density and its gradient in "
        f"{number(1000 * seconds)} ms. R-hat of one chain compares its halves. MCSE is the standard error of the mean "
        "that the chains claim. E-BFMI (samplers with an energy only): below 0.3 the energy hardly changes from draw "
        f"to draw.{judged}"
    )
    chains = [name for name, _ in rows]
    return Table(f"Diagnostics of {analysis.name_of(spec)}, per chain and pooled", {"chain": chains, **columns}, caption)


def _row(
    spec: DiagnosticsLesson, run: Recording, values: np.ndarray, true: analysis.Exact, some: slice, seconds: float
) -> dict[str, object]:
    found = engine_diagnostics.summarise(values[some])
    spent = int(run.gradient_evaluations[some].sum())
    share = spent / max(int(run.gradient_evaluations.sum()), 1)
    mean, mcse, ess = float(found.mean[0]), float(found.mcse_mean[0]), float(found.ess_bulk[0])
    known = {} if spec.sealed else {"exact": true.mean, "error / MCSE": (mean - true.mean) / mcse if mcse else np.nan}
    energy = None if run.energy is None else analysis.counted(spec, run.energy)[some]
    moved = np.any(np.diff(run.draws[some], axis=1) != 0.0, axis=2).mean()
    return {
        "mean": mean,
        **known,
        "MCSE": mcse,
        "R-hat": f"{found.rhat[0]:.3f}" if np.isfinite(found.rhat[0]) else np.nan,
        "ESS bulk": np.round(ess),
        "ESS tail": np.round(found.ess_tail[0]),
        "E-BFMI": np.nan if energy is None else float(engine_diagnostics.ebfmi(energy).min()),
        "moved": f"{100 * moved:.0f} %",
        "divergent": int(analysis.counted(spec, run.divergent)[some].sum()),
        "gradients": spent,
        "ESS / 1000 gradients": 1000 * ess / max(spent, 1),
        "ESS / s": ess / max(seconds * share, 1e-9),
    }
