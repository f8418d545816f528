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
from lessons.metropolis.spec import MetropolisLesson

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
        found.append(judge.unknown("exact draws stay exact", NO_DRAWS, kind="kernel"))
    return found


NO_DRAWS = "No exact draws of this density can be made, so there is nothing to try the kernel on."


def counting_check(walk: analysis.Walk) -> Check:
    """Has every proposal left a draw, a rejected one another visit?"""
    lost, made = int(walk.tries.sum() - len(walk.tries)), int(walk.tries.sum())
    sentence = f"{lost:,} of {made:,} proposals of chain 1 left no draw."
    if lost:
        sentence += " A rejection must count as another visit."
    verdict: Verdict = "fail" if lost else "pass"
    return Check("counting", verdict, float(lost), 0.0, sentence, "lost visits", kind="kernel")


def checks(spec: MetropolisLesson, cancel: Any) -> list[Check]:
    """Longer runs of the present kernels: do their chains agree, and with the exact answer?"""
    if spec.part == "islands":
        return _island_checks(spec)
    if spec.part == "plane":
        return _chains(spec)
    found = []
    for run in analysis.three(spec):
        if not cancel.is_set():
            words = f"scale {run.scale:.3g}"
            found += [dataclasses.replace(check, name=f"{check.name}, {words}") for check in _chains(run)]
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
    agreement = judge.agreement_check(values, ["island", "log of its people"], "walkers agree")

    def look(number: int, work: int) -> Check:
        seen = walks if number == 1 else analysis.more_walkers(spec, WALKERS, work * WALK, again=True)
        shares = [_visits(k, float(share), seen) for k, share in enumerate(truth) if share * seen.size >= RARE]
        return judge.averages_check("visits", shares, level=judge.FIRST if number == 1 else judge.SECOND)

    return [agreement, judge.two_looks(look)]


def _visits(k: int, share: float, walks: NDArray[np.int64]) -> judge.Average:
    """Visits to island k against its people, with the true sd."""
    what = f"the share of visits to island {k + 1}"
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
        f"Do the chains agree about {name}?",
        chains[:, spec.burn :],
        alt=f"Rank histograms of {name}, one set of bars for each of {spec.chains} chains.",
        caption="Each chain's draws ranked among all draws after the burn-in. Chains that see the same distribution give flat bars.",
    )
    return [*_dimensions(spec, cancel), ranks if spec.chains > 1 else _scales(spec, cancel)[1]]


def _matrix(spec: MetropolisLesson) -> Figure:
    matrix = analysis.island_matrix(spec)
    names = [str(k + 1) for k in range(len(matrix))]
    figure = charts.heat_map(
        "The transition matrix",
        matrix,
        x="to island",
        y="from island",
        xs=names,
        ys=names,
        unit="probability",
        alt="Heat map of the probability of each move between islands: neighbours, and on the diagonal staying.",
        caption="Exact. The diagonal is the probability of staying: rejections."
        if spec.variant != "drop_rejections"
        else "Exact. The diagonal is empty: this walk forgets that it stayed.",
    )
    figure.figure.update_xaxes(type="category")
    figure.figure.update_yaxes(type="category", autorange="reversed")
    return figure


def _crowd(spec: MetropolisLesson) -> Figure:
    distances = analysis.crowd_distance(spec, min(spec.draws, 300))
    figure = charts.blank("transition", "total variation distance")
    figure.update_yaxes(type="log", exponentformat="power", dtick=1)
    shown = np.where(distances > 1e-6, distances, np.nan)  # below that rounding begins to show
    figure.add_scatter(y=shown, mode="lines", line={"color": theme.colour("posterior"), "width": 2}, name="crowd")
    end = distances[-1]
    caption = (
        f"Exact, from powers of the matrix: infinitely many walkers begin on island {spec.first_island}. One "
        "walker's shares come near only like 1/√n."
    )
    if spec.variant == "drop_rejections" and len(spec.people()) % 2 == 0:
        caption += " On an even ring a crowd that never stays swings between odd and even islands for ever."
    elif end > 0.01:
        caption += f" After {len(distances) - 1} transitions this crowd is still {end:.2g} off."
    return Figure(
        "How fast a crowd forgets where it began",
        figure,
        "The distance between where a crowd of walkers is and the people's shares, against the transition; after "
        f"{len(distances) - 1} it is {end:.2g}.",
        caption,
    )


def _sweep() -> str:
    return f"{analysis.SWEEP_CHAINS} chains of {analysis.SWEEP_DRAWS:,} draws"


def _dimensions(spec: MetropolisLesson, cancel: Any) -> list[Figure]:
    rows = []
    for row in analysis.dimension_sweep(spec):
        rows.append(row)
        if cancel.is_set():
            break
    at = [row[0] for row in rows]
    what = f"{_sweep()} of the right sampler on independent standard normal coordinates, no drift."
    acceptance = _two_lines(
        "Acceptance falls with dimension",
        at,
        [row[1].acceptance for row in rows],
        [row[2].acceptance for row in rows],
        f"scale {spec.scale:.3g}",
        "scale 2.38/√d",
        "proposals accepted (share)",
        what,
    )
    acceptance.figure.update_yaxes(range=[0, 1])
    effective = _two_lines(
        "Effective draws fall with dimension",
        at,
        [row[1].effective for row in rows],
        [row[2].effective for row in rows],
        f"scale {spec.scale:.3g}",
        "scale 2.38/√d",
        "ESS per 1000 draws",
        what + " Even the best scale loses about 1/d. No point: a chain that never moved.",
    )
    effective.figure.update_yaxes(type="log", dtick=1)
    return [acceptance, effective]


def _two_lines(title: str, at: list, present: list, best: list, present_name: str, best_name: str, y: str, caption: str) -> Figure:
    figure = charts.blank("dimension d", y, xaxis_type="log")
    figure.update_xaxes(tickvals=at, ticktext=[str(d) for d in at])
    figure.add_scatter(
        x=at,
        y=present,
        mode="lines+markers",
        line={"color": theme.colour("posterior")},
        marker={"symbol": "circle", "size": 8},
        name=present_name,
    )
    dashed = {"color": theme.colour("accept"), "dash": "dash"}
    figure.add_scatter(x=at, y=best, mode="lines+markers", line=dashed, marker={"symbol": "diamond-open", "size": 9}, name=best_name)
    listed = "; ".join(f"d = {d}: {a:.2g} and {b:.2g}" for d, a, b in zip(at, present, best, strict=True))
    return Figure(title, figure, f"{y} against dimension for {present_name} and {best_name}. {listed}.", caption)


def _scales(spec: MetropolisLesson, cancel: Any) -> list[Figure]:
    rows = []
    for row in analysis.scale_sweep(spec):
        rows.append(row)
        if cancel.is_set():
            break
    at = [scale for scale, _ in rows]
    what = f"The right sampler on this target, {_sweep()} for each scale."
    here = list(dict.fromkeys(spec.scales() if spec.part == "triptych" else (spec.scale,)))
    figures = []
    for title, y, values in (
        ("Acceptance against the step size", "proposals accepted (share)", [e.acceptance for _, e in rows]),
        ("Effective draws against the step size", "ESS per 1000 draws", [e.effective for _, e in rows]),
    ):
        figure = charts.blank("scale of the proposal", y, showlegend=False)
        figure.update_xaxes(type="log", dtick=1)
        line = {"color": theme.colour("posterior")}
        figure.add_scatter(x=at, y=values, mode="lines+markers", line=line, marker={"symbol": "circle", "size": 7})
        for scale in here:
            figure.add_vline(x=scale, line={"color": theme.colour("ink"), "dash": "dot", "width": 1.5})
        best = at[int(np.nanargmax(values))]
        figures.append(
            Figure(title, figure, f"{y} against the scale; largest at scale {best:.2g}.", what + " Dotted: the scales on the stage.")
        )
    return figures


def _memory(spec: MetropolisLesson, lags: int = 100) -> Figure:
    name = analysis.target_of(spec).labels[0]
    lags = min(lags, spec.draws // 3)
    figure = charts.blank("lag (transitions)", f"autocorrelation of {name}")
    for k, run in enumerate(analysis.three(spec)):
        values = autocorrelation(analysis.after_burn_in(run)[:1, :, 0], lags)[0]
        line = {"color": theme.colour(f"chain-{k}"), "dash": theme.DASHES[k], "width": 2}
        figure.add_scatter(y=values, mode="lines", line=line, name=f"scale {run.scale:.3g}")
    figure.update_yaxes(range=[-0.3, 1.02])
    return Figure(
        "How long each walk remembers",
        figure,
        f"Autocorrelation of {name} up to lag {lags} for the three step sizes.",
        "A walk that remembers long brings little news with each draw: few effective draws.",
    )


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
        f"The {spec.draws:,} transitions on the stage",
        {
            "island": [str(k + 1) for k in range(len(truth))],
            "people (share)": truth,
            "visits (share)": seen,
            "exact long run": analysis.long_run(spec),
            "error / MCSE": (seen - truth) / mcse,
            "ESS": np.round(effective, 0),
        },
        f"{walk.accepted.mean():.0%} of the recorded proposals accepted. MCSE: the Monte Carlo standard error of a "
        "share, from this walk's effective draws (ESS).",
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
    words = (
        f"{spec.chains} chain{'s' if spec.chains > 1 else ''}, {spec.draws - spec.burn:,} draws "
        f"{'each ' if spec.chains > 1 else ''}after a burn-in of {spec.burn}; "
        f"{analysis.acceptance(spec):.0%} of all proposals accepted; {cost.gradient_evaluations:,} evaluations of "
        f"the density in {1000 * cost.seconds:.1f} ms, "
        f"{cost.ess_per_second:,.0f} effective draws a second."
    )
    if spec.chains == 1:
        words += " R-hat compares the two halves of the one chain."
    if target.dim > number:
        words += f" The first {number} of {target.dim} coordinates."
    return Table("Diagnostics of the run on the stage", columns, words)


def _triptych_table(spec: MetropolisLesson) -> Table:
    runs = analysis.three(spec)
    effective = [analysis.effective(run) for run in runs]
    summaries = [diagnostics.summarise(analysis.after_burn_in(run)[:, :, :2]) for run in runs]
    return Table(
        "Same random numbers, three step sizes",
        {
            "scale": [run.scale for run in runs],
            "acceptance": [analysis.acceptance(run) for run in runs],
            "ESS": np.round(effective),
            "ESS per 1000 draws": 1000 * np.array(effective) / (spec.draws - spec.burn),
            "R-hat of the halves": [float(np.nanmax(s.rhat)) if np.any(np.isfinite(s.rhat)) else float("nan") for s in summaries],
        },
        "ESS: how many independent draws would know the mean of the worse coordinate as well as this walk does.",
    )
