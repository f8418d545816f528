"""What stands below the stage of a lesson on neurons or on layers."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from app.kit import charts, researcher, theme
from app.kit.charts import Column, Figure, Table
from engine.diagnostics import summarise
from engine.jumps.predict import each_draw, of_data
from engine.jumps.shares import shares
from lessons.families.growing.chains import Growth, exact_now, study
from lessons.families.growing.ledger import accept_table, jumps_of
from lessons.families.growing.sizes import HELD, size_figure
from lessons.families.growing.spec import CHAINS, WORDS, GrowingSpec

Array = NDArray[np.float64]

CENTRE = np.zeros((1, 2))


def panels(spec: GrowingSpec, cancel: Any) -> list[Figure | Table]:
    """Shares with their errors, acceptance by size, what size buys in fit; points left out, and classes drawn anew."""
    growth = study(spec, cancel)
    return [share_figure(growth), accept_figure(growth), fit_figure(growth), *predictive(growth)]


def predictive(growth: Growth) -> list[Figure | Table]:
    """Points left out, and classes drawn from the posterior predictive."""
    spec = growth.spec
    found = of_data(growth.run.recording().after(growth.burn), *spec.data_set(), spec.seed)
    return [] if found is None else researcher.classes_card(found)


def share_figure(growth: Growth) -> Figure:
    """Shares of the sizes among the draws beside the prior and, once computed, the exact probabilities."""
    spec, exact = growth.spec, exact_now(growth.spec)
    drawn = shares(growth.sizes[:, growth.burn :], spec.low, spec.count)
    caption = WORDS.phrase(
        "panels.shares_caption", sweeps=growth.total, chains=CHAINS, burn=growth.burn, held=HELD, symbol=spec.symbol, rhat=drawn.rhat
    )
    caption = f"{caption} {WORDS.phrase('panels.not_yet' if exact is None else 'panels.by_annealing')}"
    title = WORDS.phrase("panels.shares", symbol=spec.symbol)
    return size_figure(
        title,
        drawn,
        spec.low,
        exact=exact,
        prior=np.exp(spec.log_prior()),
        name=WORDS.phrase("sizes.axis", thing=spec.thing, symbol=spec.symbol),
        caption=caption,
    )


class Accepts(NamedTuple):
    """Mean acceptance probability of births from, and deaths from, each size, and how many were proposed: all (K,)."""

    birth: Array
    death: Array
    births: NDArray[np.int64]
    deaths: NDArray[np.int64]


def accepts(growth: Growth) -> Accepts:
    """Acceptance by size before the jump, over all sweeps after the burn-in."""
    spec = growth.spec
    chains = [jumps_of(growth.run.recording(), c) for c in range(CHAINS)]
    kept = slice(growth.burn, None)
    before = np.concatenate([j.before[kept] for j in chains]) - spec.low
    birth = np.concatenate([j.birth[kept] for j in chains])
    ratio = np.concatenate([j.log_ratio[kept] for j in chains])
    prob = np.exp(np.minimum(np.nan_to_num(ratio, nan=-np.inf), 0.0))
    found = []
    for which in (birth, ~birth):
        number = np.bincount(before[which], minlength=spec.count)
        with np.errstate(invalid="ignore"):
            found.append((np.bincount(before[which], prob[which], minlength=spec.count) / number, number))
    (up, ups), (down, downs) = found
    return Accepts(up, down, ups, downs)


def accept_figure(growth: Growth) -> Figure:
    """Which births and deaths are accepted."""
    spec, found = growth.spec, accepts(growth)
    sizes = np.arange(spec.low, spec.high + 1)
    figure = charts.blank(WORDS.phrase("panels.before", symbol=spec.symbol), WORDS.phrase("panels.acceptance"))
    births, deaths = WORDS.phrase("panels.births"), WORDS.phrase("panels.deaths")
    looks = ((births, found.birth, "accept", "circle"), (deaths, found.death, "reject", "x"))
    for name, values, role, symbol in looks:
        marker = {"symbol": symbol, "size": 9, "color": theme.colour(role)}
        line = {"color": theme.colour(role), "dash": "solid" if name == births else "dash"}
        figure.add_scatter(x=sizes, y=values, mode="lines+markers", marker=marker, line=line, name=name)
    figure.update_yaxes(range=[-0.02, 1.02])
    figure.update_xaxes(dtick=1 if spec.count <= 8 else 2)
    listed = "; ".join(
        WORDS.phrase("panels.accepted_from", jumps=name, symbol=spec.symbol, k=k, share=v)
        for name, values, _, _ in looks
        for k, v in zip(sizes, values, strict=True)
        if np.isfinite(v)
    )
    caption = WORDS.phrase("panels.accepts_caption", births=int(found.births.sum()), deaths=int(found.deaths.sum()))
    return Figure(WORDS.phrase("panels.accepts"), figure, WORDS.phrase("panels.accepts_alt", listed=listed), caption)


def fit_figure(growth: Growth) -> Figure:
    """Log likelihood of the draws of each size: mean and standard deviation."""
    spec = growth.spec
    sizes, fit = growth.sizes[:, growth.burn :], growth.run.recording().log_likelihood[:, growth.burn :]
    seen = [k for k in range(spec.low, spec.high + 1) if (sizes == k).sum() >= 20]
    mean = [float(fit[sizes == k].mean()) for k in seen]
    sd = [float(fit[sizes == k].std()) for k in seen]
    figure = charts.blank(WORDS.phrase("sizes.axis", thing=spec.thing, symbol=spec.symbol), WORDS.phrase("panels.fit"))
    marker = {"symbol": "square", "size": 8, "color": theme.colour("likelihood")}
    bars = {"type": "data", "array": sd, "color": theme.colour("muted")}
    figure.add_scatter(x=seen, y=mean, mode="lines+markers", marker=marker, error_y=bars, name=WORDS.phrase("panels.draws"))
    figure.update_xaxes(dtick=1 if spec.count <= 8 else 2)
    listed = "; ".join(f"{k}: {m:.1f} ± {s:.1f}" for k, m, s in zip(seen, mean, sd, strict=True))
    caption = WORDS.phrase("panels.fit_caption", thing=spec.thing)
    return Figure(WORDS.phrase("panels.buys", thing=spec.thing), figure, WORDS.phrase("panels.fit_alt", listed=listed), caption)


def diagnostics(spec: GrowingSpec, cancel: Any) -> list[Table]:
    """R-hat and effective draws of the size and in function space; acceptance by move; cost."""
    growth = study(spec, cancel)
    recording, kept = growth.run.recording(), slice(growth.burn, None)
    corner = np.array([[0.5, 0.5], [1.2, 1.2]])
    at = np.concatenate([CENTRE, corner])
    watched = np.empty((CHAINS, growth.total - growth.burn, 2 + len(at)))
    watched[:, :, 0] = growth.sizes[:, kept]
    watched[:, :, 1] = recording.log_likelihood[:, kept]
    watched[:, :, 2:] = each_draw(recording, at, kept)
    summary = summarise(watched)
    names = [
        spec.symbol,
        "log likelihood",
        WORDS.phrase("panels.at_centre"),
        WORDS.phrase("panels.at_corner"),
        WORDS.phrase("panels.beyond"),
    ]
    gradients = int(recording.gradient_evaluations.sum())
    least = float(np.nanmin(summary.ess_bulk)) if np.isfinite(summary.ess_bulk).any() else float("nan")
    cost = WORDS.phrase(
        "panels.cost",
        chains=CHAINS,
        sweeps=growth.total,
        burn=growth.burn,
        gradients=gradients,
        seconds=recording.seconds,
        effective=least / max(recording.seconds, 1e-9),
    )
    agree: dict[str, Column] = {
        "quantity": names,
        "mean": summary.mean,
        "± MCSE": summary.mcse_mean,
        "R-hat": summary.rhat,
        "ESS bulk": np.round(summary.ess_bulk).astype(object),
        "ESS tail": np.round(summary.ess_tail).astype(object),
    }
    moves = accept_table(recording, growth.burn)
    inside = ""
    if spec.within == "nuts":
        inside = WORDS.phrase(
            "panels.nuts", acceptance=recording.accept_prob[:, kept].mean(), divergent=int(recording.divergent[:, kept].sum())
        )
    return [Table(WORDS.phrase("panels.agree"), agree, cost), Table(WORDS.phrase("panels.by_move"), moves, inside)]
