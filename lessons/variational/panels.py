"""What stands below the stage: three inferences with their time, what correlation does to mean-field, noise, minima."""

from __future__ import annotations

import math

import numpy as np

from app.kit import charts, pictures, theme
from app.kit.charts import Column, Figure, Table
from app.kit.text import number
from lessons.variational import analysis
from lessons.variational.spec import VariationalLesson

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
        "correlation": [f"{row.correlation:.2f}".replace("-", "−") for row in rows],
        "time (ms)": [1000 * row.seconds for row in rows],
        "evaluations": ["–" if row.evaluations is None else number(row.evaluations) for row in rows],
        "how": [row.note or "adaptive, relative error below 1e-6" for row in rows],
    }
    caption = (
        "Times of one run on this server, threads included, kernels loaded. Evaluations of the density with its "
        "gradient, warm-up included. NUTS and quadrature get nearer with time; a normal q does not where "
        "the target is no normal of its family."
    )
    return Table("Three inferences on this target", columns, caption)


LOOKS = {"reparameterised": ("posterior", "circle"), "score": ("reject", "cross"), "score_control": ("highlight", "diamond")}


def _noise(spec: VariationalLesson) -> Figure:
    found = analysis.noise_by_dimension(spec.samples, spec.seed)
    figure = charts.blank("coordinates", "sd of the estimated slope in one mean")
    for name, sd in found.items():
        role, symbol = LOOKS[name]
        figure.add_scatter(
            x=analysis.DIMENSIONS,
            y=sd,
            mode="lines+markers",
            line={"color": theme.colour(role)},
            marker={"symbol": symbol, "size": 8},
            name=analysis.HOW[name],
        )
    figure.update_xaxes(type="log", tickvals=list(analysis.DIMENSIONS), ticktext=[str(d) for d in analysis.DIMENSIONS])
    figure.update_yaxes(type="log")
    listed = "; ".join(f"{analysis.HOW[name]}: {sd[0]:.2g} to {sd[-1]:.2g}" for name, sd in found.items())
    caption = (
        f"A Gaussian target, correlation 0.3 between neighbours; q near it, {max(spec.samples, 2)} points an estimate, "
        "2 000 estimates. The score's bracket is a sum over all "
        f"coordinates and brings their noise into every slope. From 2 to {analysis.DIMENSIONS[-1]} coordinates: "
        f"{listed}."
    )
    return Figure("Why gradients go through the point", figure, f"Sd by number of coordinates. {caption}", caption)


def _ridge(spec: VariationalLesson) -> Figure:
    """Sd of the best mean-field q over the exact sd, by correlation."""
    rho = np.linspace(0.0, 0.995, 200)
    at = np.array(RHOS)
    ratios = []
    for value in RHOS:
        covariance = [[1.0, value], [value, 1.0]]
        found = analysis.ascend_gaussian([0.0, 0.0], covariance, start=[1.0, 1.0], sweeps=2)
        ratios.append(float(found.sd[-1, 0]))
    figure = charts.blank("correlation ρ of the target", "sd of q / exact sd")
    figure.add_scatter(x=rho, y=np.sqrt(1 - rho**2), mode="lines", line={"color": theme.colour("ink")}, name="√(1 − ρ²)")
    marker = {"symbol": "circle", "size": 8, "color": theme.colour("posterior")}
    figure.add_scatter(x=at, y=ratios, mode="markers", marker=marker, name="mean-field, by coordinate ascent")
    square = {"symbol": "square-open", "size": 9, "color": theme.colour("accept")}
    figure.add_scatter(x=at, y=np.ones(len(at)), mode="markers", marker=square, name="full rank")
    figure.add_vline(x=abs(spec.correlation), line={"color": theme.colour("muted"), "dash": "dot", "width": 1.5})
    figure.update_yaxes(range=[0.0, 1.15])
    caption = (
        "For a Gaussian target in the plane. A mean-field q has the sd of each coordinate given the other, never "
        "its own. Dotted: |ρ| on the stage."
    )
    listed = "; ".join(f"ρ = {a:g}: {b:.2f}" for a, b in zip(RHOS, ratios, strict=True))
    return Figure("How much too narrow", figure, f"Ratio of standard deviations. {listed}. {caption}", caption)


def _gap(spec: VariationalLesson) -> Figure:
    found = analysis.coordinate_ascent(spec)
    gap = found.log_evidence - found.elbo
    left = np.maximum(gap - gap[-1], 1e-16)
    figure = charts.blank("update", "nats")
    figure.add_scatter(
        y=gap, mode="lines+markers", line={"color": theme.colour("posterior")}, marker={"symbol": "circle"}, name="gap to log p(y)"
    )
    figure.add_scatter(
        y=left[:-1],
        mode="lines+markers",
        line={"color": theme.colour("reject"), "dash": "dash"},
        marker={"symbol": "diamond"},
        name="what further updates still gained",
    )
    figure.update_yaxes(type="log", exponentformat="power")
    caption = f"The gap ends at {number(float(gap[-1]))} nats: what independent factors cannot say, once the updates have settled. "
    if spec.pair == "gaussian":
        exact = -0.5 * math.log1p(-(spec.correlation**2))
        caption += f"Exact for the best of them: −½ log(1 − ρ²) = {exact:.3f}. Each sweep keeps ρ⁴ of the rest."
    alt = f"Gap between log evidence and ELBO by update. {caption}"
    return Figure("What is left of the gap", figure, alt, caption)


def _minima(spec: VariationalLesson) -> Table:
    found, mixture = analysis.minima(spec.separation, spec.weight), spec.mixture()
    mean, sd = mixture.moments()
    from_p = (float(analysis.kl_from_q(mean, sd, mixture)), float(analysis.kl_from_p(mean, sd, mixture)))
    rows = [*((f"minimum of KL(q‖p), number {k + 1}", *row) for k, row in enumerate(found)), ("minimum of KL(p‖q)", mean, sd, *from_p)]
    columns: dict[str, Column] = {
        "q": [row[0] for row in rows],
        "mean": [row[1] for row in rows],
        "sd": [row[2] for row in rows],
        "KL(q‖p) (nats)": [row[3] for row in rows],
        "KL(p‖q) (nats)": [row[4] for row in rows],
    }
    caption = (
        f"Of the two modes on the stage: weights {spec.weight:g} and {1 - spec.weight:g}, {spec.separation:g} sds "
        f"apart. A q that sits in one mode pays about −log of its weight: {-math.log(spec.weight):.3f} or "
        f"{-math.log(1 - spec.weight):.3f}."
    )
    return Table("Where each divergence is smallest", columns, caption)


def _apart(spec: VariationalLesson) -> Figure:
    """Sd of both best q as the modes move apart."""
    apart = np.linspace(0.0, 10.0, 21)
    best = [min(analysis.minima(float(d), spec.weight), key=lambda row: row[2]) for d in apart]
    wide = [VariationalLesson(separation=float(d), weight=spec.weight).mixture().moments()[1] for d in apart]
    figure = charts.blank("distance of the modes (sd)", "sd of the best q")
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
    caption = (
        f"While the modes are near, both cover them. Between {apart[at]:g} and {apart[at + 1]:g} sds the best q for "
        "KL(q‖p) gives up one of them. Dotted: the stage."
    )
    return Figure("When q gives up a mode", figure, f"Sd of the best q by distance. {caption}", caption)


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
        return Table("Where both descents ended", columns, "No draws are made here, so there is no R-hat and no ESS.")
    if spec.method == "cavi":
        ascent, target = analysis.coordinate_ascent(spec), analysis.pair_target(spec)
        mean, sd = analysis.centres(ascent)[-1], analysis.spreads(ascent)[-1]
        caption = (
            f"After {len(ascent.coordinate)} updates: ELBO {ascent.elbo[-1]:.4f}, log p(y) {ascent.log_evidence:.4f}. "
            "Every update is a closed form: no gradient is evaluated."
        )
        return _beside(target, mean, sd, "Coordinate ascent beside the exact answer", caption)
    climb = analysis.simulate(spec)
    q = climb.final()
    centre, spread = analysis.moments_of_q(spec, q.mean, q.sd)
    end = float(climb.exact.value[-1])
    gap = f", {climb.log_evidence - end:.3g} below log p(y)" if np.isfinite(climb.log_evidence) else ""
    caption = (
        f"q averaged over the last quarter of {number(climb.steps)} steps; exact ELBO at the end {end:.4g}{gap}. "
        f"{number(climb.steps * spec.samples)} evaluations of the density with its gradient, "
        f"{number(1000 * climb.fit.seconds)} ms. Points are drawn from q itself, so R-hat and ESS say nothing here; "
        "the table of three inferences has those of NUTS."
    )
    return _beside(climb.target, centre, spread, "This fit beside the exact answer", caption)


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
