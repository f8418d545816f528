"""Still figures and tables below the stage."""

from __future__ import annotations

from typing import Any

import numpy as np

from app.kit import charts, researcher, theme
from app.kit.charts import Figure, Table
from engine.diagnostics import ess_mean, rhat
from engine.evidence import ModelProbabilities
from engine.jumps.predict import of_data
from engine.jumps.shares import shares
from lessons.families.growing.sizes import size_figure
from lessons.missing_factor.analysis import Limit, Study, data_of, exact, limit, sizes_of, study
from lessons.missing_factor.spec import WORDS, MissingSpec

SWITCHES = WORDS["switches"]
LOOKS = {
    "slot_once": ("reject", "circle", "solid"),
    "no_end_points": ("highlight", "square", "dash"),
    "no_jacobian": ("momentum", "triangle-up", "dot"),
}


def panels(spec: MissingSpec, cancel: Any) -> list[Figure | Table]:
    """The scheme's histogram, the right one's, both against annealing; every switch by itself; what the scheme predicts."""
    known = exact(spec, cancel)
    runs = study(spec, cancel)
    switched = {name: limit(switched_to(spec, name), known, cancel) for name in SWITCHES}
    return [*answers(spec, runs, known), switches(spec, known, switched), one_by_one(known, switched), *predictive(spec, runs)]


def predictive(spec: MissingSpec, runs: Study) -> list[Figure | Table]:
    """Points left out, and classes drawn from what this scheme predicts."""
    found = of_data(runs.scheme.after(runs.burn), *data_of(spec), spec.seed)
    return [] if found is None else researcher.classes_card(found)


def switched_to(spec: MissingSpec, variant: str) -> MissingSpec:
    """The same experiment with one switch thrown."""
    return spec.replace(variant=variant, jump="rescaled" if variant == "no_jacobian" else "plain", sweeps=min(spec.sweeps, 2000))


def answers(spec: MissingSpec, runs: Any, known: ModelProbabilities) -> list[Figure]:
    """Histograms of both schemes with their error bars, and the exact probabilities with theirs."""
    found = []
    for name, run in (("this", runs.scheme), ("right", runs.right)):
        if name == "this" and spec.variant == "exact":
            continue
        kept = run.width[:, runs.burn :]
        drawn = shares(kept, 1, spec.highest)
        chains, sweeps = kept.shape
        known_by = WORDS.phrase("panels.prior" if spec.data == "none" else "panels.annealing")
        caption = WORDS.phrase("panels.bars", chains=chains, sweeps=sweeps, rhat=drawn.rhat, diamonds=known_by)
        found.append(size_figure(WORDS.phrase(f"panels.{name}"), drawn, 1, exact=known, caption=caption))
    return found


def switches(spec: MissingSpec, known: ModelProbabilities, switched: dict[str, Limit | None]) -> Figure:
    """What each wrong factor alone turns p(k) into, where that can be computed."""
    k = sizes_of(spec)
    figure = charts.blank(WORDS.phrase("panels.hidden_units_k"), WORDS.phrase("panels.probability"), height=340)
    marker = {"symbol": "diamond-open", "size": 9, "color": theme.colour("ink"), "line": {"width": 2}}
    figure.add_scatter(
        x=k,
        y=known.probability,
        mode="markers+lines",
        marker=marker,
        name=WORDS.phrase("panels.exact"),
        line={"color": theme.colour("ink"), "width": 1},
    )
    told = [WORDS.phrase("panels.exact_mode", k=mode(known.probability))]
    for name, (role, symbol, dash) in LOOKS.items():
        limit = switched[name]
        if limit is None:
            continue
        values = limit.shares
        figure.add_scatter(
            x=k,
            y=values,
            mode="markers+lines",
            name=SWITCHES[name],
            marker={"symbol": symbol, "size": 7, "color": theme.colour(role)},
            line={"color": theme.colour(role), "width": 2, "dash": dash},
        )
        told.append(WORDS.phrase("panels.mode", scheme=SWITCHES[name], k=mode(values)))
    caption = WORDS.phrase("panels.switches_caption")
    return Figure(WORDS.phrase("panels.switches"), figure, "; ".join(told) + ".", caption)


def one_by_one(known: ModelProbabilities, switched: dict[str, Limit | None]) -> Table:
    """Mean and mode of k, one switch at a time."""
    k = np.arange(1, len(known.probability) + 1)
    columns: dict[str, list] = {
        "scheme": [WORDS.phrase("panels.all_in_place")],
        "mean of k": [float(k @ known.probability)],
        "most probable k": [mode(known.probability)],
        "how it is known": [WORDS.phrase("panels.by_annealing")],
    }
    for name, words in SWITCHES.items():
        found = switched[name]
        columns["scheme"].append(words)
        columns["mean of k"].append(float("nan") if found is None else float(k @ found.shares))
        columns["most probable k"].append(float("nan") if found is None else mode(found.shares))
        columns["how it is known"].append(WORDS.phrase("panels.by_running") if found is None else found.how)
    return Table(WORDS.phrase("panels.one_by_one"), columns)


def mode(probability: Any) -> int:
    """The most probable k."""
    return int(np.argmax(probability)) + 1


def diagnostics(spec: MissingSpec, cancel: Any) -> Table:
    """Mixing and cost of both schemes."""
    runs = study(spec, cancel)
    rows = [(WORDS.phrase("panels.this_row"), runs.scheme)] if spec.variant != "exact" else []
    columns: dict[str, list] = {name: [] for name in WORDS["columns"].values()}
    for name, run in [*rows, (WORDS.phrase("panels.all_in_place"), runs.right)]:
        k = run.width[:, runs.burn :].astype(float)
        accept = run.jump_accept
        cells = (
            name,
            rhat(k),
            ess_mean(k),
            ess_mean(k) / max(run.seconds, 1e-9),
            100 * accept.get("neuron birth", np.nan),
            100 * accept.get("neuron death", np.nan),
            int(run.divergent.sum()),
            int(run.gradient_evaluations.sum()),
            run.seconds,
        )
        for column, cell in zip(columns.values(), cells, strict=True):
            column.append(cell)
    sweeps = runs.right.width.shape[1]
    caption = WORDS.phrase("panels.cost", sweeps=sweeps, burn=runs.burn)
    return Table(WORDS.phrase("panels.mixing"), columns, caption)
