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
from lessons.diagnostics.spec import WORDS, DiagnosticsLesson

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
    return Quote(WORDS.phrase("panels.methods"), text)


def _burn_in(spec: DiagnosticsLesson, found: analysis.BurnIn) -> Figure:
    name = analysis.name_of(spec)
    best = int(np.argmin(found.rmse))
    figure = charts.blank(WORDS.phrase("panels.discarded"), WORDS.phrase("panels.error", name=name))
    for what, values, role, dash in (
        (WORDS.phrase("panels.this_run"), found.error, "muted", "dot"),
        (WORDS.phrase("panels.bias", repeats=found.repeats), found.bias, "reject", "dash"),
        (WORDS.phrase("panels.rmse", repeats=found.repeats), found.rmse, "posterior", "solid"),
    ):
        line = {"color": theme.colour(role), "width": 2, "dash": dash}
        figure.add_scatter(x=found.discarded, y=values, mode="lines", line=line, name=what)
    _upright(figure, float(spec.burn))
    caption = WORDS.phrase(
        "panels.burn_in_caption",
        first=number(found.rmse[0]),
        least=number(found.rmse[best]),
        best=found.discarded[best],
        last=number(found.rmse[-1]),
        most=found.discarded[-1],
    )
    alt = WORDS.phrase("panels.burn_in_alt", name=name, caption=caption)
    return Figure(WORDS.phrase("panels.burn_in"), figure, alt, caption)


def _thinning(spec: DiagnosticsLesson) -> Figure:
    found = analysis.thinning(spec)
    figure = charts.blank(WORDS.phrase("panels.every"), WORDS.phrase("panels.ratio"))
    for what, values, role, dash, symbol in (
        (WORDS.phrase("panels.ess_of_kept"), found.ess / found.ess[0], "posterior", "solid", "circle"),
        (WORDS.phrase("panels.ess_per_draw"), found.ess / found.draws, "highlight", "dash", "square"),
    ):
        look = {"line": {"color": theme.colour(role), "width": 2, "dash": dash}, "marker": {"symbol": symbol}}
        figure.add_scatter(x=found.every, y=values, mode="lines+markers", name=what, **look)
    _upright(figure, float(spec.thin))
    figure.update_yaxes(rangemode="tozero")
    caption = WORDS.phrase(
        "panels.thinning_caption",
        draws=number(int(found.draws[0])),
        worth=number(found.ess[0]),
        every=found.every[-1],
        kept=number(int(found.draws[-1])),
        kept_worth=number(found.ess[-1]),
    )
    return Figure(WORDS.phrase("panels.thinning"), figure, WORDS.phrase("panels.thinning_alt", caption=caption), caption)


def _autocorrelation(spec: DiagnosticsLesson) -> Figure:
    values = analysis.counted(spec, analysis.watched(spec, analysis.simulate(spec).draws))
    lags = min(LAGS, values.shape[1] // 2)
    found = autocorrelation(values, lags)
    figure = charts.blank(WORDS.phrase("panels.lag"), WORDS.phrase("panels.autocorrelation"))
    for chain, line in enumerate(found):
        look = {"color": theme.colour(f"chain-{chain}"), "width": 1.5, "dash": theme.DASHES[chain]}
        figure.add_scatter(x=np.arange(lags + 1), y=line, mode="lines", line=look, name=WORDS.phrase("stage.chain", chain=chain + 1))
    first = float(np.nanmean(found[:, 1])) if np.isfinite(found[:, 1]).any() else float("nan")
    caption = WORDS.phrase("panels.autocorrelation_caption", correlation=number(first, 2))
    alt = WORDS.phrase("panels.autocorrelation_alt", caption=caption)
    return Figure(WORDS.phrase("panels.autocorrelations"), figure, alt, caption)


def _upright(figure: object, at: float) -> None:
    """A thin line at the present setting."""
    line = {"color": theme.colour("ink"), "width": 1.5, "dash": "dot"}
    shape = {"type": "line", "xref": "x", "yref": "y domain", "x0": at, "x1": at, "y0": 0, "y1": 1, "line": line}
    figure.layout.shapes = [shape]  # type: ignore[attr-defined]


def diagnostics(spec: DiagnosticsLesson, cancel: object = None) -> Table:
    """One row for all chains together and one for each chain; the watched quantity, burn-in and thinning as set."""
    run, true = analysis.simulate(spec), analysis.exact(spec)
    values = analysis.counted(spec, analysis.watched(spec, run.draws))[:, :, None]
    each = range(spec.chains)
    names = [WORDS.phrase("panels.all_chains"), *(WORDS.phrase("stage.chain", chain=c + 1) for c in each)]
    columns: dict[str, list] = {"chain": names}
    seconds = analysis.seconds(spec)
    for some in (slice(None), *(slice(c, c + 1) for c in each)):
        for column, value in _row(spec, run, values, true, some, seconds).items():
            columns.setdefault(column, []).append(value)
    caption = WORDS.phrase(
        "panels.cost",
        draws=number(spec.chains * spec.draws),
        kept=number(spec.chains * spec.kept),
        evaluations=number(int(run.gradient_evaluations.sum())),
        ms=number(1000 * seconds),
        least_ebfmi=doctor.MIN_EBFMI,
    )
    if not spec.sealed:
        illness, reason = doctor.diagnose(spec)
        caption = f"{caption} {WORDS.phrase('panels.points_to', illness=ILLNESSES[illness].lower(), reason=reason)}"
    return Table(WORDS.phrase("panels.table", name=analysis.name_of(spec)), columns, caption)


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
