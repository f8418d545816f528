"""What stands below the stage."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from app.kit import charts, theme
from app.kit.charts import Column, Figure, Table
from app.kit.text import number
from engine.networks.passes import ACTIVATIONS
from engine.training import activation, activation_slope, learn, margin
from lessons.perceptron import analysis, held_out
from lessons.perceptron.analysis import ADAPTIVE, GOAL, RUNNERS
from lessons.perceptron.questions import RESTARTS
from lessons.perceptron.spec import WORDS, PerceptronLesson
from lessons.perceptron.stage_held_out import CHAINS, DASHED
from lessons.perceptron.stage_race import LOOKS

GAPS = (0.4, 0.2, 0.1, 0.05, 0.02, 0.01)
SYMBOLS = ("circle", "diamond", "square", "cross", "triangle-up", "star")


def panels(spec: PerceptronLesson, cancel: object = None) -> list[Figure | Table]:
    """By part."""
    if spec.part == "perceptron":
        return [_gaps(spec)]
    if spec.part == "network":
        return [_restarts(spec), _by_activation(spec), _passes(spec)]
    if spec.part == "nodes":
        return [_differences(spec), _activations(), _slopes()]
    if spec.part == "held_out":
        return [_strengths(spec)] if spec.view == "ways" else [_sizes(spec)]
    return [_ladders(spec)]


def _gaps(spec: PerceptronLesson) -> Figure:
    """Mistakes and the bound as the classes come nearer."""
    gammas, made, bounds = [], [], []
    for gap in GAPS:
        x, y = analysis.separable(spec.count, gap, spec.seed)
        if len(set(y.tolist())) == 2:
            best = margin(x, y)
            if best.gamma in gammas:  # the same points as with a wider gap
                continue
            gammas.append(best.gamma)
            bounds.append(best.bound)
            made.append(learn(x, y, epochs=2000).mistakes)
    figure = charts.blank(WORDS.phrase("gaps.margin"), WORDS.phrase("gaps.mistakes"))
    for name, values, role, symbol in (
        (WORDS.phrase("gaps.bound"), bounds, "ink", "diamond-open"),
        (WORDS.phrase("gaps.made"), made, "reject", "circle"),
    ):
        figure.add_scatter(
            x=gammas, y=values, mode="lines+markers", name=name, line={"color": theme.colour(role)}, marker={"symbol": symbol, "size": 9}
        )
    figure.update_xaxes(type="log")
    figure.update_yaxes(type="log")
    told = "; ".join(WORDS.phrase("gaps.each", gamma=g, made=m, bound=b) for g, m, b in zip(gammas, made, bounds, strict=True))
    caption = WORDS.phrase("gaps.caption", points=spec.count, listed=told)
    return Figure(WORDS.phrase("gaps.title"), figure, caption, caption)


def _restarts(spec: PerceptronLesson) -> Figure:
    counts = [analysis.solved(spec, k, RESTARTS)[0] for k in (1, 2, 3, 4)]
    told = "; ".join(f"{k}: {count}" for k, count in zip((1, 2, 3, 4), counts, strict=True))
    return _solved("by_units", ["1", "2", "3", "4"], counts, WORDS.phrase("restarts.by_units_caption", starts=RESTARTS, listed=told))


def _by_activation(spec: PerceptronLesson) -> Figure:
    found = {name: analysis.solved(spec.replace(activation=name), spec.units, RESTARTS) for name in ACTIVATIONS}
    told = "; ".join(WORDS.phrase("restarts.each", name=name, count=count, loss=loss) for name, (count, loss) in found.items())
    caption = WORDS.phrase("restarts.by_activation_caption", units=spec.units, starts=RESTARTS, listed=told)
    return _solved("by_activation", list(found), [count for count, _ in found.values()], caption)


def _solved(by: str, names: list[str], counts: list[int], caption: str) -> Figure:
    """How many trainings got all points right; `by` what."""
    x, y = WORDS.phrase(f"restarts.{by}_axis"), WORDS.phrase("restarts.trainings")
    return charts.bars(WORDS.phrase(f"restarts.{by}"), names, counts, alt=caption, x=x, y=y, caption=caption)


def _passes(spec: PerceptronLesson) -> Figure:
    """The same training with the right and with wrong backward passes."""
    figure, ends = charts.blank(WORDS.phrase("stage.step"), WORDS.phrase("passes.loss")), []
    for variant, dash, role in (("exact", "solid", "posterior"), ("no_slope", "dash", "reject"), ("no_bias", "dot", "highlight")):
        name, found = WORDS.phrase(f"passes.{variant}"), analysis.training(spec.replace(variant=variant))
        loss = np.minimum(found.loss, 5.0)
        figure.add_scatter(x=found.steps, y=loss, mode="lines", name=name, line={"color": theme.colour(role), "dash": dash})
        ends.append(WORDS.phrase("passes.each", name=name, loss=found.loss[-1], right=found.right[-1]))
    caption = WORDS.phrase("passes.caption", listed="; ".join(ends))
    return Figure(WORDS.phrase("passes.title"), figure, caption, caption)


def _differences(spec: PerceptronLesson) -> Figure:
    lengths, errors = analysis.by_step(spec)
    figure = charts.blank(WORDS.phrase("differences.length"), WORDS.phrase("differences.error"))
    figure.add_scatter(
        x=lengths,
        y=np.maximum(errors, 1e-16),
        mode="lines+markers",
        line={"color": theme.colour("posterior")},
        marker={"size": 6},
        showlegend=False,
    )
    figure.update_xaxes(type="log", exponentformat="power")
    figure.update_yaxes(type="log", exponentformat="power")
    best = int(np.argmin(errors))
    caption = WORDS.phrase("differences.caption", length=lengths[best], error=errors[best])
    return Figure(WORDS.phrase("differences.title"), figure, caption, caption)


def _activations() -> Figure:
    z = np.linspace(-4.0, 4.0, 161)
    figure = charts.blank("z", "φ(z)")
    for k, name in enumerate(ACTIVATIONS):
        line = {"color": theme.colour(f"chain-{k}"), "dash": theme.DASHES[k]}
        figure.add_scatter(x=z, y=activation(name, z), mode="lines", name=name, line=line)
    step = {"color": theme.colour("muted"), "dash": "dot", "shape": "hv"}
    figure.add_scatter(x=[-4.0, 0.0, 4.0], y=[0.0, 1.0, 1.0], mode="lines", name=WORDS.phrase("activations.step"), line=step)
    figure.update_yaxes(range=[-1.6, 3.2])
    caption = WORDS.phrase("activations.caption")
    return Figure(WORDS.phrase("activations.title"), figure, WORDS.phrase("activations.alt", caption=caption), caption)


def _slopes() -> Figure:
    z = np.linspace(-4.0, 4.0, 161)
    figure = charts.blank("z", "φ′(z)")
    for k, name in enumerate(ACTIVATIONS):
        line = {"color": theme.colour(f"chain-{k}"), "dash": theme.DASHES[k]}
        figure.add_scatter(x=z, y=activation_slope(name, z), mode="lines", name=name, line=line)
    largest = ", ".join(f"{name} {activation_slope(name, z).max():.2f}" for name in ACTIVATIONS)
    caption = WORDS.phrase("activations.slopes_caption", listed=largest)
    return Figure(WORDS.phrase("activations.slopes"), figure, caption, caption)


def _ladders(spec: PerceptronLesson) -> Figure:
    figure, best = charts.blank(WORDS.phrase("ladders.step"), WORDS.phrase("ladders.arrive")), []
    for k, name in enumerate(RUNNERS):
        multiples, arrived = analysis.ladder(spec, name)
        steps = np.array([math.nan if at is None else float(max(at, 1)) for at in arrived])
        figure.add_scatter(
            x=multiples,
            y=steps,
            mode="lines+markers",
            name=name,
            marker={"symbol": SYMBOLS[k], "size": 7},
            line={"color": theme.colour(f"chain-{LOOKS[name]}")},
        )
        if np.isfinite(steps).any():
            at = int(np.nanargmin(steps))
            best.append(WORDS.phrase("ladders.each", name=name, steps=int(steps[at]), step=multiples[at]))
    figure.update_xaxes(type="log")
    figure.update_yaxes(type="log")
    caption = WORDS.phrase("ladders.caption", goal=GOAL, listed="; ".join(best) or WORDS.phrase("ladders.none"))
    return Figure(WORDS.phrase("ladders.title"), figure, caption, caption)


TRIED = {"decay": (0.0005, 0.002, 0.005, 0.01, 0.02), "dropout": (0.95, 0.9, 0.8, 0.6, 0.4), "stopping": (1, 3, 5, 10, 20)}


def _strengths(spec: PerceptronLesson) -> Figure:
    """Held-out loss of each way at five strengths."""
    figure, best = charts.blank(WORDS.phrase("strengths.strength"), WORDS.phrase("strengths.loss")), []
    for k, (name, strengths) in enumerate(TRIED.items()):
        courses = [held_out.course(spec.replace(**{held_out.SETTING[name]: strength}), name) for strength in strengths]
        ends = [held_out.mean_and_error(course.held[:, -1]) for course in courses]
        means, errors = ([float(pair[i]) for pair in ends] for i in (0, 1))
        figure.add_scatter(
            x=[f"{place}" for place in range(1, len(strengths) + 1)],
            y=means,
            error_y={"type": "data", "array": [2 * error for error in errors]},
            mode="lines+markers",
            name=held_out.NAMES[name],
            text=[f"{WORDS['measures'][name]} = {strength:g}" for strength in strengths],
            marker={"symbol": SYMBOLS[k], "size": 8},
            line={"color": theme.colour(f"chain-{CHAINS[name]}"), "dash": "dash" if name in DASHED else "solid"},
        )
        at = int(np.argmin(means))
        of = {"name": held_out.NAMES[name], "measure": WORDS["measures"][name], "strength": strengths[at]}
        best.append(WORDS.phrase("strengths.each", mean=means[at], error=2 * errors[at], **of))
    caption = WORDS.phrase("strengths.caption", sets=held_out.SETS, listed="; ".join(best))
    return Figure(WORDS.phrase("strengths.title"), figure, caption, caption)


def _sizes(spec: PerceptronLesson) -> Figure:
    found = held_out.ladder(spec)
    size = np.sqrt((found.path**2).sum(axis=1))
    figure = charts.blank(WORDS.phrase("sizes.decay"), WORDS.phrase("sizes.length"))
    figure.add_scatter(
        x=held_out.LADDER, y=np.maximum(size, 1e-6), mode="lines+markers", name="|θ|", line={"color": theme.colour("posterior")}
    )
    figure.update_xaxes(type="log")
    figure.update_yaxes(type="log", exponentformat="power")
    gone = held_out.LADDER[size < 1e-3]
    ends = {"first": size[0], "best": size[found.best]}
    caption = WORDS.phrase("sizes.gone", gone=gone[0], **ends) if len(gone) else WORDS.phrase("sizes.shrinks", **ends)
    return Figure(WORDS.phrase("sizes.title"), figure, caption, caption)


# The table ------------------------------------------------------------------------------------------------------------


def diagnostics(spec: PerceptronLesson, cancel: object = None) -> Table:
    """What it cost and what came out. Nothing is sampled here, so there is no R-hat and no ESS."""
    if spec.part == "perceptron":
        return _perceptron_table(spec)
    if spec.part == "network":
        return _training_table(spec)
    if spec.part == "held_out":
        return _ways_table(spec) if spec.view == "ways" else _curve_table(spec)
    return _pass_table(spec) if spec.part == "nodes" else _race_table(spec)


def _perceptron_table(spec: PerceptronLesson) -> Table:
    found = analysis.visits(spec)
    run, best, cycle = found.run, found.margin, found.run.cycle
    rows = {
        "epochs": number(len(run.visited) // max(1, len(analysis.data(spec)[0]))),
        "visits": number(len(run.visited)),
        "mistakes": number(run.mistakes),
        "converged": WORDS.phrase("rows.yes" if run.converged else "rows.no"),
        "radius": number(best.radius, 4),
        "margin": number(best.gamma, 4) if best.gamma else WORDS.phrase("rows.no_line"),
        "bound": number(best.bound, 4),
        "cycle": WORDS.phrase("rows.none") if cycle is None else WORDS.phrase("rows.cycle_from", long=cycle[1], first=cycle[0] + 1),
    }
    return Table(WORDS.phrase("tables.run"), _rows(rows), WORDS.phrase("tables.run_caption"))


def _rows(rows: dict[str, str]) -> dict[str, Column]:
    """Columns of a table with a row for each of these, by its name in the words."""
    return {"quantity": [WORDS.phrase(f"rows.{name}") for name in rows], "value": list(rows.values())}


def _training_table(spec: PerceptronLesson) -> Table:
    found, (x, _) = analysis.training(spec), analysis.data(spec)
    steps = int(found.steps[-1])
    rows = {
        "parameters": number(found.network.dim),
        "steps": number(steps),
        "gradients": number(steps),
        "first_loss": number(float(found.loss[0])),
        "last_loss": number(float(found.loss[-1])),
        "right": WORDS.phrase("rows.of", some=found.right[-1], all=len(x)),
        "time": number(1000 * found.seconds) if spec.variant == "exact" else "–",
    }
    caption = _unsampled("tables.training_caption")
    if found.diverged:
        caption += " " + WORDS.phrase("tables.not_finite")
    return Table(WORDS.phrase("tables.training"), _rows(rows), caption)


def _unsampled(caption: str, **values: Any) -> str:
    """This caption, and why R-hat and ESS are missing."""
    return f"{WORDS.phrase(caption, **values)} {WORDS.phrase('tables.nothing_sampled')}"


def _ways_table(spec: PerceptronLesson) -> Table:
    courses = {name: held_out.course(spec, name) for name in held_out.REGULARISERS}
    ends = {name: held_out.mean_and_error(course.held[:, -1]) for name, course in courses.items()}
    nothing = courses["nothing"].held[:, -1]
    less = {name: held_out.mean_and_error(course.held[:, -1] - nothing) for name, course in courses.items()}
    columns: dict[str, Column] = {
        "against overfitting": [held_out.NAMES[name] for name in courses],
        "its own points (nats)": [float(course.loss[:, -1].mean()) for course in courses.values()],
        "held out (nats)": [float(mean) for mean, _ in ends.values()],
        "± SE": [float(error) for _, error in ends.values()],
        "against nothing, ± SE": ["–" if name == "nothing" else f"{mean:+.3f} ± {error:.3f}" for name, (mean, error) in less.items()],
        "held out, right (%)": [100.0 * float(course.right.mean()) for course in courses.values()],
        "steps, median": [float(np.median(course.used)) for course in courses.values()],
    }
    caption = _unsampled("tables.ways_caption", sets=held_out.SETS, points=4 * spec.corner, held=4 * held_out.HELD)
    return Table(WORDS.phrase("tables.ways"), columns, caption)


def _curve_table(spec: PerceptronLesson) -> Table:
    found = held_out.ladder(spec)
    (held, error), (bare, bare_error) = held_out.mean_and_error(found.held), held_out.mean_and_error(found.bare)
    columns: dict[str, Column] = {
        "λ": ["0", *(f"{decay:.2g}" for decay in held_out.LADDER[::3])],
        "held out (nats a point)": [float(bare), *held[::3]],
        "± SE": [float(bare_error), *error[::3]],
    }
    trainings, best = (len(held_out.LADDER) + 1) * held_out.SETS, held_out.LADDER[found.best]
    caption = _unsampled("tables.curve_caption", trainings=trainings, sets=held_out.SETS, best=best)
    return Table(WORDS.phrase("tables.curve"), columns, caption)


def _pass_table(spec: PerceptronLesson) -> Table:
    found = analysis.one_pass(spec)
    off = found.nodes.gradient - found.differences
    columns = {
        "parameter": list(found.network.labels),
        "value": list(found.theta),
        "∂E/∂θ, backward pass": list(found.nodes.gradient),
        "by differences": list(found.differences),
        "apart": list(np.abs(off)),
    }
    caption = WORDS.phrase("tables.pass_caption", derivatives=found.network.dim, passes=4 * found.network.dim)
    return Table(WORDS.phrase("tables.pass"), columns, caption)


def _race_table(spec: PerceptronLesson) -> Table:
    found = analysis.race(spec)
    arrived = [found.arrival(name) for name in RUNNERS]
    columns: dict[str, Column] = {
        "optimiser": list(RUNNERS),
        "step": [spec.adaptive if name in ADAPTIVE else found.step for name in RUNNERS],
        f"steps until below {GOAL:g}": [WORDS.phrase("tables.not_yet") if at is None else number(at) for at in arrived],
        "height at the end (nats)": [f"{found.above(name)[-1]:.3g}" for name in RUNNERS],
        "left the numbers at step": [
            "–" if found.descents[name].stopped is None else number(found.descents[name].stopped) for name in RUNNERS
        ],
    }
    return Table(WORDS.phrase("tables.race"), columns, _unsampled("tables.race_caption", steps=spec.racing))
