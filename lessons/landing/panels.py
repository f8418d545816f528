"""What stands below the stage: the methods beside each other in a short run, and the table of the thesis."""

from __future__ import annotations

from typing import Any

import numpy as np

from app.kit import charts, theme
from app.kit.charts import Figure, Table
from app.kit.text import chains
from engine.diagnostics import summarise
from engine.evidence import ModelProbabilities
from lessons.families.growing.sizes import HELD
from lessons.landing import analysis, optdigits
from lessons.landing.analysis import Outcome, Race
from lessons.landing.scenes import exact_now
from lessons.landing.spec import THESIS, LandingSpec


def panels(spec: LandingSpec, cancel: Any) -> list[Figure | Table]:
    """The short comparison."""
    found = analysis.small(spec, cancel)
    if spec.part == "thesis":
        return [table(spec, found)]
    exact = exact_now(spec)
    return [accepted(found), worth(found), *([] if exact is None else [distance(found, exact)])]


def _small(found: Race) -> str:
    count = next(iter(found.runs.values())).chains
    return f"A small run: {count} chains of {found.sweeps} sweeps, {found.burn} left out."


def accepted(found: Race) -> Figure:
    """Share of the jumps accepted by each method."""
    last = found.history[-1]
    figure = charts.blank("", "jumps accepted (%)")
    shares, errors = ([100.0 * getattr(o, f) for o in last.values()] for f in ("accepted", "error"))
    spread = {"type": "data", "array": [HELD * e for e in errors], "color": theme.colour("ink")}
    marker = {"color": theme.colour("posterior", 0.8)}
    figure.add_bar(x=list(last), y=shares, marker=marker, error_y=spread, name="accepted")
    told = ", ".join(f"{name} {s:.1f} ± {HELD * e:.1f} %" for name, s, e in zip(last, shares, errors, strict=True))
    caption = f"{_small(found)} Bars of ± {HELD:g} Monte Carlo standard errors."
    if found.spec.part == "sandwich":
        z = analysis.apart(last["palindrome"], last["plain"])
        caption += f" The palindrome lies {abs(z):.1f} standard errors from the bare jump."
    return Figure("How many jumps land?", figure, f"Share of jumps accepted: {told}.", caption)


def worth(found: Race) -> Figure:
    """Effective draws of k, and round trips, a second."""
    last, (low, high) = found.history[-1], analysis.trip_ends(found.spec)
    figure = charts.blank("", "a second, all chains", barmode="group")
    effective = [o.effective / o.seconds for o in last.values()]
    trips = [o.trips / o.seconds for o in last.values()]
    figure.add_bar(x=list(last), y=effective, name="effective draws of k", marker={"color": theme.colour("accept", 0.85)})
    figure.add_bar(
        x=list(last),
        y=trips,
        name=f"round trips k ≤ {low} to k ≥ {high}",
        marker={"color": theme.colour("highlight", 0.85), "pattern": {"shape": "/"}},
    )
    told = "; ".join(f"{n}: {e:.1f} and {t:.2f}" for n, e, t in zip(last, effective, trips, strict=True))
    caption = f"{_small(found)} Seconds on this computer now: other work on it counts too. A wrong jump has no worth."
    return Figure("What is that worth?", figure, f"Effective draws of k and round trips a second: {told}.", caption)


def distance(found: Race, exact: ModelProbabilities) -> Figure:
    """How far the shares of k are from the exact ones, scaled to a second of each method."""
    last = found.judged(exact)[-1]
    figure = charts.blank("", "distance from p(k | data) × √seconds")
    values = [o.distance_of_a_second for o in last.values()]
    marker = {"color": theme.colour("likelihood", 0.85), "pattern": {"shape": "x"}}
    figure.add_bar(x=list(last), y=values, name="what a second would leave", marker=marker)
    told = "; ".join(f"{name}: {o.distance:.3f} after {o.seconds:.2f} s" for name, o in last.items())
    floor = 0.5 * float(exact.error.sum())
    caption = (
        f"{_small(found)} Total variation distance of the shares of k from annealing, times the root of the seconds, "
        "with which the error of a settled chain falls: lower is better. A wrong jump stays away however long it runs, "
        f"and its bar grows. {told}. Annealing itself is known to about {floor:.3f}."
    )
    return Figure("How near in a second?", figure, f"Distance from the exact p(k | data). {told}.", caption)


def table(spec: LandingSpec, found: Race) -> Table:
    """Table 6.1 of the thesis, ours beside it for the setting that is chosen."""
    last = found.history[-1]
    columns: dict[str, list] = {
        "experiment": list(THESIS),
        "across, printed (%)": [s.across for s in THESIS.values()],
        "within, printed (%)": [s.within for s in THESIS.values()],
    }
    for name, outcome in last.items():
        columns[f"across, ours: {name} (%)"] = [landed(outcome) if row == spec.setting else "–" for row in THESIS]
    columns["within, ours (%)"] = [f"{100 * last['plain'].within:.1f}" if row == spec.setting else "–" for row in THESIS]
    caption = (
        f"{spec.setting}: {THESIS[spec.setting].told}. {_small(found)} The thesis: 16 chains of 1,000. Printed: "
        "Berezowski 2021, table 6.1. Its code re-tunes NUTS at each call and leaves factors out; ours has the right "
        "ratio. Its NUTS was tuned to accept 65 %, ours 80 %."
    )
    if spec.on_boston:
        caption += (
            " The thesis does not print which rows it drew (it counts 512, the table has 506) nor what it standardised "
            "over. Here 253 rows, as many as in its public code, are drawn with the seed, and inputs and prices have mean 0 and "
            "variance 1 over them. "
            "Weights and biases: N(0, 1); units: ReLU, as in its code; each number of layers is as probable."
        )
    else:
        setting = THESIS[spec.setting]
        caption += f" Learned from: {optdigits.told(spec.digits, setting.classes, setting.rows)}"
    return Table("Table 6.1 of the thesis, and ours", columns, caption)


def landed(outcome: Outcome) -> str:
    """The share of the jumps accepted, in %; counted where none was, for then its error is not known."""
    if not outcome.accepted:
        return f"none of {outcome.jumps:,}"
    share, spread = 100 * outcome.accepted, 100 * HELD * outcome.error
    return f"{share:.1f} ± {spread:.1f}" if share >= 1 else f"{share:.2f} ± {spread:.2f}"


def diagnostics(spec: LandingSpec, cancel: Any) -> list[Table]:
    """Of each method: R-hat and effective draws of the size and of the log likelihood, and cost; none before the data
    are there, which the panels say.
    """
    if not spec.is_ready:
        return []
    found = analysis.small(spec, cancel)
    exact = exact_now(spec)
    mean = float("nan") if exact is None else float(exact.probability @ np.arange(spec.low, spec.high + 1))
    sd = float("nan")
    if exact is not None:
        sd = float(np.sqrt(exact.probability @ (np.arange(spec.low, spec.high + 1) - mean) ** 2))
    tables: list[dict[str, list[Any]]] = []
    for name, run in found.runs.items():
        recording, late = run.recording(), slice(found.burn, None)
        watched = np.stack([analysis.sizes(spec, recording)[:, late].astype(float), recording.log_likelihood[:, late]], axis=2)
        rows = charts.estimates(
            [spec.symbol, "log likelihood"],
            summarise(watched),
            [mean, float("nan")],
            [sd, float("nan")],
            per="gradients",
            spent=max(int(recording.gradient_evaluations.sum()), 1),
            seconds=run.seconds,
            of="quantity",
        )
        for column, values in rows.items():
            if column == "quantity":
                values = [f"{name}: {value}" for value in values]
            if not tables:
                tables.append({})
            tables[0].setdefault(column, []).extend(values)
    caption = f"{chains(next(iter(found.runs.values())).chains)} a method. {_small(found)}"
    return [Table("Do the chains agree?", tables[0], caption)]
