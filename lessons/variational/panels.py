"""What stands below the stage: three inferences with their time, what correlation does to mean-field, noise, minima."""

from __future__ import annotations

import math

import numpy as np

from app.kit import charts, pictures, theme
from app.kit.charts import Column, Figure, Table
from app.kit.text import minus, number
from lessons.variational import analysis
from lessons.variational.spec import WORDS, VariationalLesson

RHOS = (0.0, 0.2, 0.4, 0.6, 0.7, 0.8, 0.9, 0.95, 0.98)


def panels(spec: VariationalLesson, cancel: object = None) -> list[Figure | Table]:
    """By method."""
    if spec.method == "kl":
        return [_minima(spec), _apart(spec)]
    if spec.method == "cavi":
        return [_gap(spec), *([_ridge(spec)] if spec.pair == "gaussian" else [])]
    found: list[Figure | Table] = [_three(spec), _noise(spec)]
    return [*found, _ridge(spec)] if spec.target == "gaussian" else found


def _three(spec: VariationalLesson) -> Table:
    rows = analysis.three(spec.replace(view="elbo", variant="exact", batch=0))
    x, y = spec.build_target().labels
    columns = {
        "inference": [row.name for row in rows],
        f"mean {x}": [row.mean[0] for row in rows],
        f"sd {x}": [row.sd[0] for row in rows],
        f"mean {y}": [row.mean[1] for row in rows],
        f"sd {y}": [row.sd[1] for row in rows],
        "correlation": [minus(f"{row.correlation:.2f}") for row in rows],
        "time (ms)": [1000 * row.seconds for row in rows],
        "evaluations": [number(row.evaluations) for row in rows],
        "how": [row.note for row in rows],
    }
    return Table(WORDS.phrase("panels.three"), columns, WORDS.phrase("panels.three_caption"))


LOOKS = {"reparameterised": ("posterior", "circle"), "score": ("reject", "cross"), "score_control": ("highlight", "diamond")}


def _noise(spec: VariationalLesson) -> Figure:
    found, named = analysis.noise_by_dimension(spec.samples, spec.seed), WORDS["estimators"]
    figure = charts.blank(WORDS.phrase("panels.coordinates"), WORDS.phrase("panels.sd_of_slope"))
    for name, sd in found.items():
        role, symbol = LOOKS[name]
        figure.add_scatter(
            x=analysis.DIMENSIONS,
            y=sd,
            mode="lines+markers",
            line={"color": theme.colour(role)},
            marker={"symbol": symbol, "size": 8},
            name=named[name],
        )
    figure.update_xaxes(type="log", tickvals=list(analysis.DIMENSIONS), ticktext=[str(d) for d in analysis.DIMENSIONS])
    figure.update_yaxes(type="log")
    caption = WORDS.phrase(
        "panels.noise_caption",
        correlation=analysis.NEIGHBOURS,
        points=max(spec.samples, 2),
        estimates=number(analysis.ESTIMATES),
        fewest=analysis.DIMENSIONS[0],
        most=analysis.DIMENSIONS[-1],
        listed="; ".join(WORDS.phrase("panels.noise_of", estimator=named[name], first=sd[0], last=sd[-1]) for name, sd in found.items()),
    )
    return Figure(WORDS.phrase("panels.noise"), figure, WORDS.phrase("panels.noise_alt", caption=caption), caption)


def _ridge(spec: VariationalLesson) -> Figure:
    """Sd of the best mean-field q over the exact sd, by correlation."""
    rho = np.linspace(0.0, 0.995, 200)
    at = np.array(RHOS)
    ratios = []
    for value in RHOS:
        covariance = [[1.0, value], [value, 1.0]]
        found = analysis.ascend_gaussian([0.0, 0.0], covariance, start=[1.0, 1.0], sweeps=2)
        ratios.append(float(found.sd[-1, 0]))
    figure = charts.blank(WORDS.phrase("panels.correlation"), WORDS.phrase("panels.sd_ratio"))
    figure.add_scatter(x=rho, y=np.sqrt(1 - rho**2), mode="lines", line={"color": theme.colour("ink")}, name="√(1 − ρ²)")
    marker = {"symbol": "circle", "size": 8, "color": theme.colour("posterior")}
    figure.add_scatter(x=at, y=ratios, mode="markers", marker=marker, name=WORDS.phrase("panels.by_ascent"))
    square = {"symbol": "square-open", "size": 9, "color": theme.colour("accept")}
    figure.add_scatter(x=at, y=np.ones(len(at)), mode="markers", marker=square, name=WORDS.phrase("panels.full_rank"))
    figure.add_vline(x=abs(spec.correlation), line={"color": theme.colour("muted"), "dash": "dot", "width": 1.5})
    figure.update_yaxes(range=[0.0, 1.15])
    caption = WORDS.phrase("panels.narrow_caption")
    listed = "; ".join(f"ρ = {a:g}: {b:.2f}" for a, b in zip(RHOS, ratios, strict=True))
    return Figure(WORDS.phrase("panels.narrow"), figure, WORDS.phrase("panels.narrow_alt", listed=listed, caption=caption), caption)


def _gap(spec: VariationalLesson) -> Figure:
    found = analysis.coordinate_ascent(spec)
    gap = found.log_evidence - found.elbo
    left = np.maximum(gap - gap[-1], 1e-16)
    figure = charts.blank(WORDS.phrase("cavi.number"), WORDS.phrase("stage.nats"))
    figure.add_scatter(
        y=gap,
        mode="lines+markers",
        line={"color": theme.colour("posterior")},
        marker={"symbol": "circle"},
        name=WORDS.phrase("panels.gap_to_evidence"),
    )
    figure.add_scatter(
        y=left[:-1],
        mode="lines+markers",
        line={"color": theme.colour("reject"), "dash": "dash"},
        marker={"symbol": "diamond"},
        name=WORDS.phrase("panels.still_gained"),
    )
    figure.update_yaxes(type="log", exponentformat="power")
    told = [WORDS.phrase("panels.gap_caption", gap=number(float(gap[-1])))]
    if spec.pair == "gaussian":
        told.append(WORDS.phrase("panels.best_gap", exact=-0.5 * math.log1p(-(spec.correlation**2))))
    caption = " ".join(told)
    return Figure(WORDS.phrase("panels.gap"), figure, WORDS.phrase("panels.gap_alt", caption=caption), caption)


def _minima(spec: VariationalLesson) -> Table:
    found, mixture = analysis.minima(spec.separation, spec.weight), spec.mixture()
    mean, sd = mixture.moments()
    from_p = (float(analysis.kl_from_q(mean, sd, mixture)), float(analysis.kl_from_p(mean, sd, mixture)))
    rows = [
        *((WORDS.phrase("panels.minimum", number=k), *row) for k, row in enumerate(found, start=1)),
        (WORDS.phrase("panels.other_minimum"), mean, sd, *from_p),
    ]
    columns: dict[str, Column] = {
        "q": [row[0] for row in rows],
        "mean": [row[1] for row in rows],
        "sd": [row[2] for row in rows],
        "KL(q‖p) (nats)": [row[3] for row in rows],
        "KL(p‖q) (nats)": [row[4] for row in rows],
    }
    left, right = spec.weight, 1 - spec.weight
    pays = {"pays_left": -math.log(left), "pays_right": -math.log(right)}
    caption = WORDS.phrase("panels.minima_caption", left=left, right=right, apart=spec.separation, **pays)
    return Table(WORDS.phrase("panels.minima"), columns, caption)


def _apart(spec: VariationalLesson) -> Figure:
    """Sd of both best q as the modes move apart."""
    apart = np.linspace(0.0, 10.0, 21)
    best = [min(analysis.minima(float(d), spec.weight), key=lambda row: row[2]) for d in apart]
    wide = [VariationalLesson(separation=float(d), weight=spec.weight).mixture().moments()[1] for d in apart]
    figure = charts.blank(WORDS.phrase("panels.apart"), WORDS.phrase("panels.best_sd"))
    figure.add_scatter(
        x=apart,
        y=[row[1] for row in best],
        mode="lines+markers",
        line={"color": theme.colour("posterior")},
        marker={"symbol": "circle"},
        name="KL(q‖p)",
    )
    figure.add_scatter(
        x=apart,
        y=wide,
        mode="lines+markers",
        line={"color": theme.colour("reject"), "dash": "dash"},
        marker={"symbol": "diamond"},
        name="KL(p‖q)",
    )
    figure.add_vline(x=spec.separation, line={"color": theme.colour("muted"), "dash": "dot", "width": 1.5})
    at = int(np.argmin(np.diff([row[1] for row in best])))
    caption = WORDS.phrase("panels.gives_up_caption", near=apart[at], far=apart[at + 1])
    return Figure(WORDS.phrase("panels.gives_up"), figure, WORDS.phrase("panels.gives_up_alt", caption=caption), caption)


def diagnostics(spec: VariationalLesson, cancel: object = None) -> Table:
    """What q says beside the exact answer, and what it cost."""
    if spec.method == "kl":
        found = analysis.descents(spec)
        mean, sd = spec.mixture().moments()
        rows = {name: found[name].path[-1] for name in ("from_q", "from_p")}
        columns: dict[str, Column] = {
            "made small": ["KL(q‖p)", "KL(p‖q)"],
            "mean": [float(row[0]) for row in rows.values()],
            "exact mean": [mean, mean],
            "sd": [float(row[1]) for row in rows.values()],
            "exact sd": [sd, sd],
            "sd ratio": [float(row[1]) / sd for row in rows.values()],
            "divergence (nats)": [float(found[name].kl[-1]) for name in rows],
        }
        return Table(WORDS.phrase("panels.descents"), columns, WORDS.phrase("panels.descents_caption"))
    if spec.method == "cavi":
        ascent, target = analysis.coordinate_ascent(spec), analysis.pair_target(spec)
        mean, sd = analysis.centres(ascent)[-1], analysis.spreads(ascent)[-1]
        ended = {"updates": len(ascent.coordinate), "elbo": ascent.elbo[-1], "log_evidence": ascent.log_evidence}
        return _beside(target, mean, sd, WORDS.phrase("panels.ascent"), WORDS.phrase("panels.ascent_caption", **ended))
    climb = analysis.simulate(spec)
    q = climb.final()
    centre, spread = analysis.moments_of_q(spec, q.mean, q.sd)
    end = float(climb.exact.value[-1])
    known = np.isfinite(climb.log_evidence)
    caption = WORDS.phrase(
        "panels.fit_caption",
        steps=number(climb.steps),
        end=WORDS.phrase("panels.end_and_gap" if known else "panels.end", elbo=end, gap=climb.log_evidence - end),
        evaluations=number(climb.steps * spec.samples),
        milliseconds=number(1000 * climb.fit.seconds),
    )
    return _beside(climb.target, centre, spread, WORDS.phrase("panels.fit"), caption)


def _beside(target, mean, sd, title: str, caption: str) -> Table:
    exact = pictures.exact(target)
    columns = {
        "coordinate": list(target.labels),
        "mean of q": list(mean),
        "exact mean": exact[0],
        "sd of q": list(sd),
        "exact sd": exact[1],
        "sd ratio": list(np.asarray(sd) / np.asarray(exact[1])),
    }
    return Table(title, columns, caption)
