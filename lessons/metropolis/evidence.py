"""What follows the picture: the checks behind the signs, the still panels, the table of diagnostics."""

from __future__ import annotations

import dataclasses
import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from app.kit import charts, theme
from app.kit.charts import Figure, Table
from engine import diagnostics, judge
from engine.diagnostics import autocorrelation
from engine.judge import Check, Verdict
from lessons.metropolis import analysis
from lessons.metropolis.spec import WORDS, MetropolisLesson

Array = NDArray[np.float64]

WALK = 20_000  # transitions of each of the walkers that are compared
RARE = 100  # expected visits below which a share is not judged
CHECKED = 4  # coordinates whose averages are checked
WALKERS = 4


# Checks ---------------------------------------------------------------------------------------------------------------


def audit(spec: MetropolisLesson, cancel: Any) -> list[Check]:
    """What the trial of the kernel does not see: whether each proposal of the run on the stage left a draw."""
    if spec.part == "islands":
        return []
    run = analysis.three(spec)[1] if spec.part == "triptych" else spec
    found = [counting_check(analysis.walk(run))]
    if not analysis.kernels(spec):
        found.append(judge.unknown(WORDS.phrase("checks.exact"), WORDS.phrase("checks.no_draws"), kind="kernel"))
    return found


def counting_check(walk: analysis.Walk) -> Check:
    """Has every proposal left a draw, a rejected one another visit?"""
    lost, made = int(walk.tries.sum() - len(walk.tries)), int(walk.tries.sum())
    sentence = WORDS.phrase("checks.counted", lost=lost, made=made)
    if lost:
        sentence = f"{sentence} {WORDS.phrase('checks.must_count')}"
    verdict: Verdict = "fail" if lost else "pass"
    return Check(WORDS.phrase("checks.counting"), verdict, float(lost), 0.0, sentence, WORDS.phrase("checks.lost_visits"), kind="kernel")


def checks(spec: MetropolisLesson, cancel: Any) -> list[Check]:
    """Longer runs of the present kernels: do their chains agree, and with the exact answer?"""
    if spec.part == "islands":
        return _island_checks(spec)
    if spec.part == "plane":
        return _chains(spec)
    found = []
    for run in analysis.three(spec):
        if not cancel.is_set():
            found += [
                dataclasses.replace(check, name=WORDS.phrase("checks.of_scale", check=check.name, scale=run.scale))
                for check in _chains(run)
            ]
    return found


def _chains(spec: MetropolisLesson) -> list[Check]:
    truth = analysis.target_of(spec).truth
    if truth is not None and len(truth.mean) > CHECKED:
        part = slice(CHECKED)
        truth = dataclasses.replace(truth, mean=truth.mean[part], covariance=truth.covariance[part, part], marginals=truth.marginals[part])
    return judge.chains_checks(lambda seed, work: analysis.longer(spec, seed, work), spec.seed, truth)


def _island_checks(spec: MetropolisLesson) -> list[Check]:
    """More walkers with the same settings: do they agree, and visit each island as often as it has people?"""
    walks, truth = analysis.more_walkers(spec, WALKERS, WALK), analysis.shares(spec)
    logs = np.log(spec.people())[walks]
    values = np.stack([walks.astype(np.float64), logs], axis=2)
    agreement = judge.agreement_check(values, [WORDS.phrase("checks.island"), WORDS.phrase("checks.people")], WORDS.phrase("checks.agree"))

    def look(number: int, work: int) -> Check:
        seen = walks if number == 1 else analysis.more_walkers(spec, WALKERS, work * WALK, again=True)
        shares = [_visits(k, float(share), seen) for k, share in enumerate(truth) if share * seen.size >= RARE]
        return judge.averages_check(WORDS.phrase("checks.visits"), shares, level=judge.FIRST if number == 1 else judge.SECOND)

    return [agreement, judge.two_looks(look)]


def _visits(k: int, share: float, walks: NDArray[np.int64]) -> judge.Average:
    """Visits to island k against its people, with the true sd."""
    what = WORDS.phrase("checks.share", island=k + 1)
    return judge.Average(what, (walks == k).astype(float), share, math.sqrt(share * (1.0 - share)))


# Still panels ---------------------------------------------------------------------------------------------------------


def panels(spec: MetropolisLesson, cancel: Any) -> list[Figure | Table]:
    """The figures of the part that is shown."""
    if spec.part == "islands":
        return [_matrix(spec), _crowd(spec)]
    if spec.part == "triptych":
        return [*_scales(spec, cancel), _memory(spec)]
    chains = analysis.record(spec).draws[:, :, 0]
    name = analysis.target_of(spec).labels[0]
    ranks = charts.rank(
        WORDS.phrase("panels.ranks", name=name),
        chains[:, spec.burn :],
        alt=WORDS.phrase("panels.ranks_alt", name=name, chains=spec.chains),
        caption=WORDS.phrase("panels.ranks_caption"),
    )
    return [*_dimensions(spec, cancel), ranks if spec.chains > 1 else _scales(spec, cancel)[1]]


def _matrix(spec: MetropolisLesson) -> Figure:
    matrix = analysis.island_matrix(spec)
    names = [str(k + 1) for k in range(len(matrix))]
    figure = charts.heat_map(
        WORDS.phrase("panels.matrix"),
        matrix,
        x=WORDS.phrase("panels.to_island"),
        y=WORDS.phrase("panels.from_island"),
        xs=names,
        ys=names,
        unit=WORDS.phrase("panels.probability"),
        alt=WORDS.phrase("panels.matrix_alt"),
        caption=WORDS.phrase("panels.never_stays" if spec.variant == "drop_rejections" else "panels.stays"),
    )
    figure.figure.update_xaxes(type="category")
    figure.figure.update_yaxes(type="category", autorange="reversed")
    return figure


def _crowd(spec: MetropolisLesson) -> Figure:
    distances = analysis.crowd_distance(spec, min(spec.draws, 300))
    figure = charts.blank(WORDS.phrase("stage.transition"), WORDS.phrase("panels.distance"))
    figure.update_yaxes(type="log", exponentformat="power", dtick=1)
    shown = np.where(distances > 1e-6, distances, np.nan)  # below that rounding begins to show
    line = {"color": theme.colour("posterior"), "width": 2}
    figure.add_scatter(y=shown, mode="lines", line=line, name=WORDS.phrase("panels.crowd_line"))
    transitions, end = len(distances) - 1, distances[-1]
    caption = WORDS.phrase("panels.crowd_caption", island=spec.first_island)
    if spec.variant == "drop_rejections" and len(spec.people()) % 2 == 0:
        caption = f"{caption} {WORDS.phrase('panels.swings')}"
    elif end > 0.01:
        caption = f"{caption} {WORDS.phrase('panels.still_off', transitions=transitions, distance=end)}"
    alt = WORDS.phrase("panels.crowd_alt", transitions=transitions, distance=end)
    return Figure(WORDS.phrase("panels.crowd"), figure, alt, caption)


def _dimensions(spec: MetropolisLesson, cancel: Any) -> list[Figure]:
    rows = []
    for row in analysis.dimension_sweep(spec):
        rows.append(row)
        if cancel.is_set():
            break
    at = [row[0] for row in rows]
    what = WORDS.phrase("panels.by_dimension", chains=analysis.SWEEP_CHAINS, draws=analysis.SWEEP_DRAWS)
    acceptance = _by_dimension(spec, "accepted", at, [(here.acceptance, best.acceptance) for _, here, best in rows], what)
    acceptance.figure.update_yaxes(range=[0, 1])
    what = f"{what} {WORDS.phrase('panels.loss')}"
    effective = _by_dimension(spec, "ess", at, [(here.effective, best.effective) for _, here, best in rows], what)
    effective.figure.update_yaxes(type="log", dtick=1)
    return [acceptance, effective]


def _by_dimension(spec: MetropolisLesson, what: str, at: list[int], pairs: list[tuple[float, float]], caption: str) -> Figure:
    """`what` against the dimensions `at`, a pair each: with the present scale and with the best."""
    y = WORDS.phrase(f"panels.{what}")
    names = (WORDS.phrase("panels.scale", scale=spec.scale), WORDS.phrase("panels.best_scale"))
    present, best = zip(*pairs, strict=True)
    figure = charts.blank(WORDS.phrase("panels.dimension"), y, xaxis_type="log")
    figure.update_xaxes(tickvals=at, ticktext=[str(d) for d in at])
    figure.add_scatter(
        x=at,
        y=present,
        mode="lines+markers",
        line={"color": theme.colour("posterior")},
        marker={"symbol": "circle", "size": 8},
        name=names[0],
    )
    dashed = {"color": theme.colour("accept"), "dash": "dash"}
    figure.add_scatter(x=at, y=best, mode="lines+markers", line=dashed, marker={"symbol": "diamond-open", "size": 9}, name=names[1])
    listed = "; ".join(WORDS.phrase("panels.at_dimension", d=d, present=a, best=b) for d, (a, b) in zip(at, pairs, strict=True))
    alt = WORDS.phrase("panels.by_dimension_alt", what=y, present=names[0], best=names[1], listed=listed)
    return Figure(WORDS.phrase(f"panels.{what}_by_dimension"), figure, alt, caption)


def _scales(spec: MetropolisLesson, cancel: Any) -> list[Figure]:
    rows = []
    for row in analysis.scale_sweep(spec):
        rows.append(row)
        if cancel.is_set():
            break
    at = [scale for scale, _ in rows]
    caption = WORDS.phrase("panels.by_scale", chains=analysis.SWEEP_CHAINS, draws=analysis.SWEEP_DRAWS)
    here = list(dict.fromkeys(spec.scales() if spec.part == "triptych" else (spec.scale,)))
    figures = []
    for what, values in (("accepted", [e.acceptance for _, e in rows]), ("ess", [e.effective for _, e in rows])):
        y = WORDS.phrase(f"panels.{what}")
        figure = charts.blank(WORDS.phrase("panels.scale_axis"), y, showlegend=False)
        figure.update_xaxes(type="log", dtick=1)
        line = {"color": theme.colour("posterior")}
        figure.add_scatter(x=at, y=values, mode="lines+markers", line=line, marker={"symbol": "circle", "size": 7})
        for scale in here:
            figure.add_vline(x=scale, line={"color": theme.colour("ink"), "dash": "dot", "width": 1.5})
        alt = WORDS.phrase("panels.by_scale_alt", what=y, best=at[int(np.nanargmax(values))])
        figures.append(Figure(WORDS.phrase(f"panels.{what}_by_scale"), figure, alt, caption))
    return figures


def _memory(spec: MetropolisLesson, lags: int = 100) -> Figure:
    name = analysis.target_of(spec).labels[0]
    lags = min(lags, spec.draws // 3)
    figure = charts.blank(WORDS.phrase("panels.lag"), WORDS.phrase("panels.autocorrelation", name=name))
    for k, run in enumerate(analysis.three(spec)):
        values = autocorrelation(analysis.after_burn_in(run)[:1, :, 0], lags)[0]
        line = {"color": theme.colour(f"chain-{k}"), "dash": theme.DASHES[k], "width": 2}
        figure.add_scatter(y=values, mode="lines", line=line, name=WORDS.phrase("panels.scale", scale=run.scale))
    figure.update_yaxes(range=[-0.3, 1.02])
    alt = WORDS.phrase("panels.memory_alt", name=name, lags=lags)
    return Figure(WORDS.phrase("panels.memory"), figure, alt, WORDS.phrase("panels.memory_caption"))


# Diagnostics ----------------------------------------------------------------------------------------------------------


def diagnose(spec: MetropolisLesson, cancel: Any) -> Table:
    """The table of the part that is shown."""
    return {"islands": _island_table, "plane": _plane_table, "triptych": _triptych_table}[spec.part](spec)


def _island_table(spec: MetropolisLesson) -> Table:
    walk, truth = analysis.island_walk(spec), analysis.shares(spec)
    here = walk.draws[:, None] == np.arange(len(truth))
    effective = [diagnostics.ess_mean(visits[None].astype(float)) if 0 < visits.sum() < spec.draws else float("nan") for visits in here.T]
    seen = here.mean(axis=0)
    mcse = np.sqrt(seen * (1 - seen) / np.array(effective))
    return Table(
        WORDS.phrase("panels.islands", transitions=spec.draws),
        {
            "island": [str(k + 1) for k in range(len(truth))],
            "people (share)": truth,
            "visits (share)": seen,
            "exact long run": analysis.long_run(spec),
            "error / MCSE": (seen - truth) / mcse,
            "ESS": np.round(effective, 0),
        },
        WORDS.phrase("panels.islands_caption", accepted=walk.accepted.mean()),
    )


def _plane_table(spec: MetropolisLesson) -> Table:
    recording, target = analysis.record(spec), analysis.target_of(spec)
    number = min(target.dim, CHECKED)
    summary = diagnostics.summarise(analysis.after_burn_in(spec)[:, :, :number])
    columns: dict[str, Any] = {"coordinate": list(target.labels[:number]), "mean": summary.mean}
    if target.truth is not None:
        true = target.truth.mean[:number]
        columns |= {"true mean": true, "error / MCSE": (summary.mean - true) / summary.mcse_mean}
    columns["sd"] = summary.sd
    if target.truth is not None:
        columns["true sd"] = np.sqrt(np.diag(target.truth.covariance)[:number])
    columns |= {"R-hat": summary.rhat, "ESS (bulk)": np.round(summary.ess_bulk), "ESS (tail)": np.round(summary.ess_tail)}
    cost = diagnostics.cost(recording, summary)
    kept = spec.draws - spec.burn
    if spec.chains == 1:
        counted = WORDS.phrase("panels.one_chain", draws=kept, burn=spec.burn)
    else:
        counted = WORDS.phrase("panels.chains", chains=spec.chains, draws=kept, burn=spec.burn)
    told = [
        WORDS.phrase(
            "panels.cost",
            chains=counted,
            accepted=analysis.acceptance(spec),
            evaluations=cost.gradient_evaluations,
            ms=1000 * cost.seconds,
            speed=cost.ess_per_second,
        )
    ]
    if spec.chains == 1:
        told.append(WORDS.phrase("panels.halves"))
    if target.dim > number:
        told.append(WORDS.phrase("panels.first_of", number=number, dimension=target.dim))
    return Table(WORDS.phrase("panels.plane"), columns, " ".join(told))


def _triptych_table(spec: MetropolisLesson) -> Table:
    runs = analysis.three(spec)
    effective = [analysis.effective(run) for run in runs]
    summaries = [diagnostics.summarise(analysis.after_burn_in(run)[:, :, :2]) for run in runs]
    return Table(
        WORDS.phrase("panels.triptych"),
        {
            "scale": [run.scale for run in runs],
            "acceptance": [analysis.acceptance(run) for run in runs],
            "ESS": np.round(effective),
            "ESS per 1000 draws": 1000 * np.array(effective) / (spec.draws - spec.burn),
            "R-hat of the halves": [float(np.nanmax(s.rhat)) if np.any(np.isfinite(s.rhat)) else float("nan") for s in summaries],
        },
        WORDS.phrase("panels.triptych_caption"),
    )
