"""What stands below the stage: the methods beside each other in a short run, and the table of the thesis."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from app.kit import charts, theme
from app.kit.charts import Figure, Table
from app.kit.text import chains
from datasets.files import OPTDIGITS_TRAIN
from datasets.images import digits
from engine.diagnostics import summarise
from engine.evidence import ModelProbabilities
from lessons.families.growing.sizes import HELD
from lessons.landing import analysis, optdigits
from lessons.landing.analysis import Outcome, Race, called
from lessons.landing.scenes import exact_now
from lessons.landing.spec import THESIS, WORDS, LandingSpec


def panels(spec: LandingSpec, cancel: Any) -> list[Figure | Table]:
    """The short comparison."""
    found = analysis.small(spec, cancel)
    if spec.part == "thesis":
        return [table(spec, found)]
    exact = exact_now(spec)
    return [accepted(found), worth(found), *([] if exact is None else [distance(found, exact)])]


def _small(found: Race) -> str:
    count = next(iter(found.runs.values())).chains
    return WORDS.phrase("panels.small", chains=count, sweeps=found.sweeps, burn=found.burn)


def _names(outcomes: Mapping[str, Outcome]) -> list[str]:
    return [called(method) for method in outcomes]


def accepted(found: Race) -> Figure:
    """Share of the jumps accepted by each method."""
    last = found.history[-1]
    names, figure = _names(last), charts.blank("", WORDS.phrase("panels.jumps_accepted"))
    shares, errors = ([100.0 * getattr(o, f) for o in last.values()] for f in ("accepted", "error"))
    spread = {"type": "data", "array": [HELD * e for e in errors], "color": theme.colour("ink")}
    marker = {"color": theme.colour("posterior", 0.8)}
    figure.add_bar(x=names, y=shares, marker=marker, error_y=spread, name=WORDS.phrase("panels.accepted_bars"))
    told = ", ".join(f"{name} {s:.1f} ± {HELD * e:.1f} %" for name, s, e in zip(names, shares, errors, strict=True))
    caption = WORDS.phrase("panels.accepted_caption", small=_small(found), held=HELD)
    if found.spec.part == "sandwich":
        z = analysis.apart(last["palindrome"], last["plain"])
        caption += " " + WORDS.phrase("panels.palindrome", z=abs(z))
    return Figure(WORDS.phrase("panels.accepted"), figure, WORDS.phrase("panels.accepted_alt", listed=told), caption)


def worth(found: Race) -> Figure:
    """Effective draws of k, and round trips, a second."""
    last, (low, high) = found.history[-1], analysis.trip_ends(found.spec)
    names, figure = _names(last), charts.blank("", WORDS.phrase("panels.a_second"), barmode="group")
    effective = [o.effective / o.seconds for o in last.values()]
    trips = [o.trips / o.seconds for o in last.values()]
    figure.add_bar(x=names, y=effective, name=WORDS.phrase("panels.effective"), marker={"color": theme.colour("accept", 0.85)})
    figure.add_bar(
        x=names,
        y=trips,
        name=WORDS.phrase("panels.trips", low=low, high=high),
        marker={"color": theme.colour("highlight", 0.85), "pattern": {"shape": "/"}},
    )
    told = "; ".join(
        WORDS.phrase("panels.worth_each", name=n, effective=e, trips=t) for n, e, t in zip(names, effective, trips, strict=True)
    )
    caption = WORDS.phrase("panels.worth_caption", small=_small(found))
    return Figure(WORDS.phrase("panels.worth"), figure, WORDS.phrase("panels.worth_alt", listed=told), caption)


def distance(found: Race, exact: ModelProbabilities) -> Figure:
    """How far the shares of k are from the exact ones, scaled to a second of each method."""
    last = found.judged(exact)[-1]
    names, figure = _names(last), charts.blank("", WORDS.phrase("panels.distance_axis"))
    values = [o.distance_of_a_second for o in last.values()]
    marker = {"color": theme.colour("likelihood", 0.85), "pattern": {"shape": "x"}}
    figure.add_bar(x=names, y=values, name=WORDS.phrase("panels.of_a_second"), marker=marker)
    each = zip(names, last.values(), strict=True)
    told = "; ".join(WORDS.phrase("panels.distance_each", name=name, distance=o.distance, seconds=o.seconds) for name, o in each)
    floor = 0.5 * float(exact.error.sum())
    caption = WORDS.phrase("panels.distance_caption", small=_small(found), listed=told, floor=floor)
    return Figure(WORDS.phrase("panels.distance"), figure, WORDS.phrase("panels.distance_alt", listed=told), caption)


def table(spec: LandingSpec, found: Race) -> Table:
    """Table 6.1 of the thesis, ours beside it for the setting that is chosen."""
    last = found.history[-1]
    columns: dict[str, list] = {
        "experiment": list(THESIS),
        "across, printed (%)": [s.across for s in THESIS.values()],
        "within, printed (%)": [s.within for s in THESIS.values()],
    }
    for name, outcome in last.items():
        columns[f"across, ours: {called(name)} (%)"] = [landed(outcome) if row == spec.setting else "–" for row in THESIS]
    columns["within, ours (%)"] = [f"{100 * last['plain'].within:.1f}" if row == spec.setting else "–" for row in THESIS]
    setting = THESIS[spec.setting]
    caption = WORDS.phrase("thesis.caption", setting=spec.setting, told=setting.told, small=_small(found))
    rows = WORDS.phrase("thesis.boston_rows") if spec.on_boston else learned_from(spec)
    return Table(WORDS.phrase("thesis.table"), columns, f"{caption} {rows}")


def learned_from(spec: LandingSpec) -> str:
    """Which images the digits of this run are, beside those of the thesis."""
    setting = THESIS[spec.setting]
    each = setting.rows // setting.classes
    share = 100.0 * optdigits.share(spec.digits, setting.classes, setting.rows)
    held = WORDS.phrase("thesis.components", components=optdigits.COMPONENTS, share=share, rows=setting.rows)
    if spec.digits:
        return f"{WORDS.phrase('thesis.own_images', each=each, rows=OPTDIGITS_TRAIN)} {held}"
    return f"{WORDS.phrase('thesis.bundled_images', each=each, rows=len(digits().labels))} {held}"


def landed(outcome: Outcome) -> str:
    """The share of the jumps accepted, in %; counted where none was, for then its error is not known."""
    if not outcome.accepted:
        return WORDS.phrase("thesis.none", jumps=outcome.jumps)
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
                values = [f"{called(name)}: {value}" for value in values]
            if not tables:
                tables.append({})
            tables[0].setdefault(column, []).extend(values)
    count = next(iter(found.runs.values())).chains
    return [Table(WORDS.phrase("panels.agree"), tables[0], WORDS.phrase("panels.agree_caption", chains=chains(count), small=_small(found)))]
